"""Distance matrices as every method of this room takes them: checked once, numbered one way."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError

__all__ = ["as_distances", "as_threshold", "between", "check_count", "numbered"]

# Two halves of a matrix may differ by as much, relative to its largest entry, if they were summed in another order.
_ASYMMETRY = 1e-9


def as_distances(matrix: ArrayLike) -> NDArray[np.float64]:
    """Check a matrix of distances.

    Parameters
    ----------
    matrix
        (n, n) distances: finite, not negative, symmetric, zero on the diagonal. ``n`` may be 0.

    Returns
    -------
    NDArray[np.float64]
        The same numbers; not a copy if they came as such an array.

    Raises
    ------
    UsageError
        It is no such matrix.

    Examples
    --------
    >>> as_distances([[0, 1], [1, 0]]).dtype
    dtype('float64')
    """
    try:
        distances = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError("a distance matrix holds numbers, in rows of equal length") from error
    if distances.shape == (0,):
        distances = distances.reshape(0, 0)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise UsageError(f"a distance matrix is square, not of shape {distances.shape}")
    if not np.isfinite(distances).all():
        raise UsageError("a distance matrix holds finite numbers only")
    if (distances < 0).any():
        raise UsageError("a distance is not negative")
    if distances.diagonal().any():
        raise UsageError("the diagonal of a distance matrix is zero")
    if (np.abs(distances - distances.T) > _ASYMMETRY * distances.max(initial=0)).any():
        raise UsageError("a distance matrix is symmetric")
    return distances


def as_threshold(threshold: float) -> float:
    """Check a distance threshold: a number that is not negative.

    Examples
    --------
    >>> as_threshold(1)
    1.0
    """
    try:
        value = float(threshold)
    except (TypeError, ValueError):
        value = math.nan
    if not value >= 0:
        raise UsageError(f"a threshold is a number of at least 0, not {threshold!r}")
    return value


def check_count(k: int, n: int) -> int:
    """Check a number of clusters for ``n`` items: whole, from 1 to ``n``.

    Examples
    --------
    >>> check_count(2, 5)
    2
    """
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if not 1 <= count <= n:
        raise UsageError(f"the number of clusters of {n} items is a whole number from 1 to {n}, not {k!r}")
    return count


def between(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n (n - 1) / 2,) distances of all pairs, row by row.

    Examples
    --------
    >>> between(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])).tolist()
    [1.0, 2.0, 3.0]
    """
    n = len(distances)
    pairs: NDArray[np.float64] = distances[np.arange(n)[:, None] < np.arange(n)]
    return pairs


def numbered(labels: ArrayLike) -> NDArray[np.int32]:
    """Number clusters by their smallest member, from 0.

    Parameters
    ----------
    labels
        (n,) any whole number per cluster.

    Returns
    -------
    NDArray[np.int32]
        (n,) read-only.

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
