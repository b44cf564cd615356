/* What lies between the matrix products of a net, in one pass each: twins of lines in blockml.nets.Net.

   Sums are made one after another, as numpy makes them, so that they are the same to the last bit. */
#include "kernel.h"
#include <math.h>

enum { STRETCH = 32 };

WIDE int is_varying(const float *column, Py_ssize_t n) {
    Py_ssize_t i = 0;
    for (; i + STRETCH <= n; i += STRETCH) {
        int differs = 0; /* no branch for each, so that several are compared at once */
        for (int k = 0; k < STRETCH; k++) differs |= column[i + k] != column[0];
        if (differs) return 1;
    }
    for (; i < n; i++)
        if (column[i] != column[0]) return 1;
    return 0;
}

WIDE static void write_amounts(const float *restrict values, Py_ssize_t n, float *restrict amounts) {
    for (Py_ssize_t i = 0; i < n; i++) amounts[i] = fabsf(values[i]) + 1;
}

/* net_amounts(columns, n_rows, places, amounts): of columns (f, n_rows), writes the places of those k that are not the same
   in all rows, and one more than the amounts without sign of the first row (f,), and then of those columns (k, n_rows);
   returns k. */
PyObject *net_amounts(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, PLACES, AMOUNTS, N };
    PyObject *object[N], *result = NULL;
    Py_ssize_t n, count = 0;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 4};
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOO", &object[0], &n, &object[1], &object[2])) return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened > COLUMNS) < 0) goto done;
    Py_ssize_t f = view[PLACES].len / 8;
    if (n < 1 || view[COLUMNS].len / 4 != f * n || view[AMOUNTS].len / 4 < f * (n + 1)) {
        PyErr_SetString(PyExc_ValueError, "no rows, or no room for all columns");
        goto done;
    }
    const float *column = view[COLUMNS].buf;
    float *amounts = view[AMOUNTS].buf;
    for (Py_ssize_t place = 0; place < f; place++, column += n) {
        write_amounts(column, 1, amounts + place);
        if (!is_varying(column, n)) continue;
        write_amounts(column, n, amounts + f + count * n);
        ((int64_t *)view[PLACES].buf)[count++] = place;
    }
    result = PyLong_FromSsize_t(count);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* Turns logarithms of n amounts into what a net takes: with the sign of the values, less the centre and times the scale,
   held between +- bound. */
WIDE static void standardise_column(const float *restrict values, Py_ssize_t n, float centre, float scale, float bound,
                                    float *restrict logarithms) {
    for (Py_ssize_t i = 0; i < n; i++) {
        float x = (copysignf(logarithms[i], values[i]) - centre) * scale;
        x = x > -bound ? x : -bound;
        logarithms[i] = x < bound ? x : bound;
    }
}

/* standardise(columns, n_rows, places, centre, scale, bound, logarithms): turns the logarithms of what net_amounts wrote
   into what a net takes; in the first row, columns that vary get 0. */
PyObject *standardise(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, PLACES, CENTRE, SCALE, LOGARITHMS, N };
    PyObject *object[N], *result = NULL;
    Py_ssize_t n;
    float bound;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 4, 4, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOOOfO", &object[0], &n, &object[1], &object[2], &object[3], &bound, &object[4]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Py_ssize_t f = view[CENTRE].len / 4, k = view[PLACES].len / 8;
    const float *columns = view[COLUMNS].buf, *centre = view[CENTRE].buf, *scale = view[SCALE].buf;
    const int64_t *places = view[PLACES].buf;
    float *row = view[LOGARITHMS].buf, *logarithms = row + f;
    int sound = n > 0 && view[SCALE].len / 4 == f && view[COLUMNS].len / 4 == f * n &&
                view[LOGARITHMS].len / 4 == f + k * n;
    for (Py_ssize_t i = 0; sound && i < k; i++) sound = places[i] >= 0 && places[i] < f;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such columns, or arrays differ in size");
        goto done;
    }
    for (Py_ssize_t place = 0; place < f; place++)
        standardise_column(columns + place * n, 1, centre[place], scale[place], bound, row + place);
    for (Py_ssize_t i = 0; i < k; i++, logarithms += n) {
        int64_t place = places[i];
        standardise_column(columns + place * n, n, centre[place], scale[place], bound, logarithms);
        row[place] = 0;
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

enum { MOST_PARTS = 8 };

/* What is added to the sums of one net: the row of the group of each. */
typedef struct {
    const float *rows;
    const int64_t *group;
} Part;

/* Adds a row and the row of each group to n sums of h numbers, and sets what is negative to 0. */
WIDE static void activate_net(float *restrict sums, Py_ssize_t n, Py_ssize_t h, const float *restrict row, const Part *parts,
                              Py_ssize_t n_parts) {
    for (Py_ssize_t i = 0; i < n; i++, sums += h) {
        /* in one pass for what nets mostly have */
        const float *one = n_parts > 0 ? parts[0].rows + parts[0].group[i] * h : NULL;
        const float *two = n_parts > 1 ? parts[1].rows + parts[1].group[i] * h : NULL;
        if (n_parts == 1) {
            for (Py_ssize_t k = 0; k < h; k++) {
                float sum = sums[k] + row[k] + one[k];
                sums[k] = sum > 0 ? sum : 0;
            }
        } else if (n_parts == 2) {
            for (Py_ssize_t k = 0; k < h; k++) {
                float sum = sums[k] + row[k] + one[k] + two[k];
                sums[k] = sum > 0 ? sum : 0;
            }
        } else {
            for (Py_ssize_t k = 0; k < h; k++) sums[k] += row[k];
            for (Py_ssize_t part = 0; part < n_parts; part++) {
                const float *added = parts[part].rows + parts[part].group[i] * h;
                for (Py_ssize_t k = 0; k < h; k++) sums[k] += added[k];
            }
            for (Py_ssize_t k = 0; k < h; k++) sums[k] = sums[k] > 0 ? sums[k] : 0;
        }
    }
}

/* The mean of n rows of h numbers. */
WIDE static void mean_of(const float *restrict rows, Py_ssize_t n, Py_ssize_t h, float *restrict mean) {
    for (Py_ssize_t k = 0; k < h; k++) mean[k] = rows[k];
    for (Py_ssize_t i = 1; i < n; i++)
        for (Py_ssize_t k = 0; k < h; k++) mean[k] += rows[i * h + k];
    for (Py_ssize_t k = 0; k < h; k++) mean[k] /= (float)n;
}

/* activate(rows, parts, m, sums, means): adds to sums (m, n, h) of m nets, and sets what is negative to 0. First comes a
   row for each net, rows (m, h); then parts, pairs of arrays: one (m, n_groups, h) and the group (n,) of each of the n.
   Then writes the means (m, h), if there is room for them. */
PyObject *activate(PyObject *module, PyObject *arguments) {
    enum { SUMS, ROWS, MEANS, PARTS };
    PyObject *object[3], *parts, *result = NULL;
    Py_ssize_t m;
    Py_buffer view[PARTS + 2 * MOST_PARTS];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!nOO", &object[ROWS], &PyTuple_Type, &parts, &m, &object[SUMS], &object[MEANS]))
        return NULL;
    Py_ssize_t n_parts = PyTuple_Size(parts);
    if (n_parts > MOST_PARTS || m < 1) {
        PyErr_SetString(PyExc_ValueError, "too many parts, or no net");
        return NULL;
    }
    for (; opened < PARTS; opened++)
        if (open_array(object[opened], &view[opened], 4, opened != ROWS) < 0) goto done;
    Py_ssize_t h = view[ROWS].len / 4 / m, n = h ? view[SUMS].len / 4 / m / h : 0, n_groups[MOST_PARTS];
    if (view[ROWS].len / 4 != m * h || view[SUMS].len / 4 != m * n * h || n < 1 ||
        (view[MEANS].len > 0 && view[MEANS].len / 4 != m * h)) {
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
        n_groups[part] = view[opened - 2].len / 4 / m / h;
        int sound = view[opened - 1].len / 8 == n && view[opened - 2].len / 4 == n_groups[part] * m * h;
        for (Py_ssize_t i = 0; sound && i < n; i++) sound = of[i] >= 0 && of[i] < n_groups[part];
        if (!sound) {
            PyErr_SetString(PyExc_IndexError, "no such group, or arrays differ in size");
            goto done;
        }
    }
    for (Py_ssize_t net = 0; net < m; net++) {
        float *sums = (float *)view[SUMS].buf + net * n * h;
        Part added[MOST_PARTS];
        for (Py_ssize_t part = 0; part < n_parts; part++)
            added[part] = (Part){(const float *)view[PARTS + 2 * part].buf + net * n_groups[part] * h,
                                 view[PARTS + 1 + 2 * part].buf};
        activate_net(sums, n, h, (const float *)view[ROWS].buf + net * h, added, n_parts);
        if (view[MEANS].len > 0) mean_of(sums, n, h, (float *)view[MEANS].buf + net * h);
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
