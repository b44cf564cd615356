"""Pruning: the error estimate, flat trees from scikit-learn, and the effect of each method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from blockml.errors import UsageError
from blockml.training import FlatTree
from research.c45.growing import Node, Sample, grow
from research.c45.pruning import added_errors, collapse, pessimistic_prune, prune

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed: int, n_rows: int = 200) -> tuple[Any, Any]:
    """Return two informative columns with ties and a useless one, with noise in a quarter of the labels."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, (5, 20, 60), (n_rows, 3)) / 3.0
    target = ((matrix[:, 0] > 1) & (matrix[:, 1] > 2)) ^ (rng.random(n_rows) < 0.25)
    return matrix, target.astype(int)


def fitted(seed: int, **params: Any) -> tuple[DecisionTreeClassifier, FlatTree]:
    """Return a fitted scikit-learn tree and its copy."""
    estimator = DecisionTreeClassifier(criterion="entropy", random_state=0, **params).fit(*problem(seed))
    return estimator, FlatTree.from_sklearn(estimator)


def leaves(tree: FlatTree, matrix: Any) -> Any:
    """Return the leaf of every row, by walking one by one."""
    ends = []
    for row in matrix:
        node = 0
        while tree.feature[node] >= 0:
            node = int(tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node])
        ends.append(node)
    return np.array(ends)


def train_errors(tree: FlatTree, matrix: Any, target: Any) -> int:
    """Return the number of rows on the wrong side of 0.5."""
    return int(((tree.value[leaves(tree, matrix)] > 0.5) != target).sum())


def node_errors(root: Node) -> float:
    """Return the training errors of the leaves."""
    return sum(node.errors for node in root.preorder() if not node.children)


@pytest.mark.parametrize(
    ("n", "errors", "confidence", "expected"),
    [
        (10, 0, 0.25, 1.294494),
        (10, 1, 0.25, 1.412562),
        (20, 2, 0.25, 1.667239),
        (100, 10, 0.25, 2.749611),
        (14, 5, 0.25, 1.761120),
        (6, 2, 0.25, 1.321326),
        (1, 0, 0.25, 0.75),
        (10, 0, 0.5, 0.669670),
        (10, 1, 0.5, 0.5),
        (10, 0, 0.7, 0.0),
    ],
)
def test_added_errors_has_the_known_values(n: float, errors: float, confidence: float, expected: float) -> None:
    """Added errors equal worked numbers of WEKA's formula."""
    assert added_errors(n, errors, confidence) == pytest.approx(expected, abs=1e-6)


def test_added_errors_interpolates_at_both_ends() -> None:
    """Added errors of half an error are midway between those of none and one; close to n only n − errors remains."""
    ends = added_errors(10, 0, 0.25), added_errors(10, 1, 0.25)
    assert added_errors(10, 0.5, 0.25) == pytest.approx(sum(ends) / 2)
    assert added_errors(10, 9.75, 0.25) == 0.25
    assert added_errors(1, 1, 0.25) == 0.0


@pytest.mark.parametrize(("n", "confidence"), [(0.0, 0.25), (-1.0, 0.25), (10.0, 0.0), (10.0, 1.01)])
def test_added_errors_refuses_illegal_arguments(n: float, confidence: float) -> None:
    """Zero weight, and confidences outside (0, 1], are refused."""
    with pytest.raises(UsageError):
        added_errors(n, 0, confidence)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, scale=st.sampled_from([1.0, 1e-3, 1e6]))
def test_a_copy_gives_scikit_learns_probabilities(seed: int, scale: float) -> None:
    """Probabilities are exact for float64 rows, even for values that rounding to float32 moves across a threshold."""
    matrix, target = problem(seed)
    estimator = DecisionTreeClassifier(random_state=0, min_samples_leaf=3).fit(matrix * scale, target)
    tree = FlatTree.from_sklearn(estimator)
    rng = np.random.default_rng(seed)
    thresholds = rng.choice(estimator.tree_.threshold, (50, 3))
    near = thresholds * (1.0 + rng.choice([-1e-7, -5e-8, -1e-8, 0.0, 1e-8, 5e-8, 1e-7], (50, 3)))
    rows = np.vstack([matrix[:50] * scale, near, tree.threshold[:50, np.newaxis].repeat(3, axis=1)])
    assert tree.value[leaves(tree, rows)].tolist() == estimator.predict_proba(rows)[:, 1].tolist()


def test_a_copy_is_consistent_and_complete() -> None:
    """Children follow their parent, weights add up, leaves have no children, and every array has its type."""
    _, tree = fitted(1)
    inner = np.flatnonzero(tree.feature >= 0)
    assert (np.minimum(tree.left[inner], tree.right[inner]) > inner).all()
    assert (tree.weight[tree.left[inner]] + tree.weight[tree.right[inner]] == tree.weight[inner]).all()
    ends = tree.feature < 0
    assert set(tree.left[ends]) == set(tree.right[ends]) == set(tree.feature[ends]) == {-1}
    assert set(tree.threshold[ends]) == {0.0}
    assert [a.dtype for a in (tree.feature, tree.left, tree.right)] == [np.int32] * 3
    assert [a.dtype for a in (tree.threshold, tree.value, tree.weight)] == [np.float64] * 3


@pytest.mark.parametrize(("label", "value"), [(0, 0.0), (1, 1.0), (True, 1.0)])
def test_a_copy_of_a_single_class_knows_which(label: Any, value: float) -> None:
    """The copy of a tree with one class is a leaf, with the value 1 exactly if the label equals 1."""
    tree = FlatTree.from_sklearn(DecisionTreeClassifier().fit([[0], [1]], [label, label]))
    assert (tree.value.tolist(), tree.feature.tolist(), tree.weight.tolist()) == ([value], [-1], [2.0])


@pytest.mark.parametrize("target", [[0, 1, 2], [[0, 1], [1, 0], [1, 1]]], ids=["three classes", "two outputs"])
def test_only_two_class_trees_are_copied(target: Any) -> None:
    """Trees with more classes or outputs are refused."""
    with pytest.raises(UsageError, match="two classes"):
        FlatTree.from_sklearn(DecisionTreeClassifier().fit([[0], [1], [2]], target))


def slow_prune(tree: FlatTree, node: int, confidence: float) -> tuple[float, list[int]]:
    """Return the estimated errors and the leaves of the pruned sub-tree, by recursion."""
    n, p = tree.weight[node], tree.value[node]
    errors = n * min(p, 1 - p)
    as_leaf = float(errors + added_errors(n, errors, confidence))
    if tree.feature[node] < 0:
        return as_leaf, [node]
    (left, left_ends), (right, right_ends) = (
        slow_prune(tree, int(child[node]), confidence) for child in (tree.left, tree.right)
    )
    return (as_leaf, [node]) if as_leaf <= left + right + 0.1 + 1e-6 else (left + right, left_ends + right_ends)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, confidence=st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.7]), min_leaf=st.sampled_from([1, 2, 10]))
def test_pessimistic_pruning_equals_a_recursive_one(seed: int, confidence: float, min_leaf: int) -> None:
    """Leaves equal those of recursive pruning, and their weights match the training rows that reach them."""
    _, tree = fitted(seed, min_samples_leaf=min_leaf)
    small = pessimistic_prune(tree, confidence)
    kept = slow_prune(tree, 0, confidence)[1]
    ends = np.flatnonzero(small.feature < 0)
    assert sorted(zip(small.weight[ends], small.value[ends], strict=True)) == sorted(
        zip(tree.weight[kept], tree.value[kept], strict=True)
    )
    matrix, target = problem(seed)
    arrived = leaves(small, matrix)
    assert np.bincount(arrived, minlength=small.weight.size)[ends].tolist() == small.weight[ends].tolist()
    share = [target[arrived == end].mean() for end in ends]
    np.testing.assert_allclose(small.value[ends], share, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, min_leaf=st.sampled_from([1, 2, 10]))
def test_a_confidence_of_70_percent_costs_no_training_error(seed: int, min_leaf: int) -> None:
    """At 70 percent nothing is added to the errors, so only splits that save none are removed."""
    _, tree = fitted(seed, min_samples_leaf=min_leaf)
    small = pessimistic_prune(tree, 0.70)
    assert small.value.size <= tree.value.size
    assert train_errors(small, *problem(seed)) == train_errors(tree, *problem(seed))


def test_less_confidence_prunes_more() -> None:
    """Lower confidence prunes more, and the default prunes most of a tree that fits noisy labels."""
    _, tree = fitted(3)
    sizes = [pessimistic_prune(tree, confidence).value.size for confidence in (0.01, 0.25, 0.70)]
    assert sizes == sorted(sizes)
    assert sizes[1] < 0.7 * sizes[2]
    assert pessimistic_prune(tree).value.size == sizes[1]


@pytest.mark.parametrize("confidence", [0.0, -0.1, 1.5])
def test_pruning_refuses_illegal_confidences(confidence: float) -> None:
    """Both kinds of pruning refuse illegal confidences."""
    _, tree = fitted(0)
    with pytest.raises(UsageError, match="confidence"):
        pessimistic_prune(tree, confidence)
    with pytest.raises(UsageError, match="confidence"):
        prune(
            Node(np.array([0]), (1.0, 0.0)),
            Sample(np.zeros((1, 1)), np.array([[1.0], [0.0]])),
            confidence,
            subtree_raising=True,
        )


# --- trees with their rows --------------------------------------------------------------------------------------------


def grown(seed: int, min_leaf: float) -> tuple[Sample, Node]:
    """Return a C4.5 tree before pruning."""
    matrix, target = problem(seed)
    sample = Sample(matrix, np.eye(2)[target].T)
    return sample, grow(sample, [], min_leaf, mdl_correction=False)


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, min_leaf=st.sampled_from([1, 2, 5]))
def test_c45_pruning_at_70_percent_costs_no_training_error(seed: int, min_leaf: float) -> None:
    """Collapsing and replacement leave the training errors unchanged, and raising can only lower them."""
    sample, root = grown(seed, min_leaf)
    errors = node_errors(root)
    collapse(root)
    assert node_errors(root) == errors
    prune(root, sample, 0.70, subtree_raising=False)
    assert node_errors(root) == errors
    sample, root = grown(seed, min_leaf)
    prune(root, sample, 0.70, subtree_raising=True)
    assert node_errors(root) <= errors


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, confidence=st.sampled_from([0.1, 0.25, 0.7]))
def test_pruned_nodes_contain_the_rows_that_reach_them(seed: int, confidence: float) -> None:
    """Rows, class weights and estimates agree from the root to the leaves, even after raising."""
    sample, root = grown(seed, 2)
    prune(root, sample, confidence, subtree_raising=True)
    assert sorted(root.rows) == list(range(200))
    for node in root.preorder():
        assert node.counts == sample.counts(node.rows)
        if node.children:
            parts = node.branches(sample, node.rows)
            assert [sorted(child.rows) for child in node.children] == [sorted(part) for part in parts]
            assert node.estimate == pytest.approx(sum(child.estimate for child in node.children))
        else:
            assert node.estimate == node.errors + added_errors(node.weight, node.errors, confidence)


def made_node(sample: Sample, rows: Any, feature: int = -1, threshold: float = 0.5, *children: Node) -> Node:
    """Return a node made by hand."""
    return Node(np.array(rows), sample.counts(np.array(rows)), feature, threshold, children)


def test_raising_puts_the_largest_branch_in_its_parents_place() -> None:
    """A useless first test is removed, and its larger branch takes its place with the rows of the smaller one."""
    matrix = np.array([[0.0, 0.0]] * 40 + [[0.0, 1.0]] * 40 + [[1.0, 0.0]] * 2 + [[1.0, 1.0]] * 2)
    sample = Sample(matrix, np.eye(2)[matrix[:, 1].astype(int)].T)
    large = made_node(sample, range(80), 1, 0.5, made_node(sample, range(40)), made_node(sample, range(40, 80)))
    root = made_node(sample, range(84), 0, 0.5, large, made_node(sample, range(80, 84)))
    prune(root, sample, 0.25, subtree_raising=True)
    assert (root.feature, root.counts) == (1, (42.0, 42.0))
    assert [child.counts for child in root.children] == [(42.0, 0.0), (0.0, 42.0)]


def test_the_last_of_equally_large_branches_is_raised() -> None:
    """Of two equally large branches, either of which could replace the node, the last is raised."""
    matrix = np.repeat([[0.0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]], 20, axis=0)
    sample = Sample(matrix, np.eye(2)[matrix[:, 1].astype(int)].T)
    parts = [made_node(sample, range(start, start + 20)) for start in (0, 20, 40, 60)]
    branches = [
        made_node(sample, range(40 * side, 40 * side + 40), 1 + side, 0.5, *parts[2 * side : 2 * side + 2])
        for side in (0, 1)
    ]
    root = made_node(sample, range(80), 0, 0.5, *branches)
    prune(root, sample, 0.25, subtree_raising=True)
    assert root.feature == 2


def test_a_leaf_must_not_be_worse_than_the_largest_branch() -> None:
    """A sub-tree worse than a leaf is replaced by its largest branch if that is better than the leaf."""
    matrix = np.array([[0.0, 0.0]] * 20 + [[0.0, 1.0]] * 3 + [[code, 0.0] for code in range(1, 7)])
    sample = Sample(matrix, np.eye(2)[matrix[:, 1].astype(int)].T)
    large = made_node(sample, range(23), 1, 0.5, made_node(sample, range(20)), made_node(sample, range(20, 23)))
    root = made_node(sample, range(29), 0, math.nan, large, *(made_node(sample, [row]) for row in range(23, 29)))
    prune(root, sample, 0.25, subtree_raising=True)
    assert root.feature == 1
    assert [child.counts for child in root.children] == [(26.0, 0.0), (0.0, 3.0)]
