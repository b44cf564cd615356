"""WARC files (ISO 28500): the records of a file or a range of it.

The start of a range is searched for: it is an offset where a gzip member starts whose content starts like a record. A
body that contains an archive may look the same. The previous range then ends after this offset, at the one that
:func:`warc_captures` returns, and the offset is discarded; so splitting never changes which records are read.
"""

from __future__ import annotations

import io
import mmap
import re
import zlib
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from blockml.archives.compression import DAMAGED, GZIP, ZSTD, Decompressed, decompressed, recognized
from blockml.archives.http import HTML_TYPES, MAX_HEADER, Response, charset_of, media_type, read_response
from blockml.archives.suffixes import split_compression

__all__ = ["Capture", "begins_record", "is_zipped", "next_record", "piped_captures", "warc_captures"]

_BLOCK = 1 << 18  # bytes decompressed at a time
_INPUT = 1 << 14  # compressed bytes read at a time; the bytes after a short member are copied
_SNIFFED = 1 << 10
_MEMBER = b"\x1f\x8b\x08"
_RECORD = b"WARC/1."
_VERSION = re.compile(rb"WARC/\d\.\d+\s*")
#: Start of a record with its first field. It need not follow a line end, because the previous record may be cut off.
#: Some writers end lines with only line feeds.
_PLAIN_RECORD = re.compile(rb"WARC/1\.\d\r?\n[\w-]+:")
#: Fields that a record has once. A second one belongs to the next record, after a header that is cut off.
_SINGLE = {"warc-type", "warc-record-id", "content-length"}
#: Maximum digits of a length; more mean damage.
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Capture:
    """A record of an archive: a response, which may be a page."""

    offset: int  #: Start of the record, or of its gzip member
    response: Response
    id: str = ""
    url: str | None = None
    date: str = ""


def warc_captures(path: Path, limit: int, start: int = 0, end: int | None = None) -> Generator[Capture, None, int]:
    """Read the records that start in a range of a file; a damaged one gives an error and no other one is lost.

    Parameters
    ----------
    path
        The file, compressed or not.
    limit
        Maximum number of bytes of a body.
    start, end
        Offset of a record, or of its gzip member, and end of the range; by default the whole file.

    Returns
    -------
    int
        Offset at which reading ended: at least ``end``.
    """
    size = path.stat().st_size
    end = size if end is None else end
    while start < end:
        with path.open("rb") as stream:
            stream.seek(start)
            first = stream.peek(4)[:4]
            place, is_damaged = yield from _captures(_Content(stream, start), end, limit)
            if place is None or first.startswith(ZSTD):  # its records have no offsets
                start = size
            elif is_damaged:  # a length that is too large skips records as well
                start = next_record(stream, place + 1, size, zipped=is_zipped(path, first))
            else:
                start = place
    return start


def piped_captures(stream: BinaryIO, limit: int) -> Iterator[Capture]:
    """Read the records of an uncompressed file from a pipe, up to the first damaged one."""
    yield from _captures(_Content(stream, None), None, limit)


def is_zipped(path: Path, first: bytes) -> bool:
    """Tell whether a file's records are in gzip members: by its first bytes, or by its name if these are damaged."""
    return first.startswith(GZIP) or (split_compression(path.name)[1] == ".gz" and not first.startswith(_RECORD[:4]))


def next_record(stream: BinaryIO, position: int, size: int, *, zipped: bool) -> int:
    """Return the first offset at or after ``position`` where a record seems to start, or else ``size``."""
    if position >= size:
        return size
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if not zipped:
            return found.start() if (found := _PLAIN_RECORD.search(content, position)) else size
        while (position := content.find(_MEMBER, position)) >= 0:
            if _begins_record(content[position : position + _SNIFFED]):
                return position
            position += 1
    return size


def begins_record(path: Path, offset: int) -> bool:
    """Tell whether a record of a file, or a gzip member that starts with one, is at an offset."""
    with path.open("rb") as stream:
        stream.seek(offset)
        start = stream.read(_SNIFFED)
    return start.startswith(_RECORD) or _begins_record(start)


def _begins_record(member: bytes) -> bool:
    """Tell whether the content of a gzip member starts like a record."""
    try:
        return zlib.decompressobj(wbits=31).decompress(member, len(_RECORD)) == _RECORD
    except zlib.error:
        return False


class _Members(Decompressed):
    """Content of consecutive gzip members, with the offset of each.

    Parameters
    ----------
    stream
        The file, at the start of a member.
    start
        Offset of this member.
    """

    def __init__(self, stream: BinaryIO, start: int) -> None:
        super().__init__(stream)
        self.offset = start  #: Offset of the current member.
        #: For each member: position of its content, its offset, and whether its content starts like a record.
        self.starts: deque[tuple[int, int, bool]] = deque()
        self._unzip: zlib._Decompress | None = None
        self._input = b""
        self._n_read = start
        self._position = 0

    def _next(self) -> bytes | None:
        begins = self._unzip is None
        if self._unzip is None:
            while not self._input.lstrip(b"\0"):  # padding
                if not self._read():
                    return None
            self._input = self._input.lstrip(b"\0")
            self.offset = self._n_read - len(self._input)
            if not GZIP.startswith(self._input[:2]):
                raise OSError("there is no gzip member where one should start")
            self._unzip = zlib.decompressobj(wbits=31)
        output = b""
        while len(output) < len(_RECORD) and not self._unzip.eof:
            if not self._input and not self._read():
                raise EOFError("Compressed file ended before the end of a gzip member was reached")
            output += self._unzip.decompress(self._input, _BLOCK)
            self._input = self._unzip.unused_data or self._unzip.unconsumed_tail
        if begins:
            self.starts.append((self._position, self.offset, output.startswith(_RECORD)))
        self._position += len(output)
        if self._unzip.eof:
            self._unzip = None
        return output

    def _read(self) -> bytes:
        self._input = self._stream.read(_INPUT)
        self._n_read += len(self._input)
        return self._input


class _Content:
    """Content of an archive, read record by record.

    Parameters
    ----------
    stream
        A file, possibly compressed, or a pipe.
    start
        Offset of the first record, which is the stream's position; None if records have no offsets.
    """

    def __init__(self, stream: BinaryIO, start: int | None) -> None:
        compression = "" if start is None else recognized(cast("io.BufferedReader", stream).peek(4)[:4])
        self._members = _Members(stream, start or 0) if compression == ".gz" else None
        self._stream: BinaryIO = (
            cast("BinaryIO", io.BufferedReader(self._members, _BLOCK))
            if self._members
            else decompressed(stream, compression)
        )
        self._has_offsets = not compression and start is not None
        self._position = 0 if compression else start or 0
        #: Offset of the current record, or of its gzip member; after an error, offset of the damage.
        self.offset = start or 0
        #: Offset of the latest record, or of the gzip member in which it ends: damage up to there belongs to it.
        self.last = self.offset
        self._in_record = False

    def find(self) -> bool:
        """Go to the next record; return False at the end.

        Raises
        ------
        OSError, EOFError, zlib.error
            There is no record here, maybe because the length of the previous record is wrong.
        """
        is_first = not self._in_record
        n_ends = 0
        try:
            place, line = self._position, self._line()
            while line and not line.strip(b"\r\n"):
                n_ends += 1
                place, line = self._position, self._line()
        except DAMAGED:
            if self._members:
                self.offset = self._members.offset
            raise
        if not line:
            return False
        is_record = _VERSION.fullmatch(line)
        if is_record or n_ends > 1 or is_first:
            self.offset = self._place(place)
        if not is_record:
            raise OSError("the next bytes are not a record")
        self.last = self.offset
        self._in_record = True
        self._start = place
        return True

    def fields(self) -> dict[str, str]:
        """Read the header of a record, as values by lower-case name.

        Raises
        ------
        OSError, EOFError, zlib.error
            It is damaged.
        """
        fields: dict[str, str] = {}
        name = ""
        size = 0
        while (line := self._line()).strip(b"\r\n"):
            size += len(line)
            text = line.decode("utf-8", "backslashreplace")
            if name and text[0] in " \t":  # a value over several lines
                fields[name] += f" {text.strip()}"
                continue
            name, colon, value = text.partition(":")
            name = name.strip().lower()
            if not colon or size > MAX_HEADER or (name in fields and name in _SINGLE):
                raise OSError("the header of the record is damaged")
            fields.setdefault(name, value.strip())
        if not line:
            raise EOFError("the file ends inside this record")
        return fields

    def read(self, length: int, limit: int) -> bytes:
        """Read the content of a record; return at most ``limit`` bytes of it.

        Raises
        ------
        OSError, EOFError, zlib.error
            It is damaged, or its length extends past the file or into the next record.
        """
        pieces = []
        left = length
        while left > 0:
            piece = self._stream.read(min(left, _BLOCK))
            self._position += len(piece)
            if self._members and any(
                begins and self._start < position < self._position for position, _, begins in self._members.starts
            ):
                raise OSError("the record's length extends past its gzip member")
            if not piece:
                raise EOFError("the file ends inside this record")
            if length - left < limit:
                pieces.append(piece[: limit - (length - left)])
            left -= len(piece)
        self.last = self._place(self._position - 1)
        return b"".join(pieces)

    def _line(self) -> bytes:
        line = self._stream.readline(MAX_HEADER)
        self._position += len(line)
        return line

    def _place(self, position: int) -> int:
        """Return the offset in the file for a position in the content."""
        if self._members is None:
            return position if self._has_offsets else 0
        starts = self._members.starts
        while len(starts) > 1 and starts[1][0] <= position:
            starts.popleft()
        return starts[0][1]


def _captures(content: _Content, end: int | None, limit: int) -> Generator[Capture, None, tuple[int | None, bool]]:
    """Yield the records that start before ``end``.

    A record is yielded only after the next one was found, because the checksum of a gzip member comes last.

    Returns
    -------
    int or None
        Offset of the record that starts at or after ``end``, or of the damage; None if the stream ended.
    bool
        Whether something is damaged.
    """
    held: Capture | None = None
    try:
        while content.find():
            if held is not None:
                yield held
            held = None
            if end is not None and content.offset >= end:
                return content.offset, False
            fields = content.fields()
            url = fields.get("warc-target-uri", "").strip("<> ") or None  # wget writes it in angle brackets
            page_id = fields.get("warc-record-id", "").strip("<> ")
            held = Capture(content.offset, Response(), page_id, url, fields.get("warc-date", ""))
            held = replace(held, response=_response(content, fields, limit))
    except DAMAGED as error:
        if held is not None and content.offset > content.last:
            yield held
            held = None
        held = held or Capture(content.offset, Response())
        yield replace(held, response=Response(error=f"damaged ({error})"))
        return content.offset, True
    if held is not None:
        yield held
    return None, False


def _response(content: _Content, fields: Mapping[str, str], limit: int) -> Response:
    """Read the content of a record; raises the same errors as :meth:`_Content.read`."""
    digits = fields.get("content-length", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        raise OSError("the record's Content-Length is missing or invalid")
    kind = fields.get("warc-type", "unknown").lower()
    declared = fields.get("content-type", "").lower()
    skipped = None
    if kind not in {"response", "resource"}:
        skipped = f"{kind} records"
    elif kind == "resource" and media_type(declared) not in {*HTML_TYPES, ""}:
        skipped = "other media types"
    elif kind == "response" and not declared.startswith("application/http"):
        skipped = "responses of other protocols"
    block = content.read(int(digits), 0 if skipped else limit + MAX_HEADER)
    if skipped:
        return Response(skipped=skipped)
    response = Response(block[:limit], charset_of(declared)) if kind == "resource" else read_response(block, limit)
    if (reason := fields.get("warc-truncated")) and not response.skipped:
        return replace(response, truncated=f"the crawler truncated the page ({reason})")
    return response
