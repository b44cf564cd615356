/* Eight bytes at a time, the first one in the lowest bits, whatever the machine's order of bytes. */
#ifndef BLOCKML_BYTES_H
#define BLOCKML_BYTES_H

#include "kernel.h"

/* The same word with its bytes in the other order, where big ends come first. */
static inline uint64_t little_end_first(uint64_t word) {
#if PY_BIG_ENDIAN
    uint64_t swapped = 0;
    for (int i = 0; i < 8; i++) swapped |= (word >> (8 * i) & 255) << (56 - 8 * i);
    return swapped;
#else
    return word;
#endif
}

static inline uint64_t eight_bytes(const void *bytes) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    return little_end_first(word);
}

static inline uint64_t four_bytes(const unsigned char *byte) {
    return (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24;
}

/* Fewer than nine, and zeros: read from both ends, which may overlap. */
static inline uint64_t few_bytes(const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    if (length >= 4) return four_bytes(byte) | four_bytes(byte + length - 4) << 8 * (length - 4);
    if (length == 0) return 0;
    return byte[0] | (uint64_t)byte[length / 2] << 8 * (length / 2) | (uint64_t)byte[length - 1] << 8 * (length - 1);
}

/* The same byte eight times. */
static inline uint64_t all_of(unsigned char byte) { return byte * 0x0101010101010101u; }

/* The uppermost bit of each byte of a word of ASCII characters that is `least` ... `most`. */
static inline uint64_t within(uint64_t word, unsigned char least, unsigned char most) {
    return (word + all_of((unsigned char)(128 - least))) & ~(word + all_of((unsigned char)(127 - most))) & all_of(128);
}

/* A bit for each byte whose uppermost bit is set, where no other bits are. */
static inline uint64_t bits_of_bytes(uint64_t word) { return word * 0x0002040810204081u >> 56; }

/* The uppermost bit of the first byte that is zero, and maybe of some behind it; 0 if none is. */
static inline uint64_t zeros_in(uint64_t word) { return (word - all_of(1)) & ~word & all_of(128); }

#endif
