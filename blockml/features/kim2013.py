"""Parent tag of a block and its distances to the neighbours (Kim et al. 2013, sections 3.1 and 3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Column
from blockml.page import Blocks

#: Kim et al. 2013, table 1. ``br`` and ``img`` can't hold text in a repaired tree; they are kept for fidelity.
PARENT_TAGS = (
    "a", "b", "blockquote", "br", "dd", "dl", "dt", "font", "h1", "h2", "h3", "h4", "h5", "h6", "img", "li", "ol", "p",
    "pre", "q", "table", "ul",
)  # fmt: skip
#: All other tags are one group (same table); ``none`` is for a neighbour beyond the ends of the page.
PARENT_VALUES = (*PARENT_TAGS, "other", "none")

_CODES = {name: code for code, name in enumerate(PARENT_TAGS)}
_OTHER = PARENT_VALUES.index("other")
_NONE = PARENT_VALUES.index("none")


def parent_tag(blocks: Blocks) -> NDArray[np.float32]:
    """Return the code, in :data:`PARENT_VALUES`, of the deepest element that holds all text of the block."""
    code_of = {name: _CODES.get(name, _OTHER) for name in set(blocks.parents)}  # few names, many blocks
    return np.fromiter(map(code_of.__getitem__, blocks.parents), dtype=np.float32, count=len(blocks))


def distance_previous(blocks: Blocks) -> NDArray[np.float32]:
    """Count lines strictly between a block and the one before it; 0 for the first block.

    Neighbours are at least 1 apart, because the line of a separating tag lies between them, so 0 marks the end of the
    page. The only exception are neighbours that a removed script or style separates, which are 0 apart, too.
    """
    distance = np.zeros(len(blocks), dtype=np.float32)
    distance[1:] = blocks.first_line[1:] - blocks.last_line[:-1] - 1
    return distance


def distance_next(blocks: Blocks) -> NDArray[np.float32]:
    """Count lines strictly between a block and the one after it; 0 for the last block."""
    distance = np.zeros(len(blocks), dtype=np.float32)
    distance[:-1] = distance_previous(blocks)[1:]
    return distance


COLUMNS = (
    Column("parent", "tag", 0, _NONE, _NONE, "Kim et al. 2013, section 3.1, table 1", parent_tag, values=PARENT_VALUES),
    Column("distprev", "lines", 0, np.inf, 0, "Kim et al. 2013, section 3.2", distance_previous),
    Column("distnext", "lines", 0, np.inf, 0, "Kim et al. 2013, section 3.2", distance_next),
)
