/* Sums of the leaf values of trees. Reference: blockml.predictors.tree_ensemble.Trees.sums. Values are added tree by
   tree, as there, so the sums are bit-identical. */
#include "predictors_ensemble.h"

/* Returns the range of n numbers. Bits of floats, inverted below zero, are integers of the same order, whose comparisons
   compilers vectorise. */
static inline Range range_of(const float *numbers, Py_ssize_t n) {
    int32_t min = INT32_MAX, max = INT32_MIN, bits;
    for (Py_ssize_t i = 0; i < n; i++) {
        memcpy(&bits, numbers + i, 4);
        bits ^= -(int32_t)(bits < 0) & INT32_MAX;
        min = bits < min ? bits : min;
        max = bits > max ? bits : max;
    }
    min ^= -(int32_t)(min < 0) & INT32_MAX;
    max ^= -(int32_t)(max < 0) & INT32_MAX;
    Range range;
    memcpy(&range.min, &min, 4), memcpy(&range.max, &max, 4);
    int is_ordered = range.min <= range.max; /* NaN lies outside of all other numbers */
    return is_ordered ? range : (Range){-INFINITY, INFINITY};
}

WIDE static void find_ranges(Matrix matrix, Range *ranges) {
    for (Py_ssize_t k = 0; k < matrix.n_columns; k++)
        ranges[k] = range_of(matrix.values + k * matrix.column_step, matrix.n_rows);
}

/* Adds the leaf values of all trees, row by row: for trees with many leaves, few rows, or rows in one piece. */
static void traverse(const Ensemble *e) {
    for (Py_ssize_t tree = 0; tree < e->n_trees; tree++)
        for (Py_ssize_t row = 0; row < e->matrix.n_rows; row++) {
            const float *x = e->matrix.values + row * e->matrix.row_step;
            int32_t at = e->roots[tree];
            while (e->feature[at] >= 0)
                at = x[e->feature[at] * e->matrix.column_step] <= e->threshold[at] ? e->left[at] : e->right[at];
            e->sums[row * e->n_classes + e->tree_class[tree]] += e->value[at];
        }
}

static int are_classes(const int32_t *tree_class, Py_ssize_t n, Py_ssize_t n_classes) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (tree_class[i] < 0 || tree_class[i] >= n_classes) return 0;
    return 1;
}

/* Returns whether roots ascend from 0 and are nodes. */
static int are_roots(const int32_t *roots, Py_ssize_t n_trees, Py_ssize_t n) {
    if (n_trees == 0 || roots[0] != 0 || roots[n_trees - 1] >= n) return 0;
    for (Py_ssize_t i = 1; i < n_trees; i++)
        if (roots[i] <= roots[i - 1]) return 0;
    return 1;
}

#define CAPSULE "blockml.trees"

/* Trees that were checked once: open arrays, and an ensemble without matrix, classes and sums. */
typedef struct {
    Py_buffer view[N_TREE_ARRAYS];
    Ensemble ensemble;
} Trees;

static void drop(Trees *trees) {
    close_arrays(trees->view, N_TREE_ARRAYS);
    free(trees->ensemble.packed);
    free(trees);
}

static void free_trees(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* pack_trees(arrays): a capsule of trees that were checked by Trees.check, for tree_sums. The arrays, by name, must not
   change. */
PyObject *pack_trees(PyObject *module, PyObject *arrays) {
    static const Named named[N_TREE_ARRAYS] = {
        [FEATURE] = {"feature", "i"}, [THRESHOLD] = {"threshold", "d"}, [LEFT] = {"left", "i"},
        [RIGHT] = {"right", "i"}, [VALUE] = {"value", "d"}, [ROOTS] = {"roots", "i"},
    };
    PyObject *capsule = NULL;
    Trees *trees = calloc(1, sizeof *trees);
    (void)module;
    if (trees == NULL) return PyErr_NoMemory();
    Py_buffer *view = trees->view;
    if (open_named(arrays, view, named, N_TREE_ARRAYS) < 0) {
        free(trees);
        return NULL;
    }
    Ensemble *e = &trees->ensemble;
    e->feature = view[FEATURE].buf, e->left = view[LEFT].buf, e->right = view[RIGHT].buf;
    e->roots = view[ROOTS].buf, e->threshold = view[THRESHOLD].buf, e->value = view[VALUE].buf;
    e->n = n_items(&view[FEATURE]), e->n_trees = n_items(&view[ROOTS]);
    int fits = are_roots(e->roots, e->n_trees, e->n);
    for (int k = THRESHOLD; k <= VALUE; k++) fits = fits && n_items(&view[k]) == e->n;
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "roots must rise from 0, and arrays of nodes must have one length");
    else if (pack_small_trees(e) < 0)
        PyErr_NoMemory();
    else
        capsule = PyCapsule_New(trees, CAPSULE, free_trees);
    if (capsule == NULL) drop(trees);
    return capsule;
}

/* Adds leaf values to the sums of an ensemble. Returns 0, or -1 without memory. */
static int sum_ensemble(Ensemble e) {
    if (e.packed == NULL || e.matrix.row_step != 1 || e.matrix.n_rows < MIN_PACKED_ROWS) {
        traverse(&e);
        return 0;
    }
    Range *ranges = malloc((size_t)e.matrix.n_columns * sizeof(Range) + 1);
    if (ranges == NULL) return -1;
    find_ranges(e.matrix, ranges);
    e.ranges = ranges;
    int failed = sum_packed_trees(&e);
    free(ranges);
    return failed;
}

/* tree_sums(trees, by_column, (classes, matrix, sums)): adds the leaf values of tree i to column classes[i] of sums
   (n_rows, n_classes). The matrix is row-major or column-major. Callers have checked that it has all columns that the
   trees read. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    enum { CLASSES, MATRIX, SUMS, N };
    PyObject *capsule, *arrays, *result = NULL;
    int by_column, failed;
    Py_buffer view[N];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OiO!", &capsule, &by_column, &PyTuple_Type, &arrays)) return NULL;
    const Trees *trees = PyCapsule_GetPointer(capsule, CAPSULE);
    if (trees == NULL || open_arrays(arrays, view, "i f *d") < 0) return NULL;
    Ensemble e = trees->ensemble;
    Py_ssize_t n_classes = view[SUMS].ndim == 2 ? view[SUMS].shape[1] : 0;
    Py_ssize_t n_rows = n_classes > 0 ? view[SUMS].shape[0] : 0;
    Py_ssize_t n_columns = n_rows > 0 ? n_items(&view[MATRIX]) / n_rows : 0;
    if (n_items(&view[MATRIX]) > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "a matrix must have fewer than 2 ** 31 values");
    else if (n_items(&view[CLASSES]) != e.n_trees ||
             !are_classes(view[CLASSES].buf, e.n_trees, n_classes))
        PyErr_SetString(PyExc_ValueError, "each tree needs a class");
    else {
        e.matrix = (Matrix){view[MATRIX].buf, n_rows, n_columns, by_column ? 1 : n_columns, by_column ? n_rows : 1};
        e.tree_class = view[CLASSES].buf, e.sums = view[SUMS].buf, e.n_classes = n_classes;
        Py_BEGIN_ALLOW_THREADS;
        failed = sum_ensemble(e);
        Py_END_ALLOW_THREADS;
        result = failed < 0 ? PyErr_NoMemory() : Py_NewRef(Py_None);
    }
    close_arrays(view, N);
    return result;
}
