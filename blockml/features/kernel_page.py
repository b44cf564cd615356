"""A page as the C extension holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Nodes, Page
from blockml.page.attributes import Attributes
from blockml.page.cached import cached_property


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
