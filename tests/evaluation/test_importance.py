"""Importance of columns, for known trees and rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blockml.datasets import Dataset, open_dataset
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.importance import (
    LabelledRows,
    by_column,
    by_family,
    fold_importance,
    held_out_importance,
    importance_rows,
    impurity_gains,
)
from blockml.extractors import trained
from blockml.predictors.tree_ensemble import MeanTrees, Trees, joined

DATA = Path(__file__).parents[2] / "data"

STUMP = Trees(
    np.array([1, -1, -1], np.int32),
    np.array([0.5, 0, 0]),
    np.array([1, -1, -1], np.int32),
    np.array([2, -1, -1], np.int32),
    np.array([0.5, 0.0, 1.0]),
    np.array([0], np.int32),
)
ROWS = LabelledRows(
    ("ld_0", "wd_0"), np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.float32), np.array([False, False, True, True])
)


def test_a_perfect_test_removes_all_impurity() -> None:
    """The test of a stump that separates four rows perfectly gets the whole impurity."""
    assert impurity_gains(STUMP, ROWS, averaged=True).tolist() == [0, 4]
    assert impurity_gains(STUMP, ROWS, averaged=False).tolist() == [0, 1]
    assert impurity_gains(joined([STUMP, STUMP]), ROWS, averaged=False).tolist() == [0, 2]


def test_families_and_columns_of_a_model() -> None:
    """Shares of impurity sum to 1, equal seeds give equal losses, and unused columns are left out."""
    model = trained("kim2013").model
    rows = importance_rows(model, open_dataset(DATA / "pages"))
    columns = by_column(model, rows, repeats=1)
    assert sum(item.impurity for item in columns) == pytest.approx(1)
    assert columns == by_column(model, rows, repeats=1)
    assert [item.drop for item in columns] == sorted((item.drop for item in columns), reverse=True)
    read = {rows.columns[place] for place in model.ensembles[0].trees.feature.tolist() if place >= 0}
    assert {item.name for item in columns} == read
    families = {item.name: item for item in by_family(model, rows, repeats=2)}
    assert families["ld"].n_columns == 1
    assert families["ld, neighbours"].n_columns == 4
    assert families["ld"].spread >= 0
    with pytest.raises(UsageError, match="repeats"):
        by_family(model, rows, repeats=0)


def test_folds_are_averaged() -> None:
    """The gain is the mean of the folds' shares, the loss that of the folds in which the column was permuted."""
    rows = LabelledRows(ROWS.columns, np.tile(ROWS.matrix, (50, 1)), np.tile(ROWS.main, 50))
    perfect = fold_importance(MeanTrees(STUMP), rows)
    assert perfect is not None
    assert list(perfect.by_column) == ["wd_0"]
    assert perfect.by_column["wd_0"] > 0.2
    other = replace(perfect, gains=np.array([4.0, 0.0]), by_column={"ld_0": 0.5}, by_family={"ld": 0.5})
    found = held_out_importance([perfect, other])
    assert {item.name: item.impurity for item in found["column"]} == {"wd_0": 0.5, "ld_0": 0.5}
    assert {item.name: item.drop for item in found["column"]} == {"ld_0": 0.5, "wd_0": perfect.by_column["wd_0"]}
    assert held_out_importance([]) == {}
    one_class = LabelledRows(ROWS.columns, ROWS.matrix[2:], ROWS.main[2:])
    assert fold_importance(MeanTrees(STUMP), one_class) is None
    assert fold_importance(object(), rows) is None
    many = LabelledRows(ROWS.columns, np.tile(ROWS.matrix, (2000, 1)), np.tile(ROWS.main, 2000))
    sampled = fold_importance(MeanTrees(STUMP), many, seed=1)
    assert sampled is not None
    assert sampled.gains.sum() <= 2000


def test_pages_without_both_kinds_of_blocks_are_refused() -> None:
    """Pages without labelled blocks of both kinds are refused."""
    empty = Dataset("none", DATA, "folders", ())
    with pytest.raises(DatasetError, match="labelled blocks of content and of boilerplate"):
        importance_rows(trained("kim2013").model, empty)
