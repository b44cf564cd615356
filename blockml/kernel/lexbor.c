/* A page read from the tree that lexbor builds: the twin of _walk in blockml/parsing/lexbor.py, without an object of Python
   for each node.

   The functions are those of the lexbor that selectolax brings; what follows is of its public headers. */
#include "tags.h"
#include <stdlib.h>
#include <string.h>

/* LXB_DOM_DOCUMENT_OPT_WO_EVENTS, LXB_DOM_NODE_TYPE_ELEMENT and _TEXT, LXB_STATUS_OK and _ERROR,
   LXB_HTML_SERIALIZE_OPT_RAW and _WITHOUT_TEXT_INDENT. */
enum { WITHOUT_EVENTS = 1, ELEMENT = 1, TEXT = 3, OK = 0, ERROR = 1, AS_IT_IS = 0x04 | 0x20 };

/* In the order of _functions in blockml/parsing/lexbor.py, without lxb_ and _noi. Types of nodes and statuses are enumerations there. */
typedef struct {
    void *(*html_document_create)(void);
    void (*html_document_dom_opt_set)(void *, unsigned int);
    unsigned int (*html_document_parse)(void *, const unsigned char *, size_t);
    void *(*html_document_destroy)(void *);
    void *(*dom_document_root)(void *);
    void *(*dom_document_destroy_text)(void *, unsigned char *);
    unsigned int (*dom_node_type)(void *);
    void *(*dom_node_first_child)(void *);
    void *(*dom_node_next)(void *);
    unsigned char *(*dom_node_text_content)(void *, size_t *);
    unsigned int (*html_serialize_pretty_cb)(void *, int, size_t, unsigned int (*)(const unsigned char *, size_t, void *),
                                             void *);
    const unsigned char *(*dom_element_qualified_name)(void *, size_t *);
    void *(*dom_element_first_attribute)(void *);
    void *(*dom_element_next_attribute)(void *);
    const unsigned char *(*dom_attr_qualified_name)(void *, size_t *);
    const unsigned char *(*dom_attr_value)(void *, size_t *);
} Functions;
enum { N_FUNCTIONS = sizeof(Functions) / sizeof(void *) };

/* What returns an int returns -1 with an exception set. */
static int give_start(const Functions *call, Tags *tags, void *node, Py_ssize_t *id) {
    size_t length, value_length = 0;
    for (void *attribute = call->dom_element_first_attribute(node); attribute != NULL;
         attribute = call->dom_element_next_attribute(attribute)) {
        const char *name = (const char *)call->dom_attr_qualified_name(attribute, &length);
        const char *value = (const char *)call->dom_attr_value(attribute, &value_length);
        if (value == NULL) value_length = 0;
        if (name == NULL) goto no_memory;
        if (tags_attribute(tags, name, length, value, value_length) < 0) return -1;
    }
    const char *name = (const char *)call->dom_element_qualified_name(node, &length);
    if (name != NULL) return tags_start(tags, name, id);
no_memory:
    PyErr_NoMemory();
    return -1;
}

static int give_copy(const Functions *call, Tags *tags, void *document, void *node) {
    size_t length;
    unsigned char *text = call->dom_node_text_content(node, &length);
    if (text == NULL) {
        PyErr_NoMemory(); /* one without characters has a copy too */
        return -1;
    }
    int failed = tags_text(tags, (const char *)text, (Py_ssize_t)length);
    call->dom_document_destroy_text(document, text);
    return failed;
}

/* A text as it is written out in pieces: a quote, the text, a quote, the end of the line. */
typedef struct {
    Tags *tags;
    int n, others, failed; /* pieces, those that are none of these, with an exception set */
} Pieces;

static unsigned int on_piece(const unsigned char *piece, size_t length, void *data) {
    Pieces *pieces = data;
    int n = pieces->n++;
    if (n == 1) {
        pieces->failed = tags_text(pieces->tags, (const char *)piece, (Py_ssize_t)length) < 0;
        return pieces->failed ? ERROR : OK;
    }
    if (n > 3 || length != 1 || *piece != "\"\"\"\n"[n]) pieces->others++;
    return OK;
}

/* Lexbor gives a text away by writing it, or as a copy, which costs much more but comes as it is for certain. */
static int give_text(const Functions *call, Tags *tags, void *document, void *node) {
    size_t before = tags_mark(tags);
    Pieces pieces = {tags, 0, 0, 0};
    unsigned int status = call->html_serialize_pretty_cb(node, AS_IT_IS, 0, on_piece, &pieces);
    if (pieces.failed) return -1;
    if (status == OK && pieces.n == 4 && !pieces.others) return 0;
    tags_back(tags, before);
    return give_copy(call, tags, document, node);
}

/* The elements that are open, and the numbers of their names: lexbor tells both anew, but at a cost. */
typedef struct {
    struct Element {
        void *node;
        Py_ssize_t id;
    } *elements;
    Py_ssize_t n, room;
} Open;

static int walk_into(const Functions *call, Tags *tags, void *document, Open *open) {
    for (void *node = call->dom_document_root(document); node != NULL;) {
        unsigned int type = call->dom_node_type(node);
        if (type == TEXT && give_text(call, tags, document, node) < 0) return -1;
        if (type == ELEMENT) {
            if (open->n >= open->room) {
                open->room = open->room ? 2 * open->room : 64;
                if (widen((void **)&open->elements, open->room, sizeof(struct Element)) < 0) return -1;
            }
            struct Element *element = &open->elements[open->n];
            element->node = node;
            if (give_start(call, tags, node, &element->id) < 0) return -1;
            void *child = tags_drops(tags) ? NULL : call->dom_node_first_child(node);
            if (child != NULL) {
                open->n++;
                node = child;
                continue;
            }
            if (tags_end_of(tags, element->id) < 0) return -1;
        }
        void *next;
        while ((next = call->dom_node_next(node)) == NULL && open->n) {
            const struct Element *element = &open->elements[--open->n];
            node = element->node;
            if (tags_end_of(tags, element->id) < 0) return -1;
        }
        node = next;
    }
    return 0;
}

static int walk(const Functions *call, Tags *tags, void *document) {
    Open open = {NULL, 0, 0};
    int failed = walk_into(call, tags, document, &open);
    free(open.elements);
    return failed;
}

/* read_by_lexbor(source, addresses): gives the builder all events of the tree of a page in UTF-8. */
PyObject *read_by_lexbor(PyObject *capsule, PyObject *arguments) {
    const char *source;
    Py_ssize_t length;
    PyObject *addresses;
    void *function[N_FUNCTIONS];
    Functions call;
    Builder *b = builder_of(capsule);
    if (b == NULL || !PyArg_ParseTuple(arguments, "y#O", &source, &length, &addresses)) return NULL;
    if (read_addresses(addresses, function, N_FUNCTIONS) < 0) return NULL;
    memcpy(&call, function, sizeof call);
    Tags *tags = tags_new(b, 1);
    if (tags == NULL) return NULL;
    unsigned int status = OK + 1;
    void *document;
    /* selectolax has lexbor take its memory by PyMem_RawMalloc, which needs no lock. */
    Py_BEGIN_ALLOW_THREADS;
    document = call.html_document_create();
    if (document != NULL) {
        call.html_document_dom_opt_set(document, WITHOUT_EVENTS);
        status = call.html_document_parse(document, (const unsigned char *)source, (size_t)length);
    }
    Py_END_ALLOW_THREADS;
    int failed = status == OK ? walk(&call, tags, document) : -1;
    if (status != OK) PyErr_NoMemory();
    if (document != NULL) call.html_document_destroy(document);
    tags_free(tags);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Whether the name of a formatting element is at `at`, whatever its case, and ends there. */
static int is_formatting(const char *at, const char *end) {
    static const char *const names[] = {"b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        Py_ssize_t length = 0;
        while (names[k][length] && end - at > length && (at[length] | 0x20) == names[k][length]) length++;
        if (names[k][length] || end - at <= length) continue;
        char next = at[length];
        if (next == '/' || next == ' ' || (next >= 9 && next <= 13)) return 1;
    }
    return 0;
}

/* start_tags(source): how many start tags there may be in a page's bytes, and how many of them of formatting elements with
   attributes: the twin of blockml.parsing.lexbor.start_tags. */
PyObject *start_tags(PyObject *module, PyObject *source) {
    char *at;
    Py_ssize_t length, started = 0, formatting = 0;
    (void)module;
    if (PyBytes_AsStringAndSize(source, &at, &length) < 0) return NULL;
    for (const char *end = at + length; at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL;) {
        if (++at == end || !is_letter(*at)) continue;
        started++;
        formatting += is_formatting(at, end);
    }
    return Py_BuildValue("nn", started, formatting);
}
