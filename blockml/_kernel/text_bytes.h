/* Operations on eight bytes at a time, the first one in the lowest bits on any machine. */
#ifndef BLOCKML_BYTES_H
#define BLOCKML_BYTES_H

#include "kernel.h"

/* Reverses the bytes of a word on big-endian machines. */
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

/* Reads up to eight bytes, zero-padded; reads from both ends may overlap. */
static inline uint64_t few_bytes(const void *bytes, size_t length) {
    const unsigned char *byte = bytes;
    if (length >= 4) return four_bytes(byte) | four_bytes(byte + length - 4) << 8 * (length - 4);
    if (length == 0) return 0;
    return byte[0] | (uint64_t)byte[length / 2] << 8 * (length / 2) | (uint64_t)byte[length - 1] << 8 * (length - 1);
}

/* Repeats a byte eight times. */
static inline uint64_t all_of(unsigned char byte) { return byte * 0x0101010101010101u; }

/* Sets the highest bit of each byte in [least, most]; the word must be ASCII. */
static inline uint64_t within(uint64_t word, unsigned char least, unsigned char most) {
    return (word + all_of((unsigned char)(128 - least))) & ~(word + all_of((unsigned char)(127 - most))) & all_of(128);
}

/* Collects the highest bits of eight bytes in one byte; other bits must be zero. */
static inline uint64_t bits_of_bytes(uint64_t word) { return word * 0x0002040810204081u >> 56; }

/* Sets the highest bit of the first zero byte, and possibly of later bytes; 0 without a zero byte. */
static inline uint64_t zeros_in(uint64_t word) { return (word - all_of(1)) & ~word & all_of(128); }

#endif
