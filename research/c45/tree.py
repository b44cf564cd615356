"""C4.5 decision trees as in WEKA's J48, for two classes, as a scikit-learn classifier.

Unlike scikit-learn's trees, nominal columns get one branch per value, tests are chosen by gain ratio among those of at
least average gain, numeric tests are penalised for their number of possible cuts, and the grown tree is pruned by
error estimates (:mod:`research.c45.pruning`).

Sources: Quinlan 1993, *C4.5: Programs for Machine Learning*; Quinlan 1996, *Improved use of continuous attributes in
C4.5* (the correction for numeric tests); J48 of WEKA, the learner of Kim et al. 2013, sections 3.3 and 4.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from blockml.errors import UsageError
from blockml.training import FlatTree
from research.c45.growing import SLACK, DoubleArray, Rows, Sample, grow
from research.c45.pruning import check_confidence, collapse, prune

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from research.c45.growing import Node


@dataclass(frozen=True, slots=True, eq=False)
class MultiwayTree:
    """A grown and pruned tree as parallel arrays (n_nodes,); node 0 is the root, and siblings are consecutive."""

    feature: NDArray[np.int32]  #: Column of the test, −1 at leaves.
    #: The left of two children is taken iff ``value <= threshold``; NaN at nominal tests and at leaves.
    threshold: DoubleArray
    first_child: NDArray[np.int32]  #: The branch of code ``k`` is ``first_child + k``.
    n_children: NDArray[np.int32]
    counts: DoubleArray  #: (n_nodes, 2) training weight of class 0 and class 1.
    value: DoubleArray  #: Share of class 1; at an empty branch, that of the parent.

    @classmethod
    def from_nodes(cls, root: Node) -> Self:
        """Copy linked nodes, numbered breadth-first."""
        nodes, value, first_child = [root], [root.counts[1] / root.weight], []
        for at, node in enumerate(nodes):  # grows in the loop
            first_child.append(len(nodes) if node.children else -1)
            nodes.extend(node.children)
            value.extend(
                child.counts[1] / child.weight if child.weight > SLACK else value[at] for child in node.children
            )
        return cls(
            feature=np.array([node.feature if node.children else -1 for node in nodes], np.int32),
            threshold=np.array([node.threshold if node.children else math.nan for node in nodes]),
            first_child=np.array(first_child, np.int32),
            n_children=np.array([len(node.children) for node in nodes], np.int32),
            counts=np.array([node.counts for node in nodes]),
            value=np.array(value),
        )

    def apply(self, matrix: DoubleArray) -> Rows:
        """Find the node at which each row ends: a leaf, or an inner node without a branch for the row's code."""
        end = np.zeros(matrix.shape[0], dtype=np.intp)
        active = np.arange(matrix.shape[0])
        while active.size:
            active = active[self.feature[end[active]] >= 0]
            node = end[active]
            values, threshold = matrix[active, self.feature[node]], self.threshold[node]
            branch = np.where(np.isnan(threshold), values, values > threshold)
            known = (branch >= 0) & (branch < self.n_children[node]) & (branch == np.floor(branch))
            active, node, branch = active[known], node[known], branch[known]
            end[active] = self.first_child[node] + branch.astype(np.intp)
        return end


class C45Tree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no type information
    """C4.5 decision tree as in J48, for one or two classes and data without missing values.

    Parameters
    ----------
    min_leaf
        J48's ``minNumObj``, ≥ 1: training weight that at least two branches of a test must hold.
    confidence
        J48's ``confidenceFactor`` in (0, 1]; see :func:`~research.c45.pruning.added_errors`. Above 0.5, pruning
        compares plain training errors.
    collapse
        Whether sub-trees that save no training error are removed before pruning.
    subtree_raising
        Whether pruning may replace a node by its largest branch.
    mdl_correction
        Whether numeric tests are penalised by log2(number of cuts) bits.
    nominal
        Indices of the nominal columns. They hold codes 0, 1, …; each test has one branch per code, up to the largest
        one in training. Rows with other codes get the distribution of the node.

    Attributes
    ----------
    classes_
        The labels in ascending order. The second is class 1; a single label is class 1 iff it equals 1.
    n_features_in_
        Number of columns.
    tree_
        The pruned :class:`MultiwayTree`.

    Notes
    -----
    Training is deterministic: of equal scores, the lowest cut and the lowest column win; a leaf with a tie gets the
    first class. Kim et al. 2013 trained with ``min_leaf=10, confidence=0.70``.

    Examples
    --------
    >>> tree = C45Tree(min_leaf=2).fit([[0], [0], [1], [4], [5], [6]], ["nav", "nav", "nav", "text", "text", "text"])
    >>> tree.predict([[1], [2]]).tolist(), float(tree.tree_.threshold[0])
    (['nav', 'text'], 1.0)
    """

    def __init__(
        self,
        *,
        min_leaf: float = 10,
        confidence: float = 0.25,
        collapse: bool = True,
        subtree_raising: bool = True,
        mdl_correction: bool = True,
        nominal: Sequence[int] = (),
    ) -> None:
        self.min_leaf = min_leaf
        self.confidence = confidence
        self.collapse = collapse
        self.subtree_raising = subtree_raising
        self.mdl_correction = mdl_correction
        self.nominal = nominal

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Grow and prune the tree; returns itself.

        Parameters
        ----------
        X
            (n, f) finite numbers.
        y
            (n,) labels, at most two different ones.
        sample_weight
            (n,) numbers ≥ 0, by default 1. A weight of k equals k copies of the row.

        Raises
        ------
        UsageError
            A parameter, label, weight or nominal code is out of range.
        ValueError
            ``X`` or ``y`` is empty, not finite, or of the wrong shape.
        """
        matrix = check_array(X, dtype=np.float64)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(matrix, labels)
        check_classification_targets(labels)
        self._check_parameters(matrix.shape[1])
        self.classes_, target = np.unique(labels, return_inverse=True)
        if len(self.classes_) > 2:
            raise UsageError(f"Only binary classification is supported: at most two classes, got {len(self.classes_)}")
        self.n_features_in_ = matrix.shape[1]
        weight = _checked_weight(sample_weight, labels.size)
        if len(self.classes_) == 1:
            target = np.full(labels.size, self.classes_[0] == 1)
        present = weight > 0.0
        class_weight = np.stack([weight * (target == 0), weight * (target == 1)])
        sample = Sample(matrix[present], class_weight[:, present])
        nominal = sorted(set(self.nominal))
        codes = sample.matrix[:, nominal]
        if (codes < 0).any() or (codes != np.floor(codes)).any():
            raise UsageError("nominal columns must hold codes: the integers 0, 1, …")
        root = grow(sample, nominal, self.min_leaf, mdl_correction=self.mdl_correction)
        if self.collapse:
            collapse(root)
        prune(root, sample, self.confidence, subtree_raising=self.subtree_raising)
        self.tree_ = MultiwayTree.from_nodes(root)
        return self

    def _check_parameters(self, n_columns: int) -> None:
        if not self.min_leaf >= 1:
            raise UsageError(f"min_leaf must be a number >= 1, got {self.min_leaf!r}")
        check_confidence(self.confidence)
        if any(not 0 <= column < n_columns for column in self.nominal):
            raise UsageError(f"nominal must list column indices 0 … {n_columns - 1}, got {tuple(self.nominal)!r}")

    def predict_proba(self, X: ArrayLike) -> DoubleArray:  # noqa: N803
        """Predict the probability of each class, (n, len(classes_)), for finite numbers (n, f).

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before :meth:`fit`.
        UsageError
            The number of columns differs from training.
        """
        check_is_fitted(self)
        matrix = check_array(X, dtype=np.float64)
        if matrix.shape[1] != self.n_features_in_:
            raise UsageError(
                f"X has {matrix.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        if len(self.classes_) == 1:
            return np.ones((matrix.shape[0], 1))
        positive = self.tree_.value[self.tree_.apply(matrix)]
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """Predict the more probable class of each row, the first of equally probable ones, (n,)."""
        most_probable = np.argmax(self.predict_proba(X), axis=1)  # raises before fit
        labels: NDArray[Any] = self.classes_[most_probable]
        return labels

    def to_binary(self, numeric_column: Mapping[int, int], onehot_column: Mapping[tuple[int, int], int]) -> FlatTree:
        """Rewrite the tree for a matrix with one-hot encoded nominal columns.

        A nominal test becomes a chain of tests ``column <= 0.5``, one for each code with training weight, in
        ascending order: right for this code, left for the others. The left end of the chain is a leaf for all other
        codes, with the distribution of the node. Probabilities are those of :meth:`predict_proba`.

        ``numeric_column`` maps each numeric column to a column of that matrix, and ``onehot_column`` maps each pair
        of nominal column and code.

        Raises
        ------
        UsageError
            The mappings lack a column that the tree reads.

        Examples
        --------
        >>> tree = C45Tree(min_leaf=1, nominal=[0]).fit([[0], [0], [2], [2]], [0, 0, 1, 1])
        >>> binary = tree.to_binary({}, {(0, 0): 10, (0, 2): 12})
        >>> binary.feature.tolist(), binary.left.tolist(), binary.right.tolist(), binary.value.tolist()
        ([10, 12, -1, -1, -1], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [0.5, 1.0, 0.0, 0.5, 1.0])
        """
        check_is_fitted(self)
        try:
            return _to_binary(self.tree_, numeric_column, onehot_column)
        except KeyError as error:
            raise UsageError(f"the tree reads column {error.args[0]}, which is not in the mappings") from error


def _checked_weight(sample_weight: ArrayLike | None, n_rows: int) -> DoubleArray:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0.0).any() or not weight.any():
        raise UsageError(f"sample_weight must hold {n_rows} finite numbers >= 0, not all of them zero")
    return weight


def _to_binary(
    tree: MultiwayTree, numeric_column: Mapping[int, int], onehot_column: Mapping[tuple[int, int], int]
) -> FlatTree:
    weight, value = tree.counts.sum(axis=1).tolist(), tree.value.tolist()
    # Nodes of the binary tree are added as leaves and turned into tests later.
    values, weights = [value[0]], [weight[0]]
    tests: dict[int, tuple[int, float, int]] = {}  # feature, threshold and left child; the right child follows
    stack = [(0, 0)]  # nodes of both trees
    while stack:
        at, node = stack.pop()
        feature, first = int(tree.feature[at]), int(tree.first_child[at])
        if feature < 0:
            continue
        if math.isnan(tree.threshold[at]):
            codes = [code for code in range(tree.n_children[at]) if weight[first + code] > SLACK]
            # Class weights that remain after each test of the chain.
            rest = np.cumsum(tree.counts[[first + code for code in codes[:0:-1]]], axis=0)[::-1]
            ends = [(float(counts[1] / counts.sum()), float(counts.sum())) for counts in rest] + [(value[at], 0.0)]
            for code, (rest_value, rest_weight) in zip(codes, ends, strict=True):
                tests[node] = onehot_column[feature, code], 0.5, len(values)
                node = len(values)
                stack.append((first + code, node + 1))
                values += [rest_value, value[first + code]]
                weights += [rest_weight, weight[first + code]]
        else:
            tests[node] = numeric_column[feature], float(tree.threshold[at]), len(values)
            for child in (first, first + 1):
                stack.append((child, len(values)))
                values.append(value[child])
                weights.append(weight[child])
    n = len(values)
    return FlatTree(
        feature=np.array([tests.get(i, (-1,))[0] for i in range(n)], np.int32),
        threshold=np.array([tests[i][1] if i in tests else 0.0 for i in range(n)], np.float64),
        left=np.array([tests[i][2] if i in tests else -1 for i in range(n)], np.int32),
        right=np.array([tests[i][2] + 1 if i in tests else -1 for i in range(n)], np.int32),
        value=np.array(values, np.float64),
        weight=np.array(weights, np.float64),
    )
