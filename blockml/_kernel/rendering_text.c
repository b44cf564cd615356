/* Texts of kept blocks with what stands between them: the twin of blockml.rendering.text.render_text. */
#include "kernel.h"
#include <stdlib.h>

/* As blockml.page.Separator numbers them. */
enum { GLUED, SPACE, CELL, LINE, PARAGRAPH };

/* Appends a new reference, which is taken; returns -1 with an exception set. */
static int append(PyObject *list, PyObject *text) {
    if (text == NULL) return -1;
    int failed = PyList_Append(list, text);
    Py_DECREF(text);
    return failed;
}

typedef struct {
    const int32_t *node, *tag;
    PyObject *names, *cells; /* of tags, a tuple; those of cells, a set */
    char *is_cell;           /* of each tag; NULL until it is asked for */
} Cells;

/* Finds out which tags are cells; -1 with an exception set. */
static int look_up(Cells *cells) {
    Py_ssize_t n = PyTuple_Size(cells->names);
    if ((cells->is_cell = malloc((size_t)n + 1)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t tag = 0; tag < n; tag++) {
        int found = PySet_Contains(cells->cells, PyTuple_GetItem(cells->names, tag));
        if (found < 0) return -1;
        cells->is_cell[tag] = (char)found;
    }
    return 0;
}

/* A tab for each cell that starts behind the one node, up to the other; one at least. */
static PyObject *tabs(Cells *cells, int32_t from, int32_t to) {
    Py_ssize_t count = 0;
    if (cells->is_cell == NULL && look_up(cells) < 0) return NULL;
    for (int32_t node = from + 1; node <= to; node++) count += cells->is_cell[cells->tag[node]];
    if (count < 2) return PyUnicode_FromString("\t");
    PyObject *one = PyUnicode_FromString("\t"), *all = one ? PySequence_Repeat(one, count) : NULL;
    Py_XDECREF(one);
    return all;
}

typedef struct {
    const int32_t *first, *last;
    PyObject *texts; /* of nodes */
} Nodes;

/* Appends the text of a block as it stands in the source. */
static int append_verbatim(PyObject *pieces, Nodes nodes, Py_ssize_t block) {
    for (int32_t node = nodes.first[block]; node <= nodes.last[block]; node++)
        if (append(pieces, PySequence_GetItem(nodes.texts, node)) < 0) return -1;
    return 0;
}

/* What is left of preformatted blocks that were removed between two others: a line break, a space or nothing; NULL
   with an exception set. */
static const char *left_of(Nodes nodes, Py_ssize_t begin, Py_ssize_t end) {
    const char *left = "";
    for (Py_ssize_t block = begin; block < end; block++)
        for (int32_t node = nodes.first[block]; node <= nodes.last[block]; node++) {
            PyObject *text = PySequence_GetItem(nodes.texts, node);
            if (text == NULL) return NULL;
            Py_ssize_t length = PyUnicode_GetLength(text);
            Py_ssize_t place = length < 0 ? -2 : PyUnicode_FindChar(text, '\n', 0, length, 1);
            Py_DECREF(text);
            if (place == -2) return NULL;
            if (place >= 0) return "\n";
            if (length > 0) left = " ";
        }
    return left;
}

static int in_range(const int32_t *numbers, Py_ssize_t n, Py_ssize_t end) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (numbers[i] < 0 || numbers[i] >= end) return 0;
    return 1;
}

/* joined_texts(texts, kept, separators, flags, preformatted, node, last_node, node_texts, tag, names, cells): the text;
   blocks with the flag `preformatted` as they stand in the source. */
PyObject *joined_texts(PyObject *module, PyObject *arguments) {
    enum { KEPT, JOINTS, FLAGS, NODE, LAST_NODE, TAG, N };
    PyObject *object[N], *texts, *node_texts, *pieces = NULL, *nothing = NULL, *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 1, 1, 4, 4, 4};
    Cells cells = {NULL, NULL, NULL, NULL, NULL};
    static const char *between[] = {"", " ", "\t", "\n", "\n"};
    int preformatted, opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOiOOOOO!O!", &PyTuple_Type, &texts, &object[KEPT], &object[JOINTS],
                          &object[FLAGS], &preformatted, &object[NODE], &object[LAST_NODE], &node_texts, &object[TAG],
                          &PyTuple_Type, &cells.names, &PyFrozenSet_Type, &cells.cells))
        return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    const uint8_t *kept = view[KEPT].buf, *separators = view[JOINTS].buf, *flags = view[FLAGS].buf;
    cells.node = view[NODE].buf, cells.tag = view[TAG].buf;
    Nodes nodes = {view[NODE].buf, view[LAST_NODE].buf, node_texts};
    Py_ssize_t n = PyTuple_Size(texts), n_nodes = view[TAG].len / 4, before = -1;
    int sound = in_range(cells.tag, n_nodes, PyTuple_Size(cells.names));
    for (int k = KEPT; k <= LAST_NODE; k++) sound = sound && view[k].len / sizes[k] == n;
    if (!sound || !in_range(nodes.first, n, n_nodes) || !in_range(nodes.last, n, n_nodes)) {
        PyErr_SetString(PyExc_ValueError, "no such node, or columns of blocks differ in length");
        goto done;
    }
    if ((pieces = PyList_New(0)) == NULL) goto done;
    int joint = GLUED; /* the widest since the last kept block: what was removed may have held the break */
    for (Py_ssize_t i = 0; i < n; i++) {
        if (separators[i] > joint) joint = separators[i] < PARAGRAPH ? separators[i] : PARAGRAPH;
        if (!kept[i]) continue;
        int is_verbatim = flags[i] & preformatted, is_apart = before >= 0 && before + 1 < i;
        if (is_apart && joint == GLUED) joint = SPACE; /* what was removed parts them */
        const char *separator = before < 0 ? "" : between[joint];
        if (before >= 0 && is_verbatim && flags[before] & preformatted && joint <= SPACE)
            separator = is_apart ? left_of(nodes, before + 1, i) : "";
        if (separator == NULL) goto done;
        if (before >= 0 && joint == CELL) {
            if (append(pieces, tabs(&cells, cells.node[before], cells.node[i])) < 0) goto done;
        } else if (*separator && append(pieces, PyUnicode_FromString(separator)) < 0) {
            goto done;
        }
        if ((is_verbatim ? append_verbatim(pieces, nodes, i) : PyList_Append(pieces, PyTuple_GetItem(texts, i))) < 0)
            goto done;
        joint = GLUED;
        before = i;
    }
    if ((nothing = PyUnicode_FromString("")) != NULL) result = PyUnicode_Join(nothing, pieces);
done:
    free(cells.is_cell);
    Py_XDECREF(nothing);
    Py_XDECREF(pieces);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
