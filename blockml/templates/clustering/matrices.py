"""Validation of distance matrices and parameters, and the numbering of clusters."""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.errors import UsageError

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
    n = len(distances)
    return distances[np.arange(n)[:, None] < np.arange(n)]


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
