"""Scores in, decision out: which blocks are kept, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.page import Reason

__all__ = ["Decision", "confidence", "decide"]


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What was decided for each block."""

    kept: NDArray[np.bool_]
    """(n_blocks,)."""
    reasons: tuple[Reason, ...]
    """(n_blocks,)."""


def decide(scores: NDArray[np.float32], threshold: float) -> Decision:
    """Keep the blocks whose score is at least ``threshold``. A lower threshold never keeps less.

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
    # Compared as float32, so that a block which scores exactly the threshold is kept.
    kept = scores >= np.float32(threshold)
    reasons = (Reason.SCORE_BELOW_THRESHOLD, Reason.SCORE_REACHES_THRESHOLD)
    return Decision(kept, tuple([reasons[keep] for keep in kept.tolist()]))


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
