/* Interface through which parsers in C send tags and texts to a builder. */
#ifndef BLOCKML_TAGS_H
#define BLOCKML_TAGS_H

#include "parsing_builder.h"

typedef struct Tags Tags;
/* `lowered`: convert tag names to lower case. */
Tags *tags_new(Builder *builder, int lowered);
void tags_free(Tags *t);

/* Functions that return int return -1 with an exception set. Names, values and texts are UTF-8. */
/* Adds an attribute to the next tag. Name and value contain no zero byte. */
int tags_attribute(Tags *t, const char *name, size_t length, const char *value, size_t value_length);
int tags_start(Tags *t, const char *name, Py_ssize_t *id); /* stores the number of the name in `id` unless NULL */
int tags_start_of(Tags *t, Py_ssize_t id); /* by that number */
int tags_end(Tags *t, const char *name);
int tags_end_of(Tags *t, Py_ssize_t id);
int tags_text(Tags *t, const char *text, Py_ssize_t length);
size_t tags_text_length(const Tags *t);            /* bytes of text since the last tag */
void tags_truncate_text(Tags *t, size_t mark);       /* removes such text after `mark` */
int tags_are_dropped(const Tags *t); /* whether a dropped element is open */

/* Reads n addresses of functions from a tuple. */
int read_addresses(PyObject *addresses, void **function, Py_ssize_t n);

#endif
