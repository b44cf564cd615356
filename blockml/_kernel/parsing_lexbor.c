/* Parses a page with lexbor and walks the tree without Python objects; reference:
   blockml.parsing.lexbor.parse_selectolax.

   The functions are those of the lexbor inside selectolax; declarations follow its public headers. */
#include "parsing_builder.h"

/* LXB_DOM_DOCUMENT_OPT_WO_EVENTS, LXB_DOM_NODE_TYPE_ELEMENT and _TEXT, LXB_STATUS_OK and _ERROR,
   LXB_HTML_SERIALIZE_OPT_RAW and _WITHOUT_TEXT_INDENT. */
enum { WITHOUT_EVENTS = 1, ELEMENT = 1, TEXT = 3, OK = 0, ERROR = 1, RAW_TEXT = 0x04 | 0x20 };

/* Callback that receives a piece of serialized text. */
typedef unsigned int (*Take)(const unsigned char *, size_t, void *);

/* In the order of lexbor_addresses in blockml/parsing/lexbor.py, without lxb_ and _noi. Node types, statuses and
   options are enumerations there. */
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

/* Properties of a tag number, cached because calls are expensive. Numbers of elements that lexbor doesn't know are
   addresses. */
typedef struct {
    uintptr_t tag;
    unsigned int type; /* 0 for an empty entry */
    int32_t name;      /* number of the element's name in the builder; UNKNOWN if it was not read */
} TagKind;
enum { N_KINDS = 256 }; /* direct-mapped by the low bits of the tag number */

typedef struct {
    Functions call;
    Builder *builder;
    void *document;
    struct Element {
        void *node;
        int32_t name;
    } *open; /* open elements, saved because lexbor's functions are slower */
    Py_ssize_t n_open, room;
    TagKind kinds[N_KINDS];
} ParserRun;

static int send_attributes(const ParserRun *r, void *node) {
    size_t length, value_length = 0;
    for (void *attribute = r->call.dom_element_first_attribute(node); attribute != NULL;
         attribute = r->call.dom_element_next_attribute(attribute)) {
        const char *name = (const char *)r->call.dom_attr_qualified_name(attribute, &length);
        const char *value = (const char *)r->call.dom_attr_value(attribute, &value_length);
        if (value == NULL) value_length = 0;
        if (name == NULL) return no_memory();
        if (builder_attribute(r->builder, name, length, value, value_length) < 0) return -1;
    }
    return 0;
}

/* Returns the cached properties of a node's tag; `name` may still be UNKNOWN. */
static TagKind *kind_of(ParserRun *r, void *node) {
    uintptr_t tag = r->call.dom_node_tag_id(node);
    TagKind *kind = &r->kinds[(tag ^ tag >> 8) % N_KINDS];
    if (kind->tag != tag || !kind->type) *kind = (TagKind){tag, r->call.dom_node_type(node), UNKNOWN};
    return kind;
}

/* Returns the number of a name in lower case; most are ASCII and need no call to Python. */
static int32_t lowered_name(Builder *b, const char *name, size_t length) {
    char lower[64];
    size_t n = 0;
    while (n < length && n < sizeof lower && (unsigned char)name[n] < 0x80) lower[n] = lower_of(name[n]), n++;
    if (n == length) return builder_name(b, lower, length, NULL);
    int32_t number = -1;
    LOCKED(PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)length, NULL);
           PyObject *small = text == NULL ? NULL : PyObject_CallMethod(text, "lower", NULL);
           const char *utf8 = small == NULL ? NULL : PyUnicode_AsUTF8AndSize(small, NULL);
           if (utf8 != NULL) number = builder_name(b, utf8, strlen(utf8), small);
           Py_XDECREF(text);
           Py_XDECREF(small));
    return number;
}

static int send_start(const ParserRun *r, TagKind *kind, void *node) {
    size_t length;
    if (send_attributes(r, node) < 0) return -1;
    if (kind->name < 0) {
        const char *name = (const char *)r->call.dom_element_qualified_name(node, &length);
        if (name == NULL) return no_memory();
        if ((kind->name = lowered_name(r->builder, name, length)) < 0) return -1;
    }
    return builder_start_pending(r->builder, kind->name);
}

static int send_copied_text(const ParserRun *r, void *node) {
    size_t length;
    unsigned char *text = r->call.dom_node_text_content(node, &length);
    if (text == NULL) return no_memory(); /* empty texts have a copy too */
    int failed = builder_text(r->builder, (const char *)text, length);
    r->call.dom_document_destroy_text(r->document, text);
    return failed;
}

/* Serialized text node, in pieces: a quote, the text, a quote, a line break. */
typedef struct {
    Builder *builder;
    int n; /* number of pieces; N_PIECES + 1 if one is different */
    int failed; /* with an exception set */
} Serialized;
enum { N_PIECES = 4 };

static unsigned int on_serialized(const unsigned char *piece, size_t length, void *data) {
    Serialized *pieces = data;
    int n = pieces->n++;
    if (n == 1) {
        pieces->failed = builder_text(pieces->builder, (const char *)piece, length) < 0;
        return pieces->failed ? ERROR : OK;
    }
    if (n < N_PIECES && (length != 1 || *piece != "\"\"\"\n"[n])) pieces->n = N_PIECES + 1;
    return OK;
}

/* Reads a text by serialization; a copy always works, but costs much more. */
static int send_text(const ParserRun *r, void *node) {
    size_t before = r->builder->n_pending;
    Serialized pieces = {r->builder, 0, 0};
    unsigned int status = r->call.html_serialize_pretty_cb(node, RAW_TEXT, 0, on_serialized, &pieces);
    if (pieces.failed) return -1;
    if (status == OK && pieces.n == N_PIECES) return 0;
    r->builder->n_pending = before;
    return send_copied_text(r, node);
}

static int open_element(ParserRun *r, void *node, int32_t name) {
    if (r->n_open >= r->room) {
        r->room = r->room ? 2 * r->room : 64;
        if (widen((void **)&r->open, r->room, sizeof(struct Element)) < 0) return -1;
    }
    r->open[r->n_open++] = (struct Element){node, name};
    return 0;
}

/* Advances to the next node after the descendants of one; NULL after the last node. */
static int next_node(ParserRun *r, void **node) {
    void *next;
    while ((next = r->call.dom_node_next(*node)) == NULL && r->n_open) {
        *node = r->open[--r->n_open].node;
        if (builder_end(r->builder, r->open[r->n_open].name) < 0) return -1;
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
            void *child = r->builder->n_dropped ? NULL : r->call.dom_node_first_child(node);
            if (child != NULL) {
                if (open_element(r, node, kind->name) < 0) return -1;
                node = child;
                continue;
            }
            if (builder_end(r->builder, kind->name) < 0) return -1;
        }
        if (next_node(r, &node) < 0) return -1;
    }
    return 0;
}

/* The lexbor inside selectolax allocates with PyMem_RawMalloc, which needs no lock. */
static int parse(ParserRun *r, const char *source, Py_ssize_t length) {
    r->document = r->call.html_document_create();
    if (r->document == NULL) return no_memory();
    r->call.html_document_dom_opt_set(r->document, WITHOUT_EVENTS);
    unsigned int status = r->call.html_document_parse(r->document, (const unsigned char *)source, (size_t)length);
    int failed = status == OK ? walk(r) : no_memory();
    r->call.html_document_destroy(r->document);
    return failed;
}

/* parse_lexbor(source, addresses): sends the tree of a page in UTF-8 to the builder. */
PyObject *parse_lexbor(PyObject *capsule, PyObject *arguments) {
    const char *source;
    Py_ssize_t length;
    void *function[N_FUNCTIONS];
    ParserRun r = {.n_open = 0};
    r.builder = parser_arguments(capsule, arguments, &source, &length, function, N_FUNCTIONS);
    if (r.builder == NULL) return NULL;
    memcpy(&r.call, function, sizeof r.call);
    int failed;
    Py_BEGIN_ALLOW_THREADS;
    failed = parse(&r, source, length);
    Py_END_ALLOW_THREADS;
    free(r.open);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
