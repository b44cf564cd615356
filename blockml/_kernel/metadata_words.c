/* Words in the attributes of a page; reference: blockml.page.attributes. */
#include "kernel.h"

enum { MOST_WORDS = 63, N_FIRST = 4 };
typedef struct {
    char *word[MOST_WORDS + 1];
    Py_ssize_t length[MOST_WORDS + 1]; /* 0 behind the last word */
} Words;
typedef struct {
    uint64_t any_case, with[N_FIRST][256]; /* bits of words that match in any case, and that have a byte at a first place */
    uint8_t places[1 << 16];               /* bits of the places at which some word has a pair of bytes */
} Table;

static inline int pair(const uint8_t *bytes) { return bytes[0] | bytes[1] << 8; } /* compiled to one load */

static void add_word(Table *t, int k, const char *word, Py_ssize_t length) {
    int first[N_FIRST], last[N_FIRST], step[N_FIRST]; /* bytes at each place: two for a letter, all behind the word */
    for (int place = 0; place < N_FIRST; place++) {
        int c = place < length ? (uint8_t)word[place] : 255, is_letter = t->any_case >> k & 1 && c >= 'a' && c <= 'z';
        last[place] = c, first[place] = place < length ? c - 32 * is_letter : 0, step[place] = place < length ? 32 : 1;
        for (c = first[place]; c <= last[place]; c += step[place]) {
            t->with[place][c] |= (uint64_t)1 << k;
            for (int b = place ? first[place - 1] : 256; place && b <= last[place - 1]; b += step[place - 1])
                t->places[pair((uint8_t[]){(uint8_t)b, (uint8_t)c})] |= 1 << (place - 1);
        }
    }
}

static int is_word(const char *word, Py_ssize_t length, int any_case, const uint8_t *text, Py_ssize_t n) {
    Py_ssize_t same = 0;
    if (length > n) return 0;
    while (same < length && (any_case ? lower_of((char)text[same]) : (char)text[same]) == word[same]) same++;
    return length && same == length;
}

/* Sets bits of each attribute set that contains words; returns -1 if an offset is out of order. Only every second byte
   is looked at, with two behind it: few texts have three that begin a word, or follow its first byte. */
static int mark(const Words *w, const Table *t, const uint8_t *pairs, Py_ssize_t n, Py_buffer *view) {
    const uint64_t *first = t->with[0], *second = t->with[1], *third = t->with[2];
    const int64_t *ends = view[0].buf;
    Py_ssize_t set = 0, n_sets = n_items(&view[0]);
    for (Py_ssize_t i = n & 1; i < n; i += 2) { /* a zero byte is behind the pairs */
        int starts = t->places[pair(pairs + i)] & 3;
        if (!starts || !(starts &= t->places[pair(pairs + i + 1)] >> 1)) continue;
        for (Py_ssize_t at = starts & 2 && i ? i - 1 : i, last = starts & 1 ? i : i - 1; at <= last; at++)
            for (uint64_t all = first[pairs[at]] & second[pairs[at + 1]] & third[pairs[at + 2]]; all; all &= all - 1) {
                int k = lowest_bit(all);
                if (!is_word(w->word[k], w->length[k], t->any_case >> k & 1, pairs + at, n - at)) continue;
                while (set < n_sets && ends[set] <= at) set++;
                if (set == n_sets || ends[set] > n) return -1;
                ((int64_t *)view[1].buf)[set] |= (int64_t)1 << k;
            }
    }
    return 0;
}

static int open_words(PyObject *words, Words *w) {
    for (Py_ssize_t k = 0; k < PyTuple_Size(words); k++) {
        if (k == MOST_WORDS) return PyErr_SetString(PyExc_IndexError, "too many words"), -1;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(words, k), &w->word[k], &w->length[k]) < 0) return -1;
        if (w->length[k] < 2) return PyErr_SetString(PyExc_ValueError, "words must have at least two bytes"), -1;
    }
    return 0;
}

/* word_table(words, any_case): bytes by which attribute_words finds the words, those of the given bits in any case. */
PyObject *word_table(PyObject *module, PyObject *arguments) {
    PyObject *words;
    unsigned long long any_case;
    Words w = {{NULL}, {0}};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!K", &PyTuple_Type, &words, &any_case) || open_words(words, &w) < 0) return NULL;
    Table table = {.any_case = any_case};
    for (int k = 0; w.length[k]; k++) add_word(&table, k, w.word[k], w.length[k]);
    return PyBytes_FromStringAndSize((const char *)&table, sizeof table);
}

/* attribute_words(pairs, words, table, (ends, found)): sets bit k of each attribute set that contains words[k]. */
PyObject *attribute_words(PyObject *module, PyObject *arguments) {
    PyObject *pairs, *words, *table, *arrays;
    Py_buffer view[2];
    Words w = {{NULL}, {0}};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SO!SO!", &pairs, &PyTuple_Type, &words, &table, &PyTuple_Type, &arrays)) return NULL;
    if (open_words(words, &w) < 0 || open_arrays(arrays, view, "q *q") < 0) return NULL;
    int failed = n_items(&view[1]) < n_items(&view[0]) || PyBytes_Size(table) != sizeof(Table) ||
                 mark(&w, (Table *)PyBytes_AsString(table), (uint8_t *)PyBytes_AsString(pairs), PyBytes_Size(pairs), view);
    close_arrays(view, 2);
    return failed ? PyErr_Format(PyExc_IndexError, "attribute sets end outside of their pairs, or are too many") : Py_NewRef(Py_None);
}
