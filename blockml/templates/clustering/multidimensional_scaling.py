"""Non-metric multidimensional scaling (MDS) to two dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError
from blockml.templates.clustering.linkage import as_distances, between

# Relative tolerance: smaller coordinates and eigenvalues are rounding errors, so their signs mean nothing.
_ROUNDING = 1e-9

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Items as points in the plane."""

    #: (n, 2) centred points. The first axis has the greatest extent, and on each axis the first item off zero is
    #: positive. The mean squared distance equals that of the input.
    coordinates: NDArray[np.float64]
    stress: float  #: Kruskal's stress-1: 0 if the distances in the plane keep the order of the input
    n_iterations: int  #: Number of iterations


def monotone_fit(lengths: ArrayLike, distances: ArrayLike) -> NDArray[np.float64]:
    """Return the (m,) numbers nearest to ``lengths`` that keep the order of ``distances``, both (m,).

    Isotonic regression (Kruskal 1964); pairs of equal distance may have any order (his primary approach).

    Examples
    --------
    >>> monotone_fit([1, 3, 2, 4], distances=[0.1, 0.2, 0.3, 0.4]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    from sklearn.isotonic import isotonic_regression

    measured, given = np.asarray(lengths, dtype=np.float64), np.asarray(distances, dtype=np.float64)
    if measured.ndim != 1 or measured.shape != given.shape:
        raise UsageError(
            f"lengths and distances must be two rows of numbers, got shapes {measured.shape} and {given.shape}"
        )
    fitted = np.empty_like(measured)
    if len(measured):
        order = np.lexsort((measured, given))
        fitted[order] = isotonic_regression(measured[order])
    return fitted


def stress(lengths: ArrayLike, distances: ArrayLike) -> float:
    """Compute Kruskal's stress-1, in [0, 1], of lengths in a map; arguments as for :func:`monotone_fit`.

    Examples
    --------
    >>> round(stress([1, 3, 2, 4], distances=[0.1, 0.2, 0.3, 0.4]), 6)
    0.129099
    """
    measured = np.asarray(lengths, dtype=np.float64)
    return _stress(measured, monotone_fit(measured, distances))


def mds(matrix: ArrayLike, *, max_iter: int = 300, eps: float = 1e-6) -> Embedding:
    """Embed items in the plane by non-metric MDS (Kruskal 1964; used by Gottron 2008).

    Starts from classical MDS and improves it by majorisation (SMACOF) of the distances of :func:`monotone_fit`.
    Deterministic. All coordinates are 0 for up to two items, or if all distances are 0. Stops after ``max_iter``
    iterations, or when one decreases the stress by less than ``eps`` (our choices). Raises UsageError on an invalid
    matrix or negative options.

    Examples
    --------
    >>> points = mds([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    >>> points.coordinates.round(3).tolist(), points.stress < 1e-6
    ([[1.333, 0.0], [0.333, 0.0], [-1.667, 0.0]], True)
    """
    from scipy.spatial.distance import pdist

    distances = as_distances(matrix)
    if max_iter < 0 or not eps >= 0:
        raise UsageError(f"max_iter and eps must be non-negative, got {max_iter} and {eps}")
    if len(distances) <= 2 or not distances.any():
        return _embedding(np.zeros((len(distances), 2)), 0.0, 0)
    given = between(distances)
    points = best = _classical(distances)
    lengths: _Floats = pdist(points)
    fitted = monotone_fit(lengths, given)
    least, n_iterations = _stress(lengths, fitted), 0
    while n_iterations < max_iter:
        points = _majorise(points, lengths, fitted)
        lengths = pdist(points)
        fitted = monotone_fit(lengths, given)
        value = _stress(lengths, fitted)
        n_iterations += 1
        gain = least - value
        if gain > 0:
            best, least = points, value
        if gain < eps:
            break
    scale = np.sqrt((given**2).sum() / (pdist(best) ** 2).sum())
    return _embedding(_aligned(best) * scale, least, n_iterations)


def _embedding(coordinates: _Floats, value: float, n_iterations: int) -> Embedding:
    coordinates.flags.writeable = False
    return Embedding(coordinates, value, n_iterations)


def _stress(lengths: _Floats, fitted: _Floats) -> float:
    total = float((lengths**2).sum())
    return float(np.sqrt(((fitted - lengths) ** 2).sum() / total)) if total else 0.0


def _classical(distances: _Floats) -> _Floats:
    """Return (n, 2) points of classical MDS: the two leading axes of the doubly centred squared distances."""
    squared = distances**2
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    # All axes, not just two: with equally great eigenvalues (equidistant items) LAPACK's partial solver may find none.
    values, vectors = np.linalg.eigh(-centred / 2)
    values = np.where(values > _ROUNDING * values[-1], values, 0.0)
    points: _Floats = (vectors * np.sqrt(values))[:, :-3:-1]
    return points


def _majorise(points: _Floats, lengths: _Floats, fitted: _Floats) -> _Floats:
    """Move each point to where the fitted distances pull it (Guttman transform)."""
    from scipy.spatial.distance import squareform

    # Without rescaling all points would shrink to a single one, which also has a low stress.
    wanted = fitted * np.sqrt((lengths**2).sum() / (fitted**2).sum())
    pull = squareform(np.divide(wanted, lengths, out=np.zeros_like(wanted), where=lengths > 0))
    moved: _Floats = (pull.sum(axis=1)[:, None] * points - pull @ points) / len(points)
    return moved


def _aligned(points: _Floats) -> _Floats:
    """Centre, rotate the greatest extent to the first axis, and fix the signs."""
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    turned[np.abs(turned) <= _ROUNDING * extents[0]] = 0.0
    first = turned[(turned != 0).argmax(axis=0), np.arange(2)]
    aligned: _Floats = turned * np.where(first < 0, -1.0, 1.0) + 0.0  # no negative zeros
    return aligned
