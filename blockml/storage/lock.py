"""Locks of outputs: only one process at a time writes to an output, and the lock ends with its process."""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from blockml.errors import UsageError

__all__ = ["locked", "locked_output", "try_lock"]

#: Errors of file systems that have no locks.
_UNSUPPORTED = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
#: Maximum bytes read of the holder's description.
_MAX_HOLDER = 1000
#: Lock files that this process holds.
_HELD: set[IO[str]] = set()


@contextmanager
def locked_output(output: Path) -> Iterator[None]:
    """Hold the lock of a file or folder that a run writes: ``.NAME.lock`` next to it; its folder is created if missing.

    Raises
    ------
    UsageError
        Another process is writing it (the message names that process), or the lock file can't be created.
    """
    real = Path(os.path.realpath(output))
    with ExitStack() as stack:
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(real.with_name(f".{real.name}.lock")))
        except OSError as error:
            raise UsageError(f"can't be written ({error})", source=output) from error
        yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file during the ``with`` block.

    The operating system releases the lock when the process ends, even if it is killed; a lock file left by a killed
    process is taken over. On network file systems the lock works between machines if the server supports locks, like
    NFS 4 and SMB.

    Parameters
    ----------
    path
        The lock file. It describes its holder (process, machine and start), and is removed at the end.

    Raises
    ------
    UsageError
        Another process holds the lock (the message names it), or the file system doesn't support locks.
    OSError
        The file can't be created.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "out.lock"):
    ...     [file.name for file in Path(folder).iterdir()]
    ['out.lock']
    """
    stream = _taken(path)
    _HELD.add(stream)
    try:
        holder = {"process": os.getpid(), "machine": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
        stream.truncate(0)
        stream.seek(0)
        stream.write(json.dumps(holder))
        stream.flush()
        yield
    finally:
        if stream in _HELD:  # except in a process that was forked meanwhile
            _HELD.discard(stream)
            # Removed before it is released, so that no process can hold a lock on a file that has lost its name.
            # Windows doesn't remove open files: there it is left empty.
            try:
                path.unlink()
            except OSError:
                stream.truncate(0)
            stream.close()


def _give_up() -> None:
    """Give up the locks in a forked process, which shares the open files and would otherwise hold the locks too."""
    for stream in _HELD:
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_give_up)


def _taken(path: Path) -> IO[str]:
    """Open and lock the file."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        stream = os.fdopen(file, "r+", encoding="utf-8")
        try:
            try_lock(stream)
        except OSError as error:
            with stream:
                if error.errno in _UNSUPPORTED:
                    raise UsageError(f"no locks on this file system ({error.strerror})", source=path) from error
                if error.errno in {errno.EACCES, errno.EAGAIN, errno.EDEADLK}:
                    raise UsageError(f"another run writes this output: {_holder(stream)}", source=path) from error
                raise
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        stream.close()  # the process that held it has just removed it


def try_lock(stream: IO[Any]) -> None:
    """Lock an open file until it is closed; raises OSError at once if another process has locked it."""
    if sys.platform == "win32":
        import msvcrt

        stream.seek(1 << 30)  # the description can be read because only one other byte is locked
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(stream: IO[str]) -> str:
    """Describe the holder of the lock, as far as the lock file says."""
    try:
        stream.seek(0)
        found = json.loads(stream.read(_MAX_HOLDER))
        return f"process {int(found['process'])} on {str(found['machine'])[:100]!r} since {str(found['since'])[:30]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "the lock file doesn't say which process"
