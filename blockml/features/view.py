"""What several families of features count with, computed once a page and only if asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from threading import get_ident

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.features.alike import grouped, same_codes
from blockml.features.keywords import all_bits
from blockml.features.names import Names, numbered
from blockml.page import Blocks, Nodes, Page
from blockml.parsing.characters import (
    ALNUM,
    CJK,
    CLAUSE,
    DIGIT,
    SENTENCE,
    SPACE,
    UPPER,
    class_table,
    classes,
    code_points,
)

__all__ = ["COUNTED", "REACH", "View"]

#: Ancestors that are looked at above each block (our choice: of real blocks, 1 in 1,000 has more). Bounds the cost of
#: a deep page.
REACH = 32

#: Classes of characters that families count: all of them are counted at once.
COUNTED = np.array([ALNUM, SPACE, DIGIT, SENTENCE, CLAUSE, UPPER | ALNUM, CJK | ALNUM], dtype=np.uint8)
_ROW_OF = {mask: row for row, mask in enumerate(COUNTED.tolist())}


class View:
    """A page as features see it.

    Sums over subtrees are taken over blocks: those of node ``i`` are ``low[i] … high[i] - 1``.

    Examples
    --------
    >>> import blockml
    >>> view = View(blockml.parse("<div><p>one two<p>three</div>four"))
    >>> [view.nodes.name(node) for node in view.levels((1,))[0].tolist()]
    ['div', 'div', 'html']
    >>> view.total_of(view.chain[1], view.blocks.n_words).tolist()
    [3.0, 3.0, 4.0]
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.nodes: Nodes = page.nodes
        self.blocks: Blocks = page.blocks
        self._places: dict[int, Mapping[tuple[str, ...], NDArray[np.float32]]] = {}  # of each thread

    def __len__(self) -> int:
        return len(self.blocks)

    def rows(self, names: tuple[str, ...]) -> NDArray[np.float32]:
        """(len(names), n_blocks) where a family writes its columns: where they will lie, if a matrix is being made."""
        place = self._places.get(get_ident(), {}).get(names)
        return np.empty((len(names), len(self)), dtype=np.float32) if place is None else place

    @contextmanager
    def writing(self, places: Mapping[tuple[str, ...], NDArray[np.float32]]) -> Iterator[None]:
        """Let families write into parts of a matrix, given by the names of their columns, for a while.

        Each thread that shares the view writes into a matrix of its own.
        """
        self._places[get_ident()] = places
        try:
            yield
        finally:
            del self._places[get_ident()]

    @cached_property
    def chain(self) -> NDArray[np.int64]:
        """(levels, n_blocks) the block's parent, the parent's parent … at most :data:`REACH`; -1 above a root."""
        if kernel.compiled is not None and len(self):
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
        return np.flatnonzero(self._is_reached[:-1]).astype(np.int64, copy=False)

    @cached_property
    def _is_reached(self) -> NDArray[np.bool_]:
        """(n_nodes + 1,) whether a node is one of :attr:`chain`; the last is for "no node"."""
        marked = np.zeros(len(self.nodes) + 1, dtype=bool)
        marked[self.chain] = True
        return marked

    @cached_property
    def _outermost(self) -> NDArray[np.intp]:
        """(n_blocks,) level of the outermost ancestor."""
        outermost: NDArray[np.intp] = np.maximum((self.chain >= 0).sum(axis=0) - 1, 0)
        return outermost

    def levels(self, ks: Sequence[int]) -> NDArray[np.int64]:
        """(len(ks), n_blocks) the ancestors so many levels above the parent; the outermost one where there are less."""
        rows = np.minimum(np.array(ks, dtype=np.intp)[:, None], self._outermost)
        return self.chain.ravel().take(rows * len(self) + np.arange(len(self)))

    @cached_property
    def started(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) blocks that start before each node, and all of them."""
        started = np.zeros(len(self.nodes) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.blocks.node, minlength=len(self.nodes)), out=started[1:])
        return started

    @cached_property
    def low(self) -> NDArray[np.intp]:
        """(n_nodes,) the first block that starts at the node or behind its start."""
        return self.started[:-1]

    @cached_property
    def high(self) -> NDArray[np.intp]:
        """(n_nodes,) one past the last block that starts inside of the node."""
        return self.started[self.nodes.end]

    def most_above(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_blocks,) largest value (n_nodes + 1,), the last for "no node", in each column of the chain."""
        if kernel.compiled is not None:
            most = np.empty(len(self))
            kernel.compiled.most_above(self.chain, len(self), values, most)
            return most
        highest: NDArray[np.float64] = values[self.chain].max(axis=0)
        return highest

    def total_of(self, nodes: NDArray[np.intp], values: NDArray[np.generic]) -> NDArray[np.float64]:
        """(…, *nodes.shape) sums of values (…, n_blocks) over the blocks of some nodes."""
        before = _sums_before(values)
        sums: NDArray[np.float64] = before.take(self.high[nodes], axis=-1) - before.take(self.low[nodes], axis=-1)
        return sums

    @cached_property
    def amounts(self) -> NDArray[np.float64]:
        """(3, n_blocks) words, words in links, and words of running text.

        Blocks that read like running text have ten words or more, hardly any of them linked. Ten words are where
        Kohlschütter et al. 2010 (section 4) see short text end.
        """
        amounts = np.empty((3, len(self)))
        words, linked, prose = amounts
        words[:], linked[:] = self.blocks.n_words, self.blocks.n_linked
        np.multiply(words, (words >= 10) & (linked <= 0.3 * words), out=prose)
        return amounts

    @cached_property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        words: NDArray[np.float64] = self.amounts[0]
        return words

    @cached_property
    def linked(self) -> NDArray[np.float64]:
        """(n_blocks,) words in links."""
        linked: NDArray[np.float64] = self.amounts[1]
        return linked

    @cached_property
    def prose(self) -> NDArray[np.float64]:
        """(n_blocks,) words of blocks that read like running text."""
        prose: NDArray[np.float64] = self.amounts[2]
        return prose

    @cached_property
    def n_words(self) -> float:
        """Words of the page, at least 1."""
        return max(1.0, float(self.words.sum()))

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """(n_characters,) class bits of all texts, one line break after each."""
        return self._characters[0]

    @property
    def starts(self) -> NDArray[np.int64]:
        """(n_blocks,) where each text starts in :attr:`kinds`."""
        return self._characters[1]

    @property
    def lengths(self) -> NDArray[np.float64]:
        """(n_blocks,) characters."""
        return self._characters[2]

    @cached_property
    def _characters(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float64]]:
        """What :attr:`kinds`, :attr:`starts` and :attr:`lengths` are."""
        texts = self.blocks.texts
        if kernel.compiled is not None:
            starts, lengths = np.empty(len(texts), dtype=np.int64), np.empty(len(texts))
            kinds = kernel.compiled.text_classes(tuple(texts), class_table(), starts, lengths)
            return np.frombuffer(kinds, dtype=np.uint8), starts, lengths
        lengths = np.array(list(map(len, texts)), dtype=np.float64)
        starts = np.cumsum(lengths.astype(np.int64) + 1)
        starts -= lengths.astype(np.int64) + 1
        return classes(code_points([*texts, ""])), starts, lengths

    def characters(self, bits: int) -> NDArray[np.float64]:
        """(n_blocks,) characters of a class, or of several at once; see :mod:`blockml.parsing.characters`."""
        if bits not in _ROW_OF:
            return self._counted(np.array([bits], dtype=np.uint8)).ravel()
        counts: NDArray[np.float64] = self.counts[_ROW_OF[bits]]
        return counts

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """(len(COUNTED), n_blocks) characters of the classes that families count."""
        return self._counted(COUNTED)

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
    def tags_above(self) -> NDArray[np.int32]:
        """(at most 4, n_blocks) tag of the block's parent, the parent's parent …; the number of tags above a root."""
        return np.append(self.nodes.tag, np.int32(len(self.nodes.names)))[self.chain[:4]]

    def tag_codes(self, codes: Mapping[str, int], other: int, none: int) -> NDArray[np.int64]:
        """(n_tags + 1,) a code for the name of each tag; ``none`` at the end, for "no node"."""
        return np.array([*[codes.get(name, other) for name in self.nodes.names], none], dtype=np.int64)

    def codes_above(self, codes: Mapping[str, int], other: int, none: int) -> NDArray[np.int64]:
        """(at most 4, n_blocks) :meth:`tag_codes` of :attr:`tags_above`."""
        return self.tag_codes(codes, other, none)[self.tags_above]

    def named_tags(self, codes: Mapping[str, int], other: int) -> NDArray[np.int64]:
        """(n_nodes + 1,) code of each node's name; the entry at the end, for "no node", has ``other``."""
        named = np.empty(len(self.nodes) + 1, dtype=np.int64)
        self.tag_codes(codes, other, other).take(self.nodes.tag, out=named[:-1])
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

    def built(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the tag and ``class`` together, of some elements; rising indices."""
        others = elements[~self._is_reached[elements]]
        classes = self.names.classes_too(self.nodes, others)
        return self.nodes.tag[elements] + len(self.nodes.names) * classes[elements].astype(np.int64)

    @cached_property
    def groups(self) -> Mapping[str, NDArray[np.int64]]:
        """(n_blocks,) number of each block's group, for each way in :data:`blockml.features.alike.GROUPS`."""
        kinds = np.zeros(len(self.nodes) + 1, dtype=np.uint64)
        kinds[:-1] = self.nodes.tag
        kinds += len(self.nodes.names) * self.names.of["class"].astype(np.uint64) + np.uint64(1)
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
        of_value = all_bits(list(self.names.values))
        bits: NDArray[np.int64] = of_value[self.names.of["class"]]
        bits |= of_value[self.names.of["id"]]
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
