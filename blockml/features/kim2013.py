"""Where a block stands: its parent tag and its distances to the neighbours (Kim et al. 2013, sections 3.1 and 3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.features.column import Column
from blockml.page import Blocks

__all__ = ["COLUMNS", "PARENT_VALUES", "distance_next", "distance_previous", "parent_tag"]

#: Kim et al. 2013, table 1. ``br`` and ``img`` can't hold text in a repaired tree; they are kept for fidelity.
PARENT_TAGS = (
    "a", "b", "blockquote", "br", "dd", "dl", "dt", "font", "h1", "h2", "h3", "h4", "h5", "h6", "img", "li", "ol", "p",
    "pre", "q", "table", "ul",
)  # fmt: skip
#: All others are one group (same table); a neighbour that does not exist has none.
PARENT_VALUES = (*PARENT_TAGS, "other", "none")

_CODES = {name: code for code, name in enumerate(PARENT_TAGS)}
_OTHER = PARENT_VALUES.index("other")
_NONE = PARENT_VALUES.index("none")


def parent_tag(blocks: Blocks) -> NDArray[np.float32]:
    """Code of the deepest element that holds all text of the block: an index into :data:`PARENT_VALUES`."""
    return np.array([_CODES.get(name, _OTHER) for name in blocks.parents], dtype=np.float32)


def distance_previous(blocks: Blocks) -> NDArray[np.float32]:
    """Lines strictly between a block and the one before it; 0 for the first block.

    Two neighbours are at least 1 apart, for the line of a separating tag lies between, so 0 marks the end of the page;
    only where a removed script or style is all that parts them is it 0 as well.
    """
    distance = np.zeros(len(blocks), dtype=np.float32)
    distance[1:] = blocks.first_line[1:] - blocks.last_line[:-1] - 1
    return distance


def distance_next(blocks: Blocks) -> NDArray[np.float32]:
    """Lines strictly between a block and the one after it; 0 for the last block."""
    distance = np.zeros(len(blocks), dtype=np.float32)
    distance[:-1] = distance_previous(blocks)[1:]
    return distance


COLUMNS = (
    Column("parent", "tag", 0, _NONE, _NONE, "Kim et al. 2013, section 3.1, table 1", parent_tag, values=PARENT_VALUES),
    Column("distprev", "lines", 0, np.inf, 0, "Kim et al. 2013, section 3.2", distance_previous),
    Column("distnext", "lines", 0, np.inf, 0, "Kim et al. 2013, section 3.2", distance_next),
)
