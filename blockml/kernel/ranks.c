/* Different numbers and which each is: the twin of blockml.features.ranks.ranked.

   A radix sort, byte by byte from the last on; bytes that all numbers share are passed over. It is stable, so the first
   of equal numbers is where it stands first. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t key;
    int64_t place;
} Item;

static Item *sorted(Item *items, Item *other, size_t n) {
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++) differs |= items[i].key ^ items[0].key;
    for (int shift = 0; shift < 64; shift += 8) {
        if (!(differs >> shift & 255)) continue;
        size_t begins[256] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) begins[items[i].key >> shift & 255]++;
        for (int byte = 0; byte < 256; byte++) {
            size_t count = begins[byte];
            begins[byte] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) other[begins[items[i].key >> shift & 255]++] = items[i];
        Item *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

/* Numbers keys by rank; writes the order and where keys begin in it too, unless there is no room for them. Returns how many
   are different, or -1 with an exception set. */
int64_t rank_keys(const uint64_t *keys, size_t n, int64_t *order, int64_t *starts, int64_t *which) {
    Item *memory = malloc((2 * n + 1) * sizeof(Item));
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++) memory[i] = (Item){keys[i], (int64_t)i};
    const Item *items = sorted(memory, memory + n, n);
    int64_t rank = -1;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].key != items[i - 1].key) {
            rank++;
            if (starts) starts[rank] = (int64_t)i;
        }
        if (order) order[i] = items[i].place;
        which[items[i].place] = rank;
    }
    free(memory);
    return rank + 1;
}

/* ranked(keys, order, starts, which): the places of the keys in rising order, where each different key begins in it, and
   the rank of each key; returns how many are different. */
PyObject *ranked(PyObject *module, PyObject *arguments) {
    PyObject *object[4];
    Py_buffer view[4];
    int count = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &object[0], &object[1], &object[2], &object[3])) return NULL;
    PyObject *result = NULL;
    for (; count < 4; count++)
        if (open_array(object[count], &view[count], 8, count > 0) < 0) goto done;
    if (view[1].len < view[0].len || view[2].len < view[0].len || view[3].len < view[0].len) {
        PyErr_SetString(PyExc_ValueError, "no room for all ranks");
        goto done;
    }
    int64_t n = rank_keys(view[0].buf, (size_t)view[0].len / 8, view[1].buf, view[2].buf, view[3].buf);
    if (n >= 0) result = PyLong_FromLongLong(n);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}
