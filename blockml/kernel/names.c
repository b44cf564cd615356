/* Attributes that name parts of a page: their values as numbers, and the words in them.

   numbered: the twin of blockml.features.names.numbered. keyword_bits: of blockml.features.keywords.all_bits, which
   reads values of ASCII characters only, as nearly all are, and leaves all others to Python, for which case is
   Unicode's. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 8 };

typedef struct {
    const char *text;
    size_t length; /* with the zero byte behind it */
} Name;

/* Writes the values of the named attributes of a set, new references; NULL where there is none. 0 with an exception.

   `pairs` are names and values with a zero byte after each; of a name that is there twice the last value counts. */
static int values_of(const char *pairs, const char *end, const Name *names, Py_ssize_t n, PyObject **values) {
    const char *found[MOST_NAMES] = {NULL};
    for (const char *at = pairs; at < end;) {
        size_t length = strlen(at) + 1;
        for (Py_ssize_t k = 0; k < n; k++)
            if (length == names[k].length && memcmp(at, names[k].text, length) == 0) found[k] = at + length;
        at += length;
        at += strlen(at) + 1;
    }
    for (Py_ssize_t k = 0; k < n; k++)
        if (found[k] != NULL && (values[k] = PyUnicode_FromString(found[k])) == NULL) return 0;
    return 1;
}

/* The same of a mapping; None is no value. */
static int given_values_of(PyObject *given, const Name *names, Py_ssize_t n, PyObject **values) {
    for (Py_ssize_t k = 0; k < n; k++) {
        values[k] = PyObject_CallMethod(given, "get", "s", names[k].text);
        if (values[k] == NULL) return 0;
        if (values[k] == Py_None) Py_CLEAR(values[k]);
    }
    return 1;
}

/* The number of a value, the next one if it has none yet; -1 with an exception. */
static long number_of(PyObject *numbers, PyObject *value) {
    PyObject *known = PyDict_GetItemWithError(numbers, value);
    if (known != NULL) return PyLong_AsLong(known);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t next = PyDict_Size(numbers);
    PyObject *number = next > INT32_MAX ? NULL : PyLong_FromSsize_t(next);
    if (number == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "too many values");
        return -1;
    }
    int failed = PyDict_SetItem(numbers, value, number);
    Py_DECREF(number);
    return failed < 0 ? -1 : (long)next;
}

/* Whether sets of attributes are as Attributes holds them: ends rise, each set ends with a zero byte. */
static int is_sound(const int64_t *ends, Py_ssize_t n_sets, const char *pairs, Py_ssize_t length) {
    int64_t before = 0;
    for (Py_ssize_t set = 0; set < n_sets; before = ends[set++])
        if (ends[set] < before || ends[set] > length || (ends[set] > before && pairs[ends[set] - 1])) return 0;
    return n_sets > 0;
}

/* Writes the numbers (n_names,) of a set's values. -1 with an exception set. */
static int number_set(const char *pairs, const char *end, PyObject *given, const Name *named, Py_ssize_t n,
                      PyObject *numbers, int32_t *of_set) {
    PyObject *values[MOST_NAMES] = {NULL};
    int failed = given != Py_None ? !given_values_of(given, named, n, values) : !values_of(pairs, end, named, n, values);
    for (Py_ssize_t k = 0; k < n; k++) {
        if (values[k] == NULL) continue;
        long number = failed ? -1 : number_of(numbers, values[k]);
        Py_DECREF(values[k]);
        failed |= number < 0;
        of_set[k] = (int32_t)number;
    }
    return failed ? -1 : 0;
}

/* numbered(number, given, pairs, ends, names, chosen, numbers, columns): columns (n_names, n_nodes + 1) of the numbers of
   the values of the chosen nodes, whose sets of attributes are as Attributes holds them. */
PyObject *numbered(PyObject *module, PyObject *arguments) {
    enum { NUMBER, ENDS, CHOSEN, COLUMNS, N };
    PyObject *object[N], *given, *bytes, *names, *numbers, *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!O!OO!OO!O", &object[NUMBER], &PyList_Type, &given, &PyBytes_Type, &bytes,
                          &object[ENDS], &PyTuple_Type, &names, &object[CHOSEN], &PyDict_Type, &numbers,
                          &object[COLUMNS]))
        return NULL;
    const char *pairs = PyBytes_AsString(bytes); /* with a zero byte behind them */
    Py_ssize_t length = PyBytes_Size(bytes);
    int opened = open_arrays(object, view, sizes, N);
    int32_t *of_set = NULL;
    if (opened < N) goto done;
    const int32_t *number = view[NUMBER].buf;
    const int64_t *ends = view[ENDS].buf, *chosen = view[CHOSEN].buf;
    int32_t *columns = view[COLUMNS].buf;
    Py_ssize_t n = view[NUMBER].len / 4, n_sets = view[ENDS].len / 8, n_names = PyTuple_Size(names);
    if (n_names > MOST_NAMES || view[COLUMNS].len / 4 < n_names * (n + 1) || PyList_Size(given) != n_sets ||
        !is_sound(ends, n_sets, pairs, length)) {
        PyErr_SetString(PyExc_ValueError, "no room for all numbers, or no sets of attributes");
        goto done;
    }
    Name named[MOST_NAMES];
    for (Py_ssize_t k = 0; k < n_names; k++) {
        Py_ssize_t size;
        named[k].text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, k), &size);
        if (named[k].text == NULL) goto done;
        named[k].length = (size_t)size + 1;
    }
    of_set = malloc((size_t)(n_sets * n_names + 1) * sizeof(int32_t)); /* numbers of each set, once they are known */
    if (of_set == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_sets * n_names; i++) of_set[i] = UNKNOWN;
    for (Py_ssize_t i = 0; i < view[CHOSEN].len / 8; i++) {
        int64_t node = chosen[i];
        if (node < 0 || node >= n || number[node] < 0 || number[node] >= n_sets) {
            PyErr_SetString(PyExc_IndexError, "no such node or set");
            goto done;
        }
        int32_t set = number[node], *its = of_set + set * n_names;
        if (!set) continue;
        if (n_names && its[0] == UNKNOWN) {
            memset(its, 0, (size_t)n_names * sizeof(int32_t));
            PyObject *held = Py_NewRef(PyList_GetItem(given, set)); /* looking up may run a mapping's own code */
            int failed = number_set(pairs + ends[set - 1], pairs + ends[set], held, named, n_names, numbers, its) < 0;
            Py_DECREF(held);
            if (failed) goto done;
        }
        for (Py_ssize_t k = 0; k < n_names; k++)
            if (its[k]) columns[k * (n + 1) + node] = its[k];
    }
    result = Py_NewRef(Py_None);
done:
    free(of_set);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

const char *ascii(PyObject *text, Py_ssize_t *length) {
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes == NULL) {
        PyErr_Clear(); /* lone surrogates */
        return NULL;
    }
    unsigned char all = 0;
    for (Py_ssize_t i = 0; i < *length; i++) all |= (unsigned char)bytes[i];
    return all < 128 ? bytes : NULL;
}

/* keyword_bits(values, letters, steps, groups, bits): the groups of words in each value; -1 for what isn't ASCII.

   The words are a tree of letters: letters[128] gives the column of a letter, small or capital, 0 for what no word holds; steps[state * width + column]
   the next state, 0 for none; groups[state] the group of the word that ends there, -1 for none. From each place the
   longest word counts, and the search goes on behind it, as a regular expression would. */
PyObject *keyword_bits(PyObject *module, PyObject *arguments) {
    PyObject *values, *object[4];
    Py_buffer view[4];
    static const Py_ssize_t sizes[4] = {1, 2, 1, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyList_Type, &values, &object[0], &object[1], &object[2], &object[3]))
        return NULL;
    PyObject *result = NULL;
    int opened = 0;
    for (; opened < 4; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == 3) < 0) goto done;
    const uint8_t *letters = view[0].buf;
    const int16_t *steps = view[1].buf;
    const int8_t *groups = view[2].buf;
    int64_t *bits = view[3].buf;
    Py_ssize_t width = view[2].len ? view[1].len / 2 / view[2].len : 0, n = view[3].len / 8;
    int sound = view[0].len >= 128 && width > 0;
    for (Py_ssize_t i = 0; sound && i < view[0].len; i++) sound = letters[i] < width;
    for (Py_ssize_t i = 0; sound && i < view[1].len / 2; i++) sound = steps[i] >= 0 && steps[i] < view[2].len;
    for (Py_ssize_t i = 0; sound && i < view[2].len; i++) sound = groups[i] < 63;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no tree of letters");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PyList_GetItem(values, i);
        if (value == NULL) goto done;
        Py_ssize_t length;
        const char *text = ascii(value, &length);
        if (text == NULL) {
            bits[i] = -1;
            continue;
        }
        int64_t found = 0;
        for (Py_ssize_t begin = 0; begin < length;) {
            Py_ssize_t behind = begin + 1;
            int state = 0, group = -1;
            for (Py_ssize_t at = begin; at < length; at++) {
                int column = letters[(unsigned char)text[at]];
                if (column == 0 || (state = steps[state * width + column]) == 0) break;
                if (groups[state] >= 0) {
                    group = groups[state];
                    behind = at + 1;
                }
            }
            if (group >= 0) found |= (int64_t)1 << group;
            begin = behind;
        }
        bits[i] = found;
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
