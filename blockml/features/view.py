"""What several families of features count with, computed once a page and only if asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blockml.features.keywords import keyword_bits
from blockml.page import Blocks, Nodes, Page
from blockml.parsing.characters import classes, code_points

__all__ = ["REACH", "View"]

#: Ancestors that are looked at above each block (our choice: of real blocks, 1 in 1,000 has more). Bounds the cost of
#: a deep page.
REACH = 32


class View:
    """A page as features see it.

    Sums over subtrees are taken over blocks: those of node ``i`` are ``low[i] … high[i] - 1``.

    Examples
    --------
    >>> import blockml
    >>> view = View(blockml.parse("<div><p>one two<p>three</div>four"))
    >>> view.chain_names(1)
    ['div', 'div', 'html']
    >>> view.total(view.blocks.n_words)[view.chain[1]].tolist()
    [3.0, 3.0, 4.0]
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.nodes: Nodes = page.nodes
        self.blocks: Blocks = page.blocks

    def __len__(self) -> int:
        return len(self.blocks)

    @cached_property
    def chain(self) -> NDArray[np.intp]:
        """(levels, n_blocks) the block's parent, the parent's parent … at most :data:`REACH`; -1 above a root."""
        levels = []
        here = self.blocks.parent.astype(np.intp)
        up = np.append(self.nodes.parent, -1)
        for _ in range(REACH):
            levels.append(here)
            here = up[here]
            if (here < 0).all():
                break
        return np.array(levels)

    def level(self, k: int) -> NDArray[np.intp]:
        """(n_blocks,) the ancestor ``k`` levels above the parent; the outermost one where there are less."""
        last = np.maximum((self.chain >= 0).sum(axis=0) - 1, 0)
        chosen: NDArray[np.intp] = self.chain[np.minimum(k, last), np.arange(len(self))]
        return chosen

    def chain_names(self, k: int) -> list[str]:
        """Names of the elements of :meth:`level`."""
        return [self.nodes.name(node) for node in self.level(k).tolist()]

    @cached_property
    def low(self) -> NDArray[np.intp]:
        """(n_nodes,) the first block that starts at the node or behind its start."""
        return np.searchsorted(self.blocks.node, np.arange(len(self.nodes)))

    @cached_property
    def high(self) -> NDArray[np.intp]:
        """(n_nodes,) one past the last block that starts inside of the node."""
        return np.searchsorted(self.blocks.node, self.nodes.end)

    def total(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """(n_nodes,) sum of values (n_blocks,) over the blocks of each node."""
        before = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        sums: NDArray[np.float64] = before[self.high] - before[self.low]
        return sums

    @cached_property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        return self.blocks.n_words.astype(np.float64)

    @cached_property
    def linked(self) -> NDArray[np.float64]:
        """(n_blocks,) words in links."""
        return self.blocks.n_linked.astype(np.float64)

    @cached_property
    def n_words(self) -> float:
        """Words of the page, at least 1."""
        return max(1.0, float(self.words.sum()))

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """(n_characters,) class bits of all texts, one line break after each."""
        return classes(code_points([*self.blocks.texts, ""]))

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """(n_blocks,) where each text starts in :attr:`kinds`."""
        lengths = self.lengths.astype(np.intp)
        starts: NDArray[np.intp] = np.cumsum(lengths + 1) - lengths - 1
        return starts

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """(n_blocks,) characters."""
        return np.array([len(text) for text in self.blocks.texts], dtype=np.float64)

    def characters(self, bits: int) -> NDArray[np.float64]:
        """(n_blocks,) characters of a class, or of several at once; see :mod:`blockml.parsing.characters`."""
        return np.add.reduceat((self.kinds & bits) == bits, self.starts, dtype=np.int64).astype(np.float64)

    @cached_property
    def prose(self) -> NDArray[np.float64]:
        """(n_blocks,) words of blocks that read like running text: ten words or more, hardly any of them linked.

        Ten words are where Kohlschütter et al. 2010 (section 4) see short text end.
        """
        return np.where((self.words >= 10) & (self.linked <= 0.3 * self.words), self.words, 0.0)

    def named_tags(self, codes: Mapping[str, int], other: int) -> NDArray[np.intp]:
        """(n_nodes + 1,) code of each node's name; the entry at the end, for "no node", has ``other``."""
        code = np.array([codes.get(name, other) for name in self.nodes.names], dtype=np.intp)
        return np.append(code[self.nodes.tag], other)

    @cached_property
    def elements(self) -> list[int]:
        """Indices of elements that have attributes."""
        return [node for node, attribute in enumerate(self.nodes.attributes) if attribute]

    @cached_property
    def styles(self) -> NDArray[np.intp]:
        """(n_nodes + 1,) number of each element's ``class``, the same for the same text; 0 without one."""
        numbers: dict[str, int] = {"": 0}
        column = np.zeros(len(self.nodes) + 1, dtype=np.intp)
        attributes = self.nodes.attributes
        for node in self.elements:
            if (style := attributes[node].get("class")) is not None:
                column[node] = numbers.setdefault(style, len(numbers))
        return column

    @cached_property
    def kind_of_node(self) -> NDArray[np.intp]:
        """(n_nodes + 1,) number of each element's tag and ``class`` together."""
        return np.append(self.nodes.tag, 0) + len(self.nodes.names) * self.styles

    @cached_property
    def keywords(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) bits of the groups of words in ``class`` and ``id``; see :func:`keyword_bits`."""
        known: dict[str, int] = {}
        bits = np.zeros(len(self.nodes) + 1, dtype=np.int64)
        for node in self.elements:
            attribute = self.nodes.attributes[node]
            for key in ("class", "id"):
                if value := attribute.get(key):
                    if value not in known:
                        known[value] = keyword_bits(value)
                    bits[node] |= known[value]
        return bits
