"""Attributes of a page's nodes, each distinct set stored once, and searches of words in them.

Most elements repeat the attributes of others, and features only read the attributes of a few nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel

NO_ATTRIBUTES: Mapping[str, str] = {}
#: Words to search for, and whether the search ignores their case.
_Words = tuple[tuple[bytes, ...], bool]


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

    __slots__ = ("_mapped", "ends", "given", "number", "pairs", "searched")

    def __init__(
        self, number: NDArray[np.int32], given: list[Mapping[str, str] | None], pairs: bytes, ends: NDArray[np.int64]
    ) -> None:
        self.number = number
        self.given = given
        self.pairs = pairs
        self.ends = ends
        self._mapped: list[int] | None = None  # sets that were given as mappings
        self.searched: dict[_Search, _Found] = {}  #: What each search found, because outputs share some.

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
        return (self.given[number] or self.mapping(number)) if number else NO_ATTRIBUTES

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
            held = self.given[number] = _mapping(self.pairs[self.ends.item(number - 1) : self.ends.item(number)])
        return held


def _mapping(pairs: bytes) -> Mapping[str, str]:
    """Return the attributes of one set."""
    parts = pairs.decode().split("\0")  # the last one is empty
    if len(parts) == 5:  # two attributes, the most frequent case
        return {parts[0]: parts[1], parts[2]: parts[3]}
    own = iter(parts)
    return dict(zip(own, own, strict=False))


#: Words that are found in one search, because most pages are searched for all of them; and those of other outputs than
#: text.
_TOGETHER: list[_Words] = []
_OF_OUTPUTS: list[_Words] = []


def searched_together(
    words: tuple[bytes, ...], *, any_case: bool = False, of_outputs: bool = False
) -> tuple[bytes, ...]:
    """Return the words, which :func:`nodes_with_words` then finds in one search with others that were declared so.

    ``of_outputs`` says that texts don't need them.
    """
    (_OF_OUTPUTS if of_outputs else _TOGETHER).append((words, any_case))
    _search_for.cache_clear()
    return words


class _Search:
    """Words that are searched for together. The word at index ``k`` is bit ``k`` of a set of words."""

    def __init__(self, words: tuple[bytes, ...], cases: int) -> None:
        self.words = words
        self.cases = cases  #: Set of the words whose case is ignored.

    def __reduce__(self) -> tuple[Callable[[tuple[bytes, ...], int], _Search], tuple[tuple[bytes, ...], int]]:
        return _search, (self.words, self.cases)


@functools.lru_cache(256)
def _search(words: tuple[bytes, ...], cases: int) -> _Search:
    """Return one object for equal words: it is compared by identity, because their hash takes time."""
    return _Search(words, cases)


class _Found(NamedTuple):
    """Nodes whose attributes have at least one word of a search."""

    nodes: NDArray[np.intp]
    bits: NDArray[np.int64]  #: Set of the words of each node, as bits.
    some: int  #: Set of the words that any node has, as bits.

    @classmethod
    def of(cls, bits: NDArray[np.int64]) -> _Found:
        """Select the nodes that have a word, given the bits (n_nodes,) of all nodes."""
        (nodes,) = bits.nonzero()
        own = bits[nodes]
        return cls(nodes, own, int(np.bitwise_or.reduce(own)))


@functools.lru_cache(256)  # pages are searched for the same few groups of words
def _search_for(own: _Words) -> tuple[_Search, int]:
    """Return the search that finds some words, and the bit of the first one."""
    groups = next((groups for groups in (_TOGETHER, _OF_OUTPUTS) if own in groups), [own])
    numbered = enumerate(any_case for words, any_case in groups for _ in words)
    words = tuple(chain.from_iterable(words for words, _ in groups))
    first = sum(len(words) for words, _ in groups[: groups.index(own)])
    return _search(words, sum(any_case << k for k, any_case in numbered)), first


@functools.lru_cache(32)
def _table(search: _Search) -> bytes:
    """Return the table by which the C extension finds the words of a search."""
    assert _kernel.compiled is not None  # noqa: S101 (the caller asks)
    return _kernel.compiled.word_table(search.words, search.cases)


def nodes_with_words(
    held: Sequence[Mapping[str, str]], words: tuple[bytes, ...], *, any_case: bool = False
) -> Mapping[bytes, list[int]]:
    """Implement :meth:`blockml.page.Nodes.with_words` for the attributes of nodes."""
    (nodes, bits, some), first = _found(held, (words, any_case))
    numbered = enumerate(words, start=first)
    return {word: nodes.compress(bits & (1 << bit)).tolist() if some >> bit & 1 else [] for bit, word in numbered}


def nodes_with_any(held: Sequence[Mapping[str, str]], words: tuple[bytes, ...], *, any_case: bool = False) -> list[int]:
    """Implement :meth:`blockml.page.Nodes.with_any` for the attributes of nodes."""
    (nodes, bits, some), first = _found(held, (words, any_case))
    own = (1 << len(words)) - 1 << first
    return nodes.compress(bits & own).tolist() if some & own else []


def _found(held: Sequence[Mapping[str, str]], own: _Words) -> tuple[_Found, int]:
    """Return the nodes with some of the words of the search that finds these, and the bit of the first of these."""
    if not isinstance(held, Attributes):
        search = _Search(own[0], -int(own[1]))
        return _Found.of(np.array([_bits(item, search) for item in held], dtype=np.int64)), 0
    search, first = _search_for(own)
    if (found := held.searched.get(search)) is None:
        found = held.searched[search] = _searched(held, search)
    return found, first


def _searched(held: Attributes, search: _Search) -> _Found:
    """Return the nodes with some of the words."""
    found = np.zeros(len(held.given), dtype=np.int64)
    if _kernel.compiled is not None:
        _kernel.compiled.attribute_words(held.pairs, search.words, _table(search), (held.ends, found))
    else:
        for k, word in enumerate(search.words):
            _mark(held.pairs.lower() if search.cases >> k & 1 else held.pairs, held.ends, word, k, found)
    for number in held.mapped():
        if mapping := held.given[number]:
            found[number] = _bits(mapping, search)
    return _Found.of(found.take(held.number))


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
