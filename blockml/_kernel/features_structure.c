/* Text of the ancestors of blocks; reference: blockml.features.structure.ancestors. */
#include "features_page_tree.h"

enum { WORDS, LINKED, PROSE, IN_PARAGRAPHS, SENTENCES, N_VALUES };
enum { MEASURES = 8 };

/* Returns values of blocks (N_VALUES, n): amounts, words in paragraphs, sentence ends. */
static double *values_of(const Page *page) {
    enum { SENTENCE = 3 }; /* index of a character class */
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n;
    double *values = malloc((size_t)(N_VALUES * n) * sizeof(double));
    if (values == NULL) return null_without_memory();
    memcpy(values, tree->amounts, (size_t)(3 * n) * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) {
        int is_in = of_tag(page, IS_PARAGRAPH, tree->tag[node_or_last(tree, tree->parent_of[i])]) != 0;
        values[IN_PARAGRAPHS * n + i] = is_in ? tree->amounts[i] : 0;
    }
    memcpy(values + SENTENCES * n, page->texts.counts + SENTENCE * n, (size_t)n * sizeof(double));
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

/* Writes for the ancestor of each block at each level: words, their share of the page, shares of linked words,
   running text and words in paragraphs, blocks, words per block, sentence ends per word. */
static int write_ancestors(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    const int64_t *levels = page->tables->view[LEVELS].buf, *blocks_before = tree->blocks_before;
    Py_ssize_t n = tree->n;
    if (read_texts(&page->texts, tree, page->tables) < 0) return -1;
    double *values = values_of(page), *before = values == NULL ? NULL : sums_before(values, N_VALUES, n);
    free(values);
    if (before == NULL) return -1;
    for (Py_ssize_t k = 0; k < length_of(page->tables, LEVELS); k++) {
        int64_t last = -1;
        float measures[MEASURES] = {0};
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = has_parent_of_last(tree, i) ? last : ancestor(tree, i, levels[k]);
            if (node != last) { /* neighbours mostly have the same ancestors */
                int64_t low = blocks_before[node], high = blocks_before[tree->end[node]];
                measure(before + low * N_VALUES, before + high * N_VALUES, (double)(high - low), tree->n_words,
                        measures);
                last = node;
            }
            for (int m = 0; m < MEASURES; m++) rows[k * MEASURES + m][i] = measures[m];
        }
    }
    free(before);
    return 0;
}

const Family ancestors_family = {
    write_ancestors, 0,
    {{ANCESTORS, "words#up share#up links#up prose#up inp#up blocks#up density#up sentences#up"}},
};
