"""The measurements of templates: every section runs on the pages in data/, and its helpers are correct."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree

from blockml.templates.distances import METRICS
from research.benchmarks.templates.__main__ import main
from research.benchmarks.templates.clustering import PAPER, confusions, describe, evaluate, ranking
from research.benchmarks.templates.common import stratified, table
from research.benchmarks.templates.layouts import two_level_labels
from research.benchmarks.templates.linked import TRAINING_SIZES
from research.benchmarks.templates.scale import mutated
from research.benchmarks.templates.times import picture
from tests.templates.clustering.made import groups_apart

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[3] / "data" / "sites"
SITES = ("millbrook-hollow", "old-radio-bench", "patient-crumb")


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of corpora with half of the synthetic sites, which are enough to distinguish them quickly."""
    folder = tmp_path_factory.mktemp("corpora")
    for site in SITES:
        shutil.copytree(DATA / site, folder / "sites" / site)
    return folder


def run(section: str, corpora: Path, folder: Path, *options: str) -> dict[str, Any]:
    """Run one section and read its output."""
    assert main([section, "--corpora", str(corpora), "--out", str(folder), *options]) == 0
    result: dict[str, Any] = json.loads((folder / f"{section}.json").read_text(encoding="utf-8"))
    return result


def test_the_clustering_section_finds_the_sites(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Paths separate the synthetic sites, tag counts don't, and missing collections are reported."""
    result = run("clustering", few, tmp_path, "--runs", "2")
    (title,) = result
    assert title.startswith("sites by site: ")
    assert {row["distance"] for row in result[title]["dunn"]} == set(METRICS)
    rows = {(row["distance"], row["method"]): row for row in result[title]["clusterings"]}
    assert rows["cp", "single linkage, true number"]["adjusted_rand"] == 1
    assert rows["cp", "single linkage, true number"]["clusters"] == len(SITES)
    assert rows["tv", "single linkage, true number"]["adjusted_rand"] < 0.5
    for metric in METRICS:
        # The grid of thresholds is finer than any gap.
        best = rows[metric, "single linkage, oracle threshold"]["adjusted_rand"]
        assert best >= rows[metric, "single linkage, gap"]["adjusted_rand"]
    printed = capsys.readouterr()
    assert "| single linkage, gap | cp |" in printed.out
    assert "cleanportaleval is missing" in printed.err


def test_the_times_section_leaves_out_what_takes_too_long(few: Path, tmp_path: Path) -> None:
    """A curve ends after the first size that is expected to take too long, and the figure is drawn."""
    result = run("times", few, tmp_path, "--sizes", "4", "8", "16", "--limit", "0")
    assert set(result["seconds"]) == {"sketches", *METRICS}
    for name, values in result["seconds"].items():
        assert values[0] > 0
        assert name == "sketches" or values[1:] == [None, None]
    assert len(etree.fromstring((tmp_path / "times.svg").read_bytes()).findall("{*}polyline")) == len(result["seconds"])


def test_the_layouts_section_scores_every_site(few: Path, tmp_path: Path) -> None:
    """Every site is scored with and without classes, and scores are in their ranges."""
    result = run("layouts", few, tmp_path)
    assert len({row["site"] for row in result["sites"]}) == len(SITES)
    assert {row["classes"] for row in result["means"]} == {"yes", "no"}
    assert all(0 <= row["nmi"] <= 1 and -0.5 <= row["adjusted_rand"] <= 1 for row in result["sites"])
    true_number = [row for row in result["sites"] if row["method"] == "average linkage, true number"]
    assert all(row["clusters"] == row["layouts"] for row in true_number)


def test_the_linked_section_counts_pages(few: Path, tmp_path: Path) -> None:
    """The key page counts as loaded, and a larger training set never loads fewer pages."""
    result = run("linked", few, tmp_path, "--keys", "1")
    assert Counter(row["home"] for row in result["digraphs"]) == {True: 3 * len(SITES), False: 3 * len(SITES)}
    for row in result["digraphs"]:
        assert row["loaded"] > row["size"] > 0
        assert row["complete"] == (row["size"] == 4)
        assert row["until"] is None or row["until"] >= 5
    by_key: dict[str, list[dict[str, Any]]] = {}
    for row in result["training"]:
        assert row["right"] <= min(row["kept"], row["of_layout"]) <= row["loaded"] <= row["max_pages"]
        by_key.setdefault(row["key"], []).append(row)
    for rows in by_key.values():
        assert [row["max_pages"] for row in rows] == list(TRAINING_SIZES)
        assert [row["loaded"] for row in rows] == sorted(row["loaded"] for row in rows)


def test_the_scale_section_is_exact(few: Path, tmp_path: Path) -> None:
    """The clusters of a sample are those of its distance matrix."""
    rows = run("scale", few, tmp_path, "--copies", "150", "--exact", "100")["scale"]
    assert [row["pages"] for row in rows] == [150] * len(rows)
    assert all(row["Rand"] == row["adjusted Rand"] == 1 for row in rows)


def test_without_corpora_the_measurements_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """The message for missing corpora names the environment variable."""
    assert main(["scale", "--corpora", ""]) == 3
    assert "BLOCKML_CORPORA" in capsys.readouterr().err


def test_every_prefix_of_a_stratified_order_has_all_groups() -> None:
    """Every prefix has as many pages of each group as possible, and equal seeds give equal orders."""
    groups = ["a"] * 9 + ["b"] * 5 + ["c"] * 2
    order = stratified(groups, 1)
    assert sorted(order) == list(range(16))
    assert Counter(groups[place] for place in order[:6]) == {"a": 2, "b": 2, "c": 2}
    assert order == stratified(groups, 1)
    assert order != stratified(groups, 2)


def test_rankings_compare_only_pairs_that_the_paper_orders() -> None:
    """The paper's values agree with themselves, ties do not count as agreement, and ties in the paper are skipped."""
    assert ranking(PAPER["dunn"], PAPER["dunn"]) == (
        "ctss > cps > cp > lcts > rtdm > tv; 15 of 15 pairs as in the paper"
    )
    assert ranking(dict.fromkeys(METRICS, 1.0), PAPER["dunn"]).endswith("; 0 of 15 pairs as in the paper")
    assert ranking({"cp": 1.0, "tv": 0.5, "cps": 1.0}, PAPER["single linkage, true number"]) == (
        "cp = cps > tv; 2 of 2 pairs as in the paper"
    )


def test_confusions_name_merged_and_split_groups() -> None:
    """Each merged or split group is listed with its pages."""
    found = confusions(np.array([0, 0, 0, 1, 2]), ["a", "a", "b", "b", "c"])
    assert found == {"merged": [{"a": 2, "b": 1}], "split": {"b": [1, 1]}}
    assert describe(found) == "merged: a 2 + b 1 (1); split: b into 2, the largest 1 (1)"
    assert describe(confusions([0, 1], ["a", "b"])) == "merged: none (0); split: none (0)"


def test_scores_of_the_published_example() -> None:
    """In the published example of two groups, single linkage is right by the true number and by the gap."""
    matrix = np.zeros((5, 5))
    for pair, value in {(0, 1): 0.1, (0, 2): 0.2, (1, 2): 0.15, (3, 4): 0.3}.items():
        matrix[pair] = value
    matrix[:3, 3:] = [[0.8, 0.9], [0.85, 0.9], [0.7, 0.95]]
    dunns, rows = evaluate(matrix + matrix.T, "cp", ["a", "a", "a", "b", "b"], list("vwxyz"), 3)
    assert dunns["dunn"] == pytest.approx(7 / 3)
    assert dunns["extremes"] == "0.3000 inside b (y, z), 0.7000 between x and y"
    scores = {row["method"]: row["adjusted_rand"] for row in rows if row["method"].startswith("single")}
    assert scores["single linkage, true number"] == scores["single linkage, gap"] == 1
    assert rows[1]["threshold"] == pytest.approx(0.5)


def test_mutated_sets_keep_most_and_gain_a_little() -> None:
    """A mutated set loses 5 to 15 % of its values and gains as many at most."""
    chance = np.random.default_rng(0)
    values, pool = np.arange(2_000, dtype=np.uint64), np.arange(10_000, 90_000, dtype=np.uint64)
    for _ in range(20):
        copy = mutated(values, pool, chance)
        kept = np.intersect1d(values, copy)
        assert 0.8 < len(kept) / len(values) < 0.99
        assert 90 <= len(copy) - len(kept) <= 300


def test_tables_are_markdown() -> None:
    """Numbers below 1 are written without a leading zero, and missing ones as a dash."""
    rows: list[dict[str, object]] = [{"a": 0.25, "b": None, "c": 12_345}, {"a": -0.5, "b": "x", "c": 1.0}]
    assert table(rows) == "| a | b | c |\n| --- | --- | --- |\n| .2500 | - | 12,345 |\n| -.5000 | x | 1.0000 |\n"
    assert table(rows, {"b": "second"}).splitlines()[0] == "| second |"


def test_the_figure_of_times_has_a_line_per_curve() -> None:
    """The figure of times has a line per curve, without points that were not measured."""
    drawing = etree.fromstring(picture([10, 20, 40], {"cp": [0.1, 0.2, 0.4], "rtdm": [1.0, 4.0, None]}).encode())
    lines = drawing.findall("{*}polyline")
    assert [len(str(line.get("points")).split()) for line in lines] == [3, 2]


def test_two_levels_of_sites_and_categories() -> None:
    """Sites are found at the first level, and the categories of those that have any at the second."""
    site = np.repeat(np.arange(3), 24)
    category = np.where(site < 2, np.tile(np.arange(4), 18), 0)
    matrix = groups_apart(site * 4 + category, (0.05, 0.15), (0.25, 0.35))
    apart = site[:, None] != site
    matrix[apart] += 0.5
    order = np.random.default_rng(1).permutation(len(site))
    levels = two_level_labels(site[order].astype(np.int32), matrix[np.ix_(order, order)])
    assert levels.shape == (72, 2)
    assert levels.dtype == np.int32
    # The same pairs are together at both levels.
    for found, true in ((levels[:, 0], site[order]), (levels @ [10, 1], (site * 4 + category)[order])):
        assert ((found[:, None] == found) == (true[:, None] == true)).all()
