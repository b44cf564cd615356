"""Where to stop merging: thresholds from gaps in the distances, from how well groups are apart, or published ones."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import PRESETS, cut, single_linkage
from blockml.templates.clustering.matrices import as_distances, between

__all__ = [
    "DistanceHistogram",
    "Threshold",
    "auto_threshold",
    "distance_histogram",
    "gap_threshold",
    "histogram_threshold",
    "silhouette_threshold",
]

# Items from which on a gap in their distances means something; 45 pairs (our choice).
_FEWEST = 10

# A gap that is smaller by a rounding error is not smaller.
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]


class Threshold(NamedTuple):
    """A threshold and where it comes from."""

    value: float | None
    """None: nothing tells the items apart, or nothing is known."""
    source: Literal["gap", "silhouette", "preset", "none"]
    """From the gap in the distances, from how well groups are apart, from the published thresholds, or from nothing."""


class DistanceHistogram(NamedTuple):
    """How often distances occur."""

    counts: NDArray[np.int64]
    """(bins,) number of pairs."""
    edges: NDArray[np.float64]
    """(bins + 1,) limits of the bins, from 0 to 1 or to the largest distance above."""


def gap_threshold(
    matrix: ArrayLike, *, min_low: float = 0.05, min_gap: float = 0.05, relative: bool = False
) -> float | None:
    """Threshold in the middle of the widest range without distances.

    Gottron 2008 read such gaps off a histogram; this rule is our choice. Of equally wide gaps the lowest is taken.

    Parameters
    ----------
    matrix
        (n, n) distances.
    min_low
        A gap counts only if it starts no lower: pages that are nearly copies make gaps near 0 (our choice).
    min_gap
        Narrowest gap that counts (our choice).
    relative
        Take both as shares of the largest distance: for distances without an upper bound, such as those of tag
        vectors.

    Returns
    -------
    float | None
        None if there is no such gap; then all items are best left in one cluster.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or a setting is negative.

    Examples
    --------
    >>> gap_threshold([[0, 0.25, 0.75], [0.25, 0, 0.875], [0.75, 0.875, 0]])
    0.5
    """
    values = np.unique(between(as_distances(matrix)))
    return _widest(values[:-1], values[1:], values, (min_low, min_gap), relative=relative)


def histogram_threshold(
    matrix: ArrayLike, bins: int = 100, *, min_low: float = 0.05, min_gap: float = 0.05, relative: bool = False
) -> float | None:
    """Threshold in the middle of the longest run of empty bins of the histogram.

    The alternative to :func:`gap_threshold` that is nearest to what Gottron 2008 did by eye.

    Parameters
    ----------
    matrix
        (n, n) distances.
    bins
        Number of bins of :func:`distance_histogram`, at least 1.
    min_low, min_gap, relative
        See :func:`gap_threshold`; a gap goes from edge to edge of its bins.

    Returns
    -------
    float | None
        None if there is no such run.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or a setting is outside its range.

    Examples
    --------
    >>> histogram_threshold([[0, 0.25, 0.75], [0.25, 0, 0.95], [0.75, 0.95, 0]], bins=10)
    0.5
    """
    counts, edges = distance_histogram(matrix, bins)
    occupied = np.flatnonzero(counts)
    low, high = edges[occupied[:-1] + 1], edges[occupied[1:]]
    values = between(as_distances(matrix))
    return _widest(low, high, values, (min_low, min_gap), relative=relative)


def silhouette_threshold(matrix: ArrayLike, *, min_silhouette: float = 0.5, max_clusters: int = 100) -> float | None:
    """Threshold at which single linkage sets its groups apart best, by their mean silhouette (Rousseeuw 1987).

    Parameters
    ----------
    matrix
        (n, n) distances.
    min_silhouette
        Groups that reach less, in [-1, 1], are none. From .5 on Kaufman and Rousseeuw 1990 speak of a reasonable
        structure.
    max_clusters
        Most groups to try; never more than half of the items (our choice: every page its own group is no structure).

    Returns
    -------
    float or None
        The middle between the merge that is made last and the first that isn't; of equals that with the fewest groups.
        None if nothing is set apart well enough.

    Raises
    ------
    UsageError
        The matrix is not one of distances.

    Examples
    --------
    >>> silhouette_threshold([[0, 0.1, 0.9, 0.9], [0.1, 0, 0.9, 0.9], [0.9, 0.9, 0, 0.3], [0.9, 0.9, 0.3, 0]])
    0.6
    """
    from sklearn.metrics import silhouette_score

    distances = as_distances(matrix)
    n = len(distances)
    merges = single_linkage(distances, k=1).merges if n > 1 else None
    if merges is None:
        return None
    heights = merges[:, 2]
    best, threshold = min_silhouette, None
    for k in range(2, min(max_clusters, n // 2) + 1):
        low, high = float(heights[n - k - 1]), float(heights[n - k])
        if high - low <= _ROUNDING:  # only the order of the items would part these
            continue
        score = float(silhouette_score(distances, cut(merges, n - k), metric="precomputed"))
        if score > best or (threshold is None and score == best):
            best, threshold = score, (low + high) / 2
    return threshold


def distance_histogram(matrix: ArrayLike, bins: int = 100) -> DistanceHistogram:
    """Count distances by size, as data of a plot.

    Parameters
    ----------
    matrix
        (n, n) distances.
    bins
        Number of bins of equal width, at least 1.

    Returns
    -------
    DistanceHistogram
        Counts over [0, 1], or over [0, m] if the largest distance m is above 1.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or ``bins`` is below 1.

    Examples
    --------
    >>> distance_histogram([[0, 0.1, 0.7], [0.1, 0, 0.9], [0.7, 0.9, 0]], bins=2).counts.tolist()
    [1, 2]
    """
    if bins < 1:
        raise UsageError(f"a histogram has at least 1 bin, not {bins}")
    values = between(as_distances(matrix))
    counts, edges = np.histogram(values, bins=bins, range=(0.0, values.max(initial=1.0)))
    return DistanceHistogram(counts.astype(np.int64), edges)


def auto_threshold(matrix: ArrayLike, metric: str) -> Threshold:
    """Threshold for single linkage, by the best rule there is for these distances.

    From ten items on it is the gap in their distances (:func:`gap_threshold`). Among hundreds of pages there is a pair
    at every distance and so no gap; then it is what sets the groups apart best (:func:`silhouette_threshold`). Where
    there are fewer items, or no clear groups, it is the published threshold of the metric
    (:data:`~blockml.templates.clustering.PRESETS`), if it has one. Distances of the metric ``tv``, and any others of
    which one is above 1, have no common scale: their gaps are measured as shares of the largest. There a single page
    that is far from all others can hide the gap, as it makes the least share too much for the distances inside groups.

    Parameters
    ----------
    matrix
        (n, n) distances.
    metric
        Name of the metric they were measured by.

    Returns
    -------
    Threshold
        The threshold and where it comes from. No threshold means: one cluster.

    Raises
    ------
    UsageError
        The matrix is not one of distances.

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
        # A gap between distances that join no clusters any more separates nothing.
        if gap is not None and single_linkage(distances, threshold=gap).n_clusters > 1:
            return Threshold(gap, "gap")
        if (apart := silhouette_threshold(distances)) is not None:
            return Threshold(apart, "silhouette")
    preset = PRESETS.get(metric)
    return Threshold(preset, "none" if preset is None else "preset")


def _widest(
    low: _Floats, high: _Floats, values: _Floats, least: tuple[float, float], *, relative: bool
) -> float | None:
    """Middle of the widest gap from ``low`` to ``high`` that starts high enough and is wide enough."""
    if not all(value >= 0 for value in least):
        raise UsageError(f"min_low and min_gap are not negative: {least[0]}, {least[1]}")
    scale = values.max(initial=0.0) if relative else 1.0
    min_low, min_gap = (scale * value - _ROUNDING for value in least)
    widths = np.where(low >= min_low, high - low, -1.0)
    if not len(widths) or widths.max() < max(min_gap, 0.0) or widths.max() <= 0:
        return None
    # Equal widths differ by rounding errors.
    widest = int((widths >= widths.max() - _ROUNDING).argmax())
    return float((low[widest] + high[widest]) / 2)
