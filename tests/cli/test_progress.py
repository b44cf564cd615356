"""The progress bar of ``predict``: on a terminal alone, on standard error, with rate, failures and time left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tqdm")
pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
termios = pytest.importorskip("termios", reason="needs pseudo-terminals")


def messages_on_a_terminal(*arguments: str) -> str:
    """Run ``blockml predict`` with a terminal as standard error and return what appears there."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 140))
    command = [sys.executable, "-m", "blockml", "predict", "--model", "plain", *arguments]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:  # noqa: S603 (our own command)
        os.close(theirs)
        pieces = []
        try:
            while piece := os.read(ours, 4096):
                pieces.append(piece)
        except OSError:  # how Linux tells that the other end is closed
            pass
        process.wait()
    os.close(ours)
    return b"".join(pieces).decode()


@pytest.fixture
def lines(tmp_path: Path) -> str:
    """A file of ten pages and two lines that are no pages."""
    path = tmp_path / "in.jsonl"
    good = [json.dumps({"id": number, "html": f"<p>Page number {number}"}) for number in range(10)]
    path.write_text("\n".join([*good, "broken", "{}"]) + "\n", encoding="utf-8")
    return str(path)


def test_on_a_terminal(lines: str, tmp_path: Path) -> None:
    """At the end the bar is full, and the summary follows."""
    shown = messages_on_a_terminal(lines, "-o", str(tmp_path / "out.jsonl"))
    last = re.findall(r"100%\|[^\r\n]*", shown)[-1]
    assert re.search(r"\[\d\d:\d\d<\d\d:\d\d, .*12 pages, [\d,]+ pages/s, 2 failed\]", last), shown
    assert "12 pages: 10 ok, 2 unreadable" in shown.rsplit("2 failed]", 1)[1]


def test_quiet(lines: str, tmp_path: Path) -> None:
    """Nothing is shown with ``--quiet``."""
    assert messages_on_a_terminal(lines, "-o", str(tmp_path / "out.jsonl"), "--quiet") == ""


def test_not_a_terminal(lines: str, tmp_path: Path) -> None:
    """A log gets the summary and no bar."""
    command = [sys.executable, "-m", "blockml", "predict", "--model", "plain", lines, "-o", str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own command)
    assert "%|" not in done.stderr
    assert "12 pages: 10 ok, 2 unreadable" in done.stderr
