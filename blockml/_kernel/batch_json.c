/* Strings of JSON. */
#include "text_bytes.h"

/* json_string(line, start): the bytes of the string of JSON whose characters begin at `start`, and the offset of the
   quotation mark that ends it. The bytes are None if it has escapes by code point, or isn't valid. */
PyObject *json_string(PyObject *module, PyObject *arguments) {
    static const char escapes[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    const char *line;
    Py_ssize_t n, at, size = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y#n", &line, &n, &at)) return NULL;
    at = at < 0 || at > n ? n : at;
    char *text = PyMem_Malloc((size_t)(n - at) + 8);
    if (text == NULL) return PyErr_NoMemory();
    for (;;) {
        for (int plain = 8; n - at >= 8 && plain == 8; at += plain, size += plain) {
            uint64_t word = eight_bytes(line + at), controls = (word - all_of(' ')) & ~word & all_of(128);
            uint64_t others = controls | zeros_in(word ^ all_of('"')) | zeros_in(word ^ all_of('\\'));
            memcpy(text + size, line + at, 8);
            if (others) plain = lowest_bit(others) / 8;
        }
        if (at == n || line[at] == '"' || (unsigned char)line[at] < ' ') break;
        text[size] = line[at++];
        if (text[size] == '\\') {
            text[size] = at < n ? escapes[(unsigned char)line[at]] : 0;
            if (text[size] == 0) break;
            at++;
        }
        size++;
    }
    PyObject *string = at < n && line[at] == '"' ? PyBytes_FromStringAndSize(text, size) : Py_NewRef(Py_None);
    PyMem_Free(text);
    return Py_BuildValue("(Nn)", string, at);
}
