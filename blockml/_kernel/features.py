"""Functions of the C extension that compute features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AttributeValues", "FeatureKernel", "PageTree", "Tables"]

#: Opaque results of ``new_page_tree``, ``new_attribute_values`` and ``new_tables``, whose contents were checked.
PageTree: TypeAlias = object
AttributeValues: TypeAlias = object
Tables: TypeAlias = object


class FeatureKernel(Protocol):
    """Functions that compute features."""

    def __hash__(self) -> int:
        """Return a hash, as modules do: tables are cached for each kernel."""

    @staticmethod
    def new_tables(
        tables: tuple[NDArray[np.generic], ...],
        tag_numbers: dict[str, int],
        role_bits: dict[str, int],
        keywords_elsewhere: Callable[[str], int],
        roles_elsewhere: Callable[[str], int],
        /,
    ) -> Tables:
        """Check and keep constants: read-only arrays in the order of :mod:`blockml.features.kernel_tables`.

        The functions return the bits of keywords and roles in values that are not ASCII.
        """

    @staticmethod
    def new_page_tree(
        reach: int,
        tag_names: tuple[str, ...],
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
    ) -> PageTree:
        """Copy and check the nodes and blocks of a page with at least one block.

        ``given``, ``pairs``, ``number`` and ``ends`` are the fields of :class:`blockml.page.attributes.Attributes`;
        ``holder`` and ``first`` are the parent and the first text of each block. ``reach`` is the number of ancestors
        used: see :data:`blockml.features.page_context.REACH`.
        """

    @staticmethod
    def new_attribute_values(tree: PageTree, tables: Tables, /) -> AttributeValues:
        """Number the values of attributes and group blocks.

        Reference: :attr:`~blockml.features.page_context.PageContext.attribute_values` and
        :attr:`~blockml.features.page_context.PageContext.block_groups`.
        """

    @staticmethod
    def block_groups(values: AttributeValues, /) -> bytes:
        """Return the number of each block's group (n_groupings, n_blocks) as bytes of int32."""

    @staticmethod
    def family_columns() -> list[tuple[int, int, str]]:
        """Name the columns of :meth:`write_columns`: see :func:`blockml.features.kernel_tables.kernel_columns`."""

    @staticmethod
    def write_columns(
        tree: PageTree,
        values: AttributeValues | None,
        tables: Tables,
        titles: tuple[str, str] | None,
        row_of: NDArray[np.int64],
        matrix: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks).

        ``row_of`` is that of :class:`blockml.features.kernel_page.KernelRows`.
        """

    @staticmethod
    def ancestor_words(
        tree: PageTree,
        values: AttributeValues,
        tables: Tables,
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
        """Write the bag of each block and the start of each bag; return the number of bags and all words as int32.

        Reference: :func:`blockml.features.ancestor_words.ancestor_words`. ``elsewhere`` returns the checksums of a
        value that is not ASCII, as bytes of uint32.
        """

    @staticmethod
    def word_densities(
        lengths: NDArray[np.int32], counts: NDArray[np.int32], line_width: int, densities: NDArray[np.float32], /
    ) -> None:
        """Write the density (n_blocks,) of each block's words. Reference: ``blockml.features.density.word_density``."""
