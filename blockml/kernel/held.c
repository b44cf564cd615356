/* What the elements above a block hold: the twin of blockml.features.structure.ancestors. */
#include "tree.h"
#include <stdlib.h>

enum { WORDS, LINKED, PROSE, IN_PARAGRAPHS, SENTENCES, N_VALUES };
enum { MEASURES = 8 };

/* Values of blocks (N_VALUES, n): amounts (3, n), words in paragraphs, ends of sentences. NULL with an exception set. */
static double *values_of(const Tree *tree, const double *amounts, const uint8_t *is_paragraph, const double *sentences) {
    Py_ssize_t n = tree->n;
    double *values = malloc((size_t)(N_VALUES * n) * sizeof(double));
    if (values == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < 3 * n; i++) values[i] = amounts[i];
    for (Py_ssize_t i = 0; i < n; i++) {
        values[IN_PARAGRAPHS * n + i] = is_paragraph[tree->tag[wrapped(tree, tree->holder[i])]] ? amounts[i] : 0;
        values[SENTENCES * n + i] = sentences[i];
    }
    return values;
}

static void measure(const double *low, const double *high, double blocks, double n_words, float *measures) {
    double words = high[WORDS] - low[WORDS], amount = at_least(words, 1);
    measures[0] = (float)words;
    measures[1] = (float)(words / n_words);
    measures[2] = (float)((high[LINKED] - low[LINKED]) / amount);
    measures[3] = (float)((high[PROSE] - low[PROSE]) / amount);
    measures[4] = (float)((high[IN_PARAGRAPHS] - low[IN_PARAGRAPHS]) / amount);
    measures[5] = (float)blocks;
    measures[6] = (float)(words / at_least(blocks, 1));
    measures[7] = (float)((high[SENTENCES] - low[SENTENCES]) / amount);
}

/* content_rows(tree, is_paragraph, amounts, sentences, levels, n_words, rows): of the ancestor at each level above each
   block: words, their share of the page, the share of them that is linked, running text and in paragraphs, blocks, words
   for each block, ends of sentences for each word. `is_paragraph` (n_tags,) is by tag, amounts (3, n) are words, linked
   words and those of running text; rows (8 * n_levels, n). */
PyObject *content_rows(PyObject *module, PyObject *arguments) {
    enum { IS_PARAGRAPH, AMOUNTS, ENDS, LEVELS, ROWS, N };
    PyObject *capsule, *object[N];
    double n_words, *values = NULL, *before = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 8, 8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOdO", &capsule, &object[0], &object[1], &object[2], &object[3], &n_words,
                          &object[4]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    const int64_t *levels = view[LEVELS].buf, *started = tree->started;
    Py_ssize_t n = tree->n, n_wanted = view[LEVELS].len / 8;
    float *rows = view[ROWS].buf;
    if (view[IS_PARAGRAPH].len != tree->n_tags || view[AMOUNTS].len / 8 != 3 * n || view[ENDS].len / 8 != n ||
        view[ROWS].len / 4 != MEASURES * n_wanted * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    if ((values = values_of(tree, view[AMOUNTS].buf, view[IS_PARAGRAPH].buf, view[ENDS].buf)) == NULL) goto done;
    if ((before = sums_before(values, N_VALUES, n)) == NULL) goto done;
    for (Py_ssize_t k = 0; k < n_wanted; k++) {
        int64_t last = -1;
        float measures[MEASURES] = {0};
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = i && tree->chain[i] == tree->chain[i - 1] ? last : ancestor(tree, i, levels[k]);
            if (node != last) { /* neighbours mostly have the same ancestors */
                int64_t low = started[node], high = started[tree->end[node]];
                measure(before + low * N_VALUES, before + high * N_VALUES, (double)(high - low), n_words, measures);
                last = node;
            }
            for (int m = 0; m < MEASURES; m++) rows[(k * MEASURES + m) * n + i] = measures[m];
        }
    }
    result = Py_NewRef(Py_None);
done:
    free(values);
    free(before);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
