/* Opens what tree.h describes, and makes it: the twin of blockml.features.view.View.tree. */
#include "tree.h"
#include <stdlib.h>

/* Whether all numbers are such of nodes, blocks and tags. */
WIDE static int is_sound(const Tree *tree, uint32_t n_tags) {
    Py_ssize_t n_nodes = tree->n_nodes, n = tree->n;
    uint64_t wide = 0;
    uint32_t narrow = 0, end = (uint32_t)n_nodes;
    for (Py_ssize_t i = 0; i < tree->n_levels * n; i++) wide |= OUTSIDE(uint64_t, tree->chain[i], -1, n_nodes);
    for (Py_ssize_t i = 0; i <= n_nodes; i++) wide |= OUTSIDE(uint64_t, tree->started[i], 0, n + 1);
    for (Py_ssize_t i = 0; i < n; i++) narrow |= OUTSIDE(uint32_t, tree->holder[i], -1, end);
    for (Py_ssize_t i = 0; i < n_nodes; i++) {
        narrow |= OUTSIDE(uint32_t, tree->tag[i], 0, n_tags) | OUTSIDE(uint32_t, tree->end[i], 0, end + 1);
        narrow |= OUTSIDE(uint32_t, tree->parent[i], -1, i);
    }
    return !(wide >> 63) && !(narrow >> 31);
}

int tree_open(PyObject *arrays, Tree *tree, Py_ssize_t n_tags) {
    static const Py_ssize_t sizes[TREE_ARRAYS] = {8, 8, 4, 4, 4, 4, 4};
    tree->opened = 0;
    if (!PyTuple_Check(arrays) || PyTuple_Size(arrays) != TREE_ARRAYS) {
        PyErr_SetString(PyExc_TypeError, "a tree is a tuple of seven arrays");
        return -1;
    }
    for (; tree->opened < TREE_ARRAYS; tree->opened++)
        if (open_array(PyTuple_GetItem(arrays, tree->opened), &tree->view[tree->opened], sizes[tree->opened], 0) < 0)
            return -1;
    const Py_buffer *view = tree->view;
    tree->chain = view[0].buf, tree->started = view[1].buf, tree->tag = view[2].buf, tree->parent = view[3].buf;
    tree->depth = view[4].buf, tree->end = view[5].buf, tree->holder = view[6].buf;
    Py_ssize_t n = tree->n = view[6].len / 4, n_nodes = tree->n_nodes = view[2].len / 4, length = view[0].len / 8;
    tree->n_levels = n ? length / n : 0;
    int sound = n > 0 && n_nodes > 0 && n_nodes < INT32_MAX && tree->n_levels > 0 && tree->n_levels * n == length &&
                view[1].len / 8 == n_nodes + 1 && view[3].len / 4 == n_nodes && view[4].len / 4 == n_nodes &&
                view[5].len / 4 == n_nodes;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "columns of a tree differ in length");
        return -1;
    }
    if (is_sound(tree, n_tags < 0 ? 0 : n_tags < INT32_MAX ? (uint32_t)n_tags : INT32_MAX)) return 0;
    PyErr_SetString(PyExc_IndexError, "no such node, block or tag");
    return -1;
}

void tree_close(Tree *tree) {
    while (tree->opened) PyBuffer_Release(&tree->view[--tree->opened]);
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

/* tree_above(parent, holder, node, chain, reached, started): writes the chain (most_levels, n_blocks) of blocks whose parents
   are holders and whose first texts are nodes, the nodes of it, rising, and how many blocks start before each node
   (n_nodes + 1,). Returns how many levels there are, and how many nodes; no more is written. */
PyObject *tree_above(PyObject *module, PyObject *arguments) {
    enum { PARENT, HOLDER, NODE, CHAIN, REACHED, STARTED, N };
    PyObject *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 4, 4, 8, 8, 8};
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &object[0], &object[1], &object[2], &object[3], &object[4], &object[5]))
        return NULL;
    PyObject *result = NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened >= CHAIN) < 0) goto done;
    const int32_t *parent = view[PARENT].buf, *holder = view[HOLDER].buf, *first = view[NODE].buf;
    int64_t *chain = view[CHAIN].buf, *reached = view[REACHED].buf, *started = view[STARTED].buf;
    Py_ssize_t n_nodes = view[PARENT].len / 4, n = view[HOLDER].len / 4, level = 0;
    Py_ssize_t most = n > 0 ? view[CHAIN].len / 8 / n : 0;
    if (view[NODE].len / 4 != n || view[REACHED].len / 8 < n_nodes || view[STARTED].len / 8 != n_nodes + 1) {
        PyErr_SetString(PyExc_ValueError, "no room for all nodes, or columns differ in length");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_nodes; i++) reached[i] = 0, started[i] = 0;
    started[n_nodes] = 0;
    for (int any = n > 0; any && level < most; level++) {
        int64_t *row = chain + level * n;
        any = 0;
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t below = level ? row[block - n] : 0;
            int64_t node = !level ? holder[block] : below < 0 ? -1 : parent[below];
            if (node < -1 || node >= n_nodes) {
                PyErr_SetString(PyExc_IndexError, "no such node");
                goto done;
            }
            row[block] = node;
            if (node >= 0) reached[node] = 1;
            any |= node >= 0 && parent[node] >= 0;
        }
    }
    for (Py_ssize_t block = 0; block < n; block++) {
        if (first[block] < 0 || first[block] >= n_nodes) {
            PyErr_SetString(PyExc_IndexError, "no such node");
            goto done;
        }
        started[first[block] + 1]++;
    }
    Py_ssize_t n_reached = 0;
    for (Py_ssize_t i = 0; i < n_nodes; i++) {
        started[i + 1] += started[i];
        if (reached[i]) reached[n_reached++] = i; /* never ahead of what is read */
    }
    result = Py_BuildValue("nn", level, n_reached);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
