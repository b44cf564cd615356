"""The tokens that texts are compared by: alignment with a gold text and the word metrics."""

from __future__ import annotations

import re
from typing import Final

from blockml.errors import UnknownNameError

__all__ = ["MODES", "WORD", "metric_tokens"]

#: The legal token modes: words of letters, digits and underscores, or white-space pieces.
MODES: Final = ("w", "ws")

#: A word of mode ``"w"``, as the public content extraction benchmarks count them.
WORD: Final = re.compile(r"\w+")


def metric_tokens(text: str, mode: str = "w") -> list[str]:
    r"""Split a text into the tokens that metrics and alignments count.

    Parameters
    ----------
    text
        Any text; markup is not treated specially.
    mode
        ``"w"``: the matches of ``\w+`` in the lower-cased text, as in public content extraction benchmarks.
        ``"ws"``: the white-space separated pieces, case and punctuation kept (the words of Gottron 2007).

    Returns
    -------
    list of str
        The tokens in text order; empty for a text without any.

    Raises
    ------
    UnknownNameError
        The mode is neither ``"w"`` nor ``"ws"``.

    Examples
    --------
    >>> metric_tokens("The cat's mat.")
    ['the', 'cat', 's', 'mat']
    >>> metric_tokens("The cat's mat.", mode="ws")
    ['The', "cat's", 'mat.']
    """
    if mode == "w":
        return WORD.findall(text.lower())
    if mode == "ws":
        return text.split()
    raise UnknownNameError("token mode", mode, MODES)
