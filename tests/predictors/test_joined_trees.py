"""Joining several tree ensembles into one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.predictors import Trees
from blockml.predictors.tree_ensemble import joined
from blockml.training import fit_boosted


def some_rows(seed: int) -> NDArray[np.float32]:
    """Return random rows to train on."""
    return np.random.default_rng(seed).normal(size=(80, 3)).astype(np.float32)


def grown(seed: int, n_trees: int) -> Trees:
    """Return a small ensemble."""
    matrix = some_rows(seed)
    return fit_boosted(matrix, matrix[:, seed % 3] > 0, n_trees=n_trees, leaves=4, min_leaf=3)


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_the_sum_of_all(sizes: list[int]) -> None:
    """The joined ensemble has the trees of all in order, in the array types of model files, and predicts their sum."""
    parts = [grown(seed, size) for seed, size in enumerate(sizes)]
    whole = joined(parts)
    whole.check(3)
    assert len(whole.roots) == sum(sizes)
    assert len(whole.feature) == sum(len(part.feature) for part in parts)
    assert [column.dtype for column in (whole.feature, whole.left, whole.right, whole.roots)] == [
        np.dtype(np.int32)
    ] * 4
    fresh = some_rows(99)
    assert whole.predict(fresh) == pytest.approx(np.sum([part.predict(fresh) for part in parts], axis=0), abs=1e-12)


def test_joining_in_two_steps() -> None:
    """Joining in two steps gives the same as in one, and joining one ensemble leaves it unchanged."""
    one, two, three = (grown(seed, 2) for seed in range(3))
    stepwise, at_once = joined([joined([one, two]), three]), joined([one, two, three])
    for name in ("feature", "threshold", "left", "right", "value", "roots"):
        assert np.array_equal(getattr(stepwise, name), getattr(at_once, name))
        assert np.array_equal(getattr(joined([one]), name), getattr(one, name))
