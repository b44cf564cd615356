/* What a builder of nodes is made of: parsing_builder.c, parsing_attributes.c, parsing_events.c. */
#ifndef BLOCKML_BUILDER_H
#define BLOCKML_BUILDER_H

#include "kernel.h"

/* Flag.HIDDEN in page.py. */
enum { HIDDEN = 4 };

struct Builder {
    int32_t *tag, *parent, *depth, *end;
    int32_t *set; /* which set of attributes a node has, 0 for none */
    uint8_t *flags;
    PyObject **text; /* NULL for a node without */
    Py_ssize_t n, room;
    char *pairs; /* names and values of attributes, 0 after each, set after set */
    size_t pairs_length, pairs_room;
    size_t n_pending_bytes; /* bytes behind them: attributes of the next tag */
    size_t pending_style;  /* where the value of a style is, if one of those is one; 0 if none is */
    int pending_hides; /* whether one of them hides it */
    int64_t *set_end; /* where sets end there */
    Py_ssize_t n_sets, set_room;
    int32_t *path; /* open nodes */
    Py_ssize_t n_open, path_room;
    int32_t *tag_properties; /* by tag: what `special` holds */
    Py_ssize_t tag_room;
    Py_ssize_t n_dropped;      /* the open dropped element and what is open inside it */
    Py_ssize_t n_preformatted; /* open preformatted elements */
    Py_ssize_t n_flattened;    /* open elements beyond the depth limit */
    Py_ssize_t head_level;     /* open nodes while only head and its ancestors are open */
    Py_ssize_t max_nodes, max_depth;
    int has_head, too_deep, too_many;
    PyObject *name_properties, *limit_reached, *invisible, *controls; /* from builder.py */
    PyObject *ids;
    PyObject *given; /* sets of attributes that came as mappings, None for others */
    PyObject *piece, *pieces; /* text since the last tag: the first piece, and the others */
    char *pending;            /* what of it came last, in UTF-8; the first byte is a blank that may go before it */
    size_t n_pending, pending_room;
    int has_space;    /* white space since the last text */
    PyObject *spaces; /* what of it is preformatted */
    PyObject *empty_text, *blank, *text_name, *head_name, *body_name, *hidden, *style;
};

/* parsing_builder.c. -1 with an exception set, of a name's number -2. */
Py_ssize_t builder_new_id(Builder *b, PyObject *name);
int builder_close(Builder *b); /* all that is open */

/* parsing_attributes.c. -1 with an exception set. */
int builder_mapping_hides(Builder *b, PyObject *attributes); /* 0 or HIDDEN */
int32_t builder_add_set(Builder *b, PyObject *given);    /* a mapping, or None for what was put last to the pairs */

#endif
