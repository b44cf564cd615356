"""Records in a temporary file, written once and read one at a time."""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
import zlib
from pathlib import Path
from typing import Self

__all__ = ["Spool"]


class Spool:
    """Compressed objects in a temporary file, which is deleted together with the last reference to the spool.

    A pickled spool refers to the same file, so worker processes can read while the process that wrote it lives.

    Examples
    --------
    >>> with Spool() as spool:
    ...     place = spool.write(("a page", "its text"))
    >>> spool.read(place)
    ('a page', 'its text')
    """

    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="blockml-", suffix=".spool")
        self.path = Path(name)
        self._stream = os.fdopen(handle, "wb")
        weakref.finalize(self, _delete, self.path, os.getpid())

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the path: the copy doesn't delete the file."""
        return _reopened, (self.path,)

    def write(self, value: object) -> tuple[int, int]:
        """Append an object; return its place for :meth:`read`."""
        data = zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), 1)
        self._stream.write(data)
        self._stream.flush()  # other processes read it
        return self._stream.tell() - len(data), len(data)

    def __enter__(self) -> Self:
        """Return the spool, for writing inside a ``with`` statement; it can still be read afterwards."""
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, place: tuple[int, int]) -> object:
        """Read the object at a place."""
        with self.path.open("rb") as stream:
            stream.seek(place[0])
            return pickle.loads(zlib.decompress(stream.read(place[1])))  # noqa: S301 (only this user can write the file)


def _reopened(path: Path) -> Spool:
    spool = Spool.__new__(Spool)
    spool.path = path
    return spool


def _delete(path: Path, process: int) -> None:
    if os.getpid() == process:  # a forked worker must not delete its parent's file
        path.unlink(missing_ok=True)
