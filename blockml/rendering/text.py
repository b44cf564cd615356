"""Rendering of kept blocks as plain text, laid out as by a browser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Flag, Page, Separator

__all__ = ["render_text"]

_PREFORMATTED = int(Flag.PREFORMATTED)
_CELLS = frozenset({"td", "th"})
#: Text between two blocks, by :class:`~blockml.page.Separator`.
_SEPARATORS = ("", " ", "\t", "\n", "\n")


def render_text(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Join the kept blocks, given by a mask of shape (n_blocks,).

    Blocks separated by inline tags only are joined as parts of one paragraph, cells of a table row by a tab, and others
    by a line break. Preformatted text keeps its line breaks and indentation.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One <b>bold</b>ly said.</p><ul><li>Two<li>Three</ul>")
    >>> render_text(page, [True] * len(page.blocks))
    'One boldly said.\\nTwo\\nThree'
    """
    chosen = np.ascontiguousarray(kept, dtype=bool)
    compiled = _kernel.compiled
    return (_joined(page, chosen) if compiled is None else _compiled(compiled, page, chosen)).strip("\n")


def _compiled(compiled: _kernel.Compiled, page: Page, kept: NDArray[np.bool_]) -> str:
    """Join kept blocks by the kernel."""
    nodes, blocks = page.nodes, page.blocks
    of_blocks = blocks.separators, blocks.flags, _PREFORMATTED, blocks.node, blocks.last_node
    return compiled.joined_texts(blocks.texts, kept, *of_blocks, nodes.texts, nodes.tag, tuple(nodes.names), _CELLS)


def _joined(page: Page, kept: NDArray[np.bool_]) -> str:
    """Join kept blocks in Python."""
    blocks, rows = page.blocks, np.flatnonzero(kept)
    if not len(rows):
        return ""
    verbatim = (blocks.flags[rows] & _PREFORMATTED) > 0
    # A removed block may have carried the line break; blocks around it are separated at least by a space.
    separators = np.maximum.reduceat(blocks.separators[: rows[-1] + 1], np.concatenate([[0], rows[:-1] + 1]))
    separators[1:][np.diff(rows) > 1] = np.maximum(separators[1:][np.diff(rows) > 1], Separator.SPACE)
    between = [_SEPARATORS[separator] for separator in separators.tolist()]
    texts = [blocks.texts[row] for row in rows.tolist()]
    _part_cells(page, rows, separators, between)
    places = np.flatnonzero(verbatim)
    for place, text in zip(places.tolist(), _verbatim(page, rows[places]), strict=True):
        texts[place] = text
    glued = np.flatnonzero(verbatim[1:] & verbatim[:-1] & (separators[1:] <= Separator.SPACE))
    for place in glued.tolist():
        between[place + 1] = ""
    for place in glued[np.diff(rows)[glued] > 1].tolist():
        lost = "".join(_verbatim(page, np.arange(rows[place] + 1, rows[place + 1])))
        between[place + 1] = "\n" if "\n" in lost else " " if lost else ""
    between[0] = ""
    return "".join([piece for pair in zip(between, texts, strict=True) for piece in pair])


def _part_cells(page: Page, rows: NDArray[np.intp], separators: NDArray[np.uint8], between: list[str]) -> None:
    """Set the tabs between cells of a table row in ``between``, with one more for each empty cell."""
    places = np.flatnonzero(separators[1:] == Separator.CELL) + 1
    if len(places):
        nodes = page.nodes
        cells = np.cumsum(nodes.named(_CELLS))[page.blocks.node[rows]]
        for place in places.tolist():
            between[place] = "\t" * max(1, int(cells[place] - cells[place - 1]))


def _verbatim(page: Page, rows: NDArray[np.intp]) -> list[str]:
    """Return the source texts of preformatted blocks."""
    texts, blocks = page.nodes.texts, page.blocks
    spans = zip(blocks.node[rows].tolist(), blocks.last_node[rows].tolist(), strict=True)
    return [texts[first] if first == last else "".join(texts[first : last + 1]) for first, last in spans]
