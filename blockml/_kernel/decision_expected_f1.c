/* Which blocks are kept, and what a page is like then.

   best_border: the twin of blockml.decision.decide.expected_f1. page_numbers: of blockml.decision.page_policy.page_numbers. */
#include "decision.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t key;
    int64_t place;
} Item;

/* Up to so many items are sorted by insertion, which costs less than to count bytes. */
enum { FEW = 24 };

/* Sorts by insertion. Returns whether that took no more than about so many steps; else equal keys are in order still. */
static int inserted(Item *items, size_t n, size_t steps) {
    for (size_t i = 1; i < n; i++) {
        Item item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--) items[at] = items[at - 1];
        items[at] = item;
        if (i - at > steps) return 0;
        steps -= i - at;
    }
    return 1;
}

/* Sorts by the bits that differ from `shift` on, eight after the other; returns where the sorted items are. */
static Item *by_bits(Item *items, Item *other, size_t n, int shift, uint64_t differs) {
    for (; shift < 64 && differs >> shift; shift += 8) {
        if (!(differs >> shift & 255)) continue;
        size_t begins[256] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) begins[items[i].key >> shift & 255]++;
        for (int byte = 0; byte < 256; byte++) {
            size_t count = begins[byte];
            begins[byte] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) other[begins[items[i].key >> shift & 255]++] = items[i];
        Item *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

/* The upper sixteen bits that differ mostly leave little to sort. */
static Item *sorted(Item *items, Item *other, size_t n) {
    if (n <= FEW && inserted(items, n, FEW * FEW)) return items;
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++) differs |= items[i].key ^ items[0].key;
    int shift = 0;
    while (differs >> shift >> 16) shift++;
    Item *sorted_so_far = by_bits(items, other, n, shift, differs);
    if (inserted(sorted_so_far, n, 4 * n)) return sorted_so_far;
    return by_bits(sorted_so_far, sorted_so_far == items ? other : items, n, lowest_bit(differs), differs);
}

/* A number that falls as the probability rises. */
static uint64_t falling(double probability) {
    uint64_t bits;
    double positive = probability + 0.0; /* no zero with a sign */
    memcpy(&bits, &positive, 8);
    return bits >> 63 ? bits : ~bits & ~((uint64_t)1 << 63);
}

/* The smallest probability that is kept for the best expected F1, and that F1, of n blocks. Behind them there is room
   to sort them. */
static double best(Block *blocks, size_t n, double *f1) {
    Item *items = (Item *)(blocks + n);
    for (size_t i = 0; i < n; i++) items[i] = (Item){falling(blocks[i].probability), (int64_t)i};
    const Item *rising = sorted(items, items + n, n);
    double all = 0, kept = 0, hits = 0, most = -1, border = 1;
    for (size_t i = 0; i < n; i++) all += blocks[rising[i].place].words * blocks[rising[i].place].probability;
    *f1 = 0;
    if (!(all > 0)) return 1;
    for (size_t i = 0; i < n; i++) {
        Block block = blocks[rising[i].place];
        kept += block.words;
        hits += block.words * block.probability;
        double quality = 2 * hits / (kept + all);
        if (quality > most) most = quality, border = block.probability;
    }
    *f1 = most;
    return border;
}

Block *memory_for(size_t n) {
    return malloc(n * (sizeof(Block) + 2 * sizeof(Item)) + 1);
}

/* best_border(probabilities, words): the border and the F1. */
PyObject *best_border(PyObject *module, PyObject *arguments) {
    PyObject *object[2], *result = NULL;
    Py_buffer view[2];
    int opened = 0;
    Block *memory = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &object[0], &object[1])) return NULL;
    for (; opened < 2; opened++)
        if (open_array(object[opened], &view[opened], 8, 0) < 0) goto done;
    size_t n = (size_t)view[0].len / 8;
    if (view[1].len != view[0].len) {
        PyErr_SetString(PyExc_ValueError, "not as many words as probabilities");
        goto done;
    }
    if ((memory = memory_for(n)) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        memory[i] = (Block){((const double *)view[0].buf)[i], ((const double *)view[1].buf)[i]};
    double f1, border = best(memory, n, &f1);
    result = Py_BuildValue("dd", border, f1);
done:
    free(memory);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

double best_of(Block *memory, const float *probability, const double *words, size_t n, double *f1) {
    for (size_t i = 0; i < n; i++) memory[i] = (Block){probability[i], words[i]};
    return best(memory, n, f1);
}

/* F1 of one choice of blocks measured by another, from the words of both, of one and of the other. */
static double overlap(double both, double one, double other) {
    return 2 * both / (one + other > 1 ? one + other : 1);
}

int count_page(const Blocks *page, const float *alone, const float *final, Numbers *of) {
    size_t n = page->n;
    const double *words = page->words;
    Block *memory = memory_for(n);
    if (memory == NULL) return -1;
    double unused, border = best_of(memory, final, words, n, &of->expected);
    float least = (float)border, least_alone = (float)best_of(memory, alone, words, n, &unused);
    free(memory);
    double by_trees = 0, high = 0, low = 0, both_trees = 0, both_high = 0, both_low = 0;
    *of = (Numbers){.border = logit(border), .expected = of->expected};
    int before = 0;
    for (size_t i = 0; i < n; i++) {
        int kept = final[i] >= least, trees = alone[i] >= least_alone, sure = final[i] >= 0.8f,
            maybe = final[i] >= 0.2f;
        of->words += words[i];
        of->prose += page->prose[i];
        if (final[i] > 0.2f && final[i] < 0.8f) of->unsure += words[i];
        if (trees) by_trees += words[i];
        if (sure) high += words[i];
        if (maybe) low += words[i];
        if (kept) {
            of->n_kept++;
            of->runs += !before;
            of->kept_words += words[i];
            of->kept_linked += page->linked[i];
            of->kept_prose += page->prose[i];
            if (trees) both_trees += words[i];
            if (sure) both_high += words[i];
            if (maybe) both_low += words[i];
        }
        before = kept;
    }
    of->agreement = overlap(both_trees, of->kept_words, by_trees);
    of->low = overlap(both_high, of->kept_words, high);
    of->high = overlap(both_low, of->kept_words, low);
    return 0;
}

/* page_numbers(words, linked, prose, alone, final): what blockml.decision.page_policy.Numbers holds, in its order. */
PyObject *page_numbers(PyObject *module, PyObject *arguments) {
    enum { WORDS, LINKED, PROSE, ALONE, FINAL, N };
    PyObject *object[N], *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 8, 4, 4};
    int opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &object[0], &object[1], &object[2], &object[3], &object[4])) return NULL;
    for (; opened < N; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    Blocks page = {(size_t)view[WORDS].len / 8, view[WORDS].buf, view[LINKED].buf, view[PROSE].buf, NULL};
    Numbers of;
    for (int k = 0; k < N; k++)
        if (view[k].len / sizes[k] != (Py_ssize_t)page.n) {
            PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
            goto done;
        }
    if (count_page(&page, view[ALONE].buf, view[FINAL].buf, &of) < 0)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("ddddddddnnddd", of.border, of.expected, of.words, of.prose, of.kept_words,
                               of.kept_linked, of.kept_prose, of.unsure, of.n_kept, of.runs, of.agreement, of.low,
                               of.high);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
