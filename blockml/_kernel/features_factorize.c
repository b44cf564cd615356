/* Factorizes 64-bit keys: equal keys have equal numbers, in the order of first occurrence. */
#include "kernel.h"

/* Maximum number of probed slots; more indicate keys chosen to collide, and then all keys are sorted. */
enum { MOST_PROBES = 64 };
/* Numbers keys with a hash table; returns the number of unique keys, or -1 if too many keys collide. */
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

typedef struct {
    uint64_t key;
    int64_t place;
} Item;

static int compared(const void *one, const void *other) {
    const Item *a = one, *b = other;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

/* Numbers keys by sorting them; returns the number of unique keys, or -1 without memory. */
static int64_t number_by_order(const uint64_t *keys, size_t n, int64_t *number) {
    Item *items = malloc(n * sizeof(Item));
    int64_t count = 0;
    if (items == NULL) return -1;
    for (size_t i = 0; i < n; i++) items[i] = (Item){keys[i], (int64_t)i}, number[i] = -1;
    qsort(items, n, sizeof(Item), compared);
    for (size_t i = 1, first = 0; i < n; i++) { /* first the position of the first equal key */
        if (items[i].key != items[first].key) first = i;
        else number[items[i].place] = items[first].place;
    }
    for (size_t i = 0; i < n; i++) number[i] = number[i] < 0 ? count++ : number[number[i]];
    free(items);
    return count;
}

int64_t factorize(const uint64_t *keys, size_t n, int64_t *number) {
    int bits = 4;
    while (bits < 31 && (size_t)1 << bits < 2 * n) bits++;
    uint64_t *different = malloc((n + 1) * sizeof(uint64_t));
    uint32_t *slots = calloc((size_t)1 << bits, sizeof(uint32_t));
    int64_t count = -1;
    if (different != NULL && slots != NULL) {
        count = number_by_slots(keys, n, different, slots, bits, number);
        if (count < 0) count = number_by_order(keys, n, number);
    }
    if (count < 0) no_memory();
    free(different);
    free(slots);
    return count;
}
