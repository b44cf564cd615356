"""Groups inside a cluster: layouts or categories of one site, which differ less than sites do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import Clustering, average_linkage, cut
from blockml.templates.clustering.matrices import as_distances, numbered

__all__ = ["Finer", "finer_clusters", "two_level_labels"]

# Silhouettes that are nearer than this, and distances of merges nearer than this share, differ by rounding errors.
_ROUNDING = 1e-9


class Finer(NamedTuple):
    """Groups found inside a cluster."""

    clustering: Clustering
    """One cluster if no cut is good enough."""
    silhouette: float | None
    """Mean silhouette of the best cut, taken or not, in [-1, 1]; None if there is no cut to judge."""


def finer_clusters(
    matrix: ArrayLike, *, min_silhouette: float = 0.25, max_clusters: int = 20, min_items: int = 4
) -> Finer:
    """Cluster the members of one cluster again, and more finely.

    Average linkage, cut where the mean silhouette (Rousseeuw 1987) is greatest; of equals the cut with the fewest
    clusters. Merges at the same distance are never parted, as only the order of the items would part them.

    Parameters
    ----------
    matrix
        (n, n) distances of the members; best of a metric that tells layouts apart, such as shingles with classes.
    min_silhouette
        A cut is taken if it reaches this. Kaufman and Rousseeuw 1990 see no substantial structure up to 0.25, a weak
        one up to 0.5 and a reasonable one above (0.25 is our choice).
    max_clusters
        Most groups to try, at least 1 (our choice).
    min_items
        Clusters of fewer items are left whole (our choice).

    Returns
    -------
    Finer
        The groups and how well they are set apart.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or ``max_clusters`` is below 1.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.4, 0.4], [0.1, 0, 0.4, 0.4], [0.4, 0.4, 0, 0.1], [0.4, 0.4, 0.1, 0]]
    >>> finer = finer_clusters(matrix)
    >>> finer.clustering.groups(), round(finer.silhouette, 3)
    ([[0, 1], [2, 3]], 0.75)
    >>> finer_clusters(matrix, min_silhouette=0.8).clustering.groups()
    [[0, 1, 2, 3]]
    """
    from sklearn.metrics import silhouette_score

    distances = as_distances(matrix)
    if max_clusters < 1:
        raise UsageError(f"max_clusters is at least 1, not {max_clusters}")
    n = len(distances)
    whole = Clustering(numbered(np.zeros(n)))
    if n < max(min_items, 3):
        return Finer(whole, None)
    merges = average_linkage(distances, k=1).merges
    assert merges is not None  # noqa: S101 - what linkage gives
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
        return Finer(whole, None)
    score, labels = best
    return Finer(Clustering(labels, merges) if score >= min_silhouette else whole, score)


def two_level_labels(
    labels: ArrayLike,
    matrix: ArrayLike,
    *,
    min_silhouette: float = 0.25,
    max_clusters: int = 20,
    min_items: int = 4,
) -> NDArray[np.int32]:
    """Find finer groups inside every cluster.

    Parameters
    ----------
    labels
        (n,) cluster of each item.
    matrix
        (n, n) distances; they may be of another metric than the one that gave the clusters.
    min_silhouette, max_clusters, min_items
        See :func:`finer_clusters`.

    Returns
    -------
    NDArray[np.int32]
        (n, 2) cluster and group inside it, both numbered by smallest member from 0.

    Raises
    ------
    UsageError
        The matrix is not one of distances, ``labels`` are not n whole numbers, or ``max_clusters`` is below 1.

    Examples
    --------
    >>> matrix = [[0, 0.1, 0.4, 0.4], [0.1, 0, 0.4, 0.4], [0.4, 0.4, 0, 0.1], [0.4, 0.4, 0.1, 0]]
    >>> two_level_labels([0, 0, 0, 0], matrix).tolist()
    [[0, 0], [0, 0], [0, 1], [0, 1]]
    """
    distances = as_distances(matrix)
    given = np.asarray(labels)
    if given.shape != (len(distances),) or (len(given) and given.dtype.kind not in "iu"):
        raise UsageError(f"labels are {len(distances)} whole numbers, one for each item of the matrix")
    top = Clustering(numbered(given))
    levels = np.zeros((len(top), 2), dtype=np.int32)
    levels[:, 0] = top.labels
    for members in top.groups():
        finer = finer_clusters(
            distances[np.ix_(members, members)],
            min_silhouette=min_silhouette,
            max_clusters=max_clusters,
            min_items=min_items,
        )
        levels[members, 1] = finer.clustering.labels
    return levels
