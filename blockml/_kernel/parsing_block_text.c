/* Text of a block, equal to " ".join(text.split()) over the texts of its nodes, and lengths of its words.

   ASCII texts are scanned 64 characters at a time, and most are never copied, because only white space at their ends
   is removed. Other texts are collected as code points. */
#include "parsing_block_text.h"
#include "text_bytes.h"

/* Tokenizers, in the order of words.py. */
enum { BY_SPACE, BOILERPIPE, BY_IDEOGRAPH };

/* Grows the array of lengths by `more`. */
static int grow_lengths(BlockText *t, Py_ssize_t more) {
    if (more <= t->lengths_room - t->n_lengths) return 0;
    Py_ssize_t room = 2 * (t->n_lengths + more) + 256; /* cannot overflow: the texts are in memory */
    if (widen((void **)&t->lengths, room, sizeof(int32_t)) < 0) return -1;
    t->lengths_room = room;
    return 0;
}

/* Grows the ASCII buffer by `more` characters, a blank before them and one after them. */
static int grow_ascii(BlockText *t, Py_ssize_t more) {
    if (more + 2 <= t->ascii_room - t->n) return 0;
    Py_ssize_t room = 2 * (t->n + more) + 256;
    if (widen((void **)&t->ascii_buffer, room, 1) < 0) return -1;
    t->ascii_room = room;
    return 0;
}

static int grow_points(BlockText *t, Py_ssize_t more) {
    if (more + 2 <= t->room - t->n) return 0;
    Py_ssize_t room = 2 * (t->n + more) + 256;
    if (widen((void **)&t->points, room, sizeof(Py_UCS4)) < 0) return -1;
    t->room = room;
    return 0;
}

/* Tells whether to test if a text is ASCII. The test encodes other texts, so it is skipped if most texts are not
   ASCII. Boilerpipe's rules are only implemented for code points. */
static int asks_for_ascii(const BlockText *t) { return t->tokenizer != BOILERPIPE && t->n_others <= t->n_ascii + 8; }

/* Code points are copied after the block's characters, with room for a blank in between, and stay there until they
   are added or the block ends. */
int block_text_read(BlockText *t, PyObject *text) {
    Py_ssize_t n = PyUnicode_GetLength(text), size = -1;
    if (n < 0) return -1;
    t->length = n;
    t->current_ascii = asks_for_ascii(t) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (t->current_ascii != NULL && size == n) {
        t->n_ascii++;
        t->right = n ? (Py_UCS4)t->current_ascii[0] : 0, t->left = n ? (Py_UCS4)t->current_ascii[n - 1] : 0;
        return 0;
    }
    if (PyErr_Occurred()) PyErr_Clear(); /* lone surrogates */
    t->n_others++;
    t->current_ascii = NULL;
    if (grow_points(t, n) < 0) return -1;
    Py_UCS4 *points = t->points + t->n + 1;
    if (n && PyUnicode_AsUCS4(text, points, n, 0) == NULL) return -1;
    t->current_points = points;
    t->right = n ? points[0] : 0, t->left = n ? points[n - 1] : 0;
    return 0;
}

void block_text_begin(BlockText *t, PyObject *text) {
    t->single = text;
    t->uncopied = NULL;
    t->n = t->begin = t->is_wide = t->has_space = t->irregular = 0;
}

/* Bits of up to 64 characters: white space, letters and digits, and white space other than blanks. */
typedef struct {
    uint64_t spaces, alnums, irregular;
} CharacterBits;

static inline void classify_eight(CharacterBits *kinds, uint64_t word, int place) {
    uint64_t controls = within(word, 9, 13) | within(word, 28, 31), small = word | all_of(0x20);
    kinds->irregular |= bits_of_bytes(controls) << place;
    kinds->spaces |= bits_of_bytes(controls | within(word, ' ', ' ')) << place;
    kinds->alnums |= bits_of_bytes(within(small, 'a', 'z') | within(word, '0', '9')) << place;
}

static inline CharacterBits classify_ascii(const char *text, Py_ssize_t n) {
    CharacterBits kinds = {0, 0, 0};
    int place = 0;
    if (n > 64) n = 64;
    for (; place + 8 <= n; place += 8) classify_eight(&kinds, eight_bytes(text + place), place);
    if (place < n) classify_eight(&kinds, few_bytes(text + place, (size_t)(n - place)), place);
    return kinds;
}

/* Classifies up to 64 code points by the table `classes`. */
static inline CharacterBits classify_points(const uint8_t *classes, const Py_UCS4 *points, Py_ssize_t n) {
    CharacterBits kinds = {0, 0, 0};
    if (n > 64) n = 64;
    for (int i = 0; i < n; i++) {
        unsigned kind = classes[points[i]];
        kinds.spaces |= (uint64_t)(kind & SPACE) << i;
        kinds.alnums |= (uint64_t)((kind & ALNUM) != 0) << i;
        kinds.irregular |= (uint64_t)(kind & SPACE & (points[i] != ' ')) << i;
    }
    return kinds;
}

/* Adds the lengths of the words of ASCII text, or else of code points, without white space at their ends, and tells
   whether they contain white space other than single blanks. Returns the number of words. The array must have room. */
static inline Py_ssize_t add_lengths(BlockText *t, const char *text, const Py_UCS4 *points, Py_ssize_t n,
                                     int *irregular) {
    int32_t *lengths = t->lengths + t->n_lengths;
    Py_ssize_t begin = 0, count = 0;
    uint64_t held = 0, before = 0, others = 0;
    for (Py_ssize_t base = 0; base < n; base += 64) {
        CharacterBits kinds = text != NULL ? classify_ascii(text + base, n - base)
                                   : classify_points(t->classes, points + base, n - base);
        others |= kinds.irregular | (kinds.spaces & (kinds.spaces << 1 | before));
        before = kinds.spaces >> 63;
        for (uint64_t spaces = kinds.spaces; spaces; spaces &= spaces - 1) {
            int at = lowest_bit(spaces);
            uint64_t of_word = kinds.alnums & (((uint64_t)1 << at) - 1); /* bits of earlier words were cleared */
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
    t->n_lengths += count;
    *irregular = others != 0;
    return count;
}

static int is_space(const BlockText *t, char c) { return t->classes[(unsigned char)c] & SPACE; }

/* Copies the uncopied characters, because more will follow. */
static int copy_text(BlockText *t) {
    if (t->uncopied == NULL) return 0;
    Py_ssize_t n = t->n;
    t->n = 0;
    if (grow_ascii(t, n) < 0) return -1;
    memcpy(t->ascii_buffer, t->uncopied, (size_t)n);
    t->n = n;
    t->uncopied = NULL;
    return 0;
}

/* Appends characters without white space at their ends. */
static int append_ascii(BlockText *t, const char *text, Py_ssize_t n, int irregular) {
    if (copy_text(t) < 0 || grow_ascii(t, n) < 0) return -1;
    char *out = t->ascii_buffer + t->n;
    if (t->has_space && t->n) *out++ = ' ';
    if (!irregular) {
        memcpy(out, text, (size_t)n);
        out += n;
    } else {
        for (Py_ssize_t i = 0; i < n; i++)
            if (!is_space(t, text[i]))
                *out++ = text[i];
            else if (!is_space(t, text[i - 1]))
                *out++ = ' ';
    }
    t->n = out - t->ascii_buffer;
    return 0;
}

/* Records the range of the current text that was added, and the white space around it. */
static void note_space(BlockText *t, Py_ssize_t begin, Py_ssize_t end, int irregular) {
    if (t->single != NULL) t->begin = begin;
    t->irregular |= irregular;
    t->has_space = end < t->length;
}

static Py_ssize_t add_ascii(BlockText *t) {
    const char *text = t->current_ascii;
    Py_ssize_t begin = 0, end = t->length;
    int irregular;
    while (begin < end && is_space(t, text[begin])) begin++;
    while (end > begin && is_space(t, text[end - 1])) end--;
    Py_ssize_t n = end - begin;
    t->has_space |= begin > 0;
    if (n == 0) return 0;
    if (grow_lengths(t, n / 2 + 1) < 0) return -1; /* a word and a separator are at least two characters */
    Py_ssize_t n_words = add_lengths(t, text + begin, NULL, n, &irregular);
    if (t->n == 0 && !irregular)
        t->uncopied = text + begin, t->n = n;
    else if (append_ascii(t, text + begin, n, irregular) < 0)
        return -1;
    note_space(t, begin, end, irregular);
    return n_words;
}

/* Adds the lengths of the words of a piece without white space. Returns their number. The array must have room. */
static Py_ssize_t split_piece(BlockText *t, const Py_UCS4 *points, Py_ssize_t n) {
    Py_ssize_t before = t->n_lengths;
    int32_t length = 0;
    int last = SPACE, held = 0;
    for (Py_ssize_t i = 0; i < n; i++, length++) {
        int kind = t->classes[points[i]], begins = 0;
        if (t->tokenizer == BOILERPIPE)
            begins = !((kind | last) & (SPACE | JOINER)) && ((kind ^ last) & ALNUM);
        else
            begins = (kind | last) & CJK;
        if (begins) {
            if (held & ALNUM) t->lengths[t->n_lengths++] = length;
            length = held = 0;
        }
        held |= kind;
        last = kind;
    }
    if (held & ALNUM) t->lengths[t->n_lengths++] = length;
    return t->n_lengths - before;
}

/* Converts the block's characters to code points. The current text comes after them. */
static int widen_text(BlockText *t) {
    if (t->is_wide) return 0;
    const char *ascii_buffer = t->uncopied != NULL ? t->uncopied : t->ascii_buffer;
    for (Py_ssize_t i = 0; i < t->n; i++) t->points[i] = (Py_UCS4)ascii_buffer[i];
    t->uncopied = NULL;
    return t->is_wide = 1;
}

/* Adds the lengths of words that are separated by more than white space. Returns their number. The array must have
   room. */
static Py_ssize_t add_split_words(BlockText *t, const Py_UCS4 *points, Py_ssize_t n) {
    Py_ssize_t n_words = 0;
    for (Py_ssize_t i = 0, begin = 0; i <= n; i++)
        if (i == n || t->classes[points[i]] & SPACE) {
            n_words += split_piece(t, points + begin, i - begin);
            begin = i + 1;
        }
    return n_words;
}

static int may_split_pieces(const BlockText *t, const Py_UCS4 *points, Py_ssize_t n) {
    int all = 0;
    for (Py_ssize_t i = 0; t->tokenizer == BY_IDEOGRAPH && i < n; i++) all |= t->classes[points[i]];
    return t->tokenizer == BOILERPIPE || all & CJK;
}

/* The text is stored after the place where it is written, with room for a blank before it. */
static Py_ssize_t add_points(BlockText *t) {
    const uint8_t *classes = t->classes;
    const Py_UCS4 *points = t->current_points;
    Py_ssize_t begin = 0, end = t->length;
    int irregular = 0;
    widen_text(t);
    while (begin < end && classes[points[begin]] & SPACE) begin++;
    while (end > begin && classes[points[end - 1]] & SPACE) end--;
    Py_ssize_t n = end - begin;
    t->has_space |= begin > 0;
    if (n == 0) return 0;
    if (grow_lengths(t, n) < 0) return -1;
    points += begin;
    Py_ssize_t before = t->n_lengths, n_words = add_lengths(t, NULL, points, n, &irregular);
    if (may_split_pieces(t, points, n)) {
        t->n_lengths = before;
        n_words = add_split_words(t, points, n);
    }
    Py_UCS4 *out = t->points + t->n;
    if (t->has_space && t->n) *out++ = ' ';
    if (!irregular) {
        memmove(out, points, (size_t)n * sizeof(Py_UCS4));
        out += n;
    } else {
        Py_UCS4 last = 0;
        for (Py_ssize_t i = 0; i < n; i++) { /* the first white space of a run becomes a blank, the rest is skipped */
            Py_UCS4 point = classes[points[i]] & SPACE ? ' ' : points[i];
            if (point != ' ' || last != ' ') *out++ = last = point;
        }
    }
    t->n = out - t->points;
    note_space(t, begin, end, irregular);
    return n_words;
}

/* Copies the current ASCII text as code points, after those of the block. */
static int widen_current(BlockText *t) {
    if (grow_points(t, t->length) < 0) return -1;
    Py_UCS4 *points = t->points + t->n + 1;
    for (Py_ssize_t i = 0; i < t->length; i++) points[i] = (Py_UCS4)t->current_ascii[i];
    t->current_points = points;
    return 0;
}

Py_ssize_t block_text_add(BlockText *t) {
    if (t->current_ascii != NULL && !t->is_wide) return add_ascii(t);
    if (t->current_ascii != NULL && widen_current(t) < 0) return -1;
    return add_points(t);
}

PyObject *block_text_finish(BlockText *t) {
    Py_ssize_t n = t->n;
    if (t->single != NULL && n == PyUnicode_GetLength(t->single) && !t->irregular) return Py_NewRef(t->single);
    if (t->single != NULL && !t->irregular) return PyUnicode_Substring(t->single, t->begin, t->begin + n);
    if (!t->is_wide) return PyUnicode_DecodeLatin1(t->uncopied != NULL ? t->uncopied : t->ascii_buffer, n, NULL);
    Py_UCS4 all = 0;
    for (Py_ssize_t i = 0; i < n; i++) all |= t->points[i];
    if (all < 0x100) {
        if (grow_ascii(t, n) < 0) return NULL;
        for (Py_ssize_t i = 0; i < n; i++) t->ascii_buffer[i] = (char)t->points[i];
        return PyUnicode_DecodeLatin1(t->ascii_buffer, n, NULL);
    }
    int order = PY_BIG_ENDIAN ? 1 : -1;
    return PyUnicode_DecodeUTF32((const char *)t->points, n * 4, "surrogatepass", &order);
}

void block_text_free(BlockText *t) {
    free(t->lengths);
    free(t->ascii_buffer);
    free(t->points);
}
