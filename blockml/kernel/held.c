/* What elements and groups of blocks hold: columns of amounts and shares, written row by row.

   The blocks of node i are started[i] ... started[end[i]] - 1, where started (n_nodes + 1,) counts the blocks that start
   before each node. content_rows: the twin of blockml.features.structure.ancestors. group_rows, siblings_above and
   sibling_rows: of blockml.features.repetition. */
#include "kernel.h"
#include <stdlib.h>

/* The ancestor of a block so many levels above its parent, or the outermost one, from a chain (n_levels, n). Like an
   index in numpy, no node is the last one. */
static int64_t ancestor(const int64_t *chain, Py_ssize_t n_levels, Py_ssize_t n, Py_ssize_t block, int64_t level,
                        Py_ssize_t n_nodes) {
    int64_t node = chain[block];
    for (Py_ssize_t k = 1; k <= level && k < n_levels && chain[k * n + block] >= 0; k++) node = chain[k * n + block];
    return node < 0 ? n_nodes - 1 : node;
}

/* Whether a tree is one whose numbers can be used as they are: nodes of the chain exist, and so do ends and blocks. */
static int is_sound(const int64_t *chain, Py_ssize_t length, const int64_t *started, const int32_t *end,
                    Py_ssize_t n_nodes, Py_ssize_t n) {
    int sound = n_nodes > 0;
    for (Py_ssize_t i = 0; i < length; i++) sound &= chain[i] >= -1 && chain[i] < n_nodes;
    for (Py_ssize_t i = 0; i <= n_nodes; i++) sound &= started[i] >= 0 && started[i] <= n;
    for (Py_ssize_t i = 0; i < n_nodes; i++) sound &= end[i] >= 0 && end[i] <= n_nodes;
    if (!sound) PyErr_SetString(PyExc_IndexError, "no such node or block");
    return sound;
}

/* Sums before each block, and of all: k values (k, n) side by side, so that those of one block lie together. */
static double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n) {
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

/* content_rows(chain, started, end, values, levels, n_words, rows): of the ancestor at each level above each block:
   words, their share of the page, the share of them that is linked, running text and in paragraphs, blocks, words for
   each block, ends of sentences for each word. Values (5, n) are words, linked words, those of running text and in
   paragraphs, ends of sentences; rows (8 * n_levels, n). */
PyObject *content_rows(PyObject *module, PyObject *arguments) {
    enum { CHAIN, STARTED, END, VALUES, LEVELS, ROWS, N };
    enum { WORDS, LINKED, PROSE, IN_PARAGRAPHS, SENTENCES, N_VALUES };
    enum { MEASURES = 8 };
    PyObject *object[N];
    double n_words, *before = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4, 8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOdO", &object[0], &object[1], &object[2], &object[3], &object[4], &n_words,
                          &object[5]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *chain = view[CHAIN].buf, *started = view[STARTED].buf, *levels = view[LEVELS].buf;
    const int32_t *end = view[END].buf;
    float *rows = view[ROWS].buf;
    Py_ssize_t n = view[VALUES].len / 8 / N_VALUES, n_nodes = view[END].len / 4, n_wanted = view[LEVELS].len / 8;
    if (!n && !view[ROWS].len) {
        result = Py_NewRef(Py_None);
        goto done;
    }
    if (!n || view[STARTED].len / 8 != n_nodes + 1 || view[CHAIN].len / 8 < n ||
        view[ROWS].len / 4 != MEASURES * n_wanted * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    if (!is_sound(chain, view[CHAIN].len / 8, started, end, n_nodes, n)) goto done;
    before = sums_before(view[VALUES].buf, N_VALUES, n);
    if (before == NULL) goto done;
    for (Py_ssize_t k = 0; k < n_wanted; k++) {
        int64_t last = -1;
        float measures[MEASURES] = {0};
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = ancestor(chain, view[CHAIN].len / 8 / n, n, i, levels[k], n_nodes);
            if (node != last) { /* neighbours mostly have the same ancestors */
                const double *low = before + started[node] * N_VALUES;
                const double *high = before + started[end[node]] * N_VALUES;
                double words = high[WORDS] - low[WORDS], amount = at_least(words, 1);
                double blocks = (double)(started[end[node]] - started[node]);
                measures[0] = (float)words;
                measures[1] = (float)(words / n_words);
                measures[2] = (float)((high[LINKED] - low[LINKED]) / amount);
                measures[3] = (float)((high[PROSE] - low[PROSE]) / amount);
                measures[4] = (float)((high[IN_PARAGRAPHS] - low[IN_PARAGRAPHS]) / amount);
                measures[5] = (float)blocks;
                measures[6] = (float)(words / at_least(blocks, 1));
                measures[7] = (float)((high[SENTENCES] - low[SENTENCES]) / amount);
                last = node;
            }
            for (int m = 0; m < MEASURES; m++) rows[(k * MEASURES + m) * n + i] = measures[m];
        }
    }
    result = Py_NewRef(Py_None);
done:
    free(before);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* What a group of blocks, or of elements, holds. */
typedef struct {
    double size, words, links, prose;
    Py_ssize_t first, last;
} Group;

/* group_rows(group, n_groups, values, n_words, rows): of the group of each block its size, its share of the page's
   words, words for each block, the share of them that is linked and that is running text, and how much of the way from
   its first to its last block is its own. Values (3, n) are words, linked words and those of running text; rows (6, n). */
PyObject *group_rows(PyObject *module, PyObject *arguments) {
    enum { GROUP, VALUES, ROWS, N };
    PyObject *object[N];
    Py_ssize_t n_groups;
    double n_words;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4};
    Group *groups = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOdO", &object[0], &n_groups, &object[1], &n_words, &object[2])) return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *group = view[GROUP].buf;
    Py_ssize_t n = view[GROUP].len / 8;
    const double *words = view[VALUES].buf, *linked = words + n, *prose = linked + n;
    float *rows = view[ROWS].buf;
    if (view[VALUES].len / 8 != 3 * n || view[ROWS].len / 4 != 6 * n || n_groups < 0 || n_groups > n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    groups = calloc((size_t)n_groups + 1, sizeof(Group));
    if (groups == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (group[i] < 0 || group[i] >= n_groups) {
            PyErr_SetString(PyExc_IndexError, "no such group");
            goto done;
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
    result = Py_NewRef(Py_None);
done:
    free(groups);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* siblings_above(chain, n, levels, tag, parent, elements): writes, rising, the elements whose parent is that of an
   ancestor at one of these levels above a block; returns how many. Roots have no parent, and so the same one. */
PyObject *siblings_above(PyObject *module, PyObject *arguments) {
    enum { CHAIN, LEVELS, TAG, PARENT, ELEMENTS, N };
    PyObject *object[N];
    Py_ssize_t n;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4, 4, 8};
    uint8_t *marked = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OnOOOO", &object[0], &n, &object[1], &object[2], &object[3], &object[4]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *chain = view[CHAIN].buf, *levels = view[LEVELS].buf;
    const int32_t *tag = view[TAG].buf, *parent = view[PARENT].buf;
    int64_t *elements = view[ELEMENTS].buf;
    Py_ssize_t n_nodes = view[PARENT].len / 4, n_levels = n > 0 ? view[CHAIN].len / 8 / n : 0, count = 0;
    int sound = n_nodes > 0 && n_levels > 0 && view[TAG].len / 4 == n_nodes && view[ELEMENTS].len / 8 >= n_nodes;
    for (Py_ssize_t i = 0; sound && i < n_levels * n; i++) sound = chain[i] >= -1 && chain[i] < n_nodes;
    for (Py_ssize_t i = 0; sound && i < n_nodes; i++) sound = parent[i] >= -1 && parent[i] < n_nodes;
    if (!sound) {
        PyErr_SetString(PyExc_IndexError, "no such node");
        goto done;
    }
    marked = calloc((size_t)n_nodes + 1, 1); /* the first entry is for "no parent" */
    if (marked == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t k = 0; k < view[LEVELS].len / 8; k++)
        for (Py_ssize_t i = 0; i < n; i++) marked[1 + parent[ancestor(chain, n_levels, n, i, levels[k], n_nodes)]] = 1;
    for (Py_ssize_t node = 0; node < n_nodes; node++)
        if (tag[node] != 0 && marked[1 + parent[node]]) elements[count++] = node;
    result = PyLong_FromSsize_t(count);
done:
    free(marked);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* sibling_rows(chain, levels, started, end, elements, group, n_groups, values, rows): of the ancestor at each level above
   each block: how many elements are in its group, words for each of them, and the share of these that is linked. Each
   element has a group; values (2, n) are words and linked words; rows (3 * n_levels, n). */
PyObject *sibling_rows(PyObject *module, PyObject *arguments) {
    enum { CHAIN, LEVELS, STARTED, END, ELEMENTS, GROUP, VALUES, ROWS, N };
    PyObject *object[N];
    Py_ssize_t n_groups;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 8, 4, 8, 8, 8, 4};
    double *before = NULL;
    Group *groups = NULL;
    int64_t *group_of = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOnOO", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &n_groups, &object[6], &object[7]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *chain = view[CHAIN].buf, *levels = view[LEVELS].buf, *started = view[STARTED].buf;
    const int64_t *elements = view[ELEMENTS].buf, *group = view[GROUP].buf;
    const int32_t *end = view[END].buf;
    float *rows = view[ROWS].buf;
    Py_ssize_t n = view[VALUES].len / 8 / 2, n_nodes = view[END].len / 4, n_wanted = view[LEVELS].len / 8;
    Py_ssize_t n_elements = view[ELEMENTS].len / 8;
    if (!n || view[STARTED].len / 8 != n_nodes + 1 || view[CHAIN].len / 8 < n || view[GROUP].len / 8 != n_elements ||
        n_groups < 1 || n_groups > n_elements || view[ROWS].len / 4 != 3 * n_wanted * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or elements differ in length");
        goto done;
    }
    if (!is_sound(chain, view[CHAIN].len / 8, started, end, n_nodes, n)) goto done;
    before = sums_before(view[VALUES].buf, 2, n);
    if (before == NULL) goto done;
    groups = calloc((size_t)n_groups, sizeof(Group));
    group_of = calloc((size_t)n_nodes, sizeof(int64_t));
    if (groups == NULL || group_of == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_elements; i++) {
        int64_t node = elements[i];
        if (node < 0 || node >= n_nodes || group[i] < 0 || group[i] >= n_groups) {
            PyErr_SetString(PyExc_IndexError, "no such element or group");
            goto done;
        }
        const double *low = before + started[node] * 2, *high = before + started[end[node]] * 2;
        Group *its = groups + group[i];
        its->size += 1;
        its->words += high[0] - low[0];
        its->links += high[1] - low[1];
        group_of[node] = group[i];
    }
    for (Py_ssize_t k = 0; k < n_wanted; k++)
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = ancestor(chain, view[CHAIN].len / 8 / n, n, i, levels[k], n_nodes);
            const Group *its = groups + group_of[node];
            rows[3 * k * n + i] = (float)its->size;
            rows[(3 * k + 1) * n + i] = (float)(its->words / its->size);
            rows[(3 * k + 2) * n + i] = (float)(its->links / at_least(its->words, 1));
        }
    result = Py_NewRef(Py_None);
done:
    free(before);
    free(groups);
    free(group_of);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
