"""Calibration of probabilities, and usefulness of predicted page scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
