/* What a parser in C needs to hand tags and texts to a builder. */
#ifndef BLOCKML_TAGS_H
#define BLOCKML_TAGS_H

#include "kernel.h"

typedef struct Tags Tags;
/* NULL with an exception set. Names of tags may be `lowered` by str.lower. */
Tags *tags_new(Builder *builder, int lowered);
void tags_free(Tags *t);

/* What returns an int returns -1 with an exception set. Names, values and texts are UTF-8. */
/* An attribute of the next tag: name and value, without a zero in them, and how long they are. */
int tags_attribute(Tags *t, const char *name, size_t length, const char *value, size_t value_length);
int tags_start(Tags *t, const char *name, Py_ssize_t *id); /* writes the number of the name, if `id` isn't NULL */
int tags_start_of(Tags *t, Py_ssize_t id); /* by that number */
int tags_end(Tags *t, const char *name);
int tags_end_of(Tags *t, Py_ssize_t id);
int tags_text(Tags *t, const char *text, Py_ssize_t length);
size_t tags_text_length(const Tags *t);            /* where the text since the last tag ends */
void tags_truncate_text(Tags *t, size_t mark);       /* takes back what came behind */
int tags_are_dropped(const Tags *t); /* whether what comes now is left out */

/* Addresses of functions, from a tuple of as many; -1 with an exception set. */
int read_addresses(PyObject *addresses, void **function, Py_ssize_t n);

#endif
