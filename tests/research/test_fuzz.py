"""The fuzzer finds nothing in its first inputs, and reports errors when there are some."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from blockml import _kernel
from research.fuzz import __main__ as fuzz
from research.fuzz.mutations import mutated
from research.fuzz.targets import TARGETS

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("target", TARGETS)
def test_first_inputs(target: str, tmp_path: Path) -> None:
    """Each target finds no error in its first inputs."""
    if target == "calls" and _kernel.compiled is None:
        pytest.skip("needs the compiled kernel: there was no compiler, or BLOCKML_PURE is set")
    for number in range(40):
        TARGETS[target](random.Random(f"1 {number}"), tmp_path)


def test_inputs_are_repeated_by_number() -> None:
    """Equal seeds give equal damage, and different numbers different damage."""
    source = bytes(range(256))
    assert mutated(source, random.Random("0 1")) == mutated(source, random.Random("0 1"))
    assert len({mutated(source, random.Random(f"0 {number}")) for number in range(50)}) > 40


def test_inputs_run_in_a_process() -> None:
    """Inputs run in a process that returns their number and the failures."""
    n_inputs, failures = fuzz.run("page", 0, 0.05)
    assert n_inputs > 1
    assert failures == []


def test_failures_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A batch ends at the input that fails, whose number was printed last."""

    def fails(chance: random.Random, folder: Path) -> None:  # noqa: ARG001
        raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "TARGETS", {"page": fails})
    assert fuzz.run_batch("page", 0, 7, 5, 60.0) == 1
    captured = capsys.readouterr()
    assert captured.out.split() == ["7"]
    assert "ZeroDivisionError" in captured.err
