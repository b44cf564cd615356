/* MLPs and their inputs: predictors_mlp.c, predictors_mlp_layers.c. */
#ifndef BLOCKML_MLP_H
#define BLOCKML_MLP_H

#include "predictors_matmul.h"

/* A packed blockml.predictors.mlp.QuantizedMLP. Units are padded with zeros to whole vectors. Weights are
   stored in pairs of rows, as multiply takes them, except input_u, of which the varying columns of a page are
   gathered. */
typedef struct {
    Py_ssize_t f, m, h, k, d; /* columns, networks, units of both layers, components of a word vector */
    Py_ssize_t n_groupings, n_words;
    Py_ssize_t n_factors;          /* rank of the input layer, 0 without factors */
    Py_ssize_t rank, all_h, all_k; /* padded: columns of input_u, units of all networks */
    Py_ssize_t vector_size;        /* of the word vectors of all networks, each padded to an even size */
    float *center, *scale;         /* (f,) */
    float *input_scale, *input_bias, *word_scale; /* (all_h,) */
    float *hidden_scale, *hidden_bias;            /* (all_k,) */
    float *output_scale, *output_bias;            /* (m,) */
    int16_t *input_u, *input_v;                   /* (f, rank); (n_factors, all_h) */
    int16_t *word_vectors, *known_words;          /* (n_words, vector_size); (n_words,) 1 for non-zero vectors */
    int16_t *word_projection, *self_weights;      /* (m, d, h); (m, h, k) */
    int16_t *page_weights, *group_weights;        /* (m, 2, h, k); (m, n_groupings, h, k) */
    int16_t *output_weights;                      /* (all_k,) */
    void *memory;
} Mlp;

/* Inputs for the n blocks of a page. */
typedef struct {
    Py_ssize_t n, n_bags;
    const float *columns;         /* (f, n) */
    const int64_t *starts, *bag;  /* (n_bags + 1,) first word of each bag; (n,) bag of each block */
    const int32_t *hashed_words;  /* words of all bags */
    const int64_t *const *group;  /* (n_groupings,) arrays (n,) */
    const Py_ssize_t *n_groups;   /* (n_groupings,) */
    const double *n_words;        /* (n,) */
} Inputs;

/* predictors_mlp.c */
enum { MAX_GROUPINGS = 8 }; /* as in mlp.py */

/* predictors_mlp_layers.c. Writes the log odds (n,) of blocks; -1 without memory. */
int write_mlp_log_odds(const Mlp *mlp, const Inputs *inputs, double *log_odds);

#endif
