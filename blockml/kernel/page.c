/* What a page holds as a whole: the twins of functions in blockml.features.metadata. */
#include "tree.h"
#include <string.h>

/* page_sizes(tree, n_tags, words, counts, longest): counts (3, n_tags) of nodes, of words and of blocks in elements, by tag;
   and the longest blocks, falling. Returns the depth of the deepest node. */
PyObject *page_sizes(PyObject *module, PyObject *arguments) {
    enum { WORDS, COUNTS, LONGEST, N };
    PyObject *arrays, *object[N], *result = NULL;
    Py_buffer view[N];
    Py_ssize_t n_tags;
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOOO", &arrays, &n_tags, &object[0], &object[1], &object[2])) return NULL;
    Tree tree = {.opened = 0};
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], 8, opened > WORDS) < 0) goto done;
    if (tree_open(arrays, &tree, n_tags) < 0) goto done;
    const double *words = view[WORDS].buf;
    double *counts = view[COUNTS].buf, *longest = view[LONGEST].buf;
    Py_ssize_t n = tree.n, n_longest = view[LONGEST].len / 8;
    if (view[WORDS].len / 8 != n || view[COUNTS].len / 8 != 3 * n_tags) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or tags differ in length");
        goto done;
    }
    memset(counts, 0, (size_t)view[COUNTS].len);
    memset(longest, 0, (size_t)view[LONGEST].len);
    int32_t deepest = 0;
    for (Py_ssize_t i = 0; i < tree.n_nodes; i++) {
        counts[tree.tag[i]] += 1;
        if (tree.depth[i] > deepest) deepest = tree.depth[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t tag = tree.tag[wrapped(&tree, tree.holder[i])];
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
    tree_close(&tree);
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
