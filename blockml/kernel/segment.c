/* Nodes to blocks in one pass: the twin of blockml.parsing.segmentation, whose rules these are.

   Between two texts only two things matter: which kinds of elements were opened, and which were closed. Both are sets
   of bits, and what closes before a node is noted at it when the element is met, so no stack of open nodes is needed. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* What segmentation.py says of a name. The layouts stand in the order of their joints. */
enum { SEPARATES = 1, PART = 2, CELL = 4, LINE = 8, PARAGRAPH = 16, VOID_ = 32 };
/* Joint and Flag in page.py. */
enum { JOINT_GLUED, JOINT_SPACE, JOINT_CELL, JOINT_LINE, JOINT_PARAGRAPH };
enum { HEAD = 1, LINK = 2, DROPPED = 32 };
/* Classes in characters.py, and the number of code points that the table has. */
enum { SPACE = 1, ALNUM = 2, CJK = 4, JOINER = 8, N_POINTS = 0x110000 };
/* As in segmentation.py. */
enum { FIRST_IDEOGRAPH = 0x2e80 };
/* Tokenizers, in the order of words.py. */
enum { BY_SPACE, BOILERPIPE, BY_IDEOGRAPH };

typedef struct {
    int32_t *items;
    Py_ssize_t n, room;
} Column;

/* The columns of Blocks, in the order in which they are given back. */
enum { N_WORDS, N_LINKED, FIRST_LINE, LAST_LINE, PARENT, NODE, LAST_NODE, FLAGS, JOINTS, WORD_LENGTHS, N_COLUMNS };

typedef struct {
    const int32_t *tag, *parent, *depth, *end;
    const uint8_t *flags, *properties, *classes;
    Py_ssize_t n;
    int tokenizer;
    Column column[N_COLUMNS];
    PyObject *texts;
    Py_UCS4 *points; /* of the block so far, without white space at its ends */
    Py_ssize_t n_points, room;
    Py_UCS4 all;              /* bits of all of them */
    int spaced, changed;      /* white space since the last of them, and whether any was left out or became a blank */
    uint8_t *narrow;
    Py_ssize_t narrow_room;
    PyObject *only;           /* the block's text while it has no other; borrowed from the list of texts */
    int opened, closed;       /* since the last text */
    int32_t line;             /* of the node at hand */
    int32_t lowest, shallow;  /* depth of the shallowest node after the block's first text, and after the last text */
    Py_UCS4 left;             /* last character of the last text; U+0000, which has no class, if it has none */
} Cutter;

static int push(Column *column, int32_t item) {
    if (column->n >= column->room) {
        Py_ssize_t room = column->room ? 2 * column->room : 256;
        if (widen((void **)&column->items, room, sizeof(int32_t)) < 0) return -1;
        column->room = room;
    }
    column->items[column->n++] = item;
    return 0;
}

/* Adds the lengths of the words of a piece without white space that may hold several. Returns their number, or -1 with an
   exception set. */
static Py_ssize_t add_words(Cutter *c, const Py_UCS4 *points, Py_ssize_t n) {
    Column *lengths = &c->column[WORD_LENGTHS];
    Py_ssize_t before = lengths->n;
    int32_t length = 0;
    int last = SPACE, held = 0;
    for (Py_ssize_t i = 0; i < n; i++, length++) {
        int kind = c->classes[points[i]], begins = 0;
        if (c->tokenizer == BOILERPIPE)
            begins = !((kind | last) & (SPACE | JOINER)) && ((kind ^ last) & ALNUM);
        else
            begins = (kind | last) & CJK;
        if (begins) {
            if ((held & ALNUM) && push(lengths, length) < 0) return -1;
            length = held = 0;
        }
        held |= kind;
        last = kind;
    }
    if ((held & ALNUM) && push(lengths, length) < 0) return -1;
    return lengths->n - before;
}

/* Copies a text behind the block's characters, with room for a blank between them, where it stays as it is until it is
   added or the block ends. Returns where it is, or NULL with an exception set. */
static const Py_UCS4 *hold_points(Cutter *c, PyObject *text, Py_ssize_t length) {
    if (length >= c->room - c->n_points - 1) {
        Py_ssize_t room = 2 * c->room + length + 256; /* texts are in memory: this can't overflow */
        if (widen((void **)&c->points, room, sizeof(Py_UCS4)) < 0) return NULL;
        c->room = room;
    }
    Py_UCS4 *points = c->points + c->n_points + 1;
    return length && PyUnicode_AsUCS4(text, points, length, 0) == NULL ? NULL : points;
}

/* Adds a text to the block's, as " ".join(text.split()) of all would have it, and the lengths of its words. Returns the
   number of words, or -1 with an exception set.

   The text lies behind where it is written: a blank before a word is one that was there, or the one there is room for. */
static Py_ssize_t add_points(Cutter *c, const Py_UCS4 *points, Py_ssize_t n) {
    const uint8_t *classes = c->classes;
    Py_UCS4 *out = c->points + c->n_points, all = c->all;
    Py_ssize_t n_words = 0;
    for (Py_ssize_t i = 0; i < n;) {
        Py_UCS4 point = points[i];
        int kind = classes[point], held = 0;
        if (kind & SPACE) {
            c->changed |= c->spaced || point != ' ' || out == c->points;
            c->spaced = 1;
            i++;
            continue;
        }
        if (c->spaced && out > c->points) *out++ = ' ';
        c->spaced = 0;
        const Py_UCS4 *word = out;
        do {
            *out++ = point;
            all |= point;
            held |= kind;
        } while (++i < n && !((kind = classes[point = points[i]]) & SPACE));
        Py_ssize_t more = held & ALNUM ? 1 : 0;
        if (c->tokenizer == BOILERPIPE || (c->tokenizer == BY_IDEOGRAPH && held & CJK))
            more = add_words(c, word, out - word);
        else if (more && push(&c->column[WORD_LENGTHS], (int32_t)(out - word)) < 0)
            more = -1;
        if (more < 0) return -1;
        n_words += more;
    }
    c->n_points = out - c->points;
    c->all = all;
    return n_words;
}

/* The block's text, as a new reference. */
static PyObject *block_text(Cutter *c) {
    if (c->only != NULL && !c->changed && !c->spaced) return Py_NewRef(c->only);
    Py_ssize_t n = c->n_points;
    if (c->all < 0x100) {
        if (n > c->narrow_room) {
            if (widen((void **)&c->narrow, c->room, 1) < 0) return NULL;
            c->narrow_room = c->room;
        }
        for (Py_ssize_t i = 0; i < n; i++) c->narrow[i] = (uint8_t)c->points[i];
        return PyUnicode_DecodeLatin1((const char *)c->narrow, n, NULL);
    }
    int order = PY_BIG_ENDIAN ? 1 : -1;
    return PyUnicode_DecodeUTF32((const char *)c->points, n * 4, "surrogatepass", &order);
}

static int end_block(Cutter *c) {
    PyObject *text = block_text(c);
    int failed = text == NULL || PyList_Append(c->texts, text) < 0;
    Py_XDECREF(text);
    if (failed) return -1;
    /* The shallowest node after the first text is a child of the deepest element that holds all. */
    int32_t above = c->parent[c->column[NODE].items[c->column[NODE].n - 1]];
    if (c->only == NULL)
        while (above >= 0 && c->depth[above] >= c->lowest) above = c->parent[above];
    return push(&c->column[PARENT], above);
}

static int begin_block(Cutter *c, int32_t node, PyObject *text, int joint) {
    Column *column = c->column;
    c->n_points = c->spaced = c->changed = 0;
    c->all = 0;
    c->only = text;
    c->lowest = INT32_MAX;
    if (push(&column[NODE], node) < 0 || push(&column[LAST_NODE], node) < 0 || push(&column[FIRST_LINE], c->line) < 0 ||
        push(&column[LAST_LINE], c->line) < 0 || push(&column[N_WORDS], 0) < 0 || push(&column[N_LINKED], 0) < 0)
        return -1;
    return push(&column[FLAGS], c->flags[node]) < 0 || push(&column[JOINTS], joint) < 0 ? -1 : 0;
}

static int joint_of(const Cutter *c, Py_UCS4 right) {
    int met = c->opened | c->closed;
    if (met & PARAGRAPH) return JOINT_PARAGRAPH;
    if (met & LINE) return JOINT_LINE;
    if (met & CELL) return JOINT_CELL;
    int before = c->classes[c->left], after = c->classes[right];
    if ((before | after) & SPACE) return JOINT_SPACE;
    /* Two inline siblings without a space between them are two words to a reader. */
    int words = (c->opened & c->closed & PART) && (before & after & ALNUM);
    return words && c->left < FIRST_IDEOGRAPH && right < FIRST_IDEOGRAPH ? JOINT_SPACE : JOINT_GLUED;
}

/* Adds a text to its block. Returns 0, or -1 with an exception set. */
static int add_text(Cutter *c, int32_t node, PyObject *text) {
    Column *column = c->column;
    Py_ssize_t length = PyUnicode_GetLength(text);
    if (length < 0) return -1;
    const Py_UCS4 *points = hold_points(c, text, length);
    if (points == NULL) return -1;
    Py_UCS4 right = length ? points[0] : 0, left = length ? points[length - 1] : 0;
    int is_first = column[NODE].n == 0, joint = is_first ? JOINT_PARAGRAPH : joint_of(c, right);
    if (is_first || ((c->opened | c->closed) & SEPARATES)) {
        if (!is_first && end_block(c) < 0) return -1;
        if (begin_block(c, node, text, joint) < 0) return -1;
    } else {
        c->only = NULL;
        if (c->shallow < c->lowest) c->lowest = c->shallow;
        c->spaced |= joint != JOINT_GLUED;
    }
    Py_ssize_t n_words = add_points(c, points, length), block = column[NODE].n - 1;
    if (n_words < 0) return -1;
    column[LAST_NODE].items[block] = node;
    column[LAST_LINE].items[block] = c->line;
    column[N_WORDS].items[block] += (int32_t)n_words;
    if (c->flags[node] & LINK) column[N_LINKED].items[block] += (int32_t)n_words;
    c->left = left;
    c->opened = c->closed = 0;
    c->shallow = INT32_MAX;
    return 0;
}

/* All blocks. What closes before a node is in `closed_at`, how many lines its end tags fill in `ended_at`: both have an
   entry more than there are nodes, all zero. */
static int cut(Cutter *c, PyObject *texts, Py_ssize_t n_names, uint8_t *closed_at, int32_t *ended_at) {
    c->line = 1;
    c->shallow = INT32_MAX;
    for (Py_ssize_t i = 0; i < c->n; i++) {
        int32_t tag = c->tag[i], end = c->end[i];
        int listed = !(c->flags[i] & DROPPED);
        if (tag < 0 || tag >= n_names || end <= i || end > c->n || c->parent[i] < -1 || c->parent[i] >= i) {
            PyErr_Format(PyExc_ValueError, "node %zd is no node of a tree in document order", i);
            return -1;
        }
        c->closed |= closed_at[i];
        c->line += ended_at[i];
        if (c->depth[i] < c->shallow) c->shallow = c->depth[i];
        if (tag != 0) {
            int property = c->properties[tag];
            c->opened |= property;
            closed_at[end] |= (uint8_t)property;
            ended_at[end] += listed && !(property & VOID_);
        } else if (!(c->flags[i] & HEAD)) {
            PyObject *text = PyList_GetItem(texts, i);
            if (text == NULL || add_text(c, (int32_t)i, text) < 0) return -1;
        }
        c->line += listed;
    }
    return c->column[NODE].n ? end_block(c) : 0;
}

/* Columns of 32 bits, one behind the other. */
static PyObject *wide_columns(const Cutter *c) {
    Py_ssize_t n = c->column[NODE].n;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, FLAGS * n * 4);
    if (bytes == NULL) return NULL;
    char *out = PyByteArray_AsString(bytes);
    for (int i = 0; n && i < FLAGS; i++) memcpy(out + i * n * 4, c->column[i].items, (size_t)n * 4);
    return bytes;
}

/* Flags and joints, of 8 bits. */
static PyObject *narrow_columns(const Cutter *c) {
    Py_ssize_t n = c->column[NODE].n;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 2 * n);
    if (bytes == NULL) return NULL;
    char *out = PyByteArray_AsString(bytes);
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = (char)c->column[FLAGS].items[i];
        out[n + i] = (char)c->column[JOINTS].items[i];
    }
    return bytes;
}

/* The name of each block's parent; an empty one without a parent. */
static PyObject *parent_names(const Cutter *c, PyObject *names) {
    const Column *parent = &c->column[PARENT];
    PyObject *result = PyTuple_New(parent->n), *none = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; result != NULL && none != NULL && i < parent->n; i++) {
        int32_t node = parent->items[i];
        PyObject *name = node < 0 ? none : PyTuple_GetItem(names, c->tag[node]); /* tags are checked by now */
        if (name == NULL || PyTuple_SetItem(result, i, Py_NewRef(name)) < 0) Py_CLEAR(result);
    }
    if (none == NULL) Py_CLEAR(result);
    Py_XDECREF(none);
    return result;
}

static PyObject *result_of(Cutter *c, PyObject *names) {
    const Column *lengths = &c->column[WORD_LENGTHS];
    PyObject *part[] = {wide_columns(c), narrow_columns(c),
                        PyByteArray_FromStringAndSize((const char *)lengths->items, lengths->n * 4),
                        PyList_AsTuple(c->texts), parent_names(c, names)};
    enum { N = sizeof part / sizeof *part };
    PyObject *result = PyTuple_New(N);
    for (int i = 0; i < N; i++) {
        int fits = result != NULL && part[i] != NULL && PyTuple_SetItem(result, i, Py_NewRef(part[i])) == 0;
        if (!fits) Py_CLEAR(result);
        Py_XDECREF(part[i]);
    }
    return result;
}

/* cut_blocks(names, tag, parent, depth, end, flags, texts, properties, classes, tokenizer): the columns of Blocks from
   n_words to last_node, one behind the other; flags and joints; word_lengths; texts; and names of parents. `texts` is a list,
   `classes` the table of all code points. */
PyObject *cut_blocks(PyObject *module, PyObject *arguments) {
    PyObject *object[7], *names, *texts;
    Cutter cutter = {.n = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOOOOO!OOi", &PyTuple_Type, &names, &object[0], &object[1], &object[2],
                          &object[3], &object[4], &PyList_Type, &texts, &object[5], &object[6], &cutter.tokenizer))
        return NULL;
    static const Py_ssize_t sizes[7] = {4, 4, 4, 4, 1, 1, 1};
    Py_buffer view[7];
    PyObject *result = NULL;
    uint8_t *closed_at = NULL;
    int32_t *ended_at = NULL;
    int opened = 0;
    for (; opened < 7; opened++)
        if (open_array(object[opened], &view[opened], sizes[opened], 0) < 0) goto done;
    Py_ssize_t n = cutter.n = view[4].len;
    if (view[0].len != n * 4 || view[1].len != n * 4 || view[2].len != n * 4 || view[3].len != n * 4 ||
        PyList_Size(texts) != n || PyTuple_Size(names) != view[5].len || view[6].len != N_POINTS) {
        PyErr_SetString(PyExc_ValueError, "columns of different lengths");
        goto done;
    }
    cutter.tag = view[0].buf, cutter.parent = view[1].buf, cutter.depth = view[2].buf, cutter.end = view[3].buf;
    cutter.flags = view[4].buf, cutter.properties = view[5].buf, cutter.classes = view[6].buf;
    closed_at = calloc((size_t)n + 1, sizeof(uint8_t));
    ended_at = calloc((size_t)n + 1, sizeof(int32_t));
    if (closed_at == NULL || ended_at == NULL)
        PyErr_NoMemory();
    else if ((cutter.texts = PyList_New(0)) != NULL && cut(&cutter, texts, view[5].len, closed_at, ended_at) == 0)
        result = result_of(&cutter, names);
    Py_XDECREF(cutter.texts);
    for (int i = 0; i < N_COLUMNS; i++) free(cutter.column[i].items);
    free(cutter.points), free(cutter.narrow), free(closed_at), free(ended_at);
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    return result;
}
