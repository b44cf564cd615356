/* Products of small matrices of whole numbers. Their sums are the same in any order, and so on all machines. */
#ifndef BLOCKML_MATRIX_H
#define BLOCKML_MATRIX_H

#include "kernel.h"

/* Rows of weights are padded with zeros to a multiple of so many numbers. */
enum { LANES = 16 };

static inline Py_ssize_t padded(Py_ssize_t count) { return (count + LANES - 1) / LANES * LANES; }

/* Numbers of a matrix, in pairs: processors multiply two and two, and add both to one sum. The first one of the pair
   k in row i is values[2 * (i * row + k * pair)]. */
typedef struct {
    const int16_t *values;
    Py_ssize_t row, pair;
} Factor;

static inline Py_ssize_t pairs_of(Py_ssize_t count) { return (count + 1) / 2; }

/* out (n, width) = begin (width,), or 0 where it is NULL, + rows (n, 2 * pairs) times weights (pairs, width, 2),
   `width` a multiple of LANES. No sum may be beyond 32 bits. Rows that come out begin so many numbers after one
   another. */
void multiply(Factor rows, Py_ssize_t n, const int16_t *weights, Py_ssize_t pairs, Py_ssize_t width,
              const int32_t *begin, int32_t *out, Py_ssize_t out_step);

/* Whether the numbers of a column aren't all the same. */
int is_varying(const float *column, Py_ssize_t n);

#endif
