/* A page read from the tree that lexbor builds: the twin of _walk in blockml/parsing/lexbor.py, without an object of
   Python for each node.

   The functions are those of the lexbor that selectolax brings; what follows is of its public headers. */
#include "parsing_tags.h"
#include <stdlib.h>
#include <string.h>

/* LXB_DOM_DOCUMENT_OPT_WO_EVENTS, LXB_DOM_NODE_TYPE_ELEMENT and _TEXT, LXB_STATUS_OK and _ERROR,
   LXB_HTML_SERIALIZE_OPT_RAW and _WITHOUT_TEXT_INDENT. */
enum { WITHOUT_EVENTS = 1, ELEMENT = 1, TEXT = 3, OK = 0, ERROR = 1, RAW_TEXT = 0x04 | 0x20 };

/* Takes a piece of what is written, with what was given for it. */
typedef unsigned int (*Take)(const unsigned char *, size_t, void *);

/* In the order of _functions in blockml/parsing/lexbor.py, without lxb_ and _noi. Types of nodes, statuses and ways to
   write are enumerations there. */
typedef struct {
    void *(*html_document_create)(void);
    void (*html_document_dom_opt_set)(void *, unsigned int);
    unsigned int (*html_document_parse)(void *, const unsigned char *, size_t);
    void *(*html_document_destroy)(void *);
    void *(*dom_document_root)(void *);
    void *(*dom_document_destroy_text)(void *, unsigned char *);
    unsigned int (*dom_node_type)(void *);
    uintptr_t (*dom_node_tag_id)(void *);
    void *(*dom_node_first_child)(void *);
    void *(*dom_node_next)(void *);
    unsigned char *(*dom_node_text_content)(void *, size_t *);
    unsigned int (*html_serialize_pretty_cb)(void *, int, size_t, Take, void *);
    const unsigned char *(*dom_element_qualified_name)(void *, size_t *);
    void *(*dom_element_first_attribute)(void *);
    void *(*dom_element_next_attribute)(void *);
    const unsigned char *(*dom_attr_qualified_name)(void *, size_t *);
    const unsigned char *(*dom_attr_value)(void *, size_t *);
} Functions;
enum { N_FUNCTIONS = sizeof(Functions) / sizeof(void *) };

/* What lexbor's number of a tag stands for, so that it needn't be asked again. Numbers of elements that lexbor doesn't
   know are addresses. */
typedef struct {
    uintptr_t tag;
    unsigned int type; /* 0 where nothing is known */
    Py_ssize_t id;     /* the builder's number of an element's name */
} TagKind;
enum { N_KINDS = 256 }; /* which have one place for all numbers that end alike */

typedef struct {
    Functions call;
    Tags *tags;
    void *document;
    struct Element {
        void *node;
        Py_ssize_t id;
    } *open; /* elements, for lexbor tells both anew, but at a cost */
    Py_ssize_t n_open, room;
    TagKind kinds[N_KINDS];
} ParserRun;

/* What returns an int returns -1 with an exception set. */
static int no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

static int send_attributes(const ParserRun *r, void *node) {
    size_t length, value_length = 0;
    for (void *attribute = r->call.dom_element_first_attribute(node); attribute != NULL;
         attribute = r->call.dom_element_next_attribute(attribute)) {
        const char *name = (const char *)r->call.dom_attr_qualified_name(attribute, &length);
        const char *value = (const char *)r->call.dom_attr_value(attribute, &value_length);
        if (value == NULL) value_length = 0;
        if (name == NULL) return no_memory();
        if (tags_attribute(r->tags, name, length, value, value_length) < 0) return -1;
    }
    return 0;
}

/* The kind of a node; `id` may be UNKNOWN still. */
static TagKind *kind_of(ParserRun *r, void *node) {
    uintptr_t tag = r->call.dom_node_tag_id(node);
    TagKind *kind = &r->kinds[(tag ^ tag >> 8) % N_KINDS];
    if (kind->tag != tag || !kind->type) *kind = (TagKind){tag, r->call.dom_node_type(node), UNKNOWN};
    return kind;
}

static int send_start(const ParserRun *r, TagKind *kind, void *node) {
    size_t length;
    if (send_attributes(r, node) < 0) return -1;
    if (kind->id >= 0) return tags_start_of(r->tags, kind->id);
    const char *name = (const char *)r->call.dom_element_qualified_name(node, &length);
    return name == NULL ? no_memory() : tags_start(r->tags, name, &kind->id);
}

static int send_copied_text(const ParserRun *r, void *node) {
    size_t length;
    unsigned char *text = r->call.dom_node_text_content(node, &length);
    if (text == NULL) return no_memory(); /* one without characters has a copy too */
    int failed = tags_text(r->tags, (const char *)text, (Py_ssize_t)length);
    r->call.dom_document_destroy_text(r->document, text);
    return failed;
}

/* A text as it is written out in pieces: a quote, the text, a quote, the end of the line. */
typedef struct {
    Tags *tags;
    int n; /* pieces; more if one is none of these */
    int failed; /* with an exception set */
} Serialized;
enum { N_PIECES = 4 };

static unsigned int on_serialized(const unsigned char *piece, size_t length, void *data) {
    Serialized *pieces = data;
    int n = pieces->n++;
    if (n == 1) {
        pieces->failed = tags_text(pieces->tags, (const char *)piece, (Py_ssize_t)length) < 0;
        return pieces->failed ? ERROR : OK;
    }
    if (n < N_PIECES && (length != 1 || *piece != "\"\"\"\n"[n])) pieces->n = N_PIECES + 1;
    return OK;
}

/* Lexbor gives a text away by writing it, or as a copy, which costs much more but comes as it is for certain. */
static int send_text(const ParserRun *r, void *node) {
    size_t before = tags_text_length(r->tags);
    Serialized pieces = {r->tags, 0, 0};
    unsigned int status = r->call.html_serialize_pretty_cb(node, RAW_TEXT, 0, on_serialized, &pieces);
    if (pieces.failed) return -1;
    if (status == OK && pieces.n == N_PIECES) return 0;
    tags_truncate_text(r->tags, before);
    return send_copied_text(r, node);
}

static int open_element(ParserRun *r, void *node, Py_ssize_t id) {
    if (r->n_open >= r->room) {
        r->room = r->room ? 2 * r->room : 64;
        if (widen((void **)&r->open, r->room, sizeof(struct Element)) < 0) return -1;
    }
    r->open[r->n_open++] = (struct Element){node, id};
    return 0;
}

/* Behind a node and all it holds; NULL behind the last one. */
static int next_node(ParserRun *r, void **node) {
    void *next;
    while ((next = r->call.dom_node_next(*node)) == NULL && r->n_open) {
        *node = r->open[--r->n_open].node;
        if (tags_end_of(r->tags, r->open[r->n_open].id) < 0) return -1;
    }
    *node = next;
    return 0;
}

static int walk(ParserRun *r) {
    for (void *node = r->call.dom_document_root(r->document); node != NULL;) {
        TagKind *kind = kind_of(r, node);
        if (kind->type == TEXT && send_text(r, node) < 0) return -1;
        if (kind->type == ELEMENT) {
            if (send_start(r, kind, node) < 0) return -1;
            void *child = tags_are_dropped(r->tags) ? NULL : r->call.dom_node_first_child(node);
            if (child != NULL) {
                if (open_element(r, node, kind->id) < 0) return -1;
                node = child;
                continue;
            }
            if (tags_end_of(r->tags, kind->id) < 0) return -1;
        }
        if (next_node(r, &node) < 0) return -1;
    }
    return 0;
}

static unsigned int parse(ParserRun *r, const char *source, Py_ssize_t length) {
    r->document = r->call.html_document_create();
    if (r->document == NULL) return OK + 1;
    r->call.html_document_dom_opt_set(r->document, WITHOUT_EVENTS);
    return r->call.html_document_parse(r->document, (const unsigned char *)source, (size_t)length);
}

/* parse_lexbor(source, addresses): gives the builder all events of the tree of a page in UTF-8. */
PyObject *parse_lexbor(PyObject *capsule, PyObject *arguments) {
    const char *source;
    Py_ssize_t length;
    PyObject *addresses;
    void *function[N_FUNCTIONS];
    ParserRun r = {.n_open = 0};
    Builder *b = builder_of(capsule);
    if (b == NULL || !PyArg_ParseTuple(arguments, "y#O", &source, &length, &addresses)) return NULL;
    if (read_addresses(addresses, function, N_FUNCTIONS) < 0) return NULL;
    memcpy(&r.call, function, sizeof r.call);
    if ((r.tags = tags_new(b, 1)) == NULL) return NULL;
    unsigned int status;
    /* selectolax has lexbor take its memory by PyMem_RawMalloc, which needs no lock. */
    Py_BEGIN_ALLOW_THREADS;
    status = parse(&r, source, length);
    Py_END_ALLOW_THREADS;
    int failed = status == OK ? walk(&r) : no_memory();
    if (r.document != NULL) r.call.html_document_destroy(r.document);
    free(r.open);
    tags_free(r.tags);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
