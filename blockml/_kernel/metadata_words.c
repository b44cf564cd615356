/* Words in the attributes of a page; reference: blockml.page.attributes. */
#include "kernel.h"

enum { MOST_WORDS = 63, N_FIRST = 3 };
/* Words, and bits of those that have a byte at one of their first places. Few texts have three in a row. */
typedef struct {
    const char *word[MOST_WORDS];
    Py_ssize_t length[MOST_WORDS];
    uint64_t any_case, with[N_FIRST][256];
} Words;

static void add_word(Words *w, int k, const char *word, Py_ssize_t length) {
    uint64_t bit = (uint64_t)1 << k;
    w->word[k] = word, w->length[k] = length;
    for (int place = 0; place < N_FIRST; place++)
        for (int c = place < length ? (uint8_t)word[place] : 0, last = place < length ? c : 255; c <= last; c++) {
            w->with[place][c] |= bit;
            if (w->any_case & bit && c >= 'a' && c <= 'z') w->with[place][c - 'a' + 'A'] |= bit;
        }
}

static int is_word(const Words *w, int k, const uint8_t *text, Py_ssize_t n) {
    Py_ssize_t same = 0, length = w->length[k] <= n ? w->length[k] : 0, any_case = w->any_case >> k & 1;
    while (same < length && (any_case ? lower_of((char)text[same]) : (char)text[same]) == w->word[k][same]) same++;
    return length && same == length;
}

/* Sets bits of each attribute set that contains words; returns -1 if an offset is out of order. */
static int mark(const Words *w, const uint8_t *pairs, Py_ssize_t n, const int64_t *ends, Py_ssize_t n_sets, int64_t *found) {
    const uint64_t *first = w->with[0], *second = w->with[1], *third = w->with[2];
    uint64_t one = 0, two = 0;
    for (Py_ssize_t i = 0, set = 0; i <= n; i++) {
        const uint8_t byte = pairs[i];
        uint64_t all = two & third[byte];
        two = one & second[byte], one = first[byte];
        for (Py_ssize_t at = i + 1 - N_FIRST; all; all &= all - 1) {
            int k = lowest_bit(all);
            if (!is_word(w, k, pairs + at, n - at)) continue;
            while (set < n_sets && ends[set] <= at) set++;
            if (set == n_sets || ends[set] > n) return -1;
            found[set] |= (int64_t)1 << k;
        }
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
    Words known = {.any_case = any_case};
    for (int k = 0; k < (int)PyTuple_Size(words); k++) {
        char *word;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, k), &word, &length) < 0) goto done;
        if (length < 2) {
            PyErr_SetString(PyExc_ValueError, "words must have at least two bytes");
            goto done;
        }
        add_word(&known, k, word, length);
    }
    if (mark(&known, (const uint8_t *)PyBytes_AsString(pairs), PyBytes_Size(pairs), view[0].buf, n_sets, view[1].buf) == 0)
        result = Py_NewRef(Py_None);
    else
        PyErr_SetString(PyExc_IndexError, "attribute sets end before or behind their pairs");
done:
    close_arrays(view, 2);
    return result;
}
