"""Block metrics: agreement of predicted with true block labels, for the main-content class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blockml.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class BlockScores:
    """Confusion counts of blocks (or of their words) and the scores that follow from them.

    Add scores to pool the counts of several pages: ``sum(scores, BlockScores())``. Every score is in [0, 1]; it is 1
    if nothing is predicted and nothing is relevant, and 0 for any other 0/0. The fields count true positives,
    false positives, false negatives and true negatives; positive is main content.

    Examples
    --------
    >>> scores = BlockScores(tp=3, fp=1, fn=1, tn=5)
    >>> scores.precision, scores.recall, scores.f1
    (0.75, 0.75, 0.75)
    >>> round(scores.other_f1, 6), round(scores.weighted_f1, 6)
    (0.833333, 0.8)
    """

    tp: float = 0
    fp: float = 0
    fn: float = 0
    tn: float = 0

    @property
    def precision(self) -> float:
        """Share of the predicted main content that is main content."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else float(not self.fn)

    @property
    def recall(self) -> float:
        """Share of the main content that was predicted."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else float(not self.fp)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall of the main-content class: the score to report."""
        return _f1(self.tp, self.fp + self.fn)

    @property
    def other_f1(self) -> float:
        """F1 of the other class, everything that is not main content."""
        return _f1(self.tn, self.fp + self.fn)

    @property
    def weighted_f1(self) -> float:
        """Mean of the F1 of both classes, weighted by their true sizes.

        It is misleading, and only included for comparison (Kim et al. 2013, section 4.3): most blocks of a page are
        not main content, so a method that is poor on main content can still score well.
        """
        main, other = self.tp + self.fn, self.tn + self.fp
        return (main * self.f1 + other * self.other_f1) / (main + other) if main + other else 1.0

    def __add__(self, other: BlockScores) -> BlockScores:
        if not isinstance(other, BlockScores):
            return NotImplemented
        return BlockScores(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)


def block_scores(truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> BlockScores:
    """Count the blocks by true and predicted class.

    Raises UsageError if the arrays differ in length, are not one-dimensional, or hold other values.
    Takes (n_blocks,) booleans, or 0 and 1; true means main content. With ``weights``, (n_blocks,) finite and
    non-negative, such as numbers of words, the counts are sums of weights, as floats.

    Examples
    --------
    >>> block_scores([True, True, False], [True, False, False])
    BlockScores(tp=1, fp=0, fn=1, tn=1)
    >>> block_scores([True, True, False], [True, False, False], weights=[40, 2, 8])
    BlockScores(tp=40.0, fp=0.0, fn=2.0, tn=8.0)
    """
    true, kept = _flags("truth", truth), _flags("predicted", predicted)
    if true.shape != kept.shape:
        raise UsageError(f"truth has {true.size} labels but predicted has {kept.size}; the numbers must be equal")
    cells = (true & kept, ~true & kept, true & ~kept, ~true & ~kept)
    if weights is None:
        return BlockScores(*(int(np.count_nonzero(cell)) for cell in cells))
    mass = checked_weights(weights, true.size)
    return BlockScores(*(float(mass[cell].sum()) for cell in cells))


def checked_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return ``n`` weights as an array; raise UsageError if one is missing, negative or not finite."""
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != (n,) or not np.isfinite(mass).all() or (mass < 0).any():
        raise UsageError(f"weights must be {n} finite numbers that are not negative")
    return mass


def _flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    given = np.asarray(values)
    flags = given.astype(np.bool_)
    if given.ndim != 1 or not np.array_equal(given, flags):
        raise UsageError(f"{name} must be a one-dimensional array of booleans, or of 0 and 1")
    return flags


def _f1(hits: float, errors: float) -> float:
    total = 2 * hits + errors
    return 2 * hits / total if total else 1.0
