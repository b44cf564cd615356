"""Systems run on pages in separate processes."""

from __future__ import annotations

import builtins
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, ClassVar

import pytest

from blockml.errors import UsageError
from blockml.evaluation.comparison import workers
from blockml.evaluation.comparison.running import run_system
from blockml.evaluation.comparison.store import Store, draw_sample
from blockml.evaluation.comparison.systems import System
from blockml.evaluation.comparison.workers import CannotRunError, TaskResult, run_pages
from tests.evaluation.comparison.fakes import dataset, fake, make_broken


@pytest.fixture(autouse=True)
def pebble() -> None:
    """Skip these tests if pebble, which the workers need, isn't installed."""
    pytest.importorskip("pebble", reason="needs the extra report")


def test_every_page_ends_with_an_outcome(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A tool that fails, hangs or prints on one page doesn't affect other pages or their order."""
    texts = {
        "a": "the first page",
        "b": "SLEEP",
        "c": "RAISE",
        "d": "EXIT",
        "e": "one more, PRINT",
        "f": "QUIT",
        "g": "ALLOCATE",
        "h": "the last page",
    }
    pages = dataset(tmp_path, texts).pages
    peaks: list[float] = []
    found = list(run_pages(fake(), pages, jobs=2, timeout=4, peaks=peaks))
    assert [result.id for result in found] == list(texts)
    results = {result.id: result for result in found}
    assert {name: result.outcome for name, result in results.items()} == {
        "a": "ok", "b": "timeout", "c": "error", "d": "crash", "e": "ok", "f": "error", "g": "ok", "h": "ok",
    }  # fmt: skip
    assert results["a"].text.split() == ["Menu", "the", "first", "page"]
    assert results["b"].wall == 4
    assert results["c"].error == "ValueError:  http://example.org/c {}"
    assert "exit code 7" in (results["d"].error or "")
    assert results["f"].error == "SystemExit: 3"
    assert all(result.seconds is not None and 0 <= result.seconds < 4 for result in found if result.outcome == "ok")
    assert not peaks or max(peaks) > 190
    assert capfd.readouterr() == ("", "")


def test_measured_time_is_that_of_the_call(tmp_path: Path) -> None:
    """CPU time excludes sleeping and the start of a worker, and a text without words counts as empty."""
    nap, signs = run_pages(fake(), dataset(tmp_path, {"a": "NAP", "b": "SIGNS"}).pages)
    assert nap.wall is not None
    assert nap.seconds is not None
    assert nap.wall >= 0.3 > nap.seconds
    assert (signs.outcome, signs.text) == ("empty", "… — *")


@pytest.mark.parametrize(
    ("source", "reason"), [("exit", "its process ended"), ("nopackage", r"can't be imported \(no mod")]
)
def test_a_system_that_cannot_start_says_why(source: str, reason: str, tmp_path: Path) -> None:
    """A system that can't start raises the reason, instead of being started again for every page."""
    system = System("broken", "peer", "1", make_broken, source)
    with pytest.raises(CannotRunError, match=f"^{reason}"):
        list(run_pages(system, dataset(tmp_path, {"a": "x"}).pages))


def test_an_interrupt_stops_the_workers_and_leaves_no_partial_file(tmp_path: Path) -> None:
    """Running pages are not waited for, and no file is left behind."""
    sample = draw_sample(dataset(tmp_path, {"a": "x", "b": "SLEEP", "c": "SLEEP"}))

    def interrupted(stage: str, done: int, total: int | None) -> None:
        assert (stage, total) == ("fake on made up", 3)
        if done == 1:
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_system(fake(), sample, Store(tmp_path / "out"), progress=interrupted)
    assert time.monotonic() - start < 30
    assert not [child for child in multiprocessing.active_children() if "pebble" in child.name]
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


class FragilePool:
    """A pool that breaks whenever it runs page b, and the first time that it runs page d."""

    active = True
    broken: ClassVar[list[str]] = []

    def schedule(self, function: Callable[..., Any], *, args: tuple[Any, ...], timeout: float = 0) -> Future[Any]:
        """Return a finished future without calling the function."""
        future: Future[Any] = Future()
        name = args[1].id if function is workers._work else ""
        if name == "b" or (name == "d" and self.broken.count("d") == 0):
            future.set_exception(BrokenProcessPool())
            self.broken.append(name)
        else:
            future.set_result((TaskResult(name, "ok"), timeout))
        return future

    def stop(self) -> None:
        """Do nothing, because no process runs."""

    join = stop


def test_a_broken_pool_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that breaks the pool repeatedly is given up, and the others run in the next pool."""
    monkeypatch.setattr(workers, "_pool", lambda *_: FragilePool())
    monkeypatch.setattr(FragilePool, "broken", [])
    pages = dataset(tmp_path, dict.fromkeys("abcde", "x")).pages
    outcomes = [(result.id, result.outcome) for result in run_pages(fake(), pages)]
    assert outcomes == [("a", "ok"), ("b", "crash"), ("c", "ok"), ("d", "ok"), ("e", "ok")]


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    """Options are checked before a worker starts."""
    with pytest.raises(UsageError, match="jobs must be at least 1 and timeout more than 0, got 0 and 30"):
        list(run_pages(fake(), dataset(tmp_path, {"a": "x"}).pages, jobs=0))


def test_missing_pebble_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the command that installs pebble."""
    real = builtins.__import__

    def without_pebble(name: str, *rest: Any, **options: Any) -> Any:
        if name == "pebble":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_pebble)
    with pytest.raises(UsageError, match=r'pip install "\.\[report\]"'):
        list(run_pages(fake(), dataset(tmp_path, {"a": "x"}).pages))
