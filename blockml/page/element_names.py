"""Blocks in elements with certain class and id names."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page

#: Elements whose names describe the whole page or only a heading.
_UNNAMED = frozenset("html body h1 h2 h3 h4 h5 h6".split())


class ElementNames(NamedTuple):
    """Class and id names that mark elements of one kind."""

    words: tuple[bytes, ...]  #: Attributes of these elements contain one of these ASCII words.
    in_class: re.Pattern[str]  #: Found somewhere in a ``class``.
    in_id: re.Pattern[str]  #: Found at the start of an ``id``.
    #: Words of these and other names, to find all of them in one pass; empty to look only for ``words``.
    searched: tuple[bytes, ...] = ()


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
    held_by = nodes.with_words(names.searched or names.words)
    for node in sorted({node for word in names.words for node in held_by[word]}):
        if node >= after and nodes.name(node) not in _UNNAMED:
            held = nodes.attributes[node]
            if names.in_class.search(held.get("class") or "") or names.in_id.match(held.get("id") or ""):
                after = int(nodes.end[node])
                first, last = owner.searchsorted((node, after))
                found[first:last] = True
    return found
