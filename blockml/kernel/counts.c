/* Counts over the texts of blocks.

   read_texts: the twin of blockml.features.view.View.characters and its kin. line_densities: of
   blockml.features.density.word_density. */
#include "tree.h"
#include <stdlib.h>

enum { LANES = 8 };

/* Adds to counts (LANES,) how many of n kinds have all bits of each mask, which is there eight times over. Eight
   kinds are compared at once; `counted` has a one for each of them that is there. */
static inline void count_eight(uint64_t kinds, uint64_t counted, const uint64_t *masks, uint64_t *counts) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    for (int k = 0; k < LANES; k++) {
        uint64_t missing = (kinds & masks[k]) ^ masks[k];
        counts[k] += ~(((missing & low) + low) | missing) >> 7 & counted;
    }
}

/* Writes how many of n kinds have all bits of each mask. */
WIDE static void count_kinds(const uint8_t *kinds, Py_ssize_t n, const uint64_t *masks, int64_t *sums) {
    const uint64_t ones = 0x0101010101010101u, pairs = 0x00ff00ff00ff00ffu;
    for (int k = 0; k < LANES; k++) sums[k] = 0;
    while (n > 0) {
        uint64_t counts[LANES] = {0}, word;
        for (int times = 0; times < 255 && n > 0; times++, kinds += 8, n -= 8) { /* each count is in a byte */
            uint64_t counted = ones;
            if (n >= 8) {
                memcpy(&word, kinds, 8);
            } else {
                uint8_t rest[8] = {0}, there[8] = {0};
                for (Py_ssize_t i = 0; i < n; i++) rest[i] = kinds[i], there[i] = 1;
                memcpy(&word, rest, 8);
                memcpy(&counted, there, 8);
            }
            count_eight(word, counted, masks, counts);
        }
        for (int k = 0; k < LANES; k++) {
            uint64_t by_two = (counts[k] & pairs) + (counts[k] >> 8 & pairs);
            sums[k] += (int64_t)(by_two * 0x0001000100010001u >> 48);
        }
    }
}

void free_texts(Texts *texts) { free(texts->counts); }

/* Counts the characters of all texts of a page by class, unless that is done already; -1 with an exception set. */
int read_texts(Texts *texts, const Tree *tree, const Tables *tables) {
    const uint8_t *table = tables->view[CLASSES].buf, *masks = tables->view[MASKS].buf;
    Py_ssize_t n = tree->n, longest = 0;
    uint64_t wanted[LANES] = {0};
    if (texts->counts != NULL) return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t length = PyUnicode_GetLength(PyTuple_GetItem(tree->texts, i));
        if (length < 0) return -1;
        if (length > longest) longest = length;
    }
    Py_UCS4 *points = malloc((size_t)(longest + 1) * (sizeof(Py_UCS4) + 1));
    double *counts = malloc((size_t)n * ((N_CLASSES + 1) * sizeof(double) + 2));
    if (points == NULL || counts == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    uint8_t *kinds = (uint8_t *)(points + longest + 1), *first = (uint8_t *)(counts + (N_CLASSES + 1) * n);
    double *lengths = counts + N_CLASSES * n;
    for (int k = 0; k < N_CLASSES; k++) wanted[k] = masks[k] * 0x0101010101010101u;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *text = PyTuple_GetItem(tree->texts, i);
        Py_ssize_t length = PyUnicode_GetLength(text);
        int64_t sums[LANES];
        if (PyUnicode_AsUCS4(text, points, longest, 0) == NULL) goto failed;
        for (Py_ssize_t k = 0; k < length; k++) kinds[k] = table[points[k]];
        kinds[length] = table['\n'];
        count_kinds(kinds, length + 1, wanted, sums);
        for (int k = 0; k < N_CLASSES; k++) counts[k * n + i] = (double)sums[k];
        lengths[i] = (double)length;
        first[i] = kinds[0], first[n + i] = kinds[length > 1 ? length - 1 : 0];
    }
    free(points);
    *texts = (Texts){.counts = counts, .lengths = lengths, .first = first, .last = first + n};
    return 0;
failed:
    free(points);
    free(counts);
    return -1;
}

/* Words per full line of the words in [0, n): lines are filled one after the other, and the last one doesn't count. */
static float line_density(const int32_t *lengths, Py_ssize_t n, int64_t line_width) {
    Py_ssize_t word = 0, n_lines = 0;
    for (;;) {
        Py_ssize_t after = word;
        int64_t used = 0; /* with a blank behind each word */
        while (after < n && used + lengths[after] <= line_width) used += (int64_t)lengths[after++] + 1;
        if (after == word) { /* one word longer than a line stands alone */
            n_lines += word == 0; /* and leaves an empty first line behind, as in boilerpipe */
            after++;
        }
        if (after >= n) break;
        n_lines++;
        word = after;
    }
    return n_lines ? (float)((double)word / (double)n_lines) : (float)n;
}

/* line_densities(lengths, counts, line_width, densities): of blocks of so many words each. */
PyObject *line_densities(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_buffer view[3];
    int line_width, opened = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOiO", &object[0], &object[1], &line_width, &object[2])) return NULL;
    PyObject *result = NULL;
    for (; opened < 3; opened++)
        if (open_array(object[opened], &view[opened], 4, opened == 2) < 0) goto done;
    const int32_t *lengths = view[0].buf, *counts = view[1].buf;
    float *densities = view[2].buf;
    Py_ssize_t n = view[1].len / 4, left = view[0].len / 4;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (counts[i] < 0 || counts[i] > left || view[2].len / 4 < n) {
            PyErr_SetString(PyExc_IndexError, "not as many words as blocks say");
            goto done;
        }
        densities[i] = line_density(lengths, counts[i], line_width);
        lengths += counts[i];
        left -= counts[i];
    }
    result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
