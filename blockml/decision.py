"""Scores in, decision out: which blocks are kept, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Flag, Page, Reason

__all__ = ["Decision", "confidence", "decide"]


_REASONS = (
    Reason.SCORE_BELOW_THRESHOLD,
    Reason.SCORE_REACHES_THRESHOLD,
    Reason.REMOVED_WITH_ITS_CODE,
    Reason.KEPT_WITH_ITS_CODE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was decided for each block."""

    kept: NDArray[np.bool_]
    """(n_blocks,)."""
    reasons: tuple[Reason, ...]
    """(n_blocks,)."""


def decide(scores: NDArray[np.float32], threshold: float, page: Page | None = None) -> Decision:
    """Keep the blocks whose score is at least ``threshold``. A lower threshold never keeps less.

    Preformatted text is decided as a whole, by the mean score of its words: its pieces are blocks of their own where
    code is coloured, and code with pieces missing is of no use.

    Parameters
    ----------
    scores
        (n_blocks,) in [0, 1].
    threshold
        From which score on a block is kept, in [0, 1].
    page
        The page, for its preformatted texts; without it each block is decided alone.

    Raises
    ------
    UsageError
        The threshold is outside [0, 1].

    Examples
    --------
    >>> decide(np.array([.2, .7], np.float32), .5).kept.tolist()
    [False, True]
    """
    if not 0 <= threshold <= 1:
        raise UsageError(f"a threshold is between 0 and 1, not {threshold}")
    pooled = scores if page is None else _pooled(scores, page)
    # Compared as float32, so that a block which scores exactly the threshold is kept.
    kept = pooled >= np.float32(threshold)
    codes = kept + 2 * (kept != (scores >= np.float32(threshold)))
    return Decision(kept, tuple([_REASONS[code] for code in codes.tolist()]))


def _pooled(scores: NDArray[np.float32], page: Page) -> NDArray[np.float32]:
    """Scores, with the mean over its words for all blocks of one preformatted element."""
    nodes, blocks = page.nodes, page.blocks
    inside = (blocks.flags & Flag.PREFORMATTED) > 0
    if not inside.any():
        return scores
    marked = (nodes.flags & Flag.PREFORMATTED) > 0
    outermost = np.flatnonzero(marked & ~marked[nodes.parent])  # no root is preformatted
    _, number = np.unique(np.searchsorted(outermost, blocks.node[inside], side="right"), return_inverse=True)
    weight = np.maximum(blocks.n_words, 1)[inside]
    pooled = scores.copy()
    pooled[inside] = (np.bincount(number, weight * scores[inside]) / np.bincount(number, weight))[number]
    return pooled


def confidence(scores: NDArray[np.float32], kept: NDArray[np.bool_], n_words: NDArray[np.int32]) -> float:
    """Expected share of words whose decision is right, if scores are probabilities; 0 for a page without words.

    Examples
    --------
    >>> round(confidence(np.array([.2, .9], np.float32), np.array([False, True]), np.array([10, 30], np.int32)), 3)
    0.875
    """
    total = int(n_words.sum())
    right = np.where(kept, scores, 1 - scores) * n_words
    return float(right.sum() / total) if total else 0.0
