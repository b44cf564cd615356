/* Lines whose text stands on a page more than once: the twin of blockml.decision.duplicates. */
#include "decision.h"
#include "text_string_table.h"
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

int number_lines(PyObject *texts, const int32_t *n_words, const uint8_t *flags, const int64_t *line, Py_ssize_t n,
                 int least, int mask, int64_t *numbers) {
    Values seen = {.items = NULL};
    PyObject *blank = PyUnicode_InternFromString(" ");
    /* how many of each value, and its place among those that came; the empty one is always a value */
    int32_t *count = calloc(2 * ((size_t)n + 1), sizeof(int32_t)), *order, n_seen = 0;
    int failed = -1;
    if (blank == NULL || count == NULL || make_values(&seen, n) < 0) {
        if (count == NULL) PyErr_NoMemory();
        goto done;
    }
    order = count + n + 1;
    for (Py_ssize_t begin = 0, end; begin < n; begin = end) {
        int64_t words = 0, number = -1;
        int all = 0;
        for (end = begin; end < n && line[end] == line[begin]; end++) words += n_words[end], all |= flags[end];
        if (words >= least && !(all & mask)) {
            PyObject *text = text_of(texts, n_words, begin, end, blank);
            number = text == NULL ? -1 : number_of_str(&seen, text);
            Py_XDECREF(text);
            if (number < 0) goto done;
            if (!order[number]) order[number] = ++n_seen;
            number = order[number] - 1;
            count[number]++;
        }
        for (Py_ssize_t i = begin; i < end; i++) numbers[i] = number;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (numbers[i] >= 0 && count[numbers[i]] < 2) numbers[i] = -1;
    failed = 0;
done:
    free_values(&seen);
    Py_XDECREF(blank);
    free(count);
    return failed;
}

/* repeated_lines(texts, n_words, flags, line, least, mask, numbers): numbers (n,) of the text of each block's line;
   -1 for lines of less than `least` words, those with one of the flags in `mask`, and such whose text no other line
   has. Blocks of a line stand side by side. */
PyObject *repeated_lines(PyObject *module, PyObject *arguments) {
    enum { WORDS, FLAGS, LINE, NUMBERS, N };
    PyObject *texts, *object[N], *result = NULL;
    int least, mask;
    Py_buffer view[N];
    static const Py_ssize_t sizes[N] = {4, 1, 8, 8};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOiiO", &PyTuple_Type, &texts, &object[0], &object[1], &object[2], &least,
                          &mask, &object[3]))
        return NULL;
    int opened = open_arrays(object, view, sizes, N);
    if (opened < N) goto done;
    Py_ssize_t n = PyTuple_Size(texts);
    if (view[WORDS].len / 4 != n || view[FLAGS].len != n || view[LINE].len / 8 != n || view[NUMBERS].len / 8 != n)
        PyErr_SetString(PyExc_ValueError, "columns of blocks differ in length");
    else if (number_lines(texts, view[WORDS].buf, view[FLAGS].buf, view[LINE].buf, n, least, mask,
                          view[NUMBERS].buf) == 0)
        result = Py_NewRef(Py_None);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}

void lower_copies(double *odds, const Blocks *page, const Copies *copies, double *memory) {
    const int64_t *line = page->line, *text = copies->text, *place = copies->place;
    size_t n = page->n;
    double *most = memory;
    int64_t *stays = (int64_t *)(memory + n);
    for (size_t i = 0; i < n; i++) most[i] = -INFINITY, stays[i] = -1;
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0 && odds[i] > most[text[i]]) most[text[i]] = odds[i];
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0 && stays[text[i]] < 0 && odds[i] >= most[text[i]] - copies->slack) stays[text[i]] = (int64_t)i;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < 0) continue;
        int64_t first = stays[text[i]] < 0 ? 0 : stays[text[i]]; /* without odds that are numbers there is no best */
        odds[i] -= line[i] == line[first] ? 0 : place[i] == place[first] ? copies->here : copies->caution;
    }
}
