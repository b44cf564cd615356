/* Functions of the module, and access to arrays. */
#include "kernel.h"

int open_array(PyObject *array, Py_buffer *view, Py_ssize_t size, int writable) {
    if (PyObject_GetBuffer(array, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0) return -1;
    if (view->itemsize != size) {
        PyErr_Format(PyExc_TypeError, "expected an array with items of %zd bytes, got %zd", size, view->itemsize);
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
    {"segment_nodes", segment_nodes, METH_VARARGS, NULL},
    {"new_tables", new_tables, METH_VARARGS, NULL},
    {"new_page_tree", new_page_tree, METH_VARARGS, NULL},
    {"new_attribute_values", new_attribute_values, METH_VARARGS, NULL},
    {"block_groups", block_groups, METH_O, NULL},
    {"family_columns", family_columns, METH_NOARGS, NULL},
    {"write_columns", write_columns, METH_VARARGS, NULL},
    {"ancestor_words", ancestor_words, METH_VARARGS, NULL},
    {"sigmoid", sigmoid, METH_VARARGS, NULL},
    {"log_odds", log_odds, METH_VARARGS, NULL},
    {"page_features", page_features, METH_VARARGS, NULL},
    {"policy_scores", policy_scores, METH_VARARGS, NULL},
    {"is_utf8", is_utf8, METH_O, NULL},
    {"json_string", json_string, METH_VARARGS, NULL},
    {"word_densities", word_densities, METH_VARARGS, NULL},
    {"attribute_words", attribute_words, METH_VARARGS, NULL},
    {"declarations", declarations, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
