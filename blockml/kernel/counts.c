/* Counts over the texts of blocks.

   class_counts: the twin of blockml.features.view.View.characters. line_densities: of
   blockml.features.density.word_density. */
#include "kernel.h"

enum { LANES = 8 };

/* Adds to counts (LANES,) how many of n kinds have all bits of each mask, which is there eight times over. Eight kinds are
   compared at once; `counted` has a one for each of them that is there. */
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

/* class_counts(kinds, starts, masks, counts): counts (n_masks, n_texts) of the characters of each text that have all
   bits of a mask; texts end where the next one starts, and the last one at the end. */
PyObject *class_counts(PyObject *module, PyObject *arguments) {
    PyObject *object[4];
    Py_buffer view[4];
    static const Py_ssize_t sizes[4] = {1, 8, 1, 8};
    int count = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &object[0], &object[1], &object[2], &object[3])) return NULL;
    PyObject *result = NULL;
    for (; count < 4; count++)
        if (open_array(object[count], &view[count], sizes[count], count == 3) < 0) goto done;
    const uint8_t *kinds = view[0].buf, *masks = view[2].buf;
    const int64_t *starts = view[1].buf;
    double *counts = view[3].buf;
    Py_ssize_t length = view[0].len, n = view[1].len / 8, n_masks = view[2].len;
    if (view[3].len / 8 < n * n_masks) {
        PyErr_SetString(PyExc_ValueError, "no room for all counts");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (starts[i] < 0 || starts[i] > (i + 1 < n ? starts[i + 1] : length)) {
            PyErr_SetString(PyExc_IndexError, "starts don't rise");
            goto done;
        }
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t first = 0; first < n_masks; first += LANES) {
        Py_ssize_t n_lanes = n_masks - first < LANES ? n_masks - first : LANES;
        uint64_t wanted[LANES] = {0};
        for (Py_ssize_t k = 0; k < n_lanes; k++) wanted[k] = masks[first + k] * 0x0101010101010101u;
        for (Py_ssize_t i = 0; i < n; i++) {
            int64_t sums[LANES];
            Py_ssize_t begin = (Py_ssize_t)starts[i], end = i + 1 < n ? (Py_ssize_t)starts[i + 1] : length;
            count_kinds(kinds + begin, end - begin, wanted, sums);
            for (Py_ssize_t k = 0; k < n_lanes; k++) counts[(first + k) * n + i] = (double)sums[k];
        }
    }
    Py_END_ALLOW_THREADS;
    result = Py_NewRef(Py_None);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
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
