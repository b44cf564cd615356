/* Tags and texts of a page for a builder. Names, short texts and sets of attributes are made once for all that are
   written alike: pages repeat them, and to find one again costs less than to make it.

   Each table has one place for all keys that share a hash, which a later one takes from an earlier one. */
#include "tags.h"
#include <stdlib.h>
#include <string.h>

enum { N_NAMES = 128, N_STRINGS = 512, N_ATTRIBUTES = 512, LONGEST = 32 };


typedef struct {
    char key[LONGEST];
    size_t length;
    PyObject *text;
    Py_ssize_t id; /* of a tag's name: the builder's number */
} String;

typedef struct {
    int32_t set; /* 0 for none */
    int hidden;
} Attributes;

struct Tags {
    Builder *builder;
    int lowered; /* names are */
    char *pairs; /* attributes of the next tag: name, 0, value, 0, and so on */
    size_t length, room;
    String long_name; /* the last one that was too long for a key */
    String names[N_NAMES], strings[N_STRINGS];
    Attributes attributes[N_ATTRIBUTES];
};

Tags *tags_new(Builder *builder, int lowered) {
    Tags *t = calloc(1, sizeof(Tags));
    if (t == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    t->builder = builder, t->lowered = lowered;
    return t;
}

void tags_free(Tags *t) {
    Py_XDECREF(t->long_name.text);
    for (int i = 0; i < N_NAMES; i++) Py_XDECREF(t->names[i].text);
    for (int i = 0; i < N_STRINGS; i++) Py_XDECREF(t->strings[i].text);
    free(t->pairs);
    free(t);
}

/* As a new reference; NULL with an exception set. */
static PyObject *decoded(const char *bytes, size_t length, int lowered) {
    PyObject *text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)length, NULL);
    if (text == NULL || !lowered) return text;
    PyObject *lower = PyObject_CallMethod(text, "lower", NULL);
    Py_DECREF(text);
    return lower;
}

/* The place of a string in a table, with its text; NULL with an exception set. Takes no string longer than LONGEST. */
static String *string_in(String *table, size_t size, const char *bytes, size_t length, int lowered) {
    String *string = &table[hash_of_bytes(bytes, length) % size];
    if (string->text != NULL && string->length == length && memcmp(string->key, bytes, length) == 0) return string;
    PyObject *text = decoded(bytes, length, lowered);
    if (text == NULL) return NULL;
    Py_XDECREF(string->text);
    memcpy(string->key, bytes, length);
    string->length = length, string->text = text, string->id = UNKNOWN;
    return string;
}

/* As a new reference; NULL with an exception set. */
static PyObject *string_of(Tags *t, const char *bytes, size_t length) {
    if (length > LONGEST) return decoded(bytes, length, 0);
    String *string = string_in(t->strings, N_STRINGS, bytes, length, 0);
    return string == NULL ? NULL : Py_NewRef(string->text);
}

/* A tag's name; NULL with an exception set. */
static String *name_of(Tags *t, const char *bytes) {
    size_t length = strlen(bytes);
    if (length <= LONGEST) return string_in(t->names, N_NAMES, bytes, length, t->lowered);
    Py_XDECREF(t->long_name.text);
    t->long_name.text = decoded(bytes, length, t->lowered), t->long_name.id = UNKNOWN;
    return t->long_name.text == NULL ? NULL : &t->long_name;
}

int tags_drops(const Tags *t) { return builder_drops(t->builder); }

int tags_attribute(Tags *t, const char *name, const char *value) {
    size_t length = strlen(name) + 1, value_length = strlen(value) + 1, end = t->length + length + value_length;
    if (end > t->room) {
        if (widen((void **)&t->pairs, (Py_ssize_t)(2 * end), 1) < 0) return -1;
        t->room = 2 * end;
    }
    memcpy(t->pairs + t->length, name, length);
    memcpy(t->pairs + t->length + length, value, value_length);
    t->length = end;
    return 0;
}

/* The number of the attributes since the last tag, and whether they hide it; -1 with an exception set. */
static int32_t set_of(Tags *t, int *hidden) {
    Attributes *known = &t->attributes[hash_of_bytes(t->pairs, t->length) % N_ATTRIBUTES];
    if (known->set) {
        size_t length;
        const char *pairs = builder_pairs(t->builder, known->set, &length);
        if (length == t->length && memcmp(pairs, t->pairs, length) == 0) {
            *hidden = known->hidden;
            return known->set;
        }
    }
    int32_t set = builder_new_set(t->builder, t->pairs, t->length);
    if (set < 0 || (*hidden = builder_hides(t->builder, set)) < 0) return -1;
    *known = (Attributes){set, *hidden};
    return set;
}

int tags_start(Tags *t, const char *name) {
    int hidden = 0;
    String *known = name_of(t, name);
    if (known == NULL) return -1;
    int32_t set = t->length ? set_of(t, &hidden) : 0;
    t->length = 0;
    return set < 0 ? -1 : builder_start(t->builder, known->text, &known->id, set, hidden);
}

int tags_end(Tags *t, const char *name) {
    String *known = name_of(t, name);
    return known == NULL ? -1 : builder_end(t->builder, known->text, known->id);
}

int tags_text(Tags *t, const char *text, Py_ssize_t length) {
    if (length <= 0 || tags_drops(t)) return 0;
    PyObject *held = string_of(t, text, (size_t)length);
    if (held == NULL) return -1;
    int failed = builder_data(t->builder, held, ascii_kind(text, length));
    Py_DECREF(held);
    return failed;
}

int read_addresses(PyObject *addresses, void **function, Py_ssize_t n) {
    if (!PyTuple_Check(addresses) || PyTuple_Size(addresses) != n) {
        PyErr_Format(PyExc_TypeError, "a tuple of %zd addresses is needed", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        function[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
        if (function[i] != NULL) continue;
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a function has no address");
        return -1;
    }
    return 0;
}
