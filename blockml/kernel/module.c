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

static PyMethodDef functions[] = {
    {"tree_sums", tree_sums, METH_VARARGS, NULL},
    {"row_means", row_means, METH_VARARGS, NULL},
    {"nodes_builder", nodes_builder, METH_VARARGS, NULL},
    {"cut_blocks", cut_blocks, METH_VARARGS, NULL},
    {"text_keys", text_keys, METH_VARARGS, NULL},
    {"numbered", numbered, METH_VARARGS, NULL},
    {"keyword_bits", keyword_bits, METH_VARARGS, NULL},
    {"bags_above", bags_above, METH_VARARGS, NULL},
    {"chains", chains, METH_VARARGS, NULL},
    {"nearest_levels", nearest_levels, METH_VARARGS, NULL},
    {"chain_keys", chain_keys, METH_VARARGS, NULL},
    {"class_counts", class_counts, METH_VARARGS, NULL},
    {"shared_words", shared_words, METH_VARARGS, NULL},
    {"ranked", ranked, METH_VARARGS, NULL},
    {"line_densities", line_densities, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
