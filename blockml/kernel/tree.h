/* The tree of a page and what stands above its blocks, as View holds them. */
#ifndef BLOCKML_TREE_H
#define BLOCKML_TREE_H

#include "kernel.h"

enum { TREE_ARRAYS = 7 };

/* The blocks of node i are started[i] ... started[end[i]] - 1. */
typedef struct {
    const int64_t *chain;   /* (n_levels, n) the parent of each block, its parent and so on; -1 above a root */
    const int64_t *started; /* (n_nodes + 1,) blocks that start before each node */
    const int32_t *tag, *parent, *depth, *end; /* (n_nodes,) */
    const int32_t *holder;                     /* (n,) the parent of each block */
    Py_ssize_t n_levels, n, n_nodes;
    Py_buffer view[TREE_ARRAYS];
    int opened;
} Tree;

/* Opens a tuple of these arrays, in this order, and checks that all numbers in them are such of nodes and blocks, and tags
   of `n_tags`. Returns 0, or -1 with an exception set; the tree is to be closed in either case. */
int tree_open(PyObject *arrays, Tree *tree, Py_ssize_t n_tags);
void tree_close(Tree *tree);

/* A node, or what stands for "no node" in numpy, which counts from the end. */
static inline int64_t wrapped(const Tree *tree, int64_t node) { return node < 0 ? tree->n_nodes - 1 : node; }

/* The ancestor of a block so many levels above its parent, or the outermost one. */
static inline int64_t ancestor(const Tree *tree, Py_ssize_t block, int64_t level) {
    int64_t node = tree->chain[block];
    for (Py_ssize_t k = 1; k <= level && k < tree->n_levels && tree->chain[k * tree->n + block] >= 0; k++)
        node = tree->chain[k * tree->n + block];
    return wrapped(tree, node);
}

/* Sums before each block, and of all: k values (k, n) side by side, so that those of one block lie together. NULL with an
   exception set. */
double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n);

#endif
