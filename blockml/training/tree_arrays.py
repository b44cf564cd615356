"""Fitted trees as flat arrays, whatever learner grew them, and their pruning.

Sources: Quinlan 1993, *C4.5: Programs for Machine Learning*, chapter 4, as carried out by J48 of WEKA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.training.c45_growing import SLACK
from blockml.training.pruning import PRUNE_SLACK, check_confidence, estimated_errors

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

__all__ = ["FlatTree", "collapse_equal_leaves", "pessimistic_prune"]

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class FlatTree:
    """A binary two-class decision tree as parallel arrays; node 0 is the root, children come after their parent.

    A row goes to the left child iff ``row[feature] <= threshold``.

    Attributes
    ----------
    feature
        ``(n,)`` int32, the tested column, −1 at leaves.
    threshold
        ``(n,)`` float64, 0 at leaves.
    left, right
        ``(n,)`` int32, the children, −1 at leaves.
    value
        ``(n,)`` float64, the probability of class 1, at inner nodes too: the share of class 1 in the training weight
        that reaches the node. Where none does, the share at the parent.
    weight
        ``(n,)`` float64, the training weight that reaches the node.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    weight: FloatArray

    @classmethod
    def from_sklearn(cls, estimator: DecisionTreeClassifier) -> Self:
        """Copy a fitted scikit-learn decision tree.

        Parameters
        ----------
        estimator
            Fitted for one output and at most two classes. The second class is class 1; a single class is class 1 iff
            it equals 1.

        Returns
        -------
        FlatTree
            Gives every float64 matrix the probabilities scikit-learn gives it: scikit-learn rounds features to
            float32 before it compares them, so each threshold is moved to where that rounding changes sides.

        Raises
        ------
        UsageError
            If there are more than two classes or several outputs.

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


def _undo_float32(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 that is at most the threshold after rounding to float32."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2.0
    return np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))


def collapse_equal_leaves(tree: FlatTree) -> FlatTree:
    """Merge sibling leaves that predict the same class, bottom-up.

    Parameters
    ----------
    tree
        Any tree.

    Returns
    -------
    FlatTree
        Predicts the same class everywhere, whichever class a probability of exactly 0.5 is taken for: a leaf with
        0.5 merges only with another. The probabilities become coarser.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = FlatTree.from_sklearn(DecisionTreeClassifier(max_depth=1).fit([[0]] * 9 + [[1]] * 9, [0] * 14 + [1] * 4))
    >>> tree.value.size, collapse_equal_leaves(tree).value.size
    (3, 1)
    """
    side = np.sign(tree.value - 0.5)
    leaf = tree.left < 0
    for node in reversed(range(leaf.size)):
        if not leaf[node]:
            left, right = tree.left[node], tree.right[node]
            leaf[node] = leaf[left] and leaf[right] and side[left] == side[right]
    return _cut(tree, leaf)


def pessimistic_prune(tree: FlatTree, confidence: float = 0.25) -> FlatTree:
    """Replace sub-trees by leaves where the pessimistic error estimate does not get worse by more than 0.1.

    Parameters
    ----------
    tree
        Any tree with its training weights.
    confidence
        See :func:`added_errors`. 0.25 is J48's default; the 0.70 of Kim et al. 2013 gives up nothing but splits that
        save no training error (whole-numbered weights taken for granted).

    Returns
    -------
    FlatTree
        A tree with the same root and a subset of the nodes.

    Raises
    ------
    UsageError
        If `confidence` lies outside (0, 1].

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> noise = DecisionTreeClassifier(random_state=0).fit([[i] for i in range(20)], [0] * 12 + [1] + [0] * 7)
    >>> tree = FlatTree.from_sklearn(noise)
    >>> tree.value.size, pessimistic_prune(tree, 0.25).value.size, pessimistic_prune(tree, 0.70).value.size
    (5, 1, 5)
    """
    check_confidence(confidence)
    errors = tree.weight * np.minimum(tree.value, 1.0 - tree.value)
    leaf = tree.left < 0
    estimate = [estimated_errors(n, e, confidence) for n, e in zip(tree.weight.tolist(), errors.tolist(), strict=True)]
    for node in reversed(range(leaf.size)):
        if not leaf[node]:
            as_tree = estimate[tree.left[node]] + estimate[tree.right[node]]
            leaf[node] = estimate[node] <= as_tree + PRUNE_SLACK + SLACK
            estimate[node] = estimate[node] if leaf[node] else as_tree
    return _cut(tree, leaf)


def _cut(tree: FlatTree, leaf: NDArray[np.bool_]) -> FlatTree:
    """Make the marked nodes leaves, drop what hangs below them and renumber."""
    kept = np.zeros(leaf.size, dtype=np.bool_)
    kept[0] = True
    for node in range(leaf.size):
        if kept[node] and not leaf[node]:
            kept[[tree.left[node], tree.right[node]]] = True
    number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    ends = leaf[kept]
    minus_one = np.int32(-1)
    return FlatTree(
        feature=np.where(ends, minus_one, tree.feature[kept]),
        threshold=np.where(ends, 0.0, tree.threshold[kept]),
        left=np.where(ends, minus_one, number[tree.left[kept]]),
        right=np.where(ends, minus_one, number[tree.right[kept]]),
        value=tree.value[kept],
        weight=tree.weight[kept],
    )
