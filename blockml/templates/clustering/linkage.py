"""Agglomerative clustering by linkage, subclusters, and validation of distance matrices."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError

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


# Asymmetry from summing in different orders, relative to the largest distance.
_ASYMMETRY = 1e-9


def as_distances(matrix: ArrayLike) -> NDArray[np.float64]:
    """Return a matrix as float64; raise UsageError unless it holds (n, n) distances, n >= 0.

    Distances must be finite, non-negative, symmetric and zero on the diagonal. The matrix is copied only if its type
    differs.
    """
    try:
        distances = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError("a distance matrix must contain numbers in rows of equal length") from error
    if distances.shape == (0,):
        distances = distances.reshape(0, 0)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise UsageError(f"a distance matrix must be square, got shape {distances.shape}")
    if not np.isfinite(distances).all():
        raise UsageError("a distance matrix must contain only finite numbers")
    if (distances < 0).any():
        raise UsageError("distances must be non-negative")
    if distances.diagonal().any():
        raise UsageError("the diagonal of a distance matrix must be zero")
    if (np.abs(distances - distances.T) > _ASYMMETRY * distances.max(initial=0)).any():
        raise UsageError("a distance matrix must be symmetric")
    return distances


def as_threshold(threshold: float) -> float:
    """Return a distance threshold as float; raise UsageError unless it is a non-negative number."""
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = math.nan
    if not value >= 0:
        raise UsageError(f"a threshold must be a non-negative number, got {threshold!r}")
    return value


def check_n_clusters(k: int, n: int) -> int:
    """Return a number of clusters of ``n`` items; raise UsageError unless it is an integer from 1 to ``n``."""
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= n:
        raise UsageError(f"the number of clusters of {n} items must be an integer from 1 to {n}, got {k!r}")
    return count


def between(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the (n (n - 1) / 2,) distances of all pairs, row by row."""
    return distances[np.triu_indices(len(distances), 1)]


def numbered(labels: ArrayLike) -> NDArray[np.int32]:
    """Return read-only (n,) labels in which clusters are numbered from 0 by their smallest member.

    Examples
    --------
    >>> numbered([7, 2, 7, 0]).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(np.asarray(labels, dtype=np.int64), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    result: NDArray[np.int32] = rank[inverse.reshape(-1)]
    result.flags.writeable = False
    return result


# Decimals to which silhouettes, and merge distances relative to each other, differ by more than rounding.
_DECIMALS = 9


class _Cut(NamedTuple):
    """Partition by linkage into a number of clusters."""

    silhouette: float
    labels: NDArray[np.int32]
    distance: float  #: Midway between the last merge made and the first one not made.


def _best_cut(distances: NDArray[np.float64], merges: NDArray[np.float64], most: int) -> _Cut | None:
    """Return the cut into 2 to ``most`` clusters with the greatest mean silhouette (Rousseeuw 1987), None without any.

    Ties go to fewer clusters. Merges at equal distances are never separated, because that would depend on the order of
    the items.
    """
    from sklearn.metrics import silhouette_score

    n, heights = len(distances), merges[:, 2].tolist()
    cuts = []
    for k in range(2, most + 1):
        low, high = heights[n - k - 1], heights[n - k]
        if low < high * (1 - 10**-_DECIMALS):
            labels = cut(merges, n - k)
            score = float(silhouette_score(distances, labels, metric="precomputed"))
            cuts.append(_Cut(score, labels, (low + high) / 2))
    return max(cuts, key=lambda found: round(found.silhouette, _DECIMALS), default=None)


class Subclusters(NamedTuple):
    """Subclusters of a cluster."""

    clustering: Clustering  #: Partition of the members; one cluster if no cut is good enough
    #: Mean silhouette of the best cut, accepted or not, in [-1, 1]; None if no cut was possible
    silhouette: float | None


def find_subclusters(
    matrix: ArrayLike, *, min_silhouette: float = 0.25, max_clusters: int = 20, min_items: int = 4
) -> Subclusters:
    """Split one cluster by average linkage at the cut with the greatest mean silhouette (Rousseeuw 1987).

    Ties go to the cut with fewer clusters; merges at equal distances are never separated. The (n, n) distances should
    be of a metric that separates layouts, such as shingles with classes. The best cut is accepted if its silhouette
    reaches ``min_silhouette``: Kaufman and Rousseeuw 1990 see no substantial structure up to 0.25, a weak one up to 0.5
    and a reasonable one above (0.25 is our choice). There are at most ``max_clusters``, and clusters of fewer than
    ``min_items`` are not split (our choices). Raises UsageError on an invalid matrix, or ``max_clusters`` below 1.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.4, 0.4], [0.1, 0, 0.4, 0.4], [0.4, 0.4, 0, 0.1], [0.4, 0.4, 0.1, 0]]
    >>> found = find_subclusters(matrix)
    >>> found.clustering.groups(), round(found.silhouette, 3)
    ([[0, 1], [2, 3]], 0.75)
    >>> find_subclusters(matrix, min_silhouette=0.8).clustering.groups()
    [[0, 1, 2, 3]]
    """
    distances = as_distances(matrix)
    if max_clusters < 1:
        raise UsageError(f"max_clusters must be at least 1, got {max_clusters}")
    n = len(distances)
    whole = Clustering(numbered(np.zeros(n)))
    if n < max(min_items, 3):
        return Subclusters(whole, None)
    merges = average_linkage(distances, k=1).merges
    assert merges is not None  # noqa: S101 - linkage is hierarchical
    best = _best_cut(distances, merges, min(max_clusters, n - 1))
    if best is None:
        return Subclusters(whole, None)
    return Subclusters(Clustering(best.labels, merges) if best.silhouette >= min_silhouette else whole, best.silhouette)


# Minimum number of items (45 pairs) for which a gap in the distances is meaningful. Our choice.
_FEWEST = 10

# Tolerance within which gaps are equally wide.
_GAP_ROUNDING = 1e-12


class Threshold(NamedTuple):
    """Threshold and the rule that gave it."""

    value: float | None  #: None if no rule gives a threshold
    #: Gap in the distances, best silhouette, published threshold, or no rule
    source: Literal["gap", "silhouette", "preset", "none"]


class DistanceHistogram(NamedTuple):
    """Histogram of distances: (bins,) numbers of pairs, and (bins + 1,) edges of the bins."""

    counts: NDArray[np.int64]
    edges: NDArray[np.float64]


def gap_threshold(
    matrix: ArrayLike, *, min_low: float = 0.05, min_gap: float = 0.05, relative: bool = False
) -> float | None:
    """Return the middle of the widest range without distances.

    Gottron 2008 read gaps off a histogram; this rule is our choice. Ties go to the lowest gap. None if there is no
    gap; all items then belong in one cluster. A gap must start at ``min_low``, because near-duplicates make gaps near
    0, and be at least ``min_gap`` wide (our choices). ``relative`` scales both by the largest distance, for distances
    without an upper bound, such as those of tag vectors. Raises UsageError on an invalid matrix or negative settings.

    Examples
    --------
    >>> gap_threshold([[0, 0.25, 0.75], [0.25, 0, 0.875], [0.75, 0.875, 0]])
    0.5
    """
    if not (min_low >= 0 and min_gap >= 0):
        raise UsageError(f"min_low and min_gap must be non-negative, got {min_low} and {min_gap}")
    values = np.unique(between(as_distances(matrix)))
    scale = values.max(initial=0.0) if relative else 1.0
    least_low, least_gap = scale * min_low - _GAP_ROUNDING, scale * min_gap - _GAP_ROUNDING
    widths = np.where(values[:-1] >= least_low, np.diff(values), -1.0)
    if not len(widths) or widths.max() < max(least_gap, 0.0) or widths.max() <= 0:
        return None
    # Equal widths differ by rounding.
    widest = int((widths >= widths.max() - _GAP_ROUNDING).argmax())
    return float((values[widest] + values[widest + 1]) / 2)


def silhouette_threshold(matrix: ArrayLike, *, min_silhouette: float = 0.5, max_clusters: int = 100) -> float | None:
    """Return the threshold at which single linkage has the greatest mean silhouette (Rousseeuw 1987).

    It is midway between the last merge made and the first one not made; ties go to fewer clusters. None if no cut
    reaches ``min_silhouette``. Kaufman and Rousseeuw 1990 call a silhouette of .5 and more a reasonable structure. The
    number of clusters is at most ``max_clusters`` and n / 2 (our choice: clusters of single pages are not structure).
    Raises UsageError on an invalid matrix.

    Examples
    --------
    >>> silhouette_threshold([[0, 0.1, 0.9, 0.9], [0.1, 0, 0.9, 0.9], [0.9, 0.9, 0, 0.3], [0.9, 0.9, 0.3, 0]])
    0.6
    """
    distances = as_distances(matrix)
    n = len(distances)
    merges = single_linkage(distances, k=1).merges if n > 1 else None
    if merges is None:
        return None
    best = _best_cut(distances, merges, min(max_clusters, n // 2))
    return best.distance if best is not None and best.silhouette >= min_silhouette else None


def distance_histogram(matrix: ArrayLike, bins: int = 100) -> DistanceHistogram:
    """Count distances in ``bins`` bins of equal width over [0, 1], or up to the largest distance if that exceeds 1.

    Examples
    --------
    >>> distance_histogram([[0, 0.1, 0.7], [0.1, 0, 0.9], [0.7, 0.9, 0]], bins=2).counts.tolist()
    [1, 2]
    """
    if bins < 1:
        raise UsageError(f"bins must be at least 1, got {bins}")
    values = between(as_distances(matrix))
    counts, edges = np.histogram(values, bins=bins, range=(0.0, values.max(initial=1.0)))
    return DistanceHistogram(counts.astype(np.int64), edges)


def auto_threshold(matrix: ArrayLike, metric: str) -> Threshold:
    """Choose a threshold of single linkage for (n, n) distances of the metric with this name.

    With ten or more items it is the gap in the distances (:func:`gap_threshold`). Hundreds of pages have pairs at every
    distance and so no gap; then it is the threshold of the best silhouette (:func:`silhouette_threshold`). With fewer
    items, or without clear clusters, it is the published threshold of the metric
    (:data:`~blockml.templates.clustering.PRESETS`), if any; without a threshold, use one cluster. Distances of the
    metric ``tv``, and matrices with a distance above 1, have no common scale, so their gaps are measured relative to
    the largest distance. There a single outlier can hide the gap.

    Examples
    --------
    >>> auto_threshold([[0, 0.1], [0.1, 0]], "cp")
    Threshold(value=0.7, source='preset')
    >>> auto_threshold([[0, 0.1], [0.1, 0]], "tv")
    Threshold(value=None, source='none')
    """
    distances = as_distances(matrix)
    if len(distances) >= _FEWEST:
        gap = gap_threshold(distances, relative=metric == "tv" or bool(distances.max() > 1))
        # A gap above all merges separates nothing.
        if gap is not None and single_linkage(distances, threshold=gap).n_clusters > 1:
            return Threshold(gap, "gap")
        if (apart := silhouette_threshold(distances)) is not None:
            return Threshold(apart, "silhouette")
    preset = PRESETS.get(metric)
    return Threshold(preset, "none" if preset is None else "preset")
