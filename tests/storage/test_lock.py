"""Locks of outputs have one holder and end with its process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blockml.errors import UsageError
from blockml.storage.atomic import locked

HOLD = """
import sys
from pathlib import Path
from blockml.storage.atomic import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run another process that holds a lock."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own program)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_with_the_holder(tmp_path: Path) -> None:
    """A second process is refused with the holder's process and machine, and the holder keeps the lock."""
    path = tmp_path / "out.lock"
    with holder(path) as process:
        for _ in range(2):
            with (
                pytest.raises(UsageError, match=f"another run writes this output: process {process.pid} on "),
                locked(path),
            ):
                pytest.fail("locked twice")


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """The lock file of a killed process is taken over and removed by the next one."""
    path = tmp_path / "out.lock"
    with holder(path) as process:
        process.kill()
        process.wait()
        assert path.exists()
        with locked(path):
            assert str(os.getpid()) in path.read_text(encoding="utf-8")
    assert not path.exists()


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    """A second lock in the same process, such as in another thread, is refused."""
    path = tmp_path / "out.lock"
    with locked(path), pytest.raises(UsageError, match=f"process {os.getpid()} on"), locked(path):
        pytest.fail("locked twice")


def test_a_lock_file_with_other_content_is_taken_or_reported(tmp_path: Path) -> None:
    """A lock file with any content is taken over, or reported without breaking the message."""
    path = tmp_path / "out.lock"
    path.write_bytes(b"\xff\x00{}" * 1000)
    with locked(path):
        path.write_bytes(b"\xff[]")
        with pytest.raises(UsageError, match="doesn't say which process"), locked(path):
            pytest.fail("locked twice")
    assert not path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link in place of the lock file is refused, and the file it leads to is unchanged."""
    other = tmp_path / "other"
    other.write_text("kept", encoding="utf-8")
    (tmp_path / "out.lock").symlink_to(other)
    with pytest.raises(OSError, match="symbolic"), locked(tmp_path / "out.lock"):
        pytest.fail("followed")
    assert other.read_text(encoding="utf-8") == "kept"
