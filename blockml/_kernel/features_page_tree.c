/* Creates the tree of a page; reference: blockml.features.page_context.PageContext. */
#include "features_page_tree.h"

#define CAPSULE "blockml.tree"

const Tree *tree_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static void drop(Tree *tree) {
    Py_XDECREF(tree->tag_names);
    Py_XDECREF(tree->held);
    Py_XDECREF(tree->encoded);
    Py_XDECREF(tree->given);
    Py_XDECREF(tree->pairs);
    free(tree);
}

static void free_tree(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* Allocates a tree with all of its arrays. */
static Tree *new_tree(Py_ssize_t n_levels, Py_ssize_t n, Py_ssize_t n_nodes, Py_ssize_t n_sets) {
    size_t longs = (size_t)(n_levels * n + 2 * (n_nodes + 1) + 3 * n + n_sets), shorts = (size_t)(5 * n_nodes + n);
    Tree *tree = malloc(sizeof(Tree) + (size_t)n * sizeof(Utf8) + longs * sizeof(int64_t) + shorts * sizeof(int32_t) + (size_t)n);
    if (tree == NULL) return null_without_memory();
    *tree = (Tree){.n_levels = n_levels, .n = n, .n_nodes = n_nodes, .n_sets = n_sets};
    tree->texts = (Utf8 *)(tree + 1);
    tree->ancestors = (int64_t *)(tree->texts + n), tree->blocks_before = tree->ancestors + n_levels * n;
    tree->ancestor_nodes = tree->blocks_before + n_nodes + 1;
    tree->amounts = (double *)(tree->ancestor_nodes + n_nodes + 1), tree->ends = (int64_t *)(tree->amounts + 3 * n);
    tree->tag = (int32_t *)(tree->ends + n_sets);
    tree->parent = tree->tag + n_nodes, tree->depth = tree->parent + n_nodes, tree->end = tree->depth + n_nodes;
    tree->set = tree->end + n_nodes, tree->parent_of = tree->set + n_nodes;
    tree->flags = (uint8_t *)(tree->parent_of + n);
    return tree;
}

/* Tells whether all numbers in the columns are valid indices of nodes, tags and sets. */
WIDE static int has_valid_indices(const Tree *tree) {
    Py_ssize_t n_nodes = tree->n_nodes;
    uint32_t outside = 0, end = (uint32_t)n_nodes, n_tags = (uint32_t)tree->n_tags, n_sets = (uint32_t)tree->n_sets;
    for (Py_ssize_t i = 0; i < tree->n; i++) outside |= OUTSIDE(uint32_t, tree->parent_of[i], -1, end);
    for (Py_ssize_t i = 0; i < n_nodes; i++) {
        outside |= OUTSIDE(uint32_t, tree->tag[i], 0, n_tags) | OUTSIDE(uint32_t, tree->end[i], 0, end + 1);
        outside |= OUTSIDE(uint32_t, tree->parent[i], -1, i) | OUTSIDE(uint32_t, tree->set[i], 0, n_sets);
    }
    return !(outside >> 31);
}

/* Tells whether the ends of sets increase, and each set ends with a zero byte. */
static int has_valid_sets(const Tree *tree) {
    const char *pairs = PyBytes_AsString(tree->pairs);
    int64_t before = 0, length = PyBytes_Size(tree->pairs);
    for (Py_ssize_t set = 0; set < tree->n_sets; before = tree->ends[set++])
        if (tree->ends[set] < before || tree->ends[set] > length ||
            (tree->ends[set] > before && pairs[tree->ends[set] - 1]))
            return 0;
    return 1;
}

int read_utf8(PyObject *text, Utf8 *utf8, PyObject *encoded) {
    if ((utf8->bytes = PyUnicode_AsUTF8AndSize(text, &utf8->length)) != NULL) return 0;
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return -1;
    PyErr_Clear(); /* lone surrogates */
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    int failed = bytes == NULL ? -1 : PyList_Append(encoded, bytes);
    if (failed == 0) utf8->bytes = PyBytes_AsString(bytes), utf8->length = PyBytes_Size(bytes);
    Py_XDECREF(bytes);
    return failed;
}

/* Computes ancestors, up to the last level with one, and ancestor_nodes. Without branches, because the ends of
   chains are unpredictable. */
static void find_ancestors(Tree *tree) {
    Py_ssize_t n = tree->n, n_nodes = tree->n_nodes, most = tree->n_levels, level = 0;
    int64_t *ancestor_nodes = tree->ancestor_nodes, highest;
    memset(ancestor_nodes, 0, (size_t)(n_nodes + 1) * sizeof(int64_t)); /* the last entry is for a missing node */
    for (Py_ssize_t block = 0; block < n; block++) tree->ancestors[block] = tree->parent_of[block];
    do {
        int64_t *row = tree->ancestors + level * n, *next = ++level < most ? row + n : row;
        highest = -1;
        for (Py_ssize_t block = 0; block < n; block++) {
            int64_t node = row[block], up = tree->parent[node < 0 ? 0 : node];
            up = node < 0 ? -1 : up;
            ancestor_nodes[node < 0 ? n_nodes : node] = 1;
            next[block] = next == row ? node : up;
            highest = up > highest ? up : highest;
        }
    } while (highest >= 0 && level < most);
    tree->n_levels = level;
    for (Py_ssize_t i = 0; i < n_nodes; i++) {
        int64_t is_ancestor = ancestor_nodes[i];
        ancestor_nodes[tree->n_ancestor_nodes] = i; /* never ahead of the entry that is read */
        tree->n_ancestor_nodes += (Py_ssize_t)is_ancestor;
    }
}

/* Computes blocks_before from the first texts of blocks; returns 0 with an exception set. */
static int count_blocks_before(Tree *tree, const int32_t *first) {
    int64_t *blocks_before = tree->blocks_before;
    memset(blocks_before, 0, (size_t)(tree->n_nodes + 1) * sizeof(int64_t));
    for (Py_ssize_t block = 0; block < tree->n; block++) {
        if (first[block] < 0 || first[block] >= tree->n_nodes) {
            PyErr_SetString(PyExc_IndexError, "index of a node out of range");
            return 0;
        }
        blocks_before[first[block] + 1]++;
    }
    for (Py_ssize_t i = 0; i < tree->n_nodes; i++) blocks_before[i + 1] += blocks_before[i];
    return 1;
}

/* Computes amounts (3, n): words, linked words, and words of running text, which has at least ten words and at most
   30 % of them linked; and the sums of words and of running text. */
WIDE static void count_words(const int32_t *restrict n_words, const int32_t *restrict n_linked, Py_ssize_t n,
                             double *restrict amounts, double *all, double *all_prose) {
    double *words = amounts, *linked = words + n, *prose = linked + n, sum = 0, prose_sum = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        words[i] = n_words[i];
        linked[i] = n_linked[i];
        prose[i] = words[i] >= 10 && linked[i] <= 0.3 * words[i] ? words[i] : 0;
        sum += words[i]; /* integers: exact in any order */
        prose_sum += prose[i];
    }
    *all = sum, *all_prose = prose_sum;
}

/* new_page_tree(reach, names, texts, given, pairs, columns): copies the columns of nodes and of at least one block.
   `reach` is the number of levels of ancestors. */
PyObject *new_page_tree(PyObject *module, PyObject *arguments) {
    enum { TAG, PARENT, DEPTH, END, SET, BLOCK_PARENT, FIRST, FLAG, END_OF_SET, WORDS, LINKED, N };
    static const Named named[N] = {
        [TAG] = {"tag", "i"}, [PARENT] = {"parent", "i"}, [DEPTH] = {"depth", "i"}, [END] = {"end", "i"},
        [SET] = {"attribute_set", "i"}, [BLOCK_PARENT] = {"block_parent", "i"}, [FIRST] = {"block_node", "i"},
        [FLAG] = {"block_flags", "B"}, [END_OF_SET] = {"set_ends", "q"}, [WORDS] = {"n_words", "i"},
        [LINKED] = {"n_linked", "i"},
    };
    PyObject *names, *texts, *given, *pairs, *columns, *capsule = NULL;
    Py_buffer view[N];
    Py_ssize_t reach;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nO!O!O!O!O!", &reach, &PyTuple_Type, &names, &PyTuple_Type, &texts, &PyList_Type,
                          &given, &PyBytes_Type, &pairs, &PyDict_Type, &columns) ||
        open_named(columns, view, named, N) < 0)
        return NULL;
    Tree *tree = NULL;
    Py_ssize_t n_nodes = n_items(&view[TAG]), n = n_items(&view[BLOCK_PARENT]), n_sets = n_items(&view[END_OF_SET]);
    Py_ssize_t n_tags = PyTuple_Size(names);
    int fits = n > 0 && reach > 0 && reach <= 64 && n_nodes > 0 && n_nodes < INT32_MAX && n_tags < INT32_MAX &&
               n_sets > 0 && n_sets < INT32_MAX && PyList_Size(given) == n_sets && PyTuple_Size(texts) == n;
    for (int k = 0; k < N; k++)
        fits = fits && (k == END_OF_SET || n_items(&view[k]) == (k <= SET ? n_nodes : n));
    for (Py_ssize_t i = 0; fits && i < n_tags; i++) fits = PyUnicode_Check(PyTuple_GetItem(names, i));
    for (Py_ssize_t i = 0; fits && i < n; i++) fits = PyUnicode_Check(PyTuple_GetItem(texts, i));
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length, or names or texts are not str");
        goto done;
    }
    if ((tree = new_tree(reach, n, n_nodes, n_sets)) == NULL) goto done;
    void *column[N] = {tree->tag, tree->parent, tree->depth, tree->end, tree->set, tree->parent_of, NULL, tree->flags,
                       tree->ends, NULL, NULL};
    for (int k = TAG; k < N; k++)
        if (column[k] != NULL) memcpy(column[k], view[k].buf, (size_t)view[k].len);
    tree->tag_names = Py_NewRef(names), tree->held = Py_NewRef(texts), tree->encoded = PyList_New(0);
    tree->given = Py_NewRef(given), tree->pairs = Py_NewRef(pairs);
    tree->n_tags = n_tags;
    count_words(view[WORDS].buf, view[LINKED].buf, n, tree->amounts, &tree->n_words, &tree->n_prose);
    tree->n_words = at_least(tree->n_words, 1);
    int failed = tree->encoded == NULL;
    for (Py_ssize_t i = 0; !failed && i < n; i++)
        failed = read_utf8(PyTuple_GetItem(texts, i), &tree->texts[i], tree->encoded) < 0;
    if (failed) {
        drop(tree);
        goto done;
    }
    if (!has_valid_indices(tree) || !has_valid_sets(tree)) {
        PyErr_SetString(PyExc_IndexError, "index of a node, tag or attribute set out of range");
    } else if (count_blocks_before(tree, view[FIRST].buf)) {
        find_ancestors(tree);
        capsule = PyCapsule_New(tree, CAPSULE, free_tree);
    }
    if (capsule == NULL) drop(tree);
done:
    close_arrays(view, N);
    return capsule;
}

double *sums_before(const double *values, Py_ssize_t k, Py_ssize_t n) {
    double *before = malloc((size_t)((n + 1) * k) * sizeof(double));
    if (before == NULL) return null_without_memory();
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
