"""Text that stands on a page more than once: variants for small and wide screens, quotes, carousels, drawers.

A reader sees such text once, and a gold text mostly holds it once. Which of the copies it was made from can't be told,
but one is enough: the first that is about as probable as the best of them. Where copies stand in elements that are
built otherwise the others are more often left out than where they stand in the same ones, as rows of a table do.
"""

from __future__ import annotations

from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Blocks, Flag

__all__ = ["HERE", "SLACK", "Duplicates", "duplicate_penalties", "repeated"]

#: Words that a line needs to count as a copy (our choice, on WCXB: docs/model-log.md, round 42).
LEAST_WORDS = 3
#: Log odds by which the copy that stays may be below the best one: so that one variant of several stays as a whole.
SLACK = 1.0
#: Part of the care that copies in elements built alike are met with.
HERE = 0.25

_PREFORMATTED = int(Flag.PREFORMATTED)


class Duplicates(NamedTuple):
    """What is known of the lines of a page."""

    text: NDArray[np.int64]
    """(n_blocks,) number of the text of each block's line, below the number of blocks: see :func:`repeated`."""
    place: NDArray[np.integer]
    """(n_blocks,) number of the group of blocks with the same elements further up: the way ``far`` of
    :data:`blockml.features.block_groups.GROUPS`."""


def repeated(blocks: Blocks, line: NDArray[np.intp]) -> NDArray[np.int64]:
    """(n_blocks,) number of the text of each block's line, -1 where no other line of the page has the same text.

    Lines of one or two words, and preformatted ones, have -1. Signs between words of their own blocks don't count.

    Parameters
    ----------
    blocks
        The page's blocks.
    line
        (n_blocks,) number of the line of each: see :func:`blockml.decision.decide.lines`.

    Examples
    --------
    >>> import blockml
    >>> from blockml.decision.decide import lines
    >>> blocks = blockml.parse("<p>Cats are <b>great</b>.<p>Cats are great<p>Cats").blocks
    >>> repeated(blocks, lines(blocks)).tolist()
    [0, 0, 0, 0, -1]
    """
    n = len(blocks)
    if _kernel.compiled is not None:
        found, numbers = np.empty(n, dtype=np.int64), np.ascontiguousarray(line, dtype=np.int64)
        n_words = np.ascontiguousarray(blocks.n_words, dtype=np.int32)
        flags = np.ascontiguousarray(blocks.flags, dtype=np.uint8)
        bounds = (LEAST_WORDS, _PREFORMATTED)
        _kernel.compiled.repeated_lines(tuple(blocks.texts), n_words, flags, numbers, *bounds, found)
        return found
    if not n:
        return np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[True], line[1:] != line[:-1]]).nonzero()[0]
    words = np.add.reduceat(blocks.n_words, starts)
    preformatted = np.bitwise_or.reduceat(blocks.flags, starts) & _PREFORMATTED
    wanted = ((words >= LEAST_WORDS) & (preformatted == 0)).nonzero()[0]
    ends = np.append(starts[1:], n)[wanted].tolist()
    texts, seen = blocks.texts, dict[str, int]()
    has_words = (blocks.n_words > 0).tolist()
    chosen = [
        seen.setdefault(
            texts[start] if end == start + 1 else " ".join(compress(texts[start:end], has_words[start:end])), len(seen)
        )
        for start, end in zip(starts[wanted].tolist(), ends, strict=True)
    ]
    of_line = np.full(len(starts), -1, dtype=np.int64)
    if len(seen) < len(chosen):
        of_wanted = np.array(chosen, dtype=np.int64)
        several = np.bincount(of_wanted)[of_wanted] > 1
        of_line[wanted[several]] = of_wanted[several]
    return of_line.repeat(np.diff(np.append(starts, n)))


def duplicate_penalties(
    odds: NDArray[np.float64], line: NDArray[np.intp], copies: Duplicates, caution: float
) -> NDArray[np.float64]:
    """(n_blocks,) by how much to lower the log odds of lines that another one stands for.

    Parameters
    ----------
    odds
        (n_blocks,) log odds, the same for all blocks of a line.
    line
        (n_blocks,) number of the line of each block.
    copies
        What is known of them.
    caution
        By how much at most, from 0.

    Examples
    --------
    >>> copies = Duplicates(np.array([0, -1, 0, 0]), np.array([1, 1, 2, 1]))
    >>> duplicate_penalties(np.array([.1, 0, .9, 2.]), np.arange(4), copies, 4.0).tolist()
    [1.0, 0.0, 4.0, 0.0]
    """
    care = np.zeros(len(odds))
    rows = (copies.text >= 0).nonzero()[0]
    if not len(rows):
        return care
    text, its = copies.text[rows], odds[rows]
    most = np.full(int(text.max()) + 1, -np.inf)
    np.maximum.at(most, text, its)
    likely = (its >= most[text] - SLACK).nonzero()[0][::-1]
    first = np.zeros(len(most), dtype=np.intp)
    first[text[likely]] = rows[likely]  # what is written last, the first of them, stays
    stays = first[text]
    elsewhere = np.where(copies.place[rows] == copies.place[stays], HERE * caution, caution)
    care[rows] = np.where(line[rows] == line[stays], 0.0, elsewhere)
    return care
