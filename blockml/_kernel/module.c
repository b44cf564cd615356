/* Functions of the module, and access to arrays. */
#include "kernel.h"

/* Opens an array with items of a type: see open_arrays. */
static int open_array(PyObject *array, Py_buffer *view, const char *type) {
    int is_writable = *type == '*';
    char wanted = type[is_writable];
    if (array == NULL) return -1;
    if (PyObject_GetBuffer(array, view, is_writable ? PyBUF_CONTIG | PyBUF_FORMAT : PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
        return -1;
    const char *found = view->format == NULL ? "B" : view->format;
    int is_alias = (wanted == 'q' && *found == 'l' && sizeof(long) == 8) ||
                   (wanted == 'i' && *found == 'l' && sizeof(long) == 4) || (wanted == 'B' && *found == '?');
    if ((*found == wanted || is_alias) && found[1] == 0) return 0;
    PyErr_Format(PyExc_TypeError, "expected an array with items of type %c, got %s", wanted, found);
    PyBuffer_Release(view);
    return -1;
}

void close_arrays(Py_buffer *view, int n) {
    while (n--) PyBuffer_Release(&view[n]);
}

int open_arrays(PyObject *tuple, Py_buffer *view, const char *types) {
    Py_ssize_t size = PyTuple_Size(tuple);
    int n = 0;
    for (const char *type = types; type != NULL && n < size; n++, type = strchr(type, ' ')) {
        type += *type == ' ';
        if (open_array(PyTuple_GetItem(tuple, n), &view[n], type) < 0) break;
    }
    int n_types = 1;
    for (const char *at = types; *at; at++) n_types += *at == ' ';
    if (n == n_types && n == size) return 0;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "expected %d arrays, got %zd", n_types, size);
    close_arrays(view, n);
    return -1;
}

int open_named(PyObject *dict, Py_buffer *view, const Named *named, int n) {
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "arrays must be in a dict");
        return -1;
    }
    for (int k = 0; k < n; k++) {
        PyObject *array = PyDict_GetItemString(dict, named[k].name);
        if (array == NULL && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "array %s is missing", named[k].name);
        if (open_array(array, &view[k], named[k].type) < 0) {
            close_arrays(view, k);
            return -1;
        }
    }
    return 0;
}

static PyMethodDef functions[] = {
    {"pack_trees", pack_trees, METH_O, NULL},
    {"tree_sums", tree_sums, METH_VARARGS, NULL},
    {"pack_mlp", pack_mlp, METH_O, NULL},
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
    {"hiding_rules", hiding_rules, METH_O, NULL},
    {"style_tags", style_tags, METH_O, NULL},
    {"json_string", json_string, METH_VARARGS, NULL},
    {"word_densities", word_densities, METH_VARARGS, NULL},
    {"attribute_words", attribute_words, METH_VARARGS, NULL},
    {"word_table", word_table, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_compiled", NULL, 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&definition); }
