"""Published result tables: derived numbers, the papers' conclusions, and measured scores next to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockml.errors import UnknownNameError, UsageError
from blockml.evaluation.comparison import METRIC_INFO
from research.benchmarks.papers.published import (
    NOTE,
    Claim,
    PublishedRow,
    PublishedTable,
    compare_with_published,
    main,
    published_tables,
)

CLUSTER_METRICS = {"dunn", "rand_ordered", "purity", "mutual_information_gottron"}
TABLES = {table.name: table for table in published_tables()}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_table_is_complete(table: PublishedTable) -> None:
    """Each table has all numbers, unique names, a source, and only metrics that blockml computes."""
    assert table.rows
    assert all(len(row.values) == len(table.columns) for row in table.rows)
    assert len({row.name for row in table.rows}) == len(table.rows)
    assert len(set(table.columns)) == len(table.columns)
    assert set(table.systems) <= set(table.columns)
    assert {row.metric for row in table.rows} <= {"", *METRIC_INFO, *CLUSTER_METRICS}
    assert table.source.startswith(("Gottron", "Kim", "Alarte"))
    assert table.place


@pytest.mark.parametrize(
    ("table", "claim"), [(table, claim) for table in TABLES.values() for claim in table.claims], ids=str
)
def test_papers_conclude_what_their_numbers_show(table: PublishedTable, claim: Claim) -> None:
    """Every claim of a paper names columns and rows of its table, and its numbers support it."""
    assert {*claim.better, *claim.worse} <= set(table.columns)
    assert set(claim.rows) <= {row.name for row in table.rows}
    assert claim.relation in {">", ">=", "="}
    assert claim.holds(table.scores()) is True


def test_means_over_packages() -> None:
    """Means, weighted means and numbers of wins over the 14 packages are as expected; a tie counts for both."""
    table = TABLES["blurring"]
    assert table.columns == ("ACCB", "CCB", "TCCB", "DSC", "Crunch", "LQF", "Plain")
    assert len(table.rows) == 14
    assert sum(row.size or 0 for row in table.rows) == 9601
    means = [0.7816, 0.7570, 0.7760, 0.7704, 0.6866, 0.6651, 0.5421]
    weighted = [0.8365, 0.7988, 0.8248, 0.8231, 0.7504, 0.7402, 0.6010]
    assert list(table.means().values()) == pytest.approx(means, abs=5e-5)
    assert list(table.weighted_means().values()) == pytest.approx(weighted, abs=5e-5)
    assert list(table.best_counts().values()) == [4, 5, 3, 2, 0, 0, 1]


def test_means_over_sites() -> None:
    """The means of the five methods over the five sites equal the published ones."""
    table = TABLES["bridging-extraction"]
    assert list(table.means().values()) == pytest.approx([0.7510, 0.7452, 0.7446, 0.8392, 0.6220], abs=5e-5)
    with pytest.raises(UsageError, match="sizes of some rows are unknown"):
        table.weighted_means()


def test_short_main_content_is_hardest() -> None:
    """On slashdot and manual the best method is worse than the best method on any other package."""
    best = {row.name: max(row.values) for row in TABLES["blurring"].rows}
    short = [best.pop("slashdot"), best.pop("manual")]
    assert max(short) < min(best.values())


def test_distances_are_equivalent_for_extraction() -> None:
    """The choice among the three fast distances changes a site's F1 by less than 0.02."""
    for row in TABLES["bridging-extraction"].rows:
        assert max(row.values[:3]) - min(row.values[:3]) < 0.02


@pytest.mark.parametrize(
    ("short", "full"), [("bridging-dunn", "clustering-dunn"), ("bridging-threshold", "clustering-threshold")]
)
def test_two_papers_agree(short: str, full: str) -> None:
    """The later paper repeats the numbers of the clustering paper, rounded to three decimals."""
    for name in TABLES[short].columns:
        for row, value in TABLES[short].column(name).items():
            assert value == pytest.approx(TABLES[full].column(name)[row], abs=5.1e-4)


def test_shares_of_blocks_follow_from_the_counts() -> None:
    """The published counts add up, and percentages and blocks per page are rounded from them."""
    for values in TABLES["context-blocks"].scores().values():
        pages, blocks = values["pages"], values["blocks"]
        assert values["main content"] + values["other"] == blocks
        assert round(blocks / pages) == values["blocks per page"]
        for kind in ("main content", "other"):
            assert round(100 * values[kind] / blocks, 2) == values[f"{kind}, %"]
            assert round(values[kind] / pages) == values[f"{kind} per page"]


def test_f_measures_follow_from_precision_and_recall() -> None:
    """F is the harmonic mean within 0.001, and context gains 0.033 and 0.186."""
    gains = []
    for name in ("context-l3s-gn1", "context-965-gweb"):
        for values in TABLES[name].scores().values():
            precision, recall = values["precision"], values["recall"]
            assert values["F-measure"] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-3)
        gains.append(TABLES[name].column("Proposed")["F-measure"] - TABLES[name].column("Boilerpipe")["F-measure"])
    assert gains == pytest.approx([0.033, 0.186])


def test_unknown_columns_are_refused() -> None:
    """The error names the existing columns."""
    with pytest.raises(UnknownNameError, match=r"unknown column 'BTE'; choose one of: ACCB, CCB"):
        TABLES["blurring"].column("BTE")


SCORES = {"a": {"x": 0.5, "y": 0.5}, "b": {"x": 0.25, "y": 0.75}, "c": {"x": 0.125, "y": 0.25}}


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (Claim("", ("a",), ("c",)), True),
        (Claim("", ("c",), ("a",)), False),
        (Claim("", ("a",), ("b",)), False),
        (Claim("", ("a",), ("b",), relation=">="), True),
        (Claim("", ("a",), ("b",), rows=("x",)), True),
        (Claim("", ("a",), ("b", "c"), rows=("y",)), False),
        (Claim("", ("a", "b"), ("c",), every=True), True),
        (Claim("", ("b",), ("a",), relation=">=", every=True), False),
        (Claim("", ("a",), ("d",)), None),
        (Claim("", ("a",), ("b",), rows=("z",)), None),
    ],
)
def test_claims_compare_means_or_every_row(claim: Claim, holds: bool | None) -> None:  # noqa: FBT001
    """All better columns are compared with all worse ones, by mean or in every row, and missing values give None."""
    assert claim.holds(SCORES) is holds


def test_claims_need_the_same_rows_in_all_columns() -> None:
    """A claim can't be tested if a column lacks rows of another one, or if there are no rows."""
    claim = Claim("", ("a",), ("b",))
    assert claim.holds({"a": {"x": 0.5}, "b": {"x": 0.25, "y": 0.5}}) is None
    assert claim.holds({"a": {"x": 0.5, "y": 0.5}, "b": {"x": 0.25}}) is None
    assert claim.holds({"a": {}, "b": {}}) is None


def test_our_scores_are_listed_next_to_published_ones() -> None:
    """Systems with a published name are listed with their means, and claims are tested if all their systems ran."""
    measured = {
        "lcs_f1": {"accb": {"news": 0.8, "forum": 0.4}, "ccb": {"news": 0.9, "forum": 0.5}, "other": {"news": 1.0}},
        "block_f1": {"kim2013": {"news": 0.7}},
    }
    found = {table["name"]: table for table in compare_with_published(measured)}
    assert list(found) == list(TABLES)
    blurring = found["blurring"]
    assert [(row["column"], row["dataset"], row["mean"]) for row in blurring["ours"]] == [
        ("ACCB", "news", 0.8), ("ACCB", "forum", 0.4), ("CCB", "news", 0.9), ("CCB", "forum", 0.5)
    ]  # fmt: skip
    holding = [(claim["published"], claim["ours"]) for claim in blurring["claims"]]
    assert holding == [(True, False), (True, None), (True, None), (True, None), (True, None)]
    assert blurring["note"] == NOTE
    assert blurring["derived"]["means"]["ACCB"] == 0.7816
    assert blurring["metric"] == "lcs_f1"
    kim = found["context-l3s-gn1"]
    assert kim["ours"] == [
        {"column": "Proposed", "system": "kim2013", "dataset": "news", "metric": "block_f1", "mean": 0.7}
    ]
    assert kim["derived"] is None
    assert kim["metric"] == ""


def test_weighted_means_follow_the_sizes() -> None:
    """Rows are weighted by their number of pages."""
    rows = (PublishedRow("x", (0.0, 1.0), "lcs_f1", 1), PublishedRow("y", (1.0, 1.0), "lcs_f1", 3))
    table = PublishedTable("t", "", "", "", ("a", "b"), rows)
    assert table.means() == {"a": 0.5, "b": 1.0}
    assert table.weighted_means() == {"a": 0.75, "b": 1.0}
    assert table.best_counts() == {"a": 1, "b": 2}


def test_claims_about_clusterings_are_tested_on_our_scores() -> None:
    """A claim about a threshold is tested on Rand index and purity, and a claim about columns that we lack isn't."""
    systems = ("cp at 0.7", "cp at 0.9", "ctss at 0.85", "cps at 0.6")
    measured = {
        metric: {name: {"pages": 0.5 if name == "cp at 0.9" else 0.9} for name in systems}
        for metric in ("rand_ordered", "purity", "mutual_information_gottron")
    }
    claims = {row["name"]: row["claims"] for row in compare_with_published(measured)}
    assert [claim["ours"] for claim in claims["clustering-threshold"]] == [True]
    assert [claim["ours"] for claim in claims["clustering-dunn"]] == [None, None]


def test_the_first_measured_system_of_a_column_is_used() -> None:
    """A trained tree is listed before boilerpipe's rules, and claims of equality allow a tolerance."""
    blocks = {"block_f1": {"boilerpipe6": {"a": 0.6}, "density": {"a": 0.7, "b": 0.5}, "kim2013": {"a": 0.8, "b": 0.6}}}
    table = {row["name"]: row for row in compare_with_published(blocks)}["context-965-gweb"]
    found = [(entry["system"], entry["dataset"]) for entry in table["ours"]]
    assert found == [("boilerpipe6", "a"), ("density", "b"), ("kim2013", "a"), ("kim2013", "b")]
    assert table["claims"][0]["ours"] is True
    equal = Claim("equal", better=("a",), worse=("b",), relation="=", every=True)
    assert equal.holds({"a": {"x": 0.50}, "b": {"x": 0.515}}) is True
    assert equal.holds({"a": {"x": 0.50}, "b": {"x": 0.53}}) is False


def test_tables_of_measured_systems_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A published system that a comparison measured has its mean beside the published numbers."""
    rows = [
        {"metric": "lcs_f1", "system": name, "dataset": "news", "slice_kind": "all", "mean": mean}
        for name, mean in (("accb", 0.625), ("ccb", 0.5))
    ]
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps({"means": rows}))
    main(path)
    printed = capsys.readouterr().out
    assert "here: news lcs_f1" in printed
    assert ".625" in printed
    assert "ACCB is at least as good as CCB on average" in printed
