/* Log odds and probabilities. Reference: blockml.predictors.base.

   Exponential and logarithm are computed by sums, products and quotients, which are equal on every machine; those of
   mathematical libraries differ in the last bit. */
#include "predictors_mlp.h"

/* As in log_odds.py. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33, PER_LN2 = 0x1.71547652b82fep+0;
static const double MIN_PROBABILITY = 1e-6, MAX_LOG_ODDS = 700;
/* Adding and subtracting this rounds to the nearest integer, which is in the low bits of the sum. */
static const double ROUNDING = 0x1.8p52;
enum { EXPONENTIAL_TERMS = 14, LOGARITHM_TERMS = 11 };

/* Returns e ** x for x within +- MAX_LOG_ODDS: a power of two times a Taylor series. */
static inline double exponential(double x) {
    double shifted = x * PER_LN2 + ROUNDING, whole = shifted - ROUNDING;
    double rest = (x - whole * LN2_HIGH) - whole * LN2_LOW, sum = 1;
    for (int k = EXPONENTIAL_TERMS - 1; k > 0; k--) sum = 1 + sum * (rest * (1.0 / k));
    int64_t bits, rounding;
    memcpy(&bits, &shifted, 8), memcpy(&rounding, &ROUNDING, 8);
    bits = (bits - rounding + 1023) * ((int64_t)1 << 52);
    double power;
    memcpy(&power, &bits, 8);
    return sum * power;
}

/* Returns the logarithm of a positive number: that of a power of two, plus a series for the factor between about
   sqrt(1/2) and sqrt(2). */
static inline double logarithm(double x) {
    uint64_t bits, shifted;
    memcpy(&bits, &x, 8);
    shifted = bits - 0x3fe6a09e00000000 + ((uint64_t)1023 << 52); /* minus the bits of sqrt(1/2) */
    uint64_t power_bits = shifted >> 52;
    bits -= (power_bits - 1023) << 52;
    memcpy(&x, &bits, 8);
    /* integer to double by the bits of 2 ** 52, for machines without a vectorised conversion */
    power_bits |= 0x4330000000000000;
    double power;
    memcpy(&power, &power_bits, 8);
    power -= 0x1p52 + 1023;
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (int k = LOGARITHM_TERMS - 1; k >= 0; k--) sum = sum * square + 1.0 / (2 * k + 1);
    return power * LN2_HIGH + (2 * s * sum + power * LN2_LOW);
}

/* Clips a number. NaN becomes `low`: its bits would overflow in the shift of the exponent. */
static inline double clip(double low, double x, double high) {
    x = x > low ? x : low;
    return x > high ? high : x;
}

/* Numbers in a batch. They are clipped in a separate loop, so that compilers vectorise instead of branching. */
enum { BATCH = 64 };

WIDE void compute_log_odds(const double *restrict probabilities, size_t n, double *restrict log_odds) {
    double x[BATCH];
    for (size_t i, size; n > 0; n -= size, probabilities += size, log_odds += size) {
        size = n < BATCH ? n : BATCH;
        for (i = 0; i < size; i++) x[i] = clip(MIN_PROBABILITY, probabilities[i], 1 - MIN_PROBABILITY);
        for (i = 0; i < size; i++) log_odds[i] = logarithm(x[i] / (1 - x[i]));
    }
}

WIDE void write_sigmoids(const double *restrict log_odds, size_t n, float *restrict probabilities) {
    double x[BATCH];
    for (size_t i, size; n > 0; n -= size, probabilities += size, log_odds += size) {
        size = n < BATCH ? n : BATCH;
        for (i = 0; i < size; i++) x[i] = clip(-MAX_LOG_ODDS, log_odds[i], MAX_LOG_ODDS);
        for (i = 0; i < size; i++) probabilities[i] = (float)(1 / (1 + exponential(-x[i])));
    }
}

/* Opens an array of doubles, and a writable one of as many items. */
static int open_pair(PyObject *arguments, Py_buffer *view, const char *types) {
    if (open_arrays(arguments, view, types) < 0) return -1;
    if (n_items(&view[0]) == n_items(&view[1])) return 0;
    PyErr_SetString(PyExc_ValueError, "arrays differ in length");
    close_arrays(view, 2);
    return -1;
}

/* sigmoid(log_odds, probabilities): writes probabilities (n,) as floats. */
PyObject *sigmoid(PyObject *module, PyObject *arguments) {
    Py_buffer view[2];
    (void)module;
    if (open_pair(arguments, view, "d *f") < 0) return NULL;
    write_sigmoids(view[0].buf, (size_t)n_items(&view[0]), view[1].buf);
    close_arrays(view, 2);
    return Py_NewRef(Py_None);
}

/* log_odds(probabilities, odds): writes log odds (n,) as doubles. */
PyObject *log_odds(PyObject *module, PyObject *arguments) {
    Py_buffer view[2];
    (void)module;
    if (open_pair(arguments, view, "d *d") < 0) return NULL;
    compute_log_odds(view[0].buf, (size_t)n_items(&view[0]), view[1].buf);
    close_arrays(view, 2);
    return Py_NewRef(Py_None);
}
