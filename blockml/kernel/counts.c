/* Counts over the texts of blocks.

   class_counts: the twin of blockml.features.view.View.characters. line_densities: of
   blockml.features.density.word_density. */
#include "kernel.h"

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
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t end = i + 1 < n ? (Py_ssize_t)starts[i + 1] : length;
        for (Py_ssize_t which = 0; which < n_masks; which++) {
            uint8_t mask = masks[which];
            int64_t sum = 0;
            for (Py_ssize_t at = (Py_ssize_t)starts[i]; at < end;) {
                /* few at a time, so that a byte holds the sum and many are compared at once */
                Py_ssize_t stop = end - at > 255 ? at + 255 : end;
                uint8_t few = 0;
                for (; at < stop; at++) few += (kinds[at] & mask) == mask;
                sum += few;
            }
            counts[which * n + i] = (double)sum;
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
