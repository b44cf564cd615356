"""Kept blocks as plain text, laid out as a browser would: inline pieces run on, paragraphs part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Joint, Page

__all__ = ["render_text"]

_SEPARATOR = {Joint.GLUED: "", Joint.SPACE: " ", Joint.CELL: "\t", Joint.LINE: "\n", Joint.PARAGRAPH: "\n"}


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
    for index in np.flatnonzero(np.asarray(kept, dtype=bool)).tolist():
        verbatim = bool(preformatted[index])
        text = _verbatim(page, index) if verbatim else blocks.texts[index]
        if parts:
            # What was removed between two blocks may have held the break between them, and parts them in any case.
            joint = Joint(max(joints[previous + 1 : index + 1]))
            if index > previous + 1:
                joint = max(joint, Joint.SPACE)
            inside = verbatim and bool(preformatted[previous]) and joint <= Joint.SPACE
            parts.append("" if inside else _SEPARATOR[joint])
        parts.append(text)
        previous = index
    return "".join(parts).strip("\n")


def _verbatim(page: Page, index: int) -> str:
    """Text of a preformatted block as it stands in the source."""
    nodes = page.nodes
    span = slice(int(page.blocks.node[index]), int(page.blocks.last_node[index]) + 1)
    return "".join(nodes.texts[span])
