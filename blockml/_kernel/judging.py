"""What the compiled kernel does from features to text."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
        hashed_words: NDArray[np.int32],
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
    def sigmoid(odds: NDArray[np.float64], probabilities: NDArray[np.float32], /) -> None:
        """Write probabilities: :func:`blockml.predictors.log_odds.sigmoid`."""

    @staticmethod
    def log_odds(probabilities: NDArray[np.float64], odds: NDArray[np.float64], /) -> None:
        """Write log odds: :func:`blockml.predictors.log_odds.log_odds`."""
