"""Joins the rest of a page with too many blocks to one block and one text node, so that it costs only its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.page import Attributes, Blocks, Nodes, Separator
from blockml.page.attributes import NO_ATTRIBUTES
from blockml.parsing.segmentation import common_ancestor

__all__ = ["join_rest"]


def join_rest(nodes: Nodes, blocks: Blocks, n_blocks: int) -> tuple[Nodes, Blocks]:
    """Return a page's tree and blocks, in which the last block joins all later ones, and one node their nodes.

    The joined block's text node is the last node, and a child of the deepest element around the block.

    Parameters
    ----------
    nodes
        The tree.
    blocks
        More than ``n_blocks`` blocks of the page.
    n_blocks
        Number of blocks to return, at least 1.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>one<p>two<p>three<p>four")
    >>> nodes, blocks = join_rest(page.nodes, page.blocks, 2)
    >>> blocks.texts, nodes.texts[-1], len(nodes), nodes.xpath(len(nodes) - 1)
    (('one', 'two three four'), 'two three four', 7, '/html/body')
    """
    first = n_blocks - 1
    start = int(blocks.node[first])
    is_glued = (blocks.separators[first + 1 :] == Separator.GLUED).tolist()
    rest = zip(blocks.texts[first + 1 :], is_glued, strict=True)
    text = blocks.texts[first] + "".join([text if glued else " " + text for text, glued in rest])
    parent = int(common_ancestor(nodes, blocks.node[first : first + 1], blocks.last_node[-1:])[0])
    if parent < 0 and nodes.parent[start] >= 0:  # content after </html> has a separate root
        parent = nodes.ancestors(start)[-1]
    flags = nodes.flags[parent if parent >= 0 else start]

    def cut(column: NDArray[np.int32], last: int) -> NDArray[np.int32]:
        return np.append(column[:first], np.int32(last))

    joined = Blocks(
        texts=(*blocks.texts[:first], text),
        n_words=cut(blocks.n_words, blocks.n_words[first:].sum()),
        n_linked=cut(blocks.n_linked, blocks.n_linked[first:].sum()),
        first_line=blocks.first_line[:n_blocks].copy(),
        last_line=cut(blocks.last_line, blocks.last_line[-1]),
        parent=cut(blocks.parent, parent),
        node=blocks.node[:n_blocks].copy(),
        last_node=cut(blocks.last_node, start),
        flags=np.append(blocks.flags[:first], flags),
        separators=blocks.separators[:n_blocks].copy(),
        word_lengths=blocks.word_lengths,
        parents=(*blocks.parents[:first], nodes.name(parent) if parent >= 0 else ""),
    )
    return _with_last(nodes, start, parent, text), joined


def _with_last(nodes: Nodes, n: int, parent: int, text: str) -> Nodes:
    """Return the first ``n`` nodes and, as last node, a text in an element that is open there; -1 for no element."""
    end = np.minimum(nodes.end[:n], n)
    around = [parent, *nodes.ancestors(parent)] if parent >= 0 else []
    end[around] = n + 1
    depth, flags = np.int32(len(around)), nodes.flags[parent if parent >= 0 else n]
    return Nodes(
        names=nodes.names,
        tag=np.append(nodes.tag[:n], np.int32(0)),
        parent=np.append(nodes.parent[:n], np.int32(parent)),
        depth=np.append(nodes.depth[:n], depth),
        end=np.append(end, np.int32(n + 1)),
        flags=np.append(nodes.flags[:n], flags),
        attributes=_first_attributes(nodes, n),
        texts=[*nodes.texts[:n], text],
    )


def _first_attributes(nodes: Nodes, n: int) -> Sequence[Mapping[str, str]]:
    """Return the attributes of the first nodes, and an empty set for one more."""
    held = nodes.attributes
    if not isinstance(held, Attributes):
        return [*held[:n], NO_ATTRIBUTES]
    number = np.append(held.number[:n], np.int32(0))
    n_sets = int(number.max()) + 1
    return Attributes(number, held.given[:n_sets], held.pairs[: int(held.ends[n_sets - 1])], held.ends[:n_sets].copy())
