/* The title of a page: the twin of what blockml.parsing does in Python. */
#include "kernel.h"

typedef struct {
    PyObject *names, *texts;
    const int32_t *tag, *parent, *end;
    Py_ssize_t n;
} Titles;

int32_t tag_named(PyObject *names, const char *name) {
    for (Py_ssize_t tag = 0; tag < PyTuple_Size(names); tag++) {
        PyObject *held = PyTuple_GetItem(names, tag);
        if (PyUnicode_Check(held) && PyUnicode_CompareWithASCIIString(held, name) == 0) return (int32_t)tag;
    }
    return UNKNOWN;
}

/* Whether an ancestor of a node has this tag; -1 with an exception set. */
static int is_inside(const Titles *t, Py_ssize_t node, int32_t tag) {
    for (int32_t above; (above = t->parent[node]) >= 0; node = above) {
        if (above >= node) {
            PyErr_Format(PyExc_ValueError, "node %zd is no node of a tree in document order", node);
            return -1;
        }
        if (t->tag[above] == tag) return 1;
    }
    return 0;
}

/* Whether a text from one node to another holds markup; -1 with an exception set. */
static int holds_markup(const Titles *t, Py_ssize_t from, Py_ssize_t to) {
    Py_ssize_t found = -1;
    for (; from < to && found == -1; from++) {
        PyObject *text = PyList_GetItem(t->texts, from);
        if (text == NULL) return -1;
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "a text is no str");
            return -1;
        }
        found = PyUnicode_FindChar(text, '<', 0, PyUnicode_GetLength(text), 1);
    }
    return found == -2 ? -1 : found >= 0;
}

/* Looks for titles: the first one outside of drawings, and whether one holds markup. -1 with an exception set. */
static int find_titles(const Titles *t, Py_ssize_t *first, int *swallows) {
    int32_t title = tag_named(t->names, "title"), drawing = tag_named(t->names, "svg");
    for (Py_ssize_t node = 0; title >= 0 && node < t->n; node++) {
        if (t->tag[node] != title) continue;
        int inside = *first < 0 ? is_inside(t, node, drawing) : 1;
        int marked = inside < 0 ? -1 : holds_markup(t, node + 1, t->end[node]);
        if (marked < 0) return -1;
        if (!inside) *first = node;
        *swallows |= marked;
    }
    return 0;
}

/* page_title(names, tag, parent, end, texts): the node of the title, -1 without one, and whether any title holds
   markup. `texts` is a list. */
PyObject *page_title(PyObject *module, PyObject *arguments) {
    static const Py_ssize_t sizes[3] = {4, 4, 4};
    PyObject *object[3], *result = NULL;
    Py_buffer view[3];
    Titles titles;
    Py_ssize_t first = UNKNOWN;
    int opened = 0, swallows = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOO!", &PyTuple_Type, &titles.names, &object[0], &object[1], &object[2],
                          &PyList_Type, &titles.texts))
        return NULL;
    for (; opened < 3; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    titles.tag = view[0].buf, titles.parent = view[1].buf, titles.end = view[2].buf, titles.n = view[0].len / 4;
    if (view[1].len != view[0].len || view[2].len != view[0].len || PyList_Size(titles.texts) != titles.n)
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
    else if (find_titles(&titles, &first, &swallows) == 0)
        result = Py_BuildValue("nO", first, swallows ? Py_True : Py_False);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
