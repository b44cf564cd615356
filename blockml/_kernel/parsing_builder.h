/* A builder of nodes: its state and functions, in parsing_builder.c, parsing_attributes.c and parsing_events.c. */
#ifndef BLOCKML_BUILDER_H
#define BLOCKML_BUILDER_H

#include "kernel.h"

/* blockml.page.nodes.Flag.HIDDEN */
enum { HIDDEN = 4 };

typedef struct {
    int32_t *tag, *parent, *depth, *end;
    int32_t *set; /* number of each node's attribute set, 0 for none */
    uint8_t *flags;
    PyObject **text; /* NULL for elements */
    Py_ssize_t n, room;
    char *pairs; /* names and values of attributes, each followed by 0, set after set */
    size_t pairs_length, pairs_room;
    size_t n_pending_bytes; /* bytes after them: attributes of the next tag */
    size_t pending_style;   /* offset of the value of a pending style; 0 for none */
    int pending_hides;      /* whether a pending attribute hides the element */
    int64_t *set_end;       /* offset where each set ends */
    Py_ssize_t n_sets, set_room;
    int32_t *path; /* open nodes */
    Py_ssize_t n_open, path_room;
    int32_t *tag_properties; /* name properties by tag */
    Py_ssize_t tag_room;
    Py_ssize_t n_dropped;      /* the open dropped element and open elements inside it */
    Py_ssize_t n_preformatted; /* open preformatted elements */
    Py_ssize_t n_flattened;    /* open elements beyond the depth limit */
    Py_ssize_t head_level;     /* number of open nodes while only head and its ancestors are open */
    Py_ssize_t max_nodes, max_depth;
    Py_ssize_t n_unclosed;      /* start tags without an end tag, which the parser has open */
    int64_t steps, max_steps;   /* unclosed elements, summed over tags */
    int has_head, too_deep, too_many, too_costly;
    PyObject *name_properties, *limit_reached, *hides, *invisible; /* from builder.py */
    PyObject *ids;
    PyObject *given;          /* attribute sets that came as mappings, None for others */
    PyObject *piece, *pieces; /* text since the last tag: first piece, further pieces */
    char *pending;            /* text after these pieces in UTF-8; the first byte is a blank that may precede it */
    size_t n_pending, pending_room;
    int has_space;    /* white space since the last text */
    PyObject *spaces; /* that white space inside preformatted elements */
    PyObject *empty_text, *blank, *text_name, *head_name, *body_name, *hidden, *style;
} Builder;

/* Functions that return int return -1 with an exception set on failure, unless noted otherwise. */

/* parsing_builder.c */
Py_ssize_t builder_new_id(Builder *b, PyObject *name); /* -2 with an exception set */
/* Opens an element. `id` is the number of the name or UNKNOWN, and is set then; `set` is the number of the attribute
   set, 0 for none; `hidden` is HIDDEN if the attributes hide the element. */
int builder_start(Builder *b, PyObject *name, Py_ssize_t *id, int32_t set, int hidden);
int builder_end(Builder *b, PyObject *name, Py_ssize_t id); /* by its number, or by its name if that is UNKNOWN */
int builder_data(Builder *b, PyObject *text);                  /* a str */
int builder_text(Builder *b, const char *text, size_t length); /* UTF-8, at least one byte */
size_t builder_text_length(const Builder *b);        /* bytes of UTF-8 text since the last tag */
void builder_truncate_text(Builder *b, size_t mark); /* removes such text after `mark` */
int builder_is_dropping(const Builder *b);           /* whether a dropped element is open */
int builder_spend(Builder *b, Py_ssize_t n_tags);    /* whether the budget allows the parser to read these tags */
int builder_close(Builder *b);                       /* closes all open nodes */

/* parsing_attributes.c. Attributes of the next tag are pending until they are stored as a set or cleared. */
int builder_mapping_hides(Builder *b, PyObject *attributes); /* 0 or HIDDEN */
int32_t builder_add_set(Builder *b, PyObject *given);        /* a mapping, or None for the last stored pairs */
int builder_attribute(Builder *b, const char *name, size_t length, const char *value, size_t value_length);
const char *builder_pending_attributes(const Builder *b, size_t *length); /* name, 0, value, 0 and so on */
void builder_clear_attributes(Builder *b);
int32_t builder_store_attributes(Builder *b, int *hidden);
const char *builder_pairs(const Builder *b, int32_t set, size_t *length);

/* parsing_events.c */
Builder *builder_of(PyObject *capsule); /* NULL with an exception set */

/* parsing_libxml2.c, parsing_lexbor.c: functions of a builder */
PyObject *parse_libxml2(PyObject *capsule, PyObject *arguments);
PyObject *parse_lexbor(PyObject *capsule, PyObject *arguments);

#endif
