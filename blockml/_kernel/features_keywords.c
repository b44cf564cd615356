/* Keywords in ASCII values of attributes; reference: blockml.features.keywords.keyword_bits. */
#include "text_bytes.h"
#include "features_page_tree.h"

/* Minimum length of a keyword, whose first characters determine its slot; and number of zero bytes after a text. */
enum { BEGIN = 3, BEHIND = 8 };

static inline uint32_t slot_of(uint64_t begin) {
    return (((uint32_t)begin & 0xffffff) * 0x9e3779b1u) >> (32 - SLOT_BITS);
}

/* Tells whether keywords have the form that blockml.features.keywords.words writes, with groups below 63. */
int has_valid_words(const Tables *tables) {
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
    if ((tables->words = malloc((size_t)n * sizeof(Word))) == NULL) return no_memory();
    size_t at = (size_t)length_of(tables, LETTERS);
    for (Py_ssize_t i = n; i-- > 0;) { /* shortest first, each inserted before others of its slot */
        size_t length = lengths[i];
        uint64_t begin = few_bytes(text + (at -= length), length < 8 ? length : 8);
        uint16_t *first = &tables->first[slot_of(begin)];
        tables->words[i] = (Word){begin, (uint16_t)at, *first, lengths[i], (uint8_t)groups[i]};
        *first = (uint16_t)(i + 1);
    }
    return 0;
}

/* Returns the longest keyword at a position, after which eight bytes are readable; NULL without one. */
static inline const Word *word_at(const Tables *tables, const char *at) {
    uint64_t begin = eight_bytes(at);
    for (unsigned place = tables->first[slot_of(begin)]; place; place = tables->words[place - 1].next) {
        const Word *word = &tables->words[place - 1];
        int others = word->length < 8 ? 64 - 8 * word->length : 0; /* bits after the keyword */
        if ((begin ^ word->begin) << others) continue;
        /* The text may end in between, at a zero byte, which differs from any keyword. */
        const char *letters = (const char *)tables->view[LETTERS].buf + word->at;
        if (word->length <= 8 || strncmp(at + 8, letters + 8, word->length - 8u) == 0) return word;
    }
    return NULL;
}

/* The longest keyword at each position counts, and the search continues after it, as with a regular expression. */
int write_keywords(const Tables *tables, const StringTable *values, Py_ssize_t n, int64_t *groups) {
    size_t longest = 0;
    for (Py_ssize_t i = 0; i < n; i++) longest = values->items[i].length > longest ? values->items[i].length : longest;
    char *text = malloc(longest + BEHIND);
    if (text == NULL) return no_memory();
    for (Py_ssize_t i = 0; i < n; i++) {
        const StringEntry *value = &values->items[i];
        if (!value->may_have_keywords || value->unicode != NULL) continue;
        for (size_t k = 0; k < value->length; k++) text[k] = lower_of(value->text[k]);
        memset(text + value->length, 0, BEHIND);
        for (size_t k = 0; k < value->length;) {
            const Word *word = word_at(tables, text + k);
            if (word != NULL) groups[i] |= (int64_t)1 << word->group;
            k += word != NULL ? word->length : 1;
        }
    }
    free(text);
    return 0;
}
