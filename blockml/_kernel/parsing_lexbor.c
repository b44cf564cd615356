/* Parses a page with lexbor and walks the tree without Python objects; reference:
   blockml.parsing.lexbor.parse_selectolax.

   The functions are those of the lexbor inside selectolax; declarations follow its public headers. */
#include "parsing_tags.h"

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
    Py_ssize_t id;     /* number of the element's name in the builder */
} TagKind;
enum { N_KINDS = 256 }; /* direct-mapped by the low bits of the tag number */

typedef struct {
    Functions call;
    Tags *tags;
    void *document;
    struct Element {
        void *node;
        Py_ssize_t id;
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
        if (tags_attribute(r->tags, name, length, value, value_length) < 0) return -1;
    }
    return 0;
}

/* Returns the cached properties of a node's tag; `id` may still be UNKNOWN. */
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
    if (text == NULL) return no_memory(); /* empty texts have a copy too */
    int failed = tags_text(r->tags, (const char *)text, (Py_ssize_t)length);
    r->call.dom_document_destroy_text(r->document, text);
    return failed;
}

/* Serialized text node, in pieces: a quote, the text, a quote, a line break. */
typedef struct {
    Tags *tags;
    int n; /* number of pieces; N_PIECES + 1 if one is different */
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

/* Reads a text by serialization; a copy always works, but costs much more. */
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

/* Advances to the next node after the descendants of one; NULL after the last node. */
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

/* parse_lexbor(source, addresses): sends the tree of a page in UTF-8 to the builder. */
PyObject *parse_lexbor(PyObject *capsule, PyObject *arguments) {
    char *source;
    Py_ssize_t length;
    PyObject *page, *addresses;
    void *function[N_FUNCTIONS];
    ParserRun r = {.n_open = 0};
    Builder *b = builder_of(capsule);
    if (b == NULL || !PyArg_ParseTuple(arguments, "SO", &page, &addresses)) return NULL;
    if (PyBytes_AsStringAndSize(page, &source, &length) < 0) return NULL;
    if (read_addresses(addresses, function, N_FUNCTIONS) < 0) return NULL;
    memcpy(&r.call, function, sizeof r.call);
    if ((r.tags = tags_new(b, 1)) == NULL) return NULL;
    unsigned int status;
    /* The lexbor inside selectolax allocates with PyMem_RawMalloc, which needs no lock. */
    Py_BEGIN_ALLOW_THREADS;
    status = parse(&r, source, length);
    Py_END_ALLOW_THREADS;
    int failed = status == OK ? walk(&r) : no_memory();
    if (r.document != NULL) r.call.html_document_destroy(r.document);
    free(r.open);
    tags_free(r.tags);
    return failed < 0 ? NULL : Py_NewRef(Py_None);
}
