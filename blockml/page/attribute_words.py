"""Finds elements whose attributes contain one of several words, and blocks in elements with certain names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Attributes, Nodes, Page

#: Indices of the bits that are set, by byte.
_SET_BITS = [[k for k in range(8) if byte & (1 << k)] for byte in range(256)]

#: Elements whose names describe the whole page or only a heading.
_UNNAMED = frozenset("html body h1 h2 h3 h4 h5 h6".split())


class ElementNames(NamedTuple):
    """Class and id names that mark elements of one kind."""

    words: tuple[bytes, ...]  #: Attributes of these elements contain one of these ASCII words.
    in_class: re.Pattern[str]  #: Found somewhere in a ``class``.
    in_id: re.Pattern[str]  #: Found at the start of an ``id``.


def blocks_in(page: Page, names: ElementNames) -> NDArray[np.bool_]:
    """Return (n_blocks,) which blocks are in an element with a matching class or id, except headings and whole pages.

    Examples
    --------
    >>> import blockml
    >>> names = ElementNames((b"omment",), re.compile("[cC]omments"), re.compile("comment"))
    >>> page = blockml.parse("<p>One<div class=userComments><p>Two</div><p id=commented>Three<p id=no-comment>Four")
    >>> blocks_in(page, names).tolist()
    [False, True, True, False]
    """
    nodes, owner = page.nodes, page.blocks.node
    found, after = np.zeros(len(owner), dtype=bool), 0
    for node in sorted({node for held in nodes_with_words(nodes, names.words).values() for node in held}):
        if node >= after and nodes.name(node) not in _UNNAMED:
            held = nodes.attributes[node]
            if names.in_class.search(held.get("class") or "") or names.in_id.match(held.get("id") or ""):
                after = int(nodes.end[node])
                first, last = owner.searchsorted((node, after))
                found[first:last] = True
    return found


def nodes_with_words(nodes: Nodes, words: tuple[bytes, ...]) -> Mapping[bytes, list[int]]:
    """Return, by word, the elements with an ASCII word in their attributes' (lower-case) names or values; cached.

    Parameters
    ----------
    nodes
        The nodes of a page.
    words
        At most eight words, each of at least two characters.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p class=Author>Ann <b itemprop=author>Lee</b>")
    >>> nodes_with_words(page.nodes, (b"uthor", b"itemprop"))
    {b'uthor': [3, 5], b'itemprop': [5]}
    """
    held = nodes.attributes
    if not isinstance(held, Attributes):
        return _by_word(np.array([_bits(item, words) for item in held], dtype=np.uint8), words)
    if (known := held.found.get(words)) is not None:
        return known
    found = np.zeros(len(held.given), dtype=np.uint8)
    if _kernel.compiled is not None:
        _kernel.compiled.attribute_words(held.pairs, words, (held.ends, found))
    else:
        for k, word in enumerate(words):
            _mark(held, word, k, found)
    for number in held.mapped():
        if mapping := held.given[number]:
            found[number] = _bits(mapping, words)
    held.found[words] = _by_word(found.take(held.number) if np.count_nonzero(found) else found[:0], words)
    return held.found[words]


def _by_word(bits: NDArray[np.uint8], words: tuple[bytes, ...]) -> dict[bytes, list[int]]:
    """Return, by word, the nodes that have its bit in ``bits`` (n_nodes,)."""
    found: dict[bytes, list[int]] = {word: [] for word in words}
    (nodes,) = (bits != 0).nonzero()
    for node, own in zip(nodes.tolist(), bits[nodes].tolist(), strict=True):
        for k in _SET_BITS[own]:
            found[words[k]].append(node)
    return found


def _mark(held: Attributes, word: bytes, k: int, found: NDArray[np.uint8]) -> None:
    """Set bit ``k`` of each attribute set that contains a word."""
    place = held.pairs.find(word)
    while place >= 0:
        number = int(held.ends.searchsorted(place, side="right"))
        found[number] |= 1 << k
        place = held.pairs.find(word, int(held.ends[number]))


def _bits(attributes: Mapping[str, str], words: tuple[bytes, ...]) -> int:
    """Return the bits of the words that occur in a mapping."""
    text = "\0".join(f"{key}\0{value}" for key, value in attributes.items())
    return sum(1 << k for k, word in enumerate(words) if word.decode() in text)
