/* Columns of text and of place, written row by row: each row is one column of all blocks.

   text_rows: the twin of blockml.features.text.text. position_rows and window_rows: of blockml.features.position. */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

/* text_rows(classes, kinds, starts, amounts, lengths, counts, rows): rows (19, n) from the class bits of all characters,
   one line break after each text; amounts (3, n) are words, linked words and those of running text; counts are (7, n),
   one row for each of `classes`: letters and digits, spaces, digits, ends of sentences, clauses, capitals,
   ideographs. */
PyObject *text_rows(PyObject *module, PyObject *arguments) {
    enum { CLASSES, KINDS, STARTS, AMOUNTS, LENGTHS, COUNTS, ROWS, N };
    enum { ALNUM, SPACE, DIGIT, SENTENCE, CLAUSE, CAPITAL, IDEOGRAPH, N_CLASSES };
    PyObject *object[N];
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {1, 1, 8, 8, 8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO", &object[0], &object[1], &object[2], &object[3], &object[4], &object[5],
                          &object[6]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const uint8_t *classes = view[CLASSES].buf, *kinds = view[KINDS].buf;
    const int64_t *starts = view[STARTS].buf;
    Py_ssize_t n = view[LENGTHS].len / 8;
    const double *words = view[AMOUNTS].buf, *linked = words + n, *prose = linked + n;
    const double *lengths = view[LENGTHS].buf, *counts = view[COUNTS].buf;
    if (view[CLASSES].len != N_CLASSES || view[STARTS].len / 8 != n || view[AMOUNTS].len / 8 != 3 * n || view[COUNTS].len / 8 != N_CLASSES * n ||
        view[ROWS].len / 4 != 19 * n) {
        PyErr_SetString(PyExc_ValueError, "columns of texts differ in length");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (starts[i] < 0 || starts[i] >= view[KINDS].len || !(lengths[i] >= 0) ||
            lengths[i] > (double)(view[KINDS].len - starts[i])) {
            PyErr_SetString(PyExc_IndexError, "a text ends behind the last one");
            goto done;
        }
    for (Py_ssize_t i = 0; i < n; i++) {
        const double *count = counts + i;
        double alnum = count[ALNUM * n], letters = at_least(alnum, 1), word = at_least(words[i], 1);
        double sentence = count[SENTENCE * n], clause = count[CLAUSE * n], length = lengths[i];
        double signs = at_least(length - alnum - (count[SPACE * n] - 1), 0);
        uint8_t first = kinds[starts[i]], last = kinds[starts[i] + (length > 1 ? (int64_t)length - 1 : 0)];
        const double values[19] = {
            words[i],
            length,
            letters / word,
            linked[i],
            linked[i] / word,
            words[i] - linked[i],
            count[DIGIT * n] / letters,
            count[CAPITAL * n] / letters,
            count[IDEOGRAPH * n] / letters,
            sentence,
            clause,
            signs / at_least(length, 1),
            clause / word,
            (last & classes[SENTENCE]) > 0,
            (last & classes[CLAUSE]) > 0,
            (first & classes[CAPITAL] & ~classes[ALNUM]) > 0,
            (first & classes[DIGIT]) > 0,
            (first & classes[ALNUM]) == 0,
            prose[i] > 0,
        };
        float *row = (float *)view[ROWS].buf + i;
        for (int k = 0; k < 19; k++) row[k * n] = (float)values[k];
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

enum { NO_HEADING = 9, AWAY = -9999 };

/* Levels of the headings that blocks are, NO_HEADING for none: the smallest number that `codes` (n_tags + 1,), the last for
   "no node", has for the tags of the four nearest elements above. */
static void read_headings(const Tree *tree, const int64_t *codes, uint8_t *heading) {
    for (Py_ssize_t i = 0; i < tree->n; i++) {
        int64_t least = NO_HEADING;
        for (Py_ssize_t level = 0; level < tree->n_levels && level < 4; level++) {
            int64_t node = tree->chain[level * tree->n + i], code = codes[node < 0 ? tree->n_tags : tree->tag[node]];
            if (code < least) least = code;
        }
        heading[i] = (uint8_t)(least < 0 ? 0 : least);
    }
}

/* Columns that look back: from the page's beginning, from headings and from running text. */
static void write_position(const double *words, const double *prose, const uint8_t *heading, Py_ssize_t n,
                           double n_words, double n_prose, float *rows) {
    double before = 0, prose_before = 0, before_h1 = 0, before_heading = 0;
    Py_ssize_t h1 = -1, any = -1, reading = -1, first_h1 = -1;
    for (Py_ssize_t i = 0; i < n && first_h1 < 0; i++)
        if (heading[i] == 1) first_h1 = i;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (heading[i] == 1) h1 = i, before_h1 = before;
        if (heading[i] < NO_HEADING) any = i, before_heading = before;
        if (prose[i] > 0) reading = i;
        const double values[] = {
            (double)i / (double)(n > 1 ? n - 1 : 1),
            (double)i,
            (double)(n - 1 - i),
            before / n_words,
            before,
            n_words - before - words[i],
            prose_before / n_prose,
            heading[i] < NO_HEADING ? heading[i] : 0,
            h1 >= 0 ? (double)(i - h1) : -1,
            h1 >= 0 ? before - before_h1 : -1,
            first_h1 >= 0 ? (double)(i - first_h1) : AWAY,
            any >= 0 ? (double)(i - any) : -1,
            any >= 0 ? before - before_heading : -1,
            any >= 0 ? heading[any] : 0,
            0, /* until the next heading: from behind */
            reading >= 0 ? (double)(i - reading) : -1,
        };
        for (int k = 0; k < 16; k++) rows[k * n + i] = (float)values[k];
        before += words[i];
        prose_before += prose[i];
    }
    Py_ssize_t next_heading = n, next_reading = n;
    for (Py_ssize_t i = n; i-- > 0;) {
        if (heading[i] < NO_HEADING) next_heading = i;
        if (prose[i] > 0) next_reading = i;
        rows[14 * n + i] = (float)(next_heading - i);
        rows[16 * n + i] = next_reading < n ? (float)(next_reading - i) : -1;
    }
}

/* position_rows(tree, codes, amounts, totals, rows): rows (17, n). Codes (n_tags + 1,) are levels of headings by tag; amounts
   (3, n) are words, linked words and those of running text, totals words of the page and of its running text. */
PyObject *position_rows(PyObject *module, PyObject *arguments) {
    enum { CODES, AMOUNTS, ROWS, N };
    PyObject *capsule, *object[N];
    double n_words, n_prose;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 4};
    uint8_t *heading = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO(dd)O", &capsule, &object[0], &object[1], &n_words, &n_prose, &object[2]))
        return NULL;
    const Tree *tree = NULL;
    PyObject *result = NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N || (tree = tree_of(capsule)) == NULL) goto done;
    Py_ssize_t n = tree->n;
    if (view[CODES].len / 8 != tree->n_tags + 1 || view[AMOUNTS].len / 8 != 3 * n || view[ROWS].len / 4 != 17 * n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    heading = malloc((size_t)n);
    if (heading == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    read_headings(tree, view[CODES].buf, heading);
    const double *words = view[AMOUNTS].buf;
    write_position(words, words + 2 * n, heading, n, n_words, at_least(n_prose, 1), view[ROWS].buf);
    result = Py_NewRef(Py_None);
done:
    free(heading);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* Writes a smooth version of values (n,), none of which counts more than `most`: sums of `width` neighbours with weights,
   added from the first on. `room` is for n + width values. */
static void smooth(const double *values, Py_ssize_t n, double most, const double *weights, Py_ssize_t width, double *room,
                   double *sums) {
    Py_ssize_t before = width / 2;
    memset(room, 0, (size_t)(n + width) * sizeof(double));
    for (Py_ssize_t i = 0; i < n; i++) room[before + i] = values[i] < most ? values[i] : most;
    for (Py_ssize_t i = 0; i < n; i++) sums[i] = 0;
    for (Py_ssize_t k = 0; k < width; k++)
        for (Py_ssize_t i = 0; i < n; i++) sums[i] += weights[k] * room[k + i];
}

/* window_rows(amounts, reaches, weights, most, rows): rows (2 * n_reaches + 2, n): words from so many blocks before to as
   many after, for each reach; then the share of them that is linked; then both by weights (an odd number of them), of
   blocks of at most so many words. Amounts (3, n) are words, linked words and others. */
PyObject *window_rows(PyObject *module, PyObject *arguments) {
    enum { AMOUNTS, REACHES, WEIGHTS, ROWS, N };
    PyObject *object[N];
    double most, *before = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 8, 4};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOdO", &object[0], &object[1], &object[2], &most, &object[3])) return NULL;
    int opened = open_arrays(object, view, sizes, N);
    PyObject *result = NULL;
    if (opened < N) goto done;
    const int64_t *reaches = view[REACHES].buf;
    float *rows = view[ROWS].buf;
    Py_ssize_t n = view[AMOUNTS].len / 8 / 3, n_reaches = view[REACHES].len / 8, width = view[WEIGHTS].len / 8;
    const double *words = view[AMOUNTS].buf, *linked = words + n;
    if (view[AMOUNTS].len / 8 != 3 * n || view[ROWS].len / 4 != (2 * n_reaches + 2) * n || width % 2 == 0) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length, or weights have no middle");
        goto done;
    }
    before = malloc((size_t)(4 * (n + 1) + width) * sizeof(double));
    if (before == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    double *links_before = before + n + 1, *room = links_before; /* when the sums aren't needed any more */
    before[0] = links_before[0] = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        before[i + 1] = before[i] + words[i];
        links_before[i + 1] = links_before[i] + linked[i];
    }
    for (Py_ssize_t k = 0; k < n_reaches; k++) {
        Py_ssize_t reach = reaches[k] < 0 ? 0 : reaches[k] < n ? (Py_ssize_t)reaches[k] : n;
        for (Py_ssize_t i = 0; i < n; i++) {
            Py_ssize_t since = i > reach ? i - reach : 0, until = i + reach + 1 < n ? i + reach + 1 : n;
            double amount = before[until] - before[since], links = links_before[until] - links_before[since];
            rows[k * n + i] = (float)amount;
            rows[(n_reaches + k) * n + i] = (float)(links / at_least(amount, 1));
        }
    }
    double *smooth_words = room + n + width, *smooth_links = smooth_words + n;
    smooth(words, n, most, view[WEIGHTS].buf, width, room, smooth_words);
    smooth(linked, n, most, view[WEIGHTS].buf, width, room, smooth_links);
    for (Py_ssize_t i = 0; i < n; i++) {
        rows[2 * n_reaches * n + i] = (float)smooth_words[i];
        rows[(2 * n_reaches + 1) * n + i] = (float)(smooth_links[i] / at_least(smooth_words[i], 0.1));
    }
    result = Py_NewRef(Py_None);
done:
    free(before);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
