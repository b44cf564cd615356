"""Thresholds of single linkage: gaps in the distances, best silhouette, published values."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import PRESETS, cut, single_linkage
from blockml.templates.clustering.matrices import as_distances, between

# Minimum number of items (45 pairs) for which a gap in the distances is meaningful. Our choice.
_FEWEST = 10

# Tolerance within which gaps are equally wide.
_ROUNDING = 1e-12

_Floats = NDArray[np.float64]


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

    Gottron 2008 read such gaps off a histogram; this rule is our choice. Ties go to the lowest gap. None if there is no
    gap; all items then belong in one cluster. A gap must start at ``min_low``, because near-duplicates make gaps near
    0, and be at least ``min_gap`` wide (our choices). ``relative`` scales both by the largest distance, for distances
    without an upper bound, such as those of tag vectors. Raises UsageError on an invalid matrix or negative settings.

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
    """Return the middle of the longest run of empty bins of the histogram, from edge to edge.

    Closest to the visual method of Gottron 2008. ``bins`` is the number of bins of :func:`distance_histogram`; for the
    other arguments, the result and the errors see :func:`gap_threshold`.

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
        if high - low <= _ROUNDING:  # separating equal merges would depend on the order of the items
            continue
        score = float(silhouette_score(distances, cut(merges, n - k), metric="precomputed"))
        if score > best or (threshold is None and score == best):
            best, threshold = score, (low + high) / 2
    return threshold


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


def _widest(
    low: _Floats, high: _Floats, values: _Floats, least: tuple[float, float], *, relative: bool
) -> float | None:
    """Return the middle of the widest gap from ``low`` to ``high`` that starts high enough and is wide enough."""
    if not all(value >= 0 for value in least):
        raise UsageError(f"min_low and min_gap must be non-negative, got {least[0]} and {least[1]}")
    scale = values.max(initial=0.0) if relative else 1.0
    min_low, min_gap = (scale * value - _ROUNDING for value in least)
    widths = np.where(low >= min_low, high - low, -1.0)
    if not len(widths) or widths.max() < max(min_gap, 0.0) or widths.max() <= 0:
        return None
    # Equal widths differ by rounding.
    widest = int((widths >= widths.max() - _ROUNDING).argmax())
    return float((low[widest] + high[widest]) / 2)
