/* Tags of the ancestors of blocks, and distances to ancestors in groups; references: blockml.features.structure.path
   and blockml.features.vocabulary.vocabulary_distance. */
#include "features_page_tree.h"

enum { MOST_GROUPS = 64 };

/* Group bits of each node (n_nodes,), of a missing node, and of each node with its ancestors (n_nodes,). */
typedef struct {
    uint64_t *bits, none, *above;
} Groups;

/* Allocates groups. */
static int make_groups(Groups *groups, const Tree *tree) {
    groups->bits = calloc((size_t)(2 * tree->n_nodes + 1), sizeof(uint64_t));
    groups->above = groups->bits + tree->n_nodes;
    if (groups->bits != NULL) return 0;
    return no_memory();
}

/* Writes levels (n_groups, n) up to the nearest ancestor of each block in each group, or `far` without one. Stops
   when no ancestor further up is in a group that is still missing. */
static void write_levels(const Tree *tree, const Groups *groups, Py_ssize_t n_groups, float far,
                         float *const *levels) {
    Py_ssize_t n = tree->n;
    for (Py_ssize_t group = 0; group < n_groups; group++)
        for (Py_ssize_t i = 0; i < n; i++) levels[group][i] = far;
    for (Py_ssize_t i = 0; i < tree->n_ancestor_nodes; i++) { /* parents come before their children */
        int64_t node = tree->ancestor_nodes[i], parent = tree->parent[node];
        groups->above[node] = groups->bits[node] | (parent < 0 ? groups->none : groups->above[parent]);
    }
    uint64_t wanted = n_groups == MOST_GROUPS ? ~(uint64_t)0 : ((uint64_t)1 << n_groups) - 1;
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) { /* blocks with the same parent */
        for (end = begin + 1; end < n && tree->parent_of[end] == tree->parent_of[begin];) end++;
        uint64_t missing = wanted;
        int32_t node = tree->parent_of[begin];
        for (Py_ssize_t level = 0; level < tree->n_levels; level++) {
            if (!((node < 0 ? groups->none : groups->above[node]) & missing)) break;
            uint64_t found = (node < 0 ? groups->none : groups->bits[node]) & missing;
            missing &= ~found;
            for (; found; found &= found - 1) {
                float *row = levels[lowest_bit(found)];
                for (Py_ssize_t block = begin; block < end; block++) row[block] = (float)level;
            }
            if (node >= 0) node = tree->parent[node];
        }
    }
}

static int write_path(Page *page, float *const *row) {
    enum { NEAREST = 4 };
    const Tree *tree = page->tree;
    const Tables *tables = page->tables;
    Py_ssize_t n = tree->n, n_groups = (Py_ssize_t)number_in(tables, N_LANDMARKS);
    Groups groups;
    if (make_groups(&groups, tree) < 0) return -1;
    for (Py_ssize_t level = 0; level < NEAREST; level++, row++)
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t node = level < tree->n_levels ? tree->ancestors[level * n + i] : -1;
            (*row)[i] = (float)of_tag(page, OF_PATH, node < 0 ? tree->n_tags : tree->tag[node]);
        }
    for (Py_ssize_t i = 0; i < n; i++) (*row)[i] = (float)tree->depth[node_or_last(tree, tree->parent_of[i])];
    for (Py_ssize_t i = 0; i < tree->n_ancestor_nodes; i++)
        groups.bits[tree->ancestor_nodes[i]] = (uint64_t)of_tag(page, LANDMARK, tree->tag[tree->ancestor_nodes[i]]);
    groups.none = (uint64_t)of_tag(page, LANDMARK, tree->n_tags);
    write_levels(tree, &groups, n_groups, (float)number_in(tables, FAR), row + 1);
    row += 1 + n_groups;
    const uint8_t *masks = tables->view[FLAGS].buf;
    for (Py_ssize_t k = 0; k < N_FLAGS; k++, row++)
        for (Py_ssize_t i = 0; i < n; i++) (*row)[i] = (tree->flags[i] & masks[k]) > 0;
    free(groups.bits);
    return 0;
}

const Family path_family = {
    write_path, 0, {{ONCE, "tag0 tag1 tag2 tag3 depth"}, {LANDMARKS, "to#"}, {ONCE, "hidden noscript preformatted"}},
};

static int write_vocabulary_distance(Page *page, float *const *rows) {
    const Tree *tree = page->tree;
    const AttributeValues *attributes = page->attributes;
    Py_ssize_t n_keywords = (Py_ssize_t)number_in(page->tables, N_KEYWORDS), size = tree->n_nodes + 1;
    Groups groups;
    if (make_groups(&groups, tree) < 0) return -1;
    for (Py_ssize_t i = 0; i < tree->n_ancestor_nodes; i++) {
        const int32_t *number = attributes->numbers + tree->ancestor_nodes[i];
        int64_t roles = attributes->roles[number[ROLE * size]] | attributes->roles[number[ITEMPROP * size]] |
                        attributes->roles[number[PROPERTY * size]];
        int64_t keywords = attributes->keywords[number[CLASS * size]] | attributes->keywords[number[ID * size]];
        groups.bits[tree->ancestor_nodes[i]] = (uint64_t)roles << n_keywords | (uint64_t)keywords;
    }
    groups.none = 0;
    write_levels(tree, &groups, n_keywords + (Py_ssize_t)number_in(page->tables, N_ROLES),
                 (float)number_in(page->tables, FAR), rows);
    free(groups.bits);
    return 0;
}

const Family vocabulary_family = {write_vocabulary_distance, NEEDS_VALUES, {{KEYWORDS, "cls#"}, {ROLES, "#"}}};
