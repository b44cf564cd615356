"""Kept blocks as plain text, laid out as a browser would: inline pieces run on, paragraphs part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Joint, Page

__all__ = ["render_text"]

_SEPARATOR = {Joint.GLUED: "", Joint.SPACE: " ", Joint.LINE: "\n", Joint.PARAGRAPH: "\n"}


def render_text(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Join the kept blocks.

    Blocks between which only inline tags stand are pieces of one paragraph and are joined as such; cells of a table
    row are joined by a tab; all others by a line break. Preformatted text keeps its line breaks and indentation.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One <b>bold</b>ly said.</p><ul><li>Two<li>Three</ul>")
    >>> render_text(page, [True] * len(page.blocks))
    'One boldly said.\\nTwo\\nThree'
    """
    blocks = page.blocks
    parts: list[str] = []
    previous = -1
    joints = blocks.joints.tolist()
    preformatted = (blocks.flags & Flag.PREFORMATTED) > 0
    n_cells = _cells_before(page)
    for index in np.flatnonzero(np.asarray(kept, dtype=bool)).tolist():
        verbatim = bool(preformatted[index])
        text = _verbatim(page, index) if verbatim else blocks.texts[index]
        if parts:
            # What was removed between two blocks may have held the break between them, and parts them in any case.
            joint = Joint(max(joints[previous + 1 : index + 1]))
            removed = range(previous + 1, index)
            if verbatim and preformatted[previous] and joint <= Joint.SPACE:
                lost = "".join(_verbatim(page, i) for i in removed)
                separator = "\n" if "\n" in lost else " " if lost else ""
            elif joint is Joint.CELL:
                separator = "\t" * max(1, int(n_cells[index] - n_cells[previous]))
            else:
                separator = _SEPARATOR[max(joint, Joint.SPACE) if removed else joint]
            parts.append(separator)
        parts.append(text)
        previous = index
    return "".join(parts).strip("\n")


def _cells_before(page: Page) -> NDArray[np.int64]:
    """(n_blocks,) number of table cells begun before each block: empty ones are columns as well."""
    is_cell = np.array([name in ("td", "th") for name in page.nodes.names], dtype=bool)[page.nodes.tag]
    cells: NDArray[np.int64] = np.cumsum(is_cell)[page.blocks.node]
    return cells


def _verbatim(page: Page, index: int) -> str:
    """Text of a preformatted block as it stands in the source."""
    nodes = page.nodes
    span = slice(int(page.blocks.node[index]), int(page.blocks.last_node[index]) + 1)
    return "".join(nodes.texts[span])
