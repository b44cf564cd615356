"""The hottest loops once more, compiled: used where there was a compiler when blockml was installed.

Each function has a twin in Python beside its only caller, which gives the same to the last bit and serves without it.
``BLOCKML_PURE=1`` in the environment leaves the compiled ones out, while installing or while running.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["Compiled", "Tree", "compiled"]


#: What :attr:`blockml.features.view.View.tree` holds: chain and counts of blocks, then columns of nodes and blocks.
Tree: TypeAlias = tuple[NDArray[np.int64] | NDArray[np.int32], ...]


class Compiled(Protocol):
    """What the compiled module holds. Arrays are contiguous and of the types named.

    Sizes and indices are checked, so that nothing is read or written beyond an array; what is in trees and in a
    parser's events is not.
    """

    @staticmethod
    def small_trees(
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        roots: NDArray[np.int32],
        /,
    ) -> bytes:
        """Return trees of few leaves as :meth:`tree_sums` takes them fastest; nothing if one has more."""

    @staticmethod
    def tree_sums(
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        roots: NDArray[np.int32],
        kept: bytes,
        group: NDArray[np.int32],
        matrix: NDArray[np.float32],
        by_column: int,
        sums: NDArray[np.float64],
        n_groups: int,
        /,
    ) -> None:
        """Add to ``sums`` (n_rows, n_groups) the leaf values of groups of trees: :meth:`blockml.trees.Trees.sums`."""

    @staticmethod
    def row_means(
        rows: NDArray[np.float32],
        n_tables: int,
        width: int,
        index: NDArray[np.int64],
        starts: NDArray[np.int64],
        skip_zeros: int,
        means: NDArray[np.float32],
        /,
    ) -> None:
        """Write into ``means`` the mean of the rows of each group, of each table: :meth:`blockml.nets.Pool.mean`."""

    @staticmethod
    def net_amounts(
        columns: NDArray[np.float32], n_rows: int, places: NDArray[np.int64], amounts: NDArray[np.float32], /
    ) -> int:
        """Write which columns (f, n_rows) vary and what logarithms are taken of: :meth:`blockml.nets.Net.predict`.

        Amounts are those of the first row (f,), and then of the columns that vary, whose number is returned.
        """

    @staticmethod
    def standardise(
        columns: NDArray[np.float32],
        n_rows: int,
        places: NDArray[np.int64],
        centre: NDArray[np.float32],
        scale: NDArray[np.float32],
        bound: float,
        logarithms: NDArray[np.float32],
        /,
    ) -> None:
        """Turn logarithms of what :meth:`net_amounts` wrote into a net's input: :meth:`blockml.nets.Net.predict`."""

    @staticmethod
    def activate(
        rows: NDArray[np.float32],
        parts: tuple[tuple[NDArray[np.float32], NDArray[np.int64]], ...],
        n_nets: int,
        sums: NDArray[np.float32],
        means: NDArray[np.float32],
        /,
    ) -> None:
        """Add rows and rows of groups to sums (m, n, h), and cut them off at 0: :meth:`blockml.nets.Net.predict`.

        Write the means (m, h) over n, if there is room for them.
        """

    @staticmethod
    def is_utf8(source: bytes, /) -> bool:
        """Tell whether bytes are UTF-8: :func:`blockml.parsing.decoding.decode`."""

    @staticmethod
    def nodes_builder(
        special: Mapping[str, int],
        max_nodes: int,
        max_depth: int,
        limit_reached: type[Exception],
        invisible: re.Pattern[str],
        controls: re.Pattern[str],
        /,
    ) -> tuple[Callable[..., Any], ...]:
        """Functions of a new builder: start, end, data, close, note_depth, limits_hit, two readers, and the columns.

        They are what :class:`blockml.parsing.builder.NodesBuilder` offers. The columns come as names, tag, parent,
        depth, end (bytes of int32), flags (bytes of uint8) and texts; and what
        :class:`blockml.attributes.Attributes` holds, with bytes of int32 and int64 for its arrays.

        ``read_by_libxml2(source, addresses)`` and ``read_by_lexbor(source, addresses)`` give the builder all events of
        a page in UTF-8, by the functions at these addresses: see :mod:`blockml.parsing.libraries`.
        """

    @staticmethod
    def start_tags(source: bytes, /) -> tuple[int, int]:
        """Counts: :func:`blockml.parsing.lexbor.start_tags`."""

    @staticmethod
    def cut_blocks(
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        flags: NDArray[np.uint8],
        texts: list[str],
        properties: NDArray[np.uint8],
        classes: NDArray[np.uint8],
        tokenizer: int,
        /,
    ) -> tuple[Any, ...]:
        """Columns of the blocks of a page: :func:`blockml.parsing.segmentation.segment`.

        Nine columns from ``n_words`` to ``joints`` and ``word_lengths`` as bytes of int32, and ``texts``.
        """

    @staticmethod
    def text_keys(texts: list[str], keys: NDArray[np.uint64], /) -> None:
        """Write the key of each text: :func:`blockml.keys.text_keys`."""

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
    ) -> None:
        """Write columns (n_names, n_nodes + 1) of values' numbers: :func:`blockml.features.names.numbered`."""

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
        parent: NDArray[np.int32],
        holder: NDArray[np.int32],
        node: NDArray[np.int32],
        chain: NDArray[np.int64],
        reached: NDArray[np.int64],
        started: NDArray[np.int64],
        /,
    ) -> tuple[int, int]:
        """Write levels of a chain, nodes, and counts; return how many levels and nodes.

        See :attr:`blockml.features.view.View.tree`.
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
        n_tags: int,
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
        n_tags: int,
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
    def siblings_above(tree: Tree, n_tags: int, levels: NDArray[np.int64], elements: NDArray[np.int64], /) -> int:
        """Write elements, return how many there are: :func:`blockml.features.repetition.like_siblings`."""

    @staticmethod
    def sibling_rows(
        tree: Tree,
        n_tags: int,
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
        reached: NDArray[np.int64],
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
        reached: NDArray[np.int64],
        amounts: NDArray[np.float64],
        totals: tuple[float, float],
        most_levels: int,
        rows: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns (15, n_blocks): :func:`blockml.features.container.further`."""

    @staticmethod
    def repeated_lines(
        texts: tuple[str, ...],
        n_words: NDArray[np.int32],
        flags: NDArray[np.uint8],
        line: NDArray[np.int64],
        least: int,
        mask: int,
        numbers: NDArray[np.int64],
        /,
    ) -> None:
        """Write the number of each line's text (n_blocks,): :func:`blockml.copies.repeated`."""

    @staticmethod
    def page_sizes(
        tree: Tree,
        n_tags: int,
        words: NDArray[np.float64],
        counts: NDArray[np.float64],
        longest: NDArray[np.float64],
        /,
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
    def best_border(probabilities: NDArray[np.float64], words: NDArray[np.float64], /) -> tuple[float, float]:
        """Border and F1: :func:`blockml.decision.expected_f1`."""

    @staticmethod
    def moved_border(
        odds: NDArray[np.float64], probabilities: NDArray[np.float32], words: NDArray[np.float64], /
    ) -> tuple[float, float, float]:
        """Log odds of the border, F1, and the largest log odds: :func:`blockml.decision.around_border`."""

    @staticmethod
    def careful_odds(
        odds: NDArray[np.float64],
        probabilities: NDArray[np.float32],
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        line: NDArray[np.int64],
        care: float,
        of_links: float,
        certain: float,
        least_body: float,
        wordless: float,
        /,
    ) -> None:
        """Lower log odds by a care, and set those of a line to their mean: :func:`blockml.wholepage.page_scores`."""

    @staticmethod
    def joined_texts(
        texts: tuple[str, ...],
        kept: NDArray[np.bool_],
        joints: NDArray[np.uint8],
        flags: NDArray[np.uint8],
        preformatted: int,
        node: NDArray[np.int32],
        last_node: NDArray[np.int32],
        node_texts: Sequence[str],
        tag: NDArray[np.int32],
        is_cell: NDArray[np.bool_],
        /,
    ) -> str:
        """Texts of kept blocks and what stands between them: :func:`blockml.rendering.text.render_text`."""

    @staticmethod
    def page_numbers(
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        alone: NDArray[np.float32],
        final: NDArray[np.float32],
        /,
    ) -> tuple[Any, ...]:
        """Numbers of a page, in order: :func:`blockml.wholepage.page_numbers`."""

    @staticmethod
    def ranked(
        keys: NDArray[np.uint64],
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
        which: NDArray[np.int64],
        /,
    ) -> int:
        """Write an order, where keys begin in it, and ranks; return how many: :func:`blockml.features.ranks.ranked`."""


def _found() -> Compiled | None:
    """The compiled module, if there is one and it is wanted."""
    if os.environ.get("BLOCKML_PURE", "0") not in {"", "0"}:
        return None
    try:
        module: Any = importlib.import_module("blockml.kernel._compiled")
    except ImportError:
        return None
    return cast("Compiled", module)


#: The compiled module; None where there is none.
compiled: Compiled | None = _found()
