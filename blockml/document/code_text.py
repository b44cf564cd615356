"""Code blocks in plain text whose lines are elements: with indents and empty lines, without line numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.document.code import CODE, LINE_ELEMENTS, code_lines, line_starts, listings, with_line_elements
from blockml.document.shown import shown_texts
from blockml.page import Flag, Nodes, Page

__all__ = ["write_code"]

_PREFORMATTED = int(Flag.PREFORMATTED)


def write_code(page: Page, rows: NDArray[np.intp], gaps: list[str], texts: list[str]) -> None:
    """Write code into ``texts`` of the kept blocks ``rows`` and ``gaps`` before them, in place.

    The first block of each piece of code gets all of its lines, and the others get an empty text. Columns of line
    numbers before code are left out. Code in ``pre`` without elements for lines is not changed.
    """
    nodes, owners = page.nodes, page.blocks.node[rows]
    with_lines, numbered = _preformatted(page, rows)
    code = sorted({*listings(nodes), *with_lines, *numbered})
    if not code:
        return
    shown, starts, after = shown_texts(page, rows), frozenset(line_starts(nodes)), 0
    for node in code:
        first, stop = owners.searchsorted((node, nodes.end[node])).tolist()
        if node < after or first == stop:
            continue
        after = nodes.end.item(node)
        lines = code_lines(nodes, node, shown, starts)
        is_column = not lines and stop < len(rows) and page.blocks.flags[rows[stop]] & _PREFORMATTED  # of line numbers
        if node in numbered and not is_column:
            continue
        texts[first:stop] = ["\n".join(lines), *[""] * (stop - first - 1)]
        gaps[first + 1 : stop] = [""] * (stop - first - 1)
        if "\n" not in gaps[first]:
            gaps[first] = "\n"
        if not lines and stop < len(gaps):
            gaps[stop], gaps[first] = gaps[first], ""


def _preformatted(page: Page, rows: NDArray[np.intp]) -> tuple[list[int], list[int]]:
    """Return the preformatted elements with an element for each line, and others whose text starts with a number."""
    nodes, blocks = page.nodes, page.blocks
    if not blocks.any_flag(_PREFORMATTED) or not (blocks.flags[rows] & _PREFORMATTED).any():
        return [], []
    with_lines = with_line_elements(nodes, LINE_ELEMENTS | {"br"})
    others = {*np.flatnonzero(nodes.named(CODE)).tolist()}.difference(with_lines)
    return with_lines, [node for node in others if _has_number(nodes, node)]


def _has_number(nodes: Nodes, node: int) -> bool:
    """Tell whether the first text of an element starts with a number."""
    texts = nodes.tag[node : nodes.end[node]] == 0
    place = int(texts.argmax())
    return bool(texts[place]) and nodes.texts[node + place].lstrip()[:1].isdecimal()
