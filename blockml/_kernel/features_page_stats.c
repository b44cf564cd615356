/* Page statistics; reference: blockml.features.metadata.page_stats. */
#include "features_page_tree.h"

/* Sums over elements, selected by bits of a table of tags: words, then blocks, then elements. */
enum { N_OF_WORDS = 3, N_OF_BLOCKS = 1, N_OF_NODES = 9, N_SUMS = N_OF_WORDS + N_OF_BLOCKS + N_OF_NODES, N_LONGEST = 5 };

/* Writes columns that are equal for all blocks: amounts of text, elements that contain it, counts of elements,
   depth. */
static int write_page_stats(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n;
    double sums[N_SUMS] = {0}, longest[N_LONGEST] = {0}, linked = 0, top = 0, n_words = tree->n_words;
    int32_t deepest = 0;
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) {
        uint64_t bits = (uint64_t)of_tag(page, SUMS, tree->tag[i]) >> (N_OF_WORDS + N_OF_BLOCKS);
        for (int k = N_OF_WORDS + N_OF_BLOCKS; bits && k < N_SUMS; k++, bits >>= 1) sums[k] += (double)(bits & 1);
        if (tree->depth[i] > deepest) deepest = tree->depth[i];
    }
    for (Py_ssize_t i = 0; i < n; i++) { /* integers: sums are exact in any order */
        double words = tree->amounts[i];
        linked += tree->amounts[n + i];
        uint64_t bits = (uint64_t)of_tag(page, SUMS, tree->tag[node_or_last(tree, tree->parent_of[i])]);
        for (int k = 0; k < N_OF_WORDS + N_OF_BLOCKS; k++, bits >>= 1)
            if (bits & 1) sums[k] += k < N_OF_WORDS ? words : 1;
        int place = N_LONGEST;
        while (place > 0 && longest[place - 1] < words) {
            place--;
            if (place + 1 < N_LONGEST) longest[place + 1] = longest[place];
            longest[place] = words;
        }
    }
    for (int k = 0; k < N_LONGEST; k++) top += longest[k] / n_words;
    const double shares[] = {
        n_words, (double)n, linked / n_words, tree->n_prose / n_words, tree->n_prose, sums[0] / n_words,
        sums[1] / n_words, sums[2] / n_words, sums[3] / (double)n, longest[0] / n_words, top,
    };
    enum { N_SHARES = sizeof shares / sizeof *shares };
    for (int row = 0; row <= N_SHARES + N_OF_NODES; row++) {
        double value = row < N_SHARES ? shares[row] : deepest;
        if (row >= N_SHARES && row < N_SHARES + N_OF_NODES) value = sums[N_OF_WORDS + N_OF_BLOCKS + row - N_SHARES];
        for (Py_ssize_t i = 0; i < n; i++) rows[row][i] = (float)value;
    }
    return 0;
}

const Family page_stats_family = {
    write_page_stats, 0,
    {{ONCE, "pagewords pageblocks pagelinks pageprose pageprosewords pageinp pageinli pageintd pagehead pagetop "
            "pagetop5 pagearticles pagemains pageimages pageforms pageinputs pageh1 pageh2 pagepars pagescripts "
            "pagedepth"}},
};
