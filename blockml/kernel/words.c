/* Words in the tags and attributes above blocks: the twin of blockml.features.tokens.bags.

   Values of ASCII characters only are read here, as nearly all are; all others are left to Python, for which case and
   white space are Unicode's. */
#include "tree.h"
#include <stdlib.h>
#include <string.h>

/* As blockml.features.tokens._MOST_CHARACTERS, and more words than it asks for. */
enum { MOST_CHARACTERS = 512, MOST_WORDS = 64 };

enum { OTHER, SPACE, LETTER, DIGIT }; /* SPACE is what str.split splits at */

/* What is asked of each byte, made when it is first needed. */
static struct {
    uint32_t crc[4][256]; /* CRC-32 as in zlib (ISO 3309), four bytes at a time */
    uint8_t kind[256];    /* small and capital letters are alike */
    uint8_t small[256];
    int made;
} of_byte;

static void make_tables(void) {
    for (uint32_t c = 0; c < 256; c++) {
        uint32_t crc = c;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        of_byte.crc[0][c] = crc;
        int is_capital = c >= 'A' && c <= 'Z';
        of_byte.small[c] = (uint8_t)(is_capital ? c + 32 : c);
        int is_letter = is_capital || (c >= 'a' && c <= 'z'), is_digit = c >= '0' && c <= '9';
        int is_space = (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
        of_byte.kind[c] = is_letter ? LETTER : is_digit ? DIGIT : is_space ? SPACE : OTHER;
    }
    for (int k = 1; k < 4; k++)
        for (int c = 0; c < 256; c++) {
            uint32_t before = of_byte.crc[k - 1][c];
            of_byte.crc[k][c] = before >> 8 ^ of_byte.crc[0][before & 255];
        }
    of_byte.made = 1;
}

/* The checksum of bytes that come behind those of the checksum given, 0 for none. */
static uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t length) {
    crc = ~crc;
    for (; length >= 4; length -= 4, bytes += 4) {
        crc ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        crc = of_byte.crc[3][crc & 255] ^ of_byte.crc[2][crc >> 8 & 255] ^ of_byte.crc[1][crc >> 16 & 255] ^
              of_byte.crc[0][crc >> 24];
    }
    while (length--) crc = crc >> 8 ^ of_byte.crc[0][(crc ^ *bytes++) & 255];
    return ~crc;
}

/* Words of one kind, and their checksums. */
typedef struct {
    const uint8_t *at[MOST_WORDS];
    size_t length[MOST_WORDS];
    uint32_t *sums;
    int n;
} Found;

/* Adds a word that isn't among them; `before` is the checksum of what stands before it. */
static void add_word(Found *found, uint32_t before, const uint8_t *at, size_t length) {
    uint32_t sum = crc_of(before, at, length);
    for (int i = 0; i < found->n; i++)
        if (found->sums[i] == sum && found->length[i] == length && memcmp(found->at[i], at, length) == 0) return;
    found->at[found->n] = at;
    found->length[found->n] = length;
    found->sums[found->n++] = sum;
}

/* Writes the checksums of a value's different words in their order; returns how many there are. Room is for all. */
static int sums_of_value(const char *text, size_t length, int most_names, int most_parts, uint32_t *sums) {
    uint8_t apart[2 * MOST_CHARACTERS + 1];
    size_t n = 0;
    int before = 0;
    if (length > MOST_CHARACTERS) length = MOST_CHARACTERS;
    for (size_t i = 0; i < length; i++) { /* a blank at each inner capital */
        int c = (unsigned char)text[i], small = of_byte.small[c];
        if (c != small && before) apart[n++] = ' ';
        before = c == small && of_byte.kind[c] == LETTER;
        apart[n++] = (uint8_t)small;
    }
    apart[n] = 0; /* of no kind that words are of */
    Found names, parts;
    names.sums = sums, names.n = 0;
    const uint8_t dot = '.', *at = apart, *end = apart + n;
    uint32_t dotted = crc_of(0, &dot, 1);
    for (int count = 0; count < most_names; count++) { /* names, with a dot before each */
        while (of_byte.kind[*at] == SPACE) at++;
        const uint8_t *begin = at;
        while (at < end && of_byte.kind[*at] != SPACE) at++;
        if (at == begin) break;
        add_word(&names, dotted, begin, (size_t)(at - begin));
    }
    parts.sums = sums + names.n, parts.n = 0;
    at = apart;
    for (int count = 0; at < end && count < most_parts;) { /* runs of letters, and of digits */
        const uint8_t *begin = at++;
        int kind = of_byte.kind[*begin];
        if (kind != LETTER && kind != DIGIT) continue;
        while (of_byte.kind[*at] == kind) at++;
        add_word(&parts, 0, begin, (size_t)(at - begin));
        count++;
    }
    return names.n + parts.n;
}

/* Numbers that grow in number. */
typedef struct {
    uint32_t *items;
    size_t n, room;
} Numbers;

static int has_room(Numbers *numbers, size_t more) {
    if (numbers->n + more <= numbers->room) return 1;
    size_t room = 2 * (numbers->n + more);
    uint32_t *items = realloc(numbers->items, room * sizeof(uint32_t));
    if (items == NULL) return 0;
    numbers->items = items;
    numbers->room = room;
    return 1;
}

/* Checksums of the words of values, made when they are first asked for. */
typedef struct {
    const Value *values;
    PyObject *elsewhere; /* gives the checksums of a value that isn't ASCII, as bytes */
    int most_names, most_parts;
    int64_t *begin; /* of each value; -1 for one that wasn't asked for */
    int64_t *end;
    Numbers sums;
} Words;

/* Makes the checksums of a value; 0 with an exception. */
static int read_value(Words *words, int32_t number) {
    const Value *value = &words->values[number];
    words->begin[number] = (int64_t)words->sums.n;
    if (value->other == NULL) {
        if (!has_room(&words->sums, MOST_WORDS)) return PyErr_NoMemory() != NULL;
        words->sums.n += (size_t)sums_of_value(value->text, value->length, words->most_names, words->most_parts,
                                               words->sums.items + words->sums.n);
    } else {
        PyObject *found = PyObject_CallFunctionObjArgs(words->elsewhere, value->other, NULL);
        char *bytes;
        Py_ssize_t length;
        if (found == NULL || PyBytes_AsStringAndSize(found, &bytes, &length) < 0) {
            Py_XDECREF(found);
            return 0;
        }
        int fits = has_room(&words->sums, (size_t)length / 4);
        if (fits) {
            if (length >= 4) memcpy(words->sums.items + words->sums.n, bytes, (size_t)length / 4 * 4);
            words->sums.n += (size_t)length / 4;
        }
        Py_DECREF(found);
        if (!fits) return PyErr_NoMemory() != NULL;
    }
    words->end[number] = (int64_t)words->sums.n;
    return 1;
}

/* Levels above blocks that are looked at, and how many of their attributes. */
enum { N_LEVELS = 4, N_NAMED = 4 };

/* What the elements above blocks are: of each its tag and the numbers of its attributes' values. */
typedef struct {
    const Tree *tree;
    const Names *names;
} Above;

static Py_ssize_t node_at(const Above *a, int level, Py_ssize_t block) {
    int64_t node = level < a->tree->n_levels ? a->tree->chain[level * a->tree->n + block] : -1;
    return node < 0 ? a->tree->n_nodes : (Py_ssize_t)node;
}

/* The last tag is that of "no node". */
static Py_ssize_t tag_at(const Above *a, Py_ssize_t node) {
    return node < a->tree->n_nodes ? a->tree->tag[node] : a->tree->n_tags;
}

static int32_t number_at(const Above *a, int attribute, Py_ssize_t node) {
    return a->names->numbers[attribute * (a->tree->n_nodes + 1) + node];
}

static int nodes_alike(const Above *a, Py_ssize_t one, Py_ssize_t other) {
    if (one == other) return 1;
    if (tag_at(a, one) != tag_at(a, other)) return 0;
    for (int k = 0; k < N_NAMED; k++)
        if (number_at(a, k, one) != number_at(a, k, other)) return 0;
    return 1;
}

static int blocks_alike(const Above *a, Py_ssize_t one, Py_ssize_t other) {
    for (int level = 0; level < N_LEVELS; level++)
        if (!nodes_alike(a, node_at(a, level, one), node_at(a, level, other))) return 0;
    return 1;
}

static uint64_t hash_of(const Above *a, Py_ssize_t block) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a (Fowler, Noll, Vo), a number at a time */
    for (int level = 0; level < N_LEVELS; level++) {
        Py_ssize_t node = node_at(a, level, block);
        hash = (hash ^ (uint32_t)tag_at(a, node)) * 0x100000001b3u;
        for (int k = 0; k < N_NAMED; k++) hash = (hash ^ (uint32_t)number_at(a, k, node)) * 0x100000001b3u;
    }
    return hash ^ (hash >> 32);
}

/* Numbers the blocks that have the same above them, in their order; first has the first block of each bag. Returns how
   many bags there are, or -1 without memory. */
static Py_ssize_t find_bags(const Above *a, int64_t *bag, int64_t *first) {
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)a->tree->n) n_slots *= 2;
    int64_t *slots = malloc(n_slots * sizeof(int64_t)); /* numbers of bags, -1: free */
    if (slots == NULL) return -1;
    memset(slots, 255, n_slots * sizeof(int64_t));
    Py_ssize_t n_bags = 0;
    for (Py_ssize_t block = 0; block < a->tree->n; block++) {
        if (has_parent_of_last(a->tree, block)) {
            bag[block] = bag[block - 1];
            continue;
        }
        size_t at = (size_t)hash_of(a, block) & (n_slots - 1);
        while (slots[at] >= 0 && !blocks_alike(a, (Py_ssize_t)first[slots[at]], block)) at = (at + 1) & (n_slots - 1);
        if (slots[at] < 0) {
            first[n_bags] = block;
            slots[at] = n_bags++;
        }
        bag[block] = slots[at];
    }
    free(slots);
    return n_bags;
}

/* Checksums of the tags of a page, a sign before each, and of none; to be freed. NULL with an exception set. */
static uint32_t *sums_of_tags(const Tree *tree) {
    const uint8_t sign = '<';
    uint32_t before = crc_of(0, &sign, 1), *sums = malloc((size_t)(tree->n_tags + 1) * sizeof(uint32_t));
    if (sums == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t tag = 0; tag < tree->n_tags; tag++) {
        PyObject *bytes = PyUnicode_AsEncodedString(PyTuple_GetItem(tree->names, tag), "utf-8", "surrogatepass");
        if (bytes == NULL) {
            free(sums);
            return NULL;
        }
        sums[tag] = crc_of(before, (const uint8_t *)PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
        Py_DECREF(bytes);
    }
    sums[tree->n_tags] = before;
    return sums;
}

/* page_bags(tree, names, elsewhere, most_names, most_parts, near, far, mask, bag, starts): writes the bag of each
   block and where each bag starts; returns how many bags there are and, as bytes, the numbers of their words: those
   of the tag and of the values of each element, `far` from level `near` on. */
PyObject *page_bags(PyObject *module, PyObject *arguments) {
    PyObject *of_page, *of_names, *object[2], *result = NULL;
    Py_buffer view[2];
    Words words = {NULL, NULL, 0, 0, NULL, NULL, {NULL, 0, 0}};
    Numbers found = {NULL, 0, 0};
    Above a = {NULL, NULL};
    uint32_t *tag_sums = NULL;
    int near, opened = 0;
    unsigned int far, mask;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOiiiIIOO", &of_page, &of_names, &words.elsewhere, &words.most_names,
                          &words.most_parts, &near, &far, &mask, &object[0], &object[1]))
        return NULL;
    for (; opened < 2; opened++)
        if (open_array(object[opened], &view[opened], 8, 1) < 0) goto done;
    if ((a.tree = tree_of(of_page)) == NULL || (a.names = names_of(of_names, of_page)) == NULL) goto done;
    words.values = a.names->values.items;
    int64_t *bag = view[0].buf, *starts = view[1].buf;
    Py_ssize_t n_values = a.names->n_values;
    if (view[0].len / 8 < a.tree->n || view[1].len / 8 < a.tree->n + 1 || words.most_names < 0 ||
        words.most_parts < 0 || words.most_names > MOST_WORDS || words.most_parts > MOST_WORDS - words.most_names) {
        PyErr_SetString(PyExc_ValueError, "no room for all bags or words");
        goto done;
    }
    if (!of_byte.made) make_tables();
    if ((tag_sums = sums_of_tags(a.tree)) == NULL) goto done;
    words.begin = malloc((size_t)(n_values + 1) * sizeof(int64_t));
    words.end = malloc((size_t)(n_values + 1) * sizeof(int64_t));
    Py_ssize_t n_bags = words.begin == NULL || words.end == NULL ? -1 : find_bags(&a, bag, starts);
    if (n_bags < 0) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_values; i++) words.begin[i] = -1;
    if (n_values > 0) words.begin[0] = words.end[0] = 0; /* no value */
    for (Py_ssize_t number = 0; number < n_bags; number++) {
        Py_ssize_t block = (Py_ssize_t)starts[number];
        starts[number] = (int64_t)found.n;
        for (int level = 0; level < N_LEVELS; level++) {
            Py_ssize_t node = node_at(&a, level, block);
            uint32_t mark = level < near ? 0 : far;
            if (!has_room(&found, 1)) {
                PyErr_NoMemory();
                goto done;
            }
            found.items[found.n++] = (tag_sums[tag_at(&a, node)] & mask) ^ mark;
            for (int k = 0; k < N_NAMED; k++) {
                int32_t value = number_at(&a, k, node);
                if (words.begin[value] < 0 && !read_value(&words, value)) goto done;
                size_t length = (size_t)(words.end[value] - words.begin[value]);
                if (!has_room(&found, length)) {
                    PyErr_NoMemory();
                    goto done;
                }
                const uint32_t *sums = words.sums.items + words.begin[value];
                for (size_t i = 0; i < length; i++) found.items[found.n++] = (sums[i] & mask) ^ mark;
            }
        }
    }
    starts[n_bags] = (int64_t)found.n;
    result = Py_BuildValue("ny#", n_bags, (const char *)found.items, (Py_ssize_t)(found.n * sizeof(uint32_t)));
done:
    while (opened--) PyBuffer_Release(&view[opened]);
    free(tag_sums);
    free(words.begin);
    free(words.end);
    free(words.sums.items);
    free(found.items);
    return result;
}
