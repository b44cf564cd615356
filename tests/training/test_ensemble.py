"""Ensembles of trees and MLPs over the blocks of pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blockml.datasets import open_dataset
from blockml.decision import PolicyColumns
from blockml.errors import UsageError
from blockml.features import feature_set
from blockml.features.page_context import BlockAmounts
from blockml.predictors import MLP, TreeEnsemble, Trees, log_odds, sigmoid
from blockml.predictors.tree_ensemble import TREE_ARRAYS
from blockml.training import BlockTable, Ensemble, PageRows, Recipe, build_table, fit_ensemble, recipe
from blockml.training.ensemble import MAX_PAGE_ROWS, learning_rows, training_pages

DATA = Path(__file__).parents[2] / "data"

#: Trained without LightGBM.
QUICK = replace(recipe("boosted"), learner="boosted").but(n_trees=5)
WITH_MLP = replace(QUICK, n_mlps=1, mlp_weight=0.75)


def page(number: int, words: list[float], *, usable: bool = True) -> PageRows:
    """Return a page of blocks with these numbers of words, every second one content."""
    n = len(words)
    rng = np.random.default_rng(number)
    main = np.arange(n) % 2 == 0
    return PageRows(
        id=str(number),
        site=str(number),
        page_type=None,
        usable=usable,
        matrix=(rng.normal(size=(n, 3)) + main[:, None]).astype(np.float32),
        main=main,
        known=np.ones(n, dtype=bool),
        owner=np.zeros(0, np.int32),
        tokens=np.zeros(0, np.int32),
        gold_counts=None,
        policy_columns=PolicyColumns(
            BlockAmounts(np.array(words, dtype=np.float64), np.zeros(n), np.zeros(n)),
            np.arange(n),
            np.full(n, -1),
            np.zeros(n, np.int64),
        ),
        hash=str(number),
        sketch=frozenset(),
        groups=(np.zeros(n, np.int32), np.zeros(n, np.int32)),
    )


@pytest.fixture(scope="module")
def table() -> BlockTable:
    """Return the table of the hand-written pages."""
    return build_table([open_dataset(DATA / "pages")], WITH_MLP)


def without(table: BlockTable, page: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return the rows of all pages but one."""
    rows: np.ndarray[tuple[int], np.dtype[np.bool_]] = table.trainable & (table.page_of_row != page)
    return rows


# --- training data ----------------------------------------------------------------------------------------------------


def test_pages_count_equally_and_blocks_by_the_square_root_of_words() -> None:
    """Pages count the same at any length, blocks by the square root of their words, and excluded rows not at all."""
    table = BlockTable.stack([page(0, [0, 3, 8]), page(1, [15] * 40), page(2, [9] * 5, usable=False), page(3, [99, 0])])
    rows, weight = learning_rows(table, table.trainable, 0)
    assert rows.tolist() == [*range(43), 48, 49]
    assert weight.mean() == pytest.approx(1)
    of_page = np.bincount(table.page_of_row[rows], weight)
    assert of_page[[1, 3]] == pytest.approx([of_page[0]] * 2)
    assert of_page[2] == 0
    assert weight[:3] / weight[0] == pytest.approx([1, 2, 3])
    assert weight[-2] / weight[-1] == pytest.approx(10)


def test_long_pages_are_represented_by_some_rows() -> None:
    """A long page is represented by a sample of rows, which depends on the seed and has the weight of all."""
    table = BlockTable.stack([page(0, [3.0] * 10 * MAX_PAGE_ROWS), page(1, [3.0] * 30)])
    rows, weight = learning_rows(table, table.trainable, 0)
    long = table.page_of_row[rows] == 0
    assert 0.8 * MAX_PAGE_ROWS < long.sum() < 1.2 * MAX_PAGE_ROWS
    assert (~long).sum() == 30
    assert weight[long].sum() == pytest.approx(weight[~long].sum(), rel=0.2)
    again, other = (learning_rows(table, table.trainable, seed)[0] for seed in (0, 1))
    assert np.array_equal(rows, again)
    assert not np.array_equal(rows, other)


def test_mlps_see_the_pages_of_the_table(table: BlockTable) -> None:
    """The training pages of MLPs are the rows of the table."""
    pages = training_pages(table)
    assert np.array_equal(pages.matrix, table.matrix)
    assert np.array_equal(pages.starts, table.starts)
    assert pages.words is not None
    assert [len(column) for column in (pages.n_words, *pages.groups, pages.words.bag)] == [len(table.main)] * 4
    for number, item in enumerate(table.pages):
        assert np.array_equal(pages.groups[1][table.rows_of(number)], item.groups[1])


# --- trained ensembles ------------------------------------------------------------------------------------------------


def trees_of(ensemble: Ensemble) -> Trees:
    """Return the trees of an ensemble."""
    predictor = ensemble.predictors["trees"]
    assert isinstance(predictor, TreeEnsemble)
    return predictor.trees


def test_only_trees(table: BlockTable) -> None:
    """With only trees both probabilities are equal, and pages excluded from training do not matter."""
    rows = without(table, 3)
    ensemble = fit_ensemble(table, QUICK, rows, seed=1)
    assert ensemble.weights == {"trees": 1.0}
    alone, final = ensemble.probabilities(table, 3)
    assert alone is final
    assert np.array_equal(alone, sigmoid(trees_of(ensemble).predict(table.matrix[table.rows_of(3)])))
    flipped = replace(table, main=np.where(table.page_of_row == 3, ~table.main, table.main))
    other = fit_ensemble(flipped, QUICK, rows, seed=1)
    for name in TREE_ARRAYS:
        assert np.array_equal(getattr(trees_of(ensemble), name), getattr(trees_of(other), name))


def test_trees_and_an_mlp(table: BlockTable) -> None:
    """Log odds are averaged with the recipe's weights, and the ensemble fits its training pages."""
    ensemble = fit_ensemble(table, WITH_MLP, table.trainable)
    assert ensemble.weights == {"trees": 0.25, "mlp": 0.75}
    mlp = ensemble.predictors["mlp"]
    assert isinstance(mlp, MLP)
    mlp.check(len(feature_set(QUICK.features).columns))
    scores = np.empty(len(table.main), np.float32)
    for number, item in enumerate(table.pages):
        here = table.rows_of(number)
        alone, final = ensemble.probabilities(table, number)
        odds = trees_of(ensemble).predict(table.matrix[here])
        other = log_odds(mlp.predict(table.matrix[here], item.groups, item.words, item.ancestor_words))
        assert np.array_equal(alone, sigmoid(odds))
        assert np.array_equal(final, sigmoid(0.25 * odds + 0.75 * other))
        scores[here] = final
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[table.main].mean() > scores[~table.main].mean() + 0.02


def test_trees_and_the_first_mlp_do_not_see_supplementary_pages(table: BlockTable) -> None:
    """Supplementary pages change only the MLPs after the first, also by their shortened variants."""
    variant = replace(table.pages[5], id="variant", hash="variant")
    pages = [
        replace(item, supplementary=number > 4, variant=variant if number == 6 else None)
        for number, item in enumerate(table.pages)
    ]
    marked = BlockTable.stack(pages)
    assert np.array_equal(marked.supplementary, marked.page_of_row > 4)
    with_variants, rows = marked.with_variants(marked.trainable)
    assert with_variants.supplementary[len(marked.main) :].all()
    assert rows[len(marked.main) :].all()
    ordinary = marked.trainable & ~marked.supplementary
    recipes = [replace(WITH_MLP, n_mlps=n) for n in (1, 2)]
    (one, two), (alone, both) = (
        [fit_ensemble(marked, chosen, rows) for chosen in recipes] for rows in (marked.trainable, ordinary)
    )
    for ensemble in (two, alone, both):
        for name in TREE_ARRAYS:
            assert np.array_equal(getattr(trees_of(ensemble), name), getattr(trees_of(one), name))

    def units(ensemble: Ensemble, number: int) -> list[np.ndarray]:
        """Return the weights of the hidden layer of an MLP, which don't depend on the scale of its inputs."""
        mlp = ensemble.predictors["mlp"]
        assert isinstance(mlp, MLP)
        return [mlp.self_weights[number], mlp.group_weights[number]]

    assert all(map(np.array_equal, units(one, 0), units(two, 0)))
    assert not np.array_equal(units(two, 1)[0], units(both, 1)[0])


def test_a_page_without_blocks(table: BlockTable) -> None:
    """A page without blocks has no probabilities, and others train as before."""
    nothing, numbers = np.zeros(0), np.zeros(0, np.int64)
    none = replace(
        table.pages[0],
        matrix=np.zeros((0, table.matrix.shape[1]), np.float32),
        main=nothing.astype(bool),
        known=nothing.astype(bool),
        policy_columns=PolicyColumns(BlockAmounts(nothing, nothing, nothing), numbers, numbers, numbers),
        groups=(np.zeros(0, np.int32),) * 2,
        ancestor_words=None,
        hash="none",
    )
    with_none = BlockTable.stack([*table.pages[:4], none, *table.pages[4:8]])
    ensemble = fit_ensemble(with_none, WITH_MLP, with_none.trainable)
    assert [found.shape for found in ensemble.probabilities(with_none, 4)] == [(0,), (0,)]


@pytest.mark.parametrize("chosen", [QUICK, WITH_MLP])
def test_the_same_seed_gives_the_same_ensemble(table: BlockTable, chosen: Recipe) -> None:
    """The same seed gives the same ensemble, and another seed another one."""
    rows = without(table, 0)
    one, again, other = (fit_ensemble(table, chosen, rows, seed=seed).probabilities(table, 0)[1] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_training_needs_both_kinds_of_blocks(table: BlockTable) -> None:
    """Rows of only one class, or none, are refused."""
    for rows in (table.main, ~table.main, np.zeros_like(table.main)):
        with pytest.raises(UsageError, match="both classes"):
            fit_ensemble(table, QUICK, rows)
