"""Whether probabilities and foretold scores come true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Routing", "rank_correlation", "reliability", "routing"]


def reliability(
    probabilities: NDArray[np.floating[Any]],
    outcome: NDArray[np.number[Any] | np.bool_],
    weight: NDArray[np.number[Any]],
    n_bins: int = 10,
) -> list[tuple[float, float, float]]:
    """Compare probabilities with what came, in bins of equal width.

    Parameters
    ----------
    probabilities
        (n,) in [0, 1].
    outcome
        (n,) what came: 0 or 1, or an amount in [0, 1].
    weight
        (n,) what each entry counts, such as its words.
    n_bins
        Number of bins.

    Returns
    -------
    list of (mean probability, mean outcome, share of the weight)
        One for each bin that holds anything, in order.

    Examples
    --------
    >>> p = np.array([.1, .2, .9])
    >>> [[round(x, 2) for x in row] for row in reliability(p, np.array([0, 1, 1]), np.ones(3), 2)]
    [[0.15, 0.5, 0.67], [0.9, 1.0, 0.33]]
    """
    number = np.minimum((np.asarray(probabilities) * n_bins).astype(np.intp), n_bins - 1)
    mass = np.bincount(number, weight, minlength=n_bins)
    said = np.bincount(number, weight * probabilities, minlength=n_bins)
    came = np.bincount(number, weight * outcome, minlength=n_bins)
    return [
        (float(said[i] / mass[i]), float(came[i] / mass[i]), float(mass[i] / mass.sum()))
        for i in range(n_bins)
        if mass[i] > 0
    ]


def rank_correlation(first: NDArray[np.generic], second: NDArray[np.generic]) -> float:
    """Spearman's rank correlation, ties by their mean rank; 0 where one of the two is constant.

    Examples
    --------
    >>> rank_correlation(np.array([1, 2, 3]), np.array([10, 30, 20]))
    0.5
    """
    a, b = _ranks(first), _ranks(second)
    spread = float(a.std() * b.std())
    return float(np.mean((a - a.mean()) * (b - b.mean())) / spread) if spread else 0.0


def _ranks(values: NDArray[np.generic]) -> NDArray[np.float64]:
    _, number, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: NDArray[np.float64] = (last - (count - 1) / 2)[number]
    return ranks


@dataclass(frozen=True, slots=True)
class Routing:
    """What a foretold score is worth for sending the worst pages elsewhere."""

    correlation: float
    """Rank correlation of the foretold and the real score."""
    worst: float
    """Mean real score of the pages that are foretold worst."""
    others: float
    """Mean real score of the others."""


def routing(foretold: NDArray[np.floating[Any]], real: NDArray[np.floating[Any]], share: float = 0.1) -> Routing:
    """Send that share of pages elsewhere whose foretold score is lowest.

    Examples
    --------
    >>> routing(np.array([.9, .2, .8, .7]), np.array([1., .1, .9, .9]), 0.25)
    Routing(correlation=0.9486832980505138, worst=0.1, others=0.9333333333333332)
    """
    order = np.argsort(foretold, kind="stable")
    n = int(np.ceil(share * len(order)))
    return Routing(rank_correlation(foretold, real), float(real[order[:n]].mean()), float(real[order[n:]].mean()))
