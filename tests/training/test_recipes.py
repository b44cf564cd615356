"""Recipes: the default one, and checks of their parameters."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockml
from blockml.datasets import open_dataset
from blockml.decision import DecisionPolicy
from blockml.errors import UnknownNameError, UsageError
from blockml.estimators import BlockClassifier
from blockml.extractors import TrainedExtractor
from blockml.model import load_model, render_card, save_model
from blockml.training import fit_boosted, recipes, train_model

DATA = Path(__file__).parents[2] / "data"


def test_the_best_recipe_depends_on_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without LightGBM the best recipe is one that scikit-learn trains."""
    monkeypatch.setattr(recipes, "find_spec", lambda name: name == "lightgbm" or None)
    assert recipes.best_recipe().name == "default"
    monkeypatch.setattr(recipes, "find_spec", lambda _: None)
    chosen = recipes.best_recipe()
    assert (chosen.name, chosen.learner) == ("boosted", "boosted")
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert chosen.checked() == chosen


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_trees": 1.5}, "'n_trees' must be a whole number from 1 to 10000, got 1.5"),
        ({"n_trees": True}, "'n_trees' must be a whole number"),
        ({"leaves": 2.5}, "'leaves' must be a whole number from 2 to 1000"),
        ({"max_bins": 63.0}, "'max_bins' must be a whole number"),
        ({"min_leaf": math.inf}, "'min_leaf' must be a whole number"),
        ({"l2": math.inf}, r"'l2' must be a number from 0 to 1e\+09, got inf"),
        ({"l2": math.nan}, "'l2' must be a number"),
        ({"rate": True}, "'rate' must be a number"),
        ({"threshold": 0.3}, "threshold can be set for single trees only, not for learner 'boosted'"),
        ({"threshold": 0.3, "shrinkage": 2}, "threshold and shrinkage can be set for single trees only"),
        ({"learner": ["cart"]}, "unknown learner"),
        ({"learner": "cart", "shrinkage": math.inf}, "'shrinkage' must be a number from 0"),
        ({"learner": "cart", "threshold": True}, "'threshold' must be a number from 0.001 to 1"),
    ],
)
def test_values_that_no_learner_accepts_are_refused(parameters: dict[str, Any], message: str) -> None:
    """Values that no learner accepts are refused before training, with the range."""
    with pytest.raises(UsageError, match=message):
        recipes.recipe("boosted").but(**{"learner": "boosted", **parameters})


def test_legal_names_depend_on_the_learner() -> None:
    """Threshold and shrinkage are legal names only for learners on which they have an effect."""
    with pytest.raises(UnknownNameError) as caught:
        recipes.recipe("kim2013").but(trees=3)
    assert {"threshold", "shrinkage", "min_leaf"} < {*caught.value.legal}
    with pytest.raises(UnknownNameError) as caught:
        recipes.recipe("boosted").but(trees=3)
    assert not {"threshold", "shrinkage"} & {*caught.value.legal}


def test_all_columns_as_an_integer() -> None:
    """The integer 1 means all columns, like 1.0."""
    rows = np.arange(40, dtype=np.float32)[:, None]
    chosen = recipes.recipe("kim2013").but(learner="boosted", max_features=1, n_trees=3, min_leaf=5)
    trees = fit_boosted(rows, rows[:, 0] > 20, **chosen.parameters)
    assert len(trees.roots) == 3


@pytest.mark.exhaustive
def test_a_single_tree_decides_as_it_is_measured(tmp_path: Path) -> None:
    """A single tree in a recipe of ensembles has one threshold, tuned by cross-validation, and its card says so."""
    dataset = open_dataset(DATA / "sites")
    chosen = recipes.recipe("default").but(learner="cart", features="kim2013-onehot")
    model = train_model([dataset], replace(chosen, block_types=False), protocols=("site",), n_folds=3)
    assert model.policy == DecisionPolicy(threshold=model.policy.threshold)
    save_model(model, tmp_path / "m.blockml")
    card = render_card(model)
    assert "a threshold tuned on the training folds" in card
    assert "shares of training blocks in a leaf" in card
    classifier = BlockClassifier(replace(chosen, block_types=False)).fit(dataset.pages)
    assert classifier.model_ is not None
    assert classifier.model_.policy == model.policy


def test_the_card_of_trees_with_one_threshold() -> None:
    """Boosted trees in a recipe of single trees give probabilities, and no threshold is tuned."""
    chosen = recipes.recipe("kim2013").but(learner="boosted", n_trees=5)
    card = render_card(train_model([open_dataset(DATA / "pages")], chosen, protocols=("page",), n_folds=2))
    assert "bag-of-words F1 at 0.5, averaged" in card
    assert "Scores are probabilities, and the threshold is the same on all pages." in card


@pytest.mark.parametrize("base", ["kim2013", "boosted"])
def test_columns_of_a_file(tmp_path: Path, base: str) -> None:
    """A model of columns named by a file is trained, saved, loaded without the file, and extracts."""
    (tmp_path / "mine.txt").write_text("words_0\nlinkshare_0\nparent_0=p\nwords_m1\n")
    learner = {"learner": "boosted", "n_trees": 5} if base == "boosted" else {}
    chosen = recipes.recipe(base).but(features=str(tmp_path / "mine.txt"), **learner)
    dataset = open_dataset(DATA / "sites")
    model = train_model([replace(dataset, pages=dataset.pages[::4])], chosen, protocols=())
    (tmp_path / "mine.txt").unlink()
    save_model(model, tmp_path / "m.blockml")
    loaded = load_model(tmp_path / "m.blockml")
    assert loaded.features == "words_0 linkshare_0 parent_0=p words_m1"
    assert "| feature set | 4 columns (" in render_card(loaded)
    page = blockml.parse((DATA / "pages" / "short-article" / "page.html").read_bytes())
    scores = TrainedExtractor(loaded).score(page)
    assert scores.tolist() == TrainedExtractor(model).score(page).tolist()
    assert len({*scores.tolist()}) > 1


def test_unknown_columns_of_a_file_are_refused(tmp_path: Path) -> None:
    """Unknown columns, codes of tags in boosted trees, and missing files are refused before training."""
    path = tmp_path / "mine.txt"
    path.write_text("words_0\nword_0\n")
    with pytest.raises(UsageError, match="unknown feature columns: 'word_0'"):
        recipes.recipe("boosted").but(features=str(path))
    path.write_text("words_0\nparent_0\n")
    with pytest.raises(UsageError, match="trees need one-hot features, not 'parent_0'"):
        recipes.recipe("boosted").but(features=str(path))
    with pytest.raises(UnknownNameError, match=r"unknown feature set 'nowhere\.txt'"):
        recipes.recipe("boosted").but(features="nowhere.txt")
