"""Uncertainty of mean scores: bootstrap intervals over documents or whole sites (Efron and Tibshirani 1993).

Values are finite scores, one per document. :class:`~blockml.errors.UsageError` is raised if they are empty or not
finite, lengths differ, or an option is out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError

#: Minimum number of documents (or sites) for an interval of a difference: with fewer, resamples hardly differ.
MIN_DOCUMENTS = 5

# Maximum number of drawn indices held in memory at once (8 MB).
_CHUNK = 1_000_000

# An interval bound this close to 0 may differ from 0 only by floating-point rounding.
_ROUNDING = 1e-12

_Key = TypeVar("_Key", bound=Hashable)
_Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """Mean with the bounds of its bootstrap interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """Mean paired difference, the bounds of its bootstrap interval, and whether the interval excludes 0."""

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
    """Compute the mean over documents and its bootstrap percentile interval.

    Parameters
    ----------
    values
        (n_documents,) scores.
    resamples
        Number of bootstrap samples, at least 1.
    seed
        Seed of the random generator; the same seed gives the same interval.
    level
        Share of the bootstrap means that the interval contains, between 0 and 1.
    groups
        (n_documents,) group of each document, such as its site. Whole groups are then drawn instead of documents,
        because pages of one site are not independent; the mean is still over documents.

    Examples
    --------
    >>> bootstrap_mean([0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5)
    >>> interval = bootstrap_mean([0.0, 0.2, 0.9, 1.0])
    >>> interval.low < interval.mean < interval.high
    True
    """
    scores, tails = _scores("values", values), _tails(level)
    if groups is None:
        sums, counts = scores, np.ones(scores.size, dtype=np.intp)
    else:
        sums, counts, _ = _grouped(scores, groups)
    draws = _draws(sums.size, resamples, seed)
    means = np.concatenate([sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1) for drawn in draws])
    low, high = np.quantile(means, tails)
    return Interval(float(scores.mean()), float(low), float(high))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    groups: Sequence[Hashable] | None = None,
) -> Difference:
    """Compute the mean of ``a`` minus the mean of ``b``, the scores of two methods on the same documents.

    Every bootstrap sample draws the same documents for both methods, so only their difference varies. One method is
    better only if the difference is significant. ``a`` and ``b`` are (n_documents,) scores of the same documents in
    the same order; for the other parameters see :func:`bootstrap_mean`.

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
    return _difference(*bootstrap_mean(first - second, resamples=resamples, seed=seed, level=level, groups=groups))


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Scores of several systems on the same documents, and on every bootstrap sample of these documents."""

    estimates: _Floats  #: (n_systems,) score of each system on all documents
    samples: _Floats  #: (resamples, n_systems) score on each sample; each row uses the same documents for all systems

    def intervals(self, level: float = 0.95) -> list[Interval]:
        """Return the score of each system with the percentiles that enclose ``level`` of its sampled scores."""
        low, high = np.quantile(self.samples, _tails(level), axis=0)
        return [Interval(*ends) for ends in zip(self.estimates.tolist(), low.tolist(), high.tolist(), strict=True)]

    def differences(self, level: float = 0.95) -> dict[tuple[int, int], Difference]:
        """Return score of ``a`` minus score of ``b`` for all pairs of system indices ``(a, b)`` with a < b."""
        found: dict[tuple[int, int], Difference] = {}
        for a in range(self.estimates.size - 1):
            others = range(a + 1, self.estimates.size)
            low, high = np.quantile(self.samples[:, [a]] - self.samples[:, others], _tails(level), axis=0)
            mean = self.estimates[a] - self.estimates[others]
            ends = zip(others, mean.tolist(), low.tolist(), high.tolist(), strict=True)
            found |= {(a, b): _difference(*values) for b, *values in ends}
        return found


def bootstrap_systems(
    values: ArrayLike, pooled: Callable[[_Floats], _Floats] | None = None, *, resamples: int = 1000, seed: int = 0
) -> Resampled:
    """Resample the documents once for many systems.

    Equals :func:`bootstrap_mean` and :func:`paired_difference` of each system and each pair of systems with the same
    seed, at the cost of one matrix product.

    Parameters
    ----------
    values
        (n_documents, n_systems) scores to be averaged. With ``pooled`` they may have further axes, such as
        (n_documents, n_systems, n_counts).
    pooled
        Converts sums over documents, (n_samples, n_systems, …), to scores, (n_samples, n_systems). Needed for metrics
        that are not means over documents, such as the F1 of blocks pooled over pages.
    resamples, seed
        See :func:`bootstrap_mean`.

    Examples
    --------
    >>> scores = [[0.9, 0.4], [0.8, 0.3], [0.7, 0.2]]
    >>> result = bootstrap_systems(scores)
    >>> result.differences()[0, 1].significant
    True

    Share of hits of two systems, from their hits and misses on two documents:

    >>> counts = [[[1, 0], [3, 1]], [[2, 2], [0, 4]]]
    >>> shares = bootstrap_systems(counts, lambda sums: sums[..., 0] / sums.sum(axis=-1))
    >>> shares.estimates.tolist()
    [0.6, 0.375]
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim < 2 or not table.size or not np.isfinite(table).all():
        raise UsageError("values must be an array (documents, systems) of at least one number, all of them finite")
    documents, cells = table.shape[0], table.shape[1:]
    columns = table.reshape(documents, -1)
    sums = np.concatenate([_times_drawn(drawn) @ columns for drawn in _draws(documents, resamples, seed)])
    score = pooled or (lambda totals: totals / documents)
    return Resampled(score(table.sum(axis=0, keepdims=True))[0], score(sums.reshape(resamples, *cells)))


def means_by(values: ArrayLike, keys: Sequence[_Key]) -> dict[_Key, tuple[float, int]]:
    """Average the values, (n_documents,), that have the same key, such as a site.

    Returns mean and count by key, in the order in which the keys first occur.

    Examples
    --------
    >>> means_by([1.0, 0.5, 0.25], ["a.example", "a.example", "b.example"])
    {'a.example': (0.75, 2), 'b.example': (0.25, 1)}
    """
    sums, counts, names = _grouped(_scores("values", values), keys)
    return {name: (total / n, n) for name, total, n in zip(names, sums.tolist(), counts.tolist(), strict=True)}


def mean_of_means(means: Mapping[_Key, tuple[float, int]]) -> float:
    """Average the means of :func:`means_by` without weights, so that every site counts equally.

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


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise UsageError(f"level must be between 0 and 1, got {level}")
    return (1 - level) / 2, (1 + level) / 2


def _draws(size: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Draw ``size`` of ``size`` indices ``resamples`` times, in chunks (n_samples, size)."""
    if resamples < 1:
        raise UsageError(f"resamples must be at least 1, got {resamples}")
    random = np.random.default_rng(seed)
    rows = max(_CHUNK // size, 1)
    for start in range(0, resamples, rows):
        yield random.integers(size, size=(min(rows, resamples - start), size))


def _times_drawn(drawn: NDArray[np.int64]) -> _Floats:
    """Count how often each sample holds each index, (n_samples, size)."""
    samples, size = drawn.shape
    cells = drawn + size * np.arange(samples)[:, None]
    return np.bincount(cells.ravel(), minlength=samples * size).reshape(samples, size).astype(np.float64)


def _difference(mean: float, low: float, high: float) -> Difference:
    return Difference(mean, low, high, significant=low > _ROUNDING or high < -_ROUNDING)
