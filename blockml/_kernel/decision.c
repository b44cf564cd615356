/* Page features, and scores of blocks by a decision policy. References: blockml.decision.lines,
   blockml.predictors.page_features, blockml.decision.policy.

   Numbers are computed in the order of the references, which gives the same results to the last bit. */
#include "kernel.h"
#include <math.h>

/* Columns of the blocks of a page, (n,) each. */
typedef struct {
    size_t n;
    const double *words, *linked, *prose;
} Amounts;

typedef struct {
    uint32_t key;
    uint32_t block;
} Item;

/* Key that decreases as the number increases. */
static uint32_t falling_key(float number) {
    uint32_t bits;
    number += 0.0f; /* no negative zero */
    memcpy(&bits, &number, 4);
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

enum { DIGIT_BITS = 8, N_DIGITS = 4, N_BUCKETS = 1 << DIGIT_BITS };

/* Sorts items by their keys, stably, by four digits; `items` and `spare` have n items. Returns the sorted ones. */
static Item *sort_items(Item *items, Item *spare, size_t n) {
    for (int digit = 0; digit < N_DIGITS; digit++) {
        uint32_t starts[N_BUCKETS + 1] = {0};
        int shift = digit * DIGIT_BITS;
        for (size_t i = 0; i < n; i++) starts[(items[i].key >> shift & (N_BUCKETS - 1)) + 1]++;
        for (int bucket = 0; bucket < N_BUCKETS; bucket++) starts[bucket + 1] += starts[bucket];
        for (size_t i = 0; i < n; i++) spare[starts[items[i].key >> shift & (N_BUCKETS - 1)]++] = items[i];
        Item *sorted = spare;
        spare = items;
        items = sorted;
    }
    return items;
}

/* Threshold with the best expected F1, which is stored in `f1`: expected_f1. `items` has room for 2 n items. */
static double best_threshold(const float *probabilities, const double *words, size_t n, Item *items, double *f1) {
    double all = 0, kept = 0, hits = 0, best = -1, threshold = 1;
    for (size_t i = 0; i < n; i++) items[i] = (Item){falling_key(probabilities[i]), (uint32_t)i};
    const Item *sorted = sort_items(items, items + n, n);
    for (size_t i = 0; i < n; i++) all += words[sorted[i].block] * (double)probabilities[sorted[i].block];
    *f1 = 0;
    if (!(all > 0)) return 1;
    for (size_t i = 0; i < n; i++) {
        double p = probabilities[sorted[i].block];
        kept += words[sorted[i].block];
        hits += words[sorted[i].block] * p;
        double quality = 2 * hits / (kept + all);
        if (quality > best) best = quality, threshold = p;
    }
    *f1 = best;
    return threshold;
}

enum { N_PAGE_FEATURES = 13 };

/* Writes the features of a page; `items` has room for 2 n items. */
static void write_page_features(const Amounts *page, const float *first, const float *probabilities, Item *items,
                                float *features) {
    enum { ALL, KEPT, FIRST, CERTAIN, LIKELY, UNSURE, N_CHOICES };
    double words[N_CHOICES] = {0}, shared[N_CHOICES] = {0}, links = 0, prose = 0, all_prose = 0, f1, unused, log_odds;
    double threshold = best_threshold(probabilities, page->words, page->n, items, &f1);
    float of_first = (float)best_threshold(first, page->words, page->n, items, &unused), least = (float)threshold;
    Py_ssize_t n_kept = 0, runs = 0;
    for (size_t i = 0, before = 0; i < page->n; i++) {
        float p = probabilities[i];
        const int chosen[N_CHOICES] = {1, p >= least, first[i] >= of_first, p >= 0.8f, p >= 0.2f, p > 0.2f && p < 0.8f};
        for (int choice = 0; choice < N_CHOICES; choice++) {
            words[choice] += chosen[choice] ? page->words[i] : 0;
            shared[choice] += chosen[choice] && chosen[KEPT] ? page->words[i] : 0;
        }
        links += chosen[KEPT] ? page->linked[i] : 0;
        prose += chosen[KEPT] ? page->prose[i] : 0;
        all_prose += page->prose[i];
        n_kept += chosen[KEPT];
        runs += chosen[KEPT] && !before;
        before = (size_t)chosen[KEPT];
    }
    double some_kept = at_least(words[KEPT], 1), some = at_least(words[ALL], 1), overlap[N_CHOICES];
    for (int choice = 0; choice < N_CHOICES; choice++)
        overlap[choice] = 2 * shared[choice] / at_least(words[KEPT] + words[choice], 1);
    compute_log_odds(&threshold, 1, &log_odds);
    const double values[N_PAGE_FEATURES] = {
        f1, log_odds, some_kept / some, log1p(some_kept), log1p(some), words[UNSURE] / some_kept, overlap[FIRST],
        (double)runs / (double)(n_kept > 1 ? n_kept : 1), links / some_kept, prose / some_kept, all_prose / some,
        overlap[CERTAIN], overlap[LIKELY],
    };
    for (int k = 0; k < N_PAGE_FEATURES; k++) features[k] = (float)values[k];
}

/* page_features(words, linked, prose, first, probabilities, features): writes the features (13,) of a page. */
PyObject *page_features(PyObject *module, PyObject *arguments) {
    enum { WORDS, LINKED, PROSE, FIRST, PROBABILITIES, FEATURES, N };
    PyObject *result = NULL;
    Py_buffer view[N];
    (void)module;
    if (open_arrays(arguments, view, "d d d f f *f") < 0) return NULL;
    Amounts page = {(size_t)n_items(&view[WORDS]), view[WORDS].buf, view[LINKED].buf, view[PROSE].buf};
    Item *items = NULL;
    int sound = n_items(&view[FEATURES]) == N_PAGE_FEATURES && page.n <= INT32_MAX;
    for (int k = 0; k < FEATURES; k++) sound &= (size_t)n_items(&view[k]) == page.n;
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
    else if ((items = malloc((2 * page.n + 1) * sizeof(Item))) == NULL)
        PyErr_NoMemory();
    else {
        write_page_features(&page, view[FIRST].buf, view[PROBABILITIES].buf, items, view[FEATURES].buf);
        result = Py_NewRef(Py_None);
    }
    free(items);
    close_arrays(view, N);
    return result;
}

/* Numbers of a policy for one page, and groups of blocks, (n,) each. */
typedef struct {
    double penalty, link_penalty, certain_p, min_certain_words, wordless_weight, duplicate_penalty, same_context_penalty,
        min_content_words, min_best;
    const int64_t *unit, *text, *copy, *context;
    const double *preference;
} Policy;

/* Lowers log odds by penalties, and replaces those of each unit by their weighted mean; `weights` (n,) gets the sums of
   weights by unit, `sums` is working memory. Both are zero before. */
static void pool_units(const Amounts *page, const float *probabilities, const Policy *policy, double *log_odds,
                       double *sums, double *weights) {
    double most = 0, sum = 0, of_links = policy->link_penalty;
    float certain = (float)policy->certain_p;
    for (size_t i = 0; i < page->n; i++) { /* maximum words of certain running text without a link block in between */
        if (page->linked[i] > 0 && 2 * page->linked[i] >= page->words[i]) sum = 0;
        if (page->prose[i] > 0 && probabilities[i] >= certain) sum += page->words[i];
        most = at_least(sum, most);
    }
    if (most < policy->min_certain_words) of_links = policy->penalty;
    for (size_t i = 0; i < page->n; i++) {
        int is_link = page->linked[i] > 0 && 2 * page->linked[i] >= page->words[i];
        double weight = at_least(page->words[i], policy->wordless_weight);
        sums[policy->unit[i]] += weight * (log_odds[i] - (is_link ? of_links : policy->penalty));
        weights[policy->unit[i]] += weight;
    }
    for (size_t i = 0; i < page->n; i++) log_odds[i] = sums[policy->unit[i]] / weights[policy->unit[i]];
}

/* Lowers the log odds of duplicates except the best; `best` and `stays` (n,) are working memory. */
static void lower_duplicates(const Policy *policy, size_t n, double *log_odds, double *best, int64_t *stays) {
    const int64_t *text = policy->text;
    for (size_t i = 0; i < n; i++) best[i] = -INFINITY, stays[i] = 0;
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0) best[text[i]] = at_least(log_odds[i] + policy->preference[i], best[text[i]]);
    for (size_t i = n; i-- > 0;)
        if (text[i] >= 0 && log_odds[i] + policy->preference[i] == best[text[i]]) stays[text[i]] = (int64_t)i;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < 0) continue;
        int64_t other = stays[text[i]];
        if (policy->copy[i] != policy->copy[other])
            log_odds[i] -= policy->context[i] == policy->context[other] ? policy->same_context_penalty
                                                                        : policy->duplicate_penalty;
    }
}

/* Writes scores (n,): score_blocks. `memory` has room for 4 n doubles, all zero. */
static void write_scores(const Amounts *page, const float *probabilities, const Policy *policy, double *memory,
                         float *scores) {
    size_t n = page->n;
    double *log_odds = memory, *sums = memory + n, *weights = memory + 2 * n, *spare = memory + 3 * n;
    for (size_t i = 0; i < n; i++) spare[i] = probabilities[i];
    compute_log_odds(spare, n, log_odds);
    pool_units(page, probabilities, policy, log_odds, sums, weights);
    if (policy->duplicate_penalty > 0) lower_duplicates(policy, n, log_odds, sums, (int64_t *)spare);
    write_sigmoids(log_odds, n, scores);
    double f1, expected = 0, least = INFINITY, most = -INFINITY, best = 0;
    float threshold = (float)best_threshold(scores, page->words, n, (Item *)sums, &f1); /* 2 n items of 8 bytes */
    for (size_t i = 0; i < n; i++) {
        if (scores[i] >= threshold && log_odds[i] < least) least = log_odds[i];
        if (log_odds[i] > most) most = log_odds[i], best = scores[i];
        expected += page->words[i] * (double)scores[i];
    }
    if (least > most + 1 || (best < policy->min_best && expected < policy->min_content_words)) least = most + 1;
    for (size_t i = 0; i < n; i++) log_odds[i] -= least;
    write_sigmoids(log_odds, n, scores);
}

/* policy_scores(columns, numbers): writes the column `scores` (n,) from the others and the numbers of Policy, by name.
   Units are numbered without gaps. */
PyObject *policy_scores(PyObject *module, PyObject *arguments) {
    enum { PROBABILITIES, WORDS, LINKED, PROSE, UNIT, TEXT, COPY, CONTEXT, PREFERENCE, SCORES, N };
    static const Named named[N] = {
        [PROBABILITIES] = {"probabilities", "f"}, [WORDS] = {"words", "d"}, [LINKED] = {"linked", "d"},
        [PROSE] = {"prose", "d"}, [UNIT] = {"unit", "q"}, [TEXT] = {"text", "q"}, [COPY] = {"copy", "q"}, [CONTEXT] = {"context", "q"},
        [PREFERENCE] = {"preference", "d"},
        [SCORES] = {"scores", "*f"},
    };
    Policy p;
    const struct {
        const char *name;
        double *number;
    } fields[] = {
        {"penalty", &p.penalty}, {"link_penalty", &p.link_penalty}, {"certain_p", &p.certain_p},
        {"min_certain_words", &p.min_certain_words}, {"wordless_weight", &p.wordless_weight},
        {"duplicate_penalty", &p.duplicate_penalty}, {"same_context_penalty", &p.same_context_penalty},
        {"min_content_words", &p.min_content_words}, {"min_best_probability", &p.min_best},
    };
    PyObject *columns, *numbers, *result = NULL;
    Py_buffer view[N];
    double *memory = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyDict_Type, &columns, &PyDict_Type, &numbers)) return NULL;
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        PyObject *number = PyDict_GetItemString(numbers, fields[k].name);
        if (number == NULL && !PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "number %s is missing", fields[k].name);
        *fields[k].number = number == NULL ? -1 : PyFloat_AsDouble(number);
        if (PyErr_Occurred()) return NULL;
    }
    if (open_named(columns, view, named, N) < 0) return NULL;
    Amounts page = {(size_t)n_items(&view[SCORES]), view[WORDS].buf, view[LINKED].buf, view[PROSE].buf};
    p.unit = view[UNIT].buf, p.text = view[TEXT].buf, p.copy = view[COPY].buf, p.context = view[CONTEXT].buf;
    p.preference = view[PREFERENCE].buf;
    int sound = page.n > 0 && page.n <= INT32_MAX;
    for (int k = 0; k < N; k++) sound &= (size_t)n_items(&view[k]) == page.n;
    for (size_t i = 0; sound && i < page.n; i++)
        sound = p.unit[i] >= 0 && p.unit[i] <= (i ? p.unit[i - 1] + 1 : 0) && p.unit[i] >= (i ? p.unit[i - 1] : 0) &&
                p.text[i] < (int64_t)page.n;
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "no such unit or text, or columns of blocks differ in length");
    else if ((memory = calloc(4 * page.n, sizeof(double))) == NULL)
        PyErr_NoMemory();
    else {
        write_scores(&page, view[PROBABILITIES].buf, &p, memory, view[SCORES].buf);
        result = Py_NewRef(Py_None);
    }
    free(memory);
    close_arrays(view, N);
    return result;
}
