"""Unique values of a column and the index of each entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def factorize(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort keys and rank the unique ones.

    Returns the (n,) indices of the keys in rising order, equal keys in their own order; the (n_unique,) places where
    each unique key begins in that order; and the (n,) rank of each key.

    Examples
    --------
    >>> [found.tolist() for found in factorize(np.array([7, 3, 7], np.uint64))]
    [[1, 0, 2], [0, 1], [1, 0, 1]]
    """
    order = np.argsort(keys, kind="stable").astype(np.int64, copy=False)
    arranged = keys[order]
    is_first = np.ones(len(keys), dtype=bool)
    np.not_equal(arranged[1:], arranged[:-1], out=is_first[1:])
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.cumsum(is_first) - 1
    return order, is_first.nonzero()[0].astype(np.int64, copy=False), rank


def number_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number keys (n,) in the order in which they first appear.

    Examples
    --------
    >>> number_keys(np.array([7, 3, 7], np.uint64)).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64, copy=False)
