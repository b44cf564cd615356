"""Comparisons run systems on data sets, store outputs, and compute scores and tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blockml.datasets import LabelledPage
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.comparison import (
    CannotRunError,
    Chosen,
    ComparisonRun,
    PageSample,
    Store,
    System,
    TaskResult,
    choose,
    draw_sample,
    load_descriptions,
    load_scores,
    running,
)
from tests.evaluation.comparison.fakes import dataset, fake

TEXTS = {"a": "one two three", "b": "four five six", "c": "seven"}


class Calls(list[str]):
    """Replaces the workers: runs systems in this process and records their names."""

    def __call__(
        self, system: System, pages: Sequence[LabelledPage], *, peaks: list[float], **options: object
    ) -> Iterator[TaskResult]:
        """Run a system on pages and yield its results."""
        assert set(options) == {"jobs", "timeout"}
        self.append(system.name)
        if system.source == "broken":
            raise CannotRunError("broken", source=system.name)
        run = system.make()
        for page in pages:
            output = run(page.load()[0].decode(), page.url)
            peaks.append(10)
            yield TaskResult(page.id, "ok", output.text, 0.25, 0.5, None, output.kept, output.status)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Replace worker processes, and return the record of the systems that were run."""
    noted = Calls()
    monkeypatch.setattr(running, "run_pages", noted)
    return noted


@pytest.fixture
def sample(tmp_path: Path) -> PageSample:
    """Return a sample of three pages."""
    return draw_sample(dataset(tmp_path, TEXTS))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store in a new folder."""
    return Store(tmp_path / "out")


def files(store: Store) -> dict[str, tuple[int, bytes]]:
    """Return the modification time and content of every file."""
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in store.directory.rglob("*") if path.is_file()
    }


def test_finished_work_is_not_repeated(calls: Calls, sample: PageSample, store: Store) -> None:
    """A second run writes no output or score again and returns the same description."""
    first = ComparisonRun(store).outputs(fake(), sample)
    ComparisonRun(store).scores([fake()], sample)
    before = files(store)
    assert len(before) == 4
    assert ComparisonRun(store).outputs(fake(), sample) == first
    ComparisonRun(store).scores([fake()], sample)
    assert calls == ["fake"]
    assert files(store) == before
    assert first["outcomes"] == {"ok": 3}
    assert (first["peak_megabytes"], first["pages"], first["timeout"], first["seen"]["pages"]) == (10, 3, 30, [])
    assert {"system", "kind", "version", "parameters", "dataset", "checksum", "python", "platform", "created"} <= set(
        first
    )


@pytest.mark.parametrize(
    ("system", "limit", "checksum", "timeout", "reason"),
    [
        (fake(version="2"), 3, None, 30, "version was '1', is '2'"),
        (fake(size=3), 3, None, 30, "parameters was {}, is {'size': 3}"),
        (fake(), 3, None, 20, "timeout was 30, is 20"),
        (fake(), 3, "0" * 64, 30, "checksum has changed"),
        (fake(), 2, None, 30, "pages was 3, is 2; pages_digest has changed"),
    ],
)
def test_changed_systems_and_pages_are_run_again(
    system: System,
    limit: int,
    checksum: str | None,
    timeout: float,
    reason: str,
    calls: Calls,
    sample: PageSample,
    store: Store,
) -> None:
    """A system is run again after a change, and the reason is reported."""
    ComparisonRun(store).outputs(fake(), sample)
    drawn = draw_sample(sample.dataset, limit)
    said: list[str] = []
    changed = replace(drawn, checksum=checksum or drawn.checksum)
    ComparisonRun(store, timeout=timeout, report=said.append).outputs(system, changed)
    assert calls == ["fake", "fake"]
    assert said == [f"running fake on made up again: {reason}"]


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:0], lambda data: data + b"x"])
def test_damaged_outputs_are_replaced(
    damage: Callable[[bytes], bytes], calls: Calls, sample: PageSample, store: Store
) -> None:
    """A truncated file of outputs is noticed, and the system is run again."""
    first = ComparisonRun(store).outputs(fake(), sample)
    table = store.table("outputs", "made up", "fake")
    table.write_bytes(damage(table.read_bytes()))
    said: list[str] = []
    again = ComparisonRun(store, report=said.append).outputs(fake(), sample)
    assert said == ["running fake on made up again: the file is damaged"]
    assert again["sha256"] == first["sha256"]
    assert [row["id"] for row in store.read("outputs", "made up", "fake")] == ["a", "b", "c"]
    assert calls == ["fake", "fake"]


def test_scores_follow_outputs_and_gold(calls: Calls, sample: PageSample, store: Store) -> None:
    """Scores are computed again after a change of the gold, without running the system."""
    ComparisonRun(store).outputs(fake(), sample)
    ComparisonRun(store).scores([fake()], sample)
    regolded = replace(sample, gold="0" * 64)
    said: list[str] = []
    ComparisonRun(store, report=said.append).scores([fake()], regolded)
    assert said == ["scoring fake on made up again: gold has changed"]
    assert calls == ["fake"]


def write_outputs(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Write a gzipped file of outputs and return its specification."""
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return f"tool={path}"


def test_outputs_of_another_tool(sample: PageSample, store: Store, tmp_path: Path) -> None:
    """Missing pages are counted and score like empty texts, and lines about unknown pages are reported."""
    spec = write_outputs(
        tmp_path / "tool.jsonl.gz", [{"id": "c", "text": "seven"}, {"id": "x", "text": "y"}, {"id": "a", "text": ""}]
    )
    chosen = choose([], [spec])
    said: list[str] = []
    tables = ComparisonRun(store, report=said.append).run(chosen, [sample])
    assert any("ignored 1 line about pages that are not in made up" in text for text in said)
    scores = load_scores(store.directory)["made up"]["tool"]
    assert [(score.id, score.outcome, score.bag_f1, score.seconds) for score in scores] == [
        ("a", "empty", 0, None),
        ("b", "missing", 0, None),
        ("c", "ok", 1, None),
    ]
    assert [(score.tp, score.fp, score.fn, score.tn) for score in scores] == [(0, 0, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1)]
    assert tables["systems"][0]["kind"] == "outputs"
    assert load_descriptions(store.directory)["made up"]["tool"]["outcomes"] == {"empty": 1, "missing": 1, "ok": 1}


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "row 2: the id 'a' occurs twice"),
        ([{"id": "a", "text": None}], "row 1 has a 'text' that is NoneType, not a text"),
        ([{"text": "x"}], "row 1 has no 'id'; its fields are: text"),
    ],
)
def test_damaged_outputs_of_another_tool_are_refused(
    rows: list[dict[str, Any]], fault: str, sample: PageSample, store: Store, tmp_path: Path
) -> None:
    """The error names the line."""
    chosen = choose([], [write_outputs(tmp_path / "tool.jsonl.gz", rows)])
    with pytest.raises(DatasetError, match=fault):
        ComparisonRun(store).run(chosen, [sample])


def test_outputs_in_a_table(sample: PageSample, store: Store, tmp_path: Path) -> None:
    """CSV works too; the files are given by name, in a mapping or as one text."""
    path = tmp_path / "tool.csv"
    path.write_text("id,text\n" + "".join(f"{page.id},cats rule\n" for page in sample.dataset.pages))
    specs: tuple[Any, ...] = (f"tool={path}", [f"tool={path}"], {"tool": path})
    for spec in specs:
        chosen = choose((), spec)
        assert [system.source for system in chosen.systems] == [str(path)]
    tables = ComparisonRun(store).run(chosen, [sample])
    assert tables["systems"][0]["kind"] == "outputs"
    assert [row.outcome for row in load_scores(store.directory)[sample.dataset.name]["tool"]] == ["ok"] * 3


def test_outputs_without_any_id_of_the_pages_are_refused(sample: PageSample, store: Store, tmp_path: Path) -> None:
    """Outputs with other ids are refused, but an empty file is accepted and has only missing pages."""
    rows = [{"id": f"{page.id}/page", "text": "x"} for page in sample.dataset.pages]
    with pytest.raises(DatasetError, match="ids are like 'a/page' here, and like 'a' in the data sets"):
        ComparisonRun(store).run(choose([], [write_outputs(tmp_path / "tool.jsonl.gz", rows)]), [sample])
    tables = ComparisonRun(store).run(choose([], [write_outputs(tmp_path / "none.jsonl.gz", [])]), [sample])
    assert tables["systems"][0]["name"] == "tool"


def test_files_of_outputs_are_checked_before_any_system_runs(
    calls: Calls, sample: PageSample, store: Store, tmp_path: Path
) -> None:
    """A damaged file of outputs is an error before any system runs."""
    faulty = choose([], [write_outputs(tmp_path / "tool.jsonl.gz", [{"id": "a", "text": None}])])
    with pytest.raises(DatasetError, match="row 1 has a 'text' that is NoneType, not a text"):
        ComparisonRun(store).run(Chosen([fake(), *faulty.systems], {}), [sample])
    assert calls == []
    sound = choose([], [write_outputs(tmp_path / "tool.jsonl.gz", [{"id": "a", "text": "x"}])])
    tables = ComparisonRun(store).run(Chosen([fake(), *sound.systems], {}), [sample])
    assert [row["name"] for row in tables["systems"]] == ["fake", "tool"]


def test_the_first_failure_and_pages_without_gold_are_reported(tmp_path: Path, store: Store) -> None:
    """The first failure and the number of pages without gold are reported, also when nothing is run again."""
    labelled = dataset(tmp_path, {"a": "x", "b": "RAISE"})
    without_gold = replace(labelled.pages[0], id="c", gold=None)
    sample = draw_sample(replace(labelled, pages=(*labelled.pages, without_gold)))
    for _ in range(2):
        said: list[str] = []
        ComparisonRun(store, report=said.append).run(Chosen([fake()], {}), [sample])
        assert said == [
            "made up: left out 1 page without gold",
            "made up, fake: 1 error, 1 ok; first failure: page b: ValueError:  http://example.org/b {}",
        ]


def test_a_system_that_cannot_run_is_listed_in_the_results(calls: Calls, sample: PageSample, store: Store) -> None:
    """A system that can't run is listed with the reason, and the others are compared."""
    said: list[str] = []
    chosen = Chosen([fake("bad", source="broken"), fake()], {"lacking": "pip install lacking"})
    tables = ComparisonRun(store, report=said.append).run(chosen, [sample])
    assert tables["missing_systems"] == [
        {"name": "lacking", "install": "pip install lacking"},
        {"name": "bad", "install": "bad: broken"},
    ]
    assert [row["name"] for row in tables["systems"]] == ["fake"]
    assert said[0] == "lacking can't be run: pip install lacking"
    assert calls == ["bad", "fake"]


def test_nothing_to_run_is_an_error(sample: PageSample, store: Store) -> None:
    """If no system can run, the error names each with the reason."""
    with pytest.raises(UsageError, match="no system can be run: lacking: pip install lacking"):
        ComparisonRun(store).run(Chosen([], {"lacking": "pip install lacking"}), [sample])


def test_data_sets_need_different_names(sample: PageSample, store: Store) -> None:
    """Two data sets with the same name are refused."""
    with pytest.raises(UsageError, match="NAME=DIR"):
        ComparisonRun(store).run(Chosen([fake()], {}), [sample, sample])


def test_the_last_comparison_is_loaded(calls: Calls, sample: PageSample, store: Store) -> None:
    """Only the systems of the last comparison are loaded, in the given order."""
    ComparisonRun(store).run(Chosen([fake("one"), fake("two")], {}), [sample])
    ComparisonRun(store).run(Chosen([fake("three"), fake("two")], {}), [sample])
    assert list(load_scores(store.directory)["made up"]) == ["three", "two"]
    assert calls == ["one", "two", "three"]
    with pytest.raises(UsageError, match="no comparison"):
        load_scores(store.directory / "elsewhere")
