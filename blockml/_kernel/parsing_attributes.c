/* Attribute sets of elements as blockml.page.attributes.Attributes stores them, and whether they hide an element. */
#include "parsing_builder.h"

/* Tells whether a style of UTF-8, which ends with a zero byte, hides an element: 0 or HIDDEN. */
static int style_value_hides(Builder *b, const char *style) {
    int found = style_hides(style, strlen(style));
    if (found == UNKNOWN) { /* use the regular expression */
        LOCKED(PyObject *match = PyObject_CallMethod(b->hides, "search", "s", style);
               found = match == NULL ? -1 : match != Py_None;
               Py_XDECREF(match));
    }
    return found > 0 ? HIDDEN : found;
}

/* Tells whether a value of a mapping, None if it is missing, conceals an element: 0 or CONCEALED. */
static int value_conceals(PyObject *value, int (*conceals)(const char *)) {
    if (value == Py_None) return 0;
    PyObject *bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogatepass");
    int found = bytes == NULL ? -1 : conceals(PyBytes_AsString(bytes)) ? CONCEALED : 0;
    Py_XDECREF(bytes);
    return found;
}

/* Returns the flags of elements with a mapping of attributes: HIDDEN and CONCEALED, if they hide an element. */
int builder_mapping_hides(Builder *b, PyObject *attributes) {
    PyObject *hidden = PyUnicode_FromString("hidden"), *style = NULL, *class = NULL, *match = NULL;
    int held = hidden == NULL ? -1 : PySequence_Contains(attributes, hidden);
    Py_XDECREF(hidden);
    if (held < 0 || (style = PyObject_CallMethod(attributes, "get", "s", "style")) == NULL ||
        (class = PyObject_CallMethod(attributes, "get", "s", "class")) == NULL)
        goto failed;
    if (!held && style != Py_None) {
        if ((match = PyObject_CallMethod(b->hides, "search", "O", style)) == NULL) goto failed;
        held = match != Py_None;
    }
    int of_style = value_conceals(style, style_conceals), of_class = value_conceals(class, class_conceals);
    held = of_style < 0 || of_class < 0 ? -1 : (held ? HIDDEN : 0) | of_style | of_class;
    goto done;
failed:
    held = -1;
done:
    Py_XDECREF(style);
    Py_XDECREF(class);
    Py_XDECREF(match);
    return held;
}

/* Adds an attribute set, a mapping or the last stored pairs, and returns its number. */
int32_t builder_add_set(Builder *b, PyObject *given) {
    if (b->n_sets >= b->set_room) {
        Py_ssize_t room = b->set_room ? 2 * b->set_room : 256;
        if (widen((void **)&b->set_end, room, sizeof(int64_t)) < 0) return -1;
        b->set_room = room;
    }
    if (given != NULL && (list_of_given(b) == NULL || PyList_Append(b->given, given) < 0)) return -1;
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
    if (length == 5 && memcmp(name, "class", 5) == 0) b->pending_class = at;
    return 0;
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

/* Pages repeat most sets, which are stored once as long as the cache holds them. */
int32_t builder_pending_set(Builder *b, int *hidden) {
    const char *pairs = b->pairs + b->pairs_length;
    size_t length = b->n_pending_bytes, style = b->pending_style, class = b->pending_class;
    int hides = b->pending_hides;
    StoredSet *known = &b->stored[hash_of_pairs(pairs, length) % N_STORED_SETS];
    b->n_pending_bytes = b->pending_style = b->pending_class = 0, b->pending_hides = 0;
    if (known->set) {
        int64_t begin = b->set_end[known->set - 1], end = b->set_end[known->set];
        if ((size_t)(end - begin) == length && memcmp(b->pairs + begin, pairs, length) == 0) {
            *hidden = known->hidden;
            return known->set;
        }
    }
    *hidden = hides ? HIDDEN : style ? style_value_hides(b, b->pairs + style) : 0;
    if (*hidden < 0) return -1;
    if ((style && style_conceals(b->pairs + style)) || (class && class_conceals(b->pairs + class))) *hidden |= CONCEALED;
    b->pairs_length += length;
    int32_t set = builder_add_set(b, NULL);
    if (set > 0) *known = (StoredSet){set, *hidden};
    return set;
}
