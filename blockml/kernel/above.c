/* What elements above a block tell: their tags, and how far away those of some groups are.

   write_path: the twin of blockml.features.structure.path. write_called: of blockml.features.vocabulary.called. */
#include "tree.h"
#include <stdlib.h>

enum { GROUPS = 64 };

/* Writes levels (n_groups, n) up to the nearest node above each block whose bits (n_nodes + 1,), the last for "no
   node", hold the group; `far` where there is none. */
static void write_levels(const Tree *tree, const uint64_t *bits, Py_ssize_t n_groups, float far, float *levels) {
    Py_ssize_t n = tree->n;
    for (Py_ssize_t i = 0; i < n_groups * n; i++) levels[i] = far;
    uint64_t wanted = n_groups == GROUPS ? ~(uint64_t)0 : ((uint64_t)1 << n_groups) - 1;
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) { /* neighbours that have the same above them */
        for (end = begin + 1; end < n && tree->chain[end] == tree->chain[begin];) end++;
        uint64_t missing = wanted;
        for (Py_ssize_t level = 0; level < tree->n_levels && missing; level++) {
            int64_t node = tree->chain[level * n + begin];
            uint64_t found = bits[node < 0 ? tree->n_nodes : node] & missing;
            missing &= ~found;
            for (; found; found &= found - 1) {
                float *row = levels + lowest_bit(found) * n;
                for (Py_ssize_t block = begin; block < end; block++) row[block] = (float)level;
            }
        }
    }
}

int write_path(Page *page, float *row) {
    enum { NEAREST = 4 };
    const Tree *tree = page->tree;
    const Tables *tables = page->tables;
    Py_ssize_t n = tree->n, n_groups = (Py_ssize_t)number_in(tables, N_LANDMARKS);
    uint64_t *bits = malloc((size_t)(tree->n_nodes + 1) * sizeof(uint64_t));
    if (bits == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t level = 0; level < NEAREST; level++, row += n)
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = level < tree->n_levels ? tree->chain[level * n + i] : -1;
            row[i] = (float)of_tag(page, OF_PATH, node < 0 ? tree->n_tags : tree->tag[node]);
        }
    for (Py_ssize_t i = 0; i < n; i++) row[i] = (float)tree->depth[wrapped(tree, tree->holder[i])];
    for (Py_ssize_t i = 0; i < tree->n_reached; i++)
        bits[tree->reached[i]] = (uint64_t)of_tag(page, LANDMARK, tree->tag[tree->reached[i]]);
    bits[tree->n_nodes] = (uint64_t)of_tag(page, LANDMARK, tree->n_tags);
    write_levels(tree, bits, n_groups, (float)number_in(tables, FAR), row + n);
    row += (1 + n_groups) * n;
    const uint8_t *masks = tables->view[FLAGS].buf;
    for (Py_ssize_t k = 0; k < length_of(tables, FLAGS); k++, row += n)
        for (Py_ssize_t i = 0; i < n; i++) row[i] = (tree->flags[i] & masks[k]) > 0;
    free(bits);
    return 0;
}

int write_called(Page *page, float *rows) {
    const Tree *tree = page->tree;
    const Names *names = page->names;
    Py_ssize_t n_keywords = (Py_ssize_t)number_in(page->tables, N_KEYWORDS), size = tree->n_nodes + 1;
    uint64_t *bits = malloc((size_t)size * sizeof(uint64_t));
    if (bits == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < tree->n_reached; i++) {
        const int32_t *number = names->numbers + tree->reached[i];
        int64_t roles = names->roles[number[ROLE * size]] | names->roles[number[ITEMPROP * size]] |
                        names->roles[number[PROPERTY * size]];
        bits[tree->reached[i]] = (uint64_t)roles << n_keywords | (uint64_t)names->keywords[number[CLASS * size]] |
                                 (uint64_t)names->keywords[number[ID * size]];
    }
    bits[tree->n_nodes] = 0;
    write_levels(tree, bits, n_keywords + (Py_ssize_t)number_in(page->tables, N_ROLES),
                 (float)number_in(page->tables, FAR), rows);
    free(bits);
    return 0;
}
