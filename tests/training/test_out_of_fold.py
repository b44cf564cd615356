"""Models of folds, the comparison out of fold, and the advice of training."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blockml
from blockml.cli import main
from blockml.datasets import Dataset, open_dataset
from blockml.errors import UsageError
from blockml.evaluation import Difference
from blockml.evaluation.page_results import page_hashes
from blockml.extractors import TrainedExtractor
from blockml.model import Model, save_model
from blockml.training import adapt, recipe, train_model
from blockml.training.baseline import BaselineDifference
from blockml.training.out_of_fold import has_training_pages, not_trainable, out_of_fold, recipe_of
from tests.model.test_model_file import with_header
from tests.models import small_model
from tests.training.test_adapt import BASE, site

pytestmark = pytest.mark.exhaustive

SITES = Path(__file__).parents[2] / "data" / "sites"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """Return every third synthetic page; there are six sites."""
    pages = open_dataset(SITES).pages[::3]
    return replace(open_dataset(SITES), pages=pages)


@pytest.fixture(scope="module")
def model(dataset: Dataset) -> Model:
    """Return a small model of another size than its recipe."""
    return train_model([dataset], recipe("kim2013").but(min_leaf=7), protocols=())


def test_each_page_is_tested_once_by_a_model_without_its_site(dataset: Dataset, model: Model) -> None:
    """Folds keep sites together, and no model has seen a page or a site of its fold."""
    found = out_of_fold(model, [dataset], n_folds=3)
    assert str(found) == "out of fold, by site, 3 folds"
    pages = [page_id for fold in found.folds for _, page_id in sorted(fold.pages)]
    assert sorted(pages) == sorted(page.id for page in dataset.pages)
    hashes, sites = page_hashes(dataset), {page.id: page.site for page in dataset.pages}
    for fold in found.folds:
        own = {sites[page_id] for _, page_id in fold.pages}
        assert own.isdisjoint(site for page_id, site in sites.items() if (dataset.name, page_id) not in fold.pages)
        seen = fold.model.training_hashes
        assert seen is not None
        assert not any(seen.has_page(hashes[page_id]) or seen.has_site(hashes[page_id]) for _, page_id in fold.pages)
        assert fold.model.recipe["min_leaf"] == 7
        assert fold.model.name == model.name


def test_the_recipe_of_a_model_is_found(dataset: Dataset, model: Model) -> None:
    """Features and parameters are those of the model; a recipe that blockml does not have is unknown."""
    assert recipe_of(model) == recipe("kim2013").but(min_leaf=7)
    assert recipe_of(replace(model, recipe={"name": "mine"})) is None
    default = blockml.load("default").used_models()[0]
    assert recipe_of(default) == recipe("default")
    assert not_trainable(model, [dataset]) == ""
    part = replace(dataset, pages=dataset.pages[:9])
    assert not_trainable(model, [part]) == "it was trained on sites; give all of its data sets, unchanged"
    assert not_trainable(replace(model, recipe={"name": "mine"}), [dataset]) == "there is no recipe named 'mine'"
    assert not_trainable(default, [dataset]).startswith("it was trained on wcxb, ")
    assert has_training_pages(model, [dataset])
    assert not has_training_pages(default, [dataset])
    with pytest.raises(UsageError, match=r"default can't be cross-validated: it was trained on wcxb, "):
        out_of_fold(default, [dataset])
    with pytest.raises(UsageError, match="at least 2 folds, got 1"):
        out_of_fold(model, [dataset], n_folds=1)


def test_an_adaptation_is_repeated_in_each_fold(tmp_path: Path) -> None:
    """Each fold is tested by the base with a correction that was learnt from the other pages."""
    pages = site(tmp_path / "mine", range(6), odd=True)
    found = adapt(BASE, [pages])
    assert found.model is not None
    assert not_trainable(found.model, [pages]) == ""
    folds = out_of_fold(found.model, [pages]).folds
    assert [len(fold.pages) for fold in folds] == [1] * 6
    weights = []
    for fold in folds:
        assert fold.model.correction is not None
        assert fold.model.training_hashes is not None
        hashes = page_hashes(pages)
        assert not any(fold.model.training_hashes.has_page(hashes[page_id]) for _, page_id in fold.pages)
        weights.append(len(fold.model.correction.keys))
    assert min(weights) > 0
    other = site(tmp_path / "other", range(6, 12), odd=True)
    assert not_trainable(found.model, [other]) == "it was not adapted to these pages, but to mine"


def test_models_are_compared_on_their_training_pages(dataset: Dataset, model: Model) -> None:
    """Out of fold, no page counts as seen, and all pages of the model and the released one are paired."""
    mine = TrainedExtractor(model)
    found = blockml.compare({"mine": mine, "default": "default"}, dataset, out_of_fold=True, n_folds=3)
    as_trained = blockml.compare({"mine": mine, "default": "default"}, dataset)
    assert found.seen[dataset.name, "mine"].pages is not None
    assert not found.seen[dataset.name, "mine"].pages
    [row] = [row for row in found.differences if {row["a"], row["b"]} == {"mine", "default"}]
    assert row["wins"] + row["losses"] + row["ties"] == len(dataset)
    assert row["seen_pages"] == 0
    assert as_trained.differences == []  # all of its pages were seen
    means = [{row["system"]: row["bag_f1"] for row in report.means} for report in (found, as_trained)]
    assert means[0]["mine"] < means[1]["mine"]
    assert means[0]["default"] == means[1]["default"]
    [about] = [row for row in found.tables["systems"] if row["name"] == "mine"]
    assert about["parameters"]["trained"] == "out of fold, by site, 3 folds"
    with pytest.raises(UsageError, match="default is not cross-validated: it was trained on wcxb"):
        blockml.compare("default", dataset, out_of_fold=True)
    with pytest.raises(UsageError, match="no system is a model"):
        blockml.compare("plain", dataset, out_of_fold=True)
    with pytest.raises(UsageError, match="n_folds has no effect"):
        blockml.compare("plain", dataset, n_folds=3)


def test_the_commands_say_which_model_to_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Training compares with the released model, and a comparison out of fold prints the difference."""
    path, pages = str(tmp_path / "mine.blockml"), str(SITES)
    command = ["train", "--dataset", pages, "--recipe", "kim2013", "--cv", "site", "--folds", "3", "-o", path]
    assert main(command) == 0
    shown = capsys.readouterr().err
    [trained] = re.findall(r"against default, by site: page bag F1 (-0.+) on 87 pages that default has not", shown)
    assert "seen: use default, or adapt it to sites" in shown
    command = ["compare", path, "default", "--cross-validate", "--folds", "3", "--dataset", pages, "-o"]
    assert main([*command, str(tmp_path / "out"), "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert {row["system"]: row["seen_pages"] for row in json.loads(printed.out)} == {"mine": 0, "default": 0}
    assert "mine: out of fold, by site, 3 folds" in printed.err
    compared = f"sites, page bag F1 out of fold, by site: mine - default = {trained} on 87 pages, significant"
    assert compared in printed.err  # the same number, because the same models extract the same pages
    assert "default is not" not in printed.err


@pytest.mark.parametrize(
    ("released", "reason"),
    [("other.blockml", "computes differently"), ("damaged.blockml", "not a model file"), ("none", "none")],
)
def test_a_released_model_that_cannot_be_read_is_not_compared_with(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, released: str, reason: str
) -> None:
    """Training goes on, and reports why, if the released model is of another version, damaged or not installed."""
    save_model(small_model(), tmp_path / "tiny.blockml")
    other = with_header((tmp_path / "tiny.blockml").read_bytes(), features_hash="0" * 16)
    (tmp_path / "other.blockml").write_bytes(other)
    (tmp_path / "damaged.blockml").write_bytes(b"none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("blockml.training.train._RELEASED", released)
    reports: list[str] = []
    found = train_model([dataset], recipe("kim2013"), protocols="site", n_folds=2, report=reports.append)
    assert found.metrics["site"]["page_bag_f1"]["mean"] > 0
    [shown] = [text for text in reports if text.startswith(f"not compared with {released}: ")]
    assert reason in shown


@pytest.mark.parametrize(
    ("n", "difference", "advice"),
    [
        (80, Difference(-0.06, -0.11, -0.02, significant=True), ": use default, or adapt it to sites"),
        (80, Difference(0.06, 0.02, 0.11, significant=True), ": use the new model on pages like these"),
        (80, Difference(0.01, -0.02, 0.03, significant=False), ", not significant: use default, or adapt it"),
        (4, Difference(0.06, 0.02, 0.11, significant=True), ", too few to tell which is better; use default"),
    ],
)
def test_the_difference_to_the_baseline_advises_a_model(n: int, difference: Any, advice: str) -> None:
    """The advice follows the interval, if there are enough pages for one."""
    text = str(BaselineDifference("default", "site", n, difference))
    assert advice in text
    interval = f" [{difference.low:+.3f}, {difference.high:+.3f}]" if n > 4 else ""
    assert f"{difference.mean:+.3f}{interval} on {n} pages" in text
    assert np.isfinite(difference.mean)
