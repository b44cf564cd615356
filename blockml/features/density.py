"""Word density and link density (Kim et al. 2013, section 2.2; Kohlschütter et al. 2010)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.features.column import Column
from blockml.page import Blocks
from blockml.text.words import lazy_pattern

#: Width of a line in characters (boilerpipe, public source). Kim et al. read it as "a sentence of 80 words".
LINE_WIDTH = 80
#: Words of a "sentence" (Kim et al. 2013, section 2.2, literally).
SENTENCE_WORDS = 80

_SENTENCE_END = lazy_pattern(r"(?<![.!?…。！？])[.!?…。！？]++(?=\s|$)")


def word_density(blocks: Blocks) -> NDArray[np.float32]:
    """Compute words per full line of at most 80 characters; the last, unfilled line does not count.

    A block of one line has its number of words (Kohlschütter et al. 2010 and boilerpipe's public source).

    Examples
    --------
    >>> import blockml
    >>> word_density(blockml.parse(f"<p>{'word ' * 33}</p><p>Two words</p>").blocks).tolist()
    [16.0, 2.0]
    """
    if _kernel.compiled is not None:
        density = blocks.n_words.astype(np.float32)
        _kernel.compiled.word_densities(LINE_WIDTH, (blocks.word_lengths, blocks.n_words, density))
        return density
    words, lines = wrapped_lines(blocks)
    return (words / lines).astype(np.float32)


def wrapped_lines(blocks: Blocks) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the words on full lines of each block, and these lines; all words and 1 for a block of one line."""
    words, lines = blocks.n_words.astype(np.int64), np.ones(len(blocks), dtype=np.int64)
    # Wrapping is sequential, so only blocks that need a second line are wrapped, with one bisection per line.
    width = np.zeros(len(blocks.word_lengths) + 1, dtype=np.int64)
    np.cumsum(blocks.word_lengths + 1, out=width[1:])
    stops = np.cumsum(blocks.n_words)
    starts = stops - blocks.n_words
    long = np.flatnonzero(width[stops] - width[starts] > LINE_WIDTH + 1).tolist()
    widths = width.tolist() if long else []
    for block in long:
        words[block], lines[block] = _wrapped(widths, int(starts[block]), int(stops[block]))
    return words, lines


def _wrapped(width: Sequence[int], start: int, stop: int) -> tuple[int, int]:
    """Wrap the words ``start … stop - 1``; ``width[i]`` is the width of the words before ``i`` with a blank each."""
    n_lines, word = 0, start
    while True:
        after = bisect_right(width, width[word] + LINE_WIDTH + 1, word, stop + 1) - 1
        if after == word:  # a word longer than a line has its own line
            n_lines += word == start  # and leaves an empty first line behind, as in boilerpipe
            after += 1
        if after >= stop:
            break
        n_lines += 1
        word = after
    return (word - start, n_lines) if n_lines else (stop - start, 1)


def word_density_80w(blocks: Blocks) -> NDArray[np.float32]:
    """Compute words per "sentence" of 80 words, ``n / ceil(n / 80)``: the literal reading of Kim et al. 2013."""
    n = blocks.n_words
    return (n / np.maximum(1, -(-n // SENTENCE_WORDS))).astype(np.float32)


def word_density_sentence(blocks: Blocks) -> NDArray[np.float32]:
    """Compute words per sentence, which ends at a full stop, question or exclamation mark before white space.

    Examples
    --------
    >>> import blockml
    >>> word_density_sentence(blockml.parse("<p>One two. Three four").blocks).tolist()
    [2.0]
    """
    sentences = [sum(not piece.isspace() for piece in _SENTENCE_END.split(text) if piece) for text in blocks.texts]
    return (blocks.n_words / np.maximum(1, np.array(sentences, dtype=np.int32))).astype(np.float32)


def link_density(blocks: Blocks) -> NDArray[np.float32]:
    """Compute the share of a block's words inside ``a`` (Kim et al. 2013, equation 1); 0 for a block without words."""
    return (blocks.n_linked / np.maximum(1, blocks.n_words)).astype(np.float32)


_BOILERPIPE = "Kohlschütter et al. 2010; boilerpipe's public source"
_KIM = "Kim et al. 2013, section 2.2, equation 1"

COLUMNS = (
    Column("wd", "words per line of 80 characters", 0, np.inf, 0, _BOILERPIPE, word_density),
    Column("wd80w", "words per 80 words", 0, 80, 0, _KIM + ", literal reading", word_density_80w),
    Column("wdsent", "words per sentence", 0, np.inf, 0, "sentence reading of " + _KIM, word_density_sentence),
    Column("ld", "linked words / words", 0, 1, 0, _KIM, link_density),
)
