/* Words that texts share with a page's title and description: the twin of blockml.features.metadata.resemblance. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint32_t *at;
    Py_ssize_t length;
    uint64_t hash;
    int sets; /* of the wanted words: bits of the sets that hold it */
} Token;

/* Words in some order: the hash makes most comparisons short, and words of one hash made up by someone cost no more
   than their characters. */
static int compared(const void *one, const void *other) {
    const Token *a = one, *b = other;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return memcmp(a->at, b->at, (size_t)a->length * sizeof(uint32_t));
}

/* FNV-1a (Fowler, Noll, Vo), by code points. */
static Token token(const uint32_t *at, Py_ssize_t length) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (Py_ssize_t i = 0; i < length; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return (Token){at, length, hash, 0};
}

typedef struct {
    const Token *wanted;
    size_t n_wanted;
    uint64_t sieve[64]; /* bits of the hashes that are wanted: few others pass */
} Search;

static uint64_t bit_of(const Token *word) { return (uint64_t)1 << (word->hash & 63); }
static int row_of(const Token *word) { return (int)(word->hash >> 6 & 63); }

static const Token *looked_up(const Search *search, const Token *word) {
    if (!(search->sieve[row_of(word)] & bit_of(word))) return NULL;
    return bsearch(word, search->wanted, search->n_wanted, sizeof(Token), compared);
}

/* Probes of one look-up; more are a sign of words made up so that they collide, and then words are sorted. */
enum { MOST_PROBES = 64 };

typedef struct {
    Token *words;    /* of a text */
    uint32_t *slots; /* twice as many, up to the next power of two */
    Py_ssize_t room; /* characters that there may be */
} Buffer;

/* Moves the first of each different word to the front, in any order; returns how many there are. */
static size_t different(Buffer *buffer, size_t n) {
    size_t size = 2;
    while (size < 2 * n) size *= 2;
    memset(buffer->slots, 0, size * sizeof(uint32_t));
    size_t count = 0;
    Token *words = buffer->words;
    for (size_t i = 0; i < n; i++) {
        size_t slot = (size_t)(words[i].hash ^ words[i].hash >> 32) & (size - 1);
        int probes = 0;
        while (buffer->slots[slot] && compared(&words[buffer->slots[slot] - 1], &words[i]) != 0) {
            if (++probes == MOST_PROBES) goto sorted;
            slot = (slot + 1) & (size - 1);
        }
        if (buffer->slots[slot]) continue;
        Token word = words[i];
        words[i] = words[count]; /* one that is there twice, or itself */
        words[count] = word;
        buffer->slots[slot] = (uint32_t)++count;
    }
    return count;
sorted:
    qsort(words, n, sizeof(Token), compared);
    count = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compared(&words[count - 1], &words[i]) != 0) words[count++] = words[i];
    return count;
}

/* Counts the different words of a text, and those of each set. A text without any wanted word has counts of 0. */
static void count_words(const Search *search, const uint32_t *points, Py_ssize_t length, Buffer *buffer,
                        double counts[3]) {
    size_t n = 0;
    int any = 0;
    for (Py_ssize_t at = 0; at < length;) {
        if (points[at] == 0) {
            at++;
            continue;
        }
        Py_ssize_t start = at;
        while (at < length && points[at]) at++;
        Token *word = &buffer->words[n++];
        *word = token(points + start, at - start);
        const Token *match = looked_up(search, word);
        if (match != NULL) {
            word->sets = match->sets;
            any = 1;
        }
    }
    counts[0] = counts[1] = counts[2] = 0;
    if (!any) return;
    n = different(buffer, n);
    counts[0] = (double)n;
    for (size_t i = 0; i < n; i++) {
        counts[1] += buffer->words[i].sets & 1;
        counts[2] += buffer->words[i].sets >> 1 & 1;
    }
}

/* Code points of a text in lower case, with 0 for what is in no word, at the end of an array that grows. */
typedef struct {
    uint32_t *at;
    Py_ssize_t length, room;
    const uint8_t *word_bits, *case_bits; /* one for each code point, low bits first: in words; other in lower case */
    uint32_t ascii[0x80];                 /* what an ASCII character becomes */
} Points;

static int make_room(Points *points, Py_ssize_t more) {
    if (more > PY_SSIZE_T_MAX / 16 - points->length) return -1;
    if (points->length + more <= points->room) return 0;
    Py_ssize_t room = 2 * (points->length + more) + 1024;
    uint32_t *moved = realloc(points->at, (size_t)room * sizeof(uint32_t));
    if (moved == NULL) return -1;
    points->at = moved;
    points->room = room;
    return 0;
}

static int has_bit(const uint8_t *bits, uint32_t point) { return bits[point >> 3] >> (point & 7) & 1; }

/* Appends what UTF-8 made by Python says: it is valid but for surrogates. Unless `cased`, capital ASCII letters become
   small; and -1 tells of others, whose small ones only Python knows. */
static int append_utf8(Points *points, const unsigned char *byte, Py_ssize_t n, int cased) {
    uint32_t *out = points->at + points->length;
    for (Py_ssize_t i = 0; i < n;) {
        uint32_t point = byte[i++];
        if (point < 0x80 && !cased) {
            *out++ = points->ascii[point];
            continue;
        }
        if (point >= 0x80) {
            int more = point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
            for (point &= 0x3fu >> more; more && i < n; more--, i++) point = point << 6 | (byte[i] & 0x3fu);
            if (point >= 0x110000 || (!cased && has_bit(points->case_bits, point))) return -1;
        }
        *out++ = has_bit(points->word_bits, point) ? point : 0;
    }
    points->length = out - points->at;
    return 0;
}

static void read_bits(Points *points, const uint8_t *word_bits, const uint8_t *case_bits) {
    points->word_bits = word_bits;
    points->case_bits = case_bits;
    for (uint32_t point = 0; point < 0x80; point++) {
        uint32_t small = point >= 'A' && point <= 'Z' ? point + 32 : point;
        points->ascii[point] = has_bit(word_bits, small) ? small : 0;
    }
}

/* Appends a text, as it is or in lower case; -1 with an exception. */
static int append(Points *points, PyObject *text, int cased) {
    Py_ssize_t n, before = points->length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &n);
    if (bytes == NULL) {
        PyErr_Clear(); /* lone surrogates */
    } else {
        if (make_room(points, n) < 0) goto no_memory;
        if (append_utf8(points, (const unsigned char *)bytes, n, cased) == 0) return 0;
        points->length = before;
    }
    PyObject *lowered = cased ? Py_NewRef(text) : PyObject_CallMethod(text, "lower", NULL);
    if (lowered == NULL) return -1;
    PyObject *encoded = PyUnicode_AsEncodedString(lowered, "utf-8", "surrogatepass");
    Py_DECREF(lowered);
    if (encoded == NULL) return -1;
    char *utf8;
    if (PyBytes_AsStringAndSize(encoded, &utf8, &n) < 0 || make_room(points, n) < 0) {
        Py_DECREF(encoded);
        if (PyErr_Occurred()) return -1;
        goto no_memory;
    }
    append_utf8(points, (const unsigned char *)utf8, n, 1);
    Py_DECREF(encoded);
    return 0;
no_memory:
    PyErr_NoMemory();
    return -1;
}

/* Makes room for the words of so many characters: a word and what parts it from the next are two. */
static int make_buffer(Buffer *buffer, Py_ssize_t length) {
    if (buffer->words != NULL && length <= buffer->room) return 0;
    if (length >= INT32_MAX / 4) return -1;
    Py_ssize_t room = 2 * length + 1024;
    free(buffer->words);
    free(buffer->slots);
    buffer->words = malloc(((size_t)room / 2 + 1) * sizeof(Token));
    buffer->slots = malloc(((size_t)room * 2 + 4) * sizeof(uint32_t)); /* at most four times as many as words */
    buffer->room = room;
    return buffer->words == NULL || buffer->slots == NULL ? -1 : 0;
}

/* Reads the wanted words, to look them up in `search`; -1 with an exception. */
static int prepare(Search *search, Token *wanted, Points *points, PyObject *texts, const uint8_t *sets) {
    for (size_t i = 0; i < search->n_wanted; i++) {
        PyObject *text = PyList_GetItem(texts, (Py_ssize_t)i);
        wanted[i].length = points->length;
        if (text == NULL || append(points, text, 1) < 0) return -1;
    }
    for (size_t i = 0; i < search->n_wanted; i++) {
        Py_ssize_t begin = wanted[i].length;
        Py_ssize_t end = i + 1 < search->n_wanted ? wanted[i + 1].length : points->length;
        wanted[i] = token(points->at + begin, end - begin);
        wanted[i].sets = sets[i];
        search->sieve[row_of(&wanted[i])] |= bit_of(&wanted[i]);
    }
    qsort(wanted, search->n_wanted, sizeof(Token), compared);
    search->wanted = wanted;
    return 0;
}

/* What a text has in common with title and description. */
enum { IN_TITLE, OF_TITLE, IN_DESCRIPTION, SINCE_TITLE, N_ROWS };

/* Writes the rows of one block; returns whether it is like the title. */
static int write_likeness(const double counts[3], double words, double n_title, double title_words, float *row,
                          Py_ssize_t n) {
    double some = counts[0] > 1 ? counts[0] : 1;
    double in_title = counts[0] <= title_words ? counts[1] / some : 0, of_title = counts[1] / (n_title > 1 ? n_title : 1);
    row[IN_TITLE * n] = (float)in_title;
    row[OF_TITLE * n] = (float)of_title;
    row[IN_DESCRIPTION * n] = (float)(counts[2] / some);
    return in_title > 0.7 && words >= 2 && of_title >= 0.4;
}

/* resemblance_rows(texts, words, title_words, wanted, sets, word_bits, case_bits, n_title, rows): rows (4, n) of each text:
   the share of its different words that is in the title, of the title's that is in it, of its own that is in the
   description, and blocks since the first text that is like the title, -9999 without one. The wanted words are those of
   the title, which are n_title and whose sets[i] has the first bit, and of the description, with the second. Words are
   the longest runs of characters whose word_bits is set, in lower case. Texts with none of them, and such of more than
   three times `title_words` words, have 0; of a text with more than `title_words` different ones none counts as the
   title's. */
PyObject *resemblance_rows(PyObject *module, PyObject *arguments) {
    enum { WORDS, SETS, WORD_BITS, CASE_BITS, ROWS, N };
    PyObject *texts, *wanted_texts, *object[N];
    Py_buffer view[N];
    double n_title, title_words;
    static const Py_ssize_t sizes[N] = {8, 1, 1, 1, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OdO!OOOdO", &PyTuple_Type, &texts, &object[WORDS], &title_words, &PyList_Type,
                          &wanted_texts, &object[SETS], &object[WORD_BITS], &object[CASE_BITS], &n_title, &object[ROWS]))
        return NULL;
    PyObject *result = NULL;
    Py_ssize_t n = PyTuple_Size(texts), n_wanted = PyList_Size(wanted_texts), first = -1;
    Token *wanted = NULL;
    Buffer buffer = {NULL, NULL, 0};
    Points points = {NULL, 0, 0, NULL, NULL, {0}}, wanted_points = points;
    Search search = {NULL, (size_t)n_wanted, {0}};
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Py_ssize_t n_bits = view[WORD_BITS].len < view[CASE_BITS].len ? view[WORD_BITS].len : view[CASE_BITS].len;
    if (view[SETS].len < n_wanted || n_bits < 0x110000 / 8 || view[WORDS].len / 8 != n ||
        view[ROWS].len / 4 != N_ROWS * n) {
        PyErr_SetString(PyExc_ValueError, "no room for all rows, or not all code points");
        goto done;
    }
    const double *words = view[WORDS].buf;
    float *rows = view[ROWS].buf;
    read_bits(&points, view[WORD_BITS].buf, view[CASE_BITS].buf);
    read_bits(&wanted_points, view[WORD_BITS].buf, view[CASE_BITS].buf);
    wanted = calloc((size_t)n_wanted + 1, sizeof(Token));
    if (wanted == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (prepare(&search, wanted, &wanted_points, wanted_texts, view[SETS].buf) < 0) goto done;
    for (Py_ssize_t i = 0; i < n; i++) {
        double counts[3] = {0, 0, 0};
        if (n_wanted && words[i] > 0 && words[i] <= 3 * title_words) {
            points.length = 0;
            if (append(&points, PyTuple_GetItem(texts, i), 0) < 0) goto done;
            if (make_buffer(&buffer, points.length) < 0) {
                PyErr_NoMemory();
                goto done;
            }
            count_words(&search, points.at, points.length, &buffer, counts);
        }
        if (write_likeness(counts, words[i], n_title, title_words, rows + i, n) && first < 0) first = i;
    }
    for (Py_ssize_t i = 0; i < n; i++) rows[SINCE_TITLE * n + i] = first >= 0 ? (float)(i - first) : -9999;
    result = Py_NewRef(Py_None);
done:
    free(wanted);
    free(buffer.words);
    free(buffer.slots);
    free(points.at);
    free(wanted_points.at);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
