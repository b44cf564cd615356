/* Sums of leaf values of many trees: the twin of blockml.trees.Trees.sums.

   A step waits for the node and then for the row's value. So several rows go through a tree at once, and a leaf sends
   its rows to itself, so that they can go on together without a branch. The values are added tree by tree, as in
   Python, so the sums are the same to the last bit. */
#include "kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that take a step together, and rows that pass all trees before the next ones come (they fit the first cache). */
enum { TOGETHER = 8, BATCH = 32 };

/* Nodes that a row comes to in a tree, about: where all rows together come to less nodes than there are, packing them
   all would take longer than the walk. */
enum { USUAL_DEPTH = 16 };

/* A matrix: where the next row and the next column begin. */
typedef struct {
    const float *values;
    Py_ssize_t n_rows, n_columns, row_step, column_step;
} Matrix;

typedef struct {
    float threshold;
    int32_t column; /* where its values begin */
    int32_t child[2]; /* at most the threshold, more */
} Node;

/* The largest float that is not larger: for floats, `x <= threshold` is the same as with the double. */
static float rounded_down(double threshold) {
    float rounded = (float)threshold;
    return (double)rounded > threshold ? nextafterf(rounded, -INFINITY) : rounded;
}

/* Whether each column is the same in all rows: those that tell of the page as a whole are, and many others. */
static void find_constant(Matrix matrix, unsigned char *constant) {
    for (Py_ssize_t k = 0; k < matrix.n_columns; k++) {
        const float *column = matrix.values + k * matrix.column_step;
        Py_ssize_t row = 1;
        while (row < matrix.n_rows && column[row * matrix.row_step] == column[0]) row++;
        constant[k] = row >= matrix.n_rows;
    }
}

/* Nodes as they stand for one page: a test of a constant column is decided for all rows, so that its node is passed
   over. `end` has the node where a way that comes to a node goes on. Children come after their parents. */
static void pack(const int32_t *feature, const double *threshold, const int32_t *left, const int32_t *right,
                 Py_ssize_t n, Matrix matrix, const unsigned char *constant, Node *nodes, int32_t *end) {
    for (Py_ssize_t i = n - 1; i >= 0; i--) {
        end[i] = (int32_t)i;
        if (feature[i] < 0) {
            nodes[i] = (Node){INFINITY, 0, {(int32_t)i, (int32_t)i}};
            continue;
        }
        Py_ssize_t column = feature[i] * matrix.column_step;
        if (constant[feature[i]]) {
            end[i] = end[matrix.values[column] <= threshold[i] ? left[i] : right[i]];
        } else {
            nodes[i] = (Node){rounded_down(threshold[i]), (int32_t)column, {end[left[i]], end[right[i]]}};
        }
    }
}

static void walk(const Node *nodes, const int32_t *end_of, const double *value, const int32_t *roots,
                 const int32_t *group, Py_ssize_t n_trees, Matrix matrix, double *sums, Py_ssize_t n_groups) {
    for (Py_ssize_t begin = 0; begin < matrix.n_rows; begin += BATCH) {
        Py_ssize_t end = begin + BATCH < matrix.n_rows ? begin + BATCH : matrix.n_rows;
        for (Py_ssize_t tree = 0; tree < n_trees; tree++) {
            Py_ssize_t row = begin;
            const int32_t root = end_of[roots[tree]];
            double *out = sums + group[tree];
            for (; row + TOGETHER <= end; row += TOGETHER) {
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
            for (; row < end; row++) {
                int32_t at = root, before;
                do {
                    before = at;
                    const float *x = matrix.values + row * matrix.row_step + nodes[at].column;
                    at = nodes[at].child[!(*x <= nodes[at].threshold)];
                } while (at != before);
                out[row * n_groups] += value[at];
            }
        }
    }
}

/* The same without packing, row by row: for a few rows and many nodes, most of which no row comes to. */
static void walk_unpacked(const int32_t *feature, const double *threshold, const int32_t *left, const int32_t *right,
                          const double *value, const int32_t *roots, const int32_t *group, Py_ssize_t n_trees,
                          Matrix matrix, double *sums, Py_ssize_t n_groups) {
    for (Py_ssize_t tree = 0; tree < n_trees; tree++)
        for (Py_ssize_t row = 0; row < matrix.n_rows; row++) {
            const float *x = matrix.values + row * matrix.row_step;
            int32_t at = roots[tree];
            while (feature[at] >= 0) at = x[feature[at] * matrix.column_step] <= threshold[at] ? left[at] : right[at];
            sums[row * n_groups + group[tree]] += value[at];
        }
}

static int in_range(const int32_t *group, Py_ssize_t n, Py_ssize_t n_groups) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (group[i] < 0 || group[i] >= n_groups) return 0;
    return 1;
}

/* tree_sums(feature, threshold, left, right, value, roots, group, matrix, by_column, sums, n_groups): adds the values of
   tree i to column group[i] of sums. The matrix lies row by row, or column by column. The trees were checked by Trees.check, and the matrix has all columns that they ask for:
   neither is looked at again. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    PyObject *object[9], *result = NULL;
    Py_ssize_t n_groups;
    int by_column;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOiOn", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &object[6], &object[7], &by_column, &object[8], &n_groups))
        return NULL;
    static const Py_ssize_t sizes[9] = {4, 8, 4, 4, 8, 4, 4, 4, 8};
    Py_buffer view[9];
    int opened = 0;
    for (; opened < 9; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == 8) < 0) goto done;
    Py_ssize_t n = view[0].len / 4, n_trees = view[5].len / 4;
    Py_ssize_t n_rows = n_groups > 0 ? view[8].len / 8 / n_groups : 0;
    Py_ssize_t n_columns = n_rows > 0 ? view[7].len / 4 / n_rows : 0;
    if (n_groups <= 0 || view[7].len / 4 > INT32_MAX || view[6].len / 4 != n_trees || !in_range(view[6].buf, n_trees, n_groups)) {
        PyErr_SetString(PyExc_ValueError, "each tree needs a group, and a matrix has less than two billion numbers");
        goto done;
    }
    Node *nodes = malloc((size_t)n * (sizeof(Node) + sizeof(int32_t)) + (size_t)n_columns);
    if (nodes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    int32_t *end = (int32_t *)(nodes + n);
    unsigned char *constant = (unsigned char *)(end + n);
    Matrix matrix = {view[7].buf, n_rows, n_columns, by_column ? 1 : n_columns, by_column ? n_rows : 1};
    Py_BEGIN_ALLOW_THREADS;
    if (n / USUAL_DEPTH > n_rows * n_trees) {
        walk_unpacked(view[0].buf, view[1].buf, view[2].buf, view[3].buf, view[4].buf, view[5].buf, view[6].buf, n_trees,
                      matrix, view[8].buf, n_groups);
    } else if (n_rows > 0) {
        find_constant(matrix, constant);
        pack(view[0].buf, view[1].buf, view[2].buf, view[3].buf, n, matrix, constant, nodes, end);
        walk(nodes, end, view[4].buf, view[5].buf, view[6].buf, n_trees, matrix, view[8].buf, n_groups);
    }
    Py_END_ALLOW_THREADS;
    free(nodes);
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
