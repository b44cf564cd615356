"""Lines of the refined document, one tag or text each: the unit of distances in Kim et al. 2013 (sections 3.2, 4.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes

__all__ = ["VOID", "document_lines"]

#: Elements without an end tag (HTML standard, "void elements", and the obsolete ``param``).
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def document_lines(nodes: Nodes) -> NDArray[np.int32]:
    """Return (n_nodes,) line number of each node's start tag or text, from 1.

    Scripts, styles and similar elements are pruned from the refined document; they get the line of the next node.
    """
    n = len(nodes)
    listed = (nodes.flags & Flag.DROPPED) == 0
    void = nodes.named(VOID)
    ended = listed & ~void & (nodes.tag != 0)
    starts_before = np.cumsum(listed) - listed
    ends_before = np.bincount(nodes.end[ended], minlength=n + 1)[:n].cumsum()
    numbers: NDArray[np.int32] = (1 + starts_before + ends_before).astype(np.int32)
    return numbers
