"""Means over groups of rows: of blocks built alike, of words in a bag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.features.ancestor_words import AncestorWords
from blockml.features.factorize import factorize

__all__ = ["RowGroups", "means"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """Rows in groups: sums and means over each."""

    order: NDArray[np.intp] | None
    """(n,) rows, group by group; None where they lie so already."""
    starts: NDArray[np.intp]
    """(n_groups,) where each group begins in that order; none is empty."""
    group: NDArray[np.intp]
    """(n,) group of each row."""

    @classmethod
    def of(cls, numbers: NDArray[np.integer[Any]]) -> RowGroups:
        """Groups of rows with the same number.

        Examples
        --------
        >>> pool = RowGroups.of(np.array([7, 3, 7]))
        >>> pool.mean(np.array([[1], [2], [3]], np.float32)).tolist(), pool.group.tolist()
        ([[2.0], [2.0]], [1, 0, 1])
        """
        return cls(*factorize(numbers.astype(np.uint64)))

    @classmethod
    def runs(cls, lengths: NDArray[np.integer[Any]]) -> RowGroups:
        """Groups that lie one after the other, of one row or more each."""
        return cls(None, np.cumsum(lengths) - lengths, np.repeat(np.arange(len(lengths)), lengths))

    @property
    def size(self) -> FloatArray:
        """(n_groups, 1) rows in each group."""
        return np.diff(self.starts, append=len(self.group)).astype(np.float32)[:, None]

    def sum(self, rows: FloatArray) -> FloatArray:
        """(n_groups, k) sums of rows (n, k)."""
        sums: FloatArray = np.add.reduceat(rows if self.order is None else rows[self.order], self.starts, axis=0)
        return sums

    def mean(self, rows: FloatArray) -> FloatArray:
        """(n_groups, k) means of rows (n, k)."""
        means: FloatArray = np.divide(self.sum(rows), self.size)
        return means


def means(vectors: FloatArray, bags: AncestorWords) -> FloatArray:
    """(n_bags, k) mean vector of each bag's words, from vectors (hashed_words, k); words of vector 0 don't count.

    Examples
    --------
    >>> bags = AncestorWords(starts=np.array([0, 3, 4]), hashed_words=np.array([2, 1, 0, 0]), bag=np.array([0, 1]))
    >>> means(np.array([[0], [1], [3]], np.float32), bags).tolist()
    [[2.0], [0.0]]
    """
    found = vectors[bags.hashed_words]
    pool = RowGroups.runs(np.diff(bags.starts))
    counts = pool.sum((found != 0).any(axis=1)[:, None].astype(np.float32))
    mean: FloatArray = np.divide(pool.sum(found), np.maximum(counts, 1))
    return mean
