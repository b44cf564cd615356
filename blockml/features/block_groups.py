"""Groups of blocks with equal ancestors: lists, menus and posts of a thread repeat what is above a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.features.factorize import number_keys
from blockml.page import Nodes

#: Multiplier of a polynomial hash (odd, from the golden ratio; Knuth, *The Art of Computer Programming* 3, 6.4).
_FACTOR = 0x9E3779B97F4A7C15

_NO_CLASSES = np.zeros(0, dtype=np.int32)


class Levels(NamedTuple):
    """Range of ancestors, counted from the parent up; the last one is not included."""

    first: int
    last: int


#: Groupings of blocks: by tags and classes of the three nearest ancestors, or of all from the third on.
GROUPINGS = ("near", "far")
#: Ancestors that each grouping compares; 1000 are more than are ever looked at.
LEVELS_OF = (Levels(0, 3), Levels(2, 1000))


def group_blocks(
    chain: NDArray[np.int64], nodes: Nodes, levels: Sequence[Levels], classes: NDArray[np.int32] = _NO_CLASSES
) -> NDArray[np.int64]:
    """Number the groups of blocks whose ancestors at some levels have equal tags, and equal classes.

    ``chain`` holds the (levels, n_blocks) nodes above each block, see
    :class:`blockml.features.page_context.PageContext`; ``levels`` the ancestors to compare, for each grouping: without
    ancestors all blocks are one group. ``classes`` are (n_nodes + 1,) numbers of values of ``class``, the last one for
    "no node"; without them only tags count. Returns (len(levels), n_blocks) groups, numbered in the order of their
    first blocks.
    """
    codes = np.zeros(len(nodes) + 1, dtype=np.uint64)
    codes[:-1] = nodes.tag
    if len(classes):
        codes += len(nodes.names) * classes.astype(np.uint64)
    codes += np.uint64(1)
    codes[-1] = 0
    groups = np.empty((len(levels), chain.shape[1]), dtype=np.int64)
    for compared, group in zip(levels, groups, strict=True):
        key = np.zeros(chain.shape[1], dtype=np.uint64)
        for level in codes[chain[compared.first : compared.last][::-1]]:
            key = key * np.uint64(_FACTOR) + level
            key ^= key >> np.uint64(31)
        group[:] = number_keys(key)
    return groups
