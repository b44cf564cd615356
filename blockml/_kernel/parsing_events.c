/* Python interface of a builder: a capsule, and functions bound to it, so that no call looks up its state. The
   parsers in parsing_libxml2.c and parsing_lexbor.c call the builder through parsing_tags.c instead. */
#include "parsing_builder.h"

static const char *const CAPSULE = "blockml._kernel.builder";

static void builder_free(PyObject *capsule) {
    Builder *b = PyCapsule_GetPointer(capsule, CAPSULE);
    if (b == NULL) return;
    PyObject *held[] = {b->name_properties, b->limit_reached, b->hides, b->invisible,  b->ids,    b->given,
                        b->piece,   b->pieces,        b->spaces,    b->empty_text,   b->blank,  b->text_name,
                        b->head_name, b->body_name,   b->hidden,    b->style};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) Py_XDECREF(held[i]);
    for (Py_ssize_t i = 0; i < b->n; i++) Py_XDECREF(b->text[i]);
    free(b->tag), free(b->parent), free(b->depth), free(b->end), free(b->flags), free(b->path), free(b->tag_properties);
    free(b->set), free(b->pairs), free(b->set_end), free(b->pending), free(b->text);
    free(b);
}

Builder *builder_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, CAPSULE); }

static PyObject *none_unless(int failed) { return failed < 0 ? NULL : Py_NewRef(Py_None); }

static PyObject *start(PyObject *capsule, PyObject *const *argument, Py_ssize_t n) {
    Builder *b = builder_of(capsule);
    if (b == NULL) return NULL;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "start needs a tag and attributes");
    if (b->n_dropped) {
        b->n_dropped++, b->n_unclosed++;
        return Py_NewRef(Py_None);
    }
    Py_ssize_t id = UNKNOWN;
    int held = PyObject_IsTrue(argument[1]), hidden = held > 0 ? builder_mapping_hides(b, argument[1]) : held;
    int32_t set = held > 0 && hidden >= 0 ? builder_add_set(b, argument[1]) : hidden;
    return none_unless(set < 0 ? -1 : builder_start(b, argument[0], &id, set, hidden));
}

static PyObject *end(PyObject *capsule, PyObject *name) {
    Builder *b = builder_of(capsule);
    return b == NULL ? NULL : none_unless(builder_end(b, name, UNKNOWN));
}

static PyObject *data(PyObject *capsule, PyObject *text) {
    Builder *b = builder_of(capsule);
    if (b == NULL) return NULL;
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "data needs a str");
    return none_unless(builder_data(b, text));
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
    PyObject *texts = PyList_New(b->n);
    for (Py_ssize_t i = 0; texts != NULL && i < b->n; i++)
        if (PyList_SetItem(texts, i, Py_NewRef(b->text[i] == NULL ? b->empty_text : b->text[i])) < 0) Py_CLEAR(texts);
    return texts;
}

/* columns(): names, tag, parent, depth, end, flags and texts of Nodes, then the fields of Attributes. */
static PyObject *columns(PyObject *capsule, PyObject *none) {
    Builder *b = builder_of(capsule);
    (void)none;
    if (b == NULL) return NULL;
    return Py_BuildValue("NNNNNNNNONN", PySequence_Tuple(b->ids), bytes_of(b->tag, b->n, 4),
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
    b->ids = PyDict_New(), b->given = PyList_New(0);
    b->pieces = PyList_New(0), b->spaces = PyList_New(0);
    b->empty_text = PyUnicode_FromString(""), b->blank = PyUnicode_InternFromString(" ");
    b->text_name = PyUnicode_InternFromString("#text"), b->head_name = PyUnicode_InternFromString("head");
    b->body_name = PyUnicode_InternFromString("body");
    b->hidden = PyUnicode_InternFromString("hidden"), b->style = PyUnicode_InternFromString("style");
    PyObject *result = NULL;
    if (b->ids && b->given && b->pieces && b->spaces && b->empty_text && b->blank && b->text_name &&
        b->head_name && b->body_name && b->hidden && b->style && builder_new_id(b, b->text_name) == 0 &&
        builder_add_set(b, Py_None) == 0)
        result = PyTuple_New(N_EVENTS);
    for (Py_ssize_t i = 0; result != NULL && i < N_EVENTS; i++) {
        PyObject *bound = PyCFunction_New(&events[i], capsule);
        if (bound == NULL || PyTuple_SetItem(result, i, bound) < 0) Py_CLEAR(result);
    }
    Py_DECREF(capsule); /* the functions hold references */
    return result;
}
