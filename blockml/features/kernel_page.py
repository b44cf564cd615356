"""A page as the kernel knows it, for all that features need of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.page import Nodes, Page
from blockml.page.attributes import Attributes

__all__ = ["KernelPage", "KernelRows"]


class KernelRows(NamedTuple):
    """Columns that the C extension writes into a matrix."""

    row_of: NDArray[np.int64]
    """(n_columns,) row of each column that it knows, -1 for those that no one asked for."""
    need_names: bool
    """Whether one of them looks at ``class``, ``id`` or roles."""
    need_titles: bool
    """Whether one of them compares texts with the page's title and description."""


class KernelPage:
    """A page with blocks as the kernel knows it: copied and checked once, then trusted.

    A view holds its sheet and not the other way round, so that both go as soon as nobody needs them.
    """

    def __init__(self, compiled: _kernel.Compiled, tables: _kernel.Tables, page: Page, reach: int) -> None:
        nodes, blocks = page.nodes, page.blocks
        given, pairs, number, ends = _attributes(nodes)
        self.compiled, self._tables, self._n = compiled, tables, len(blocks)
        tag, parent, depth, end, number = _int32(nodes.tag, nodes.parent, nodes.depth, nodes.end, number)
        holder, first, n_words, n_linked = _int32(blocks.parent, blocks.node, blocks.n_words, blocks.n_linked)
        self.tree = compiled.page_tree(
            reach, tuple(nodes.names), tuple(blocks.texts), given, pairs,
            tag, parent, depth, end, number, holder, first,
            np.ascontiguousarray(blocks.flags, dtype=np.uint8), ends, n_words, n_linked,
        )  # fmt: skip
        self._names: _kernel.Names | None = None

    @property
    def names(self) -> _kernel.Names:
        """What attributes call the elements."""
        if self._names is None:
            self._names = self.compiled.page_names(self.tree, self._tables)
        return self._names

    def write(self, rows: KernelRows, titles: tuple[str, str] | None, matrix: NDArray[np.float32]) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks); ``titles`` are the page's title and description."""
        names = self.names if rows.need_names else None
        self.compiled.page_rows(self.tree, names, self._tables, titles, rows.row_of, matrix)

    def groups(self) -> NDArray[np.int32]:
        """(n_ways, n_blocks) number of each block's group: :attr:`blockml.features.page_context.PageContext.groups`."""
        return np.frombuffer(self.compiled.page_groups(self.names), dtype=np.int32).reshape(-1, self._n)

    def bags(
        self, elsewhere: Callable[[str], bytes], bounds: tuple[int, int, int, int, int]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
        """Where bags start, their words, and the bag of each block: :func:`blockml.features.ancestor_words.bags`."""
        bag, starts = np.empty(self._n, dtype=np.int64), np.empty(self._n + 1, dtype=np.int64)
        n_bags, words = self.compiled.page_bags(self.tree, self.names, elsewhere, *bounds, bag, starts)
        return starts[: n_bags + 1], np.frombuffer(words, dtype=np.int32), bag


def _attributes(nodes: Nodes) -> tuple[list[Mapping[str, str] | None], bytes, NDArray[np.int32], NDArray[np.int64]]:
    """Attributes of nodes as :class:`~blockml.page.attributes.Attributes` holds them."""
    held = nodes.attributes
    if isinstance(held, Attributes):
        return held.given, held.pairs, held.number, np.ascontiguousarray(held.ends, dtype=np.int64)
    n = len(held)
    return [None, *held], b"", np.arange(1, n + 1, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)


def _int32(*columns: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Columns as the kernel takes them."""
    return [np.ascontiguousarray(column, dtype=np.int32) for column in columns]
