/* Small nets and the pages that they judge: predictors_mlp.c, predictors_mlp_layers.c. */
#ifndef BLOCKML_NET_H
#define BLOCKML_NET_H

#include "predictors_matmul.h"

/* Nets as they are kept between pages: those of blockml.predictors.quantized_mlp. Units are padded to whole vectors; what they are
   padded with is 0 and stays so. Weights lie in pairs of rows, as multiply takes them, but for those of `first`, of
   which a page chooses. */
typedef struct {
    Py_ssize_t f, m, h, k, d, ways, n_words; /* columns, nets, units of both layers, numbers of a word, ways */
    Py_ssize_t factors;            /* numbers between the factors of the first layer, 0 where it has none */
    Py_ssize_t rank, all_h, all_k; /* what the first factor gives, and units of all nets; padded */
    Py_ssize_t width;              /* of the vectors of words, those of a net an even number */
    float *centre, *scale;         /* (f,) */
    float *first_scale, *first_bias, *lift_scale; /* (all_h,) */
    float *second_scale, *second_bias;            /* (all_k,) */
    float *out_scale, *out_bias;                  /* (m,) */
    int16_t *first, *mix;   /* (f, rank); (factors, all_h) */
    int16_t *words, *known; /* (n_words, width); (n_words,) 1 for words that aren't all zero */
    int16_t *lift, *own;    /* (m, d, h); (m, h, k) */
    int16_t *page, *alike;  /* (m, 2, h, k); (m, ways, h, k) */
    int16_t *out;           /* (all_k,) */
    void *memory;
} Net;

/* What a net sees of a page: n blocks, in groups. */
typedef struct {
    Py_ssize_t n, n_bags;
    const float *columns; /* (f, n) */
    const int64_t *starts, *bag; /* (n_bags + 1,) where bags begin; (n,) */
    const int32_t *buckets;      /* words of bags */
    const int64_t *const *group; /* of each way, (n,) */
    const Py_ssize_t *n_groups;
    const double *n_words; /* (n,) */
} Seen;

/* predictors_mlp.c */
enum { MOST_WAYS = 8 }; /* as Net.check allows */
const Net *net_of(PyObject *capsule); /* NULL with an exception set */
/* Whether words and bags are such as there are. */
int are_bags(const Net *net, const Seen *page, Py_ssize_t n_buckets);
/* The groups of a way, numbered from 0 on without many gaps; 0 with an exception set. `memory` is for the caller to
   free. */
int number_groups(const int64_t *numbers, Py_ssize_t n, const int64_t **group, Py_ssize_t *n_groups, int64_t **memory);

/* predictors_mlp_layers.c. Writes the log odds (n,) of blocks; -1 without memory. */
int write_net_odds(const Net *net, const Seen *page, double *odds);

/* predictors_log_odds.c. Writes probabilities (n,) of log odds. */
void write_sigmoids(const double *odds, size_t n, float *probabilities);

#endif
