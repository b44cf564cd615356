"""Systems run on pages in separate processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from blockml.errors import UsageError
from blockml.evaluation.comparison import CannotRunError, ComparisonRun, Store, System, draw_sample, run_pages, workers
from tests.evaluation.comparison.fakes import dataset, fake, make_broken

#: A script that defines a system and runs it.
SCRIPT = """
from pathlib import Path

from blockml.extractors import Plain
from blockml.evaluation.comparison import choose
from blockml.evaluation.comparison import run_pages
from tests.evaluation.comparison.fakes import dataset

class Mine(Plain):
    pass

GUARD
    folder = Path("pages")
    folder.mkdir(exist_ok=True)
    pages = dataset(folder, {"a": "one", "b": "two"}).pages
    print([result.outcome for result in run_pages(choose(Mine()).systems[0], pages, jobs=2)])
"""


def run_script(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new folder."""
    place = folder / str(len(list(folder.iterdir())))
    place.mkdir()
    path = place / "script.py"
    path.write_text(script, encoding="utf-8")
    environment = {"PYTHONPATH": ":".join(path or str(Path.cwd()) for path in sys.path)}
    return subprocess.run(  # noqa: S603
        [sys.executable, path], capture_output=True, text=True, check=False, cwd=place, env=environment, timeout=300
    )


def children() -> list[str]:
    """Return the command lines of the child processes of this process."""
    ids = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [Path(f"/proc/{number}/cmdline").read_text(encoding="utf-8") for number in ids]


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
    ("source", "reason"),
    [
        ("exit", r"worker processes don't start \(the process ended with exit code 1\)"),
        ("nopackage", r"can't be imported \(no mod"),
    ],
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
        ComparisonRun(Store(tmp_path / "out"), progress=interrupted).outputs(fake(), sample)
    assert time.monotonic() - start < 30
    assert not [child for child in children() if "blockml.batch.worker" in child]
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_a_process_that_is_killed_by_others_is_replaced(tmp_path: Path) -> None:
    """Its page is tried again once, because it may not be the cause; a page that is killed twice is a crash."""
    once, twice = f"KILL {tmp_path / 'killed'}", "KILL"
    pages = dataset(tmp_path, {"a": "x", "b": twice, "c": once, "d": "x"}).pages
    results = list(run_pages(fake(), pages))
    assert [(result.id, result.outcome) for result in results] == [
        ("a", "ok"), ("b", "crash"), ("c", "ok"), ("d", "ok"),
    ]  # fmt: skip
    assert results[1].error == "the process was killed by SIGKILL"


def test_workers_are_replaced_after_some_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that a tool loses is freed with its process."""
    monkeypatch.setattr(workers, "_PAGES_PER_WORKER", 2)
    texts = dict.fromkeys("abcde", "PROCESS")
    ids = [result.text for result in run_pages(fake(), dataset(tmp_path, texts).pages)]
    assert ids[0] == ids[1] != ids[2] == ids[3] != ids[4]


def test_a_script_can_define_its_system(tmp_path: Path) -> None:
    """Workers import the script, which starts the comparison only if it is run itself."""
    guarded = SCRIPT.replace("GUARD", 'if __name__ == "__main__":')
    assert run_script(tmp_path, guarded).stdout == "['ok', 'ok']\n"
    unguarded = run_script(tmp_path, SCRIPT.replace("GUARD", "if True:"))
    assert unguarded.returncode == 1
    assert """below 'if __name__ == "__main__":'""" in unguarded.stderr


def test_options_out_of_range_are_refused(tmp_path: Path) -> None:
    """Options are checked before a worker starts."""
    with pytest.raises(UsageError, match="jobs must be at least 1 and timeout more than 0, got 0 and 30"):
        list(run_pages(fake(), dataset(tmp_path, {"a": "x"}).pages, jobs=0))
