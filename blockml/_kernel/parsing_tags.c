/* Sends the tags of a page to a builder, with caches of names and attribute sets, because pages repeat them.

   Caches are direct-mapped: a new key replaces an earlier one with the same hash. */
#include "parsing_tags.h"

enum { N_NAMES = 128, N_ATTRIBUTES = 512 };

typedef struct {
    uint64_t key; /* its bytes: most names have at most eight */
    PyObject *text;
    Py_ssize_t id; /* number in the builder */
} Name;

typedef struct {
    int32_t set; /* 0 for none */
    int hidden;
} Attributes;

struct Tags {
    Builder *builder;
    int lowered; /* whether names are converted to lower case */
    Name long_name; /* the last name that was too long for a key */
    Name names[N_NAMES];
    Attributes attributes[N_ATTRIBUTES];
};

Tags *tags_new(Builder *builder, int lowered) {
    Tags *t = calloc(1, sizeof(Tags));
    if (t == NULL) return (void *)PyErr_NoMemory();
    t->builder = builder, t->lowered = lowered;
    return t;
}

void tags_free(Tags *t) {
    Py_XDECREF(t->long_name.text);
    for (int i = 0; i < N_NAMES; i++) Py_XDECREF(t->names[i].text);
    free(t);
}

/* Returns a name in lower case; most are ASCII and need no call to Python. */
static PyObject *lowered(const char *bytes) {
    char lower[64];
    for (Py_ssize_t i = 0; i < (Py_ssize_t)sizeof lower && (unsigned char)bytes[i] < 0x80; i++) {
        if (!bytes[i]) return PyUnicode_FromStringAndSize(lower, i);
        lower[i] = lower_of(bytes[i]);
    }
    PyObject *text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), NULL);
    PyObject *lower_text = text == NULL ? NULL : PyObject_CallMethod(text, "lower", NULL);
    Py_XDECREF(text);
    return lower_text;
}

/* Stores a new name in a cache entry. */
static Name *make_name(Tags *t, Name *name, uint64_t key, const char *bytes) {
    PyObject *text = t->lowered ? lowered(bytes) : PyUnicode_FromString(bytes);
    if (text == NULL) return NULL;
    Py_XDECREF(name->text);
    name->key = key, name->text = text, name->id = UNKNOWN;
    return name;
}

/* Returns the cached name of a tag. */
static Name *name_of(Tags *t, const char *bytes) {
    uint64_t key = 0;
    int length = 0;
    while (length < 8 && bytes[length]) key = key << 8 | (unsigned char)bytes[length++];
    if (bytes[length]) return make_name(t, &t->long_name, 0, bytes);
    Name *name = &t->names[(key * 0x9e3779b97f4a7c15u >> 32) % N_NAMES];
    return name->text != NULL && name->key == key ? name : make_name(t, name, key, bytes);
}

int tags_are_dropped(const Tags *t) { return builder_is_dropping(t->builder); }

int tags_attribute(Tags *t, const char *name, size_t length, const char *value, size_t value_length) {
    return builder_attribute(t->builder, name, length, value, value_length);
}

/* Hash of attributes: two independent sums, which run in parallel. */
static uint64_t hash_of_pairs(const char *pairs, size_t length) {
    uint64_t one = length, other = 0, word[2];
    if (length < 16) return hash_of_bytes(pairs, length);
    for (size_t i = 0; i + 16 < length; i += 16) {
        memcpy(word, pairs + i, 16);
        one = (one ^ word[0]) * 0x9e3779b97f4a7c15u;
        other = (other ^ word[1]) * 0x9e3779b97f4a7c15u;
        one ^= one >> 32, other ^= other >> 32;
    }
    memcpy(word, pairs + length - 16, 16);
    one = (one ^ word[0]) * 0x9e3779b97f4a7c15u + (other ^ word[1]);
    return one * 0x9e3779b97f4a7c15u >> 32;
}

/* Returns the number of the pending attribute set, 0 for none, and whether it hides the element. */
static int32_t set_of(Tags *t, int *hidden) {
    size_t length, its_length;
    const char *pairs = builder_pending_attributes(t->builder, &length);
    if (!length) return 0;
    Attributes *known = &t->attributes[hash_of_pairs(pairs, length) % N_ATTRIBUTES];
    if (known->set) {
        const char *its = builder_pairs(t->builder, known->set, &its_length);
        if (its_length == length && memcmp(its, pairs, length) == 0) {
            builder_clear_attributes(t->builder);
            *hidden = known->hidden;
            return known->set;
        }
    }
    int32_t set = builder_store_attributes(t->builder, hidden);
    if (set > 0) *known = (Attributes){set, *hidden};
    return set;
}

static int start(Tags *t, PyObject *name, Py_ssize_t *id) {
    int hidden = 0;
    int32_t set = set_of(t, &hidden);
    return set < 0 ? -1 : builder_start(t->builder, name, id, set, hidden);
}

int tags_start(Tags *t, const char *name, Py_ssize_t *id) {
    Name *known = name_of(t, name);
    if (known == NULL || start(t, known->text, &known->id) < 0) return -1;
    if (id != NULL) *id = known->id;
    return 0;
}

int tags_start_of(Tags *t, Py_ssize_t id) { return start(t, NULL, &id); }

int tags_end(Tags *t, const char *name) {
    Name *known = name_of(t, name);
    return known == NULL ? -1 : builder_end(t->builder, known->text, known->id);
}

int tags_end_of(Tags *t, Py_ssize_t id) { return builder_end(t->builder, NULL, id); }

int tags_text(Tags *t, const char *text, Py_ssize_t length) {
    return length > 0 ? builder_text(t->builder, text, (size_t)length) : 0;
}

size_t tags_text_length(const Tags *t) { return builder_text_length(t->builder); }

void tags_truncate_text(Tags *t, size_t mark) { builder_truncate_text(t->builder, mark); }

int read_addresses(PyObject *addresses, void **function, Py_ssize_t n) {
    if (!PyTuple_Check(addresses) || PyTuple_Size(addresses) != n) {
        PyErr_Format(PyExc_TypeError, "expected a tuple of %zd addresses", n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        function[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
        if (function[i] != NULL) continue;
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the address of a function is 0");
        return -1;
    }
    return 0;
}
