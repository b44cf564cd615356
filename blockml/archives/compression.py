"""Streams of compressed files, in bounded memory."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from blockml.archives.kinds import split_compression
from blockml.errors import needed

__all__ = [
    "DAMAGED",
    "GZIP",
    "ZSTD",
    "Decompressed",
    "Gzip",
    "bounded_lines",
    "compression_of",
    "decompressed",
    "goes_on",
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
#: Start of a file that is not compressed, although its name says so; empty, ASCII, or a byte order mark.
_TEXT_START = re.compile(rb"[\t-\r\x20-\x7e]{0,4}\Z|\xef\xbb\xbf|\xff\xfe|\xfe\xff|PAR1")
_RECOGNIZED = {GZIP: ".gz", ZSTD: ".zst"}

_BLOCK = 1 << 18  # bytes read at a time of files, and when output is discarded
_INPUT = 1 << 14  # compressed bytes read at a time; the bytes after a short member are copied
#: Bytes of a gzip member decompressed at a time, and the maximum that these give at a time. Damage loses one step.
_STEP, _PIECE = 1 << 12, 1 << 16
#: Minimum bytes of the first piece of a member, so that it can be recognised, if it has as many.
_MIN_START = 16
#: Bytes in which a frame is recognised, and the maximum length of what starts one.
_SNIFFED, _OVERLAP = 1 << 10, 4
#: Bytes that searches for frames may read again, besides as many as the file has.
_MAX_AGAIN = 1 << 24
#: Maximum accepted window of a Zstandard frame: that of levels up to 19 of the zstd command.
_MAX_WINDOW = 1 << 27
#: Bytes of a Zstandard file decompressed at a time: they give at most 128 MB, because 4 bytes may encode 128 KB.
_ZSTD_INPUT = 1 << 12
#: Maximum bytes of a dictionary (our choice); usual ones have a hundred kilobytes.
_MAX_DICTIONARY = 1 << 24


class Decompressed(io.RawIOBase):
    """Stream of the content of consecutive frames, as Zstandard calls them, or members, as gzip does.

    Damage raises an error once, and reading goes on at the next frame. Frames that give nothing belong to the damage
    before them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._output = memoryview(b"")
        self._input = b""
        self._n_read = stream.tell() if stream.seekable() else 0  # offset of the end of the input
        self._n_given = 0
        self._waiting = b""  # output after damage
        self.is_lost = False  #: Whether nothing can be read after damage.
        self.offset = self._n_read  #: Offset of the current frame in the file.
        self.position = 0  #: Position of its content.
        self.damaged_offset = 0  #: Offset of the last damaged frame.
        self.damaged_position = 0  #: Position of its content.

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 (typeshed's type is private)
        """Decompress into a buffer; return the number of bytes."""
        if not self._output:
            self._output = memoryview(self.piece())
        n_bytes = min(len(buffer), len(self._output))
        buffer[:n_bytes] = self._output[:n_bytes]
        self._output = self._output[n_bytes:]
        return n_bytes

    def piece(self) -> bytes:
        """Return the next bytes of one frame; empty at the end.

        Raises
        ------
        OSError, EOFError
            Damage precedes what the next call returns; EOFError if the file is cut off.
        """
        if self._waiting:
            output, self._waiting = self._waiting, b""
            return output
        error: Exception | None = None
        while True:
            try:
                found = None if self.is_lost else self._next()
            except DAMAGED as damage:
                if error is None:
                    error = damage
                    self.damaged_offset, self.damaged_position = self.offset, self.position
                self.is_lost = True  # if the file can't be read
                self.is_lost = not self._search()
                continue
            if found == b"":
                continue
            output = found or b""
            self._n_given += len(output)
            if error is None:
                return output
            self._waiting = output
            after = f"; reading went on at byte {self.offset:,}" if output else f", which has {self._n_read:,} bytes"
            kind = EOFError if isinstance(error, EOFError) and not output else OSError
            raise kind(f"{error}, from byte {self.damaged_offset:,} of the compressed data{after}") from error

    @abstractmethod
    def _next(self) -> bytes | None:
        """Return the next bytes, possibly none yet; None at the end. Raises one of DAMAGED."""

    def _begin(self) -> None:
        """Set the current frame, which begins with the input."""
        self.offset, self.position = self._n_read - len(self._input), self._n_given

    def _load(self, n_bytes: int = 1) -> bool:
        """Load some bytes of input; return False if the file ends before."""
        while len(self._input) < n_bytes:
            more = self._stream.read(_INPUT)
            self._n_read += len(more)
            self._input += more
            if not more:
                return False
        return True

    def _search(self) -> bool:
        """Go to the next frame after the start of a damaged one; return False if there is none."""
        while self._load():
            self._input = b""
        return False


class _Frames(Decompressed):
    """Stream of a file that may have several frames, the next of which is searched for after damage."""

    _START: re.Pattern[bytes]  #: Start of a frame.

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._n_again = 0  # bytes that searches have read again

    @abstractmethod
    def _may_begin(self, start: bytes) -> bool:
        """Tell whether bytes that start like a frame may be one."""

    def _search(self) -> bool:
        begin = self.offset + 1
        place = begin - (self._n_read - len(self._input))
        if place < 0:  # the frame was decompressed in part; it is read again if that is in proportion to the file
            again = _INPUT - place
            place = 0
            if self._stream.seekable() and self._n_again + again <= max(_MAX_AGAIN, self._n_read):
                self._n_again += again
                self._stream.seek(begin)
                self._input, self._n_read = b"", begin
        place = min(place, len(self._input))
        while True:
            found = self._START.search(self._input, place)
            if found is None:
                self._input = self._input[max(place, len(self._input) - _OVERLAP) :]
                place = 0
                if not self._load(len(self._input) + 1):
                    self._input = b""
                    return False
                continue
            place = found.start()
            if len(self._input) - place < _SNIFFED and self._load(len(self._input) + 1):
                continue
            if self._may_begin(self._input[place : place + _SNIFFED]):
                self._input = self._input[place:]
                self._begin()
                return True
            place += 1


class Gzip(_Frames):
    """Gzip stream; zero bytes between members are padding."""

    _START = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._unzip: zlib._Decompress | None = None
        self._n_fed = 0

    def _next(self) -> bytes | None:
        output = b""
        begins = self._unzip is None
        if self._unzip is None:
            while not self._input.lstrip(b"\0"):
                self._input = b""
                if not self._load():
                    return None
            self._input = self._input.lstrip(b"\0")
            self._begin()
            self._load(len(GZIP))
            if not self._input.startswith(GZIP):
                raise OSError("not a gzip member")
            self._unzip, self._n_fed = zlib.decompressobj(wbits=31), 0
        try:
            while len(output) < (_MIN_START if begins else 1) and not self._unzip.eof:
                if not self._load():
                    raise EOFError("Compressed file ended before the end of a gzip member was reached")
                # Steps at fixed places of the member, so that damage loses the same wherever reading began.
                fed = self._input[: _STEP - self._n_fed % _STEP]
                output += self._unzip.decompress(fed, _PIECE)
                rest = self._unzip.unused_data or self._unzip.unconsumed_tail
                self._n_fed += len(fed) - len(rest)
                self._input = rest + self._input[len(fed) :]
        except (*_UNZIP_ERRORS, OSError):
            self._unzip = None
            raise
        if self._unzip.eof:
            self._unzip = None
        return output

    def _may_begin(self, start: bytes) -> bool:
        try:
            zlib.decompressobj(wbits=31).decompress(start, _MIN_START)
        except zlib.error:
            return False
        return True


class _Zstandard(_Frames):
    """Zstandard stream with gzip's errors; the package's own streams end without an error if a file is cut off."""

    _START = re.compile(re.escape(ZSTD))

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        with needed("Reading Zstandard files", "zstd"):
            import zstandard
        self._zstandard = zstandard
        self._dictionary: Any = None
        self._decompressor = self._new_decompressor()
        self._frame: Any = None
        self._is_first = True

    def _next(self) -> bytes | None:
        if self._frame is None:
            if not self._load():
                return None
            self._begin()
            self._load(8)
            if _SKIPPABLE.match(self._input):
                self._skip()
                return b""
            self._frame = self._decompressor.decompressobj()
        frame, self._frame = self._frame, None
        if not self._load():
            raise EOFError("Compressed file ended before the end of a Zstandard frame was reached")
        fed = self._input[:_ZSTD_INPUT]
        try:
            output: bytes = frame.decompress(fed)
        except self._zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        self._input = frame.unused_data + self._input[len(fed) :]
        self._frame = None if frame.eof else frame
        self._is_first = False
        return output

    def _may_begin(self, start: bytes) -> bool:
        try:
            self._zstandard.get_frame_parameters(start)
        except self._zstandard.ZstdError:
            return False
        return True

    def _new_decompressor(self) -> Any:  # noqa: ANN401 (zstandard's types may be missing)
        return self._zstandard.ZstdDecompressor(dict_data=self._dictionary, max_window_size=_MAX_WINDOW)

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
            self._n_read += len(self._input)
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
                content = self._decompressor.decompress(content, max_output_size=_MAX_DICTIONARY)
            if content.startswith(_DICTIONARY):
                self._dictionary = self._zstandard.ZstdCompressionDict(content)
                self._decompressor = self._new_decompressor()
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
        if self._decoder.can_accept_more_data():
            data = self._stream.read(_BLOCK)
            self._n_read += len(data)
            if not data:
                raise EOFError("Compressed file ended before the end of the Brotli stream was reached")
        try:
            output: bytes = self._decoder.process(data, output_buffer_limit=_BLOCK)
        except brotli.error as error:
            raise OSError(f"not a Brotli stream ({error})") from error
        return output


#: Readers of :data:`blockml.archives.kinds.COMPRESSIONS`.
_OPENERS: Mapping[str, Callable[[BinaryIO], BinaryIO]] = {
    "": lambda stream: stream,
    ".gz": lambda stream: cast("BinaryIO", io.BufferedReader(Gzip(stream), _BLOCK)),
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
        start, by_name = stream.read(4), split_compression(path.name)[1]
        has_signature = by_name in _RECOGNIZED.values()  # which may be damaged
        return recognized(start) or ("" if has_signature and _TEXT_START.match(start) else by_name)


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
            if isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO):
                found = os.fstat(stream.fileno())
                if stat.S_ISREG(found.st_mode) and 0 <= found.st_size <= limit:
                    return stream.read(found.st_size)
            return _in_pieces(stream, limit)
    except _UNZIP_ERRORS as error:
        raise OSError(f"damaged: {error}") from error


def _in_pieces(stream: BinaryIO, limit: int) -> bytes:
    """Read at most ``limit`` bytes of a stream, or all for -1; in pieces, because a read allocates memory for all."""
    pieces: list[bytes] = []
    left = limit if limit >= 0 else sys.maxsize
    while left and (piece := stream.read(min(left, _BLOCK))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def goes_on(stream: BinaryIO) -> bool:
    """Tell whether there may be something to read after an error of a stream, which then is raised once."""
    raw = getattr(stream, "raw", None)
    return isinstance(raw, Decompressed) and not raw.is_lost


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
