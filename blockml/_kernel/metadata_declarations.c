/* Declarations of meta elements; reference: blockml.metadata.declarations. */
#include "text_bytes.h"

enum { CONTENT, PROPERTY, NAME, HTTP, N_NAMES, LONGEST = 63 };
static const char *const names[N_NAMES] = {"content", "property", "name", "http-equiv"};

/* Returns the entry of a name in lower case, or None; NULL with an exception set. */
static PyObject *look_up(PyObject *known, const char *name) {
    char lower[LONGEST];
    Py_ssize_t n = 0;
    for (; *name && n < LONGEST; n++, name++) lower[n] = lower_of(*name);
    PyObject *key = *name ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(lower, n, NULL);
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(known, key);
    Py_XDECREF(key);
    return found != NULL || PyErr_Occurred() ? found : Py_None;
}

/* Returns the entry of the name of an element with some attributes, and its content; or None. */
static PyObject *declaration(const char *at, const char *stop, PyObject *known) {
    const char *held[N_NAMES] = {"", "", "", ""};
    while (at < stop) {
        const char *name = at, *value = name + strlen(name) + 1;
        if (value >= stop) break;
        for (int i = 0; i < N_NAMES; i++)
            if (strcmp(name, names[i]) == 0) held[i] = value;
        at = value + strlen(value) + 1;
    }
    const char *own = *held[PROPERTY] ? held[PROPERTY] : *held[NAME] ? held[NAME] : held[HTTP];
    PyObject *found = *held[CONTENT] ? look_up(known, own) : Py_None;
    return found == NULL || found == Py_None ? Py_XNewRef(found) : Py_BuildValue("(Os)", found, held[CONTENT]);
}

/* declarations(pairs, known, begins, ends): those of the elements whose attributes are pairs[begin:end]. */
PyObject *declarations(PyObject *module, PyObject *arguments) {
    static const Py_ssize_t sizes[2] = {8, 8};
    PyObject *pairs, *known, *array[2], *found = PyList_New(0);
    Py_buffer view[2];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SO!OO", &pairs, &PyDict_Type, &known, &array[0], &array[1]) ||
        (opened = open_arrays(array, view, sizes, 2)) < 2)
        Py_CLEAR(found);
    for (Py_ssize_t i = 0; found != NULL && 8 * i < view[0].len && 8 * i < view[1].len; i++) {
        int64_t begin = ((const int64_t *)view[0].buf)[i], end = ((const int64_t *)view[1].buf)[i];
        if (begin < 0 || end < begin || end > PyBytes_Size(pairs)) begin = end = 0;
        const char *bytes = PyBytes_AsString(pairs);
        PyObject *item = declaration(bytes + begin, bytes + end, known);
        if (item == NULL || (item != Py_None && PyList_Append(found, item) < 0)) Py_CLEAR(found);
        Py_XDECREF(item);
    }
    while (opened-- > 0) PyBuffer_Release(&view[opened]);
    return found;
}
