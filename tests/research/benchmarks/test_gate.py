"""The quality gate: what it lets through and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.extractors import EXTRACTORS, model_names
from research.benchmarks.gate import FLOORS, fingerprint, pinned, shortfalls

GOOD = {"bag_f1": 0.9, "block_f1": 0.8}
WORSE = {"bag_f1": 0.9, "block_f1": 0.79}


def test_a_lower_score_shuts_the_gate() -> None:
    """Each metric that fell is named with both values; differences by rounding are ignored."""
    assert shortfalls({"a": GOOD}, {"a": GOOD}) == []
    assert shortfalls({"a": {"bag_f1": 0.8996, "block_f1": 0.8}}, {"a": GOOD}) == []
    assert shortfalls({"a": WORSE}, {"a": GOOD}) == ["a: block_f1 0.7900 is below its floor 0.8000"]


def test_extractors_without_a_floor_and_floors_without_an_extractor_shut_it() -> None:
    """Nothing new slips in unpinned, nothing pinned disappears unnoticed."""
    problems = shortfalls({"new": GOOD}, {"gone": GOOD})
    assert problems == ["new has no floor: pin it", "gone is pinned but no longer there"]


def test_pinning_refuses_to_go_down_unless_told() -> None:
    """The message is the command that would do it."""
    with pytest.raises(UsageError, match="--lower a"):
        pinned({"a": WORSE}, {"a": GOOD})
    with pytest.raises(UsageError, match="--lower gone"):
        pinned({"a": GOOD}, {"a": GOOD, "gone": GOOD})
    assert pinned({"a": WORSE}, {"a": GOOD, "gone": GOOD}, ["a", "gone"]) == {"a": WORSE}


def test_pinning_raises_floors_and_never_drifts_down() -> None:
    """A score within rounding below its floor leaves the floor where it is."""
    better = {"bag_f1": 0.95, "block_f1": 0.7996}
    assert pinned({"a": better}, {"a": GOOD}) == {"a": {"bag_f1": 0.95, "block_f1": 0.8}}


def test_the_fingerprint_sees_pages_and_gold(tmp_path: Path) -> None:
    """A changed gold text changes it as a changed page does."""
    folder = tmp_path / "set" / "one"
    folder.mkdir(parents=True)
    (folder / "page.html").write_text("<p>one</p>", encoding="utf-8")
    (folder / "expected.txt").write_text("one", encoding="utf-8")
    first = fingerprint([open_dataset(tmp_path / "set")])
    assert first == fingerprint([open_dataset(tmp_path / "set")])
    (folder / "expected.txt").write_text("two", encoding="utf-8")
    second = fingerprint([open_dataset(tmp_path / "set")])
    (folder / "page.html").write_text("<p>two</p>", encoding="utf-8")
    assert len({first, second, fingerprint([open_dataset(tmp_path / "set")])}) == 3


def test_every_extractor_is_pinned_on_the_pages_of_today() -> None:
    """The file names what there is, and the pages are those it was made from."""
    record = json.loads(FLOORS.read_text(encoding="utf-8"))
    assert set(record["floors"]) == {*EXTRACTORS, *model_names()}
    root = FLOORS.parents[2] / "data"
    assert record["fingerprint"] == fingerprint([open_dataset(f"{name}={root / name}") for name in ("sites", "pages")])
