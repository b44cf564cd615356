"""Which blocks are built alike: numbers of groups by what stands above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.features.factorize import number_keys
from blockml.page import Nodes

__all__ = ["GROUPS", "Levels", "alike"]

#: Multiplier of a polynomial hash (odd, from the golden ratio; Knuth, *The Art of Computer Programming* 3, 6.4).
_FACTOR = 0x9E3779B97F4A7C15

_NO_NAMES = np.zeros(0, dtype=np.int32)


class Levels(NamedTuple):
    """Ancestors from so many levels above the parent on, up to others; the last one not included."""

    first: int
    last: int


#: More levels than are ever looked at.
_ALL = 1000
#: Ways to call two blocks alike: by tags and classes of the three nearest ancestors, or of all from the third on.
GROUPS: Mapping[str, Levels] = {"near": Levels(0, 3), "far": Levels(2, _ALL)}


def alike(
    chain: NDArray[np.int64],
    nodes: Nodes,
    ways: Sequence[Levels],
    names: NDArray[np.int32] = _NO_NAMES,
) -> NDArray[np.int64]:
    """Number the groups of blocks with the same tags, and names, at some levels above.

    Parameters
    ----------
    chain, nodes
        (levels, n_blocks) the nodes above each block, and all nodes. See
        :class:`blockml.features.page_context.PageContext`.
    ways
        Levels, for each way to be alike. Without levels all blocks are one group.
    names
        (n_nodes + 1,) numbers of names, the last one for "no node"; without them tags alone count.

    Returns
    -------
    NDArray[np.int64]
        (len(ways), n_blocks).
    """
    groups = np.empty((len(ways), chain.shape[1]), dtype=np.int64)
    codes = np.zeros(len(nodes) + 1, dtype=np.uint64)
    codes[:-1] = nodes.tag
    if len(names):
        codes += len(nodes.names) * names.astype(np.uint64)
    codes += np.uint64(1)
    codes[-1] = 0
    for way, group in zip(ways, groups, strict=True):
        group[:] = number_keys(_hash(chain[way.first : way.last], codes))
    return groups


def _hash(chain: NDArray[np.integer], codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n_blocks,) key of the codes of each block's chain."""
    key = np.zeros(chain.shape[1], dtype=np.uint64)
    for level in codes[chain[::-1]]:
        key = key * np.uint64(_FACTOR) + level
        key ^= key >> np.uint64(31)
    return key
