"""Trees trained by LightGBM, converted to flat arrays that predict the same."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.training import fit_lightgbm


@pytest.fixture(scope="module")
def lightgbm() -> Any:
    """Return LightGBM if it is installed."""
    return pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra boost")


def rows(seed: int, n_rows: int = 300) -> NDArray[np.float32]:
    """Return two columns of few values with zeros, a constant one, and two of many values."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-2, 4, (n_rows, 2))
    return np.hstack([whole, np.full((n_rows, 1), 4), rng.normal(size=(n_rows, 2))]).astype(np.float32)


def plain(lightgbm: Any, matrix: Any, target: Any, weight: Any, chosen: dict[str, Any]) -> Any:
    """Return LightGBM's booster, trained with the same settings."""
    parameters = {
        "objective": "binary", "deterministic": True, "force_col_wise": True, "num_threads": 1, "use_missing": False,
        "verbose": -1, "bagging_fraction": 0.7, "bagging_freq": 1,
        "num_leaves": chosen["leaves"], "learning_rate": chosen["rate"], "min_data_in_leaf": chosen["min_leaf"],
        "lambda_l2": chosen["l2"], "feature_fraction": chosen["max_features"], "max_bin": chosen["max_bins"],
        "seed": chosen["seed"],
    }  # fmt: skip
    dataset = lightgbm.Dataset(matrix, target, weight=weight, params=parameters)
    return lightgbm.train(parameters, dataset, chosen["n_trees"])


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**31 - 1),
    n_trees=st.integers(1, 6),
    leaves=st.integers(2, 9),
    min_leaf=st.integers(1, 40),
    max_features=st.sampled_from([0.3, 1.0]),
    max_bins=st.sampled_from([3, 63, 255]),
)
def test_arrays_predict_as_the_learner(lightgbm: Any, seed: int, **chosen: Any) -> None:
    """The arrays predict what LightGBM predicts, on training rows and on others."""
    matrix = rows(seed)
    target = matrix[:, 0] + matrix[:, 3] ** 2
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(matrix))
    chosen |= {"rate": 0.3, "l2": 1.0, "seed": seed % 100}
    target = (target > np.median(target)).astype(np.float32)
    trees = fit_lightgbm(matrix, target, weight, **chosen)
    trees.check(matrix.shape[1])
    assert 1 <= len(trees.roots) <= chosen["n_trees"]
    booster = plain(lightgbm, matrix, target, weight, chosen)
    for seen in (matrix, rows(seed + 1)):
        expected = booster.predict(seen.astype(np.float64), raw_score=True)
        assert trees.predict(seen) == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("lightgbm")
def test_it_learns() -> None:
    """The trees learn a threshold on one column."""
    matrix = rows(0, 2000)
    ones = np.ones(len(matrix))
    odds = fit_lightgbm(matrix, matrix[:, 3] > 0.5, ones, n_trees=60, seed=1).predict(rows(1))
    assert ((odds > 0) == (rows(1)[:, 3] > 0.5)).mean() > 0.98


@pytest.mark.usefixtures("lightgbm")
def test_weights_count() -> None:
    """Rows with almost no weight do not affect the decision."""
    matrix = rows(3, 600)
    target = matrix[:, 3] > 0
    wrong = np.arange(len(matrix)) % 2 > 0
    trees = fit_lightgbm(matrix, target ^ wrong, np.where(wrong, 1e-9, 1.0), n_trees=30)
    assert ((trees.predict(matrix) > 0) == target).mean() > 0.95


@pytest.mark.usefixtures("lightgbm")
def test_the_same_seed_gives_the_same_trees() -> None:
    """The same seed gives the same trees, and another seed others, because rows and columns are sampled."""
    matrix = rows(5)
    target = matrix[:, 3] + matrix[:, 4] > 0
    chosen: Any = {"n_trees": 5, "max_features": 0.5}
    one, again, other = (fit_lightgbm(matrix, target, np.ones(300), seed=seed, **chosen) for seed in (1, 1, 2))
    assert np.array_equal(one.predict(matrix), again.predict(matrix))
    assert not np.array_equal(one.predict(matrix), other.predict(matrix))


@pytest.mark.usefixtures("lightgbm")
def test_without_a_split_all_rows_get_the_mean() -> None:
    """If leaves would need more rows than there are, all rows get the mean."""
    trees = fit_lightgbm(rows(0, 60), np.arange(60) % 3 > 0, np.ones(60), n_trees=4, min_leaf=50)
    trees.check(5)
    said = trees.predict(rows(1, 9))
    assert len(set(said.tolist())) == 1
    assert said[0] == pytest.approx(np.log(2), abs=0.2)


@pytest.mark.usefixtures("lightgbm")
@pytest.mark.parametrize("one_class", [0, 1])
def test_a_single_class_is_certain(one_class: int) -> None:
    """A single class is predicted with certainty instead of an error, because a fold may have only one kind of page."""
    said = fit_lightgbm(rows(0), np.full(300, one_class), np.ones(300), n_trees=3).predict(rows(1))
    assert ((said > 9) if one_class else (said < -9)).all()


@pytest.mark.usefixtures("lightgbm")
def test_data_that_cannot_be_learnt_are_refused() -> None:
    """Columns of different lengths, and fewer than two rows, are refused."""
    matrix = rows(0, 9)
    for target, weight in ((np.ones(8), np.ones(9)), (np.ones(9), np.ones(10))):
        with pytest.raises(UsageError, match="for 9 rows"):
            fit_lightgbm(matrix, target, weight)
    for n in (0, 1):
        with pytest.raises(UsageError, match="two rows"):
            fit_lightgbm(matrix[:n], np.ones(n), np.ones(n))


def test_without_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for missing LightGBM names the extra to install."""
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(UsageError, match=r"\[boost\]"):
        fit_lightgbm(rows(0), np.ones(300), np.ones(300))
