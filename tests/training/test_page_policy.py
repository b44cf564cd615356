"""Training of page-level predictors, and complete models from pages to file and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import blockml
from blockml.datasets import Dataset, open_dataset
from blockml.decision import DecisionPolicy, PolicyColumns, score_blocks
from blockml.errors import UsageError
from blockml.extractors import TrainedExtractor
from blockml.features.page_context import BlockAmounts
from blockml.model import Model, load_model, save_model
from blockml.predictors import sigmoid
from blockml.predictors.page_features import page_features
from blockml.training import (
    BlockTable,
    Ensemble,
    HeldOut,
    PagePolicy,
    PageRows,
    Recipe,
    build_table,
    cross_validate,
    fit_page_policy,
    recipe,
    train_model,
)

pytest.importorskip("lightgbm", reason="needs LightGBM, of the extra boost")

DATA = Path(__file__).parents[2] / "data"
DEFAULT, BOOSTED = recipe("default"), recipe("boosted")
N_PAGES, N_BLOCKS = 240, 6


def page(number: int, *, page_type: str | None, gold: bool = True) -> PageRows:
    """Return a page of six blocks, the first half content; articles have much running text."""
    rng = np.random.default_rng(number)
    main = np.arange(N_BLOCKS) < N_BLOCKS // 2
    words = rng.integers(5, 40, N_BLOCKS).astype(np.float64)
    return PageRows(
        id=str(number),
        site=str(number),
        page_type=page_type,
        usable=True,
        matrix=np.zeros((N_BLOCKS, 1), np.float32),
        main=main,
        known=np.ones(N_BLOCKS, dtype=bool),
        owner=np.repeat(np.arange(N_BLOCKS, dtype=np.int32), 10),
        tokens=np.arange(10 * N_BLOCKS, dtype=np.int32),
        gold_counts=np.repeat(main, 10).astype(np.int64) if gold else None,
        policy_columns=PolicyColumns(
            BlockAmounts(words, np.zeros(N_BLOCKS), words if page_type == "article" else np.zeros(N_BLOCKS)),
            np.arange(N_BLOCKS),
            np.full(N_BLOCKS, -1),
            np.zeros(N_BLOCKS, np.int64),
        ),
        hash=str(number),
        sketch=frozenset(),
        groups=(np.zeros(N_BLOCKS, np.int32),) * 2,
    )


def types(number: int) -> str | None:
    """Return page types: two of five are articles, and some are unknown."""
    return (None, "article", "listing", "article", "product")[number % 5]


@pytest.fixture(scope="module")
def table() -> BlockTable:
    """Return a table of made-up pages."""
    return BlockTable.stack([page(number, page_type=types(number)) for number in range(N_PAGES)])


@pytest.fixture(scope="module")
def held_out(table: BlockTable) -> HeldOut:
    """Return probabilities that are right on even pages, and unsure noise on odd ones."""
    rng = np.random.default_rng(0)
    right = np.where(table.main, 0.95, 0.05)
    noise = rng.uniform(0.3, 0.7, len(right))
    final = np.where(table.page_of_row % 2 == 0, right, noise).astype(np.float32)
    return HeldOut(rng.uniform(0.01, 0.99, len(right)).astype(np.float32), final, np.arange(N_PAGES) // 7 % 3)


@pytest.fixture(scope="module")
def learnt(table: BlockTable, held_out: HeldOut) -> PagePolicy:
    """Return page-level predictors trained on them."""
    return fit_page_policy(table, DEFAULT, held_out)


# --- page-level predictors --------------------------------------------------------------------------------------------


def test_articles_are_recognised_by_their_running_text(table: BlockTable, learnt: PagePolicy) -> None:
    """Articles are recognised by their running text, and pages of unknown type are scored too."""
    assert learnt.article is not None
    is_article = np.array([item.page_type == "article" for item in table.pages])
    assert learnt.p_article.shape == (N_PAGES,)
    assert learnt.p_article[is_article].min() > 0.8
    assert learnt.p_article[~is_article].max() < 0.2


def test_f1_is_predicted(table: BlockTable, learnt: PagePolicy) -> None:
    """Predicted F1 correlates with the true one, and is lower on pages with noisy probabilities."""
    assert ((learnt.predicted_f1 >= 0) & (learnt.predicted_f1 <= 1)).all()
    f1 = table.page_f1(learnt.scores >= np.float32(0.5), range(N_PAGES))
    assert np.corrcoef(f1, learnt.predicted_f1)[0, 1] > 0.8
    assert learnt.predicted_f1[::2].min() > learnt.predicted_f1[1::2].max()


def test_scores_are_those_of_one_page_at_a_time(table: BlockTable, held_out: HeldOut, learnt: PagePolicy) -> None:
    """Scores of many pages equal those of single ones, by the recipe's policy and P(article)."""
    for number, item in enumerate(table.pages):
        here = table.rows_of(number)
        expected = score_blocks(
            DEFAULT.policy, held_out.probabilities[here], item.policy_columns, float(learnt.p_article[number])
        )
        assert np.array_equal(learnt.scores[here], expected)


def test_trees_of_other_folds_predict_articles(table: BlockTable, held_out: HeldOut, learnt: PagePolicy) -> None:
    """P(article) of a fold's pages does not depend on their own page types."""
    inside = held_out.fold == 0
    kinds = [replace(item, page_type="article") if inside[i] else item for i, item in enumerate(table.pages)]
    other = fit_page_policy(replace(table, pages=tuple(kinds)), DEFAULT, held_out)
    assert np.array_equal(learnt.p_article[inside], other.p_article[inside])
    assert not np.array_equal(learnt.p_article[~inside], other.p_article[~inside])


def test_trees_of_the_model_are_trained_on_all_pages(table: BlockTable, held_out: HeldOut, learnt: PagePolicy) -> None:
    """The released trees, which are trained on all pages, agree with those of the folds."""
    assert learnt.article is not None
    rows = np.array(
        [
            page_features(item.amounts, held_out.first[table.rows_of(i)], held_out.probabilities[table.rows_of(i)])
            for i, item in enumerate(table.pages)
        ]
    )
    learnt.article.trees.check(rows.shape[1])
    assert np.corrcoef(sigmoid(learnt.article.trees.predict(rows)), learnt.p_article)[0, 1] > 0.95


@pytest.mark.parametrize(
    ("chosen", "kinds"),
    [(BOOSTED, ("article", "listing")), (DEFAULT, ("article", "article")), (DEFAULT, ("listing", "product")),
     (DEFAULT, (None, None))],
)  # fmt: skip
def test_without_two_kinds_of_pages_nothing_is_an_article(
    held_out: HeldOut, chosen: Recipe, kinds: tuple[str | None, str | None]
) -> None:
    """Without two kinds of pages, or article trees in the recipe, scores don't use P(article)."""
    table = BlockTable.stack([page(number, page_type=kinds[number % 2]) for number in range(N_PAGES)])
    learnt = fit_page_policy(table, chosen, held_out)
    assert learnt.article is None
    assert not learnt.p_article.any()
    here = table.rows_of(1)
    expected = score_blocks(chosen.policy, held_out.probabilities[here], table.pages[1].policy_columns, None)
    assert np.array_equal(learnt.scores[here], expected)


def test_gold_texts_are_not_needed(held_out: HeldOut, learnt: PagePolicy) -> None:
    """Gold texts are not needed: page types give articles, and probabilities the predicted F1."""
    table = BlockTable.stack([page(number, page_type=types(number), gold=False) for number in range(N_PAGES)])
    without = fit_page_policy(table, DEFAULT, held_out)
    assert np.array_equal(without.predicted_f1, learnt.predicted_f1)
    assert without.article is not None


# --- from pages to a model --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Return the hand-written pages, each of which is a site."""
    return open_dataset(DATA / "pages")


QUICK = {"boosted": BOOSTED.but(n_trees=5), "default": replace(DEFAULT, n_mlps=1).but(n_trees=5)}


@pytest.fixture(scope="module", params=sorted(QUICK))
def model(dataset: Dataset, request: pytest.FixtureRequest) -> Model:
    """Return a model with every predictor of its recipe."""
    return train_model([dataset], QUICK[request.param], protocols=("site",), n_folds=3, seed=1)


def test_model_has_the_predictors_of_its_recipe(model: Model) -> None:
    """The model has the predictors, policy and notes of its recipe."""
    chosen = QUICK[model.name]
    assert ("mlp" in model.predictors) == bool(chosen.n_mlps)
    assert (model.article is not None) == bool(chosen.policy.article_penalty)
    assert (model.block_types is not None) == chosen.block_types
    assert (model.policy, model.notes) == (chosen.policy, chosen.notes)
    assert model.parsing.tokenizer == "cjk"
    assert model.recipe["n_mlps"] == chosen.n_mlps
    assert model.metrics["site"]["page_bag_f1"]["mean"] > 0.2


def scores_of(model: Model, dataset: Dataset) -> list[NDArray[np.float32]]:
    """Return the scores of all pages."""
    extractor = TrainedExtractor(model)
    return [blockml.extract(item.load()[0], url=item.url, model=extractor).scores for item in dataset.pages]


def test_models_are_the_same_after_saving(model: Model, dataset: Dataset, tmp_path: Path) -> None:
    """Scores and files are bit-identical after saving and loading."""
    save_model(model, tmp_path / "one.blockml")
    again = load_model(tmp_path / "one.blockml")
    for before, after in zip(scores_of(model, dataset), scores_of(again, dataset), strict=True):
        assert np.array_equal(before, after)
    save_model(again, tmp_path / "two.blockml")
    assert (tmp_path / "one.blockml").read_bytes() == (tmp_path / "two.blockml").read_bytes()


def test_models_extract(model: Model, dataset: Dataset, tmp_path: Path) -> None:
    """A saved model extracts any page, with confidence and scores in [0, 1]."""
    save_model(model, tmp_path / "m.blockml")
    extractor = blockml.load(tmp_path / "m.blockml")
    found = [blockml.extract(item.load()[0], model=extractor) for item in dataset.pages]
    assert sum(result.status is blockml.Status.OK for result in found) > len(found) / 2
    empty = [blockml.extract(html, model=extractor) for html in ("", "<p>*", "<p>one", "<title>x</title>", "x</html>y")]
    for result in found + empty:
        assert 0 <= result.confidence <= 1
        assert ((result.scores >= 0) & (result.scores <= 1)).all()
    assert empty[0].text == empty[3].text == ""


def test_a_model_scores_like_its_cross_validation(model: Model, dataset: Dataset) -> None:
    """From the model's own probabilities, cross-validation and prediction compute equal scores."""
    chosen = QUICK[model.name]
    table = build_table([dataset], chosen)
    scores = scores_of(model, dataset)
    for number, item in enumerate(table.pages):
        alone, final = Ensemble(model.predictors, model.weights).probabilities(table, number)
        p_article = None
        if model.article is not None:
            row = page_features(item.amounts, alone, final)[None]
            p_article = float(sigmoid(model.article.trees.predict(row))[0])
        expected = score_blocks(chosen.policy, final, item.policy_columns, p_article)
        assert scores[number] == pytest.approx(expected, abs=1e-6)


# --- cross-validation -------------------------------------------------------------------------------------------------


def test_cross_validation_is_out_of_fold(dataset: Dataset) -> None:
    """The scores of a fold's pages do not depend on their own gold."""
    chosen = replace(QUICK["boosted"], policy=DecisionPolicy())
    table = build_table([dataset], chosen)
    found = cross_validate(table, chosen, "page", n_folds=3, seed=2)
    inside = found.fold == 0
    flipped = replace(table, main=table.main ^ inside)
    other = cross_validate(flipped, chosen, "page", n_folds=3, seed=2)
    assert np.array_equal(found.scores[inside], other.scores[inside])
    assert not np.array_equal(found.scores[~inside], other.scores[~inside])
    assert found.page_policy is not None
    assert np.array_equal(found.kept, found.scores >= np.float32(0.5))
    assert found.summary(table)["folds"] == 3


def test_jobs_do_not_change_results(dataset: Dataset) -> None:
    """One job and two give the same scores, whichever fold finishes first."""
    chosen = QUICK["boosted"]
    table = build_table([dataset], chosen)
    one, two = (cross_validate(table, chosen, "site", n_folds=2, jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.scores, two.scores)


def test_folds_over_blocks_are_refused(dataset: Dataset) -> None:
    """Cross-validation by block is refused, because ensembles are tested on whole pages."""
    table = build_table([replace(dataset, pages=dataset.pages[:3])], QUICK["boosted"])
    with pytest.raises(UsageError, match="page and site"):
        cross_validate(table, QUICK["boosted"], "block", n_folds=2)


def test_training_is_deterministic_to_the_byte(dataset: Dataset, tmp_path: Path) -> None:
    """Equal pages, recipe and seed give identical files; without cross-validation there are no article trees."""
    few = replace(dataset, pages=dataset.pages[:5])
    made = [train_model([few], QUICK["default"], protocols=(), seed=3) for _ in range(2)]
    for number, item in enumerate(made):
        save_model(item, tmp_path / str(number))
        assert item.article is None
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
