/* A builder of nodes: its state and functions, in parsing_builder.c, parsing_attributes.c and parsing_events.c.

   Names, attributes and texts are UTF-8 until the page is read, so that parsers run without Python's lock. Functions
   take it, by LOCKED, for what is rare: errors, invisible characters, and names and styles that are not ASCII. */
#ifndef BLOCKML_BUILDER_H
#define BLOCKML_BUILDER_H

#include "text_string_table.h"

/* Flags of blockml.page.nodes.Flag */
enum { HIDDEN = 4, CONCEALED = 64 };

typedef struct {
    int32_t tag; /* its number among the names of nodes; UNKNOWN until a node has the name */
    int32_t properties;
} Name;

/* An attribute set that was stored, 0 for none, and the flags of its elements: HIDDEN and CONCEALED. */
typedef struct {
    int32_t set;
    int hidden;
} StoredSet;
enum { N_STORED_SETS = 512 };

typedef struct {
    int32_t *tag, *parent, *depth, *end;
    int32_t *set; /* number of each node's attribute set, 0 for none */
    uint8_t *flags;
    int64_t *text_end; /* offset in `texts` where each node's text ends */
    Py_ssize_t n, room;
    char *texts; /* texts of nodes, then white space before the next one, then the text since the last tag */
    size_t n_texts, n_space, n_pending, texts_room;
    char *pairs; /* names and values of attributes, each followed by 0, set after set */
    size_t pairs_length, pairs_room;
    size_t n_pending_bytes; /* bytes after them: attributes of the next tag */
    size_t pending_style;   /* offset of the value of a pending style; 0 for none */
    size_t pending_class;   /* the same of a class */
    int pending_hides;      /* whether a pending attribute hides the element */
    int64_t *set_end;       /* offset where each set ends */
    Py_ssize_t n_sets, set_room;
    StoredSet stored[N_STORED_SETS]; /* by hash: a new set replaces an earlier one */
    int32_t *path; /* open nodes */
    Py_ssize_t n_open, path_room;
    StringTable names; /* those with properties first */
    Name *name;        /* by their numbers */
    Py_ssize_t name_room;
    int32_t n_tags, text_name, head_name, body_name;
    Py_ssize_t n_dropped;      /* the open dropped element and open elements inside it */
    Py_ssize_t n_preformatted; /* open preformatted elements */
    Py_ssize_t n_flattened;    /* open elements beyond the depth limit */
    Py_ssize_t head_level;     /* number of open nodes while only head and its ancestors are open */
    Py_ssize_t max_nodes, max_depth;
    Py_ssize_t n_unclosed;      /* start tags without an end tag, which the parser has open */
    int64_t steps, max_steps;   /* unclosed elements, summed over tags */
    int has_head, too_deep, too_many, too_costly;
    PyObject *name_properties, *limit_reached, *hides, *invisible; /* from builder.py */
    PyObject *given; /* attribute sets that came as mappings, None for others; may be shorter than all sets */
} Builder;

/* Functions that return int return -1 with an exception set on failure, unless noted otherwise. */

/* parsing_builder.c */
int32_t builder_name(Builder *b, const char *name, size_t length, PyObject *owner); /* number of a name */
/* Opens an element; `set` is the number of its attribute set, 0 for none; `hidden` has the flags that they set. */
int builder_start(Builder *b, int32_t name, int32_t set, int hidden);
int builder_start_pending(Builder *b, int32_t name); /* with the pending attributes */
int builder_end(Builder *b, int32_t name);
int builder_text(Builder *b, const char *text, size_t length); /* UTF-8 */
int builder_spend(Builder *b, Py_ssize_t n_tags); /* whether the budget allows the parser to read these tags */
int builder_close(Builder *b);                    /* closes all open nodes */

/* parsing_attributes.c. Attributes of the next tag are pending until they are stored as a set. */
int builder_mapping_hides(Builder *b, PyObject *attributes); /* HIDDEN and CONCEALED, if they hide an element */
int32_t builder_add_set(Builder *b, PyObject *given);        /* a mapping, or NULL for the last stored pairs */
/* Adds an attribute; its name and value contain no zero byte. */
int builder_attribute(Builder *b, const char *name, size_t length, const char *value, size_t value_length);
int32_t builder_pending_set(Builder *b, int *hidden); /* number of the pending attributes as a set */

/* parsing_events.c */
Builder *builder_of(PyObject *capsule); /* NULL with an exception set */
PyObject *list_of_given(Builder *b);    /* borrowed list of all sets */
/* Reads a page in UTF-8 and n addresses of functions from the arguments of a parser. */
Builder *parser_arguments(PyObject *capsule, PyObject *arguments, const char **source, Py_ssize_t *length,
                          void **function, Py_ssize_t n);

/* parsing_libxml2.c, parsing_lexbor.c: functions of a builder */
PyObject *parse_libxml2(PyObject *capsule, PyObject *arguments);
PyObject *parse_lexbor(PyObject *capsule, PyObject *arguments);

#endif
