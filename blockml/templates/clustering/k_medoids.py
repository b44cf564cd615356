"""k-median clustering: like k-means, with the item nearest to all others of its cluster in place of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import Clustering
from blockml.templates.clustering.matrices import as_distances, check_count, numbered

__all__ = ["MedianRun", "MedianRuns", "k_median", "k_median_runs"]

# Sums of the same distances in another order agree to as many decimals of the largest possible sum. Without rounding
# the order of additions would decide between items that are equally central.
_DECIMALS = 12


@dataclass(frozen=True, slots=True, eq=False)
class MedianRun:
    """One run of k-median."""

    labels: NDArray[np.int32]
    """(n,) cluster of each item, numbered as in the start; :attr:`clustering` numbers them by smallest member."""
    medians: NDArray[np.int32]
    """(k,) the median item by which each cluster was formed."""
    total: float
    """Sum of the distances of all items to the median of their cluster: the within distance."""
    n_rounds: int
    """Rounds of medians and reassignment."""
    converged: bool
    """Whether the last round changed nothing."""

    @property
    def clustering(self) -> Clustering:
        """The partition, with clusters numbered by smallest member."""
        return Clustering(numbered(self.labels))


@dataclass(frozen=True, slots=True, eq=False)
class MedianRuns:
    """Runs from several starts."""

    runs: Sequence[MedianRun]
    """By start."""
    best: MedianRun
    """The run of the smallest within distance; the first of equals."""


def k_median(
    matrix: ArrayLike, k: int, *, start: ArrayLike | None = None, random_state: int = 0, max_iter: int = 100
) -> MedianRun:
    """Cluster around median items (Gottron 2008).

    Each round takes as median of a cluster the item of the least total distance to the others of it, then assigns
    every item to the nearest median, until nothing changes. Of equals the first item or cluster is taken, but a
    median stays in its cluster. A cluster that is empty at the start gets the item that is farthest from its median
    (our choice). So there are always ``k`` clusters.

    Parameters
    ----------
    matrix
        (n, n) distances.
    k
        Number of clusters, from 1 to n.
    start
        (n,) clusters to start with, from 0 to k - 1; by default drawn at random.
    random_state
        Seed of the random start.
    max_iter
        Rounds after which to stop in any case, at least 1.

    Returns
    -------
    MedianRun
        Labels, medians, within distance, number of rounds.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or another argument is outside its range.

    Examples
    --------
    >>> matrix = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 2], [9, 9, 2, 0]]
    >>> run = k_median(matrix, 2, start=[0, 1, 1, 1])
    >>> run.labels.tolist(), run.medians.tolist(), run.total
    ([0, 0, 1, 1], [0, 2], 3.0)
    """
    distances = as_distances(matrix)
    k = check_count(k, len(distances))
    if max_iter < 1:
        raise UsageError(f"max_iter is at least 1, not {max_iter}")
    return _run(distances, k, _start(start, len(distances), k, random_state), max_iter)


def k_median_runs(matrix: ArrayLike, k: int, n_runs: int = 100, *, max_iter: int = 100) -> MedianRuns:
    """Run k-median from several random starts.

    The published scores of k-median are averages over 100 such runs (Gottron 2008, table 2), so all runs are given
    beside the best.

    Parameters
    ----------
    matrix, k, max_iter
        See :func:`k_median`.
    n_runs
        Number of starts, at least 1; run ``i`` has the seed ``i``.

    Returns
    -------
    MedianRuns
        All runs, and the best by within distance.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or another argument is outside its range.

    Examples
    --------
    >>> runs = k_median_runs([[0, 1, 9], [1, 0, 9], [9, 9, 0]], 2, n_runs=10)
    >>> len(runs.runs), runs.best.clustering.labels.tolist(), runs.best.total
    (10, [0, 0, 1], 1.0)
    """
    distances = as_distances(matrix)
    k = check_count(k, len(distances))
    if n_runs < 1 or max_iter < 1:
        raise UsageError(f"n_runs and max_iter are at least 1, not {n_runs} and {max_iter}")
    runs = [_run(distances, k, _start(None, len(distances), k, seed), max_iter) for seed in range(n_runs)]
    return MedianRuns(tuple(runs), min(runs, key=lambda run: run.total))


def _start(start: ArrayLike | None, n: int, k: int, random_state: int) -> NDArray[np.int64]:
    if start is None:
        return np.random.default_rng(random_state).integers(k, size=n)
    labels = np.asarray(start)
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise UsageError(f"start holds {n} whole numbers from 0 to {k - 1}")
    return labels.astype(np.int64)


def _run(distances: NDArray[np.float64], k: int, labels: NDArray[np.int64], max_iter: int) -> MedianRun:
    labels = _filled(distances, labels, k)
    converged = False
    for n_rounds in range(1, max_iter + 1):  # noqa: B007 - the last value is part of the result
        medians = _medians(distances, labels, k)
        assigned = distances[:, medians].argmin(axis=1)
        assigned[medians] = np.arange(k)  # else, of two medians at distance 0, one would leave its cluster empty
        converged = bool((assigned == labels).all())
        labels = assigned
        if converged:
            break
    total = float(distances[np.arange(len(labels)), medians[labels]].sum())
    arrays = labels.astype(np.int32), medians.astype(np.int32)
    for array in arrays:
        array.flags.writeable = False
    return MedianRun(*arrays, round(total, _DECIMALS), n_rounds, converged)


def _medians(distances: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """(k,) the most central item of each cluster; -1 for an empty cluster."""
    members = labels[:, None] == np.arange(k)
    totals = distances @ members.astype(np.float64)
    scale = len(labels) * distances.max() or 1.0
    central = np.where(members, np.round(totals / scale, _DECIMALS), np.inf).argmin(axis=0)
    medians: NDArray[np.int64] = np.where(members.any(axis=0), central, -1)
    return medians


def _filled(distances: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Labels with an item in every cluster."""
    medians = _medians(distances, labels, k)
    away = distances[np.arange(len(labels)), medians[labels]]
    away[medians[medians >= 0]] = -1.0
    labels = labels.copy()
    for empty in np.flatnonzero(medians < 0).tolist():
        # With k <= n and a cluster empty, another still has an item beside its median.
        item = int(away.argmax())
        labels[item] = empty
        away[item] = -1.0
    return labels
