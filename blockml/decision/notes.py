"""Footnotes: the notes to which kept marks lead stay, because a mark without its note misleads a reader."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from blockml.outline import FOOTNOTE_MARK, Outline
from blockml.page import Nodes
from blockml.page.attribute_words import searched_together

__all__ = ["notes_of_marks"]

#: Parts of the attributes of links within the page, and of the elements that they may lead to.
_WITHIN, _IDS = searched_together((b"href\0#",)), (b"id\0", b"name\0")
#: Maximum characters and nodes of a mark, words of a note, and marks that are looked at, so that hostile pages cost
#: little.
_MAX_LENGTH, _MAX_NODES, _MAX_WORDS, _MAX_MARKS = 8, 6, 200, 1000


def notes_of_marks(outline: Outline, kept: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the first block, and one past the last, of each note to which a kept mark (n_blocks,) leads.

    A note is the paragraph, item or cell around the target of a link whose text is a number or sign. It has a link
    within the page itself, which leads back.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>Cats<a href='#n1'>[1]</a> rule.<p>Imprint<p id=n1>Ask one. <a href='#r1'>↩</a>")
    >>> list(notes_of_marks(Outline(page), np.array([True, False, False])))
    [(2, 3)]
    """
    nodes = outline.page.nodes
    links = nodes.with_words(_WITHIN)[_WITHIN[0]]
    marks = [node for node in links if _is_mark(nodes, node)]
    if not marks:
        return
    blocks = outline.page.blocks
    of_mark = blocks.node.searchsorted(nodes.end[marks] - 1, side="right") - 1
    marks = [node for node, block in zip(marks, of_mark.tolist(), strict=True) if block >= 0 and kept[block]]
    if not marks:
        return
    targets: dict[str, int] = {}
    for node in sorted({node for held in nodes.with_words(_IDS).values() for node in held}):
        attributes = nodes.attributes[node]
        targets.setdefault(attributes.get("id") or attributes.get("name") or "", node)
    within = np.array(links, dtype=np.intp)
    for mark in marks[:_MAX_MARKS]:
        note = targets.get(nodes.attributes[mark]["href"].strip()[1:], -1)
        if note <= mark:
            continue
        note = outline.line_element(note)
        first_link, after_link = within.searchsorted((note, nodes.end.item(note)))
        first, after = outline.range_in(note)
        if first_link < after_link and 0 < np.add.reduce(blocks.n_words[first:after]) <= _MAX_WORDS:
            yield first, after


def _is_mark(nodes: Nodes, node: int) -> bool:
    """Tell whether an element is a link whose text is a footnote's number or sign."""
    end = nodes.end.item(node)
    if end - node > _MAX_NODES or nodes.name(node) != "a":
        return False
    text = "".join(nodes.texts[node + 1 : end])
    return len(text) <= _MAX_LENGTH and FOOTNOTE_MARK.fullmatch(text) is not None
