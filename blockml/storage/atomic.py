"""Atomic writing of files, locks of outputs, and names of files."""

from __future__ import annotations

import errno
import io
import json
import os
import platform
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from blockml.errors import UsageError
from blockml.text.words import lazy_pattern

__all__ = ["atomic_write", "is_device", "locked", "locked_output", "refuse_special", "safe_file_name", "try_lock"]


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


# Characters that some systems don't allow in file names, or that need quoting in a link.
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9._-]+")
_MAX_NAME = 80
#: Names that Windows keeps for devices, with any suffix; it also drops dots and spaces at the end of a name.
_DEVICES = lazy_pattern(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)", re.IGNORECASE
)


def is_device(name: str) -> bool:
    """Tell whether a name of a file or folder is kept for a device on Windows.

    Examples
    --------
    >>> is_device("aux"), is_device("Con.txt"), is_device("LPT1 .tar.gz"), is_device("console"), is_device("com10")
    (True, True, True, False, False)
    """
    return _DEVICES.match(name) is not None


def safe_file_name(text: str) -> str:
    """Return a name that is a safe file name on every system; a name that had to be changed gets a hash to stay unique.

    Examples
    --------
    >>> safe_file_name("0001"), safe_file_name("../a b"), safe_file_name("aux")
    ('0001', 'a_b-2c2c791a', 'aux_-321f6814')
    """
    name = _UNSAFE.sub("_", text)[:_MAX_NAME].strip("._")
    if is_device(name):
        head, dot, rest = name.partition(".")
        name = f"{head}_{dot}{rest}"
    if name and name == text:
        return name
    from hashlib import sha256  # loads OpenSSL, which extraction does not need

    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name}-{digest}" if name else digest


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a device, a pipe or a socket, which may never end; a missing file is reported when opened."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (also takes names that are not paths)
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError("not a regular file, but a device, a pipe or a socket")
