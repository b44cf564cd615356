/* Tags and texts of a page for a builder. Names, attributes and short texts become strings and dicts of Python once for all
   that are written alike: pages repeat them, and to find one again costs less than to make it.

   Each table has one place for all keys that share a hash, which a later one takes from an earlier one. */
#include "tags.h"
#include <stdlib.h>
#include <string.h>

enum { N_NAMES = 128, N_STRINGS = 512, N_ATTRIBUTES = 512, LONGEST = 32, LONGEST_ATTRIBUTES = 256 };

/* Bytes that grow. */
typedef struct {
    char *bytes;
    size_t length, room;
} Buffer;

typedef struct {
    char key[LONGEST];
    size_t length;
    PyObject *text;
    Py_ssize_t id; /* of a tag's name: the builder's number */
} String;

typedef struct {
    size_t begin, length; /* of the key, among all keys */
    PyObject *held;
    int hidden;
} Attributes;

struct Tags {
    Builder *builder;
    int lowered; /* names are */
    Buffer pairs; /* attributes of the next tag: name, 0, value, 0, and so on */
    Buffer keys;  /* the same of tags before */
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
    for (int i = 0; i < N_ATTRIBUTES; i++) Py_XDECREF(t->attributes[i].held);
    free(t->pairs.bytes);
    free(t->keys.bytes);
    free(t);
}

static uint64_t hash_of(const char *bytes, size_t length) {
    uint64_t hash = length, word;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    word = 0;
    for (; i < length; i++) word = word << 8 | (unsigned char)bytes[i];
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash >> 32;
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
    String *string = &table[hash_of(bytes, length) % size];
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

/* Puts bytes at the end; -1 with an exception set. */
static int append(Buffer *buffer, const char *bytes, size_t length) {
    size_t end = buffer->length + length;
    if (end > buffer->room) {
        if (widen((void **)&buffer->bytes, (Py_ssize_t)(2 * end), 1) < 0) return -1;
        buffer->room = 2 * end;
    }
    memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length = end;
    return 0;
}

int tags_attribute(Tags *t, const char *name, const char *value) {
    return append(&t->pairs, name, strlen(name) + 1) < 0 ? -1 : append(&t->pairs, value, strlen(value) + 1);
}

/* Attributes as a new dict; NULL with an exception set. */
static PyObject *dict_of(Tags *t, const Buffer *pairs) {
    PyObject *held = PyDict_New();
    const char *at = pairs->bytes, *end = at + pairs->length;
    while (held != NULL && at < end) {
        size_t length = strlen(at);
        PyObject *name = string_of(t, at, length);
        at += length + 1;
        length = strlen(at);
        PyObject *value = name == NULL ? NULL : string_of(t, at, length);
        at += length + 1;
        if (value == NULL || PyDict_SetItem(held, name, value) < 0) Py_CLEAR(held);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return held;
}

/* The attributes since the last tag, as a new reference, and whether they hide it; NULL with an exception set. */
static PyObject *attributes_of(Tags *t, int *hidden) {
    const Buffer *pairs = &t->pairs;
    *hidden = 0;
    if (!pairs->length) return Py_NewRef(builder_no_attributes(t->builder));
    Attributes *known = NULL;
    if (pairs->length <= LONGEST_ATTRIBUTES) {
        known = &t->attributes[hash_of(pairs->bytes, pairs->length) % N_ATTRIBUTES];
        if (known->held != NULL && known->length == pairs->length &&
            memcmp(t->keys.bytes + known->begin, pairs->bytes, pairs->length) == 0) {
            *hidden = known->hidden;
            return Py_NewRef(known->held);
        }
    }
    PyObject *held = dict_of(t, pairs);
    if (held != NULL && (*hidden = builder_hides(t->builder, held)) < 0) Py_CLEAR(held);
    if (held == NULL || known == NULL) return held;
    size_t begin = t->keys.length;
    if (append(&t->keys, pairs->bytes, pairs->length) < 0) {
        Py_DECREF(held);
        return NULL;
    }
    Py_XDECREF(known->held);
    *known = (Attributes){begin, pairs->length, Py_NewRef(held), *hidden};
    return held;
}

int tags_start(Tags *t, const char *name) {
    String *known = name_of(t, name);
    if (known == NULL) return -1;
    int hidden, failed;
    PyObject *held = attributes_of(t, &hidden);
    t->pairs.length = 0;
    failed = held == NULL || builder_start(t->builder, known->text, &known->id, held, hidden) < 0;
    Py_XDECREF(held);
    return failed ? -1 : 0;
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
