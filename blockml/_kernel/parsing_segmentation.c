/* Nodes to blocks in one pass: the twin of blockml.parsing.segmentation, whose rules these are.

   Between two texts only two things matter: which kinds of elements were opened, and which were closed. Both are sets
   of bits, and what closes before a node is noted at it when the element is met: no stack of open nodes is needed. */
#include "parsing_block_text.h"
#include <stdlib.h>
#include <string.h>

/* What segmentation.py says of a name. The layouts stand in the order of their separators. */
enum { SEPARATES = 1, PART = 2, CELL = 4, LINE = 8, PARAGRAPH = 16, VOID_ = 32 };
/* Joint and Flag in page.py. */
enum { JOINT_GLUED, JOINT_SPACE, JOINT_CELL, JOINT_LINE, JOINT_PARAGRAPH };
enum { HEAD = 1, LINK = 2, DROPPED = 32 };
/* As in segmentation.py. */
enum { FIRST_IDEOGRAPH = 0x2e80 };

/* The columns of Blocks, in the order in which they are given back; those from FLAGS on are of 8 bits. */
enum { N_WORDS, N_LINKED, FIRST_LINE, LAST_LINE, PARENT, NODE, LAST_NODE, FLAGS, JOINTS, N_COLUMNS };

typedef struct {
    int32_t column[N_COLUMNS];
    PyObject *text; /* NULL while it is gathered */
} Row;

/* What closes before a node, and how many lines the end tags there fill. */
typedef struct {
    int32_t n_lines;
    uint8_t closed;
} Ends;

typedef struct {
    const int32_t *tag, *parent, *depth, *end;
    const uint8_t *flags, *properties;
    Py_ssize_t n;
    Row *rows; /* of the blocks so far */
    Py_ssize_t n_rows, room;
    Gathered text;            /* of the last of them */
    int opened, closed;       /* since the last text */
    int32_t line;             /* of the node at hand */
    int32_t lowest, shallow;  /* depth of the shallowest node after the block's first text, and after the last text */
    Py_UCS4 left;             /* last character of the last text */
} Cutter;

static int end_block(Cutter *c) {
    Row *row = &c->rows[c->n_rows - 1];
    if ((row->text = gathered_text(&c->text)) == NULL) return -1;
    /* The shallowest node after the first text is a child of the deepest element that holds all. */
    int32_t above = c->parent[row->column[NODE]];
    if (c->text.only == NULL)
        while (above >= 0 && c->depth[above] >= c->lowest) above = c->parent[above];
    row->column[PARENT] = above;
    return 0;
}

static int begin_block(Cutter *c, int32_t node, PyObject *text, int joint) {
    if (c->n_rows >= c->room) {
        Py_ssize_t room = 2 * c->room + 128;
        if (widen((void **)&c->rows, room, sizeof(Row)) < 0) return -1;
        c->room = room;
    }
    gathered_begin(&c->text, text);
    c->lowest = INT32_MAX;
    c->rows[c->n_rows++] =
        (Row){{[FIRST_LINE] = c->line, [NODE] = node, [FLAGS] = c->flags[node], [JOINTS] = joint}, NULL};
    return 0;
}

static int joint_of(const Cutter *c, Py_UCS4 right) {
    int met = c->opened | c->closed;
    if (met & PARAGRAPH) return JOINT_PARAGRAPH;
    if (met & LINE) return JOINT_LINE;
    if (met & CELL) return JOINT_CELL;
    int before = c->text.classes[c->left], after = c->text.classes[right];
    if ((before | after) & SPACE) return JOINT_SPACE;
    /* Two inline siblings without a space between them are two words to a reader. */
    int words = (c->opened & c->closed & PART) && (before & after & ALNUM);
    return words && c->left < FIRST_IDEOGRAPH && right < FIRST_IDEOGRAPH ? JOINT_SPACE : JOINT_GLUED;
}

/* Adds a text to its block. Returns 0, or -1 with an exception set. */
static int add_text(Cutter *c, int32_t node, PyObject *text) {
    if (gathered_read(&c->text, text) < 0) return -1;
    int is_first = c->n_rows == 0, joint = is_first ? JOINT_PARAGRAPH : joint_of(c, c->text.right);
    if (is_first || ((c->opened | c->closed) & SEPARATES)) {
        if (!is_first && end_block(c) < 0) return -1;
        if (begin_block(c, node, text, joint) < 0) return -1;
    } else {
        c->text.only = NULL;
        if (c->shallow < c->lowest) c->lowest = c->shallow;
        c->text.spaced |= joint != JOINT_GLUED;
    }
    Py_ssize_t n_words = gathered_add(&c->text);
    if (n_words < 0) return -1;
    int32_t *column = c->rows[c->n_rows - 1].column;
    column[LAST_NODE] = node;
    column[LAST_LINE] = c->line;
    column[N_WORDS] += (int32_t)n_words;
    if (c->flags[node] & LINK) column[N_LINKED] += (int32_t)n_words;
    c->left = c->text.left;
    c->opened = c->closed = 0;
    c->shallow = INT32_MAX;
    return 0;
}

/* All blocks. `ends` has an entry more than there are nodes, all zero. */
static int cut(Cutter *c, PyObject *texts, Py_ssize_t n_names, Ends *ends) {
    c->line = 1;
    c->shallow = INT32_MAX;
    for (Py_ssize_t i = 0; i < c->n; i++) {
        int32_t tag = c->tag[i], end = c->end[i];
        int listed = !(c->flags[i] & DROPPED);
        if (tag < 0 || tag >= n_names || end <= i || end > c->n || c->parent[i] < -1 || c->parent[i] >= i) {
            PyErr_Format(PyExc_ValueError, "node %zd is no node of a tree in document order", i);
            return -1;
        }
        c->closed |= ends[i].closed;
        c->line += ends[i].n_lines;
        if (c->depth[i] < c->shallow) c->shallow = c->depth[i];
        if (tag != 0) {
            int property = c->properties[tag];
            c->opened |= property;
            ends[end].closed |= (uint8_t)property;
            ends[end].n_lines += listed && !(property & VOID_);
        } else if (!(c->flags[i] & HEAD)) {
            PyObject *text = PyList_GetItem(texts, i);
            if (text == NULL || add_text(c, (int32_t)i, text) < 0) return -1;
        }
        c->line += listed;
    }
    return c->n_rows ? end_block(c) : 0;
}

/* Columns of 32 bits, one behind the other. */
static PyObject *wide_columns(const Cutter *c) {
    Py_ssize_t n = c->n_rows;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, FLAGS * n * 4);
    if (bytes == NULL) return NULL;
    int32_t *out = (int32_t *)PyByteArray_AsString(bytes); /* aligned as what malloc gives */
    for (Py_ssize_t i = 0; i < n; i++)
        for (int k = 0; k < FLAGS; k++) out[k * n + i] = c->rows[i].column[k];
    return bytes;
}

/* Flags and separators, of 8 bits. */
static PyObject *narrow_columns(const Cutter *c) {
    Py_ssize_t n = c->n_rows;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 2 * n);
    if (bytes == NULL) return NULL;
    char *out = PyByteArray_AsString(bytes);
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = (char)c->rows[i].column[FLAGS];
        out[n + i] = (char)c->rows[i].column[JOINTS];
    }
    return bytes;
}

static PyObject *texts_of(const Cutter *c) {
    PyObject *result = PyTuple_New(c->n_rows);
    for (Py_ssize_t i = 0; result != NULL && i < c->n_rows; i++)
        if (PyTuple_SetItem(result, i, Py_NewRef(c->rows[i].text)) < 0) Py_CLEAR(result);
    return result;
}

/* The name of each block's parent; an empty one without a parent. */
static PyObject *parent_names(const Cutter *c, PyObject *names) {
    PyObject *result = PyTuple_New(c->n_rows), *none = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; result != NULL && none != NULL && i < c->n_rows; i++) {
        int32_t node = c->rows[i].column[PARENT];
        PyObject *name = node < 0 ? none : PyTuple_GetItem(names, c->tag[node]); /* tags are checked by now */
        if (name == NULL || PyTuple_SetItem(result, i, Py_NewRef(name)) < 0) Py_CLEAR(result);
    }
    if (none == NULL) Py_CLEAR(result);
    Py_XDECREF(none);
    return result;
}

static PyObject *result_of(const Cutter *c, PyObject *names) {
    const Gathered *text = &c->text;
    PyObject *part[] = {wide_columns(c), narrow_columns(c),
                        PyByteArray_FromStringAndSize((const char *)text->lengths, text->n_lengths * 4), texts_of(c),
                        parent_names(c, names)};
    enum { N = sizeof part / sizeof *part };
    PyObject *result = PyTuple_New(N);
    for (int i = 0; i < N; i++) {
        int fits = result != NULL && part[i] != NULL && PyTuple_SetItem(result, i, Py_NewRef(part[i])) == 0;
        if (!fits) Py_CLEAR(result);
        Py_XDECREF(part[i]);
    }
    return result;
}

/* What is known of each name, `others` of one that isn't; to be freed. NULL with an exception set. */
static uint8_t *properties_of(PyObject *names, PyObject *known, int others) {
    Py_ssize_t n = PyTuple_Size(names);
    uint8_t *properties = malloc((size_t)n + 1);
    if (properties == NULL) PyErr_NoMemory();
    for (Py_ssize_t i = 0; properties != NULL && i < n; i++) {
        PyObject *held = PyDict_GetItemWithError(known, PyTuple_GetItem(names, i));
        properties[i] = (uint8_t)(held == NULL ? others : PyLong_AsLong(held));
        if (PyErr_Occurred()) {
            free(properties);
            return NULL;
        }
    }
    return properties;
}

/* segment_nodes(names, tag, parent, depth, end, flags, texts, known, others, classes, tokenizer): the columns of Blocks
   from n_words to last_node, one behind the other; flags and separators; word_lengths; texts; and names of parents. `texts`
   is a list, `known` properties by name, `others` those of all other names, `classes` the table of all code points. */
PyObject *segment_nodes(PyObject *module, PyObject *arguments) {
    PyObject *object[6], *names, *texts, *known;
    Cutter cutter = {.n = 0};
    (void)module;
    int opened = 0, others;
    if (!PyArg_ParseTuple(arguments, "O!OOOOOO!O!iOi", &PyTuple_Type, &names, &object[0], &object[1], &object[2],
                          &object[3], &object[4], &PyList_Type, &texts, &PyDict_Type, &known, &others, &object[5],
                          &cutter.text.tokenizer))
        return NULL;
    static const Py_ssize_t sizes[6] = {4, 4, 4, 4, 1, 1};
    Py_buffer view[6];
    PyObject *result = NULL;
    Ends *ends = NULL;
    uint8_t *properties = NULL;
    for (; opened < 6; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    Py_ssize_t n = cutter.n = view[4].len;
    if (view[0].len != n * 4 || view[1].len != n * 4 || view[2].len != n * 4 || view[3].len != n * 4 ||
        PyList_Size(texts) != n || view[5].len != N_POINTS) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        goto done;
    }
    cutter.tag = view[0].buf, cutter.parent = view[1].buf, cutter.depth = view[2].buf, cutter.end = view[3].buf;
    cutter.flags = view[4].buf, cutter.text.classes = view[5].buf;
    if ((cutter.properties = properties = properties_of(names, known, others)) == NULL) goto done;
    if ((ends = calloc((size_t)n + 1, sizeof(Ends))) == NULL)
        PyErr_NoMemory();
    else if (cut(&cutter, texts, PyTuple_Size(names), ends) == 0)
        result = result_of(&cutter, names);
    for (Py_ssize_t i = 0; i < cutter.n_rows; i++) Py_XDECREF(cutter.rows[i].text);
    gathered_free(&cutter.text);
    free(cutter.rows), free(ends);
done:
    free(properties);
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
