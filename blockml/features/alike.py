"""Which blocks are built alike: numbers of groups by what stands above them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.features.ranks import ranked

__all__ = ["GROUPS", "grouped", "same_codes"]

#: Multiplier of a polynomial hash (odd, from the golden ratio; Knuth, *The Art of Computer Programming* 3, 6.4).
_FACTOR = 0x9E3779B97F4A7C15

#: Ways to call two blocks alike.
GROUPS: Mapping[str, str] = {
    "near": "tags and classes of the three nearest ancestors",
    "far": "tags and classes of all ancestors from the third on",
}


def grouped(chain: NDArray[np.int64], kinds: NDArray[np.uint64]) -> Mapping[str, NDArray[np.int64]]:
    """(n_blocks,) number of the group of each block, for each way in :data:`GROUPS`.

    Parameters
    ----------
    chain
        (levels, n_blocks) what stands above each block: indices of nodes, -1 above a root.
    kinds
        (n_nodes + 1,) codes of tags and classes; 0 at the end, for "no node".
    """
    return {"near": same_codes(chain[:3], kinds), "far": same_codes(chain[2:], kinds)}


def same_codes(chain: NDArray[np.int64], codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """(n_blocks,) number of the group of blocks with the same codes above, from (levels, n_blocks) and (n_nodes + 1,).

    Without levels all are one group.
    """
    return ranked(_hash(chain, codes))[2]


def _hash(chain: NDArray[np.int64], codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """(n_blocks,) key of the codes of each block's chain."""
    key = np.zeros(chain.shape[1], dtype=np.uint64)
    if kernel.compiled is not None:
        kernel.compiled.chain_keys(chain, len(key), _FACTOR, codes, key)
        return key
    for level in codes[chain[::-1]]:
        key = key * np.uint64(_FACTOR) + level
        key ^= key >> np.uint64(31)
    return key
