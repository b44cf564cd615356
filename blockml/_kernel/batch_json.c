/* JSON strings. */
#include "kernel.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { STEP = 64 };

/* Sets the bits of quotation marks, backslashes and control characters among up to 64 bytes. */
static inline uint64_t marks_in(const char *byte, int n) {
    uint64_t bits = 0;
    int i = 0;
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(' ' - 1);
    for (; i + 16 <= n; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(byte + i));
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        bits |= (uint64_t)_mm_movemask_epi8(found) << i;
    }
#endif
    for (; i < n; i++) bits |= (uint64_t)(byte[i] == '"' || byte[i] == '\\' || (unsigned char)byte[i] < ' ') << i;
    return bits;
}

/* json_string(line, start): the bytes of the JSON string whose characters begin at `start`, and the offset of the
   quotation mark that ends it. The bytes are None if it has escapes by code point, or isn't valid. */
PyObject *json_string(PyObject *module, PyObject *arguments) {
    static const char escapes[256] = {
        ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t',
    };
    PyObject *whole;
    char *line;
    Py_ssize_t n, start;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Sn", &whole, &start) || PyBytes_AsStringAndSize(whole, &line, &n) < 0) return NULL;
    const char *end = line + n, *at = start < 0 || start > n ? end : line + start;
    char *held = PyMem_Malloc((size_t)(end - at) + STEP), *text = held;
    if (held == NULL) return PyErr_NoMemory();
    while (at < end) {
        const char *begin = at, *mark;
        const int is_step = end - at > 2 * STEP; /* otherwise one character is read */
        for (uint64_t bits = marks_in(at, is_step ? STEP : 1); bits; bits &= ~(UINT64_C(3) << (mark - begin))) {
            mark = begin + lowest_bit(bits);
            if (is_step) memcpy(text, at, STEP); /* more than the characters before the mark, because the size is fixed */
            text += mark - at;
            at = mark;
            *text = *at == '\\' && end - at > 1 ? escapes[(unsigned char)at[1]] : 0;
            if (*text == 0) goto done;
            text++;
            at += 2;
        }
        const Py_ssize_t left = begin + (is_step ? STEP : 1) - at; /* -1 if an escape ends after the step */
        if (left <= 0) continue;
        is_step ? memcpy(text, at, STEP) : memcpy(text, at, 1);
        text += left;
        at += left;
    }
done:;
    PyObject *string = at < end && *at == '"' ? PyBytes_FromStringAndSize(held, text - held) : Py_NewRef(Py_None);
    PyMem_Free(held);
    return Py_BuildValue("(Nn)", string, (Py_ssize_t)(at - line));
}
