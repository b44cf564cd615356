/* What decides on the blocks of a page: decision_expected_f1.c, decision_page_scores.c, decision_duplicates.c, predictors_log_odds.c. */
#ifndef BLOCKML_DECIDE_H
#define BLOCKML_DECIDE_H

#include "kernel.h"

/* Blocks of a page, as columns (n,). */
typedef struct {
    size_t n;
    const double *words, *linked, *prose; /* words, those in links, and those of running text */
    const int64_t *line;                  /* numbers of lines, from 0 */
} Blocks;

/* decision_expected_f1.c */
typedef struct {
    double probability, words;
} Block;

/* Room for n blocks; NULL without memory. */
Block *memory_for(size_t n);
/* The smallest probability that is kept for the best expected F1, and that F1. */
double best_of(Block *memory, const float *probability, const double *words, size_t n, double *f1);

/* What blockml.decision.page_policy.Numbers holds. */
typedef struct {
    double border, expected, words, prose, kept_words, kept_linked, kept_prose, unsure;
    Py_ssize_t n_kept, runs;
    double agreement, low, high;
} Numbers;

/* From probabilities of the trees, and of trees and net together. Returns 0, or -1 without memory. */
int count_page(const Blocks *page, const float *alone, const float *final, Numbers *of);

/* predictors_log_odds.c: twins of functions in blockml.predictors.log_odds. */
double logit(double probability);
void write_logits(const float *probabilities, size_t n, double *odds);
void write_logistics(const double *odds, size_t n, float *probabilities);
/* `memory` has room for 2 n. */
void write_blended(const double *odds, const float *probabilities, size_t n, double share, double *memory, float *both);

/* decision_duplicates.c: twins of functions in blockml.decision.duplicates. */
typedef struct {
    const int64_t *text, *place; /* (n,); NULL where no care is taken with copies */
    double slack, here, caution;
} Copies;
/* Writes numbers (n,) of the text of each block's line. Returns 0, or -1 with an exception set. */
int number_lines(PyObject *texts, const int32_t *n_words, const uint8_t *flags, const int64_t *line, Py_ssize_t n,
                 int least, int mask, int64_t *numbers);
/* Lowers the log odds (n,) of lines that another one stands for. `memory` has room for 2 n. */
void lower_copies(double *odds, const Blocks *page, const Copies *copies, double *memory);

/* decision_page_scores.c: the twin of blockml.decision.page_policy.page_scores. */
typedef struct {
    double care, of_links, least_body, wordless, leaning, doubt, least_words, least_f1;
    float certain;
} Care;
/* Writes scores (n,). Returns 0, or -1 without memory. */
int write_scores(const Blocks *page, const float *probabilities, const Care *care, const Copies *copies, float *scores);

#endif
