"""Lists and tables that are completed, left out or cut, said in remarks; and the notes of kept marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.outline import FOOTNOTE_MARK, Outline, UnitKind
from blockml.page import Nodes, Reason
from blockml.page.attributes import searched_together

__all__ = ["completed_remark", "cut_remark", "notes_of_marks", "torn_lists", "unit_remarks"]


#: Minimum removed items of a list that is cut, to say so; maximum characters of a text that names a unit, and number of
#: units that are named.
_MIN_CUT, _MAX_SHOWN, _MAX_NAMED = 3, 40, 5
#: What happened to a unit, by the reason of its blocks.
_COMPLETED: Mapping[Reason, str] = {
    Reason.KEPT_WITH_LIST: "kept whole",
    Reason.KEPT_WITH_LEAD_IN: "kept whole",
    Reason.KEPT_WITH_TABLE: "kept whole",
    Reason.REMOVED_WITH_LIST: "left out whole",
}


def unit_remarks(
    outline: Outline, changes: Sequence[tuple[Reason, NDArray[np.intp]]], kept: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Return the remarks about completed and cut units, given changes and the kept blocks (n_blocks,).

    Examples
    --------
    >>> import blockml
    >>> unit_remarks(Outline(blockml.parse("<p>Cats")), [], np.array([True]))
    ()
    """
    found = (completed_remark(outline, changes) if changes else None, cut_remark(outline, kept))
    return tuple([remark for remark in found if remark])


def completed_remark(outline: Outline, changes: Iterable[tuple[Reason, NDArray[np.intp]]]) -> str | None:
    """Return a remark that names the lists and tables which were completed or left out; None without any.

    Parameters
    ----------
    outline
        The outline of the page.
    changes
        Reasons, and the blocks whose decision they changed.

    Examples
    --------
    >>> import blockml
    >>> outline = Outline(blockml.parse("<p>Bread<ul><li>Flour<li>Water</ul><p>Imprint<ul><li>Home<li>Shop</ul>"))
    >>> completed_remark(
    ...     outline, [(Reason.KEPT_WITH_LIST, np.array([2])), (Reason.REMOVED_WITH_LIST, np.array([4]))]
    ... )
    'kept whole: the list "Flour"; left out whole: the list "Home"'
    """
    whole, table = outline.whole, outline.data_table
    if whole is None:
        return None
    found: dict[str, dict[int, None]] = {}
    for reason, rows in changes:
        if reason in _COMPLETED:
            found.setdefault(_COMPLETED[reason], {}).update(dict.fromkeys(whole[rows].tolist()))
    parts = []
    for what, elements in found.items():
        named = []
        for element in sorted(elements.keys() - {-1}):
            first, after = outline.range_in(element)
            name = "list" if table is None or table.item(first) != element else "table"
            shown = next((text for text in outline.page.blocks.texts[first:after] if text), "")
            named.append(f'the {name} "{shown[:_MAX_SHOWN]}"')
        if len(named) > _MAX_NAMED:
            named[_MAX_NAMED:] = [f"and {len(named) - _MAX_NAMED} more"]
        if named:
            parts.append(f"{what}: {', '.join(named)}")
    return "; ".join(parts) or None


def cut_remark(outline: Outline, kept: NDArray[np.bool_]) -> str | None:
    """Return a remark about the lists that are kept (n_blocks,) from their start and cut; None without any.

    Examples
    --------
    >>> import blockml
    >>> outline = Outline(blockml.parse("<ul><li>One<li>Two<li>Three<li>Four<li>Five</ul>"))
    >>> cut_remark(outline, np.array([True, True, False, False, False]))
    'a list is cut: 3 items after "Two" are left out'
    """
    plain, page = outline.plain_list, outline.page
    if plain is None:
        return None
    n_items, last = 0, -1
    for element in torn_lists(plain, kept):
        first, after = outline.range_in(element)
        rows = np.arange(first, after)[page.blocks.n_words[first:after] > 0]
        n_kept = int(np.count_nonzero(kept[rows]))
        if not n_kept or not kept[rows[:n_kept]].all():
            continue
        item = outline.unit(UnitKind.ITEM)
        n_removed = len(rows) - n_kept if item is None else len(np.unique(item[rows[n_kept:]]))
        if n_removed >= _MIN_CUT and n_removed > n_items:
            n_items, last = n_removed, int(rows[n_kept - 1])
    if last < 0:
        return None
    return f'a list is cut: {n_items} items after "{page.blocks.texts[last][:_MAX_SHOWN]}" are left out'


def torn_lists(plain: NDArray[np.int32], kept: NDArray[np.bool_]) -> list[int]:
    """Return the plain lists of which a part is kept (n_blocks,), given the one around each block (n_blocks,).

    Examples
    --------
    >>> torn_lists(np.array([-1, 3, 3, 8]), np.array([True, True, False, False]))
    [3]
    """
    places = ((kept[1:] != kept[:-1]) & (plain[1:] == plain[:-1])).nonzero()[0]
    return sorted({*plain[places].tolist()} - {-1})


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
    links = nodes.with_any(_WITHIN)
    marks = [node for node in links if _is_mark(nodes, node)]
    if not marks:
        return
    blocks = outline.page.blocks
    of_mark = blocks.node.searchsorted(nodes.end[marks] - 1, side="right") - 1
    marks = [node for node, block in zip(marks, of_mark.tolist(), strict=True) if block >= 0 and kept[block]]
    if not marks:
        return
    targets: dict[str, int] = {}
    for node in nodes.with_any(_IDS):
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
