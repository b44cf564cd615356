/* Writes columns into a page's matrix: see blockml.features.kernel_tables. */
#include "features_page_tree.h"

static const Family *const FAMILIES[] = {
    &text_family, &position_family, &around_family, &path_family, &ancestors_family, &vocabulary_family,
    &container_family, &same_path_family, &repetition_family, &siblings_family, &title_overlap_family,
    &page_stats_family,
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof *FAMILIES };

/* family_columns(): needs, list and columns of each part of each family. */
PyObject *family_columns(PyObject *module, PyObject *arguments) {
    PyObject *parts = PyList_New(0);
    (void)module, (void)arguments;
    for (int k = 0; k < N_FAMILIES; k++)
        for (const Part *part = FAMILIES[k]->parts; parts != NULL && part->columns != NULL; part++) {
            PyObject *entry = Py_BuildValue("iis", FAMILIES[k]->needs, part->list, part->columns);
            if (entry == NULL || PyList_Append(parts, entry) < 0) Py_CLEAR(parts);
            Py_XDECREF(entry);
        }
    return parts;
}

static Py_ssize_t length_of_list(const Tables *tables, int list) {
    switch (list) {
        case LANDMARKS: return (Py_ssize_t)number_in(tables, N_LANDMARKS);
        case KEYWORDS: return (Py_ssize_t)number_in(tables, N_KEYWORDS);
        case ROLES: return (Py_ssize_t)number_in(tables, N_ROLES);
        case WINDOWS: return length_of(tables, REACHES);
        case ANCESTORS: return length_of(tables, LEVELS);
        case ANCESTORS_OF_ELEMENTS: return length_of(tables, SIBLINGS);
        case GROUPS: return length_of(tables, GROUPINGS) / 2;
    }
    return 1;
}

static Py_ssize_t n_columns_of(const Family *family, const Tables *tables) {
    Py_ssize_t n_columns = 0;
    for (const Part *part = family->parts; part->columns != NULL; part++) {
        Py_ssize_t n_patterns = 1;
        for (const char *at = part->columns; *at; at++) n_patterns += *at == ' ';
        n_columns += n_patterns * length_of_list(tables, part->list);
    }
    return n_columns;
}

/* Writes the columns of all families. `row_of` is the row in the matrix (n_rows, n) of each column, or UNKNOWN to
   skip it. */
static int write_families(Page *page, const int64_t *row_of, Py_ssize_t n_columns, float *matrix, Py_ssize_t n_rows) {
    Py_ssize_t n = page->tree->n;
    float **rows = malloc((size_t)(n_columns + 1) * sizeof(float *)), *unused = malloc((size_t)n * sizeof(float));
    int done = -1;
    if (rows == NULL || unused == NULL) {
        no_memory();
        goto failed;
    }
    for (int k = 0; k < N_FAMILIES; k++) {
        const Family *family = FAMILIES[k];
        Py_ssize_t its = n_columns_of(family, page->tables), n_wanted = 0;
        if (its > n_columns) goto wrong;
        for (Py_ssize_t i = 0; i < its; i++) {
            if (row_of[i] < UNKNOWN || row_of[i] >= n_rows) goto wrong;
            rows[i] = row_of[i] < 0 ? unused : matrix + row_of[i] * n;
            n_wanted += row_of[i] >= 0;
        }
        row_of += its, n_columns -= its;
        if (!n_wanted) continue;
        if ((family->needs & NEEDS_VALUES) && page->attributes == NULL) goto wrong;
        if ((family->needs & NEEDS_TITLE) && page->titles == NULL) goto wrong;
        if (family->write(page, rows) < 0) goto failed;
    }
    if (n_columns == 0) done = 0;
wrong:
    if (done < 0) LOCKED(PyErr_SetString(PyExc_ValueError, "unknown columns or rows, or missing attribute values or titles"));
failed:
    free(rows);
    free(unused);
    return done;
}

/* write_columns(tree, attributes, tables, titles, (row_of, matrix)): writes columns (n,) into rows of a matrix
   (n_rows, n). `row_of` is the row of each column of each family, or -1; `attributes` and `titles`, the page's title
   and description, may be None if no column needs them. */
PyObject *write_columns(PyObject *module, PyObject *arguments) {
    PyObject *page_capsule, *values_capsule, *tables_capsule, *titles, *arrays, *title, *description;
    Py_buffer view[2];
    Page page = {.tree = NULL};
    Utf8 utf8[2];
    int failed = -1;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO!", &page_capsule, &values_capsule, &tables_capsule, &titles, &PyTuple_Type,
                          &arrays) ||
        (page.tree = tree_of(page_capsule)) == NULL || (page.tables = tables_of(tables_capsule)) == NULL)
        return NULL;
    if (values_capsule != Py_None &&
        (page.attributes = attribute_values_of(values_capsule, page_capsule)) == NULL)
        return NULL;
    if (titles != Py_None && !PyTuple_Check(titles)) {
        PyErr_SetString(PyExc_TypeError, "titles must be a tuple or None");
        return NULL;
    }
    PyObject *encoded = PyList_New(0);
    if (encoded != NULL && titles != Py_None && PyArg_ParseTuple(titles, "UU", &title, &description) &&
        read_utf8(title, &utf8[0], encoded) == 0 && read_utf8(description, &utf8[1], encoded) == 0)
        page.titles = utf8;
    if (PyErr_Occurred() || open_arrays(arrays, view, "q *f") < 0) {
        Py_XDECREF(encoded);
        return NULL;
    }
    Py_ssize_t n_rows = n_items(&view[1]) / page.tree->n;
    if (n_items(&view[1]) != n_rows * page.tree->n)
        PyErr_SetString(PyExc_ValueError, "rows of the matrix must have one entry per block");
    else if ((page.places = places_of(page.tables, page.tree)) != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        failed = write_families(&page, view[0].buf, n_items(&view[0]), view[1].buf, n_rows);
        Py_END_ALLOW_THREADS;
    }
    free(page.places);
    free_texts(&page.texts);
    close_arrays(view, 2);
    Py_DECREF(encoded);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
