/* Words in the attributes of a page; reference: blockml.page.attribute_words. */
#include "kernel.h"

enum { STEP = 64, MOST_WORDS = 8 };

/* Returns the first offset from `at` with the first, middle and last of `length` bytes, a rare combination; or `n`. */
WIDE static Py_ssize_t next_place(const uint8_t *text, Py_ssize_t at, Py_ssize_t n, const char *word, Py_ssize_t length) {
    const uint8_t first = (uint8_t)word[0], half = (uint8_t)word[length / 2], last = (uint8_t)word[length - 1];
    const uint8_t *middle = text + length / 2, *end = text + length - 1;
    for (; at + STEP + length <= n; at += STEP) {
        uint8_t any = 0;
        for (int i = 0; i < STEP; i++)
            any |= (uint8_t)((text[at + i] == first) & (middle[at + i] == half) & (end[at + i] == last));
        if (any) break;
    }
    while (at + length <= n && !(text[at] == first && middle[at] == half && end[at] == last)) at++;
    return at + length <= n ? at : n;
}

/* Sets a bit of each attribute set that contains a word; returns -1 with an exception set for an offset out of order.
   */
static int mark(const uint8_t *pairs, Py_ssize_t n, const int64_t *ends, Py_ssize_t n_sets, const char *word,
                Py_ssize_t length, uint8_t bit, uint8_t *found) {
    Py_ssize_t set = 0, at = 0;
    while ((at = next_place(pairs, at, n, word, length)) < n) {
        if (memcmp(pairs + at, word, (size_t)length) != 0) {
            at++;
            continue;
        }
        while (set < n_sets && ends[set] <= at) set++;
        if (set == n_sets || ends[set] > n) {
            PyErr_SetString(PyExc_IndexError, "attribute sets end before or behind their pairs");
            return -1;
        }
        found[set] |= bit;
        at = (Py_ssize_t)ends[set];
    }
    return 0;
}

/* attribute_words(pairs, words, (ends, found)): sets bit k of each attribute set that contains words[k]. */
PyObject *attribute_words(PyObject *module, PyObject *arguments) {
    PyObject *pairs, *words, *arrays, *result = NULL;
    Py_buffer view[2];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SO!O!", &pairs, &PyTuple_Type, &words, &PyTuple_Type, &arrays)) return NULL;
    if (open_arrays(arrays, view, "q *B") < 0) return NULL;
    Py_ssize_t n_sets = n_items(&view[0]);
    if (n_items(&view[1]) < n_sets || PyTuple_Size(words) > MOST_WORDS) {
        PyErr_SetString(PyExc_IndexError, "too many words or attribute sets");
        goto done;
    }
    for (Py_ssize_t k = 0; k < PyTuple_Size(words); k++) {
        char *word;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, k), &word, &length) < 0) goto done;
        if (length < 2) {
            PyErr_SetString(PyExc_ValueError, "words must have at least two bytes");
            goto done;
        }
        if (mark((const uint8_t *)PyBytes_AsString(pairs), PyBytes_Size(pairs), view[0].buf, n_sets, word, length,
                 (uint8_t)(1u << k), view[1].buf) < 0)
            goto done;
    }
    result = Py_NewRef(Py_None);
done:
    close_arrays(view, 2);
    return result;
}
