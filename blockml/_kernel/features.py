"""What the compiled kernel does from blocks to features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureKernel", "Names", "Tables", "Tree"]

#: What ``page_tree``, ``page_names`` and ``held_tables`` make for other functions: checked once, and only they can look
#: into it.
Tree: TypeAlias = object
Names: TypeAlias = object
Tables: TypeAlias = object


class FeatureKernel(Protocol):
    """Functions of the features."""

    def __hash__(self) -> int:
        """Be hashable, as modules are: tables are cached for each kernel."""

    @staticmethod
    def held_tables(
        tables: tuple[NDArray[np.generic], ...],
        places: dict[str, int],
        role_bits: dict[str, int],
        keywords_elsewhere: Callable[[str], int],
        roles_elsewhere: Callable[[str], int],
        /,
    ) -> Tables:
        """Take what is the same of all pages, as read-only arrays: :mod:`blockml.features.kernel_families`.

        The last two tell the bits of a value that isn't ASCII.
        """

    @staticmethod
    def page_tree(
        reach: int,
        names: tuple[str, ...],
        texts: tuple[str, ...],
        given: list[Mapping[str, str] | None],
        pairs: bytes,
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        number: NDArray[np.int32],
        holder: NDArray[np.int32],
        first: NDArray[np.int32],
        flags: NDArray[np.uint8],
        ends: NDArray[np.int64],
        n_words: NDArray[np.int32],
        n_linked: NDArray[np.int32],
        /,
    ) -> Tree:
        """Take tags and texts, attributes, columns of nodes, parents and first texts of blocks, and what these hold.

        See :class:`blockml.features.page_context.PageContext` and :class:`blockml.page.attributes.Attributes`. Blocks
        are one or more.
        """

    @staticmethod
    def page_names(tree: Tree, tables: Tables, /) -> Names:
        """Read class, id and role of elements: ``PageContext.names`` and ``groups``."""

    @staticmethod
    def page_groups(names: Names, /) -> bytes:
        """Groups as bytes of int32: :attr:`blockml.features.page_context.PageContext.groups`."""

    @staticmethod
    def family_columns() -> tuple[tuple[int, list[tuple[int, str]]], ...]:
        """Name the columns that :meth:`page_rows` writes: see :func:`blockml.features.kernel_tables.kernel_columns`."""

    @staticmethod
    def page_rows(
        tree: Tree,
        names: Names | None,
        tables: Tables,
        titles: tuple[str, str] | None,
        row_of: NDArray[np.int64],
        matrix: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks): :class:`blockml.features.kernel_page.KernelRows`."""

    @staticmethod
    def page_bags(
        tree: Tree,
        names: Names,
        elsewhere: Callable[[str], bytes],
        most_names: int,
        most_parts: int,
        near: int,
        far: int,
        mask: int,
        bag: NDArray[np.int64],
        starts: NDArray[np.int64],
        /,
    ) -> tuple[int, bytes]:
        """Write bags of blocks and where bags start; return their number and their words as bytes of int32.

        See :func:`blockml.features.ancestor_words.bags`. ``elsewhere`` gives bytes of uint32 for a value that isn't
        ASCII.
        """

    @staticmethod
    def line_densities(
        lengths: NDArray[np.int32], counts: NDArray[np.int32], line_width: int, densities: NDArray[np.float32], /
    ) -> None:
        """Write the density (n_blocks,) of each block's words: :func:`blockml.features.density.word_density`."""
