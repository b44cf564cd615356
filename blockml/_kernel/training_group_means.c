/* Means of chosen rows: the twin of functions in blockml.training.group_means.

   Floating-point sums depend on their order. To give what numpy gives, this adds as its reductions do: the first row
   and the pairwise sum of the others (Higham 1993, "The accuracy of floating point summation"), in eight partial sums
   up to 128 rows, in halves above. Each step takes whole rows, so the compiler can take several columns at once. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* Rows that numpy adds up without halving them, and partial sums that it keeps. */
enum { UNDIVIDED = 128, PARTIAL = 8 };

/* Columns that are added up at once. */
#if defined(__GNUC__)
typedef float Several __attribute__((vector_size(32), aligned(4), may_alias)); /* they may begin anywhere */
#else
typedef float Several;
#endif
enum { AT_ONCE = sizeof(Several) / sizeof(float) };

typedef struct {
    const float *rows;
    Py_ssize_t width;
} Rows;

static inline const float *row_at(Rows table, int64_t number) { return table.rows + number * table.width; }

/* out[k] = the sum of row[i][k] over up to 128 rows, for as many columns from k on as TYPE holds. */
#define SUM_OF_COLUMNS(NAME, TYPE)                                                                                     \
    static inline void NAME(const float *const *row, int64_t n, Py_ssize_t k, float *out) {                            \
        TYPE sum = {0}, part[PARTIAL];                                                                                 \
        int64_t i = 0;                                                                                                 \
        if (n >= PARTIAL) {                                                                                            \
            for (int j = 0; j < PARTIAL; j++) part[j] = *(const TYPE *)(row[j] + k);                                   \
            for (i = PARTIAL; i < n - n % PARTIAL; i += PARTIAL)                                                       \
                for (int j = 0; j < PARTIAL; j++) part[j] += *(const TYPE *)(row[i + j] + k);                          \
            sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));           \
        }                                                                                                              \
        for (; i < n; i++) sum += *(const TYPE *)(row[i] + k);                                                         \
        *(TYPE *)(out + k) = sum;                                                                                      \
    }
SUM_OF_COLUMNS(sum_of_several, Several)
SUM_OF_COLUMNS(sum_of_one, float)

/* Sum of rows[index[0]] … rows[index[n - 1]]; `space` holds a row for each halving that is still to come. */
WIDE static void pairwise(Rows table, const int64_t *index, int64_t n, float *restrict out, float *restrict space) {
    Py_ssize_t width = table.width, k = 0;
    if (n > UNDIVIDED) {
        int64_t half = n / 2;
        half -= half % PARTIAL;
        pairwise(table, index, half, out, space + width);
        pairwise(table, index + half, n - half, space, space + width);
        for (; k < width; k++) out[k] += space[k];
        return;
    }
    const float *row[UNDIVIDED];
    for (int64_t i = 0; i < n; i++) row[i] = row_at(table, index[i]);
    for (; k + AT_ONCE <= width; k += AT_ONCE) sum_of_several(row, n, k, out);
    for (; k < width; k++) sum_of_one(row, n, k, out);
}

/* Rows that aren't all zero. */
static int64_t counted(Rows table, const int64_t *index, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *row = row_at(table, index[i]);
        Py_ssize_t k = 0;
        while (k < table.width && row[k] == 0) k++;
        count += k < table.width;
    }
    return count;
}

static int halvings(int64_t n) {
    int count = 1;
    for (; n > UNDIVIDED; n = n - n / 2 + PARTIAL) count++;
    return count;
}

static void group_mean(Rows table, const int64_t *index, int64_t n, int skip_zeros, float *out, float *space) {
    Py_ssize_t width = table.width;
    int64_t count = skip_zeros ? counted(table, index, n) : n;
    memcpy(out, row_at(table, index[0]), (size_t)width * sizeof(float));
    if (n > 1) {
        pairwise(table, index + 1, n - 1, space, space + width);
        for (Py_ssize_t k = 0; k < width; k++) out[k] += space[k];
    }
    for (Py_ssize_t k = 0; k < width && count > 1; k++) out[k] /= (float)count;
}

/* Whether every index is one of a row, and every group has one at least. */
static int sound(const int64_t *index, Py_ssize_t n_index, const int64_t *starts, Py_ssize_t n_groups,
                 Py_ssize_t n_rows) {
    for (Py_ssize_t i = 0; i < n_index; i++)
        if (index[i] < 0 || index[i] >= n_rows) return 0;
    for (Py_ssize_t group = 0; group < n_groups; group++)
        if (starts[group] < 0 || starts[group] >= (group + 1 < n_groups ? starts[group + 1] : n_index)) return 0;
    return 1;
}

/* row_means(rows, width, index, starts, skip_zeros, out): the mean of each group of rows: group g has the rows
   index[starts[g]] … up to where the next group starts. */
PyObject *row_means(PyObject *module, PyObject *arguments) {
    PyObject *object[4], *result = NULL;
    Py_ssize_t width;
    int skip_zeros, opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOOiO", &object[0], &width, &object[1], &object[2], &skip_zeros, &object[3]))
        return NULL;
    static const Py_ssize_t sizes[4] = {4, 8, 8, 4};
    Py_buffer view[4];
    for (; opened < 4; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == 3) < 0) goto done;
    const int64_t *index = view[1].buf, *starts = view[2].buf;
    Py_ssize_t n_index = view[1].len / 8, n_groups = view[2].len / 8;
    Py_ssize_t n_rows = width > 0 ? view[0].len / 4 / width : 0;
    if (width <= 0 || view[3].len / 4 / width < n_groups ||
        !sound(index, n_index, starts, n_groups, n_rows)) {
        PyErr_SetString(PyExc_ValueError, "groups of rows that aren't there");
        goto done;
    }
    size_t rows_of_space = 1 + (size_t)halvings(n_index);
    float *space = malloc(rows_of_space * (size_t)width * sizeof(float));
    if (space == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    float *out = view[3].buf;
    Py_BEGIN_ALLOW_THREADS;
    Rows table = {view[0].buf, width};
    for (Py_ssize_t group = 0; group < n_groups; group++, out += width) {
        int64_t end = group + 1 < n_groups ? starts[group + 1] : n_index;
        group_mean(table, index + starts[group], end - starts[group], skip_zeros, out, space);
    }
    Py_END_ALLOW_THREADS;
    free(space);
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
