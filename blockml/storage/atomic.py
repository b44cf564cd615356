"""Atomic writing of files; devices, pipes and sockets are written to, and links are followed."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from blockml.storage.lock import try_lock

#: Folders of the system's names for devices and open files, such as ``/dev/stdout``.
_SYSTEM = ("/dev/", "/proc/")


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, durable: bool = True, mark: str | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the ``with`` block ends without an error.

    A link is kept, and the file that it points to is replaced. A device, a named pipe (FIFO) or a socket is never
    replaced: the block writes to it directly.

    Parameters
    ----------
    path
        The file.
    durable
        Wait until the content is on the disk before renaming, so that even after a power failure the name leads to the
        old file or to the complete new one. Not worth the time for thousands of small files that can be recreated.
    mark
        Part of the name of the temporary file, random by default. Either way the next writer of ``path`` removes the
        file that a killed process left behind; with a fixed name only one process may write at a time.

    Raises
    ------
    OSError
        The folder is missing or not writable, or nothing listens on the socket.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as stream:
    ...         _ = stream.write(b"all of it")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    mode = _mode(path)
    stream: BinaryIO
    if stat.S_ISSOCK(mode):
        import socket  # rarely needed

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(os.fspath(path))
            with connection.makefile("wb") as stream:
                yield stream
        return
    if mode and os.path.abspath(path).startswith(_SYSTEM):  # noqa: PTH100 (Path.resolve would follow links)
        with Path(path).open("ab", buffering=0) as raw, io.BufferedWriter(raw) as stream:
            yield stream  # appends to what the shell has written before
        return
    if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        with Path(path).open("wb", buffering=0) as raw, io.BufferedWriter(raw) as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    part, temporary = _temporary(target, mark)
    try:
        with temporary:
            yield temporary
            temporary.flush()
            if durable:
                os.fsync(temporary.fileno())
            if sys.platform != "win32":  # because Windows doesn't rename open files
                part.replace(target)
        if sys.platform == "win32":
            part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _temporary(target: Path, mark: str | None) -> tuple[Path, BinaryIO]:
    """Open the temporary file of a target; remove those with random names that killed processes left behind."""
    stream: BinaryIO
    if mark:
        part = target.with_name(f"{target.name}.{mark}.part")
        part.unlink(missing_ok=True)  # rather than written to, because it may be a link
        return part, part.open("xb")
    random = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part")
    with os.scandir(target.parent) as entries:
        for left in [Path(entry.path) for entry in entries if random.fullmatch(entry.name)]:
            # The process that writes to a file has locked it. Windows doesn't remove open files.
            with suppress(OSError), left.open("r+b") as file:
                if sys.platform != "win32":
                    try_lock(file)
                    left.unlink()
            if sys.platform == "win32":
                with suppress(OSError):
                    left.unlink()
    while True:
        part = target.with_name(f"{target.name}.{os.urandom(4).hex()}.part")
        stream = part.open("xb")
        if sys.platform != "win32":
            with suppress(OSError):  # some file systems have no locks
                try_lock(stream)
        if part.exists():
            return part, stream
        stream.close()  # another process removed it before it was locked


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the type of a path's target as ``st_mode``; 0 if there is nothing."""
    try:
        return Path(path).stat().st_mode
    except FileNotFoundError:
        return 0
