"""Types of the compiled functions of predictors: trees, MLPs, log odds."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["PackedMLP", "PredictorKernel", "TreeArguments", "TreeColumns"]

#: Arrays of trees in the order of :data:`blockml.predictors.tree_ensemble.TREE_ARRAYS`.
TreeColumns: TypeAlias = tuple[
    NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]
]
#: Arrays of trees, the class of each tree, and the result of ``pack_small_trees``.
TreeArguments: TypeAlias = tuple[*TreeColumns, NDArray[np.int32], bytes]

#: Opaque copy of an MLP, checked by ``pack_mlp``, for ``mlp_probabilities``.
PackedMLP: TypeAlias = object


class PredictorKernel(Protocol):
    """Compiled functions of predictors."""

    @staticmethod
    def pack_small_trees(
        feature: NDArray[np.int32],
        threshold: NDArray[np.float64],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        value: NDArray[np.float64],
        roots: NDArray[np.int32],
        /,
    ) -> bytes:
        """Pack trees of at most 32 leaves for the fast path of :meth:`tree_sums`; empty if a tree has more."""

    @staticmethod
    def tree_sums(
        trees: TreeArguments, n_classes: int, matrix: NDArray[np.float32], by_column: int, sums: NDArray[np.float64], /
    ) -> None:
        """Add the leaf values of trees by class to ``sums`` (n_rows, n_classes): ``Trees.sums``."""

    @staticmethod
    def pack_mlp(
        sizes: tuple[int, int, int, int, int, int, int, int], arrays: tuple[NDArray[np.generic], ...], /
    ) -> PackedMLP:
        """Pack the arrays of a ``QuantizedMLP``, in order, for :meth:`mlp_probabilities`.

        Sizes are the numbers of columns, networks, units of either layer, components of a word vector, groupings,
        hashed words, and the rank of the input layer (0 without factors).
        """

    @staticmethod
    def mlp_probabilities(
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

    @staticmethod
    def sigmoid(log_odds: NDArray[np.float64], probabilities: NDArray[np.float32], /) -> None:
        """Write probabilities: :func:`blockml.predictors.log_odds.sigmoid`."""

    @staticmethod
    def log_odds(probabilities: NDArray[np.float64], log_odds: NDArray[np.float64], /) -> None:
        """Write log odds: :func:`blockml.predictors.log_odds.log_odds`."""
