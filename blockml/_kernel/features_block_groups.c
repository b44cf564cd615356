/* Groups of blocks and elements with equal ancestors; references: blockml.features.page_context.group_blocks and
   blockml.features.repetition. */
#include "features_page_tree.h"

static inline uint64_t mixed(uint64_t key, uint64_t code) {
    key = key * 0x9e3779b97f4a7c15u + code; /* blockml.features.page_context._FACTOR */
    return key ^ (key >> 31);
}

/* Hashes the codes (n_nodes + 1,) of the ancestors of blocks at some levels into keys (n,), from the top down. */
static void hash_levels(const Tree *tree, Py_ssize_t first, Py_ssize_t last, const uint64_t *codes, uint64_t *keys) {
    Py_ssize_t n = tree->n;
    for (Py_ssize_t level = last; level-- > first;)
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t node = tree->ancestors[level * n + block];
            keys[block] = mixed(keys[block], codes[node < 0 ? tree->n_nodes : node]);
        }
}

/* Hashes the codes of all levels starting at `first`; shared ancestors are hashed once. `whole` is (n_nodes,)
   workspace. */
static void hash_all_levels(const Tree *tree, Py_ssize_t first, const uint64_t *codes, uint64_t *whole,
                            uint64_t *keys) {
    Py_ssize_t n = tree->n, top = tree->n_levels - 1;
    for (Py_ssize_t i = 0; i < tree->n_ancestor_nodes; i++) {
        int64_t node = tree->ancestor_nodes[i], parent = tree->parent[node];
        whole[node] = mixed(parent < 0 ? 0 : whole[parent], codes[node]);
    }
    for (Py_ssize_t block = 0; block < n && first <= top; block++) {
        int64_t node = tree->ancestors[first * n + block], last = tree->ancestors[top * n + block];
        if (last < 0 || tree->parent[last] < 0) {
            keys[block] = node < 0 ? 0 : whole[node];
            continue;
        }
        for (Py_ssize_t level = top; level >= first; level--) /* there are ancestors above the last level */
            keys[block] = mixed(keys[block], codes[tree->ancestors[level * n + block]]);
    }
}

int group_blocks(const Tree *tree, Py_ssize_t first, Py_ssize_t last, const int32_t *classes, int64_t *group) {
    Py_ssize_t n = tree->n, n_nodes = tree->n_nodes;
    uint64_t *codes = calloc((size_t)(2 * n_nodes + 1 + n), sizeof(uint64_t));
    if (codes == NULL) return no_memory();
    uint64_t *keys = codes + n_nodes + 1, *whole = keys + n;
    for (Py_ssize_t k = 0; k < tree->n_ancestor_nodes; k++) {
        int64_t i = tree->ancestor_nodes[k];
        codes[i] = (uint64_t)tree->tag[i] + (classes ? (uint64_t)tree->n_tags * (uint64_t)classes[i] : 0) + 1;
    }
    if (last < tree->n_levels)
        hash_levels(tree, first, last, codes, keys);
    else
        hash_all_levels(tree, first, codes, whole, keys);
    int64_t n_groups = factorize(keys, (size_t)n, group);
    free(codes);
    return n_groups < 0 ? -1 : 0;
}

enum { MEASURES = 6 };

/* Sums over a group of blocks or elements, and its columns. */
typedef struct {
    double size, words, links, prose;
    Py_ssize_t first, last;
    float measures[MEASURES];
} Group;

/* Writes for the group of each block: blocks, share of the page's words, words per block, shares of linked words and
   of running text, and blocks divided by those from its first to its last one. */
static int write_groups(const Tree *tree, const int64_t *group, float *const *rows) {
    Py_ssize_t n = tree->n;
    const double *words = tree->amounts, *linked = words + n, *prose = linked + n;
    Group *groups = calloc((size_t)n + 1, sizeof(Group));
    if (groups == NULL) return no_memory();
    for (Py_ssize_t i = 0; i < n; i++) {
        Group *its = groups + group[i];
        if (!its->size) its->first = i;
        its->last = i;
        its->size += 1;
        its->words += words[i];
        its->links += linked[i];
        its->prose += prose[i];
    }
    for (Group *its = groups; its->size; its++) {
        double some = at_least(its->words, 1);
        its->measures[0] = (float)its->size;
        its->measures[1] = (float)(its->words / tree->n_words);
        its->measures[2] = (float)(its->words / its->size);
        its->measures[3] = (float)(its->links / some);
        its->measures[4] = (float)(its->prose / some);
        its->measures[5] = (float)(its->size / (double)(its->last - its->first + 1));
    }
    for (Py_ssize_t i = 0; i < n; i++)
        for (int k = 0; k < MEASURES; k++) rows[k][i] = groups[group[i]].measures[k];
    free(groups);
    return 0;
}

static int write_repetition(Page *page, float *const *rows) {
    Py_ssize_t n = page->tree->n;
    for (Py_ssize_t k = 0; k < page->attributes->n_groupings; k++)
        if (write_groups(page->tree, page->attributes->groups + k * n, rows + MEASURES * k) < 0) return -1;
    return 0;
}

const Family repetition_family = {
    write_repetition, NEEDS_VALUES, {{GROUPS, "size# share# density# links# prose# tight#"}},
};

static int write_same_path(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    int64_t *group = malloc((size_t)tree->n * sizeof(int64_t));
    if (group == NULL) no_memory();
    int done = group == NULL || group_blocks(tree, 0, tree->n_levels, NULL, group) < 0 ? -1 : 0;
    if (done == 0) done = write_groups(tree, group, rows);
    free(group);
    return done;
}

const Family same_path_family = {
    write_same_path, 0, {{ONCE, "sizepath sharepath densitypath linkspath prosepath tightpath"}},
};

/* Numbers the groups of elements with equal parent, tag and class; returns the number of groups. */
static int64_t group_siblings(const Tree *tree, const int64_t *elements, Py_ssize_t n, const int32_t *classes,
                              int64_t *group) {
    int64_t most = 0, n_groups = -1;
    uint64_t *keys = malloc((size_t)(n + 1) * sizeof(uint64_t));
    if (keys == NULL) return no_memory();
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t kind = tree->tag[elements[i]] + tree->n_tags * (int64_t)classes[elements[i]];
        keys[i] = (uint64_t)kind;
        if (kind > most) most = kind;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        keys[i] += ((uint64_t)tree->parent[elements[i]] + 1) * ((uint64_t)most + 1);
    n_groups = factorize(keys, (size_t)n, group);
    free(keys);
    return n_groups;
}

/* Writes for the ancestor of each block at each level: elements with its parent, tag and class, their mean words,
   and their share of linked words. */
static int write_siblings(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    const int64_t *levels = page->tables->view[SIBLINGS].buf, *elements = page->attributes->elements;
    Py_ssize_t n = tree->n, n_elements = page->attributes->n_elements;
    double *before = sums_before(tree->amounts, 2, n);
    Group *groups = calloc((size_t)n_elements + 1, sizeof(Group));
    int64_t *group = malloc((size_t)(n_elements + 1) * sizeof(int64_t));
    int64_t *group_of = calloc((size_t)tree->n_nodes, sizeof(int64_t));
    int done = -1;
    if (before == NULL || groups == NULL || group == NULL || group_of == NULL) {
        no_memory();
        goto failed;
    }
    if (group_siblings(tree, elements, n_elements, page->attributes->classes, group) < 0) goto failed;
    for (Py_ssize_t i = 0; i < n_elements; i++) {
        int64_t node = elements[i];
        const double *low = before + tree->blocks_before[node] * 2, *high = before + blocks_end(tree, node) * 2;
        Group *its = groups + group[i];
        its->size += 1;
        its->words += high[0] - low[0];
        its->links += high[1] - low[1];
        group_of[node] = group[i];
    }
    for (Group *its = groups; its->size; its++) {
        its->measures[0] = (float)its->size;
        its->measures[1] = (float)(its->words / its->size);
        its->measures[2] = (float)(its->links / at_least(its->words, 1));
    }
    for (Py_ssize_t k = 0; k < length_of(page->tables, SIBLINGS); k++)
        for (Py_ssize_t i = 0; i < n; i++) {
            const Group *its = groups + group_of[ancestor(tree, i, levels[k])];
            for (int m = 0; m < 3; m++) rows[3 * k + m][i] = its->measures[m];
        }
    done = 0;
failed:
    free(before);
    free(groups);
    free(group);
    free(group_of);
    return done;
}

const Family siblings_family = {
    write_siblings, NEEDS_VALUES, {{ANCESTORS_OF_ELEMENTS, "alike#up wordsalike#up linksalike#up"}},
};
