/* Hashed words of the tags and attributes of the ancestors of blocks; reference: blockml.features.ancestor_words.

   ASCII values are split here; others are rare and split in Python, which knows Unicode case and white space. */
#include "features_page_tree.h"

/* blockml.features.ancestor_words._MOST_CHARACTERS. */
enum { MOST_CHARACTERS = 512 };
/* Numbers of levels above blocks and of attributes whose words are used. */
enum { N_LEVELS = 4, N_NAMED = 4 };

/* Updates a CRC-32 register (ISO 3309, as in zlib): ~0 initially, inverted at the end. */
static inline uint32_t crc_behind(const Tables *tables, uint32_t crc, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) crc = tables->crc[(crc ^ (uint8_t)bytes[i]) & 255] ^ crc >> 8;
    return crc;
}

/* Kinds of ASCII characters, as digits. */
enum { OTHER, SPACE, DIGIT, SMALL, CAPITAL };
static const char KINDS[] =
    "00000000011111000000000000001111" "10000000000000002222222222000000"
    "04444444444444444444444444400000" "03333333333333333333333333300000";

/* A word is a run of characters of one class, which ends before a capital after a small letter; class 0 is never
   in a word. */
static const uint8_t NAME_CLASS[] = {[OTHER] = 1, [DIGIT] = 1, [SMALL] = 1, [CAPITAL] = 1};
static const uint8_t PART_CLASS[] = {[DIGIT] = 1, [SMALL] = 2, [CAPITAL] = 2};

/* Value of an attribute in lower case, and the kind of each original character. */
typedef struct {
    char text[MOST_CHARACTERS];
    uint8_t kind[MOST_CHARACTERS];
    size_t length;
} Letters;

/* Writes the checksums of the unique words among the first `most` words of a class; returns their number. */
static int sum_words(const Tables *tables, const Letters *value, const uint8_t *class_of, int most, uint32_t before,
                     uint32_t *sums) {
    struct {
        size_t begin, length;
    } word[MOST_WORDS];
    int n = 0;
    for (size_t begin = 0, end; begin < value->length && most > 0; begin = end) {
        uint8_t class = class_of[value->kind[begin]];
        for (end = begin + 1; end < value->length && class_of[value->kind[end]] == class; end++)
            if (value->kind[end] == CAPITAL && value->kind[end - 1] == SMALL) break;
        if (!class) continue;
        size_t length = end - begin;
        uint32_t sum = ~crc_behind(tables, before, value->text + begin, length);
        int k = 0;
        while (k < n && (sums[k] != sum || word[k].length != length ||
                         memcmp(value->text + word[k].begin, value->text + begin, length) != 0))
            k++;
        if (k == n) sums[n] = sum, word[n].begin = begin, word[n++].length = length;
        most--;
    }
    return n;
}

/* Writes the checksums of the words of a value, first names and then their parts; returns their number. */
static int sum_value(const Tables *tables, const StringEntry *value, uint32_t *sums) {
    int most_names = (int)number_in(tables, MOST_NAMES), most_parts = (int)number_in(tables, MOST_PARTS_OF_NAMES);
    Letters letters;
    letters.length = value->length < MOST_CHARACTERS ? value->length : MOST_CHARACTERS;
    for (size_t i = 0; i < letters.length; i++) {
        letters.kind[i] = (uint8_t)(KINDS[(uint8_t)value->text[i]] - '0');
        letters.text[i] = (char)(value->text[i] | (letters.kind[i] == CAPITAL) << 5);
    }
    int n = sum_words(tables, &letters, NAME_CLASS, most_names, crc_behind(tables, UINT32_MAX, ".", 1), sums);
    return n + sum_words(tables, &letters, PART_CLASS, most_parts, UINT32_MAX, sums + n);
}

/* Growing array. */
typedef struct {
    uint32_t *items;
    size_t n, room;
} Numbers;

static int has_room(Numbers *numbers, size_t more) {
    if (numbers->n + more <= numbers->room) return 1;
    size_t room = 2 * (numbers->n + more);
    uint32_t *items = realloc(numbers->items, room * sizeof(uint32_t));
    if (items == NULL) return no_memory() == 0;
    numbers->items = items;
    numbers->room = room;
    return 1;
}

/* Checksums of the words of tags and values, computed on first use. */
typedef struct {
    const Tree *tree;
    const AttributeValues *attributes;
    const Tables *tables;
    int64_t *begin, *end; /* range of each value in sums; -1 if not computed yet */
    Numbers sums;
} Words;

/* Adds the checksums of a value that is not ASCII; returns 0 with an exception set. */
static int read_by_python(const Words *words, PyObject *value, Numbers *sums) {
    PyObject *found = PyObject_CallFunctionObjArgs(words->tables->word_checksums, value, NULL);
    char *bytes;
    Py_ssize_t length;
    int done = found != NULL && PyBytes_AsStringAndSize(found, &bytes, &length) == 0 &&
               has_room(sums, (size_t)length / 4 + 1);
    if (done) {
        memcpy(sums->items + sums->n, bytes, (size_t)length / 4 * 4);
        sums->n += (size_t)length / 4;
    }
    Py_XDECREF(found);
    return done;
}

/* Adds the checksums of a value to `sums`; returns 0 with an exception set. */
static int read_value(Words *words, int32_t number) {
    const StringEntry *value = &words->attributes->values.items[number];
    Numbers *sums = &words->sums;
    words->begin[number] = (int64_t)sums->n;
    if (value->unicode == NULL) {
        if (!has_room(sums, MOST_WORDS)) return 0;
        sums->n += (size_t)sum_value(words->tables, value, sums->items + sums->n);
    } else {
        int done;
        LOCKED(done = read_by_python(words, value->unicode, sums));
        if (!done) return 0;
    }
    words->end[number] = (int64_t)sums->n;
    return 1;
}

/* Returns the node above a block at a level; n_nodes, whose tag is n_tags, if it is missing. */
static Py_ssize_t node_at(const Tree *tree, int level, Py_ssize_t block) {
    int64_t node = level < tree->n_levels ? tree->ancestors[level * tree->n + block] : -1;
    return node < 0 ? tree->n_nodes : (Py_ssize_t)node;
}

/* Numbers bags, which are sets of blocks with equal tags and values above them, by numbering pairs of numbers.
   Writes the first block of each bag; returns the number of bags, or -1 with an exception set. */
static int64_t find_bags(const Tree *tree, const AttributeValues *attributes, int64_t *bag, int64_t *first) {
    Py_ssize_t n = tree->n, n_kinds = tree->n_ancestor_nodes + 1, most = n > n_kinds ? n : n_kinds;
    uint64_t *keys = malloc((size_t)most * sizeof(uint64_t));
    int64_t *kind = malloc((size_t)n_kinds * sizeof(int64_t)), n_bags = 0;
    int64_t *kind_of_node = malloc((size_t)(tree->n_nodes + 1) * sizeof(int64_t));
    if (keys == NULL || kind == NULL || kind_of_node == NULL) n_bags = no_memory();
    for (int k = 0; n_bags >= 0 && k < N_NAMED; k++) {
        for (Py_ssize_t i = 0; i < n_kinds; i++) {
            int64_t node = i < tree->n_ancestor_nodes ? tree->ancestor_nodes[i] : tree->n_nodes;
            int64_t before = k > 0 ? kind[i] : i < tree->n_ancestor_nodes ? tree->tag[node] : tree->n_tags;
            keys[i] = (uint64_t)before << 32 | (uint32_t)attributes->numbers[k * (tree->n_nodes + 1) + node];
        }
        n_bags = factorize(keys, (size_t)n_kinds, kind);
    }
    for (Py_ssize_t i = 0; n_bags >= 0 && i < n_kinds; i++)
        kind_of_node[i < tree->n_ancestor_nodes ? tree->ancestor_nodes[i] : tree->n_nodes] = kind[i];
    for (int level = 0; n_bags >= 0 && level < N_LEVELS; level++) {
        for (Py_ssize_t i = 0; i < n; i++)
            keys[i] = (uint64_t)(level > 0 ? bag[i] : 0) << 32 | (uint32_t)kind_of_node[node_at(tree, level, i)];
        n_bags = factorize(keys, (size_t)n, bag);
    }
    for (Py_ssize_t i = n; n_bags >= 0 && i-- > 0;) first[bag[i]] = i;
    free(keys);
    free(kind);
    free(kind_of_node);
    return n_bags;
}

/* Writes the checksums of the tags of a page, prefixed by <, and of a missing node; returns 0 with an exception set. */
static int sum_tags(const Tree *tree, const Tables *tables, uint32_t *sums) {
    uint32_t before = crc_behind(tables, UINT32_MAX, "<", 1);
    sums[tree->n_tags] = ~before;
    for (Py_ssize_t tag = 0; tag < tree->n_tags; tag++) {
        PyObject *bytes = PyUnicode_AsEncodedString(PyTuple_GetItem(tree->tag_names, tag), "utf-8", "surrogatepass");
        if (bytes == NULL) return 0;
        sums[tag] = ~crc_behind(tables, before, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
        Py_DECREF(bytes);
    }
    return 1;
}

/* Adds the words of the tag and of the values of a node; returns 0 with an exception set. */
static int add_node(Numbers *found, Words *words, Py_ssize_t node, const uint32_t *tag_sums, uint32_t mask,
                    uint32_t mark) {
    const Tree *tree = words->tree;
    if (!has_room(found, 1)) return 0;
    found->items[found->n++] = (tag_sums[node < tree->n_nodes ? tree->tag[node] : tree->n_tags] & mask) ^ mark;
    for (int k = 0; k < N_NAMED; k++) {
        int32_t value = words->attributes->numbers[k * (tree->n_nodes + 1) + node];
        if (value == 0) continue;
        if (words->begin[value] < 0 && !read_value(words, value)) return 0;
        if (!has_room(found, (size_t)(words->end[value] - words->begin[value]))) return 0;
        for (int64_t i = words->begin[value]; i < words->end[value]; i++)
            found->items[found->n++] = (words->sums.items[i] & mask) ^ mark;
    }
    return 1;
}

/* Finds the bags of blocks, where each starts, and their words; returns their number, or -1 with an exception set. */
static int64_t write_bags(Words *words, const uint32_t *tag_sums, int64_t *bag, int64_t *starts, Numbers *found) {
    int64_t near = number_in(words->tables, NEAR), n_bags = find_bags(words->tree, words->attributes, bag, starts);
    uint32_t far = (uint32_t)number_in(words->tables, FAR_MARK), mask = (uint32_t)number_in(words->tables, WORD_MASK);
    for (int64_t number = 0; number < n_bags; number++) {
        Py_ssize_t block = (Py_ssize_t)starts[number];
        starts[number] = (int64_t)found->n;
        for (int level = 0; level < N_LEVELS; level++)
            if (!add_node(found, words, node_at(words->tree, level, block), tag_sums, mask, level < near ? 0 : far))
                return -1;
    }
    if (n_bags >= 0) starts[n_bags] = (int64_t)found->n;
    return n_bags;
}

/* ancestor_words(tree, attributes, tables, (bag, starts)): writes the bag of each block and the start of each bag;
   returns the number of bags, and the numbers of their words as bytes. */
PyObject *ancestor_words(PyObject *module, PyObject *arguments) {
    PyObject *page_capsule, *values_capsule, *tables_capsule, *arrays, *result = NULL;
    Py_buffer view[2];
    Words words = {.tree = NULL};
    Numbers found = {NULL, 0, 0};
    uint32_t *tag_sums = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO!", &page_capsule, &values_capsule, &tables_capsule, &PyTuple_Type, &arrays) ||
        (words.tree = tree_of(page_capsule)) == NULL || (words.tables = tables_of(tables_capsule)) == NULL ||
        (words.attributes = attribute_values_of(values_capsule, page_capsule)) == NULL ||
        open_arrays(arrays, view, "*q *q") < 0)
        return NULL;
    int64_t n_bags;
    Py_ssize_t n_values = words.attributes->n_values;
    if (n_items(&view[0]) < words.tree->n || n_items(&view[1]) < words.tree->n + 1) {
        PyErr_SetString(PyExc_ValueError, "arrays are too short");
        goto done;
    }
    tag_sums = malloc((size_t)(words.tree->n_tags + 1) * sizeof(uint32_t));
    words.begin = malloc((size_t)(2 * n_values + 1) * sizeof(int64_t));
    if (tag_sums == NULL || words.begin == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    words.end = words.begin + n_values;
    for (Py_ssize_t i = 0; i < n_values; i++) words.begin[i] = -1;
    if (!sum_tags(words.tree, words.tables, tag_sums)) goto done;
    Py_BEGIN_ALLOW_THREADS;
    n_bags = write_bags(&words, tag_sums, view[0].buf, view[1].buf, &found);
    Py_END_ALLOW_THREADS;
    if (n_bags < 0) goto done;
    result = Py_BuildValue("LN", (long long)n_bags,
                           PyBytes_FromStringAndSize((const char *)found.items,
                                                     (Py_ssize_t)(found.n * sizeof(uint32_t))));
done:
    close_arrays(view, 2);
    free(tag_sums);
    free(words.begin);
    free(words.sums.items);
    free(found.items);
    return result;
}
