"""Streams of compressed files, in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from blockml.errors import MissingExtraError

__all__ = ["DAMAGED", "GZIP", "ZSTD", "bounded_lines", "decompressed", "is_compressed", "open_decompressed"]

#: First bytes of compressed files.
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
#: Errors of reading a damaged file. Those of zstandard are raised as OSError.
DAMAGED = (OSError, EOFError, zlib.error)

_BLOCK = 1 << 18  # bytes read at a time where output is thrown away
#: Largest window of a Zstandard frame that is accepted: that of the levels up to 19 of the command zstd.
_MAX_WINDOW = 1 << 27


def is_compressed(start: bytes) -> bool:
    """Tell whether a file that starts with these bytes is compressed by gzip or Zstandard."""
    return start.startswith((GZIP, ZSTD))


def decompressed(stream: BinaryIO, start: bytes) -> BinaryIO:
    """Wrap a stream so that reading it decompresses, according to the first bytes of the file.

    Raises
    ------
    MissingExtraError
        The file is compressed by Zstandard, and the package for it is missing.
    """
    if start.startswith(GZIP):
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream))
    if start.startswith(ZSTD):
        try:
            import zstandard
        except ImportError as error:
            raise MissingExtraError("Reading Zstandard files", "zstd") from error
        frames = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(stream, read_across_frames=True)
        return cast("BinaryIO", io.BufferedReader(_Zstandard(frames), _BLOCK))
    return stream


class _Zstandard(io.RawIOBase):
    """Zstandard stream whose errors are OSErrors, as those of gzip."""

    def __init__(self, frames: BinaryIO) -> None:
        self._frames = frames

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        import zstandard

        try:
            return int(self._frames.readinto(buffer))  # type: ignore[attr-defined]
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error


@contextmanager
def open_decompressed(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressing if its content is compressed, whatever its name."""
    with path.open("rb") as stream:
        start = stream.read(4)
        stream.seek(0)
        yield decompressed(stream, start)


def bounded_lines(stream: BinaryIO, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line with its length in bytes. Of a line that is longer than ``limit`` only the start is kept."""
    while line := stream.readline(limit):
        length = len(line)
        if not line.endswith(b"\n"):
            while rest := stream.readline(_BLOCK):
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
        yield line, length
