/* Page in the C extension: tree, ancestors of blocks, and amounts of text. */
#ifndef BLOCKML_TREE_H
#define BLOCKML_TREE_H

#include "text_string_table.h"

/* The blocks of node i are blocks_before[i] ... blocks_before[end[i]] - 1. All numbers are valid indices of nodes,
   blocks, tags and sets. */
typedef struct {
    const char *bytes; /* UTF-8, with surrogates */
    Py_ssize_t length;
} Utf8;

typedef struct {
    Py_ssize_t n_levels, n, n_nodes, n_tags, n_ancestor_nodes, n_sets;
    int64_t *ancestors; /* (n_levels, n) parent of each block, its parent and so on; -1 above a root */
    int64_t *blocks_before; /* (n_nodes + 1,) blocks that start before each node */
    int64_t *ancestor_nodes; /* (n_ancestor_nodes,) nodes in `ancestors`, unique and increasing */
    double *amounts; /* (3, n) words, linked words, and words of running text */
    int64_t *ends; /* (n_sets,) see blockml.page.attributes.Attributes */
    int32_t *tag, *parent, *depth, *end, *set; /* (n_nodes,) */
    int32_t *parent_of; /* (n,) parent of each block */
    uint8_t *flags; /* (n,) */
    double n_words, n_prose; /* words of the page, at least one, and of its running text */
    Utf8 *texts;         /* (n,) of blocks */
    PyObject *tag_names; /* (n_tags,) tuple of str */
    PyObject *held;      /* (n,) tuple of str: memory of the texts */
    PyObject *encoded;   /* list of bytes: memory of texts with surrogates */
    PyObject *given, *pairs; /* see blockml.page.attributes.Attributes */
} Tree;

/* Returns the tree of new_page_tree. It is immutable and was checked there, so functions needn't check its numbers. */
const Tree *tree_of(PyObject *capsule);

/* Gives access to the UTF-8 of a str as long as it and the list `encoded` are held. */
int read_utf8(PyObject *text, Utf8 *utf8, PyObject *encoded);

/* Returns the block after the last one of a node. */
static inline int64_t blocks_end(const Tree *tree, int64_t node) { return tree->blocks_before[tree->end[node]]; }

/* Returns a node, or the last one if it is missing, like NumPy for index -1. */
static inline int64_t node_or_last(const Tree *tree, int64_t node) { return node < 0 ? tree->n_nodes - 1 : node; }

/* Tells whether a block has the parent of the previous block, and so all of its ancestors; most blocks do. */
static inline int has_parent_of_last(const Tree *tree, Py_ssize_t block) {
    return block > 0 && tree->ancestors[block] == tree->ancestors[block - 1];
}

/* Returns the ancestor of a block `level` levels above its parent, or the outermost one. */
static inline int64_t ancestor(const Tree *tree, Py_ssize_t block, int64_t level) {
    for (int64_t k = level < tree->n_levels ? level : tree->n_levels - 1; k > 0; k--)
        if (tree->ancestors[k * tree->n + block] >= 0) return tree->ancestors[k * tree->n + block];
    return node_or_last(tree, tree->ancestors[block]);
}

/* Returns the sums before each block and of all blocks, (n + 1, k) for k values (k, n). */
double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n);

/* features_tables.c: constants, passed once per process by name. */
/* Character classes: letters and digits, white space, digits, sentence ends, clause ends, capitals, ideographs. */
enum { N_KINDS = 256, N_CLASSES = 7 };
enum { MOST_WORDS = 64 }; /* names and their parts in a value */
enum { N_FLAGS = 3 }; /* of blocks: hidden, in noscript, preformatted */
/* Tables by tag come first, single numbers last. */
enum { OF_PATH, LANDMARK, HEADING_LEVEL, MARK, IS_PARAGRAPH, SUMS, N_TAG_TABLES,
       CLASSES = N_TAG_TABLES, MASKS, IN_WORD, CASED, LETTERS, WORD_LENGTHS, WORD_GROUPS, WEIGHTS, LEVELS, REACHES,
       SIBLINGS, GROUPINGS, FLAGS,
       FAR, MOST_LEVELS, MOST_SMOOTHED, TITLE_WORDS, SURROUNDINGS, N_LANDMARKS, N_KEYWORDS, N_ROLES, MOST_NAMES,
       MOST_PARTS_OF_NAMES, NEAR, FAR_MARK, WORD_MASK, N_TABLES };

/* Keyword and its group; kept small so that the table stays in the cache between pages. */
typedef struct {
    uint64_t begin; /* its first eight characters */
    uint16_t at;    /* offset in LETTERS */
    uint16_t next;  /* 1 + position of the next keyword of the same slot, which is not longer; 0 for none */
    uint8_t length, group;
} Word;

enum { SLOT_BITS = 12 }; /* slots of keywords by their first three characters, most of them free */

typedef struct {
    Word *words; /* longest first */
    uint16_t first[1 << SLOT_BITS]; /* 1 + position of the longest keyword of each slot; 0 for none */
    Py_buffer view[N_TABLES];
    Py_ssize_t n_places;
    uint32_t crc[256];                  /* CRC-32 of each byte */
    uint64_t counted[N_KINDS];          /* classes of each kind of character, a byte each, and a 1 */
    PyObject *places;                   /* column of each tag name in tables */
    PyObject *role_of;                  /* role bits by word */
    /* functions for values that are not ASCII */
    PyObject *keyword_bits, *role_bits, *word_checksums;
} Tables;

const Tables *tables_of(PyObject *capsule);

static inline Py_ssize_t length_of(const Tables *tables, int table) { return n_items(&tables->view[table]); }
static inline int64_t number_in(const Tables *tables, int which) { return *(const int64_t *)tables->view[which].buf; }

/* Returns the columns (n_tags + 1,) of a page's tags in tables, and of a missing node, to be freed. */
int32_t *places_of(const Tables *tables, const Tree *tree);

/* features_keywords.c. Functions return -1 with an exception set. */
int has_valid_words(const Tables *tables);
int make_words(Tables *tables);
/* Adds bits (n,) of the keyword groups in the first `n` strings, for ASCII values of class and id. */
int write_keywords(const Tables *tables, const StringTable *values, Py_ssize_t n, int64_t *groups);

/* features_attribute_values.c: values of attributes of the ancestors of blocks, and groups of blocks. */
enum { CLASS, ROLE, ID, ITEMPROP, PROPERTY, N_ATTRIBUTES };

typedef struct {
    PyObject *tree; /* capsule of the tree that the values belong to */
    Py_ssize_t n_values, n_elements, n_groupings;
    int32_t *numbers;          /* (N_ATTRIBUTES, n_nodes + 1) of values; 0 for a missing value or node */
    int32_t *classes;          /* (n_nodes + 1,) of classes, also of `elements` */
    int64_t *elements;         /* (n_elements,) siblings of ancestors, increasing */
    int64_t *keywords, *roles; /* (n_values,) bits of keyword groups and of roles */
    int64_t *groups;           /* (n_groupings, n) number of each block's group */
    StringTable values;        /* values of `numbers`, then further classes */
} AttributeValues;

const AttributeValues *attribute_values_of(PyObject *capsule, PyObject *tree);

/* features_text_counts.c: counts of characters. */
typedef struct {
    double *counts, *lengths; /* (N_CLASSES, n) characters of each class, including a final line break; (n,) */
    uint8_t *first, *last;    /* (n,) class bits of the first and the last character, or of the line break */
} Texts;

/* Computes the counts of each kind of character from the bits of each class. */
void count_classes(const uint8_t *masks, uint64_t *counted);
int read_texts(Texts *texts, const Tree *tree, const Tables *tables);
void free_texts(Texts *texts);

/* The page whose features are written. Functions return -1 with an exception set. */
typedef struct {
    const Tree *tree;
    const Tables *tables;
    const AttributeValues *attributes; /* NULL if no family needs them */
    int32_t *places;                   /* (n_tags + 1,) columns of tags in tables */
    Texts texts;                       /* read for the first family that needs them */
    const Utf8 *titles;                /* title and description; NULL if no family needs them */
} Page;

/* Returns the table entry of a tag; n_tags means a missing node. */
static inline int64_t of_tag(const Page *page, int table, Py_ssize_t tag) {
    return ((const int64_t *)page->tables->view[table].buf)[page->places[tag]];
}

/* Column names of a family, separated by blanks, or patterns in which each item of a list replaces #. Several
   patterns are written item by item. */
enum { ONCE, LANDMARKS, KEYWORDS, ROLES, WINDOWS, ANCESTORS, ANCESTORS_OF_ELEMENTS, GROUPS, N_LISTS };
typedef struct {
    int list;
    const char *columns;
} Part;

/* Family of columns, and its needs besides the tree. `rows` are its columns (n,) in the order of its parts; all
   skipped columns share one array. */
enum { NEEDS_VALUES = 1, NEEDS_TITLE = 2, MOST_PARTS = 4 };
typedef struct {
    int (*write)(Page *page, float *const *rows);
    int needs;
    Part parts[MOST_PARTS]; /* the last one has no columns */
} Family;

extern const Family text_family, position_family, around_family, path_family, ancestors_family, vocabulary_family,
    container_family, same_path_family, repetition_family, siblings_family, title_overlap_family, page_stats_family;

/* features_block_groups.c: writes the numbers (n,) of groups of blocks whose ancestors at some levels have equal
   tags and, unless NULL, equal classes. */
int group_blocks(const Tree *tree, Py_ssize_t first, Py_ssize_t last, const int32_t *classes, int64_t *group);

#endif
