"""Agglomerative clustering by single or average linkage, up to a threshold or a number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.matrices import as_distances, as_threshold, between, check_n_clusters, numbered

#: Published single-linkage thresholds by metric, read off the gaps in the distances of 500 pages of five news sites
#: (Gottron 2008, table 4; shingle lengths not given); ``cp-loose`` joined three of the sites. ``rtdm`` is the 80 %
#: similarity of Reis et al. 2004, for distances divided by the size of both trees.
PRESETS: Mapping[str, float] = MappingProxyType({"cps": 0.6, "ctss": 0.85, "cp": 0.7, "rtdm": 0.2, "cp-loose": 0.9})


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Partition of ``n`` items."""

    labels: NDArray[np.int32]  #: (n,) cluster of each item; clusters are numbered from 0 by their smallest member
    #: (n - 1, 4) merges as in scipy: two clusters, their distance, size of their union. Items are clusters 0 … n - 1,
    #: row i creates cluster n + i. None for methods that are not hierarchical.
    merges: NDArray[np.float64] | None = None
    threshold: float | None = None  #: Distance up to which clusters were merged; None if a number of clusters was given

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max(initial=-1)) + 1

    def groups(self) -> list[list[int]]:
        """List the members of each cluster in increasing order.

        Examples
        --------
        >>> single_linkage([[0, 9, 1], [9, 0, 9], [1, 9, 0]], k=2).groups()
        [[0, 2], [1]]
        """
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(np.bincount(self.labels, minlength=self.n_clusters))
        return [members.tolist() for members in np.split(order, ends[:-1])] if len(self) else []


def single_linkage(matrix: ArrayLike, *, threshold: float | None = None, k: int | None = None) -> Clustering:
    """Cluster by the smallest distance between members of two clusters (Gottron 2008).

    With a threshold the clusters are the connected components of the graph of pairs within it. The result has all
    merges, also those above the threshold. Clusters are merged up to the distance ``threshold``, inclusive, or until
    ``k`` are left. Raises UsageError on an invalid matrix, or unless exactly one of ``threshold`` and ``k`` is given
    and in range.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.8], [0.1, 0, 0.9], [0.8, 0.9, 0]]
    >>> single_linkage(matrix, threshold=0.5).labels.tolist()
    [0, 0, 1]
    """
    return _linkage(matrix, "single", threshold, k)


def average_linkage(matrix: ArrayLike, *, threshold: float | None = None, k: int | None = None) -> Clustering:
    """Cluster by the mean distance between the items of two clusters; arguments as for :func:`single_linkage`.

    Unlike single linkage it does not chain, so it separates clusters that touch. Not one of the published methods.

    Examples
    --------
    >>> matrix = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> average_linkage(matrix, threshold=1).labels.tolist(), single_linkage(matrix, threshold=1).labels.tolist()
    ([0, 0, 1], [0, 0, 0])
    """
    return _linkage(matrix, "average", threshold, k)


def cut(merges: NDArray[np.float64], n_merges: int) -> NDArray[np.int32]:
    """Return (n,) labels, numbered by smallest member, after the first ``n_merges`` of (n - 1, 4) merges.

    Examples
    --------
    >>> cut(np.array([[1.0, 2.0, 0.1, 2.0], [0.0, 3.0, 0.5, 3.0]]), 1).tolist()
    [0, 1, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(merges) + 1
    # 32-bit indices: with others, connected_components of scipy 1.11 silently returns a single component.
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
        raise UsageError("give either a threshold or a number of clusters k, not both")
    if threshold is not None:
        threshold = as_threshold(threshold)
    if k is not None:
        k = check_n_clusters(k, n)
    merges: NDArray[np.float64] = linkage(between(distances), method) if n > 1 else np.zeros((0, 4))
    if n == 0:
        return Clustering(numbered([]), merges, threshold)
    # Both linkages merge at non-decreasing distances, so a threshold corresponds to a number of merges.
    n_merges = int((merges[:, 2] <= threshold).sum()) if threshold is not None else n - (k or 0)
    return Clustering(cut(merges, n_merges), merges, threshold)
