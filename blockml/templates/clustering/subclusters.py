"""Subclusters: layouts or categories within a cluster of pages of one site."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import Clustering, average_linkage, cut
from blockml.templates.clustering.matrices import as_distances, numbered

# Silhouettes closer than this, and merge distances closer than this share, differ only by rounding.
_ROUNDING = 1e-9


class Subclusters(NamedTuple):
    """Subclusters of a cluster."""

    clustering: Clustering  #: Partition of the members; one cluster if no cut is good enough
    #: Mean silhouette of the best cut, accepted or not, in [-1, 1]; None if no cut was possible
    silhouette: float | None


def find_subclusters(
    matrix: ArrayLike, *, min_silhouette: float = 0.25, max_clusters: int = 20, min_items: int = 4
) -> Subclusters:
    """Split one cluster by average linkage at the cut with the greatest mean silhouette (Rousseeuw 1987).

    Ties go to the cut with fewer clusters. Merges at equal distances are never separated, because that would depend on
    the order of the items. The (n, n) distances should be of a metric that separates layouts, such as shingles with
    classes. The best cut is accepted if its silhouette reaches ``min_silhouette``: Kaufman and Rousseeuw 1990 see no
    substantial structure up to 0.25, a weak one up to 0.5 and a reasonable one above (0.25 is our choice). There are at
    most ``max_clusters``, and clusters of fewer than ``min_items`` are not split (our choices). Raises UsageError on an
    invalid matrix, or ``max_clusters`` below 1.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.4, 0.4], [0.1, 0, 0.4, 0.4], [0.4, 0.4, 0, 0.1], [0.4, 0.4, 0.1, 0]]
    >>> found = find_subclusters(matrix)
    >>> found.clustering.groups(), round(found.silhouette, 3)
    ([[0, 1], [2, 3]], 0.75)
    >>> find_subclusters(matrix, min_silhouette=0.8).clustering.groups()
    [[0, 1, 2, 3]]
    """
    from sklearn.metrics import silhouette_score

    distances = as_distances(matrix)
    if max_clusters < 1:
        raise UsageError(f"max_clusters must be at least 1, got {max_clusters}")
    n = len(distances)
    whole = Clustering(numbered(np.zeros(n)))
    if n < max(min_items, 3):
        return Subclusters(whole, None)
    merges = average_linkage(distances, k=1).merges
    assert merges is not None  # noqa: S101 - linkage is hierarchical
    heights = merges[:, 2]
    best: tuple[float, NDArray[np.int32]] | None = None
    for k in range(2, min(max_clusters, n - 1) + 1):
        if heights[n - k - 1] >= heights[n - k] * (1 - _ROUNDING):
            continue
        labels = cut(merges, n - k)
        score = float(silhouette_score(distances, labels, metric="precomputed"))
        if best is None or score > best[0] + _ROUNDING:
            best = score, labels
    if best is None:
        return Subclusters(whole, None)
    score, labels = best
    return Subclusters(Clustering(labels, merges) if score >= min_silhouette else whole, score)
