/* What lies between the matrix products of a net, in one pass each: twins of lines in blockml.nets.Net.

   Sums are made one after another, as numpy makes them, so that they are the same to the last bit. */
#include "kernel.h"
#include <math.h>

/* varying_columns(columns, n_rows, places): writes the places of those columns (n_columns, n_rows) that are not the same
   in all rows; returns how many. */
PyObject *varying_columns(PyObject *module, PyObject *arguments) {
    PyObject *object[2], *result = NULL;
    Py_ssize_t n_rows, count = 0;
    Py_buffer view[2];
    static const Py_ssize_t sizes[2] = {4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnO", &object[0], &n_rows, &object[1])) return NULL;
    int opened = open_arrays(object, view, sizes, 2);
    if (opened < 2) goto done;
    const float *column = view[0].buf;
    int64_t *places = view[1].buf;
    Py_ssize_t n_columns = n_rows > 0 ? view[0].len / 4 / n_rows : 0;
    if (view[1].len / 8 < n_columns) {
        PyErr_SetString(PyExc_ValueError, "no room for all places");
        goto done;
    }
    for (Py_ssize_t k = 0; k < n_columns; k++, column += n_rows) {
        Py_ssize_t row = 1;
        while (row < n_rows && column[row] == column[0]) row++;
        if (row < n_rows) places[count++] = k;
    }
    result = PyLong_FromSsize_t(count);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* standardise(values, centre, scale, bound, logarithms): turns the logarithms (k, n) of amounts into what a net takes: with
   the sign of the values (k, n), less the centre and times the scale of their row, held between +- bound. */
PyObject *standardise(PyObject *module, PyObject *arguments) {
    enum { VALUES, CENTRE, SCALE, LOGARITHMS, N };
    PyObject *object[N], *result = NULL;
    float bound;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 4, 4, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOfO", &object[0], &object[1], &object[2], &bound, &object[3])) return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Py_ssize_t k = view[CENTRE].len / 4, n = k ? view[VALUES].len / 4 / k : 0;
    if (view[SCALE].len / 4 != k || view[VALUES].len / 4 != k * n || view[LOGARITHMS].len / 4 != k * n) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in size");
        goto done;
    }
    for (Py_ssize_t row = 0; row < k; row++) {
        const float *value = (const float *)view[VALUES].buf + row * n;
        float *logarithm = (float *)view[LOGARITHMS].buf + row * n;
        float centre = ((const float *)view[CENTRE].buf)[row], scale = ((const float *)view[SCALE].buf)[row];
        for (Py_ssize_t i = 0; i < n; i++) {
            float x = (copysignf(logarithm[i], value[i]) - centre) * scale;
            x = x > -bound ? x : -bound;
            logarithm[i] = x < bound ? x : bound;
        }
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

enum { MOST_PARTS = 8 };

/* activate(rows, parts, m, sums): adds to sums (m, n, h) of m nets, and sets what is negative to 0. First comes a row for
   each net, rows (m, h); then parts, pairs of arrays: one (m, n_groups, h) and the group (n,) of each of the n. */
PyObject *activate(PyObject *module, PyObject *arguments) {
    PyObject *row_array, *parts, *sum_array, *result = NULL;
    Py_ssize_t m;
    Py_buffer view[2 + 2 * MOST_PARTS];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!nO", &row_array, &PyTuple_Type, &parts, &m, &sum_array)) return NULL;
    Py_ssize_t n_parts = PyTuple_Size(parts);
    if (n_parts > MOST_PARTS || m < 1) {
        PyErr_SetString(PyExc_ValueError, "too many parts, or no net");
        return NULL;
    }
    if (open_array(sum_array, &view[opened++], 4, 1) < 0) return NULL;
    if (open_array(row_array, &view[opened++], 4, 0) < 0) {
        opened--;
        goto done;
    }
    Py_ssize_t h = view[1].len / 4 / m, n = h ? view[0].len / 4 / m / h : 0, n_groups[MOST_PARTS];
    if (view[1].len / 4 != m * h || view[0].len / 4 != m * n * h) {
        PyErr_SetString(PyExc_ValueError, "arrays differ in size");
        goto done;
    }
    for (Py_ssize_t part = 0; part < n_parts; part++) {
        PyObject *pair = PyTuple_GetItem(parts, part), *added, *group;
        if (pair == NULL || !PyArg_ParseTuple(pair, "OO", &added, &group)) goto done;
        if (open_array(added, &view[opened], 4, 0) < 0) goto done;
        opened++;
        if (open_array(group, &view[opened], 8, 0) < 0) goto done;
        opened++;
        const int64_t *of = view[opened - 1].buf;
        n_groups[part] = h ? view[opened - 2].len / 4 / m / h : 0;
        int sound = view[opened - 1].len / 8 == n && view[opened - 2].len / 4 == n_groups[part] * m * h;
        for (Py_ssize_t i = 0; sound && i < n; i++) sound = of[i] >= 0 && of[i] < n_groups[part];
        if (!sound) {
            PyErr_SetString(PyExc_IndexError, "no such group, or arrays differ in size");
            goto done;
        }
    }
    for (Py_ssize_t net = 0; net < m; net++) {
        const float *row = (const float *)view[1].buf + net * h;
        for (Py_ssize_t i = 0; i < n; i++) {
            float *sum = (float *)view[0].buf + (net * n + i) * h;
            for (Py_ssize_t k = 0; k < h; k++) sum[k] += row[k];
            for (Py_ssize_t part = 0; part < n_parts; part++) {
                int64_t group = ((const int64_t *)view[3 + 2 * part].buf)[i];
                const float *added = (const float *)view[2 + 2 * part].buf + (net * n_groups[part] + group) * h;
                for (Py_ssize_t k = 0; k < h; k++) sum[k] += added[k];
            }
            for (Py_ssize_t k = 0; k < h; k++) sum[k] = sum[k] > 0 ? sum[k] : 0;
        }
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
