"""Hierarchical clustering: start with single items, merge the two nearest clusters, stop at a threshold or a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.matrices import as_distances, as_threshold, between, check_count, numbered

__all__ = ["PRESETS", "Clustering", "Merge", "average_linkage", "cut", "merge_list", "single_linkage"]

#: Published single-linkage thresholds by metric: read off the gaps in the distances of 500 pages of five news sites
#: (Gottron 2008, table 4), for shingles of lengths that are not given; ``cp-loose`` is the one that joined three of
#: the sites. ``rtdm`` is the 80 % similarity of Reis et al. 2004, on distances divided by the size of both trees.
PRESETS: Mapping[str, float] = MappingProxyType({"cps": 0.6, "ctss": 0.85, "cp": 0.7, "rtdm": 0.2, "cp-loose": 0.9})


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """A partition of ``n`` items, and how it came about."""

    labels: NDArray[np.int32]
    """(n,) cluster of each item; clusters are numbered by their smallest member, from 0."""
    merges: NDArray[np.float64] | None = None
    """(n - 1, 4) all merges up to the last, as in scipy: the two clusters, their distance, the size of both together.
    Items are clusters 0 … n - 1, and row i makes cluster n + i. None for methods that are not hierarchical."""
    threshold: float | None = None
    """The distance up to which clusters were merged; None if something else ended it."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max(initial=-1)) + 1

    def groups(self) -> list[list[int]]:
        """Members of each cluster, in increasing order.

        Examples
        --------
        >>> single_linkage([[0, 9, 1], [9, 0, 9], [1, 9, 0]], k=2).groups()
        [[0, 2], [1]]
        """
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(np.bincount(self.labels, minlength=self.n_clusters))
        return [part.tolist() for part in np.split(order, ends[:-1])] if len(self) else []


class Merge(NamedTuple):
    """One merge of two clusters, each named by its smallest member."""

    first: int
    second: int
    distance: float
    size: int


def single_linkage(matrix: ArrayLike, *, threshold: float | None = None, k: int | None = None) -> Clustering:
    """Cluster by the smallest distance between two clusters (Gottron 2008).

    With a threshold these are the connected components of the pairs that are no farther apart.

    Parameters
    ----------
    matrix
        (n, n) distances.
    threshold
        Merge clusters up to this distance, itself included; at least 0.
    k
        Merge until so many clusters are left, from 1 to n. Exactly one of the two is given.

    Returns
    -------
    Clustering
        With all merges, also those beyond the threshold. No clusters for n = 0.

    Raises
    ------
    UsageError
        The matrix is not one of distances, neither or both of ``threshold`` and ``k`` are given, or one is outside
        its range.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.8], [0.1, 0, 0.9], [0.8, 0.9, 0]]
    >>> single_linkage(matrix, threshold=0.5).labels.tolist()
    [0, 0, 1]
    """
    return _linkage(matrix, "single", threshold, k)


def average_linkage(matrix: ArrayLike, *, threshold: float | None = None, k: int | None = None) -> Clustering:
    """Cluster by the mean distance between the items of two clusters.

    Not one of the published methods: beside :func:`single_linkage` it does not chain, so it finds groups that touch.

    Parameters
    ----------
    matrix
        (n, n) distances.
    threshold
        Merge clusters up to this mean distance, itself included; at least 0.
    k
        Merge until so many clusters are left, from 1 to n. Exactly one of the two is given.

    Returns
    -------
    Clustering
        With all merges, also those beyond the threshold. No clusters for n = 0.

    Raises
    ------
    UsageError
        See :func:`single_linkage`.

    Examples
    --------
    >>> matrix = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> average_linkage(matrix, threshold=1).labels.tolist(), single_linkage(matrix, threshold=1).labels.tolist()
    ([0, 0, 1], [0, 0, 0])
    """
    return _linkage(matrix, "average", threshold, k)


def merge_list(clustering: Clustering) -> list[Merge]:
    """Merges that led to a clustering, in the order they were made.

    Raises
    ------
    UsageError
        The clustering is not hierarchical.

    Examples
    --------
    >>> merge_list(single_linkage([[0, 0.5, 0.2], [0.5, 0, 0.4], [0.2, 0.4, 0]], threshold=0.3))
    [Merge(first=0, second=2, distance=0.2, size=2)]
    """
    if clustering.merges is None:
        raise UsageError("only a hierarchical clustering has a list of merges")
    n = len(clustering)
    smallest = list(range(n))
    merges = []
    for left, right, distance, size in clustering.merges[: n - clustering.n_clusters].tolist():
        first, second = sorted((smallest[int(left)], smallest[int(right)]))
        smallest.append(first)
        merges.append(Merge(first, second, distance, int(size)))
    return merges


def cut(merges: NDArray[np.float64], n_merges: int) -> NDArray[np.int32]:
    """Labels after the first so many merges.

    Parameters
    ----------
    merges
        (n - 1, 4) as in :class:`Clustering`.
    n_merges
        From 0 to n - 1.

    Returns
    -------
    NDArray[np.int32]
        (n,) numbered by smallest member.

    Examples
    --------
    >>> cut(np.array([[1.0, 2.0, 0.1, 2.0], [0.0, 3.0, 0.5, 3.0]]), 1).tolist()
    [0, 1, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(merges) + 1
    # Indices of 32 bits: given others, connected_components of scipy 1.11 returns one component without an error.
    made = np.arange(n, n + n_merges, dtype=np.int32)
    children = merges[:n_merges, :2].astype(np.int32)
    ends = (children.reshape(-1), np.repeat(made, 2))
    graph = coo_array((np.ones(2 * n_merges), ends), shape=(n + n_merges, n + n_merges))
    return numbered(connected_components(graph, directed=False)[1][:n])


def _linkage(matrix: ArrayLike, method: str, threshold: float | None, k: int | None) -> Clustering:
    from scipy.cluster.hierarchy import linkage

    distances = as_distances(matrix)
    n = len(distances)
    if (threshold is None) == (k is None):
        raise UsageError("give either a threshold or a number of clusters k")
    if threshold is not None:
        threshold = as_threshold(threshold)
    if k is not None:
        k = check_count(k, n)
    merges: NDArray[np.float64] = linkage(between(distances), method) if n > 1 else np.zeros((0, 4))
    if n == 0:
        return Clustering(numbered([]), merges, threshold)
    # Neither linkage ever merges at a smaller distance than before, so a threshold is a number of merges too.
    n_merges = int((merges[:, 2] <= threshold).sum()) if threshold is not None else n - (k or 0)
    return Clustering(cut(merges, n_merges), merges, threshold)
