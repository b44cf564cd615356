/* What a page says about itself: the twin of blockml.features.metadata.claims. */
#include "features_page_tree.h"
#include <stdlib.h>

/* What is looked up, each the first one of its name. */
enum { OG_TITLE, OG_DESCRIPTION, DESCRIPTION, OG_TYPE, OG_URL, CANONICAL, N_SAID };
static const char *const METAS[CANONICAL] = {"og:title", "og:description", "description", "og:type", "og:url"};

/* Numbers of an address come before its kinds. */
enum { PARTS, DASHES, DIGITS, N_COUNTS };
enum { MOST_KINDS = 32, MOST_WORDS = 128 };

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && is_blank(*at)) at++;
    return at;
}

/* The name behind `@type` at `sign`; its length, or 0 for none. */
static Py_ssize_t type_at(const char *begin, const char *sign, const char *end, const char **name) {
    if (sign == begin || sign[-1] != '"' || end - sign < 6 || memcmp(sign, "@type\"", 6) != 0) return 0;
    const char *at = skip_blanks(sign + 6, end);
    if (at == end || *at++ != ':') return 0;
    at = skip_blanks(at, end);
    if (at < end && *at == '[') at = skip_blanks(at + 1, end);
    if (at == end || *at++ != '"') return 0;
    *name = at;
    while (at < end && is_in_word(*at)) at++;
    return at < end && *at == '"' ? at - *name : 0;
}

/* The value of a name among pairs, each with a zero byte behind it; NULL without it. Of several the last counts. */
static const char *value_of(const char *pairs, const char *end, const char *name) {
    const char *found = NULL;
    for (const char *at = pairs; at < end;) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0) found = value;
        at = value < end ? value + strlen(value) + 1 : end;
    }
    return found;
}

/* Whether a text is this word in small ASCII letters, whatever its case. */
static int is_named(const char *text, const char *word) {
    for (; *word; text++, word++)
        if (lower_of(*text) != *word) return 0;
    return !*text;
}

/* Notes the content of a meta element by its property or name, unless there is one already. No name that isn't ASCII is
   one of these in lower case: of other characters only the sign of kelvins, a k, is ASCII then. */
static void note_meta(const char **said, const char *pairs, const char *end) {
    const char *name = value_of(pairs, end, "property"), *content = value_of(pairs, end, "content");
    if (name == NULL || !*name) name = value_of(pairs, end, "name");
    for (int i = 0; name != NULL && i < CANONICAL; i++)
        if (said[i] == NULL && is_named(name, METAS[i])) said[i] = content == NULL ? "" : content;
}

/* Looks up what meta elements and the first canonical link say; NULL for what none does. 0 where attributes of one were
   given as a mapping. */
static int read_said(const Tree *tree, const char **said) {
    const char *pairs = PyBytes_AsString(tree->pairs); /* with a zero byte behind them */
    int32_t meta = tag_named(tree->names, "meta"), link = tag_named(tree->names, "link");
    for (Py_ssize_t node = 0; node < tree->n_nodes; node++) {
        int32_t tag = tree->tag[node], set = tree->set[node];
        if ((tag != meta && (tag != link || said[CANONICAL] != NULL)) || !set) continue;
        const char *begin = pairs + tree->ends[set - 1], *end = pairs + tree->ends[set], *rel;
        if (begin == end) return 0;
        if (tag == meta) {
            note_meta(said, begin, end);
        } else if ((rel = value_of(begin, end, "rel")) != NULL && is_named(rel, "canonical")) {
            const char *address = value_of(begin, end, "href");
            said[CANONICAL] = address == NULL ? "" : address;
        }
    }
    for (int i = 0; i < N_SAID; i++)
        if (said[i] == NULL) said[i] = "";
    return 1;
}

/* The number of a kind that a name of it, in lower case, means; UNKNOWN for none, -2 with an exception set. */
static long kind_named(PyObject *kind_of, PyObject *lower, Py_ssize_t n_kinds) {
    PyObject *held = lower == NULL ? NULL : PyDict_GetItemWithError(kind_of, lower);
    long kind = held == NULL ? UNKNOWN : PyLong_AsLong(held);
    if (PyErr_Occurred()) return -2;
    if (kind < UNKNOWN || kind >= n_kinds) {
        PyErr_SetString(PyExc_ValueError, "no such kind");
        return -2;
    }
    return kind;
}

/* Writes the kinds that the page calls itself: 1 by og:type, 2 by names of schema.org types. */
static int write_kinds(PyObject *kind_of, const char *own, PyObject *source, double *kinds, Py_ssize_t n_kinds) {
    enum { LONGEST = 64 }; /* no name of a kind is longer */
    char small[LONGEST], *begin = PyBytes_AsString(source);
    PyObject *text = PyUnicode_FromString(own);
    PyObject *lower = text == NULL ? NULL : PyObject_CallMethod(text, "lower", NULL);
    long kind = kind_named(kind_of, lower, n_kinds);
    if (kind >= 0) kinds[kind] = 1;
    Py_XDECREF(text);
    Py_XDECREF(lower);
    uint64_t named = 0;
    const char *at = begin, *end = begin + PyBytes_Size(source), *name;
    while (kind > -2 && at < end && (at = memchr(at, '@', (size_t)(end - at))) != NULL) {
        Py_ssize_t n = type_at(begin, at, end, &name);
        if (n) {
            at = name + n + 2; /* the quote behind it begins nothing */
            if (n <= LONGEST) {
                for (Py_ssize_t i = 0; i < n; i++) small[i] = lower_of(name[i]);
                lower = PyUnicode_DecodeASCII(small, n, NULL);
                if ((kind = kind_named(kind_of, lower, n_kinds)) >= 0) named |= (uint64_t)1 << kind;
                Py_XDECREF(lower);
            }
        } else {
            at++;
        }
    }
    for (Py_ssize_t i = 0; i < n_kinds; i++) kinds[i] += named >> i & 1 ? 2 : 0;
    return kind > -2 ? 0 : -1;
}

/* Words that tell kinds of addresses, by their first characters. */
typedef struct {
    const char *word[MOST_WORDS];
    uint8_t kind[MOST_WORDS], next[MOST_WORDS], first[256]; /* one more than the place of a word; 0 for none */
    Py_ssize_t n_kinds;
} Words;

/* A sign for any digit: addresses hold it as well, but no word asks for it. */
static uint8_t key_of(char c) { return c >= '0' && c <= '9' ? '#' : (uint8_t)c; }

/* Reads words with a zero byte behind each, and one more behind those of a kind. -1 with an exception set. */
static int read_words(Words *words, PyObject *bytes) {
    uint8_t last[256];
    const char *at = PyBytes_AsString(bytes), *end = at + PyBytes_Size(bytes);
    memset(words->first, 0, sizeof words->first);
    words->n_kinds = 0;
    for (int n = 0; at < end; at += strlen(at) + 1) {
        if (words->n_kinds == MOST_KINDS || n == MOST_WORDS) {
            PyErr_SetString(PyExc_ValueError, "too many words, or kinds of them");
            return -1;
        }
        if (!*at) {
            words->n_kinds++;
            continue;
        }
        uint8_t key = key_of(*at);
        words->word[n] = at, words->kind[n] = (uint8_t)words->n_kinds, words->next[n] = 0;
        if (words->first[key])
            words->next[last[key]] = (uint8_t)(n + 1);
        else
            words->first[key] = (uint8_t)(n + 1);
        last[key] = (uint8_t)n++;
    }
    return 0;
}

/* Where a word ends that begins here; NULL if it doesn't. A zero byte is behind the text. */
static const char *behind(const char *text, const char *word) {
    for (; *word; text++, word++)
        if (*word == '#' ? *text < '0' || *text > '9' : *text != *word) return NULL;
    return text;
}

/* The kinds of the first words at each place of a text, which are passed over. */
static uint64_t kinds_in(const Words *words, const char *text) {
    uint64_t kinds = 0;
    while (*text) {
        const char *end = NULL;
        for (int i = words->first[key_of(*text)]; i && end == NULL; i = words->next[i - 1])
            if ((end = behind(text, words->word[i - 1])) != NULL) kinds |= (uint64_t)1 << words->kind[i - 1];
        text = end == NULL ? text + 1 : end;
    }
    return kinds;
}

/* What stands behind the host of an address, from the slash on; NULL if nothing does. */
static const char *route_of(const char *address) {
    for (const char *at; (at = strstr(address, "//")) != NULL;) address = at + 2;
    const char *slash = strchr(address, '/');
    return slash != NULL && slash[1] ? slash : NULL;
}

/* Writes parts, dashes and digits of an address and the kinds that words in it tell. */
static int write_address(const Words *words, const char *address, double *numbers) {
    const char *route = route_of(address);
    numbers[PARTS] = *address ? 0 : -1;
    if (route == NULL) return 0;
    char *text = malloc(strlen(route) + 1);
    if (text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i == 0 || route[i - 1]; i++) {
        text[i] = lower_of(route[i]);
        numbers[PARTS] += i > 0 && route[i] != '/' && route[i] && route[i - 1] == '/';
        numbers[DASHES] += route[i] == '-';
        numbers[DIGITS] += key_of(route[i]) == '#' && route[i] != '#';
    }
    uint64_t kinds = kinds_in(words, text);
    for (Py_ssize_t i = 0; i < words->n_kinds; i++) numbers[N_COUNTS + i] = (double)(kinds >> i & 1);
    free(text);
    return 0;
}

/* The same as Python says it, of an address with other characters. */
static int ask_address(PyObject *elsewhere, const char *address, double *numbers, Py_ssize_t n) {
    PyObject *told = PyObject_CallFunction(elsewhere, "s", address);
    int fits = told != NULL && PyTuple_Check(told) && PyTuple_Size(told) == n;
    for (Py_ssize_t i = 0; fits && i < n; i++) numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(told, i));
    Py_XDECREF(told);
    if (!fits && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "not the numbers of an address");
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *claims_of(const char **said, PyObject *title, const double *numbers, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *number = PyFloat_FromDouble(numbers[i]);
        if (number == NULL || PyTuple_SetItem(tuple, i, number) < 0) Py_CLEAR(tuple);
    }
    PyObject *second = tuple == NULL ? NULL : PyUnicode_FromString(said[OG_TITLE]);
    PyObject *both = second == NULL ? NULL : PyUnicode_FromFormat("%U %U", title, second);
    Py_XDECREF(second);
    if (both == NULL) {
        Py_XDECREF(tuple);
        return NULL;
    }
    return Py_BuildValue("NsN", both, said[*said[OG_DESCRIPTION] ? OG_DESCRIPTION : DESCRIPTION], tuple);
}

/* page_claims(tree, title, source, kind_of, n_kinds, words, elsewhere): title, description and numbers; None where
   attributes of a meta or link element were given as a mapping. `kind_of` has numbers of kinds by names of types,
   `words` those of kinds of addresses, and `elsewhere` gives the numbers of an address that isn't ASCII. */
PyObject *page_claims(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *title, *source, *kind_of, *bytes, *elsewhere;
    Py_ssize_t n_kinds;
    const Tree *tree;
    const char *said[N_SAID] = {NULL};
    double numbers[MOST_KINDS + N_COUNTS + MOST_KINDS] = {0};
    Words words;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OUSO!nSO", &capsule, &title, &source, &PyDict_Type, &kind_of, &n_kinds, &bytes,
                          &elsewhere) ||
        (tree = tree_of(capsule)) == NULL)
        return NULL;
    if (n_kinds < 0 || n_kinds > MOST_KINDS) return PyErr_Format(PyExc_ValueError, "%zd kinds", n_kinds);
    if (!read_said(tree, said)) return Py_NewRef(Py_None);
    if (write_kinds(kind_of, said[OG_TYPE], source, numbers, n_kinds) < 0 || read_words(&words, bytes) < 0) return NULL;
    const char *address = said[*said[OG_URL] ? OG_URL : CANONICAL];
    int is_ascii = 1;
    for (const char *at = address; *at; at++) is_ascii &= (unsigned char)*at < 0x80;
    int failed = is_ascii ? write_address(&words, address, numbers + n_kinds)
                          : ask_address(elsewhere, address, numbers + n_kinds, N_COUNTS + words.n_kinds);
    return failed ? NULL : claims_of(said, title, numbers, n_kinds + N_COUNTS + words.n_kinds);
}
