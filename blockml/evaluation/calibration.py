"""Calibration of probabilities, precision and recall at every threshold, and coverage by confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.evaluation.bootstrap import MIN_DOCUMENTS, Interval, bootstrap_mean
from blockml.evaluation.metrics import checked_weights

if TYPE_CHECKING:
    from blockml.evaluation.page_results import PageResult


def reliability(
    probabilities: NDArray[np.floating[Any]],
    outcome: NDArray[np.number[Any] | np.bool_],
    weight: NDArray[np.number[Any]],
    n_bins: int = 10,
) -> list[tuple[float, float, float]]:
    """Compare predicted probabilities with observed frequencies in bins of equal width (reliability diagram).

    The arguments are arrays (n,): predicted probabilities, observed outcomes in [0, 1], and weights, such as numbers
    of words. Returns mean probability, mean outcome and share of the weight of each non-empty bin, in order.

    Examples
    --------
    >>> p = np.array([.1, .2, .9])
    >>> [[round(x, 2) for x in row] for row in reliability(p, np.array([0, 1, 1]), np.ones(3), 2)]
    [[0.15, 0.5, 0.67], [0.9, 1.0, 0.33]]
    """
    bins = np.minimum((np.asarray(probabilities) * n_bins).astype(np.intp), n_bins - 1)
    mass = np.bincount(bins, weight, minlength=n_bins)
    predicted = np.bincount(bins, weight * probabilities, minlength=n_bins)
    observed = np.bincount(bins, weight * outcome, minlength=n_bins)
    return [
        (float(predicted[i] / mass[i]), float(observed[i] / mass[i]), float(mass[i] / mass.sum()))
        for i in np.flatnonzero(mass > 0)
    ]


def rank_correlation(first: NDArray[np.generic], second: NDArray[np.generic]) -> float:
    """Return Spearman's rank correlation, in [-1, 1], with mean ranks for ties; 0 if either argument is constant.

    Examples
    --------
    >>> rank_correlation(np.array([1, 2, 3]), np.array([10, 30, 20]))
    0.5
    """
    from scipy.stats import rankdata

    a, b = rankdata(first), rankdata(second)
    spread = float(a.std() * b.std())
    return float(np.mean((a - a.mean()) * (b - b.mean())) / spread) if spread else 0.0


@dataclass(frozen=True, slots=True)
class Routing:
    """Usefulness of a predicted score for picking out the worst pages."""

    correlation: float  #: Rank correlation of predicted and actual score
    worst: float  #: Mean actual score of the pages with the lowest predicted score
    others: float  #: Mean actual score of the other pages


def routing(predicted: NDArray[np.floating[Any]], actual: NDArray[np.floating[Any]], share: float = 0.1) -> Routing:
    """Compare the actual score of the ``share`` of pages with the lowest predicted score with that of the other pages.

    Scores are arrays (n_pages,); ``share``, in (0, 1), is rounded up to whole pages.

    Examples
    --------
    >>> routing(np.array([.9, .2, .8, .7]), np.array([1., .1, .9, .9]), 0.25)
    Routing(correlation=0.9486832980505138, worst=0.1, others=0.9333333333333332)
    """
    order = np.argsort(predicted, kind="stable")
    n = int(np.ceil(share * len(order)))
    return Routing(
        rank_correlation(predicted, actual), float(actual[order[:n]].mean()), float(actual[order[n:]].mean())
    )


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


#: Default confidence thresholds.
CONFIDENCES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Pages whose confidence is at least a threshold."""

    threshold: float
    pages: int
    share: Interval  #: Their share of all pages.
    f1: Interval | None  #: Their mean F1; None for fewer than five.

    def record(self) -> dict[str, Any]:
        """Return the values by name, intervals as mean, low and high."""
        intervals = {name: None if value is None else value._asdict()
                     for name, value in (("share", self.share), ("f1", self.f1))}  # fmt: skip
        return {"confidence": self.threshold, "pages": self.pages, **intervals}


def coverage(
    confidence: ArrayLike, f1: ArrayLike, *, thresholds: Sequence[float] = CONFIDENCES, level: float = 0.95
) -> list[Coverage]:
    """Compute the share and mean F1 of the pages above each confidence threshold, with intervals.

    Most pages are good and a few are bad, so a small sample may have none of the bad ones, and the interval of a plain
    bootstrap of 50 pages contains the mean of the other pages in only 76 to 89 of 100 draws. Therefore the intervals
    are those of the sample with two pages added, one with F1 0 and one with F1 1; they contained it in 96 to 99 of 100
    draws on the four collections with more than 600 pages (``python -m research.benchmarks.survey_coverage``). The
    estimates are the plain means.

    Parameters
    ----------
    confidence, f1
        (n_pages,) values in [0, 1] of the same pages.
    thresholds
        Minimum confidences.
    level
        Share of the bootstrap means that an interval contains.

    Raises
    ------
    UsageError
        The lengths differ, or there is no page.

    Examples
    --------
    >>> rows = coverage([0.9] * 8 + [0.3, 0.2], [1.0] * 8 + [0.5, 0.4], thresholds=(0, 0.5))
    >>> [(row.threshold, row.pages, round(row.f1.mean, 2)) for row in rows]
    [(0, 10, 0.89), (0.5, 8, 1.0)]
    >>> rows[1].f1.low < 1.0
    True
    """
    sure, quality = np.asarray(confidence, dtype=np.float64), np.asarray(f1, dtype=np.float64)
    if sure.ndim != 1 or sure.shape != quality.shape or not sure.size:
        raise UsageError(f"confidence and f1 must be arrays (n_pages,), got {sure.shape} and {quality.shape}")
    rows = []
    for threshold in thresholds:
        above = sure >= threshold
        few = int(above.sum()) < MIN_DOCUMENTS
        share = _interval(above.astype(np.float64), level)
        rows.append(Coverage(threshold, int(above.sum()), share, None if few else _interval(quality[above], level)))
    return rows


def coverage_of(results: Sequence[PageResult]) -> list[Coverage]:
    """Compute the coverage of the evaluated pages with a gold text; raises UsageError if none has one."""
    pairs = [(result.confidence, result.bag.f1) for result in results if result.bag is not None]
    if not pairs:
        raise UsageError("coverage needs pages with a gold text, and none has one")
    return coverage(*zip(*pairs, strict=True))


def _interval(values: NDArray[np.float64], level: float) -> Interval:
    """Return the mean of the values, with the interval of the values plus a 0 and a 1."""
    found = bootstrap_mean(np.append(values, (0.0, 1.0)), level=level)
    mean = float(values.mean())
    return Interval(mean, min(found.low, mean), max(found.high, mean))
