/* Characters of all texts of a page by their class: the twin of blockml.features.view.View.kinds and its kin. */
#include "kernel.h"
#include <stdlib.h>

/* text_classes(texts, table, starts, lengths): the class bits of all characters, as bytes, one line break after each
   text; writes where texts start, and how long they are. The table has the bits of every code point. */
PyObject *text_classes(PyObject *module, PyObject *arguments) {
    PyObject *texts, *object[3], *kinds = NULL;
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {1, 8, 8};
    int opened = 0;
    Py_UCS4 *points = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyTuple_Type, &texts, &object[0], &object[1], &object[2])) return NULL;
    for (; opened < 3; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened > 0) < 0) goto done;
    const uint8_t *table = view[0].buf;
    int64_t *starts = view[1].buf;
    double *lengths = view[2].buf;
    Py_ssize_t n = PyTuple_Size(texts), total = 0, longest = 0;
    if (view[0].len < 0x110000 || view[1].len / 8 != n || view[2].len / 8 != n) {
        PyErr_SetString(PyExc_ValueError, "no room for all texts, or not all code points");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = PyUnicode_GetLength(PyTuple_GetItem(texts, i));
        if (length < 0) goto done;
        starts[i] = total;
        lengths[i] = (double)length;
        total += length + 1;
        if (length > longest) longest = length;
    }
    points = malloc((size_t)(longest + 1) * sizeof(Py_UCS4));
    kinds = PyBytes_FromStringAndSize(NULL, total);
    if (kinds == NULL || points == NULL) {
        Py_CLEAR(kinds);
        PyErr_NoMemory();
        goto done;
    }
    uint8_t *kind = (uint8_t *)PyBytes_AsString(kinds);
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = (Py_ssize_t)lengths[i];
        if (PyUnicode_AsUCS4(PyTuple_GetItem(texts, i), points, length, 0) == NULL) {
            Py_CLEAR(kinds);
            goto done;
        }
        for (Py_ssize_t k = 0; k < length; k++) *kind++ = table[points[k]];
        *kind++ = table['\n'];
    }
done:
    free(points);
    while (opened--) PyBuffer_Release(&view[opened]);
    return kinds;
}
