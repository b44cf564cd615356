"""Nodes that are shown in output with markup, the roles of elements, and words that outputs look for."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes, Page
from blockml.page.attributes import searched_together
from blockml.parsing.segmentation import BREAKING, VOID, own_lines

__all__ = [
    "LISTS",
    "OF_CODE",
    "OF_SPACES",
    "OF_TEX_IMAGES",
    "ROW_PARENTS",
    "TEX_SCRIPT",
    "content_span",
    "hide_tips",
    "line_element",
    "may_have_formulas",
    "shown_nodes",
    "shown_texts",
    "text_sums",
    "with_roles",
]


#: Enum members are slow to look up in Python 3.11.
_HEAD = int(Flag.HEAD)
#: Elements with content that start a new line.
_BLOCKS = BREAKING - VOID
#: Elements that may be left out around the whole fragment; a paragraph or list keeps its element.
_CONTAINERS = frozenset({"html", "body", "div", "article", "main", "section"})
LISTS = frozenset({"ul", "ol", "menu", "dir"})
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
#: Parents of rows, and of cells whose row is left out.
ROW_PARENTS = frozenset({"table", "thead", "tbody", "tfoot"})


def content_span(nodes: Nodes, parents: NDArray[np.int32], pictures: Sequence[int]) -> tuple[int, int]:
    """Return the start and end of the content of the deepest container around the given elements and pictures."""
    inside = [int(parents.min()), int(parents.max()), *pictures]
    top, last = min(inside), max(inside)
    while nodes.parent[top] >= 0 and (nodes.end[top] <= last or nodes.name(top) not in _CONTAINERS):
        top = int(nodes.parent[top])
    if nodes.end[top] <= last:  # content after </html> has a separate root
        return 0, len(nodes)
    return top + 1, int(nodes.end[top])


def line_element(nodes: Nodes, node: int, known: dict[int, int]) -> int:
    """Return the nearest element, the node itself or around it, that starts a new line; -1 without one.

    ``known`` caches the answers, because thousands of texts may be in the same thousands of nested elements.
    """
    chain = []
    while node >= 0 and node not in known and (nodes.name(node) not in BREAKING or nodes.name(node) in VOID):
        chain.append(node)
        node = int(nodes.parent[node])
    found = known.get(node, node)
    known.update(dict.fromkeys(chain, found))
    return found


def text_sums(values: NDArray[np.bool_] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (n + 1,) prefix sums, so that the sum over a subtree is a difference of two entries.

    Examples
    --------
    >>> text_sums(np.array([True, False, True])).tolist()
    [0, 1, 1, 2]
    """
    sums = np.zeros(len(values) + 1, dtype=np.int64)
    values.cumsum(dtype=np.int64, out=sums[1:])
    return sums


def shown_texts(page: Page, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is a text of the blocks in ``rows``."""
    nodes, first, last = page.nodes, page.blocks.node[rows], page.blocks.last_node[rows]
    found = np.zeros(len(nodes), dtype=bool)
    found[first] = True
    (several,) = (last > first).nonzero()
    if len(several):
        begin, sizes = first[several] + 1, (last - first)[several]
        others = np.arange(sizes.sum()) + (begin - sizes.cumsum() + sizes).repeat(sizes)
        found[others] = (nodes.tag[others] == 0) & ((nodes.flags[others] & _HEAD) == 0)
    return found


def shown_nodes(
    page: Page, rows: NDArray[np.intp], elements: Set[str], pictures: Sequence[int] = ()
) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is written if the blocks in ``rows`` are kept.

    An element with one of the names in ``elements`` is written if it contains a kept text; a void element is written
    between two kept texts. ``pictures`` are written, and so are the elements around them that start a new line.
    """
    nodes, n = page.nodes, len(page.nodes)
    text_shown = shown_texts(page, rows)
    before = text_sums(text_shown)
    is_written = np.array([name in elements for name in nodes.names], dtype=bool)
    result: NDArray[np.bool_] = (before[nodes.end] > before[:-1]) & is_written[nodes.tag]
    result |= text_shown
    (void,) = nodes.named(elements & VOID).nonzero()
    if len(void):
        (texts,) = ((nodes.tag == 0) & ((nodes.flags & _HEAD) == 0)).nonzero()
        place = texts.searchsorted(void)
        around = np.zeros(len(texts) + 2, dtype=bool)
        around[1:-1] = text_shown[texts]
        result[void] = around[place] & around[place + 1]
    if pictures:
        is_picture = np.zeros(n, dtype=bool)
        is_picture[list(pictures)] = True
        sums = text_sums(is_picture)
        begins_line = np.array([name in _BLOCKS for name in nodes.names], dtype=bool) & is_written
        result |= is_picture | (begins_line[nodes.tag] & (sums[nodes.end] > sums[:-1]))
    # All cells of a written row are written, so that none moves to another column.
    if not {"td", "th"}.isdisjoint(nodes.names):
        (cells,) = (nodes.named({"td", "th"}) & (nodes.parent >= 0)).nonzero()
        parents = nodes.parent[cells]
        result[cells] |= (nodes.named({"tr", "thead", "tbody", "tfoot"}) & result)[parents]
    return result


#: Elements with a hint that is shown beside a text while the pointer is on it.
_TIP, _OF_TIPS = "tool-tip", searched_together((b"tooltip",), of_outputs=True)
_TIP_CLASSES = frozenset({"tooltiptext", "tooltip-text", "tooltip-content"})


def hide_tips(nodes: Nodes, shown: NDArray[np.bool_]) -> None:
    """Clear in ``shown`` (n_nodes,) the hints in headings that have other text.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<h2>Price <tool-tip>With tax</tool-tip></h2><p>5 <tool-tip>Euro</tool-tip>").nodes
    >>> shown = nodes.tag == 0
    >>> hide_tips(nodes, shown)
    >>> [text for text, is_shown in zip(nodes.texts, shown) if is_shown]
    ['Price ', '5 ', 'Euro']
    """
    tips = nodes.indices(_TIP).tolist()
    for node in nodes.with_any(_OF_TIPS):
        held = nodes.attributes[node]
        if held.get("role") == "tooltip" or not _TIP_CLASSES.isdisjoint(held.get("class", "").split()):
            tips.append(node)
    if not tips:
        return
    texts = text_sums(shown & (nodes.tag == 0))
    headings = nodes.innermost(nodes.named(_HEADINGS).nonzero()[0], np.array(tips)).tolist()
    for tip, heading in zip(tips, headings, strict=True):
        end = nodes.end.item(tip)
        if heading >= 0 and texts[nodes.end[heading]] - texts[heading] > texts[end] - texts[tip]:
            shown[tip:end] = False


#: Roles with the character after their name in attributes.
_HEADING, _LIST = (searched_together((word,), of_outputs=True) for word in (b"role\0heading\0", b"role\0list"))
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
    lists = nodes.with_any(_LIST)
    sections = text_sums(nodes.named(_SECTIONS)) if lists else np.zeros(0, dtype=np.int64)
    for node in nodes.with_any(_HEADING):
        attributes = nodes.attributes[node]
        if attributes.get("role") == "heading" and nodes.name(node) not in _HEADINGS:
            level = attributes.get("aria-level", "").strip()
            changed[node] = f"h{level if level in ('1', '2', '3', '4', '5', '6') else _LEVEL}"
    for node in lists:
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


#: Occurs in the type of scripts with formulas.
TEX_SCRIPT = b"math/tex"
#: Words in the classes of highlighters, in styles and classes that keep white space, and in the addresses or classes of
#: pictures of formulas.
OF_CODE = searched_together((b"syntaxhighlighter", b"crayon-line", b"-code", b"code-line"))
OF_SPACES = searched_together((b"white-space", b"whitespace-"))
OF_TEX_IMAGES = searched_together((b"latex", b"LaTeX", b"tex.cgi", b"codecogs", b"math/render/", b"class\0tex\0"))
_OF_TEX_SCRIPTS = searched_together((TEX_SCRIPT,))


def may_have_formulas(page: Page) -> bool:
    """Tell whether a page has MathML or scripts of TeX."""
    return "math" in page.nodes.names or len(page.nodes.with_any(_OF_TEX_SCRIPTS)) > 0
