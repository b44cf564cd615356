"""What several families of features count with, computed once a page and only if asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.features.alike import grouped, same_codes
from blockml.features.keywords import all_bits
from blockml.features.names import Names, numbered
from blockml.page import Blocks, Nodes, Page
from blockml.parsing.characters import ALNUM, CJK, CLAUSE, DIGIT, SENTENCE, SPACE, UPPER, classes, code_points

__all__ = ["REACH", "View"]

#: Ancestors that are looked at above each block (our choice: of real blocks, 1 in 1,000 has more). Bounds the cost of
#: a deep page.
REACH = 32

#: Classes of characters that families count: all of them are counted at once.
_COUNTED = np.array([ALNUM, SPACE, DIGIT, SENTENCE, CLAUSE, UPPER | ALNUM, CJK | ALNUM], dtype=np.uint8)


class View:
    """A page as features see it.

    Sums over subtrees are taken over blocks: those of node ``i`` are ``low[i] … high[i] - 1``.

    Examples
    --------
    >>> import blockml
    >>> view = View(blockml.parse("<div><p>one two<p>three</div>four"))
    >>> view.chain_names(1)
    ['div', 'div', 'html']
    >>> view.total_of(view.chain[1], view.blocks.n_words).tolist()
    [3.0, 3.0, 4.0]
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.nodes: Nodes = page.nodes
        self.blocks: Blocks = page.blocks

    def __len__(self) -> int:
        return len(self.blocks)

    @cached_property
    def chain(self) -> NDArray[np.int64]:
        """(levels, n_blocks) the block's parent, the parent's parent … at most :data:`REACH`; -1 above a root."""
        if kernel.compiled is not None:
            chain = np.empty((REACH, len(self)), dtype=np.int64)
            parents, first = (np.ascontiguousarray(x.parent, dtype=np.int32) for x in (self.nodes, self.blocks))
            return chain[: kernel.compiled.chains(parents, first, chain)]
        levels = []
        here = self.blocks.parent.astype(np.int64)
        up = np.append(self.nodes.parent, -1).astype(np.int64)
        for _ in range(REACH):
            levels.append(here)
            here = up[here]
            if here.max(initial=-1) < 0:
                break
        return np.array(levels)

    @cached_property
    def reached(self) -> NDArray[np.int64]:
        """Nodes of :attr:`chain`, each once, rising."""
        marked = np.zeros(len(self.nodes) + 1, dtype=bool)
        marked[self.chain] = True
        return np.flatnonzero(marked[:-1]).astype(np.int64, copy=False)

    @cached_property
    def _outermost(self) -> NDArray[np.intp]:
        """(n_blocks,) level of the outermost ancestor."""
        outermost: NDArray[np.intp] = np.maximum((self.chain >= 0).sum(axis=0) - 1, 0)
        return outermost

    def level(self, k: int) -> NDArray[np.int64]:
        """(n_blocks,) the ancestor ``k`` levels above the parent; the outermost one where there are less."""
        chosen: NDArray[np.int64] = self.levels((k,))[0]
        return chosen

    def levels(self, ks: Sequence[int]) -> NDArray[np.int64]:
        """(len(ks), n_blocks) :meth:`level` of several levels."""
        rows = np.minimum(np.array(ks, dtype=np.intp)[:, None], self._outermost)
        return self.chain.ravel().take(rows * len(self) + np.arange(len(self)))

    def chain_names(self, k: int) -> list[str]:
        """Names of the elements of :meth:`level`."""
        return [self.nodes.name(node) for node in self.level(k).tolist()]

    @cached_property
    def _started(self) -> NDArray[np.intp]:
        """(n_nodes + 1,) blocks that start before each node, and all of them."""
        started = np.zeros(len(self.nodes) + 1, dtype=np.intp)
        np.cumsum(np.bincount(self.blocks.node, minlength=len(self.nodes)), out=started[1:])
        return started

    @cached_property
    def low(self) -> NDArray[np.intp]:
        """(n_nodes,) the first block that starts at the node or behind its start."""
        return self._started[:-1]

    @cached_property
    def high(self) -> NDArray[np.intp]:
        """(n_nodes,) one past the last block that starts inside of the node."""
        return self._started[self.nodes.end]

    def total_of(self, nodes: NDArray[np.intp], values: NDArray[np.generic]) -> NDArray[np.float64]:
        """(…, *nodes.shape) sums of values (…, n_blocks) over the blocks of some nodes."""
        before = _sums_before(values)
        sums: NDArray[np.float64] = before.take(self.high[nodes], axis=-1) - before.take(self.low[nodes], axis=-1)
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
    def starts(self) -> NDArray[np.int64]:
        """(n_blocks,) where each text starts in :attr:`kinds`."""
        lengths = self.lengths.astype(np.int64)
        starts: NDArray[np.int64] = np.cumsum(lengths + 1) - lengths - 1
        return starts

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """(n_blocks,) characters."""
        return np.array(list(map(len, self.blocks.texts)), dtype=np.float64)

    def characters(self, bits: int) -> NDArray[np.float64]:
        """(n_blocks,) characters of a class, or of several at once; see :mod:`blockml.parsing.characters`."""
        counts: NDArray[np.float64] | None = self._counts.get(bits)
        return self._counted(np.array([bits], dtype=np.uint8)).ravel() if counts is None else counts

    @cached_property
    def _counts(self) -> Mapping[int, NDArray[np.float64]]:
        """(n_blocks,) characters of the classes that families count."""
        return dict(zip(_COUNTED.tolist(), self._counted(_COUNTED), strict=True))

    def _counted(self, masks: NDArray[np.uint8]) -> NDArray[np.float64]:
        """(n_masks, n_blocks) characters that have all bits of a mask."""
        counts = np.empty((len(masks), len(self)))
        if kernel.compiled is not None:
            kernel.compiled.class_counts(self.kinds, self.starts, masks, counts)
            return counts
        for row, mask in zip(counts, masks, strict=True):
            row[:] = np.add.reduceat((self.kinds & mask) == mask, self.starts, dtype=np.int64)
        return counts

    @cached_property
    def prose(self) -> NDArray[np.float64]:
        """(n_blocks,) words of blocks that read like running text: ten words or more, hardly any of them linked.

        Ten words are where Kohlschütter et al. 2010 (section 4) see short text end.
        """
        return np.where((self.words >= 10) & (self.linked <= 0.3 * self.words), self.words, 0.0)

    @cached_property
    def tags_above(self) -> NDArray[np.int32]:
        """(at most 4, n_blocks) tag of the block's parent, the parent's parent …; the number of tags above a root."""
        return np.append(self.nodes.tag, np.int32(len(self.nodes.names)))[self.chain[:4]]

    def codes_above(self, codes: Mapping[str, int], other: int, none: int) -> NDArray[np.intp]:
        """(at most 4, n_blocks) :attr:`tags_above` by a code for each name; ``none`` above a root."""
        return np.array([*[codes.get(name, other) for name in self.nodes.names], none], dtype=np.intp)[self.tags_above]

    def named_tags(self, codes: Mapping[str, int], other: int) -> NDArray[np.intp]:
        """(n_nodes + 1,) code of each node's name; the entry at the end, for "no node", has ``other``."""
        code = np.array([codes.get(name, other) for name in self.nodes.names], dtype=np.intp)
        named = np.empty(len(self.nodes) + 1, dtype=np.intp)
        code.take(self.nodes.tag, out=named[:-1])
        named[-1] = other
        return named

    def parents_named(self, names: Set[str]) -> NDArray[np.bool_]:
        """(n_blocks,) whether the block's parent has one of these names."""
        return np.array([name in names for name in self.nodes.names], dtype=bool)[self._parent_tags]

    @cached_property
    def _parent_tags(self) -> NDArray[np.int32]:
        """(n_blocks,) tag of each block's parent."""
        return self.nodes.tag[self.blocks.parent]

    @cached_property
    def names(self) -> Names:
        """What attributes call the elements."""
        return numbered(self.nodes, self.reached)

    def built(self, elements: NDArray[np.int64]) -> NDArray[np.intp]:
        """(n_nodes + 1,) number of the tag and ``class`` together, of some elements; rising indices."""
        return self._built(numbered(self.nodes, elements, ("class",)).of["class"])

    def _built(self, classes: NDArray[np.int32]) -> NDArray[np.intp]:
        return np.append(self.nodes.tag, 0) + len(self.nodes.names) * classes.astype(np.intp)

    @cached_property
    def groups(self) -> Mapping[str, NDArray[np.int64]]:
        """(n_blocks,) number of each block's group, for each way in :data:`blockml.features.alike.GROUPS`."""
        kinds = (self._built(self.names.of["class"]) + 1).astype(np.uint64)
        kinds[-1] = 0
        return grouped(self.chain, kinds)

    @cached_property
    def same_path(self) -> NDArray[np.int64]:
        """(n_blocks,) number of the group of blocks with the same tags above."""
        return same_codes(self.chain, np.append(self.nodes.tag + 1, 0).astype(np.uint64))

    @cached_property
    def keywords(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) bits of the groups of words in ``class`` and ``id`` of the nodes above blocks; 0 for others.

        See :func:`blockml.features.keywords.keyword_bits`.
        """
        first, second = (self.names.of[name][self.reached] for name in ("class", "id"))
        of_value = np.zeros(len(self.names.values), dtype=np.int64)
        of_value[first] = of_value[second] = 1
        used = np.flatnonzero(of_value)
        of_value[used] = all_bits([self.names.values[number] for number in used.tolist()])
        bits = np.zeros(len(self.nodes) + 1, dtype=np.int64)
        bits[self.reached] = of_value[first] | of_value[second]
        return bits

    @cached_property
    def meta(self) -> Mapping[str, str]:
        """Contents of the page's ``meta`` elements by name or property; the first one counts."""
        found: dict[str, str] = {}
        if "meta" in self.nodes.names:
            for node in np.flatnonzero(self.nodes.named({"meta"})).tolist():
                attribute = self.nodes.attributes[node]
                if name := attribute.get("property") or attribute.get("name"):
                    found.setdefault(name.lower(), attribute.get("content") or "")
        return found


def _sums_before(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """(…, n + 1) sums of all values (…, n) before each, and of all."""
    before = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, dtype=np.float64, out=before[..., 1:])
    return before
