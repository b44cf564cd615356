/* What the head of a page's bytes declares: the twin of what blockml.parsing.decoding does in Python. */
#include "kernel.h"

/* Bits of a byte in a table: it is none of text; a format of its own may begin with it. */
enum { NO_TEXT = 1, BEGINS = 2 };

/* Whether this name is here, in any case. */
static int is_here(const char *at, const char *end, const char *name) {
    for (; *name; at++, name++)
        if (at == end || lower_of(*at) != *name) return 0;
    return 1;
}

/* Behind a name that is here and ends here; NULL without it. */
static const char *behind(const char *at, const char *end, const char *name) {
    if (!is_here(at, end, name)) return NULL;
    at += strlen(name);
    return at == end || !is_in_word(*at) ? at : NULL;
}

static const char *find(const char *at, const char *end, char byte) {
    return at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;
}

/* Behind the end of a comment; NULL if it has none. */
static const char *behind_comment(const char *at, const char *end) {
    while ((at = find(at, end, '>')) != NULL && !(at[-1] == '-' && at[-2] == '-')) at++;
    return at == NULL ? NULL : at + 1;
}

/* Behind the name of the end tag of an element; NULL if it has none. */
static const char *behind_end_tag(const char *at, const char *end, const char *name) {
    for (; (at = find(at, end, '<')) != NULL; at++) {
        const char *found = end - at > 2 && at[1] == '/' ? behind(at + 2, end, name) : NULL;
        if (found != NULL) return found;
    }
    return NULL;
}

/* Where what stands in a meta begins, of which this is behind the "<"; NULL if it is none. */
static const char *in_meta(const char *at, const char *end, const char **close) {
    if (!is_here(at, end, "meta") || end - at < 5 || !(is_blank(at[4]) || at[4] == '/')) return NULL;
    for (*close = at += 5; *close < end && **close != '<' && **close != '>';) ++*close;
    return *close < end && **close == '>' ? at : NULL;
}

static int holds(const char *at, const char *end, const char *name) {
    for (; at < end; at++)
        if (is_here(at, end, name)) return 1;
    return 0;
}

/* The first meta that may declare a charset, but for those in comments, scripts and the like; NULL without one. */
static const char *declaring(const char *at, const char *end, const char **close) {
    static const char *const RAW[] = {"script", "style", "title", "textarea"};
    while ((at = find(at, end, '<')) != NULL) {
        const char *meta = in_meta(++at, end, close);
        if (meta != NULL) {
            if (holds(meta, *close, "charset")) return meta;
            at = *close + 1;
        } else if (end - at >= 3 && memcmp(at, "!--", 3) == 0) {
            /* the signs that begin it aren't of its end */
            const char *begin = at + 3;
            for (at = begin; (at = behind_comment(at, end)) != NULL && at - begin < 3;) continue;
            if (at == NULL) return NULL;
        } else {
            const char *behind_name = NULL;
            for (int i = 0; i < 4 && behind_name == NULL; i++)
                if ((behind_name = behind(at, end, RAW[i])) != NULL)
                    if ((at = behind_end_tag(behind_name, end, RAW[i])) == NULL) return NULL;
        }
    }
    return NULL;
}

/* plain_meta(source, table, n_prescan, n_header): what stands in the first meta that may declare a charset, and whether
   it is one of the first `n_prescan` bytes alone; nothing without one. None if the first byte may begin a format or one
   of the first `n_header` is none of text, by a table of bits of 256 bytes. */
PyObject *plain_meta(PyObject *module, PyObject *arguments) {
    PyObject *object;
    const char *source, *table, *close;
    Py_ssize_t length, n_table, n_prescan, n_header;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Sy#nn", &object, &table, &n_table, &n_prescan, &n_header)) return NULL;
    source = PyBytes_AsString(object), length = PyBytes_Size(object);
    if (n_table != 256 || n_prescan < 0 || n_header < 0)
        return PyErr_Format(PyExc_ValueError, "a table of 256 bytes, and numbers of bytes, were expected");
    const unsigned char *bytes = (const unsigned char *)source;
    int met = length ? table[bytes[0]] & BEGINS : 0;
    for (Py_ssize_t i = 0; i < length && i < n_header; i++) met |= table[bytes[i]] & NO_TEXT;
    if (met) return Py_NewRef(Py_None);
    const char *stop = source + (length < n_prescan ? length : n_prescan);
    const char *meta = declaring(source, stop, &close);
    int is_early = meta != NULL;
    if (!is_early && (meta = declaring(source, source + length, &close)) == NULL) meta = close = source;
    return Py_BuildValue("y#O", meta, close - meta, is_early ? Py_True : Py_False);
}
