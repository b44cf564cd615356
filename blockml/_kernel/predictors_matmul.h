/* Products of small int16 matrices. Integer sums do not depend on their order, so results are equal on all machines. */
#ifndef BLOCKML_MATMUL_H
#define BLOCKML_MATMUL_H

#include "kernel.h"

/* Rows of weights are padded with zeros to a multiple of LANES items. */
enum { LANES = 16 };

static inline Py_ssize_t padded(Py_ssize_t count) { return (count + LANES - 1) / LANES * LANES; }

/* An int16 matrix in pairs of items: processors multiply two pairs and add both products to one sum. The first item of
   pair k in row i is values[2 * (i * row + k * pair)]. */
typedef struct {
    const int16_t *values;
    Py_ssize_t row, pair;
} Factor;

static inline Py_ssize_t pairs_of(Py_ssize_t count) { return (count + 1) / 2; }

/* Computes out (n, width) = begin (width,), 0 if NULL, + rows (n, 2 * pairs) times weights (pairs, width, 2). `width`
   is a multiple of LANES, no sum may exceed 32 bits, and rows of `out` are out_step items apart. */
void multiply(Factor rows, Py_ssize_t n, const int16_t *weights, Py_ssize_t pairs, Py_ssize_t width,
              const int32_t *begin, int32_t *out, Py_ssize_t out_step);

/* Returns whether a column has different values. */
int is_varying(const float *column, Py_ssize_t n);

#endif
