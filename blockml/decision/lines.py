"""Average scores over lines of text, whose blocks are kept or removed together, and smooth them over lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.page import Blocks, Separator

__all__ = ["line_means", "line_numbers", "line_weights", "smooth_lines"]

_SAME_LINE = int(Separator.SPACE)
#: Weight of a block without words in its line: negligible unless no block of the line has words.
_WORDLESS_WEIGHT = 1e-3


def line_numbers(blocks: Blocks) -> NDArray[np.intp]:
    """Return (n_blocks,) number of each block's line, from 0 without gaps.

    A sentence with an emphasis in it, for instance, is one line of three blocks.

    Examples
    --------
    >>> import blockml
    >>> line_numbers(blockml.parse("<p>It is <b>so</b>.</p><p>…</p>").blocks).tolist()
    [0, 0, 0, 1]
    """
    begins = blocks.separators > _SAME_LINE
    begins[:1] = False
    number: NDArray[np.intp] = begins.cumsum()
    return number


def line_weights(words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n_blocks,) weight of each block in its line: its words."""
    return np.maximum(words, _WORDLESS_WEIGHT)


def line_means(
    log_odds: NDArray[np.float64], weight: NDArray[np.float64], line: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average log odds over lines.

    Parameters
    ----------
    log_odds, weight
        (n_blocks,).
    line
        (n_blocks,) number of the line of each block.

    Returns
    -------
    means, weights
        (n_lines,) weighted mean of each line, and the sum of its weights.

    Examples
    --------
    >>> line_means(np.array([2., -2, 1]), np.array([9., 1., 3.]), np.array([0, 0, 1]))[0].tolist()
    [1.6, 1.0]
    """
    weights: NDArray[np.float64] = np.bincount(line, weight).astype(np.float64, copy=False)
    means: NDArray[np.float64] = np.bincount(line, weight * log_odds) / weights
    return means, weights


def smooth_lines(means: NDArray[np.float64], weights: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return (n_lines,) log odds, mixed with the weighted mean of the lines before and after by ``share`` in [0, 1].

    Examples
    --------
    >>> smooth_lines(np.array([1., -1., 3.]), np.ones(3), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    if not share or len(means) < 2:
        return means
    weighted, around, total = weights * means, np.zeros(len(means)), np.zeros(len(means))
    around[1:], total[1:] = weighted[:-1], weights[:-1]
    around[:-1] += weighted[1:]
    total[:-1] += weights[1:]
    smoothed: NDArray[np.float64] = (1 - share) * means + share * (around / total)
    return smoothed
