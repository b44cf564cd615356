/* Log odds and probabilities. Reference: blockml.predictors.log_odds.

   Exponential and logarithm are made of sums, products and quotients, which are the same on every machine; what
   libraries give for them is not. */
#include "predictors_mlp.h"

/* As in log_odds.py. */
static const double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33, PER_LN2 = 0x1.71547652b82fep+0;
static const double SURE = 1e-6, LARGEST = 700;
/* Added to a number and taken off again, it leaves the nearest whole one; and what is before the point in its bits. */
static const double ROUNDING = 0x1.8p52;
enum { EXPONENTIAL_TERMS = 14, LOGARITHM_TERMS = 11 };

/* e to a power within +- LARGEST: a power of two times a Taylor series. */
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

/* The logarithm of a positive number: that of a power of two, and a series for what lies between about half the root of
   two and the root of two. */
static inline double logarithm(double x) {
    uint64_t bits, from_least;
    memcpy(&bits, &x, 8);
    from_least = bits - 0x3fe6a09e00000000 + ((uint64_t)1023 << 52); /* less the root of a half */
    uint64_t power_bits = from_least >> 52;
    bits -= (power_bits - 1023) << 52;
    memcpy(&x, &bits, 8);
    /* as a number behind the point of 2 ** 52, for machines that can't turn several whole numbers into floats */
    power_bits |= 0x4330000000000000;
    double power;
    memcpy(&power, &power_bits, 8);
    power -= 0x1p52 + 1023;
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (int k = LOGARITHM_TERMS - 1; k >= 0; k--) sum = sum * square + 1.0 / (2 * k + 1);
    return power * LN2_HIGH + (2 * s * sum + power * LN2_LOW);
}

/* What is no number becomes `least`: its bits would overflow where they are shifted as those of a power. */
static inline double within(double least, double x, double most) {
    x = x > least ? x : least;
    return x > most ? most : x;
}

/* So many numbers are brought within bounds before more is done: compilers take several at once then, where they would
   go another way for those beyond. */
enum { SOME = 64 };

WIDE static void write_log_odds(const double *restrict probabilities, size_t n, double *restrict odds) {
    double x[SOME];
    for (size_t i, some; n > 0; n -= some, probabilities += some, odds += some) {
        some = n < SOME ? n : SOME;
        for (i = 0; i < some; i++) x[i] = within(SURE, probabilities[i], 1 - SURE);
        for (i = 0; i < some; i++) odds[i] = logarithm(x[i] / (1 - x[i]));
    }
}

WIDE void write_sigmoids(const double *restrict odds, size_t n, float *restrict probabilities) {
    double x[SOME];
    for (size_t i, some; n > 0; n -= some, probabilities += some, odds += some) {
        some = n < SOME ? n : SOME;
        for (i = 0; i < some; i++) x[i] = within(-LARGEST, odds[i], LARGEST);
        for (i = 0; i < some; i++) probabilities[i] = (float)(1 / (1 + exponential(-x[i])));
    }
}

/* Opens an array of doubles, and one of as many items of `size` bytes to write into; NULL with an exception set. */
static PyObject *open_both(PyObject *arguments, Py_buffer *view, Py_ssize_t size) {
    PyObject *object[2];
    const Py_ssize_t sizes[2] = {8, size};
    if (!PyArg_ParseTuple(arguments, "OO", &object[0], &object[1])) return NULL;
    int opened = open_arrays(object, view, sizes, 2);
    if (opened == 2 && view[0].len / 8 == view[1].len / size) return Py_None;
    if (opened == 2) PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
    while (opened--) PyBuffer_Release(&view[opened]);
    return NULL;
}

static PyObject *close_both(Py_buffer *view) {
    PyBuffer_Release(&view[1]);
    PyBuffer_Release(&view[0]);
    return Py_NewRef(Py_None);
}

/* sigmoid(odds, probabilities): writes probabilities (n,) as floats. */
PyObject *sigmoid(PyObject *module, PyObject *arguments) {
    Py_buffer view[2];
    (void)module;
    if (open_both(arguments, view, 4) == NULL) return NULL;
    write_sigmoids(view[0].buf, (size_t)view[0].len / 8, view[1].buf);
    return close_both(view);
}

/* log_odds(probabilities, odds): writes log odds (n,) as doubles. */
PyObject *log_odds(PyObject *module, PyObject *arguments) {
    Py_buffer view[2];
    (void)module;
    if (open_both(arguments, view, 8) == NULL) return NULL;
    write_log_odds(view[0].buf, (size_t)view[0].len / 8, view[1].buf);
    return close_both(view);
}
