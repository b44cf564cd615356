/* Text of a block, joined from the texts of its nodes, and its words. */
#ifndef BLOCKML_BLOCK_TEXT_H
#define BLOCKML_BLOCK_TEXT_H

#include "kernel.h"

/* Character classes of characters.py, and the size of their table. */
enum { SPACE = 1, ALNUM = 2, CJK = 4, JOINER = 8, DIGIT = 16, UPPER = 32, N_POINTS = 0x110000 };

typedef struct {
    const uint8_t *classes;
    int tokenizer;
    int32_t *lengths; /* of all words so far */
    Py_ssize_t n_lengths, lengths_room;
    /* The current text, which is added once its block is known. */
    const char *current_ascii; /* NULL if it is not ASCII or was not tested: it is in current_points then */
    const Py_UCS4 *current_points;
    Py_ssize_t length;
    Py_UCS4 left, right;          /* its last and first character; U+0000, which has no class, if it is empty */
    Py_ssize_t n_ascii, n_others; /* number of texts so far */
    /* The block so far, without white space at its ends. */
    PyObject *single;                      /* its only text, borrowed; NULL if there are several */
    const char *uncopied;                  /* characters of that text that were not copied; NULL if they were */
    char *ascii_buffer;                    /* ASCII characters */
    Py_UCS4 *points;                       /* code points, if is_wide */
    Py_ssize_t n, begin, ascii_room, room; /* `begin`: offset of its characters in the only text */
    int is_wide, has_space;                /* white space since the last character */
    int irregular;                         /* whether it has white space other than single blanks */
} BlockText;

/* Functions that return int or a number return -1 with an exception set. */
int block_text_read(BlockText *t, PyObject *text);
void block_text_begin(BlockText *t, PyObject *text);
Py_ssize_t block_text_add(BlockText *t); /* returns the number of words of the current text */
PyObject *block_text_finish(BlockText *t); /* new reference; NULL with an exception set */
void block_text_free(BlockText *t);

#endif
