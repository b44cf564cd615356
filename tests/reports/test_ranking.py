"""Rankings and pairwise results."""

from __future__ import annotations

from typing import Any

import pytest

from blockml.errors import UsageError
from blockml.evaluation.comparison import TABLES_VERSION
from blockml.reports.ranking import index_tables, leaders, standings, summarise_ranking


def tables(
    means: dict[str, float | None],
    differences: list[tuple[str, str, float, bool]],
    *,
    seen: tuple[str, ...] = (),
    metric: str = "bag_f1",
    kinds: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return tables of one data set; differences are (a, b, a - b, significant)."""
    better = "low" if metric == "without_rate" else "high"
    return {
        "schema_version": TABLES_VERSION,
        "metrics": {metric: {"title": metric, "better": better}},
        "datasets": [{"name": "news"}],
        "systems": [
            {"name": name, "kind": (kinds or {}).get(name, "own"), "in_sample": ["news"] if name in seen else [],
             "seen": {"news": {"pages": ["a"] if name in seen else [], "n_pages": 10}}}
            for name in means
        ],
        "means": [
            {"dataset": "news", "system": name, "metric": metric, "slice_kind": "all", "slice": "all", "mean": mean,
             "low": mean, "high": mean, "pages": 10}
            for name, mean in means.items()
        ],
        "differences": [
            {"dataset": "news", "metric": metric, "a": a, "b": b, "mean": mean, "low": mean - 0.1, "high": mean + 0.2,
             "significant": significant, "wins": 6, "losses": 3, "ties": 1}
            for a, b, mean, significant in differences
        ],
    }  # fmt: skip


def test_best_is_first_and_a_difference_can_be_read_from_both_sides() -> None:
    """The best system is first, and the result of a pair is negated and swapped when read from the other side."""
    index = index_tables(tables({"a": 0.5, "b": 0.8}, [("a", "b", -0.3, True)]))
    result = summarise_ranking(index, "news", "bag_f1")
    assert result.best is not None
    assert result.second is not None
    assert result.result is not None
    assert (result.best.system, result.second.system, result.tied) == ("b", "a", ())
    assert (result.result.mean, result.result.low, result.result.high) == pytest.approx((0.3, 0.1, 0.4))
    assert (result.result.win_rate, result.result.loss_rate) == (0.3, 0.6)
    assert result.result.better
    assert not result.result.worse


def test_systems_level_with_the_best_are_those_it_does_not_beat_significantly() -> None:
    """Systems that the best does not beat significantly are level with it; without significance tests none is."""
    index = index_tables(
        tables({"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6}, [("a", "b", 0.1, False), ("c", "a", -0.2, True)])
    )
    rows = standings(index, "news", "bag_f1")
    assert [(row.system, row.rank, row.tied_with_best) for row in rows] == [
        ("a", 1, True), ("b", 2, True), ("c", 3, False), ("d", 4, False),
    ]  # fmt: skip
    assert [row.system for row in summarise_ranking(index, "news", "bag_f1").tied] == ["b"]


def test_a_system_trained_on_the_pages_cannot_be_the_best() -> None:
    """A system trained on the pages is listed in its place without a rank, and cannot be the best."""
    index = index_tables(tables({"a": 0.9, "b": 0.8, "c": 0.7}, [("b", "c", 0.1, True)], seen=("a",)))
    result = summarise_ranking(index, "news", "bag_f1")
    assert result.best is not None
    assert result.best.system == "b"
    assert [row.system for row in result.better_in_sample] == ["a"]
    assert [(row.system, row.rank) for row in standings(index, "news", "bag_f1")] == [("a", None), ("b", 1), ("c", 2)]


@pytest.mark.parametrize("means", [{}, {"a": None}, {"a": 0.5}])
def test_few_systems(means: dict[str, float | None]) -> None:
    """Rankings of no system, of systems without a value, and of only one can be made."""
    index = index_tables(tables(means, []))
    result = summarise_ranking(index, "news", "bag_f1")
    assert (result.best is not None) == (0.5 in means.values())
    assert result.second is None
    assert index.ranking_metric("news") == ("bag_f1" if result.best else None)


def test_low_may_be_better() -> None:
    """For a metric where lower is better, the lowest value is best and differences are negated."""
    index = index_tables(tables({"a": 0.5, "b": 0.2}, [("a", "b", 0.3, True)], metric="without_rate"))
    result = summarise_ranking(index, "news", "without_rate")
    assert result.best is not None
    assert result.result is not None
    assert result.best.system == "b"
    assert result.result.better
    assert (result.result.mean, result.result.win_rate) == (0.3, 0.6)


def test_leaders_include_the_best_of_each_kind() -> None:
    """The leaders include the best of each kind, even from far down the ranking."""
    means: dict[str, float | None] = {f"own{i}": 0.9 - i / 100 for i in range(5)}
    means |= {"tool": 0.3, "worse tool": 0.2, "file": None}
    kinds = {"tool": "peer", "worse tool": "peer", "file": "outputs"}
    table = standings(index_tables(tables(means, [], kinds=kinds)), "news", "bag_f1")
    assert [row.system for row in leaders(table, 2)] == ["own0", "own1", "tool"]


def test_outputs_of_unknown_kind_are_outputs() -> None:
    """Outputs of an unknown kind get the kind ``outputs``, which has a shape in the figures."""
    assert index_tables(tables({"a": 0.5}, [], kinds={"a": ""})).kinds == {"a": "outputs"}


def test_other_schemas_are_refused() -> None:
    """A table of another schema is refused with both versions."""
    with pytest.raises(UsageError, match="schema version 2, got 99"):
        index_tables({"schema_version": 99})
