"""Types of the functions of the C extension, in the order of the packages that call them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Addresses",
    "Compiled",
    "KernelAttributes",
    "PackedMLP",
    "PageTree",
    "Tables",
    "TreeArguments",
    "TreeColumns",
]

#: Addresses of C functions in this process: see :mod:`blockml.parsing.libraries`.
Addresses: TypeAlias = tuple[int, ...]

#: Opaque results of ``new_page_tree``, ``new_attribute_values`` and ``new_tables``, whose contents were checked.
PageTree: TypeAlias = object
KernelAttributes: TypeAlias = object
Tables: TypeAlias = object

#: Arrays of trees in the order of :data:`blockml.predictors.tree_ensemble.TREE_ARRAYS`.
TreeColumns: TypeAlias = tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]
]
#: Arrays of trees, the class of each tree, and the result of ``pack_small_trees``.
TreeArguments: TypeAlias = tuple[*TreeColumns, NDArray[np.int32], bytes]

#: Opaque copy of an MLP, checked by ``pack_mlp``, for ``mlp_probabilities``.
PackedMLP: TypeAlias = object


class Compiled(Protocol):
    """Functions of the compiled module. Arrays are contiguous and of the annotated types.

    Sizes and indices are checked, so that nothing is read or written beyond an array. Contents of trees are
    checked before they are passed, by :mod:`blockml.predictors`.
    """

    # Parsing: from bytes to blocks.

    def is_utf8(self, source: bytes, /) -> bool:
        """Tell whether bytes are valid UTF-8. Reference: ``bytes.decode``."""

    def nodes_builder(
        self,
        name_properties: Mapping[str, int],
        max_nodes: int,
        max_depth: int,
        limit_reached: type[Exception],
        invisible: re.Pattern[str],
        controls: re.Pattern[str],
        /,
    ) -> tuple[Callable[..., Any], ...]:
        """Return the functions of a new builder. Reference: :func:`blockml.parsing.builder.new_builder`.

        They are ``start``, ``end``, ``data``, ``close`` and ``limits_hit`` of
        :class:`~blockml.parsing.builder.NodesBuilder`; ``columns``; ``parse_libxml2`` and ``parse_lexbor``.
        ``columns()`` returns names, tag, parent, depth, end (bytes of int32), flags (bytes of uint8) and texts of the
        nodes, then the fields of :class:`blockml.page.attributes.Attributes`, with bytes of int32 and int64 as arrays.
        """

    def segment_nodes(
        self,
        names: tuple[str, ...],
        tag: NDArray[np.int32],
        parent: NDArray[np.int32],
        depth: NDArray[np.int32],
        end: NDArray[np.int32],
        flags: NDArray[np.uint8],
        texts: list[str],
        name_properties: Mapping[str, int],
        default_properties: int,
        classes: NDArray[np.uint8],
        tokenizer: int,
        /,
    ) -> tuple[bytearray, bytearray, bytearray, tuple[str, ...], tuple[str, ...]]:
        """Segment the nodes of a page into blocks. Reference: :func:`blockml.parsing.segmentation.segment`.

        Returns the columns of :class:`blockml.page.Blocks`: from ``n_words`` to ``last_node`` (7, n_blocks) as bytes of
        int32, ``flags`` and ``separators`` (2, n_blocks) of uint8, ``word_lengths`` of int32; ``texts``; ``parents``.
        """

    # Features.

    def __hash__(self) -> int:
        """Return a hash, as modules do: tables are cached for each kernel."""

    def new_tables(
        self,
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

    def new_page_tree(
        self,
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
        row_of: NDArray[np.int64],
        matrix: NDArray[np.float32],
        /,
    ) -> None:
        """Write columns into rows of a matrix (n_rows, n_blocks).

        ``row_of`` is that of :class:`blockml.features.kernel_page.KernelRows`.
        """

    def ancestor_words(
        self,
        tree: PageTree,
        values: KernelAttributes,
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

    def word_densities(
        self, lengths: NDArray[np.int32], counts: NDArray[np.int32], line_width: int, densities: NDArray[np.float32], /
    ) -> None:
        """Write the density (n_blocks,) of each block's words. Reference: ``blockml.features.density.word_density``."""

    # Predictors: trees, MLPs, log odds.

    def pack_small_trees(
        self,
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        roots: NDArray[np.int32],
        /,
    ) -> bytes:
        """Pack trees of at most 32 leaves for the fast path of :meth:`tree_sums`; empty if a tree has more."""

    def tree_sums(
        self,
        trees: TreeArguments,
        n_classes: int,
        matrix: NDArray[np.float32],
        by_column: int,
        sums: NDArray[np.float64],
        /,
    ) -> None:
        """Add the leaf values of trees by class to ``sums`` (n_rows, n_classes): ``Trees.sums``."""

    def pack_mlp(
        self, sizes: tuple[int, int, int, int, int, int, int, int], arrays: tuple[NDArray[np.generic], ...], /
    ) -> PackedMLP:
        """Pack the arrays of a ``QuantizedMLP``, in order, for :meth:`mlp_probabilities`.

        Sizes are the numbers of columns, networks, units of either layer, components of a word vector, groupings,
        hashed words, and the rank of the input layer (0 without factors).
        """

    def mlp_probabilities(
        self,
        mlp: PackedMLP,
        columns: NDArray[np.float32],
        starts: NDArray[np.int64],
        hashed_words: NDArray[np.int32],
        bag: NDArray[np.int64],
        groups: tuple[NDArray[np.int64], ...],
        n_words: NDArray[np.float64],
        probabilities: NDArray[np.float32],
        /,
    ) -> None:
        """Write probabilities (n_blocks,), from columns (f, n_blocks): :meth:`blockml.predictors.mlp.MLP.predict`.

        Arrays of ancestor words are empty for an MLP that reads none.
        """

    def sigmoid(self, log_odds: NDArray[np.float64], probabilities: NDArray[np.float32], /) -> None:
        """Write probabilities: :func:`blockml.predictors.log_odds.sigmoid`."""

    def log_odds(self, probabilities: NDArray[np.float64], log_odds: NDArray[np.float64], /) -> None:
        """Write log odds: :func:`blockml.predictors.log_odds.log_odds`."""

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
        """Write the features of a page: :func:`blockml.decision.page_features.page_features`."""

    def policy_scores(
        self,
        probabilities: NDArray[np.float32],
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        line: NDArray[np.int64],
        text: NDArray[np.int64],
        context: NDArray[np.int64],
        numbers: tuple[float, ...],
        scores: NDArray[np.float32],
        /,
    ) -> None:
        """Write scores: :func:`blockml.decision.policy.score_blocks`; lines are numbered from 0 without gaps."""

    # Metadata: from attributes to words in them and to what they declare.

    def attribute_words(
        self, pairs: bytes, words: tuple[bytes, ...], ends: NDArray[np.int64], found: NDArray[np.uint8], /
    ) -> None:
        """Set bit k of each attribute set (n_sets,) that has ``words[k]``, of at most eight words.

        ``pairs`` and ``ends`` are the fields of :class:`blockml.page.attributes.Attributes`. Reference:
        ``blockml.page.attribute_words``.
        """

    def declarations(
        self, pairs: bytes, known: dict[str, Any], begins: NDArray[np.int64], ends: NDArray[np.int64], /
    ) -> list[tuple[Any, str]]:
        """Look up the names of ``meta`` elements (n,); return the entries with the contents.

        ``pairs[begin:end]`` are names and values of an element, each followed by a zero byte; names of more than 63
        bytes have no entry. Reference: ``blockml.metadata.declarations``.
        """

    # Batches: from lines to pages.

    def json_string(self, line: bytes, start: int, /) -> tuple[bytes | None, int]:
        """Return the bytes of a JSON string whose characters begin at ``start``, and the offset of its end.

        The end is the quotation mark. The bytes are None if the string has escapes by code point or control characters,
        or doesn't end; they may be invalid UTF-8. Reference: ``json.loads``.
        """
