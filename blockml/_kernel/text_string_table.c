/* Table that numbers unique strings in the order of first occurrence.

   Strings stay in the memory of a page's tree or mapping, and a str is created only for strings that are not ASCII:
   creating a str and looking it up in a dict costs more than the use of most strings. */
#include "text_bytes.h"
#include "text_string_table.h"

/* Maximum number of probed slots; more indicate strings chosen to collide, which go to a dict. */
enum { MOST_PROBES = 64 };

static int is_ascii(const char *text, size_t length) {
    uint64_t all = 0;
    for (; length >= 8; length -= 8, text += 8) all |= eight_bytes(text);
    while (length--) all |= (unsigned char)*text++;
    return !(all & all_of(128));
}

/* Decodes UTF-8. */
static PyObject *decoded(const char *text, size_t length, int with_surrogates) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, with_surrogates ? "surrogatepass" : NULL);
}

/* Adds a string and returns its number. */
static int32_t add(StringTable *values, const char *text, size_t length, PyObject *owner) {
    if (values->n >= values->room) {
        Py_ssize_t room = 2 * values->room + 64;
        if (room >= INT32_MAX) {
            LOCKED(PyErr_SetString(PyExc_OverflowError, "too many strings"));
            return -1;
        }
        if (widen((void **)&values->items, room, sizeof(StringEntry)) < 0) return -1;
        values->room = room;
    }
    StringEntry value = {text, length, NULL, NULL, NULL, 0, 0};
    if (!is_ascii(text, length)) {
        LOCKED(int has_str = owner != NULL && PyUnicode_Check(owner);
               value.unicode = has_str ? Py_NewRef(owner) : decoded(text, length, owner != NULL));
        if (value.unicode == NULL) return -1;
    }
    value.owner = Py_XNewRef(owner);
    values->items[values->n] = value;
    return (int32_t)values->n++;
}

/* Returns the number of a string that found no slot. */
static int32_t number_in_overflow(StringTable *values, const char *text, size_t length, PyObject *owner) {
    int32_t number = -1;
    if (values->overflow == NULL && (values->overflow = PyDict_New()) == NULL) return -1;
    PyObject *key = PyBytes_FromStringAndSize(text, (Py_ssize_t)length), *held = NULL;
    if (key != NULL && (held = PyDict_GetItemWithError(values->overflow, key)) != NULL) {
        number = (int32_t)PyLong_AsLong(held);
    } else if (key != NULL && !PyErr_Occurred() && (number = add(values, text, length, owner)) >= 0) {
        held = PyLong_FromLong(number);
        if (held == NULL || PyDict_SetItem(values->overflow, key, held) < 0) number = -1;
        Py_XDECREF(held);
    }
    Py_XDECREF(key);
    return number;
}

int32_t number_of_string(StringTable *values, const char *text, size_t length, PyObject *owner) {
    if (length == 0) return 0;
    size_t at = (size_t)hash_of_bytes(text, length) & values->mask;
    for (int probes = 0; probes < MOST_PROBES; probes++, at = (at + 1) & values->mask) {
        int32_t number = values->slots[at];
        if (number == 0) {
            if ((number = add(values, text, length, owner)) > 0) values->slots[at] = number;
            return number;
        }
        const StringEntry *value = &values->items[number];
        if (value->length == length && memcmp(value->text, text, length) == 0) return number;
    }
    int32_t number;
    LOCKED(number = number_in_overflow(values, text, length, owner));
    return number;
}

int32_t number_of_str(StringTable *values, PyObject *text) {
    Py_ssize_t length;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    if (utf8 != NULL) return number_of_string(values, utf8, (size_t)length, text);
    PyErr_Clear(); /* lone surrogates */
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    int32_t number = -1;
    if (bytes != NULL)
        number = number_of_string(values, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), bytes);
    Py_XDECREF(bytes);
    return number;
}

int make_strings(StringTable *values, Py_ssize_t most) {
    size_t n_slots = 64;
    while (n_slots < 2 * (size_t)most) n_slots *= 2;
    values->mask = n_slots - 1;
    values->slots = calloc(n_slots, sizeof(int32_t));
    if (values->slots == NULL) return no_memory();
    return add(values, "", 0, NULL) < 0 ? -1 : 0;
}

void free_slots(StringTable *values) {
    free(values->slots);
    if (values->overflow != NULL) LOCKED(Py_CLEAR(values->overflow));
    values->slots = NULL;
}

void free_strings(StringTable *values) {
    free_slots(values);
    for (Py_ssize_t i = 0; i < values->n; i++) {
        Py_XDECREF(values->items[i].unicode);
        Py_XDECREF(values->items[i].owner);
        free(values->items[i].copy);
    }
    free(values->items);
}
