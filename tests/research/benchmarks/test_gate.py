"""The quality gate: which changes it accepts and which it refuses."""

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


def test_a_lower_score_closes_the_gate() -> None:
    """Each metric that fell is named with both values, and differences by rounding are ignored."""
    assert shortfalls({"a": GOOD}, {"a": GOOD}) == []
    assert shortfalls({"a": {"bag_f1": 0.8996, "block_f1": 0.8}}, {"a": GOOD}) == []
    assert shortfalls({"a": WORSE}, {"a": GOOD}) == ["a: block_f1 0.7900 is below its floor 0.8000"]


def test_missing_floors_and_missing_extractors_close_the_gate() -> None:
    """An extractor without a floor and a floor without an extractor are both reported."""
    problems = shortfalls({"new": GOOD}, {"gone": GOOD})
    assert problems == ["new has no floor: pin it", "gone is pinned but no longer there"]


def test_lowering_a_floor_needs_an_option() -> None:
    """Lowering a floor is refused with the option that would allow it."""
    with pytest.raises(UsageError, match="--lower a"):
        pinned({"a": WORSE}, {"a": GOOD})
    with pytest.raises(UsageError, match="--lower gone"):
        pinned({"a": GOOD}, {"a": GOOD, "gone": GOOD})
    assert pinned({"a": WORSE}, {"a": GOOD, "gone": GOOD}, ["a", "gone"]) == {"a": WORSE}


def test_pinning_raises_floors_and_never_drifts_down() -> None:
    """A higher score raises its floor, and a score within rounding below it leaves it unchanged."""
    better = {"bag_f1": 0.95, "block_f1": 0.7996}
    assert pinned({"a": better}, {"a": GOOD}) == {"a": {"bag_f1": 0.95, "block_f1": 0.8}}


def test_the_fingerprint_sees_pages_and_gold(tmp_path: Path) -> None:
    """The fingerprint changes with a gold text as well as with a page."""
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


def test_every_extractor_is_pinned_on_the_current_pages() -> None:
    """The file has floors for every extractor, and was made from the current pages."""
    record = json.loads(FLOORS.read_text(encoding="utf-8"))
    assert set(record["floors"]) == {*EXTRACTORS, *model_names()}
    root = FLOORS.parents[2] / "data"
    assert record["fingerprint"] == fingerprint([open_dataset(f"{name}={root / name}") for name in ("sites", "pages")])
