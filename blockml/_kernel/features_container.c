/* Candidates for the main container, and positions of blocks relative to them; reference:
   blockml.features.container. Elements are given as indices into `ancestor_nodes` (n_ancestor_nodes,). */
#include "features_page_tree.h"

/* Bits of tags in container.py. */
enum { SURROUNDING = 1, AROUND = 2, INLINE = 4, MAIN = 8, ARTICLE = 16, HEADING = 32 };

/* Rows of a candidate: levels up to an element that contains the block, levels below it, blocks before or after it,
   its share of the words, and the share of running text in these. */
enum { OUTOF, BELOW, OFF, SHARE, RUNNING, EACH };

/* Amounts of text of each element: sums of `k` values (k, n) of its blocks, the first three of which are amounts. */
typedef struct {
    const int64_t *ancestor_nodes;
    Py_ssize_t n_ancestor_nodes;
    const double *words, *prose, *any; /* any: running text, or words on pages without running text */
    double *sums;                      /* (k, n_ancestor_nodes) */
} Masses;

static int sum_masses(const Tree *tree, const double *values, Py_ssize_t k, Masses *masses) {
    Py_ssize_t n_ancestor_nodes = masses->n_ancestor_nodes;
    double *before = sums_before(values, k, tree->n);
    masses->sums = malloc((size_t)(k * n_ancestor_nodes + 1) * sizeof(double));
    if (before == NULL || masses->sums == NULL) {
        free(before);
        return no_memory();
    }
    for (Py_ssize_t i = 0; i < n_ancestor_nodes; i++) {
        int64_t node = masses->ancestor_nodes[i];
        const double *low = before + tree->blocks_before[node] * k, *high = before + blocks_end(tree, node) * k;
        for (Py_ssize_t v = 0; v < k; v++) masses->sums[v * n_ancestor_nodes + i] = high[v] - low[v];
    }
    free(before);
    masses->words = masses->sums;
    masses->prose = masses->sums + 2 * n_ancestor_nodes;
    masses->any = tree->n_prose > 0 ? masses->prose : masses->words;
    return 0;
}

static double largest(const double *values, Py_ssize_t n) {
    double most = 0;
    for (Py_ssize_t i = 0; i < n; i++) most = at_least(values[i], most);
    return most;
}

/* Returns the first of the deepest elements with at least this share of the largest mass; -1 if all masses are 0. */
static Py_ssize_t deepest_holding(const Tree *tree, const Masses *masses, const double *mass, double share) {
    double most = largest(mass, masses->n_ancestor_nodes);
    Py_ssize_t best = -1;
    const int64_t *node = masses->ancestor_nodes;
    for (Py_ssize_t i = 0; most > 0 && i < masses->n_ancestor_nodes; i++)
        if (mass[i] >= share * most && (best < 0 || tree->depth[node[i]] > tree->depth[node[best]])) best = i;
    return best;
}

static int64_t mark_of(const Page *page, int64_t node) { return of_tag(page, MARK, page->tree->tag[node]); }

/* Returns the first of the elements with the most words, with a marked tag or a role; -1 without one. */
static Py_ssize_t largest_named(const Page *page, const Masses *masses, int mark, const int32_t *roles, int32_t role) {
    Py_ssize_t best = -1;
    for (Py_ssize_t i = 0; i < masses->n_ancestor_nodes; i++) {
        int64_t node = masses->ancestor_nodes[i];
        if (!(mark_of(page, node) & mark) && !(role > 0 && roles[node] == role)) continue;
        if (best < 0 || masses->words[i] > masses->words[best]) best = i;
    }
    return best;
}

/* Returns the smallest element with the first heading and half of the mass; -1 without a heading. */
static Py_ssize_t with_heading(const Page *page, const Masses *masses) {
    const Tree *tree = page->tree;
    double most = largest(masses->any, masses->n_ancestor_nodes);
    int64_t node = 0;
    while (node < tree->n_nodes && !(mark_of(page, node) & HEADING)) node++;
    if (node == tree->n_nodes) return -1;
    Py_ssize_t place = masses->n_ancestor_nodes - 1;
    for (; node >= 0; node = tree->parent[node]) {
        while (place >= 0 && masses->ancestor_nodes[place] > node) place--;
        if (place >= 0 && masses->ancestor_nodes[place] == node && masses->any[place] >= 0.5 * most) return place;
    }
    return -1;
}

/* Writes the rows (EACH, n) of a candidate. */
static void write_candidate(const Page *page, const Masses *masses, Py_ssize_t place, float *const *rows) {
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n, most_levels = (Py_ssize_t)number_in(page->tables, MOST_LEVELS);
    float *outof = rows[OUTOF], *below = rows[BELOW], *off = rows[OFF];
    double words = place < 0 ? 0 : masses->words[place];
    float share = (float)(place < 0 ? -1 : words / tree->n_words);
    float running = (float)(place < 0 ? -1 : masses->prose[place] / at_least(words, 1));
    for (Py_ssize_t i = 0; i < n; i++) rows[SHARE][i] = share, rows[RUNNING][i] = running;
    if (place < 0) {
        for (Py_ssize_t i = 0; i < n; i++) outof[i] = below[i] = -2, off[i] = 0;
        return;
    }
    int64_t node = masses->ancestor_nodes[place], low = tree->blocks_before[node], high = blocks_end(tree, node);
    for (Py_ssize_t i = 0; i < n; i++) {
        int inside = i >= low && i < high;
        below[i] = inside ? (float)(tree->depth[node_or_last(tree, tree->parent_of[i])] - tree->depth[node]) : -1;
        off[i] = i < low ? (float)(i - low) : i >= high ? (float)(i - high + 1) : 0;
        outof[i] = 0;
    }
    /* The blocks of an element are a range, which is part of the range of its parent. */
    int64_t since = low, until = high;
    Py_ssize_t steps = 1;
    for (int64_t above = tree->parent[node]; above >= 0 && steps <= most_levels; above = tree->parent[above], steps++) {
        int64_t first = tree->blocks_before[above], last = blocks_end(tree, above);
        for (int64_t i = first; i < since; i++) outof[i] = (float)steps;
        for (int64_t i = until > first ? until : first; i < last; i++) outof[i] = (float)steps;
        since = first < since ? first : since;
        until = last > until ? last : until;
    }
    for (int64_t i = 0; i < since; i++) outof[i] = (float)steps;
    for (int64_t i = until; i < n; i++) outof[i] = (float)steps;
}

/* Marks blocks (n,) with an ancestor that is surroundings by its tag, class or id. */
static int mark_surrounded(const Page *page, uint8_t *surrounded) {
    const Tree *tree = page->tree;
    const AttributeValues *attributes = page->attributes;
    int64_t wanted = number_in(page->tables, SURROUNDINGS);
    Py_ssize_t size = tree->n_nodes + 1;
    uint8_t *node = calloc((size_t)size, 1); /* whether it is surroundings */
    if (node == NULL) return no_memory();
    for (Py_ssize_t k = 0; k < tree->n_ancestor_nodes; k++) {
        int64_t i = tree->ancestor_nodes[k], mark = mark_of(page, i);
        const int32_t *number = attributes->numbers + i;
        int64_t bits = attributes->keywords[number[CLASS * size]] | attributes->keywords[number[ID * size]];
        node[i] = !(mark & AROUND) && ((mark & SURROUNDING) || (bits & wanted));
    }
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        if (has_parent_of_last(tree, block)) {
            surrounded[block] = surrounded[block - 1];
            continue;
        }
        int32_t at = tree->parent_of[block];
        for (Py_ssize_t level = 1; level < tree->n_levels && at >= 0 && !node[at]; level++) at = tree->parent[at];
        surrounded[block] = at >= 0 && node[at];
    }
    free(node);
    return 0;
}

/* Adds the scores of running text to those (n_nodes + 1,) of its ancestors; inline elements pass them on. */
static void score_paragraphs(const Page *page, double *scores) {
    enum { CLAUSE = 4 }; /* index of a character class */
    static const double parts[3] = {1.0, 0.5, 0.33};
    const Tree *tree = page->tree;
    const double *prose = tree->amounts + 2 * tree->n, *lengths = page->texts.lengths;
    const double *clauses = page->texts.counts + CLAUSE * tree->n;
    for (int step = 0; step < 3; step++) /* in the reference's order of addition */
        for (Py_ssize_t i = 0; i < tree->n; i++) {
            if (!(prose[i] > 0)) continue;
            int64_t hundreds = (int64_t)(lengths[i] / 100), held = node_or_last(tree, tree->parent_of[i]);
            double worth = 1 + clauses[i] + (double)(hundreds < 3 ? hundreds : 3);
            int64_t node = mark_of(page, held) & INLINE ? tree->parent[held] : tree->parent_of[i];
            for (int up = 0; up < step && node >= 0; up++) node = tree->parent[node];
            if (node >= 0) scores[node] += parts[step] * worth;
        }
}

/* Multiplies the score of each element by its share of unlinked words, and zeroes scores of elements without blocks.
   Returns the element with the best score, or -1 without one. */
static Py_ssize_t best_scored(const Tree *tree, const Masses *masses, const double *linked, double *scores) {
    Py_ssize_t best = -1;
    for (Py_ssize_t i = 0, node = 0; i <= masses->n_ancestor_nodes; i++) {
        Py_ssize_t next = i < masses->n_ancestor_nodes ? (Py_ssize_t)masses->ancestor_nodes[i] : tree->n_nodes;
        while (node < next) scores[node++] = 0;
        if (i == masses->n_ancestor_nodes) break;
        scores[node] *= 1 - linked[i] / at_least(masses->words[i], 1);
        if (scores[node] > (best < 0 ? 0 : scores[masses->ancestor_nodes[best]])) best = i;
        node++;
    }
    return best;
}

/* Writes the best score above each block and the score of its parent, both divided by the best score. */
static void write_scores(const Tree *tree, const double *scores, float *up, float *parent) {
    double best = at_least(largest(scores, tree->n_nodes), 1e-9);
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        if (has_parent_of_last(tree, block)) {
            up[block] = up[block - 1], parent[block] = parent[block - 1];
            continue;
        }
        double most = 0;
        int32_t parent_of = tree->parent_of[block], node = parent_of;
        for (Py_ssize_t level = 0; level < tree->n_levels && node >= 0; level++, node = tree->parent[node])
            most = at_least(scores[node], most);
        up[block] = (float)(most / best);
        parent[block] = (float)(scores[parent_of < 0 ? tree->n_nodes : parent_of] / best);
    }
}

/* Returns the number of a role that an ancestor of a block has; 0 without one. */
static int32_t role_named(const Page *page, const int32_t *roles, const char *name) {
    const Tree *tree = page->tree;
    int32_t last = 0;
    for (Py_ssize_t i = 0; i < tree->n_ancestor_nodes; i++) {
        int32_t role = roles[tree->ancestor_nodes[i]];
        if (role == 0 || role == last) continue;
        if (equals_text(&page->attributes->values.items[role], name)) return role;
        last = role;
    }
    return 0;
}

static int write_container(Page *page, float *const *rows) {
    enum { HALF, MOST, CLEAN, CLEAN_ALL, SCORED, MAIN_ONE, ALL, TITLED, ARTICLE_ONE, N_CANDIDATES };
    const Tree *tree = page->tree;
    Py_ssize_t n = tree->n, place[N_CANDIDATES];
    const double *prose = tree->amounts + 2 * n;
    Masses masses = {.ancestor_nodes = tree->ancestor_nodes, .n_ancestor_nodes = tree->n_ancestor_nodes};
    int done = -1;
    if (read_texts(&page->texts, tree, page->tables) < 0) return -1;
    uint8_t *surrounded = malloc((size_t)n);
    double *values = malloc((size_t)(4 * n) * sizeof(double));
    double *scores = calloc((size_t)(tree->n_nodes + 1), sizeof(double));
    const int32_t *roles = page->attributes->numbers + ROLE * (tree->n_nodes + 1);
    if (surrounded == NULL || values == NULL || scores == NULL) {
        no_memory();
        goto failed;
    }
    if (mark_surrounded(page, surrounded) < 0) goto failed;
    memcpy(values, tree->amounts, (size_t)(3 * n) * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) values[3 * n + i] = surrounded[i] ? 0 : prose[i];
    if (sum_masses(tree, values, 4, &masses) < 0) goto failed;
    const double *linked = masses.sums + masses.n_ancestor_nodes, *clean = linked + 2 * masses.n_ancestor_nodes;
    if (!(largest(clean, masses.n_ancestor_nodes) > 0)) clean = masses.any;
    place[HALF] = deepest_holding(tree, &masses, masses.any, 0.5);
    place[MOST] = deepest_holding(tree, &masses, masses.any, 0.8);
    place[CLEAN] = deepest_holding(tree, &masses, clean, 0.6);
    place[CLEAN_ALL] = deepest_holding(tree, &masses, clean, 0.9);
    place[MAIN_ONE] = largest_named(page, &masses, MAIN, roles, role_named(page, roles, "main"));
    place[ALL] = deepest_holding(tree, &masses, masses.any, 0.95);
    place[TITLED] = with_heading(page, &masses);
    place[ARTICLE_ONE] = largest_named(page, &masses, ARTICLE, NULL, 0);
    score_paragraphs(page, scores);
    place[SCORED] = best_scored(tree, &masses, linked, scores);
    for (int c = 0; c < N_CANDIDATES; c++) write_candidate(page, &masses, place[c], rows + c * EACH);
    write_scores(tree, scores, rows[EACH * N_CANDIDATES], rows[EACH * N_CANDIDATES + 1]);
    done = 0;
failed:
    free(surrounded);
    free(values);
    free(scores);
    free(masses.sums);
    return done;
}

const Family container_family = {
    write_container, NEEDS_VALUES,
    {{ONCE, "outofhalf belowhalf offhalf sharehalf prosehalf outofmost belowmost offmost sharemost prosemost "
            "outofclean belowclean offclean shareclean proseclean outofcleanall belowcleanall offcleanall "
            "sharecleanall prosecleanall outofscored belowscored offscored sharescored prosescored outofmain "
            "belowmain offmain sharemain prosemain outofall belowall offall shareall proseall outoftitled "
            "belowtitled offtitled sharetitled prosetitled outofarticle belowarticle offarticle sharearticle "
            "prosearticle scoreup scoreparent"}},
};
