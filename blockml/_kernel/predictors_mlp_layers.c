/* What a net makes of a page: the twin of blockml.predictors.quantized_mlp.quantized_log_odds.

   What goes through a net, and its weights, are whole numbers, whose sums are the same in any order. What is done
   with floats is done number by number. So both give the same to the last bit. */
#include "predictors_mlp.h"
#include <math.h>
#include <stdlib.h>

/* As in nets.py: about the root of a half, as bits; how many of them are behind the exponent; and what is added to
   it. */
enum { ROOT = 0x3f3504f3, MANTISSA = 23, BIAS = 127 };

/* The logarithm of a number from 1: that of a power of two, and a series for what lies between the root of a half and
   that of two. */
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

/* As in wholenets.py: bounds and steps of what goes in; steps of units; the largest whole number; what the sums of a
   first factor are cut by. */
static const float BOUND = 4, INPUT_STEPS = 1024, UNIT_STEPS = 1024, LARGEST = 32767;
enum { CUT = 16 };

/* The whole number nearest to one within 2 ** 22, the even one of two: added to a float, 1.5 * 2 ** 23 leaves nothing
   behind the point. */
static inline int32_t nearest(float x) {
    float shifted = x + 0x1.8p23f;
    int32_t bits;
    memcpy(&bits, &shifted, 4);
    return bits - 0x4b400000; /* the bits of what was added */
}

/* Values times steps, as whole numbers. Values have their bounds by then: compilers make branches of bounds and
   rounding in one loop, and work on one number at a time. */
static inline void round_all(const float *restrict values, Py_ssize_t n, float steps, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) out[i] = (int16_t)nearest(values[i] * steps);
}

/* Turns n values into what a net takes: signed logarithms, less the centre and times the scale, within bounds, in
   steps. */
WIDE static void standardise(const float *restrict values, Py_ssize_t n, float centre, float scale,
                             float *restrict ready, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        float x = (copysignf(logarithm(fabsf(values[i]) + 1), values[i]) - centre) * scale;
        x = x > -BOUND ? x : -BOUND;
        ready[i] = x < BOUND ? x : BOUND;
    }
    round_all(ready, n, INPUT_STEPS, out);
}

/* A unit: none is negative, or more than there are steps for. */
static inline float bounded(float unit) {
    float positive = unit > 0 ? unit : 0;
    return positive < LARGEST / UNIT_STEPS ? positive : LARGEST / UNIT_STEPS;
}

/* Puts n numbers side by side with n others, or with zeros. */
WIDE static void pair(const int16_t *restrict one, const int16_t *restrict other, Py_ssize_t n,
                      int16_t *restrict pairs) {
    for (Py_ssize_t i = 0; i < n; i++) {
        pairs[2 * i] = one[i];
        pairs[2 * i + 1] = other != NULL ? other[i] : 0;
    }
}

/* Rows that are worked on together: few enough that they stay near. */
enum { TOGETHER = 48 };

/* Memory of a page, and where its parts lie. */
typedef struct {
    int64_t *varying; /* places of columns that aren't the same in all rows */
    Py_ssize_t n_varying;
    int64_t *sums;                   /* over all blocks, plain and by words (2, all_h) */
    int32_t *fixed;                  /* (rank,) of columns that are the same in all rows */
    int32_t *factor, *first, *second; /* sums of some rows: (TOGETHER, rank), (TOGETHER, all_h), (TOGETHER, all_k) */
    int32_t *some, *weights;         /* sums of the row that is worked on; (n,) */
    int32_t *second_row, *alike;     /* (all_k,) added to all; of groups (…, all_k) */
    float *row, *lifted;             /* what is worked on; of words: (n_bags, all_h) */
    int16_t *one, *other;            /* (TOGETHER,) */
    int16_t *ready, *chosen;         /* pairs of columns (…, TOGETHER, 2), and their weights (…, rank, 2) */
    int16_t *cut, *words, *units;    /* (TOGETHER, rank); (n_bags, width); (all_k,) of the second layer */
    int16_t *hidden, *page, *means;  /* (n, all_h); means over blocks and words (2, all_h); of groups (…, all_h) */
    void *by_group;                  /* sums of groups of a way (n_groups, all_h), and how many blocks are in each */
} Space;

static void *space_for(const Net *net, const Seen *page, Space *space) {
    Py_ssize_t f = net->f, n = page->n, groups = 0, most = 0, bags = net->d > 0 ? page->n_bags : 0;
    for (Py_ssize_t way = 0; way < net->ways; way++) {
        groups += page->n_groups[way];
        most = page->n_groups[way] > most ? page->n_groups[way] : most;
    }
    struct {
        void *place;
        Py_ssize_t size, of;
    } parts[] = {
        {&space->varying, f, 8}, {&space->sums, 2 * net->all_h, 8}, {&space->fixed, net->rank, 4},
        {&space->factor, TOGETHER * net->rank, 4}, {&space->first, TOGETHER * net->all_h, 4},
        {&space->second, TOGETHER * net->all_k, 4},
        {&space->some, net->all_h > net->width ? net->all_h : net->width, 4}, {&space->weights, n, 4},
        {&space->second_row, net->all_k, 4}, {&space->alike, groups * net->all_k, 4},
        {&space->row, TOGETHER + net->all_h + net->all_k, 4}, {&space->lifted, bags * net->all_h, 4},
        {&space->one, TOGETHER, 2}, {&space->other, TOGETHER, 2},
        {&space->ready, 2 * pairs_of(f) * TOGETHER, 2}, {&space->chosen, 2 * pairs_of(f) * net->rank, 2},
        {&space->cut, TOGETHER * net->rank, 2}, {&space->words, bags * net->width, 2}, {&space->units, net->all_k, 2},
        {&space->hidden, n * net->all_h, 2}, {&space->page, 2 * net->all_h, 2}, {&space->means, most * net->all_h, 2},
        {&space->by_group, most * (net->all_h + 1), 8},
    };
    enum { PARTS = sizeof parts / sizeof *parts, LINE = 64 };
    Py_ssize_t total = 0;
    for (int i = 0; i < PARTS; i++) total += (parts[i].size * parts[i].of + LINE - 1) / LINE * LINE;
    char *memory = malloc((size_t)total), *next = memory;
    if (memory == NULL) return NULL;
    for (int i = 0; i < PARTS; i++) {
        memcpy(parts[i].place, &next, sizeof next);
        next += (parts[i].size * parts[i].of + LINE - 1) / LINE * LINE;
    }
    return memory;
}

/* Mean vectors (n_bags, width) of the words of each bag; words of zeros don't count. */
WIDE static void mean_words(const Net *net, const Seen *page, int32_t *restrict sums, int16_t *restrict means) {
    Py_ssize_t width = net->width;
    for (Py_ssize_t bag = 0; bag < page->n_bags; bag++, means += width) {
        int32_t count = 0;
        for (Py_ssize_t k = 0; k < width; k++) sums[k] = 0;
        for (int64_t i = page->starts[bag]; i < page->starts[bag + 1]; i++) {
            const int16_t *word = net->words + page->buckets[i] * width;
            count += net->known[page->buckets[i]];
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += word[k];
        }
        float divisor = count > 1 ? (float)count : 1;
        for (Py_ssize_t k = 0; k < width; k++) means[k] = (int16_t)nearest((float)sums[k] / divisor);
    }
}

/* What n sums are worth. */
WIDE static void weigh(const int32_t *restrict sums, const float *restrict scale, Py_ssize_t n, float *restrict out) {
    for (Py_ssize_t k = 0; k < n; k++) out[k] = (float)sums[k] * scale[k];
}

/* What the words above blocks add to the first layer: rows (n_bags, all_h). */
static void lift_words(const Net *net, const Seen *page, const Space *space) {
    Py_ssize_t hp = padded(net->h), all_h = net->all_h, pairs = pairs_of(net->d);
    mean_words(net, page, space->some, space->words);
    for (Py_ssize_t begin = 0; begin < page->n_bags; begin += TOGETHER) {
        Py_ssize_t end = begin + TOGETHER < page->n_bags ? begin + TOGETHER : page->n_bags;
        for (Py_ssize_t member = 0; member < net->m; member++)
            multiply((Factor){space->words + begin * net->width + member * 2 * pairs, net->width / 2, 1}, end - begin,
                     net->lift + member * 2 * pairs * hp, pairs, hp, NULL, space->first + member * hp, all_h);
        for (Py_ssize_t bag = begin; bag < end; bag++)
            weigh(space->first + (bag - begin) * all_h, net->lift_scale, all_h, space->lifted + bag * all_h);
    }
}

/* Finds the columns that vary, and the weights for them; adds up what the others give. */
static void look_at_columns(const Net *net, const Seen *page, Space *space) {
    Py_ssize_t rank = net->rank, n = page->n;
    const int16_t *first = NULL; /* weights of a column that still needs another one */
    space->n_varying = 0;
    memset(space->fixed, 0, (size_t)rank * sizeof(int32_t));
    for (Py_ssize_t place = 0; place < net->f; place++) {
        const float *column = page->columns + place * n;
        const int16_t *weights = net->first + place * rank;
        if (!is_varying(column, n)) {
            standardise(column, 1, net->centre[place], net->scale[place], space->row, space->one);
            for (Py_ssize_t k = 0; k < rank; k++) space->fixed[k] += space->one[0] * weights[k];
            continue;
        }
        if (first != NULL) pair(first, weights, rank, space->chosen + (space->n_varying - 1) * rank);
        first = first != NULL ? NULL : weights;
        space->varying[space->n_varying++] = place;
    }
    if (first != NULL) pair(first, NULL, rank, space->chosen + (space->n_varying - 1) * rank);
}

/* Writes pairs of columns of blocks from `begin` to `end`, as a net takes them. */
static void prepare(const Net *net, const Seen *page, Py_ssize_t begin, Py_ssize_t end, const Space *space) {
    int16_t *columns[2] = {space->one, space->other};
    for (Py_ssize_t i = 0; i < space->n_varying; i += 2) {
        int both = i + 1 < space->n_varying;
        for (int k = 0; k < 1 + both; k++) {
            int64_t place = space->varying[i + k];
            const float *column = page->columns + place * page->n + begin;
            Py_ssize_t n = end - begin, different = is_varying(column, n) ? n : 1; /* neighbours have much in common */
            standardise(column, different, net->centre[place], net->scale[place], space->row, columns[k]);
            for (Py_ssize_t row = different; row < n; row++) columns[k][row] = columns[k][0];
        }
        pair(space->one, both ? space->other : NULL, end - begin, space->ready + i * TOGETHER);
    }
}

/* Cuts sums to whole numbers of sixteen bits. */
WIDE static void cut_sums(const int32_t *restrict sums, Py_ssize_t n, int16_t *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) out[i] = (int16_t)((sums[i] + (1 << (CUT - 1))) >> CUT);
}

/* Units (n, all_h) of the first layer of blocks from `begin` to `end`, from their sums. */
WIDE static void activate_first(const Net *net, const Seen *page, Py_ssize_t begin, Py_ssize_t end,
                                const Space *space) {
    Py_ssize_t width = net->all_h;
    const float *restrict scale = net->first_scale, *restrict bias = net->first_bias;
    const int32_t *restrict sums = space->first;
    int16_t *restrict hidden = space->hidden + begin * width;
    float *restrict row = space->row;
    for (Py_ssize_t i = begin; i < end; i++, hidden += width, sums += width) {
        if (net->d > 0) {
            const float *restrict lifted = space->lifted + page->bag[i] * width;
            for (Py_ssize_t k = 0; k < width; k++) row[k] = bounded((float)sums[k] * scale[k] + bias[k] + lifted[k]);
        } else {
            for (Py_ssize_t k = 0; k < width; k++) row[k] = bounded((float)sums[k] * scale[k] + bias[k]);
        }
        round_all(row, width, UNIT_STEPS, hidden);
    }
}

/* Rows that can be added up in 32 bits. */
enum { MOST_ROWS = 1 << 16 };

/* Adds up rows (n, width), each so many times. */
WIDE static void add_rows(const int16_t *restrict rows, Py_ssize_t n, Py_ssize_t width, const int32_t *restrict times,
                          int32_t *restrict some, int64_t *restrict sums) {
    memset(sums, 0, (size_t)width * sizeof(int64_t));
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) {
        int64_t count = times[begin];
        for (end = begin + 1; end < n && count + times[end] < MOST_ROWS; end++) count += times[end];
        if (count >= MOST_ROWS) { /* one row alone */
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += (int64_t)times[begin] * rows[begin * width + k];
            continue;
        }
        for (Py_ssize_t k = 0; k < width; k++) some[k] = 0;
        for (Py_ssize_t i = begin; i < end; i++) {
            if (times[i] == 0) continue;
            for (Py_ssize_t k = 0; k < width; k++) some[k] += times[i] * rows[i * width + k];
        }
        for (Py_ssize_t k = 0; k < width; k++) sums[k] += some[k];
    }
}

/* Means of the page over its blocks and over its words (2, all_h). */
static void mean_page(const Net *net, const Seen *page, const Space *space) {
    Py_ssize_t n = page->n, width = net->all_h;
    for (int by_words = 0; by_words < 2; by_words++) {
        int64_t *sums = space->sums + by_words * width;
        int64_t all = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            double words = page->n_words[i] > 0 ? page->n_words[i] : 0;
            space->weights[i] = by_words ? (int32_t)rint(words < INT32_MAX ? words : INT32_MAX) : 1;
            all += space->weights[i];
        }
        add_rows(space->hidden, n, width, space->weights, space->some, sums);
        for (Py_ssize_t k = 0; k < width; k++)
            space->page[by_words * width + k] = (int16_t)rint((double)sums[k] / (double)(all > 1 ? all : 1));
    }
}

/* Means (n_groups, width) of the rows of each group; sums of `type` are large enough for all rows. */
#define MEAN_GROUPS(NAME, TYPE) \
    WIDE static void NAME(const int16_t *restrict rows, Py_ssize_t n, Py_ssize_t width, const int64_t *group, \
                          Py_ssize_t n_groups, TYPE *restrict sums, int16_t *restrict means) { \
        TYPE *counts = sums + n_groups * width; \
        memset(sums, 0, (size_t)(n_groups * (width + 1)) * sizeof(TYPE)); \
        for (Py_ssize_t i = 0; i < n; i++) { \
            TYPE *restrict its = sums + group[i] * width; \
            const int16_t *restrict row = rows + i * width; \
            for (Py_ssize_t k = 0; k < width; k++) its[k] += row[k]; \
            counts[group[i]]++; \
        } \
        for (Py_ssize_t i = 0; i < n_groups; i++) { \
            float count = counts[i] > 1 ? (float)counts[i] : 1; \
            for (Py_ssize_t k = 0; k < width; k++) \
                means[i * width + k] = (int16_t)nearest((float)sums[i * width + k] / count); \
        } \
    }
MEAN_GROUPS(mean_groups, int32_t)
MEAN_GROUPS(mean_many, int64_t)

/* Log odds of blocks from `begin` to `end`, of which `space` holds what they and the page give the second layer. */
WIDE static void write_odds(const Net *net, const Seen *page, Py_ssize_t begin, Py_ssize_t end, const Space *space,
                            double *restrict odds) {
    Py_ssize_t width = net->all_k, kp = padded(net->k);
    const float *restrict scale = net->second_scale, *restrict bias = net->second_bias;
    int32_t *restrict sums = space->second;
    int16_t *restrict units = space->units;
    float *restrict values = space->row;
    for (Py_ssize_t i = begin; i < end; i++, sums += width) {
        const int32_t *of_groups = space->alike;
        for (Py_ssize_t way = 0; way < net->ways; of_groups += page->n_groups[way++] * width) {
            const int32_t *restrict its = of_groups + page->group[way][i] * width;
            for (Py_ssize_t k = 0; k < width; k++) sums[k] += its[k];
        }
        for (Py_ssize_t k = 0; k < width; k++) values[k] = bounded((float)sums[k] * scale[k] + bias[k]);
        round_all(values, width, UNIT_STEPS, units);
        float total = 0;
        for (Py_ssize_t member = 0; member < net->m; member++) {
            int32_t sum = 0;
            for (Py_ssize_t k = member * kp; k < (member + 1) * kp; k++) sum += units[k] * net->out[k];
            total += (float)sum * net->out_scale[member] + net->out_bias[member];
        }
        odds[i] = total / (float)net->m; /* of floats, as in the twin */
    }
}

/* Writes what the first layer gives, `hidden` (n, all_h). */
static void first_layer(const Net *net, const Seen *page, Space *space) {
    Py_ssize_t rank = net->rank, all_h = net->all_h, n = page->n;
    look_at_columns(net, page, space);
    if (net->d > 0) lift_words(net, page, space);
    for (Py_ssize_t begin = 0; begin < n; begin += TOGETHER) {
        Py_ssize_t end = begin + TOGETHER < n ? begin + TOGETHER : n;
        prepare(net, page, begin, end, space);
        multiply((Factor){space->ready, 1, TOGETHER}, end - begin, space->chosen, pairs_of(space->n_varying), rank,
                 space->fixed, net->factors ? space->factor : space->first, rank);
        if (net->factors) {
            cut_sums(space->factor, (end - begin) * rank, space->cut);
            multiply((Factor){space->cut, rank / 2, 1}, end - begin, net->mix, pairs_of(net->factors), all_h, NULL,
                     space->first, all_h);
        }
        activate_first(net, page, begin, end, space);
    }
}

/* Log odds (n,) from what the first layer gave. */
static void second_layer(const Net *net, const Seen *page, const Space *space, double *odds) {
    Py_ssize_t hp = padded(net->h), kp = padded(net->k), n = page->n, all_h = net->all_h, all_k = net->all_k;
    Py_ssize_t pairs = pairs_of(net->h), size = 2 * pairs * kp;
    mean_page(net, page, space);
    for (Py_ssize_t member = 0; member < net->m; member++)
        for (int part = 0; part < 2; part++)
            multiply((Factor){space->page + part * all_h + member * hp, 0, 1}, 1,
                     net->page + (2 * member + part) * size, pairs, kp, part ? space->second_row + member * kp : NULL,
                     space->second_row + member * kp, all_k);
    int32_t *of_groups = space->alike;
    for (Py_ssize_t way = 0; way < net->ways; of_groups += page->n_groups[way++] * all_k) {
        Py_ssize_t n_groups = page->n_groups[way];
        if (n < MOST_ROWS)
            mean_groups(space->hidden, n, all_h, page->group[way], n_groups, space->by_group, space->means);
        else
            mean_many(space->hidden, n, all_h, page->group[way], n_groups, space->by_group, space->means);
        for (Py_ssize_t member = 0; member < net->m; member++)
            multiply((Factor){space->means + member * hp, all_h / 2, 1}, n_groups,
                     net->alike + (member * net->ways + way) * size, pairs, kp, NULL, of_groups + member * kp, all_k);
    }
    for (Py_ssize_t begin = 0; begin < n; begin += TOGETHER) {
        Py_ssize_t end = begin + TOGETHER < n ? begin + TOGETHER : n;
        for (Py_ssize_t member = 0; member < net->m; member++)
            multiply((Factor){space->hidden + begin * all_h + member * hp, all_h / 2, 1}, end - begin,
                     net->own + member * size, pairs, kp, space->second_row + member * kp, space->second + member * kp,
                     all_k);
        write_odds(net, page, begin, end, space, odds);
    }
}

int write_net_odds(const Net *net, const Seen *page, double *odds) {
    Space space;
    void *memory = space_for(net, page, &space);
    if (memory == NULL) return -1;
    first_layer(net, page, &space);
    second_layer(net, page, &space, odds);
    free(memory);
    return 0;
}
