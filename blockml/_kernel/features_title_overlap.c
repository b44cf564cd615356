/* Words that texts share with a page's title and description: the twin of blockml.features.metadata.resemblance. */
#include "text_bytes.h"
#include "features_page_tree.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    uint64_t hash;
    uint32_t length;
    uint32_t sets; /* of the wanted words: bits of the sets that hold it */
} Token;

/* Bytes, all zero, that may be read behind a text. */
enum { BEHIND = 8 };

/* Words in some order: the hash makes most comparisons short, and words of one hash made up by someone cost no more
   than their characters. */
static int compared(const void *one, const void *other) {
    const Token *a = one, *b = other;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return memcmp(a->at, b->at, a->length);
}

/* Up to eight bytes give each word a hash of its own. */
static inline int is_same(const Token *a, const Token *b) {
    return a->hash == b->hash && a->length == b->length && (a->length <= 8 || memcmp(a->at, b->at, a->length) == 0);
}

/* Reads the bytes up to the first that is zero, eight at a time; one is, and the last eight may lie behind it. */
static inline void read_token(Token *token, const uint8_t *at) {
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t hash = 0, word, zeros;
    const uint8_t *from = at;
    for (;; from += 8) {
        word = eight_bytes(from);
        zeros = zeros_in(word);
        if (zeros) break;
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    /* Below the lowest of these bits there is a one for each byte up to it. */
    uint64_t below = (zeros & -zeros) - 1;
    hash = (hash ^ (word & below)) * factor;
    token->hash = (hash ^ hash >> 32) * factor; /* the product's lower bits know little of a word's last bytes */
    token->at = at, token->sets = 0;
    token->length = (uint32_t)(from - at) + (uint32_t)((below & all_of(1)) * all_of(1) >> 56) - 1;
}

typedef struct {
    const Token *wanted; /* rising */
    size_t n_wanted;
    uint64_t sieve[64]; /* bits of the hashes that are wanted: few others pass */
} Search;

static inline uint64_t bit_of(const Token *word) { return (uint64_t)1 << (word->hash >> 52 & 63); }
static inline int row_of(const Token *word) { return (int)(word->hash >> 58); }

/* The sets that hold a word. */
static inline uint32_t sets_of(const Search *search, const Token *word) {
    if (!(search->sieve[row_of(word)] & bit_of(word))) return 0;
    const Token *at = search->wanted; /* the last one whose hash isn't larger, without a branch */
    for (size_t n = search->n_wanted, half; n > 1; n -= half) {
        half = n / 2;
        at += at[half].hash <= word->hash ? half : 0;
    }
    if (at > search->wanted && at[-1].hash == word->hash) /* words made up so that they collide */
        at = bsearch(word, search->wanted, search->n_wanted, sizeof(Token), compared);
    return at != NULL && is_same(at, word) ? at->sets : 0;
}

/* Probes of one look-up; more are a sign of words made up so that they collide, and then words are sorted. */
enum { MOST_PROBES = 64 };

typedef struct {
    Token *words;    /* of a text */
    uint32_t *slots; /* twice as many, up to the next power of two */
    Py_ssize_t room; /* bytes that there may be */
} Buffer;

enum { TITLE = 1, DESCRIPTION = 2 };

/* What a text has: different words, and those of each set. */
typedef struct {
    size_t all, title, description;
} Counts;

static inline void count_word(Counts *counts, const Token *word) {
    counts->all++;
    counts->title += word->sets & TITLE;
    counts->description += (word->sets & DESCRIPTION) / DESCRIPTION;
}

/* Counts each different one of n words. */
static Counts count_different(Buffer *buffer, size_t n) {
    Counts counts = {0, 0, 0};
    Token *words = buffer->words;
    size_t size = 2;
    while (size < 2 * n) size *= 2;
    memset(buffer->slots, 0, size * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        size_t slot = words[i].hash >> 32 & (size - 1);
        int probes = 0;
        while (buffer->slots[slot] && !is_same(&words[buffer->slots[slot] - 1], &words[i])) {
            if (++probes == MOST_PROBES) goto sorted;
            slot = (slot + 1) & (size - 1);
        }
        if (buffer->slots[slot]) continue;
        buffer->slots[slot] = (uint32_t)(i + 1);
        count_word(&counts, &words[i]);
    }
    return counts;
sorted:
    qsort(words, n, sizeof(Token), compared);
    counts = (Counts){0, 0, 0};
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compared(&words[i - 1], &words[i]) != 0) count_word(&counts, &words[i]);
    return counts;
}

/* Counts the different words of a text, and those of each set. A text without any wanted word has counts of 0. */
static Counts count_words(const Search *search, const uint8_t *bytes, Py_ssize_t length, Buffer *buffer) {
    size_t n = 0;
    uint32_t any = 0;
    for (Py_ssize_t at = 0; at < length; at++) {
        if (bytes[at] == 0) continue;
        Token *word = &buffer->words[n++];
        read_token(word, bytes + at);
        at += (Py_ssize_t)word->length;
        any |= word->sets = sets_of(search, word);
    }
    return any ? count_different(buffer, n) : (Counts){0, 0, 0};
}

/* A text in lower case as UTF-8, with zeros for what is in no word, at the end of an array that grows. */
typedef struct {
    uint8_t *at;
    Py_ssize_t length, room;
    const uint8_t *word_bits, *case_bits; /* one for each code point, low bits first: in words; other in lower case */
    uint8_t ascii[2][0x80];               /* what an ASCII character becomes, in lower case and as it is */
} Lowered;

/* Room for so many bytes more, and those that may be read behind them; -1 without memory. */
static int make_room(Lowered *text, Py_ssize_t more) {
    if (more > PY_SSIZE_T_MAX / 16 - text->length) return -1;
    if (text->length + more + BEHIND <= text->room) return 0;
    Py_ssize_t room = 2 * (text->length + more) + 1024;
    uint8_t *moved = realloc(text->at, (size_t)room);
    if (moved == NULL) return -1;
    text->at = moved;
    text->room = room;
    return 0;
}

static int has_bit(const uint8_t *bits, uint32_t point) { return bits[point >> 3] >> (point & 7) & 1; }

/* Appends what UTF-8 made by Python says: it is valid but for surrogates. Unless `cased`, capital ASCII letters become
   small; and -1 tells of others, whose small ones only Python knows. */
static int append_utf8(Lowered *text, const uint8_t *byte, Py_ssize_t n, int cased) {
    uint8_t *out = text->at + text->length;
    const uint8_t *ascii = text->ascii[cased];
    const uint8_t *end = byte + n;
    while (byte < end) {
        if (end - byte >= 8 && !(eight_bytes(byte) & all_of(128))) {
            for (int k = 0; k < 8; k++) out[k] = ascii[byte[k]];
            byte += 8, out += 8;
        } else if (*byte < 0x80) {
            *out++ = ascii[*byte++];
        } else {
            const uint8_t *begin = byte;
            uint32_t point = next_point(&byte, end);
            if (!cased && has_bit(text->case_bits, point)) return -1;
            int in_word = has_bit(text->word_bits, point);
            for (; begin < byte; begin++) *out++ = in_word ? *begin : 0;
        }
    }
    text->length += n;
    memset(out, 0, BEHIND);
    return 0;
}

static void read_bits(Lowered *text, const uint8_t *word_bits, const uint8_t *case_bits) {
    text->word_bits = word_bits;
    text->case_bits = case_bits;
    for (uint32_t point = 0; point < 0x80; point++) {
        uint32_t small = point >= 'A' && point <= 'Z' ? point + 32 : point;
        text->ascii[0][point] = has_bit(word_bits, small) ? (uint8_t)small : 0;
        text->ascii[1][point] = has_bit(word_bits, point) ? (uint8_t)point : 0;
    }
}

/* Appends a text in lower case; -1 with an exception. */
static int append(Lowered *lowered, PyObject *text) {
    Py_ssize_t n, before = lowered->length;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &n);
    if (bytes == NULL) {
        PyErr_Clear(); /* lone surrogates */
    } else {
        if (make_room(lowered, n) < 0) goto no_memory;
        if (append_utf8(lowered, (const uint8_t *)bytes, n, 0) == 0) return 0;
        lowered->length = before;
    }
    PyObject *small = PyObject_CallMethod(text, "lower", NULL);
    if (small == NULL) return -1;
    PyObject *encoded = PyUnicode_AsEncodedString(small, "utf-8", "surrogatepass");
    Py_DECREF(small);
    if (encoded == NULL) return -1;
    char *utf8;
    if (PyBytes_AsStringAndSize(encoded, &utf8, &n) < 0 || make_room(lowered, n) < 0) {
        Py_DECREF(encoded);
        if (PyErr_Occurred()) return -1;
        goto no_memory;
    }
    append_utf8(lowered, (const uint8_t *)utf8, n, 1);
    Py_DECREF(encoded);
    return 0;
no_memory:
    PyErr_NoMemory();
    return -1;
}

/* Makes room for the words of so many bytes: a word and what parts it from the next are two. */
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

/* Adds the words of a text in lower case, with the set they are of; returns how many there are then. */
static size_t add_words(Token *words, size_t n, const uint8_t *at, const uint8_t *end, uint32_t set) {
    for (; at < end; at++) {
        if (*at == 0) continue;
        read_token(&words[n], at);
        at += words[n].length;
        words[n++].sets = set;
    }
    return n;
}

/* Reads the different words of title and description, to look them up in `search`; `words` are to be freed. Returns
   how many are the title's, -1 with an exception. */
static Py_ssize_t prepare(Search *search, Token **words, Lowered *lowered, PyObject *title, PyObject *description) {
    if (append(lowered, title) < 0) return -1;
    Py_ssize_t behind = ++lowered->length; /* a zero parts them */
    if (append(lowered, description) < 0) return -1;
    size_t most = (size_t)lowered->length / 2 + 2; /* a word and what parts it from the next are two bytes */
    Token *wanted = *words = lowered->length < INT32_MAX ? calloc(most, sizeof(Token)) : NULL;
    if (wanted == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t n = add_words(wanted, 0, lowered->at, lowered->at + behind, TITLE), count = 0;
    n = add_words(wanted, n, lowered->at + behind, lowered->at + lowered->length, DESCRIPTION);
    qsort(wanted, n, sizeof(Token), compared);
    Py_ssize_t n_title = 0;
    for (size_t i = 0; i < n; i++) {
        if (count && compared(&wanted[count - 1], &wanted[i]) == 0)
            wanted[count - 1].sets |= wanted[i].sets;
        else
            wanted[count++] = wanted[i];
    }
    for (size_t i = 0; i < count; i++) {
        n_title += wanted[i].sets & TITLE;
        search->sieve[row_of(&wanted[i])] |= bit_of(&wanted[i]);
    }
    search->wanted = wanted, search->n_wanted = count;
    return n_title;
}

/* What a text has in common with title and description. */
enum { IN_TITLE, OF_TITLE, IN_DESCRIPTION, SINCE_TITLE, N_ROWS };

/* Writes the rows of one block; returns whether it is like the title. */
static int write_likeness(Counts counts, double words, double n_title, double title_words, float *const *rows,
                          Py_ssize_t block) {
    double all = (double)counts.all, title = (double)counts.title, some = at_least(all, 1);
    double in_title = all <= title_words ? title / some : 0, of_title = title / at_least(n_title, 1);
    rows[IN_TITLE][block] = (float)in_title;
    rows[OF_TITLE][block] = (float)of_title;
    rows[IN_DESCRIPTION][block] = (float)((double)counts.description / some);
    return in_title > 0.7 && words >= 2 && of_title >= 0.4;
}

/* Words are the longest runs of characters whose bit is set, in lower case. Texts with none that is wanted, and such
   of more than three times as many words as titles have, have 0; of a text with more different ones than these none
   counts as the title's. */
static int write_resemblance(Page *page, float *const *rows) {
    const Tables *tables = page->tables;
    double title_words = (double)number_in(tables, TITLE_WORDS);
    const double *words = page->tree->amounts;
    Py_ssize_t n = page->tree->n, first = -1;
    Token *wanted = NULL;
    Buffer buffer = {NULL, NULL, 0};
    Lowered lowered = {.at = NULL}, said = {.at = NULL};
    Search search = {NULL, 0, {0}};
    int done = -1;
    read_bits(&lowered, tables->view[IN_WORD].buf, tables->view[CASED].buf);
    read_bits(&said, tables->view[IN_WORD].buf, tables->view[CASED].buf);
    Py_ssize_t n_title = prepare(&search, &wanted, &said, page->title, page->description);
    if (n_title < 0) goto failed;
    for (Py_ssize_t i = 0; i < n; i++) {
        Counts counts = {0, 0, 0};
        if (search.n_wanted && words[i] > 0 && words[i] <= 3 * title_words) {
            lowered.length = 0;
            if (append(&lowered, PyTuple_GetItem(page->tree->texts, i)) < 0) goto failed;
            if (make_buffer(&buffer, lowered.length) < 0) {
                PyErr_NoMemory();
                goto failed;
            }
            counts = count_words(&search, lowered.at, lowered.length, &buffer);
        }
        if (write_likeness(counts, words[i], (double)n_title, title_words, rows, i) && first < 0) first = i;
    }
    for (Py_ssize_t i = 0; i < n; i++) rows[SINCE_TITLE][i] = first >= 0 ? (float)(i - first) : -9999;
    done = 0;
failed:
    free(wanted);
    free(buffer.words);
    free(buffer.slots);
    free(lowered.at);
    free(said.at);
    return done;
}

const Family resemblance_family = {write_resemblance, NEEDS_TITLE, {{ONCE, "intitle oftitle indescription sincetitle"}}};
