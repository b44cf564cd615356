#include "matrix.h"

/* A block of rows and columns is worked on at once, so many that their sums fit the registers and none waits for the one
   before it. Which block makes no difference to a sum. */
typedef struct {
    Factor rows;
    Py_ssize_t n;
    const float *weights;
    Py_ssize_t weights_step, terms, width;
    float *out;
    Py_ssize_t out_step;
} Product;

#if defined(__GNUC__)
#define PRODUCT(NAME, TARGET, BYTES, VECTORS, ROWS) \
    typedef float NAME##_floats __attribute__((vector_size(BYTES), aligned(4), may_alias)); /* they may begin anywhere */ \
    static inline __attribute__((always_inline)) TARGET void NAME##_tile(const Product *p, Py_ssize_t row, \
                                                                         Py_ssize_t column, int n) { \
        enum { WIDTH = BYTES / 4 }; \
        const float *value = p->rows.values + row * p->rows.row, *weight = p->weights + column; \
        NAME##_floats sums[ROWS][VECTORS]; \
        for (int i = 0; i < n; i++) \
            for (int j = 0; j < VECTORS; j++) sums[i][j] = (NAME##_floats){0}; \
        for (Py_ssize_t k = 0; k < p->terms; k++, value += p->rows.column, weight += p->weights_step) { \
            NAME##_floats several[VECTORS]; \
            for (int j = 0; j < VECTORS; j++) several[j] = *(const NAME##_floats *)(weight + j * WIDTH); \
            for (int i = 0; i < n; i++) \
                for (int j = 0; j < VECTORS; j++) sums[i][j] += value[i * p->rows.row] * several[j]; \
        } \
        float *out = p->out + row * p->out_step + column; \
        for (int i = 0; i < n; i++, out += p->out_step) \
            for (int j = 0; j < VECTORS; j++) *(NAME##_floats *)(out + j * WIDTH) = sums[i][j]; \
    } \
    static TARGET void NAME(const Product *p) { \
        for (Py_ssize_t column = 0; column < p->width; column += VECTORS * BYTES / 4) { \
            Py_ssize_t row = 0; \
            for (; row + ROWS <= p->n; row += ROWS) NAME##_tile(p, row, column, ROWS); \
            for (; row + 2 <= p->n; row += 2) NAME##_tile(p, row, column, 2); \
            if (row < p->n) NAME##_tile(p, row, column, 1); \
        } \
    }
PRODUCT(usual_product, , 16, 2, 4)
#if defined(__x86_64__)
PRODUCT(wide_product, __attribute__((target("avx2"))), 32, 2, 6)
PRODUCT(wider_product, __attribute__((target("avx512f"))), 64, 1, 12)
#endif
#else
static void usual_product(const Product *p) {
    for (Py_ssize_t row = 0; row < p->n; row++) {
        float *out = p->out + row * p->out_step;
        for (Py_ssize_t j = 0; j < p->width; j++) out[j] = 0;
        for (Py_ssize_t k = 0; k < p->terms; k++) {
            float value = p->rows.values[row * p->rows.row + k * p->rows.column];
            for (Py_ssize_t j = 0; j < p->width; j++) out[j] += value * p->weights[k * p->weights_step + j];
        }
    }
}
#endif

void multiply(Factor rows, Py_ssize_t n, const float *weights, Py_ssize_t weights_step, Py_ssize_t terms, Py_ssize_t width,
              float *out, Py_ssize_t out_step) {
    const Product product = {rows, n, weights, weights_step, terms, width, out, out_step};
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        wider_product(&product);
    else if (__builtin_cpu_supports("avx2"))
        wide_product(&product);
    else
#endif
        usual_product(&product);
}

enum { STRETCH = 32 };

WIDE int is_varying(const float *column, Py_ssize_t n) {
    Py_ssize_t i = 0;
    for (; i + STRETCH <= n; i += STRETCH) {
        int differs = 0; /* no branch for each, so that several are compared at once */
        for (int k = 0; k < STRETCH; k++) differs |= column[i + k] != column[0];
        if (differs) return 1;
    }
    for (; i < n; i++)
        if (column[i] != column[0]) return 1;
    return 0;
}
