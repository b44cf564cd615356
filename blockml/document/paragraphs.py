"""Grouping of blocks into paragraphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.shown import layout_parts, line_element, shown_nodes, text_sums
from blockml.document.text import text_places
from blockml.page import Label, Nodes, Page, Paragraph, ParagraphKind, Separator
from blockml.page.bounds import Budget
from blockml.parsing.segmentation import BREAKING

__all__ = ["find_paragraphs"]

_KINDS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), ParagraphKind.HEADING),
    **dict.fromkeys(("ul", "ol", "menu", "dl"), ParagraphKind.LIST),
    **dict.fromkeys(("pre", "listing", "xmp", "textarea"), ParagraphKind.CODE),
    "table": ParagraphKind.TABLE,
}
#: Elements that make the list around them a layout of sections instead of one paragraph.
_SECTIONS = frozenset("h1 h2 h3 h4 h5 h6 pre table blockquote article section".split())
#: Maximum characters of a heading that paragraphs below it repeat; otherwise thousands of paragraphs could repeat a
#: page.
_MAX_HEADING = 500


def find_paragraphs(
    page: Page,
    kept: NDArray[np.bool_],
    scores: NDArray[np.float32],
    labels: Sequence[Label] | None,
    *,
    removed: bool = False,
    budget: Budget | None = None,
) -> tuple[Paragraph, ...]:
    """Group the kept blocks into paragraphs, or with ``removed`` the removed ones.

    Lists and data tables are one paragraph each, unless a list contains headings or other sections. Lines separated
    only by one ``br`` belong to one paragraph; two in a row end it.

    Parameters
    ----------
    page
        The page.
    kept, scores
        (n_blocks,) the decision.
    labels
        (n_blocks,) label of each block; None if the extractor has no labels.
    removed
        Whether to group the removed blocks; these have no place in the text.
    budget
        Pays for headings and XPaths, which paragraphs repeat; if too little is left, a paragraph has no headings, or
        the shortest XPath.
    """
    budget = budget or Budget(page)
    mask = ~kept if removed else kept
    rows = np.flatnonzero(mask)
    if not len(rows):
        return ()
    text, begins, ends = text_places(page, mask)
    units = _units(page, rows)
    xpaths = page.nodes.xpaths([node for _, _, node in units])
    weights = np.maximum(page.blocks.n_words[rows], 1e-3)
    starts = [members[0] for members, _, _ in units]
    means = np.add.reduceat(weights * scores[rows], starts) / np.add.reduceat(weights, starts)
    score_of = dict(zip(starts, means.round(4).tolist(), strict=True))
    words = weights.tolist()
    numbers = (page.nodes.tag != 0).cumsum()
    is_quoted = _are_quoted(page.nodes, page.blocks.parent[rows])
    found: list[Paragraph] = []
    above: list[tuple[int, str]] = []  # level and text of the open headings
    for (members, unit, node), path in zip(units, xpaths, strict=True):
        is_paid = budget.spend(len(path), "long XPaths of paragraphs")
        xpath = path if is_paid or node < 0 else f"/descendant::*[{numbers[node]}]"
        first, last = members[0], members[-1]
        start, end = int(begins[first]), int(ends[last])
        own = text[start:end]
        start, end = start + len(own) - len(own.lstrip("\n")), end - len(own) + len(own.rstrip("\n"))
        own = own.strip("\n")
        if not own.strip():
            continue
        unmarked = ParagraphKind.QUOTATION if is_quoted[first] else ParagraphKind.PARAGRAPH
        kind = _KINDS[page.nodes.name(unit)] if unit >= 0 else unmarked
        if kind is ParagraphKind.HEADING:
            level = int(page.nodes.name(unit)[1])
            above = [item for item in above if item[0] < level]
        headings = tuple([heading for _, heading in above])
        if headings and not budget.spend(sum(map(len, headings)), "headings above paragraphs"):
            headings = ()
        if kind is ParagraphKind.HEADING:
            above.append((level, " ".join(own.split())[:_MAX_HEADING]))
        blocks = tuple(rows[first : last + 1].tolist())
        label = None if labels is None else _label([labels[row] for row in blocks], words[first : last + 1])
        place = (start, end) if not removed else (None, None)
        found.append(Paragraph(kind, own, place[0], place[1], headings, xpath, blocks, score_of[first], label))
    return tuple(found)


def _units(page: Page, rows: NDArray[np.intp]) -> list[tuple[list[int], int, int]]:
    """Return the paragraphs: positions of their blocks in ``rows``, the element that groups them (or -1), and the node.

    The node is the deepest element around all blocks.
    """
    nodes, blocks = page.nodes, page.blocks
    element = _elements(page, rows)[blocks.node[rows]].tolist()
    separators = page.blocks.separators_of(rows).tolist()
    breaks = text_sums(nodes.named({"br"}))
    found: list[tuple[list[int], int]] = []
    lines: dict[int, int] = {}
    before = -1  # nearest line-starting element around the previous block
    for place, (row, unit) in enumerate(zip(rows.tolist(), element, strict=True)):
        around = line_element(nodes, int(blocks.parent[row]), lines)
        goes_on = place > 0 and unit == element[place - 1]
        if goes_on and unit < 0:
            n_breaks = int(breaks[blocks.node[row]] - breaks[blocks.last_node[rows[place - 1]]])
            goes_on = n_breaks < 2 and _goes_on(separators[place], same_element=around == before)
        if goes_on:
            found[-1][0].append(place)
        else:
            found.append(([place], unit))
        before = around
    return [
        (members, unit, unit if unit >= 0 else _common(nodes, blocks.parent[rows[members]].tolist()))
        for members, unit in found
    ]


def _goes_on(separator: int, *, same_element: bool) -> bool:
    """Tell whether a block belongs to the same paragraph as the previous one."""
    return separator <= Separator.SPACE or (separator == Separator.LINE and same_element)


def _elements(page: Page, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return (n_nodes,) the heading, list, table or code block that a node is part of; -1 without one."""
    nodes = page.nodes
    found = np.full(len(nodes), -1, dtype=np.int64)
    layout = layout_parts(nodes, shown_nodes(page, rows, BREAKING)) if "table" in nodes.names else frozenset[int]()
    sections = text_sums(nodes.named(_SECTIONS))
    stop = 0
    for node in np.flatnonzero(nodes.named(frozenset(_KINDS))).tolist():
        end = int(nodes.end[node])
        kind = _KINDS[nodes.name(node)]
        is_layout = kind is ParagraphKind.TABLE and node in layout
        if node < stop or is_layout or (kind is ParagraphKind.LIST and sections[end] > sections[node]):
            continue
        found[node:end] = node
        stop = end
    return found


def _common(nodes: Nodes, elements: Sequence[int]) -> int:
    """Return the deepest element that contains all given ones."""
    node, last = min(elements), max(elements)
    while node >= 0 and nodes.end[node] <= last:
        node = int(nodes.parent[node])
    return node


def _are_quoted(nodes: Nodes, elements: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Tell which elements are a quotation or in one: more have started there than ended."""
    begun = nodes.indices("blockquote")
    n_ended = np.sort(nodes.end[begun]).searchsorted(elements, side="right")
    return np.asarray(begun.searchsorted(elements, side="right") > n_ended)


def _label(labels: Sequence[Label], weights: Sequence[float]) -> Label:
    """Return the label with the most words."""
    if labels.count(labels[0]) == len(labels):
        return labels[0]
    counts: Counter[Label] = Counter()
    for label, weight in zip(labels, weights, strict=True):
        counts[label] += weight  # type: ignore[assignment]  # weights are not integers
    return counts.most_common(1)[0][0]
