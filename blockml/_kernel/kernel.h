/* Declarations shared by the C files. They use the limited API of Python 3.11: one build works with all later
   versions.

   Unless noted otherwise, functions that return int or a number return -1, and functions that return a pointer NULL,
   with an exception set. */
#ifndef BLOCKML_KERNEL_H
#define BLOCKML_KERNEL_H

/* No format has a "#": with the headers of Python 3.13 it would fail in 3.11 and 3.12. */
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Compiles a function also for wider vector registers, which are used if the machine has them. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* Value of a number that was not determined yet. */
enum { UNKNOWN = -1 };

/* Has its highest bit set if a number is outside [least, end). Unlike comparisons, subtractions are vectorised on
   all machines. */
#define OUTSIDE(type, number, least, end) (((type)(number) - (type)(least)) | ((type)(end) - 1 - (type)(number)))

/* Arrays are contiguous. The type of their items is a letter, after an asterisk for a writable array: b, h, i and q for
   signed integers of 1, 2, 4 and 8 bytes, B for bytes and Booleans, f and d for floating-point numbers.

   Opens the arrays in a tuple, whose types are separated by blanks. Returns 0; or -1 with all of them closed. */
int open_arrays(PyObject *tuple, Py_buffer *view, const char *types);

typedef struct {
    const char *name, *type;
} Named;

/* Opens n arrays of a dict by their names, like open_arrays. */
int open_named(PyObject *dict, Py_buffer *view, const Named *named, int n);
void close_arrays(Py_buffer *view, int n);

/* Returns the number of items of an open array. */
static inline Py_ssize_t n_items(const Py_buffer *view) { return view->len / view->itemsize; }

/* Runs statements with Python's lock, which this thread may hold already. */
#define LOCKED(...) \
    do { \
        PyGILState_STATE lock = PyGILState_Ensure(); \
        __VA_ARGS__; \
        PyGILState_Release(lock); \
    } while (0)

/* Sets MemoryError and returns -1, with the lock or without it. */
static inline int no_memory(void) {
    LOCKED(PyErr_NoMemory());
    return -1;
}
static inline void *null_without_memory(void) { return no_memory(), NULL; }

/* Returns the position of the lowest bit of a nonzero number. */
static inline int lowest_bit(uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int place = 0;
    while (!(bits >> place & 1)) place++;
    return place;
#endif
}

/* Decodes a code point of UTF-8 written by Python, surrogates included, and advances the pointer. */
static inline uint32_t next_point(const uint8_t **byte, const uint8_t *end) {
    uint32_t point = *(*byte)++;
    if (point < 0x80) return point;
    int more = point < 0xe0 ? 1 : point < 0xf0 ? 2 : 3;
    for (point &= 0x3fu >> more; more && *byte < end; more--, ++*byte) point = point << 6 | (**byte & 0x3fu);
    return point < 0x110000 ? point : 0xfffd;
}

/* Hash of a short string for tables in memory, eight bytes at a time; the last eight may overlap the ones before. */
static inline uint64_t hash_of_bytes(const char *bytes, size_t length) {
    uint64_t hash = length, word = 0;
    if (length >= 8) {
        for (size_t i = 0; i + 8 < length; i += 8) {
            memcpy(&word, bytes + i, 8);
            hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 32;
        }
        memcpy(&word, bytes + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&word, bytes, 4);
        memcpy((char *)&word + 4, bytes + length - 4, 4);
    } else if (length > 0) {
        word = (uint64_t)(unsigned char)bytes[0] << 16 | (uint64_t)(unsigned char)bytes[length / 2] << 8 |
               (unsigned char)bytes[length - 1];
    }
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash >> 32;
}

/* Converts an ASCII letter to lower case. */
static inline char lower_of(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* predictors_trees.c */
PyObject *pack_trees(PyObject *module, PyObject *arrays);
PyObject *tree_sums(PyObject *module, PyObject *arguments);

static inline double at_least(double value, double least) { return value > least ? value : least; }

/* predictors_mlp.c */
PyObject *pack_mlp(PyObject *module, PyObject *arrays);
PyObject *mlp_probabilities(PyObject *module, PyObject *arguments);

/* parsing_events.c */
PyObject *nodes_builder(PyObject *module, PyObject *arguments);

/* parsing_builder.c; -1 with an exception set. */
int widen(void **array, Py_ssize_t room, size_t size);

/* parsing_characters.c */
enum { TEXT_CLEAN, TEXT_BLANK, TEXT_INVISIBLE };
enum { BYTES_BEHIND = 15 }; /* bytes after the text that must be blanks */
int utf8_kind(const char *text, Py_ssize_t length);
int style_hides(const char *style, size_t length); /* 0 or 1; UNKNOWN if it is not ASCII */
int style_conceals(const char *style);             /* 0 or 1, for any UTF-8 that ends with a zero byte */
int class_conceals(const char *class);

/* parsing_styles.c */
const char *after_word(const char *at, const char *word); /* the place behind a word in lower case; NULL without it */
int is_zero(const char *at, const char *property); /* whether `property : 0` or a number that starts with a point is at `at` */

/* parsing_segmentation.c */
PyObject *segment_nodes(PyObject *module, PyObject *arguments);

/* features_attribute_values.c */
PyObject *new_attribute_values(PyObject *module, PyObject *arguments);
PyObject *block_groups(PyObject *module, PyObject *capsule);

/* features_ancestor_words.c */
PyObject *ancestor_words(PyObject *module, PyObject *arguments);

/* features_page_tree.c */
PyObject *new_page_tree(PyObject *module, PyObject *arguments);

/* features_tables.c */
PyObject *new_tables(PyObject *module, PyObject *arguments);

/* features_matrix.c */
PyObject *family_columns(PyObject *module, PyObject *arguments);
PyObject *write_columns(PyObject *module, PyObject *arguments);

/* features_text_counts.c */
PyObject *word_densities(PyObject *module, PyObject *arguments);

/* metadata_words.c */
PyObject *attribute_words(PyObject *module, PyObject *arguments);
PyObject *word_table(PyObject *module, PyObject *arguments);

/* predictors_log_odds.c. Both write n numbers. */
void compute_log_odds(const double *probabilities, size_t n, double *log_odds);
void write_sigmoids(const double *log_odds, size_t n, float *probabilities);
PyObject *sigmoid(PyObject *module, PyObject *arguments);
PyObject *log_odds(PyObject *module, PyObject *arguments);

/* decision.c */
PyObject *page_features(PyObject *module, PyObject *arguments);
PyObject *policy_scores(PyObject *module, PyObject *arguments);

/* parsing_utf8.c */
PyObject *is_utf8(PyObject *module, PyObject *source);

/* parsing_styles.c */
PyObject *hiding_rules(PyObject *module, PyObject *css);
PyObject *style_tags(PyObject *module, PyObject *utf8);

/* batch_json.c */
PyObject *json_string(PyObject *module, PyObject *arguments);

/* features_factorize.c. Writes the number (n,) of each key (n,); returns the number of unique keys, or -1 with an
   exception set. */
int64_t factorize(const uint64_t *keys, size_t n, int64_t *number);

#endif
