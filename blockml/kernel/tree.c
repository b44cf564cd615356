/* What tree.h describes, and makes it: the twin of blockml.features.view.View._above. */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

#define CAPSULE "blockml.tree"

const Tree *tree_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static void free_tree(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* A tree with room for all levels and nodes, in one piece; NULL with an exception set. */
static Tree *new_tree(Py_ssize_t n_levels, Py_ssize_t n, Py_ssize_t n_nodes, Py_ssize_t n_tags) {
    size_t longs = (size_t)(n_levels * n + 2 * n_nodes + 1), shorts = (size_t)(4 * n_nodes + n);
    Tree *tree = malloc(sizeof(Tree) + longs * sizeof(int64_t) + shorts * sizeof(int32_t));
    if (tree == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    tree->n_levels = n_levels, tree->n = n, tree->n_nodes = n_nodes, tree->n_tags = n_tags, tree->n_reached = 0;
    tree->chain = (int64_t *)(tree + 1), tree->started = tree->chain + n_levels * n;
    tree->reached = tree->started + n_nodes + 1, tree->tag = (int32_t *)(tree->reached + n_nodes);
    tree->parent = tree->tag + n_nodes, tree->depth = tree->parent + n_nodes, tree->end = tree->depth + n_nodes;
    tree->holder = tree->end + n_nodes;
    return tree;
}

/* Whether all numbers of the columns are such of nodes and tags. */
WIDE static int is_sound(const Tree *tree) {
    Py_ssize_t n_nodes = tree->n_nodes;
    uint32_t outside = 0, end = (uint32_t)n_nodes, n_tags = (uint32_t)tree->n_tags;
    for (Py_ssize_t i = 0; i < tree->n; i++) outside |= OUTSIDE(uint32_t, tree->holder[i], -1, end);
    for (Py_ssize_t i = 0; i < n_nodes; i++) {
        outside |= OUTSIDE(uint32_t, tree->tag[i], 0, n_tags) | OUTSIDE(uint32_t, tree->end[i], 0, end + 1);
        outside |= OUTSIDE(uint32_t, tree->parent[i], -1, i);
    }
    return !(outside >> 31);
}

/* Fills chain, as many levels of it as there are, and reached. */
static void climb(Tree *tree) {
    Py_ssize_t n = tree->n, most = tree->n_levels, level = 0;
    int64_t *reached = tree->reached;
    memset(reached, 0, (size_t)tree->n_nodes * sizeof(int64_t));
    for (int any = 1; any && level < most; level++) {
        int64_t *row = tree->chain + level * n;
        any = 0;
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t below = level ? row[block - n] : 0;
            int64_t node = !level ? tree->holder[block] : below < 0 ? -1 : tree->parent[below];
            row[block] = node;
            if (node < 0) continue;
            reached[node] = 1;
            any |= tree->parent[node] >= 0;
        }
    }
    tree->n_levels = level;
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++)
        if (reached[i]) reached[tree->n_reached++] = i; /* never ahead of what is read */
}

/* Fills started, from the first texts of blocks; 0 with an exception set. */
static int count_started(Tree *tree, const int32_t *first) {
    int64_t *started = tree->started;
    memset(started, 0, (size_t)(tree->n_nodes + 1) * sizeof(int64_t));
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        if (first[block] < 0 || first[block] >= tree->n_nodes) {
            PyErr_SetString(PyExc_IndexError, "no such node");
            return 0;
        }
        started[first[block] + 1]++;
    }
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) started[i + 1] += started[i];
    return 1;
}

/* tree_above(n_tags, tag, parent, depth, end, holder, first, chain, reached, started): the tree of nodes, whose tags are
   below n_tags, and blocks, one or more, with their parents and first texts. Writes chain (most_levels, n_blocks), reached
   and started too. Returns the tree, how many levels there are, and how many nodes are reached; no more is written. */
PyObject *tree_above(PyObject *module, PyObject *arguments) {
    enum { TAG, PARENT, DEPTH, END, HOLDER, FIRST, CHAIN, REACHED, STARTED, N };
    PyObject *object[N], *result = NULL;
    Py_buffer view[N];
    Py_ssize_t n_tags;
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nOOOOOOOOO", &n_tags, &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &object[6], &object[7], &object[8]))
        return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], opened < CHAIN ? 4 : 8, opened >= CHAIN) < 0) goto done;
    Py_ssize_t n_nodes = view[TAG].len / 4, n = view[HOLDER].len / 4, most = n > 0 ? view[CHAIN].len / 8 / n : 0;
    int fits = n > 0 && most > 0 && n_nodes > 0 && n_nodes < INT32_MAX && n_tags >= 0 && n_tags < INT32_MAX &&
               view[FIRST].len / 4 == n && view[REACHED].len / 8 >= n_nodes && view[STARTED].len / 8 == n_nodes + 1;
    for (int k = PARENT; k <= END; k++) fits = fits && view[k].len / 4 == n_nodes;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "no room for all nodes, or columns differ in length");
        goto done;
    }
    Tree *tree = new_tree(most, n, n_nodes, n_tags);
    if (tree == NULL) goto done;
    int32_t *column[] = {tree->tag, tree->parent, tree->depth, tree->end, tree->holder};
    for (int k = TAG; k <= HOLDER; k++) memcpy(column[k], view[k].buf, (size_t)view[k].len);
    PyObject *capsule = NULL;
    if (!is_sound(tree))
        PyErr_SetString(PyExc_IndexError, "no such node or tag");
    else if (count_started(tree, view[FIRST].buf))
        capsule = PyCapsule_New(tree, CAPSULE, free_tree);
    if (capsule == NULL) {
        free(tree);
        goto done;
    }
    climb(tree);
    memcpy(view[CHAIN].buf, tree->chain, (size_t)(tree->n_levels * n) * sizeof(int64_t));
    memcpy(view[REACHED].buf, tree->reached, (size_t)tree->n_reached * sizeof(int64_t));
    memcpy(view[STARTED].buf, tree->started, (size_t)(n_nodes + 1) * sizeof(int64_t));
    result = Py_BuildValue("Nnn", capsule, tree->n_levels, tree->n_reached);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n) {
    double *before = malloc((size_t)((n + 1) * k) * sizeof(double));
    if (before == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t v = 0; v < k; v++) {
        double sum = 0;
        for (Py_ssize_t i = 0; i < n; i++) {
            before[i * k + v] = sum;
            sum += values[v * n + i];
        }
        before[n * k + v] = sum;
    }
    return before;
}

/* word_amounts(n_words, n_linked, amounts): amounts (3, n) of words, words in links, and words of running text: ten or more,
   hardly any of them linked. Returns how many words there are, and how many of running text. */
PyObject *word_amounts(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_buffer view[3];
    static const Py_ssize_t sizes[3] = {4, 4, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &object[0], &object[1], &object[2])) return NULL;
    int opened = open_arrays(object, view, sizes, 3);
    PyObject *result = NULL;
    if (opened < 3) goto done;
    const int32_t *n_words = view[0].buf, *n_linked = view[1].buf;
    Py_ssize_t n = view[0].len / 4;
    double *words = view[2].buf, *linked = words + n, *prose = linked + n, sum = 0, prose_sum = 0;
    if (view[1].len / 4 != n || view[2].len / 8 != 3 * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        words[i] = n_words[i];
        linked[i] = n_linked[i];
        prose[i] = words[i] >= 10 && linked[i] <= 0.3 * words[i] ? words[i] : 0;
        sum += words[i]; /* whole numbers: exact in any order */
        prose_sum += prose[i];
    }
    result = Py_BuildValue("dd", sum, prose_sum);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
