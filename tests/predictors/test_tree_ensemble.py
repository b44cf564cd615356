"""Tree ensembles as flat arrays: prediction against scikit-learn and against one row at a time."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from blockml import _kernel
from blockml.errors import ModelFormatError
from blockml.predictors import Trees
from blockml.predictors.tree_ensemble import TREE_ARRAYS
from blockml.training import FlatTree
from tests.models import small_trees


def forest(*trees: FlatTree) -> Trees:
    """Return an ensemble of several trees."""
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])[:-1]
    shift = [np.where(tree.feature >= 0, start, 0) for tree, start in zip(trees, starts, strict=True)]
    return Trees(
        feature=np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=np.concatenate([tree.left + by for tree, by in zip(trees, shift, strict=True)]).astype(np.int32),
        right=np.concatenate([tree.right + by for tree, by in zip(trees, shift, strict=True)]).astype(np.int32),
        value=np.concatenate([tree.value for tree in trees]),
        roots=starts.astype(np.int32),
    )


def slow_predict(trees: Trees, row: list[float]) -> float:
    """Return the sum of the leaves that a row reaches, walking down one node at a time."""
    total = 0.0
    for root in trees.roots.tolist():
        node = root
        while trees.feature[node] >= 0:
            goes_left = row[trees.feature[node]] <= trees.threshold[node]
            node = int(trees.left[node] if goes_left else trees.right[node])
        total += float(trees.value[node])
    return total


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 300),
    n_columns=st.integers(1, 8),
    whole=st.booleans(),
    depth=st.sampled_from([None, 1, 5]),
    n_trees=st.integers(1, 3),
)
def test_prediction_is_that_of_scikit_learn(
    seed: int,
    n_rows: int,
    n_columns: int,
    whole: bool,  # noqa: FBT001
    depth: int | None,
    n_trees: int,
) -> None:
    """The sum of the trees' probabilities equals scikit-learn's, even for values equal to a threshold."""
    random = np.random.default_rng(seed)
    known, unknown = random.normal(scale=5, size=(2, n_rows, n_columns)).astype(np.float32)
    if whole:
        known, unknown = known.round(), unknown.round()
    fitted = [
        DecisionTreeClassifier(max_depth=depth, min_samples_leaf=1 + i, random_state=i).fit(
            known, random.random(n_rows) < 0.5
        )
        for i in range(n_trees)
    ]
    trees = forest(*(FlatTree.from_sklearn(tree) for tree in fitted))
    trees.check(n_columns)
    for matrix in (known, unknown):
        expected = sum(tree.predict_proba(matrix) @ tree.classes_ for tree in fitted)
        np.testing.assert_allclose(trees.predict(matrix), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        trees.predict(unknown), [slow_predict(trees, row) for row in unknown.tolist()], atol=1e-9
    )
    assert trees.max_depth() == max(tree.get_depth() for tree in fitted)


def test_a_value_equal_to_the_threshold_goes_left() -> None:
    """A value equal to the threshold goes to the left."""
    rows = np.zeros((3, 6), np.float32)
    rows[:, 2] = [np.nextafter(np.float32(5.5), np.float32(9)), 5.5, np.nextafter(np.float32(5.5), np.float32(0))]
    assert small_trees().predict(rows).tolist() == [0.875, 0.125, 0.125]


def test_no_rows() -> None:
    """A page without blocks has no scores."""
    result = small_trees().predict(np.empty((0, 6), np.float32))
    assert result.shape == (0,)
    assert result.dtype == np.float64


def test_single_leaf() -> None:
    """A tree that is a single leaf is valid."""
    none, zero = np.array([-1], np.int32), np.zeros(1)
    trees = Trees(none, zero, none, none, np.array([0.25]), np.array([0], np.int32))
    trees.check(1)
    assert trees.predict(np.ones((2, 1), np.float32)).tolist() == [0.25, 0.25]
    assert trees.max_depth() == 0


def test_memory_layout_does_not_matter() -> None:
    """Slices and column-major matrices give the same prediction."""
    matrix = np.random.default_rng(1).random((40, 12)).astype(np.float32) * 20
    expected = small_trees().predict(matrix[:, ::2].copy())
    assert small_trees().predict(matrix[:, ::2]).tolist() == expected.tolist()
    assert small_trees().predict(np.asfortranarray(matrix[:, ::2])).tolist() == expected.tolist()


def test_check_accepts_valid_trees() -> None:
    """The check accepts valid ensembles of one and of two trees."""
    small_trees().check(6)
    two = small_trees()
    leaf = {"feature": -1, "threshold": 0, "left": -1, "right": -1, "value": 1, "roots": 5}
    Trees(**{name: np.append(getattr(two, name), leaf[name]).astype(getattr(two, name).dtype) for name in leaf}).check(
        6
    )


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("feature", [2, 6, -1, -1, -1]),
        ("feature", [2, -2, -1, -1, -1]),
        ("feature", [2, 4, -1, -1]),
        ("feature", []),
        ("feature", [[2, 4, -1, -1, -1]]),
        ("threshold", [np.nan, 7.5, 0, 0, 0]),
        ("threshold", [5.5, np.inf, 0, 0, 0]),
        ("value", [0, 0, 0, 0, np.nan]),
        ("value", [0, 0, 0, 0, -np.inf]),
        ("value", [0, 0, 0, 0]),
        ("left", [0, 2, -1, -1, -1]),
        ("left", [-1, 2, -1, -1, -1]),
        ("left", [1, 0, -1, -1, -1]),
        ("left", [5, 2, -1, -1, -1]),
        ("left", [2**31 - 1, 2, -1, -1, -1]),
        ("right", [4, 2, -1, -1, -1]),
        ("right", [3, 3, -1, -1, -1]),
        ("right", [-(2**31), 3, -1, -1, -1]),
        ("roots", []),
        ("roots", [1]),
        ("roots", [0, 0]),
        ("roots", [0, 5]),
        ("roots", [0, 3]),
        ("roots", [0, 3, 2]),
        ("roots", [[0]]),
    ],
)
def test_check_refuses_trees_that_would_fail_loop_or_read_outside(column: str, values: list[Any]) -> None:
    """Arrays that would fail, loop or read out of bounds are refused."""
    trees = small_trees()
    broken = dataclasses.replace(trees, **{column: np.array(values, getattr(trees, column).dtype)})
    with pytest.raises(ModelFormatError):
        broken.check(6)


@pytest.mark.parametrize("column", ["feature", "threshold", "left", "right", "value", "roots"])
def test_check_refuses_arrays_without_a_dimension(column: str) -> None:
    """Arrays without a dimension are refused."""
    trees = small_trees()
    broken = dataclasses.replace(trees, **{column: np.array(0, getattr(trees, column).dtype)})
    with pytest.raises(ModelFormatError, match="dimension"):
        broken.check(6)


small = st.integers(-2, 7)


@given(
    st.lists(st.tuples(small, st.floats(-2, 2), small, small, st.floats(0, 1)), max_size=6), st.lists(small, max_size=3)
)
def test_checked_trees_can_be_predicted(nodes: list[tuple[int, float, int, int, float]], roots: list[int]) -> None:
    """Any arrays are either refused or give finite scores in finite time."""
    columns = list(zip(*nodes, strict=True)) or [()] * 5
    types = (np.int32, np.float64, np.int32, np.int32, np.float64)
    arrays: list[Any] = [np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
    feature, threshold, left, right, value = arrays
    trees = Trees(feature, threshold, left, right, value, np.array(roots, np.int32))
    try:
        trees.check(3)
    except ModelFormatError:
        return
    rows = np.array([[-3, -3, -3], [0, 0, 0], [3, 3, 3]], np.float32)
    expected = [slow_predict(trees, row) for row in rows.tolist()]
    assert trees.predict(rows).tolist() == pytest.approx(expected)
    assert 0 <= trees.max_depth() < len(nodes)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 100),
    depth=st.sampled_from([None, 1, 4]),
    n_learnt=st.sampled_from([60, 300]),
    n_constant=st.integers(0, 4),
    order=st.sampled_from(["C", "F"]),
)
def test_compiled_prediction_is_that_of_python(
    seed: int, n_rows: int, depth: int | None, n_learnt: int, n_constant: int, order: Literal["C", "F"]
) -> None:
    """Compiled prediction equals Python's bit for bit, even for values at a threshold between two float32 numbers.

    The trees are small and large, and the matrices row-major or column-major with some constant columns.
    """
    if _kernel.compiled is None:
        pytest.skip("needs the compiled kernel")
    rng = np.random.default_rng(seed)
    learnt = rng.integers(-3, 4, (n_learnt, 4)).astype(np.float32)
    trees = forest(
        *[
            FlatTree.from_sklearn(
                DecisionTreeClassifier(max_depth=depth, random_state=number).fit(learnt, rng.integers(0, 2, n_learnt))
            )
            for number in range(3)
        ]
    )
    nudged = dataclasses.replace(trees, threshold=trees.threshold + rng.choice([-1e-12, 0.0, 1e-12], len(trees.value)))
    matrix = (rng.integers(-6, 8, (n_rows, 4)) / 2).astype(np.float32, order=order)
    matrix[:, :n_constant] = matrix[:1, :n_constant] if n_rows else 0
    found = nudged.predict(matrix)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernel, "compiled", None)
        expected = nudged.predict(matrix)
    assert found.tobytes() == expected.tobytes()


def test_a_used_ensemble_is_pickled_as_before() -> None:
    """A used ensemble is pickled as before, without the packed trees of the compiled code."""
    trees, matrix = small_trees(), np.zeros((40, 30), np.float32, order="F")
    before = pickle.dumps(trees)
    expected = trees.predict(matrix)
    assert pickle.dumps(trees) == before
    assert np.array_equal(pickle.loads(before).predict(matrix), expected)  # noqa: S301 (our own)


def test_trees_and_classes_that_do_not_fit_are_refused(compiled: _kernel.Compiled) -> None:
    """Trees and classes of wrong lengths, roots or types are refused."""
    trees = small_trees()
    arrays = {name: getattr(trees, name) for name in TREE_ARRAYS}
    for name, array in arrays.items():
        for wrong in (array[:-1].copy(), array[:0].copy(), np.append(array, array[:1])):
            if name != "roots" or len(wrong) != len(array) - 1:  # fewer roots are fewer trees, which is valid
                with pytest.raises(ValueError, match="roots must rise"):
                    compiled.pack_trees(arrays | {name: wrong})
        with pytest.raises(TypeError, match="items of type"):
            compiled.pack_trees(arrays | {name: array.astype(np.complex64)})
    with pytest.raises(TypeError, match="in a dict"):
        compiled.pack_trees(tuple(arrays.values()))  # type: ignore[arg-type]
    packed, classes = compiled.pack_trees(arrays), np.zeros(len(trees.roots), np.int32)
    matrix, sums = np.zeros((30, 40), np.float32), np.zeros((40, 1))
    compiled.tree_sums(packed, 1, (classes, matrix, sums))
    for other in (classes[1:].copy(), classes + 1, classes - 1):
        with pytest.raises(ValueError, match="needs a class"):
            compiled.tree_sums(packed, 1, (other, matrix, sums))
    with pytest.raises(ValueError, match="needs a class"):
        compiled.tree_sums(packed, 1, (classes, matrix, sums.ravel()))
    with pytest.raises(ValueError, match="PyCapsule"):
        compiled.tree_sums(b"", 1, (classes, matrix, sums))
