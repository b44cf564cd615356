"""Non-metric multidimensional scaling: items as points of the plane whose distances keep the order of those given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.matrices import as_distances, between

__all__ = ["Map", "mds", "monotone_fit", "stress"]

# Coordinates below this share of the map's extent, and eigenvalues below this share of the greatest, are rounding
# errors: their signs mean nothing.
_ROUNDING = 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """Items laid out in the plane."""

    coordinates: NDArray[np.float64]
    """(n, 2) centred; the first axis is the one of the greatest extent, and the first item off an axis is on its
    positive side. The mean squared distance is that of the distances given."""
    stress: float
    """Kruskal's stress-1: 0 if the distances in the plane keep the given order."""
    n_iterations: int
    """Rounds of improvement of the start."""


def monotone_fit(lengths: ArrayLike, distances: ArrayLike) -> NDArray[np.float64]:
    """Fit to the lengths in a map the nearest numbers that keep the order of the given distances.

    Isotonic regression by pooling adjacent violators (Kruskal 1964). Pairs of equal distance may have any order
    among each other (his primary approach).

    Parameters
    ----------
    lengths
        (m,) distances of the pairs in the map.
    distances
        (m,) distances given for them.

    Returns
    -------
    NDArray[np.float64]
        (m,) fitted numbers, in the order of the pairs.

    Raises
    ------
    UsageError
        The two are not one-dimensional and of one length.

    Examples
    --------
    >>> monotone_fit([1, 3, 2, 4], distances=[0.1, 0.2, 0.3, 0.4]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    from sklearn.isotonic import isotonic_regression

    measured, given = np.asarray(lengths, dtype=np.float64), np.asarray(distances, dtype=np.float64)
    if measured.ndim != 1 or measured.shape != given.shape:
        raise UsageError(f"lengths and distances are two rows of numbers, not {measured.shape} and {given.shape}")
    fitted = np.empty_like(measured)
    if len(measured):
        order = np.lexsort((measured, given))
        fitted[order] = isotonic_regression(measured[order])
    return fitted


def stress(lengths: ArrayLike, distances: ArrayLike) -> float:
    """Kruskal's stress-1 of a map: how far its lengths are from any that keep the order of the distances.

    Parameters
    ----------
    lengths, distances
        See :func:`monotone_fit`.

    Returns
    -------
    float
        In [0, 1]; 0 if all lengths are 0.

    Raises
    ------
    UsageError
        See :func:`monotone_fit`.

    Examples
    --------
    >>> round(stress([1, 3, 2, 4], distances=[0.1, 0.2, 0.3, 0.4]), 6)
    0.129099
    """
    measured = np.asarray(lengths, dtype=np.float64)
    return _stress(measured, monotone_fit(measured, distances))


def mds(matrix: ArrayLike, *, max_iter: int = 300, eps: float = 1e-6) -> Map:
    """Lay items out in the plane by non-metric scaling (Kruskal 1964; used by Gottron 2008).

    Starts from classical scaling and improves it by majorisation (SMACOF) of the distances that
    :func:`monotone_fit` gives. No randomness.

    Parameters
    ----------
    matrix
        (n, n) distances.
    max_iter
        Rounds after which to stop in any case (our choice).
    eps
        Stop when a round lowers the stress by less (our choice).

    Returns
    -------
    Map
        All zeros for two items or fewer, and if all distances are 0.

    Raises
    ------
    UsageError
        The matrix is not one of distances, or ``max_iter`` or ``eps`` is negative.

    Examples
    --------
    >>> points = mds([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> points.coordinates.round(3).tolist(), points.stress < 1e-6
    ([[1.333, 0.0], [0.333, 0.0], [-1.667, 0.0]], True)
    """
    distances = as_distances(matrix)
    if max_iter < 0 or not eps >= 0:
        raise UsageError(f"max_iter and eps are not negative: {max_iter}, {eps}")
    if len(distances) <= 2 or not distances.any():
        return _map(np.zeros((len(distances), 2)), 0.0, 0)
    given = between(distances)
    points = best = _classical(distances)
    lengths = _lengths(points)
    fitted = monotone_fit(lengths, given)
    least, n_iterations = _stress(lengths, fitted), 0
    while n_iterations < max_iter:
        points = _majorise(points, lengths, fitted)
        lengths = _lengths(points)
        fitted = monotone_fit(lengths, given)
        value = _stress(lengths, fitted)
        n_iterations += 1
        gain = least - value
        if gain > 0:
            best, least = points, value
        if gain < eps:
            break
    return _map(_aligned(best) * np.sqrt((given**2).sum() / (_lengths(best) ** 2).sum()), least, n_iterations)


def _map(coordinates: _Floats, value: float, n_iterations: int) -> Map:
    coordinates.flags.writeable = False
    return Map(coordinates, value, n_iterations)


def _stress(lengths: _Floats, fitted: _Floats) -> float:
    total = float((lengths**2).sum())
    return float(np.sqrt(((fitted - lengths) ** 2).sum() / total)) if total else 0.0


def _lengths(points: _Floats) -> _Floats:
    """(n (n - 1) / 2,) distances of the points, in the order of :func:`between`."""
    from scipy.spatial.distance import pdist

    lengths: _Floats = pdist(points)
    return lengths


def _classical(distances: _Floats) -> _Floats:
    """(n, 2) classical scaling: the two greatest axes of the doubly centred squared distances."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    # All axes, though two are wanted: where many are equally great (items all equally far apart), LAPACK's search for
    # some of them alone may find none.
    values, vectors = np.linalg.eigh(-centred / 2)
    values = np.where(values > _ROUNDING * values[-1], values, 0.0)
    points: _Floats = (vectors * np.sqrt(values))[:, :-3:-1]
    return points


def _majorise(points: _Floats, lengths: _Floats, fitted: _Floats) -> _Floats:
    """Move each point towards where the fitted distances want it (Guttman transform)."""
    from scipy.spatial.distance import squareform

    # Without this the points would shrink into one, whose stress is low as well.
    wanted = fitted * np.sqrt((lengths**2).sum() / (fitted**2).sum())
    pull = squareform(np.divide(wanted, lengths, out=np.zeros_like(wanted), where=lengths > 0))
    moved: _Floats = (pull.sum(axis=1)[:, None] * points - pull @ points) / len(points)
    return moved


def _aligned(points: _Floats) -> _Floats:
    """Centre, turn the greatest extent to the first axis, fix the signs."""
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    turned[np.abs(turned) <= _ROUNDING * extents[0]] = 0.0
    first = turned[(turned != 0).argmax(axis=0), np.arange(2)]
    aligned: _Floats = turned * np.where(first < 0, -1.0, 1.0) + 0.0  # no negative zeros
    return aligned
