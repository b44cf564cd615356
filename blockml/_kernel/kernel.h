/* What the parts of the kernel share. Limited API of Python 3.11: one build serves all later versions. */
#ifndef BLOCKML_KERNEL_H
#define BLOCKML_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Before a function that goes through many floats: where the machine has wider registers, they are used. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* What is still to be found out. */
enum { UNKNOWN = -1 };

/* Has its uppermost bit set if a number isn't in [least, end). Differences are taken of many at once, also on
   machines that can't compare as many. */
#define OUTSIDE(type, number, least, end) (((type)(number) - (type)(least)) | ((type)(end) - 1 - (type)(number)))

/* Opens the buffer of an array: one-dimensional or flat, contiguous, items of `size` bytes, `writable` or not.
   Returns 0, or -1 with an exception set. */
int open_array(PyObject *array, Py_buffer *view, Py_ssize_t size, int writable);

/* Opens arrays of items of these sizes, the last one writable. Returns how many, fewer than `n` with an exception
   set. */
int open_arrays(PyObject **array, Py_buffer *view, const Py_ssize_t *sizes, int n);

/* The place of the lowest bit of a number that isn't 0. */
static inline int lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int place = 0;
    for (; !(bits & 255); place += 8) bits >>= 8;
    for (; !(bits & 1); place++) bits >>= 1;
    return place;
#endif
}

/* The code point at a byte of UTF-8 that Python made, surrogates included; moves on to the next one. */
static inline uint32_t next_point(const uint8_t **byte, const uint8_t *end) {
    uint32_t point = *(*byte)++;
    if (point < 0x80) return point;
    int more = point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
    for (point &= 0x3fu >> more; more && *byte < end; more--, ++*byte) point = point << 6 | (**byte & 0x3fu);
    return point < 0x110000 ? point : 0xfffd;
}

/* For tables of short texts: eight bytes at a time, the last ones once more where there are fewer. */
static inline uint64_t hash_of_bytes(const char *bytes, size_t length) {
    uint64_t hash = length, word = 0;
    uint32_t half[2] = {0, 0};
    if (length >= 8) {
        for (size_t i = 0; i + 8 < length; i += 8) {
            memcpy(&word, bytes + i, 8);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 32;
        }
        memcpy(&word, bytes + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&half[0], bytes, 4);
        memcpy(&half[1], bytes + length - 4, 4);
        word = (uint64_t)half[0] << 32 | half[1];
    } else if (length > 0) {
        word = (uint64_t)(unsigned char)bytes[0] << 16 | (uint64_t)(unsigned char)bytes[length / 2] << 8 |
               (unsigned char)bytes[length - 1];
    }
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash >> 32;
}

/* A letter of ASCII made small. */
static inline char lower_of(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* As regular expressions of ASCII have them. */
static inline int is_blank(char c) { return c == ' ' || (c >= 9 && c <= 13); }
static inline int is_in_word(char c) {
    return (lower_of(c) >= 'a' && lower_of(c) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* predictors_trees.c */
PyObject *pack_small_trees(PyObject *module, PyObject *arguments);
PyObject *tree_sums(PyObject *module, PyObject *arguments);

static inline double at_least(double value, double least) { return value > least ? value : least; }

/* predictors_mlp.c */
PyObject *pack_mlp(PyObject *module, PyObject *arguments);
PyObject *mlp_probabilities(PyObject *module, PyObject *arguments);

/* parsing_events.c */
typedef struct Builder Builder;
PyObject *nodes_builder(PyObject *module, PyObject *arguments);
Builder *builder_of(PyObject *capsule); /* NULL with an exception set */

/* parsing_builder.c. What returns an int returns -1 with an exception set, where it may fail. */
/* `id` is the name's number or UNKNOWN, and written then; `set` that of the attributes, 0 for none; `hidden` whether
   they hide the element. */
int builder_start(Builder *b, PyObject *name, Py_ssize_t *id, int32_t set, int hidden);
int builder_end(Builder *b, PyObject *name, Py_ssize_t id);
int builder_data(Builder *b, PyObject *text); /* a str */
int builder_text(Builder *b, const char *text, size_t length); /* UTF-8, one byte or more */
size_t builder_mark(const Builder *b); /* where such text ends now */
void builder_back(Builder *b, size_t mark); /* takes back what came behind */
int builder_drops(const Builder *b); /* whether what comes now is left out */
int widen(void **array, Py_ssize_t room, size_t size);

/* parsing_attributes.c. Attributes wait until they are a set of their own, whose number is given back, or are forgotten. */
int builder_attribute(Builder *b, const char *name, size_t length, const char *value, size_t value_length);
const char *builder_waiting(const Builder *b, size_t *length); /* name, 0, value, 0 and so on */
void builder_forget_waiting(Builder *b);
int32_t builder_keep_waiting(Builder *b, int *hidden);
const char *builder_pairs(const Builder *b, int32_t set, size_t *length);

/* parsing_libxml2.c */
PyObject *read_by_libxml2(PyObject *capsule, PyObject *arguments);

/* parsing_lexbor.c */
PyObject *read_by_lexbor(PyObject *capsule, PyObject *arguments);

/* parsing_characters.c */
enum { TEXT_CLEAN, TEXT_BLANK, TEXT_CONTROLS };
int text_kind(PyObject *text);
enum { BYTES_BEHIND = 15 }; /* must be blanks behind the text */
int utf8_kind(const char *text, Py_ssize_t length); /* UNKNOWN where the bytes don't tell */
int style_hides(PyObject *style);

/* parsing_segmentation.c */
PyObject *cut_blocks(PyObject *module, PyObject *arguments);

/* features_attribute_values.c */
PyObject *page_names(PyObject *module, PyObject *arguments);
PyObject *page_groups(PyObject *module, PyObject *capsule);

/* features_ancestor_words.c */
PyObject *page_bags(PyObject *module, PyObject *arguments);

/* features_page_tree.c */
PyObject *page_tree(PyObject *module, PyObject *arguments);

/* features_tables.c */
PyObject *held_tables(PyObject *module, PyObject *arguments);

/* features_matrix.c */
PyObject *family_columns(PyObject *module, PyObject *arguments);
PyObject *page_rows(PyObject *module, PyObject *arguments);

/* features_text_counts.c */
PyObject *line_densities(PyObject *module, PyObject *arguments);

/* predictors_log_odds.c */
PyObject *sigmoid(PyObject *module, PyObject *arguments);
PyObject *log_odds(PyObject *module, PyObject *arguments);

/* parsing_utf8.c */
PyObject *is_utf8(PyObject *module, PyObject *source);

/* features_factorize.c. Numbers (n,) of keys (n,); returns how many numbers there are, or -1 with an exception set. */
int64_t number_keys(const uint64_t *keys, size_t n, int64_t *number);

#endif
