"""Sums and means over groups of rows, for training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.features.ancestor_words import AncestorWords
from blockml.features.factorize import factorize
from blockml.predictors.quantized_mlp import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """Rows in groups."""

    order: NDArray[np.intp] | None  #: (n,) order of the rows by group; None if they are sorted already.
    starts: NDArray[np.intp]  #: (n_groups,) start of each group in this order; no group is empty.
    group: NDArray[np.intp]  #: (n,) group of each row.
    size: FloatArray = field(init=False)  #: (n_groups, 1) number of rows in each group.

    def __post_init__(self) -> None:
        size = np.diff(self.starts, append=len(self.group)).astype(np.float32)[:, None]
        object.__setattr__(self, "size", size)

    @classmethod
    def of(cls, numbers: NDArray[np.integer[Any]]) -> RowGroups:
        """Group rows by number.

        Examples
        --------
        >>> groups = RowGroups.of(np.array([7, 3, 7]))
        >>> groups.mean(np.array([[1], [2], [3]], np.float32)).tolist(), groups.group.tolist()
        ([[2.0], [2.0]], [1, 0, 1])
        """
        return cls(*factorize(numbers.astype(np.uint64)))

    @classmethod
    def runs(cls, lengths: NDArray[np.integer[Any]]) -> RowGroups:
        """Group consecutive rows, given the lengths of the groups, each at least 1."""
        return cls(None, np.cumsum(lengths) - lengths, np.repeat(np.arange(len(lengths)), lengths))

    def sum(self, rows: FloatArray) -> FloatArray:
        """Sum the rows (n, k) of each group, (n_groups, k)."""
        return np.add.reduceat(rows if self.order is None else rows[self.order], self.starts, axis=0)

    def mean(self, rows: FloatArray) -> FloatArray:
        """Average the rows (n, k) of each group, (n_groups, k)."""
        return np.divide(self.sum(rows), self.size)


def means(vectors: FloatArray, words: AncestorWords) -> FloatArray:
    """Average the vectors (hashed_words, k) of the words of each bag, (n_bags, k), ignoring words with vector 0.

    Examples
    --------
    >>> words = AncestorWords(starts=np.array([0, 3, 4]), hashed_words=np.array([2, 1, 0, 0]), bag=np.array([0, 1]))
    >>> means(np.array([[0], [1], [3]], np.float32), words).tolist()
    [[2.0], [0.0]]
    """
    found = vectors[words.hashed_words]
    bags = RowGroups.runs(np.diff(words.starts))
    counts = bags.sum((found != 0).any(axis=1)[:, None].astype(np.float32))
    return np.divide(bags.sum(found), np.maximum(counts, 1))
