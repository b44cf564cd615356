/* BLAKE2b with digests of eight bytes, and keys of texts: the twin of blockml.text.hashing.stable_hash64.

   BLAKE2b is RFC 7693, without a key. Numbers are read and written byte by byte, so that the machine's order of bytes
   doesn't matter; compilers make single loads of it. */
#include "kernel.h"
#include <string.h>

enum { BLOCK = 128 };

static const uint64_t START[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static const uint8_t ORDER[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static uint64_t rotated(uint64_t x, int by) { return (x >> by) | (x << (64 - by)); }

static uint64_t number(const unsigned char *bytes) {
    uint64_t x = 0;
    for (int i = 0; i < 8; i++) x |= (uint64_t)bytes[i] << (8 * i);
    return x;
}

#define MIX(a, b, c, d, x, y)            \
    do {                                 \
        v[a] += v[b] + (x);              \
        v[d] = rotated(v[d] ^ v[a], 32); \
        v[c] += v[d];                    \
        v[b] = rotated(v[b] ^ v[c], 24); \
        v[a] += v[b] + (y);              \
        v[d] = rotated(v[d] ^ v[a], 16); \
        v[c] += v[d];                    \
        v[b] = rotated(v[b] ^ v[c], 63); \
    } while (0)

static void compress(uint64_t state[8], const unsigned char *block, uint64_t length, int last) {
    uint64_t m[16], v[16];
    for (int i = 0; i < 16; i++) m[i] = number(block + 8 * i);
    for (int i = 0; i < 8; i++) {
        v[i] = state[i];
        v[i + 8] = START[i];
    }
    v[12] ^= length; /* no text here has 2^64 bytes, so the upper half of the length is 0 */
    if (last) v[14] = ~v[14];
#pragma GCC unroll 12
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = ORDER[round];
        MIX(0, 4, 8, 12, m[s[0]], m[s[1]]);
        MIX(1, 5, 9, 13, m[s[2]], m[s[3]]);
        MIX(2, 6, 10, 14, m[s[4]], m[s[5]]);
        MIX(3, 7, 11, 15, m[s[6]], m[s[7]]);
        MIX(0, 5, 10, 15, m[s[8]], m[s[9]]);
        MIX(1, 6, 11, 12, m[s[10]], m[s[11]]);
        MIX(2, 7, 8, 13, m[s[12]], m[s[13]]);
        MIX(3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
}

static uint64_t key_of(const char *bytes, size_t length) {
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t state[8];
    memcpy(state, START, sizeof state);
    state[0] ^= 0x01010000u ^ 8u; /* no tree, no key, a digest of eight bytes */
    size_t done = 0;
    for (; length - done > BLOCK; done += BLOCK) compress(state, at + done, (uint64_t)done + BLOCK, 0);
    unsigned char rest[BLOCK] = {0};
    if (length > done) memcpy(rest, at + done, length - done);
    compress(state, rest, (uint64_t)length, 1);
    return state[0]; /* its bytes, little end first, are the digest, which is read so again */
}

/* stable_hash64(texts, keys): the key of each text of a list. */
PyObject *stable_hash64(PyObject *module, PyObject *arguments) {
    PyObject *texts, *array;
    Py_buffer view;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyList_Type, &texts, &array)) return NULL;
    if (open_array(array, &view, 8, 1) < 0) return NULL;
    uint64_t *keys = view.buf;
    Py_ssize_t n = view.len / 8;
    PyObject *result = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *text = PyList_GetItem(texts, i); /* borrowed: only the list's owner could take it out meanwhile */
        if (text == NULL) goto done;
        PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
        if (encoded == NULL) goto done;
        char *bytes;
        Py_ssize_t length;
        if (PyBytes_AsStringAndSize(encoded, &bytes, &length) < 0) {
            Py_DECREF(encoded);
            goto done;
        }
        keys[i] = key_of(bytes, (size_t)length);
        Py_DECREF(encoded);
    }
    result = Py_NewRef(Py_None);
done:
    PyBuffer_Release(&view);
    return result;
}
