"""Stacking: votes are the scores of extractors, and a model on votes can be trained, saved and used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import blockml
from blockml import features
from blockml.cli import main
from blockml.datasets import Dataset, open_dataset
from blockml.errors import FeatureMismatchError, UsageError
from blockml.extractors import TrainedExtractor, page_matrix, resolve, trained
from blockml.features import FEATURE_SETS, describe_columns
from blockml.features.votes import VOTERS
from blockml.model import Model, save_model
from blockml.training import build_table, recipe, train_model
from tests.models import scores_of, small_model
from tests.strategies import messy_html

DATA = Path(__file__).parents[2] / "data"
SET = FEATURE_SETS["votes"]
OFFSETS = {"m1": -1, "0": 0, "p1": 1}

#: Hash of the voters' default parameters, by version of the feature set.
DEFAULTS = {1: "e88be99b78612461"}


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Return some pages of the generated sites."""
    whole = open_dataset(DATA / "sites")
    return replace(whole, pages=whole.pages[::8])


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Model:
    """Return a model trained on these pages."""
    return train_model([dataset], recipe("stacking"), n_folds=2, command="a test")


def votes_model() -> Model:
    """Return a small constructed model on votes."""
    return small_model(features="votes", features_hash=SET.hash)


@settings(max_examples=15)
@given(messy_html)
def test_votes_are_the_scores_of_extractors(html: str) -> None:
    """Columns contain the votes of a block and its neighbours, 0 beyond the ends, within the documented ranges."""
    page = blockml.parse(html)
    n = len(page.blocks)
    found = page_matrix(page, "votes").values
    assert found.dtype == np.float32
    assert found.shape == (n, len(SET.columns))
    words, links = (features.matrix(page, "boilerpipe6").values[:, column].tolist() for column in (2, 3))
    scores = {base: resolve(name).score(page).tolist() for base, name in VOTERS.items()} | {"wd": words, "ld": links}
    for column, row in zip(SET.columns, found.T.tolist(), strict=True):
        base, offset = column.split("_")
        padded = [0.0, *scores[base], 0.0]
        assert row == padded[1 + OFFSETS[offset] : 1 + OFFSETS[offset] + n]
    rows = describe_columns(SET.columns)
    assert (found >= np.array([row["low"] for row in rows], dtype=np.float32)).all()
    assert (found <= np.array([row["high"] for row in rows], dtype=np.float32)).all()


def test_the_columns_name_their_extractors() -> None:
    """Ten methods and two densities have columns for three blocks, and each column is described."""
    assert list(VOTERS.values()) == "accb tccb dsc bte lqf crunch numwords density cetr-tm fe".split()
    assert len(SET.columns) == 36
    assert SET.columns[:2] == ("voteaccb_m1", "votetccb_m1")
    assert describe_columns(["votecetrtm_p1"]) == [
        {
            "name": "votecetrtm_p1",
            "unit": "score of cetr-tm, block 1 after",
            "low": 0,
            "high": 1,
            "empty": 0,
            "source": "Weninger et al. 2010",
        }
    ]


def test_the_version_of_the_set_follows_the_extractors_defaults() -> None:
    """If a default changes, old models are wrong: raise the set's version in the catalogue and add a line here."""
    defaults = {name: resolve(name).get_params() for name in VOTERS.values()}
    text = json.dumps(defaults, sort_keys=True)
    assert DEFAULTS[SET.version] == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_features_without_extractors_have_no_votes() -> None:
    """The error names the function that computes votes, and models call it themselves."""
    with pytest.raises(UsageError, match=r"extractors\.matrix\.page_matrix"):
        features.matrix(blockml.parse("<p>one"), "votes")
    page = blockml.parse("<p>one")
    assert np.array_equal(
        TrainedExtractor(votes_model()).score(page), scores_of(votes_model(), page_matrix(page, "votes").values)
    )


def test_the_table_of_a_recipe_contains_votes(dataset: Dataset) -> None:
    """Training and extraction use the same values."""
    labelled = dataset.pages[0]
    html, _ = labelled.load()
    page = blockml.parse(html, url=labelled.url, charset=labelled.charset)
    table = build_table([replace(dataset, pages=(labelled,))], recipe("stacking"))
    assert np.array_equal(table.matrix, page_matrix(page, "votes").values)


def test_a_trained_model_recognises_content(model: Model, dataset: Dataset) -> None:
    """The model has metrics of cross-validation by site, and classifies the blocks of a training page."""
    assert (model.features, model.features_hash, model.recipe["name"]) == ("votes", SET.hash, "stacking")
    assert model.metrics["site"]["folds"] == 2
    assert model.metrics["site"]["page_bag_f1"]["mean"] > 0.5
    html, gold = dataset.pages[1].load()
    assert gold is not None
    result = blockml.extract(html, model=TrainedExtractor(model))
    labels = gold.label(result.page)
    assert ((result.scores >= 0.5) == labels.main).mean() > 0.85
    assert result.model == f"stacking {blockml.__version__}"


def test_a_model_file_on_votes_can_be_loaded(tmp_path: Path) -> None:
    """A model file can be given by path, also as a member of a combination."""
    path = tmp_path / "votes.blockml"
    save_model(votes_model(), path)
    loaded = trained(path)
    page = blockml.parse("<p>one</p><p>" + "word " * 60 + "</p>")
    assert loaded.model.features == "votes"
    assert np.array_equal(loaded.score(page), scores_of(votes_model(), page_matrix(page, "votes").values))
    assert resolve("union", {"members": [str(path)]}).score(page).tolist() == (loaded.score(page) >= 0.5).tolist()


def test_a_model_with_other_defaults_is_refused(tmp_path: Path) -> None:
    """A model whose feature set has another hash can't be saved."""
    other = replace(SET, version=SET.version + 1)
    with pytest.raises(FeatureMismatchError, match="train it again"):
        save_model(small_model(features="votes", features_hash=other.hash), tmp_path / "old.blockml")


@settings(max_examples=15)
@given(messy_html)
def test_any_page_gets_scores(html: str) -> None:
    """Scores are reproducible float32 values in [0, 1], one per block."""
    extractor = TrainedExtractor(votes_model())
    page = blockml.parse(html)
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))


def test_the_command_lists_the_set(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints units and sources of the columns, and lists the set."""
    assert main(["features", "votes"]) == 0
    assert "score of crunch, block 1 before" in capsys.readouterr().out
    assert main(["features"]) == 0
    assert "set votes, version 1: 36 columns" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
@pytest.mark.parametrize("path", sorted((DATA / "pages").glob("*/page.html"))[::5], ids=lambda path: path.parent.name)
def test_every_feature_set_is_computed(name: str, path: Path) -> None:
    """The values of every set are finite and in the documented range of their column."""
    page = blockml.parse(path.read_bytes())
    values = page_matrix(page, name).values
    rows = describe_columns(FEATURE_SETS[name].columns)
    assert values.shape == (len(page.blocks), len(rows))
    assert np.isfinite(values).all()
    low, high = (np.array([row[end] for row in rows], dtype=np.float32) for end in ("low", "high"))
    outside = np.flatnonzero(((values < low) | (values > high)).any(axis=0))
    assert [rows[column]["name"] for column in outside] == []
