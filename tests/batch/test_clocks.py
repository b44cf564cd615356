"""Batches work while the system clock is changed, and without shared memory."""

from __future__ import annotations

import ast
import errno
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import blockml
from blockml.cli import main

PACKAGE = Path(blockml.__file__).parent
#: Functions that return the time of day, by module.
WALL_CLOCKS = {"time": {"time", "time_ns", "localtime", "gmtime"}, "datetime": {"now", "utcnow", "today"},
               "date": {"today"}}  # fmt: skip
#: The description of a comparison contains the date, and a page can't have been published after tomorrow.
KEPT_TIMES = {"evaluation/comparison/running.py": 1, "metadata/dates.py": 1}


def wall_clocks(source: str) -> Iterator[str]:
    """Yield the calls in a module that return the time of day.

    Examples
    --------
    >>> sorted(wall_clocks("time.time() + time.monotonic() + datetime.now(UTC)"))
    ['datetime.now', 'time.time']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if node.attr in WALL_CLOCKS.get(owner, ()):
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (f"time.{name.name}" for name in node.names if name.name in WALL_CLOCKS["time"])


@pytest.mark.exhaustive
def test_no_limit_depends_on_the_time_of_day() -> None:
    """Limits and measurements use monotonic clocks."""
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        assert len(list(wall_clocks(path.read_text(encoding="utf-8")))) == KEPT_TIMES.get(name, 0), name


def test_a_batch_survives_jumps_of_the_clock_without_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch runs although the clock jumps by years at each call and no semaphore can be created in /dev/shm."""
    jumps = itertools.cycle([0.0, 4e9, 1.0, 2e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(jumps) * 1e9))
    synchronize = pytest.importorskip("multiprocessing.synchronize")

    def refused(*_: object) -> None:
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(synchronize._multiprocessing, "SemLock", refused)
    for number in range(6):
        (tmp_path / f"{number}.html").write_text(f"<p>Page {number} has a few words about cats.", encoding="utf-8")
    output = tmp_path / "out.jsonl"
    arguments = ["predict", str(tmp_path), "-o", str(output), "--model", "plain", "--jobs", "2", "--timeout", "300"]
    assert main([*arguments, "--quiet"]) == 0
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["status"] for row in rows] == ["ok"] * 6
