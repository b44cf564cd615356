/* Texts by their numbers, each once: values of attributes, and lines. */
#ifndef BLOCKML_VALUES_H
#define BLOCKML_VALUES_H

#include "kernel.h"

typedef struct {
    const char *text; /* UTF-8, also of lone surrogates */
    size_t length;
    PyObject *unicode;  /* the str of a value with other than ASCII characters; NULL for others */
    PyObject *owner;  /* of the text; NULL where a tree has it */
    uint8_t may_have_keywords, may_have_roles; /* whether it is an attribute's that may */
} StringEntry;

typedef struct {
    StringEntry *items;
    Py_ssize_t n, room;
    int32_t *slots; /* numbers by hash, 0: free */
    size_t mask;
    PyObject *overflow; /* numbers of values, as bytes, that found no slot near theirs; NULL for none */
} StringTable;

static inline int equals_text(const StringEntry *value, const char *text) {
    return value->length == strlen(text) && memcmp(value->text, text, value->length) == 0;
}

/* What returns an int returns -1 with an exception set. `most` values or fewer are to come; the first is the empty one,
   which is always there. */
int make_strings(StringTable *values, Py_ssize_t most);
/* The number of a value, the next one if it has none yet; `owner` keeps the text where it is. */
int32_t number_of_string(StringTable *values, const char *text, size_t length, PyObject *owner);
int32_t number_of_str(StringTable *values, PyObject *text);
void free_slots(StringTable *values); /* no more values will come */
void free_strings(StringTable *values);

#endif
