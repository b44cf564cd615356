/* Texts by their numbers, each once: values of attributes, and lines. */
#ifndef BLOCKML_VALUES_H
#define BLOCKML_VALUES_H

#include "kernel.h"

typedef struct {
    const char *text; /* UTF-8, also of lone surrogates */
    size_t length;
    PyObject *other;  /* the str of a value with other than ASCII characters; NULL for others */
    PyObject *owner;  /* of the text; NULL where a tree has it */
    uint8_t says_groups, says_roles; /* whether it is an attribute's that may */
} Value;

typedef struct {
    Value *items;
    Py_ssize_t n, room;
    int32_t *slots; /* numbers by hash, 0: free */
    size_t mask;
    PyObject *crowded; /* numbers of values, as bytes, that found no slot near theirs; NULL for none */
} Values;

static inline int is_text(const Value *value, const char *text) {
    return value->length == strlen(text) && memcmp(value->text, text, value->length) == 0;
}

/* What returns an int returns -1 with an exception set. `most` values or fewer are to come; the first is the empty one,
   which is always there. */
int make_values(Values *values, Py_ssize_t most);
/* The number of a value, the next one if it has none yet; `owner` keeps the text where it is. */
int32_t number_of_value(Values *values, const char *text, size_t length, PyObject *owner);
int32_t number_of_str(Values *values, PyObject *text);
void free_slots(Values *values); /* no more values will come */
void free_values(Values *values);

#endif
