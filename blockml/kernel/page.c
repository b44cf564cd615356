/* What a page holds as a whole: the twins of functions in blockml.features.metadata. */
#include "tree.h"
#include <string.h>

/* page_sizes(tree, words, counts, longest): counts (3, n_tags) of nodes, of words and of blocks in elements, by tag;
   and the longest blocks, falling. Returns the depth of the deepest node. */
PyObject *page_sizes(PyObject *module, PyObject *arguments) {
    enum { WORDS, COUNTS, LONGEST, N };
    PyObject *capsule, *object[N], *result = NULL;
    Py_buffer view[N];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &capsule, &object[0], &object[1], &object[2])) return NULL;
    const Tree *tree = NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], 8, opened > WORDS) < 0) goto done;
    if ((tree = tree_of(capsule)) == NULL) goto done;
    const double *words = view[WORDS].buf;
    double *counts = view[COUNTS].buf, *longest = view[LONGEST].buf;
    Py_ssize_t n = tree->n, n_tags = tree->n_tags, n_longest = view[LONGEST].len / 8;
    if (view[WORDS].len / 8 != n || view[COUNTS].len / 8 != 3 * n_tags) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or tags differ in length");
        goto done;
    }
    memset(counts, 0, (size_t)view[COUNTS].len);
    memset(longest, 0, (size_t)view[LONGEST].len);
    int32_t deepest = 0;
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) {
        counts[tree->tag[i]] += 1;
        if (tree->depth[i] > deepest) deepest = tree->depth[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t tag = tree->tag[wrapped(tree, tree->holder[i])];
        counts[n_tags + tag] += words[i];
        counts[2 * n_tags + tag] += 1;
        Py_ssize_t place = n_longest;
        while (place > 0 && longest[place - 1] < words[i]) {
            place--;
            if (place + 1 < n_longest) longest[place + 1] = longest[place];
            longest[place] = words[i];
        }
    }
    result = PyLong_FromLong(deepest);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

static int is_blank(char c) { return c == ' ' || (c >= 9 && c <= 13); }

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

static int is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The name behind `@type` at `sign`; its length, or 0 for none. */
static Py_ssize_t type_at(const char *begin, const char *sign, const char *end, const char **name) {
    if (sign == begin || sign[-1] != '"' || end - sign < 6 || memcmp(sign, "@type\"", 6) != 0) return 0;
    const char *at = skip_blanks(sign + 6, end);
    if (at == end || *at++ != ':') return 0;
    at = skip_blanks(at, end);
    if (at < end && *at == '[') at = skip_blanks(at + 1, end);
    if (at == end || *at++ != '"') return 0;
    *name = at;
    while (at < end && is_word(*at)) at++;
    return at < end && *at == '"' ? at - *name : 0;
}

/* schema_types(source): names of schema.org types in a page's bytes. */
PyObject *schema_types(PyObject *module, PyObject *source) {
    char *begin;
    Py_ssize_t length;
    (void)module;
    if (PyBytes_AsStringAndSize(source, &begin, &length) < 0) return NULL;
    PyObject *found = PyList_New(0);
    const char *at = begin, *end = begin + length, *name;
    while (found != NULL && at < end && (at = memchr(at, '@', (size_t)(end - at))) != NULL) {
        Py_ssize_t n = type_at(begin, at, end, &name);
        if (n) {
            PyObject *text = PyUnicode_DecodeASCII(name, n, NULL);
            if (text == NULL || PyList_Append(found, text) < 0) Py_CLEAR(found);
            Py_XDECREF(text);
            at = name + n + 1; /* the quote behind it begins nothing */
        }
        at++;
    }
    return found;
}

/* The value of a name among pairs, each with a zero byte behind it; NULL without it. Of several the last counts. */
static const char *value_of(const char *pairs, const char *end, const char *name) {
    const char *found = NULL;
    for (const char *at = pairs; at < end;) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0) found = value;
        at = value < end ? value + strlen(value) + 1 : end;
    }
    return found;
}

/* Notes the content of a meta element by its lower-case property or name, unless there is one already. -1 with an
   exception set. */
static int note_meta(PyObject *found, const char *pairs, const char *end) {
    const char *name = value_of(pairs, end, "property"), *content = value_of(pairs, end, "content");
    if (name == NULL || !*name) name = value_of(pairs, end, "name");
    if (name == NULL || !*name) return 0;
    PyObject *text = PyUnicode_FromString(name), *key = text == NULL ? NULL : PyObject_CallMethod(text, "lower", NULL);
    PyObject *value = key == NULL ? NULL : PyUnicode_FromString(content == NULL ? "" : content);
    int failed = value == NULL;
    if (!failed && PyDict_GetItemWithError(found, key) == NULL)
        failed = PyErr_Occurred() || PyDict_SetItem(found, key, value) < 0;
    Py_XDECREF(text);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* meta_contents(number, pairs, ends, nodes): contents of the meta elements among nodes by name or property; attributes are as
   Attributes holds them. None where one was given as a mapping. */
PyObject *meta_contents(PyObject *module, PyObject *arguments) {
    enum { NUMBER, ENDS, NODES, N };
    PyObject *object[N], *bytes, *found = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 8};
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!OO", &object[NUMBER], &PyBytes_Type, &bytes, &object[ENDS], &object[NODES]))
        return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    const char *pairs = PyBytes_AsString(bytes); /* with a zero byte behind them */
    const int32_t *number = view[NUMBER].buf;
    const int64_t *ends = view[ENDS].buf, *nodes = view[NODES].buf;
    Py_ssize_t n = view[NUMBER].len / 4, n_sets = view[ENDS].len / 8, length = PyBytes_Size(bytes);
    found = PyDict_New();
    for (Py_ssize_t i = 0; found != NULL && i < view[NODES].len / 8; i++) {
        int64_t node = nodes[i], set = node < 0 || node >= n ? -1 : number[node];
        int sound = set >= 0 && set < n_sets;
        if (sound && set) {
            int64_t begin = ends[set - 1], end = ends[set];
            sound = begin >= 0 && begin <= end && end <= length && (begin == end || !pairs[end - 1]);
            if (sound && begin == end) {
                Py_DECREF(found);
                found = Py_NewRef(Py_None);
                break;
            }
            if (sound && note_meta(found, pairs + begin, pairs + end) < 0) Py_CLEAR(found);
        }
        if (!sound) {
            PyErr_SetString(PyExc_IndexError, "no such node or set");
            Py_CLEAR(found);
        }
    }
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return found;
}
