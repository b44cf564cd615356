/* Candidates for the container of the content. Elements are places in `reached` (n_reached,), the nodes above blocks;
   the blocks of node i are started[i] ... started[end[i]] - 1.

   All are twins of functions in blockml.features.container: masses of _masses, paragraph_scores, deepest_holding of
   smallest_holding, relative_rows of relative_to. */
#include "kernel.h"
#include <stdlib.h>

/* masses(started, end, reached, values, sums): sums (k, n_reached) of values (k, n) over the blocks of each element. */
PyObject *masses(PyObject *module, PyObject *arguments) {
    enum { STARTED, END, REACHED, VALUES, SUMS, N };
    PyObject *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 4, 8, 8, 8};
    double *before = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &object[0], &object[1], &object[2], &object[3], &object[4])) return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *started = view[STARTED].buf, *reached = view[REACHED].buf;
    const int32_t *end = view[END].buf;
    const double *values = view[VALUES].buf;
    double *sums = view[SUMS].buf;
    Py_ssize_t n_nodes = view[END].len / 4, n_reached = view[REACHED].len / 8;
    Py_ssize_t k = n_reached ? view[SUMS].len / 8 / n_reached : 0, n = k ? view[VALUES].len / 8 / k : 0;
    if (view[STARTED].len / 8 != n_nodes + 1) {
        PyErr_SetString(PyExc_ValueError, "columns of nodes differ in length");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_reached; i++) {
        int64_t node = reached[i];
        int known = node >= 0 && node < n_nodes && end[node] >= 0 && end[node] <= n_nodes;
        if (!known || started[node] < 0 || started[node] > n || started[end[node]] < 0 || started[end[node]] > n) {
            PyErr_SetString(PyExc_IndexError, "no such node or block");
            goto done;
        }
    }
    before = malloc((size_t)(n + 1) * sizeof(double));
    if (before == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t v = 0; v < k; v++) {
        before[0] = 0;
        for (Py_ssize_t i = 0; i < n; i++) before[i + 1] = before[i] + values[v * n + i];
        for (Py_ssize_t i = 0; i < n_reached; i++)
            sums[v * n_reached + i] = before[started[end[reached[i]]]] - before[started[reached[i]]];
    }
    result = Py_NewRef(Py_None);
done:
    free(before);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* paragraph_scores(prose, clauses, lengths, holder, inline, tag, parent, scores): scores (n_nodes + 1,) that running text
   gives to the elements above it. `holder` is the parent of each block; of tags that are `inline` the element above is
   taken instead. */
PyObject *paragraph_scores(PyObject *module, PyObject *arguments) {
    enum { PROSE, CLAUSES, LENGTHS, HOLDER, INLINE, TAG, PARENT, SCORES, N };
    static const double parts[3] = {1.0, 0.5, 0.33};
    PyObject *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 8, 4, 1, 4, 4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &object[6], &object[7]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const double *prose = view[PROSE].buf, *clauses = view[CLAUSES].buf, *lengths = view[LENGTHS].buf;
    const int32_t *holder = view[HOLDER].buf, *tag = view[TAG].buf, *parent = view[PARENT].buf;
    const uint8_t *is_inline = view[INLINE].buf;
    double *scores = view[SCORES].buf;
    Py_ssize_t n = view[PROSE].len / 8, n_nodes = view[PARENT].len / 4, n_tags = view[INLINE].len;
    if (view[CLAUSES].len / 8 != n || view[LENGTHS].len / 8 != n || view[HOLDER].len / 4 != n ||
        view[TAG].len / 4 != n_nodes || view[SCORES].len / 8 != n_nodes + 1) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        goto done;
    }
    int sound = 1;
    for (Py_ssize_t i = 0; i < n; i++) sound &= holder[i] >= 0 && holder[i] < n_nodes;
    for (Py_ssize_t i = 0; i < n_nodes; i++)
        sound &= parent[i] >= -1 && parent[i] < n_nodes && tag[i] >= 0 && tag[i] < n_tags;
    if (!sound) {
        PyErr_SetString(PyExc_IndexError, "no such node or tag");
        goto done;
    }
    for (Py_ssize_t i = 0; i <= n_nodes; i++) scores[i] = 0;
    for (int step = 0; step < 3; step++) /* step by step, for the order of addition */
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!(prose[i] > 0)) continue;
            int64_t hundreds = (int64_t)(lengths[i] / 100);
            double worth = 1 + clauses[i] + (double)(hundreds < 3 ? hundreds : 3);
            int32_t node = is_inline[tag[holder[i]]] ? parent[holder[i]] : holder[i];
            for (int up = 0; up < step && node >= 0; up++) node = parent[node];
            if (node >= 0) scores[node] += parts[step] * worth;
        }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* deepest_holding(depth, reached, mass, share): the first of the deepest elements with at least this share of the largest
   mass (n_reached,), or -1 without any mass. */
PyObject *deepest_holding(PyObject *module, PyObject *arguments) {
    enum { DEPTH, REACHED, MASS, N };
    PyObject *object[N];
    double share, most = 0;
    Py_buffer view[N];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOd", &object[0], &object[1], &object[2], &share)) return NULL;
    static const Py_ssize_t sizes[N] = {4, 8, 8};
    PyObject *result = NULL;
    int opened = 0;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    const int32_t *depth = view[DEPTH].buf;
    const int64_t *reached = view[REACHED].buf;
    const double *mass = view[MASS].buf;
    Py_ssize_t n_nodes = view[DEPTH].len / 4, n_reached = view[REACHED].len / 8, best = -1;
    if (view[MASS].len / 8 != n_reached) {
        PyErr_SetString(PyExc_ValueError, "not as many masses as elements");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_reached; i++) most = at_least(mass[i], most);
    for (Py_ssize_t i = 0; most > 0 && i < n_reached; i++) {
        if (reached[i] < 0 || reached[i] >= n_nodes) {
            PyErr_SetString(PyExc_IndexError, "no such node");
            goto done;
        }
        if (mass[i] >= share * most && (best < 0 || depth[reached[i]] > depth[reached[best]])) best = i;
    }
    result = PyLong_FromSsize_t(best);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* relative_rows(nodes, most_levels, parent, depth, end, started, holder, constants, rows): of each candidate, a node or -1,
   five rows (5, n): levels up to an element that holds the block, levels below it, blocks before or after it; and two
   constants (n_candidates, 2). `holder` (n,) is the parent of each block. */
PyObject *relative_rows(PyObject *module, PyObject *arguments) {
    enum { NODES, PARENT, DEPTH, END, STARTED, HOLDER, CONSTANTS, ROWS, N };
    enum { EACH = 5 };
    PyObject *object[N];
    Py_ssize_t most_levels;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 4, 4, 4, 8, 4, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOOOOOOO", &object[0], &most_levels, &object[1], &object[2], &object[3],
                          &object[4], &object[5], &object[6], &object[7]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *nodes = view[NODES].buf, *started = view[STARTED].buf;
    const int32_t *parent = view[PARENT].buf, *depth = view[DEPTH].buf, *end = view[END].buf, *holder = view[HOLDER].buf;
    const double *constants = view[CONSTANTS].buf;
    Py_ssize_t n = view[HOLDER].len / 4, n_nodes = view[PARENT].len / 4, n_candidates = view[NODES].len / 8;
    if (view[DEPTH].len / 4 != n_nodes || view[END].len / 4 != n_nodes || view[STARTED].len / 8 != n_nodes + 1 ||
        view[CONSTANTS].len / 8 != 2 * n_candidates || view[ROWS].len / 4 != EACH * n_candidates * n) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        goto done;
    }
    int sound = 1;
    for (Py_ssize_t i = 0; i < n; i++) sound &= holder[i] >= 0 && holder[i] < n_nodes;
    for (Py_ssize_t i = 0; i <= n_nodes; i++) sound &= started[i] >= 0 && started[i] <= n;
    for (Py_ssize_t i = 0; i < n_nodes; i++)
        sound &= parent[i] >= -1 && parent[i] < i && end[i] >= 0 && end[i] <= n_nodes;
    for (Py_ssize_t i = 0; i < n_candidates; i++) sound &= nodes[i] >= -1 && nodes[i] < n_nodes;
    if (!sound) {
        PyErr_SetString(PyExc_IndexError, "no such node or block");
        goto done;
    }
    for (Py_ssize_t c = 0; c < n_candidates; c++) {
        float *outof = (float *)view[ROWS].buf + c * EACH * n, *below = outof + n, *off = below + n, *rest = off + n;
        int64_t node = nodes[c];
        for (Py_ssize_t i = 0; i < n; i++) {
            rest[i] = (float)constants[2 * c];
            rest[n + i] = (float)constants[2 * c + 1];
        }
        if (node < 0) {
            for (Py_ssize_t i = 0; i < n; i++) outof[i] = below[i] = -2, off[i] = 0;
            continue;
        }
        int64_t low = started[node], high = started[end[node]], since = low, until = high;
        for (Py_ssize_t i = 0; i < n; i++) {
            int inside = i >= low && i < high;
            below[i] = inside ? (float)(depth[holder[i]] - depth[node]) : -1;
            off[i] = i < low ? (float)(i - low) : i >= high ? (float)(i - high + 1) : 0;
            outof[i] = 0;
        }
        /* Blocks of an element are a range, and those of the element above a wider one. */
        Py_ssize_t steps = 1;
        for (int64_t above = parent[node]; above >= 0 && steps <= most_levels; above = parent[above], steps++) {
            int64_t first = started[above], last = started[end[above]];
            for (int64_t i = first; i < since; i++) outof[i] = (float)steps;
            for (int64_t i = until > first ? until : first; i < last; i++) outof[i] = (float)steps;
            since = first < since ? first : since;
            until = last > until ? last : until;
        }
        for (int64_t i = 0; i < since; i++) outof[i] = (float)steps;
        for (int64_t i = until; i < n; i++) outof[i] = (float)steps;
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
