"""The C4.5 tree: its tests, its cuts, whole trees, and the binary form."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import blockml
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.extractors import TrainedExtractor
from blockml.model import save_model
from blockml.training import FlatTree, build_table, cross_validate, fit_model, recipe
from research.c45 import C45_RECIPES, grow_c45
from research.c45.growing import min_split
from research.c45.pruning import added_errors
from research.c45.tree import C45Tree

DATA = Path(__file__).parents[3] / "data"

# --- a slow C4.5, written row by row --------------------------------------------------------------------------------


class SlowTree:
    """J48 by the book: lists of rows, recursion, entropies by definition."""

    def __init__(self, matrix: Any, target: Any, weight: Any, params: dict[str, Any]) -> None:
        self.matrix, self.target, self.weight = matrix.tolist(), target.tolist(), weight.tolist()
        self.params = params
        self.nominal = params["nominal"]
        root = self.grow([row for row in range(len(self.target)) if self.weight[row] > 0])
        self.root = self.prune(self.collapse(root) if params["collapse"] else root)

    def counts(self, rows: list[int]) -> tuple[float, float]:
        """Return the weight of both classes."""
        positive = sum(self.weight[row] for row in rows if self.target[row] == 1)
        return sum(self.weight[row] for row in rows) - positive, positive

    def entropy(self, groups: list[list[int]]) -> float:
        """Return the entropy of the distribution over groups of rows."""
        sizes = [sum(self.counts(group)) for group in groups]
        return -sum(size / sum(sizes) * math.log2(size / sum(sizes)) for size in sizes if size)

    def gain(self, groups: list[list[int]]) -> float:
        """Return the information gain of a distribution of rows over branches."""

        def class_entropy(rows: list[int]) -> float:
            return self.entropy([[row for row in rows if self.target[row] == label] for label in (0, 1)])

        everything = [row for group in groups for row in group]
        total = sum(self.counts(everything))
        return class_entropy(everything) - sum(sum(self.counts(g)) / total * class_entropy(g) for g in groups if g)

    def split(self, rows: list[int], feature: int, threshold: float | None) -> list[list[int]]:
        """Return the rows of each branch."""
        if threshold is not None:
            return [[row for row in rows if (self.matrix[row][feature] > threshold) == side] for side in (False, True)]
        n_codes = 1 + max(int(row[feature]) for row, w in zip(self.matrix, self.weight, strict=True) if w > 0)
        return [[row for row in rows if self.matrix[row][feature] == code] for code in range(n_codes)]

    def has_many_values(self, feature: int) -> bool:
        """Return whether a nominal column has at least 0.3 values per unit of training weight."""
        n_codes = 1 + max(int(row[feature]) for row, w in zip(self.matrix, self.weight, strict=True) if w > 0)
        return feature in self.nominal and n_codes >= 0.3 * sum(self.weight) - 1e-6

    def score(self, rows: list[int], feature: int) -> tuple[float, float, float | None] | None:
        """Return gain, gain ratio and cut of a valid test."""
        total = sum(self.counts(rows))
        if feature in self.nominal:
            groups = self.split(rows, feature, None)
            if sum(sum(self.counts(group)) >= self.params["min_leaf"] for group in groups) < 2:
                return None
            gain = self.gain(groups)
            return gain, gain / self.entropy(groups), None
        least = self.params["min_leaf"] if 0.05 * total <= self.params["min_leaf"] else min(0.05 * total, 25)
        values = sorted({self.matrix[row][feature] for row in rows})
        cuts = []
        for low, high in itertools.pairwise(values):
            groups = self.split(rows, feature, (low + high) / 2)
            if high > low + 1e-5 and all(sum(self.counts(group)) >= least for group in groups):
                cuts.append((self.gain(groups), (low + high) / 2))
        best, middle = 0.0, math.nan
        for gain, cut in cuts:
            if gain > best + 1e-6:
                best, middle = gain, cut
        charge = math.log2(len(cuts)) / total if cuts and self.params["mdl_correction"] else 0.0
        if best - charge <= 1e-6:
            return None
        seen = [row[feature] for row, weight in zip(self.matrix, self.weight, strict=True) if weight > 0]
        threshold = max(value for value in seen if value <= middle)
        return best - charge, (best - charge) / self.entropy(self.split(rows, feature, middle)), threshold

    def grow(self, rows: list[int]) -> dict[str, Any]:
        """Return nested nodes."""
        leaf = {"rows": rows, "sons": []}
        if sum(self.counts(rows)) < 2 * self.params["min_leaf"] or min(self.counts(rows)) == 0:
            return leaf
        scores = {feature: self.score(rows, feature) for feature in range(len(self.matrix[0]))}
        valid = {feature: score for feature, score in scores.items() if score is not None}
        counted = [feature for feature in scores if not self.has_many_values(feature)] or list(scores)
        gains = [score[0] for feature, score in valid.items() if feature in counted]
        if not gains:
            return leaf
        best, choice = 0.0, None
        for feature, (gain, ratio, _) in valid.items():
            if gain >= sum(gains) / len(gains) - 1e-3 and ratio > best + 1e-6:
                best, choice = ratio, feature
        if choice is None:
            return leaf
        threshold = valid[choice][2]
        sons = [self.grow(part) for part in self.split(rows, choice, threshold)]
        return {"rows": rows, "sons": sons, "feature": choice, "threshold": threshold}

    def train_errors(self, node: dict[str, Any]) -> float:
        """Return the errors of the leaves."""
        return sum(map(self.train_errors, node["sons"])) if node["sons"] else min(self.counts(node["rows"]))

    def collapse(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return a node after C4.5's collapsing."""
        if self.train_errors(node) >= min(self.counts(node["rows"])) - 1e-3:
            return {"rows": node["rows"], "sons": []}
        return {**node, "sons": [self.collapse(son) for son in node["sons"]]}

    def estimate(self, node: dict[str, Any], rows: list[int]) -> float:
        """Return the estimated errors of a sub-tree for any rows."""
        if node["sons"]:
            parts = self.split(rows, node["feature"], node["threshold"])
            return sum(self.estimate(son, part) for son, part in zip(node["sons"], parts, strict=True))
        total, errors = sum(self.counts(rows)), min(self.counts(rows))
        return errors + added_errors(total, errors, self.params["confidence"]) if rows else 0.0

    def redistribute(self, node: dict[str, Any], rows: list[int]) -> dict[str, Any]:
        """Return a node with other rows sent through the same tests."""
        if not node["sons"]:
            return {"rows": rows, "sons": []}
        parts = self.split(rows, node["feature"], node["threshold"])
        sons = [self.redistribute(son, part) for son, part in zip(node["sons"], parts, strict=True)]
        return {**node, "rows": rows, "sons": sons}

    def prune(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return a node after replacing and raising sub-trees, bottom-up."""
        if not node["sons"]:
            return node
        rows = node["rows"]
        node = {**node, "sons": [self.prune(son) for son in node["sons"]]}
        sizes = [sum(self.counts(son["rows"])) for son in node["sons"]]
        largest = node["sons"][max(branch for branch, size in enumerate(sizes) if size == max(sizes))]
        leaf = {"rows": rows, "sons": []}
        as_leaf, as_tree = self.estimate(leaf, rows), self.estimate(node, rows)
        as_branch = self.estimate(largest, rows) if self.params["subtree_raising"] else math.inf
        if as_leaf <= as_tree + 0.1 + 1e-6 and as_leaf <= as_branch + 0.1 + 1e-6:
            return leaf
        return self.prune(self.redistribute(largest, rows)) if as_branch <= as_tree + 0.1 + 1e-6 else node

    def flat(self) -> list[tuple[Any, ...]]:
        """Return tests and class weights, breadth-first."""
        queue = [self.root]
        for node in queue:
            queue.extend(node["sons"])
        return [
            (node["feature"], node["threshold"], *self.counts(node["rows"]))
            if node["sons"]
            else (-1, None, *self.counts(node["rows"]))
            for node in queue
        ]


def flat(tree: C45Tree) -> list[tuple[Any, ...]]:
    """Return the same list from the fast tree."""
    arrays = tree.tree_
    return [
        (int(feature), None if math.isnan(threshold) else float(threshold), *counts)
        for feature, threshold, counts in zip(arrays.feature, arrays.threshold, arrays.counts.tolist(), strict=True)
    ]


def slow_probability(tree: FlatTree, row: Any) -> float:
    """Return the probability found by walking one row down a binary tree."""
    node = 0
    while tree.feature[node] >= 0:
        node = int(tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node])
    return float(tree.value[node])


def problem(seed: int, n_rows: int, noise: float = 0.25) -> tuple[Any, Any]:
    """Return three numeric columns with ties and two nominal ones (1 and 4), and a class that depends on some."""
    rng = np.random.default_rng(seed)
    numeric = rng.integers(0, (4, 12, 40), (n_rows, 3)) / 2.0
    nominal = rng.integers(0, (3, 5), (n_rows, 2))
    matrix = np.column_stack([numeric[:, 0], nominal[:, 0], numeric[:, 1:], nominal[:, 1]])
    target = (matrix[:, 2] > 2.5) ^ ((matrix[:, 4] >= 3) & (matrix[:, 3] > 8)) ^ (rng.random(n_rows) < noise)
    return matrix, target.astype(int)


NOMINAL = (1, 4)
PARAMS = st.fixed_dictionaries(
    {
        "min_leaf": st.sampled_from([1, 2, 3, 5]),
        "confidence": st.sampled_from([0.05, 0.25, 0.5, 0.70]),
        "collapse": st.booleans(),
        "subtree_raising": st.booleans(),
        "mdl_correction": st.booleans(),
        "nominal": st.just(NOMINAL),
    }
)
SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, n_rows=st.integers(1, 150), noise=st.sampled_from([0.0, 0.1, 0.3]), params=PARAMS)
def test_the_whole_tree_is_the_one_of_a_slow_implementation(
    seed: int, n_rows: int, noise: float, params: dict[str, Any]
) -> None:
    """Tests, cuts, pruning and class weights equal those of a row-by-row J48 with weights."""
    matrix, target = problem(seed, n_rows, noise)
    weight = np.random.default_rng(seed).choice([0, 1, 1, 1, 2], n_rows).astype(float)
    weight[0] = 1.0
    fast = C45Tree(**params).fit(matrix, target, weight)
    if len(fast.classes_) == 2:
        assert flat(fast) == SlowTree(matrix, target, weight, params).flat()


@pytest.mark.parametrize("columns", [(0, 1, 2), (1, 2), (1,)])
def test_columns_of_many_values_are_treated_as_in_the_slow_implementation(columns: tuple[int, ...]) -> None:
    """Columns of many values next to a numeric column, to one of few values, and by themselves give equal trees."""
    params: dict[str, Any] = {"min_leaf": 2, "confidence": 0.70, "collapse": True}
    params |= {"subtree_raising": True, "mdl_correction": True}
    sizes = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(12, 61))
        matrix = np.column_stack([rng.integers(0, 9, n_rows), rng.integers(0, 24, n_rows), rng.integers(0, 3, n_rows)])
        target = ((matrix[:, 0] > 4) | (matrix[:, 1] % 3 == 0)) ^ (rng.random(n_rows) < 0.2)
        matrix, target = matrix[:, columns].astype(float), target.astype(int)
        settings_here = params | {"nominal": [index for index, column in enumerate(columns) if column]}
        tree = C45Tree(**settings_here).fit(matrix, target)
        if len(tree.classes_) == 2:
            assert flat(tree) == SlowTree(matrix, target, np.ones(n_rows), settings_here).flat()
        sizes.add(len(tree.tree_.feature))
    assert len(sizes) > 2


def test_the_comparison_covers_raised_branches() -> None:
    """The random problems exercise sub-tree raising, so that the comparison above covers it."""
    differ = 0
    for seed in range(10):
        matrix, target = problem(seed, 150)
        raised, pruned = (
            C45Tree(min_leaf=2, nominal=NOMINAL, subtree_raising=raising).fit(matrix, target)
            for raising in (True, False)
        )
        differ += flat(raised) != flat(pruned)
    assert differ


# --- worked examples ------------------------------------------------------------------------------------------------


def test_a_numeric_test_is_charged_for_its_cuts() -> None:
    """A perfect numeric test with three cuts loses to a perfect nominal one only because cuts are charged."""
    values, target = np.repeat([0, 1, 2, 3], 10), np.repeat([0, 0, 1, 1], 10)
    matrix = np.column_stack([values, values > 1])
    charged, free = (C45Tree(nominal=[1], mdl_correction=charge).fit(matrix, target) for charge in (True, False))
    assert [int(tree.tree_.feature[0]) for tree in (charged, free)] == [1, 0]
    assert float(free.tree_.threshold[0]) == 1.0


@pytest.mark.parametrize(("copies", "feature"), [(1, 1), (4, 0)])
def test_gains_of_columns_with_many_values_do_not_raise_the_average(copies: int, feature: int) -> None:
    """The numeric cut, with a gain below the average of both, wins by its ratio if the other column is excluded.

    Six codes are at least 0.3 * 20 rows, but not 0.3 * 80.
    """
    code = np.repeat(np.arange(6), (4, 4, 3, 3, 3, 3))
    target = np.repeat([0, 1, 0, 1, 0, 1], (4, 4, 3, 3, 3, 3))
    value = np.where(target == 1, 1.0, 0.0)
    value[[0, 4]] = 1.0, 0.0  # two of 20 rows on the wrong side
    matrix = np.repeat(np.column_stack([code, value]), copies, axis=0)
    tree = C45Tree(min_leaf=2, nominal=[0], collapse=False, mdl_correction=False, confidence=1.0)
    assert int(tree.fit(matrix, np.repeat(target, copies)).tree_.feature[0]) == feature


def test_a_single_cut_is_free_of_charge() -> None:
    """Perfect tests with a single cut are not charged and tie, so that the lowest column wins."""
    values, target = np.repeat([0, 1], 20), np.repeat([0, 1], 20)
    tree = C45Tree(nominal=[1]).fit(np.column_stack([values, values]), target)
    assert (int(tree.tree_.feature[0]), int(tree.tree_.n_children[0])) == (0, 2)


@pytest.mark.parametrize(("weight", "expected"), [(100, 10), (200, 10), (300, 15), (500, 25), (84_198, 25)])
def test_the_smallest_side_of_a_cut_is_clamped(weight: float, expected: float) -> None:
    """The smallest side of a cut has at least a tenth of the average class, clamped to [10, 25]."""
    assert min_split(weight, 10) == pytest.approx(expected)


def test_the_lower_bound_of_the_smallest_side_comes_first() -> None:
    """With min_leaf 30 a small node needs 30 rows on each side and a big one 25."""
    assert (min_split(600, 30), min_split(601, 30)) == (30, 25.0)


def test_a_cut_is_a_value_of_the_whole_training_column() -> None:
    """A cut is a value of the training column: 4, from the other branch, between the values 0 and 10 of the node."""
    matrix = [[0, 0]] * 6 + [[0, 10]] * 6 + [[1, 0]] * 6 + [[1, 4]] * 2 + [[1, 10]] * 4
    tree = C45Tree(min_leaf=2).fit(matrix, [0] * 6 + [1] * 18)
    assert flat(tree)[0][:2] == (0, 0.0)
    assert flat(tree)[1][:2] == (1, 4.0)


def test_values_closer_than_the_gap_are_not_separated() -> None:
    """Values that differ by 1e-5 are not separated, but values that differ by 2e-5 are."""
    target = [0] * 5 + [1] * 5
    widths = [C45Tree(min_leaf=2).fit([[0.0]] * 5 + [[gap]] * 5, target).tree_.value.size for gap in (1e-5, 2e-5)]
    assert widths == [1, 3]


def test_equal_columns_and_equal_cuts_go_to_the_lowest() -> None:
    """Of equal columns and of equal cuts, such as the outer ones of a symmetric column, the lowest wins."""
    values = np.repeat([0, 1, 2], 10)
    tree = C45Tree(min_leaf=5, mdl_correction=False, confidence=0.7).fit(
        np.column_stack([values, values]), np.repeat([0, 1, 0], 10)
    )
    assert flat(tree)[0][:2] == (0, 0.0)


@pytest.mark.parametrize(("weight", "column"), [(1e-9, 0), (1e-2, 1)])
def test_an_improvement_within_the_tolerance_does_not_count(weight: float, column: int) -> None:
    """A column that errs in one row loses only if the row's weight exceeds the tolerance."""
    target = np.repeat([0, 1], 20)
    matrix = np.column_stack([target, target])
    matrix[0, 0] = 1
    weights = np.where(np.arange(40) == 0, weight, 1.0)
    tree = C45Tree(min_leaf=2, confidence=0.7).fit(matrix, target, weights)
    assert int(tree.tree_.feature[0]) == column


def test_an_empty_branch_gives_the_distribution_of_its_parent() -> None:
    """Code 1, which no row has, and code 9, beyond all codes of training, get their parent's distribution, 5 of 20."""
    tree = C45Tree(min_leaf=5, nominal=[0]).fit([[0]] * 15 + [[2]] * 5, [0] * 15 + [1] * 5)
    codes = np.array([[0, 2, 1, 9, -1, 0.5]]).T
    assert tree.predict_proba(codes)[:, 1].tolist() == [0, 1, 0.25, 0.25, 0.25, 0.25]


# --- binary form ----------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, n_rows=st.integers(2, 300), params=PARAMS)
def test_the_binary_form_gives_equal_probabilities(seed: int, n_rows: int, params: dict[str, Any]) -> None:
    """On the one-hot matrix every row has exactly the probability of the nominal one, even with unknown codes."""
    matrix, target = problem(seed, n_rows)
    target[:2] = 0, 1
    tree = C45Tree(**params).fit(matrix, target)
    fresh = problem(seed + 1, 100)[0]
    fresh[:10, 4] = 7
    onehot = {(column, code): 3 + 8 * index + code for index, column in enumerate(NOMINAL) for code in range(8)}
    encoded = np.zeros((100, 19))
    encoded[:, :3] = fresh[:, [0, 2, 3]]
    for column in NOMINAL:
        encoded[np.arange(100), [onehot[column, int(code)] for code in fresh[:, column]]] = 1.0
    binary = tree.to_binary({0: 0, 2: 1, 3: 2}, onehot)
    assert [slow_probability(binary, row) for row in encoded] == tree.predict_proba(fresh)[:, 1].tolist()


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, params=PARAMS)
def test_the_binary_form_is_a_tree_of_weights(seed: int, params: dict[str, Any]) -> None:
    """Children come after their parent, each node but the root has one parent, and class weights add up."""
    matrix, target = problem(seed, 200)
    identity = {column: column for column in range(5)}
    onehot = {(column, code): 5 + 8 * column + code for column in NOMINAL for code in range(8)}
    binary = C45Tree(**params).fit(matrix, target).to_binary(identity, onehot)
    inner = np.flatnonzero(binary.feature >= 0)
    left, right = binary.left[inner], binary.right[inner]
    assert (np.minimum(left, right) > inner).all()
    assert sorted([*left, *right]) == list(range(1, binary.feature.size))
    np.testing.assert_allclose(binary.weight[left] + binary.weight[right], binary.weight[inner])
    positive = binary.weight * binary.value
    np.testing.assert_allclose(positive[left] + positive[right], positive[inner], atol=1e-9)
    ends = binary.feature < 0
    assert (binary.left[ends] == -1).all()
    assert (binary.right[ends] == -1).all()
    assert [a.dtype for a in (binary.feature, binary.left, binary.right)] == [np.int32] * 3
    assert [a.dtype for a in (binary.threshold, binary.value, binary.weight)] == [np.float64] * 3


def test_an_unmapped_column_is_named() -> None:
    """The error for an unmapped column names the column and code."""
    tree = C45Tree(min_leaf=1, nominal=[0]).fit([[0], [1]] * 5, [0, 1] * 5)
    with pytest.raises(UsageError, match=r"column \(0, 1\)"):
        tree.to_binary({}, {(0, 0): 0})


# --- estimator ------------------------------------------------------------------------------------------------------


def test_scikit_learn_accepts_the_estimator() -> None:
    """All of scikit-learn's checks that need no further package pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some checks raise warnings on purpose
        results = check_estimator(C45Tree(min_leaf=2), on_fail="raise", on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert sum(result["status"] == "passed" for result in results) > 30


def test_the_constructor_only_stores_its_arguments() -> None:
    """The constructor only stores its arguments, and a clone is unfitted."""
    params: dict[str, Any] = {
        "min_leaf": 3,
        "confidence": 0.7,
        "collapse": False,
        "subtree_raising": False,
        "mdl_correction": False,
        "nominal": (1,),
    }
    tree = C45Tree(**params).fit([[0, 0], [1, 1]], [0, 1])
    assert tree.get_params() == params
    assert vars(clone(tree)) == params
    assert C45Tree().get_params() == {
        "min_leaf": 10,
        "confidence": 0.25,
        "collapse": True,
        "subtree_raising": True,
        "mdl_correction": True,
        "nominal": (),
    }


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, params=PARAMS)
def test_neither_row_order_nor_pickling_changes_the_tree(seed: int, params: dict[str, Any]) -> None:
    """Fitting twice, fitting shuffled rows and a round trip through pickle give the same tree."""
    matrix, target = problem(seed, 120)
    tree = C45Tree(**params).fit(matrix, target)
    shuffled = np.random.default_rng(seed).permutation(120)
    assert flat(C45Tree(**params).fit(matrix, target)) == flat(tree)
    assert flat(C45Tree(**params).fit(matrix[shuffled], target[shuffled])) == flat(tree)
    assert flat(pickle.loads(pickle.dumps(tree))) == flat(tree)  # noqa: S301  # our own bytes


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, params=PARAMS)
def test_weights_act_like_repeated_rows(seed: int, params: dict[str, Any]) -> None:
    """A weight of 0 to 3 acts like that many equal rows."""
    matrix, target = problem(seed, 100)
    times = np.random.default_rng(seed).integers(0, 4, 100)
    repeated = C45Tree(**params).fit(np.repeat(matrix, times, axis=0), np.repeat(target, times))
    assert flat(C45Tree(**params).fit(matrix, target, times)) == flat(repeated)


@pytest.mark.parametrize(("label", "value"), [(0, 0.0), (1, 1.0), (True, 1.0), ("text", 0.0)])
def test_a_single_class_is_one_leaf(label: Any, value: float) -> None:
    """A single class has one column of ones, and its binary form knows whether it is class 1."""
    tree = C45Tree().fit(np.arange(60.0).reshape(30, 2), np.array([label] * 30))
    assert tree.predict_proba([[0, 0]]).tolist() == [[1.0]]
    assert tree.predict([[0, 0]]).tolist() == [label]
    assert tree.to_binary({}, {}).value.tolist() == [value]


@pytest.mark.parametrize(
    "matrix",
    [np.arange(19.0)[:, np.newaxis], np.ones((100, 3)), np.ones((1, 1))],
    ids=["fewer than two leaves", "constant", "one row"],
)
@pytest.mark.parametrize("nominal", [(), (0,)])
def test_nothing_to_split_gives_the_class_shares(matrix: Any, nominal: tuple[int, ...]) -> None:
    """Too few rows or constant columns leave a root without tests, with the class shares."""
    target = np.arange(matrix.shape[0]) % 3 == 1
    tree = C45Tree(min_leaf=10, nominal=nominal).fit(matrix, target)
    assert tree.tree_.feature.tolist() == [-1]
    assert tree.tree_.value[0] == target.mean()


def test_an_even_leaf_predicts_the_first_class() -> None:
    """Leaves with a tie predict the lower label."""
    assert C45Tree().fit([[0], [0]], ["b", "a"]).predict([[0]]).tolist() == ["a"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_leaf": 0}, "min_leaf"),
        ({"min_leaf": math.nan}, "min_leaf"),
        ({"confidence": 0.0}, "confidence"),
        ({"confidence": 1.5}, "confidence"),
        ({"nominal": (2,)}, "column indices 0 … 1"),
        ({"nominal": (-1,)}, "column indices 0 … 1"),
        ({"nominal": (1,)}, "integers"),
    ],
)
def test_illegal_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    """Illegal parameters are refused with the name and range of the parameter."""
    with pytest.raises(UsageError, match=message):
        C45Tree(**params).fit([[0, 0.5], [1, 1.0]], [0, 1])


@pytest.mark.parametrize("weight", [[1], [1, -1], [0, 0], [1, math.inf]])
def test_illegal_weights_are_refused(weight: list[float]) -> None:
    """Weights of a wrong number, negative, infinite or all zero ones are refused."""
    with pytest.raises(UsageError, match="sample_weight"):
        C45Tree().fit([[0], [1]], [0, 1], weight)


def test_three_classes_and_other_widths_are_refused() -> None:
    """More than two classes, and a matrix of another width than in training, are refused."""
    with pytest.raises(UsageError, match="at most two classes, got 3"):
        C45Tree().fit([[0], [1], [2]], [0, 1, 2])
    with pytest.raises(UsageError, match="expecting 1 features"):
        C45Tree().fit([[0], [1]], [0, 1]).predict([[0, 1]])


def test_a_deep_tree_needs_no_recursion() -> None:
    """A chain of tests longer than the interpreter's stack is grown, pruned and predicted."""
    matrix = np.arange(1300.0)[:, np.newaxis]
    # Alternating classes of falling weight: each cut splits off the heaviest remaining row.
    weight = 1e13 * 0.99 ** np.arange(1300)
    tree = C45Tree(min_leaf=1, mdl_correction=False).fit(matrix, np.arange(1300) % 2, weight)
    depth, last = 0, tree.tree_.first_child.size - 1
    while last:
        last = int(np.flatnonzero((tree.tree_.first_child >= 0) & (tree.tree_.first_child <= last))[-1])
        depth += 1
    assert depth > sys.getrecursionlimit()
    assert tree.predict(matrix[:6]).tolist() == [0, 1] * 3


# --- recipes ------------------------------------------------------------------------------------------------------


def test_recipes_of_c45_are_cross_validated_and_extract(tmp_path: Path) -> None:
    """A recipe with a learner of its own is tuned, cross-validated and saved as one of blockml's."""
    dataset = open_dataset(DATA / "pages")
    for name, chosen in C45_RECIPES.items():
        table = build_table([dataset], chosen)
        found = cross_validate(table, chosen, "block", n_folds=3)
        usual = cross_validate(table, recipe(name.removesuffix("-c45")), "block", n_folds=3)
        assert abs(found.block_scores(table).f1 - usual.block_scores(table).f1) < 0.1
        assert (found.scores != usual.scores).any()
        model = fit_model(table, chosen, 0)
        save_model(model, tmp_path / f"{name}.blockml")
        html = dataset.pages[0].load()[0]
        kept = [
            blockml.extract(html, model=item).kept.tolist()
            for item in (TrainedExtractor(model), tmp_path / f"{name}.blockml")
        ]
        assert kept[0] == kept[1]
    changed = C45_RECIPES["kim2013-c45"].but(min_leaf=5, threshold=0.4)
    assert (changed.tree_learner, changed.parameters["min_leaf"]) == (grow_c45, 5)
    assert not changed.is_ensemble
    assert changed.but(learner="cart").tree_learner is None
