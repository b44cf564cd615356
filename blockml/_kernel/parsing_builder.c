/* Builds nodes from parser events; reference: blockml.parsing.builder. Depth and flags of a node follow from its
   parent's when it is added. */
#include "parsing_builder.h"

/* Kinds of elements, as in builder.py. */
enum { PLAIN, VOID_, DROPPED, HEAD, BODY, PREFORMATTED };
/* Name properties: kind in bits 0-7, flags in bits 8-15, and whether head may contain the element in bit 16. */
enum { KIND = 0xff, FLAGS_AT = 8, HEAD_CONTENT = 1 << 16 };

int widen(void **array, Py_ssize_t room, size_t size) {
    void *wider = (size_t)room > PY_SSIZE_T_MAX / size ? NULL : realloc(*array, (size_t)room * size);
    if (wider == NULL) return no_memory();
    *array = wider;
    return 0;
}

/* Returns the properties of a name; -1 with an exception set. */
static int32_t name_properties_of(Builder *b, PyObject *name) {
    PyObject *held = PyDict_GetItemWithError(b->name_properties, name);
    if (held == NULL) return PyErr_Occurred() ? -1 : 0;
    return (int32_t)PyLong_AsLong(held);
}

/* Returns the number of a name, or -1 without one; -2 with an exception set. */
static Py_ssize_t id_of(Builder *b, PyObject *name) {
    PyObject *held = PyDict_GetItemWithError(b->ids, name);
    if (held == NULL) return PyErr_Occurred() ? -2 : -1;
    return PyLong_AsSsize_t(held);
}

Py_ssize_t builder_new_id(Builder *b, PyObject *name) {
    Py_ssize_t id = PyDict_Size(b->ids);
    if (id >= b->tag_room) {
        Py_ssize_t room = b->tag_room ? 2 * b->tag_room : 64;
        if (widen((void **)&b->tag_properties, room, sizeof(int32_t)) < 0) return -2;
        b->tag_room = room;
    }
    if ((b->tag_properties[id] = name_properties_of(b, name)) < 0) return -2;
    PyObject *number = PyLong_FromSsize_t(id);
    int failed = number == NULL || PyDict_SetItem(b->ids, name, number) < 0;
    Py_XDECREF(number);
    return failed ? -2 : id;
}

/* Adds a node to the innermost open element, with a text or NULL. Returns its index, or -1 with an exception set. */
static Py_ssize_t add(Builder *b, PyObject *name, Py_ssize_t id, int32_t set, PyObject *text, int hidden) {
    Py_ssize_t node = b->n;
    if (node >= b->max_nodes) {
        b->too_many = 1;
        PyErr_SetNone(b->limit_reached);
        return -1;
    }
    if (node >= b->room) {
        Py_ssize_t room = b->room ? 2 * b->room : 1024;
        if (widen((void **)&b->tag, room, 4) < 0 || widen((void **)&b->parent, room, 4) < 0 ||
            widen((void **)&b->depth, room, 4) < 0 || widen((void **)&b->end, room, 4) < 0 ||
            widen((void **)&b->set, room, 4) < 0 || widen((void **)&b->flags, room, 1) < 0 ||
            widen((void **)&b->text, room, sizeof(PyObject *)) < 0)
            return -1;
        b->room = room;
    }
    if (id < 0 && (id = id_of(b, name)) == -1) id = builder_new_id(b, name);
    if (id < 0) return -1;
    int32_t parent = b->n_open ? b->path[b->n_open - 1] : -1;
    b->tag[node] = (int32_t)id;
    b->parent[node] = parent;
    b->depth[node] = (int32_t)b->n_open;
    b->end[node] = (int32_t)node + 1;
    b->set[node] = set;
    b->text[node] = text == NULL ? NULL : Py_NewRef(text);
    b->flags[node] = (uint8_t)((parent < 0 ? 0 : b->flags[parent]) | (b->tag_properties[id] >> FLAGS_AT & 0xff) | hidden);
    b->n++;
    return node;
}

static int open_node(Builder *b, Py_ssize_t node) {
    if (b->n_open >= b->path_room) {
        Py_ssize_t room = b->path_room ? 2 * b->path_room : 64;
        if (widen((void **)&b->path, room, sizeof(int32_t)) < 0) return -1;
        b->path_room = room;
    }
    b->path[b->n_open++] = (int32_t)node;
    return 0;
}

static void close_node(Builder *b) {
    b->n_open--;
    b->end[b->path[b->n_open]] = (int32_t)b->n;
}

static int leave_head(Builder *b) {
    b->head_level = 0;
    close_node(b);
    Py_ssize_t node = add(b, b->body_name, -1, 0, NULL, 0);
    return node < 0 ? -1 : open_node(b, node);
}

static int clear_list(PyObject *list) {
    return PyList_Size(list) ? PyList_SetSlice(list, 0, PyList_Size(list), NULL) : 0;
}

/* Whether white space outside of preformatted elements may be an indent: it is on one line and more than a blank. */
static int is_indent(PyObject *text) {
    Py_ssize_t length = PyUnicode_GetLength(text);
    if (length < 1 || (length == 1 && PyUnicode_ReadChar(text, 0) == ' ')) return 0;
    return PyUnicode_FindChar(text, '\n', 0, length, 1) == -1;
}

static int store_space(Builder *b, PyObject *text) {
    if (PyUnicode_GetLength(text) > 0) b->has_space = 1;
    if (b->n_preformatted) return PyList_Append(b->spaces, text);
    return is_indent(text) && (clear_list(b->spaces) < 0 || PyList_Append(b->spaces, text) < 0) ? -1 : 0;
}

static int clear_space(Builder *b) {
    if (!b->has_space) return 0; /* an empty text may be stored, which changes nothing */
    b->has_space = 0;
    return clear_list(b->spaces);
}

/* Returns the text since the last tag and clears it; new reference. */
static PyObject *take_text(Builder *b) {
    PyObject *text = b->piece;
    b->piece = NULL;
    if (PyList_Size(b->pieces)) {
        int failed = PyList_Insert(b->pieces, 0, text) < 0;
        Py_DECREF(text);
        text = failed ? NULL : PyUnicode_Join(b->empty_text, b->pieces);
        if (clear_list(b->pieces) < 0) Py_CLEAR(text);
    }
    return text;
}

/* Returns a text with the white space before it; a new reference that replaces `text`. */
static PyObject *spaced(Builder *b, PyObject *text) {
    int is_kept = b->n_preformatted || PyList_Size(b->spaces);
    PyObject *space = is_kept ? PyUnicode_Join(b->empty_text, b->spaces) : Py_NewRef(b->blank);
    PyObject *whole = space == NULL ? NULL : PyUnicode_Concat(space, text);
    Py_XDECREF(space);
    Py_DECREF(text);
    if (clear_space(b) < 0) Py_CLEAR(whole);
    return whole;
}

/* Adds a text node; takes over the reference `text`, which is NULL with an exception set. */
static int add_text(Builder *b, PyObject *text, int kind) {
    if (text == NULL) return -1;
    if (kind == UNKNOWN) kind = text_kind(text);
    if (kind == TEXT_INVISIBLE) {
        PyObject *cleaned = PyObject_CallMethod(b->invisible, "sub", "OO", b->empty_text, text);
        Py_DECREF(text);
        if ((text = cleaned) == NULL) return -1;
        kind = PyUnicode_GetLength(text) ? text_kind(text) : TEXT_BLANK;
    }
    int failed = kind < 0;
    if (kind == TEXT_BLANK) {
        failed = store_space(b, text) < 0; /* it only separates its neighbours and is prepended to the next text */
    } else if (!failed) {
        failed = b->head_level && b->n_open == b->head_level && leave_head(b) < 0;
        if (!failed && b->has_space) failed = (text = spaced(b, text)) == NULL;
        if (!failed) failed = add(b, b->text_name, 0, 0, text, 0) < 0;
    }
    Py_XDECREF(text);
    return failed ? -1 : 0;
}

static int add_piece(Builder *b, PyObject *text) {
    if (b->piece != NULL) return PyList_Append(b->pieces, text);
    b->piece = Py_NewRef(text);
    return 0;
}

/* Decodes the pending text, optionally with a blank before it, and clears it; new reference. */
static PyObject *take_pending(Builder *b, int with_blank) {
    PyObject *text = PyUnicode_DecodeUTF8(b->pending + !with_blank, (Py_ssize_t)b->n_pending + with_blank, NULL);
    b->n_pending = 0;
    return text;
}

/* Moves the pending text to the pieces that came as str. */
static int decode_pending(Builder *b) {
    if (!b->n_pending) return 0;
    PyObject *text = take_pending(b, 0);
    int failed = text == NULL || add_piece(b, text) < 0;
    Py_XDECREF(text);
    return failed ? -1 : 0;
}

static int has_text(const Builder *b) { return b->piece != NULL || b->n_pending; }

/* Adds the text since the last tag. */
static int flush(Builder *b) {
    if (b->piece != NULL) return decode_pending(b) < 0 ? -1 : add_text(b, take_text(b), UNKNOWN);
    if (!b->n_pending) return 0;
    memset(b->pending + 1 + b->n_pending, ' ', BYTES_BEHIND);
    int kind = utf8_kind(b->pending + 1, (Py_ssize_t)b->n_pending);
    if (b->n_preformatted || kind == TEXT_INVISIBLE || kind == UNKNOWN) return add_text(b, take_pending(b, 0), kind);
    if (kind == TEXT_BLANK) {
        int is_single = b->n_pending == 1 && b->pending[1] == ' ';
        if (!is_single && memchr(b->pending + 1, '\n', b->n_pending) == NULL) return add_text(b, take_pending(b, 0), kind);
        b->n_pending = 0, b->has_space = 1; /* like most texts: line breaks of the source */
        return 0;
    }
    int with_blank = b->has_space;
    if (with_blank && PyList_Size(b->spaces)) return add_text(b, take_pending(b, 0), kind);
    return clear_space(b) < 0 ? -1 : add_text(b, take_pending(b, with_blank), kind);
}

int builder_start(Builder *b, PyObject *name, Py_ssize_t *id, int32_t set, int hidden) {
    b->n_unclosed++;
    if (b->n_dropped) {
        b->n_dropped++;
        return 0;
    }
    if (has_text(b) && flush(b) < 0) return -1;
    if (*id < 0 && (*id = id_of(b, name)) < -1) return -1;
    int32_t properties = *id < 0 ? name_properties_of(b, name) : b->tag_properties[*id];
    if (properties < 0) return -1;
    int kind = properties & KIND;
    if (b->head_level && b->n_open == b->head_level && !(properties & HEAD_CONTENT) && leave_head(b) < 0) return -1;
    if (kind == BODY && !b->has_head) {
        b->has_head = 1;
        if (add(b, b->head_name, -1, 0, NULL, 0) < 0) return -1;
    }
    Py_ssize_t node = add(b, name, *id, set, NULL, hidden);
    if (node < 0) return -1;
    *id = b->tag[node];
    if (kind == VOID_) return 0; /* not opened, because libxml2 puts text into void elements that it doesn't know */
    if (kind == DROPPED) {
        b->n_dropped = 1;
    } else if (b->n_open >= b->max_depth) {
        b->too_deep = 1;
        b->n_flattened++;
    } else {
        if (open_node(b, node) < 0) return -1;
        if (kind == HEAD) {
            b->has_head = 1;
            b->head_level = b->n_open;
        } else if (kind == PREFORMATTED) {
            b->n_preformatted++;
            if (clear_space(b) < 0) return -1;
        }
    }
    return 0;
}

int builder_end(Builder *b, PyObject *name, Py_ssize_t id) {
    if (b->n_unclosed) b->n_unclosed--;
    if (b->n_dropped) {
        b->n_dropped--;
        return 0;
    }
    if (has_text(b) && flush(b) < 0) return -1;
    if (id < 0 && name == NULL) {
        PyErr_SetString(PyExc_SystemError, "an end tag has neither a name nor a number");
        return -1;
    }
    if (id < 0) id = id_of(b, name);
    int32_t properties = id < 0 ? id < -1 ? -1 : name_properties_of(b, name) : b->tag_properties[id];
    if (properties < 0) return -1;
    if ((properties & KIND) == VOID_ || !b->n_open) return 0;
    if (b->n_flattened) {
        b->n_flattened--;
        return builder_text(b, " ", 1); /* the end of a flattened element still separates texts */
    }
    if (b->n_open == b->head_level) b->head_level = 0;
    close_node(b);
    if ((properties & KIND) == PREFORMATTED && b->n_preformatted) { /* ends may exceed starts */
        b->n_preformatted--;
        if (!b->n_preformatted) return clear_list(b->spaces);
    }
    return 0;
}

int builder_text(Builder *b, const char *text, size_t length) {
    if (b->n_dropped) return 0;
    size_t begin = 1 + b->n_pending, end = begin + length + BYTES_BEHIND;
    if (end > b->pending_room) {
        if (widen((void **)&b->pending, (Py_ssize_t)(2 * end), 1) < 0) return -1;
        b->pending_room = 2 * end;
        b->pending[0] = ' ';
    }
    memcpy(b->pending + begin, text, length);
    b->n_pending += length;
    return 0;
}

size_t builder_text_length(const Builder *b) { return b->n_pending; }

void builder_truncate_text(Builder *b, size_t mark) { b->n_pending = mark; }

int builder_data(Builder *b, PyObject *text) {
    if (b->n_dropped) return 0;
    return decode_pending(b) < 0 ? -1 : add_piece(b, text);
}

int builder_is_dropping(const Builder *b) { return b->n_dropped > 0; }

int builder_spend(Builder *b, Py_ssize_t n_tags) {
    b->steps += (int64_t)b->n_unclosed * n_tags; /* both are below 2**31 */
    b->too_costly = b->steps > b->max_steps;
    return !b->too_costly;
}

int builder_close(Builder *b) {
    int failed = has_text(b) && !b->n_dropped && flush(b) < 0;
    while (b->n_open) close_node(b); /* also if the text exceeds the node limit */
    return failed ? -1 : 0;
}
