/* Sums of leaf values of many trees: the twin of blockml.trees.Trees.predict.

   A step waits for the node and then for the row's value. So several rows go through a tree at once, and a leaf sends
   its rows to itself, so that they can go on together without a branch. The values are added tree by tree, as in
   Python, so the sums are the same to the last bit. */
#include "kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that take a step together, and rows that pass all trees before the next ones come (they fit the first cache). */
enum { TOGETHER = 8, BATCH = 32 };

typedef struct {
    float threshold;
    int32_t feature;
    int32_t child[2]; /* at most the threshold, more */
} Node;

/* The largest float that is not larger: for floats, `x <= threshold` is the same as with the double. */
static float rounded_down(double threshold) {
    float rounded = (float)threshold;
    return (double)rounded > threshold ? nextafterf(rounded, -INFINITY) : rounded;
}

static Node *packed(const int32_t *feature, const double *threshold, const int32_t *left, const int32_t *right,
                    Py_ssize_t n) {
    Node *nodes = malloc((size_t)n * sizeof(Node));
    if (nodes == NULL) return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (feature[i] < 0) {
            nodes[i] = (Node){INFINITY, 0, {(int32_t)i, (int32_t)i}};
        } else {
            nodes[i] = (Node){rounded_down(threshold[i]), feature[i], {left[i], right[i]}};
        }
    }
    return nodes;
}

static void walk(const Node *nodes, const double *value, const int32_t *roots, Py_ssize_t n_trees, const float *matrix,
                 Py_ssize_t n_rows, Py_ssize_t n_columns, double *sums) {
    for (Py_ssize_t begin = 0; begin < n_rows; begin += BATCH) {
        Py_ssize_t end = begin + BATCH < n_rows ? begin + BATCH : n_rows;
        for (Py_ssize_t tree = 0; tree < n_trees; tree++) {
            Py_ssize_t row = begin;
            for (; row + TOGETHER <= end; row += TOGETHER) {
                int32_t at[TOGETHER];
                int32_t moved;
                for (int k = 0; k < TOGETHER; k++) at[k] = roots[tree];
                do {
                    moved = 0;
                    for (int k = 0; k < TOGETHER; k++) {
                        const Node *node = nodes + at[k];
                        float x = matrix[(row + k) * n_columns + node->feature];
                        int32_t next = node->child[!(x <= node->threshold)];
                        moved |= next ^ at[k];
                        at[k] = next;
                    }
                } while (moved);
                for (int k = 0; k < TOGETHER; k++) sums[row + k] += value[at[k]];
            }
            for (; row < end; row++) {
                int32_t at = roots[tree], before;
                do {
                    before = at;
                    at = nodes[at].child[!(matrix[row * n_columns + nodes[at].feature] <= nodes[at].threshold)];
                } while (at != before);
                sums[row] += value[at];
            }
        }
    }
}

/* tree_sums(feature, threshold, left, right, value, roots, matrix, sums): adds to sums. The arrays were checked by
   Trees.check, and the matrix has all columns: neither is looked at again. A value that is no number would never leave
   a leaf's comparison false both ways, so infinite thresholds only stand in leaves, whose children are the same. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    PyObject *object[8];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &object[0], &object[1], &object[2], &object[3], &object[4], &object[5],
                          &object[6], &object[7]))
        return NULL;
    static const Py_ssize_t sizes[8] = {4, 8, 4, 4, 8, 4, 4, 8};
    Py_buffer view[8];
    PyObject *result = NULL;
    int opened = 0;
    for (; opened < 8; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == 7) < 0) goto done;
    Py_ssize_t n_rows = view[7].len / 8;
    Node *nodes = packed(view[0].buf, view[1].buf, view[2].buf, view[3].buf, view[0].len / 4);
    if (nodes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS;
    walk(nodes, view[4].buf, view[5].buf, view[5].len / 4, view[6].buf, n_rows,
         n_rows ? view[6].len / 4 / n_rows : 0, view[7].buf);
    Py_END_ALLOW_THREADS;
    free(nodes);
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
