/* Trees and the rows that go through them: predictors_trees.c, predictors_small_trees.c. */
#ifndef BLOCKML_ENSEMBLE_H
#define BLOCKML_ENSEMBLE_H

#include "predictors_matmul.h"
#include <math.h>

/* A matrix: where the next row and the next column begin. */
typedef struct {
    const float *values;
    Py_ssize_t n_rows, n_columns, row_step, column_step;
} Matrix;

/* Between what the numbers of a column lie: a test whose threshold is beyond them is decided for all rows. */
typedef struct {
    float least, most;
} Column;

static inline int all_are_less(Column column, float threshold) { return column.most <= threshold; }
static inline int all_are_more(Column column, float threshold) { return column.least > threshold; }

/* Trees as they come, and the rows that go through them. */
typedef struct {
    const int32_t *feature, *left, *right, *roots, *group;
    const double *threshold, *value;
    Py_ssize_t n, n_trees;
    Matrix matrix;
    const Column *columns;
    double *sums;
    Py_ssize_t n_groups;
} Work;

/* Trees as Python has them, for as long as they are open: their columns, the group of each, and what small_trees made
   of them, or nothing. */
enum { FEATURE, THRESHOLD, LEFT, RIGHT, VALUE, ROOTS, GROUP, N_TREE_ARRAYS };

typedef struct {
    Py_buffer view[N_TREE_ARRAYS];
    int opened;
    const char *kept;
    Py_ssize_t kept_size, n_groups;
} Forest;

/* predictors_trees.c. Opens a tuple of arrays; -1 with an exception set. It is to be closed in any case. */
int open_forest(PyObject *arrays, Py_ssize_t n_groups, Forest *forest);
void close_forest(Forest *forest);
/* Adds to sums (n_rows, n_groups) the values of the leaves that rows come to. Returns 0, or -1 without memory. */
int sum_trees(const Forest *forest, Matrix matrix, double *sums);

/* Rows from which on small trees are not walked. */
enum { LEAST_ROWS = 8 };

/* The largest float that is not larger: for floats, `x <= threshold` is the same as with the double. */
static inline float rounded_down(double threshold) {
    float rounded = (float)threshold;
    return (double)rounded > threshold ? nextafterf(rounded, -INFINITY) : rounded;
}

/* predictors_small_trees.c. Whether there are as many kept trees as there should be, and no more. */
int is_whole(const char *kept, Py_ssize_t size, Py_ssize_t n_trees);
/* Adds the values of the kept trees, one after another; the matrix lies column by column. Returns 0, or -1 without
   memory. */
int score_kept(const Work *work, const char *kept);

#endif
