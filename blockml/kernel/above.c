/* What elements above a block tell: their tags, and how far away those of some groups are.

   path_rows: the twin of blockml.features.structure.path. named_rows: of blockml.features.vocabulary.called. */
#include "tree.h"
#include <stdlib.h>

enum { GROUPS = 64 };

/* Writes levels (n_groups, n) up to the nearest node above each block whose bits (n_nodes + 1,), the last for "no node",
   hold the group; `far` where there is none. */
static void write_levels(const Tree *tree, const uint64_t *bits, Py_ssize_t n_groups, float far, float *levels) {
    Py_ssize_t n = tree->n;
    for (Py_ssize_t i = 0; i < n_groups * n; i++) levels[i] = far;
    uint64_t wanted = n_groups == GROUPS ? ~(uint64_t)0 : ((uint64_t)1 << n_groups) - 1;
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) { /* neighbours that have the same above them */
        for (end = begin + 1; end < n && tree->chain[end] == tree->chain[begin];) end++;
        uint64_t missing = wanted;
        for (Py_ssize_t level = 0; level < tree->n_levels && missing; level++) {
            int64_t node = tree->chain[level * n + begin];
            uint64_t found = bits[node < 0 ? tree->n_nodes : node] & missing;
            missing &= ~found;
            for (; found; found &= found - 1) {
                float *row = levels + lowest_bit(found) * n;
                for (Py_ssize_t block = begin; block < end; block++) row[block] = (float)level;
            }
        }
    }
}

/* path_rows(tree, codes, bits, flags, masks, far, rows): the codes of the tags of the four nearest ancestors, ancestors
   above the parent, levels up to the nearest one of each group, and which flags (n,) of the masks a block has. Codes and
   bits (n_tags + 1,) are by tag, the last for "no node". */
PyObject *path_rows(PyObject *module, PyObject *arguments) {
    enum { CODES, BITS, FLAGS, MASKS, ROWS, N };
    enum { NEAREST = 4 };
    PyObject *capsule, *object[N];
    float far;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 1, 1, 4};
    uint64_t *bits = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOfO", &capsule, &object[0], &object[1], &object[2], &object[3], &far,
                          &object[4]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    Py_ssize_t n = tree->n, n_tags = tree->n_tags, n_masks = view[MASKS].len;
    Py_ssize_t n_groups = view[ROWS].len / 4 / n - NEAREST - 1 - n_masks;
    if (view[CODES].len / 8 != n_tags + 1 || view[BITS].len / 8 != n_tags + 1 || view[FLAGS].len != n ||
        view[ROWS].len / 4 % n || n_groups < 0 || n_groups > GROUPS) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or tags differ in length");
        goto done;
    }
    bits = malloc((size_t)(tree->n_nodes + 1) * sizeof(uint64_t));
    if (bits == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    const int64_t *codes = view[CODES].buf;
    const uint64_t *bits_of = view[BITS].buf;
    float *row = view[ROWS].buf;
    for (Py_ssize_t level = 0; level < NEAREST; level++, row += n)
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = level < tree->n_levels ? tree->chain[level * n + i] : -1;
            row[i] = (float)codes[node < 0 ? n_tags : tree->tag[node]];
        }
    for (Py_ssize_t i = 0; i < n; i++) row[i] = (float)tree->depth[wrapped(tree, tree->holder[i])];
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) bits[i] = bits_of[tree->tag[i]];
    bits[tree->n_nodes] = bits_of[n_tags];
    write_levels(tree, bits, n_groups, far, row + n);
    row += (1 + n_groups) * n;
    const uint8_t *flags = view[FLAGS].buf, *masks = view[MASKS].buf;
    for (Py_ssize_t k = 0; k < n_masks; k++, row += n)
        for (Py_ssize_t i = 0; i < n; i++) row[i] = (flags[i] & masks[k]) > 0;
    result = Py_NewRef(Py_None);
done:
    free(bits);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* named_rows(tree, columns, tables, which, far, rows): levels (n_groups, n) up to the nearest element named by a word
   of each group. Columns (k, n_nodes + 1) are numbers of names, the last for "no node"; tables (m, n_names) have the
   groups of each; which[i] is the table of column i. */
PyObject *named_rows(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, TABLES, WHICH, ROWS, N };
    PyObject *capsule, *object[N];
    float far;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 8, 4};
    uint64_t *bits = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOfO", &capsule, &object[0], &object[1], &object[2], &far, &object[3]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    const int32_t *columns = view[COLUMNS].buf;
    const uint64_t *tables = view[TABLES].buf;
    const int64_t *which = view[WHICH].buf;
    Py_ssize_t n = tree->n, size = tree->n_nodes + 1, k = view[WHICH].len / 8, n_groups = view[ROWS].len / 4 / n;
    int64_t most = -1;
    int sound = view[COLUMNS].len / 4 == k * size && view[ROWS].len / 4 == n_groups * n && n_groups <= GROUPS;
    for (Py_ssize_t i = 0; i < k; i++) {
        sound &= which[i] >= 0;
        if (which[i] > most) most = which[i];
    }
    Py_ssize_t n_names = most < 0 || most > 63 ? 0 : view[TABLES].len / 8 / (most + 1);
    uint32_t others = n_names > INT32_MAX ? ~(uint32_t)0 : 0;
    for (Py_ssize_t i = 0; sound && i < k * size; i++) others |= OUTSIDE(uint32_t, columns[i], 0, n_names);
    if (!sound || others >> 31) {
        PyErr_SetString(PyExc_ValueError, "no such name, or columns differ in length");
        goto done;
    }
    bits = calloc((size_t)size, sizeof(uint64_t));
    if (bits == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t c = 0; c < k; c++)
        for (Py_ssize_t i = 0; i < size; i++) bits[i] |= tables[which[c] * n_names + columns[c * size + i]];
    write_levels(tree, bits, n_groups, far, view[ROWS].buf);
    result = Py_NewRef(Py_None);
done:
    free(bits);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
