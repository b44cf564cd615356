/* Sums over trees: predictors_trees.c, predictors_small_trees.c. */
#ifndef BLOCKML_ENSEMBLE_H
#define BLOCKML_ENSEMBLE_H

#include "predictors_matmul.h"
#include <math.h>

/* A matrix with the strides of its rows and columns. */
typedef struct {
    const float *values;
    Py_ssize_t n_rows, n_columns, row_step, column_step;
} Matrix;

/* Smallest and largest value of a column: a test with a threshold outside this range is decided for all rows. */
typedef struct {
    float min, max;
} Range;

static inline int all_left(Range range, float threshold) { return range.max <= threshold; }
static inline int all_right(Range range, float threshold) { return range.min > threshold; }

/* Arrays of blockml.predictors.tree_ensemble.TREE_ARRAYS. */
enum { FEATURE, THRESHOLD, LEFT, RIGHT, VALUE, ROOTS, N_TREE_ARRAYS };

/* Trees, the matrix they are applied to, and the sums by class. */
typedef struct {
    const int32_t *feature, *left, *right, *roots, *tree_class;
    const double *threshold, *value;
    Py_ssize_t n, n_trees;
    char *packed; /* small trees; NULL if a tree has too many leaves */
    Matrix matrix;
    const Range *ranges;
    double *sums;
    Py_ssize_t n_classes;
} Ensemble;

/* Matrices with fewer rows are traversed row by row instead of using packed trees: packed trees take the same time for
   up to about this many. */
enum { MIN_PACKED_ROWS = 24 };

/* Rounds a threshold down to a float: for floats, `x <= threshold` gives the same as with the double. */
static inline float rounded_down(double threshold) {
    float rounded = (float)threshold;
    return (double)rounded > threshold ? nextafterf(rounded, -INFINITY) : rounded;
}

/* predictors_small_trees.c. Both return 0, or -1 without memory. */
/* Packs trees, unless one has too many leaves. */
int pack_small_trees(Ensemble *e);
/* Adds the leaf values of packed trees, in order, to the sums of a column-major matrix. */
int sum_packed_trees(const Ensemble *e);

#endif
