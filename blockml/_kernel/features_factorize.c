/* Different numbers and which each is: the twin of blockml.features.factorize.factorize.

   Mostly few keys are different: a table finds these, and only they are sorted. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* Keys at one slot of a table; more are a sign of keys made up so that they collide, and then all are sorted. */
enum { MOST_PROBES = 64 };
/* So few are sorted by insertion: less than to count bytes. */
enum { FEW = 24 };

/* Sorts by insertion. Whether that took no more than about so many steps; else equal keys are in order still. */
static int inserted(Item *items, size_t n, size_t steps) {
    for (size_t i = 1; i < n; i++) {
        Item item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--) items[at] = items[at - 1];
        items[at] = item;
        if (i - at > steps) return 0;
        steps -= i - at;
    }
    return 1;
}

/* Sorts by the bits that differ from `shift` on, eight after the other; returns where the sorted ones are. */
static Item *by_bits(Item *items, Item *other, size_t n, int shift, uint64_t differs) {
    for (; shift < 64 && differs >> shift; shift += 8) {
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

/* The upper sixteen bits that differ leave little to do, mostly. */
Item *sorted(Item *items, Item *other, size_t n) {
    if (n <= FEW && inserted(items, n, FEW * FEW)) return items;
    uint64_t differs = 0;
    for (size_t i = 1; i < n; i++) differs |= items[i].key ^ items[0].key;
    int shift = 0;
    while (differs >> shift >> 16) shift++;
    Item *sorted_so_far = by_bits(items, other, n, shift, differs);
    if (inserted(sorted_so_far, n, 4 * n)) return sorted_so_far;
    return by_bits(sorted_so_far, sorted_so_far == items ? other : items, n, lowest_bit(differs), differs);
}

/* Numbers keys in the order in which they come; writes each different one with its number. Returns how many there
   are, -1 if too many share a slot. */
static int64_t collected(const uint64_t *keys, size_t n, Item *items, uint32_t *slots, int bits, int64_t *which) {
    size_t mask = ((size_t)1 << bits) - 1;
    uint32_t count = 0;
    memset(slots, 0, (mask + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        if (i && keys[i] == keys[i - 1]) {
            which[i] = which[i - 1];
            continue;
        }
        size_t slot = (size_t)(keys[i] * 0x9e3779b97f4a7c15u >> (64 - bits));
        for (int probes = 0; slots[slot] && items[slots[slot] - 1].key != keys[i]; slot = (slot + 1) & mask)
            if (++probes > MOST_PROBES) return -1;
        if (!slots[slot]) {
            items[count] = (Item){keys[i], count};
            slots[slot] = ++count;
        }
        which[i] = slots[slot] - 1;
    }
    return count;
}

/* Writes the rank of each key, or any number of its own unless they are to be ordered; returns how many are different.
   `items` has room for 2 * n of them. */
static int64_t write_ranks(const uint64_t *keys, size_t n, Item *items, uint32_t *slots, int bits, int is_ordered,
                           int64_t *which) {
    int64_t count = collected(keys, n, items, slots, bits, which), rank = -1;
    if (count >= 0 && !is_ordered) return count;
    if (count >= 0) {
        const Item *rising = sorted(items, items + n, (size_t)count);
        int64_t *rank_of = (int64_t *)(rising == items ? items + n : items);
        for (int64_t i = 0; i < count; i++) rank_of[rising[i].place] = i;
        for (size_t i = 0; i < n; i++) which[i] = rank_of[which[i]];
        return count;
    }
    for (size_t i = 0; i < n; i++) items[i] = (Item){keys[i], (int64_t)i};
    const Item *rising = sorted(items, items + n, n);
    for (size_t i = 0; i < n; i++) {
        rank += i == 0 || rising[i].key != rising[i - 1].key;
        which[rising[i].place] = rank;
    }
    return rank + 1;
}

static int64_t number(const uint64_t *keys, size_t n, int is_ordered, int64_t *order, int64_t *starts, int64_t *which) {
    int bits = 4;
    while (bits < 31 && (size_t)1 << bits < 2 * n) bits++;
    Item *items = malloc((2 * n + 1) * sizeof(Item));
    uint32_t *slots = malloc(((size_t)1 << bits) * sizeof(uint32_t));
    int64_t count = -1;
    if (items == NULL || slots == NULL)
        PyErr_NoMemory();
    else
        count = write_ranks(keys, n, items, slots, bits, is_ordered, which);
    if (count >= 0 && order && starts) {
        int64_t *next = (int64_t *)items, sum = 0;
        memset(starts, 0, (size_t)count * sizeof(int64_t));
        for (size_t i = 0; i < n; i++) starts[which[i]]++;
        for (int64_t rank = 0; rank < count; rank++) {
            int64_t size = starts[rank];
            starts[rank] = next[rank] = sum;
            sum += size;
        }
        for (size_t i = 0; i < n; i++) order[next[which[i]]++] = (int64_t)i;
    }
    free(items);
    free(slots);
    return count;
}

/* Numbers keys by rank; writes the order, the first of equal keys first, and where keys begin in it too, unless there
   is no room for them. Returns how many are different, or -1 with an exception set. */
int64_t rank_keys(const uint64_t *keys, size_t n, int64_t *order, int64_t *starts, int64_t *which) {
    return number(keys, n, 1, order, starts, which);
}

int64_t number_keys(const uint64_t *keys, size_t n, int64_t *which) { return number(keys, n, 0, NULL, NULL, which); }

/* factorize(keys, order, starts, which): the places of the keys in rising order, where each different key begins in it,
   and the rank of each key; returns how many are different. */
PyObject *factorize(PyObject *module, PyObject *arguments) {
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
