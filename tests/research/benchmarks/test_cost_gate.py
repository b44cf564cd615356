"""The cost gate: what it counts, and what it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from research.benchmarks import cost_gate

pytestmark = pytest.mark.exhaustive


def test_a_rise_beyond_the_tolerance_closes_the_gate() -> None:
    """Each number that rose is named with both values, small rises are not, and unpinned numbers are."""
    pinned = {"start": 1000, "text": 1000}
    assert cost_gate.increases({"start": 1019, "text": 900}, pinned) == []
    problems = cost_gate.increases({"start": 1021, "text": 1000, "markdown": 5}, pinned)
    assert [problem.partition(":")[0] for problem in problems] == ["start", "markdown"]


def test_the_pins_have_an_environment_and_a_reason() -> None:
    """All that is counted is pinned."""
    pins = json.loads(cost_gate.PINS.read_text(encoding="utf-8"))
    assert set(pins["thousand instructions"]) == {"start", *cost_gate._PASSES} - {"none"}
    assert set(pins["environment"]) == set(cost_gate.environment())
    assert pins["reason"]


def test_other_versions_are_not_compared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the interpreter is another one, or valgrind is missing, the gate says that it counted nothing."""
    monkeypatch.setattr(sys, "argv", ["cost_gate.py"])
    monkeypatch.setattr(cost_gate, "environment", lambda: {"Python": "4.0"})
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert cost_gate.main() == 0
    assert "here 4.0" in capsys.readouterr().err
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert cost_gate.main() == 0
    assert "valgrind is not installed" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_counts_repeat(tmp_path: Path) -> None:
    """Two runs of a program take the same number of instructions, but for a thousandth, and a longer one takes more."""
    count = partial(cost_gate.count, bytecode=str(tmp_path))
    once, again, longer = map(count, ("pass", "pass", "sum(range(10**6))"))
    assert abs(once - again) < 0.001 * once
    assert longer > once + 10**6


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_program_that_fails_is_reported(tmp_path: Path) -> None:
    """An error of the counted program is not a count."""
    with pytest.raises(RuntimeError, match="unknown"):
        cost_gate.count("raise ValueError('unknown')", bytecode=str(tmp_path))
