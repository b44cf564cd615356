/* A page in the C extension: its tree, the ancestors of its blocks, and their words. */
#ifndef BLOCKML_TREE_H
#define BLOCKML_TREE_H

#include "text_string_table.h"

/* The blocks of node i are started[i] ... started[end[i]] - 1. All numbers are valid indices of nodes, blocks, tags and sets. */
typedef struct {
    Py_ssize_t n_levels, n, n_nodes, n_tags, n_ancestor_nodes, n_sets;
    int64_t *ancestors;   /* (n_levels, n) the parent of each block, its parent and so on; -1 above a root */
    int64_t *blocks_before; /* (n_nodes + 1,) blocks that start before each node */
    int64_t *ancestor_nodes; /* (n_reached,) nodes of the chain, each once, rising */
    double *amounts;  /* (3, n) words, words in links, and words of running text */
    int64_t *ends;    /* (n_sets,) as Attributes has them */
    int32_t *tag, *parent, *depth, *end, *set; /* (n_nodes,) */
    int32_t *parent_of;                           /* (n,) the parent of each block */
    uint8_t *flags;                            /* (n,) */
    double n_words, n_prose;                   /* words of the page, one at least, and of its running text */
    PyObject *tag_names, *texts;                   /* tuples of str: (n_tags,) and (n,) */
    PyObject *given, *pairs;                   /* as Attributes has them */
} Tree;

/* The tree that new_page_tree made; NULL with an exception set. It is checked once, there, and nobody can change it: each
   function would have to look at all of its numbers otherwise. */
const Tree *tree_of(PyObject *capsule);

/* A node; "no node" is the last one, as numpy counts -1 from the end. */
static inline int64_t node_or_last(const Tree *tree, int64_t node) { return node < 0 ? tree->n_nodes - 1 : node; }

/* Whether a block has the parent of the one before it, and so all ancestors: neighbours mostly do. */
static inline int has_parent_of_last(const Tree *tree, Py_ssize_t block) {
    return block > 0 && tree->ancestors[block] == tree->ancestors[block - 1];
}

/* The ancestor of a block so many levels above its parent, or the outermost one. */
static inline int64_t ancestor(const Tree *tree, Py_ssize_t block, int64_t level) {
    for (int64_t k = level < tree->n_levels ? level : tree->n_levels - 1; k > 0; k--)
        if (tree->ancestors[k * tree->n + block] >= 0) return tree->ancestors[k * tree->n + block];
    return node_or_last(tree, tree->ancestors[block]);
}

/* Sums before each block, and of all: k values (k, n) side by side, so that those of one block lie together. NULL
   with an exception set. */
double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n);

/* features_tables.c: constants of all pages, taken once per process. */
enum { OF_PATH, LANDMARK, HEADING_LEVEL, MARK, IS_PARAGRAPH, SUMS, N_TAG_TABLES };
/* Characters: letters and digits, spaces, digits, ends of sentences, clauses, capitals, ideographs. */
enum { N_KINDS = 256, N_CLASSES = 7 };
enum { N_FLAGS = 3 }; /* of blocks: hidden, in noscript, preformatted */
enum { CLASSES, MASKS, IN_WORD, CASED, TAGS, LETTERS, WORD_LENGTHS, WORD_GROUPS, WEIGHTS, LEVELS, REACHES, SIBLINGS,
      GROUPINGS, FLAGS, NUMBERS, N_TABLES };
enum { FAR, MOST_LEVELS, MOST_SMOOTHED, TITLE_WORDS, SURROUNDINGS, N_LANDMARKS, N_KEYWORDS, N_ROLES, N_NUMBERS };

/* A keyword and its group; small, to stay in the cache between pages. */
typedef struct {
    uint64_t begin; /* its first eight characters */
    uint16_t at;    /* where it is in LETTERS */
    uint16_t next;  /* one more than the place of the next word with the same slot, none longer; 0 for none */
    uint8_t length, group;
} Word;

enum { SLOT_BITS = 12 }; /* of words, told by their first three characters: most slots are free */

typedef struct {
    Word *words; /* longer ones first */
    uint16_t first[1 << SLOT_BITS]; /* one more than the place of the longest word in each slot; 0 for none */
    Py_buffer view[N_TABLES];
    Py_ssize_t opened, n_places;
    uint32_t crc[256];                   /* of each byte */
    uint64_t counted[N_KINDS];           /* classes of a kind of characters: a byte per class, and one for all */
    PyObject *places;                    /* of names of tags in tables */
    PyObject *role_of;                   /* bits by word */
    PyObject *keyword_bits, *role_bits;  /* of a value that isn't ASCII */
} Tables;

const Tables *tables_of(PyObject *capsule);

/* Number of items of a table. */
static inline Py_ssize_t length_of(const Tables *tables, int table) {
    return tables->view[table].len / tables->view[table].itemsize;
}
static inline int64_t number_in(const Tables *tables, int which) {
    return ((const int64_t *)tables->view[NUMBERS].buf)[which];
}

/* (n_tags + 1,) places of a page's tags in tables, and of "no node"; to be freed. NULL with an exception set. */
int32_t *places_of(const Tables *tables, const Tree *tree);

/* features_keywords.c. Functions return -1 with an exception set. */
int has_valid_words(const Tables *tables);
int make_words(Tables *tables);
/* Adds bits (n,) of the keyword groups in the first `n` values, for ASCII values of class and id. */
int write_keywords(const Tables *tables, const StringTable *values, Py_ssize_t n, int64_t *groups);

/* features_attribute_values.c: values of attributes of the elements above blocks, and groups of blocks. */
enum { CLASS, ROLE, ID, ITEMPROP, PROPERTY, N_ATTRIBUTES };

typedef struct {
    PyObject *tree;                         /* the capsule of the only tree that fits */
    Py_ssize_t n_values, n_elements, n_groupings;
    int32_t *numbers;   /* (N_ATTRIBUTES, n_nodes + 1) of values; 0 without one, and for "no node" */
    int32_t *classes;   /* (n_nodes + 1,) of classes, also of `elements` */
    int64_t *elements;  /* (n_elements,) with the parent of an ancestor whose siblings are counted, rising */
    int64_t *keywords, *roles; /* (n_values,) bits of keyword groups and of roles */
    int64_t *groups;    /* (n_ways, n) number of each block's group, for each grouping */
    StringTable values;      /* values of `numbers`, then those of more classes */
} AttributeValues;

const AttributeValues *attribute_values_of(PyObject *capsule, PyObject *tree);

/* features_text_counts.c: counts of characters. */
typedef struct {
    double *counts, *lengths; /* (N_CLASSES, n) characters of each class, a line break behind the text too; (n,) */
    uint8_t *first, *last;    /* (n,) class bits of the first and the last character, or of the break */
} Texts;

/* Fills the counts of each kind of characters from the bits of each class. */
void count_classes(const uint8_t *masks, uint64_t *counted);
int read_texts(Texts *texts, const Tree *tree, const Tables *tables);
void free_texts(Texts *texts);

/* A page whose features are written. Functions return -1 with an exception set. */
typedef struct {
    const Tree *tree;
    const Tables *tables;
    const AttributeValues *attributes; /* NULL where no family needs them */
    int32_t *places;    /* (n_tags + 1,) of tags in tables */
    Texts texts;        /* read for the first family that needs them */
    PyObject *title, *description; /* NULL where no family needs them */
} Page;

/* Entry of a table for a tag; n_tags stands for "no node". */
static inline int64_t of_tag(const Page *page, int table, Py_ssize_t tag) {
    return ((const int64_t *)page->tables->view[TAGS].buf)[table * page->tables->n_places + page->places[tag]];
}

/* Columns that a family writes: names with a blank between them, or patterns of which each item of a list gives one
   name in place of the sign #. Several patterns are written item by item. */
enum { ONCE, LANDMARKS, KEYWORDS, ROLES, WINDOWS, ANCESTORS, ANCESTORS_OF_ELEMENTS, GROUPS, N_LISTS };
typedef struct {
    int list;
    const char *columns;
} Part;

/* A family of columns, and what it needs besides the tree. `rows` are as many columns (n,) as its parts name, in their
   order; all columns that no one asked for are one and the same. */
enum { NEEDS_VALUES = 1, NEEDS_TITLE = 2, MOST_PARTS = 4 };
typedef struct {
    int (*write)(Page *page, float *const *rows);
    int needs;
    Part parts[MOST_PARTS]; /* the last one has no columns */
} Family;

extern const Family text_family, position_family, around_family, path_family, ancestors_family, vocabulary_family,
    container_family, more_candidates_family, same_path_family, repetition_family, siblings_family, title_overlap_family,
    page_stats_family;

/* features_block_groups.c: numbers (n,) of groups of blocks whose ancestors at some levels have equal tags and, unless it
   is NULL, equal classes; -1 with an exception set. */
int group_blocks(const Tree *tree, Py_ssize_t first, Py_ssize_t last, const int32_t *classes, int64_t *group);

#endif
