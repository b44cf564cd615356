"""The measurements of the default model: sections run on the pages in data/, and their helpers are correct."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from blockml.datasets import INVALID_FOR_EVALUATION, INVALID_FOR_TRAINING, LabelledPage, filtered, open_dataset
from blockml.datasets.validation import REPLACED
from blockml.evaluation import Difference, Interval
from blockml.features import feature_set
from blockml.predictors import MLP, log_odds, sigmoid
from blockml.training import cross_validate, fit_ensemble, fit_lightgbm, recipe
from research.benchmarks.default import cell, main, markdown
from research.benchmarks.default_chart import chart
from research.benchmarks.default_families import columns_by_family, predict_without, variants
from research.benchmarks.default_parts import best_threshold, kept_by
from research.benchmarks.default_study import Predictions, Study, split, training_rows, without_defects
from research.benchmarks.default_trust import best_line, best_possible, spearman

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[3] / "data"
TINY = replace(recipe("default").but(n_trees=4), n_mlps=2)


@pytest.fixture(scope="module")
def study() -> Study:
    """Return the synthetic sites, measured for a model of four trees and two MLPs."""
    return Study.opened(open_dataset(DATA / "sites"), TINY, n_folds=2, seed=0, jobs=1)


@pytest.fixture(scope="module")
def predictions(study: Study) -> Predictions:
    """Return out-of-fold predictions of the synthetic sites."""
    return study.predictions(0, 2)


def run(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """Run sections on the synthetic sites and read what was printed."""
    small = ("--corpora", str(DATA), "--dataset", "sites", "--folds", "2", "--trees", "3", "--mlps", "2", "--jobs", "1")
    assert main([*options, *small, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_parts_and_calibration_share_their_predictors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every variant has a row, differences are those of the means, and the figures can be parsed."""
    found = run(capsys, "parts", "calibration", "--figures", str(tmp_path))
    tables = found["parts"]
    title = "all, 87 pages"
    last = tables["Predictors of blocks"][-1]
    assert last[""] == "trees + 2 MLPs (default)"
    assert last["difference, all"] is None
    for row in [*tables["Predictors of blocks"][:-1], *tables["Rules"]]:
        if row["difference, all"]:
            assert row["difference, all"]["mean"] == pytest.approx(row[title]["mean"] - last[title]["mean"])
    assert sum(int(name.split()[1]) for name in tables["By page type"][0] if name) == 87
    tenths = found["calibration"]["Predicted F1 by decile"]
    guesses = [row["expected F1: predicted"] for row in tenths]
    assert guesses == sorted(guesses)
    for name in ("calibration.svg", "confidence.svg"):
        curves = etree.fromstring((tmp_path / name).read_bytes()).findall("{*}polyline")
        assert len(curves) == {"calibration.svg": 3, "confidence.svg": 2}[name]


def test_the_variant_of_the_recipe_equals_cross_validation(study: Study, predictions: Predictions) -> None:
    """The variant that equals the recipe has the scores and F1 of cross-validation."""
    whole = study.whole(predictions, TINY, predictions.trees, predictions.both(0, 1), 0)
    wanted = cross_validate(study.table, TINY, "site", n_folds=2, seed=0)
    np.testing.assert_allclose(whole.scores, wanted.scores, atol=1e-4)
    pages = study.table.pages_with_text()
    np.testing.assert_allclose(study.f1(whole.scores >= 0.5)[pages], wanted.page_f1(study.table), atol=1e-9)


def test_fewer_mlps_are_those_that_were_trained_first(study: Study, predictions: Predictions) -> None:
    """A smaller ensemble is the start of the larger one, so its MLPs are not trained again."""
    assert study.predictions(0, 1).mlps.tobytes() == predictions.mlps[:1].tobytes()
    assert len(study.known) == 1


def test_a_joined_mlp_can_be_split(study: Study) -> None:
    """The members of a joined MLP can be split, and their mean log odds are those of the joined MLP."""
    mlp = fit_ensemble(study.table, TINY, training_rows(study.table, study.folds(0), 0)).predictors["mlp"]
    assert isinstance(mlp, MLP)
    page, rows = study.table.pages[0], study.table.matrix[study.table.rows_of(0)]
    said = [part.predict(rows, page.groups, page.words, page.ancestor_words) for part in split(mlp)]
    together = sigmoid(np.mean([log_odds(p) for p in said], axis=0))
    np.testing.assert_allclose(together, mlp.predict(rows, page.groups, page.words, page.ancestor_words), atol=1e-5)
    assert np.abs(said[0] - said[1]).max() > 0.001


def test_smaller_shares_of_the_sites_are_part_of_larger_ones(study: Study) -> None:
    """A smaller sample of training sites is contained in the larger one, and has no page of the test fold."""
    fold = study.folds(0)
    shares = [training_rows(study.table, fold, 1, 0, share) for share in (0.4, 0.7, 1.0)]
    sizes = [int(rows.sum()) for rows in shares]
    assert sizes == sorted(set(sizes))
    assert all((larger | ~smaller).all() for smaller, larger in itertools.pairwise(shares))
    assert not shares[-1][(fold == 1)[study.table.page_of_row]].any()


def test_screening_by_known_defects_is_screening(tmp_path: Path) -> None:
    """Filtering by stored gold defects leaves the same pages as searching for defects."""
    dataset = open_dataset(DATA / "sites")
    first, second, third, *_ = dataset.pages

    def flagged(page: LabelledPage, *flags: str) -> LabelledPage:
        return replace(page, flags=flags)

    own = flagged(first, *REPLACED), flagged(second, "odd"), third
    some = replace(dataset, path=tmp_path, pages=own)
    only_judging = min(INVALID_FOR_EVALUATION - INVALID_FOR_TRAINING)
    found = {first.id: tuple(REPLACED), second.id: ("odd", only_judging)}
    assert [page.flags for page in without_defects(some, found).pages] == [(), ("odd",), ()]
    assert [page.flags for page in filtered(some).pages] == [(), ("odd",), ()]


def test_families_partition_the_columns() -> None:
    """Every column is in exactly one family, and columns of other blocks are in separate families."""
    families = columns_by_family("page")
    names = feature_set("page").columns
    assert sorted(place for places in families.values() for place in places) == list(range(len(names)))
    assert all(not names[place].endswith("_0") for place in families["neighbours"])
    blanked = variants(families)
    assert blanked["without text"] == families["text"]
    kept = set(range(len(names))) - set(blanked["text and position alone"])
    assert kept == {*families["text"], *families["position"]}


def test_a_constant_column_changes_no_tree() -> None:
    """Trees trained with a constant column equal those trained without it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 6)).astype(np.float32)
    target, weight = rows[:, 1] + rows[:, 4] > 0, np.ones(400)
    blank = rows.copy()
    blank[:, [2, 3]] = 0
    without = np.delete(rows, [2, 3], axis=1)
    first, second = [
        fit_lightgbm(matrix, target, weight, n_trees=10, max_features=0.5, seed=3).predict(matrix)
        for matrix in (blank, without)
    ]
    np.testing.assert_allclose(first, second)


def test_hidden_columns_do_not_affect_predictions(study: Study) -> None:
    """Predictions do not depend on the values of a hidden column."""
    quick = replace(TINY, n_mlps=0)
    places = columns_by_family("page")["container"]
    matrix = study.table.matrix.copy()
    matrix[:, places] = np.random.default_rng(0).normal(size=(len(matrix), len(places)))
    tables = (study.table, replace(study.table, matrix=matrix))
    blind = [predict_without(table, quick, places, study.folds(0), 0, 0) for table in tables]
    seeing = [predict_without(table, quick, [], study.folds(0), 0, 0) for table in tables]
    assert blind[0].tobytes() == blind[1].tobytes()
    assert seeing[0].tobytes() != seeing[1].tobytes()


def test_one_threshold_is_chosen_on_the_other_folds(study: Study, predictions: Predictions) -> None:
    """The threshold of a fold is the best one of the other fold, even if it keeps everything or nothing here."""
    table = study.table
    first = predictions.fold[table.page_of_row] == 0
    certain = np.where(first, np.where(table.main, 0.9, 0.5), np.where(table.main, 0.3, 0.1)).astype(np.float32)
    tuned = best_threshold(study, predictions, certain)
    # On the second fold all thresholds above .1 and up to .3 are best, and the smallest keeps all of the first fold.
    # On the first fold all thresholds above .5 are best, and the smallest keeps nothing of the second fold.
    everything, nothing = study.f1(first), study.f1(np.zeros(len(first), dtype=bool))
    np.testing.assert_allclose(tuned.f1, np.where(predictions.fold == 0, everything, nothing))
    assert tuned.name == "one threshold for all (.125, .525)"
    assert kept_by(study, "", first).n_empty == int((predictions.fold == 1).sum())


def test_learning_and_ablation_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The sections run with very few trees, the learning curve is drawn, and every family has its cost."""
    found = run(capsys, "learning", "--figures", str(tmp_path))
    rows = found["learning"]["Learning curve"]
    pages = [row["training pages"] for row in rows]
    assert pages == sorted(pages)
    assert rows[-1]["trees, difference"] is None
    drawing = etree.fromstring((tmp_path / "learning-curve.svg").read_bytes())
    assert [len(str(line.get("points")).split()) for line in drawing.findall("{*}polyline")] == [4, 4]
    tables = run(capsys, "ablation", "--timed", "2")["ablation"]
    (title, table), (_, costs) = tables.items()
    assert title == "Families of features (3 trees alone)"
    assert {row[""].removeprefix("without ") for row in table} >= set(columns_by_family("page"))
    times = {row[""]: row["times lxml's parse"] for row in costs}
    assert times["lxml's parse"] == 1
    assert times["all of them"] > times["text"] > 0


def test_another_seed_gives_other_folds(study: Study) -> None:
    """Another seed distributes the sites differently."""
    assert (study.folds(0) != study.folds(1)).any()


def test_ranks_and_the_best_possible_routing() -> None:
    """Rank correlation depends only on the order, and ideal routing makes the pages with the lowest F1 perfect."""
    f1 = np.array([0.1, 0.5, 0.7, 0.9])
    found = spearman(f1, [f1**3, -f1], resamples=20)
    assert found.estimates.tolist() == pytest.approx([1, -1])
    assert best_possible(f1, 1) == pytest.approx((1 + 0.5 + 0.7 + 0.9) / 4)


def test_cells_of_tables() -> None:
    """Intervals and differences are written with their ends, and missing values as empty cells."""
    rows: list[dict[str, object]] = [
        {"": "a", "b": Interval(0.8, 0.75, 1.0), "c": Difference(-0.0004, -0.01, 0.02, significant=False), "d": None}
    ]
    assert markdown(rows).splitlines()[2] == "| a | .800 [.750, 1.000] | +.000 [-.010, +.020] |  |"
    assert [cell(value) for value in (7, 0.25, 12.5, "x")] == ["7", ".250", "12.500", "x"]


def test_charts_place_points_and_intervals() -> None:
    """Points and intervals are drawn in place, with a diagonal only if both axes are the same."""
    curves: dict[str, list[tuple[float, ...]]] = {"a": [(0.5, 0.8, 0.75, 0.85), (1.0, 0.9, 0.85, 0.95)], "b": []}
    drawing = etree.fromstring(chart("title & more", curves, x_name="x", y_name="y").encode())
    first, second = drawing.findall("{*}circle")
    assert float(str(first.get("cx"))) < float(str(second.get("cx")))
    assert float(str(first.get("cy"))) > float(str(second.get("cy")))
    assert not [path for path in drawing.findall("{*}path") if path.get("stroke-dasharray")]


def test_without_corpora_the_measurements_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Missing corpora and an unknown section each give a message."""
    assert main(["parts", "--corpora", ""]) == 3
    assert "BLOCKML_CORPORA" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["nothing", "--corpora", str(DATA)])
    assert "no such section: nothing" in capsys.readouterr().err


def test_calibration_finds_slope_and_offset() -> None:
    """Calibration recovers the slope and offset from which labels were drawn, without blocks of weight 0."""
    rng = np.random.default_rng(0)
    odds = rng.normal(scale=3, size=20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-(0.6 * odds - 0.5)))
    assert best_line(odds, labels) == pytest.approx((0.6, -0.5), abs=0.05)
    weight = np.repeat([1.0, 0.0], 10_000)
    wrong = np.where(weight > 0, labels, ~labels)
    assert best_line(odds, wrong, weight) == pytest.approx(best_line(odds[:10_000], labels[:10_000]), abs=1e-3)
