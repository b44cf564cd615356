"""Different numbers of a column, and which of them each is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml import kernel

__all__ = ["ranked"]


def ranked(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(n_different,) where each different key stands first, in rising order of keys; (n,) the rank of each key.

    Examples
    --------
    >>> [found.tolist() for found in ranked(np.array([7, 3, 7], np.uint64))]
    [[1, 0], [1, 0, 1]]
    """
    if kernel.compiled is not None:
        first, which = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
        return first[: kernel.compiled.ranked(np.ascontiguousarray(keys), first, which)], which
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first.astype(np.int64, copy=False), which.astype(np.int64, copy=False)
