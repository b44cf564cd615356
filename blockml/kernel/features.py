"""What the compiled kernel does from blocks to features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["FeatureKernel", "Tree"]

#: What ``tree_above`` makes for other functions: a copy of its arguments, checked once, that only they can look into.
Tree: TypeAlias = object


class FeatureKernel(Protocol):
    """Functions of the features."""

    @staticmethod
    def numbered(
        number: NDArray[np.int32],
        given: list[Mapping[str, str] | None],
        pairs: bytes,
        ends: NDArray[np.int64],
        names: tuple[str, ...],
        chosen: NDArray[np.int64],
        numbers: dict[str, int],
        columns: NDArray[np.int32],
        /,
    ) -> bytearray:
        """Write columns (n_names, n_nodes + 1) of values' numbers; return bits of the names that had each value.

        See :func:`blockml.features.names.numbered`.
        """

    @staticmethod
    def keyword_bits(
        values: list[str],
        letters: NDArray[np.uint8],
        steps: NDArray[np.int16],
        groups: NDArray[np.int8],
        begins: NDArray[np.uint64],
        bits: NDArray[np.int64],
        /,
    ) -> None:
        """Write the bits of each ASCII value, -1 for others: :func:`blockml.features.keywords.all_bits`."""

    @staticmethod
    def bags_above(
        above: NDArray[np.int64],
        tag: NDArray[np.int32],
        numbers: NDArray[np.int32],
        tag_sums: NDArray[np.uint32],
        values: tuple[str, ...],
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

        See :func:`blockml.features.tokens.bags`. ``elsewhere`` gives bytes of uint32 for a value that isn't ASCII.
        """

    @staticmethod
    def word_amounts(
        n_words: NDArray[np.int32], n_linked: NDArray[np.int32], amounts: NDArray[np.float64], /
    ) -> tuple[float, float]:
        """Write amounts (3, n_blocks), return sums of two of them: :attr:`blockml.features.view.View.amounts`."""

    @staticmethod
    def tree_above(
        n_tags: int,
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        holder: NDArray[np.int32],
        first: NDArray[np.int32],
        chain: NDArray[np.int64],
        reached: NDArray[np.int64],
        started: NDArray[np.int64],
        /,
    ) -> tuple[Tree, int, int]:
        """Write levels of a chain, nodes, and counts; return the tree, and how many levels and nodes.

        Columns of nodes, then parents and first texts of blocks, one or more: :class:`blockml.features.view.View`.
        """

    @staticmethod
    def path_rows(
        tree: Tree,
        codes: NDArray[np.int64],
        bits: NDArray[np.int64],
        flags: NDArray[np.uint8],
        masks: NDArray[np.uint8],
        far: float,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (n_columns, n_blocks): :func:`blockml.features.structure.path`."""

    @staticmethod
    def named_rows(
        tree: Tree,
        columns: NDArray[np.int32],
        tables: NDArray[np.int64],
        which: NDArray[np.int64],
        far: float,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (n_groups, n_blocks): :func:`blockml.features.vocabulary.called`."""

    @staticmethod
    def position_rows(
        tree: Tree,
        codes: NDArray[np.int64],
        amounts: NDArray[np.float64],
        totals: tuple[float, float],
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (17, n_blocks): :func:`blockml.features.position.position`."""

    @staticmethod
    def window_rows(
        amounts: NDArray[np.float64],
        reaches: NDArray[np.int64],
        weights: NDArray[np.float64],
        most: float,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (2 * n_reaches + 2, n_blocks): :func:`blockml.features.position.around`."""

    @staticmethod
    def content_rows(
        tree: Tree,
        is_paragraph: NDArray[np.bool_],
        amounts: NDArray[np.float64],
        sentences: NDArray[np.float64],
        levels: NDArray[np.int64],
        n_words: float,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (8 * n_levels, n_blocks): :func:`blockml.features.structure.ancestors`."""

    @staticmethod
    def alike(
        tree: Tree,
        first: int,
        last: int,
        factor: int,
        names: NDArray[np.int32],
        group: NDArray[np.int64],
        /,
    ) -> int:
        """Write groups (n_blocks,), return how many there are: :mod:`blockml.features.alike`."""

    @staticmethod
    def group_rows(
        group: NDArray[np.int64], amounts: NDArray[np.float64], n_words: float, rows: NDArray[np.float32], /
    ) -> None:
        """Write columns (6 * n_ways, n_blocks): :func:`blockml.features.repetition.repetition`."""

    @staticmethod
    def siblings_above(tree: Tree, levels: NDArray[np.int64], elements: NDArray[np.int64], /) -> int:
        """Write elements, return how many there are: :func:`blockml.features.repetition.like_siblings`."""

    @staticmethod
    def sibling_rows(
        tree: Tree,
        levels: NDArray[np.int64],
        elements: NDArray[np.int64],
        names: NDArray[np.int32],
        amounts: NDArray[np.float64],
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (3 * n_levels, n_blocks): :func:`blockml.features.repetition.like_siblings`."""

    @staticmethod
    def container_rows(
        tree: Tree,
        marks: NDArray[np.uint8],
        classes: NDArray[np.int32],
        roles: NDArray[np.int32],
        ids: NDArray[np.int32],
        bits: NDArray[np.int64],
        wanted: int,
        main_role: int,
        amounts: NDArray[np.float64],
        totals: tuple[float, float],
        clauses: NDArray[np.float64],
        lengths: NDArray[np.float64],
        most_levels: int,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (32, n_blocks): :func:`blockml.features.container.container`."""

    @staticmethod
    def further_rows(
        tree: Tree,
        marks: NDArray[np.uint8],
        amounts: NDArray[np.float64],
        totals: tuple[float, float],
        most_levels: int,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (15, n_blocks): :func:`blockml.features.container.further`."""

    @staticmethod
    def page_sizes(
        tree: Tree, words: NDArray[np.float64], counts: NDArray[np.float64], longest: NDArray[np.float64], /
    ) -> int:
        """Write counts (3, n_tags) and the longest blocks, return a depth: :func:`blockml.features.metadata.about`."""

    @staticmethod
    def meta_contents(
        number: NDArray[np.int32], pairs: bytes, ends: NDArray[np.int64], nodes: NDArray[np.int64], /
    ) -> dict[str, str] | None:
        """Contents by name, None if attributes came as mappings: :attr:`blockml.features.view.View.meta`."""

    @staticmethod
    def schema_types(source: bytes, /) -> list[str]:
        """Names of types: :func:`blockml.features.metadata.about`."""

    @staticmethod
    def text_rows(
        classes: NDArray[np.uint8],
        kinds: NDArray[np.uint8],
        starts: NDArray[np.int64],
        amounts: NDArray[np.float64],
        lengths: NDArray[np.float64],
        counts: NDArray[np.float64],
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (19, n_blocks): :func:`blockml.features.text.text`."""

    @staticmethod
    def class_counts(
        kinds: NDArray[np.uint8],
        starts: NDArray[np.int64],
        masks: NDArray[np.uint8],
        counts: NDArray[np.float64],
        /,
    ) -> None:
        """Write counts (n_masks, n_blocks): :meth:`blockml.features.view.View.characters`."""

    @staticmethod
    def line_densities(
        lengths: NDArray[np.int32], counts: NDArray[np.int32], line_width: int, densities: NDArray[np.float32], /
    ) -> None:
        """Write the density (n_blocks,) of each block's words: :func:`blockml.features.density.word_density`."""

    @staticmethod
    def resemblance_rows(
        texts: tuple[str, ...],
        words: NDArray[np.float64],
        title_words: float,
        wanted: list[str],
        sets: NDArray[np.uint8],
        word_bits: NDArray[np.uint8],
        case_bits: NDArray[np.uint8],
        n_title: float,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (4, n_texts): :func:`blockml.features.metadata.resemblance`."""

    @staticmethod
    def text_classes(
        texts: tuple[str, ...],
        table: NDArray[np.uint8],
        starts: NDArray[np.int64],
        lengths: NDArray[np.float64],
        /,
    ) -> bytes:
        """Write where texts start and their lengths, return class bits: :attr:`blockml.features.view.View.kinds`."""

    @staticmethod
    def ranked(
        keys: NDArray[np.uint64],
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
        which: NDArray[np.int64],
        /,
    ) -> int:
        """Write an order, where keys begin in it, and ranks; return how many: :func:`blockml.features.ranks.ranked`."""
