/* Packing of MLPs, and checks of their inputs. Prediction: predictors_mlp_layers.c. */
#include "predictors_mlp.h"

#define CAPSULE "blockml.mlp"

/* Limits: units as in MLP.check; columns and words beyond those of the largest MLP that passes it; words of a bag whose
   vectors can be summed in 32 bits. */
enum { MAX_UNITS = 1 << 14, MAX_ROWS = 1 << 25, MAX_BAG_WORDS = 1 << 16 };

static void free_mlp(PyObject *capsule) {
    Mlp *mlp = PyCapsule_GetPointer(capsule, CAPSULE);
    if (mlp != NULL) free(mlp->memory);
    free(mlp);
}

/* Copies rows of `groups` groups of `width` items of `size` bytes each, and pads every group. */
static void copy_padded(const char *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, Py_ssize_t size,
                        char *to) {
    for (Py_ssize_t i = 0; i < rows * groups; i++, from += width * size, to += padded(width) * size)
        memcpy(to, from, (size_t)(width * size));
}

/* Copies rows like copy_padded, with the rows of each pair interleaved. */
static void copy_pairs(const int16_t *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, int16_t *to) {
    Py_ssize_t step = groups * padded(width);
    for (Py_ssize_t row = 0; row < rows; row++)
        for (Py_ssize_t group = 0; group < groups; group++)
            for (Py_ssize_t k = 0; k < width; k++)
                to[2 * (row / 2 * step + group * padded(width) + k) + row % 2] = *from++;
}

/* Arrays of blockml.predictors.mlp.QuantizedMLP. */
enum { CENTER, SCALE, INPUT_U, INPUT_V, INPUT_SCALE, INPUT_BIAS, WORD_VECTORS, KNOWN_WORDS, WORD_PROJECTION, WORD_SCALE,
       SELF_WEIGHTS, PAGE_WEIGHTS, GROUP_WEIGHTS, HIDDEN_SCALE, HIDDEN_BIAS, OUTPUT_WEIGHTS, OUTPUT_SCALE, OUTPUT_BIAS,
       N_ARRAYS };
static const Named NAMED[N_ARRAYS] = {
    [CENTER] = {"center", "f"}, [SCALE] = {"scale", "f"}, [INPUT_U] = {"input_u", "h"}, [INPUT_V] = {"input_v", "h"},
    [INPUT_SCALE] = {"input_scale", "f"}, [INPUT_BIAS] = {"input_bias", "f"}, [WORD_VECTORS] = {"word_vectors", "h"},
    [KNOWN_WORDS] = {"known_words", "B"}, [WORD_PROJECTION] = {"word_projection", "h"},
    [WORD_SCALE] = {"word_scale", "f"}, [SELF_WEIGHTS] = {"self_weights", "h"}, [PAGE_WEIGHTS] = {"page_weights", "h"},
    [GROUP_WEIGHTS] = {"group_weights", "h"}, [HIDDEN_SCALE] = {"hidden_scale", "f"},
    [HIDDEN_BIAS] = {"hidden_bias", "f"}, [OUTPUT_WEIGHTS] = {"output_weights", "h"},
    [OUTPUT_SCALE] = {"output_scale", "f"}, [OUTPUT_BIAS] = {"output_bias", "f"},
};

/* Reads the sizes of an MLP from the shapes of its arrays. Returns whether they are within limits, so that no product
   of them overflows, and all arrays have those sizes. */
static int read_sizes(Mlp *mlp, const Py_buffer *view) {
    const Py_buffer *self = &view[SELF_WEIGHTS], *projection = &view[WORD_PROJECTION], *groups = &view[GROUP_WEIGHTS];
    if (self->ndim != 3 || projection->ndim != 3 || groups->ndim != 3 || view[INPUT_V].ndim < 1) return 0;
    Py_ssize_t f = mlp->f = n_items(&view[CENTER]), m = mlp->m = self->shape[0], h = mlp->h = self->shape[1];
    Py_ssize_t k = mlp->k = self->shape[2], d = mlp->d = projection->shape[1];
    Py_ssize_t rank = mlp->n_factors = view[INPUT_V].shape[0];
    mlp->n_groupings = h > 0 ? groups->shape[1] / h : 0;
    mlp->n_words = n_items(&view[KNOWN_WORDS]);
    if (!(f > 0 && f <= MAX_ROWS && m > 0 && m <= MAX_UNITS && h > 0 && h <= MAX_UNITS && k > 0 && k <= MAX_UNITS &&
          d <= MAX_UNITS && mlp->n_groupings <= MAX_GROUPINGS && mlp->n_words <= MAX_ROWS && rank <= MAX_UNITS))
        return 0;
    const Py_ssize_t wanted[N_ARRAYS] = {
        f, f, f * (rank ? rank : m * h), rank * m * h, m * h, m * h, mlp->n_words * m * d, mlp->n_words, m * d * h,
            m * h,
        m * h * k, 2 * m * h * k, m * mlp->n_groupings * h * k, m * k, m * k, m * k, m, m,
    };
    for (int i = 0; i < N_ARRAYS; i++)
        if (n_items(&view[i]) != wanted[i]) return 0;
    return 1;
}

/* Allocates memory for the arrays and copies them; returns 0 without memory. */
static int copy_arrays(Mlp *mlp, const Py_buffer *view) {
    Py_ssize_t m = mlp->m, h = mlp->h, k = mlp->k, d = mlp->d, rank = mlp->n_factors;
    mlp->all_h = m * padded(h);
    mlp->all_k = m * padded(k);
    mlp->rank = rank ? padded(rank) : mlp->all_h;
    mlp->vector_size = m * 2 * pairs_of(d);
    /* Arrays in pairs of rows consist of n_parts matrices of `rows` rows each. */
    struct {
        void *place;
        int from;
        Py_ssize_t n_parts, rows, groups, width;
        int in_pairs;
    } copies[] = {
        {&mlp->center, CENTER, 1, 1, 1, mlp->f, 0}, {&mlp->scale, SCALE, 1, 1, 1, mlp->f, 0},
        {&mlp->input_scale, INPUT_SCALE, 1, 1, m, h, 0}, {&mlp->input_bias, INPUT_BIAS, 1, 1, m, h, 0},
        {&mlp->word_scale, WORD_SCALE, 1, 1, m, h, 0}, {&mlp->hidden_scale, HIDDEN_SCALE, 1, 1, m, k, 0},
        {&mlp->hidden_bias, HIDDEN_BIAS, 1, 1, m, k, 0}, {&mlp->output_scale, OUTPUT_SCALE, 1, 1, 1, m, 0},
        {&mlp->output_bias, OUTPUT_BIAS, 1, 1, 1, m, 0},
        {&mlp->input_u, INPUT_U, 1, mlp->f, rank ? 1 : m, rank ? rank : h, 0},
        {&mlp->output_weights, OUTPUT_WEIGHTS, 1, 1, m, k, 0}, {&mlp->input_v, INPUT_V, 1, rank, m, h, 1},
        {&mlp->word_projection, WORD_PROJECTION, m, d, 1, h, 1},
        {&mlp->self_weights, SELF_WEIGHTS, m, h, 1, k, 1}, {&mlp->page_weights, PAGE_WEIGHTS, 2 * m, h, 1, k, 1},
        {&mlp->group_weights, GROUP_WEIGHTS, m * mlp->n_groupings, h, 1, k, 1},
    };
    enum { COPIES = sizeof copies / sizeof *copies };
    Py_ssize_t total = mlp->n_words * (mlp->vector_size + 1) * 2;
    for (int i = 0; i < COPIES; i++)
        total += copies[i].n_parts * 2 * pairs_of(copies[i].rows) * copies[i].groups * padded(copies[i].width) *
                 view[copies[i].from].itemsize;
    char *next = mlp->memory = calloc((size_t)total + 1, 1);
    if (next == NULL) return 0;
    for (int i = 0; i < COPIES; i++) {
        Py_ssize_t size = view[copies[i].from].itemsize, rows = copies[i].rows, groups = copies[i].groups,
            width = copies[i].width;
        const char *from = view[copies[i].from].buf;
        memcpy(copies[i].place, &next, sizeof next);
        for (Py_ssize_t part = 0; part < copies[i].n_parts; part++) {
            if (copies[i].in_pairs)
                copy_pairs((const int16_t *)from, rows, groups, width, (int16_t *)next);
            else
                copy_padded(from, rows, groups, width, size, next);
            from += rows * groups * width * size;
            next += 2 * pairs_of(rows) * groups * padded(width) * size;
        }
    }
    mlp->word_vectors = (int16_t *)next, mlp->known_words = mlp->word_vectors + mlp->n_words * mlp->vector_size;
    const int16_t *words = view[WORD_VECTORS].buf;
    for (Py_ssize_t i = 0; i < mlp->n_words * m; i++, words += d)
        memcpy(mlp->word_vectors + i * 2 * pairs_of(d), words, (size_t)d * sizeof(int16_t));
    const uint8_t *known = view[KNOWN_WORDS].buf;
    for (Py_ssize_t word = 0; word < mlp->n_words; word++) mlp->known_words[word] = known[word] != 0;
    return 1;
}

/* pack_mlp(arrays): packs the arrays of a QuantizedMLP, by name, into a capsule for mlp_probabilities. */
PyObject *pack_mlp(PyObject *module, PyObject *arrays) {
    PyObject *result = NULL;
    Py_buffer view[N_ARRAYS];
    (void)module;
    if (open_named(arrays, view, NAMED, N_ARRAYS) < 0) return NULL;
    Mlp *mlp = calloc(1, sizeof *mlp);
    if (mlp == NULL)
        PyErr_NoMemory();
    else if (!read_sizes(mlp, view))
        PyErr_SetString(PyExc_ValueError, "arrays of an MLP do not fit together");
    else if (!copy_arrays(mlp, view))
        PyErr_NoMemory();
    else
        result = PyCapsule_New(mlp, CAPSULE, free_mlp);
    close_arrays(view, N_ARRAYS);
    if (result == NULL && mlp != NULL) {
        free(mlp->memory);
        free(mlp);
    }
    return result;
}

/* Numbers the groups of a grouping from 0, without many gaps; returns 0 with an exception set. The caller frees
   `memory`. */
static int number_groups(const int64_t *numbers, Py_ssize_t n, const int64_t **group, Py_ssize_t *n_groups,
                         int64_t **memory) {
    int64_t min = 0, max = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        min = numbers[i] < min ? numbers[i] : min;
        max = numbers[i] > max ? numbers[i] : max;
    }
    *group = numbers;
    if (min >= 0 && max < n) {
        *n_groups = (Py_ssize_t)max + 1;
        return 1;
    }
    *memory = malloc((size_t)n * sizeof(int64_t));
    if (*memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    *group = *memory;
    *n_groups = (Py_ssize_t)factorize((const uint64_t *)numbers, (size_t)n, *memory);
    return *n_groups >= 0;
}

/* Returns whether the hashed words, bags and bag numbers are in range. */
static int are_valid_bags(const Mlp *mlp, const Inputs *inputs, Py_ssize_t n_hashed_words) {
    int valid = inputs->starts[0] >= 0 && inputs->starts[inputs->n_bags] <= n_hashed_words;
    for (Py_ssize_t bag = 0; bag < inputs->n_bags; bag++)
        valid &= inputs->starts[bag] <= inputs->starts[bag + 1] &&
                 (uint64_t)inputs->starts[bag + 1] - (uint64_t)inputs->starts[bag] <= MAX_BAG_WORDS;
    uint64_t outside = 0;
    for (Py_ssize_t i = 0; i < n_hashed_words; i++)
        outside |= OUTSIDE(uint64_t, inputs->hashed_words[i], 0, mlp->n_words);
    for (Py_ssize_t i = 0; i < inputs->n; i++) outside |= OUTSIDE(uint64_t, inputs->bag[i], 0, inputs->n_bags);
    return valid && !(outside >> 63);
}

/* mlp_probabilities(mlp, arrays): writes the array `probabilities` (n,) from the capsule of pack_mlp and, by name,
   columns (f, n), ancestor words (empty arrays for an MLP that reads none), groups (n_groupings, n) of blocks, and the
   number of words of each block. */
PyObject *mlp_probabilities(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, STARTS, HASHED_WORDS, BAG, GROUPS, N_WORDS, PROBABILITIES, N };
    static const Named named[N] = {
        [COLUMNS] = {"columns", "f"}, [STARTS] = {"starts", "q"}, [HASHED_WORDS] = {"hashed_words", "i"},
        [BAG] = {"bag", "q"}, [GROUPS] = {"groups", "q"}, [N_WORDS] = {"n_words", "d"},
        [PROBABILITIES] = {"probabilities", "*f"},
    };
    PyObject *capsule, *arrays, *result = NULL;
    double *log_odds = NULL;
    Py_buffer view[N];
    const int64_t *group[MAX_GROUPINGS];
    int64_t *renumbered[MAX_GROUPINGS] = {NULL};
    Py_ssize_t n_groups[MAX_GROUPINGS];
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyDict_Type, &arrays)) return NULL;
    const Mlp *mlp = PyCapsule_GetPointer(capsule, CAPSULE);
    if (mlp == NULL || open_named(arrays, view, named, N) < 0) return NULL;
    Py_ssize_t n = n_items(&view[PROBABILITIES]);
    Inputs inputs = {n, n_items(&view[STARTS]) - 1, view[COLUMNS].buf, view[STARTS].buf, view[BAG].buf,
                     view[HASHED_WORDS].buf, group, n_groups, view[N_WORDS].buf};
    int valid = n > 0 && n_items(&view[COLUMNS]) == mlp->f * n && n_items(&view[N_WORDS]) == n &&
                n_items(&view[GROUPS]) == mlp->n_groupings * n;
    if (mlp->d == 0)
        inputs.n_bags = 0;
    else if (valid)
        valid = inputs.n_bags >= 0 && n_items(&view[BAG]) == n &&
                are_valid_bags(mlp, &inputs, n_items(&view[HASHED_WORDS]));
    if (!valid) {
        PyErr_SetString(PyExc_ValueError, "columns, words or groups are out of range, or arrays differ in size");
        goto done;
    }
    for (Py_ssize_t k = 0; k < mlp->n_groupings; k++)
        if (!number_groups((const int64_t *)view[GROUPS].buf + k * n, n, &group[k], &n_groups[k], &renumbered[k]))
            goto done;
    int failed = (log_odds = malloc((size_t)n * sizeof(double))) == NULL;
    Py_BEGIN_ALLOW_THREADS;
    failed = failed || write_mlp_log_odds(mlp, &inputs, log_odds) < 0;
    if (!failed) write_sigmoids(log_odds, (size_t)n, view[PROBABILITIES].buf);
    Py_END_ALLOW_THREADS;
    if (failed)
        PyErr_NoMemory();
    else
        result = Py_NewRef(Py_None);
done:
    free(log_odds);
    for (int grouping = 0; grouping < MAX_GROUPINGS; grouping++) free(renumbered[grouping]);
    close_arrays(view, N);
    return result;
}
