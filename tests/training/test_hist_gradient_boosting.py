"""Boosted trees are bit-identical to those of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from blockml.errors import UnknownNameError, UsageError
from blockml.predictors import Trees
from blockml.training import fit_boosted, fit_boosted_classes
from blockml.training.boosted_trees import MAX_SAMPLE, bin_edges


def rows(seed: int, n_rows: int, n_columns: int, *, whole: bool) -> NDArray[np.float32]:
    """Return columns of few values, one of them constant, or of many values."""
    rng = np.random.default_rng(seed)
    if whole:
        matrix = rng.integers(-3, 9, (n_rows, n_columns)).astype(np.float32)
        matrix[:, 0] = 4
        return matrix
    return rng.normal(size=(n_rows, n_columns)).astype(np.float32)


def plain(chosen: dict[str, Any]) -> HistGradientBoostingClassifier:
    """Return scikit-learn's learner with the same settings."""
    return HistGradientBoostingClassifier(
        max_iter=chosen["n_trees"],
        max_leaf_nodes=chosen["leaves"],
        learning_rate=chosen["rate"],
        min_samples_leaf=chosen["min_leaf"],
        l2_regularization=chosen["l2"],
        max_features=chosen["max_features"],
        early_stopping=False,
        random_state=chosen["seed"],
    )


def bins_of(matrix: NDArray[np.float32], edges: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the bin number of each value."""
    columns = [np.searchsorted(cuts, column) for cuts, column in zip(edges, matrix.T, strict=True)]
    return np.column_stack(columns).astype(np.float64)


some_settings = st.fixed_dictionaries(
    {
        "n_trees": st.integers(1, 6),
        "leaves": st.integers(2, 9),
        "rate": st.sampled_from([0.1, 0.3, 1.0]),
        "min_leaf": st.integers(1, 30),
        "l2": st.sampled_from([0.0, 1.0]),
        "max_features": st.sampled_from([0.4, 1.0]),
        "seed": st.integers(0, 99),
    }
)


@settings(max_examples=30, deadline=None)
@given(
    chosen=some_settings,
    n_rows=st.integers(30, 400),
    n_classes=st.integers(2, 4),
    weighted=st.booleans(),
    data=st.data(),
)
def test_few_values_give_the_decision_function_of_scikit_learn(
    chosen: dict[str, Any],
    n_rows: int,
    n_classes: int,
    weighted: bool,  # noqa: FBT001
    data: st.DataObject,
) -> None:
    """If every distinct value has its own bin, trees equal those of scikit-learn on the matrix itself."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    matrix = rows(seed, n_rows, 5, whole=True)
    rng = np.random.default_rng(seed)
    y = (np.abs(matrix[:, 1] + rng.integers(0, 3, n_rows)).astype(np.int64)) % n_classes
    y[:n_classes] = np.arange(n_classes)
    weight = rng.integers(1, 5, n_rows) if weighted else None
    fit = fit_boosted if n_classes == 2 else fit_boosted_classes
    made = fit(matrix, y, weight, **chosen)
    trees = made if isinstance(made, tuple) else (made,)
    learner = plain(chosen).fit(matrix, y, None if weight is None else weight / weight.mean())
    expected = learner.decision_function(matrix)
    got = np.stack([item.predict(matrix) for item in trees], axis=1)
    assert np.array_equal(got, expected.reshape(n_rows, -1))
    for item in trees:
        item.check(matrix.shape[1])
        assert len(item.roots) == chosen["n_trees"]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), max_bins=st.sampled_from([2, 3, 17, 255]), n_rows=st.integers(30, 900))
def test_many_values_give_the_decision_function_on_their_bins(seed: int, max_bins: int, n_rows: int) -> None:
    """With many values, trees equal those of scikit-learn on our bins."""
    matrix = rows(seed, n_rows, 4, whole=False)
    y = matrix[:, 0] + matrix[:, 1] ** 2 > 0.7
    y[:2] = [False, True]
    chosen = {"n_trees": 4, "leaves": 8, "rate": 0.3, "min_leaf": 3, "l2": 0.0, "max_features": 1.0, "seed": 1}
    edges = [bin_edges(column, max_bins, 1) for column in matrix.T]
    codes = bins_of(matrix, edges)
    assert codes.max() <= max_bins - 1
    expected = plain(chosen).fit(codes, y).decision_function(codes)
    trees = fit_boosted(matrix, y, max_bins=max_bins, **chosen)  # type: ignore[arg-type]
    assert np.array_equal(trees.predict(matrix), expected)
    fresh = rows(seed + 1, 200, 4, whole=False)
    on_bins = plain(chosen).fit(codes, y).decision_function(bins_of(fresh, edges))
    assert np.array_equal(trees.predict(fresh), on_bins)


@settings(max_examples=40)
@given(
    values=st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=1, max_size=300),
    max_bins=st.sampled_from([2, 5, 255]),
)
def test_cuts_separate_values(values: list[float], max_bins: int) -> None:
    """Cuts rise, are at most as many as requested, and each has values on either side."""
    column = np.array(values, np.float32)
    edges = bin_edges(column, max_bins, 0)
    distinct = np.unique(column)
    assert len(edges) <= min(max_bins, len(distinct)) - 1
    assert len(edges) >= min(1, len(distinct) - 1)
    bins = np.searchsorted(edges, distinct)
    assert len(np.unique(bins)) == len(edges) + 1


def test_bins_have_equal_numbers_of_rows() -> None:
    """The bins of a column without repeated values have equal numbers of rows."""
    column = np.random.default_rng(3).permutation(1000).astype(np.float32)
    bins = np.searchsorted(bin_edges(column, 10, 0), column)
    assert set(np.bincount(bins).tolist()) == {100}


def test_cuts_of_many_rows_come_from_a_sample() -> None:
    """Cuts of many rows come from a sample that depends on the seed, and are near those of all rows."""
    column = np.random.default_rng(0).normal(size=MAX_SAMPLE + 20_000).astype(np.float32)
    part, again, other = (bin_edges(column, 20, seed) for seed in (0, 0, 1))
    assert np.array_equal(part, again)
    assert not np.array_equal(part, other)
    assert np.abs(part - np.quantile(column, np.arange(1, 20) / 20)).max() < 0.02


def same(one: Trees, other: Trees) -> bool:
    """Return whether all arrays are equal."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("feature", "threshold", "left", "right", "value", "roots")
    )


def test_threads_change_nothing() -> None:
    """The number of threads does not change the trees, because sums run in the same order."""
    matrix = rows(5, 20_000, 12, whole=False)
    y = (matrix[:, 0] * matrix[:, 1] > 0).astype(int) + (matrix[:, 2] > 1)
    weight = np.random.default_rng(0).random(len(y))
    made = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            made.append(fit_boosted_classes(matrix, y, weight, n_trees=6, max_features=0.5, seed=3))
    assert all(same(one, other) for item in made[1:] for one, other in zip(made[0], item, strict=True))


def test_unit_of_weights_does_not_matter() -> None:
    """Scaling the weights by a power of two does not change the trees."""
    matrix = rows(6, 500, 3, whole=False)
    y = matrix[:, 0] > 0.5
    weight = np.random.default_rng(0).random(500)
    first, second = (fit_boosted(matrix, y, weight * unit, n_trees=3, l2=1.0) for unit in (1, 1 / 1024))
    assert same(first, second)


def test_rows_without_weight_teach_nothing_about_classes() -> None:
    """The classes of rows without weight do not change the trees."""
    matrix = rows(7, 500, 3, whole=True)
    y = matrix[:, 1] > 2
    weight = np.arange(500) % 5 > 0
    other = np.where(weight, y, ~y)
    assert same(fit_boosted(matrix, y, weight, n_trees=3), fit_boosted(matrix, other, weight, n_trees=3))


@pytest.mark.parametrize(
    "change",
    [
        {"n_trees": 0},
        {"leaves": 1},
        {"rate": 0.0},
        {"min_leaf": 0},
        {"l2": -1.0},
        {"max_bins": 256},
        {"max_bins": 1},
        {"max_features": 0.0},
        {"max_features": 1.5},
        {"weight": np.ones(3)},
        {"weight": -np.ones(40)},
        {"weight": np.full(40, np.nan)},
        {"weight": np.arange(40) < 20},
        {"y": np.zeros(40)},
        {"y": np.zeros(39)},
        {"y": np.arange(40)},
        {"matrix": np.full((40, 2), np.nan, np.float32)},
    ],
)
def test_data_that_cannot_be_learnt_are_refused(change: dict[str, Any]) -> None:
    """Data that cannot be learnt from are refused before training."""
    arguments: dict[str, Any] = {"matrix": rows(0, 40, 2, whole=True), "y": np.arange(40) > 30, "n_trees": 1}
    with pytest.raises(UsageError):
        fit_boosted(**(arguments | change))


def test_unknown_setting_is_refused() -> None:
    """An unknown setting is refused with the legal ones."""
    with pytest.raises(UnknownNameError, match="n_trees"):
        fit_boosted(rows(0, 40, 2, whole=True), np.arange(40) > 30, trees=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("y", [np.arange(40) % 2, np.arange(40) % 3 * 2])
def test_classes_are_three_or_more_without_gaps(y: NDArray[np.int64]) -> None:
    """Fewer than three classes, or a class without rows, are refused."""
    with pytest.raises(UsageError, match="class"):
        fit_boosted_classes(rows(0, 40, 2, whole=True), y, n_trees=1)


def test_numbers_outside_of_the_sample_must_be_finite() -> None:
    """Every row is checked for infinite values, not only those of the sample."""
    matrix = np.zeros((MAX_SAMPLE + 40, 1), np.float32)
    matrix[:20] = 1
    for place in range(MAX_SAMPLE, MAX_SAMPLE + 40, 13):
        broken = matrix.copy()
        broken[place] = np.inf
        with pytest.raises(UsageError, match="finite"):
            fit_boosted(broken, matrix[:, 0] > 0, n_trees=1)
