/* Strings of JSON. */
#include "text_bytes.h"

enum { STEP = 64 };

/* Sets the bits of quotation marks, backslashes and control characters among 64 bytes. */
WIDE static uint64_t marks_in(const char *byte) {
    unsigned char is_mark[STEP];
    uint64_t bits = 0;
    for (int i = 0; i < STEP; i++) is_mark[i] = (byte[i] == '"') | (byte[i] == '\\') | ((unsigned char)byte[i] < ' ');
    for (int i = 0; i < STEP; i += 8) bits |= bits_of_bytes(eight_bytes(is_mark + i) << 7) << i;
    return bits;
}

/* json_string(line, start): the bytes of the string of JSON whose characters begin at `start`, and the offset of the
   quotation mark that ends it. The bytes are None if it has escapes by code point, or isn't valid. */
PyObject *json_string(PyObject *module, PyObject *arguments) {
    static const char escapes[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    const char *line;
    Py_ssize_t n, start;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#n", &line, &n, &start)) return NULL;
    const uint64_t last = UINT64_C(1) << (STEP - 1); /* the last character of a step is read like a mark */
    const char *end = line + n, *at = start < 0 || start > n ? end : line + start;
    char *held = PyMem_Malloc((size_t)(end - at) + STEP), *text = held;
    if (held == NULL) return PyErr_NoMemory();
    while (at < end) {
        const char *begin = at;
        const int is_step = end - at > 2 * STEP; /* otherwise one character is read */
        for (uint64_t bits = is_step ? marks_in(at) | last : 1, mark; bits; bits &= ~mark) {
            const int place = lowest_bit(bits);
            if (is_step) memcpy(text, at, STEP); /* more than the characters before the mark, as the size is fixed */
            text += begin + place - at;
            at = begin + place;
            if (*at == '"' || (unsigned char)*at < ' ') goto done;
            mark = UINT64_C(1) << place;
            *text = *at++;
            if (*text == '\\') {
                *text = at < end ? escapes[(unsigned char)*at] : 0;
                if (*text == 0) goto done;
                mark |= mark << 1;
                at++;
            }
            text++;
        }
    }
done:;
    PyObject *string = at < end && *at == '"' ? PyBytes_FromStringAndSize(held, text - held) : Py_NewRef(Py_None);
    PyMem_Free(held);
    return Py_BuildValue("(Nn)", string, (Py_ssize_t)(at - line));
}
