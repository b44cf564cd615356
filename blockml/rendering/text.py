"""Rendering of kept blocks as plain text, laid out as by a browser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page, Separator

__all__ = ["render_text"]

_PREFORMATTED, _SPACE, _CELL = int(Flag.PREFORMATTED), int(Separator.SPACE), int(Separator.CELL)
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
    # Lists and a loop: most pages have too few blocks for array operations to pay.
    blocks = page.blocks
    texts, separators = list(blocks.texts), blocks.separators.tolist()
    preformatted = np.flatnonzero(blocks.flags & _PREFORMATTED)
    for row, text in zip(preformatted.tolist(), _sources(page, preformatted), strict=True):
        texts[row] = text
    verbatim = set(preformatted.tolist())
    n_cells: list[int] = []  # cells that begin before the end of each block, computed if needed
    pieces: list[str] = []
    append = pieces.append
    before = -1
    for row in np.flatnonzero(np.asarray(kept, dtype=bool)).tolist():
        separator = separators[row]
        if before + 1 < row:
            # A removed block may have carried the line break; blocks around it are separated at least by a space.
            separator = max(_SPACE, *separators[before + 1 : row + 1])
        if before < 0:
            pass
        elif separator <= _SPACE and row in verbatim and before in verbatim:
            if before + 1 < row:
                removed = "".join(_sources(page, np.arange(before + 1, row)))
                append("\n" if "\n" in removed else " " if removed else "")
        elif separator == _CELL:
            n_cells = n_cells or np.cumsum(page.nodes.named({"td", "th"}))[blocks.node].tolist()
            append("\t" * max(1, n_cells[row] - n_cells[before]))  # one more for each empty cell
        else:
            append(_SEPARATORS[separator])
        append(texts[row])
        before = row
    return "".join(pieces).strip("\n")


def _sources(page: Page, rows: NDArray[np.intp]) -> list[str]:
    """Return the texts of blocks with the white space of the source."""
    texts, spans = page.nodes.texts, (page.blocks.node[rows].tolist(), page.blocks.last_node[rows].tolist())
    return [
        texts[first] if first == last else "".join(texts[first : last + 1]) for first, last in zip(*spans, strict=True)
    ]
