/* Attributes that name parts of a page: the twin of blockml.features.names.numbered, and what their values say.

   Values of ASCII characters only are read here, as nearly all are; all others are left to Python, for which case is
   Unicode's. */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

#define CAPSULE "blockml.names"

enum { N_KNOWN = 256 };

typedef struct {
    const char *text;
    size_t length; /* with the zero byte behind it */
} Name;

/* As blockml.features.names.NAMES. */
#define NAMED(text) {text, sizeof text}
static const Name NAMES[N_ATTRIBUTES] = {NAMED("class"), NAMED("role"), NAMED("id"), NAMED("itemprop"),
                                         NAMED("property")};

/* Values met last, by hash: a page has many that are written alike, and to make a str costs more than to compare. */
typedef struct {
    const char *text; /* NULL for none */
    size_t length;
    int32_t number;
} Known;

typedef struct {
    Py_ssize_t n;      /* so many of NAMES */
    uint64_t lengths;  /* bits of their lengths: most others have another one */
    PyObject *numbers; /* of each value, a dict */
    int32_t *of_set;   /* (n_sets, N_ATTRIBUTES) numbers of the values of each set; UNKNOWN in one that wasn't read */
    Known known[N_KNOWN];
} Wanted;

int32_t number_of(PyObject *numbers, PyObject *value) {
    PyObject *held = PyDict_GetItemWithError(numbers, value);
    if (held != NULL) return (int32_t)PyLong_AsLong(held);
    if (PyErr_Occurred()) return -1;
    Py_ssize_t next = PyDict_Size(numbers);
    PyObject *number = next > INT32_MAX ? NULL : PyLong_FromSsize_t(next);
    if (number == NULL) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "too many values");
        return -1;
    }
    int failed = PyDict_SetItem(numbers, value, number);
    Py_DECREF(number);
    return failed < 0 ? -1 : (int32_t)next;
}

static int32_t number_of_text(Wanted *wanted, const char *text) {
    size_t length = strlen(text);
    Known *known = &wanted->known[hash_of_bytes(text, length) % N_KNOWN];
    if (known->text != NULL && known->length == length && memcmp(known->text, text, length) == 0) return known->number;
    PyObject *value = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
    int32_t number = value == NULL ? -1 : number_of(wanted->numbers, value);
    Py_XDECREF(value);
    if (number >= 0) *known = (Known){text, length, number};
    return number;
}

/* Writes the numbers of the values of the named attributes of a set; 0 where there is none. 0 with an exception.

   `pairs` are names and values with a zero byte after each; of a name that is there twice the last value counts. */
static int number_pairs(Wanted *wanted, const char *pairs, const char *end, int32_t *of_set) {
    const char *found[N_ATTRIBUTES] = {NULL};
    for (const char *at = pairs; at < end;) {
        size_t length = strlen(at) + 1;
        if (length < 64 && wanted->lengths >> length & 1)
            for (Py_ssize_t k = 0; k < wanted->n; k++) {
                const Name *name = &NAMES[k];
                if (length == name->length && *at == *name->text && memcmp(at, name->text, length) == 0)
                    found[k] = at + length;
            }
        at += length;
        at += strlen(at) + 1;
    }
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        of_set[k] = found[k] == NULL ? 0 : number_of_text(wanted, found[k]);
        if (of_set[k] < 0) return 0;
    }
    return 1;
}

/* The same of a mapping; None is no value. */
static int number_given(Wanted *wanted, PyObject *given, int32_t *of_set) {
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        PyObject *value = PyObject_CallMethod(given, "get", "s", NAMES[k].text);
        if (value == NULL) return 0;
        if (value != Py_None && !PyUnicode_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "values of attributes are texts");
            Py_DECREF(value);
            return 0;
        }
        of_set[k] = value == Py_None ? 0 : number_of(wanted->numbers, value);
        Py_DECREF(value);
        if (of_set[k] < 0) return 0;
    }
    return 1;
}

const char *ascii(PyObject *text, Py_ssize_t *length) {
    const char *bytes = PyUnicode_AsUTF8AndSize(text, length);
    if (bytes == NULL) {
        PyErr_Clear(); /* lone surrogates */
        return NULL;
    }
    unsigned char all = 0;
    for (Py_ssize_t i = 0; i < *length; i++) all |= (unsigned char)bytes[i];
    return all < 128 ? bytes : NULL;
}

/* Writes the numbers of the values of the first `n` of NAMES that chosen nodes have into columns (n, n_nodes + 1). Sets
   that were read before, for as many names or more, aren't read again. 0 with an exception. */
static int number_nodes(Wanted *wanted, const Tree *tree, const int64_t *chosen, Py_ssize_t n_chosen,
                        int32_t *columns) {
    const char *pairs = PyBytes_AsString(tree->pairs); /* with a zero byte behind them */
    for (Py_ssize_t i = 0; i < n_chosen; i++) {
        int32_t set = tree->set[chosen[i]], *its = wanted->of_set + (Py_ssize_t)set * N_ATTRIBUTES;
        if (!set) continue;
        if (*its == UNKNOWN) {
            PyObject *held = PyList_GetItem(tree->given, set);
            if (held == NULL) return 0; /* it was taken away meanwhile */
            Py_INCREF(held);            /* looking up may run a mapping's own code */
            int64_t begin = tree->ends[set - 1], end = tree->ends[set];
            int done = held != Py_None ? number_given(wanted, held, its)
                                       : number_pairs(wanted, pairs + begin, pairs + end, its);
            Py_DECREF(held);
            if (!done) return 0;
        }
        for (Py_ssize_t k = 0; k < wanted->n; k++) columns[k * (tree->n_nodes + 1) + chosen[i]] = its[k];
    }
    return 1;
}

/* Bits of the groups of words in a value, or of the roles that it says; -1 with an exception. */
static int64_t bits_of(const Tables *tables, PyObject *value, int says_roles) {
    Py_ssize_t length;
    const char *text = ascii(value, &length);
    if (text != NULL && !says_roles) return groups_in(tables, text, length);
    int64_t bits = 0;
    if (text == NULL) {
        PyObject *tells = says_roles ? tables->role_bits : tables->keyword_bits;
        PyObject *found = PyObject_CallFunctionObjArgs(tells, value, NULL);
        bits = found == NULL ? -1 : PyLong_AsLongLong(found);
        Py_XDECREF(found);
        if (bits < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no bits of groups");
        return bits;
    }
    char word[32]; /* no role is as long */
    int n = 0;
    for (Py_ssize_t i = 0; i <= length; i++) {
        char c = i < length ? text[i] : ' ';
        if (c != ' ' && !(c >= 9 && c <= 13) && !(c >= 28 && c <= 31)) {
            if (n < (int)sizeof word) word[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
            continue;
        }
        PyObject *key = n ? PyUnicode_FromStringAndSize(word, n) : NULL;
        PyObject *held = key == NULL ? NULL : PyDict_GetItemWithError(tables->role_of, key);
        if (held != NULL) bits |= PyLong_AsLongLong(held);
        Py_XDECREF(key);
        if (PyErr_Occurred()) return -1;
        n = 0;
    }
    return bits & INT64_MAX;
}

/* Fills keywords and roles of the values that can say them; 0 with an exception. */
static int read_values(Names *names, const Tree *tree, const Tables *tables) {
    static const uint8_t says_roles[N_ATTRIBUTES] = {[ROLE] = 1, [ITEMPROP] = 1, [PROPERTY] = 1};
    for (Py_ssize_t i = 1; i < names->n_values; i++) names->keywords[i] = names->roles[i] = UNKNOWN;
    names->keywords[0] = names->roles[0] = 0;
    for (int k = 0; k < N_ATTRIBUTES; k++)
        for (Py_ssize_t i = 0; i < tree->n_reached; i++) {
            int32_t number = names->numbers[k * (tree->n_nodes + 1) + tree->reached[i]];
            int64_t *bits = (says_roles[k] ? names->roles : names->keywords) + number;
            if (*bits == UNKNOWN && (*bits = bits_of(tables, PyList_GetItem(names->values, number), says_roles[k])) < 0)
                return 0;
        }
    return 1;
}

/* Writes, rising, the elements whose parent is that of an ancestor at one of the levels whose siblings are counted.
   Roots have no parent, and so the same one. 0 with an exception. */
static int find_siblings(Names *names, const Tree *tree, const Tables *tables) {
    const int64_t *levels = tables->view[SIBLINGS].buf;
    uint8_t *marked = calloc((size_t)tree->n_nodes + 1, 1); /* the first entry is for "no parent" */
    if (marked == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t k = 0; k < length_of(tables, SIBLINGS); k++)
        for (Py_ssize_t i = 0; i < tree->n; i++)
            if (!has_parent_of_last(tree, i)) marked[1 + tree->parent[ancestor(tree, i, levels[k])]] = 1;
    for (Py_ssize_t node = 0; node < tree->n_nodes; node++)
        if (tree->tag[node] != 0 && marked[1 + tree->parent[node]]) names->elements[names->n_elements++] = node;
    free(marked);
    return 1;
}

static void drop(Names *names) {
    Py_XDECREF(names->tree);
    Py_XDECREF(names->values);
    free(names->keywords);
    free(names);
}

static void free_names(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

const Names *names_of(PyObject *capsule, PyObject *tree) {
    const Names *names = PyCapsule_GetPointer(capsule, CAPSULE);
    if (names == NULL || names->tree == tree) return names;
    PyErr_SetString(PyExc_ValueError, "names of another page");
    return NULL;
}

/* Fills the names of a tree, whose room is there; 0 with an exception. */
static int read_names(Names *names, const Tree *tree, const Tables *tables) {
    Wanted wanted = {.n = N_ATTRIBUTES, .numbers = PyDict_New()};
    wanted.of_set = malloc((size_t)tree->n_sets * N_ATTRIBUTES * sizeof(int32_t));
    PyObject *nothing = wanted.numbers == NULL ? NULL : PyUnicode_FromStringAndSize("", 0);
    Py_ssize_t size = tree->n_nodes + 1;
    int done = 0;
    for (int k = 0; k < N_ATTRIBUTES; k++) wanted.lengths |= (uint64_t)1 << NAMES[k].length;
    if (wanted.of_set == NULL) PyErr_NoMemory();
    if (wanted.of_set == NULL || nothing == NULL || number_of(wanted.numbers, nothing) < 0) goto failed;
    memset(wanted.of_set, 255, (size_t)tree->n_sets * N_ATTRIBUTES * sizeof(int32_t)); /* UNKNOWN is all bits */
    if (!number_nodes(&wanted, tree, tree->reached, tree->n_reached, names->numbers)) goto failed;
    if ((names->values = PyDict_Keys(wanted.numbers)) == NULL) goto failed;
    names->n_values = PyList_Size(names->values);
    names->keywords = malloc((size_t)(2 * names->n_values) * sizeof(int64_t));
    if (names->keywords == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    names->roles = names->keywords + names->n_values;
    if (!read_values(names, tree, tables) || !find_siblings(names, tree, tables)) goto failed;
    memcpy(names->classes, names->numbers + CLASS * size, (size_t)size * sizeof(int32_t));
    wanted.n = 1;
    if (!number_nodes(&wanted, tree, names->elements, names->n_elements, names->classes)) goto failed;
    const int64_t *ways = tables->view[WAYS].buf;
    done = 1;
    for (Py_ssize_t way = 0; done && way < names->n_ways; way++)
        done = group_blocks(tree, ways[2 * way], ways[2 * way + 1], names->numbers + CLASS * size,
                            names->groups + way * tree->n) == 0;
failed:
    free(wanted.of_set);
    Py_XDECREF(nothing);
    Py_XDECREF(wanted.numbers);
    return done;
}

/* page_names(tree, tables): what attributes call the elements above blocks, and which blocks are alike by it. */
PyObject *page_names(PyObject *module, PyObject *arguments) {
    PyObject *of_page, *of_all;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &of_page, &of_all)) return NULL;
    const Tree *tree = tree_of(of_page);
    const Tables *tables = tree == NULL ? NULL : tables_of(of_all);
    if (tables == NULL) return NULL;
    Py_ssize_t n_ways = length_of(tables, WAYS) / 2, size = tree->n_nodes + 1;
    size_t longs = (size_t)(n_ways * tree->n + tree->n_nodes), shorts = (size_t)((N_ATTRIBUTES + 1) * size);
    Names *names = calloc(1, sizeof(Names) + longs * sizeof(int64_t) + shorts * sizeof(int32_t));
    if (names == NULL) return PyErr_NoMemory();
    names->tree = Py_NewRef(of_page), names->n_ways = n_ways;
    names->groups = (int64_t *)(names + 1), names->elements = names->groups + n_ways * tree->n;
    names->numbers = (int32_t *)(names->elements + tree->n_nodes);
    names->classes = names->numbers + N_ATTRIBUTES * size;
    PyObject *capsule = read_names(names, tree, tables) ? PyCapsule_New(names, CAPSULE, free_names) : NULL;
    if (capsule == NULL) drop(names);
    return capsule;
}

/* page_groups(names): numbers of the groups of blocks, for each way to be alike, as bytes of int32. */
PyObject *page_groups(PyObject *module, PyObject *capsule) {
    (void)module;
    const Names *names = PyCapsule_GetPointer(capsule, CAPSULE);
    const Tree *tree = names == NULL ? NULL : tree_of(names->tree);
    if (tree == NULL) return NULL;
    Py_ssize_t n = names->n_ways * tree->n;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(int32_t));
    if (bytes == NULL) return NULL;
    int32_t *groups = (int32_t *)PyBytes_AsString(bytes); /* aligned as a bytes object's items are */
    for (Py_ssize_t i = 0; i < n; i++) groups[i] = (int32_t)names->groups[i];
    return bytes;
}
