/* The serialisation of a tree (HTML standard, "serializing HTML fragments") to a builder's events: what the walk over
   that tree in blockml/parsing/lexbor.py calls, without an object for each node.

   The form is regular: every element has both tags unless its name is that of a void one, and the characters that mean
   something are escaped but in raw texts. Where it could stand for more than one tree, reading stops, the builder is as
   new, and the walk is to read the tree. So it is with

   - plaintext, which takes all that follows for its text;
   - void and raw names in a drawing or a formula, where they may hold elements and text that reads like tags;
   - a script that may have an end tag in its text;
   - whatever isn't expected, such as an end tag of another element: a version of the serialiser to come may write so.

   Every look at a byte is bounded by the end of the markup, whatever it holds. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

enum { READ = 0, FAILED = -1, UNCLEAR = 1 }; /* FAILED with an exception set */

enum { NORMAL, VOID_, RAW, FOREIGN, PLAINTEXT };

/* How elements are written. Lexbor leaves out more end tags than there are void elements. */
static const struct {
    const char *name;
    int form;
} FORMS[] = {
    {"area", VOID_},   {"base", VOID_},    {"basefont", VOID_}, {"bgsound", VOID_}, {"br", VOID_},
    {"col", VOID_},    {"embed", VOID_},   {"frame", VOID_},    {"hr", VOID_},      {"img", VOID_},
    {"input", VOID_},  {"keygen", VOID_},  {"link", VOID_},     {"meta", VOID_},    {"param", VOID_},
    {"source", VOID_}, {"track", VOID_},   {"wbr", VOID_},      {"style", RAW},     {"script", RAW},
    {"xmp", RAW},      {"iframe", RAW},    {"noembed", RAW},    {"noframes", RAW},  {"svg", FOREIGN},
    {"math", FOREIGN}, {"plaintext", PLAINTEXT},
};

/* Bytes of the markup. */
typedef struct {
    const char *begin;
    Py_ssize_t length;
} Span;

/* Names of tags, strings and attributes that have been met. Each table has one place for all that share a hash, which a
   later one takes from an earlier one. */
typedef struct {
    Span span;
    PyObject *text; /* in lower case, as all back ends give it */
    Py_ssize_t id;  /* the builder's number */
    int form;
} Name;

typedef struct {
    Span span;
    PyObject *text;
} String;

typedef struct {
    Span span;
    PyObject *held;
    int hidden;
} Attributes;

enum { N_NAMES = 128, N_STRINGS = 512, N_ATTRIBUTES = 512, LONGEST_STRING = 32, LONGEST_ATTRIBUTES = 256 };

typedef struct {
    Span span;
    PyObject *name;
    Py_ssize_t id;
    int form;
} Element;

typedef struct {
    Builder *builder;
    const char *at, *end;
    Element *open;
    Py_ssize_t n_open, room;
    Py_ssize_t dropped_at; /* open elements when the builder began to leave out what comes; 0 if it doesn't */
    Py_ssize_t n_foreign;  /* open drawings and formulas */
    char *scratch;         /* room for an unescaped text */
    Py_ssize_t scratch_room;
    Name names[N_NAMES];
    String strings[N_STRINGS];
    Attributes attributes[N_ATTRIBUTES];
} Reader;

static int same(Span a, Span b) {
    return a.length == b.length && (a.begin == b.begin || memcmp(a.begin, b.begin, (size_t)a.length) == 0);
}

/* Whether the markup goes on with `word`, at `at`. */
static int follows(const Reader *r, const char *at, const char *word) {
    size_t length = strlen(word);
    return (size_t)(r->end - at) >= length && memcmp(at, word, length) == 0;
}

/* Whether the end tag of a name is at `at`. */
static int is_end_tag(const Reader *r, const char *at, Span name) {
    return r->end - at >= name.length + 3 && at[1] == '/' && at[name.length + 2] == '>' &&
           memcmp(at + 2, name.begin, (size_t)name.length) == 0;
}

static int form_of(Span name) {
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (same(name, (Span){FORMS[i].name, (Py_ssize_t)strlen(FORMS[i].name)})) return FORMS[i].form;
    return NORMAL;
}

static uint64_t hash_of(Span span) {
    uint64_t hash = (uint64_t)span.length, word;
    Py_ssize_t i = 0;
    for (; i + 8 <= span.length; i += 8) {
        memcpy(&word, span.begin + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    word = 0;
    for (; i < span.length; i++) word = word << 8 | (unsigned char)span.begin[i];
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash >> 32;
}

/* str.lower of a name, as a new reference; NULL with an exception set. */
static PyObject *lowered(Span name) {
    PyObject *text = PyUnicode_DecodeUTF8(name.begin, name.length, NULL);
    Py_ssize_t i = 0;
    while (i < name.length && (unsigned char)name.begin[i] < 0x80 && (name.begin[i] < 'A' || name.begin[i] > 'Z')) i++;
    if (text == NULL || i == name.length) return text;
    PyObject *lower = PyObject_CallMethod(text, "lower", NULL);
    Py_DECREF(text);
    return lower;
}

/* The name of a tag; NULL with an exception set. */
static Name *name_of(Reader *r, Span span) {
    Name *name = &r->names[hash_of(span) % N_NAMES];
    if (name->text != NULL && same(name->span, span)) return name;
    PyObject *text = lowered(span);
    if (text == NULL) return NULL;
    Py_XDECREF(name->text);
    *name = (Name){span, text, UNKNOWN, form_of(span)};
    return name;
}

/* Bytes as they stand, as a new reference; NULL with an exception set. */
static PyObject *string_of(Reader *r, Span span) {
    if (span.length > LONGEST_STRING) return PyUnicode_DecodeUTF8(span.begin, span.length, NULL);
    String *string = &r->strings[hash_of(span) % N_STRINGS];
    if (string->text == NULL || !same(string->span, span)) {
        PyObject *text = PyUnicode_DecodeUTF8(span.begin, span.length, NULL);
        if (text == NULL) return NULL;
        Py_XDECREF(string->text);
        *string = (String){span, text};
    }
    return Py_NewRef(string->text);
}

/* Writes unescaped bytes; returns their number, or -1 for an escape that the standard doesn't know. */
static Py_ssize_t unescape(Span text, char *written) {
    static const struct {
        const char *escape;
        Py_ssize_t length;
        const char *meaning;
    } ESCAPES[] = {{"&amp;", 5, "&"},
                   {"&nbsp;", 6, "\xc2\xa0"},
                   {"&lt;", 4, "<"},
                   {"&gt;", 4, ">"},
                   {"&quot;", 6, "\""}};
    enum { N_ESCAPES = sizeof ESCAPES / sizeof *ESCAPES };
    const char *at = text.begin, *end = at + text.length;
    char *to = written;
    while (at < end) {
        const char *escape = memchr(at, '&', (size_t)(end - at));
        if (escape == NULL) escape = end;
        memcpy(to, at, (size_t)(escape - at));
        to += escape - at;
        if ((at = escape) == end) break;
        int i = 0;
        while (i < N_ESCAPES && (end - at < ESCAPES[i].length ||
                                 memcmp(at, ESCAPES[i].escape, (size_t)ESCAPES[i].length) != 0))
            i++;
        if (i == N_ESCAPES) return -1;
        at += ESCAPES[i].length;
        for (const char *meaning = ESCAPES[i].meaning; *meaning;) *to++ = *meaning++;
    }
    return to - written;
}

static int is_escaped(Span text) { return text.length && memchr(text.begin, '&', (size_t)text.length) != NULL; }

/* What escaped bytes mean, as a new reference. NULL with an exception set, or without one for an unknown escape. */
static PyObject *unescaped(Reader *r, Span text) {
    if (text.length > r->scratch_room) { /* nothing gets longer */
        if (widen((void **)&r->scratch, text.length, 1) < 0) return NULL;
        r->scratch_room = text.length;
    }
    Py_ssize_t length = unescape(text, r->scratch);
    return length < 0 ? NULL : PyUnicode_DecodeUTF8(r->scratch, length, NULL);
}

static int outcome(void) { return PyErr_Occurred() ? FAILED : UNCLEAR; }

/* Hands a text on, unless it is empty. */
static int give(Reader *r, Span span, int escaped) {
    if (r->dropped_at || span.length == 0) return READ;
    PyObject *text = escaped ? unescaped(r, span) : string_of(r, span);
    if (text == NULL) return outcome();
    int failed = builder_data(r->builder, text, escaped ? UNKNOWN : ascii_kind(span.begin, span.length));
    Py_DECREF(text);
    return failed;
}

/* A name: at least one byte, up to a blank, a `>`, or another one that ends it. */
static Span take_name(Reader *r, char stop) {
    const char *begin = r->at;
    if (r->at < r->end) r->at++;
    while (r->at < r->end && *r->at != ' ' && *r->at != '>' && *r->at != stop) r->at++;
    return (Span){begin, r->at - begin};
}

/* Reads ` key="value"`. */
static int read_attribute(Reader *r, PyObject **attributes) {
    r->at++;
    if (r->at == r->end || *r->at == '>' || *r->at == ' ') return UNCLEAR;
    Span key = take_name(r, '='), value = {key.begin, 0}; /* a name may begin with = */
    if (r->at < r->end && *r->at == '=') {
        if (!follows(r, r->at, "=\"")) return UNCLEAR;
        value.begin = r->at + 2;
        const char *quote = memchr(value.begin, '"', (size_t)(r->end - value.begin));
        if (quote == NULL) return UNCLEAR;
        value.length = quote - value.begin;
        r->at = quote + 1;
    }
    if (r->dropped_at) return READ;
    if (*attributes == NULL && (*attributes = PyDict_New()) == NULL) return FAILED;
    PyObject *text = is_escaped(value) ? unescaped(r, value) : string_of(r, value), *name = text == NULL ? NULL : string_of(r, key);
    int result = name == NULL ? outcome() : PyDict_SetItem(*attributes, name, text);
    Py_XDECREF(text);
    Py_XDECREF(name);
    return result;
}

static int open_element(Reader *r, const Name *name) {
    if (r->n_open == r->room) {
        Py_ssize_t room = r->room ? 2 * r->room : 64;
        if (widen((void **)&r->open, room, sizeof(Element)) < 0) return FAILED;
        r->room = room;
    }
    r->open[r->n_open++] = (Element){name->span, Py_NewRef(name->text), name->id, name->form};
    r->n_foreign += name->form == FOREIGN;
    if (!r->dropped_at && builder_drops(r->builder)) r->dropped_at = r->n_open;
    return READ;
}

static int close_element(Reader *r) {
    int told = !r->dropped_at || r->dropped_at == r->n_open;
    if (r->dropped_at == r->n_open) r->dropped_at = 0;
    Element *element = &r->open[--r->n_open];
    r->n_foreign -= element->form == FOREIGN;
    int failed = told ? builder_end(r->builder, element->name, element->id) : 0;
    Py_DECREF(element->name);
    return failed;
}

/* Where the end tag of a raw text begins; NULL if that can't be told.

   No text but a script's holds an end tag of its own name: where it has a comment open and a start tag in that (HTML
   standard, "script data double escaped state"). Whether such an end tag is text depends on what followed it in the
   page, so an end tag there is unclear. */
static const char *raw_end(const Reader *r, Span name) {
    int in_comment = 0, is_unclear = 0, is_script = same(name, (Span){"script", 6});
    for (const char *at = r->at; at < r->end; at++) {
        if (in_comment && follows(r, at, "-->")) in_comment = is_unclear = 0;
        if (!in_comment && (at = memchr(at, '<', (size_t)(r->end - at))) == NULL) return NULL;
        if (*at != '<') continue;
        if (is_end_tag(r, at, name)) return is_unclear ? NULL : at;
        if (is_script && follows(r, at, "<!--")) in_comment = 1;
        if (in_comment && r->end - at > 7 && PyOS_strnicmp(at, "<script", 7) == 0) is_unclear = 1;
    }
    return NULL;
}

/* Reads the text of a raw element that has been opened. */
static int read_raw(Reader *r) {
    const char *end = raw_end(r, r->open[r->n_open - 1].span);
    if (end == NULL) return UNCLEAR;
    Span text = {r->at, end - r->at};
    r->at = end;
    return give(r, text, 0);
}

/* Reads the attributes of a tag and its last byte. Tags that are written alike share their attributes. */
static int read_attributes(Reader *r, Attributes *attributes) {
    const char *end = memchr(r->at, '>', (size_t)(r->end - r->at));
    if (end == NULL) return UNCLEAR;
    Span span = {r->at, end - r->at};
    Attributes *known = span.length <= LONGEST_ATTRIBUTES ? &r->attributes[hash_of(span) % N_ATTRIBUTES] : NULL;
    if (known && known->held && same(known->span, span)) {
        *attributes = *known;
        Py_INCREF(attributes->held);
        r->at = end + 1;
        return READ;
    }
    int result = READ;
    while (result == READ && r->at < r->end && *r->at == ' ') result = read_attribute(r, &attributes->held);
    if (result != READ) return result;
    if (r->at == r->end || *r->at != '>') return UNCLEAR;
    if (r->at++ != end) known = NULL; /* there was a > in a value */
    if (r->dropped_at) return READ;
    if ((attributes->hidden = builder_hides(r->builder, attributes->held)) < 0) return FAILED;
    if (known) {
        Py_XDECREF(known->held);
        *known = (Attributes){span, Py_NewRef(attributes->held), attributes->hidden};
    }
    return READ;
}

static int read_start_tag(Reader *r) {
    r->at++;
    char initial = (char)(r->at < r->end ? *r->at | 0x20 : 0);
    if (initial < 'a' || initial > 'z') return UNCLEAR;
    Name *name = name_of(r, take_name(r, ' '));
    if (name == NULL) return FAILED;
    int form = name->form, result = READ;
    if (form == PLAINTEXT || (r->n_foreign && (form == VOID_ || form == RAW)) || r->at == r->end) return UNCLEAR;
    Attributes attributes = {0};
    if (*r->at == '>')
        r->at++;
    else
        result = read_attributes(r, &attributes);
    if (result == READ && !r->dropped_at) {
        PyObject *held = attributes.held ? attributes.held : builder_no_attributes(r->builder);
        result = builder_start(r->builder, name->text, &name->id, held, attributes.hidden);
    }
    Py_XDECREF(attributes.held);
    if (result == READ) result = open_element(r, name);
    if (result == READ && form == RAW) result = read_raw(r);
    if (result == READ && form == VOID_) result = close_element(r);
    return result;
}

static int read_end_tag(Reader *r) {
    if (!r->n_open || !is_end_tag(r, r->at, r->open[r->n_open - 1].span)) return UNCLEAR;
    r->at += r->open[r->n_open - 1].span.length + 3;
    return close_element(r);
}

/* Skips up to and with `word`. */
static int skip(Reader *r, const char *word) {
    for (const char *at = r->at; (at = memchr(at, '>', (size_t)(r->end - at))) != NULL; at++) {
        Py_ssize_t before = (Py_ssize_t)strlen(word) - 1;
        if (at - r->at >= before && memcmp(at - before, word, (size_t)before) == 0) {
            r->at = at + 1;
            return READ;
        }
    }
    return UNCLEAR;
}

static int read_text(Reader *r) {
    const char *tag = memchr(r->at, '<', (size_t)(r->end - r->at));
    Span text = {r->at, (tag ? tag : r->end) - r->at};
    r->at += text.length;
    return give(r, text, is_escaped(text));
}

static int read_all(Reader *r) {
    int result = READ;
    while (result == READ && r->at < r->end) {
        if (*r->at != '<') {
            result = read_text(r);
        } else if (follows(r, r->at, "</")) {
            result = read_end_tag(r);
        } else if (follows(r, r->at, "<!--")) {
            r->at += 4;
            result = skip(r, "-->");
        } else if (follows(r, r->at, "<?")) {
            r->at += 2;
            result = skip(r, ">");
        } else {
            result = read_start_tag(r);
        }
    }
    return result == READ && r->n_open ? UNCLEAR : result;
}

static void reader_free(Reader *r) {
    while (r->n_open) Py_DECREF(r->open[--r->n_open].name);
    for (int i = 0; i < N_NAMES; i++) Py_XDECREF(r->names[i].text);
    for (int i = 0; i < N_STRINGS; i++) Py_XDECREF(r->strings[i].text);
    for (int i = 0; i < N_ATTRIBUTES; i++) Py_XDECREF(r->attributes[i].held);
    free(r->open), free(r->scratch), free(r);
}

/* read_markup(markup): whether the builder has been given the tree; it is as new otherwise. */
PyObject *read_markup(PyObject *capsule, PyObject *markup) {
    Builder *b = builder_of(capsule);
    if (b == NULL) return NULL;
    if (!PyUnicode_Check(markup)) return PyErr_Format(PyExc_TypeError, "markup is a str");
    if (!builder_is_new(b)) return PyErr_Format(PyExc_ValueError, "the builder has had events before");
    Py_ssize_t length;
    const char *bytes = PyUnicode_AsUTF8AndSize(markup, &length);
    if (bytes == NULL) return NULL;
    Reader *r = calloc(1, sizeof(Reader));
    if (r == NULL) return PyErr_NoMemory();
    r->builder = b, r->at = bytes, r->end = bytes + length;
    int result = length ? read_all(r) : UNCLEAR;
    reader_free(r);
    if (result == UNCLEAR && builder_restart(b) < 0) result = FAILED;
    return result == FAILED ? NULL : PyBool_FromLong(result == READ);
}
