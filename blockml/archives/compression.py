"""Streams of compressed files, in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from blockml.errors import needed

__all__ = ["DAMAGED", "GZIP", "ZSTD", "bounded_lines", "decompressed", "is_compressed", "open_decompressed"]

#: First bytes of compressed files.
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
#: Errors of reading a damaged file. Those of zstandard are raised as OSError.
DAMAGED = (OSError, EOFError, zlib.error)

_BLOCK = 1 << 18  # bytes read at a time where output is thrown away
#: Largest window of a Zstandard frame that is accepted: that of the levels up to 19 of the command zstd.
_MAX_WINDOW = 1 << 27
#: Bytes of a Zstandard file that are decompressed at a time: to at most 128 MB, as 4 of them may stand for 128 KB.
_ZSTD_INPUT = 1 << 12


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
        with needed("Reading Zstandard files", "zstd"):
            import zstandard
        unzip = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        return cast("BinaryIO", io.BufferedReader(_Zstandard(stream, unzip.decompressobj), _BLOCK))
    return stream


class _Zstandard(io.RawIOBase):
    """Zstandard stream whose errors are those of gzip; the streams of the package end quietly where a file is cut."""

    def __init__(self, stream: BinaryIO, begin: Callable[[], Any]) -> None:
        self._stream = stream
        self._begin = begin  # makes the decompressor of a frame
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 (typeshed's type is private)
        while not self._output:
            self._input = self._input or self._stream.read(_ZSTD_INPUT)
            if self._frame is None or self._frame.eof:
                if not self._input:
                    return 0
                self._frame = self._begin()
            self._output = memoryview(self._decompressed())
        n_bytes = min(len(buffer), len(self._output))
        buffer[:n_bytes] = self._output[:n_bytes]
        self._output = self._output[n_bytes:]
        return n_bytes

    def _decompressed(self) -> bytes:
        """Decompress what was read of a frame."""
        import zstandard

        if not self._input:
            raise EOFError("Compressed file ended before the end of a Zstandard frame was reached")
        try:
            output: bytes = self._frame.decompress(self._input)
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        self._input = self._frame.unused_data
        return output


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
