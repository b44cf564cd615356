"""Fitted single trees as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

IntArray: TypeAlias = NDArray[np.int32]
DoubleArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """A binary two-class decision tree as parallel arrays (n_nodes,).

    Node 0 is the root, and children come after their parent. A row goes left iff ``row[feature] <= threshold``.
    """

    feature: IntArray  #: Column of the test, −1 at leaves.
    threshold: DoubleArray  #: Threshold of the test, 0 at leaves.
    left: IntArray  #: Left child, −1 at leaves.
    right: IntArray  #: Right child, −1 at leaves.
    #: Probability of class 1, also at inner nodes: its share of the training weight at the node, or at the parent if
    #: the node has none.
    value: DoubleArray
    weight: DoubleArray  #: Training weight at the node.

    @classmethod
    def from_sklearn(cls, estimator: DecisionTreeClassifier) -> Self:
        """Copy a scikit-learn decision tree, fitted for one output and at most two classes.

        The second class is class 1; a single class is class 1 iff it equals 1. Probabilities equal those of
        scikit-learn for every float64 matrix: it rounds features to float32 before comparing them, so thresholds are
        moved to where the rounding changes sides.

        Raises
        ------
        UsageError
            More than two classes, or several outputs.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> tree = FlatTree.from_sklearn(DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 1]))
        >>> tree.left.tolist(), tree.right.tolist(), tree.value.round(3).tolist(), tree.weight.tolist()
        ([1, -1, -1], [2, -1, -1], [0.667, 0.0, 1.0], [3.0, 1.0, 2.0])
        """
        if estimator.n_outputs_ != 1 or len(estimator.classes_) > 2:
            raise UsageError("the tree must be fitted for one output and at most two classes")
        tree: Any = estimator.tree_
        inner = tree.children_left >= 0
        value = tree.value[:, 0, 1] if len(estimator.classes_) == 2 else np.full(inner.size, estimator.classes_[0] == 1)
        return cls(
            feature=np.where(inner, tree.feature, -1).astype(np.int32),
            threshold=np.where(inner, _undo_float32(tree.threshold), 0.0),
            left=tree.children_left.astype(np.int32),
            right=tree.children_right.astype(np.int32),
            value=value.astype(np.float64),
            weight=tree.weighted_n_node_samples.astype(np.float64),
        )


def _undo_float32(threshold: DoubleArray) -> DoubleArray:
    """Find the largest float64 that is at most the threshold after rounding to float32."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2.0
    return np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))
