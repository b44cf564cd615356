"""Tables of a comparison, checked against numbers computed by hand and by a slow implementation."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockml.errors import UsageError
from blockml.evaluation import BlockScores, bootstrap_mean, mean_of_means, means_by, paired_difference
from blockml.evaluation.comparison import (
    HEADLINES,
    METRIC_INFO,
    OUTCOMES,
    PageScore,
    Settings,
    build_tables,
    write_tables,
)
from blockml.evaluation.comparison.grid import fill_grid, quartiles, slice_pages
from blockml.evaluation.comparison.means import block_ratios, difference_rows, mean_rows, rounded


def page(page_id: str, bag_f1: float | None = 0.5, **changes: Any) -> PageScore:
    """Return the scores of a page, with defaults for the fields that are not given."""
    plain = PageScore(
        id=page_id, site="a.example", page_type=None, language="unknown", script="unknown", gold_words=100,
        flagged=False, outcome="ok", bag_f1=bag_f1, bag_precision=0.5, bag_recall=0.5, lcs_f1=0.25, lcs_precision=0.25,
        lcs_recall=0.25, shingle_f1=0.125, with_rate=None, without_rate=None, tp=1, fp=1, fn=0, tn=0, seconds=0.002,
        approximate=False,
    )  # fmt: skip
    return replace(plain, **changes)


#: The only page of a data set was seen in training.
SEEN = {"pages": ["x"], "n_pages": 1, "sites": 1, "n_sites": 1}

Scores = Mapping[str, Sequence[PageScore]]

#: Few samples, which are enough to check that the right pages are drawn.
QUICK = Settings(resamples=10)


def build(scores: Scores, **options: Any) -> dict[str, Any]:
    """Return the tables of one data set."""
    return build_tables({"news": scores}, options.pop("runs", {}), **{"resamples": 10, **options})


def select(rows: Sequence[Mapping[str, Any]], **wanted: object) -> list[Mapping[str, Any]]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def only(rows: Sequence[Mapping[str, Any]], **wanted: object) -> Mapping[str, Any]:
    """Return the only row with these values."""
    (row,) = select(rows, **wanted)
    return row


share = st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
count = st.integers(0, 4)


@st.composite
def comparisons(draw: st.DrawFn) -> dict[str, list[PageScore]]:
    """Generate two or three systems on pages of a few sites, types and lengths, with missing scores and pages."""
    pages = [
        page(
            page_id=f"p{number}",
            site=draw(st.sampled_from("abc")),
            page_type=draw(st.sampled_from([None, "article", "forum"])),
            script=draw(st.sampled_from(["Latin", "Han"])),
            gold_words=draw(st.integers(0, 5)),
            flagged=draw(st.booleans()),
        )
        for number in range(draw(st.integers(1, 9)))
    ]
    return {
        system: [
            replace(page, bag_f1=draw(share), with_rate=draw(share), tp=draw(count), fp=draw(count), fn=draw(count))
            for page in draw(st.permutations(pages))
            if draw(st.integers(0, 9))
        ]
        for system in ["one", "two", "three"][: draw(st.integers(2, 3))]
    }


def in_slice(page: PageScore, kind: str, name: str) -> bool:
    """Tell whether a page belongs to a slice of the tables."""
    if kind == "gold_length":
        low, high = name.split("(")[1].removesuffix(" words)").split("-")
        return int(low) <= page.gold_words <= int(high)
    if kind in {"page_type", "script", "site"}:
        return (getattr(page, kind) or "unknown") == name
    return {"all": True, "clean": not page.flagged, "not_empty_gold": page.gold_words > 0}[kind]


def blocks(pages: Sequence[PageScore]) -> list[BlockScores]:
    """Return the block counts of pages with labelled blocks."""
    return [BlockScores(p.tp, p.fp, p.fn, p.tn) for p in pages if p.tp + p.fp + p.fn + p.tn]


@settings(max_examples=12)
@given(comparisons())
def test_means_equal_those_computed_page_by_page(scores: Scores) -> None:
    """Every mean equals that of the pages in its slice, with the interval of their bootstrap."""
    rows = [row for row in mean_rows(fill_grid("news", scores), QUICK) if row["slice_kind"] != "site_mean"]
    for row in select(rows, metric="bag_f1") + select(rows, metric="with_rate") + select(rows, metric="block_recall"):
        ordered = sorted(scores[row["system"]], key=_id)
        pages = [page for page in ordered if in_slice(page, row["slice_kind"], row["slice"])]
        if row["metric"] == "block_recall":
            counts = blocks(pages)
            mean = sum(counts, BlockScores()).recall
            assert (row["mean"], row["pages"]) == (pytest.approx(mean, abs=1e-6), len(counts))
            continue
        values = [value for page in pages if (value := getattr(page, row["metric"])) is not None]
        assert row["pages"] == len(values)
        interval = bootstrap_mean(values, resamples=10)
        assert row["mean"] == pytest.approx(interval.mean, abs=1e-6)
        if len(values) >= (2 if row["slice_kind"] in {"all", "clean", "not_empty_gold"} else 5):
            assert (row["low"], row["high"]) == pytest.approx(interval[1:], abs=1e-6)
        else:
            assert (row["low"], row["high"]) == (None, None)
    for system, scored in scores.items():
        for metric in ("bag_f1", "with_rate"):
            told = any(getattr(page, metric) is not None for page in scored)
            assert len(select(rows, system=system, metric=metric, slice="all")) == told


@settings(max_examples=12)
@given(comparisons())
def test_site_means_weight_sites_equally(scores: Scores) -> None:
    """The mean over sites is that of the sites' means, and its interval is drawn from sites."""
    rows = list(mean_rows(fill_grid("news", scores), QUICK))
    order = list(dict.fromkeys(p.site for p in sorted({p.id: p for s in scores.values() for p in s}.values(), key=_id)))
    for system, scored in scores.items():
        pages = sorted((page for page in scored if page.bag_f1 is not None), key=lambda p: order.index(p.site))
        if pages:
            means = means_by([page.bag_f1 or 0 for page in pages], [page.site for page in pages])
            row = only(rows, system=system, metric="bag_f1", slice="site_mean")
            assert (row["mean"], row["pages"]) == (pytest.approx(mean_of_means(means), abs=1e-6), len(pages))
            if len(means) > 1:
                interval = bootstrap_mean([mean for mean, _ in means.values()], resamples=10)
                assert (row["low"], row["high"]) == pytest.approx(interval[1:], abs=1e-6)
            else:
                assert row["low"] is row["high"] is None
        sites = {page.site: blocks([other for other in scored if other.site == page.site]) for page in scored}
        ratios = [sum(found, BlockScores()).f1 for found in sites.values() if found]
        if ratios:
            row = only(rows, system=system, metric="block_f1", slice="site_mean")
            assert row["mean"] == pytest.approx(np.mean(ratios), abs=1e-6)


def _id(page: PageScore) -> str:
    return page.id


@settings(max_examples=12)
@given(comparisons())
def test_differences_equal_those_of_each_pair(scores: Scores) -> None:
    """Differences, intervals, wins, losses and ties equal those of the pages that both systems have."""
    rows = list(difference_rows(fill_grid("news", scores), QUICK))
    assert [(row["metric"], row["a"], row["b"]) for row in rows] == [
        (metric, a, b)
        for metric in HEADLINES
        for a, b in combinations(scores, 2)
        if common_values(scores, metric, a, b)
    ]
    for row in rows:
        pairs = common_values(scores, row["metric"], row["a"], row["b"])
        assert row["wins"] == sum(a > b for a, b in pairs)
        assert row["losses"] == sum(a < b for a, b in pairs)
        assert row["wins"] + row["losses"] + row["ties"] == len(pairs)
        if row["metric"] != "block_f1":
            expected = paired_difference(*zip(*pairs, strict=True), resamples=10)
            if len(pairs) < 5:
                assert (row["low"], row["high"], row["significant"]) == (None, None, False)
                continue
            assert [row["mean"], row["low"], row["high"]] == pytest.approx(expected[:3], abs=1e-6)
            assert row["significant"] == expected.significant


def common_values(scores: Scores, metric: str, a: str, b: str) -> list[tuple[float, float]]:
    """Return the pairs of values for the pages that both systems have."""
    found = [{page.id: value(page, metric) for page in scores[system]} for system in (a, b)]
    both = [(found[0][name], found[1][name]) for name in sorted(found[0].keys() & found[1].keys())]
    return [(first, second) for first, second in both if first is not None and second is not None]


def value(page: PageScore, metric: str) -> float | None:
    """Return the value of a metric for a page."""
    if metric == "block_f1":
        return blocks([page])[0].f1 if blocks([page]) else None
    return getattr(page, metric)  # type: ignore[no-any-return]


@settings(max_examples=5)
@given(comparisons(), st.randoms())
def test_the_order_of_pages_does_not_matter(scores: Scores, random: Any) -> None:
    """The tables don't depend on the order of the pages."""
    shuffled = {system: random.sample(list(pages), len(pages)) for system, pages in scores.items()}
    assert build(shuffled) == build(scores)


@given(st.lists(st.tuples(count, count, count), min_size=1, max_size=5))
def test_block_ratios_follow_the_conventions_of_block_scores(counts: list[tuple[int, int, int]]) -> None:
    """F1, precision and recall equal those of ``BlockScores``, also for 0/0."""
    for ratios, (tp, fp, fn) in zip(block_ratios(np.array(counts, dtype=float)), counts, strict=True):
        scores = BlockScores(tp, fp, fn)
        assert ratios.tolist() == pytest.approx([scores.f1, scores.precision, scores.recall])


def test_pooled_block_differences() -> None:
    """Block differences pool the counts of pages, but wins are counted by page."""
    one = [page("x", tp=8, fp=0, fn=2), *(page(name, tp=0, fp=1, fn=0) for name in "abcd")]
    two = [page("x", tp=4, fp=0, fn=6), *(page(name, tp=0, fp=0, fn=0, tn=1) for name in "abcd")]
    row = only(build({"one": one, "two": two}, resamples=500)["differences"], metric="block_f1")
    assert row["mean"] == rounded(16 / 22 - 8 / 14)
    assert (row["wins"], row["losses"], row["ties"]) == (1, 4, 0)
    assert row["low"] == -1  # samples without page x: F1 of 0 against 1
    assert 0 < row["high"] < 16 / 18 - 8 / 14  # samples with many copies of page x
    assert not row["significant"]


def test_significance_by_site_needs_several_sites() -> None:
    """A difference due to one site isn't significant by site, and few sites give no result."""
    far = [page(f"p{k}", 1.0 if k < 20 else 0.45, site="large" if k < 20 else f"s{k}") for k in range(26)]
    near = [page(f"p{k}", 0.5, site="large" if k < 20 else f"s{k}") for k in range(26)]
    row = only(build({"one": far, "two": near}, resamples=500)["differences"], metric="bag_f1")
    assert row["significant"]
    assert row["significant_by_site"] is False
    few = only(build({"one": far[:20], "two": near[:20]}, resamples=50)["differences"], metric="bag_f1")
    assert few["significant_by_site"] is None


def test_a_system_trained_on_a_data_set_is_not_ranked_over_all() -> None:
    """A system that was trained on pages of the data set gets no overall rank."""
    scores = {"trained": [page("x", 1.0)], "fair": [page("x", 0.5)]}
    overall = build(scores, runs={"news": {"trained": {"seen": SEEN}}})["overall"]
    assert [(row["system"], row["rank"]) for row in overall] == [("trained", None), ("fair", 1.0)]


def test_pages_seen_in_training_are_left_out_of_differences() -> None:
    """Pages that one of two systems saw in training don't count for their difference."""
    good = [page(f"p{k:02}", 1.0 if k < 20 else 0.5) for k in range(26)]
    fair = [page(f"p{k:02}", 0.5) for k in range(26)]
    seen = {"pages": [f"p{k:02}" for k in range(20)], "n_pages": 26, "sites": 1, "n_sites": 1}
    pair = {"good": good, "fair": fair}
    row = only(build(pair, runs={"news": {"good": {"seen": seen}}})["differences"], metric="bag_f1")
    assert (row["mean"], row["significant"], row["ties"], row["seen_pages"]) == (0, False, 6, 20)
    row = only(build(pair)["differences"], metric="bag_f1")
    assert (row["significant"], row["wins"], row["seen_pages"]) == (True, 20, 0)
    every = {**seen, "pages": [f"p{k:02}" for k in range(26)]}
    assert build(pair, runs={"news": {"fair": {"seen": every}}})["differences"] == []


@pytest.mark.parametrize(("n_seen", "in_sample"), [(1, []), (2, ["news"])])
def test_a_system_is_ranked_unless_it_has_seen_many_pages(n_seen: int, in_sample: list[str]) -> None:
    """A system may have seen 1 of 20 pages, and unknown pages don't count as seen."""
    seen = {"pages": [f"p{k}" for k in range(n_seen)], "n_pages": 20, "sites": 0, "n_sites": 0}
    tables = build({"one": [page(f"p{k}") for k in range(20)]}, runs={"news": {"one": {"seen": seen}}})
    assert tables["systems"][0]["in_sample"] == in_sample
    tables = build({"one": [page("p")]}, runs={"news": {"one": {"seen": {**seen, "pages": None}}}})
    assert tables["systems"][0]["in_sample"] == []


def test_failed_pages_count_and_have_their_outcome() -> None:
    """A crash scores like an empty text in the mean, and outcomes are counted."""
    pages = [page("x", 1.0), page("y", 0.0, outcome="crash"), page("z", 0.0, outcome="empty")]
    found = build({"one": pages, "two": [page("x", outcome="timeout"), page("y", outcome="missing")]})
    assert only(found["means"], system="one", metric="bag_f1", slice="all")["mean"] == rounded(1 / 3)
    zero = dict.fromkeys(OUTCOMES, 0)
    assert found["outcomes"] == [
        {"dataset": "news", "system": "one", **zero, "ok": 1, "crash": 1, "empty": 1, "pages": 3},
        {"dataset": "news", "system": "two", **zero, "timeout": 1, "missing": 1, "pages": 2},
    ]


def test_a_failure_does_not_win_on_pages_without_content() -> None:
    """On a page without content, an empty text has the best block score and a failure the worst."""
    nothing = {"bag_f1": 0.0, "tp": 0, "fp": 0, "fn": 0, "tn": 3}
    failed = [page(name, outcome="crash", **nothing) for name in "xyz"]
    found = build({"failed": failed, "empty": [page(name, outcome="empty", **nothing) for name in "xyz"]})
    assert only(found["differences"], metric="block_f1")["losses"] == 3
    assert {row["block_f1"] for row in select(found["pages"], system="failed")} == {0}
    assert {row["block_f1"] for row in select(found["pages"], system="empty")} == {1}


def test_cost_leaves_out_unknown_times() -> None:
    """Mean, median and 95th percentile are in milliseconds, and pages without a time are left out."""
    pages = [page(f"p{k}", seconds=k / 1000) for k in range(1, 101)] + [page("q", seconds=None)]
    runs = {"news": {"one": {"peak_megabytes": 81.5}}}
    found = build({"one": pages, "two": [page("p1", seconds=None)]}, runs=runs)["cost"]
    assert found[0] == {
        "dataset": "news", "system": "one", "ms_mean": 50.5, "ms_median": 50.5, "ms_p95": 95.05, "timed_pages": 100,
        "peak_megabytes": 81.5,
    }  # fmt: skip
    assert list(found[1].values()) == ["news", "two", None, None, None, 0, None]


def test_distribution_of_page_scores() -> None:
    """The distribution has 20 bars over [0, 1] and eleven deciles, without pages that have no score."""
    values = [0.0, 0.04, 0.5, 1.0, 1.0, None]
    pages = [page(f"p{k}", score) for k, score in enumerate(values)]
    found = build({"one": pages})["distribution"]
    assert [row["metric"] for row in found] == ["bag_f1", "lcs_f1", "block_f1"]
    assert found[0]["histogram"] == [2, *[0] * 9, 1, *[0] * 8, 2]
    assert found[0]["deciles"] == [rounded(x) for x in np.quantile([0, 0.04, 0.5, 1, 1], np.arange(11) / 10)]
    assert sum(found[1]["histogram"]) == 6


def test_worst_pages_are_sorted_by_score_and_id() -> None:
    """The ten worst pages of a system are sorted by score and, for equal scores, by id."""
    scores = {"c": 0.1, "a": 0.1, "b": 0.0, "d": None, **{f"e{k:02}": (0.5, 0.7)[k % 2] for k in range(60)}}
    pages = [page(name, score, outcome="empty" if score == 0 else "ok") for name, score in scores.items()]
    found = build({"one": pages})["worst"]
    assert [row["id"] for row in found] == ["b", "a", "c", "e00", "e02", "e04", "e06", "e08", "e10", "e12"]
    assert found[0] == {
        "dataset": "news", "system": "one", "id": "b", "bag_f1": 0.0, "outcome": "empty", "page_type": None,
    }  # fmt: skip


def test_hardest_pages_are_hard_for_all_or_disputed() -> None:
    """Hard pages are sorted by the best score of any system, and disputed ones by the standard deviation."""
    one = [page("x", 0.25), page("y", 1.0), page("z", 0.5), page("none", None)]
    two = [page("x", 0.0), page("y", 0.0), page("z", 0.5), page("none", None)]
    found = build({"one": one, "two": two})["hardest"]
    assert [(row["why"], row["id"], row["best"], row["spread"]) for row in found] == [
        ("hard", "x", 0.25, 0.125), ("hard", "z", 0.5, 0.0), ("hard", "y", 1.0, 0.5),
        ("disagreement", "y", 1.0, 0.5), ("disagreement", "x", 0.25, 0.125),
    ]  # fmt: skip


def test_slices_without_information_are_left_out() -> None:
    """Slices are left out if their value is unknown on all pages, a site has one page, or no page is clean."""
    pages = [page("x", flagged=True, gold_words=0), page("y", site="b.example", flagged=True, gold_words=0)]
    assert [(part.kind, part.name) for part in slice_pages(pages)] == [
        ("all", "all"),
        ("gold_length", "q1 (0-0 words)"),
    ]
    more = [
        page("x", page_type="forum", script="Latin"),
        page("y", language="ko", flagged=True, gold_words=0),
        page("z", page_type="article"),
    ]
    assert [(part.kind, part.name, part.rows.tolist()) for part in slice_pages(more)] == [
        ("all", "all", [0, 1, 2]), ("clean", "clean", [0, 2]), ("not_empty_gold", "not_empty_gold", [0, 2]),
        ("page_type", "article", [2]), ("page_type", "forum", [0]), ("page_type", "unknown", [1]),
        ("script", "Latin", [0]), ("script", "unknown", [1, 2]),
        ("language", "ko", [1]), ("language", "unknown", [0, 2]),
        ("gold_length", "q1 (0-0 words)", [1]), ("gold_length", "q2 (100-100 words)", [0, 2]),
        ("site", "a.example", [0, 1, 2]),
    ]  # fmt: skip


def test_site_means_do_not_need_clean_pages() -> None:
    """The mean over sites is computed even if no page has clean gold."""
    found = build({"one": [page("x", 1.0, flagged=True), page("y", 0.5, site="b.example", flagged=True)]})["means"]
    assert only(found, metric="bag_f1", slice="site_mean")["mean"] == 0.75
    assert select(found, slice="clean") == []


def test_sites_have_headline_metrics_only() -> None:
    """Single sites only have the headline metrics, to limit the size of the table."""
    found = build({"one": [page("x"), page("y")]})["means"]
    assert [row["metric"] for row in select(found, slice_kind="site")] == ["bag_f1", "lcs_f1", "block_f1"]
    assert {row["metric"] for row in found} == {name for name in METRIC_INFO if not name.startswith("with")}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20))
def test_quartiles_split_the_pages_by_length(words: list[int]) -> None:
    """Each page is in the quarter whose range contains it, and ranges don't overlap."""
    ranges = {}
    for name, length in zip(quartiles(words), words, strict=True):
        low, high = name[4:].removesuffix(" words)").split("-")
        assert int(low) <= length <= int(high)
        ranges[name[:2]] = (int(low), int(high))
    ordered = [ranges[name] for name in sorted(ranges)]
    assert all(first[1] < second[0] for first, second in pairwise(ordered))
    distinct = [name[:2] for name in quartiles(range(len(words)))]
    assert all(len(words) // 4 <= distinct.count(f"q{k}") <= math.ceil(len(words) / 4) for k in range(1, 5))


def test_overall_means_need_every_data_set() -> None:
    """Overall means and ranks only cover systems that ran on every data set, and equal means share a rank."""
    scores = {
        "news": {"a": [page("x", 0.8)], "b": [page("x", 0.6)], "c": [page("x", 0.6)], "d": [page("x", 1.0)]},
        "forum": {"c": [page("y", 0.9)], "a": [page("y", 0.5)], "b": [page("y", 0.1)]},
        "snippets": {"a": [page("z", None, with_rate=1.0)]},
    }
    found = build_tables(scores, {}, resamples=5)["overall"]
    assert [(row["system"], row["mean"], row["rank"]) for row in found] == [
        ("a", 0.65, 1.5), ("b", 0.35, 2.75), ("c", 0.75, 1.75), ("d", None, None)
    ]  # fmt: skip
    assert {row["datasets"] for row in found} == {2}


def test_systems_keep_one_order() -> None:
    """Systems are ordered by their first occurrence in all tables, also in pairs."""
    scores = {
        "news": {"b": [page("x")], "a": [page("x")]},
        "forum": {"a": [page("y")], "c": [page("y")], "b": [page("y")]},
    }
    found = build_tables(scores, {}, resamples=5)
    assert [row["name"] for row in found["systems"]] == ["b", "a", "c"]
    pairs = [(row["a"], row["b"]) for row in select(found["differences"], dataset="forum", metric="bag_f1")]
    assert pairs == [("b", "a"), ("b", "c"), ("a", "c")]
    assert [row["system"] for row in select(found["outcomes"], dataset="forum")] == ["b", "a", "c"]


def test_facts_of_runs_and_data_sets() -> None:
    """Facts of the runs are merged by system, and the latest run dates the comparison unless a date is given."""
    runs: dict[str, dict[str, dict[str, Any]]] = {
        "news": {"one": {"kind": "own", "version": "1", "parameters": {"radius": 60}, "created": "2031-05-17"}},
        "forum": {"one": {"kind": "own", "version": "2", "seen": SEEN, "created": "2031-05-18"}},
    }
    scores = {"news": {"one": [page("x"), page("y", site="b.example")]}, "forum": {"one": [page("z")]}}
    facts = {"news": {"licence": "CC0", "attribution": "A. Author", "checksum": "9f"}}
    missing = [{"name": "other", "install": "pip install other"}]
    found = build_tables(scores, runs, datasets=facts, missing_systems=missing, command="blockml compare", seed=3)
    assert found["systems"] == [
        {
            "name": "one",
            "kind": "own",
            "version": "1, 2",
            "parameters": {"radius": 60},
            "in_sample": ["forum"],
            "seen": {"forum": SEEN},
        }
    ]
    assert found["datasets"] == [
        {"name": "news", "pages": 2, "sites": 2, **facts["news"]},
        {"name": "forum", "pages": 1, "sites": 1, "licence": "", "attribution": "", "checksum": ""},
    ]
    assert (found["created"], found["command"], found["missing_systems"]) == ("2031-05-18", "blockml compare", missing)
    assert found["settings"] == {"resamples": 1000, "seed": 3, "level": 0.95}
    assert found["metrics"]["without_rate"]["better"] == "low"
    assert build_tables(scores, runs, created="2032-01-01", resamples=5)["created"] == "2032-01-01"


EDGES: dict[str, dict[str, Scores]] = {
    "nothing": {},
    "no systems": {"news": {}},
    "no pages": {"news": {"one": []}},
    "one page": {"news": {"one": [page("x")]}},
    "no scores": {
        "news": {
            name: [
                page("x", None, lcs_f1=None, lcs_precision=None, lcs_recall=None, shingle_f1=None, bag_precision=None,
                     bag_recall=None, tp=0, fp=0, seconds=None)
            ] for name in ("one", "two")
        }
    },
    "odd names": {'n,e"w\ns': {"ö\n": [page("\udcff,\n\"'"), page("日本")]}},
    "no page in common": {"news": {"one": [page("x")], "two": [page("y")]}},
}  # fmt: skip


@pytest.mark.parametrize("scores", EDGES.values(), ids=EDGES)
def test_files_contain_the_tables(scores: dict[str, Scores], tmp_path: Path) -> None:
    """JSON contains all tables except the pages, CSV files the same cells, and no other file is written."""
    found = build_tables(scores, {}, resamples=5)
    write_tables(found, tmp_path / "new")
    assert json.loads((tmp_path / "new" / "comparison.json").read_text("utf-8")) == {
        name: rows for name, rows in found.items() if name != "pages"
    }
    names = ["means", "differences", "outcomes", "cost", "pages"]
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"comparison.json", *(f"{n}.csv" for n in names)}
    for name in names:
        with (tmp_path / "new" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream)
        cells = [[_cell(cell) for cell in row.values()] for row in found[name]]
        assert lines == cells
        assert all(list(row) == header for row in found[name])
        assert header[0] == "dataset"


def _cell(cell: object) -> str:
    text = "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)
    return text.encode("utf-8", "backslashreplace").decode()


def test_edge_cases_give_no_invented_rows() -> None:
    """Without pages there are no means, without common pages no differences, and for one page no interval."""
    found = {name: build_tables(scores, {}, resamples=5) for name, scores in EDGES.items()}
    assert found["no pages"]["means"] == found["no scores"]["means"] == []
    assert found["no pages"]["outcomes"][0]["pages"] == 0
    assert [row["ok"] for row in found["no scores"]["outcomes"]] == [1, 1]
    assert found["no scores"]["worst"] == found["no scores"]["hardest"] == found["no scores"]["differences"] == []
    assert found["no page in common"]["differences"] == []
    assert len(found["no page in common"]["means"]) > 0
    assert all(row["low"] is None for row in found["one page"]["means"])
    assert found["no scores"]["overall"][0]["mean"] is None
    assert found["nothing"]["overall"] == []


def test_tables_read_back_can_be_written_again(tmp_path: Path) -> None:
    """Tables that were read from JSON have no pages, so no file of pages is written."""
    write_tables(build({"one": [page("x"), page("y")]}), tmp_path / "a")
    write_tables(json.loads((tmp_path / "a" / "comparison.json").read_text("utf-8")), tmp_path / "b")
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab")
    assert first.keys() - second.keys() == {"pages.csv"}
    assert all(first[name] == text for name, text in second.items())


def test_no_zero_is_negative() -> None:
    """Differences that round to zero have no sign."""
    assert str(rounded(-1e-9)) == "0.0"
    assert rounded(None) is None


def test_unusable_scores_are_refused() -> None:
    """Two scores for a page, unknown outcomes and invalid options are refused."""
    with pytest.raises(UsageError, match="news: one has two scores for page x"):
        build({"one": [page("x"), page("x")]})
    with pytest.raises(UsageError, match="unknown outcome 'lost'; legal are: ok, empty"):
        build({"one": [page("x", outcome="lost")]})
    with pytest.raises(UsageError, match="resamples"):
        build({"one": [page("x"), page("y")]}, resamples=0)
    with pytest.raises(UsageError, match="level"):
        build({"one": [page("x"), page("y")]}, level=1.5)


def test_default_settings() -> None:
    """The defaults are 1000 samples, seed 0 and a level of 95 %."""
    assert Settings() == (1000, 0, 0.95)
