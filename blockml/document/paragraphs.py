"""Grouping of blocks into paragraphs, and into posts of a thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.shown import text_sums
from blockml.document.text import text_places
from blockml.outline import Outline
from blockml.page import Label, Nodes, Page, Paragraph, ParagraphKind, Post, Separator
from blockml.page.bounds import Budget
from blockml.parsing.segmentation import BREAKING, VOID
from blockml.posts import ThreadPost

__all__ = ["find_paragraphs", "kept_posts"]

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
    firsts, units, around = _units(page, rows)
    xpaths = page.nodes.xpaths(around)
    weights = np.maximum(page.blocks.n_words[rows], 1e-3)
    means = np.add.reduceat(weights * scores[rows], firsts) / np.add.reduceat(weights, firsts)
    numbers = (page.nodes.tag != 0).cumsum()
    is_quoted = _are_quoted(page.nodes, page.blocks.parent[rows[firsts]])
    lasts = [*(firsts[1:] - 1).tolist(), len(rows) - 1]
    columns = (firsts.tolist(), lasts, units, around, xpaths, begins[firsts].tolist(), ends[lasts].tolist(),
               means.round(4).tolist(), is_quoted.tolist())  # fmt: skip
    own_labels, all_rows, words = None if labels is None else labels[:], rows.tolist(), weights.tolist()
    found: list[Paragraph] = []
    above: list[tuple[int, str]] = []  # level and text of the open headings
    for first, last, unit, node, path, begin, stop, score, quoted in zip(*columns, strict=True):
        is_paid = budget.spend(len(path), "long XPaths of paragraphs")
        xpath = path if is_paid or node < 0 else f"/descendant::*[{numbers[node]}]"
        own = text[begin:stop]
        start, end = begin + len(own) - len(own.lstrip("\n")), stop - len(own) + len(own.rstrip("\n"))
        own = own.strip("\n")
        if not own.strip():
            continue
        unmarked = ParagraphKind.QUOTATION if quoted else ParagraphKind.PARAGRAPH
        kind = _KINDS[page.nodes.name(unit)] if unit >= 0 else unmarked
        if kind is ParagraphKind.HEADING:
            level = int(page.nodes.name(unit)[1])
            above = [item for item in above if item[0] < level]
        headings = tuple([heading for _, heading in above])
        if headings and not budget.spend(sum(map(len, headings)), "headings above paragraphs"):
            headings = ()
        if kind is ParagraphKind.HEADING:
            above.append((level, " ".join(own.split())[:_MAX_HEADING]))
        blocks = tuple(all_rows[first : last + 1])
        label = None if own_labels is None else _label([own_labels[row] for row in blocks], words[first : last + 1])
        place = (start, end) if not removed else (None, None)
        found.append(Paragraph(kind, own, place[0], place[1], headings, xpath, blocks, score, label))
    return tuple(found)


def kept_posts(page: Page, kept: NDArray[np.bool_], posts: Sequence[ThreadPost]) -> tuple[Post, ...]:
    """Return the posts of which text is kept, with their places in the text; none unless there are two.

    Parameters
    ----------
    page
        The page.
    kept
        (n_blocks,) the decision.
    posts
        The posts of the page.

    Examples
    --------
    >>> import blockml
    >>> from blockml.posts import find_posts
    >>> post = "<div class=post><b class=author>{}</b><p>{}</div>"
    >>> page = blockml.parse(post.format("Ann", "Which flour?") + post.format("Bo", "Rye, of course."))
    >>> for post in kept_posts(page, np.ones(len(page.blocks), dtype=bool), find_posts(page)):
    ...     print(post.number, post.author, post.text, post.start, post.end)
    0 Ann Which flour? 0 16
    1 Bo Rye, of course. 17 35
    """
    shown = [(number, rows) for number, post in enumerate(posts) if (rows := [row for row in post.body if kept[row]])]
    if len(shown) < 2:
        return ()
    text, starts, ends = text_places(page, kept)
    place = kept.cumsum() - 1
    numbers = {number: own for own, (number, _) in enumerate(shown)}
    xpaths = page.nodes.xpaths([posts[number].node for number, _ in shown])
    found: list[Post] = []
    for (number, rows), xpath in zip(shown, xpaths, strict=True):
        post = posts[number]
        blocks = tuple(sorted({*rows, *(row for row in post.header if kept[row])}))
        runs = np.split(np.array(rows), np.flatnonzero(np.diff(place[rows]) > 1) + 1)
        lines = [text[starts[place[run[0]]] : ends[place[run[-1]]]] for run in runs]
        start, end = int(starts[place[blocks[0]]]), int(ends[place[blocks[-1]]])
        answers = None if post.answers is None else numbers.get(post.answers)
        own = "\n".join(lines).strip("\n")
        found.append(Post(len(found), post.author, post.date, answers, own, start, end, xpath, blocks))
    return tuple(found)


def _units(page: Page, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], list[int], list[int]]:
    """Return the paragraphs: places of their first blocks in ``rows``, the element of each (or -1), and its node.

    The node is the deepest element around all blocks.
    """
    nodes, blocks = page.nodes, page.blocks
    element = _elements(page)[blocks.node[rows]]
    separators, parents = page.blocks.separators_of(rows), blocks.parent[rows]
    breaks = text_sums(nodes.named({"br"}))
    n_breaks = breaks[blocks.node[rows[1:]]] - breaks[blocks.last_node[rows[:-1]]]
    line = nodes.innermost(np.flatnonzero(nodes.named(BREAKING - VOID)), parents)  # the line-starting element around
    is_line = (separators <= Separator.SPACE)[1:] | ((separators[1:] == Separator.LINE) & (line[1:] == line[:-1]))
    goes_on = np.zeros(len(rows), dtype=bool)
    goes_on[1:] = (element[1:] == element[:-1]) & ((element[1:] >= 0) | ((n_breaks < 2) & is_line))
    firsts = np.flatnonzero(~goes_on)
    units = element[firsts].tolist()
    outer, inner = (reduce.reduceat(parents, firsts).tolist() for reduce in (np.minimum, np.maximum))
    around = [
        unit if unit >= 0 else low if low == high else _common(nodes, (low, high))
        for unit, low, high in zip(units, outer, inner, strict=True)
    ]
    return firsts, units, around


def _elements(page: Page) -> NDArray[np.int64]:
    """Return (n_nodes,) the heading, list, table or code block that a node is part of; -1 without one."""
    nodes = page.nodes
    found = np.full(len(nodes), -1, dtype=np.int64)
    layout = Outline(page).layout_tables
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
