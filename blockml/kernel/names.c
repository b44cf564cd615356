/* Attributes that name parts of a page: their values as numbers, and the words in them.

   numbered: the twin of blockml.features.names.numbered. keyword_bits: of blockml.features.keywords.all_bits, which
   reads values of ASCII characters only, as nearly all are, and leaves all others to Python, for which case is
   Unicode's. */
#include "kernel.h"
#include <string.h>

enum { MOST_NAMES = 8 };

typedef struct {
    PyObject *object;
    const char *text;
    Py_ssize_t length;
} Name;

/* Writes the values of the named attributes, NULL where there is none; new references. 0 with an exception.

   Elements have few attributes: to look at all of them costs less than to look up each name. */
static int values_of(PyObject *attributes, const Name *names, Py_ssize_t n, PyObject **values) {
    for (Py_ssize_t k = 0; k < n; k++) values[k] = NULL;
    if (!PyDict_CheckExact(attributes)) {
        for (Py_ssize_t k = 0; k < n; k++) {
            values[k] = PyObject_CallMethod(attributes, "get", "O", names[k].object);
            if (values[k] == NULL) return 0;
        }
    } else {
        PyObject *key, *value;
        Py_ssize_t place = 0, length;
        while (PyDict_Next(attributes, &place, &key, &value)) {
            const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
            if (text == NULL) {
                PyErr_Clear(); /* no text, or lone surrogates: none of the names */
                continue;
            }
            for (Py_ssize_t k = 0; k < n; k++)
                if (values[k] == NULL && length == names[k].length && memcmp(text, names[k].text, (size_t)length) == 0)
                    values[k] = Py_NewRef(value);
        }
    }
    for (Py_ssize_t k = 0; k < n; k++)
        if (values[k] == Py_None) Py_CLEAR(values[k]);
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

/* numbered(attributes, names, chosen, numbers, columns): columns (n_names, n_nodes + 1) of the numbers of the values of
   the chosen nodes. */
PyObject *numbered(PyObject *module, PyObject *arguments) {
    PyObject *attributes, *names, *chosen_array, *numbers, *column_array;
    Py_buffer chosen, columns;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!OO!O", &PyList_Type, &attributes, &PyTuple_Type, &names, &chosen_array,
                          &PyDict_Type, &numbers, &column_array))
        return NULL;
    if (open_array(chosen_array, &chosen, 8, 0) < 0) return NULL;
    if (open_array(column_array, &columns, 4, 1) < 0) {
        PyBuffer_Release(&chosen);
        return NULL;
    }
    PyObject *result = NULL, *held = NULL, *empty = NULL;
    Py_ssize_t n_names = PyTuple_Size(names), n = PyList_Size(attributes);
    Name named[MOST_NAMES];
    if (n_names > MOST_NAMES || columns.len / 4 < n_names * (n + 1)) {
        PyErr_SetString(PyExc_ValueError, "no room for all numbers");
        goto done;
    }
    for (Py_ssize_t k = 0; k < n_names; k++) {
        named[k].object = PyTuple_GetItem(names, k);
        named[k].text = named[k].object == NULL ? NULL : PyUnicode_AsUTF8AndSize(named[k].object, &named[k].length);
        if (named[k].text == NULL) goto done;
    }
    for (Py_ssize_t i = 0; i < chosen.len / 8; i++) {
        Py_ssize_t node = (Py_ssize_t)((const int64_t *)chosen.buf)[i];
        Py_XDECREF(held);
        held = node < 0 || node >= n ? NULL : PyList_GetItem(attributes, node);
        if (held == NULL) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such node");
            goto done;
        }
        Py_INCREF(held); /* looking up may run a mapping's own code */
        if (held == empty) continue; /* elements without attributes mostly share one mapping */
        Py_ssize_t size = PyDict_CheckExact(held) ? PyDict_Size(held) : PyObject_Size(held);
        if (size < 0) goto done;
        if (size == 0) {
            Py_XDECREF(empty);
            empty = Py_NewRef(held);
            continue;
        }
        PyObject *values[MOST_NAMES];
        int failed = !values_of(held, named, n_names, values);
        for (Py_ssize_t k = 0; k < n_names; k++) {
            if (values[k] == NULL) continue;
            long number = failed ? -1 : number_of(numbers, values[k]);
            Py_DECREF(values[k]);
            if (number < 0)
                failed = 1;
            else
                ((int32_t *)columns.buf)[k * (n + 1) + node] = (int32_t)number;
        }
        if (failed) goto done;
    }
    result = Py_NewRef(Py_None);
done:
    Py_XDECREF(held);
    Py_XDECREF(empty);
    PyBuffer_Release(&chosen);
    PyBuffer_Release(&columns);
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
