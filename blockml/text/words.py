"""Word segmentation of many texts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.text.characters import ALNUM, CJK, JOINER, SPACE, classes, code_points

#: Definition of a word by name of the tokenizer.
TOKENIZERS: Mapping[str, str] = {
    "space": "pieces between white space that contain a letter or digit",
    "boilerpipe": "like 'space', but also split between letters and punctuation that does not join words",
    "cjk": "like 'space', but each ideograph, kana or Thai letter is a word",
}

_NO_WORDS = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32)


def find_words(texts: Sequence[str], tokenizer: str = "space") -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Find the words of each text.

    Parameters
    ----------
    texts
        Texts; a word never extends over several texts.
    tokenizer
        A key of :data:`TOKENIZERS`. The default is boilerpipe's test of a word applied to white-space pieces;
        boilerpipe's own splitting gives the same count on ordinary prose (Kohlschütter et al. 2010, public source).

    Returns
    -------
    owner, length
        (n_words,) index of the text of each word, and its length in characters.

    Raises
    ------
    UnknownNameError
        The tokenizer is unknown.

    Examples
    --------
    >>> owner, length = find_words(["Two words", "--", "and three more…"])
    >>> owner.tolist(), length.tolist()
    ([0, 0, 2, 2, 2], [3, 5, 3, 5, 5])
    """
    owner, _, length = find_spans(texts, tokenizer)
    return owner, length


def find_spans(
    texts: Sequence[str], tokenizer: str = "space"
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Find the words of each text with their positions.

    Parameters
    ----------
    texts, tokenizer
        See :func:`find_words`.

    Returns
    -------
    owner, start, length
        (n_words,) index of the text of each word, index of its first character, and its length in characters.

    Raises
    ------
    UnknownNameError
        The tokenizer is unknown.

    Examples
    --------
    >>> [column.tolist() for column in find_spans(["Two words", "--", "and more"])]
    [[0, 0, 2, 2], [0, 4, 0, 4], [3, 5, 3, 4]]
    """
    check_name("tokenizer", tokenizer, TOKENIZERS)
    if not texts:
        return _NO_WORDS
    kinds = classes(code_points(texts))
    solid = (kinds & SPACE) == 0
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    if tokenizer == "boilerpipe":
        is_letter, is_joiner = (kinds & ALNUM) > 0, (kinds & JOINER) > 0
        is_border = (is_letter[1:] != is_letter[:-1]) & ~is_joiner[1:] & ~is_joiner[:-1]
        begins[1:] |= is_border & solid[1:] & solid[:-1]
    elif tokenizer == "cjk":
        single = (kinds & CJK) > 0
        begins |= single
        begins[1:] |= single[:-1] & solid[1:]
    starts = np.flatnonzero(begins)
    if not len(starts):
        return _NO_WORDS
    is_word = np.add.reduceat((kinds & ALNUM) > 0, starts, dtype=np.int32) > 0
    length = np.add.reduceat(solid, starts, dtype=np.int32)[is_word]
    first = np.cumsum([0, *[len(text) + 1 for text in texts]])
    owner = np.searchsorted(first, starts[is_word], side="right") - 1
    return owner.astype(np.int32), starts[is_word] - first[owner], length
