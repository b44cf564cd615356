"""Tokens of texts for alignment with gold and for word metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from blockml.errors import UnknownNameError
from blockml.text.characters import readable

#: Token modes: words of letters, digits and underscores, or pieces between white space.
MODES: Final = ("w", "ws")

#: A word of mode ``"w"``, like in the public content extraction benchmarks.
WORD: Final = re.compile(r"\w+")


def metric_tokens(text: str, mode: str = "w") -> list[str]:
    r"""Split a text into tokens, without invisible characters such as soft hyphens.

    Parameters
    ----------
    text
        Plain text.
    mode
        ``"w"``: the matches of ``\w+`` in the lower-cased text, as in public content extraction benchmarks.
        ``"ws"``: the pieces between white space, with case and punctuation (the words of Gottron 2007).

    Returns
    -------
    list of str
        Tokens in text order.

    Raises
    ------
    UnknownNameError
        The mode is unknown.

    Examples
    --------
    >>> metric_tokens("The cat's mat.")
    ['the', 'cat', 's', 'mat']
    >>> metric_tokens("The cat's mat.", mode="ws")
    ['The', "cat's", 'mat.']
    """
    if not text.isascii():  # because gold texts may contain them and texts of blocks don't
        text = readable(text)
    if mode == "w":
        return WORD.findall(text.lower())
    if mode == "ws":
        return text.split()
    raise UnknownNameError("token mode", mode, MODES)


def token_lists(texts: Iterable[str]) -> list[list[str]]:
    """Return the :func:`metric_tokens` of each text.

    Examples
    --------
    >>> token_lists(["The cat's mat.", "Mat"])
    [['the', 'cat', 's', 'mat'], ['mat']]
    """
    return [metric_tokens(text) for text in texts]
