/* State of a builder of nodes: parsing_builder.c, parsing_attributes.c, parsing_events.c. */
#ifndef BLOCKML_BUILDER_H
#define BLOCKML_BUILDER_H

#include "kernel.h"

/* blockml.page.nodes.Flag.HIDDEN */
enum { HIDDEN = 4 };

struct Builder {
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
    Py_ssize_t head_level;     /* open nodes while only head and its ancestors are open */
    Py_ssize_t max_nodes, max_depth;
    int has_head, too_deep, too_many;
    PyObject *name_properties, *limit_reached, *invisible, *controls; /* from builder.py */
    PyObject *ids;
    PyObject *given;          /* attribute sets that came as mappings, None for others */
    PyObject *piece, *pieces; /* text since the last tag: first piece, further pieces */
    char *pending;            /* text after these pieces in UTF-8; the first byte is a blank that may precede it */
    size_t n_pending, pending_room;
    int has_space;    /* white space since the last text */
    PyObject *spaces; /* that white space inside preformatted elements */
    PyObject *empty_text, *blank, *text_name, *head_name, *body_name, *hidden, *style;
};

/* parsing_builder.c. Returns -2 with an exception set. */
Py_ssize_t builder_new_id(Builder *b, PyObject *name);
int builder_close(Builder *b); /* closes all open nodes */

/* parsing_attributes.c. -1 with an exception set. */
int builder_mapping_hides(Builder *b, PyObject *attributes); /* 0 or HIDDEN */
int32_t builder_add_set(Builder *b, PyObject *given);    /* a mapping, or None for the last stored pairs */

#endif
