"""Progress of ``predict`` and ``train`` is shown only on a terminal, with failures and the remaining time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blockml.cli import main
from blockml.cli.output import TerminalProgress

pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
termios = pytest.importorskip("termios", reason="needs pseudo-terminals")


def messages_on_a_terminal(*arguments: str) -> str:
    """Run a command with a terminal as standard error and return its output there."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 140))
    command = [sys.executable, "-m", "blockml", *arguments]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:  # noqa: S603 (our own command)
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError:  # raised by Linux when the other end is closed
            pass
        process.wait()
    os.close(ours)
    return b"".join(pieces).decode()


@pytest.fixture
def lines(tmp_path: Path) -> str:
    """Return a file with ten pages and two invalid lines."""
    path = tmp_path / "in.jsonl"
    good = [json.dumps({"id": number, "html": f"<p>Page number {number}"}) for number in range(10)]
    path.write_text("\n".join([*good, "broken", "{}"]) + "\n", encoding="utf-8")
    return str(path)


PREDICT = ("predict", "--model", "plain")


def test_on_a_terminal(lines: str, tmp_path: Path) -> None:
    """Progress reaches 100%, the line is erased, and the summary follows."""
    shown = messages_on_a_terminal(*PREDICT, lines, "-o", str(tmp_path / "out.jsonl"))
    assert "\r12 pages, 2 failed: 100%" in shown
    assert re.search(r"\r +\r12 pages: 10 ok, 2 unreadable", shown), shown


def test_training_shows_its_stages(tmp_path: Path) -> None:
    """The progress of training names its stages and folds."""
    arguments = ("--dataset", "data/pages", "--recipe", "kim2013", "--cv", "page", "--folds", "2")
    shown = messages_on_a_terminal("train", *arguments, "-o", str(tmp_path / "m.blockml"))
    assert "\rfeatures: 100%" in shown
    assert "\rfolds by page: 100%" in shown


def test_the_remaining_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A stage shows its start, then the time left from the speed so far; frequent calls aren't all shown."""
    times = iter([0.0, 0.0, 0.1, 10.0, 20.0, 20.1])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("blockml.cli.output.time.monotonic", lambda: next(times))
    with TerminalProgress() as shown:
        for done in (0, 1, 2, 4, 8):
            shown("folds", done, 8)
    parts = capsys.readouterr().err.split("\r")
    assert [part.strip() for part in parts if part.strip()] == [
        "folds:   0%", "folds:  25%, 0:30 left", "folds:  50%, 0:20 left", "folds: 100%",
    ]  # fmt: skip


def test_quiet(lines: str, tmp_path: Path) -> None:
    """``--quiet`` prints nothing."""
    assert messages_on_a_terminal(*PREDICT, lines, "-o", str(tmp_path / "out.jsonl"), "--quiet") == ""


def test_not_a_terminal(lines: str, tmp_path: Path) -> None:
    """Without a terminal only the summary is printed."""
    command = [sys.executable, "-m", "blockml", "predict", "--model", "plain", lines, "-o", str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    assert "%" not in done.stderr
    assert "12 pages: 10 ok, 2 unreadable" in done.stderr


LINES_OF_COMMANDS = [
    (["evaluate", "kim2013", "--dataset", "data/pages"], ["pages of pages: 100%"]),
    (
        ["compare", "plain", "bte", "--dataset", "data/pages", "-o", "DIR"],
        ["plain on pages: 100%", "scores on pages: 100%"],
    ),
    (["datasets", "data/pages"], ["gold of pages: 100%"]),
    (["templates", "cluster", "data/pages"], ["pages", "distances: 100%"]),
    (["templates", "detect", "data/sites/harbour-courier", "-o", "DIR/t"], ["repeated text: 100%", "layouts: 100%"]),
    (["survey", "FILE"], ["repeated lines: 100%"]),
    (["label", "data/pages", "--format", "label-studio", "-o", "DIR/tasks.json"], ["predicting pages: 100%"]),
]


@pytest.mark.parametrize(("command", "shown"), LINES_OF_COMMANDS, ids=lambda value: " ".join(value[:2]))
def test_long_commands_show_their_stages(
    command: list[str],
    shown: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command that may take more than two seconds names its stages."""
    records = tmp_path / "records.jsonl"
    records.write_text('{"id": "1", "text": "Cats.", "status": "ok", "confidence": 0.5}\n', encoding="utf-8")
    (tmp_path / "folder").mkdir()
    names = {"FILE": str(records), "DIR": str(tmp_path / "folder")}
    given = [names.get(part, part.replace("DIR/", f"{names['DIR']}/")) for part in command]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(given) == 0
    messages = capsys.readouterr().err
    assert [stage for stage in shown if f"\r{stage}" not in messages] == []
