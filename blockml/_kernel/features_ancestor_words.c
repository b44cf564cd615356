/* Words in the tags and attributes above blocks: the twin of blockml.features.ancestor_words.bags.

   Values of ASCII characters only are read here, as nearly all are; all others are left to Python, for which case and
   white space are Unicode's. */
#include "text_bytes.h"
#include "features_page_tree.h"
#include <stdlib.h>
#include <string.h>

/* As blockml.features.ancestor_words._MOST_CHARACTERS, and more words than it asks for. */
enum { MOST_CHARACTERS = 512, MOST_WORDS = 64 };

/* CRC-32 as in zlib (ISO 3309), eight bytes at a time: tables of what a byte adds so many bytes before the end. Made
   when they are first needed. */
static struct {
    uint32_t of[8][256];
    int made;
} crc;

static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
        crc.of[0][byte] = sum;
    }
    for (int k = 1; k < 8; k++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = crc.of[k - 1][byte];
            crc.of[k][byte] = before >> 8 ^ crc.of[0][before & 255];
        }
    crc.made = 1;
}

static inline uint32_t of_eight(uint64_t word) {
    return crc.of[7][word & 255] ^ crc.of[6][word >> 8 & 255] ^ crc.of[5][word >> 16 & 255] ^
           crc.of[4][word >> 24 & 255] ^ crc.of[3][word >> 32 & 255] ^ crc.of[2][word >> 40 & 255] ^
           crc.of[1][word >> 48 & 255] ^ crc.of[0][word >> 56];
}

/* The register behind one byte or more, where eight may be read; ~0 at the beginning, and inverted at the end. */
static inline uint32_t crc_behind(uint32_t before, const char *bytes, size_t length) {
    uint64_t sum = before;
    for (; length > 8; length -= 8, bytes += 8) sum = of_eight(eight_bytes(bytes) ^ sum);
    /* The last bytes are moved to the end of the word. Of what was there before, some is left if they are few. */
    return of_eight((eight_bytes(bytes) ^ sum) << (64 - 8 * length)) ^ (uint32_t)(length < 4 ? sum >> 8 * length : 0);
}

static uint32_t behind_sign(char sign) {
    const char bytes[8] = {sign};
    return crc_behind(UINT32_MAX, bytes, 1);
}

/* The most words of 64 bits for the characters of a value and its end, and bytes that may be read behind them. */
enum { N_CHUNKS = MOST_CHARACTERS / 64 + 1, BEHIND = 16 };

/* A value in lower case, and bits of its characters. */
typedef struct {
    char text[MOST_CHARACTERS + BEHIND];
    size_t length;
    uint64_t in_name[N_CHUNKS], in_part[N_CHUNKS];       /* no white space; letters and digits */
    uint64_t name_edges[N_CHUNKS], part_edges[N_CHUNKS]; /* where other ones begin, inner capitals, and the end */
} Lettered;

/* Which of 64 characters are of a kind, as bits. */
typedef struct {
    uint64_t spaces, capitals, smalls, digits;
} Kinds;

static inline void read_eight(Kinds *kinds, char *text, int place) {
    uint64_t word = eight_bytes(text + place), capitals = within(word, 'A', 'Z');
    put_eight(text + place, word | capitals >> 2);
    kinds->capitals |= bits_of_bytes(capitals) << place;
    kinds->smalls |= bits_of_bytes(within(word, 'a', 'z')) << place;
    kinds->digits |= bits_of_bytes(within(word, '0', '9')) << place;
    kinds->spaces |= bits_of_bytes(within(word, 9, 13) | within(word, 28, 32)) << place;
}

/* Reads a value. Behind its end are zeros, which are of no kind. */
static void read_letters(Lettered *value, const char *text, size_t length) {
    size_t n = value->length = length < MOST_CHARACTERS ? length : MOST_CHARACTERS;
    uint64_t small_before = 0, space_before = 0, letter_before = 0, digit_before = 0;
    memcpy(value->text, text, n);
    memset(value->text + n, 0, BEHIND);
    for (size_t chunk = 0; chunk <= n / 64; chunk++) {
        Kinds kinds = {0, 0, 0, 0};
        size_t left = n - chunk * 64;
        for (size_t place = 0; place < 64 && place < left; place += 8)
            read_eight(&kinds, value->text + chunk * 64, (int)place);
        uint64_t letters = kinds.capitals | kinds.smalls;
        uint64_t inner = kinds.capitals & (kinds.smalls << 1 | small_before);
        value->in_name[chunk] = ~kinds.spaces;
        value->in_part[chunk] = letters | kinds.digits;
        value->name_edges[chunk] = inner | (kinds.spaces ^ (kinds.spaces << 1 | space_before));
        value->part_edges[chunk] = inner | (letters ^ (letters << 1 | letter_before)) |
                                   (kinds.digits ^ (kinds.digits << 1 | digit_before));
        small_before = kinds.smalls >> 63, space_before = kinds.spaces >> 63;
        letter_before = letters >> 63, digit_before = kinds.digits >> 63;
    }
    value->name_edges[n / 64] |= (uint64_t)1 << (n & 63);
    value->part_edges[n / 64] |= (uint64_t)1 << (n & 63);
}

/* Words of one kind, and their checksums. */
typedef struct {
    const char *at[MOST_WORDS];
    size_t length[MOST_WORDS];
    uint32_t *sums;
    int n;
    uint64_t seen; /* by the lowest bits of their sums: most words are no second ones */
} Found;

/* Adds a word that isn't among them; `before` is the register behind what stands before it. */
static inline void add_word(Found *found, uint32_t before, const char *at, size_t length) {
    uint32_t sum = ~crc_behind(before, at, length);
    uint64_t bit = (uint64_t)1 << (sum & 63);
    if (found->seen & bit)
        for (int i = 0; i < found->n; i++)
            if (found->sums[i] == sum && found->length[i] == length && memcmp(found->at[i], at, length) == 0) return;
    found->seen |= bit;
    found->at[found->n] = at;
    found->length[found->n] = length;
    found->sums[found->n++] = sum;
}

/* Adds what lies between edges and is `chosen`, up to `most` times. */
static void add_words(Found *found, const Lettered *value, const uint64_t *edges, const uint64_t *chosen, int most,
                      uint32_t before) {
    size_t begin = 0;
    for (size_t chunk = 0; most > 0 && chunk <= value->length / 64; chunk++)
        for (uint64_t bits = edges[chunk]; bits; bits &= bits - 1) {
            size_t end = chunk * 64 + (size_t)lowest_bit(bits);
            if (end > begin && chosen[begin / 64] >> (begin & 63) & 1) {
                add_word(found, before, value->text + begin, end - begin);
                if (--most == 0) return;
            }
            begin = end;
        }
}

/* Writes the checksums of a value's different words in their order; returns how many there are. Room is for all. */
static int sums_of_value(const char *text, size_t length, int most_names, int most_parts, uint32_t *sums) {
    Lettered value;
    Found names, parts;
    read_letters(&value, text, length);
    names.sums = sums, names.n = 0, names.seen = 0;
    add_words(&names, &value, value.name_edges, value.in_name, most_names, behind_sign('.'));
    parts.sums = sums + names.n, parts.n = 0, parts.seen = 0;
    add_words(&parts, &value, value.part_edges, value.in_part, most_parts, UINT32_MAX);
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

/* A hash of what each node of the chain is, and of no node; to be freed. NULL without memory. */
static uint64_t *node_hashes(const Above *a) {
    const Tree *tree = a->tree;
    uint64_t *hashes = malloc((size_t)(tree->n_nodes + 1) * sizeof(uint64_t));
    for (Py_ssize_t i = 0; hashes != NULL && i <= tree->n_reached; i++) {
        Py_ssize_t node = i < tree->n_reached ? (Py_ssize_t)tree->reached[i] : tree->n_nodes;
        uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a (Fowler, Noll, Vo), a number at a time */
        hash = (hash ^ (uint32_t)tag_at(a, node)) * 0x100000001b3u;
        for (int k = 0; k < N_NAMED; k++) hash = (hash ^ (uint32_t)number_at(a, k, node)) * 0x100000001b3u;
        hashes[node] = hash ^ hash >> 32;
    }
    return hashes;
}

static uint64_t hash_of(const Above *a, const uint64_t *hashes, Py_ssize_t block) {
    uint64_t hash = 0;
    for (int level = 0; level < N_LEVELS; level++)
        hash = (hash ^ hashes[node_at(a, level, block)]) * 0x9e3779b97f4a7c15u;
    return hash >> 32;
}

/* Slots that are looked at; more are a sign of names made up so that they collide, and a dict has their bags. */
enum { MOST_PROBES = 64 };

/* What is above a block as bytes, the same for blocks that are alike; NULL with an exception set. */
static PyObject *key_of(const Above *a, Py_ssize_t block) {
    int32_t key[N_LEVELS][1 + N_NAMED];
    for (int level = 0; level < N_LEVELS; level++) {
        Py_ssize_t node = node_at(a, level, block);
        key[level][0] = (int32_t)tag_at(a, node);
        for (int k = 0; k < N_NAMED; k++) key[level][1 + k] = number_at(a, k, node);
    }
    return PyBytes_FromStringAndSize((const char *)key, sizeof key);
}

/* The bag of a block that found no slot, the `next` one if it has none yet; -1 with an exception set. */
static int64_t crowded_bag(PyObject **crowded, const Above *a, Py_ssize_t block, Py_ssize_t next) {
    int64_t number = -1;
    if (*crowded == NULL && (*crowded = PyDict_New()) == NULL) return -1;
    PyObject *key = key_of(a, block), *held = NULL;
    if (key != NULL && (held = PyDict_GetItemWithError(*crowded, key)) != NULL) {
        number = PyLong_AsLongLong(held);
    } else if (key != NULL && !PyErr_Occurred() && (held = PyLong_FromSsize_t(next)) != NULL) {
        number = PyDict_SetItem(*crowded, key, held) < 0 ? -1 : next;
        Py_DECREF(held);
    }
    Py_XDECREF(key);
    return number;
}

/* Numbers the blocks that have the same above them, in their order; first has the first block of each bag. Returns how
   many bags there are, or -1 with an exception set. */
static Py_ssize_t find_bags(const Above *a, int64_t *bag, int64_t *first) {
    size_t n_slots = 16;
    while (n_slots < 2 * (size_t)a->tree->n) n_slots *= 2;
    int32_t *slots = calloc(n_slots, sizeof(int32_t)); /* one more than numbers of bags, 0: free */
    uint64_t *hashes = node_hashes(a);
    PyObject *crowded = NULL;
    Py_ssize_t n_bags = slots == NULL || hashes == NULL ? -1 : 0;
    if (n_bags < 0) PyErr_NoMemory();
    for (Py_ssize_t block = 0; n_bags >= 0 && block < a->tree->n; block++) {
        if (has_parent_of_last(a->tree, block)) {
            bag[block] = bag[block - 1];
            continue;
        }
        size_t at = (size_t)hash_of(a, hashes, block) & (n_slots - 1);
        int probes = 0;
        for (; slots[at] && probes < MOST_PROBES; probes++, at = (at + 1) & (n_slots - 1))
            if (blocks_alike(a, (Py_ssize_t)first[slots[at] - 1], block)) break;
        if (probes == MOST_PROBES)
            bag[block] = crowded_bag(&crowded, a, block, n_bags);
        else if (slots[at])
            bag[block] = slots[at] - 1;
        else
            bag[block] = n_bags, slots[at] = (int32_t)n_bags + 1; /* no more than nodes */
        if (bag[block] == n_bags) first[n_bags++] = block;
        if (bag[block] < 0) n_bags = -1;
    }
    free(slots);
    free(hashes);
    Py_XDECREF(crowded);
    return n_bags;
}

/* The register behind a text's UTF-8; 0 with an exception set. */
static int sum_name(PyObject *name, uint32_t before, uint32_t *sum) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    PyObject *bytes = NULL;
    if (text == NULL) { /* lone surrogates */
        PyErr_Clear();
        if ((bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass")) == NULL) return 0;
        text = PyBytes_AsString(bytes), length = PyBytes_Size(bytes);
    }
    for (; length > 8; length -= 8, text += 8) before = crc_behind(before, text, 8);
    char last[8];
    put_eight(last, few_bytes(text, (size_t)length));
    *sum = ~(length ? crc_behind(before, last, (size_t)length) : before);
    Py_XDECREF(bytes);
    return 1;
}

/* Checksums of the tags of a page, a sign before each, and of none; to be freed. NULL with an exception set. */
static uint32_t *sums_of_tags(const Tree *tree) {
    uint32_t before = behind_sign('<'), *sums = malloc((size_t)(tree->n_tags + 1) * sizeof(uint32_t));
    if (sums == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t tag = 0; tag < tree->n_tags; tag++)
        if (!sum_name(PyTuple_GetItem(tree->names, tag), before, &sums[tag])) {
            free(sums);
            return NULL;
        }
    sums[tree->n_tags] = ~before;
    return sums;
}

/* Adds the words of a node: those of its tag and of its values; 0 with an exception. */
static int add_node(Numbers *found, Words *words, const Above *a, Py_ssize_t node, const uint32_t *tag_sums,
                    uint32_t mask, uint32_t mark) {
    if (!has_room(found, 1)) return PyErr_NoMemory() != NULL;
    found->items[found->n++] = (tag_sums[tag_at(a, node)] & mask) ^ mark;
    for (int k = 0; k < N_NAMED; k++) {
        int32_t value = number_at(a, k, node);
        if (value == 0) continue;
        if (words->begin[value] < 0 && !read_value(words, value)) return 0;
        size_t begin = (size_t)words->begin[value], end = (size_t)words->end[value];
        if (!has_room(found, end - begin)) return PyErr_NoMemory() != NULL;
        uint32_t *out = found->items + found->n;
        const uint32_t *sums = words->sums.items;
        for (found->n += end - begin; begin < end; begin++) *out++ = (sums[begin] & mask) ^ mark;
    }
    return 1;
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
    if (!crc.made) make_tables();
    if ((tag_sums = sums_of_tags(a.tree)) == NULL) goto done;
    words.begin = malloc((size_t)(n_values + 1) * sizeof(int64_t));
    words.end = malloc((size_t)(n_values + 1) * sizeof(int64_t));
    if (words.begin == NULL || words.end == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_ssize_t n_bags = find_bags(&a, bag, starts);
    if (n_bags < 0) goto done;
    for (Py_ssize_t i = 0; i < n_values; i++) words.begin[i] = -1;
    for (Py_ssize_t number = 0; number < n_bags; number++) {
        Py_ssize_t block = (Py_ssize_t)starts[number];
        starts[number] = (int64_t)found.n;
        for (int level = 0; level < N_LEVELS; level++)
            if (!add_node(&found, &words, &a, node_at(&a, level, block), tag_sums, mask, level < near ? 0 : far))
                goto done;
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
