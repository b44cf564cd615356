"""Precision and recall of blocks at every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blockml.errors import UsageError
from blockml.evaluation.blocks import checked_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecall:
    """Precision and recall by threshold, from the highest score to the lowest."""

    thresholds: NDArray[np.float64]  #: (k,) distinct scores, descending; blocks with at least this score are kept
    precision: NDArray[np.float64]  #: (k,)
    recall: NDArray[np.float64]  #: (k,) ascending; ends at 1, where everything is kept

    @property
    def average_precision(self) -> float:
        """Mean precision weighted by gain in recall, without interpolation; in [0, 1]."""
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def best_f(self, beta: float = 1.0) -> tuple[float, float]:
        """Return the threshold with the greatest F-beta (the highest of equally good ones), and the F-beta."""
        if not beta > 0:
            raise UsageError(f"beta must be a positive number, got {beta!r}")
        weighted = beta * beta * self.precision + self.recall
        f = (1 + beta * beta) * self.precision * self.recall / np.maximum(weighted, 1e-300)
        best = int(f.argmax())
        return float(self.thresholds[best]), float(f[best])


def precision_recall(truth: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> PrecisionRecall:
    """Compute precision and recall of the main-content class at every threshold.

    ``truth`` holds (n,) booleans, true for main content; ``scores`` (n,) finite numbers; ``weights`` (n,) weights,
    such as numbers of words. Raises UsageError if lengths differ, a score is not finite, or no block is main content.

    Examples
    --------
    >>> curve = precision_recall([True, False, True, False], [0.9, 0.8, 0.7, 0.1])
    >>> curve.thresholds.tolist(), curve.recall.tolist()
    ([0.9, 0.8, 0.7, 0.1], [0.5, 0.5, 1.0, 1.0])
    >>> round(curve.average_precision, 4)
    0.8333
    """
    main, values = np.asarray(truth, dtype=bool), np.asarray(scores, dtype=np.float64)
    if main.shape != values.shape or main.ndim != 1 or not np.isfinite(values).all():
        raise UsageError(f"truth {main.shape} and scores {values.shape} must have equal shapes, and scores be finite")
    mass = np.ones(len(main)) if weights is None else checked_weights(weights, len(main))
    if not mass[main].sum():
        raise UsageError("no block is main content: recall is undefined")
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(values) - 1)  # the last of equal scores
    right, kept = np.cumsum((mass * main)[order])[ends], np.cumsum(mass[order])[ends]
    precision = np.divide(right, kept, out=np.ones_like(right), where=kept > 0)
    return PrecisionRecall(values[order][ends], precision, right / right[-1])
