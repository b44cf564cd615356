/* Candidates for the container of the content, and where blocks lie relative to them: the twins of
   blockml.features.container.container and further. Elements are places in `reached` (n_reached,), the nodes above
   blocks. */
#include "tree.h"
#include <stdlib.h>

/* What is known of a tag; as in container.py. */
enum { SURROUNDING = 1, AROUND = 2, INLINE = 4, MAIN = 8, ARTICLE = 16, HEADING = 32 };

/* Rows of a candidate: levels up to an element that holds the block, levels below it, blocks before or after it, its share
   of the words, and the share of these that is running text. */
enum { OUTOF, BELOW, OFF, SHARE, RUNNING, EACH };

/* Text of each element: what is in `k` values (k, n) of blocks. */
typedef struct {
    const int64_t *reached;
    Py_ssize_t n_reached;
    const double *words, *prose, *any; /* any: running text, or words where the page has none */
    double *sums;                      /* (k, n_reached) */
} Masses;

static int sum_masses(const Tree *tree, const double *values, Py_ssize_t k, double n_prose, Masses *masses) {
    Py_ssize_t n_reached = masses->n_reached;
    double *before = sums_before(values, k, tree->n);
    masses->sums = malloc((size_t)(k * n_reached + 1) * sizeof(double));
    if (before == NULL || masses->sums == NULL) {
        free(before);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_reached; i++) {
        int64_t node = masses->reached[i];
        const double *low = before + tree->started[node] * k, *high = before + tree->started[tree->end[node]] * k;
        for (Py_ssize_t v = 0; v < k; v++) masses->sums[v * n_reached + i] = high[v] - low[v];
    }
    free(before);
    masses->words = masses->sums;
    masses->prose = masses->sums + n_reached;
    masses->any = n_prose > 0 ? masses->prose : masses->words;
    return 0;
}

static double largest(const double *values, Py_ssize_t n) {
    double most = 0;
    for (Py_ssize_t i = 0; i < n; i++) most = at_least(values[i], most);
    return most;
}

/* The first of the deepest elements with at least this share of the largest mass, or -1 without any mass. */
static Py_ssize_t deepest_holding(const Tree *tree, const Masses *masses, const double *mass, double share) {
    double most = largest(mass, masses->n_reached);
    Py_ssize_t best = -1;
    const int64_t *reached = masses->reached;
    for (Py_ssize_t i = 0; most > 0 && i < masses->n_reached; i++)
        if (mass[i] >= share * most && (best < 0 || tree->depth[reached[i]] > tree->depth[reached[best]])) best = i;
    return best;
}

/* The first element with most words of those whose tag is marked, or that have this role; -1 without any. */
static Py_ssize_t largest_named(const Tree *tree, const Masses *masses, const uint8_t *marks, int mark,
                                const int32_t *roles, int32_t role) {
    Py_ssize_t best = -1;
    for (Py_ssize_t i = 0; i < masses->n_reached; i++) {
        int64_t node = masses->reached[i];
        if (!(marks[tree->tag[node]] & mark) && !(role > 0 && roles[node] == role)) continue;
        if (best < 0 || masses->words[i] > masses->words[best]) best = i;
    }
    return best;
}

/* Smallest element that holds the first heading and half of the mass; -1 without a heading. */
static Py_ssize_t with_heading(const Tree *tree, const Masses *masses, const uint8_t *marks) {
    double most = largest(masses->any, masses->n_reached);
    int64_t node = 0;
    while (node < tree->n_nodes && !(marks[tree->tag[node]] & HEADING)) node++;
    if (node == tree->n_nodes) return -1;
    Py_ssize_t place = masses->n_reached - 1;
    for (; node >= 0; node = tree->parent[node]) {
        while (place >= 0 && masses->reached[place] > node) place--;
        if (place >= 0 && masses->reached[place] == node && masses->any[place] >= 0.5 * most) return place;
    }
    return -1;
}

/* Writes the rows (EACH, n) of a candidate. */
static void write_candidate(const Tree *tree, const Masses *masses, Py_ssize_t place, double n_words,
                            Py_ssize_t most_levels, float *rows) {
    Py_ssize_t n = tree->n;
    float *outof = rows + OUTOF * n, *below = rows + BELOW * n, *off = rows + OFF * n;
    double words = place < 0 ? 0 : masses->words[place];
    float share = (float)(place < 0 ? -1 : words / n_words);
    float running = (float)(place < 0 ? -1 : masses->prose[place] / at_least(words, 1));
    for (Py_ssize_t i = 0; i < n; i++) rows[SHARE * n + i] = share, rows[RUNNING * n + i] = running;
    if (place < 0) {
        for (Py_ssize_t i = 0; i < n; i++) outof[i] = below[i] = -2, off[i] = 0;
        return;
    }
    int64_t node = masses->reached[place], low = tree->started[node], high = tree->started[tree->end[node]];
    for (Py_ssize_t i = 0; i < n; i++) {
        int inside = i >= low && i < high;
        below[i] = inside ? (float)(tree->depth[wrapped(tree, tree->holder[i])] - tree->depth[node]) : -1;
        off[i] = i < low ? (float)(i - low) : i >= high ? (float)(i - high + 1) : 0;
        outof[i] = 0;
    }
    /* Blocks of an element are a range, and those of the element above a wider one. */
    int64_t since = low, until = high;
    Py_ssize_t steps = 1;
    for (int64_t above = tree->parent[node]; above >= 0 && steps <= most_levels; above = tree->parent[above], steps++) {
        int64_t first = tree->started[above], last = tree->started[tree->end[above]];
        for (int64_t i = first; i < since; i++) outof[i] = (float)steps;
        for (int64_t i = until > first ? until : first; i < last; i++) outof[i] = (float)steps;
        since = first < since ? first : since;
        until = last > until ? last : until;
    }
    for (int64_t i = 0; i < since; i++) outof[i] = (float)steps;
    for (int64_t i = until; i < n; i++) outof[i] = (float)steps;
}

/* Marks blocks (n,) with an element above them that is one of the surroundings, by its tag or by its class or id. -1 with
   an exception set. */
static int mark_surrounded(const Tree *tree, const uint8_t *marks, const int32_t *classes, const int32_t *ids,
                           const int64_t *bits, int64_t wanted, uint8_t *surrounded) {
    uint8_t *node_is = malloc((size_t)tree->n_nodes + 1);
    if (node_is == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i <= tree->n_nodes; i++) {
        int mark = i < tree->n_nodes ? marks[tree->tag[i]] : 0;
        node_is[i] = !(mark & AROUND) && ((mark & SURROUNDING) || ((bits[classes[i]] | bits[ids[i]]) & wanted));
    }
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        surrounded[block] = 0;
        for (Py_ssize_t level = 0; level < tree->n_levels && !surrounded[block]; level++) {
            int64_t node = tree->chain[level * tree->n + block];
            surrounded[block] = node_is[node < 0 ? tree->n_nodes : node];
        }
    }
    free(node_is);
    return 0;
}

/* Adds to scores (n_nodes + 1,) what running text gives to the elements above it; of inline elements to those above
   them. */
static void score_paragraphs(const Tree *tree, const uint8_t *marks, const double *prose, const double *clauses,
                             const double *lengths, double *scores) {
    static const double parts[3] = {1.0, 0.5, 0.33};
    for (int step = 0; step < 3; step++) /* step by step, for the order of addition */
        for (Py_ssize_t i = 0; i < tree->n; i++) {
            if (!(prose[i] > 0)) continue;
            int64_t hundreds = (int64_t)(lengths[i] / 100), held = wrapped(tree, tree->holder[i]);
            double worth = 1 + clauses[i] + (double)(hundreds < 3 ? hundreds : 3);
            int64_t node = marks[tree->tag[held]] & INLINE ? tree->parent[held] : tree->holder[i];
            for (int up = 0; up < step && node >= 0; up++) node = tree->parent[node];
            if (node >= 0) scores[node] += parts[step] * worth;
        }
}

/* Takes the share of an element's words that is linked from its score, and all from elements that are not above a block.
   Returns the element with the best score, or -1 without any. */
static Py_ssize_t best_scored(const Tree *tree, const Masses *masses, const double *linked, double *scores) {
    Py_ssize_t best = -1;
    for (Py_ssize_t i = 0, node = 0; i <= masses->n_reached; i++) {
        Py_ssize_t next = i < masses->n_reached ? (Py_ssize_t)masses->reached[i] : tree->n_nodes;
        while (node < next) scores[node++] = 0;
        if (i == masses->n_reached) break;
        scores[node] *= 1 - linked[i] / at_least(masses->words[i], 1);
        if (scores[node] > (best < 0 ? 0 : scores[masses->reached[best]])) best = i;
        node++;
    }
    return best;
}

/* Writes the best score above each block, and that of its parent, over the best of all. */
static void write_scores(const Tree *tree, const double *scores, float *up, float *parent) {
    double best = at_least(largest(scores, tree->n_nodes), 1e-9);
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        double most = 0;
        for (Py_ssize_t level = 0; level < tree->n_levels; level++) {
            int64_t node = tree->chain[level * tree->n + block];
            if (node >= 0) most = at_least(scores[node], most);
        }
        int32_t holder = tree->holder[block];
        up[block] = (float)(most / best);
        parent[block] = (float)(scores[holder < 0 ? tree->n_nodes : holder] / best);
    }
}

static int are_names(const int32_t *names, Py_ssize_t n, Py_ssize_t n_names) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (names[i] < 0 || names[i] >= n_names) {
            PyErr_SetString(PyExc_IndexError, "no such name");
            return 0;
        }
    return 1;
}

/* container_rows(tree, marks, classes, roles, ids, bits, wanted, main_role, amounts, totals, clauses, lengths,
   most_levels, rows): the rows of six candidates, and two of scores. Marks (n_tags,) are by tag; classes, roles and ids
   (n_nodes + 1,) are numbers of names, bits (n_names,) the groups of words in them, those of surroundings `wanted`, and
   `main_role` the number of that role, 0 for none; amounts (3, n) words, linked words and those of running text; totals
   are words of the page and of its running text. */
PyObject *container_rows(PyObject *module, PyObject *arguments) {
    enum { MARKS, CLASSES, ROLES, IDS, BITS, AMOUNTS, CLAUSES, LENGTHS, ROWS, N };
    enum { HALF, MOST, CLEAN, CLEAN_ALL, SCORED, MAIN_ONE, N_CANDIDATES };
    PyObject *capsule, *object[N];
    long long wanted;
    int main_role;
    double n_words, n_prose, *values = NULL, *scores = NULL;
    Py_ssize_t most_levels, place[N_CANDIDATES];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 4, 4, 4, 8, 8, 8, 8, 4};
    uint8_t *surrounded = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOLiO(dd)OOnO", &capsule, &object[0], &object[1], &object[2], &object[3],
                          &object[4], &wanted, &main_role, &object[5], &n_words, &n_prose, &object[6], &object[7],
                          &most_levels, &object[8]))
        return NULL;
    const Tree *tree = NULL;
    Masses masses = {.sums = NULL};
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    Py_ssize_t n = tree->n, n_nodes = tree->n_nodes, n_names = view[BITS].len / 8;
    const double *amounts = view[AMOUNTS].buf, *linked = amounts + n, *prose = linked + n;
    const int32_t *classes = view[CLASSES].buf, *roles = view[ROLES].buf, *ids = view[IDS].buf;
    const uint8_t *marks = view[MARKS].buf;
    float *rows = view[ROWS].buf;
    int sound = view[MARKS].len == tree->n_tags && view[AMOUNTS].len / 8 == 3 * n &&
                view[CLAUSES].len / 8 == n && view[LENGTHS].len / 8 == n &&
                view[ROWS].len / 4 == (EACH * N_CANDIDATES + 2) * n;
    for (int k = CLASSES; k <= IDS; k++) sound &= view[k].len / 4 == n_nodes + 1;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks or nodes differ in length");
        goto done;
    }
    masses.reached = tree->reached, masses.n_reached = tree->n_reached;
    if (!are_names(classes, n_nodes + 1, n_names) || !are_names(ids, n_nodes + 1, n_names)) goto done;
    surrounded = malloc((size_t)n);
    values = malloc((size_t)(4 * n) * sizeof(double));
    scores = calloc((size_t)n_nodes + 1, sizeof(double));
    if (surrounded == NULL || values == NULL || scores == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (mark_surrounded(tree, marks, classes, ids, view[BITS].buf, wanted, surrounded) < 0) goto done;
    for (Py_ssize_t i = 0; i < n; i++) {
        values[i] = amounts[i];
        values[n + i] = prose[i];
        values[2 * n + i] = surrounded[i] ? 0 : prose[i];
        values[3 * n + i] = linked[i];
    }
    if (sum_masses(tree, values, 4, n_prose, &masses) < 0) goto done;
    const double *clean = masses.sums + 2 * masses.n_reached;
    if (!(largest(clean, masses.n_reached) > 0)) clean = masses.any;
    place[HALF] = deepest_holding(tree, &masses, masses.any, 0.5);
    place[MOST] = deepest_holding(tree, &masses, masses.any, 0.8);
    place[CLEAN] = deepest_holding(tree, &masses, clean, 0.6);
    place[CLEAN_ALL] = deepest_holding(tree, &masses, clean, 0.9);
    place[MAIN_ONE] = largest_named(tree, &masses, marks, MAIN, roles, main_role);
    for (int c = 0; c < N_CANDIDATES; c++)
        if (c != SCORED) write_candidate(tree, &masses, place[c], n_words, most_levels, rows + c * EACH * n);
    score_paragraphs(tree, marks, prose, view[CLAUSES].buf, view[LENGTHS].buf, scores);
    float *up = rows + EACH * N_CANDIDATES * n;
    place[SCORED] = best_scored(tree, &masses, masses.sums + 3 * masses.n_reached, scores);
    write_candidate(tree, &masses, place[SCORED], n_words, most_levels, rows + SCORED * EACH * n);
    write_scores(tree, scores, up, up + n);
    result = Py_NewRef(Py_None);
done:
    free(surrounded);
    free(values);
    free(scores);
    free(masses.sums);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* further_rows(tree, marks, amounts, totals, most_levels, rows): the rows of three more candidates. */
PyObject *further_rows(PyObject *module, PyObject *arguments) {
    enum { MARKS, AMOUNTS, ROWS, N };
    enum { ALL, TITLED, ARTICLE_ONE, N_CANDIDATES };
    PyObject *capsule, *object[N];
    double n_words, n_prose, *values = NULL;
    Py_ssize_t most_levels, place[N_CANDIDATES];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO(dd)nO", &capsule, &object[0], &object[1], &n_words, &n_prose, &most_levels,
                          &object[2]))
        return NULL;
    const Tree *tree = NULL;
    Masses masses = {.sums = NULL};
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    Py_ssize_t n = tree->n;
    const double *amounts = view[AMOUNTS].buf;
    if (view[MARKS].len != tree->n_tags || view[AMOUNTS].len / 8 != 3 * n ||
        view[ROWS].len / 4 != EACH * N_CANDIDATES * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    masses.reached = tree->reached, masses.n_reached = tree->n_reached;
    values = malloc((size_t)(2 * n) * sizeof(double));
    if (values == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) values[i] = amounts[i], values[n + i] = amounts[2 * n + i];
    if (sum_masses(tree, values, 2, n_prose, &masses) < 0) goto done;
    const uint8_t *marks = view[MARKS].buf;
    place[ALL] = deepest_holding(tree, &masses, masses.any, 0.95);
    place[TITLED] = with_heading(tree, &masses, marks);
    place[ARTICLE_ONE] = largest_named(tree, &masses, marks, ARTICLE, NULL, 0);
    for (int c = 0; c < N_CANDIDATES; c++)
        write_candidate(tree, &masses, place[c], n_words, most_levels, (float *)view[ROWS].buf + c * EACH * n);
    result = Py_NewRef(Py_None);
done:
    free(values);
    free(masses.sums);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
