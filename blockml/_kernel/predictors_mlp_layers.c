/* Prediction by int16-quantised MLPs. Reference: blockml.predictors.mlp.quantized_log_odds.

   Inputs, units and weights are integers, whose sums do not depend on the order; floats are computed one number at a
   time. So the results are bit-identical to those of the reference. */
#include "predictors_mlp.h"
#include <math.h>

/* As in mlp.py: the bits of about sqrt(1/2), mantissa bits of a float, and its exponent bias. */
enum { ROOT = 0x3f3504f3, MANTISSA = 23, BIAS = 127 };

/* Returns the logarithm of a number from 1: that of a power of two, plus a series for the factor between sqrt(1/2) and
   sqrt(2). */
static inline float logarithm(float x) {
    int32_t bits;
    memcpy(&bits, &x, 4);
    int32_t power = ((bits - ROOT + (BIAS << MANTISSA)) >> MANTISSA) - BIAS;
    bits -= power * (1 << MANTISSA);
    memcpy(&x, &bits, 4);
    float s = (x - 1) / (x + 1), square = s * s;
    float sum = (((1.0f / 9 * square + 1.0f / 7) * square + 1.0f / 5) * square + 1.0f / 3) * square + 1;
    return (float)power * 0.6931472f + 2 * s * sum;
}

/* As in quantized_mlp.py: bound and steps of inputs, steps of units, the largest int16, and the right shift of sums of
   the first input factor. */
static const float BOUND = 4, INPUT_STEPS = 1024, UNIT_STEPS = 1024, LARGEST = 32767;
enum { SHIFT = 16 };

/* Rounds a number within 2 ** 22 to the nearest integer, ties to even: adding 1.5 * 2 ** 23 leaves a float no
   fractional bits. */
static inline int32_t nearest(float x) {
    float shifted = x + 0x1.8p23f;
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    return bits - 0x4b400000; /* bits of the number added */
}

/* Rounds values times steps to integers. Values are bounded in a separate loop: with bounds and rounding in one
   loop, compilers branch instead of vectorising. */
static inline void round_all(const float *restrict values, Py_ssize_t n, float steps, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) out[i] = (int16_t)nearest(values[i] * steps);
}

/* Standardises n values of a column: signed logarithm (NaN as 0), centered, scaled, clipped, in steps. NaN is found by
   its bits and cleared by a mask: with a comparison of floats or a choice, compilers branch instead of vectorising. */
WIDE static void standardise(const float *restrict values, Py_ssize_t n, float center, float scale,
                             float *restrict standardised, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        float value;
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits &= 0u - (uint32_t)((bits & 0x7fffffff) <= 0x7f800000);
        memcpy(&value, &bits, sizeof value);
        float x = (copysignf(logarithm(fabsf(value) + 1), value) - center) * scale;
        x = x > -BOUND ? x : -BOUND;
        standardised[i] = x < BOUND ? x : BOUND;
    }
    round_all(standardised, n, INPUT_STEPS, out);
}

/* ReLU, clipped to the range of int16. */
static inline float activation(float unit) {
    float positive = unit > 0 ? unit : 0;
    return positive < LARGEST / UNIT_STEPS ? positive : LARGEST / UNIT_STEPS;
}

/* Interleaves n numbers with n others, or with zeros. */
WIDE static void interleave(const int16_t *restrict one, const int16_t *restrict other, Py_ssize_t n,
                            int16_t *restrict pairs) {
    for (Py_ssize_t i = 0; i < n; i++) {
        pairs[2 * i] = one[i];
        pairs[2 * i + 1] = other != NULL ? other[i] : 0;
    }
}

/* Rows in a batch; few enough for the cache. */
enum { BATCH = 3 * LANES };

/* Buffers for one page, in one allocation. */
typedef struct {
    int64_t *varying; /* indices of the columns that vary between rows */
    Py_ssize_t n_varying;
    int64_t *page_sums;      /* (2, all_h) over all blocks, unweighted and weighted by words */
    int32_t *constant_sums;  /* (rank,) contribution of constant columns */
    int32_t *factor_sums;    /* (BATCH, rank) */
    int32_t *input_sums;     /* (BATCH, all_h) */
    int32_t *hidden_sums;    /* (BATCH, k) of one network, as all below for groups */
    int32_t *row_sums;       /* of one row or word bag */
    int32_t *row_weights;    /* (n,) */
    int32_t *shared_sums;    /* (k,) contribution of page means, added to all blocks */
    int32_t *group_sums;     /* (groups of all groupings, k) contribution of group means */
    float *row;              /* one row of floats */
    float *word_sums;        /* (n_bags, all_h) contribution of ancestor words */
    int16_t *left, *right;   /* (BATCH,) a pair of columns */
    int16_t *column_pairs;   /* (pairs, BATCH, 2) */
    int16_t *weight_pairs;   /* (pairs, rank, 2) */
    int16_t *factors;        /* (BATCH, rank) */
    int16_t *word_means;     /* (n_bags, vector_size) */
    int16_t *units;          /* (k,) of the hidden layer */
    int16_t *hidden;         /* (n, all_h) units of the input layer */
    int16_t *page_means;     /* (2, all_h) */
    int16_t *group_means;    /* (groups of a grouping, h) */
    void *totals;            /* sums (groups of a grouping, h), then the number of blocks in each group */
} Buffers;

/* Allocates the buffers; returns the memory to free, or NULL. */
static void *allocate_buffers(const Mlp *mlp, const Inputs *inputs, Buffers *b) {
    Py_ssize_t f = mlp->f, n = inputs->n, groups = 0, max_groups = 0, bags = mlp->d > 0 ? inputs->n_bags : 0;
    Py_ssize_t hp = padded(mlp->h), kp = padded(mlp->k);
    for (Py_ssize_t grouping = 0; grouping < mlp->n_groupings; grouping++) {
        groups += inputs->n_groups[grouping];
        max_groups = inputs->n_groups[grouping] > max_groups ? inputs->n_groups[grouping] : max_groups;
    }
    Py_ssize_t totals = 2 * max_groups * (hp + 1);
    struct {
        void *place;
        Py_ssize_t size, of;
    } fields[] = {
        {&b->varying, f, 8}, {&b->page_sums, 2 * mlp->all_h, 8}, {&b->constant_sums, mlp->rank, 4},
        {&b->factor_sums, BATCH * mlp->rank, 4}, {&b->input_sums, BATCH * mlp->all_h, 4},
        {&b->hidden_sums, BATCH * kp, 4},
        {&b->row_sums, mlp->all_h > mlp->vector_size ? mlp->all_h : mlp->vector_size, 4}, {&b->row_weights, n, 4},
        {&b->shared_sums, kp, 4}, {&b->group_sums, groups * kp, 4}, {&b->row, BATCH + mlp->all_h + kp, 4},
        {&b->word_sums, bags * mlp->all_h > totals ? bags * mlp->all_h : totals, 4},
        {&b->left, BATCH, 2}, {&b->right, BATCH, 2},
        {&b->column_pairs, 2 * pairs_of(f) * BATCH, 2}, {&b->weight_pairs, 2 * pairs_of(f) * mlp->rank, 2},
        {&b->factors, BATCH * mlp->rank, 2}, {&b->word_means, bags * mlp->vector_size, 2}, {&b->units, kp, 2},
        {&b->hidden, n * mlp->all_h, 2}, {&b->page_means, 2 * mlp->all_h, 2},
        {&b->group_means, max_groups * hp, 2},
    };
    enum { N_FIELDS = sizeof fields / sizeof *fields, CACHE_LINE = 64 };
    Py_ssize_t total = 0;
    for (int i = 0; i < N_FIELDS; i++)
        total += (fields[i].size * fields[i].of + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    char *memory = malloc((size_t)total), *next = memory;
    if (memory == NULL) return NULL;
    for (int i = 0; i < N_FIELDS; i++) {
        memcpy(fields[i].place, &next, sizeof next);
        next += (fields[i].size * fields[i].of + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    }
    b->totals = b->word_sums; /* which are read before */
    return memory;
}

/* Writes the mean vector (n_bags, vector_size) of the known words of each bag. */
WIDE static void average_words(const Mlp *mlp, const Inputs *inputs, int32_t *restrict sums, int16_t *restrict means) {
    Py_ssize_t width = mlp->vector_size;
    for (Py_ssize_t bag = 0; bag < inputs->n_bags; bag++, means += width) {
        int32_t count = 0;
        for (Py_ssize_t k = 0; k < width; k++) sums[k] = 0;
        const int32_t *word = inputs->hashed_words + inputs->starts[bag], *end = inputs->hashed_words + inputs->starts[bag + 1];
        for (const int32_t *one = word; one < end; one++) count += mlp->known_words[*one];
        for (; end - word >= 4; word += 4) { /* several at a time: a sum waits for the one before it */
            const int16_t *a = mlp->word_vectors + word[0] * width, *b = mlp->word_vectors + word[1] * width;
            const int16_t *c = mlp->word_vectors + word[2] * width, *d = mlp->word_vectors + word[3] * width;
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += (a[k] + b[k]) + (c[k] + d[k]);
        }
        for (; word < end; word++)
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += mlp->word_vectors[*word * width + k];
        float divisor = count > 1 ? (float)count : 1;
        for (Py_ssize_t k = 0; k < width; k++) means[k] = (int16_t)nearest((float)sums[k] / divisor);
    }
}

/* Scales n sums to floats. */
WIDE static void scale_sums(const int32_t *restrict sums, const float *restrict scale, Py_ssize_t n,
                            float *restrict out) {
    for (Py_ssize_t k = 0; k < n; k++) out[k] = (float)sums[k] * scale[k];
}

/* Writes the contribution of ancestor words to the input layer, (n_bags, all_h). */
static void project_words(const Mlp *mlp, const Inputs *inputs, const Buffers *b) {
    Py_ssize_t hp = padded(mlp->h), all_h = mlp->all_h, pairs = pairs_of(mlp->d), vector_size = mlp->vector_size;
    average_words(mlp, inputs, b->row_sums, b->word_means);
    for (Py_ssize_t begin = 0; begin < inputs->n_bags; begin += BATCH) {
        Py_ssize_t end = begin + BATCH < inputs->n_bags ? begin + BATCH : inputs->n_bags;
        for (Py_ssize_t member = 0; member < mlp->m; member++)
            multiply((Factor){b->word_means + begin * vector_size + member * 2 * pairs, vector_size / 2, 1},
                     end - begin, mlp->word_projection + member * 2 * pairs * hp, pairs, hp, NULL,
                     b->input_sums + member * hp, all_h);
        for (Py_ssize_t bag = begin; bag < end; bag++)
            scale_sums(b->input_sums + (bag - begin) * all_h, mlp->word_scale, all_h, b->word_sums + bag * all_h);
    }
}

/* Lists the columns that vary, with their weights in pairs, and sums the contribution of constant columns. */
static void gather_columns(const Mlp *mlp, const Inputs *inputs, Buffers *b) {
    Py_ssize_t rank = mlp->rank, n = inputs->n;
    const int16_t *first = NULL; /* weights of a column that lacks the other of its pair */
    b->n_varying = 0;
    memset(b->constant_sums, 0, (size_t)rank * sizeof(int32_t));
    for (Py_ssize_t place = 0; place < mlp->f; place++) {
        const float *column = inputs->columns + place * n;
        const int16_t *weights = mlp->input_u + place * rank;
        if (!is_varying(column, n)) {
            standardise(column, 1, mlp->center[place], mlp->scale[place], b->row, b->left);
            for (Py_ssize_t k = 0; k < rank; k++) b->constant_sums[k] += b->left[0] * weights[k];
            continue;
        }
        if (first != NULL) interleave(first, weights, rank, b->weight_pairs + (b->n_varying - 1) * rank);
        first = first != NULL ? NULL : weights;
        b->varying[b->n_varying++] = place;
    }
    if (first != NULL) interleave(first, NULL, rank, b->weight_pairs + (b->n_varying - 1) * rank);
}

/* Writes standardised columns, in pairs, of the blocks from `begin` to `end`. */
static void standardise_batch(const Mlp *mlp, const Inputs *inputs, Py_ssize_t begin, Py_ssize_t end,
                              const Buffers *b) {
    int16_t *columns[2] = {b->left, b->right};
    float values[BATCH] = {0};
    for (Py_ssize_t i = 0; i < b->n_varying; i += 2) {
        int both = i + 1 < b->n_varying;
        for (int k = 0; k < 1 + both; k++) {
            int64_t place = b->varying[i + k];
            const float *column = inputs->columns + place * inputs->n + begin;
            /* Whole batches are read, because loops over vectors are slow on a remainder: the values after the last block are
               those of the next column, and are not used. */
            if (place * inputs->n + begin + BATCH > mlp->f * inputs->n)
                column = memcpy(values, column, (size_t)(end - begin) * sizeof(float));
            Py_ssize_t different = is_varying(column, BATCH) ? BATCH : 1; /* often constant among neighbours */
            standardise(column, different, mlp->center[place], mlp->scale[place], b->row, columns[k]);
            for (Py_ssize_t row = different; row < BATCH; row++) columns[k][row] = columns[k][0];
        }
        interleave(b->left, both ? b->right : NULL, BATCH, b->column_pairs + i * BATCH);
    }
}

/* Shifts sums to int16, with rounding. */
WIDE static void shift_sums(const int32_t *restrict sums, Py_ssize_t n, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) out[i] = (int16_t)((sums[i] + (1 << (SHIFT - 1))) >> SHIFT);
}

/* Writes units of the input layer (n, all_h) of the blocks from `begin` to `end`, from their sums. */
WIDE static void activate_input_layer(const Mlp *mlp, const Inputs *inputs, Py_ssize_t begin, Py_ssize_t end,
                                      const Buffers *b) {
    Py_ssize_t width = mlp->all_h;
    const float *restrict scale = mlp->input_scale, *restrict bias = mlp->input_bias;
    const int32_t *restrict sums = b->input_sums;
    int16_t *restrict hidden = b->hidden + begin * width;
    float *restrict row = b->row;
    for (Py_ssize_t i = begin; i < end; i++, hidden += width, sums += width) {
        if (mlp->d > 0) {
            const float *restrict words = b->word_sums + inputs->bag[i] * width;
            for (Py_ssize_t k = 0; k < width; k++) row[k] = activation((float)sums[k] * scale[k] + bias[k] + words[k]);
        } else {
            for (Py_ssize_t k = 0; k < width; k++) row[k] = activation((float)sums[k] * scale[k] + bias[k]);
        }
        round_all(row, width, UNIT_STEPS, hidden);
    }
}

/* Rows whose sum fits into 32 bits. */
enum { MAX_ROWS = 1 << 16 };

/* Sums rows (n, width), each multiplied by `times`. */
WIDE static void add_rows(const int16_t *restrict rows, Py_ssize_t n, Py_ssize_t width, const int32_t *restrict times,
                          int32_t *restrict row_sums, int64_t *restrict sums) {
    memset(sums, 0, (size_t)width * sizeof(int64_t));
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) {
        int64_t count = times[begin];
        for (end = begin + 1; end < n && count + times[end] < MAX_ROWS; end++) count += times[end];
        if (count >= MAX_ROWS) { /* a single heavy row */
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += (int64_t)times[begin] * rows[begin * width + k];
            continue;
        }
        for (Py_ssize_t k = 0; k < width; k++) row_sums[k] = 0;
        for (Py_ssize_t i = begin; i < end; i++) {
            if (times[i] == 0) continue;
            for (Py_ssize_t k = 0; k < width; k++) row_sums[k] += times[i] * rows[i * width + k];
        }
        for (Py_ssize_t k = 0; k < width; k++) sums[k] += row_sums[k];
    }
}

/* Writes means over the page's blocks and over its words (2, all_h). */
static void average_page(const Mlp *mlp, const Inputs *inputs, const Buffers *b) {
    Py_ssize_t n = inputs->n, width = mlp->all_h;
    for (int by_words = 0; by_words < 2; by_words++) {
        int64_t *sums = b->page_sums + by_words * width;
        int64_t all = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            double words = inputs->n_words[i] > 0 ? inputs->n_words[i] : 0;
            b->row_weights[i] = by_words ? (int32_t)rint(words < INT32_MAX ? words : INT32_MAX) : 1;
            all += b->row_weights[i];
        }
        add_rows(b->hidden, n, width, b->row_weights, b->row_sums, sums);
        for (Py_ssize_t k = 0; k < width; k++)
            b->page_means[by_words * width + k] = (int16_t)rint((double)sums[k] / (double)(all > 1 ? all : 1));
    }
}

/* Writes means (n_groups, width) of the rows of each group, which begin `step` apart; TYPE must hold the sum over all
   rows. */
#define AVERAGE_GROUPS(NAME, TYPE) \
    WIDE static void NAME(const int16_t *restrict rows, Py_ssize_t n, Py_ssize_t step, Py_ssize_t width, \
                          const int64_t *group, Py_ssize_t n_groups, TYPE *restrict sums, int16_t *restrict means) { \
        TYPE *counts = sums + n_groups * width; \
        memset(sums, 0, (size_t)(n_groups * (width + 1)) * sizeof(TYPE)); \
        for (Py_ssize_t i = 0; i < n; i++) { \
            TYPE *restrict sums_of_group = sums + group[i] * width; \
            const int16_t *restrict row = rows + i * step; \
            for (Py_ssize_t k = 0; k < width; k++) sums_of_group[k] += row[k]; \
            counts[group[i]]++; \
        } \
        for (Py_ssize_t i = 0; i < n_groups; i++) { \
            float count = counts[i] > 1 ? (float)counts[i] : 1; \
            for (Py_ssize_t k = 0; k < width; k++) \
                means[i * width + k] = (int16_t)nearest((float)sums[i * width + k] / count); \
        } \
    }
AVERAGE_GROUPS(average_groups, int32_t)
AVERAGE_GROUPS(average_groups_wide, int64_t)

/* Adds the output of one network to the log odds of the blocks from `begin` to `end`; `hidden_sums` holds the
   contributions of the blocks themselves and of the page. */
WIDE static void add_log_odds(const Mlp *mlp, const Inputs *inputs, Py_ssize_t member, Py_ssize_t begin, Py_ssize_t end,
                              const Buffers *b, double *restrict log_odds) {
    Py_ssize_t width = padded(mlp->k), first = member * width;
    const float *restrict scale = mlp->hidden_scale + first, *restrict bias = mlp->hidden_bias + first;
    const int16_t *restrict weights = mlp->output_weights + first;
    int32_t *restrict sums = b->hidden_sums;
    int16_t *restrict units = b->units;
    float *restrict values = b->row;
    for (Py_ssize_t i = begin; i < end; i++, sums += width) {
        const int32_t *group_sums = b->group_sums;
        for (Py_ssize_t grouping = 0; grouping < mlp->n_groupings; group_sums += inputs->n_groups[grouping++] * width) {
            const int32_t *restrict sums_of_group = group_sums + inputs->group[grouping][i] * width;
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += sums_of_group[k];
        }
        for (Py_ssize_t k = 0; k < width; k++) values[k] = activation((float)sums[k] * scale[k] + bias[k]);
        round_all(values, width, UNIT_STEPS, units);
        int32_t sum = 0;
        for (Py_ssize_t k = 0; k < width; k++) sum += units[k] * weights[k];
        float output = (float)sum * mlp->output_scale[member] + mlp->output_bias[member];
        float total = (member ? (float)log_odds[i] : 0) + output; /* in single precision, as in the reference */
        log_odds[i] = member + 1 < mlp->m ? total : total / (float)mlp->m;
    }
}

/* Writes units of the input layer, `hidden` (n, all_h). */
static void input_layer(const Mlp *mlp, const Inputs *inputs, Buffers *b) {
    Py_ssize_t rank = mlp->rank, all_h = mlp->all_h, n = inputs->n;
    gather_columns(mlp, inputs, b);
    if (mlp->d > 0) project_words(mlp, inputs, b);
    for (Py_ssize_t begin = 0; begin < n; begin += BATCH) {
        Py_ssize_t end = begin + BATCH < n ? begin + BATCH : n;
        standardise_batch(mlp, inputs, begin, end, b);
        multiply((Factor){b->column_pairs, 1, BATCH}, end - begin, b->weight_pairs, pairs_of(b->n_varying), rank,
                 b->constant_sums, mlp->n_factors ? b->factor_sums : b->input_sums, rank);
        if (mlp->n_factors) {
            shift_sums(b->factor_sums, (end - begin) * rank, b->factors);
            multiply((Factor){b->factors, rank / 2, 1}, end - begin, mlp->input_v, pairs_of(mlp->n_factors), all_h,
                     NULL, b->input_sums, all_h);
        }
        activate_input_layer(mlp, inputs, begin, end, b);
    }
}

/* Writes log odds (n,) from the units of the input layer, network by network, because a page with one block per group
   needs much memory for each. */
static void hidden_layer(const Mlp *mlp, const Inputs *inputs, const Buffers *b, double *log_odds) {
    Py_ssize_t hp = padded(mlp->h), kp = padded(mlp->k), n = inputs->n, all_h = mlp->all_h;
    Py_ssize_t pairs = pairs_of(mlp->h), size = 2 * pairs * kp;
    average_page(mlp, inputs, b);
    for (Py_ssize_t member = 0; member < mlp->m; member++) {
        const int16_t *hidden = b->hidden + member * hp;
        for (int part = 0; part < 2; part++)
            multiply((Factor){b->page_means + part * all_h + member * hp, 0, 1}, 1,
                     mlp->page_weights + (2 * member + part) * size, pairs, kp, part ? b->shared_sums : NULL,
                     b->shared_sums, kp);
        int32_t *group_sums = b->group_sums;
        for (Py_ssize_t grouping = 0; grouping < mlp->n_groupings; group_sums += inputs->n_groups[grouping++] * kp) {
            Py_ssize_t n_groups = inputs->n_groups[grouping];
            if (n < MAX_ROWS)
                average_groups(hidden, n, all_h, hp, inputs->group[grouping], n_groups, b->totals, b->group_means);
            else
                average_groups_wide(hidden, n, all_h, hp, inputs->group[grouping], n_groups, b->totals, b->group_means);
            const int16_t *weights = mlp->group_weights + (member * mlp->n_groupings + grouping) * size;
            multiply((Factor){b->group_means, hp / 2, 1}, n_groups, weights, pairs, kp, NULL, group_sums, kp);
        }
        for (Py_ssize_t begin = 0; begin < n; begin += BATCH) {
            Py_ssize_t end = begin + BATCH < n ? begin + BATCH : n;
            multiply((Factor){hidden + begin * all_h, all_h / 2, 1}, end - begin, mlp->self_weights + member * size,
                     pairs, kp, b->shared_sums, b->hidden_sums, kp);
            add_log_odds(mlp, inputs, member, begin, end, b, log_odds);
        }
    }
}

int write_mlp_log_odds(const Mlp *mlp, const Inputs *inputs, double *log_odds) {
    Buffers buffers;
    void *memory = allocate_buffers(mlp, inputs, &buffers);
    if (memory == NULL) return -1;
    input_layer(mlp, inputs, &buffers);
    hidden_layer(mlp, inputs, &buffers, log_odds);
    free(memory);
    return 0;
}
