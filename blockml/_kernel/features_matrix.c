/* The features of a page, written where they lie in its matrix: see blockml.features.kernel_families. */
#include "features_page_tree.h"
#include <stdlib.h>
#include <string.h>

/* In the order of blockml.features.kernel_families.FAMILIES. */
enum { TEXT, POSITION, AROUND, PATH, ANCESTORS, CALLED, CONTAINER, FURTHER, SAME_PATH, REPETITION, LIKE_SIBLINGS,
       RESEMBLANCE, ABOUT, N_FAMILIES };

static int (*const WRITE[N_FAMILIES])(Page *page, float *rows) = {
    write_text, write_position, write_around, write_path, write_ancestors, write_called, write_container,
    write_further, write_same_path, write_repetition, write_siblings, write_resemblance, write_about,
};

/* How many rows a family has; UNKNOWN where nothing is known of what it needs. */
static Py_ssize_t n_rows_of(int64_t family, const Page *page) {
    const Tables *tables = page->tables;
    switch (family) {
        case TEXT: return 19;
        case POSITION: return 17;
        case AROUND: return 2 * length_of(tables, REACHES) + 2;
        case PATH: return 5 + number_in(tables, N_LANDMARKS) + length_of(tables, FLAGS);
        case ANCESTORS: return 8 * length_of(tables, LEVELS);
        case FURTHER: return 15;
        case SAME_PATH: return 6;
        case RESEMBLANCE: return page->title == NULL ? UNKNOWN : 4;
        case ABOUT: return page->said == NULL ? UNKNOWN : 21 + PyTuple_Size(page->said);
    }
    if (page->names == NULL) return UNKNOWN;
    switch (family) {
        case CALLED: return number_in(tables, N_KEYWORDS) + number_in(tables, N_ROLES);
        case CONTAINER: return 32;
        case REPETITION: return 6 * page->names->n_ways;
        case LIKE_SIBLINGS: return page->names->n_elements ? 3 * length_of(tables, SIBLINGS) : UNKNOWN;
    }
    return UNKNOWN;
}

/* Copies a row, each block's number that of the block `offset` further on; `empty` beyond the ends. */
static void shift(const float *from, Py_ssize_t n, int64_t offset, float empty, float *to) {
    for (Py_ssize_t i = 0; i < n; i++) to[i] = offset >= -i && offset < n - i ? from[i + offset] : empty;
}

/* page_rows(tree, names, tables, claims, steps, matrix): writes columns of a matrix (n_columns, n). Each of the
   steps is the number of a family, where its rows begin and how many they are; or UNKNOWN, which row to write, of
   which to take the numbers, how many blocks further on, and the number for what lies beyond the ends. Names and
   claims, which are title, description and numbers of what the page says about itself, may be None where no family
   needs them. */
PyObject *page_rows(PyObject *module, PyObject *arguments) {
    enum { FAMILY, ROW, FROM, OFFSET, EMPTY, WIDTH };
    PyObject *of_page, *of_names, *of_all, *claims, *object[2], *result = NULL;
    static const Py_ssize_t sizes[2] = {8, 4};
    Py_buffer view[2];
    Page page = {.tree = NULL};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOO", &of_page, &of_names, &of_all, &claims, &object[0], &object[1]))
        return NULL;
    int opened = open_arrays(object, view, sizes, 2);
    if (opened < 2 || (page.tree = tree_of(of_page)) == NULL || (page.tables = tables_of(of_all)) == NULL) goto done;
    if (of_names != Py_None && (page.names = names_of(of_names, of_page)) == NULL) goto done;
    if (claims != Py_None && !PyTuple_Check(claims)) {
        PyErr_SetString(PyExc_TypeError, "claims are no tuple");
        goto done;
    }
    if (claims != Py_None &&
        !PyArg_ParseTuple(claims, "UUO!", &page.title, &page.description, &PyTuple_Type, &page.said))
        goto done;
    Py_ssize_t n = page.tree->n, n_rows = view[1].len / 4 / n;
    float *matrix = view[1].buf;
    const int64_t *end = (const int64_t *)view[0].buf + view[0].len / 8;
    if (view[1].len / 4 != n_rows * n || view[0].len / 8 % WIDTH) {
        PyErr_SetString(PyExc_ValueError, "steps of another width, or rows of other blocks");
        goto done;
    }
    if ((page.places = places_of(page.tables, page.tree)) == NULL) goto done;
    for (const int64_t *step = view[0].buf; step < end; step += WIDTH) {
        int64_t family = step[FAMILY], row = step[ROW], from = step[FROM];
        if (row < 0 || row >= n_rows || from < 0 || from > n_rows) goto wrong;
        if (family < UNKNOWN || family >= N_FAMILIES) goto wrong;
        if (family == UNKNOWN) {
            if (from == n_rows) goto wrong;
            shift(matrix + from * n, n, step[OFFSET], (float)step[EMPTY], matrix + row * n);
            continue;
        }
        if (from > n_rows - row || from != n_rows_of(family, &page)) goto wrong;
        if (WRITE[family](&page, matrix + row * n) < 0) goto done;
    }
    result = Py_NewRef(Py_None);
    goto done;
wrong:
    PyErr_SetString(PyExc_ValueError, "no such family or row, or nothing is known of what it needs");
done:
    free(page.places);
    free_texts(&page.texts);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
