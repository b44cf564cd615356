"""Calls across packages while one page is extracted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from blockml import _kernel
from research.benchmarks.package_changes import main, package_changes

#: Maximum number of changes between steps. The Python reference calls helpers that the C extension has built in.
BOUND = 35 if _kernel.compiled is None else 25
PAGES = sorted((Path(__file__).parents[3] / "data" / "pages").glob("*/page.html"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_a_page_goes_through_each_package_once(path: Path) -> None:
    """A page passes each package once, in order; calls for every block or rule would exceed the bound."""
    found = package_changes(path.read_bytes())
    steps = [change for change in found if change.kind == "step"]
    assert len(steps) <= BOUND, steps
    # The functions that make and use the prediction are entered in this order, and decisions are made once.
    order = ["parse", "matrix", "score_page", "average_predictors", "decide", "render_text"]
    entered = [change.called.partition(" ")[2] for change in steps]
    assert [name for name in entered if name in order] == order


def test_the_profiler_is_restored() -> None:
    """A profiler or debugger that was set before is set again afterwards."""
    before = sys.getprofile()
    assert package_changes(b"<p>One", "kim2013")
    assert sys.getprofile() is before


def test_the_calls_of_one_page_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The calls of one page are printed with their counts, after the counts of each kind."""
    assert main([str(PAGES[0])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["page", "step", "check", "data", "all"]
    counts = list(map(int, lines[1].split()[1:]))
    assert sum(counts[:3]) == counts[3] == sum(int(line.split()[0]) for line in lines[2:])
    assert any(line.split()[1:] == ["step", "extract", "extract_page", "decision", "decide"] for line in lines)
