"""Atomic writing of files; devices, pipes and sockets are written to, and links are followed."""

from __future__ import annotations

import io
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: Folders of the system's names for devices and open files, such as ``/dev/stdout``.
_SYSTEM = ("/dev/", "/proc/")


@contextmanager
def atomic_write(path: str | os.PathLike[str], *, durable: bool = True, mark: str | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the ``with`` block ends without an error.

    A link stays, and the file that it points to is replaced. A device, a named pipe (FIFO) or a socket is never
    replaced: the block writes to it directly.

    Parameters
    ----------
    path
        The file.
    durable
        Wait until the content is on the disk before it gets the name, so that after a power failure too the name leads
        to the old file or to the whole new one. Not worth the time for each of thousands of small files that can be
        made again.
    mark
        Part of the name of the temporary file, by default a random one. With a fixed one the file that a killed process
        has left is replaced by that of the next one.

    Raises
    ------
    OSError
        The folder is missing or not writable, or nobody listens at the socket.

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
    if stat.S_ISSOCK(mode):
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
    part = target.with_name(f"{target.name}.{mark or secrets.token_hex(4)}.part")
    try:
        if mark:
            part.unlink(missing_ok=True)  # rather than written to, as it may be a link
        with part.open("xb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the type of what a path leads to, as ``st_mode``; 0 if there is nothing."""
    try:
        return Path(path).stat().st_mode
    except FileNotFoundError:
        return 0
