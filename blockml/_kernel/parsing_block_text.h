/* The text of a block, gathered from the texts of its nodes, and the words in them. */
#ifndef BLOCKML_GATHERED_H
#define BLOCKML_GATHERED_H

#include "kernel.h"

/* Classes in characters.py, and the number of code points that the table has. */
enum { SPACE = 1, ALNUM = 2, CJK = 4, JOINER = 8, N_POINTS = 0x110000 };

typedef struct {
    const uint8_t *classes;
    int tokenizer;
    int32_t *lengths; /* of all words so far */
    Py_ssize_t n_lengths, lengths_room;
    /* The text at hand, which is added to a block once it is known which one that is. */
    const char *current_ascii;       /* NULL for one of other characters, or where it isn't asked for: then it is in points */
    const Py_UCS4 *current_points;
    Py_ssize_t length;
    Py_UCS4 left, right;     /* its last and its first character; U+0000, which has no class, if it has none */
    Py_ssize_t n_ascii, n_others; /* texts so far */
    /* The block so far, without white space at its ends. */
    PyObject *single;          /* its text while it has no other; borrowed */
    const char *uncopied;     /* characters of that text which aren't copied, as no other may come; NULL if they are */
    char *ascii_buffer;            /* ASCII characters */
    Py_UCS4 *points;         /* any: only of a block that is wide */
    Py_ssize_t n, begin, ascii_room, room; /* `begin`: where its characters are in the only text */
    int is_wide, has_space;        /* white space since the last of them */
    int irregular;             /* whether any between them was no single blank */
} BlockText;

/* What returns an int or a number returns -1 with an exception set. */
int block_text_read(BlockText *t, PyObject *text);
void block_text_begin(BlockText *t, PyObject *text);
Py_ssize_t block_text_add(BlockText *t); /* the number of words of the text that was read */
PyObject *block_text_finish(BlockText *t); /* a new reference; NULL with an exception set */
void block_text_free(BlockText *t);

#endif
