"""Sums of floats whose terms are added one after another: the same on every machine, to the last bit.

What numpy and the libraries behind its matrix products give depends on the machine, on threads, and on how many rows
there are. The compiled kernel adds in the order of these functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["dot", "mean_of_runs", "product", "sum_of_rows"]

FloatArray = NDArray[np.float32]

#: Partial sums of :func:`dot` (as many floats as the widest registers hold).
_LANES = 16


def product(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """(…, n, k) matrix product of rows (…, n, f) with weights (…, f, k).

    Examples
    --------
    >>> product(np.array([[1, 2]], np.float32), np.array([[3], [4]], np.float32)).tolist()
    [[11.0]]
    """
    sums = np.zeros((*rows.shape[:-1], weights.shape[-1]), dtype=np.float32)
    term = np.empty_like(sums)
    for place in range(rows.shape[-1]):
        np.multiply(rows[..., place, None], weights[..., None, place, :], out=term)
        sums += term
    return sums


def sum_of_rows(rows: FloatArray) -> FloatArray:
    """(…, k) sums over rows (…, n, k), one row or more.

    Examples
    --------
    >>> sum_of_rows(np.array([[1, 2], [3, 4]], np.float32)).tolist()
    [4.0, 6.0]
    """
    sums: FloatArray = np.cumsum(rows, axis=-2)[..., -1, :]
    return sums


def mean_of_runs(
    rows: FloatArray,
    chosen: NDArray[np.integer[Any]],
    starts: NDArray[np.integer[Any]],
    counts: NDArray[np.number[Any]],
) -> FloatArray:
    """(n_runs, k) sums of rows (n, k) over runs of their numbers, divided by counts from 1.

    Parameters
    ----------
    rows
        (n, k).
    chosen
        (n_chosen,) numbers of rows.
    starts
        (n_runs + 1,) where each run begins in these, and the end of the last.
    counts
        (n_runs,) what the sums are divided by.

    Examples
    --------
    >>> rows = np.array([[1], [2], [4]], np.float32)
    >>> mean_of_runs(rows, np.array([0, 2, 1]), np.array([0, 2, 3]), np.array([2, 1])).tolist()
    [[2.5], [2.0]]
    """
    sizes = np.diff(starts)
    sums = np.zeros((len(sizes), rows.shape[1]), dtype=np.float32)
    for place in range(int(sizes.max(initial=0))):
        here = np.flatnonzero(sizes > place)
        sums[here] += rows[chosen[starts[here] + place]]
    sums /= counts.astype(np.float32)[:, None]
    return sums


def dot(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """(…,) sums of products of rows (…, k) with weights that are broadcast to them: sixteen sums, then in halves.

    Examples
    --------
    >>> dot(np.ones((2, 20), np.float32), np.arange(20, dtype=np.float32)).tolist()
    [190.0, 190.0]
    """
    terms = rows * weights
    k = terms.shape[-1]
    padded = np.zeros((*terms.shape[:-1], -(-k // _LANES), _LANES), dtype=np.float32)
    padded.reshape(*terms.shape[:-1], -1)[..., :k] = terms
    sums = sum_of_rows(padded)
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = sums[..., :half] + sums[..., half:]
    return sums[..., 0]
