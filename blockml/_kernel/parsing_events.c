/* Python interface of a builder: a capsule, and functions bound to it, so that no call looks up its state. The
   parsers in parsing_libxml2.c and parsing_lexbor.c call the builder itself. */
#include "parsing_builder.h"

static const char *const CAPSULE = "blockml._kernel.builder";

static void builder_free(PyObject *capsule) {
    Builder *b = PyCapsule_GetPointer(capsule, CAPSULE);
    if (b == NULL) return;
    PyObject *held[] = {b->name_properties, b->limit_reached, b->hides, b->invisible, b->given};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) Py_XDECREF(held[i]);
    free(b->tag), free(b->parent), free(b->depth), free(b->end), free(b->flags), free(b->path), free(b->name);
    free(b->set), free(b->pairs), free(b->set_end), free(b->texts), free(b->text_end);
    free_strings(&b->names);
    free(b);
}

Builder *builder_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

Builder *parser_arguments(PyObject *capsule, PyObject *arguments, const char **source, Py_ssize_t *length,
                          void **function, Py_ssize_t n) {
    PyObject *page, *addresses;
    char *bytes;
    if (!PyArg_ParseTuple(arguments, "SO!", &page, &PyTuple_Type, &addresses)) return NULL;
    if (PyTuple_Size(addresses) != n) return (void *)PyErr_Format(PyExc_TypeError, "expected %zd addresses", n);
    for (Py_ssize_t i = 0; i < n; i++) {
        function[i] = PyLong_AsVoidPtr(PyTuple_GetItem(addresses, i));
        if (PyErr_Occurred()) return NULL;
        if (function[i] == NULL) return (void *)PyErr_Format(PyExc_ValueError, "the address of a function is 0");
    }
    if (PyBytes_AsStringAndSize(page, &bytes, length) < 0) return NULL;
    *source = bytes;
    return builder_of(capsule);
}

static PyObject *none_unless(int failed) { return failed < 0 ? NULL : Py_NewRef(Py_None); }

/* Returns the number of a name that came as a str. */
static int32_t name_of(Builder *b, PyObject *name) {
    Py_ssize_t length;
    const char *utf8 = PyUnicode_AsUTF8AndSize(name, &length);
    if (utf8 != NULL) return builder_name(b, utf8, (size_t)length, name);
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return -1;
    PyErr_Clear(); /* lone surrogates */
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass");
    int32_t number = bytes == NULL ? -1 : builder_name(b, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), bytes);
    Py_XDECREF(bytes);
    return number;
}

static PyObject *start(PyObject *capsule, PyObject *const *argument, Py_ssize_t n) {
    Builder *b = builder_of(capsule);
    if (b == NULL) return NULL;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "start needs a tag and attributes");
    int32_t name = name_of(b, argument[0]);
    int held = name < 0 ? -1 : b->n_dropped ? 0 : PyObject_IsTrue(argument[1]);
    int hidden = held > 0 ? builder_mapping_hides(b, argument[1]) : held;
    int32_t set = held > 0 && hidden >= 0 ? builder_add_set(b, argument[1]) : hidden;
    return none_unless(set < 0 ? -1 : builder_start(b, name, set, hidden));
}

static PyObject *end(PyObject *capsule, PyObject *name) {
    Builder *b = builder_of(capsule);
    int32_t number = b == NULL ? -1 : name_of(b, name);
    return number < 0 ? NULL : none_unless(builder_end(b, number));
}

static PyObject *data(PyObject *capsule, PyObject *text) {
    Builder *b = builder_of(capsule);
    PyObject *bytes = b == NULL ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    int failed = bytes == NULL ? -1 : builder_text(b, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_XDECREF(bytes);
    return none_unless(failed);
}

static PyObject *close_all(PyObject *capsule, PyObject *none) {
    Builder *b = builder_of(capsule);
    (void)none;
    return b == NULL ? NULL : none_unless(builder_close(b));
}

static PyObject *spend(PyObject *capsule, PyObject *n_tags) {
    Builder *b = builder_of(capsule);
    Py_ssize_t n = PyLong_AsSsize_t(n_tags);
    if (b == NULL || (n == -1 && PyErr_Occurred())) return NULL;
    if (n < 0 || n > INT32_MAX) return PyErr_Format(PyExc_ValueError, "%zd tags are too many or too few", n);
    return PyBool_FromLong(builder_spend(b, n));
}

static PyObject *limits_hit(PyObject *capsule, PyObject *none) {
    Builder *b = builder_of(capsule);
    (void)none;
    if (b == NULL) return NULL;
    return Py_BuildValue("NNN", PyBool_FromLong(b->too_deep), PyBool_FromLong(b->too_many),
                         PyBool_FromLong(b->too_costly));
}

static PyObject *bytes_of(const void *array, Py_ssize_t n, Py_ssize_t size) {
    return PyByteArray_FromStringAndSize(array, n * size);
}

/* Returns a list of all texts, allocated at its final size. */
static PyObject *texts_of(const Builder *b) {
    PyObject *texts = PyList_New(b->n), *none = PyUnicode_FromString("");
    int64_t begin = 0;
    for (Py_ssize_t i = 0; texts != NULL && i < b->n; begin = b->text_end[i++]) {
        int64_t length = b->text_end[i] - begin;
        PyObject *text = length ? PyUnicode_DecodeUTF8(b->texts + begin, (Py_ssize_t)length, "surrogatepass")
                                : Py_XNewRef(none);
        if (text == NULL || PyList_SetItem(texts, i, text) < 0) Py_CLEAR(texts);
    }
    Py_XDECREF(none);
    return texts;
}

/* Returns the names of nodes, in the order of their numbers. */
static PyObject *names_of(const Builder *b) {
    PyObject *names = PyTuple_New(b->n_tags);
    for (Py_ssize_t i = 0; names != NULL && i < b->names.n; i++) {
        const StringEntry *name = &b->names.items[i];
        if (b->name[i].tag < 0) continue;
        PyObject *text = name->owner != NULL && PyUnicode_Check(name->owner)
                             ? Py_NewRef(name->owner)
                             : PyUnicode_DecodeUTF8(name->text, (Py_ssize_t)name->length, "surrogatepass");
        if (text == NULL || PyTuple_SetItem(names, b->name[i].tag, text) < 0) Py_CLEAR(names);
    }
    return names;
}

PyObject *list_of_given(Builder *b) {
    while (PyList_Size(b->given) < b->n_sets)
        if (PyList_Append(b->given, Py_None) < 0) return NULL;
    return b->given;
}

/* columns(): names, tag, parent, depth, end, flags and texts of Nodes, then the fields of Attributes. */
static PyObject *columns(PyObject *capsule, PyObject *none) {
    Builder *b = builder_of(capsule);
    (void)none;
    if (b == NULL || list_of_given(b) == NULL) return NULL;
    return Py_BuildValue("NNNNNNNNONN", names_of(b), bytes_of(b->tag, b->n, 4),
                         bytes_of(b->parent, b->n, 4), bytes_of(b->depth, b->n, 4), bytes_of(b->end, b->n, 4),
                         bytes_of(b->flags, b->n, 1), texts_of(b), bytes_of(b->set, b->n, 4), b->given,
                         PyBytes_FromStringAndSize(b->pairs, (Py_ssize_t)b->pairs_length), bytes_of(b->set_end, b->n_sets, 8));
}

static PyMethodDef events[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_FASTCALL, NULL},
    {"end", end, METH_O, NULL},
    {"data", data, METH_O, NULL},
    {"close", close_all, METH_NOARGS, NULL},
    {"spend", spend, METH_O, NULL},
    {"limits_hit", limits_hit, METH_NOARGS, NULL},
    {"columns", columns, METH_NOARGS, NULL},
    {"parse_libxml2", parse_libxml2, METH_VARARGS, NULL},
    {"parse_lexbor", parse_lexbor, METH_VARARGS, NULL},
};
enum { N_EVENTS = sizeof events / sizeof *events };
enum { MOST_NAMES = 256 }; /* further ones are found more slowly */

/* Numbers the names with properties, and that of texts, which is the first tag. */
static int add_names(Builder *b) {
    PyObject *name, *properties;
    Py_ssize_t at = 0;
    if (make_strings(&b->names, MOST_NAMES) < 0 || widen((void **)&b->name, MOST_NAMES, sizeof(Name)) < 0) return -1;
    b->name_room = MOST_NAMES;
    b->name[0] = (Name){UNKNOWN, 0}; /* the empty name */
    while (PyDict_Next(b->name_properties, &at, &name, &properties)) {
        int32_t number = name_of(b, name);
        if (number < 0 || ((b->name[number].properties = (int32_t)PyLong_AsLong(properties)) < 0)) return -1;
    }
    b->text_name = builder_name(b, "#text", 5, NULL), b->head_name = builder_name(b, "head", 4, NULL);
    b->body_name = builder_name(b, "body", 4, NULL);
    if (b->text_name < 0 || b->head_name < 0 || b->body_name < 0) return -1;
    b->name[b->text_name].tag = b->n_tags++;
    return 0;
}

/* nodes_builder(name_properties, max_nodes, max_depth, max_steps, limit_reached, hides, invisible): the functions
   above, bound to a new builder. */
PyObject *nodes_builder(PyObject *module, PyObject *arguments) {
    PyObject *name_properties, *limit_reached, *hides, *invisible;
    Py_ssize_t max_nodes, max_depth;
    long long max_steps;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!nnLOOO", &PyDict_Type, &name_properties, &max_nodes, &max_depth, &max_steps,
                          &limit_reached, &hides, &invisible))
        return NULL;
    Builder *b = calloc(1, sizeof(Builder));
    if (b == NULL) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(b, CAPSULE, builder_free);
    if (capsule == NULL) {
        free(b);
        return NULL;
    }
    b->max_nodes = max_nodes < INT32_MAX ? max_nodes : INT32_MAX - 1;
    b->max_depth = max_depth;
    b->max_steps = max_steps;
    b->name_properties = Py_NewRef(name_properties), b->limit_reached = Py_NewRef(limit_reached);
    b->hides = Py_NewRef(hides), b->invisible = Py_NewRef(invisible);
    PyObject *result = NULL;
    if ((b->given = PyList_New(0)) != NULL && add_names(b) == 0 && builder_add_set(b, NULL) == 0)
        result = PyTuple_New(N_EVENTS);
    for (Py_ssize_t i = 0; result != NULL && i < N_EVENTS; i++) {
        PyObject *bound = PyCFunction_New(&events[i], capsule);
        if (bound == NULL || PyTuple_SetItem(result, i, bound) < 0) Py_CLEAR(result);
    }
    Py_DECREF(capsule); /* the functions hold references */
    return result;
}
