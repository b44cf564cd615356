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

int32_t builder_name(Builder *b, const char *name, size_t length, PyObject *owner) {
    Py_ssize_t n = b->names.n;
    int32_t number = number_of_string(&b->names, name, length, owner);
    if (number < n) return number;
    StringEntry *added = &b->names.items[number];
    if (owner == NULL && (added->copy = malloc(length)) == NULL) return no_memory();
    if (owner == NULL) added->text = memcpy(added->copy, name, length);
    if (n >= b->name_room) {
        Py_ssize_t room = 2 * n + 64;
        if (widen((void **)&b->name, room, sizeof(Name)) < 0) return -1;
        b->name_room = room;
    }
    b->name[number] = (Name){UNKNOWN, 0};
    return number;
}

/* Adds a node to the innermost open element. Returns its index, or -1 with an exception set. */
static Py_ssize_t add(Builder *b, int32_t name, int32_t set, int hidden) {
    Py_ssize_t node = b->n;
    if (node >= b->max_nodes) {
        b->too_many = 1;
        LOCKED(PyErr_SetNone(b->limit_reached));
        return -1;
    }
    if (node >= b->room) {
        Py_ssize_t room = b->room ? 2 * b->room : 1024;
        if (widen((void **)&b->tag, room, 4) < 0 || widen((void **)&b->parent, room, 4) < 0 ||
            widen((void **)&b->depth, room, 4) < 0 || widen((void **)&b->end, room, 4) < 0 ||
            widen((void **)&b->set, room, 4) < 0 || widen((void **)&b->flags, room, 1) < 0 ||
            widen((void **)&b->text_end, room, sizeof(int64_t)) < 0)
            return -1;
        b->room = room;
    }
    Name *its = &b->name[name];
    if (its->tag < 0) its->tag = b->n_tags++;
    int32_t parent = b->n_open ? b->path[b->n_open - 1] : -1;
    b->tag[node] = its->tag;
    b->parent[node] = parent;
    b->depth[node] = (int32_t)b->n_open;
    b->end[node] = (int32_t)node + 1;
    b->set[node] = set;
    b->text_end[node] = (int64_t)b->n_texts;
    b->flags[node] = (uint8_t)((parent < 0 ? 0 : b->flags[parent]) | (its->properties >> FLAGS_AT & 0xff) | hidden);
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
    Py_ssize_t node = add(b, b->body_name, 0, 0);
    return node < 0 ? -1 : open_node(b, node);
}

/* Returns the text since the last tag. */
static char *pending(Builder *b) { return b->texts + b->n_texts + b->n_space; }

/* Removes invisible characters from the pending text. Returns the kind of the rest, or -1 with an exception set. */
static int remove_invisible(Builder *b) {
    PyObject *text = PyUnicode_DecodeUTF8(pending(b), (Py_ssize_t)b->n_pending, "surrogatepass");
    PyObject *rest = text == NULL ? NULL : PyObject_CallMethod(b->invisible, "sub", "sO", "", text);
    PyObject *bytes = rest == NULL ? NULL : PyUnicode_AsEncodedString(rest, "utf-8", "surrogatepass");
    if (bytes != NULL) {
        b->n_pending = (size_t)PyBytes_Size(bytes); /* not longer than before */
        memcpy(pending(b), PyBytes_AsString(bytes), b->n_pending);
        memset(pending(b) + b->n_pending, ' ', BYTES_BEHIND);
    }
    Py_XDECREF(text);
    Py_XDECREF(rest);
    Py_XDECREF(bytes);
    return bytes == NULL ? -1 : b->n_pending ? utf8_kind(pending(b), (Py_ssize_t)b->n_pending) : TEXT_BLANK;
}

/* Keeps pending white space for the next text: one blank, unless it is preformatted or may be an indent, which is on one
   line and more than a blank. */
static void store_space(Builder *b) {
    const char *text = pending(b);
    if (b->n_preformatted || !b->n_pending) {
        b->n_space += b->n_pending;
    } else if (!(b->n_pending == 1 && *text == ' ') && memchr(text, '\n', b->n_pending) == NULL) {
        memmove(b->texts + b->n_texts, text, b->n_pending);
        b->n_space = b->n_pending;
    } else if (!b->n_space) {
        b->texts[b->n_texts] = ' ', b->n_space = 1;
    }
    b->n_pending = 0;
}

/* Adds the text since the last tag. */
static int flush(Builder *b) {
    memset(pending(b) + b->n_pending, ' ', BYTES_BEHIND);
    int kind = utf8_kind(pending(b), (Py_ssize_t)b->n_pending);
    if (kind == TEXT_INVISIBLE) LOCKED(kind = remove_invisible(b));
    if (kind < 0) return -1;
    if (kind == TEXT_BLANK) { /* like most texts: it only separates its neighbours and is prepended to the next text */
        store_space(b);
        return 0;
    }
    if (b->head_level && b->n_open == b->head_level && leave_head(b) < 0) return -1;
    Py_ssize_t node = add(b, b->text_name, 0, 0);
    if (node >= 0) b->text_end[node] = (int64_t)(b->n_texts += b->n_space + b->n_pending);
    b->n_space = b->n_pending = 0;
    return node < 0 ? -1 : 0;
}

int builder_start(Builder *b, int32_t name, int32_t set, int hidden) {
    b->n_unclosed++;
    if (b->n_dropped) {
        b->n_dropped++;
        return 0;
    }
    if (b->n_pending && flush(b) < 0) return -1;
    int32_t properties = b->name[name].properties;
    int kind = properties & KIND;
    if (b->head_level && b->n_open == b->head_level && !(properties & HEAD_CONTENT) && leave_head(b) < 0) return -1;
    if (kind == BODY && !b->has_head) {
        b->has_head = 1;
        if (add(b, b->head_name, 0, 0) < 0) return -1;
    }
    Py_ssize_t node = add(b, name, set, hidden);
    if (node < 0) return -1;
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
            b->n_space = 0;
        }
    }
    return 0;
}

int builder_start_pending(Builder *b, int32_t name) {
    int hidden = 0;
    int32_t set = b->n_pending_bytes ? builder_pending_set(b, &hidden) : 0;
    return set < 0 ? -1 : builder_start(b, name, set, hidden);
}

int builder_end(Builder *b, int32_t name) {
    if (b->n_unclosed) b->n_unclosed--;
    if (b->n_dropped) {
        b->n_dropped--;
        return 0;
    }
    if (b->n_pending && flush(b) < 0) return -1;
    int kind = b->name[name].properties & KIND;
    if (kind == VOID_ || !b->n_open) return 0;
    if (b->n_flattened) {
        b->n_flattened--;
        return builder_text(b, " ", 1); /* the end of a flattened element still separates texts */
    }
    if (b->n_open == b->head_level) b->head_level = 0;
    close_node(b);
    if (kind == PREFORMATTED && b->n_preformatted && !--b->n_preformatted && b->n_space) /* ends may exceed starts */
        b->texts[b->n_texts] = ' ', b->n_space = 1;
    return 0;
}

int builder_text(Builder *b, const char *text, size_t length) {
    if (b->n_dropped || !length) return 0;
    size_t begin = b->n_texts + b->n_space + b->n_pending, end = begin + length + BYTES_BEHIND;
    if (end > b->texts_room) {
        if (widen((void **)&b->texts, (Py_ssize_t)(2 * end), 1) < 0) return -1;
        b->texts_room = 2 * end;
    }
    memcpy(b->texts + begin, text, length);
    b->n_pending += length;
    return 0;
}

int builder_spend(Builder *b, Py_ssize_t n_tags) {
    b->steps += (int64_t)b->n_unclosed * n_tags; /* both are below 2**31 */
    b->too_costly = b->steps > b->max_steps;
    return !b->too_costly;
}

int builder_close(Builder *b) {
    int failed = b->n_pending && !b->n_dropped && flush(b) < 0;
    while (b->n_open) close_node(b); /* also if the text exceeds the node limit */
    return failed ? -1 : 0;
}
