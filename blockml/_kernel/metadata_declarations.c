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

/* declaration(pairs, begin, end, known): the entry of the name of an element with these attributes, and its content. */
PyObject *declaration(PyObject *module, PyObject *arguments) {
    PyObject *pairs, *known;
    Py_ssize_t begin, end;
    const char *held[N_NAMES] = {"", "", "", ""};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "SnnO!", &pairs, &begin, &end, &PyDict_Type, &known)) return NULL;
    if (begin < 0 || end < begin || end > PyBytes_Size(pairs)) begin = end = 0;
    const char *at = PyBytes_AsString(pairs) + begin, *stop = at + (end - begin);
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
