/* Classification of texts for the builder. */
#include "kernel.h"

/* str.isspace of one character */
static int point_is_space(uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Kind of a text by its characters: see utf8_kind. */
static int kind_by_points(const char *text, Py_ssize_t length) {
    int blank = length > 0;
    for (const uint8_t *byte = (const uint8_t *)text, *end = byte + length; byte < end;) {
        uint32_t c = next_point(&byte, end);
        if ((c < 9) | (c - 0x0e < 0x0e) | ((c - 0x7f < 0x21) & (c != 0x85)) | (c == 0xad) | (c - 0x200b < 3) |
            (c == 0x2060) | (c == 0xfeff))
            return TEXT_INVISIBLE;
        blank = blank && point_is_space(c);
    }
    return blank ? TEXT_BLANK : TEXT_CLEAN;
}

/* Tells whether a text contains U+200B to U+200D, U+2060 or U+FEFF. */
static int has_invisible_triple(const char *text, Py_ssize_t length) {
    unsigned char found = 0;
    for (Py_ssize_t i = 2; i < length; i++) {
        unsigned char a = (unsigned char)text[i - 2], b = (unsigned char)text[i - 1], c = (unsigned char)text[i];
        found |= (a == 0xe2) & (((b == 0x80) & ((unsigned char)(c - 0x8b) < 3)) | ((b == 0x81) & (c == 0xa0)));
        found |= (a == 0xef) & (b == 0xbb) & (c == 0xbf);
    }
    return found;
}

/* Returns TEXT_CLEAN if the bytes of a text that is not ASCII imply it: no byte C2, (first byte of soft hyphens and of
   all control characters after ASCII), no other invisible character, and a byte that is not part of white space, which
   otherwise starts with E1 to E3. */
static int non_ascii_kind(const char *text, Py_ssize_t length) {
    unsigned char undecided = 0, solid = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        undecided |= (c < 9) | ((unsigned char)(c - 0x0e) < 0x0e) | (c == 0x7f) | (c == 0xc2);
        solid |= ((unsigned char)(c - 0x21) < 0x5e) | ((unsigned char)(c - 0xc3) < 0x1e) | (c > 0xe3);
    }
    return undecided || !solid || has_invisible_triple(text, length) ? UNKNOWN : TEXT_CLEAN;
}

/* Returns TEXT_INVISIBLE if a character may match INVISIBLE of characters.py (joiners do so only in some contexts);
   otherwise TEXT_BLANK if str.isspace, else TEXT_CLEAN. */
int utf8_kind(const char *text, Py_ssize_t its_length) {
    unsigned char most = 0, controls = 0;
    Py_ssize_t length = (its_length + BYTES_BEHIND) / (BYTES_BEHIND + 1) * (BYTES_BEHIND + 1); /* whole blocks, for vectorisation */
    for (Py_ssize_t i = 0; i < length; i++) { /* only bytes, for vectorisation */
        unsigned char c = (unsigned char)text[i];
        most = c > most ? c : most;
        controls |= (c < 9) | ((unsigned char)(c - 0x0e) < 0x0e) | (c == 0x7f);
    }
    int kind = most < 0x80 ? UNKNOWN : non_ascii_kind(text, length);
    if (most >= 0x80) return kind == UNKNOWN ? kind_by_points(text, its_length) : kind;
    return controls ? TEXT_INVISIBLE : most > ' ' ? TEXT_CLEAN : TEXT_BLANK;
}

static const char *behind_space(const char *begin) {
    while (point_is_space((unsigned char)*begin)) begin++;
    return begin;
}

/* Tells whether `property : value` is at `begin`, with any white space around the colon. */
static int is_declared(const char *begin, const char *property, const char *value) {
    if ((begin = after_word(begin, property)) == NULL) return 0;
    begin = behind_space(begin);
    return *begin == ':' && after_word(behind_space(begin + 1), value) != NULL;
}

int style_conceals(const char *style) {
    for (; *style; style++) {
        char c = lower_of(*style);
        if ((c == 'o' && is_zero(style, "opacity")) || (c == 'f' && is_zero(style, "font-size"))) return 1;
        if (c == '-' && strspn(style + 1, "0123456789") >= 3) return 1;
    }
    return 0;
}

int class_conceals(const char *class) {
    for (; *class; class++) {
        char c = (char)(*class | 0x20);
        if (c == 's' && (after_word(class, "sr-only") != NULL || after_word(class, "screen") != NULL)) return 1;
        if (c == 'v' && after_word(class, "visually") != NULL) return 1;
    }
    return 0;
}

int style_hides(const char *style, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)style[i] >= 0x80) return UNKNOWN;
    for (; *style; style++) {
        char c = (char)(*style | 0x20);
        if (c == 'd' && is_declared(style, "display", "none")) return 1;
        if (c == 'v' && is_declared(style, "visibility", "hidden")) return 1;
    }
    return 0;
}
