/* Words in attributes' values: the twin of blockml.features.keywords.keyword_bits, of ASCII characters only. */
#include "text_bytes.h"
#include "features_page_tree.h"
#include <stdlib.h>

/* The fewest characters of a word: its slot is told by them. */
enum { BEGIN = 3 };
/* Places of a text that are looked at together, and bytes, all zero, that may be read behind it. */
enum { CHUNK = 256, BEHIND = 16 };

/* A product's upper bits know of all that is below them. */
static inline uint32_t bits_of(uint64_t begin) {
    return (((uint32_t)begin & 0xffffff) * 0x9e3779b1u) >> (32 - BEGIN_BITS);
}

static inline uint32_t slot_of(uint64_t begin) { return bits_of(begin) >> (BEGIN_BITS - SLOT_BITS); }

/* Whether words are as blockml.features.keywords.words gives them, and groups are bits of a positive number. */
int are_words(const Tables *tables) {
    const uint8_t *lengths = tables->view[WORD_LENGTHS].buf;
    const int8_t *groups = tables->view[WORD_GROUPS].buf;
    Py_ssize_t n = length_of(tables, WORD_LENGTHS), sum = 0;
    if (n <= 0 || n >= UINT16_MAX || length_of(tables, WORD_GROUPS) != n) return 0;
    for (Py_ssize_t i = 0; i < n; sum += lengths[i++])
        if (lengths[i] < BEGIN || (i && lengths[i] > lengths[i - 1]) || groups[i] < 0 || groups[i] >= 63) return 0;
    return sum == length_of(tables, LETTERS) && sum <= UINT16_MAX;
}

int make_words(Tables *tables) {
    const char *text = tables->view[LETTERS].buf;
    const uint8_t *lengths = tables->view[WORD_LENGTHS].buf;
    const int8_t *groups = tables->view[WORD_GROUPS].buf;
    Py_ssize_t n = length_of(tables, WORD_LENGTHS);
    if ((tables->words = malloc((size_t)n * sizeof(Word))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    size_t at = (size_t)length_of(tables, LETTERS);
    for (Py_ssize_t i = n; i-- > 0;) { /* from the shortest on, each before those of its slot */
        size_t length = lengths[i];
        uint64_t begin = few_bytes(text + (at -= length), length < 8 ? length : 8);
        uint16_t *first = &tables->first[slot_of(begin)];
        tables->words[i] = (Word){begin, (uint16_t)at, *first, lengths[i], (uint8_t)groups[i]};
        *first = (uint16_t)(i + 1);
        tables->is_begin[bits_of(begin) / 64] |= (uint64_t)1 << (bits_of(begin) & 63);
    }
    return 0;
}

/* The longest word at a place behind which eight bytes can be read; NULL for none. */
static const Word *word_at(const Tables *tables, const char *at) {
    uint64_t begin = eight_bytes(at);
    for (unsigned place = tables->first[slot_of(begin)]; place; place = tables->words[place - 1].next) {
        const Word *word = &tables->words[place - 1];
        int others = word->length < 8 ? 64 - 8 * word->length : 0; /* bits that aren't the word's */
        if ((begin ^ word->begin) << others) continue;
        /* What is beyond eight may end where the text does, at a zero, which no word has. */
        const char *letters = (const char *)tables->view[LETTERS].buf + word->at;
        if (word->length <= 8 || strncmp(at + 8, letters + 8, word->length - 8u) == 0) return word;
    }
    return NULL;
}

/* Copies the values that may say groups, ASCII characters in lower case with a zero behind each value, and where they
   end. Returns the length of all. */
static size_t gather(const Values *values, Py_ssize_t n, char *text, size_t *ends) {
    size_t length = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const Value *value = &values->items[i];
        if (value->says_groups && value->other == NULL) {
            memcpy(text + length, value->text, value->length);
            length += value->length;
            text[length++] = 0;
        }
        ends[i] = length;
    }
    memset(text + length, 0, BEHIND);
    for (size_t i = 0; i < length; i += 8) put_eight(text + i, lower(eight_bytes(text + i)));
    return length;
}

/* Most places are where no word begins, as three letters tell. From each place the longest word counts, and the
   search goes on behind it, as a regular expression would. */
static void find_groups(const Tables *tables, const char *text, size_t length, const size_t *ends, int64_t *groups) {
    size_t behind = 0;
    for (size_t begin = 0; begin < length; begin += CHUNK) {
        size_t end = begin + CHUNK < length ? begin + CHUNK : length, places[CHUNK], n = 0;
        for (size_t i = begin; i < end; i++) { /* without branches: nobody could foresee them */
            uint32_t bits = bits_of(eight_bytes(text + i));
            places[n] = i;
            n += tables->is_begin[bits / 64] >> (bits & 63) & 1;
        }
        for (size_t i = 0; i < n; i++) {
            const Word *word = places[i] < behind ? NULL : word_at(tables, text + places[i]);
            if (word == NULL) continue;
            behind = places[i] + word->length;
            while (*ends <= places[i]) ends++, groups++;
            *groups |= (int64_t)1 << word->group;
        }
    }
}

int write_keywords(const Tables *tables, const Values *values, Py_ssize_t n, int64_t *groups) {
    size_t room = BEHIND;
    for (Py_ssize_t i = 0; i < n; i++) room += values->items[i].length + 1;
    char *text = malloc(room);
    size_t *ends = malloc((size_t)n * sizeof(size_t));
    if (text == NULL || ends == NULL)
        PyErr_NoMemory();
    else
        find_groups(tables, text, gather(values, n, text, ends), ends, groups);
    int done = text != NULL && ends != NULL ? 0 : -1;
    free(text);
    free(ends);
    return done;
}
