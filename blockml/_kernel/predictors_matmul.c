#include "predictors_matmul.h"
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_X86_VECTORS
#endif

typedef struct {
    Factor rows;
    Py_ssize_t n;
    const int16_t *weights;
    Py_ssize_t pairs, width;
    const int32_t *begin;
    int32_t *out;
    Py_ssize_t out_step;
} Product;

#ifdef HAS_X86_VECTORS
/* Products by tiles of rows and columns: as large as fits the registers, so that no sum waits for the one before it. */
#define PRODUCT(NAME, TARGET, TYPE, OPERATION, ADD_PRODUCTS, LOAD, STORE, VECTORS, ROWS) \
    static inline __attribute__((always_inline, target(TARGET))) void NAME##_tile(const Product *p, Py_ssize_t row, \
                                                                                 Py_ssize_t column, int n) { \
        enum { WIDTH = sizeof(TYPE) / 4 }; \
        const int16_t *value = p->rows.values + 2 * row * p->rows.row, *weight = p->weights + 2 * column; \
        TYPE sums[ROWS][VECTORS]; \
        for (int j = 0; j < VECTORS; j++) { \
            TYPE initial = OPERATION(set1_epi32)(0); \
            if (p->begin != NULL) initial = LOAD((const void *)(p->begin + column + j * WIDTH)); \
            for (int i = 0; i < n; i++) sums[i][j] = initial; \
        } \
        for (Py_ssize_t k = 0; k < p->pairs; k++, value += 2 * p->rows.pair, weight += 2 * p->width) { \
            TYPE weights[VECTORS]; \
            for (int j = 0; j < VECTORS; j++) weights[j] = LOAD((const void *)(weight + 2 * j * WIDTH)); \
            for (int i = 0; i < n; i++) { \
                int32_t pair; \
                memcpy(&pair, value + 2 * i * p->rows.row, sizeof pair); \
                for (int j = 0; j < VECTORS; j++) \
                    sums[i][j] = ADD_PRODUCTS(sums[i][j], OPERATION(set1_epi32)(pair), weights[j]); \
            } \
        } \
        int32_t *out = p->out + row * p->out_step + column; \
        for (int i = 0; i < n; i++, out += p->out_step) \
            for (int j = 0; j < VECTORS; j++) STORE((void *)(out + j * WIDTH), sums[i][j]); \
    } \
    static __attribute__((target(TARGET))) void NAME(const Product *p) { \
        for (Py_ssize_t column = 0; column < p->width; column += (Py_ssize_t)(VECTORS * sizeof(TYPE) / 4)) { \
            Py_ssize_t row = 0; \
            for (; row + ROWS <= p->n; row += ROWS) NAME##_tile(p, row, column, ROWS); \
            if (row < p->n && p->n >= ROWS) { /* a whole tile costs less than small ones: some rows are written twice */ \
                NAME##_tile(p, p->n - ROWS, column, ROWS); \
                continue; \
            } \
            for (; row + 2 <= p->n; row += 2) NAME##_tile(p, row, column, 2); \
            if (row < p->n) NAME##_tile(p, row, column, 1); \
        } \
    }
#define OF_AVX2(name) _mm256_##name
#define OF_AVX512(name) _mm512_##name
#define ADD_AVX2(sum, one, other) _mm256_add_epi32(sum, _mm256_madd_epi16(one, other))
#define ADD_AVX512(sum, one, other) _mm512_add_epi32(sum, _mm512_madd_epi16(one, other))
PRODUCT(product_avx2, "avx2", __m256i, OF_AVX2, ADD_AVX2, _mm256_loadu_si256, _mm256_storeu_si256, 2, 4)
PRODUCT(product_avx512bw, "avx512f,avx512bw", __m512i, OF_AVX512, ADD_AVX512, _mm512_loadu_si512,
        _mm512_storeu_si512, 1, 12)
PRODUCT(product_vnni, "avx512f,avx512vnni", __m512i, OF_AVX512, _mm512_dpwssd_epi32, _mm512_loadu_si512,
        _mm512_storeu_si512, 1, 12)
/* Wider tiles, for widths that are multiples of theirs, load fewer values per product. */
PRODUCT(product_vnni3, "avx512f,avx512vnni", __m512i, OF_AVX512, _mm512_dpwssd_epi32, _mm512_loadu_si512,
        _mm512_storeu_si512, 3, 6)
PRODUCT(product_vnni4, "avx512f,avx512vnni", __m512i, OF_AVX512, _mm512_dpwssd_epi32, _mm512_loadu_si512,
        _mm512_storeu_si512, 4, 6)
#endif

static void product_scalar(const Product *p) {
    for (Py_ssize_t row = 0; row < p->n; row++) {
        int32_t *out = p->out + row * p->out_step;
        for (Py_ssize_t j = 0; j < p->width; j++) out[j] = p->begin != NULL ? p->begin[j] : 0;
        for (Py_ssize_t k = 0; k < p->pairs; k++) {
            const int16_t *value = p->rows.values + 2 * (row * p->rows.row + k * p->rows.pair);
            const int16_t *weight = p->weights + 2 * k * p->width;
            for (Py_ssize_t j = 0; j < p->width; j++) out[j] += value[0] * weight[2 * j] + value[1] * weight[2 * j + 1];
        }
    }
}

void multiply(Factor rows, Py_ssize_t n, const int16_t *weights, Py_ssize_t pairs, Py_ssize_t width,
              const int32_t *begin, int32_t *out, Py_ssize_t out_step) {
    const Product product = {rows, n, weights, pairs, width, begin, out, out_step};
#ifdef HAS_X86_VECTORS
    if (__builtin_cpu_supports("avx512vnni"))
        (width % (4 * LANES) == 0 ? product_vnni4 : width % (3 * LANES) == 0 ? product_vnni3 : product_vnni)(&product);
    else if (__builtin_cpu_supports("avx512bw"))
        product_avx512bw(&product);
    else if (__builtin_cpu_supports("avx2"))
        product_avx2(&product);
    else
#endif
        product_scalar(&product);
}

enum { STRETCH = 48 };

WIDE int is_varying(const float *column, Py_ssize_t n) {
    Py_ssize_t i = 0;
    for (; i + STRETCH <= n; i += STRETCH) {
        int differs = 0; /* branch-free, so that the loop is vectorised */
        for (int k = 0; k < STRETCH; k++) differs |= column[i + k] != column[0];
        if (differs) return 1;
    }
    for (; i < n; i++)
        if (column[i] != column[0]) return 1;
    return 0;
}
