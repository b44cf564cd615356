/* Different numbers and which each is. ranked: the twin of blockml.features.ranks.ranked. grouped: of blockml.nets.Pool.of.

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

/* The keys in rising order; `memory` is freed by the caller, and NULL with an exception set. */
static const Item *in_order(const uint64_t *keys, size_t n, Item **memory) {
    *memory = calloc(2 * n + 1, sizeof(Item));
    if (*memory == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < n; i++) (*memory)[i] = (Item){keys[i], (int64_t)i};
    return sorted(*memory, *memory + n, n);
}

/* ranked(keys, first, which): first[r] is the first place of the r-th different key, which[i] the rank of the i-th;
   returns how many are different. */
PyObject *ranked(PyObject *module, PyObject *arguments) {
    PyObject *object[3];
    Py_buffer view[3];
    int count = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &object[0], &object[1], &object[2])) return NULL;
    PyObject *result = NULL;
    for (; count < 3; count++)
        if (open_array(object[count], &view[count], 8, count > 0) < 0) goto done;
    size_t n = (size_t)view[0].len / 8;
    int64_t *first = view[1].buf, *which = view[2].buf, rank = -1;
    if (view[1].len < view[0].len || view[2].len < view[0].len) {
        PyErr_SetString(PyExc_ValueError, "no room for all ranks");
        goto done;
    }
    Item *memory;
    const Item *items = in_order(view[0].buf, n, &memory);
    if (items == NULL) goto done;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].key != items[i - 1].key) first[++rank] = items[i].place;
        which[items[i].place] = rank;
    }
    free(memory);
    result = PyLong_FromLongLong(rank + 1);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}

/* grouped(keys, order, starts, which): the places of the keys, group by group, where each group begins in that order, and
   the group of each key; groups have one key, and rise with it. Returns how many there are. */
PyObject *grouped(PyObject *module, PyObject *arguments) {
    PyObject *object[4];
    Py_buffer view[4];
    int count = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &object[0], &object[1], &object[2], &object[3])) return NULL;
    PyObject *result = NULL;
    for (; count < 4; count++)
        if (open_array(object[count], &view[count], 8, count > 0) < 0) goto done;
    size_t n = (size_t)view[0].len / 8;
    int64_t *order = view[1].buf, *starts = view[2].buf, *which = view[3].buf, group = -1;
    if (view[1].len < view[0].len || view[2].len < view[0].len || view[3].len < view[0].len) {
        PyErr_SetString(PyExc_ValueError, "no room for all groups");
        goto done;
    }
    Item *memory;
    const Item *items = in_order(view[0].buf, n, &memory);
    if (items == NULL) goto done;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].key != items[i - 1].key) starts[++group] = (int64_t)i;
        order[i] = items[i].place;
        which[items[i].place] = group;
    }
    free(memory);
    result = PyLong_FromLongLong(group + 1);
done:
    while (count--) PyBuffer_Release(&view[count]);
    return result;
}
