"""Attributes of a page's nodes, each distinct set stored once, and searches of words in them.

Most elements repeat the attributes of others, and features only read the attributes of a few nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel

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
            is_given = self.given.count(None) < len(self.given)  # or decoded
            self._mapped = [0, *((self.ends[1:] == self.ends[:-1]).nonzero()[0] + 1).tolist()] if is_given else [0]
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


#: Words, and whether they match in any case.
_Words = tuple[tuple[bytes, ...], bool]
#: Words that are found in one search, because most pages are searched for all of them.
_TOGETHER: list[_Words] = []


def searched_together(words: tuple[bytes, ...], *, any_case: bool = False) -> tuple[bytes, ...]:
    """Return the words, which :func:`nodes_with_words` then finds in one search with others that were declared so."""
    _TOGETHER.append((words, any_case))
    return words


class _Search(NamedTuple):
    """Words of several groups in order: word ``k`` has bit ``k``."""

    words: tuple[bytes, ...]
    cases: int  #: Bits of the words that match in any case.
    groups: tuple[_Words, ...]


@functools.cache
def _search_for(groups: tuple[_Words, ...]) -> _Search:
    """Number the words of groups, once for all pages."""
    numbered = enumerate(any_case for words, any_case in groups for _ in words)
    return _Search(
        tuple(chain.from_iterable(words for words, _ in groups)), sum(any_case << k for k, any_case in numbered), groups
    )


def nodes_with_words(
    held: Sequence[Mapping[str, str]], words: tuple[bytes, ...], *, any_case: bool = False
) -> Mapping[bytes, list[int]]:
    """Implement :meth:`blockml.page.Nodes.with_words` for the attributes of nodes."""
    own = words, any_case
    if not isinstance(held, Attributes):
        search = _search_for((own,))
        return _by_word(np.array([_bits(item, search) for item in held], dtype=np.int64), search)[0]
    if (known := held.found.get(own)) is None:
        search = _search_for(tuple(_TOGETHER) if own in _TOGETHER else (own,))
        held.found.update(zip(search.groups, _by_word(_searched(held, search), search), strict=True))
        known = held.found[own]
    return known


def _searched(held: Attributes, search: _Search) -> NDArray[np.int64]:
    """Return (n_nodes,) bits of the words that each node has; empty if no node has one."""
    found = np.zeros(len(held.given), dtype=np.int64)
    if _kernel.compiled is not None:
        _kernel.compiled.attribute_words(held.pairs, search.words, search.cases, (held.ends, found))
    else:
        for k, word in enumerate(search.words):
            _mark(held.pairs.lower() if search.cases >> k & 1 else held.pairs, held.ends, word, k, found)
    for number in held.mapped():
        if mapping := held.given[number]:
            found[number] = _bits(mapping, search)
    return found.take(held.number) if len(found.nonzero()[0]) else found[:0]


def _by_word(bits: NDArray[np.int64], search: _Search) -> list[dict[bytes, list[int]]]:
    """Return, for each group of words and by word, the nodes that have its bit in ``bits`` (n_nodes,)."""
    in_order: list[list[int]] = [[] for _ in search.words]
    lists: dict[int, list[list[int]]] = {}  # of the words of equal bits
    (nodes,) = bits.nonzero()
    for node, own in zip(nodes.tolist(), bits[nodes].tolist(), strict=True):
        if (held := lists.get(own)) is None:
            held = lists[own] = [of_word for k, of_word in enumerate(in_order) if own >> k & 1]
        for of_word in held:
            of_word.append(node)
    rest = iter(in_order)
    return [dict(zip(words, rest, strict=False)) for words, _ in search.groups]


def _mark(pairs: bytes, ends: NDArray[np.int64], word: bytes, k: int, found: NDArray[np.int64]) -> None:
    """Set bit ``k`` of each attribute set that contains a word."""
    place = pairs.find(word)
    while place >= 0:
        number = int(ends.searchsorted(place, side="right"))
        found[number] |= 1 << k
        place = pairs.find(word, int(ends[number]))


def _bits(attributes: Mapping[str, str], search: _Search) -> int:
    """Return the bits of the words that occur in a mapping."""
    pairs = "".join(f"{key}\0{value}\0" for key, value in attributes.items()).encode("utf-8", "surrogatepass")
    lower = pairs.lower()  # of bytes, it changes only ASCII letters
    return sum(1 << k for k, word in enumerate(search.words) if word in (lower if search.cases >> k & 1 else pairs))
