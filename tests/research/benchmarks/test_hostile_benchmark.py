"""Hostile pages: bounds on the costliest shapes, and their measurement."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from blockml import _kernel
from research.benchmarks.hostile.__main__ import Trials, exponent, report, row
from research.benchmarks.hostile.shapes import SHAPES
from research.benchmarks.hostile.systems import SYSTEMS
from research.benchmarks.hostile.trial import ended

pytestmark = pytest.mark.exhaustive

#: The costliest shapes of each system, from research/robustness.md.
COSTLIEST = {
    "blockml, lxml": (
        "list items",
        "custom elements",
        "classes, all different",
        "crossing formatting",
        "formatting that is opened again",
        "nested headlines",
        "custom elements that begin like others",
        "end tags that close nothing, deep",
        "unclosed word breaks",
        "captions and pictures",
        "content of one slot",
        "end tags beside a shadow root",
    ),
    "blockml, lexbor": (
        "list items",
        "custom elements",
        "classes, all different",
        "nested headlines",
        "custom elements that begin like others",
        "end tags of paragraphs, deep",
    ),
    "blockml, html5lib": (
        "list items",
        "custom elements",
        "nested headlines",
        "angle brackets",
        "ampersands",
        "text beside cells",
        "void elements in SVG",
        "end tags that close nothing in SVG",
    ),
    "blockml, lxml, pure Python": ("list items", "classes, all different", "line breaks"),
    "blockml, lexbor, pure Python": ("attributes without a value", "line breaks"),
    "blockml, html5lib, pure Python": ("attributes without a value", "classes, all different"),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure memory")
@pytest.mark.skipif(_kernel.compiled is None, reason="needs the C extension, without which one system is measured too")
@pytest.mark.parametrize("system", COSTLIEST)
def test_bounds_of_the_costliest_shapes(tmp_path: Path, system: str) -> None:
    """Each shape takes at most 100 bytes of memory per byte and 10 times the time of an ordinary page."""
    pytest.importorskip(SYSTEMS[system])
    with Trials(system, tmp_path) as trials:
        for shape in COSTLIEST[system]:
            (found,) = trials.of(shape, [300_000])
            assert found["outcome"] in {"text", "empty"}, found
            assert found["memory"] <= 100 * found["bytes"], (shape, found)
            assert found["seconds"] <= 10 * found["ordinary"], (shape, found)


def test_shapes_have_their_size() -> None:
    """Shapes have about the requested size, and twice the size has twice the bytes."""
    for name, made in SHAPES.items():
        one, two = len(made(100_000)), len(made(200_000))
        assert 0.6 < one / 100_000 < 1.5, name
        assert 1.8 < two / one < 2.2, name


@pytest.mark.skipif(os.name == "nt", reason="needs statuses of POSIX")
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("import os; os.abort()", f"signal {int(signal.SIGABRT)}"),
        ("import os; os._exit(3)", "crash"),
        ("import signal; signal.setitimer(signal.ITIMER_PROF, 0.01)\nwhile True: pass", "timeout"),
        ("import signal; signal.alarm(1)\nwhile True: pass", "timeout"),
    ],
)
def test_processes_that_are_killed_or_crash(code: str, outcome: str) -> None:
    """A process that crashes, or that runs over the time limit, gets the corresponding outcome."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    assert ended(os.waitpid(pid, 0)[1], 5) == {"bytes": 5, "outcome": outcome}


def test_tables() -> None:
    """Costs, exponents and memory are those of the largest page; a page without a result has its outcome."""
    small = {"bytes": 100, "seconds": 1.0, "ordinary": 1.0, "memory": 200, "outcome": "text"}
    large = {"bytes": 200, "seconds": 8.0, "ordinary": 2.0, "memory": 600, "outcome": "text"}
    assert exponent([small, large]) == 3.0
    assert exponent([{**small, "seconds": 0.01}, large]) is None
    assert row("x", [small, large]) == {"shape": "x", "outcome": "text", "cost": 4.0, "exponent": 3.0, "memory": 3.0}
    ended = {"bytes": 100, "outcome": "timeout"}
    written = report({"blockml, lxml": {"x": [small, large], "y": [ended]}})
    assert "| blockml, lxml | 1 | 0 | 0 | 1 | 0 | 4.0 (x) | 3.00 (x) | 3 (x) |" in written
    assert "| y | timeout |" in written
    # In another order and with a missing shape, each number stays with its shape.
    both = report({"blockml, lxml": {"x": [large], "y": [ended]}, "blockml, lexbor": {"y": [large], "z": [ended]}})
    assert "| x | 4.0 |  | 3 |  |  |  |" in both
    assert "| y | timeout |  |  | 4.0 |  | 3 |" in both
    assert "| z |  |  |  | timeout |  |  |" in both
