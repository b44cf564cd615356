"""Attributes of a page's nodes: each distinct set is stored once and becomes a mapping on first access.

Most elements repeat the attributes of others, and features only read the attributes of a few nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

NO_ATTRIBUTES: Mapping[str, str] = {}


class Attributes(Sequence[Mapping[str, str]]):
    """Attributes of each node by lower-case name. Nodes may share a mapping, so callers must not change one.

    Parameters
    ----------
    number
        (n_nodes,) index of the node's attribute set, 0 for no attributes.
    given
        (n_sets,) mappings; None for a set that is not yet decoded from ``pairs``.
    pairs
        Names and values in UTF-8, each followed by a zero byte, set after set.
    ends
        (n_sets,) offset in ``pairs`` where each set ends.

    Examples
    --------
    >>> held = Attributes(np.array([0, 1, 1]), [None, None], b"class\\0a b\\0hidden\\0\\0", np.array([0, 19]))
    >>> held[2], held[0], len(held)
    ({'class': 'a b', 'hidden': ''}, {}, 3)
    """

    __slots__ = ("_mapped", "ends", "found", "given", "number", "pairs")

    def __init__(
        self, number: NDArray[np.int32], given: list[Mapping[str, str] | None], pairs: bytes, ends: NDArray[np.int64]
    ) -> None:
        self.number = number
        self.given = given
        self.pairs = pairs
        self.ends = ends
        self._mapped: list[int] | None = None  # sets that were given as mappings
        #: Elements by word, for the words that were looked for and whether in any case; several outputs of a page look
        #: for the same ones.
        self.found: dict[tuple[tuple[bytes, ...], bool], Mapping[bytes, list[int]]] = {}

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, node: int) -> Mapping[str, str]: ...
    @overload
    def __getitem__(self, node: slice) -> list[Mapping[str, str]]: ...
    def __getitem__(self, node: int | slice) -> Mapping[str, str] | list[Mapping[str, str]]:
        if isinstance(node, slice):
            return [self.mapping(number) for number in self.number[node].tolist()]
        number = self.number.item(node)
        held = self.given[number]
        return self.mapping(number) if held is None else held

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        return map(self.mapping, self.number.tolist())

    def spans(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the pairs of the given nodes (n,) start and end (n,).

        Both are equal for a set that was given as a mapping; see :meth:`mapping`.

        Examples
        --------
        >>> held = Attributes(np.array([1, 0]), [None] * 2, b"name\\0a\\0", np.array([0, 7]))
        >>> [column.tolist() for column in held.spans(np.array([0, 1]))]
        [[0, 0], [7, 0]]
        """
        numbers = self.number[nodes]
        return self.ends[numbers - (numbers > 0)], self.ends[numbers]

    def mapped(self) -> list[int]:
        """Return the indices of the sets that were given as mappings, including the empty set 0."""
        if self._mapped is None:
            self._mapped = [0, *((self.ends[1:] == self.ends[:-1]).nonzero()[0] + 1).tolist()]
        return self._mapped

    def mapping(self, number: int) -> Mapping[str, str]:
        """Return the attributes of a set."""
        if not number:
            return NO_ATTRIBUTES
        held = self.given[number]
        if held is None:
            held = _mapping(self.pairs[self.ends.item(number - 1) : self.ends.item(number)])
            self.given[number] = held
        return held


def _mapping(pairs: bytes) -> Mapping[str, str]:
    """Return the attributes of one set."""
    parts = pairs.decode().split("\0")
    if len(parts) == 5:  # two attributes, the most frequent case; the last part is empty
        return {parts[0]: parts[1], parts[2]: parts[3]}
    return dict(zip(parts[::2], parts[1::2], strict=False))
