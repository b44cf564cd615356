"""Uncertainty of mean scores: bootstrap intervals over documents or whole sites (Efron and Tibshirani 1993)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError

__all__ = ["Difference", "Interval", "bootstrap_mean", "mean_of_means", "means_by", "paired_difference"]

# Drawn indices held in memory at once (8 MB).
_CHUNK = 1_000_000

_Key = TypeVar("_Key", bound=Hashable)
_Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and the ends of its bootstrap interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """A mean paired difference, the ends of its bootstrap interval, and whether the interval excludes 0."""

    mean: float
    low: float
    high: float
    significant: bool


def bootstrap_mean(
    values: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    groups: Sequence[Hashable] | None = None,
) -> Interval:
    """Estimate how far a mean over documents would vary with other documents of the same kind.

    Parameters
    ----------
    values
        One finite score per document, shape (documents,).
    resamples
        Number of bootstrap samples, at least 1.
    seed
        Seed of the random generator; the same seed gives the same interval.
    level
        Share of the bootstrap means inside the interval, between 0 and 1.
    groups
        Group of each document, such as its site. Whole groups are then drawn instead of single documents, as pages
        of one site are not independent; the mean stays the mean over documents.

    Returns
    -------
    Interval
        The mean of the values and the percentiles of the bootstrap means that enclose ``level`` of them.

    Raises
    ------
    UsageError
        There are no values, some are not finite, the lengths differ, or an option is out of range.

    Examples
    --------
    >>> bootstrap_mean([0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5)
    >>> interval = bootstrap_mean([0.0, 0.2, 0.9, 1.0])
    >>> interval.low < interval.mean < interval.high
    True
    """
    scores = _scores("values", values)
    low, high = _percentiles(scores, resamples, seed, level, groups)
    return Interval(float(scores.mean()), low, high)


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    groups: Sequence[Hashable] | None = None,
) -> Difference:
    """Compare two methods on the same documents.

    Every bootstrap sample draws the same documents for both methods, so only their difference varies.

    Parameters
    ----------
    a, b
        One finite score per document for either method, in the same order, shape (documents,).
    resamples, seed, level, groups
        See :func:`bootstrap_mean`.

    Returns
    -------
    Difference
        Of the mean of ``a`` minus the mean of ``b``. Call one method better only if this is significant.

    Raises
    ------
    UsageError
        See :func:`bootstrap_mean`.

    Examples
    --------
    >>> paired_difference([0.9, 0.8, 0.7], [0.4, 0.3, 0.2]).significant
    True
    >>> paired_difference([0.9, 0.8], [0.9, 0.8])
    Difference(mean=0.0, low=0.0, high=0.0, significant=False)
    """
    first, second = _scores("a", a), _scores("b", b)
    if first.shape != second.shape:
        raise UsageError(f"a has {first.size} scores but b has {second.size}; they must be of the same documents")
    difference = first - second
    low, high = _percentiles(difference, resamples, seed, level, groups)
    return Difference(float(difference.mean()), low, high, significant=low > 0 or high < 0)


def means_by(values: ArrayLike, keys: Sequence[_Key]) -> dict[_Key, tuple[float, int]]:
    """Average the values with the same key, as for a mean per site.

    Parameters
    ----------
    values
        One finite score per document, shape (documents,).
    keys
        Key of each document.

    Returns
    -------
    dict
        Mean and count of each key, in the order in which the keys first occur.

    Raises
    ------
    UsageError
        There are no values, some are not finite, or the lengths differ.

    Examples
    --------
    >>> means_by([1.0, 0.5, 0.25], ["a.example", "a.example", "b.example"])
    {'a.example': (0.75, 2), 'b.example': (0.25, 1)}
    """
    sums, counts, names = _grouped(_scores("values", values), keys)
    return {
        name: (total / count, count) for name, total, count in zip(names, sums.tolist(), counts.tolist(), strict=True)
    }


def mean_of_means(means: Mapping[_Key, tuple[float, int]]) -> float:
    """Average means per key, so that every site counts the same however many pages it has.

    Parameters
    ----------
    means
        Mean and count of each key, as :func:`means_by` gives them.

    Returns
    -------
    float
        The unweighted mean over the keys.

    Raises
    ------
    UsageError
        There are no means.

    Examples
    --------
    >>> mean_of_means(means_by([1.0, 0.5, 0.25], ["a.example", "a.example", "b.example"]))
    0.5
    """
    if not means:
        raise UsageError("a mean of means needs at least one mean")
    return sum(mean for mean, _ in means.values()) / len(means)


def _scores(name: str, values: ArrayLike) -> _Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not scores.size or not np.isfinite(scores).all():
        raise UsageError(f"{name} must be a one-dimensional array of at least one number, all of them finite")
    return scores


def _grouped(scores: _Floats, keys: Sequence[_Key]) -> tuple[_Floats, NDArray[np.intp], list[_Key]]:
    """Sum and count the scores of each key, keys in order of first occurrence."""
    if len(keys) != scores.size:
        raise UsageError(f"there are {scores.size} scores but {len(keys)} keys; there must be one key per score")
    numbers: dict[_Key, int] = {}
    owner = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    sums = np.zeros(len(numbers))
    np.add.at(sums, owner, scores)
    return sums, np.bincount(owner), list(numbers)


def _percentiles(
    scores: _Floats, resamples: int, seed: int, level: float, groups: Sequence[Hashable] | None
) -> tuple[float, float]:
    """Bootstrap the mean and give the percentiles that leave equal tails outside."""
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, not {resamples}")
    if not 0 < level < 1:
        raise UsageError(f"level must lie between 0 and 1, not {level}")
    sums, counts = (scores, np.ones(scores.size, dtype=np.intp)) if groups is None else _grouped(scores, groups)[:2]
    random = np.random.default_rng(seed)
    rows = max(_CHUNK // sums.size, 1)
    means = np.empty(resamples)
    for start in range(0, resamples, rows):
        drawn = random.integers(sums.size, size=(min(rows, resamples - start), sums.size))
        means[start : start + rows] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
