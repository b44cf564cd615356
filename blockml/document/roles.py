"""Elements that are headings, lists or paragraphs by their role, or because they are custom elements with text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blockml.document.shown import LISTS, text_sums
from blockml.document.words import IN_MARKUP
from blockml.page import Page
from blockml.parsing.segmentation import own_lines

__all__ = ["with_roles"]

#: Roles with the character after their name in attributes.
_HEADING, _LIST = b"role\0heading\0", b"role\0list"
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
#: Elements that are not in items of a list declared by role: an item with one of them is a card.
_SECTIONS = _HEADINGS | {"table", "article", "section"}
_LEVEL = "2"  # of a heading without a level, by the ARIA specification


def with_roles(page: Page) -> Page:
    """Return a page whose elements are renamed by their roles; blocks stay the same.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<div role=heading aria-level=3>Cats</div><x-text>They rule.</x-text>")
    >>> nodes = with_roles(page).nodes
    >>> [nodes.name(node) for node in page.blocks.parent.tolist()]
    ['h3', 'div']
    """
    nodes, changed = page.nodes, dict[int, str]()
    held = nodes.with_words(IN_MARKUP)
    sections = text_sums(nodes.named(_SECTIONS)) if held[_LIST] else np.zeros(0, dtype=np.int64)
    for node in held[_HEADING]:
        attributes = nodes.attributes[node]
        if attributes.get("role") == "heading" and nodes.name(node) not in _HEADINGS:
            level = attributes.get("aria-level", "").strip()
            changed[node] = f"h{level if level in ('1', '2', '3', '4', '5', '6') else _LEVEL}"
    for node in held[_LIST]:
        around = nodes.parent.item(node)
        is_item = nodes.attributes[node].get("role") == "listitem" and nodes.name(node) != "li" and around >= 0
        if is_item and sections[nodes.end[node]] == sections[node] and nodes.attributes[around].get("role") == "list":
            changed[node] = "li"
            if nodes.name(around) not in LISTS:
                changed[around] = "ul"
    changed = dict.fromkeys(own_lines(nodes).tolist(), "div") | changed
    if not changed:
        return page
    names = (*nodes.names, *sorted({*changed.values()} - {*nodes.names}))
    tag = nodes.tag.copy()
    tag[list(changed)] = [names.index(name) for name in changed.values()]
    return replace(page, nodes=replace(nodes, names=names, tag=tag))
