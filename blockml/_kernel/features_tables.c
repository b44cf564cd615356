/* Constants from Python, opened and checked once per process. */
#include "features_page_tree.h"

#define CAPSULE "blockml.tables"

const Tables *tables_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static void drop(Tables *tables) {
    while (tables->opened--) PyBuffer_Release(&tables->view[tables->opened]);
    Py_XDECREF(tables->places);
    Py_XDECREF(tables->role_of);
    Py_XDECREF(tables->keyword_bits);
    Py_XDECREF(tables->role_bits);
    free(tables->words);
    free(tables);
}

static void free_tables(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* Tells whether all tables have the sizes that functions rely on. */
static int has_valid_tables(const Tables *tables) {
    static const Py_ssize_t least[N_TABLES] = {[CLASSES] = 0x110000, [IN_WORD] = 0x110000 / 8, [CASED] = 0x110000 / 8};
    for (int k = 0; k < N_TABLES; k++)
        if (!tables->view[k].readonly || length_of(tables, k) < least[k]) return 0;
    const int64_t *groupings = tables->view[GROUPINGS].buf;
    for (Py_ssize_t grouping = 0; grouping < length_of(tables, GROUPINGS) / 2; grouping++)
        if (groupings[2 * grouping] < 0) return 0;
    return length_of(tables, MASKS) == N_CLASSES && length_of(tables, TAGS) == N_TAG_TABLES * tables->n_places &&
           tables->n_places >= 2 && length_of(tables, FLAGS) == N_FLAGS && length_of(tables, WEIGHTS) % 2 == 1 &&
           length_of(tables, GROUPINGS) % 2 == 0 &&
           length_of(tables, NUMBERS) == N_NUMBERS && number_in(tables, N_LANDMARKS) >= 0 &&
           number_in(tables, N_LANDMARKS) <= 64 && number_in(tables, N_KEYWORDS) >= 0 &&
           number_in(tables, N_ROLES) >= 0 && number_in(tables, N_KEYWORDS) + number_in(tables, N_ROLES) <= 63 &&
           has_valid_words(tables);
}

/* new_tables(tables, places, role_of, keyword_bits, role_bits): read-only arrays in the order of
   features_page_tree.h; columns of tags in them, 0 for unknown tags and 1 for a missing node; role bits by word;
   functions that return the bits of keywords and roles in a value that is not ASCII. */
PyObject *new_tables(PyObject *module, PyObject *arguments) {
    static const Py_ssize_t sizes[N_TABLES] = {1, 1, 1, 1, 8, 1, 1, 1, 8, 8, 8, 8, 8, 1, 8};
    PyObject *arrays, *places, *role_of, *keyword_bits, *role_bits, *capsule = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!OO", &PyTuple_Type, &arrays, &PyDict_Type, &places, &PyDict_Type, &role_of,
                          &keyword_bits, &role_bits))
        return NULL;
    Tables *tables = calloc(1, sizeof(Tables));
    if (tables == NULL) return PyErr_NoMemory();
    tables->places = Py_NewRef(places), tables->role_of = Py_NewRef(role_of);
    tables->keyword_bits = Py_NewRef(keyword_bits), tables->role_bits = Py_NewRef(role_bits);
    for (; tables->opened < N_TABLES; tables->opened++) {
        PyObject *array = PyTuple_GetItem(arrays, tables->opened);
        Py_buffer *view = &tables->view[tables->opened];
        if (array == NULL || open_array(array, view, sizes[tables->opened], 0) < 0) goto failed;
    }
    tables->n_places = length_of(tables, TAGS) / N_TAG_TABLES;
    if (!has_valid_tables(tables))
        PyErr_SetString(PyExc_ValueError, "tables are writable or have wrong sizes");
    else if (make_words(tables) == 0)
        capsule = PyCapsule_New(tables, CAPSULE, free_tables);
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        tables->crc[byte] = crc;
    }
    if (capsule != NULL) count_classes(tables->view[MASKS].buf, tables->counted);
failed:
    if (capsule == NULL) drop(tables);
    return capsule;
}

int32_t *places_of(const Tables *tables, const Tree *tree) {
    int32_t *places = malloc((size_t)(tree->n_tags + 1) * sizeof(int32_t));
    if (places == NULL) return (void *)PyErr_NoMemory();
    for (Py_ssize_t tag = 0; tag < tree->n_tags; tag++) {
        PyObject *held = PyDict_GetItemWithError(tables->places, PyTuple_GetItem(tree->tag_names, tag));
        long place = held == NULL ? 0 : PyLong_AsLong(held);
        if (PyErr_Occurred()) {
            free(places);
            return NULL;
        }
        places[tag] = place > 0 && place < tables->n_places ? (int32_t)place : 0;
    }
    places[tree->n_tags] = 1;
    return places;
}
