"""What the compiled kernel does from features to text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml._kernel.features import AttributeValues, PageTree
from blockml.page import Reason

__all__ = ["HeldNet", "HeldTrees", "JudgingKernel", "TreeColumns"]

#: Columns of trees: see :class:`blockml.predictors.tree_ensemble.Trees`.
TreeColumns: TypeAlias = tuple[
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.float64],
    NDArray[np.int32],
]
#: These, the group of each tree, and what ``small_trees`` made of them.
HeldTrees: TypeAlias = tuple[*TreeColumns, NDArray[np.int32], bytes]

#: What ``held_net`` makes for ``net_probabilities``: a copy of a net, checked once, that only they can look into.
HeldNet: TypeAlias = object


class JudgingKernel(Protocol):
    """Functions of trees, nets, decisions and rendering."""

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
        trees: HeldTrees, n_groups: int, matrix: NDArray[np.float32], by_column: int, sums: NDArray[np.float64], /
    ) -> None:
        """Add to ``sums`` (n_rows, n_groups) the leaf values of groups of trees: ``Trees.sums``."""

    @staticmethod
    def row_means(
        rows: NDArray[np.float32],
        width: int,
        index: NDArray[np.int64],
        starts: NDArray[np.int64],
        skip_zeros: int,
        means: NDArray[np.float32],
        /,
    ) -> None:
        """Write into ``means`` the mean of the rows of each group: :mod:`blockml.training.group_means`."""

    @staticmethod
    def held_net(
        sizes: tuple[int, int, int, int, int, int, int, int], arrays: tuple[NDArray[np.generic], ...], /
    ) -> HeldNet:
        """Make what :meth:`net_probabilities` takes, of the arrays of a ``QuantizedMLP`` in order.

        Sizes are columns, nets, units of both layers, numbers of a word, ways to be alike, words, and factors or 0.
        """

    @staticmethod
    def net_probabilities(
        net: HeldNet,
        columns: NDArray[np.float32],
        starts: NDArray[np.int64],
        buckets: NDArray[np.int32],
        bag: NDArray[np.int64],
        groups: tuple[NDArray[np.int64], ...],
        n_words: NDArray[np.float64],
        probabilities: NDArray[np.float32],
        /,
    ) -> None:
        """Write probabilities (n_blocks,), from columns (f, n_blocks): :meth:`blockml.predictors.mlp.MLP.predict`.

        Arrays of bags are empty for a net that reads no words.
        """

    @staticmethod
    def page_verdict(
        tree: PageTree,
        names: AttributeValues,
        columns: NDArray[np.float32],
        trees: HeldTrees,
        n_groups: int,
        article: HeldTrees | None,
        net: HeldNet,
        bags: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]],
        separators: NDArray[np.uint8],
        rules: tuple[float, ...],
        sums: NDArray[np.float64],
        scores: NDArray[np.float32],
        /,
    ) -> tuple[float, bool]:
        """Write sums (n_blocks, n_groups) of trees and scores (n_blocks,), from columns (f, n_blocks).

        Returns the expected F1, and whether comments rival main content: :func:`blockml.model.scoring.verdict`.
        """

    @staticmethod
    def best_border(probabilities: NDArray[np.float64], words: NDArray[np.float64], /) -> tuple[float, float]:
        """Border and F1: :func:`blockml.decision.decide.expected_f1`."""

    @staticmethod
    def sigmoid(odds: NDArray[np.float64], probabilities: NDArray[np.float32], /) -> None:
        """Write probabilities: :func:`blockml.predictors.log_odds.sigmoid`."""

    @staticmethod
    def average_log_odds(
        odds: NDArray[np.float64], probabilities: NDArray[np.float32], share: float, both: NDArray[np.float32], /
    ) -> None:
        """Write probabilities: :func:`blockml.predictors.log_odds.average_log_odds`."""

    @staticmethod
    def page_scores(
        probabilities: NDArray[np.float32],
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        line: NDArray[np.int64],
        text: NDArray[np.int64],
        place: NDArray[np.int64],
        bounds: tuple[float, ...],
        scores: NDArray[np.float32],
        /,
    ) -> None:
        """Write scores (n_blocks,): :func:`blockml.decision.page_policy.page_scores`.

        Texts and places of copies are empty where there is no care with them. Bounds are care, the care with links, how
        probable certain text is, the least words of a body, the weight of a block without words, leaning, doubt; slack,
        care here and elsewhere with copies; least words and F1 of content.
        """

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
        """Write the number of each line's text (n_blocks,): :func:`blockml.decision.duplicates.repeated`."""

    @staticmethod
    def page_numbers(
        words: NDArray[np.float64],
        linked: NDArray[np.float64],
        prose: NDArray[np.float64],
        alone: NDArray[np.float32],
        final: NDArray[np.float32],
        /,
    ) -> tuple[Any, ...]:
        """Numbers of a page, in order: :func:`blockml.decision.page_policy.page_numbers`."""

    @staticmethod
    def decided(
        scores: NDArray[np.float32],
        threshold: float,
        flags: NDArray[np.uint8],
        preformatted: int,
        n_words: NDArray[np.int32],
        node: NDArray[np.int32],
        node_flags: NDArray[np.uint8],
        parent: NDArray[np.int32],
        reasons: tuple[Reason, ...],
        kept: NDArray[np.bool_],
        /,
    ) -> tuple[Reason, ...]:
        """Write which blocks are kept, return why: :func:`blockml.decision.decide.decide`."""

    @staticmethod
    def joined_texts(
        texts: tuple[str, ...],
        kept: NDArray[np.bool_],
        separators: NDArray[np.uint8],
        flags: NDArray[np.uint8],
        preformatted: int,
        node: NDArray[np.int32],
        last_node: NDArray[np.int32],
        node_texts: Sequence[str],
        tag: NDArray[np.int32],
        names: tuple[str, ...],
        cells: frozenset[str],
        /,
    ) -> str:
        """Texts of kept blocks and what stands between them: :func:`blockml.rendering.text.render_text`."""
