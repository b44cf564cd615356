"""What several families of features count with, computed once a page and only if asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml import kernel
from blockml.attributes import Attributes
from blockml.features.alike import GROUPS, Levels, alike
from blockml.features.keywords import all_bits
from blockml.features.names import Names, numbered
from blockml.features.tags import TagTable, tag_places
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
_NOWHERE: tuple[NDArray[np.float32], Mapping[str, slice]] = np.zeros((0, 0), dtype=np.float32), {}
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
        self.compiled = kernel.compiled if len(page.blocks) else None
        """The compiled kernel; None where there is none, and of a page without blocks."""
        self._places: dict[int, tuple[NDArray[np.float32], Mapping[str, slice]]] = {}  # of each thread

    def __len__(self) -> int:
        return len(self.blocks)

    def rows(self, names: tuple[str, ...]) -> NDArray[np.float32]:
        """(len(names), n_blocks) where a family writes its columns: where they will lie, if a matrix is being made."""
        matrix, places = self._places.get(get_ident(), _NOWHERE)
        place = places.get(names[0])
        return np.empty((len(names), len(self)), dtype=np.float32) if place is None else matrix[place]

    @contextmanager
    def writing(self, matrix: NDArray[np.float32], places: Mapping[str, slice]) -> Iterator[None]:
        """Let families write all of their columns into rows of a matrix, given by the first name of each, for a while.

        Each thread that shares the view writes into a matrix of its own.
        """
        self._places[get_ident()] = matrix, places
        try:
            yield
        finally:
            del self._places[get_ident()]

    @property
    def tree(self) -> kernel.Tree | None:
        """What the kernel knows of all this; None without it."""
        return self._above[3]

    @property
    def chain(self) -> NDArray[np.int64]:
        """(levels, n_blocks) the block's parent, the parent's parent … at most :data:`REACH`; -1 above a root."""
        return self._above[0]

    @property
    def reached(self) -> NDArray[np.int64]:
        """Nodes of :attr:`chain`, each once, rising."""
        return self._above[1]

    @property
    def started(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) blocks that start before each node, and all of them."""
        return self._above[2]

    @cached_property
    def _above(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], kernel.Tree | None]:
        """What :attr:`chain`, :attr:`reached`, :attr:`started` and :attr:`tree` are."""
        nodes, blocks, n_nodes = self.nodes, self.blocks, len(self.nodes)
        if (compiled := self.compiled) is not None:
            chain, reached = np.empty((REACH, len(self)), dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
            started = np.empty(n_nodes + 1, dtype=np.int64)
            tag, parent, depth, end = _int32(nodes.tag, nodes.parent, nodes.depth, nodes.end)
            holder, first = _int32(blocks.parent, blocks.node)
            tree, n_levels, n_reached = compiled.tree_above(
                len(nodes.names), tag, parent, depth, end, holder, first, chain, reached, started
            )
            return chain[:n_levels], reached[:n_reached], started, tree
        levels = []
        here = blocks.parent.astype(np.int64)
        up = np.append(nodes.parent, -1).astype(np.int64)
        for _ in range(REACH):
            levels.append(here)
            here = up[here]
            if here.max(initial=-1) < 0:
                break
        marked = np.zeros(n_nodes + 1, dtype=bool)
        marked[np.array(levels)] = True
        started = np.zeros(n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(blocks.node, minlength=n_nodes), out=started[1:])
        return np.array(levels), np.flatnonzero(marked[:-1]).astype(np.int64, copy=False), started, None

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
    def low(self) -> NDArray[np.intp]:
        """(n_nodes,) the first block that starts at the node or behind its start."""
        return self.started[:-1]

    @cached_property
    def high(self) -> NDArray[np.intp]:
        """(n_nodes,) one past the last block that starts inside of the node."""
        return self.started[self.nodes.end]

    def most_above(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_blocks,) largest value (n_nodes + 1,), the last for "no node", in each column of the chain."""
        highest: NDArray[np.float64] = values[self.chain].max(axis=0)
        return highest

    def total_of(self, nodes: NDArray[np.intp], values: NDArray[np.generic]) -> NDArray[np.float64]:
        """(…, *nodes.shape) sums of values (…, n_blocks) over the blocks of some nodes."""
        before = _sums_before(values)
        sums: NDArray[np.float64] = before.take(self.high[nodes], axis=-1) - before.take(self.low[nodes], axis=-1)
        return sums

    @property
    def amounts(self) -> NDArray[np.float64]:
        """(3, n_blocks) words, words in links, and words of running text.

        Blocks that read like running text have ten words or more, hardly any of them linked. Ten words are where
        Kohlschütter et al. 2010 (section 4) see short text end.
        """
        return self._words[0]

    @property
    def totals(self) -> tuple[float, float]:
        """Words of the page, at least 1, and words of its running text."""
        return self._words[1]

    @cached_property
    def _words(self) -> tuple[NDArray[np.float64], tuple[float, float]]:
        """What :attr:`amounts` and :attr:`totals` are."""
        amounts, blocks = np.empty((3, len(self))), self.blocks
        if kernel.compiled is not None:
            all_words, in_links = _int32(blocks.n_words, blocks.n_linked)
            n_words, n_prose = kernel.compiled.word_amounts(all_words, in_links, amounts)
        else:
            words, linked, prose = amounts
            words[:], linked[:] = blocks.n_words, blocks.n_linked
            np.multiply(words, (words >= 10) & (linked <= 0.3 * words), out=prose)
            n_words, n_prose = float(words.sum()), float(prose.sum())
        return amounts, (max(1.0, n_words), n_prose)

    @property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        words: NDArray[np.float64] = self._words[0][0]
        return words

    @property
    def linked(self) -> NDArray[np.float64]:
        """(n_blocks,) words in links."""
        linked: NDArray[np.float64] = self._words[0][1]
        return linked

    @property
    def prose(self) -> NDArray[np.float64]:
        """(n_blocks,) words of blocks that read like running text."""
        prose: NDArray[np.float64] = self._words[0][2]
        return prose

    @property
    def n_words(self) -> float:
        """Words of the page, at least 1."""
        return self._words[1][0]

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
    def _tag_places(self) -> NDArray[np.intp]:
        """Places of the page's tags in tables."""
        return tag_places(self.nodes.names)

    def tag_codes(self, table: TagTable) -> NDArray[Any]:
        """(n_tags + 1,) a code for the name of each tag, and at the end for "no node"."""
        return table.of(self._tag_places)

    def codes_above(self, table: TagTable) -> NDArray[Any]:
        """(at most 4, n_blocks) :meth:`tag_codes` of the block's parent, the parent's parent …."""
        tag = np.append(self.nodes.tag, np.int32(len(self.nodes.names)))
        codes: NDArray[Any] = self.tag_codes(table)[tag[self.chain[:4]]]
        return codes

    def codes_of_nodes(self, table: TagTable) -> NDArray[Any]:
        """(n_nodes + 1,) code of each node's name, and at the end of "no node"."""
        codes: NDArray[Any] = self.tag_codes(table)[np.append(self.nodes.tag, -1)]
        return codes

    @cached_property
    def names(self) -> Names:
        """What attributes call the elements."""
        return numbered(self.nodes, self.reached)

    def classes_of(self, elements: NDArray[np.int64]) -> NDArray[np.int32]:
        """(n_nodes + 1,) number of the ``class`` of elements, also of such that aren't above blocks; rising indices."""
        return self.names.classes_too(self.nodes, elements)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """(n_ways, n_blocks) number of each block's group, for each way in :data:`blockml.features.alike.GROUPS`."""
        return alike(self.tree, self.chain, self.nodes, tuple(GROUPS.values()), self.names.of["class"])

    @cached_property
    def same_path(self) -> NDArray[np.int64]:
        """(1, n_blocks) number of the group of blocks with the same tags above."""
        return alike(self.tree, self.chain, self.nodes, (Levels(0, REACH),))

    @cached_property
    def name_bits(self) -> NDArray[np.int64]:
        """(n_names,) bits of the groups of words in each value of :attr:`names`.

        See :func:`blockml.features.keywords.keyword_bits`.
        """
        return all_bits(list(self.names.values))

    @cached_property
    def keywords(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) bits of the groups of words in ``class`` and ``id`` of the nodes above blocks; 0 for others.

        See :func:`blockml.features.keywords.keyword_bits`.
        """
        bits: NDArray[np.int64] = self.name_bits[self.names.of["class"]]
        bits |= self.name_bits[self.names.of["id"]]
        return bits

    @cached_property
    def meta(self) -> Mapping[str, str]:
        """Contents of the page's ``meta`` elements by name or property; the first one counts."""
        metas, held = self.nodes.places("meta"), self.nodes.attributes
        if kernel.compiled is not None and isinstance(held, Attributes):
            contents = kernel.compiled.meta_contents(held.number, held.pairs, held.ends, metas)
            if contents is not None:
                return contents
        found: dict[str, str] = {}
        for node in metas.tolist():
            attribute = held[node]
            if name := attribute.get("property") or attribute.get("name"):
                found.setdefault(name.lower(), attribute.get("content") or "")
        return found


def _int32(*columns: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Columns as the kernel takes them."""
    return [np.ascontiguousarray(column, dtype=np.int32) for column in columns]


def _sums_before(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """(…, n + 1) sums of all values (…, n) before each, and of all."""
    before = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, dtype=np.float64, out=before[..., 1:])
    return before
