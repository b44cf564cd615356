"""Files are replaced atomically; devices, pipes, sockets and links are not replaced."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from blockml.cli import main
from blockml.storage.atomic import atomic_write

PAGE = str(Path(__file__).parents[2] / "data" / "pages" / "short-article" / "page.html")


def extract_to(path: Path) -> None:
    """Run ``blockml extract -o``."""
    assert main(["extract", PAGE, "--model", "plain", "-o", str(path)]) == 0


@pytest.fixture
def text(tmp_path: Path) -> bytes:
    """Return the text that ``extract`` writes."""
    extract_to(tmp_path / "wanted.txt")
    return (tmp_path / "wanted.txt").read_bytes()


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """An error leaves the file unchanged and no temporary file."""
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with pytest.raises(TypeError), atomic_write(path) as stream:
        stream.write(b"half" + "text")  # type: ignore[operator]
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.skipif(os.name == "nt", reason="makes links")
def test_a_leftover_temporary_file_is_replaced(tmp_path: Path) -> None:
    """A temporary file left by a killed process is replaced, and a link in its place is not followed."""
    (tmp_path / "other").write_bytes(b"before")
    (tmp_path / "a.new.part").symlink_to(tmp_path / "other")
    for content in (b"all of it", b"short"):
        with atomic_write(tmp_path / "a", mark="new") as stream:
            stream.write(content)
        assert (tmp_path / "a").read_bytes() == content
        (tmp_path / "a.new.part").write_bytes(b"of a process that was killed")
    assert (tmp_path / "other").read_bytes() == b"before"


def test_the_content_is_on_the_disk_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is flushed to disk before the file is renamed, so that a power failure cannot leave an empty file."""
    steps: list[tuple[str, int]] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append(("fsync", os.fstat(descriptor).st_size))
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        steps.append(("replace", self.stat().st_size))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    with atomic_write(tmp_path / "a") as stream:
        stream.write(b"all of it")
        assert steps == []
    assert steps == [("fsync", 9), ("replace", 9)]
    with atomic_write(tmp_path / "b", durable=False) as stream:
        stream.write(b"many")
    assert steps[2:] == [("replace", 4)]


def test_a_disk_that_cannot_take_the_content_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flush that fails, as on a full network disk, leaves the old file."""

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a").write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"), atomic_write(tmp_path / "a") as stream:
        stream.write(b"all of it")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("a", b"before")]


def test_a_link_is_kept_and_its_target_replaced(tmp_path: Path, text: bytes) -> None:
    """The target of a link is replaced, through a chain of links, and is created if it does not exist yet."""
    target = tmp_path / "folder" / "target.txt"
    target.parent.mkdir()
    (tmp_path / "one").symlink_to(target)
    (tmp_path / "two").symlink_to("one")
    for _ in range(2):
        extract_to(tmp_path / "two")
        assert (tmp_path / "two").is_symlink()
        assert (tmp_path / "one").is_symlink()
        assert target.read_bytes() == text
    assert [file.name for file in target.parent.iterdir()] == ["target.txt"]


def test_a_fifo_is_written_to(tmp_path: Path, text: bytes) -> None:
    """The reader of a named pipe gets the text, and the pipe remains one."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    extract_to(path)
    reader.join(10)
    assert received == [text]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.usefixtures("socket_enabled")
def test_a_socket_is_written_to(tmp_path: Path, text: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """The listener of a socket gets the text; without a listener the error names the file."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        received: list[bytes] = []

        def accept() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                received.append(stream.read())

        reader = threading.Thread(target=accept)
        reader.start()
        extract_to(path)
        reader.join(10)
    assert received == [text]
    assert stat.S_ISSOCK(path.stat().st_mode)
    assert main(["extract", PAGE, "--model", "plain", "-o", str(path)]) == 2
    assert f"{path}: can't be written" in capsys.readouterr().err


def test_a_device_is_written_to(tmp_path: Path) -> None:
    """The null device remains a device, when written directly or through a link."""
    before = Path(os.devnull).stat()
    extract_to(Path(os.devnull))
    (tmp_path / "null").symlink_to(os.devnull)
    extract_to(tmp_path / "null")
    after = Path(os.devnull).stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)
    assert (tmp_path / "null").is_symlink()


def test_every_command_writes_atomically(tmp_path: Path) -> None:
    """Views, templates and reports don't replace a link, and training refuses a device."""
    for name, command in {"view": ["view", PAGE, "--model", "plain"], "site": ["templates", "detect", PAGE]}.items():
        (tmp_path / name).symlink_to(tmp_path / f"{name}.out")
        assert main([*command, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / f"{name}.out").stat().st_size > 100
    assert main(["train", "--dataset", str(tmp_path), "-o", os.devnull]) == 2
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
