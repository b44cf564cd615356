/* Numbers for keys of 64 bits: equal keys have equal numbers, in the order in which they first come. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

/* Slots that are probed; more are a sign of keys made up to collide, and then all keys are sorted. */
enum { MOST_PROBES = 64 };
/* Up to so many items are sorted by insertion, which costs less than to count bytes. */
enum { FEW = 24 };

/* Sorts by insertion. Returns whether that took no more than about so many steps; else equal keys are in order still. */
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

/* Sorts by the bits that differ from `shift` on, eight after the other; returns where the sorted items are. */
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

/* The upper sixteen bits that differ mostly leave little to sort. */
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

/* Numbers keys with a table of slots; returns how many numbers there are, or -1 if too many keys share a slot. */
static int64_t number_by_slots(const uint64_t *keys, size_t n, uint64_t *different, uint32_t *slots, int bits,
                               int64_t *number) {
    size_t mask = ((size_t)1 << bits) - 1;
    uint32_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && keys[i] == keys[i - 1]) {
            number[i] = number[i - 1];
            continue;
        }
        size_t slot = (size_t)(keys[i] * 0x9e3779b97f4a7c15u >> (64 - bits));
        for (int probes = 0; slots[slot] && different[slots[slot] - 1] != keys[i]; slot = (slot + 1) & mask)
            if (++probes > MOST_PROBES) return -1;
        if (!slots[slot]) {
            different[count] = keys[i];
            slots[slot] = ++count;
        }
        number[i] = slots[slot] - 1;
    }
    return count;
}

/* Numbers keys by sorting them; returns how many numbers there are, or -1 without memory. */
static int64_t number_by_order(const uint64_t *keys, size_t n, int64_t *number) {
    Item *items = malloc(2 * n * sizeof(Item));
    int64_t count = 0;
    if (items == NULL) return -1;
    for (size_t i = 0; i < n; i++) items[i] = (Item){keys[i], (int64_t)i}, number[i] = -1;
    const Item *rising = sorted(items, items + n, n);
    for (size_t i = 1; i < n; i++) /* of equal keys the first comes first, and the others point to it */
        if (rising[i].key == rising[i - 1].key)
            number[rising[i].place] = number[rising[i - 1].place] < 0 ? rising[i - 1].place : number[rising[i - 1].place];
    for (size_t i = 0; i < n; i++) number[i] = number[i] < 0 ? count++ : number[number[i]];
    free(items);
    return count;
}

int64_t number_keys(const uint64_t *keys, size_t n, int64_t *number) {
    int bits = 4;
    while (bits < 31 && (size_t)1 << bits < 2 * n) bits++;
    uint64_t *different = malloc((n + 1) * sizeof(uint64_t));
    uint32_t *slots = calloc((size_t)1 << bits, sizeof(uint32_t));
    int64_t count = -1;
    if (different != NULL && slots != NULL) {
        count = number_by_slots(keys, n, different, slots, bits, number);
        if (count < 0) count = number_by_order(keys, n, number);
    }
    if (count < 0) PyErr_NoMemory();
    free(different);
    free(slots);
    return count;
}
