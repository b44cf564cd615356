"""Making decision trees smaller: C4.5's collapsing, pessimistic pruning and sub-tree raising.

The same error estimate serves two kinds of tree: the linked nodes a C4.5 learner grows, which still know their training
rows and can therefore be raised, and the flat binary trees that every learner's result is written as
(:class:`FlatTree`).

Sources: Quinlan 1993, *C4.5: Programs for Machine Learning*, chapter 4, as carried out by J48 of WEKA, the learner of
Kim et al. 2013, section 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from blockml.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.tree import DecisionTreeClassifier

    from blockml.learning.c45_growing import Node, Rows, Sample

__all__ = [
    "FlatTree",
    "added_errors",
    "collapse",
    "collapse_equal_leaves",
    "pessimistic_prune",
    "prune",
]

FloatArray: TypeAlias = "NDArray[np.float64]"
IntArray: TypeAlias = "NDArray[np.int32]"

# WEKA compares floating-point numbers with this slack.
SLACK = 1e-6
# C4.5 collapses a sub-tree that saves fewer training errors than this ...
COLLAPSE_SLACK = 1e-3
# ... and prefers the smaller tree when it costs at most this many estimated errors.
PRUNE_SLACK = 0.1


def added_errors(n: float, errors: float, confidence: float) -> float:
    """Errors to add to the training errors of a leaf so that the sum is an upper confidence limit.

    Parameters
    ----------
    n
        Training weight of the leaf, > 0.
    errors
        Training weight it classifies wrongly, 0 … n.
    confidence
        Probability that the true error exceeds the estimate, in (0, 1]: the smaller, the more is added. Above 0.5
        nothing is added, which is what makes the 0.70 of Kim et al. 2013 compare plain training errors.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    UsageError
        If `n` is not positive or `confidence` lies outside (0, 1].

    Notes
    -----
    The exact binomial limit for no error, the normal approximation with continuity correction from one error on, and
    linear interpolation between (Quinlan 1993, chapter 4; WEKA's ``Stats.addErrs``).

    Examples
    --------
    >>> round(added_errors(10, 0, 0.25), 6), round(added_errors(100, 10, 0.25), 6), added_errors(10, 0, 0.70)
    (1.294494, 2.749611, 0.0)
    """
    if not n > 0.0:
        raise UsageError(f"n is a training weight > 0, got {n!r}")
    _check_confidence(confidence)
    if confidence > 0.5:
        return 0.0
    if errors < 1.0:
        base = float(n * (1.0 - confidence ** (1.0 / n)))
        return base if errors <= 0.0 else base + errors * (added_errors(n, 1.0, confidence) - base)
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    z = NormalDist().inv_cdf(1.0 - confidence)
    share = (errors + 0.5) / n
    spread = z * math.sqrt(share / n - share * share / n + z * z / (4.0 * n * n))
    return (share + z * z / (2.0 * n) + spread) / (1.0 + z * z / n) * n - errors


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence <= 1.0:
        raise UsageError(f"confidence lies in (0, 1], got {confidence!r}")


def _estimated_errors(n: float, errors: float, confidence: float) -> float:
    """Pessimistic errors of one leaf; none where no training weight arrives."""
    return errors + added_errors(n, errors, confidence) if n > SLACK else 0.0


# --- trees that still hold their training rows -----------------------------------------------------------------------


def collapse(root: Node) -> None:
    """Turn every sub-tree that saves no training error into a leaf, in place.

    Parameters
    ----------
    root
        A grown tree.

    Examples
    --------
    >>> from blockml.learning.c45_growing import Node
    >>> sons = (Node(np.array([0]), (1.0, 0.0)), Node(np.array([1]), (1.0, 0.0)))
    >>> root = Node(np.array([0, 1]), (2.0, 0.0), feature=0, threshold=0.5, children=sons)
    >>> collapse(root)
    >>> root.children
    ()
    """
    nodes = root.preorder()
    errors: dict[Node, float] = {}
    for node in reversed(nodes):
        errors[node] = sum(errors[child] for child in node.children) if node.children else node.errors
    for node in nodes:
        if errors[node] >= node.errors - COLLAPSE_SLACK:
            node.children = ()


def prune(root: Node, sample: Sample, confidence: float, *, subtree_raising: bool) -> None:
    """Prune a grown tree bottom-up by its pessimistic error estimate, in place.

    A node becomes a leaf if that costs at most 0.1 estimated errors against both its sub-tree and its largest branch;
    else the largest branch takes its place if that costs at most 0.1 against the sub-tree. A raised branch receives
    the rows of its former siblings and is pruned again.

    Parameters
    ----------
    root
        The tree; its nodes hold their rows.
    sample
        What it was grown on.
    confidence
        See :func:`added_errors`.
    subtree_raising
        Whether branches may be raised.

    Raises
    ------
    UsageError
        If `confidence` lies outside (0, 1].
    """
    _check_confidence(confidence)
    stack = [(root, False)]
    while stack:
        node, children_done = stack.pop()
        if not math.isnan(node.estimate):
            continue
        as_leaf = _estimated_errors(node.weight, node.errors, confidence)
        if not node.children:
            node.estimate = as_leaf
        elif not children_done:
            stack.append((node, True))
            stack.extend((child, False) for child in node.children)
        else:
            as_tree = sum(child.estimate for child in node.children)
            # The last of equally large branches, as in WEKA.
            largest = max(reversed(node.children), key=lambda child: child.weight)
            others = np.concatenate([child.rows for child in node.children if child is not largest])
            as_branch = _errors_with(largest, others, sample, confidence) if subtree_raising else math.inf
            if as_leaf <= min(as_tree, as_branch) + PRUNE_SLACK + SLACK:
                node.children, node.estimate = (), as_leaf
            elif as_branch <= as_tree + PRUNE_SLACK + SLACK:
                _add_rows(largest, others, sample)
                node.feature, node.threshold, node.children = largest.feature, largest.threshold, largest.children
                stack.append((node, False))
            else:
                node.estimate = as_tree


def _errors_with(root: Node, rows: Rows, sample: Sample, confidence: float) -> float:
    """Estimated errors of a pruned sub-tree if these rows came in addition."""
    total = 0.0
    stack = [(root, rows)]
    while stack:
        node, extra = stack.pop()
        if not extra.size:
            total += node.estimate
        elif node.children:
            stack.extend(zip(node.children, node.branches(sample, extra), strict=True))
        else:
            negative, positive = sample.counts(extra)
            counts = (node.counts[0] + negative, node.counts[1] + positive)
            total += _estimated_errors(sum(counts), min(counts), confidence)
    return total


def _add_rows(root: Node, rows: Rows, sample: Sample) -> None:
    """Send rows down a sub-tree and forget the estimates they change."""
    stack = [(root, rows)]
    while stack:
        node, extra = stack.pop()
        if not extra.size:
            continue
        if node.children:
            stack.extend(zip(node.children, node.branches(sample, extra), strict=True))
        negative, positive = sample.counts(extra)
        node.counts = (node.counts[0] + negative, node.counts[1] + positive)
        node.rows = np.concatenate([node.rows, extra])
        node.estimate = math.nan


# --- flat binary trees -----------------------------------------------------------------------------------------------


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
    _check_confidence(confidence)
    errors = tree.weight * np.minimum(tree.value, 1.0 - tree.value)
    leaf = tree.left < 0
    estimate = [_estimated_errors(n, e, confidence) for n, e in zip(tree.weight.tolist(), errors.tolist(), strict=True)]
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
