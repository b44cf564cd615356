/* From scores to a decision: the twin of blockml.decision.decide.decide. */
#include "kernel.h"
#include <stdlib.h>

/* A page's scores, and what its preformatted elements need; columns of blocks (n,) and of nodes (n_nodes,). */
typedef struct {
    Py_ssize_t n, n_nodes;
    const float *scores;
    const uint8_t *flags, *node_flags;
    const int32_t *n_words, *node, *parent;
    int mask; /* the flag of what is preformatted */
} Page;

/* An outermost preformatted element: words, and the sum of scores by their weights. */
typedef struct {
    double words, sum, weight;
} Whole;

/* Whether a node is preformatted, and what holds it isn't. */
static int is_outermost(const Page *page, Py_ssize_t node) {
    int32_t parent = page->parent[node];
    if (parent < 0) parent = (int32_t)page->n_nodes - 1; /* as numpy counts: no root is preformatted */
    return page->node_flags[node] & page->mask && !(page->node_flags[parent] & page->mask);
}

/* Writes scores, with the mean over its words for all blocks of one preformatted element. Returns 0, or -1 without
   memory. */
static int pool(const Page *page, float *pooled) {
    Py_ssize_t n = page->n, n_nodes = page->n_nodes;
    memcpy(pooled, page->scores, (size_t)n * sizeof(float));
    Py_ssize_t any = 0;
    for (Py_ssize_t i = 0; i < n; i++) any += (page->flags[i] & page->mask) != 0;
    if (!any) return 0;
    /* By the number of outermost elements up to a node. */
    Whole *whole = calloc((size_t)n_nodes + 1, sizeof(Whole));
    int32_t *number = malloc((size_t)n_nodes * sizeof(int32_t) + 1), count = 0;
    if (whole == NULL || number == NULL) {
        free(whole);
        free(number);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_nodes; i++) number[i] = count += is_outermost(page, i);
    for (Py_ssize_t i = 0; i < n; i++)
        if (page->flags[i] & page->mask) whole[number[page->node[i]]].words += page->n_words[i];
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!(page->flags[i] & page->mask)) continue;
        /* Brackets and commas of coloured code are blocks without words: they have no say where there are words. */
        Whole *its = &whole[number[page->node[i]]];
        double weight = its->words != 0 ? page->n_words[i] : 1;
        its->sum += weight * page->scores[i];
        its->weight += weight;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const Whole *its = &whole[number[page->node[i]]];
        if (page->flags[i] & page->mask) pooled[i] = (float)(its->sum / its->weight);
    }
    free(whole);
    free(number);
    return 0;
}

/* decided(scores, threshold, flags, mask, n_words, node, node_flags, parent, reasons, kept): writes whether blocks
   are kept (n,); returns a tuple of why, of these four reasons: below and from the threshold on by themselves;
   removed and kept for the others of one preformatted element. */
PyObject *decided(PyObject *module, PyObject *arguments) {
    enum { SCORES, FLAGS, WORDS, NODE, NODE_FLAGS, PARENT, KEPT, N };
    static const Py_ssize_t sizes[N] = {4, 1, 4, 4, 1, 4, 1};
    PyObject *object[N], *reasons, *result = NULL;
    Py_buffer view[N];
    float threshold, *pooled = NULL;
    int mask;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OfOiOOOOO!O", &object[SCORES], &threshold, &object[FLAGS], &mask, &object[WORDS],
                          &object[NODE], &object[NODE_FLAGS], &object[PARENT], &PyTuple_Type, &reasons, &object[KEPT]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Page page = {view[SCORES].len / 4, view[NODE_FLAGS].len, view[SCORES].buf, view[FLAGS].buf, view[NODE_FLAGS].buf,
                 view[WORDS].buf, view[NODE].buf, view[PARENT].buf, mask};
    Py_ssize_t n = page.n, n_nodes = page.n_nodes;
    int sound = PyTuple_Size(reasons) == 4 && view[PARENT].len / 4 == n_nodes;
    for (int k = 0; k < N; k++)
        sound = sound && (k == NODE_FLAGS || k == PARENT || view[k].len / sizes[k] == n);
    for (Py_ssize_t i = 0; sound && i < n; i++) sound = page.node[i] >= 0 && page.node[i] < n_nodes;
    for (Py_ssize_t i = 0; sound && i < n_nodes; i++) sound = page.parent[i] < n_nodes;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such node, not four reasons, or columns of blocks differ in length");
        goto done;
    }
    if ((pooled = malloc((size_t)n * sizeof(float) + 1)) == NULL || pool(&page, pooled) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    uint8_t *kept = view[KEPT].buf;
    result = PyTuple_New(n);
    for (Py_ssize_t i = 0; result != NULL && i < n; i++) {
        kept[i] = pooled[i] >= threshold;
        int alone = page.scores[i] >= threshold;
        PyObject *reason = Py_NewRef(PyTuple_GetItem(reasons, kept[i] + 2 * (kept[i] != alone)));
        if (PyTuple_SetItem(result, i, reason) < 0) Py_CLEAR(result);
    }
done:
    free(pooled);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
