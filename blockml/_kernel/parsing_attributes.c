/* Attribute sets of elements as blockml.page.attributes.Attributes stores them, and whether they hide an element. */
#include "parsing_builder.h"

/* Tells whether a style hides an element: 0 or HIDDEN. */
static int style_value_hides(Builder *b, PyObject *style) {
    int found = style_hides(style);
    if (found < 0 && !PyErr_Occurred()) { /* use the regular expression */
        PyObject *match = PyObject_CallMethod(b->hides, "search", "O", style);
        found = match == NULL ? -1 : match != Py_None;
        Py_XDECREF(match);
    }
    return found > 0 ? HIDDEN : found;
}

/* Tells whether a mapping of attributes hides an element: 0 or HIDDEN. */
int builder_mapping_hides(Builder *b, PyObject *attributes) {
    int held = PySequence_Contains(attributes, b->hidden);
    if (held) return held < 0 ? -1 : HIDDEN;
    if ((held = PySequence_Contains(attributes, b->style)) <= 0) return held;
    PyObject *style = PyObject_GetItem(attributes, b->style);
    if (style == NULL) return -1;
    int found = style_value_hides(b, style);
    Py_DECREF(style);
    return found;
}

/* Adds an attribute set, a mapping or the last stored pairs, and returns its number. */
int32_t builder_add_set(Builder *b, PyObject *given) {
    if (b->n_sets >= b->set_room) {
        Py_ssize_t room = b->set_room ? 2 * b->set_room : 256;
        if (widen((void **)&b->set_end, room, sizeof(int64_t)) < 0) return -1;
        b->set_room = room;
    }
    if (PyList_Append(b->given, given) < 0) return -1;
    b->set_end[b->n_sets] = (int64_t)b->pairs_length;
    return (int32_t)b->n_sets++; /* there are no more sets than nodes */
}

int builder_attribute(Builder *b, const char *name, size_t length, const char *value, size_t value_length) {
    size_t begin = b->pairs_length + b->n_pending_bytes, at = begin + length + 1, end = at + value_length + 1;
    if (end > b->pairs_room) {
        if (widen((void **)&b->pairs, (Py_ssize_t)(2 * end), 1) < 0) return -1;
        b->pairs_room = 2 * end;
    }
    memcpy(b->pairs + begin, name, length);
    if (value_length) memcpy(b->pairs + at, value, value_length);
    b->pairs[at - 1] = b->pairs[end - 1] = 0;
    b->n_pending_bytes = end - b->pairs_length;
    if (length == 6 && memcmp(name, "hidden", 6) == 0) b->pending_hides = 1;
    if (length == 5 && memcmp(name, "style", 5) == 0) b->pending_style = at; /* the last one counts */
    return 0;
}

const char *builder_pending_attributes(const Builder *b, size_t *length) {
    *length = b->n_pending_bytes;
    return b->pairs + b->pairs_length;
}

void builder_clear_attributes(Builder *b) { b->n_pending_bytes = b->pending_style = 0, b->pending_hides = 0; }

int32_t builder_store_attributes(Builder *b, int *hidden) {
    *hidden = b->pending_hides ? HIDDEN : 0;
    if (!b->pending_hides && b->pending_style) {
        PyObject *style = PyUnicode_FromString(b->pairs + b->pending_style);
        *hidden = style == NULL ? -1 : style_value_hides(b, style);
        Py_XDECREF(style);
        if (*hidden < 0) return -1;
    }
    b->pairs_length += b->n_pending_bytes;
    builder_clear_attributes(b);
    return builder_add_set(b, Py_None);
}

const char *builder_pairs(const Builder *b, int32_t set, size_t *length) {
    int64_t begin = set ? b->set_end[set - 1] : 0;
    *length = (size_t)(b->set_end[set] - begin);
    return b->pairs + begin;
}
