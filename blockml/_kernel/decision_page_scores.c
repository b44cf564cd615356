/* From probabilities of blocks to their scores, with an eye to the page as a whole: the twin of
   blockml.decision.page_policy.page_scores. */
#include "decision.h"
#include <math.h>
#include <stdlib.h>

static int is_link(double words, double linked) { return linked > 0 && 2 * linked >= words; }

/* The most words of running text that is certain without a link between them. */
static double body(const float *probabilities, const double *words, const double *linked, const double *prose, size_t n,
                   float certain) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_link(words[i], linked[i])) sum = 0;
        if (prose[i] > 0 && probabilities[i] >= certain) sum += words[i];
        if (sum > most) most = sum;
    }
    return most;
}

/* Moves the odds of each line by a part to the mean of the lines before and after, by their words: weights by line. */
static void lean(double *odds, const int64_t *line, const double *weights, size_t n, double part) {
    double before = 0, its_weight = 0;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && line[end] == line[begin];) end++;
        double value = odds[begin], around = its_weight * before, weight = its_weight;
        if (end < n) around += weights[line[end]] * odds[end], weight += weights[line[end]];
        before = value, its_weight = weights[line[begin]];
        if (weight > 0) value = (1 - part) * value + part * (around / weight);
        for (size_t i = begin; i < end; i++) odds[i] = value;
    }
}

/* Lowers the odds by a care, that of links by another one on pages with a body; sets those of each line to their
   mean; moves this by a part to those of the lines around it; and lessens by another part what speaks against a
   block. `memory` has room for 2 n, all zero. */
static void be_careful(const Blocks *page, const float *probabilities, const Care *how, double *odds, double *memory) {
    const double *words = page->words, *linked = page->linked;
    const int64_t *line = page->line;
    size_t n = page->n;
    double *sums = memory, *weights = memory + n, care = how->care, of_links = how->of_links;
    if (body(probabilities, words, linked, page->prose, n, how->certain) < how->least_body) of_links = care;
    for (size_t i = 0; i < n; i++) {
        double weight = at_least(words[i], how->wordless);
        sums[line[i]] += weight * (odds[i] - (is_link(words[i], linked[i]) ? of_links : care));
        weights[line[i]] += weight;
    }
    for (size_t i = 0; i < n; i++) odds[i] = sums[line[i]] / weights[line[i]];
    if (how->leaning > 0) lean(odds, line, weights, n, how->leaning);
    for (size_t i = 0; how->doubt > 0 && i < n; i++) {
        double against = odds[i] + care;
        if (against < 0) odds[i] = against * (1 - how->doubt) - care;
    }
}

/* Moves the border of the best expected F1 to log odds of 0: the twin of recenter in blockml.decision.decide. `scores`
   hold probabilities meanwhile. */
static void move_border(const Blocks *page, const Care *how, double *odds, Block *memory, float *scores) {
    size_t n = page->n;
    write_logistics(odds, n, scores);
    double f1, expected = 0, least = INFINITY, most = -INFINITY;
    float value = (float)best_of(memory, scores, page->words, n, &f1);
    for (size_t i = 0; i < n; i++) {
        if (scores[i] >= value && odds[i] < least) least = odds[i];
        if (odds[i] > most) most = odds[i];
        expected += page->words[i] * scores[i];
    }
    if (least > most + 1 || (f1 < how->least_f1 && expected < how->least_words)) least = most + 1;
    for (size_t i = 0; i < n; i++) odds[i] -= least;
    write_logistics(odds, n, scores);
}

int write_scores(const Blocks *page, const float *probabilities, const Care *how, const Copies *copies, float *scores) {
    size_t n = page->n;
    double *odds = calloc(3 * n + 1, sizeof(double));
    Block *memory = memory_for(n);
    int failed = odds == NULL || memory == NULL ? -1 : 0;
    if (!failed) {
        write_logits(probabilities, n, odds);
        be_careful(page, probabilities, how, odds, odds + n);
        if (copies->text != NULL) lower_copies(odds, page, copies, odds + n);
        move_border(page, how, odds, memory, scores);
    }
    free(odds);
    free(memory);
    return failed;
}

/* page_scores(probabilities, words, linked, prose, line, text, place, (care, of_links, certain, least_body, wordless,
   leaning, doubt, slack, here, caution, least_words, least_f1), scores): writes the scores (n,) of blocks. `text` and
   `place` are empty where no care is taken with copies. */
PyObject *page_scores(PyObject *module, PyObject *arguments) {
    enum { PROBABILITIES, WORDS, LINKED, PROSE, LINE, TEXT, PLACE, SCORES, N };
    PyObject *object[N], *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 8, 8, 8, 8, 8, 8, 4};
    Care care;
    Copies copies;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO(ddfddddddddd)O", &object[0], &object[1], &object[2], &object[3],
                          &object[4], &object[5], &object[6], &care.care, &care.of_links, &care.certain,
                          &care.least_body, &care.wordless, &care.leaning, &care.doubt, &copies.slack, &copies.here,
                          &copies.caution, &care.least_words, &care.least_f1, &object[7]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Blocks page = {(size_t)view[SCORES].len / 4, view[WORDS].buf, view[LINKED].buf, view[PROSE].buf, view[LINE].buf};
    int sound = 1, has_copies = view[TEXT].len > 0;
    copies.text = has_copies ? view[TEXT].buf : NULL, copies.place = view[PLACE].buf;
    for (int k = 0; k < N; k++)
        sound = sound && (view[k].len / sizes[k] == (Py_ssize_t)page.n || (!has_copies && (k == TEXT || k == PLACE)));
    for (size_t i = 0; sound && i < page.n; i++)
        sound = page.line[i] >= 0 && (size_t)page.line[i] < page.n && (!has_copies || copies.text[i] < (int64_t)page.n);
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "no such line or text, or columns of blocks differ in length");
    else if (write_scores(&page, view[PROBABILITIES].buf, &care, &copies, view[SCORES].buf) < 0)
        PyErr_NoMemory();
    else
        result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
