/* Sums of leaf values of many trees: the twin of blockml.predictors.tree_ensemble.Trees.sums. The values are added tree by tree, as in
   Python, so the sums are the same to the last bit. */
#include "predictors_trees.h"
#include <stdlib.h>
#include <string.h>

/* Rows that take a step together: each waits for its node and then for its value. A leaf sends its rows to itself, so
   that they can go on together without a branch. */
enum { TOGETHER = 8 };

/* Nodes that a row comes to in a tree, about: where all rows together come to less nodes than there are, packing them
   all would take longer than the walk. */
enum { USUAL_DEPTH = 6 };

typedef struct {
    float threshold;
    int32_t column; /* where its values begin */
    int32_t child[2]; /* at most the threshold, more */
} Node;

/* Between what numbers lie that are `step` apart. Their bits, turned round below zero, are whole numbers that rise as
   they do: compilers take several of these at once. */
static inline Column extent_of(const float *numbers, Py_ssize_t n, Py_ssize_t step) {
    int32_t least = INT32_MAX, most = INT32_MIN, bits;
    for (Py_ssize_t i = 0; i < n; i++) {
        memcpy(&bits, numbers + i * step, 4);
        bits ^= -(int32_t)(bits < 0) & INT32_MAX;
        least = bits < least ? bits : least;
        most = bits > most ? bits : most;
    }
    least ^= -(int32_t)(least < 0) & INT32_MAX;
    most ^= -(int32_t)(most < 0) & INT32_MAX;
    Column extent;
    memcpy(&extent.least, &least, 4), memcpy(&extent.most, &most, 4);
    int is_sound = extent.least <= extent.most; /* what is no number lies beyond all others */
    return is_sound ? extent : (Column){-INFINITY, INFINITY};
}

WIDE static void look_at_columns(Matrix matrix, Column *columns) {
    for (Py_ssize_t k = 0; k < matrix.n_columns; k++) {
        const float *column = matrix.values + k * matrix.column_step;
        columns[k] = matrix.row_step == 1 ? extent_of(column, matrix.n_rows, 1)
                                          : extent_of(column, matrix.n_rows, matrix.row_step);
    }
}

/* Nodes of a tree as they stand for one page: a test that is decided for all rows is passed over. `end` has the node
   where a way that comes to a node goes on. Children come after their parents. */
static void pack(const Work *work, int32_t root, int32_t stop, Node *nodes, int32_t *end) {
    for (int32_t i = stop - 1; i >= root; i--) {
        int32_t here = i - root;
        end[here] = here;
        if (work->feature[i] < 0) {
            nodes[here] = (Node){INFINITY, 0, {here, here}};
            continue;
        }
        Py_ssize_t column = work->feature[i] * work->matrix.column_step;
        int32_t left = end[work->left[i] - root], right = end[work->right[i] - root];
        float threshold = rounded_down(work->threshold[i]);
        if (all_are_less(work->columns[work->feature[i]], threshold))
            end[here] = left;
        else if (all_are_more(work->columns[work->feature[i]], threshold))
            end[here] = right;
        else
            nodes[here] = (Node){threshold, (int32_t)column, {left, right}};
    }
}

/* Adds the values of a packed tree, whose first node is `root`. */
static void walk(const Node *nodes, int32_t root, const double *value, Matrix matrix, double *out,
                 Py_ssize_t n_groups) {
    Py_ssize_t row = 0;
    for (; row + TOGETHER <= matrix.n_rows; row += TOGETHER) {
        int32_t at[TOGETHER], moved;
        const float *rows[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) {
            at[k] = root;
            rows[k] = matrix.values + (row + k) * matrix.row_step;
        }
        do {
            moved = 0;
            for (int k = 0; k < TOGETHER; k++) {
                const Node *node = nodes + at[k];
                int32_t next = node->child[!(rows[k][node->column] <= node->threshold)];
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (int k = 0; k < TOGETHER; k++) out[(row + k) * n_groups] += value[at[k]];
    }
    for (; row < matrix.n_rows; row++) {
        int32_t at = root, before;
        do {
            before = at;
            const float *x = matrix.values + row * matrix.row_step + nodes[at].column;
            at = nodes[at].child[!(*x <= nodes[at].threshold)];
        } while (at != before);
        out[row * n_groups] += value[at];
    }
}

/* Adds the values of all trees, one after another. `nodes` and `end` have room for all nodes. */
static void score(const Work *work, Node *nodes, int32_t *end) {
    for (Py_ssize_t tree = 0; tree < work->n_trees; tree++) {
        int32_t root = work->roots[tree], stop = (int32_t)(tree + 1 < work->n_trees ? work->roots[tree + 1] : work->n);
        pack(work, root, stop, nodes, end);
        walk(nodes, end[0], work->value + root, work->matrix, work->sums + work->group[tree], work->n_groups);
    }
}

/* The same row by row, without looking at each node: for a few rows and many nodes, most of which no row comes to. */
static void walk_unpacked(const Work *work) {
    for (Py_ssize_t tree = 0; tree < work->n_trees; tree++)
        for (Py_ssize_t row = 0; row < work->matrix.n_rows; row++) {
            const float *x = work->matrix.values + row * work->matrix.row_step;
            int32_t at = work->roots[tree];
            while (work->feature[at] >= 0)
                at = x[work->feature[at] * work->matrix.column_step] <= work->threshold[at] ? work->left[at]
                                                                                           : work->right[at];
            work->sums[row * work->n_groups + work->group[tree]] += work->value[at];
        }
}

static int in_range(const int32_t *group, Py_ssize_t n, Py_ssize_t n_groups) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (group[i] < 0 || group[i] >= n_groups) return 0;
    return 1;
}

/* Whether roots rise from 0 and lie inside of the nodes. */
static int are_roots(const int32_t *roots, Py_ssize_t n_trees, Py_ssize_t n) {
    if (n_trees == 0 || roots[0] != 0 || roots[n_trees - 1] >= n) return 0;
    for (Py_ssize_t i = 1; i < n_trees; i++)
        if (roots[i] <= roots[i - 1]) return 0;
    return 1;
}

int open_forest(PyObject *arrays, Py_ssize_t n_groups, Forest *forest) {
    PyObject *object[N_TREE_ARRAYS];
    static const Py_ssize_t sizes[N_TREE_ARRAYS] = {4, 8, 4, 4, 8, 4, 4};
    forest->opened = 0;
    forest->n_groups = n_groups;
    if (!PyTuple_Check(arrays)) {
        PyErr_SetString(PyExc_TypeError, "trees are a tuple of arrays");
        return -1;
    }
    if (!PyArg_ParseTuple(arrays, "OOOOOOOy#", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &object[6], &forest->kept, &forest->kept_size))
        return -1;
    for (; forest->opened < N_TREE_ARRAYS; forest->opened++)
        if (open_array(object[forest->opened], &forest->view[forest->opened], sizes[forest->opened], 0) < 0) return -1;
    Py_ssize_t n_trees = forest->view[ROOTS].len / 4, n = forest->view[FEATURE].len / 4;
    if (!are_roots(forest->view[ROOTS].buf, n_trees, n) || forest->view[LEFT].len / 4 != n ||
        forest->view[RIGHT].len / 4 != n || forest->view[THRESHOLD].len / 8 != n || forest->view[VALUE].len / 8 != n) {
        PyErr_SetString(PyExc_ValueError, "roots of trees must rise from 0, and columns of nodes have one length");
        return -1;
    }
    if (n_groups <= 0 || forest->view[GROUP].len / 4 != n_trees ||
        (forest->kept_size > 0 && !is_whole(forest->kept, forest->kept_size, n_trees)) ||
        !in_range(forest->view[GROUP].buf, n_trees, n_groups)) {
        PyErr_SetString(PyExc_ValueError, "each tree needs a group, and all are kept or none");
        return -1;
    }
    return 0;
}

void close_forest(Forest *forest) {
    while (forest->opened) PyBuffer_Release(&forest->view[--forest->opened]);
}

int sum_trees(const Forest *forest, Matrix matrix, double *sums) {
    const Py_buffer *view = forest->view;
    Py_ssize_t n = view[FEATURE].len / 4, n_trees = view[ROOTS].len / 4;
    int is_walked = forest->kept_size == 0 || matrix.row_step != 1 || matrix.n_rows < LEAST_ROWS, failed = 0;
    if (matrix.n_rows == 0) return 0;
    size_t n_packed = is_walked ? (size_t)n : 0;
    Node *nodes = malloc(n_packed * (sizeof(Node) + sizeof(int32_t)) + (size_t)matrix.n_columns * sizeof(Column) + 1);
    if (nodes == NULL) return -1;
    int32_t *end = (int32_t *)(nodes + n_packed);
    Column *columns = (Column *)(end + n_packed);
    Work work = {view[FEATURE].buf, view[LEFT].buf, view[RIGHT].buf, view[ROOTS].buf, view[GROUP].buf,
                 view[THRESHOLD].buf, view[VALUE].buf, n, n_trees, matrix, columns, sums, forest->n_groups};
    if (n / USUAL_DEPTH > matrix.n_rows * n_trees) {
        walk_unpacked(&work);
    } else {
        look_at_columns(matrix, columns);
        if (is_walked)
            score(&work, nodes, end);
        else
            failed = score_kept(&work, forest->kept);
    }
    free(nodes);
    return failed;
}

/* tree_sums(trees, n_groups, matrix, by_column, sums): adds the values of tree i to column group[i] of sums. The
   matrix lies row by row, or column by column. The trees were checked by Trees.check, and the matrix has all columns
   that they ask for: neither is looked at again. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    PyObject *trees, *object[2], *result = NULL;
    Py_ssize_t n_groups;
    int by_column, opened = 0;
    Py_buffer view[2];
    Forest forest = {.opened = 0};
    static const Py_ssize_t sizes[2] = {4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!nOiO", &PyTuple_Type, &trees, &n_groups, &object[0], &by_column, &object[1]))
        return NULL;
    if (open_forest(trees, n_groups, &forest) < 0 || (opened = open_arrays(object, view, sizes, 2)) < 2) goto done;
    Py_ssize_t n_rows = view[1].len / 8 / n_groups, n_columns = n_rows > 0 ? view[0].len / 4 / n_rows : 0;
    if (view[0].len / 4 > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a matrix has less than two billion numbers");
        goto done;
    }
    Matrix matrix = {view[0].buf, n_rows, n_columns, by_column ? 1 : n_columns, by_column ? n_rows : 1};
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = sum_trees(&forest, matrix, view[1].buf);
    Py_END_ALLOW_THREADS;
    if (failed < 0)
        PyErr_NoMemory();
    else
        result = Py_NewRef(Py_None);
done:
    while (opened > 0) PyBuffer_Release(&view[--opened]);
    close_forest(&forest);
    return result;
}
