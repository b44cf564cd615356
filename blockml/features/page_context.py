"""Intermediate results that several families of features share, computed once for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from blockml import _kernel
from blockml.features.keywords import AttributeValues, keyword_bits
from blockml.outline import Outline
from blockml.page import Blocks, Nodes, Page
from blockml.page.attributes import Attributes, searched_together
from blockml.page.lazy import cached_property
from blockml.text.words import ALNUM, CJK, CLAUSE, DIGIT, SENTENCE, SPACE, UPPER, classes, code_points

#: Maximum number of ancestors of a block that are used (our choice: 1 in 1,000 real blocks has more), to bound the cost
#: of deep pages.
REACH = 32

#: Classes of characters that families count, counted together.
COUNTED = np.array([ALNUM, SPACE, DIGIT, SENTENCE, CLAUSE, UPPER | ALNUM, CJK | ALNUM], dtype=np.uint8)
_ROW_OF = {mask: row for row, mask in enumerate(COUNTED.tolist())}

#: Names and properties of ``meta`` elements that features read, in lower case.
META = frozenset({"description", "og:description", "og:title", "og:type", "og:url"})
#: Each element that declares something of this has one of these words in its attributes.
_DECLARED = searched_together((b"og:title", b"og:type", b"og:url", b"description", b"canonical"), any_case=True)


class BlockAmounts(NamedTuple):
    """Numbers of words of the blocks of a page, (n_blocks,) each: all, linked, in running text."""

    words: NDArray[np.float64]
    linked: NDArray[np.float64]
    prose: NDArray[np.float64]


class PageContext:
    """A page and its intermediate results.

    Subtrees are ranges of blocks: node ``i`` has blocks ``low[i] … high[i] - 1``.

    Parameters
    ----------
    page
        The parsed page.
    tables
        Constants of the C extension, if it may compute intermediate results; see
        :func:`blockml.features.page_matrix.page_context`.

    Examples
    --------
    >>> import blockml
    >>> context = PageContext(blockml.parse("<div><p>one two<p>three</div>four"))
    >>> [context.nodes.name(node) for node in context.levels((1,))[0].tolist()]
    ['div', 'div', 'html']
    >>> context.total_of(context.chain[1], context.blocks.n_words).tolist()
    [3.0, 3.0, 4.0]
    """

    def __init__(self, page: Page, tables: _kernel.Tables | None = None) -> None:
        self.page = page
        self.nodes: Nodes = page.nodes
        self.blocks: Blocks = page.blocks
        self.outline = Outline(page)  # an outline computes its columns when they are read
        self._n = len(page.blocks)
        self.compiled = _kernel.compiled if tables is not None and self._n else None
        """The C extension; None without its tables, and for a page without blocks."""
        self._tables = tables

    def __len__(self) -> int:
        return self._n

    def __reduce__(self) -> tuple[type[PageContext], tuple[Page]]:
        return PageContext, (self.page,)  # what the C extension holds can't be pickled; Python computes the same

    @cached_property
    def kernel_page(self) -> KernelPage | None:
        """The page in the C extension; None where :attr:`compiled` is None."""
        if self.compiled is None or self._tables is None:
            return None
        return KernelPage(self.compiled, self._tables, self.page, REACH)

    @cached_property
    def chain(self) -> NDArray[np.int64]:
        """(levels, n_blocks) parent of each block, its parent and so on, at most :data:`REACH`; -1 above a root."""
        up = np.append(self.nodes.parent, -1).astype(np.int64)
        levels = [self.blocks.parent.astype(np.int64)]
        while len(levels) < REACH and (above := up[levels[-1]]).max(initial=-1) >= 0:
            levels.append(above)
        return np.array(levels)

    @cached_property
    def reached(self) -> NDArray[np.int64]:
        """(n_reached,) nodes of :attr:`chain`, each once, rising."""
        marked = np.zeros(len(self.nodes) + 1, dtype=bool)
        marked[self.chain] = True
        return np.flatnonzero(marked[:-1]).astype(np.int64, copy=False)

    @cached_property
    def started(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) number of blocks that start before each node; at the end number of all blocks."""
        counts = np.bincount(self.blocks.node, minlength=len(self.nodes))
        return np.append(0, np.cumsum(counts)).astype(np.int64)

    def levels(self, ks: Sequence[int]) -> NDArray[np.int64]:
        """(len(ks), n_blocks) ancestors ``ks`` levels above the parent, or the outermost one if there are fewer."""
        outermost = np.maximum((self.chain >= 0).sum(axis=0) - 1, 0)
        rows = np.minimum(np.array(ks, dtype=np.intp)[:, None], outermost)
        ancestors: NDArray[np.int64] = self.chain.ravel().take(rows * len(self) + np.arange(len(self)))
        return ancestors

    @cached_property
    def low(self) -> NDArray[np.intp]:
        """(n_nodes,) index of the first block that starts at or after the node."""
        return self.started[:-1]

    @cached_property
    def high(self) -> NDArray[np.intp]:
        """(n_nodes,) one past the last block that starts inside of the node."""
        return self.started[self.nodes.end]

    def most_above(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n_blocks,) largest of the values (n_nodes + 1,) of a block's ancestors; the last value is for "no node"."""
        highest: NDArray[np.float64] = values[self.chain].max(axis=0)
        return highest

    def total_of(self, nodes: NDArray[np.intp], values: NDArray[np.generic]) -> NDArray[np.float64]:
        """(…, *nodes.shape) sums of values (…, n_blocks) over the blocks in some nodes."""
        before = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        np.cumsum(values, axis=-1, dtype=np.float64, out=before[..., 1:])
        return before.take(self.high[nodes], axis=-1) - before.take(self.low[nodes], axis=-1)

    @cached_property
    def words(self) -> NDArray[np.float64]:
        """(n_blocks,) words."""
        return self.blocks.n_words.astype(np.float64)

    @cached_property
    def linked(self) -> NDArray[np.float64]:
        """(n_blocks,) words in links."""
        return self.blocks.n_linked.astype(np.float64)

    @cached_property
    def prose(self) -> NDArray[np.float64]:
        """(n_blocks,) words of blocks that read like running text, 0 for others.

        Running text has ten words or more, at most 3 in 10 of them linked. Ten words are where Kohlschütter et al.
        2010 (section 4) see short text end.
        """
        return np.where((self.words >= 10) & (self.linked <= 0.3 * self.words), self.words, 0.0)

    @cached_property
    def amounts(self) -> BlockAmounts:
        """Words, linked words and words of running text of each block."""
        return BlockAmounts(self.words, self.linked, self.prose)

    @cached_property
    def n_words(self) -> float:
        """Words of the page, at least 1."""
        return max(1.0, float(self.words.sum()))

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """(n_characters,) class bits of all texts, one line break after each."""
        return classes(code_points([*self.blocks.texts, ""]))

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """(n_blocks,) characters."""
        return np.array(list(map(len, self.blocks.texts)), dtype=np.float64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(n_blocks,) where each text starts in :attr:`kinds`."""
        sizes = self.lengths.astype(np.int64) + 1
        return np.cumsum(sizes) - sizes

    def characters(self, bits: int) -> NDArray[np.float64]:
        """(n_blocks,) number of characters that have all bits of one of :data:`COUNTED`."""
        counts: NDArray[np.float64] = self.counts[_ROW_OF[bits]]
        return counts

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """(len(COUNTED), n_blocks) number of characters of each class."""
        counts = np.empty((len(COUNTED), len(self)))
        for row, mask in zip(counts, COUNTED, strict=True):
            row[:] = np.add.reduceat((self.kinds & mask) == mask, self.starts, dtype=np.int64)
        return counts

    def tag_codes(self, table: TagTable) -> NDArray[Any]:
        """(n_tags + 1,) code of each tag's name, and at the end of "no node"."""
        return table.of(self.nodes.names)

    def codes_above(self, table: TagTable) -> NDArray[Any]:
        """(at most 4, n_blocks) codes of the names of a block's four nearest ancestors."""
        tag = np.append(self.nodes.tag, np.int32(len(self.nodes.names)))
        return self.tag_codes(table)[tag[self.chain[:4]]]

    def codes_of_nodes(self, table: TagTable) -> NDArray[Any]:
        """(n_nodes + 1,) code of each node's name, and at the end of "no node"."""
        codes: NDArray[Any] = self.tag_codes(table)[np.append(self.nodes.tag, -1)]
        return codes

    @cached_property
    def attribute_values(self) -> AttributeValues:
        """Values of ``class``, ``role``, ``id`` and others of the nodes above blocks."""
        return AttributeValues.of_nodes(self.nodes, self.reached)

    @cached_property
    def block_groups(self) -> tuple[NDArray[np.int32], ...]:
        """(n_blocks,) number of each block's group, for each of :data:`blockml.features.page_context.GROUPINGS`."""
        if not len(self):
            return tuple([np.zeros(0, dtype=np.int32) for _ in LEVELS_OF])
        if self.kernel_page is not None:
            groups = self.kernel_page.groups()
        else:
            groups = group_blocks(self.chain, self.nodes, LEVELS_OF, self.attribute_values.of["class"]).astype(np.int32)
        return tuple([groups[row] for row in range(len(LEVELS_OF))])  # faster than to iterate over an array

    @cached_property
    def path_groups(self) -> NDArray[np.int64]:
        """(n_blocks,) number of the group of blocks with the same tags above."""
        groups: NDArray[np.int64] = group_blocks(self.chain, self.nodes, (Levels(0, REACH),))[0]
        return groups

    @cached_property
    def keywords(self) -> NDArray[np.int64]:
        """(n_nodes + 1,) bits of the keyword groups in ``class`` and ``id`` of the nodes above blocks; 0 for others.

        See :func:`blockml.features.keywords.keyword_bits`.
        """
        values = self.attribute_values
        of_value = np.array(list(map(keyword_bits, values.values)), dtype=np.int64)
        return of_value[values.of["class"]] | of_value[values.of["id"]]

    @cached_property
    def meta(self) -> Mapping[str, str]:
        """Contents of the page's ``meta`` elements with a name or property in :data:`META`; the first of each."""
        return self._declared[0]

    @cached_property
    def canonical(self) -> str:
        """Canonical address that the page declares; empty without one."""
        return self._declared[1]

    @cached_property
    def _declared(self) -> tuple[Mapping[str, str], str]:
        """:attr:`meta` and :attr:`canonical`, from one search."""
        nodes, meta, canonical = self.nodes, dict[str, str](), None
        for node in nodes.with_any(_DECLARED, any_case=True):
            kind = nodes.name(node)
            if kind not in {"meta", "link"}:
                continue
            held = nodes.attributes[node]
            if kind == "meta":
                name = (held.get("property") or held.get("name") or "").lower()
                if name in META:
                    meta.setdefault(name, held.get("content") or "")
            elif canonical is None and (held.get("rel") or "").lower() == "canonical":
                canonical = held.get("href") or ""
        return meta, canonical or ""


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


class KernelRows(NamedTuple):
    """Columns that the C extension writes into a matrix."""

    row_of: NDArray[np.int64]  #: (n_columns,) row of each column that it knows; -1 for columns that are not asked for
    need_values: bool  #: Whether a column reads ``class``, ``id`` or roles of elements
    need_titles: bool  #: Whether a column compares texts with the page's title and description


class KernelPage:
    """A page with blocks in the C extension: its arrays are copied and checked once, then trusted.

    The page context holds it and not the other way round, so that both are freed without a garbage collection.
    """

    def __init__(self, compiled: _kernel.Compiled, tables: _kernel.Tables, page: Page, reach: int) -> None:
        nodes, blocks = page.nodes, page.blocks
        given, pairs, number, ends = _attributes(nodes)
        self.compiled, self._tables, self._n = compiled, tables, len(blocks)
        columns: _kernel.Arrays = {
            "tag": nodes.tag, "parent": nodes.parent, "depth": nodes.depth, "end": nodes.end, "attribute_set": number,
            "block_parent": blocks.parent, "block_node": blocks.node, "n_words": blocks.n_words,
            "n_linked": blocks.n_linked,
        }  # fmt: skip
        columns = {name: np.ascontiguousarray(column, dtype=np.int32) for name, column in columns.items()}
        columns["block_flags"] = np.ascontiguousarray(blocks.flags, dtype=np.uint8)
        columns["set_ends"] = np.ascontiguousarray(ends, dtype=np.int64)
        self.tree = compiled.new_page_tree(reach, tuple(nodes.names), tuple(blocks.texts), given, pairs, columns)

    @cached_property
    def names(self) -> _kernel.KernelAttributes:
        """Numbers of attributes' values and of block groups."""
        return self.compiled.new_attribute_values(self.tree, self._tables)

    def write(self, rows: KernelRows, titles: tuple[str, str] | None, matrix: NDArray[np.float32]) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks); ``titles`` are the page's title and description."""
        values = self.names if rows.need_values else None
        self.compiled.write_columns(self.tree, values, self._tables, titles, (rows.row_of, matrix))

    def groups(self) -> NDArray[np.int32]:
        """(n_groupings, n_blocks) number of each block's group."""
        return np.frombuffer(self.compiled.block_groups(self.names), dtype=np.int32).reshape(-1, self._n)

    def ancestor_words(self) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
        """Return the fields of :class:`blockml.features.ancestor_words.AncestorWords`: starts, words and bags."""
        bag, starts = np.empty(self._n, dtype=np.int64), np.empty(self._n + 1, dtype=np.int64)
        n_bags, words = self.compiled.ancestor_words(self.tree, self.names, self._tables, (bag, starts))
        return starts[: n_bags + 1], np.frombuffer(words, dtype=np.int32), bag


def _attributes(nodes: Nodes) -> tuple[list[Mapping[str, str] | None], bytes, NDArray[np.int32], NDArray[np.int64]]:
    """Return attributes of nodes as :class:`~blockml.page.attributes.Attributes` holds them."""
    held = nodes.attributes
    if isinstance(held, Attributes):
        return held.given, held.pairs, held.number, held.ends
    n = len(held)
    return [None, *held], b"", np.arange(1, n + 1, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)


def factorize(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sort keys and rank the unique ones.

    Returns the (n,) indices of the keys in rising order, equal keys in their own order; the (n_unique,) places where
    each unique key begins in that order; and the (n,) rank of each key.

    Examples
    --------
    >>> [found.tolist() for found in factorize(np.array([7, 3, 7], np.uint64))]
    [[1, 0, 2], [0, 1], [1, 0, 1]]
    """
    order = np.argsort(keys, kind="stable").astype(np.int64, copy=False)
    arranged = keys[order]
    is_first = np.ones(len(keys), dtype=bool)
    np.not_equal(arranged[1:], arranged[:-1], out=is_first[1:])
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.cumsum(is_first) - 1
    return order, is_first.nonzero()[0].astype(np.int64, copy=False), rank


def number_keys(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number keys (n,) in the order in which they first appear.

    Examples
    --------
    >>> number_keys(np.array([7, 3, 7], np.uint64)).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class TagTable:
    """Codes of element names.

    Examples
    --------
    >>> TagTable({"p": 5, "li": 7}, other=1).of(("#text", "p", "li")).tolist()
    [1, 5, 7, 0]
    """

    codes: Mapping[str, int]
    other: int = 0  #: Code of all other names
    none: int = 0  #: Code of "no node"
    dtype: DTypeLike = np.int64

    def of(self, names: Sequence[str]) -> NDArray[np.generic]:
        """Look the names of a page's tags up: (n_names + 1,) codes, the last one that of "no node"."""
        return np.array([*(self.codes.get(name, self.other) for name in names), self.none], dtype=self.dtype)
