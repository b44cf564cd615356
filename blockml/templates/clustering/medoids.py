"""k-medoids clustering: like k-means, with the most central item of each cluster instead of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import Clustering, as_distances, check_n_clusters, numbered

# Decimals, relative to the largest possible sum, to which sums of the same distances agree in any order of addition.
# Without rounding that order would decide between equally central items.
_DECIMALS = 12


@dataclass(frozen=True, slots=True, eq=False)
class MedoidRun:
    """Result of one run of k-medoids."""

    #: (n,) cluster of each item, numbered like the initial medoids; :attr:`clustering` numbers by smallest member
    labels: NDArray[np.int32]
    medoids: NDArray[np.int32]  #: (k,) medoid of each cluster
    total: float  #: Within distance: sum of the distances of all items to their medoids
    n_rounds: int  #: Number of rounds of updating medoids and labels
    converged: bool  #: Whether the last round changed no label

    @property
    def clustering(self) -> Clustering:
        """Partition with clusters numbered by smallest member."""
        return Clustering(numbered(self.labels))


@dataclass(frozen=True, slots=True, eq=False)
class MedoidRuns:
    """Runs in the order of their starts, and the first one of the smallest within distance."""

    runs: Sequence[MedoidRun]
    best: MedoidRun


def k_medoids(
    matrix: ArrayLike, k: int, *, start: ArrayLike | None = None, random_state: int = 0, max_iter: int = 100
) -> MedoidRun:
    """Cluster around medoids (the k-median of Gottron 2008).

    Each round sets the medoid of a cluster to the member of least total distance to the others, then assigns each item
    to the nearest medoid, until no label changes. Ties go to the first item or cluster, but a medoid stays in its own
    cluster. A cluster that starts empty gets the item farthest from its medoid (our choice), so there are always ``k``
    clusters. ``start`` are (n,) initial labels from 0 to k - 1, by default drawn at random with the seed
    ``random_state``; ``max_iter`` is the maximum number of rounds. Raises UsageError on an invalid matrix or arguments
    out of range.

    Examples
    --------
    >>> matrix = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 2], [9, 9, 2, 0]]
    >>> run = k_medoids(matrix, 2, start=[0, 1, 1, 1])
    >>> run.labels.tolist(), run.medoids.tolist(), run.total
    ([0, 0, 1, 1], [0, 2], 3.0)
    """
    distances = as_distances(matrix)
    k = check_n_clusters(k, len(distances))
    if max_iter < 1:
        raise UsageError(f"max_iter must be at least 1, got {max_iter}")
    return _run(distances, k, _start(start, len(distances), k, random_state), max_iter)


def k_medoids_runs(matrix: ArrayLike, k: int, n_runs: int = 100, *, max_iter: int = 100) -> MedoidRuns:
    """Run k-medoids from ``n_runs`` random starts (at least 1), run ``i`` with seed ``i``.

    Published scores are averages over 100 such runs (Gottron 2008, table 2), so all runs are returned as well as the
    best by within distance. For the other arguments and errors see :func:`k_medoids`.

    Examples
    --------
    >>> runs = k_medoids_runs([[0, 1, 9], [1, 0, 9], [9, 9, 0]], 2, n_runs=10)
    >>> len(runs.runs), runs.best.clustering.labels.tolist(), runs.best.total
    (10, [0, 0, 1], 1.0)
    """
    distances = as_distances(matrix)
    k = check_n_clusters(k, len(distances))
    if n_runs < 1 or max_iter < 1:
        raise UsageError(f"n_runs and max_iter must be at least 1, got {n_runs} and {max_iter}")
    runs = [_run(distances, k, _start(None, len(distances), k, seed), max_iter) for seed in range(n_runs)]
    return MedoidRuns(tuple(runs), min(runs, key=lambda run: run.total))


def _start(start: ArrayLike | None, n: int, k: int, random_state: int) -> NDArray[np.int64]:
    if start is None:
        return np.random.default_rng(random_state).integers(k, size=n)
    labels = np.asarray(start)
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= k:
        raise UsageError(f"start must hold {n} integers from 0 to {k - 1}")
    return labels.astype(np.int64)


def _run(distances: NDArray[np.float64], k: int, labels: NDArray[np.int64], max_iter: int) -> MedoidRun:
    labels = _filled(distances, labels, k)
    converged = False
    for n_rounds in range(1, max_iter + 1):  # noqa: B007 - the last value is part of the result
        medoids = _medoids(distances, labels, k)
        assigned = distances[:, medoids].argmin(axis=1)
        assigned[medoids] = np.arange(k)  # otherwise one of two medoids at distance 0 would leave its cluster empty
        converged = bool((assigned == labels).all())
        labels = assigned
        if converged:
            break
    total = float(distances[np.arange(len(labels)), medoids[labels]].sum())
    arrays = labels.astype(np.int32), medoids.astype(np.int32)
    for array in arrays:
        array.flags.writeable = False
    return MedoidRun(*arrays, round(total, _DECIMALS), n_rounds, converged)


def _medoids(distances: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the (k,) most central items of the clusters; -1 for an empty cluster."""
    members = labels[:, None] == np.arange(k)
    totals = distances @ members.astype(np.float64)
    scale = len(labels) * distances.max() or 1.0
    central = np.where(members, np.round(totals / scale, _DECIMALS), np.inf).argmin(axis=0)
    return np.where(members.any(axis=0), central, -1)


def _filled(distances: NDArray[np.float64], labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return labels in which no cluster is empty."""
    medoids = _medoids(distances, labels, k)
    away = distances[np.arange(len(labels)), medoids[labels]]
    away[medoids[medoids >= 0]] = -1.0
    labels = labels.copy()
    for empty in np.flatnonzero(medoids < 0).tolist():
        # With k <= n and an empty cluster, some cluster has more than its medoid.
        item = int(away.argmax())
        labels[item] = empty
        away[item] = -1.0
    return labels
