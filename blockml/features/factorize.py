"""Different numbers of a column, and which of them each is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel

__all__ = ["factorize"]


def factorize(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort keys and number the different ones.

    Returns
    -------
    order, starts, which
        (n,) places of the keys in rising order, equal ones as they stand; (n_different,) where each different key
        begins in that order; (n,) the rank of each key.

    Examples
    --------
    >>> [found.tolist() for found in factorize(np.array([7, 3, 7], np.uint64))]
    [[1, 0, 2], [0, 1], [1, 0, 1]]
    """
    if _kernel.compiled is not None:
        order, starts, which = (np.empty(len(keys), dtype=np.int64) for _ in range(3))
        return order, starts[: _kernel.compiled.factorize(np.ascontiguousarray(keys), order, starts, which)], which
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    which = inverse.astype(np.int64, copy=False)
    order = np.argsort(which, kind="stable").astype(np.int64, copy=False)
    return order, (np.cumsum(counts) - counts).astype(np.int64, copy=False), which
