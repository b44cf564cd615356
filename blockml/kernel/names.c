/* Attributes that name parts of a page: their values as numbers, and the words in them.

   numbered: the twin of blockml.features.names.numbered. keyword_bits: of blockml.features.keywords.all_bits, which
   reads values of ASCII characters only, as nearly all are, and leaves all others to Python, for which case is
   Unicode's. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 8, N_KNOWN = 256 };

typedef struct {
    const char *text;
    size_t length; /* with the zero byte behind it */
} Name;

/* Values met last, by hash: a page has many that are written alike, and to make a str costs more than to compare. */
typedef struct {
    const char *text; /* NULL for none */
    size_t length;
    int32_t number;
} Known;

typedef struct {
    Name name[MOST_NAMES];
    Py_ssize_t n;
    uint64_t lengths;  /* bits of the names' lengths: most others have another one */
    PyObject *numbers; /* of each value, a dict */
    Known known[N_KNOWN];
} Wanted;

int32_t number_of(PyObject *numbers, PyObject *value) {
    PyObject *held = PyDict_GetItemWithError(numbers, value);
    if (held != NULL) return (int32_t)PyLong_AsLong(held);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t next = PyDict_Size(numbers);
    PyObject *number = next > INT32_MAX ? NULL : PyLong_FromSsize_t(next);
    if (number == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "too many values");
        return -1;
    }
    int failed = PyDict_SetItem(numbers, value, number);
    Py_DECREF(number);
    return failed < 0 ? -1 : (int32_t)next;
}

static int32_t number_of_text(Wanted *wanted, const char *text) {
    size_t length = strlen(text);
    Known *known = &wanted->known[hash_of_bytes(text, length) % N_KNOWN];
    if (known->text != NULL && known->length == length && memcmp(known->text, text, length) == 0) return known->number;
    PyObject *value = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
    int32_t number = value == NULL ? -1 : number_of(wanted->numbers, value);
    Py_XDECREF(value);
    if (number >= 0) *known = (Known){text, length, number};
    return number;
}

/* Writes the numbers of the values of the named attributes of a set, where they aren't known; 0 where there is none. 0
   with an exception.

   `pairs` are names and values with a zero byte after each; of a name that is there twice the last value counts. */
static int number_pairs(Wanted *wanted, const char *pairs, const char *end, int32_t *of_set) {
    const char *found[MOST_NAMES] = {NULL};
    for (const char *at = pairs; at < end;) {
        size_t length = strlen(at) + 1;
        if (length < 64 && wanted->lengths >> length & 1)
            for (Py_ssize_t k = 0; k < wanted->n; k++) {
                const Name *name = &wanted->name[k];
                if (length == name->length && *at == *name->text && memcmp(at, name->text, length) == 0)
                    found[k] = at + length;
            }
        at += length;
        at += strlen(at) + 1;
    }
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        if (of_set[k] != UNKNOWN) continue;
        of_set[k] = found[k] == NULL ? 0 : number_of_text(wanted, found[k]);
        if (of_set[k] < 0) return 0;
    }
    return 1;
}

/* The same of a mapping; None is no value. */
static int number_given(Wanted *wanted, PyObject *given, int32_t *of_set) {
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        if (of_set[k] != UNKNOWN) continue;
        PyObject *value = PyObject_CallMethod(given, "get", "s", wanted->name[k].text);
        if (value == NULL) return 0;
        of_set[k] = value == Py_None ? 0 : number_of(wanted->numbers, value);
        Py_DECREF(value);
        if (of_set[k] < 0) return 0;
    }
    return 1;
}

/* Reads the names of attributes; 0 with an exception. */
static int read_names(Wanted *wanted, PyObject *names, PyObject *numbers) {
    wanted->n = PyTuple_Size(names), wanted->numbers = numbers, wanted->lengths = 0;
    memset(wanted->known, 0, sizeof wanted->known);
    if (wanted->n > MOST_NAMES) {
        PyErr_SetString(PyExc_ValueError, "no room for all names");
        return 0;
    }
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        Py_ssize_t size;
        Name *name = &wanted->name[k];
        name->text = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, k), &size);
        if (name->text == NULL) return 0;
        name->length = (size_t)size + 1;
        wanted->lengths |= name->length < 64 ? (uint64_t)1 << name->length : 0;
    }
    return 1;
}

/* Whether sets of attributes are as Attributes holds them: ends rise, each set ends with a zero byte. */
static int is_sound(const int64_t *ends, Py_ssize_t n_sets, const char *pairs, Py_ssize_t length) {
    int64_t before = 0;
    for (Py_ssize_t set = 0; set < n_sets; before = ends[set++])
        if (ends[set] < before || ends[set] > length || (ends[set] > before && pairs[ends[set] - 1])) return 0;
    return n_sets > 0;
}

/* A byte for each value, of which of the names had it in a set, bit by bit. */
static PyObject *holders_of(const int32_t *of_set, Py_ssize_t n_sets, Py_ssize_t n_names, Py_ssize_t n_values) {
    PyObject *result = PyByteArray_FromStringAndSize(NULL, n_values);
    if (result == NULL) return NULL;
    uint8_t *holders = (uint8_t *)PyByteArray_AsString(result);
    memset(holders, 0, (size_t)n_values);
    for (Py_ssize_t i = 0; i < n_sets * n_names; i++) {
        if (of_set[i] <= 0) continue; /* no value, or unknown */
        if (of_set[i] >= n_values) {
            PyErr_SetString(PyExc_IndexError, "no such value");
            Py_DECREF(result);
            return NULL;
        }
        holders[of_set[i]] |= (uint8_t)(1 << i % n_names);
    }
    return result;
}

/* numbered(number, given, pairs, ends, names, chosen, numbers, columns): columns (n_names, n_nodes + 1) of the numbers of
   the values of the chosen nodes, whose sets of attributes are as Attributes holds them. A number that is there already is
   kept, for all nodes of its set. Returns a byte for each value: which of the names had it, bit by bit. */
PyObject *numbered(PyObject *module, PyObject *arguments) {
    enum { NUMBER, ENDS, CHOSEN, COLUMNS, N };
    PyObject *object[N], *given, *bytes, *names, *numbers, *result = NULL;
    Wanted wanted;
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
    if (!read_names(&wanted, names, numbers)) goto done;
    if (view[COLUMNS].len / 4 < n_names * (n + 1) || PyList_Size(given) != n_sets ||
        !is_sound(ends, n_sets, pairs, length)) {
        PyErr_SetString(PyExc_ValueError, "no room for all numbers, or no sets of attributes");
        goto done;
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
            for (Py_ssize_t k = 0; k < n_names; k++)
                if (columns[k * (n + 1) + node] > 0) its[k] = columns[k * (n + 1) + node];
            PyObject *held = Py_NewRef(PyList_GetItem(given, set)); /* looking up may run a mapping's own code */
            int failed = held != Py_None ? !number_given(&wanted, held, its)
                                         : !number_pairs(&wanted, pairs + ends[set - 1], pairs + ends[set], its);
            Py_DECREF(held);
            if (failed) goto done;
        }
        for (Py_ssize_t k = 0; k < n_names; k++)
            if (its[k]) columns[k * (n + 1) + node] = its[k];
    }
    result = holders_of(of_set, n_sets, n_names, PyDict_Size(numbers));
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

/* Words as a tree of letters. */
typedef struct {
    const uint8_t *letters; /* (128,) column of a letter, small or capital; 0 for what no word holds */
    const int16_t *steps;   /* (n_states, width) the next state, 0 for none */
    const int8_t *groups;   /* (n_states,) the group of the word that ends there, -1 for none */
    Py_ssize_t n_states, width;
    const uint64_t *second, *third; /* (width,) by column of a first letter: bits of columns that may follow */
} Letters;

/* Whether all states and columns are such, and groups are bits of a positive number. */
WIDE static int are_letters(const Letters *tree, Py_ssize_t n_letters, Py_ssize_t n_steps) {
    if (n_letters < 128 || tree->width <= 0 || tree->n_states > INT16_MAX || n_steps != tree->n_states * tree->width)
        return 0;
    uint16_t states = 0;
    int columns = 0, groups = 0;
    for (Py_ssize_t i = 0; i < n_steps; i++) states |= OUTSIDE(uint16_t, tree->steps[i], 0, tree->n_states);
    for (int i = 0; i < 128; i++) columns |= tree->letters[i] >= tree->width;
    for (Py_ssize_t i = 0; i < tree->n_states; i++) groups |= tree->groups[i] >= 63;
    return !(states >> 15) && !columns && !groups;
}

/* Bits of the groups of words in a text, behind which is a zero byte. Most places are where no word begins, as three letters
   tell. From each place the longest word counts, and the
   search goes on behind it, as a regular expression would. */
static int64_t groups_in(const Letters *tree, const unsigned char *text, Py_ssize_t length) {
    int64_t found = 0;
    for (Py_ssize_t begin = 0; begin < length;) {
        int first = tree->letters[text[begin]], second = tree->letters[text[begin + 1]] & 63;
        int third = tree->letters[text[begin + 1 < length ? begin + 2 : length]] & 63;
        if (!(tree->second[first] >> second & tree->third[first] >> third & 1)) {
            begin++;
            continue;
        }
        Py_ssize_t behind = begin + 1;
        int state = 0, group = -1;
        for (Py_ssize_t at = begin; at < length; at++) {
            int column = tree->letters[text[at]];
            if (column == 0 || (state = tree->steps[state * tree->width + column]) == 0) break;
            if (tree->groups[state] >= 0) {
                group = tree->groups[state];
                behind = at + 1;
            }
        }
        if (group >= 0) found |= (int64_t)1 << group;
        begin = behind;
    }
    return found;
}

/* keyword_bits(values, letters, steps, groups, begins, bits): the groups of words in each value; -1 for what isn't ASCII. The
   words are a tree of letters; begins (2, width) tell by the column of a first letter which may be second and third. */
PyObject *keyword_bits(PyObject *module, PyObject *arguments) {
    enum { LETTERS, STEPS, GROUPS, BEGINS, BITS, N };
    PyObject *values, *object[N], *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 2, 1, 8, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOOO", &PyList_Type, &values, &object[0], &object[1], &object[2], &object[3],
                          &object[4]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Letters tree = {.letters = view[LETTERS].buf, .steps = view[STEPS].buf, .groups = view[GROUPS].buf};
    tree.n_states = view[GROUPS].len;
    tree.width = tree.n_states ? view[STEPS].len / 2 / tree.n_states : 0;
    if (!are_letters(&tree, view[LETTERS].len, view[STEPS].len / 2) || view[BEGINS].len / 8 != 2 * tree.width) {
        PyErr_SetString(PyExc_ValueError, "no tree of letters");
        goto done;
    }
    tree.second = view[BEGINS].buf, tree.third = tree.second + tree.width;
    int64_t *bits = view[BITS].buf;
    for (Py_ssize_t i = 0; i < view[BITS].len / 8; i++) {
        PyObject *value = PyList_GetItem(values, i);
        Py_ssize_t length;
        if (value == NULL) goto done;
        const char *text = ascii(value, &length);
        bits[i] = text == NULL ? -1 : groups_in(&tree, (const unsigned char *)text, length);
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
