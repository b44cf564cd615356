"""``blockml label`` prints its URL, serves until it is interrupted, and refuses wrong calls."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from blockml.cli import main

pytest.importorskip("bottle")
pytest.importorskip("nh3")
DATA = Path(__file__).parents[2] / "data"


@pytest.mark.enable_socket
def test_the_command_serves_until_interrupted(tmp_path: Path) -> None:
    """The printed URL opens the page, and Ctrl+C prints the command to run next."""
    command = [sys.executable, "-m", "blockml", "label", str(DATA / "pages"), "-o", str(tmp_path), "--no-browser"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)  # noqa: S603 (our own command)
    finally:
        signal.signal(signal.SIGINT, before)
    with run:
        assert run.stdout is not None
        url = run.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", url)
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 (our own server)
            assert b"blockml label" in answer.read()
            assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
    assert run.returncode == 0
    assert "blockml train --base default --dataset" in err


def test_a_missing_package_is_reported_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package is reported before any page is predicted or a URL is printed."""
    monkeypatch.setitem(sys.modules, "nh3", None)
    assert main(["label", str(DATA / "pages"), "--no-browser"]) == 2
    assert capsys.readouterr().err.startswith("blockml: blockml label needs an optional package")


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code tells the kind of error and the message its cause."""
    assert main(["label", str(tmp_path / "nowhere")]) == 3
    assert main(["label", str(DATA / "pages"), "--port", "70000"]) == 2
    assert main(["label", str(DATA / "pages"), "--model", "nothing"]) == 2
    err = capsys.readouterr().err
    for words in ("no such file, folder or glob", "between 0 and 65535", "unknown extractor or model 'nothing'"):
        assert words in err
