"""Finds nodes whose attributes contain one of several words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page.attributes import Attributes

#: Words, and whether they match in any case.
_Words = tuple[tuple[bytes, ...], bool]
#: Words that are found in one search, because most pages are searched for all of them.
_TOGETHER: list[_Words] = []


def searched_together(words: tuple[bytes, ...], *, any_case: bool = False) -> tuple[bytes, ...]:
    """Return the words, which :func:`nodes_with_words` then finds in one search with others that were declared so."""
    _TOGETHER.append((words, any_case))
    return words


def nodes_with_words(
    held: Sequence[Mapping[str, str]], words: tuple[bytes, ...], *, any_case: bool = False
) -> Mapping[bytes, list[int]]:
    """Implement :meth:`blockml.page.Nodes.with_words` for the attributes of nodes."""
    own = words, any_case
    if not isinstance(held, Attributes):
        return _by_word(np.array([_bits(item, [own]) for item in held], dtype=np.int64), [own])[0]
    if (known := held.found.get(own)) is None:
        searched = _TOGETHER if own in _TOGETHER else [own]
        held.found.update(zip(searched, _by_word(_searched(held, searched), searched), strict=True))
        known = held.found[own]
    return known


def _searched(held: Attributes, searched: Sequence[_Words]) -> NDArray[np.int64]:
    """Return (n_nodes,) bits of the words that each node has; empty if no node has one."""
    found = np.zeros(len(held.given), dtype=np.int64)
    words = tuple(chain.from_iterable(words for words, _ in searched))
    in_any_case = list(chain.from_iterable([any_case] * len(words) for words, any_case in searched))
    if _kernel.compiled is not None:
        cases = sum(1 << k for k, any_case in enumerate(in_any_case) if any_case)
        _kernel.compiled.attribute_words(held.pairs, words, cases, (held.ends, found))
    else:
        for k, (word, any_case) in enumerate(zip(words, in_any_case, strict=True)):
            _mark(held.pairs.lower() if any_case else held.pairs, held.ends, word, k, found)
    for number in held.mapped():
        if mapping := held.given[number]:
            found[number] = _bits(mapping, searched)
    return found.take(held.number) if np.count_nonzero(found) else found[:0]


def _by_word(bits: NDArray[np.int64], searched: Sequence[_Words]) -> list[dict[bytes, list[int]]]:
    """Return, for each of ``searched`` and by word, the nodes that have its bit in ``bits`` (n_nodes,)."""
    found: list[dict[bytes, list[int]]] = [{word: [] for word in words} for words, _ in searched]
    in_order = [nodes for by_word in found for nodes in by_word.values()]
    lists: dict[int, list[list[int]]] = {}  # of the words of equal bits
    (nodes,) = bits.nonzero()
    for node, own in zip(nodes.tolist(), bits[nodes].tolist(), strict=True):
        if (held := lists.get(own)) is None:
            held = lists[own] = [of_word for k, of_word in enumerate(in_order) if own >> k & 1]
        for of_word in held:
            of_word.append(node)
    return found


def _mark(pairs: bytes, ends: NDArray[np.int64], word: bytes, k: int, found: NDArray[np.int64]) -> None:
    """Set bit ``k`` of each attribute set that contains a word."""
    place = pairs.find(word)
    while place >= 0:
        number = int(ends.searchsorted(place, side="right"))
        found[number] |= 1 << k
        place = pairs.find(word, int(ends[number]))


def _bits(attributes: Mapping[str, str], searched: Sequence[_Words]) -> int:
    """Return the bits of the words that occur in a mapping."""
    pairs = "".join(f"{key}\0{value}\0" for key, value in attributes.items()).encode("utf-8", "surrogatepass")
    lower = pairs.lower()  # of bytes, it changes only ASCII letters
    found = [word in (lower if any_case else pairs) for words, any_case in searched for word in words]
    return sum(1 << k for k, is_found in enumerate(found) if is_found)
