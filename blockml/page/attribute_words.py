"""Finds nodes whose attributes contain one of several words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page.attributes import Attributes


def nodes_with_words(
    held: Sequence[Mapping[str, str]], words: tuple[bytes, ...], *, any_case: bool = False
) -> Mapping[bytes, list[int]]:
    """Implement :meth:`blockml.page.Nodes.with_words` for the attributes of nodes."""
    if not isinstance(held, Attributes):
        return _by_word(np.array([_bits(item, words, any_case=any_case) for item in held], dtype=np.uint16), words)
    if (known := held.found.get((words, any_case))) is not None:
        return known
    found = np.zeros(len(held.given), dtype=np.uint16)
    if _kernel.compiled is not None:
        _kernel.compiled.attribute_words(held.pairs, words, int(any_case), (held.ends, found))
    else:
        pairs = held.pairs.lower() if any_case else held.pairs
        for k, word in enumerate(words):
            _mark(pairs, held.ends, word, k, found)
    for number in held.mapped():
        if mapping := held.given[number]:
            found[number] = _bits(mapping, words, any_case=any_case)
    by_word = _by_word(found.take(held.number) if np.count_nonzero(found) else found[:0], words)
    return held.found.setdefault((words, any_case), by_word)


def _by_word(bits: NDArray[np.uint16], words: tuple[bytes, ...]) -> dict[bytes, list[int]]:
    """Return, by word, the nodes that have its bit in ``bits`` (n_nodes,)."""
    found: dict[bytes, list[int]] = {word: [] for word in words}
    (nodes,) = (bits != 0).nonzero()
    for node, own in zip(nodes.tolist(), bits[nodes].tolist(), strict=True):
        for k, word in enumerate(words):
            if own & (1 << k):
                found[word].append(node)
    return found


def _mark(pairs: bytes, ends: NDArray[np.int64], word: bytes, k: int, found: NDArray[np.uint16]) -> None:
    """Set bit ``k`` of each attribute set that contains a word."""
    place = pairs.find(word)
    while place >= 0:
        number = int(ends.searchsorted(place, side="right"))
        found[number] |= 1 << k
        place = pairs.find(word, int(ends[number]))


def _bits(attributes: Mapping[str, str], words: tuple[bytes, ...], *, any_case: bool) -> int:
    """Return the bits of the words that occur in a mapping."""
    pairs = "".join(f"{key}\0{value}\0" for key, value in attributes.items()).encode("utf-8", "surrogatepass")
    pairs = pairs.lower() if any_case else pairs  # of bytes, it changes only ASCII letters
    return sum(1 << k for k, word in enumerate(words) if word in pairs)
