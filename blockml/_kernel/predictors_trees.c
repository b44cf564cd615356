/* Sums of the leaf values of trees. Reference: blockml.predictors.tree_ensemble.Trees.sums. Values are added tree by
   tree, as there, so the sums are bit-identical. */
#include "predictors_ensemble.h"

/* Estimated nodes on the path of a row: if all paths together have fewer nodes than the trees, pruning tests costs more
   than it saves. */
enum { TYPICAL_DEPTH = 6 };

typedef struct {
    float threshold;
    int32_t column;   /* offset of its values */
    int32_t child[2]; /* for values up to the threshold, and above */
} PrunedNode;

/* Returns the range of n numbers that are `step` apart. Bits of floats, inverted below zero, are integers of the same
   order, whose comparisons compilers vectorise. */
static inline Range range_of(const float *numbers, Py_ssize_t n, Py_ssize_t step) {
    int32_t min = INT32_MAX, max = INT32_MIN, bits;
    for (Py_ssize_t i = 0; i < n; i++) {
        memcpy(&bits, numbers + i * step, 4);
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
    for (Py_ssize_t k = 0; k < matrix.n_columns; k++) {
        const float *column = matrix.values + k * matrix.column_step;
        ranges[k] = matrix.row_step == 1 ? range_of(column, matrix.n_rows, 1)
                                         : range_of(column, matrix.n_rows, matrix.row_step);
    }
}

/* Prunes the tests of a tree that are decided for all rows of the matrix. next[i] is the first node that remains on the
   path from node i. Children come after their parents. */
static void prune_tests(const Ensemble *e, int32_t root, int32_t stop, PrunedNode *nodes, int32_t *next) {
    for (int32_t i = stop - 1; i >= root; i--) {
        int32_t here = i - root;
        next[here] = here;
        if (e->feature[i] < 0) {
            nodes[here] = (PrunedNode){INFINITY, 0, {here, here}};
            continue;
        }
        Py_ssize_t column = e->feature[i] * e->matrix.column_step;
        int32_t left = next[e->left[i] - root], right = next[e->right[i] - root];
        float threshold = rounded_down(e->threshold[i]);
        if (all_left(e->ranges[e->feature[i]], threshold))
            next[here] = left;
        else if (all_right(e->ranges[e->feature[i]], threshold))
            next[here] = right;
        else
            nodes[here] = (PrunedNode){threshold, (int32_t)column, {left, right}};
    }
}

/* Adds the leaf values of a pruned tree. */
static void traverse(const PrunedNode *nodes, int32_t root, const double *value, Matrix matrix, double *out,
                     Py_ssize_t n_classes) {
    for (Py_ssize_t row = 0; row < matrix.n_rows; row++) {
        int32_t at = root, before;
        do {
            before = at;
            const float *x = matrix.values + row * matrix.row_step + nodes[at].column;
            at = nodes[at].child[!(*x <= nodes[at].threshold)];
        } while (at != before);
        out[row * n_classes] += value[at];
    }
}

/* Adds the leaf values of all trees, in order. `nodes` and `next` have room for all nodes. */
static void sum_pruned_trees(const Ensemble *e, PrunedNode *nodes, int32_t *next) {
    for (Py_ssize_t tree = 0; tree < e->n_trees; tree++) {
        int32_t root = e->roots[tree], stop = (int32_t)(tree + 1 < e->n_trees ? e->roots[tree + 1] : e->n);
        prune_tests(e, root, stop, nodes, next);
        traverse(nodes, next[0], e->value + root, e->matrix, e->sums + e->tree_class[tree], e->n_classes);
    }
}

/* Adds the leaf values row by row: for few rows and many nodes, most of which no row reaches. */
static void traverse_unpruned(const Ensemble *e) {
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

/* Opens a tuple of arrays; -1 with an exception set. Close it in any case. */
static int open_trees(PyObject *arrays, Py_ssize_t n_classes, TreeBuffers *b) {
    PyObject *object[N_TREE_ARRAYS];
    static const Py_ssize_t sizes[N_TREE_ARRAYS] = {4, 8, 4, 4, 8, 4, 4};
    b->n_open = 0;
    b->n_classes = n_classes;
    if (!PyTuple_Check(arrays)) {
        PyErr_SetString(PyExc_TypeError, "trees are a tuple of arrays");
        return -1;
    }
    if (!PyArg_ParseTuple(arrays, "OOOOOOOy#", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &object[6], &b->packed, &b->packed_size))
        return -1;
    for (; b->n_open < N_TREE_ARRAYS; b->n_open++)
        if (open_array(object[b->n_open], &b->view[b->n_open], sizes[b->n_open], 0) < 0) return -1;
    Py_ssize_t n_trees = b->view[ROOTS].len / 4, n = b->view[FEATURE].len / 4;
    if (!are_roots(b->view[ROOTS].buf, n_trees, n) || b->view[LEFT].len / 4 != n ||
        b->view[RIGHT].len / 4 != n || b->view[THRESHOLD].len / 8 != n || b->view[VALUE].len / 8 != n) {
        PyErr_SetString(PyExc_ValueError, "roots of trees must rise from 0, and arrays of nodes must have one length");
        return -1;
    }
    if (n_classes <= 0 || b->view[TREE_CLASS].len / 4 != n_trees ||
        (b->packed_size > 0 && !is_complete(b->packed, b->packed_size, n_trees)) ||
        !are_classes(b->view[TREE_CLASS].buf, n_trees, n_classes)) {
        PyErr_SetString(PyExc_ValueError, "each tree needs a class, and all trees must be packed, or none");
        return -1;
    }
    return 0;
}

static void close_trees(TreeBuffers *b) {
    while (b->n_open) PyBuffer_Release(&b->view[--b->n_open]);
}

/* Adds leaf values to sums (n_rows, n_classes). Returns 0, or -1 without memory. */
static int sum_ensemble(const TreeBuffers *b, Matrix matrix, double *sums) {
    const Py_buffer *view = b->view;
    Py_ssize_t n = view[FEATURE].len / 4, n_trees = view[ROOTS].len / 4;
    int is_traversed = b->packed_size == 0 || matrix.row_step != 1 || matrix.n_rows < MIN_PACKED_ROWS, failed = 0;
    if (matrix.n_rows == 0) return 0;
    size_t n_pruned = is_traversed ? (size_t)n : 0;
    size_t size = n_pruned * (sizeof(PrunedNode) + sizeof(int32_t)) + (size_t)matrix.n_columns * sizeof(Range);
    PrunedNode *nodes = malloc(size + 1);
    if (nodes == NULL) return -1;
    int32_t *next = (int32_t *)(nodes + n_pruned);
    Range *ranges = (Range *)(next + n_pruned);
    Ensemble ensemble = {view[FEATURE].buf, view[LEFT].buf, view[RIGHT].buf, view[ROOTS].buf, view[TREE_CLASS].buf,
                         view[THRESHOLD].buf, view[VALUE].buf, n, n_trees, matrix, ranges, sums, b->n_classes};
    if (n / TYPICAL_DEPTH > matrix.n_rows * n_trees) {
        traverse_unpruned(&ensemble);
    } else {
        find_ranges(matrix, ranges);
        if (is_traversed)
            sum_pruned_trees(&ensemble, nodes, next);
        else
            failed = sum_packed_trees(&ensemble, b->packed);
    }
    free(nodes);
    return failed;
}

/* tree_sums(trees, n_classes, matrix, by_column, sums): adds the leaf values of tree i to column tree_class[i] of sums.
   The matrix is row-major or column-major. Callers have checked the trees by Trees.check, and that the matrix has all
   columns they read. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    PyObject *trees, *object[2], *result = NULL;
    Py_ssize_t n_classes;
    int by_column, n_open = 0;
    Py_buffer view[2];
    TreeBuffers buffers = {.n_open = 0};
    static const Py_ssize_t sizes[2] = {4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!nOiO", &PyTuple_Type, &trees, &n_classes, &object[0], &by_column, &object[1]))
        return NULL;
    if (open_trees(trees, n_classes, &buffers) < 0 || (n_open = open_arrays(object, view, sizes, 2)) < 2) goto done;
    Py_ssize_t n_rows = view[1].len / 8 / n_classes, n_columns = n_rows > 0 ? view[0].len / 4 / n_rows : 0;
    if (view[0].len / 4 > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a matrix must have fewer than 2 ** 31 values");
        goto done;
    }
    Matrix matrix = {view[0].buf, n_rows, n_columns, by_column ? 1 : n_columns, by_column ? n_rows : 1};
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = sum_ensemble(&buffers, matrix, view[1].buf);
    Py_END_ALLOW_THREADS;
    if (failed < 0)
        PyErr_NoMemory();
    else
        result = Py_NewRef(Py_None);
done:
    while (n_open > 0) PyBuffer_Release(&view[--n_open]);
    close_trees(&buffers);
    return result;
}
