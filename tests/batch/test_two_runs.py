"""Two runs with the same output: the second is refused while the first is running, and resumes it after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockml.cli import main
from blockml.storage.atomic import atomic_write, locked

pytestmark = pytest.mark.exhaustive

#: An extractor whose slow pages wait while a file named ``hold`` exists.
SLOW = """
import pathlib, time
from blockml.extractors import Plain

class Slow(Plain):
    def predict(self, page):
        while page.title == "slow" and pathlib.Path("hold").exists():
            time.sleep(0.02)
        return super().predict(page)
"""
N_PAGES = 700  # more than two units
NAMES = ("out.jsonl", "out.jsonl.gz", "out.parquet", "documents/")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an input whose last page is slow, and with the extractor's module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two_runs_slow.py").write_text(SLOW, encoding="utf-8")
    rows = [{"id": f"p{n}", "html": f"<title>page</title><p>Words of page {n}</p>"} for n in range(N_PAGES)]
    rows[-1]["html"] = "<title>slow</title><p>The last page</p>"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "hold").touch()
    return tmp_path


def command(name: str, *more: str) -> list[str]:
    """Return the arguments of a run."""
    return ["predict", "in.jsonl", "-o", name, "--model", "two_runs_slow:Slow", "--fields", "id,text", *more]


@contextmanager
def running(folder: Path, name: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run in another process, and wait until it holds the lock and is at its last page."""
    arguments = [sys.executable, "-m", "blockml", *command(name, *more)]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, cwd=folder) as process:  # noqa: S603 (our own command)
        lock = folder / f".{name.rstrip('/')}.lock"
        parts = folder / f"{name.rstrip('/')}.parts"
        while not (lock.exists() and lock.read_text(encoding="utf-8") and (parts / "00000.new").exists()):
            assert process.poll() is None
            time.sleep(0.02)
        yield process
        process.kill()


def contents(path: Path) -> dict[str, bytes]:
    """Return the content of an output by file."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {str(file): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", NAMES)
def test_a_second_run_is_refused_and_the_first_completes(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the process and machine, with and without --resume, and the first run's output is complete."""
    with running(folder, name) as first:
        for more in ([], ["--resume"]):
            assert main(command(name, *more)) == 2
            assert f"another run writes this output: process {first.pid} on '{os.uname().nodename}' since " in (
                capsys.readouterr().err
            )
        (folder / "hold").unlink()
        assert first.wait() == 0
    made = contents(folder / name)
    assert len(made) == (N_PAGES if name.endswith("/") else 1)
    assert sorted(file.name for file in folder.iterdir() if file.name.startswith((".", "out", "doc"))) == [
        name.rstrip("/")
    ]
    assert main(command(name, "--overwrite")) == 0  # an undisturbed run
    assert contents(folder / name) == made


@pytest.mark.parametrize("name", NAMES)
def test_the_run_after_a_kill_resumes(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The lock of a killed process is taken over, and the resumed run writes the complete output."""
    with running(folder, name) as first:
        first.kill()
        first.wait()
        assert (folder / f".{name.rstrip('/')}.lock").exists()
        (folder / "hold").unlink()
        assert main(command(name, "--resume")) == 0
    made = contents(folder / name)
    capsys.readouterr()
    assert main(command(name)) == 2
    assert "exists already; " in capsys.readouterr().err
    assert contents(folder / name) == made
    assert main(command(name, "--overwrite")) == 0
    assert contents(folder / name) == made
    assert not [file for file in folder.iterdir() if file.name.endswith((".lock", ".part", ".parts"))]
    assert "700 pages" in capsys.readouterr().err


def test_a_link_to_the_output_has_the_same_lock(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that writes through a link to the same output is refused."""
    (folder / "link.jsonl").symlink_to("out.jsonl")
    with running(folder, "out.jsonl"):
        assert main(command("link.jsonl")) == 2
        assert "another run writes this output" in capsys.readouterr().err


def test_files_that_a_killed_process_left_are_removed(folder: Path) -> None:
    """Temporary files of killed processes are removed, but not one that another process is writing."""
    documents = folder / "documents"
    documents.mkdir()
    (folder / "hold").unlink()
    left = [documents / "old.txt.unfinished.part", documents / "deep" / "old.txt.unfinished.part"]
    left += [folder / "out.jsonl.unfinished.part"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"half")
    assert main(command("documents")) == 0
    assert main(command("out.jsonl")) == 0
    assert [path for path in left if path.exists()] == []
    program = (
        "import sys; from blockml.storage.atomic import atomic_write\n"
        "with atomic_write('model') as stream:\n"
        "    stream.write(b'x'); stream.flush(); print('there', flush=True); sys.stdin.read()\n"
    )
    arguments = [sys.executable, "-c", program]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as process:  # noqa: S603 (our own program)
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        (part,) = folder.glob("model.*.part")
        with atomic_write(folder / "model"):
            pass
        assert part.exists()
        process.kill()
        process.wait()
        assert part.exists()
        with atomic_write(folder / "model") as stream:
            stream.write(b"whole")
        assert not part.exists()
    assert (folder / "model").read_bytes() == b"whole"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_gives_up_the_lock(tmp_path: Path) -> None:
    """A forked child doesn't keep the lock of a process that was killed."""
    program = (
        "import os, sys, time, pathlib; from blockml.storage.atomic import locked\n"
        "with locked(pathlib.Path('lock')):\n"
        "    if os.fork() == 0:\n"
        "        print('child', flush=True); time.sleep(60); os._exit(0)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, process_group=0) as run:  # noqa: S603 (our own program)
        assert run.stdout is not None
        assert run.stdout.readline() == b"child\n"
        run.kill()
        run.wait()
        with locked(tmp_path / "lock"):
            assert (tmp_path / "lock").exists()
        os.killpg(run.pid, 9)
