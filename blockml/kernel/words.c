/* Keys of the words in attributes' values: the twin of blockml.features.tokens._keys.

   Values of ASCII characters only are read here, as nearly all are; all others are left to Python, for which case and
   white space are Unicode's. Pages name many things alike, so a word's key is made once a page. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* As blockml.features.tokens._MOST_CHARACTERS, and more words than it asks for. */
enum { MOST_CHARACTERS = 512, MOST_WORDS = 64, MOST_PROBES = 32 };

/* What str.split splits at, of ASCII. */
static int is_space(int c) { return (c >= 9 && c <= 13) || (c >= 28 && c <= 32); }
static int is_letter(int c) { return c >= 'a' && c <= 'z'; }
static int is_digit(int c) { return c >= '0' && c <= '9'; }

typedef struct {
    uint64_t hash, key;
    size_t begin; /* in the text of all words */
    size_t length; /* 0: free */
} Slot;

/* Words and their keys. */
typedef struct {
    Slot *slots;
    size_t n_slots, n_words; /* a power of two, half of it full at most */
    char *text;
    size_t used, room;
} Known;

static int grown(Known *known) {
    size_t n_slots = known->n_slots ? 2 * known->n_slots : 1024;
    Slot *slots = calloc(n_slots, sizeof(Slot));
    if (slots == NULL) return 0;
    for (size_t i = 0; i < known->n_slots; i++) {
        if (known->slots[i].length == 0) continue;
        size_t at = (size_t)known->slots[i].hash & (n_slots - 1);
        while (slots[at].length) at = (at + 1) & (n_slots - 1);
        slots[at] = known->slots[i];
    }
    free(known->slots);
    known->slots = slots;
    known->n_slots = n_slots;
    return 1;
}

/* The key of a word of one character at least. Where there is no memory, or someone made up words that collide, it is
   made anew. */
static uint64_t key_of_word(Known *known, const char *word, size_t length) {
    if (2 * known->n_words >= known->n_slots && !grown(known)) return key_of(word, length);
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a (Fowler, Noll, Vo) */
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)word[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    size_t at = (size_t)hash & (known->n_slots - 1);
    for (int probes = 0; known->slots[at].length; at = (at + 1) & (known->n_slots - 1)) {
        const Slot *slot = &known->slots[at];
        if (slot->hash == hash && slot->length == length && memcmp(known->text + slot->begin, word, length) == 0)
            return slot->key;
        if (++probes == MOST_PROBES) return key_of(word, length);
    }
    uint64_t key = key_of(word, length);
    if (known->used + length > known->room) {
        size_t room = 2 * known->room + length + 8192;
        char *text = realloc(known->text, room);
        if (text == NULL) return key;
        known->text = text;
        known->room = room;
    }
    memcpy(known->text + known->used, word, length);
    known->slots[at] = (Slot){hash, key, known->used, length};
    known->used += length;
    known->n_words++;
    return key;
}

typedef struct {
    const char *at;
    size_t length;
} Word;

/* Writes the keys of a value's different words in their order; returns how many there are. Room is for all of them. */
static int keys_of_value(Known *known, const char *text, size_t length, int most_names, int most_parts,
                         uint64_t *keys) {
    char apart[2 * MOST_CHARACTERS], whole[3 * MOST_CHARACTERS];
    Word words[MOST_WORDS];
    size_t n = 0, at = 0, end = 0;
    int count = 0;
    if (length > MOST_CHARACTERS) length = MOST_CHARACTERS;
    for (size_t i = 0; i < length; i++) { /* a blank at each inner capital */
        int c = (unsigned char)text[i];
        int is_capital = c >= 'A' && c <= 'Z';
        if (is_capital && i && is_letter((unsigned char)text[i - 1])) apart[n++] = ' ';
        apart[n++] = (char)(is_capital ? c + 32 : c);
    }
    while (count < most_names) { /* names, with a dot before each */
        while (at < n && is_space((unsigned char)apart[at])) at++;
        if (at == n) break;
        Word word = {whole + end, 1};
        whole[end++] = '.';
        for (; at < n && !is_space((unsigned char)apart[at]); word.length++) whole[end++] = apart[at++];
        words[count++] = word;
    }
    at = 0;
    for (int parts = 0; at < n && parts < most_parts;) { /* runs of letters, and of digits */
        int (*in_part)(int) = is_letter((unsigned char)apart[at])  ? is_letter
                              : is_digit((unsigned char)apart[at]) ? is_digit
                                                                   : NULL;
        Word word = {apart + at++, 1};
        if (in_part == NULL) continue;
        for (; at < n && in_part((unsigned char)apart[at]); at++) word.length++;
        words[count++] = word;
        parts++;
    }
    int n_keys = 0;
    for (int i = 0; i < count; i++) {
        int before = 0;
        while (before < i && (words[before].length != words[i].length ||
                              memcmp(words[before].at, words[i].at, words[i].length) != 0))
            before++;
        if (before == i) keys[n_keys++] = key_of_word(known, words[i].at, words[i].length);
    }
    return n_keys;
}

/* name_words(values, most_names, most_parts, lengths, keys): keys (n, most_names + most_parts) of the words of each
   value, and how many there are; -1 for what isn't ASCII. */
PyObject *name_words(PyObject *module, PyObject *arguments) {
    PyObject *values, *length_array, *key_array;
    int most_names, most_parts;
    Py_buffer lengths, keys;
    Known known = {NULL, 0, 0, NULL, 0, 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!iiOO", &PyList_Type, &values, &most_names, &most_parts, &length_array,
                          &key_array))
        return NULL;
    if (open_array(length_array, &lengths, 8, 1) < 0) return NULL;
    if (open_array(key_array, &keys, 8, 1) < 0) {
        PyBuffer_Release(&lengths);
        return NULL;
    }
    PyObject *result = NULL;
    Py_ssize_t n = lengths.len / 8;
    int fits = most_names >= 0 && most_parts >= 0 && most_names <= MOST_WORDS && most_parts <= MOST_WORDS - most_names;
    if (!fits || keys.len / 8 < n * (most_names + most_parts)) {
        PyErr_SetString(PyExc_ValueError, "no room for all keys");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PyList_GetItem(values, i);
        if (value == NULL) goto done;
        Py_ssize_t length;
        const char *text = ascii(value, &length);
        uint64_t *row = (uint64_t *)keys.buf + i * (most_names + most_parts);
        ((int64_t *)lengths.buf)[i] =
            text == NULL ? -1 : keys_of_value(&known, text, (size_t)length, most_names, most_parts, row);
    }
    result = Py_NewRef(Py_None);
done:
    free(known.slots);
    free(known.text);
    PyBuffer_Release(&lengths);
    PyBuffer_Release(&keys);
    return result;
}
