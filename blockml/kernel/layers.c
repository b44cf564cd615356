/* What a net makes of a page: the twin of blockml.nets.Net._odds.

   Every sum has its terms added one after another, in an order that the twin keeps too, so both give the same to the last
   bit; what matrix products of libraries give depends on the machine. */
#include "net.h"
#include <math.h>
#include <stdlib.h>

/* As in nets.py: about the root of a half, as bits; how many of them are behind the exponent; and what is added to it. */
enum { ROOT = 0x3f3504f3, MANTISSA = 23, BIAS = 127 };

/* The logarithm of a number from 1: that of a power of two, and a series for what lies between the root of a half and that
   of two. */
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

/* Turns n values into what a net takes: signed logarithms, less the centre and times the scale, held between +- bound. */
WIDE static void standardise(const float *restrict values, Py_ssize_t n, float centre, float scale, float bound,
                             float *restrict out) {
    for (Py_ssize_t i = 0; i < n; i++) {
        float x = (copysignf(logarithm(fabsf(values[i]) + 1), values[i]) - centre) * scale;
        x = x > -bound ? x : -bound;
        out[i] = x < bound ? x : bound;
    }
}

/* Rows that are worked on together: few enough that they stay near. */
enum { TOGETHER = 48 };

/* Memory of a page, and where its parts lie. */
typedef struct {
    int64_t *varying;                /* places of columns that aren't the same in all rows */
    Py_ssize_t n_varying;
    float *shared, *ready;           /* (f,) what all blocks share; (n_varying, TOGETHER) the rest of some of them */
    float *fixed, *chosen, *sums, *row; /* first layer: of what all share, weights of the rest, between factors, added to all */
    float *words, *lifted;               /* (n_bags, m * d); (n_bags, all_h) */
    float *hidden, *page, *both;         /* (n, all_h); its sums, then means, plain and by words (2, all_h); those of a net */
    float *counts, *means, *alike;       /* of groups: of a way (n_groups,) and (n_groups, all_h); of all (…, all_k) */
    float *second_row, *second;          /* (all_k,); (TOGETHER, all_k) */
} Space;

static float *space_for(const Net *net, const Seen *page, Space *space) {
    Py_ssize_t f = net->f, groups = 0, most = 0, ways = net->ways;
    for (Py_ssize_t way = 0; way < ways; way++) {
        groups += page->n_groups[way];
        most = page->n_groups[way] > most ? page->n_groups[way] : most;
    }
    struct {
        float **place;
        Py_ssize_t size;
    } parts[] = {
        {(float **)&space->varying, 2 * f}, {&space->shared, f}, {&space->ready, f * TOGETHER},
        {&space->fixed, net->rank}, {&space->chosen, f * net->rank}, {&space->sums, TOGETHER * net->rank},
        {&space->row, net->all_h}, {&space->words, page->n_bags * net->m * net->d},
        {&space->lifted, net->d > 0 ? page->n_bags * net->all_h : 0}, {&space->hidden, page->n * net->all_h},
        {&space->page, 2 * net->all_h}, {&space->both, 2 * net->h}, {&space->counts, most},
        {&space->means, most * net->all_h}, {&space->alike, groups * net->all_k}, {&space->second_row, net->all_k},
        {&space->second, TOGETHER * net->all_k},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    Py_ssize_t total = 0;
    for (int i = 0; i < PARTS; i++) total += padded(parts[i].size);
    float *memory = malloc((size_t)total * sizeof(float)), *next = memory;
    if (memory == NULL) return NULL;
    for (int i = 0; i < PARTS; i++, next += padded(parts[i - 1].size)) *parts[i].place = next;
    return memory;
}

/* sums[k] += rows[k] for so many numbers. */
static inline void add_row(float *restrict sums, const float *restrict row, Py_ssize_t width) {
    for (Py_ssize_t k = 0; k < width; k++) sums[k] += row[k];
}

/* Mean vectors (n_bags, width) of the words of each bag; words of zeros don't count. Some numbers of all words before the
   next ones, so that their sums stay in registers. */
WIDE static void mean_words(const Net *net, const Seen *page, Py_ssize_t width, float *restrict means) {
    for (Py_ssize_t bag = 0; bag < page->n_bags; bag++, means += width) {
        int64_t begin = page->starts[bag], end = page->starts[bag + 1];
        Py_ssize_t k = 0;
        float count = 0;
        for (int64_t i = begin; i < end; i++) count += net->known[page->buckets[i]];
        float divisor = count > 1 ? count : 1;
        for (; k + LANES <= width; k += LANES) {
            float sums[LANES] = {0};
            for (int64_t i = begin; i < end; i++) {
                const float *word = net->words + page->buckets[i] * width + k;
                for (int j = 0; j < LANES; j++) sums[j] += word[j];
            }
            for (int j = 0; j < LANES; j++) means[k + j] = sums[j] / divisor;
        }
        for (; k < width; k++) {
            float sum = 0;
            for (int64_t i = begin; i < end; i++) sum += net->words[page->buckets[i] * width + k];
            means[k] = sum / divisor;
        }
    }
}

/* What the words above blocks add to the first layer: rows (n_bags, all_h). */
static void lift_words(const Net *net, const Seen *page, float *means, float *rows) {
    Py_ssize_t d = net->d, width = net->m * d, hp = padded(net->h);
    mean_words(net, page, width, means);
    for (Py_ssize_t member = 0; member < net->m; member++)
        multiply((Factor){means + member * d, width, 1}, page->n_bags, net->lift + member * d * hp, hp, d, hp,
                 rows + member * hp, net->all_h);
}

/* What is added to n rows of the first layer, and the sums over them, plain and weighted: for the means of the page. */
WIDE static void activate_first(const Net *net, const Seen *page, Py_ssize_t begin, Py_ssize_t end, double all_words,
                                const float *restrict row, const float *lifted, float *restrict hidden, float *restrict sums,
                                float *restrict by_words) {
    Py_ssize_t width = net->all_h;
    for (Py_ssize_t i = begin; i < end; i++, hidden += width) {
        float share = (float)(page->n_words[i] / all_words);
        add_row(hidden, row, width);
        if (lifted != NULL) add_row(hidden, lifted + page->bag[i] * width, width);
        for (Py_ssize_t k = 0; k < width; k++) {
            hidden[k] = hidden[k] > 0 ? hidden[k] : 0;
            sums[k] += hidden[k];
            by_words[k] += share * hidden[k];
        }
    }
}

/* Means (n_groups, width) of the rows of each group. */
WIDE static void mean_groups(const float *restrict hidden, Py_ssize_t n, Py_ssize_t width, const int64_t *group,
                             Py_ssize_t n_groups, float *restrict counts, float *restrict means) {
    memset(counts, 0, (size_t)n_groups * sizeof(float));
    memset(means, 0, (size_t)(n_groups * width) * sizeof(float));
    for (Py_ssize_t i = 0; i < n; i++) {
        add_row(means + group[i] * width, hidden + i * width, width);
        counts[group[i]]++;
    }
    for (Py_ssize_t i = 0; i < n_groups; i++)
        for (Py_ssize_t k = 0; counts[i] > 1 && k < width; k++) means[i * width + k] /= counts[i];
}

/* The sum of the products of so many numbers, a multiple of LANES, each of LANES sums for itself and then in halves. */
static inline float dot(const float *restrict a, const float *restrict b, Py_ssize_t n) {
    float sums[LANES] = {0};
    for (Py_ssize_t i = 0; i < n; i += LANES)
        for (int k = 0; k < LANES; k++) sums[k] += a[i + k] * b[i + k];
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

/* Log odds of blocks from `begin` to `end`, whose products with `own` are in `space`. */
WIDE static void write_odds(const Net *net, const Seen *page, Py_ssize_t begin, Py_ssize_t end, const Space *space,
                            double *restrict odds) {
    Py_ssize_t width = net->all_k, kp = padded(net->k);
    const float *restrict row = space->second_row;
    float *restrict second = space->second;
    for (Py_ssize_t i = begin; i < end; i++, second += width) {
        const float *of_groups = space->alike;
        if (net->ways == 2) { /* in one pass for what nets mostly have */
            const float *one = of_groups + page->group[0][i] * width;
            const float *two = of_groups + (page->n_groups[0] + page->group[1][i]) * width;
            for (Py_ssize_t k = 0; k < width; k++) {
                float sum = second[k] + row[k] + one[k] + two[k];
                second[k] = sum > 0 ? sum : 0;
            }
        } else {
            add_row(second, row, width);
            for (Py_ssize_t way = 0; way < net->ways; of_groups += page->n_groups[way++] * width)
                add_row(second, of_groups + page->group[way][i] * width, width);
            for (Py_ssize_t k = 0; k < width; k++) second[k] = second[k] > 0 ? second[k] : 0;
        }
        float sum = 0;
        for (Py_ssize_t member = 0; member < net->m; member++)
            sum += dot(second + member * kp, net->out + member * kp, kp) + net->out_bias[member];
        odds[i] = sum / (float)net->m; /* of floats, as in the twin */
    }
}

/* Finds the columns that vary, the weights for them, and what the others are like. */
static void look_at_columns(const Net *net, const Seen *page, float bound, Space *space) {
    Py_ssize_t rank = net->rank, n = page->n;
    space->n_varying = 0;
    for (Py_ssize_t place = 0; place < net->f; place++) {
        const float *column = page->columns + place * n;
        space->shared[place] = 0;
        if (!is_varying(column, n)) {
            standardise(column, 1, net->centre[place], net->scale[place], bound, space->shared + place);
            continue;
        }
        memcpy(space->chosen + space->n_varying * rank, net->first + place * rank, (size_t)rank * sizeof(float));
        space->varying[space->n_varying++] = place;
    }
}

/* What the first layer gives, `hidden` (n, all_h), and its means over the page's blocks and words, `page` (2, all_h). */
static void first_layer(const Net *net, const Seen *page, float bound, const Space *space) {
    Py_ssize_t rank = net->rank, all_h = net->all_h, n = page->n;
    double all_words = 0; /* whole numbers: exact in any order */
    for (Py_ssize_t i = 0; i < n; i++) all_words += page->n_words[i];
    all_words = at_least(all_words, 1);
    multiply((Factor){space->shared, 0, 1}, 1, net->first, rank, net->f, rank, space->fixed, rank);
    float *row = space->fixed;
    if (net->factors) {
        row = space->row;
        multiply((Factor){space->fixed, 0, 1}, 1, net->mix, all_h, net->factors, all_h, row, all_h);
    }
    add_row(row, net->first_bias, all_h);
    if (net->d > 0) lift_words(net, page, space->words, space->lifted);
    float *sums = space->page, *by_words = sums + all_h;
    memset(sums, 0, (size_t)(2 * all_h) * sizeof(float));
    for (Py_ssize_t begin = 0; begin < n; begin += TOGETHER) {
        Py_ssize_t end = begin + TOGETHER < n ? begin + TOGETHER : n;
        for (Py_ssize_t i = 0; i < space->n_varying; i++) {
            int64_t place = space->varying[i];
            standardise(page->columns + place * n + begin, end - begin, net->centre[place], net->scale[place], bound,
                        space->ready + i * TOGETHER);
        }
        float *hidden = space->hidden + begin * all_h, *out = net->factors ? space->sums : hidden;
        multiply((Factor){space->ready, 1, TOGETHER}, end - begin, space->chosen, rank, space->n_varying, rank, out, rank);
        if (net->factors)
            multiply((Factor){out, rank, 1}, end - begin, net->mix, all_h, net->factors, all_h, hidden, all_h);
        activate_first(net, page, begin, end, all_words, row, net->d > 0 ? space->lifted : NULL, hidden, sums, by_words);
    }
    for (Py_ssize_t k = 0; k < all_h; k++) sums[k] /= (float)n;
}

/* Log odds (n,) from what the first layer gave. */
static void second_layer(const Net *net, const Seen *page, const Space *space, double *odds) {
    Py_ssize_t h = net->h, hp = padded(h), kp = padded(net->k), n = page->n, all_h = net->all_h, all_k = net->all_k;
    for (Py_ssize_t member = 0; member < net->m; member++) {
        for (int part = 0; part < 2; part++)
            memcpy(space->both + part * h, space->page + part * all_h + member * hp, (size_t)h * sizeof(float));
        multiply((Factor){space->both, 0, 1}, 1, net->page + member * 2 * h * kp, kp, 2 * h, kp,
                 space->second_row + member * kp, all_k);
    }
    add_row(space->second_row, net->second_bias, all_k);
    float *of_groups = space->alike;
    for (Py_ssize_t way = 0; way < net->ways; of_groups += page->n_groups[way++] * all_k) {
        mean_groups(space->hidden, n, all_h, page->group[way], page->n_groups[way], space->counts, space->means);
        for (Py_ssize_t member = 0; member < net->m; member++)
            multiply((Factor){space->means + member * hp, all_h, 1}, page->n_groups[way],
                     net->alike + (member * net->ways + way) * h * kp, kp, h, kp, of_groups + member * kp, all_k);
    }
    for (Py_ssize_t begin = 0; begin < n; begin += TOGETHER) {
        Py_ssize_t end = begin + TOGETHER < n ? begin + TOGETHER : n;
        for (Py_ssize_t member = 0; member < net->m; member++)
            multiply((Factor){space->hidden + begin * all_h + member * hp, all_h, 1}, end - begin,
                     net->own + member * h * kp, kp, h, kp, space->second + member * kp, all_k);
        write_odds(net, page, begin, end, space, odds);
    }
}

int write_net_odds(const Net *net, const Seen *page, float bound, double *odds) {
    Space space;
    float *memory = space_for(net, page, &space);
    if (memory == NULL) return -1;
    look_at_columns(net, page, bound, &space);
    first_layer(net, page, bound, &space);
    second_layer(net, page, &space, odds);
    free(memory);
    return 0;
}
