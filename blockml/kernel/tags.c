/* Tags and texts of a page for a builder. Names, short texts and sets of attributes are made once for all that are
   written alike: pages repeat them, and to find one again costs less than to make it.

   Each table has one place for all keys that share a hash, which a later one takes from an earlier one. */
#include "tags.h"
#include <stdlib.h>
#include <string.h>

enum { N_NAMES = 128, N_STRINGS = 512, N_ATTRIBUTES = 512, LONGEST = 32 };

typedef struct {
    uint64_t key; /* its bytes: most names have no more than eight */
    PyObject *text;
    Py_ssize_t id; /* the builder's number */
} Name;

typedef struct {
    char key[LONGEST];
    size_t length;
    PyObject *text;
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
    Name long_name; /* the last one that was too long for a key */
    Name names[N_NAMES];
    uint32_t hashes[N_STRINGS]; /* of the strings, which are looked at only where it is the same */
    String strings[N_STRINGS];
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

/* As a new reference; NULL with an exception set. */
static PyObject *string_of(Tags *t, const char *bytes, size_t length) {
    if (length > LONGEST) return decoded(bytes, length, 0);
    uint64_t hash = hash_of_bytes(bytes, length);
    uint32_t *its_hash = &t->hashes[hash % N_STRINGS];
    String *string = &t->strings[hash % N_STRINGS];
    if (*its_hash == (uint32_t)hash && string->text != NULL && string->length == length &&
        memcmp(string->key, bytes, length) == 0)
        return Py_NewRef(string->text);
    PyObject *text = decoded(bytes, length, 0);
    if (text == NULL) return NULL;
    Py_XDECREF(string->text);
    memcpy(string->key, bytes, length);
    *its_hash = (uint32_t)hash, string->length = length, string->text = text;
    return Py_NewRef(text);
}

/* Makes a name's text; NULL with an exception set. */
static Name *name_made(Tags *t, Name *name, uint64_t key, const char *bytes) {
    PyObject *text = decoded(bytes, strlen(bytes), t->lowered);
    if (text == NULL) return NULL;
    Py_XDECREF(name->text);
    name->key = key, name->text = text, name->id = UNKNOWN;
    return name;
}

/* A tag's name; NULL with an exception set. */
static Name *name_of(Tags *t, const char *bytes) {
    uint64_t key = 0;
    int length = 0;
    while (length < 8 && bytes[length]) key = key << 8 | (unsigned char)bytes[length++];
    if (bytes[length]) return name_made(t, &t->long_name, 0, bytes);
    Name *name = &t->names[(key * 0x9e3779b97f4a7c15u >> 32) % N_NAMES];
    return name->text != NULL && name->key == key ? name : name_made(t, name, key, bytes);
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
    Name *known = name_of(t, name);
    if (known == NULL) return -1;
    int32_t set = t->length ? set_of(t, &hidden) : 0;
    t->length = 0;
    return set < 0 ? -1 : builder_start(t->builder, known->text, &known->id, set, hidden);
}

int tags_end(Tags *t, const char *name) {
    Name *known = name_of(t, name);
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
