/* The tree of a page and what stands above its blocks, as View holds them. */
#ifndef BLOCKML_TREE_H
#define BLOCKML_TREE_H

#include "kernel.h"

/* The blocks of node i are started[i] ... started[end[i]] - 1. All numbers are such of nodes, blocks and tags. */
typedef struct {
    Py_ssize_t n_levels, n, n_nodes, n_tags, n_reached;
    int64_t *chain;   /* (n_levels, n) the parent of each block, its parent and so on; -1 above a root */
    int64_t *started; /* (n_nodes + 1,) blocks that start before each node */
    int64_t *reached; /* (n_reached,) nodes of the chain, each once, rising */
    int32_t *tag, *parent, *depth, *end; /* (n_nodes,) */
    int32_t *holder;                     /* (n,) the parent of each block */
} Tree;

/* The tree that tree_above made; NULL with an exception set. It is checked once, there, and nobody can change it: each
   function would have to look at all of its numbers otherwise. */
const Tree *tree_of(PyObject *capsule);

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
