/* Words in the attributes of a page; reference: blockml.page.attributes. */
#include "kernel.h"

enum { MOST_WORDS = 63, N_FIRST = 4 };
typedef struct {
    const char *word[MOST_WORDS];
    Py_ssize_t length[MOST_WORDS];
    uint64_t any_case, with[N_FIRST][256]; /* Bits of the words that have a byte at one of their first places, */
    uint8_t places[1 << 16];               /* and of the places where some word has a pair of bytes. */
} Words;

static inline int pair(const uint8_t *bytes) {
    uint16_t both;
    memcpy(&both, bytes, sizeof both); /* one load */
    return both;
}

static void add_word(Words *w, int k, const char *word, Py_ssize_t length) {
    int first[N_FIRST], last[N_FIRST], step[N_FIRST]; /* bytes at each place: two for a letter, all behind the word */
    w->word[k] = word, w->length[k] = length;
    for (int place = 0; place < N_FIRST; place++) {
        int c = place < length ? (uint8_t)word[place] : 255, is_letter = w->any_case >> k & 1 && c >= 'a' && c <= 'z';
        last[place] = c, first[place] = place < length ? c - 32 * is_letter : 0, step[place] = place < length ? 32 : 1;
        for (c = first[place]; c <= last[place]; c += step[place]) {
            w->with[place][c] |= (uint64_t)1 << k;
            for (int b = place ? first[place - 1] : 256; place && b <= last[place - 1]; b += step[place - 1])
                w->places[pair((uint8_t[]){(uint8_t)b, (uint8_t)c})] |= 1 << (place - 1);
        }
    }
}

static int is_word(const Words *w, int k, const uint8_t *text, Py_ssize_t n) {
    Py_ssize_t same = 0, length = w->length[k] <= n ? w->length[k] : 0, any_case = w->any_case >> k & 1;
    while (same < length && (any_case ? lower_of((char)text[same]) : (char)text[same]) == w->word[k][same]) same++;
    return length && same == length;
}

/* Sets bits of each attribute set that contains words; returns -1 if an offset is out of order. Only every second byte
   is looked at, with two behind it: few texts have three that begin a word, or follow its first byte. */
static int mark(const Words *w, const uint8_t *pairs, Py_ssize_t n, const int64_t *ends, Py_ssize_t n_sets, int64_t *found) {
    const uint64_t *first = w->with[0], *second = w->with[1], *third = w->with[2];
    for (Py_ssize_t i = n & 1, set = 0; i < n; i += 2) { /* a zero byte is behind the pairs */
        int starts = w->places[pair(pairs + i)] & 3;
        if (!starts || !(starts &= w->places[pair(pairs + i + 1)] >> 1)) continue;
        for (Py_ssize_t at = starts & 2 && i ? i - 1 : i, last = starts & 1 ? i : i - 1; at <= last; at++)
            for (uint64_t all = first[pairs[at]] & second[pairs[at + 1]] & third[pairs[at + 2]]; all; all &= all - 1) {
                int k = lowest_bit(all);
                if (!is_word(w, k, pairs + at, n - at)) continue;
                while (set < n_sets && ends[set] <= at) set++;
                if (set == n_sets || ends[set] > n) return -1;
                found[set] |= (int64_t)1 << k;
            }
    }
    return 0;
}

/* word_table(words, any_case): bytes by which attribute_words finds the words, as long as these exist. */
PyObject *word_table(PyObject *module, PyObject *arguments) {
    PyObject *words;
    unsigned long long any_case;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!K", &PyTuple_Type, &words, &any_case)) return NULL;
    Words known = {.any_case = any_case};
    if (PyTuple_Size(words) > MOST_WORDS) return PyErr_Format(PyExc_IndexError, "too many words");
    for (int k = 0; k < (int)PyTuple_Size(words); k++) {
        char *word;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, k), &word, &length) < 0) return NULL;
        if (length < 2) return PyErr_Format(PyExc_ValueError, "words must have at least two bytes");
        add_word(&known, k, word, length);
    }
    return PyBytes_FromStringAndSize((const char *)&known, sizeof known);
}

/* attribute_words(pairs, table, (ends, found)): sets bit k of each attribute set that contains word k of the table. */
PyObject *attribute_words(PyObject *module, PyObject *arguments) {
    PyObject *pairs, *table, *arrays;
    Py_buffer view[2];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SSO!", &pairs, &table, &PyTuple_Type, &arrays)) return NULL;
    if (open_arrays(arrays, view, "q *q") < 0) return NULL;
    const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(pairs);
    Py_ssize_t n_sets = n_items(&view[0]);
    int failed = n_items(&view[1]) < n_sets || PyBytes_Size(table) != sizeof(Words) ||
                 mark((const Words *)PyBytes_AsString(table), bytes, PyBytes_Size(pairs), view[0].buf, n_sets, view[1].buf);
    close_arrays(view, 2);
    if (failed) return PyErr_Format(PyExc_IndexError, "attribute sets end before or behind their pairs, or are too many");
    return Py_NewRef(Py_None);
}
