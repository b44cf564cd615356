/* Segments nodes into blocks in one pass; reference: blockml.parsing.segmentation.

   Only the kinds of elements opened and closed between two texts matter. Both are bit sets. An element records its
   properties at the node where it ends, so no stack of open nodes is needed. */
#include "parsing_block_text.h"

/* Name properties of segmentation.py; layouts in the order of their separators. */
enum { ENDS_BLOCK = 1, ENDS_WORD = 2, CELL = 4, LINE = 8, PARAGRAPH = 16, VOID_ = 32, CODE = 64 };
/* Separator and Flag in blockml/page. */
enum { GLUED, SPACE_BETWEEN, CELL_BETWEEN, LINE_BETWEEN, PARAGRAPH_BETWEEN };
enum { HEAD = 1, LINK = 2, DROPPED = 32 };
/* As in segmentation.py. */
enum { FIRST_IDEOGRAPH = 0x2e80 };

/* Columns of Blocks in the order of the result; FLAGS and later ones are uint8. */
enum { N_WORDS, N_LINKED, FIRST_LINE, LAST_LINE, PARENT, NODE, LAST_NODE, FLAGS, SEPARATORS, N_COLUMNS };

typedef struct {
    int32_t column[N_COLUMNS];
    PyObject *text; /* NULL until the block ends */
} Row;

/* Properties of the elements that end before a node, and the number of lines of their end tags. */
typedef struct {
    int32_t n_lines;
    uint8_t closed;
} Closing;

typedef struct {
    const int32_t *tag, *parent, *depth, *end;
    const uint8_t *flags, *properties;
    Py_ssize_t n;
    Row *rows; /* of the blocks so far */
    Py_ssize_t n_rows, room;
    BlockText text;                 /* of the last block */
    int opened, closed;             /* properties since the last text */
    int32_t line;                   /* of the current node */
    int32_t block_depth, gap_depth; /* minimum depth of nodes after the block's first text, and after the last text */
    Py_UCS4 last_character;         /* of the last text */
    int32_t last_text;              /* node of the last text */
} Segmenter;

static int end_block(Segmenter *s) {
    Row *row = &s->rows[s->n_rows - 1];
    if ((row->text = block_text_finish(&s->text)) == NULL) return -1;
    /* The shallowest node after the first text is a child of the deepest common ancestor. */
    int32_t above = s->parent[row->column[NODE]];
    if (s->text.single == NULL)
        while (above >= 0 && s->depth[above] >= s->block_depth) above = s->parent[above];
    row->column[PARENT] = above;
    return 0;
}

static int begin_block(Segmenter *s, int32_t node, PyObject *text, int separator) {
    if (s->n_rows >= s->room) {
        Py_ssize_t room = 2 * s->room + 128;
        if (widen((void **)&s->rows, room, sizeof(Row)) < 0) return -1;
        s->room = room;
    }
    block_text_begin(&s->text, text);
    s->block_depth = INT32_MAX;
    s->rows[s->n_rows++] =
        (Row){{[FIRST_LINE] = s->line, [NODE] = node, [FLAGS] = s->flags[node], [SEPARATORS] = separator}, NULL};
    return 0;
}

/* Returns the element around an element around a text; -1 without one. */
static int32_t around(const Segmenter *s, int32_t text) {
    int32_t parent = s->parent[text];
    return parent < 0 ? -1 : s->parent[parent];
}

/* Tells whether two adjacent texts are one word, given the classes of the characters where they meet. */
static int is_one_word(const Segmenter *s, int32_t node, int before, int after) {
    int classes = before & after;
    int are_small = (classes & ALNUM) && !((before | after) & (DIGIT | UPPER));
    if (are_small && !((s->flags[s->last_text] | s->flags[node]) & LINK)) return 1;
    int32_t outer = around(s, node);
    return outer >= 0 && outer == around(s, s->last_text) && (s->properties[s->tag[outer]] & CODE);
}

static int separator_before(const Segmenter *s, int32_t node, Py_UCS4 right) {
    int properties = s->opened | s->closed;
    if (properties & PARAGRAPH) return PARAGRAPH_BETWEEN;
    if (properties & LINE) return LINE_BETWEEN;
    if (properties & CELL) return CELL_BETWEEN;
    int before = s->text.classes[s->last_character], after = s->text.classes[right];
    if ((before | after) & SPACE) return SPACE_BETWEEN;
    /* Adjacent inline elements without a space between them are two words, with exceptions. */
    int are_words = (s->opened & s->closed & ENDS_WORD) && (before & after & ALNUM) &&
                    !is_one_word(s, node, before, after);
    return are_words && s->last_character < FIRST_IDEOGRAPH && right < FIRST_IDEOGRAPH ? SPACE_BETWEEN : GLUED;
}

/* Adds a text to the current block or to a new one. */
static int add_text(Segmenter *s, int32_t node, PyObject *text) {
    if (block_text_read(&s->text, text) < 0) return -1;
    int is_first = s->n_rows == 0, separator = is_first ? PARAGRAPH_BETWEEN : separator_before(s, node, s->text.right);
    if (is_first || ((s->opened | s->closed) & ENDS_BLOCK)) {
        if (!is_first && end_block(s) < 0) return -1;
        if (begin_block(s, node, text, separator) < 0) return -1;
    } else {
        s->text.single = NULL;
        if (s->gap_depth < s->block_depth) s->block_depth = s->gap_depth;
        s->text.has_space |= separator != GLUED;
    }
    Py_ssize_t n_words = block_text_add(&s->text);
    if (n_words < 0) return -1;
    int32_t *column = s->rows[s->n_rows - 1].column;
    column[LAST_NODE] = node;
    column[LAST_LINE] = s->line;
    column[N_WORDS] += (int32_t)n_words;
    if (s->flags[node] & LINK) column[N_LINKED] += (int32_t)n_words;
    s->last_character = s->text.left;
    s->last_text = node;
    s->opened = s->closed = 0;
    s->gap_depth = INT32_MAX;
    return 0;
}

/* Segments all nodes. `closing` has n + 1 entries, all zero. */
static int segment_all(Segmenter *s, PyObject *texts, Py_ssize_t n_names, Closing *closing) {
    s->line = 1;
    s->gap_depth = INT32_MAX;
    for (Py_ssize_t i = 0; i < s->n; i++) {
        int32_t tag = s->tag[i], end = s->end[i];
        int is_listed = !(s->flags[i] & DROPPED);
        if (tag < 0 || tag >= n_names || end <= i || end > s->n || s->parent[i] < -1 || s->parent[i] >= i) {
            PyErr_Format(PyExc_ValueError, "node %zd does not fit into a tree in document order", i);
            return -1;
        }
        s->closed |= closing[i].closed;
        s->line += closing[i].n_lines;
        if (s->depth[i] < s->gap_depth) s->gap_depth = s->depth[i];
        if (tag != 0) {
            int property = s->properties[tag];
            s->opened |= property;
            closing[end].closed |= (uint8_t)property;
            closing[end].n_lines += is_listed && !(property & VOID_);
        } else if (!(s->flags[i] & HEAD)) {
            PyObject *text = PyList_GetItem(texts, i);
            if (text == NULL || add_text(s, (int32_t)i, text) < 0) return -1;
        }
        s->line += is_listed;
    }
    return s->n_rows ? end_block(s) : 0;
}

/* Returns the int32 columns (FLAGS, n_rows). */
static PyObject *int32_columns(const Segmenter *s) {
    Py_ssize_t n = s->n_rows;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, FLAGS * n * 4);
    if (bytes == NULL) return NULL;
    int32_t *out = (int32_t *)PyByteArray_AsString(bytes); /* aligned like memory of malloc */
    for (Py_ssize_t i = 0; i < n; i++)
        for (int k = 0; k < FLAGS; k++) out[k * n + i] = s->rows[i].column[k];
    return bytes;
}

/* Returns flags and separators (2, n_rows). */
static PyObject *uint8_columns(const Segmenter *s) {
    Py_ssize_t n = s->n_rows;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 2 * n);
    if (bytes == NULL) return NULL;
    char *out = PyByteArray_AsString(bytes);
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] = (char)s->rows[i].column[FLAGS];
        out[n + i] = (char)s->rows[i].column[SEPARATORS];
    }
    return bytes;
}

static PyObject *block_texts(const Segmenter *s) {
    PyObject *result = PyTuple_New(s->n_rows);
    for (Py_ssize_t i = 0; result != NULL && i < s->n_rows; i++)
        if (PyTuple_SetItem(result, i, Py_NewRef(s->rows[i].text)) < 0) Py_CLEAR(result);
    return result;
}

/* Returns the name of each block's parent, empty without one. */
static PyObject *parent_names(const Segmenter *s, PyObject *names) {
    PyObject *result = PyTuple_New(s->n_rows), *none = PyUnicode_FromString("");
    for (Py_ssize_t i = 0; result != NULL && none != NULL && i < s->n_rows; i++) {
        int32_t node = s->rows[i].column[PARENT];
        PyObject *name = node < 0 ? none : PyTuple_GetItem(names, s->tag[node]); /* tags were checked */
        if (name == NULL || PyTuple_SetItem(result, i, Py_NewRef(name)) < 0) Py_CLEAR(result);
    }
    if (none == NULL) Py_CLEAR(result);
    Py_XDECREF(none);
    return result;
}

static PyObject *block_columns(const Segmenter *s, PyObject *names) {
    const BlockText *text = &s->text;
    PyObject *part[] = {int32_columns(s), uint8_columns(s),
                        PyByteArray_FromStringAndSize((const char *)text->lengths, text->n_lengths * 4), block_texts(s),
                        parent_names(s, names)};
    enum { N = sizeof part / sizeof *part };
    PyObject *result = PyTuple_New(N);
    for (int i = 0; i < N; i++) {
        int fits = result != NULL && part[i] != NULL && PyTuple_SetItem(result, i, Py_NewRef(part[i])) == 0;
        if (!fits) Py_CLEAR(result);
        Py_XDECREF(part[i]);
    }
    return result;
}

/* Returns the properties of each name, to be freed. */
static uint8_t *properties_of(PyObject *names, PyObject *name_properties, int default_properties) {
    Py_ssize_t n = PyTuple_Size(names);
    uint8_t *properties = malloc((size_t)n + 1);
    if (properties == NULL) PyErr_NoMemory();
    for (Py_ssize_t i = 0; properties != NULL && i < n; i++) {
        PyObject *held = PyDict_GetItemWithError(name_properties, PyTuple_GetItem(names, i));
        properties[i] = (uint8_t)(held == NULL ? default_properties : PyLong_AsLong(held));
        if (PyErr_Occurred()) {
            free(properties);
            return NULL;
        }
    }
    return properties;
}

/* segment_nodes(names, texts, name_properties, default_properties, tokenizer, (tag, parent, depth, end, flags,
   classes)): the columns of Blocks from n_words to last_node; flags and separators; word_lengths; texts; parents.
   `classes` are those of characters. */
PyObject *segment_nodes(PyObject *module, PyObject *arguments) {
    enum { TAG, PARENT, DEPTH, END, FLAGS, CLASSES, N };
    PyObject *names, *texts, *columns, *name_properties, *result = NULL;
    Segmenter segmenter = {.n = 0};
    Py_buffer view[N];
    int default_properties;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!iiO!", &PyTuple_Type, &names, &PyList_Type, &texts, &PyDict_Type,
                          &name_properties, &default_properties, &segmenter.text.tokenizer, &PyTuple_Type, &columns) ||
        open_arrays(columns, view, "i i i i B B") < 0)
        return NULL;
    Closing *closing = NULL;
    uint8_t *properties = NULL;
    Py_ssize_t n = segmenter.n = n_items(&view[FLAGS]);
    int fits = PyList_Size(texts) == n && n_items(&view[CLASSES]) == N_POINTS;
    for (int k = TAG; k <= END; k++) fits = fits && n_items(&view[k]) == n;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        goto done;
    }
    segmenter.tag = view[TAG].buf, segmenter.parent = view[PARENT].buf, segmenter.depth = view[DEPTH].buf;
    segmenter.end = view[END].buf, segmenter.flags = view[FLAGS].buf, segmenter.text.classes = view[CLASSES].buf;
    segmenter.properties = properties = properties_of(names, name_properties, default_properties);
    if (properties == NULL) goto done;
    if ((closing = calloc((size_t)n + 1, sizeof(Closing))) == NULL)
        PyErr_NoMemory();
    else if (segment_all(&segmenter, texts, PyTuple_Size(names), closing) == 0)
        result = block_columns(&segmenter, names);
    for (Py_ssize_t i = 0; i < segmenter.n_rows; i++) Py_XDECREF(segmenter.rows[i].text);
    block_text_free(&segmenter.text);
    free(segmenter.rows), free(closing);
done:
    free(properties);
    close_arrays(view, N);
    return result;
}
