/* Values of attributes that describe parts of a page, and the keywords and roles in them; references:
   blockml.features.keywords, blockml.features.keywords and blockml.features.vocabulary.role_bits.

   ASCII values are read here; others are rare and read in Python, which knows Unicode case. */
#include "text_bytes.h"
#include "features_page_tree.h"

#define CAPSULE "blockml.names"

/* blockml.features.keywords.ATTRIBUTES; at most eight characters each. */
static const char *const NAMES[N_ATTRIBUTES] = {"class", "role", "id", "itemprop", "property"};
/* Whether the values contain roles; others contain keywords. */
static const uint8_t HAS_ROLES[N_ATTRIBUTES] = {[ROLE] = 1, [ITEMPROP] = 1, [PROPERTY] = 1};

typedef struct {
    Py_ssize_t n; /* number of NAMES that are read */
    uint64_t name[N_ATTRIBUTES];
    StringTable *values;
    int32_t *of_set; /* (n_sets, N_ATTRIBUTES) numbers of the values of each set; UNKNOWN for sets that were not read */
} Wanted;

static void note_use(Wanted *wanted, int32_t number, Py_ssize_t attribute) {
    StringEntry *value = &wanted->values->items[number];
    if (HAS_ROLES[attribute])
        value->may_have_roles = 1;
    else
        value->may_have_keywords = 1;
}

/* Writes the numbers of the values of a set, 0 for a missing value; returns 0 with an exception set.

   `pairs` are names and values, each followed by a zero byte, up to `end`, and memory is readable up to `behind`. The
   last of several values of a name counts. */
static int number_pairs(Wanted *wanted, const char *pairs, const char *end, const char *behind, int32_t *of_set) {
    struct {
        const char *text;
        size_t length;
    } found[N_ATTRIBUTES] = {{NULL, 0}};
    for (const char *at = pairs; at < end;) {
        uint64_t name = behind - at >= 8 ? eight_bytes(at) : few_bytes(at, (size_t)(behind - at));
        uint64_t zeros = zeros_in(name);
        size_t length = zeros ? (size_t)lowest_bit(zeros) / 8 : 8 + strlen(at + 8);
        const char *value = at + length + 1;
        size_t its_length = strlen(value);
        at = value + its_length + 1;
        if (length > 8) continue;
        if (length < 8) name &= ((uint64_t)1 << 8 * length) - 1;
        for (Py_ssize_t k = 0; k < wanted->n; k++)
            if (name == wanted->name[k]) found[k].text = value, found[k].length = its_length;
    }
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        of_set[k] = found[k].text ? number_of_string(wanted->values, found[k].text, found[k].length, NULL) : 0;
        if (of_set[k] < 0) return 0;
        note_use(wanted, of_set[k], k);
    }
    return 1;
}

/* Writes the numbers of the values of a mapping; None is a missing value. Returns 0 with an exception set. */
static int number_given(Wanted *wanted, PyObject *given, Py_ssize_t set, int32_t *of_set) {
    for (Py_ssize_t k = 0; k < wanted->n; k++) {
        PyObject *held = Py_XNewRef(PyList_GetItem(given, set)); /* the look-up may run the mapping's code */
        PyObject *value = held == NULL || held == Py_None ? Py_XNewRef(held)
                                                         : PyObject_CallMethod(held, "get", "s", NAMES[k]);
        Py_XDECREF(held);
        if (value == NULL) return 0;
        if (value != Py_None && !PyUnicode_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "values of attributes must be str");
            Py_DECREF(value);
            return 0;
        }
        of_set[k] = value == Py_None ? 0 : number_of_str(wanted->values, value);
        Py_DECREF(value);
        if (of_set[k] < 0) return 0;
        note_use(wanted, of_set[k], k);
    }
    return 1;
}

/* Writes the numbers of the values of the first `n` NAMES of chosen nodes into columns (n, n_nodes + 1). Sets that
   were read before, for at least as many names, are not read again. Returns 0 with an exception set. */
static int number_nodes(Wanted *wanted, const Tree *tree, const int64_t *chosen, Py_ssize_t n_chosen,
                        int32_t *columns) {
    const char *pairs = PyBytes_AsString(tree->pairs), *behind = pairs + PyBytes_Size(tree->pairs) + 1;
    for (Py_ssize_t i = 0; i < n_chosen; i++) {
        int32_t set = tree->set[chosen[i]], *its = wanted->of_set + (Py_ssize_t)set * N_ATTRIBUTES;
        if (!set) continue;
        if (*its == UNKNOWN) {
            int64_t begin = tree->ends[set - 1], end = tree->ends[set];
            int done = begin == end || number_pairs(wanted, pairs + begin, pairs + end, behind, its);
            if (begin == end) LOCKED(done = number_given(wanted, tree->given, set, its)); /* it came as a mapping */
            if (!done) return 0;
        }
        for (Py_ssize_t k = 0; k < wanted->n; k++) columns[k * (tree->n_nodes + 1) + chosen[i]] = its[k];
    }
    return 1;
}

/* Calls a Python function for the bits of a value. */
static int64_t bits_by_python(PyObject *tells, PyObject *value) {
    PyObject *found = PyObject_CallFunctionObjArgs(tells, value, NULL);
    int64_t bits = found == NULL ? -1 : PyLong_AsLongLong(found);
    Py_XDECREF(found);
    if (bits < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expected a number of at least 0");
    return bits;
}

/* Returns the bits of the roles in ASCII text. */
static int64_t roles_in(const Tables *tables, const char *text, size_t length) {
    int64_t bits = 0;
    char word[32]; /* longer than any role */
    int n = 0;
    for (size_t i = 0; i <= length; i++) {
        char c = i < length ? text[i] : ' ';
        if (c != ' ' && !(c >= 9 && c <= 13) && !(c >= 28 && c <= 31)) {
            if (n < (int)sizeof word) word[n++] = lower_of(c);
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

/* Computes roles of values, and keywords of those that are not ASCII; returns 0 with an exception set. */
static int read_by_python(AttributeValues *attributes, const Tables *tables) {
    for (Py_ssize_t i = 0; i < attributes->n_values; i++) {
        const StringEntry *value = &attributes->values.items[i];
        if (value->may_have_keywords && value->unicode != NULL)
            if ((attributes->keywords[i] = bits_by_python(tables->keyword_bits, value->unicode)) < 0) return 0;
        if (!value->may_have_roles) continue;
        attributes->roles[i] = value->unicode == NULL ? roles_in(tables, value->text, value->length)
                                               : bits_by_python(tables->role_bits, value->unicode);
        if (attributes->roles[i] < 0) return 0;
    }
    return 1;
}

/* Writes, in order, the siblings of the ancestors of blocks at some levels. Roots are siblings. Returns 0 with an
   exception set. */
static int find_siblings(AttributeValues *attributes, const Tree *tree, const Tables *tables) {
    const int64_t *levels = tables->view[SIBLINGS].buf;
    uint8_t *marked = calloc((size_t)tree->n_nodes + 1, 1); /* the first entry is for a missing parent */
    if (marked == NULL) return no_memory() == 0;
    for (Py_ssize_t k = 0; k < length_of(tables, SIBLINGS); k++)
        for (Py_ssize_t i = 0; i < tree->n; i++)
            if (!has_parent_of_last(tree, i)) marked[1 + tree->parent[ancestor(tree, i, levels[k])]] = 1;
    Py_ssize_t n = 0;
    for (Py_ssize_t node = 0; node < tree->n_nodes; node++) { /* without branches, which would be unpredictable */
        attributes->elements[n] = node;
        n += (tree->tag[node] != 0) & marked[1 + tree->parent[node]];
    }
    attributes->n_elements = n;
    free(marked);
    return 1;
}

static void drop(AttributeValues *attributes) {
    Py_XDECREF(attributes->tree);
    free_strings(&attributes->values);
    free(attributes->keywords);
    free(attributes);
}

static void free_attribute_values(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, CAPSULE)); }

const AttributeValues *attribute_values_of(PyObject *capsule, PyObject *tree) {
    const AttributeValues *attributes = PyCapsule_GetPointer(capsule, CAPSULE);
    if (attributes == NULL || attributes->tree == tree) return attributes;
    PyErr_SetString(PyExc_ValueError, "attribute values of another page");
    return NULL;
}

/* Computes all fields; returns 0 with an exception set. */
static int read_attributes(AttributeValues *attributes, const Tree *tree, const Tables *tables) {
    Wanted wanted = {.n = N_ATTRIBUTES, .values = &attributes->values};
    Py_ssize_t size = tree->n_nodes + 1, n_held = tree->n_sets * N_ATTRIBUTES;
    int done = 0;
    for (int k = 0; k < N_ATTRIBUTES; k++) wanted.name[k] = few_bytes(NAMES[k], strlen(NAMES[k]));
    if (make_strings(&attributes->values, n_held) < 0) return 0;
    wanted.of_set = malloc((size_t)n_held * sizeof(int32_t));
    if (wanted.of_set == NULL && no_memory() < 0) goto failed;
    memset(wanted.of_set, 255, (size_t)n_held * sizeof(int32_t)); /* UNKNOWN, bytewise */
    if (!number_nodes(&wanted, tree, tree->ancestor_nodes, tree->n_ancestor_nodes, attributes->numbers)) goto failed;
    attributes->n_values = attributes->values.n;
    attributes->keywords = calloc((size_t)(2 * attributes->n_values), sizeof(int64_t));
    if (attributes->keywords == NULL && no_memory() < 0) goto failed;
    attributes->roles = attributes->keywords + attributes->n_values;
    if (write_keywords(tables, &attributes->values, attributes->n_values, attributes->keywords) < 0) goto failed;
    int were_read;
    LOCKED(were_read = read_by_python(attributes, tables));
    if (!were_read || !find_siblings(attributes, tree, tables)) goto failed;
    memcpy(attributes->classes, attributes->numbers + CLASS * size, (size_t)size * sizeof(int32_t));
    wanted.n = 1;
    if (!number_nodes(&wanted, tree, attributes->elements, attributes->n_elements, attributes->classes)) goto failed;
    const int64_t *groupings = tables->view[GROUPINGS].buf;
    done = 1;
    for (Py_ssize_t grouping = 0; done && grouping < attributes->n_groupings; grouping++)
        done = group_blocks(tree, groupings[2 * grouping], groupings[2 * grouping + 1],
                            attributes->numbers + CLASS * size, attributes->groups + grouping * tree->n) == 0;
failed:
    free(wanted.of_set);
    free_slots(&attributes->values);
    return done;
}

/* new_attribute_values(tree, tables): numbers of the values of attributes, and groups of blocks. */
PyObject *new_attribute_values(PyObject *module, PyObject *arguments) {
    PyObject *page_capsule, *tables_capsule;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &page_capsule, &tables_capsule)) return NULL;
    const Tree *tree = tree_of(page_capsule);
    const Tables *tables = tree == NULL ? NULL : tables_of(tables_capsule);
    if (tables == NULL) return NULL;
    Py_ssize_t n_groupings = length_of(tables, GROUPINGS) / 2, size = tree->n_nodes + 1;
    size_t longs = (size_t)(n_groupings * tree->n + tree->n_nodes), shorts = (size_t)((N_ATTRIBUTES + 1) * size);
    AttributeValues *attributes = calloc(1, sizeof *attributes + longs * sizeof(int64_t) + shorts * sizeof(int32_t));
    if (attributes == NULL) return PyErr_NoMemory();
    attributes->tree = Py_NewRef(page_capsule), attributes->n_groupings = n_groupings;
    attributes->groups = (int64_t *)(attributes + 1), attributes->elements = attributes->groups + n_groupings * tree->n;
    attributes->numbers = (int32_t *)(attributes->elements + tree->n_nodes);
    attributes->classes = attributes->numbers + N_ATTRIBUTES * size;
    PyObject *capsule = NULL;
    int done;
    Py_BEGIN_ALLOW_THREADS;
    done = read_attributes(attributes, tree, tables);
    Py_END_ALLOW_THREADS;
    if (done) capsule = PyCapsule_New(attributes, CAPSULE, free_attribute_values);
    if (capsule == NULL) drop(attributes);
    return capsule;
}

/* block_groups(attributes): group numbers of blocks (n_groupings, n) as bytes of int32. */
PyObject *block_groups(PyObject *module, PyObject *capsule) {
    (void)module;
    const AttributeValues *attributes = PyCapsule_GetPointer(capsule, CAPSULE);
    const Tree *tree = attributes == NULL ? NULL : tree_of(attributes->tree);
    if (tree == NULL) return NULL;
    Py_ssize_t n = attributes->n_groupings * tree->n;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n * (Py_ssize_t)sizeof(int32_t));
    if (bytes == NULL) return NULL;
    int32_t *groups = (int32_t *)PyBytes_AsString(bytes); /* the data of a bytes object is aligned */
    for (Py_ssize_t i = 0; i < n; i++) groups[i] = (int32_t)attributes->groups[i];
    return bytes;
}
