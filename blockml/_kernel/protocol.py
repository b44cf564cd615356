"""Types of the functions of the C extension, in the order of the packages that call them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Addresses", "Arrays", "Compiled", "KernelAttributes", "PackedMLP", "PageTree", "Tables"]

#: Addresses of C functions in this process: see :mod:`blockml.parsing.lexbor`.
Addresses: TypeAlias = tuple[int, ...]

#: Opaque results of ``new_page_tree``, ``new_attribute_values`` and ``new_tables``, whose contents were checked.
PageTree: TypeAlias = object
KernelAttributes: TypeAlias = object
Tables: TypeAlias = object

#: Arrays by their names in the C code, which lists their types.
Arrays: TypeAlias = dict[str, NDArray[Any]]

#: Opaque copy of an MLP, checked by ``pack_mlp``, for ``mlp_probabilities``.
PackedMLP: TypeAlias = object
#: Opaque trees, for ``tree_sums``.
PackedTrees: TypeAlias = object


class Compiled(Protocol):
    """Functions of the compiled module. Arrays are contiguous and of the annotated types.

    Types of items, sizes and indices are checked, so that nothing is read or written beyond an array. Contents of trees
    are checked before they are passed, by :mod:`blockml.predictors`.
    """

    # Parsing: from bytes to blocks.

    def is_utf8(self, source: bytes, /) -> bool:
        """Tell whether bytes are valid UTF-8. Reference: ``bytes.decode``."""

    def hiding_rules(self, css: bytes, /) -> list[tuple[int, int, int, int]]:
        """Return where the rules are that may hide elements. Reference: :mod:`blockml.parsing.style_rules`."""

    def style_tags(self, utf8: bytes, /) -> list[int]:
        """Return the places of ``<style`` in any case. Reference: :mod:`blockml.parsing.style_rules`."""

    def nodes_builder(
        self,
        name_properties: Mapping[str, int],
        max_nodes: int,
        max_depth: int,
        max_steps: int,
        limit_reached: type[Exception],
        hides: re.Pattern[str],
        invisible: re.Pattern[str],
        /,
    ) -> tuple[Callable[..., Any], ...]:
        """Return the functions of a new builder. Reference: :func:`blockml.parsing.builder.new_builder`.

        They are ``start``, ``end``, ``data``, ``close``, ``spend`` and ``limits_hit`` of
        :class:`~blockml.parsing.builder.NodesBuilder`; ``columns``; ``parse_libxml2`` and ``parse_lexbor``.
        ``columns()`` returns names, tag, parent, depth, end (bytes of int32), flags (bytes of uint8) and texts of the
        nodes, then the fields of :class:`blockml.page.attributes.Attributes`, with bytes of int32 and int64 as arrays.
        """

    def segment_nodes(
        self,
        names: tuple[str, ...],
        texts: list[str],
        name_properties: Mapping[str, int],
        default_properties: int,
        tokenizer: int,
        columns: tuple[*tuple[NDArray[np.int32], ...], NDArray[np.uint8], NDArray[np.uint8]],
        /,
    ) -> tuple[bytearray, bytearray, bytearray, tuple[str, ...], tuple[str, ...]]:
        """Segment the nodes of a page into blocks. Reference: :func:`blockml.parsing.segmentation.segment`.

        Columns are tag, parent, depth, end and flags of the nodes, and the classes of all characters.
        Returns the columns of :class:`blockml.page.Blocks`: from ``n_words`` to ``last_node`` (7, n_blocks) as bytes of
        int32, ``flags`` and ``separators`` (2, n_blocks) of uint8, ``word_lengths`` of int32; ``texts``; ``parents``.
        """

    # Features.

    def __hash__(self) -> int:
        """Return a hash, as modules do: tables are cached for each kernel."""

    def new_tables(
        self,
        tables: Arrays,
        tag_numbers: dict[str, int],
        role_bits: dict[str, int],
        keywords_elsewhere: Callable[[str], int],
        roles_elsewhere: Callable[[str], int],
        checksums_elsewhere: Callable[[str], bytes],
        /,
    ) -> Tables:
        """Check and keep constants: read-only arrays of :mod:`blockml.features.kernel_tables`.

        The functions return the bits of keywords and roles, and the checksums of words as bytes of uint32, of values
        that are not ASCII.
        """

    def new_page_tree(
        self,
        reach: int,
        tag_names: tuple[str, ...],
        texts: tuple[str, ...],
        given: list[Mapping[str, str] | None],
        pairs: bytes,
        columns: Arrays,
        /,
    ) -> PageTree:
        """Copy and check the nodes and blocks of a page with at least one block.

        ``given``, ``pairs`` and the columns ``attribute_set`` and ``set_ends`` are the fields of
        :class:`blockml.page.attributes.Attributes`. ``reach`` is the number of ancestors used: see
        :data:`blockml.features.page_context.REACH`.
        """

    def new_attribute_values(self, tree: PageTree, tables: Tables, /) -> KernelAttributes:
        """Number the values of attributes and group blocks.

        Reference: :attr:`~blockml.features.page_context.PageContext.attribute_values` and
        :attr:`~blockml.features.page_context.PageContext.block_groups`.
        """

    def block_groups(self, values: KernelAttributes, /) -> bytes:
        """Return the number of each block's group (n_groupings, n_blocks) as bytes of int32."""

    def family_columns(self) -> list[tuple[int, int, str]]:
        """Name the columns of :meth:`write_columns`: see :func:`blockml.features.kernel_tables.kernel_columns`."""

    def write_columns(
        self,
        tree: PageTree,
        values: KernelAttributes | None,
        tables: Tables,
        titles: tuple[str, str] | None,
        row_of_and_matrix: tuple[NDArray[np.int64], NDArray[np.float32]],
        /,
    ) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks).

        The row of each column is that of :class:`blockml.features.page_context.KernelRows`.
        """

    def ancestor_words(
        self,
        tree: PageTree,
        values: KernelAttributes,
        tables: Tables,
        bag_and_starts: tuple[NDArray[np.int64], NDArray[np.int64]],
        /,
    ) -> tuple[int, bytes]:
        """Write the bag of each block and the start of each bag; return the number of bags and all words as int32.

        Reference: :func:`blockml.features.ancestor_words.ancestor_words`.
        """

    def word_densities(
        self,
        line_width: int,
        lengths_counts_and_densities: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]],
        /,
    ) -> None:
        """Write the density (n_blocks,) of each block's words. Reference: ``blockml.features.density.word_density``."""

    # Predictors: trees, MLPs, log odds.

    def pack_trees(self, arrays: Arrays, /) -> PackedTrees:
        """Pack the arrays of :data:`blockml.predictors.tree_ensemble.TREE_ARRAYS`, which must not change."""

    def tree_sums(
        self,
        trees: PackedTrees,
        by_column: int,
        classes_matrix_and_sums: tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float64]],
        /,
    ) -> None:
        """Add the leaf values of trees by class to ``sums`` (n_rows, n_classes): ``Trees.sums``."""

    def pack_mlp(self, arrays: Arrays, /) -> PackedMLP:
        """Pack the arrays of a ``QuantizedMLP`` for :meth:`mlp_probabilities`."""

    def mlp_probabilities(self, mlp: PackedMLP, arrays: Arrays, /) -> None:
        """Write probabilities (n_blocks,), from columns (f, n_blocks): :meth:`blockml.predictors.mlp.MLP.predict`.

        Arrays of ancestor words are empty for an MLP that reads none.
        """

    def sigmoid(self, log_odds: NDArray[np.float64], probabilities: NDArray[np.float32], /) -> None:
        """Write probabilities: :func:`blockml.predictors.base.sigmoid`."""

    def log_odds(self, probabilities: NDArray[np.float64], log_odds: NDArray[np.float64], /) -> None:
        """Write log odds: :func:`blockml.predictors.base.log_odds`."""

    # Decisions; columns are (n_blocks,).

    def page_features(
        self,
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        first: NDArray[np.float32],
        probabilities: NDArray[np.float32],
        features: NDArray[np.float32],
        /,
    ) -> None:
        """Write the features of a page: :func:`blockml.predictors.page_features.page_features`."""

    def policy_scores(self, columns: Arrays, numbers: dict[str, float], /) -> None:
        """Write ``scores``. Reference: ``blockml.decision.policy._scores``; units are numbered from 0 without gaps."""

    # Metadata: words in attributes.

    def word_table(self, words: tuple[bytes, ...], any_case: int, /) -> bytes:
        """Return the table by which at most 63 words are found.

        If bit k of ``any_case`` is set, ``words[k]`` is in lower case and matches in any case.
        """

    def attribute_words(
        self,
        pairs: bytes,
        words: tuple[bytes, ...],
        table: bytes,
        ends_and_found: tuple[NDArray[np.int64], NDArray[np.int64]],
        /,
    ) -> None:
        """Set bit k of each attribute set (n_sets,) that has ``words[k]``, given the table of the words.

        ``pairs`` and ``ends`` are the fields of :class:`blockml.page.attributes.Attributes`. Reference:
        ``blockml.page.attributes``.
        """

    # Batches: from lines to pages.

    def json_string(self, line: bytes, start: int, /) -> tuple[bytes | None, int]:
        """Return the bytes of a JSON string whose characters begin at ``start``, and the offset of its end.

        The end is the quotation mark. The bytes are None if the string has escapes by code point or control characters,
        or doesn't end; they may be invalid UTF-8. Reference: ``json.loads``.
        """
