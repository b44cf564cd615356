/* Constants from Python, opened and checked once per process. */
#include "features_page_tree.h"

#define CAPSULE "blockml.tables"

const Tables *tables_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static const Named NAMED[N_TABLES] = {
    [OF_PATH] = {"tag_code", "q"}, [LANDMARK] = {"landmark_bits", "q"}, [HEADING_LEVEL] = {"heading_level", "q"},
    [MARK] = {"container_marks", "q"}, [IS_PARAGRAPH] = {"is_paragraph", "q"}, [SUMS] = {"sum_bits", "q"},
    [CLASSES] = {"character_classes", "B"}, [MASKS] = {"counted_classes", "B"}, [IN_WORD] = {"in_word", "B"},
    [CASED] = {"is_cased", "B"}, [LETTERS] = {"keyword_letters", "B"}, [WORD_LENGTHS] = {"keyword_lengths", "B"},
    [WORD_GROUPS] = {"keyword_groups", "b"}, [WEIGHTS] = {"smoothing_weights", "d"}, [LEVELS] = {"ancestor_levels", "q"},
    [REACHES] = {"windows", "q"}, [SIBLINGS] = {"sibling_levels", "q"}, [GROUPINGS] = {"grouping_levels", "q"},
    [FLAGS] = {"flags", "B"}, [FAR] = {"far", "q"}, [MOST_LEVELS] = {"max_container_levels", "q"},
    [MOST_SMOOTHED] = {"max_smoothed_words", "q"}, [TITLE_WORDS] = {"max_title_words", "q"},
    [SURROUNDINGS] = {"surrounding_bits", "q"}, [N_LANDMARKS] = {"n_landmarks", "q"},
    [N_KEYWORDS] = {"n_keywords", "q"}, [N_ROLES] = {"n_roles", "q"}, [MOST_NAMES] = {"max_names", "q"},
    [MOST_PARTS_OF_NAMES] = {"max_parts", "q"}, [NEAR] = {"near_levels", "q"}, [FAR_MARK] = {"far_mark", "q"},
    [WORD_MASK] = {"word_mask", "q"},
};

static void drop(Tables *tables) {
    close_arrays(tables->view, N_TABLES);
    Py_XDECREF(tables->places);
    Py_XDECREF(tables->role_of);
    Py_XDECREF(tables->keyword_bits);
    Py_XDECREF(tables->role_bits);
    Py_XDECREF(tables->word_checksums);
    free(tables->words);
    free(tables);
}

static void free_tables(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

/* Tells whether all tables have the sizes that functions rely on. */
static int has_valid_tables(const Tables *tables) {
    static const Py_ssize_t least[N_TABLES] = {[CLASSES] = 0x110000, [IN_WORD] = 0x110000 / 8, [CASED] = 0x110000 / 8};
    for (int k = 0; k < N_TABLES; k++) {
        if (!tables->view[k].readonly || length_of(tables, k) < least[k]) return 0;
        if (k < N_TAG_TABLES && length_of(tables, k) != tables->n_places) return 0;
        if (k >= FAR && (length_of(tables, k) != 1 || number_in(tables, k) < 0)) return 0;
    }
    const int64_t *groupings = tables->view[GROUPINGS].buf;
    for (Py_ssize_t grouping = 0; grouping < length_of(tables, GROUPINGS) / 2; grouping++)
        if (groupings[2 * grouping] < 0) return 0;
    return length_of(tables, MASKS) == N_CLASSES && tables->n_places >= 2 && length_of(tables, FLAGS) == N_FLAGS &&
           length_of(tables, WEIGHTS) % 2 == 1 && length_of(tables, GROUPINGS) % 2 == 0 &&
           number_in(tables, N_LANDMARKS) <= 64 && number_in(tables, N_KEYWORDS) <= 63 &&
           number_in(tables, N_ROLES) <= 63 - number_in(tables, N_KEYWORDS) &&
           number_in(tables, MOST_NAMES) <= MOST_WORDS &&
           number_in(tables, MOST_PARTS_OF_NAMES) <= MOST_WORDS - number_in(tables, MOST_NAMES) &&
           has_valid_words(tables);
}

/* new_tables(tables, places, role_of, keyword_bits, role_bits, word_checksums): read-only arrays by name; columns of
   tags in them, 0 for unknown tags and 1 for a missing node; role bits by word; functions that return the bits of
   keywords and roles, and the checksums of words, in a value that is not ASCII. */
PyObject *new_tables(PyObject *module, PyObject *arguments) {
    PyObject *arrays, *places, *role_of, *keyword_bits, *role_bits, *word_checksums, *capsule = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!OOO", &PyDict_Type, &arrays, &PyDict_Type, &places, &PyDict_Type, &role_of,
                          &keyword_bits, &role_bits, &word_checksums))
        return NULL;
    Tables *tables = calloc(1, sizeof(Tables));
    if (tables == NULL) return PyErr_NoMemory();
    if (open_named(arrays, tables->view, NAMED, N_TABLES) < 0) {
        free(tables);
        return NULL;
    }
    tables->places = Py_NewRef(places), tables->role_of = Py_NewRef(role_of);
    tables->keyword_bits = Py_NewRef(keyword_bits), tables->role_bits = Py_NewRef(role_bits);
    tables->word_checksums = Py_NewRef(word_checksums);
    tables->n_places = length_of(tables, 0);
    if (!has_valid_tables(tables))
        PyErr_SetString(PyExc_ValueError, "tables are writable or have wrong sizes");
    else if (make_words(tables) == 0)
        capsule = PyCapsule_New(tables, CAPSULE, free_tables);
    if (capsule == NULL) {
        drop(tables);
        return NULL;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        tables->crc[byte] = crc;
    }
    count_classes(tables->view[MASKS].buf, tables->counted);
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
