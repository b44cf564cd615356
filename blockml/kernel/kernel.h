/* What the parts of the kernel share. Limited API of Python 3.11: one build serves all later versions. */
#ifndef BLOCKML_KERNEL_H
#define BLOCKML_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* Opens the buffer of an array: one-dimensional or flat, contiguous, items of `size` bytes, `writable` or not.
   Returns 0, or -1 with an exception set. */
int open_array(PyObject *array, Py_buffer *view, Py_ssize_t size, int writable);

/* trees.c */
PyObject *tree_sums(PyObject *module, PyObject *arguments);

/* means.c */
PyObject *row_means(PyObject *module, PyObject *arguments);

#endif
