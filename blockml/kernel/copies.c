/* Lines whose text stands on a page more than once: the twin of blockml.copies. */
#include "kernel.h"
#include <math.h>
#include <stdlib.h>

/* The text of blocks begin ... end - 1, as a new reference: of several blocks those with words, with blanks between. */
static PyObject *text_of(PyObject *texts, const int32_t *n_words, Py_ssize_t begin, Py_ssize_t end, PyObject *blank) {
    if (end == begin + 1) return Py_XNewRef(PyTuple_GetItem(texts, begin));
    PyObject *parts = PyList_New(0), *joined = NULL;
    for (Py_ssize_t i = begin; parts != NULL && i < end; i++)
        if (n_words[i] > 0 && PyList_Append(parts, PyTuple_GetItem(texts, i)) < 0) Py_CLEAR(parts);
    if (parts != NULL) joined = PyUnicode_Join(blank, parts);
    Py_XDECREF(parts);
    return joined;
}

/* repeated_lines(texts, n_words, flags, line, least, mask, numbers): numbers (n,) of the text of each block's line; -1 for lines
   of less than `least` words, those with one of the flags in `mask`, and such whose text no other line has. Blocks of a line
   stand side by side. */
PyObject *repeated_lines(PyObject *module, PyObject *arguments) {
    enum { WORDS, FLAGS, LINE, NUMBERS, N };
    PyObject *texts, *object[N], *seen = NULL, *blank = NULL, *result = NULL;
    int least, mask;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 1, 8, 8};
    int32_t *count = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOiiO", &PyTuple_Type, &texts, &object[0], &object[1], &object[2], &least, &mask,
                          &object[3]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    const int32_t *n_words = view[WORDS].buf;
    const uint8_t *flags = view[FLAGS].buf;
    const int64_t *line = view[LINE].buf;
    int64_t *numbers = view[NUMBERS].buf;
    Py_ssize_t n = PyTuple_Size(texts);
    if (view[WORDS].len / 4 != n || view[FLAGS].len != n || view[LINE].len / 8 != n || view[NUMBERS].len / 8 != n) {
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
        goto done;
    }
    seen = PyDict_New();
    blank = PyUnicode_InternFromString(" ");
    count = calloc((size_t)n + 1, sizeof(int32_t));
    if (seen == NULL || blank == NULL || count == NULL) {
        if (count == NULL) PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) {
        int64_t words = 0, number = -1;
        int all = 0;
        for (end = begin; end < n && line[end] == line[begin]; end++) words += n_words[end], all |= flags[end];
        if (words >= least && !(all & mask)) {
            PyObject *text = text_of(texts, n_words, begin, end, blank);
            number = text == NULL ? -1 : number_of(seen, text);
            Py_XDECREF(text);
            if (number < 0) goto done;
            count[number]++;
        }
        for (Py_ssize_t i = begin; i < end; i++) numbers[i] = number;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (numbers[i] >= 0 && count[numbers[i]] < 2) numbers[i] = -1;
    result = Py_NewRef(Py_None);
done:
    Py_XDECREF(seen);
    Py_XDECREF(blank);
    free(count);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

/* care_with_copies(odds, line, text, place, slack, here, caution, care): by how much to lower the odds of lines that another
   one stands for, the first of those with the same text whose odds are `slack` below the best at most: by `here`, where it
   has the same place, else by `caution`. Texts are numbers below that of the blocks, or negative. */
PyObject *care_with_copies(PyObject *module, PyObject *arguments) {
    enum { ODDS, LINE, TEXT, PLACE, CARE, N };
    PyObject *object[N], *result = NULL;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {8, 8, 8, 4, 8};
    double slack, here, caution, *most = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOdddO", &object[0], &object[1], &object[2], &object[3], &slack, &here, &caution,
                          &object[4]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    const double *odds = view[ODDS].buf;
    const int64_t *line = view[LINE].buf, *text = view[TEXT].buf;
    const int32_t *place = view[PLACE].buf;
    double *care = view[CARE].buf;
    Py_ssize_t n = view[ODDS].len / 8, any = 0;
    int sound = 1;
    for (int k = 0; k < N; k++) sound = sound && view[k].len / sizes[k] == n;
    for (Py_ssize_t i = 0; sound && i < n; i++) sound = text[i] < n, any |= text[i] >= 0, care[i] = 0;
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "no such text, or columns of blocks differ in length");
        goto done;
    }
    result = Py_NewRef(Py_None);
    if (!any) goto done;
    most = malloc((size_t)n * (sizeof(double) + sizeof(int64_t)));
    if (most == NULL) {
        Py_CLEAR(result);
        PyErr_NoMemory();
        goto done;
    }
    int64_t *stays = (int64_t *)(most + n);
    for (Py_ssize_t i = 0; i < n; i++) most[i] = -INFINITY, stays[i] = -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (text[i] >= 0 && odds[i] > most[text[i]]) most[text[i]] = odds[i];
    for (Py_ssize_t i = 0; i < n; i++)
        if (text[i] >= 0 && stays[text[i]] < 0 && odds[i] >= most[text[i]] - slack) stays[text[i]] = i;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (text[i] < 0) continue;
        int64_t first = stays[text[i]] < 0 ? 0 : stays[text[i]]; /* without odds that are numbers there is no best */
        care[i] = line[i] == line[first] ? 0 : place[i] == place[first] ? here : caution;
    }
done:
    free(most);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
