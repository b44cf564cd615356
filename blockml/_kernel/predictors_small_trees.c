/* Small trees, as most of an ensemble are: not walked, but tested for many rows at once. */
#include "predictors_trees.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

/* A test of a small tree, and the leaves that are still possible where its answer is "more". */
typedef struct {
    float threshold;
    int32_t column;
    uint32_t left;
} Test;

/* Small trees are not walked: each of their tests takes leaves away from all rows at once, and the first that is left
   is the row's (Lucchese et al. 2015, "QuickScorer"). A few more tests than on a walk, but none waits for another. */
enum { MOST_LEAVES = 32 };

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

/* Adds the tree's values to the sums of rows. */
static void add_slowly(const Small *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    for (Py_ssize_t row = 0; row < n_rows; row++) {
        uint32_t left = tree->possible;
        for (int i = 0; i < tree->n_tests; i++)
            left &= tree->tests[i].left | -(uint32_t)(values[tree->tests[i].column + row] <= tree->tests[i].threshold);
        sums[row] += tree->values[first_bit(left)];
    }
}

#if defined(__GNUC__)
enum { MOST_VECTORS = 4, LEAST_VECTORS = 1 }; /* as many rows as fit the registers of most machines */
typedef float Floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* they may begin anywhere */
typedef int32_t Masks __attribute__((vector_size(4 * LANES)));

/* Adds the tree's values to the sums of some rows, but for the first ones. */
static inline __attribute__((always_inline)) void add_to_rows(const Small *tree, const float *values, double *sums,
                                                              int n_vectors, Py_ssize_t first) {
    const Masks all = (Masks){0} + (int32_t)tree->possible;
    Masks bits[MOST_VECTORS] = {all, all, all, all};
    for (int i = 0; i < tree->n_tests; i++) {
        const Masks others = (Masks){0} + (int32_t)tree->tests[i].left;
        const Floats *x = (const Floats *)(values + tree->tests[i].column);
        for (int k = 0; k < n_vectors; k++) bits[k] &= others | (x[k] <= tree->tests[i].threshold);
    }
    uint32_t left[MOST_VECTORS * LANES];
    memcpy(left, bits, (size_t)n_vectors * sizeof *bits);
    for (Py_ssize_t row = first; row < n_vectors * LANES; row++) sums[row] += tree->values[first_bit(left[row])];
}

WIDE static void add_tree(const Small *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    enum { MANY = MOST_VECTORS * LANES, FEW = LEAST_VECTORS * LANES };
    Py_ssize_t row = 0;
    if (n_rows < FEW) {
        add_slowly(tree, values, n_rows, sums);
        return;
    }
    for (; row + MANY <= n_rows; row += MANY) add_to_rows(tree, values + row, sums + row, MOST_VECTORS, 0);
    for (; row < n_rows; row += FEW) {
        Py_ssize_t begin = row + FEW <= n_rows ? row : n_rows - FEW; /* some of them again */
        add_to_rows(tree, values + begin, sums + begin, LEAST_VECTORS, row - begin);
    }
}
#else
#define add_tree add_slowly
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_WIDEST 1
#define WIDEST __attribute__((target("avx512f,avx512cd")))

/* Adds the first leaf that is left of each of sixteen rows to its sum. */
static inline __attribute__((always_inline)) WIDEST void add_leaves(__m512i left, const __m512d *leaf, double *sums) {
    const __m512i lowest = _mm512_and_epi32(left, _mm512_sub_epi32(_mm512_setzero_si512(), left));
    const __m512i place = _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(lowest));
    for (int half = 0; half < 2; half++) {
        const __m256i its = half ? _mm512_extracti64x4_epi64(place, 1) : _mm512_castsi512_si256(place);
        const __m512i index = _mm512_cvtepu32_epi64(its);
        const __m512d low = _mm512_permutex2var_pd(leaf[0], index, leaf[1]);
        const __m512d high = _mm512_permutex2var_pd(leaf[2], index, leaf[3]);
        const __mmask8 is_high = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
        double *out = sums + 8 * half;
        _mm512_storeu_pd(out, _mm512_add_pd(_mm512_loadu_pd(out), _mm512_mask_blend_pd(is_high, low, high)));
    }
}

/* The same as add_tree where registers hold sixteen numbers, and comparisons and look-ups take a step each. `sums`
   have room for whole registers. */
static WIDEST void add_tree_widest(const Small *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    const __m512i all = _mm512_set1_epi32((int)tree->possible);
    __m512d leaf[4];
    for (int k = 0; k < 4; k++) leaf[k] = _mm512_loadu_pd(tree->values + 8 * k);
    Py_ssize_t row = 0;
    for (; row + 64 <= n_rows; row += 64) {
        __m512i left[4] = {all, all, all, all};
        for (int i = 0; i < tree->n_tests; i++) {
            const float *x = values + row + tree->tests[i].column;
            const __m512 threshold = _mm512_set1_ps(tree->tests[i].threshold);
            const __m512i if_more = _mm512_set1_epi32((int)tree->tests[i].left);
            for (int k = 0; k < 4; k++) {
                const __mmask16 is_more = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + 16 * k), threshold, _CMP_NLE_UQ);
                left[k] = _mm512_mask_and_epi32(left[k], is_more, left[k], if_more);
            }
        }
        for (int k = 0; k < 4; k++) add_leaves(left[k], leaf, sums + row + 16 * k);
    }
    for (; row < n_rows; row += 16) {
        const __mmask16 here = n_rows - row >= 16 ? 0xffff : (__mmask16)((1u << (n_rows - row)) - 1);
        __m512i left = all;
        for (int i = 0; i < tree->n_tests; i++) {
            const __m512 x = _mm512_maskz_loadu_ps(here, values + row + tree->tests[i].column);
            const __mmask16 is_more = _mm512_cmp_ps_mask(x, _mm512_set1_ps(tree->tests[i].threshold), _CMP_NLE_UQ);
            left = _mm512_mask_and_epi32(left, is_more, left, _mm512_set1_epi32((int)tree->tests[i].left));
        }
        add_leaves(left, leaf, sums + row);
    }
}
#endif

/* A small tree as it is kept between pages: its tests, from the root on, and then the values of its leaves, from left
   to right. All are as wide as the value of a leaf, or twice as wide. */
typedef struct {
    uint32_t n_tests, possible; /* leaves that there are */
} Head;

typedef struct {
    float threshold;
    int32_t feature;
    uint32_t less, more; /* leaves on both sides */
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
        KeptTest test = {rounded_down(work->threshold[i]), work->feature[i], run_of_bits(first[left], count[left]),
                         run_of_bits(first[right], count[right])};
        memcpy(next, &test, sizeof test);
        next += sizeof test;
        head.n_tests++;
    }
    memcpy(out, &head, sizeof head);
    memcpy(next, values, (head.n_tests + 1) * sizeof(double));
    return next + (head.n_tests + 1) * sizeof(double);
}

/* small_trees(feature, threshold, left, right, value, roots): the trees as they are kept between pages; nothing if
   one has too many leaves. They were checked by Trees.check. */
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
int is_whole(const char *kept, Py_ssize_t size, Py_ssize_t n_trees) {
    for (Py_ssize_t tree = 0; tree < n_trees; tree++) {
        Head head;
        if (size < (Py_ssize_t)sizeof head) return 0;
        memcpy(&head, kept, sizeof head);
        if (head.n_tests >= MOST_LEAVES || head.possible == 0) return 0;
        size_t values = (head.n_tests + 1) * sizeof(double);
        Py_ssize_t length = (Py_ssize_t)(sizeof head + head.n_tests * sizeof(KeptTest) + values);
        kept += length;
        size -= length;
    }
    return size == 0;
}

/* Reads a kept tree as it stands for one page: without the tests that are decided for all rows, and those that no row
   comes to. Returns where the next one is kept. */
static inline const char *read_kept(const Work *work, const char *kept, Small *tree) {
    Head head;
    memcpy(&head, kept, sizeof head);
    kept += sizeof head;
    const Column *columns = work->columns;
    int32_t step = (int32_t)work->matrix.column_step;
    uint32_t possible = head.possible;
    Test *next = tree->tests;
    for (uint32_t i = 0; i < head.n_tests; i++, kept += sizeof(KeptTest)) {
        KeptTest test;
        memcpy(&test.threshold, kept + offsetof(KeptTest, threshold), 4);
        memcpy(&test.feature, kept + offsetof(KeptTest, feature), 4);
        memcpy(&test.less, kept + offsetof(KeptTest, less), 4);
        memcpy(&test.more, kept + offsetof(KeptTest, more), 4);
        /* Without a branch: the processor can't foretell what is decided. No row comes to a test of which a side has no
           leaves left: the tests above it were here before. */
        Column column = columns[test.feature];
        uint32_t all_less = -(uint32_t)all_are_less(column, test.threshold);
        uint32_t all_more = -(uint32_t)all_are_more(column, test.threshold);
        uint32_t splits = (uint32_t)((possible & test.less) != 0) & (uint32_t)((possible & test.more) != 0);
        possible &= ~((test.less & all_more) | (test.more & all_less));
        *next = (Test){test.threshold, test.feature * step, ~test.less};
        next += splits & ~(all_less | all_more);
    }
    tree->possible = possible;
    tree->n_tests = (int)(next - tree->tests);
    memcpy(tree->values, kept, (head.n_tests + 1) * sizeof(double));
    return kept + (head.n_tests + 1) * sizeof(double);
}

int score_kept(const Work *work, const char *kept) {
    /* Sums of a group side by side, and room for a register beyond the last one. */
    Py_ssize_t n_rows = work->matrix.n_rows, n_groups = work->n_groups, step = n_rows + 16;
    double *sums = malloc((size_t)(step * n_groups) * sizeof(double));
    if (sums == NULL) return -1;
    for (Py_ssize_t group = 0; group < n_groups; group++)
        for (Py_ssize_t row = 0; row < step; row++)
            sums[group * step + row] = row < n_rows ? work->sums[row * n_groups + group] : 0;
    void (*add)(const Small *, const float *, Py_ssize_t, double *) = add_tree;
#ifdef HAS_WIDEST
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd")) add = add_tree_widest;
#endif
    Small tree;
    memset(&tree, 0, sizeof tree);
    for (Py_ssize_t number = 0; number < work->n_trees; number++) {
        kept = read_kept(work, kept, &tree);
        add(&tree, work->matrix.values, n_rows, sums + work->group[number] * step);
    }
    for (Py_ssize_t group = 0; group < n_groups; group++)
        for (Py_ssize_t row = 0; row < n_rows; row++) work->sums[row * n_groups + group] = sums[group * step + row];
    free(sums);
    return 0;
}
