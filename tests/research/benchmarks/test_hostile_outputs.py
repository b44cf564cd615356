"""Outputs of hostile pages: rows above a bound, and tables of several runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from research.benchmarks.hostile.outputs import beyond, measured, nearest, summary


def _line(shape: str, backend: str, **given: float) -> dict[str, Any]:
    measures = {"bytes": 1.0, "memory": 10.0, "exponent of bytes": None, "exponent of time": 1.0, **given}
    return {"output": "text", "shape": shape, "back end": backend, **measures}


def test_later_runs_replace_earlier_ones(tmp_path: Path) -> None:
    """Of two rows for the same output, shape and back end, the later counts; lines that aren't JSON are skipped."""
    for name, memory in (("a.txt", 101.0), ("b.txt", 99.0)):
        line = json.dumps(_line("fences", "lxml", memory=memory))
        (tmp_path / name).write_text(f"{line}\nabove a bound: {line}\n", encoding="utf-8")
    (later,) = measured([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert later["memory"] == 99
    assert beyond(measured([tmp_path / "a.txt"]))
    assert not beyond([later])


def test_the_worst_shapes_of_each_back_end_are_named() -> None:
    """The summary has a row for each back end; the nearest shapes come in the order of their share of a bound."""
    lines = [_line("a", "lxml", memory=80), _line("b", "lxml"), _line("b", "lexbor", **{"exponent of time": 1.19})]
    assert [(row["back end"], row["memory"], row["exponent of time"]) for row in summary(lines)] == [
        ("lxml", "80 (a)", "1.00 (a)"),
        ("lexbor", "10 (b)", "1.19 (b)"),
    ]
    assert [(row["shape"], row["back end"]) for row in nearest(lines)] == [("b", "lexbor"), ("a", "lxml")]
