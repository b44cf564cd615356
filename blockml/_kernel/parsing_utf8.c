/* Validation of UTF-8 without decoding. */
#include "text_bytes.h"

/* Returns the length of the character at `byte`, with `left` bytes left; 0 if it is invalid (Unicode standard, table
   3-7). */
static Py_ssize_t character(const unsigned char *byte, Py_ssize_t left) {
    unsigned char lead = byte[0], least = 0x80, most = 0xbf;
    Py_ssize_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length > left) return 0;
    if (lead == 0xe0) least = 0xa0; /* overlong forms */
    if (lead == 0xf0) least = 0x90;
    if (lead == 0xed) most = 0x9f; /* surrogates */
    if (lead == 0xf4) most = 0x8f; /* beyond the last code point */
    for (Py_ssize_t i = 1; i < length; i++, least = 0x80, most = 0xbf)
        if (byte[i] < least || byte[i] > most) return 0;
    return length;
}

/* is_utf8(source): whether the bytes are valid UTF-8. */
PyObject *is_utf8(PyObject *module, PyObject *source) {
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(source, &view, PyBUF_SIMPLE) < 0) return NULL;
    const unsigned char *bytes = view.buf;
    Py_ssize_t n = view.len, at = 0, length = 1;
    while (length && at < n) {
        while (n - at >= 8 && !(eight_bytes(bytes + at) & all_of(128))) at += 8; /* mostly ASCII */
        for (Py_ssize_t stop = at + 8; length && at < n && at < stop; at += length) length = character(bytes + at, n - at);
    }
    PyBuffer_Release(&view);
    return PyBool_FromLong(length > 0);
}
