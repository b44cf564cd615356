/* Rules of style sheets that may hide elements; reference: blockml.parsing.style_rules. */
#include "kernel.h"

#define BLANKS " \t\n\r\f\v"

const char *after_word(const char *at, const char *word) {
    while (*word && lower_of(*at) == *word) at++, word++;
    return *word ? NULL : at;
}

/* Returns the value of a property whose name is at `at`, or NULL. */
static const char *value_of(const char *at, const char *property) {
    if ((at = after_word(at, property)) == NULL) return NULL;
    at += strspn(at, BLANKS);
    return *at == ':' ? at + 1 + strspn(at + 1, BLANKS) : NULL;
}

int is_zero(const char *at, const char *property) {
    const char *value = value_of(at, property);
    return value != NULL && (*value == '0' || *value == '.');
}

static int may_hide_at(const char *at) {
    const char *value;
    switch (lower_of(*at)) {
    case 'd': return (value = value_of(at, "display")) != NULL && after_word(value, "none") != NULL;
    case 'v':
        value = value_of(at, "visibility");
        return value != NULL && (after_word(value, "hidden") != NULL || after_word(value, "collapse") != NULL);
    case 'o': return is_zero(at, "opacity");
    case 'f': return is_zero(at, "font-size");
    case 'c': return after_word(at, "clip") != NULL;
    case ':': value = at + 1 + strspn(at + 1, BLANKS); return *value == '-' && strspn(value + 1, "0123456789") >= 3;
    default: return 0;
    }
}

static int is_of_name(char c) {
    return (c >= '0' && c <= '9') || (lower_of(c) >= 'a' && lower_of(c) <= 'z') || (c && strchr("_.#-", c)) || (c & 0x80);
}

/* Tells whether one of the selectors between two places has no blanks, combinators and other signs. */
static int has_simple(const char *at, const char *end) {
    while (at < end) {
        const char *stop = memchr(at, ',', (size_t)(end - at)), *last = stop = stop == NULL ? end : stop;
        while (at < last && strchr(BLANKS, *at) && *at) at++;
        while (at < last && strchr(BLANKS, last[-1]) && last[-1]) last--;
        const char *name = at;
        while (name < last && is_of_name(*name)) name++;
        if (at < last && name == last) return 1;
        at = stop + 1;
    }
    return 0;
}

static int add_rule(PyObject *list, Py_ssize_t first, Py_ssize_t brace, Py_ssize_t end, Py_ssize_t outer) {
    PyObject *rule = Py_BuildValue("(nnnn)", first, brace, end, outer);
    int failed = rule == NULL || PyList_Append(list, rule) < 0;
    Py_XDECREF(rule);
    return failed ? -1 : 0;
}

/* hiding_rules(css): a list of tuples for the rules with a simple selector that may hide elements, at the top level or
   directly in another rule: where its selectors, its opening brace, the end of its declarations and the rule around it
   (or -1) are. */
PyObject *hiding_rules(PyObject *module, PyObject *css) {
    char *text;
    Py_ssize_t n, first = 0, depth = 0, outer = -1;
    (void)module;
    if (PyBytes_AsStringAndSize(css, &text, &n) < 0) return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t at = 0; found != NULL && at < n; at++) {
        if (text[at] == ';') first = at + 1;
        if (text[at] == '}') depth -= depth > 0, first = at + 1;
        if (text[at] != '{') continue;
        if (depth < 2 && has_simple(text + first, text + at)) {
            Py_ssize_t end = at + 1;
            int may_hide = 0;
            for (; end < n && text[end] != '{' && text[end] != '}'; end++) may_hide = may_hide || may_hide_at(text + end);
            if (may_hide && add_rule(found, first, at, end, depth ? outer : -1) < 0) Py_CLEAR(found);
        }
        if (!depth++) outer = first;
        first = at + 1;
    }
    return found;
}

/* style_tags(utf8): a list of the places of "<style" in any case. */
PyObject *style_tags(PyObject *module, PyObject *utf8) {
    char *text;
    Py_ssize_t n;
    (void)module;
    if (PyBytes_AsStringAndSize(utf8, &text, &n) < 0) return NULL;
    PyObject *found = PyList_New(0);
    const char *at = text;
    for (; found != NULL && (at = memchr(at, '<', (size_t)(text + n - at))) != NULL; at++) {
        if (lower_of(at[1]) != 's' || after_word(at, "<style") == NULL) continue;
        PyObject *place = PyLong_FromSsize_t(at - text);
        if (place == NULL || PyList_Append(found, place) < 0) Py_CLEAR(found);
        Py_XDECREF(place);
    }
    return found;
}
