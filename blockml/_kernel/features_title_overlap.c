/* Words that texts share with a page's title and description; reference: blockml.features.metadata.title_overlap. */
#include "text_bytes.h"
#include "features_page_tree.h"

enum { TITLE = 1, DESCRIPTION = 2 };
enum { BEHIND = 8 }; /* zero bytes after a text: words are read eight bytes at a time */

typedef struct {
    const char *at;
    uint64_t hash;
    size_t length;
    uint32_t sets; /* bits of the texts that contain it: title or description */
} Token;

/* Order of words, by hash first, which differs for most words. */
static int compared(const void *one, const void *other) {
    const Token *a = one, *b = other;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return memcmp(a->at, b->at, a->length);
}

/* Texts in lower case as UTF-8, with a final zero byte, and zero bytes replacing characters outside words; and the
   words of the last text. */
typedef struct {
    const uint8_t *word_bits, *case_bits; /* by code point: whether it is in words; whether it has another case */
    char ascii[2][0x80]; /* replacement of ASCII characters: lower case, or unchanged */
    char *text;
    Py_ssize_t length, room;
    Token *words;
    uint64_t *keys;
    int64_t *number;
} Buffer;

static int has_bit(const uint8_t *bits, uint32_t point) { return bits[point >> 3] >> (point & 7) & 1; }

static void set_up(Buffer *buffer, const uint8_t *word_bits, const uint8_t *case_bits) {
    *buffer = (Buffer){.word_bits = word_bits, .case_bits = case_bits};
    for (uint32_t point = 0; point < 0x80; point++) {
        char small = lower_of((char)point);
        buffer->ascii[0][point] = (char)(has_bit(word_bits, (uint32_t)small) ? small : 0);
        buffer->ascii[1][point] = (char)(has_bit(word_bits, point) ? (char)point : 0);
    }
}

static void clear(Buffer *buffer) {
    free(buffer->text);
    free(buffer->words);
    free(buffer->keys);
    free(buffer->number);
}

/* Makes room for `more` bytes, eight zero bytes after them, and their words, each of which is followed by a byte. */
static int make_room(Buffer *buffer, Py_ssize_t more) {
    if (more > INT32_MAX - buffer->length) return no_memory();
    if (buffer->length + more + BEHIND <= buffer->room) return 0;
    Py_ssize_t room = 2 * (buffer->length + more) + 1024;
    size_t n_words = (size_t)room / 2 + 1;
    char *text = realloc(buffer->text, (size_t)room);
    if (text != NULL) buffer->text = text;
    Token *words = realloc(buffer->words, n_words * sizeof(Token));
    if (words != NULL) buffer->words = words;
    uint64_t *keys = realloc(buffer->keys, n_words * sizeof(uint64_t));
    if (keys != NULL) buffer->keys = keys;
    int64_t *number = realloc(buffer->number, n_words * sizeof(int64_t));
    if (number != NULL) buffer->number = number;
    if (text == NULL || words == NULL || keys == NULL || number == NULL) return no_memory();
    buffer->room = room;
    return 0;
}

/* Appends UTF-8 from Python, and converts ASCII to lower case unless `is_lower`. Returns 0 if other characters may
   have another case, which only Python knows. */
static int append_utf8(Buffer *buffer, const char *bytes, Py_ssize_t n, int is_lower) {
    char *out = buffer->text + buffer->length;
    const char *ascii = buffer->ascii[is_lower];
    const uint8_t *byte = (const uint8_t *)bytes, *end = byte + n;
    while (byte < end) {
        if (end - byte >= 8 && !(eight_bytes(byte) & all_of(128))) {
            for (int k = 0; k < 8; k++) *out++ = ascii[*byte++];
            continue;
        }
        if (*byte < 0x80) {
            *out++ = ascii[*byte++];
            continue;
        }
        const uint8_t *begin = byte;
        uint32_t point = next_point(&byte, end);
        if (!is_lower && has_bit(buffer->case_bits, point)) return 0;
        int in_word = has_bit(buffer->word_bits, point);
        for (; begin < byte; begin++) *out++ = (char)(in_word ? *begin : 0);
    }
    buffer->length += n;
    memset(out, 0, BEHIND);
    return 1;
}

/* Appends a text in lower case by Python. */
static int append_lowered(Buffer *buffer, Utf8 text) {
    PyObject *str = PyUnicode_DecodeUTF8(text.bytes, text.length, "surrogatepass"), *encoded = NULL;
    PyObject *small = str == NULL ? NULL : PyObject_CallMethod(str, "lower", NULL);
    if (small != NULL) encoded = PyUnicode_AsEncodedString(small, "utf-8", "surrogatepass");
    int done = encoded == NULL || make_room(buffer, PyBytes_Size(encoded)) < 0 ? -1 : 0;
    if (done == 0) append_utf8(buffer, PyBytes_AsString(encoded), PyBytes_Size(encoded), 1);
    Py_XDECREF(str);
    Py_XDECREF(small);
    Py_XDECREF(encoded);
    return done;
}

/* Appends a text in lower case. */
static int append(Buffer *buffer, Utf8 text) {
    int done = 0;
    if (make_room(buffer, text.length) < 0) return -1;
    if (!append_utf8(buffer, text.bytes, text.length, 0)) LOCKED(done = append_lowered(buffer, text));
    return done;
}

/* Reads a word up to the following zero byte, eight bytes at a time, without branches on the length of short words. */
static inline Token token_at(const char *at) {
    uint64_t hash = 0, word, zeros;
    const char *from = at;
    for (;; from += 8) {
        word = eight_bytes(from);
        if ((zeros = zeros_in(word))) break;
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    int bits = lowest_bit(zeros) & ~7; /* of the characters before the zero byte */
    hash = (hash ^ (word & (((uint64_t)1 << bits) - 1))) * 0x9e3779b97f4a7c15u;
    return (Token){at, (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u >> 32, (size_t)(from - at) + (size_t)bits / 8, 0};
}

/* Reads the words of the text starting at `begin`; returns their number plus `n`. */
static size_t read_words(Buffer *buffer, Py_ssize_t begin, size_t n, uint32_t sets) {
    for (const char *at = buffer->text + begin, *end = buffer->text + buffer->length; at < end; at++) {
        if (*at == 0) continue;
        Token word = token_at(at);
        word.sets = sets;
        buffer->words[n++] = word;
        at += word.length;
    }
    return n;
}

/* Unique words of title and description, sorted, and a bit filter of their hashes. */
typedef struct {
    const Token *words;
    size_t n, n_title;
    uint64_t sieve[64];
} Wanted;

static uint64_t *row_of(Wanted *wanted, uint64_t hash) { return &wanted->sieve[hash & 63]; }
static uint64_t bit_of(uint64_t hash) { return (uint64_t)1 << (hash >> 6 & 63); }

/* Reads the words of title and description, which stay in the buffer. */
static int read_wanted(Wanted *wanted, Buffer *buffer, const Utf8 *titles) {
    if (append(buffer, titles[0]) < 0) return -1;
    Py_ssize_t behind = ++buffer->length; /* zero byte between them */
    if (append(buffer, titles[1]) < 0) return -1;
    Token *words = buffer->words;
    size_t n = read_words(buffer, behind, 0, DESCRIPTION), count = 0;
    buffer->length = behind;
    n = read_words(buffer, 0, n, TITLE);
    qsort(words, n, sizeof(Token), compared);
    for (size_t i = 0; i < n; i++) {
        if (count && compared(&words[count - 1], &words[i]) == 0)
            words[count - 1].sets |= words[i].sets;
        else
            words[count++] = words[i];
    }
    for (size_t i = 0; i < count; i++) {
        wanted->n_title += words[i].sets & TITLE;
        *row_of(wanted, words[i].hash) |= bit_of(words[i].hash);
    }
    wanted->words = words, wanted->n = count;
    return 0;
}

/* Looks up a word, without unpredictable branches; NULL if it is not wanted. */
static inline const Token *find(const Wanted *wanted, const Token *word) {
    const Token *at = wanted->words;
    for (size_t n = wanted->n, half; n > 1; n -= half) {
        half = n / 2;
        at += at[half].hash <= word->hash ? half : 0;
    }
    if (at->hash != word->hash) return NULL;
    if (at == wanted->words || at[-1].hash != word->hash) return compared(at, word) == 0 ? at : NULL;
    return bsearch(word, wanted->words, wanted->n, sizeof(Token), compared); /* several words with the same hash */
}

/* Numbers of unique words of a text, and of those in the title and in the description. */
typedef struct {
    double all, title, description;
} Counts;

static void count_word(Counts *counts, const Token *word) {
    counts->all++;
    counts->title += (word->sets & TITLE) > 0;
    counts->description += (word->sets & DESCRIPTION) > 0;
}

/* Counts the unique words among n words. */
static int count_different(Buffer *buffer, size_t n, Counts *counts) {
    Token *words = buffer->words;
    int64_t n_different = 0;
    for (size_t i = 0; i < n; i++) buffer->keys[i] = words[i].hash;
    if (factorize(buffer->keys, n, buffer->number) < 0) return -1;
    uint64_t *first = buffer->keys; /* position of the first word of each number */
    for (size_t i = 0; i < n; i++) {
        if (buffer->number[i] == n_different) {
            first[n_different++] = i;
            count_word(counts, &words[i]);
        } else if (compared(&words[i], &words[first[buffer->number[i]]]) != 0) { /* hash collision */
            *counts = (Counts){0, 0, 0};
            qsort(words, n, sizeof(Token), compared);
            for (size_t k = 0; k < n; k++)
                if (k == 0 || compared(&words[k - 1], &words[k]) != 0) count_word(counts, &words[k]);
            return 0;
        }
    }
    return 0;
}

/* Counts the unique words of a text if one of them is wanted. */
static int count_words(Wanted *wanted, Buffer *buffer, Utf8 text, Counts *counts) {
    buffer->length = 0;
    if (append(buffer, text) < 0) return -1;
    size_t n = read_words(buffer, 0, 0, 0);
    uint32_t any = 0;
    for (Token *word = buffer->words; word < buffer->words + n; word++) {
        if (!(*row_of(wanted, word->hash) & bit_of(word->hash))) continue;
        const Token *found = find(wanted, word);
        if (found != NULL) any |= word->sets = found->sets;
    }
    return any ? count_different(buffer, n, counts) : 0;
}

/* Texts without a wanted word, or with more than three times the maximum words of titles, get 0. Texts with more
   unique words than titles may have get 0 for the title. */
static int write_title_overlap(Page *page, float *const *rows) {
    enum { IN_TITLE, OF_TITLE, IN_DESCRIPTION, SINCE_TITLE };
    const Tables *tables = page->tables;
    double title_words = (double)number_in(tables, TITLE_WORDS);
    const double *words = page->tree->amounts;
    Py_ssize_t n = page->tree->n, first = -1;
    Buffer buffer, titles;
    Wanted wanted = {.n = 0};
    set_up(&buffer, tables->view[IN_WORD].buf, tables->view[CASED].buf);
    set_up(&titles, tables->view[IN_WORD].buf, tables->view[CASED].buf);
    int done = read_wanted(&wanted, &titles, page->titles);
    for (Py_ssize_t i = 0; i < n && done == 0; i++) {
        Counts counts = {0, 0, 0};
        if (wanted.n && words[i] > 0 && words[i] <= 3 * title_words)
            done = count_words(&wanted, &buffer, page->tree->texts[i], &counts);
        double some = at_least(counts.all, 1);
        double in_title = counts.all <= title_words ? counts.title / some : 0;
        double of_title = counts.title / at_least((double)wanted.n_title, 1);
        rows[IN_TITLE][i] = (float)in_title;
        rows[OF_TITLE][i] = (float)of_title;
        rows[IN_DESCRIPTION][i] = (float)(counts.description / some);
        if (first < 0 && in_title > 0.7 && words[i] >= 2 && of_title >= 0.4) first = i;
    }
    for (Py_ssize_t i = 0; i < n; i++) rows[SINCE_TITLE][i] = first >= 0 ? (float)(i - first) : -9999;
    clear(&buffer);
    clear(&titles);
    return done;
}

const Family title_overlap_family = {
    write_title_overlap, NEEDS_TITLE, {{ONCE, "intitle oftitle indescription sincetitle"}},
};
