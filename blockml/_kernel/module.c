/* The module: its functions, and how arrays come in. */
#include "kernel.h"

int open_array(PyObject *array, Py_buffer *view, Py_ssize_t size, int writable) {
    if (PyObject_GetBuffer(array, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0) return -1;
    if (view->itemsize != size) {
        PyErr_Format(PyExc_TypeError, "an array of items of %zd bytes was expected, not of %zd", size, view->itemsize);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

int open_arrays(PyObject **array, Py_buffer *view, const Py_ssize_t *sizes, int n) {
    int count = 0;
    while (count < n && open_array(array[count], &view[count], sizes[count], count == n - 1) == 0) count++;
    return count;
}

static PyMethodDef functions[] = {
    {"pack_small_trees", pack_small_trees, METH_VARARGS, NULL},
    {"tree_sums", tree_sums, METH_VARARGS, NULL},
    {"pack_mlp", pack_mlp, METH_VARARGS, NULL},
    {"mlp_probabilities", mlp_probabilities, METH_VARARGS, NULL},
    {"nodes_builder", nodes_builder, METH_VARARGS, NULL},
    {"cut_blocks", cut_blocks, METH_VARARGS, NULL},
    {"held_tables", held_tables, METH_VARARGS, NULL},
    {"page_tree", page_tree, METH_VARARGS, NULL},
    {"page_names", page_names, METH_VARARGS, NULL},
    {"page_groups", page_groups, METH_O, NULL},
    {"family_columns", family_columns, METH_NOARGS, NULL},
    {"page_rows", page_rows, METH_VARARGS, NULL},
    {"page_bags", page_bags, METH_VARARGS, NULL},
    {"sigmoid", sigmoid, METH_VARARGS, NULL},
    {"log_odds", log_odds, METH_VARARGS, NULL},
    {"is_utf8", is_utf8, METH_O, NULL},
    {"line_densities", line_densities, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
