/* Sums of leaf values of many trees: the twin of blockml.trees.Trees.sums. The values are added tree by tree, as in
   Python, so the sums are the same to the last bit. */
#include "kernel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that take a step together: each waits for its node and then for its value. A leaf sends its rows to itself, so
   that they can go on together without a branch. */
enum { TOGETHER = 8 };

/* Nodes that a row comes to in a tree, about: where all rows together come to less nodes than there are, packing them
   all would take longer than the walk. */
enum { USUAL_DEPTH = 6 };

/* A matrix: where the next row and the next column begin. */
typedef struct {
    const float *values;
    Py_ssize_t n_rows, n_columns, row_step, column_step;
} Matrix;

typedef struct {
    float threshold;
    int32_t column; /* where its values begin */
    int32_t child[2]; /* at most the threshold, more */
} Node;

/* The largest float that is not larger: for floats, `x <= threshold` is the same as with the double. */
static float rounded_down(double threshold) {
    float rounded = (float)threshold;
    return (double)rounded > threshold ? nextafterf(rounded, -INFINITY) : rounded;
}

/* What holds of a column for all rows. */
typedef struct {
    float first;
    uint32_t varies; /* all bits or none */
} Column;

/* Whether each column is the same in all rows: those that tell of the page as a whole are, and many others. */
static void look_at_columns(Matrix matrix, Column *columns) {
    for (Py_ssize_t k = 0; k < matrix.n_columns; k++) {
        const float *column = matrix.values + k * matrix.column_step;
        int varies = 0;
        if (matrix.row_step == 1) {
            varies = is_varying(column, matrix.n_rows);
        } else {
            for (Py_ssize_t row = 1; row < matrix.n_rows && !varies; row++)
                varies = column[row * matrix.row_step] != column[0];
        }
        columns[k] = (Column){column[0], varies ? UINT32_MAX : 0};
    }
}

/* Trees as they come, and the rows that go through them. */
typedef struct {
    const int32_t *feature, *left, *right, *roots, *group;
    const double *threshold, *value;
    Py_ssize_t n, n_trees;
    Matrix matrix;
    const Column *columns;
    double *sums;
    Py_ssize_t n_groups;
} Work;

/* Nodes of a tree as they stand for one page: a test of a constant column is decided for all rows, so that its node is
   passed over. `end` has the node where a way that comes to a node goes on. Children come after their parents. */
static void pack(const Work *work, int32_t root, int32_t stop, Node *nodes, int32_t *end) {
    for (int32_t i = stop - 1; i >= root; i--) {
        int32_t here = i - root;
        end[here] = here;
        if (work->feature[i] < 0) {
            nodes[here] = (Node){INFINITY, 0, {here, here}};
            continue;
        }
        Py_ssize_t column = work->feature[i] * work->matrix.column_step;
        int32_t left = end[work->left[i] - root], right = end[work->right[i] - root];
        if (!work->columns[work->feature[i]].varies)
            end[here] = work->matrix.values[column] <= work->threshold[i] ? left : right;
        else
            nodes[here] = (Node){rounded_down(work->threshold[i]), (int32_t)column, {left, right}};
    }
}

/* Adds the values of a packed tree, whose first node is `root`. */
static void walk(const Node *nodes, int32_t root, const double *value, Matrix matrix, double *out,
                 Py_ssize_t n_groups) {
    Py_ssize_t row = 0;
    for (; row + TOGETHER <= matrix.n_rows; row += TOGETHER) {
        int32_t at[TOGETHER], moved;
        const float *rows[TOGETHER];
        for (int k = 0; k < TOGETHER; k++) {
            at[k] = root;
            rows[k] = matrix.values + (row + k) * matrix.row_step;
        }
        do {
            moved = 0;
            for (int k = 0; k < TOGETHER; k++) {
                const Node *node = nodes + at[k];
                int32_t next = node->child[!(rows[k][node->column] <= node->threshold)];
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (int k = 0; k < TOGETHER; k++) out[(row + k) * n_groups] += value[at[k]];
    }
    for (; row < matrix.n_rows; row++) {
        int32_t at = root, before;
        do {
            before = at;
            const float *x = matrix.values + row * matrix.row_step + nodes[at].column;
            at = nodes[at].child[!(*x <= nodes[at].threshold)];
        } while (at != before);
        out[row * n_groups] += value[at];
    }
}

/* A test of a small tree, and the leaves that are still possible where its answer is "more". */
typedef struct {
    float threshold;
    int32_t column;
    uint32_t left;
} Test;

/* Small trees are not walked: each of their tests takes leaves away from all rows at once, and the first that is left
   is the row's (Lucchese et al. 2015, "QuickScorer"). A few more tests than on a walk, but none waits for another. */
enum { MOST_LEAVES = 32, LEAST_ROWS = 8 };

static int first_bit(uint32_t bits) {
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int place = 0;
    while (!(bits >> place & 1)) place++;
    return place;
#endif
}

/* A small tree as it stands for one page. */
typedef struct {
    int n_tests;
    uint32_t possible; /* leaves */
    Test tests[MOST_LEAVES];
    double values[MOST_LEAVES];
} Small;

/* Adds the tree's values to every so many sums. */
static void add_slowly(const Small *tree, const float *values, Py_ssize_t n_rows, double *sums, Py_ssize_t step) {
    for (Py_ssize_t row = 0; row < n_rows; row++) {
        uint32_t left = tree->possible;
        for (int i = 0; i < tree->n_tests; i++)
            left &= tree->tests[i].left | -(uint32_t)(values[tree->tests[i].column + row] <= tree->tests[i].threshold);
        sums[row * step] += tree->values[first_bit(left)];
    }
}

#if defined(__GNUC__)
enum { LANES = 16, MOST_VECTORS = 4, LEAST_VECTORS = 1 }; /* as many rows as fit the registers of most machines */
typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* they may begin anywhere */
typedef int32_t Masks __attribute__((vector_size(4 * LANES)));

/* Adds the tree's values to the sums of some rows, but for the first ones. */
static inline __attribute__((always_inline)) void add_to_rows(const Small *tree, const float *values, double *sums,
                                                              Py_ssize_t step, int n_vectors, Py_ssize_t first) {
    const Masks all = (Masks){0} + (int32_t)tree->possible;
    Masks bits[MOST_VECTORS] = {all, all, all, all};
    for (int i = 0; i < tree->n_tests; i++) {
        const Masks others = (Masks){0} + (int32_t)tree->tests[i].left;
        const Floats *x = (const Floats *)(values + tree->tests[i].column);
        for (int k = 0; k < n_vectors; k++) bits[k] &= others | (x[k] <= tree->tests[i].threshold);
    }
    uint32_t left[MOST_VECTORS * LANES];
    memcpy(left, bits, (size_t)n_vectors * sizeof *bits);
    for (Py_ssize_t row = first; row < n_vectors * LANES; row++) sums[row * step] += tree->values[first_bit(left[row])];
}

WIDER static void add_tree(const Small *tree, const float *values, Py_ssize_t n_rows, double *sums, Py_ssize_t step) {
    enum { MANY = MOST_VECTORS * LANES, FEW = LEAST_VECTORS * LANES };
    Py_ssize_t row = 0;
    if (n_rows < FEW) {
        add_slowly(tree, values, n_rows, sums, step);
        return;
    }
    for (; row + MANY <= n_rows; row += MANY) add_to_rows(tree, values + row, sums + row * step, step, MOST_VECTORS, 0);
    for (; row < n_rows; row += FEW) {
        Py_ssize_t begin = row + FEW <= n_rows ? row : n_rows - FEW; /* some of them again */
        add_to_rows(tree, values + begin, sums + begin * step, step, LEAST_VECTORS, row - begin);
    }
}
#else
#define add_tree add_slowly
#endif

/* A small tree as it is kept between pages: its tests, from the root on, and then the values of its leaves, from left to
   right. All are as wide as the value of a leaf, or twice as wide. */
typedef struct {
    uint32_t n_tests, possible; /* leaves that there are */
} Head;

typedef struct {
    float threshold;
    int32_t feature;
    uint32_t if_more, if_less; /* leaves that are still possible */
} KeptTest;

/* Bits from `first` on, so many. */
static uint32_t run_of_bits(int first, int count) { return (uint32_t)((((uint64_t)1 << count) - 1) << first); }

/* Writes the tree of the nodes from `root` to `stop`; returns where the next one is written, or NULL if it has too many
   leaves. */
static char *keep(const Work *work, int32_t root, int32_t stop, char *out) {
    int32_t first[2 * MOST_LEAVES], count[2 * MOST_LEAVES]; /* leaves of each node */
    double values[MOST_LEAVES];
    if (stop - root >= 2 * MOST_LEAVES) return NULL;
    for (int32_t i = stop - 1; i >= root; i--) {
        int is_leaf = work->feature[i] < 0;
        first[i - root] = -1;
        count[i - root] = is_leaf ? 1 : count[work->left[i] - root] + count[work->right[i] - root];
    }
    first[0] = 0;
    Head head = {0, run_of_bits(0, count[0])};
    char *next = out + sizeof head;
    for (int32_t i = root; i < stop; i++) {
        int32_t begin = first[i - root];
        if (begin < 0) continue; /* no way leads here */
        if (work->feature[i] < 0) {
            values[begin] = work->value[i];
            continue;
        }
        int32_t left = work->left[i] - root, right = work->right[i] - root;
        first[left] = begin;
        first[right] = begin + count[left];
        KeptTest test = {rounded_down(work->threshold[i]), work->feature[i], ~run_of_bits(first[left], count[left]),
                         ~run_of_bits(first[right], count[right])};
        memcpy(next, &test, sizeof test);
        next += sizeof test;
        head.n_tests++;
    }
    memcpy(out, &head, sizeof head);
    memcpy(next, values, (head.n_tests + 1) * sizeof(double));
    return next + (head.n_tests + 1) * sizeof(double);
}

/* small_trees(feature, threshold, left, right, value, roots): the trees as they are kept between pages; nothing if one has
   too many leaves. They were checked by Trees.check. */
PyObject *small_trees(PyObject *module, PyObject *arguments) {
    PyObject *object[6], *kept = NULL;
    Py_buffer view[6];
    static const Py_ssize_t sizes[6] = {4, 8, 4, 4, 8, 4};
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &object[0], &object[1], &object[2], &object[3], &object[4], &object[5]))
        return NULL;
    for (; opened < 6; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    Work work = {0};
    work.feature = view[0].buf, work.threshold = view[1].buf, work.left = view[2].buf, work.right = view[3].buf;
    work.value = view[4].buf, work.roots = view[5].buf, work.n = view[0].len / 4, work.n_trees = view[5].len / 4;
    /* a node is a test or a leaf, and a tree has one leaf more than it has tests */
    size_t most = (size_t)work.n * sizeof(KeptTest) + (size_t)work.n_trees * (sizeof(Head) + sizeof(double));
    char *memory = malloc(most + 1), *end = memory;
    if (memory == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t tree = 0; tree < work.n_trees && end != NULL; tree++) {
        int32_t stop = (int32_t)(tree + 1 < work.n_trees ? work.roots[tree + 1] : work.n);
        end = keep(&work, work.roots[tree], stop, end);
    }
    kept = PyBytes_FromStringAndSize(memory, end == NULL ? 0 : end - memory);
    free(memory);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return kept;
}

/* Whether there are as many kept trees as there should be, and no more. */
static int is_whole(const char *kept, Py_ssize_t size, Py_ssize_t n_trees) {
    for (Py_ssize_t tree = 0; tree < n_trees; tree++) {
        Head head;
        if (size < (Py_ssize_t)sizeof head) return 0;
        memcpy(&head, kept, sizeof head);
        if (head.n_tests >= MOST_LEAVES || head.possible == 0) return 0;
        Py_ssize_t length = (Py_ssize_t)(sizeof head + head.n_tests * sizeof(KeptTest) + (head.n_tests + 1) * sizeof(double));
        kept += length;
        size -= length;
    }
    return size == 0;
}

/* Adds the values of the kept trees, one after another. */
static void score_kept(const Work *work, const char *kept) {
    for (Py_ssize_t number = 0; number < work->n_trees; number++) {
        Small tree;
        Head head;
        memcpy(&head, kept, sizeof head);
        kept += sizeof head;
        tree.n_tests = 0;
        tree.possible = head.possible;
        for (uint32_t i = 0; i < head.n_tests; i++, kept += sizeof(KeptTest)) {
            KeptTest test;
            memcpy(&test, kept, sizeof test);
            /* without a branch: the processor can't foretell which columns vary */
            Column column = work->columns[test.feature];
            uint32_t is_less = -(uint32_t)(column.first <= test.threshold);
            tree.possible &= column.varies | (is_less & test.if_less) | (~is_less & test.if_more);
            int32_t place = (int32_t)(test.feature * work->matrix.column_step);
            tree.tests[tree.n_tests] = (Test){test.threshold, place, test.if_more};
            tree.n_tests += column.varies & 1;
        }
        memcpy(tree.values, kept, (head.n_tests + 1) * sizeof(double));
        kept += (head.n_tests + 1) * sizeof(double);
        add_tree(&tree, work->matrix.values, work->matrix.n_rows, work->sums + work->group[number], work->n_groups);
    }
}

/* Adds the values of all trees, one after another. `nodes` and `end` have room for all nodes. */
static void score(const Work *work, Node *nodes, int32_t *end) {
    for (Py_ssize_t tree = 0; tree < work->n_trees; tree++) {
        int32_t root = work->roots[tree], stop = (int32_t)(tree + 1 < work->n_trees ? work->roots[tree + 1] : work->n);
        pack(work, root, stop, nodes, end);
        walk(nodes, end[0], work->value + root, work->matrix, work->sums + work->group[tree], work->n_groups);
    }
}

/* The same row by row, without looking at each node: for a few rows and many nodes, most of which no row comes to. */
static void walk_unpacked(const Work *work) {
    for (Py_ssize_t tree = 0; tree < work->n_trees; tree++)
        for (Py_ssize_t row = 0; row < work->matrix.n_rows; row++) {
            const float *x = work->matrix.values + row * work->matrix.row_step;
            int32_t at = work->roots[tree];
            while (work->feature[at] >= 0)
                at = x[work->feature[at] * work->matrix.column_step] <= work->threshold[at] ? work->left[at]
                                                                                           : work->right[at];
            work->sums[row * work->n_groups + work->group[tree]] += work->value[at];
        }
}

static int in_range(const int32_t *group, Py_ssize_t n, Py_ssize_t n_groups) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (group[i] < 0 || group[i] >= n_groups) return 0;
    return 1;
}

/* tree_sums(feature, threshold, left, right, value, roots, kept, group, matrix, by_column, sums, n_groups): adds the
   values of tree i to column group[i] of sums. The matrix lies row by row, or column by column. `kept` are the same trees
   by small_trees, or nothing. The trees were checked by Trees.check, and the matrix has all columns that they ask for:
   neither is looked at again. */
PyObject *tree_sums(PyObject *module, PyObject *arguments) {
    PyObject *object[9], *result = NULL;
    Py_ssize_t n_groups;
    int by_column;
    const char *kept;
    Py_ssize_t kept_size;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOy#OOiOn", &object[0], &object[1], &object[2], &object[3], &object[4],
                          &object[5], &kept, &kept_size, &object[6], &object[7], &by_column, &object[8], &n_groups))
        return NULL;
    static const Py_ssize_t sizes[9] = {4, 8, 4, 4, 8, 4, 4, 4, 8};
    Py_buffer view[9];
    int opened = 0;
    for (; opened < 9; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], opened == 8) < 0) goto done;
    Py_ssize_t n = view[0].len / 4, n_trees = view[5].len / 4;
    Py_ssize_t n_rows = n_groups > 0 ? view[8].len / 8 / n_groups : 0;
    Py_ssize_t n_columns = n_rows > 0 ? view[7].len / 4 / n_rows : 0;
    if (n_groups <= 0 || view[7].len / 4 > INT32_MAX || view[6].len / 4 != n_trees ||
        (kept_size > 0 && !is_whole(kept, kept_size, n_trees)) ||
        !in_range(view[6].buf, n_trees, n_groups)) {
        PyErr_SetString(PyExc_ValueError, "each tree needs a group, all are kept or none, and a matrix has less than two billion numbers");
        goto done;
    }
    Node *nodes = malloc((size_t)n * (sizeof(Node) + sizeof(int32_t)) + (size_t)n_columns * sizeof(Column));
    if (nodes == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    int32_t *end = (int32_t *)(nodes + n);
    Column *columns = (Column *)(end + n);
    Matrix matrix = {view[7].buf, n_rows, n_columns, by_column ? 1 : n_columns, by_column ? n_rows : 1};
    Work work = {view[0].buf, view[2].buf, view[3].buf, view[5].buf, view[6].buf, view[1].buf, view[4].buf,
                 n, n_trees, matrix, columns, view[8].buf, n_groups};
    Py_BEGIN_ALLOW_THREADS;
    if (n / USUAL_DEPTH > n_rows * n_trees) {
        walk_unpacked(&work);
    } else if (n_rows > 0) {
        look_at_columns(matrix, columns);
        if (kept_size > 0 && by_column && n_rows >= LEAST_ROWS)
            score_kept(&work, kept);
        else
            score(&work, nodes, end);
    }
    Py_END_ALLOW_THREADS;
    free(nodes);
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
