/* The text of a block, as " ".join(text.split()) of all its nodes' texts would have it, and the lengths of its words.

   Texts of ASCII characters are looked at 64 at a time, and most of them are never copied: white space at their ends is
   all that has to go. Others are gathered as code points. */
#include "parsing_block_text.h"
#include "text_bytes.h"
#include <stdlib.h>

/* Tokenizers, in the order of words.py. */
enum { BY_SPACE, BOILERPIPE, BY_IDEOGRAPH };

/* Room for the lengths of so many words more. */
static int make_room(Gathered *g, Py_ssize_t more) {
    if (more <= g->lengths_room - g->n_lengths) return 0;
    Py_ssize_t room = 2 * (g->n_lengths + more) + 256; /* texts are in memory: this can't overflow */
    if (widen((void **)&g->lengths, room, sizeof(int32_t)) < 0) return -1;
    g->lengths_room = room;
    return 0;
}

/* Makes room for so many characters more, a blank before them and one behind. */
static int make_narrow(Gathered *g, Py_ssize_t more) {
    if (more + 2 <= g->narrow_room - g->n) return 0;
    Py_ssize_t room = 2 * (g->n + more) + 256;
    if (widen((void **)&g->narrow, room, 1) < 0) return -1;
    g->narrow_room = room;
    return 0;
}

static int make_points(Gathered *g, Py_ssize_t more) {
    if (more + 2 <= g->room - g->n) return 0;
    Py_ssize_t room = 2 * (g->n + more) + 256;
    if (widen((void **)&g->points, room, sizeof(Py_UCS4)) < 0) return -1;
    g->room = room;
    return 0;
}

/* Whether to ask if a text is ASCII: that makes UTF-8 of all others, so it isn't done where most are such. Boilerpipe's
   rules are those of points. */
static int asks(const Gathered *g) { return g->tokenizer != BOILERPIPE && g->n_others <= g->n_ascii + 8; }

/* Points are copied behind the block's characters, with room for a blank between them, where they stay as they are
   until they are added or the block ends. */
int gathered_read(Gathered *g, PyObject *text) {
    Py_ssize_t n = PyUnicode_GetLength(text), size = -1;
    if (n < 0) return -1;
    g->length = n;
    g->ascii = asks(g) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (g->ascii != NULL && size == n) {
        g->n_ascii++;
        g->right = n ? (Py_UCS4)g->ascii[0] : 0, g->left = n ? (Py_UCS4)g->ascii[n - 1] : 0;
        return 0;
    }
    if (PyErr_Occurred()) PyErr_Clear(); /* lone surrogates */
    g->n_others++;
    g->ascii = NULL;
    if (make_points(g, n) < 0) return -1;
    Py_UCS4 *points = g->points + g->n + 1;
    if (n && PyUnicode_AsUCS4(text, points, n, 0) == NULL) return -1;
    g->others = points;
    g->right = n ? points[0] : 0, g->left = n ? points[n - 1] : 0;
    return 0;
}

void gathered_begin(Gathered *g, PyObject *text) {
    g->only = text;
    g->pending = NULL;
    g->n = g->begin = g->wide = g->spaced = g->crooked = 0;
}

/* White space and letters or digits among up to 64 ASCII characters, as bits, and white space other than blanks. */
typedef struct {
    uint64_t spaces, alnums, others;
} Kinds;

static inline void add_kinds(Kinds *kinds, uint64_t word, int place) {
    uint64_t controls = within(word, 9, 13) | within(word, 28, 31), small = word | all_of(0x20);
    kinds->others |= bits_of_bytes(controls) << place;
    kinds->spaces |= bits_of_bytes(controls | within(word, ' ', ' ')) << place;
    kinds->alnums |= bits_of_bytes(within(small, 'a', 'z') | within(word, '0', '9')) << place;
}

static inline Kinds kinds_of(const char *text, Py_ssize_t n) {
    Kinds kinds = {0, 0, 0};
    int place = 0;
    if (n > 64) n = 64;
    for (; place + 8 <= n; place += 8) add_kinds(&kinds, eight_bytes(text + place), place);
    if (place < n) add_kinds(&kinds, few_bytes(text + place, (size_t)(n - place)), place);
    return kinds;
}

/* Up to 64 points, of which `classes` tells. */
static inline Kinds kinds_of_points(const uint8_t *classes, const Py_UCS4 *points, Py_ssize_t n) {
    Kinds kinds = {0, 0, 0};
    if (n > 64) n = 64;
    for (int i = 0; i < n; i++) {
        unsigned kind = classes[points[i]];
        kinds.spaces |= (uint64_t)(kind & SPACE) << i;
        kinds.alnums |= (uint64_t)((kind & ALNUM) != 0) << i;
        kinds.others |= (uint64_t)(kind & SPACE & (points[i] != ' ')) << i;
    }
    return kinds;
}

/* Adds the lengths of the words of characters, or else points, with none that is white space at their ends; tells
   whether there is other white space than single blanks. Returns the number of words. Room is for all. */
static inline Py_ssize_t add_lengths(Gathered *g, const char *text, const Py_UCS4 *points, Py_ssize_t n, int *crooked) {
    int32_t *lengths = g->lengths + g->n_lengths;
    Py_ssize_t begin = 0, count = 0;
    uint64_t held = 0, before = 0, others = 0;
    for (Py_ssize_t base = 0; base < n; base += 64) {
        Kinds kinds = text != NULL ? kinds_of(text + base, n - base)
                                   : kinds_of_points(g->classes, points + base, n - base);
        others |= kinds.others | (kinds.spaces & (kinds.spaces << 1 | before));
        before = kinds.spaces >> 63;
        for (uint64_t spaces = kinds.spaces; spaces; spaces &= spaces - 1) {
            int at = lowest_bit(spaces);
            uint64_t of_word = kinds.alnums & (((uint64_t)1 << at) - 1); /* those of words before are taken away */
            kinds.alnums ^= of_word;
            lengths[count] = (int32_t)(base + at - begin);
            count += (held | of_word) != 0;
            held = 0;
            begin = base + at + 1;
        }
        held |= kinds.alnums;
    }
    lengths[count] = (int32_t)(n - begin);
    count += held != 0;
    g->n_lengths += count;
    *crooked = others != 0;
    return count;
}

static int is_space(const Gathered *g, char c) { return g->classes[(unsigned char)c] & SPACE; }

/* Copies the characters that weren't, for more are to come. */
static int settle(Gathered *g) {
    if (g->pending == NULL) return 0;
    Py_ssize_t n = g->n;
    g->n = 0;
    if (make_narrow(g, n) < 0) return -1;
    memcpy(g->narrow, g->pending, (size_t)n);
    g->n = n;
    g->pending = NULL;
    return 0;
}

/* Appends characters without white space at their ends. */
static int append_ascii(Gathered *g, const char *text, Py_ssize_t n, int crooked) {
    if (settle(g) < 0 || make_narrow(g, n) < 0) return -1;
    char *out = g->narrow + g->n;
    if (g->spaced && g->n) *out++ = ' ';
    if (!crooked) {
        memcpy(out, text, (size_t)n);
        out += n;
    } else {
        for (Py_ssize_t i = 0; i < n; i++)
            if (!is_space(g, text[i]))
                *out++ = text[i];
            else if (!is_space(g, text[i - 1]))
                *out++ = ' ';
    }
    g->n = out - g->narrow;
    return 0;
}

/* Notes of the text at hand, which stays from `begin` to `end`, what came before and comes behind it. */
static void note_ends(Gathered *g, Py_ssize_t begin, Py_ssize_t end, int crooked) {
    if (g->only != NULL) g->begin = begin;
    g->crooked |= crooked;
    g->spaced = end < g->length;
}

static Py_ssize_t add_ascii(Gathered *g) {
    const char *text = g->ascii;
    Py_ssize_t begin = 0, end = g->length;
    int crooked;
    while (begin < end && is_space(g, text[begin])) begin++;
    while (end > begin && is_space(g, text[end - 1])) end--;
    Py_ssize_t n = end - begin;
    g->spaced |= begin > 0;
    if (n == 0) return 0;
    if (make_room(g, n / 2 + 1) < 0) return -1; /* a word and what parts it from the next are two */
    Py_ssize_t n_words = add_lengths(g, text + begin, NULL, n, &crooked);
    if (g->n == 0 && !crooked)
        g->pending = text + begin, g->n = n;
    else if (append_ascii(g, text + begin, n, crooked) < 0)
        return -1;
    note_ends(g, begin, end, crooked);
    return n_words;
}

/* Adds the lengths of the words of a piece without white space that may hold several. Returns their number. Room is for
   all. */
static Py_ssize_t add_words(Gathered *g, const Py_UCS4 *points, Py_ssize_t n) {
    Py_ssize_t before = g->n_lengths;
    int32_t length = 0;
    int last = SPACE, held = 0;
    for (Py_ssize_t i = 0; i < n; i++, length++) {
        int kind = g->classes[points[i]], begins = 0;
        if (g->tokenizer == BOILERPIPE)
            begins = !((kind | last) & (SPACE | JOINER)) && ((kind ^ last) & ALNUM);
        else
            begins = (kind | last) & CJK;
        if (begins) {
            if (held & ALNUM) g->lengths[g->n_lengths++] = length;
            length = held = 0;
        }
        held |= kind;
        last = kind;
    }
    if (held & ALNUM) g->lengths[g->n_lengths++] = length;
    return g->n_lengths - before;
}

/* Makes the block's characters points. The text at hand is behind them. */
static int widen_block(Gathered *g) {
    if (g->wide) return 0;
    const char *narrow = g->pending != NULL ? g->pending : g->narrow;
    for (Py_ssize_t i = 0; i < g->n; i++) g->points[i] = (Py_UCS4)narrow[i];
    g->pending = NULL;
    return g->wide = 1;
}

/* Adds the lengths of words that may not be parted by white space alone. Returns their number. Room is for all. */
static Py_ssize_t add_pieces(Gathered *g, const Py_UCS4 *points, Py_ssize_t n) {
    Py_ssize_t n_words = 0;
    for (Py_ssize_t i = 0, begin = 0; i <= n; i++)
        if (i == n || g->classes[points[i]] & SPACE) {
            n_words += add_words(g, points + begin, i - begin);
            begin = i + 1;
        }
    return n_words;
}

static int may_part_words(const Gathered *g, const Py_UCS4 *points, Py_ssize_t n) {
    int all = 0;
    for (Py_ssize_t i = 0; g->tokenizer == BY_IDEOGRAPH && i < n; i++) all |= g->classes[points[i]];
    return g->tokenizer == BOILERPIPE || all & CJK;
}

/* The text lies behind where it is written: there is room for a blank before it. */
static Py_ssize_t add_points(Gathered *g) {
    const uint8_t *classes = g->classes;
    const Py_UCS4 *points = g->others;
    Py_ssize_t begin = 0, end = g->length;
    int crooked = 0;
    widen_block(g);
    while (begin < end && classes[points[begin]] & SPACE) begin++;
    while (end > begin && classes[points[end - 1]] & SPACE) end--;
    Py_ssize_t n = end - begin;
    g->spaced |= begin > 0;
    if (n == 0) return 0;
    if (make_room(g, n) < 0) return -1;
    points += begin;
    Py_ssize_t before = g->n_lengths, n_words = add_lengths(g, NULL, points, n, &crooked);
    if (may_part_words(g, points, n)) {
        g->n_lengths = before;
        n_words = add_pieces(g, points, n);
    }
    Py_UCS4 *out = g->points + g->n;
    if (g->spaced && g->n) *out++ = ' ';
    if (!crooked) {
        memmove(out, points, (size_t)n * sizeof(Py_UCS4));
        out += n;
    } else {
        Py_UCS4 last = 0;
        for (Py_ssize_t i = 0; i < n; i++) { /* the first of several is a blank, and the others go */
            Py_UCS4 point = classes[points[i]] & SPACE ? ' ' : points[i];
            if (point != ' ' || last != ' ') *out++ = last = point;
        }
    }
    g->n = out - g->points;
    note_ends(g, begin, end, crooked);
    return n_words;
}

/* Makes the text at hand, which is ASCII, points behind those of a wide block. */
static int move_behind(Gathered *g) {
    if (make_points(g, g->length) < 0) return -1;
    Py_UCS4 *points = g->points + g->n + 1;
    for (Py_ssize_t i = 0; i < g->length; i++) points[i] = (Py_UCS4)g->ascii[i];
    g->others = points;
    return 0;
}

Py_ssize_t gathered_add(Gathered *g) {
    if (g->ascii != NULL && !g->wide) return add_ascii(g);
    if (g->ascii != NULL && move_behind(g) < 0) return -1;
    return add_points(g);
}

PyObject *gathered_text(Gathered *g) {
    Py_ssize_t n = g->n;
    if (g->only != NULL && n == PyUnicode_GetLength(g->only) && !g->crooked) return Py_NewRef(g->only);
    if (g->only != NULL && !g->crooked) return PyUnicode_Substring(g->only, g->begin, g->begin + n);
    if (!g->wide) return PyUnicode_DecodeLatin1(g->pending != NULL ? g->pending : g->narrow, n, NULL);
    Py_UCS4 all = 0;
    for (Py_ssize_t i = 0; i < n; i++) all |= g->points[i];
    if (all < 0x100) {
        if (make_narrow(g, n) < 0) return NULL;
        for (Py_ssize_t i = 0; i < n; i++) g->narrow[i] = (char)g->points[i];
        return PyUnicode_DecodeLatin1(g->narrow, n, NULL);
    }
    int order = PY_BIG_ENDIAN ? 1 : -1;
    return PyUnicode_DecodeUTF32((const char *)g->points, n * 4, "surrogatepass", &order);
}

void gathered_free(Gathered *g) {
    free(g->lengths);
    free(g->narrow);
    free(g->points);
}
