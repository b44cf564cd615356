"""Sums and nearest ancestors for all nodes of a tree, for extractors that score elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Blocks, Flag, Nodes


def text_lengths(nodes: Nodes) -> NDArray[np.int64]:
    """Return (n_nodes,) length of each text with white space normalised; 0 for elements and inside ``head``.

    Examples
    --------
    >>> import blockml
    >>> text_lengths(blockml.parse("<title>no</title><p>two  words</p>").nodes).tolist()
    [0, 0, 0, 0, 0, 0, 9]
    """
    lengths = np.zeros(len(nodes), dtype=np.int64)
    texts = np.flatnonzero((nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0))
    lengths[texts] = [len(" ".join(nodes.texts[node].split())) for node in texts.tolist()]
    return lengths


def nearest(nodes: Nodes, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return (n_nodes,) index of the nearest marked node, the node itself or an ancestor; -1 without one.

    Pointer jumping: each round doubles the distance looked up, so log2(depth) rounds suffice.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<div>a<b>c</b></div>").nodes
    >>> nearest(nodes, nodes.named({"div"})).tolist()
    [-1, -1, -1, 3, 3, 3, 3]
    """
    # The last entry is the parent of all roots: index -1 refers to it, and it refers to itself.
    up = np.append(np.where(marked, np.arange(len(nodes)), nodes.parent), -1)
    while (up != (further := up[up])).any():
        up = further
    return up[:-1]


def nearest_above(nodes: Nodes, marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return (n_nodes,) index of the nearest marked ancestor of each node; -1 without one."""
    return np.append(nearest(nodes, marked), -1)[nodes.parent]


def subtree_sums(nodes: Nodes, values: NDArray[Any]) -> NDArray[Any]:
    """Return (n_nodes,) sum of ``values`` (n_nodes,) over each node and its descendants.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<ul><li>a<li>b</ul>").nodes
    >>> subtree_sums(nodes, nodes.named({"li"})).tolist()
    [2, 0, 2, 2, 1, 0, 1, 0]
    """
    before = np.zeros(len(nodes) + 1, dtype=np.float64 if values.dtype.kind == "f" else np.int64)
    np.cumsum(values, out=before[1:])
    return before[nodes.end] - before[:-1]


def block_of_texts(nodes: Nodes, blocks: Blocks) -> NDArray[np.int32]:
    """Return (n_nodes,) block of each text; -1 for elements and for texts outside of blocks.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<title>no</title><p>one<p>two")
    >>> block_of_texts(page.nodes, page.blocks).tolist()
    [-1, -1, -1, -1, -1, -1, 0, -1, 1]
    """
    result = np.full(len(nodes), -1, dtype=np.int32)
    if len(blocks):
        texts = np.flatnonzero(nodes.tag == 0)
        owner = np.searchsorted(blocks.node, texts, side="right") - 1
        inside = (owner >= 0) & (texts <= blocks.last_node[owner])
        result[texts[inside]] = owner[inside]
    return result


def in_blocks(blocks: Blocks, values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return (n_blocks,) sum of integer or Boolean ``values`` (n_nodes,) from the first to the last text of each block.

    Text nodes of two blocks never interleave.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one <a>two</a></p><p>three</p>")
    >>> in_blocks(page.blocks, page.nodes.tag == 0).tolist()
    [2, 1]
    """
    before = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    sums: NDArray[np.int64] = before[blocks.last_node + 1] - before[blocks.node]
    return sums
