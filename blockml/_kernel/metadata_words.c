/* Words in the attributes of a page; reference: blockml.page.attributes. */
#include "kernel.h"

enum { STEP = 64, MOST_WORDS = 63 };

/* Bits that are set before bytes are compared: 0, or the bit that differs between the cases of an ASCII letter. */
enum { EXACT = 0, ANY_CASE = 0x20 };

/* Returns the first offset from `at` where the first, middle and last byte of `word` match, which is rare; or `n`. */
WIDE static Py_ssize_t next_place(const uint8_t *text, Py_ssize_t at, Py_ssize_t n, const char *word, Py_ssize_t length,
                                  uint8_t set) {
    const uint8_t first = (uint8_t)word[0] | set, half = (uint8_t)word[length / 2] | set,
                  last = (uint8_t)word[length - 1] | set, *middle = text + length / 2, *end = text + length - 1;
    for (; at + STEP + length <= n; at += STEP) {
        uint8_t any = 0;
        for (int i = 0; i < STEP; i++)
            any |= (uint8_t)(((text[at + i] | set) == first) & ((middle[at + i] | set) == half) &
                             ((end[at + i] | set) == last));
        if (any) break;
    }
    while (at + length <= n &&
           !((text[at] | set) == first && (middle[at] | set) == half && (end[at] | set) == last)) at++;
    return at + length <= n ? at : n;
}

/* Sets a bit of each attribute set that contains a word; returns -1 with an exception set for an offset out of order.
   */
static int mark(const uint8_t *pairs, Py_ssize_t n, const int64_t *ends, Py_ssize_t n_sets, const char *word,
                Py_ssize_t length, uint8_t ignored, int64_t bit, int64_t *found) {
    Py_ssize_t set = 0, at = 0;
    while ((at = next_place(pairs, at, n, word, length, ignored)) < n) {
        Py_ssize_t same = 0;
        while (same < length && (ignored ? lower_of((char)pairs[at + same]) : (char)pairs[at + same]) == word[same]) same++;
        if (same < length) {
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

/* attribute_words(pairs, words, any_case, (ends, found)): sets bit k of each attribute set that contains words[k], which
   must be in lower case if bit k of `any_case` is set. */
PyObject *attribute_words(PyObject *module, PyObject *arguments) {
    PyObject *pairs, *words, *arrays, *result = NULL;
    Py_buffer view[2];
    unsigned long long any_case;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SO!KO!", &pairs, &PyTuple_Type, &words, &any_case, &PyTuple_Type, &arrays)) return NULL;
    if (open_arrays(arrays, view, "q *q") < 0) return NULL;
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
                 any_case >> k & 1 ? ANY_CASE : EXACT, (int64_t)1 << k, view[1].buf) < 0)
            goto done;
    }
    result = Py_NewRef(Py_None);
done:
    close_arrays(view, 2);
    return result;
}
