/* Products of small matrices of floats, the same on all machines: terms are added one after another. */
#ifndef BLOCKML_MATRIX_H
#define BLOCKML_MATRIX_H

#include "kernel.h"

/* Rows of weights are padded with zeros to a multiple of so many numbers. */
enum { LANES = 16 };

static inline Py_ssize_t padded(Py_ssize_t count) { return (count + LANES - 1) / LANES * LANES; }

/* Numbers of a matrix: that of row i and column k is values[i * row + k * column]. */
typedef struct {
    const float *values;
    Py_ssize_t row, column;
} Factor;

/* out (n, width) = rows (n, terms) times weights (terms, width), `width` a multiple of LANES. Rows of weights, and of what
   comes out, begin so many numbers after one another. */
void multiply(Factor rows, Py_ssize_t n, const float *weights, Py_ssize_t weights_step, Py_ssize_t terms, Py_ssize_t width,
              float *out, Py_ssize_t out_step);

/* Whether the numbers of a column aren't all the same. */
int is_varying(const float *column, Py_ssize_t n);

#endif
