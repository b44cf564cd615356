/* What decides on the blocks of a page: decide.c, scores.c, copies.c, odds.c. */
#ifndef BLOCKML_DECIDE_H
#define BLOCKML_DECIDE_H

#include "kernel.h"

typedef struct {
    double probability, words;
} Block;

/* decide.c. Room for n blocks; NULL with an exception set. */
Block *memory_for(size_t n);
/* The smallest probability that is kept for the best expected F1, and that F1. */
double best_of(Block *memory, const float *probability, const double *words, size_t n, double *f1);

/* odds.c: twins of functions in blockml.odds. */
double logit(double probability);
void write_logits(const float *probabilities, size_t n, double *odds);
void write_logistics(const double *odds, size_t n, float *probabilities);

/* copies.c. Lowers the log odds (n,) of lines that another one stands for: the twin of
   blockml.copies.care_with_copies. `text` is -1 for lines that are no copies, and below n; `memory` has room for 2 n. */
typedef struct {
    const int64_t *line, *text, *place;
    double slack, here, caution;
} Copies;
void lower_copies(double *odds, size_t n, const Copies *copies, double *memory);

#endif
