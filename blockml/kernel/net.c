/* Small nets over the blocks of a page: the twin of blockml.nets.Net.predict.

   Every sum has its terms added one after another, in an order that the twin keeps too, so both give the same to the last
   bit; what matrix products of libraries give depends on the machine. */
#include "decide.h"
#include "matrix.h"
#include <math.h>
#include <stdlib.h>

#define CAPSULE "blockml.net"

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

/* Nets as they are kept between pages. Units are padded to whole vectors; what they are padded with is 0 and stays so. */
typedef struct {
    Py_ssize_t f, m, h, k, d, ways, n_words; /* columns, nets, units of both layers, numbers of a word, ways to be alike */
    Py_ssize_t factors;            /* numbers between the factors of the first layer, 0 where it has none */
    Py_ssize_t rank, all_h, all_k; /* what the first factor gives, and units of all nets; padded */
    float *centre, *scale;      /* (f,) */
    float *first, *first_bias;  /* (f, rank); (all_h,) */
    float *mix;                 /* (factors, all_h) */
    float *words, *known;       /* (n_words, m * d); (n_words,) 1 for words that aren't all zero */
    float *lift, *own;          /* (m, d, h); (m, h, k) */
    float *page, *alike;        /* (m, 2 * h, k); (m, ways * h, k) */
    float *second_bias, *out, *out_bias; /* (all_k,); (all_k,); (m,) */
    float *memory;
} Net;

static void free_net(PyObject *capsule) {
    Net *net = PyCapsule_GetPointer(capsule, CAPSULE);
    if (net != NULL) free(net->memory);
    free(net);
}

/* Copies rows of `groups` groups of `width` numbers each, every group padded. */
static void copy_padded(const float *from, Py_ssize_t rows, Py_ssize_t groups, Py_ssize_t width, float *to) {
    for (Py_ssize_t i = 0; i < rows * groups; i++, from += width, to += padded(width))
        memcpy(to, from, (size_t)width * sizeof(float));
}

/* held_net((f, m, h, k, d, ways, n_words, factors), arrays): the nets of a tuple of arrays, those of blockml.nets.Net in
   order, as net_probabilities takes them. */
PyObject *held_net(PyObject *module, PyObject *arguments) {
    enum { CENTRE, SCALE, FIRST, FIRST_BIAS, WORDS, LIFT, OWN, PAGE, ALIKE, SECOND_BIAS, OUT, OUT_BIAS, MIX, N };
    PyObject *arrays, *result = NULL;
    Py_buffer view[N];
    int opened = 0;
    Net *net = calloc(1, sizeof *net);
    (void)module;
    if (net == NULL) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(arguments, "(nnnnnnnn)O!", &net->f, &net->m, &net->h, &net->k, &net->d, &net->ways, &net->n_words,
                          &net->factors, &PyTuple_Type, &arrays))
        goto done;
    if (PyTuple_Size(arrays) != N) {
        PyErr_SetString(PyExc_ValueError, "not the arrays of a net");
        goto done;
    }
    for (; opened < N; opened++)
        if (open_array(PyTuple_GetItem(arrays, opened), &view[opened], 4, 0) < 0) goto done;
    Py_ssize_t f = net->f, m = net->m, h = net->h, k = net->k, d = net->d, rank = net->factors;
    const Py_ssize_t given[N] = {
        f, f, f * (rank ? rank : m * h), m * h, net->n_words * m * d, m * d * h, m * h * k, 2 * m * h * k,
        m * net->ways * h * k, m * k, m * k, m, rank * m * h,
    };
    int sound = f > 0 && m > 0 && h > 0 && k > 0 && d >= 0 && net->ways >= 0 && net->n_words >= 0 && rank >= 0;
    for (int i = 0; sound && i < N; i++) sound = view[i].len / 4 == given[i];
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "arrays of a net that don't fit together");
        goto done;
    }
    net->all_h = m * padded(h);
    net->all_k = m * padded(k);
    net->rank = rank ? padded(rank) : net->all_h;
    struct {
        float **place;
        Py_ssize_t from, rows, groups, width;
    } parts[] = {
        {&net->centre, CENTRE, 1, 1, f}, {&net->scale, SCALE, 1, 1, f},
        {&net->first, FIRST, f, rank ? 1 : m, rank ? rank : h}, {&net->first_bias, FIRST_BIAS, 1, m, h},
        {&net->mix, MIX, rank, m, h}, {&net->lift, LIFT, m * d, 1, h}, {&net->own, OWN, m * h, 1, k},
        {&net->page, PAGE, m * 2 * h, 1, k}, {&net->alike, ALIKE, m * net->ways * h, 1, k},
        {&net->second_bias, SECOND_BIAS, 1, m, k}, {&net->out, OUT, 1, m, k},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    Py_ssize_t total = net->n_words * (m * d + 1) + m;
    for (int i = 0; i < PARTS; i++) total += parts[i].rows * parts[i].groups * padded(parts[i].width);
    net->memory = calloc((size_t)total, sizeof(float));
    if (net->memory == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    float *next = net->memory;
    for (int i = 0; i < PARTS; i++) {
        *parts[i].place = next;
        copy_padded(view[parts[i].from].buf, parts[i].rows, parts[i].groups, parts[i].width, next);
        next += parts[i].rows * parts[i].groups * padded(parts[i].width);
    }
    net->out_bias = memcpy(next, view[OUT_BIAS].buf, (size_t)m * sizeof(float));
    net->words = memcpy(next + m, view[WORDS].buf, (size_t)view[WORDS].len);
    net->known = net->words + net->n_words * m * d;
    for (Py_ssize_t word = 0; word < net->n_words; word++)
        for (Py_ssize_t i = 0; i < m * d; i++)
            if (net->words[word * m * d + i] != 0) net->known[word] = 1;
    result = PyCapsule_New(net, CAPSULE, free_net);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    if (result == NULL) {
        free(net->memory);
        free(net);
    }
    return result;
}

/* A page: n blocks, in groups. */
typedef struct {
    Py_ssize_t n, n_bags;
    const float *columns; /* (f, n) */
    const int64_t *starts, *bag; /* (n_bags + 1,) where bags begin; (n,) */
    const int32_t *buckets;      /* words of bags */
    const int64_t *const *group; /* of each way, (n,) */
    const Py_ssize_t *n_groups;
    const double *n_words; /* (n,) */
} Blocks;

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

static float *space_for(const Net *net, const Blocks *page, Space *space) {
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
WIDE static void mean_words(const Net *net, const Blocks *page, Py_ssize_t width, float *restrict means) {
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
static void lift_words(const Net *net, const Blocks *page, float *means, float *rows) {
    Py_ssize_t d = net->d, width = net->m * d, hp = padded(net->h);
    mean_words(net, page, width, means);
    for (Py_ssize_t member = 0; member < net->m; member++)
        multiply((Factor){means + member * d, width, 1}, page->n_bags, net->lift + member * d * hp, hp, d, hp,
                 rows + member * hp, net->all_h);
}

/* What is added to n rows of the first layer, and the sums over them, plain and weighted: for the means of the page. */
WIDE static void activate_first(const Net *net, const Blocks *page, Py_ssize_t begin, Py_ssize_t end, double all_words,
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
WIDE static void write_odds(const Net *net, const Blocks *page, Py_ssize_t begin, Py_ssize_t end, const Space *space,
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
static void look_at_columns(const Net *net, const Blocks *page, float bound, Space *space) {
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
static void first_layer(const Net *net, const Blocks *page, float bound, const Space *space) {
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
static void second_layer(const Net *net, const Blocks *page, const Space *space, double *odds) {
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

enum { MOST_WAYS = 8 };

/* The groups of a way, numbered from 0 on without many gaps; 0 with an exception set. `memory` is for the caller to free. */
static int number_groups(const int64_t *numbers, Py_ssize_t n, const int64_t **group, Py_ssize_t *n_groups, int64_t **memory) {
    int64_t least = 0, most = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    *group = numbers;
    *n_groups = (Py_ssize_t)most + 1;
    if (least >= 0 && most < n) return 1;
    *memory = malloc((size_t)n * sizeof(int64_t));
    if (*memory == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    *group = *memory;
    *n_groups = (Py_ssize_t)rank_keys((const uint64_t *)numbers, (size_t)n, NULL, NULL, *memory);
    return *n_groups >= 0;
}

/* Whether words and bags are such as there are. */
static int are_bags(const Net *net, const Blocks *page, Py_ssize_t n_buckets) {
    int64_t before = 0, bad = page->starts[0];
    for (Py_ssize_t bag = 0; bag < page->n_bags; bag++) {
        bad |= page->starts[bag + 1] - before;
        before = page->starts[bag + 1];
    }
    bad |= n_buckets - before;
    for (Py_ssize_t i = 0; i < n_buckets; i++) bad |= OUTSIDE(int64_t, page->buckets[i], 0, net->n_words);
    for (Py_ssize_t i = 0; i < page->n; i++) bad |= OUTSIDE(int64_t, page->bag[i], 0, page->n_bags);
    return bad >= 0;
}

/* net_probabilities(net, columns, bound, starts, buckets, bag, groups, n_words, probabilities): those (n,) of blocks by the
   nets of held_net, from columns (f, n); bags of words, empty arrays for a net that reads none; a tuple of groups (n,), for
   each way to be alike; and the words of blocks. */
PyObject *net_probabilities(PyObject *module, PyObject *arguments) {
    enum { COLUMNS, STARTS, BUCKETS, BAG, N_WORDS, PROBABILITIES, N };
    PyObject *object[N], *capsule, *groups, *result = NULL;
    static const Py_ssize_t sizes[N] = {4, 8, 4, 8, 8, 4};
    float bound, *memory = NULL;
    double *odds = NULL;
    Py_buffer view[N + MOST_WAYS];
    const int64_t *group[MOST_WAYS];
    int64_t *renumbered[MOST_WAYS] = {NULL};
    Py_ssize_t n_groups[MOST_WAYS];
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOfOOOO!OO", &capsule, &object[0], &bound, &object[1], &object[2], &object[3],
                          &PyTuple_Type, &groups, &object[4], &object[5]))
        return NULL;
    const Net *net = PyCapsule_GetPointer(capsule, CAPSULE);
    if (net == NULL) return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == PROBABILITIES) < 0) goto done;
    Py_ssize_t n = view[PROBABILITIES].len / 4;
    Blocks page = {n,     view[STARTS].len / 8 - 1, view[COLUMNS].buf, view[STARTS].buf, view[BAG].buf, view[BUCKETS].buf,
                   group, n_groups,                 view[N_WORDS].buf};
    int sound = n > 0 && view[COLUMNS].len / 4 == net->f * n && view[N_WORDS].len / 8 == n && net->ways <= MOST_WAYS &&
                PyTuple_Size(groups) == net->ways;
    if (net->d == 0)
        page.n_bags = 0;
    else if (sound)
        sound = page.n_bags >= 0 && view[BAG].len / 8 == n && are_bags(net, &page, view[BUCKETS].len / 4);
    for (Py_ssize_t way = 0; sound && way < net->ways; way++) {
        if (open_array(PyTuple_GetItem(groups, way), &view[opened], 8, 0) < 0) goto done;
        sound = view[opened++].len / 8 == n;
        if (sound && !number_groups(view[opened - 1].buf, n, &group[way], &n_groups[way], &renumbered[way])) goto done;
    }
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such columns, words or groups, or arrays differ in size");
        goto done;
    }
    Space space;
    memory = space_for(net, &page, &space);
    odds = malloc((size_t)n * sizeof(double));
    if (memory == NULL || odds == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS;
    look_at_columns(net, &page, bound, &space);
    first_layer(net, &page, bound, &space);
    second_layer(net, &page, &space, odds);
    write_logistics(odds, (size_t)n, view[PROBABILITIES].buf);
    Py_END_ALLOW_THREADS;
    result = Py_NewRef(Py_None);
done:
    free(memory);
    free(odds);
    for (int way = 0; way < MOST_WAYS; way++) free(renumbered[way]);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
