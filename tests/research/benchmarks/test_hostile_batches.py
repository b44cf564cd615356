"""Attacks on batches: what they count as harm."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from research.benchmarks.hostile import batches

pytestmark = pytest.mark.exhaustive


def seeded(seed: int) -> random.Random:
    """Random numbers that are the same each time."""
    return random.Random(seed)  # noqa: S311 (no secret)


@pytest.mark.parametrize("name", ["line feeds in the header of a record", "control characters in headers and names"])
def test_cheap_attacks_do_no_harm(tmp_path: Path, name: str) -> None:
    """Those that take one run each."""
    assert batches.ATTACKS[name](tmp_path, seeded(1))


def test_harm_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attack that does harm with some seeds is counted that often."""
    monkeypatch.setattr(batches, "ATTACKS", {"half": lambda _, chance: chance.random() < 0.5})
    harmless = sum(seeded(seed).random() < 0.5 for seed in range(10))
    assert batches.rows(10, ["half"]) == [{"attack": "half", "times": 10, "did harm": 10 - harmless}]


def test_lost_rows_are_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that loses a record is noticed."""
    lost = [f"a.warc.gz/{number}" for number in range(11)]
    monkeypatch.setattr(batches, "_run", lambda *_, **__: None)
    monkeypatch.setattr(batches, "_ids", lambda _: lost)
    assert not batches.line_feeds(tmp_path, seeded(1))
    lost.append("a.warc.gz/11")
    assert batches.line_feeds(tmp_path, seeded(1))
