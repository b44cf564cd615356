"""Growing of C4.5 decision trees as in WEKA's J48, for two classes and complete data.

Nominal columns get one branch per code. The test of a node is chosen by gain ratio among the tests of at least average
information gain, and numeric tests are penalised for their number of possible cuts. Nominal columns with very many
values may be chosen, but do not count towards that average.

Sources: Quinlan 1993, *C4.5: Programs for Machine Learning*, chapter 2; Quinlan 1996, *Improved use of continuous
attributes in C4.5* (the penalty on numeric tests); J48 of WEKA for every constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DoubleArray: TypeAlias = "NDArray[np.float64]"
Rows: TypeAlias = "NDArray[np.intp]"

# Tolerance of floating-point comparisons (WEKA).
SLACK = 1e-6
# Two values closer than this are not separated by a cut (WEKA).
VALUE_GAP = 1e-5
# A side of a numeric cut holds at least a tenth of the average class of the node, within [min_leaf, 25] (WEKA).
SIDE_SHARE, SIDE_MAXIMUM = 0.1, 25.0
# A test is considered if its gain is at most this much below the average (WEKA).
GAIN_SLACK = 1e-3
# Gains of nominal columns with at least this many values, per unit of the whole training weight, are left out of that
# average, because many small branches always gain (WEKA). A column of 24 tag names is left out up to weight 80.
MANY_VALUES = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A two-class training sample."""

    matrix: DoubleArray  #: (n, f); nominal columns hold codes 0, 1, ….
    class_weight: DoubleArray  #: (2, n) weight of each row in the row of its class, and 0 in the other.

    def counts(self, rows: Rows) -> tuple[float, float]:
        """Sum the weights of class 0 and class 1 over rows.

        Examples
        --------
        >>> Sample(np.zeros((2, 1)), np.array([[2.0, 0.0], [0.0, 1.0]])).counts(np.array([0, 1]))
        (2.0, 1.0)
        """
        negative, positive = self.class_weight[:, rows].sum(axis=1)
        return float(negative), float(positive)


@dataclass(slots=True, eq=False)
class Node:
    """A node of a tree that is being grown or pruned; a node without children is a leaf.

    Examples
    --------
    >>> Node(rows=np.array([0, 1, 2]), counts=(1.0, 2.0)).errors
    1.0
    """

    rows: Rows  #: Training rows that reach the node.
    counts: tuple[float, float]  #: Their weight in class 0 and class 1.
    feature: int = -1  #: Column of the test.
    #: Cut of a numeric test: left child iff ``value <= threshold``. NaN for a nominal test, with one child per code.
    threshold: float = math.nan
    children: tuple[Node, ...] = ()  #: In the order of the branches.
    estimate: float = math.nan  #: Pessimistic errors of the sub-tree once it is pruned for its current rows, else NaN.

    @property
    def weight(self) -> float:
        """Training weight that reaches the node."""
        return self.counts[0] + self.counts[1]

    @property
    def errors(self) -> float:
        """Training errors of the node as a leaf."""
        return min(self.counts)

    def branches(self, sample: Sample, rows: Rows) -> list[Rows]:
        """Distribute rows over the children of an inner node."""
        values = sample.matrix[rows, self.feature]
        if math.isnan(self.threshold):
            return [rows[values == code] for code in range(len(self.children))]
        left = values <= self.threshold
        return [rows[left], rows[~left]]

    def preorder(self) -> list[Node]:
        """List the nodes of the sub-tree, parents before children."""
        nodes: list[Node] = []
        stack = [self]
        while stack:
            node = stack.pop()
            nodes.append(node)
            stack.extend(reversed(node.children))
        return nodes


def grow(sample: Sample, nominal: Sequence[int], min_leaf: float, *, mdl_correction: bool) -> Node:
    """Grow an unpruned tree on one or more rows with positive weight; returns its root.

    ``nominal`` lists nominal columns in ascending order; at least two branches of a test must hold the training
    weight ``min_leaf``, at least 1; with ``mdl_correction``, numeric tests are penalised by log2(number of cuts) bits.

    Examples
    --------
    >>> sample = Sample(np.array([[3.0], [4.0], [8.0], [9.0]]), np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    >>> root = grow(sample, [], 2, mdl_correction=True)
    >>> root.threshold, [child.counts for child in root.children]
    (4.0, [(2.0, 0.0), (0.0, 2.0)])
    """
    return _Grower(sample, nominal, min_leaf, mdl_correction=mdl_correction).grow()


class _Grower:
    """Grows a tree; takes the parameters of :func:`grow`."""

    def __init__(self, sample: Sample, nominal: Sequence[int], min_leaf: float, *, mdl_correction: bool) -> None:
        self.sample, self.min_leaf, self.mdl_correction = sample, min_leaf, mdl_correction
        self.nominal = list(nominal)
        self.codes: NDArray[np.intp] = sample.matrix[:, nominal].T.astype(np.intp)
        self.n_codes = [int(column.max()) + 1 for column in self.codes]
        self.numeric: list[int] = np.setdiff1d(np.arange(sample.matrix.shape[1]), nominal).tolist()
        self.columns = np.ascontiguousarray(sample.matrix[:, self.numeric].T)
        self.sorted_columns = np.sort(self.columns, axis=1)
        most_values = MANY_VALUES * sum(sample.counts(np.arange(sample.matrix.shape[0])))
        #: Columns whose gains count towards the average; all if every column is nominal with many values.
        self.averaged = np.ones(sample.matrix.shape[1], dtype=bool)
        self.averaged[self.nominal] = most_values - np.array(self.n_codes) > SLACK
        if not self.averaged.any():
            self.averaged[:] = True

    def grow(self) -> Node:
        """Grow the tree. Children inherit the sorted order of numeric columns, which are sorted only once."""
        rows = np.arange(self.sample.matrix.shape[0])
        root = Node(rows, self.sample.counts(rows))
        stack = [(root, np.argsort(self.columns, axis=1, kind="stable"))]
        branch_of = np.empty(rows.size, dtype=np.int32)
        while stack:
            node, order = stack.pop()
            n_branches = self._choose_test(node, order)
            if not n_branches:
                continue
            node.children = tuple(Node(np.empty(0, np.intp), (0.0, 0.0)) for _ in range(n_branches))
            for branch, (child, child_rows) in enumerate(
                zip(node.children, node.branches(self.sample, node.rows), strict=True)
            ):
                child.rows, child.counts = child_rows, self.sample.counts(child_rows)
                branch_of[child_rows] = branch
            branch_of_order = branch_of[order]
            stack.extend(
                (child, order[branch_of_order == branch].reshape(order.shape[0], child.rows.size))
                for branch, child in enumerate(node.children)
                if child.rows.size
            )
        return root

    def _choose_test(self, node: Node, order: NDArray[np.intp]) -> int:
        """Store the best test in the node; returns its number of branches, 0 for a leaf."""
        if node.weight < 2.0 * self.min_leaf - SLACK or node.errors < SLACK:
            return 0
        n_columns = len(self.numeric) + len(self.nominal)
        gains, ratios = np.full(n_columns, np.nan), np.zeros(n_columns)
        middles = self._score_numeric(node, order, gains, ratios)
        self._score_nominal(node, gains, ratios)
        average = gains[self.averaged & ~np.isnan(gains)]
        if not average.size:
            return 0
        competes = gains >= average.mean() - GAIN_SLACK
        best = _first_best(np.where(competes, ratios, 0.0))
        if best < 0:
            return 0
        node.feature = best
        if best not in middles:
            return self.n_codes[self.nominal.index(best)]
        # The cut is the largest value of the whole training column up to the mid-point (WEKA).
        values = self.sorted_columns[self.numeric.index(best)]
        node.threshold = float(values[np.searchsorted(values, middles[best], side="right") - 1])
        return 2

    def _score_numeric(
        self, node: Node, order: NDArray[np.intp], gains: DoubleArray, ratios: DoubleArray
    ) -> dict[int, float]:
        """Score the numeric columns in place; returns the mid-points of their best cuts."""
        weight = node.weight
        side = min_split(weight, self.min_leaf)
        if weight < 2.0 * side - SLACK:
            return {}
        values = np.take_along_axis(self.columns, order, axis=1)
        negative, positive = (np.cumsum(one[order], axis=1)[:, :-1] for one in self.sample.class_weight)
        left_weight = negative + positive
        admissible = values[:, :-1] + VALUE_GAP < values[:, 1:]
        admissible &= (left_weight >= side - SLACK) & (weight - left_weight >= side - SLACK)
        column, position = np.nonzero(admissible)
        left = np.stack([negative[column, position], positive[column, position]], axis=1)
        tables = np.stack([left, np.asarray(node.counts) - left], axis=1)
        gain = _information_gain(tables)
        bounds = np.searchsorted(column, np.arange(len(self.numeric) + 1))
        middles: dict[int, float] = {}
        for index, feature in enumerate(self.numeric):
            start, stop = bounds[index], bounds[index + 1]
            best = start + _first_best(gain[start:stop])
            if best < start:
                continue
            charge = math.log2(stop - start) / weight if self.mdl_correction else 0.0
            if gain[best] - charge > SLACK:
                gains[feature] = gain[best] - charge
                ratios[feature] = gains[feature] / _split_information(tables[best])
                lower, upper = values[index, position[best] : position[best] + 2].tolist()
                middle = lower / 2.0 + upper / 2.0
                middles[feature] = middle if lower <= middle < upper else lower
        return middles

    def _score_nominal(self, node: Node, gains: DoubleArray, ratios: DoubleArray) -> None:
        """Score the nominal columns in place."""
        for index, feature in enumerate(self.nominal):
            codes, n_codes = self.codes[index, node.rows], self.n_codes[index]
            negative, positive = (np.bincount(codes, one[node.rows], n_codes) for one in self.sample.class_weight)
            table = np.stack([negative, positive], axis=1).astype(np.float64)
            if np.count_nonzero(table.sum(axis=1) >= self.min_leaf - SLACK) >= 2:
                gains[feature] = _information_gain(table[np.newaxis])[0]
                ratios[feature] = gains[feature] / _split_information(table)


def min_split(weight: float, min_leaf: float) -> float:
    """Compute the training weight that each side of a numeric cut must hold, from the weight of the node.

    It is a tenth of the average weight of the two classes, but at least ``min_leaf`` and otherwise at most 25:
    ``min_leaf`` is compared first, so a large node with ``min_leaf`` above 25 may get 25.

    Examples
    --------
    >>> [min_split(weight, 10) for weight in (100, 300, 84_198)], min_split(100, 30), min_split(1000, 30)
    ([10, 15.0, 25.0], 30, 25.0)
    """
    share = SIDE_SHARE * weight / 2.0
    return min_leaf if share <= min_leaf + SLACK else min(share, SIDE_MAXIMUM)


def _x_log2_x(x: DoubleArray) -> DoubleArray:
    return np.asarray(x * np.log2(np.where(x > 0.0, x, 1.0)))


def _information_gain(tables: DoubleArray) -> DoubleArray:
    """Compute the information gain in bits of class weights (k, branches, 2) of equal totals."""
    of_class, of_branch = _x_log2_x(tables.sum(axis=1)), _x_log2_x(tables.sum(axis=2))
    total = tables.sum(axis=(1, 2))
    bits = _x_log2_x(total) - of_class.sum(axis=1) - of_branch.sum(axis=1) + _x_log2_x(tables).sum(axis=(1, 2))
    return np.where(np.abs(bits) > SLACK, bits / np.maximum(total, SLACK), 0.0)


def _split_information(table: DoubleArray) -> float:
    """Compute the entropy in bits of the distribution over branches, at least two of which hold rows."""
    of_branch = table.sum(axis=1)
    total = of_branch.sum()
    return float((_x_log2_x(total) - _x_log2_x(of_branch).sum()) / total)


def _first_best(scores: DoubleArray) -> int:
    """Find the best score from left to right, counting only improvements by more than SLACK; −1 if none is above 0."""
    peaks = np.maximum.accumulate(scores)
    best, at = 0.0, -1
    while (index := int(np.searchsorted(peaks, best + SLACK, side="right"))) < scores.size:
        best, at = float(scores[index]), index
    return at
