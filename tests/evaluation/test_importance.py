"""Importance of columns, for known trees and rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from blockml.datasets import Dataset, open_dataset
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.importance import (
    FoldImportance,
    Importance,
    LabelledBlocks,
    by_column,
    by_family,
    fold_importance,
    held_out_importance,
    impurity_gains,
    labelled_blocks,
    measured_importance,
    split_shares,
)
from blockml.extractors import trained
from blockml.model import render_card
from blockml.model.contributions import ANCESTOR_WORDS
from blockml.model.model_file import METRICS_SCHEMA, check_values
from blockml.predictors import MeanTrees, Trees
from blockml.predictors.tree_ensemble import joined
from blockml.training import RowMatrix

DATA = Path(__file__).parents[2] / "data"

STUMP = Trees(
    np.array([1, -1, -1], np.int32),
    np.array([0.5, 0, 0]),
    np.array([1, -1, -1], np.int32),
    np.array([2, -1, -1], np.int32),
    np.array([0.5, 0.0, 1.0]),
    np.array([0], np.int32),
)
MATRIX, MAIN = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], np.float32), np.array([False, False, True, True])


def rows_of(matrix: NDArray[np.float32], main: NDArray[np.bool_], n_pages: int = 1) -> LabelledBlocks:
    """Return equal pages of labelled blocks."""
    known = np.ones(len(main) * n_pages, dtype=bool)
    return LabelledBlocks(("ld_0", "wd_0"), (RowMatrix(matrix),) * n_pages, known, np.tile(main, n_pages))


ROWS = rows_of(MATRIX, MAIN)
ONLY = {"tree": MeanTrees(STUMP)}, {"tree": 1.0}


def test_a_perfect_test_removes_all_impurity() -> None:
    """The test of a stump that separates four rows perfectly gets the whole impurity."""
    assert impurity_gains(STUMP, ROWS, averaged=True).tolist() == [0, 4]
    assert impurity_gains(STUMP, ROWS, averaged=False).tolist() == [0, 1]
    assert impurity_gains(joined([STUMP, STUMP]), ROWS, averaged=False).tolist() == [0, 2]


def test_families_and_columns_of_a_model() -> None:
    """Shares of impurity sum to 1, equal seeds give equal losses, and unused columns are left out."""
    model = trained("kim2013").model
    blocks = labelled_blocks(model, open_dataset(DATA / "pages"))
    columns = by_column(model, blocks, repeats=1)
    assert sum(item.impurity for item in columns) == pytest.approx(1)
    assert columns == by_column(model, blocks, repeats=1)
    assert [item.drop for item in columns] == sorted((item.drop for item in columns), reverse=True)
    read = {blocks.columns[place] for place in model.ensembles[0].trees.feature.tolist() if place >= 0}
    assert {item.name for item in columns} == read
    families = {item.name: item for item in by_family(model, blocks, repeats=2)}
    assert families["ld"].n_columns == 1
    assert families["ld, neighbours"].n_columns == 4
    assert families["ld"].spread >= 0
    with pytest.raises(UsageError, match="repeats"):
        by_family(model, blocks, repeats=0)


def test_folds_are_averaged() -> None:
    """The gain is the mean of the folds' shares, the loss that of the folds in which the column was permuted."""
    perfect = fold_importance(*ONLY, rows_of(MATRIX, MAIN, 50))
    assert perfect is not None
    [best] = perfect.by_column
    assert (best.name, best.n_columns, best.impurity) == ("wd_0", 1, 1)
    assert best.drop > 0.2
    other = FoldImportance([Importance("ld", 1, 1.0, 0.5, 0.0)], [Importance("ld_0", 1, 1.0, 0.5, 0.0)])
    found = held_out_importance([perfect, other])
    assert {item.name: item.impurity for item in found["column"]} == {"wd_0": 0.5, "ld_0": 0.5}
    assert {item.name: item.drop for item in found["column"]} == {"ld_0": 0.5, "wd_0": best.drop}
    assert held_out_importance([]) == {}
    assert fold_importance(*ONLY, rows_of(MATRIX[2:], MAIN[2:])) is None
    many = fold_importance(*ONLY, rows_of(MATRIX, MAIN, 20_000), seed=1)  # a sample of them is measured
    assert many is not None
    assert many.by_column[0].drop == pytest.approx(0.5, abs=0.02)  # the share of content


def test_the_whole_model_is_permuted() -> None:
    """MLPs count as they do in the model: words above blocks are a family, and columns without a test have no gain."""
    model = trained("default").model
    blocks = labelled_blocks(model, open_dataset(DATA / "pages"))
    families = {item.name: item for item in by_family(model, blocks, repeats=1)}
    assert families[ANCESTOR_WORDS].n_columns == 0
    assert families[ANCESTOR_WORDS].impurity == 0
    assert families[ANCESTOR_WORDS].drop > 0
    assert sum(item.impurity for item in families.values()) == pytest.approx(1)
    only_trees = replace(model, predictors={"trees": model.predictors["trees"]}, weights={"trees": 1.0})
    assert ANCESTOR_WORDS not in {item.name for item in by_family(only_trees, blocks, repeats=1)}
    assert len(by_column(model, blocks, repeats=1, most=3)) == 3


def test_tests_are_counted_without_pages() -> None:
    """The shares of the tests of all columns, and of all families, sum to one."""
    model = trained("kim2013").model
    for by in ("column", "family"):
        found = split_shares(model, by)
        assert sum(share for *_, share in found) == pytest.approx(1)
        assert [share for *_, share in found] == sorted((share for *_, share in found), reverse=True)


def test_importance_of_a_release_has_the_form_of_a_model_file() -> None:
    """What is measured on pages that a model has not seen can be saved and is shown in the card."""
    model = trained("kim2013").model
    found = measured_importance(model, [open_dataset(DATA / "pages")], repeats=2)
    check_values({"importance": found}, METRICS_SCHEMA, "metrics")
    assert (found["datasets"], found["repeats"]) == (["pages"], 2)
    card = render_card(replace(model, metrics={**model.metrics, "importance": found}))
    assert f"On {found['pages']} pages that it has not seen, of pages: gain is" in card
    assert f"| {found['column'][0][0]} |" in card


def test_pages_without_both_kinds_of_blocks_are_refused() -> None:
    """Pages without labelled blocks of both kinds are refused."""
    empty = Dataset("none", DATA, "folders", ())
    with pytest.raises(DatasetError, match="labelled blocks of content and of boilerplate"):
        labelled_blocks(trained("kim2013").model, empty)
