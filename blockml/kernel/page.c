/* What a page holds as a whole: the twins of functions in blockml.features.metadata. */
#include "tree.h"
#include <string.h>

/* Sums over elements, by bits of a table of tags: words in some, then blocks, then elements themselves. */
enum { N_OF_WORDS = 3, N_OF_BLOCKS = 1, N_OF_NODES = 9, N_SUMS = N_OF_WORDS + N_OF_BLOCKS + N_OF_NODES, N_LONGEST = 5 };

/* Writes what is the same of all blocks: amounts of text, what it stands in, elements of some kinds, depth; and what
   the page says about itself. */
int write_about(Page *page, float *rows) {
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n;
    double sums[N_SUMS] = {0}, longest[N_LONGEST] = {0}, linked = 0, top = 0, n_words = tree->n_words;
    int32_t deepest = 0;
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) {
        uint64_t bits = (uint64_t)of_tag(page, SUMS, tree->tag[i]) >> (N_OF_WORDS + N_OF_BLOCKS);
        for (int k = N_OF_WORDS + N_OF_BLOCKS; bits && k < N_SUMS; k++, bits >>= 1) sums[k] += (double)(bits & 1);
        if (tree->depth[i] > deepest) deepest = tree->depth[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) { /* whole numbers: sums are exact in any order */
        double words = tree->amounts[i];
        linked += tree->amounts[n + i];
        uint64_t bits = (uint64_t)of_tag(page, SUMS, tree->tag[wrapped(tree, tree->holder[i])]);
        for (int k = 0; k < N_OF_WORDS + N_OF_BLOCKS; k++, bits >>= 1)
            if (bits & 1) sums[k] += k < N_OF_WORDS ? words : 1;
        int place = N_LONGEST;
        while (place > 0 && longest[place - 1] < words) {
            place--;
            if (place + 1 < N_LONGEST) longest[place + 1] = longest[place];
            longest[place] = words;
        }
    }
    for (int k = 0; k < N_LONGEST; k++) top += longest[k] / n_words;
    const double shares[] = {
        n_words, (double)n, linked / n_words, tree->n_prose / n_words, tree->n_prose, sums[0] / n_words,
        sums[1] / n_words, sums[2] / n_words, sums[3] / (double)n, longest[0] / n_words, top,
    };
    Py_ssize_t n_shares = sizeof shares / sizeof *shares, n_said = PyTuple_Size(page->said);
    for (Py_ssize_t row = 0; row < n_shares + N_OF_NODES + 1 + n_said; row++) {
        Py_ssize_t counted = row - n_shares, said = counted - N_OF_NODES - 1;
        double value = counted < 0             ? shares[row]
                       : counted < N_OF_NODES  ? sums[N_OF_WORDS + N_OF_BLOCKS + counted]
                       : counted == N_OF_NODES ? deepest
                                               : PyFloat_AsDouble(PyTuple_GetItem(page->said, said));
        if (value == -1 && PyErr_Occurred()) return -1;
        for (Py_ssize_t i = 0; i < n; i++) rows[row * n + i] = (float)value;
    }
    return 0;
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
    int is_small = 1; /* as most are */
    for (const char *at = name; *at; at++) is_small &= *at < 'A' || *at > 'Z' ? (unsigned char)*at < 0x80 : 0;
    PyObject *text = PyUnicode_FromString(name), *key = NULL;
    if (text != NULL) key = is_small ? Py_NewRef(text) : PyObject_CallMethod(text, "lower", NULL);
    PyObject *value = key == NULL ? NULL : PyUnicode_FromString(content == NULL ? "" : content);
    int failed = value == NULL;
    if (!failed && PyDict_GetItemWithError(found, key) == NULL)
        failed = PyErr_Occurred() || PyDict_SetItem(found, key, value) < 0;
    Py_XDECREF(text);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* Whether a text is this word in small ASCII letters, whatever its case. */
static int is_named(const char *text, const char *word) {
    for (; *word; text++, word++)
        if ((*text >= 'A' && *text <= 'Z' ? *text + 32 : *text) != *word) return 0;
    return !*text;
}

/* The number of a tag; UNKNOWN if the page has none of this name. */
static int32_t tag_named(const Tree *tree, const char *name) {
    for (Py_ssize_t tag = 0; tag < tree->n_tags; tag++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(tree->names, tag), name) == 0) return (int32_t)tag;
    return UNKNOWN;
}

/* page_metas(tree): contents of meta elements by name or property, and the address of the first canonical link; None
   where attributes of one were given as a mapping. */
PyObject *page_metas(PyObject *module, PyObject *capsule) {
    (void)module;
    const Tree *tree = tree_of(capsule);
    PyObject *found = tree == NULL ? NULL : PyDict_New();
    const char *canonical = NULL;
    if (found == NULL) return NULL;
    const char *pairs = PyBytes_AsString(tree->pairs); /* with a zero byte behind them */
    int32_t meta = tag_named(tree, "meta"), link = tag_named(tree, "link");
    for (Py_ssize_t node = 0; node < tree->n_nodes; node++) {
        int32_t set = tree->set[node];
        int is_meta = tree->tag[node] == meta;
        if (!set || (!is_meta && (tree->tag[node] != link || canonical != NULL))) continue;
        const char *begin = pairs + tree->ends[set - 1], *end = pairs + tree->ends[set];
        if (begin == end) {
            Py_DECREF(found);
            return Py_NewRef(Py_None);
        }
        if (is_meta) {
            if (note_meta(found, begin, end) < 0) {
                Py_DECREF(found);
                return NULL;
            }
            continue;
        }
        const char *rel = value_of(begin, end, "rel");
        if (rel == NULL || !is_named(rel, "canonical")) continue;
        const char *address = value_of(begin, end, "href");
        canonical = address == NULL ? "" : address;
    }
    return Py_BuildValue("Ns", found, canonical == NULL ? "" : canonical);
}
