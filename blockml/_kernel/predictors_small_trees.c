/* Sums over small trees by bit masks (Lucchese et al. 2015, "QuickScorer"): each test removes leaves from a mask for
   many rows at once, and the first leaf left is that of the row. That takes a few more tests than descending, but none
   waits for another. */
#include "predictors_ensemble.h"
#include <stddef.h>
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#endif

/* A test, and a mask of the leaves that remain for values above the threshold. */
typedef struct {
    float threshold;
    int32_t column;
    uint32_t left;
} Test;

enum { MAX_LEAVES = 32 };

/* A tree without the tests that are decided for all rows of a page. */
typedef struct {
    int n_tests;
    uint32_t reachable; /* mask of leaves */
    Test tests[MAX_LEAVES];
    double values[MAX_LEAVES];
} PrunedTree;

/* Adds the leaf values of a tree to the sums of rows. */
static void add_tree_scalar(const PrunedTree *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    for (Py_ssize_t row = 0; row < n_rows; row++) {
        uint32_t left = tree->reachable;
        for (int i = 0; i < tree->n_tests; i++)
            left &= tree->tests[i].left | -(uint32_t)(values[tree->tests[i].column + row] <= tree->tests[i].threshold);
        sums[row] += tree->values[lowest_bit(left)];
    }
}

#if defined(__GNUC__)
enum { VECTOR = 8, MAX_VECTORS = 4 }; /* rows per register; most machines don't have more registers */
typedef float Floats __attribute__((vector_size(4 * VECTOR), aligned(4), may_alias)); /* unaligned */
typedef int32_t Masks __attribute__((vector_size(4 * VECTOR)));

/* Adds the leaf values of a tree to the sums of n_vectors * VECTOR rows, except the rows before `first`. */
static inline __attribute__((always_inline)) void add_to_rows(const PrunedTree *tree, const float *values, double *sums,
                                                              int n_vectors, Py_ssize_t first) {
    const Masks all = (Masks){0} + (int32_t)tree->reachable;
    Masks bits[MAX_VECTORS] = {all, all, all, all};
    for (int i = 0; i < tree->n_tests; i++) {
        const Masks others = (Masks){0} + (int32_t)tree->tests[i].left;
        const Floats *x = (const Floats *)(values + tree->tests[i].column);
        for (int k = 0; k < n_vectors; k++) bits[k] &= others | (x[k] <= tree->tests[i].threshold);
    }
    uint32_t left[MAX_VECTORS * VECTOR];
    memcpy(left, bits, (size_t)n_vectors * sizeof *bits);
    for (Py_ssize_t row = first; row < n_vectors * VECTOR; row++) sums[row] += tree->values[lowest_bit(left[row])];
}

WIDE static void add_tree(const PrunedTree *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    enum { MANY = MAX_VECTORS * VECTOR };
    Py_ssize_t row = 0;
    if (n_rows < VECTOR) {
        add_tree_scalar(tree, values, n_rows, sums);
        return;
    }
    for (; row + MANY <= n_rows; row += MANY) add_to_rows(tree, values + row, sums + row, MAX_VECTORS, 0);
    for (; row < n_rows; row += VECTOR) {
        Py_ssize_t begin = row + VECTOR <= n_rows ? row : n_rows - VECTOR; /* overlaps rows already added */
        add_to_rows(tree, values + begin, sums + begin, 1, row - begin);
    }
}
#else
#define add_tree add_tree_scalar
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_AVX512 1
#define AVX512 __attribute__((target("avx512f,avx512cd")))

/* Adds the value of the first remaining leaf of each of sixteen rows to its sum. */
static inline __attribute__((always_inline)) AVX512 void add_leaves(__m512i left, const __m512d *leaf, double *sums) {
    const __m512i lowest = _mm512_and_epi32(left, _mm512_sub_epi32(_mm512_setzero_si512(), left));
    const __m512i place = _mm512_sub_epi32(_mm512_set1_epi32(31), _mm512_lzcnt_epi32(lowest));
    for (int half = 0; half < 2; half++) {
        const __m256i eight = half ? _mm512_extracti64x4_epi64(place, 1) : _mm512_castsi512_si256(place);
        const __m512i index = _mm512_cvtepu32_epi64(eight);
        const __m512d low = _mm512_permutex2var_pd(leaf[0], index, leaf[1]);
        const __m512d high = _mm512_permutex2var_pd(leaf[2], index, leaf[3]);
        const __mmask8 is_high = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
        double *out = sums + 8 * half;
        _mm512_storeu_pd(out, _mm512_add_pd(_mm512_loadu_pd(out), _mm512_mask_blend_pd(is_high, low, high)));
    }
}

/* Like add_tree, with comparisons and look-ups of AVX-512. `sums` has room for whole registers. */
static AVX512 void add_tree_avx512(const PrunedTree *tree, const float *values, Py_ssize_t n_rows, double *sums) {
    const __m512i all = _mm512_set1_epi32((int)tree->reachable);
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

/* A packed tree: header, tests starting at the root, leaf values from left to right. The size of header and test is a
   multiple of that of a leaf value. */
typedef struct {
    uint32_t n_tests, reachable; /* mask of all leaves */
} PackedHeader;

typedef struct {
    float threshold;
    int32_t feature;
    uint32_t left_leaves, right_leaves; /* masks of the leaves on either side */
} PackedTest;

/* Returns a mask of `count` bits from bit `first` on. */
static uint32_t run_of_bits(int first, int count) { return (uint32_t)((((uint64_t)1 << count) - 1) << first); }

/* Packs the tree of the nodes from `root` to `stop`; returns the end of what was written, or NULL if the tree has too
   many leaves. */
static char *pack_tree(const Ensemble *e, int32_t root, int32_t stop, char *out) {
    int32_t first[2 * MAX_LEAVES], count[2 * MAX_LEAVES]; /* first leaf and number of leaves of each node */
    double values[MAX_LEAVES];
    if (stop - root >= 2 * MAX_LEAVES) return NULL;
    for (int32_t i = stop - 1; i >= root; i--) {
        int is_leaf = e->feature[i] < 0;
        first[i - root] = -1;
        count[i - root] = is_leaf ? 1 : count[e->left[i] - root] + count[e->right[i] - root];
    }
    first[0] = 0;
    PackedHeader header = {0, run_of_bits(0, count[0])};
    char *next = out + sizeof header;
    for (int32_t i = root; i < stop; i++) {
        int32_t begin = first[i - root];
        if (begin < 0) continue; /* unreachable */
        if (e->feature[i] < 0) {
            values[begin] = e->value[i];
            continue;
        }
        int32_t left = e->left[i] - root, right = e->right[i] - root;
        first[left] = begin;
        first[right] = begin + count[left];
        PackedTest test = {rounded_down(e->threshold[i]), e->feature[i], run_of_bits(first[left], count[left]),
                         run_of_bits(first[right], count[right])};
        memcpy(next, &test, sizeof test);
        next += sizeof test;
        header.n_tests++;
    }
    memcpy(out, &header, sizeof header);
    memcpy(next, values, (header.n_tests + 1) * sizeof(double));
    return next + (header.n_tests + 1) * sizeof(double);
}

int pack_small_trees(Ensemble *e) {
    /* a node is a test or a leaf, and a tree has one leaf more than it has tests */
    size_t most = (size_t)e->n * sizeof(PackedTest);
    most += (size_t)e->n_trees * (sizeof(PackedHeader) + sizeof(double));
    char *end = e->packed = malloc(most + 1);
    if (end == NULL) return -1;
    for (Py_ssize_t tree = 0; tree < e->n_trees && end != NULL; tree++) {
        int32_t stop = (int32_t)(tree + 1 < e->n_trees ? e->roots[tree + 1] : e->n);
        end = pack_tree(e, e->roots[tree], stop, end);
    }
    if (end == NULL) {
        free(e->packed);
        e->packed = NULL;
    }
    return 0;
}

/* Unpacks a tree without the tests that are decided for all rows of the page, or that no row reaches. Returns the end
   of the packed tree. */
static inline const char *unpack_tree(const Ensemble *e, const char *packed, PrunedTree *tree) {
    PackedHeader header;
    memcpy(&header, packed, sizeof header);
    packed += sizeof header;
    const Range *ranges = e->ranges;
    int32_t step = (int32_t)e->matrix.column_step;
    uint32_t reachable = header.reachable;
    Test *next = tree->tests;
    for (uint32_t i = 0; i < header.n_tests; i++, packed += sizeof(PackedTest)) {
        PackedTest test;
        memcpy(&test.threshold, packed + offsetof(PackedTest, threshold), 4);
        memcpy(&test.feature, packed + offsetof(PackedTest, feature), 4);
        memcpy(&test.left_leaves, packed + offsetof(PackedTest, left_leaves), 4);
        memcpy(&test.right_leaves, packed + offsetof(PackedTest, right_leaves), 4);
        /* Branch-free, because the outcome is hard to predict. No row reaches a test without leaves left on one side: the
           tests above it come first. */
        Range range = ranges[test.feature];
        uint32_t is_left = -(uint32_t)all_left(range, test.threshold);
        uint32_t is_right = -(uint32_t)all_right(range, test.threshold);
        uint32_t splits = (uint32_t)((reachable & test.left_leaves) != 0);
        splits &= (uint32_t)((reachable & test.right_leaves) != 0);
        reachable &= ~((test.left_leaves & is_right) | (test.right_leaves & is_left));
        *next = (Test){test.threshold, test.feature * step, ~test.left_leaves};
        next += splits & ~(is_left | is_right);
    }
    tree->reachable = reachable;
    tree->n_tests = (int)(next - tree->tests);
    memcpy(tree->values, packed, (header.n_tests + 1) * sizeof(double));
    return packed + (header.n_tests + 1) * sizeof(double);
}

int sum_packed_trees(const Ensemble *e) {
    /* Sums class by class, with room for a register beyond the last row. */
    Py_ssize_t n_rows = e->matrix.n_rows, n_classes = e->n_classes, step = n_rows + 16;
    double *sums = malloc((size_t)(step * n_classes) * sizeof(double));
    if (sums == NULL) return -1;
    for (Py_ssize_t c = 0; c < n_classes; c++)
        for (Py_ssize_t row = 0; row < step; row++)
            sums[c * step + row] = row < n_rows ? e->sums[row * n_classes + c] : 0;
    void (*add)(const PrunedTree *, const float *, Py_ssize_t, double *) = add_tree;
#ifdef HAS_AVX512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd")) add = add_tree_avx512;
#endif
    PrunedTree tree;
    memset(&tree, 0, sizeof tree);
    const char *packed = e->packed;
    for (Py_ssize_t number = 0; number < e->n_trees; number++) {
        packed = unpack_tree(e, packed, &tree);
        add(&tree, e->matrix.values, n_rows, sums + e->tree_class[number] * step);
    }
    for (Py_ssize_t c = 0; c < n_classes; c++)
        for (Py_ssize_t row = 0; row < n_rows; row++) e->sums[row * n_classes + c] = sums[c * step + row];
    free(sums);
    return 0;
}
