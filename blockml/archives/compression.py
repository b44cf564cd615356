"""Streams of compressed files, in bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from blockml.archives.suffixes import split_compression
from blockml.errors import needed

__all__ = [
    "DAMAGED",
    "GZIP",
    "ZSTD",
    "Decompressed",
    "bounded_lines",
    "compression_of",
    "decompressed",
    "open_decompressed",
]
__all__ += ["open_file", "read_file", "recognized"]

#: First bytes of compressed files. Brotli files have no signature, so they are recognised only by name.
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
#: Errors raised for a damaged file. Those of zstandard and brotli are raised as OSError.
_UNZIP_ERRORS = (EOFError, zlib.error)
DAMAGED = (OSError, *_UNZIP_ERRORS)
#: Start of a skippable frame of Zstandard (RFC 8878, section 3.1.2), before its length. pzstd writes one before each
#: frame, and the first one of a ``.warc.zst`` file may hold a dictionary.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
_DICTIONARY = b"\x37\xa4\x30\xec"
_RECOGNIZED = {GZIP: ".gz", ZSTD: ".zst"}

_BLOCK = 1 << 18  # bytes read at a time when output is discarded
#: Maximum accepted window of a Zstandard frame: that of levels up to 19 of the zstd command.
_MAX_WINDOW = 1 << 27
#: Bytes of a Zstandard file decompressed at a time: they give at most 128 MB, because 4 bytes may encode 128 KB.
_ZSTD_INPUT = 1 << 12
#: Maximum bytes of a dictionary (our choice); usual ones have a hundred kilobytes.
_MAX_DICTIONARY = 1 << 24


class Decompressed(io.RawIOBase):
    """Stream of the bytes that :meth:`_next` decompresses."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._output = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 (typeshed's type is private)
        """Decompress into a buffer; return the number of bytes."""
        while not self._output:
            output = self._next()
            if output is None:
                return 0
            self._output = memoryview(output)
        n_bytes = min(len(buffer), len(self._output))
        buffer[:n_bytes] = self._output[:n_bytes]
        self._output = self._output[n_bytes:]
        return n_bytes

    @abstractmethod
    def _next(self) -> bytes | None:
        """Return the next bytes, possibly none yet; None at the end."""


class _Zstandard(Decompressed):
    """Zstandard stream with gzip's errors; the package's own streams end without an error if a file is cut off."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        with needed("Reading Zstandard files", "zstd"):
            import zstandard
        self._zstandard = zstandard
        self._dictionary: Any = None
        self._frame: Any = None
        self._input = b""
        self._is_first = True

    def _next(self) -> bytes | None:
        self._input = self._input or self._stream.read(_ZSTD_INPUT)
        if self._frame is None or self._frame.eof:
            if not self._input:
                return None
            self._load(8)
            if _SKIPPABLE.match(self._input):
                self._skip()
                return b""
            self._frame = self._decompressor().decompressobj()
        if not self._input:
            raise EOFError("Compressed file ended before the end of a Zstandard frame was reached")
        try:
            output: bytes = self._frame.decompress(self._input)
        except self._zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        self._input = self._frame.unused_data
        self._is_first = False
        return output

    def _decompressor(self) -> Any:  # noqa: ANN401 (zstandard's types may be missing)
        return self._zstandard.ZstdDecompressor(dict_data=self._dictionary, max_window_size=_MAX_WINDOW)

    def _load(self, n_bytes: int) -> None:
        """Have some bytes of input, unless the file ends."""
        while len(self._input) < n_bytes and (piece := self._stream.read(_ZSTD_INPUT)):
            self._input += piece

    def _skip(self) -> None:
        """Skip a skippable frame, or read the dictionary in it."""
        left = int.from_bytes(self._input[4:8], "little")
        may_be_dictionary = self._is_first and self._input.startswith(_DICTIONARY_FRAME) and left <= _MAX_DICTIONARY
        is_whole = len(self._input) >= 8
        self._input, self._is_first = self._input[8:], False
        kept = bytearray()
        while left > len(self._input) and is_whole:
            kept += self._input if may_be_dictionary else b""
            left -= len(self._input)
            self._input = self._stream.read(min(left, _BLOCK))  # no more, because the rest of it is copied
            is_whole = bool(self._input)
        if not is_whole:
            raise EOFError("Compressed file ended inside a skippable frame of Zstandard")
        kept += self._input[:left]
        self._input = self._input[left:]
        if may_be_dictionary:
            self._set_dictionary(bytes(kept))

    def _set_dictionary(self, content: bytes) -> None:
        """Use the dictionary in a skippable frame, compressed or not, for the frames that follow."""
        try:
            if content.startswith(ZSTD):
                content = self._decompressor().decompress(content, max_output_size=_MAX_DICTIONARY)
            if content.startswith(_DICTIONARY):
                self._dictionary = self._zstandard.ZstdCompressionDict(content)
        except self._zstandard.ZstdError as error:
            raise OSError(f"the dictionary of the file is damaged ({error})") from error


class _Brotli(Decompressed):
    """Brotli stream, whose output is limited at each step."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        with needed("Reading Brotli files", "brotli"):
            import brotli
        self._decoder = brotli.Decompressor()

    def _next(self) -> bytes | None:
        import brotli

        if self._decoder.is_finished():
            return None
        data = b""
        if self._decoder.can_accept_more_data() and not (data := self._stream.read(_BLOCK)):
            raise EOFError("Compressed file ended before the end of the Brotli stream was reached")
        try:
            output: bytes = self._decoder.process(data, output_buffer_limit=_BLOCK)
        except brotli.error as error:
            raise OSError(f"not a Brotli stream ({error})") from error
        return output


#: Readers of :data:`blockml.archives.suffixes.COMPRESSIONS`.
_OPENERS: Mapping[str, Callable[[BinaryIO], BinaryIO]] = {
    "": lambda stream: stream,
    ".gz": lambda stream: cast("BinaryIO", gzip.GzipFile(fileobj=stream)),
    ".zst": lambda stream: cast("BinaryIO", io.BufferedReader(_Zstandard(stream), _BLOCK)),
    ".br": lambda stream: cast("BinaryIO", io.BufferedReader(_Brotli(stream), _BLOCK)),
}


def recognized(start: bytes) -> str:
    """Return the compression of a file that starts with these bytes, as its suffix; empty if it has none."""
    if _SKIPPABLE.match(start):
        return ".zst"
    return next((end for mark, end in _RECOGNIZED.items() if start.startswith(mark)), "")


def compression_of(path: Path) -> str:
    """Return the compression of a file by its content, or by its name if the content does not show it."""
    with path.open("rb") as stream:
        by_name = split_compression(path.name)[1]
        return recognized(stream.read(4)) or ("" if by_name in _RECOGNIZED.values() else by_name)


def decompressed(stream: BinaryIO, compression: str) -> BinaryIO:
    """Wrap a stream so that reading it decompresses; ``compression`` is a suffix, or empty for none.

    Raises
    ------
    MissingExtraError
        The package for this compression is missing.
    """
    return _OPENERS[compression](stream)


@contextmanager
def open_decompressed(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressing if its content is compressed, regardless of its name; see :func:`compression_of`."""
    compression = compression_of(path)
    with path.open("rb") as stream:
        yield decompressed(stream, compression)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file, decompressing if its name ends in the suffix of a compression."""
    with path.open("rb") as stream:
        yield decompressed(stream, split_compression(path.name)[1])


def read_file(path: Path, limit: int = -1) -> bytes:
    """Read a file, decompressed if its name ends in the suffix of a compression.

    Parameters
    ----------
    path
        The file.
    limit
        Maximum number of bytes to read, decompressed; -1 for all.

    Raises
    ------
    OSError
        The file is missing or damaged.
    MissingExtraError
        The package for its compression is missing.
    """
    try:
        with open_file(path) as stream:
            if limit >= 0 and isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO):
                # Otherwise memory for the whole limit is allocated and freed for each page.
                found = os.fstat(stream.fileno())
                limit = min(limit, found.st_size) if stat.S_ISREG(found.st_mode) else limit
            return stream.read(limit)
    except _UNZIP_ERRORS as error:
        raise OSError(f"damaged: {error}") from error


def bounded_lines(stream: BinaryIO, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line with its length in bytes. Only the start of lines longer than ``limit`` is kept."""
    while line := stream.readline(limit):
        length = len(line)
        if not line.endswith(b"\n"):
            while rest := stream.readline(_BLOCK):
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
        yield line, length
