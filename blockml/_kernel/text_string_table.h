/* Table of unique strings and their numbers. */
#ifndef BLOCKML_STRING_TABLE_H
#define BLOCKML_STRING_TABLE_H

#include "kernel.h"

typedef struct {
    const char *text; /* UTF-8, with surrogates */
    size_t length;
    PyObject *unicode;                         /* str of a string that is not ASCII, else NULL */
    PyObject *owner;                           /* keeps the text alive; NULL if a tree or copy does */
    char *copy;                                /* own memory of the text; may be NULL */
    uint8_t may_have_keywords, may_have_roles; /* whether it is the value of such an attribute */
} StringEntry;

typedef struct {
    StringEntry *items;
    Py_ssize_t n, room;
    int32_t *slots; /* numbers by hash; 0 for a free slot */
    size_t mask;
    PyObject *overflow; /* numbers by bytes of strings that found no slot; may be NULL */
} StringTable;

static inline int equals_text(const StringEntry *value, const char *text) {
    return value->length == strlen(text) && memcmp(value->text, text, value->length) == 0;
}

/* Makes a table for up to `most` strings; number 0 is the empty string. */
int make_strings(StringTable *values, Py_ssize_t most);
/* Returns the number of a string and adds it if new; `owner` keeps its memory alive. */
int32_t number_of_string(StringTable *values, const char *text, size_t length, PyObject *owner);
int32_t number_of_str(StringTable *values, PyObject *text);
void free_slots(StringTable *values); /* no more strings will be added */
void free_strings(StringTable *values);

#endif
