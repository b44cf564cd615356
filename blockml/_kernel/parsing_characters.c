/* Classification of texts for the builder. */
#include "kernel.h"

/* Code points per chunk, which fits into the first-level cache. */
enum { CHUNK = 2048 };

/* Copies up to CHUNK characters from `begin`. Returns their number, or -1 with an exception set. */
static Py_ssize_t copy_points(PyObject *text, Py_ssize_t begin, Py_ssize_t length, Py_UCS4 *points) {
    Py_ssize_t n = length - begin < CHUNK ? length - begin : CHUNK;
    PyObject *part = n == length ? Py_NewRef(text) : PyUnicode_Substring(text, begin, begin + n);
    int failed = part == NULL || PyUnicode_AsUCS4(part, points, CHUNK, 0) == NULL;
    Py_XDECREF(part);
    return failed ? -1 : n;
}

/* str.isspace of one character */
static int point_is_space(Py_UCS4 c) {
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

/* Returns TEXT_INVISIBLE if a character may match INVISIBLE of characters.py (joiners do so only in some contexts);
   otherwise TEXT_BLANK if str.isspace, else TEXT_CLEAN. */
int text_kind(PyObject *text) {
    Py_UCS4 points[CHUNK];
    Py_ssize_t length = PyUnicode_GetLength(text);
    int blank = length > 0;
    for (Py_ssize_t begin = 0; begin < length; begin += CHUNK) {
        Py_ssize_t n = copy_points(text, begin, length, points), i = 0;
        if (n < 0) return -1;
        while (blank && i < n) blank = point_is_space(points[i++]);
        unsigned invisible = 0;
        for (i = 0; i < n; i++) {
            Py_UCS4 c = points[i];
            invisible |= (c < 9) | (c - 0x0e < 0x0e) | ((c - 0x7f < 0x21) & (c != 0x85)) | (c == 0xad) |
                         (c - 0x200b < 3) | (c == 0x2060) | (c == 0xfeff);
        }
        if (invisible) return TEXT_INVISIBLE;
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

int utf8_kind(const char *text, Py_ssize_t length) {
    unsigned char most = 0, controls = 0;
    length = (length + BYTES_BEHIND) / (BYTES_BEHIND + 1) * (BYTES_BEHIND + 1); /* whole blocks, for vectorisation */
    for (Py_ssize_t i = 0; i < length; i++) { /* only bytes, for vectorisation */
        unsigned char c = (unsigned char)text[i];
        most = c > most ? c : most;
        controls |= (c < 9) | ((unsigned char)(c - 0x0e) < 0x0e) | (c == 0x7f);
    }
    if (most >= 0x80) return non_ascii_kind(text, length);
    return controls ? TEXT_INVISIBLE : most > ' ' ? TEXT_CLEAN : TEXT_BLANK;
}

/* Returns the position after `word` (lower case) at `begin`, ignoring case; -1 without a match. */
static Py_ssize_t match_word(const Py_UCS4 *points, Py_ssize_t n, Py_ssize_t begin, const char *word) {
    for (; *word; word++, begin++)
        if (begin >= n || (points[begin] | 0x20) != (Py_UCS4)*word) return -1;
    return begin;
}

/* Tells whether `property : value` is at `begin`, with any white space around the colon. */
static int is_declared(const Py_UCS4 *points, Py_ssize_t n, Py_ssize_t begin, const char *property, const char *value) {
    if ((begin = match_word(points, n, begin, property)) < 0) return 0;
    while (begin < n && point_is_space(points[begin])) begin++;
    if (begin >= n || points[begin++] != ':') return 0;
    while (begin < n && point_is_space(points[begin])) begin++;
    return match_word(points, n, begin, value) >= 0;
}

/* Tells whether a style hides an element: 0 or 1. Returns -1 without an exception if the style is long or not ASCII,
   so that the regular expression must be used; -1 with an exception on failure. */
int style_hides(PyObject *style) {
    Py_UCS4 points[CHUNK];
    Py_ssize_t length = PyUnicode_Check(style) ? PyUnicode_GetLength(style) : CHUNK + 1;
    if (length > CHUNK) return -1;
    Py_ssize_t n = copy_points(style, 0, length, points);
    if (n < 0) return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (points[i] >= 0x80) return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_UCS4 c = points[i] | 0x20;
        if (c == 'd' && is_declared(points, n, i, "display", "none")) return 1;
        if (c == 'v' && is_declared(points, n, i, "visibility", "hidden")) return 1;
    }
    return 0;
}
