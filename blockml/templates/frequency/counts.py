"""Document frequencies by key, and operations on sorted keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", np.uint64, np.int64)


def places(keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the (n_wanted,) positions of wanted keys among sorted keys; -1 if missing."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    return np.where(keys[place] == wanted, place, -1)


def column(tables: Sequence[object], name: str, dtype: type[np.generic]) -> NDArray[Any]:
    """Concatenate a column of several tables."""
    return np.concatenate([np.zeros(0, dtype), *[getattr(table, name) for table in tables]])


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the sorted distinct values. Faster for small arrays than ``numpy.unique``, which uses a hash table.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))] if len(ordered) else ordered


def summed(
    keys: NDArray[np.uint64], columns: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[np.uint64], list[NDArray[np.int64]]]:
    """Return the sorted distinct keys, and per column the (n,) sums of its values by key."""
    if not len(keys):
        return keys, [np.zeros(0, np.int64) for _ in columns]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], [np.add.reduceat(column[order], starts, dtype=np.int64) for column in columns]


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate the indices of ranges given by starts and lengths.

    Examples
    --------
    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Document frequency of texts, by key.

    Examples
    --------
    >>> from blockml.text.sketches import stable_hash64
    >>> one, other = Counts.of_page(stable_hash64(["Home", "Cats", "Home"])), Counts.of_page(stable_hash64(["Home"]))
    >>> Counts.combined([one, other]).of(stable_hash64(["Home", "Cats", "Dogs"])).tolist()
    [2, 1, 0]
    """

    keys: NDArray[np.uint64]  #: (n,) sorted distinct keys
    pages: NDArray[np.int32]  #: (n,) number of pages with the text, at least 1

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of_page(cls, keys: NDArray[np.uint64]) -> Counts:
        """Count one page; repeated keys count once."""
        own = distinct(keys)
        return cls(own, np.ones(len(own), dtype=np.int32))

    @classmethod
    def combined(cls, parts: Sequence[Counts]) -> Counts:
        """Add the counts of disjoint sets of pages."""
        keys, (sums,) = summed(column(parts, "keys", np.uint64), [column(parts, "pages", np.int64)])
        return cls(keys, sums.astype(np.int32))

    def of(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return (n_keys,) numbers of pages; 0 for an unknown key."""
        place = places(self.keys, keys)
        return np.append(self.pages, np.int32(0))[place]  # place -1 is the appended 0
