"""Block metrics: how well predicted block labels match the true ones, for the main-content class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blockml.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["BlockScores", "block_scores"]


@dataclass(frozen=True, slots=True)
class BlockScores:
    """Counts of blocks (or of their words) by true and predicted class, and the scores that follow from them.

    Counts of several pages are pooled by adding: ``sum(scores, BlockScores())``. Every score lies in [0, 1]; where
    nothing is predicted and nothing is relevant it is 1, any other 0/0 is 0.

    Parameters
    ----------
    tp
        Main content predicted as such.
    fp
        Other blocks predicted as main content.
    fn
        Main content that was missed.
    tn
        Other blocks predicted as such.

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
        return _share(self.tp, self.fp, otherwise=self.fn)

    @property
    def recall(self) -> float:
        """Share of the main content that was predicted."""
        return _share(self.tp, self.fn, otherwise=self.fp)

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

        Shown only to expose a distortion (Kim et al. 2013, section 4.3): as most blocks of a page are not main
        content, a method that does badly on main content can still look good here.
        """
        main, other = self.tp + self.fn, self.tn + self.fp
        return (main * self.f1 + other * self.other_f1) / (main + other) if main + other else 1.0

    def __add__(self, other: BlockScores) -> BlockScores:
        if not isinstance(other, BlockScores):
            return NotImplemented
        return BlockScores(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)


def block_scores(truth: ArrayLike, predicted: ArrayLike, weights: ArrayLike | None = None) -> BlockScores:
    """Count how predicted block labels agree with the true ones.

    Parameters
    ----------
    truth, predicted
        Boolean arrays (or 0 and 1) of shape (blocks,); true means main content.
    weights
        Weight of each block, such as its number of words, finite and not negative; the counts are then sums of
        weights, as floats.

    Returns
    -------
    BlockScores
        The counts; all 0 for a page without blocks.

    Raises
    ------
    UsageError
        The arrays differ in length, are not one-dimensional, or hold other values than described.

    Examples
    --------
    >>> block_scores([True, True, False], [True, False, False])
    BlockScores(tp=1, fp=0, fn=1, tn=1)
    >>> block_scores([True, True, False], [True, False, False], weights=[40, 2, 8])
    BlockScores(tp=40.0, fp=0.0, fn=2.0, tn=8.0)
    """
    is_main, said_main = _flags("truth", truth), _flags("predicted", predicted)
    if is_main.shape != said_main.shape:
        raise UsageError(f"truth has {is_main.size} labels but predicted has {said_main.size}; they must be as many")
    cells = (is_main & said_main, ~is_main & said_main, is_main & ~said_main, ~is_main & ~said_main)
    if weights is None:
        return BlockScores(*(int(np.count_nonzero(cell)) for cell in cells))
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != is_main.shape or not np.isfinite(mass).all() or (mass < 0).any():
        raise UsageError(f"weights must be {is_main.size} finite numbers that are not negative")
    return BlockScores(*(float(mass[cell].sum()) for cell in cells))


def _flags(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    given = np.asarray(values)
    flags = given.astype(np.bool_)
    if given.ndim != 1 or not np.array_equal(given, flags):
        raise UsageError(f"{name} must be a one-dimensional array of booleans, or of 0 and 1")
    return flags


def _share(hits: float, misses: float, *, otherwise: float) -> float:
    """Give hits by hits and misses; for 0/0 it is 1 only if the opposite kind of error is absent too."""
    total = hits + misses
    return hits / total if total else float(not otherwise)


def _f1(hits: float, errors: float) -> float:
    total = 2 * hits + errors
    return 2 * hits / total if total else 1.0
