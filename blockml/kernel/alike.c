/* Blocks and elements that are built alike: numbers of their groups, and what the groups hold.

   alike: the twin of blockml.features.alike.alike. group_rows and sibling_rows: of blockml.features.repetition. */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

/* alike(tree, first, last, factor, names, group): the group (n,) of blocks with the same tags and names at levels
   first ... last - 1 above the parent, by rising keys. Names (n_nodes + 1,) are numbers; none at all leaves them out.
   Returns how many groups there are. */
PyObject *alike(PyObject *module, PyObject *arguments) {
    enum { NAMES, GROUP, N };
    PyObject *capsule, *object[N];
    Py_ssize_t first, last;
    unsigned long long factor;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8};
    uint64_t *codes = NULL, *keys;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnnKOO", &capsule, &first, &last, &factor, &object[0], &object[1]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    Py_ssize_t n = tree->n, n_nodes = tree->n_nodes;
    const int32_t *names = view[NAMES].len ? view[NAMES].buf : NULL;
    if ((names && view[NAMES].len / 4 != n_nodes + 1) || view[GROUP].len / 8 != n || first < 0) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or nodes differ in length");
        goto done;
    }
    codes = malloc((size_t)(n_nodes + 1 + n) * sizeof(uint64_t));
    if (codes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_nodes; i++)
        codes[i] = (uint64_t)tree->tag[i] + (names ? (uint64_t)tree->n_tags * (uint64_t)names[i] : 0) + 1;
    codes[n_nodes] = 0;
    keys = codes + n_nodes + 1;
    memset(keys, 0, (size_t)n * sizeof(uint64_t));
    for (Py_ssize_t level = last < tree->n_levels ? last : tree->n_levels; level-- > first;) /* from the top down */
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t node = tree->chain[level * n + block];
            uint64_t key = keys[block] * (uint64_t)factor + codes[node < 0 ? n_nodes : node];
            keys[block] = key ^ (key >> 31);
        }
    int64_t n_groups = rank_keys(keys, (size_t)n, NULL, NULL, view[GROUP].buf);
    if (n_groups >= 0) result = PyLong_FromLongLong(n_groups);
done:
    free(codes);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* What a group of blocks, or of elements, holds. */
typedef struct {
    double size, words, links, prose;
    Py_ssize_t first, last;
} Group;

/* Writes what the group of each block holds; -1 with an exception set. */
static int write_groups(const int64_t *group, Py_ssize_t n, const double *amounts, double n_words, Group *groups,
                        float *rows) {
    const double *words = amounts, *linked = words + n, *prose = linked + n;
    memset(groups, 0, (size_t)n * sizeof(Group));
    for (Py_ssize_t i = 0; i < n; i++) {
        if (group[i] < 0 || group[i] >= n) {
            PyErr_SetString(PyExc_IndexError, "no such group");
            return -1;
        }
        Group *its = groups + group[i];
        if (!its->size) its->first = i;
        its->last = i;
        its->size += 1;
        its->words += words[i];
        its->links += linked[i];
        its->prose += prose[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const Group *its = groups + group[i];
        double some = at_least(its->words, 1);
        rows[i] = (float)its->size;
        rows[n + i] = (float)(its->words / n_words);
        rows[2 * n + i] = (float)(its->words / its->size);
        rows[3 * n + i] = (float)(its->links / some);
        rows[4 * n + i] = (float)(its->prose / some);
        rows[5 * n + i] = (float)(its->size / (double)(its->last - its->first + 1));
    }
    return 0;
}

/* group_rows(group, amounts, n_words, rows): of the group of each block its size, its share of the page's words, words for
   each block, the share of them that is linked and that is running text, and how much of the way from its first to its
   last block is its own. Amounts (3, n) are words, linked words and those of running text. For k ways to be alike,
   groups are (k, n) and rows (6 * k, n). */
PyObject *group_rows(PyObject *module, PyObject *arguments) {
    enum { GROUP, AMOUNTS, ROWS, N };
    enum { MEASURES = 6 };
    PyObject *object[N];
    double n_words;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4};
    Group *groups = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOdO", &object[0], &object[1], &n_words, &object[2])) return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    Py_ssize_t n = view[AMOUNTS].len / 8 / 3, k = n ? view[GROUP].len / 8 / n : 0;
    if (view[AMOUNTS].len / 8 != 3 * n || view[GROUP].len / 8 != k * n || view[ROWS].len / 4 != MEASURES * k * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    groups = malloc((size_t)(n + 1) * sizeof(Group));
    if (groups == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t way = 0; way < k; way++)
        if (write_groups((const int64_t *)view[GROUP].buf + way * n, n, view[AMOUNTS].buf, n_words, groups,
                         (float *)view[ROWS].buf + MEASURES * way * n) < 0)
            goto done;
    result = Py_NewRef(Py_None);
done:
    free(groups);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* siblings_above(tree, levels, elements): writes, rising, the elements whose parent is that of an ancestor at one
   of these levels above a block; returns how many. Roots have no parent, and so the same one. */
PyObject *siblings_above(PyObject *module, PyObject *arguments) {
    enum { LEVELS, ELEMENTS, N };
    PyObject *capsule, *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8};
    uint8_t *marked = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &capsule, &object[0], &object[1])) return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    const int64_t *levels = view[LEVELS].buf;
    int64_t *elements = view[ELEMENTS].buf;
    Py_ssize_t count = 0;
    if (view[ELEMENTS].len / 8 < tree->n_nodes) {
        PyErr_SetString(PyExc_ValueError, "no room for all elements");
        goto done;
    }
    marked = calloc((size_t)tree->n_nodes + 1, 1); /* the first entry is for "no parent" */
    if (marked == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t k = 0; k < view[LEVELS].len / 8; k++)
        for (Py_ssize_t i = 0; i < tree->n; i++) marked[1 + tree->parent[ancestor(tree, i, levels[k])]] = 1;
    for (Py_ssize_t node = 0; node < tree->n_nodes; node++)
        if (tree->tag[node] != 0 && marked[1 + tree->parent[node]]) elements[count++] = node;
    result = PyLong_FromSsize_t(count);
done:
    free(marked);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* The numbers of the groups of elements with the same parent, tag and name; returns how many groups there are, or -1 with
   an exception set. */
static int64_t group_siblings(const Tree *tree, const int64_t *elements, Py_ssize_t n, const int32_t *names,
                              int64_t *group) {
    int64_t most = 0, n_groups = -1;
    uint64_t *keys = malloc((size_t)(n + 1) * sizeof(uint64_t));
    if (keys == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t node = elements[i];
        if (node < 0 || node >= tree->n_nodes || names[node] < 0) {
            PyErr_SetString(PyExc_IndexError, "no such element or name");
            goto done;
        }
        int64_t kind = tree->tag[node] + tree->n_tags * (int64_t)names[node];
        keys[i] = (uint64_t)kind;
        if (kind > most) most = kind;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        keys[i] += ((uint64_t)tree->parent[elements[i]] + 1) * ((uint64_t)most + 1);
    n_groups = rank_keys(keys, (size_t)n, NULL, NULL, group);
done:
    free(keys);
    return n_groups;
}

/* sibling_rows(tree, levels, elements, names, amounts, rows): of the ancestor at each level above each block: how many
   elements have its parent, tag and name, words for each of them, and the share of these that is linked. Elements are
   those of siblings_above; names (n_nodes + 1,) their numbers; amounts (3, n) words, linked words and others; rows
   (3 * n_levels, n). */
PyObject *sibling_rows(PyObject *module, PyObject *arguments) {
    enum { LEVELS, ELEMENTS, NAMES, AMOUNTS, ROWS, N };
    PyObject *capsule, *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4, 8, 4};
    double *before = NULL;
    Group *groups = NULL;
    int64_t *group = NULL, *group_of = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &capsule, &object[0], &object[1], &object[2], &object[3], &object[4]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    const int64_t *levels = view[LEVELS].buf, *elements = view[ELEMENTS].buf;
    float *rows = view[ROWS].buf;
    Py_ssize_t n = tree->n, n_wanted = view[LEVELS].len / 8, n_elements = view[ELEMENTS].len / 8;
    if (view[NAMES].len / 4 != tree->n_nodes + 1 || view[AMOUNTS].len / 8 != 3 * n ||
        view[ROWS].len / 4 != 3 * n_wanted * n || !n_elements) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or elements differ in length");
        goto done;
    }
    before = sums_before(view[AMOUNTS].buf, 2, n);
    groups = calloc((size_t)n_elements, sizeof(Group));
    group = malloc((size_t)n_elements * sizeof(int64_t));
    group_of = calloc((size_t)tree->n_nodes, sizeof(int64_t));
    if (before == NULL || groups == NULL || group == NULL || group_of == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (group_siblings(tree, elements, n_elements, view[NAMES].buf, group) < 0) goto done;
    for (Py_ssize_t i = 0; i < n_elements; i++) {
        int64_t node = elements[i];
        const double *low = before + tree->started[node] * 2, *high = before + tree->started[tree->end[node]] * 2;
        Group *its = groups + group[i];
        its->size += 1;
        its->words += high[0] - low[0];
        its->links += high[1] - low[1];
        group_of[node] = group[i];
    }
    for (Py_ssize_t k = 0; k < n_wanted; k++)
        for (Py_ssize_t i = 0; i < n; i++) {
            const Group *its = groups + group_of[ancestor(tree, i, levels[k])];
            rows[3 * k * n + i] = (float)its->size;
            rows[(3 * k + 1) * n + i] = (float)(its->words / its->size);
            rows[(3 * k + 2) * n + i] = (float)(its->links / at_least(its->words, 1));
        }
    result = Py_NewRef(Py_None);
done:
    free(before);
    free(groups);
    free(group);
    free(group_of);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
