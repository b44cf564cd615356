/* Parses a page with libxml2 in event mode, without Python objects; reference: blockml.parsing.backends.parse_lxml.

   The functions are those of the libxml2 inside lxml; declarations follow its public headers parser.h, SAX2.h and
   HTMLparser.h. */
#include "parsing_builder.h"

typedef char xmlChar; /* unsigned in libxml2 */

/* xmlSAXHandler: unchanged since libxml2 2.6. */
typedef struct {
    void (*internalSubset)(void *, const xmlChar *, const xmlChar *, const xmlChar *);
    void *before[11]; /* isStandalone ... setDocumentLocator */
    void (*startDocument)(void *);
    void *endDocument;
    void (*startElement)(void *, const xmlChar *, const xmlChar **);
    void (*endElement)(void *, const xmlChar *);
    void *reference;
    void (*characters)(void *, const xmlChar *, int);
    void *match_word[7]; /* ignorableWhitespace ... getParameterEntity */
    void (*cdataBlock)(void *, const xmlChar *, int);
    void *externalSubset;
    unsigned int initialized;
    void *_private, *startElementNs, *endElementNs, *serror;
} Handler;

/* HTML_PARSE_RECOVER, NOERROR, NOWARNING, NONET, COMPACT and HUGE: lxml's options, without its error log. */
enum { OPTIONS = 1 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 16 | 1 << 19 };

/* In the order of libxml2_addresses in blockml/parsing/backends.py. */
typedef struct {
    void *(*htmlNewSAXParserCtxt)(const Handler *, void *);
    void *(*htmlCtxtReadIO)(void *, int (*)(void *, char *, int), int (*)(void *), void *, const char *, const char *,
                            int);
    void (*htmlFreeParserCtxt)(void *);
    void (*xmlFreeDoc)(void *);
    void (*xmlSAX2StartDocument)(void *);
    void (*xmlSAX2InternalSubset)(void *, const xmlChar *, const xmlChar *, const xmlChar *);
    const struct Error {
        int domain, code;
    } *(*xmlCtxtGetLastError)(void *); /* further fields of xmlError are not read */
} Functions;
enum { N_FUNCTIONS = sizeof(Functions) / sizeof(void *) };

/* XML_ERR_NO_MEMORY: libxml2 silently ends the page there. */
enum { NO_MEMORY = 2 };

typedef struct {
    Functions call;
    void *parser;
    Builder *builder;
    const char *source;
    Py_ssize_t length, place; /* end of the source, and of the part that libxml2 reads next */
    int failed; /* with an exception set: later events are ignored */
} ParserRun;

static void on_start(void *data, const xmlChar *name, const xmlChar **attribute) {
    ParserRun *r = data;
    if (r->failed) return;
    for (; attribute != NULL && attribute[0] != NULL && !r->failed && !r->builder->n_dropped; attribute += 2) {
        const char *value = attribute[1] != NULL ? attribute[1] : "";
        r->failed = builder_attribute(r->builder, attribute[0], strlen(attribute[0]), value, strlen(value)) < 0;
    }
    int32_t number = r->failed ? -1 : builder_name(r->builder, name, strlen(name), NULL);
    r->failed = number < 0 || builder_start_pending(r->builder, number) < 0;
}

static void on_end(void *data, const xmlChar *name) {
    ParserRun *r = data;
    int32_t number = r->failed ? -1 : builder_name(r->builder, name, strlen(name), NULL);
    r->failed = number < 0 || builder_end(r->builder, number) < 0;
}

static void on_text(void *data, const xmlChar *text, int length) {
    ParserRun *r = data;
    r->failed = r->failed || (length > 0 && builder_text(r->builder, text, (size_t)length) < 0);
}

/* Gives libxml2 the next bytes of the page; none if the page is too costly. */
static int on_read(void *data, char *out, int room) {
    ParserRun *r = data;
    const char *next = r->source + r->place;
    int n = r->length - r->place < room ? (int)(r->length - r->place) : room, n_tags = 0;
    for (int i = 0; i < n;) { /* few bytes at a time, because a sum of bytes is vectorised best */
        unsigned char some = 0;
        for (int end = n - i < 128 ? n : i + 128; i < end; i++) some += next[i] == '<';
        n_tags += some;
    }
    if (r->failed || !builder_spend(r->builder, n_tags)) return 0;
    memcpy(out, next, (size_t)n);
    r->place += n;
    return n;
}

/* Starts a document without nodes, because some versions decide by its type which white space is significant. */
static void on_document(void *data) {
    ParserRun *r = data;
    r->call.xmlSAX2StartDocument(r->parser);
}

static void on_type(void *data, const xmlChar *name, const xmlChar *public_id, const xmlChar *system_id) {
    ParserRun *r = data;
    r->call.xmlSAX2InternalSubset(r->parser, name, public_id, system_id);
}

static const Handler HANDLER = {
    .internalSubset = on_type, .startDocument = on_document, .startElement = on_start,
    .endElement = on_end,      .characters = on_text,        .cdataBlock = on_text,
    .initialized = 1,
};

static void parse(ParserRun *r) {
    void *document = r->call.htmlCtxtReadIO(r->parser, on_read, NULL, r, NULL, "utf-8", OPTIONS);
    const struct Error *error = r->call.xmlCtxtGetLastError(r->parser);
    if (!r->failed && error != NULL && error->code == NO_MEMORY) r->failed = no_memory();
    if (document != NULL) r->call.xmlFreeDoc(document);
    r->call.htmlFreeParserCtxt(r->parser);
}

/* parse_libxml2(source, addresses): sends the events of a page in UTF-8 to the builder. */
PyObject *parse_libxml2(PyObject *capsule, PyObject *arguments) {
    void *function[N_FUNCTIONS];
    ParserRun r = {.failed = 0};
    r.builder = parser_arguments(capsule, arguments, &r.source, &r.length, function, N_FUNCTIONS);
    if (r.builder == NULL) return NULL;
    if (r.length > INT32_MAX) return PyErr_Format(PyExc_OverflowError, "pages over 2 GB are not supported");
    memcpy(&r.call, function, sizeof r.call);
    if ((r.parser = r.call.htmlNewSAXParserCtxt(&HANDLER, &r)) == NULL) return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS;
    parse(&r);
    Py_END_ALLOW_THREADS;
    return r.failed ? NULL : Py_NewRef(Py_None);
}
