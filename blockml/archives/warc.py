"""WARC files (ISO 28500): the records of a file or a range of it.

The start of a range is searched for: it is a place where a gzip member begins whose content begins like a record. A
body that contains an archive may look the same. The range before it then ends behind this place, at the offset that
:func:`warc_captures` returns, and the place is given up; so splitting never changes which records are read.
"""

from __future__ import annotations

import mmap
import os
import re
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from blockml.archives.compression import DAMAGED, GZIP, ZSTD
from blockml.archives.http import HTML_TYPES, MAX_HEADER, Response, charset_of, media_type, read_response
from blockml.archives.suffixes import split_compression
from blockml.errors import needed

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

__all__ = ["Capture", "begins_record", "is_zipped", "next_record", "piped_captures", "warc_captures"]

_BLOCK = 1 << 20
_SNIFFED = 1 << 10
_MEMBER = b"\x1f\x8b\x08"
_RECORD = b"WARC/1."
#: Start of a record with its first field. No line end need be before it, as the record before may be cut off.
_PLAIN_RECORD = re.compile(rb"WARC/1\.\d\r\n[\w-]+:")
_RECORD_END = b"\r\n\r\n"  # of the header and of the record


@dataclass(frozen=True, slots=True)
class Capture:
    """A record of an archive: a response, whether it is a page or not."""

    offset: int  #: Start of the record, or of the gzip member it is in
    response: Response
    id: str = ""
    url: str | None = None
    date: str = ""


def warc_captures(path: Path, limit: int, start: int = 0, end: int | None = None) -> Generator[Capture, None, int]:
    """Read the records that start in a range of a file; a damaged one gives an error and costs no other one.

    Parameters
    ----------
    path
        The file, compressed or not.
    limit
        Maximum number of bytes of a body.
    start, end
        Offset of a record, or of the gzip member it is in, and end of the range; by default the whole file.

    Returns
    -------
    int
        Offset at which reading ended: at least ``end``.
    """
    size = path.stat().st_size
    end = size if end is None else end
    while start < end:
        with path.open("rb") as stream:
            records = _Records(stream, start, path)
            place = yield from _captures(records, None if records.is_zstd else end, limit)
            if place is not None and place >= 0:
                start = place
            elif place is None and records.zipped:
                # The reader takes an empty member or a truncated file for the end.
                start, cut = _after_member(stream, records.offset, size)
                if cut is not None and cut != records.cut:
                    yield Capture(cut, Response(error="the file ends inside this gzip member"))
            elif records.is_zstd or (place is None and records.cut is None):
                start = size
            else:  # a length that is too large goes past records as well
                zipped = records.zipped or is_zipped(path, records.first)
                start = next_record(stream, records.reached() + 1, size, zipped=zipped)
    return start


def piped_captures(stream: BinaryIO, limit: int) -> Iterator[Capture]:
    """Read the records of a file that comes through a pipe, up to the first damaged one."""
    yield from _captures(_Records(cast("BinaryIO", _Pipe(stream)), 0, None), None, limit)


def is_zipped(path: Path, first: bytes) -> bool:
    """Tell whether the records of a file are in gzip members: by its first bytes, or its name if they are damaged."""
    return first.startswith(GZIP) or (split_compression(path.name)[1] == ".gz" and not first.startswith(_RECORD[:4]))


def next_record(stream: BinaryIO, position: int, size: int, *, zipped: bool) -> int:
    """Return the first place from ``position`` on where a record seems to start; ``size`` if there is no such place."""
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
    """Tell whether a record of a file, or a gzip member that begins with one, is at an offset."""
    with path.open("rb") as stream:
        stream.seek(offset)
        start = stream.read(_SNIFFED)
    return start.startswith(_RECORD) or _begins_record(start)


def _begins_record(member: bytes) -> bool:
    """Tell whether the content of a gzip member begins like a record."""
    try:
        return zlib.decompressobj(wbits=31).decompress(member, len(_RECORD)) == _RECORD
    except zlib.error:
        return False


class _Pipe:
    """Stream that can't seek, for FastWARC, which asks for the offset before it reads."""

    def __init__(self, stream: BinaryIO) -> None:
        self.peek = stream.peek  # type: ignore[attr-defined] # of a buffered reader
        self.read = stream.read1  # type: ignore[attr-defined] # gives what is before the damage of a compressed stream

    def tell(self) -> int:
        """Return the offset at the start."""
        return 0


class _Records:
    """Records of a stream, each with the offset of the record or of the gzip member it is in.

    Parameters
    ----------
    stream
        A file or a pipe.
    start
        Offset of the first record.
    path
        The file, which can be compressed; None for a pipe.
    """

    def __init__(self, stream: BinaryIO, start: int, path: Path | None) -> None:
        with needed("Reading WARC files", "warc"):
            from fastwarc.stream_io import GzipReader, ZstdReader
            from fastwarc.warc import ArchiveIterator
        if path is not None:
            stream.seek(start)
        self.first: bytes = stream.peek(4)[:4]  # type: ignore[attr-defined] # of a buffered reader
        self._gzip = GzipReader(stream) if self.first.startswith(GZIP) else None
        self.zipped = self._gzip is not None
        self.is_zstd = self.first.startswith(ZSTD)  # records have no offsets in it
        source: Any = self._gzip or (ZstdReader(stream) if self.is_zstd else stream)
        self._iterator = iter(ArchiveIterator(source, parse_http=False))
        self.offset = start
        self.cut: int | None = None
        """Offset of a record in which the file ends."""
        self._path = path
        self._length = 0
        self._too_long = False

    def __iter__(self) -> Iterator[WarcRecord]:
        """Yield the records.

        Raises
        ------
        OSError
            A record is damaged, or its length reaches into the next record.
        """
        for record in self._iterator:
            self.offset = self._member() if self._gzip else record.stream_pos
            self._length = record.content_length
            yield record
            record.consume()
            if self._gzip and self._path and self._member() != self.offset:
                self._too_long = _passes_member(self._path, self.offset, record.content_length)
                if self._too_long:
                    raise OSError("the record's length goes past its gzip member")

    def reached(self) -> int:
        """Return the offset of the gzip member, or else of the record, that can't be read.

        If no record follows the latest one where its length says, that length is wrong, unless line ends are there.
        """
        if self._gzip and not self._too_long:
            return self._member()
        if self._gzip or self.is_zstd or self._path is None:
            return self.offset
        with self._path.open("rb") as stream:
            stream.seek(self.offset)
            end = self.offset + stream.read(MAX_HEADER).find(_RECORD_END) + len(_RECORD_END) + self._length
            stream.seek(end)
            return end + len(_RECORD_END) if stream.read(len(_RECORD_END)) == _RECORD_END else self.offset

    def _member(self) -> int:
        assert self._gzip is not None  # noqa: S101 (for the type checker)
        return int(self._gzip.frame_start_position() or 0)


def _captures(records: _Records, end: int | None, limit: int) -> Generator[Capture, None, int | None]:
    """Yield the records that start before ``end``.

    A page is held back until the next record was found, since the checksum of a gzip member comes last.

    Returns
    -------
    int or None
        Offset of the record that starts at or behind ``end``; -1 if a record is damaged; None if the stream ended.
    """
    held: Capture | None = None
    try:
        for record in records:
            if held is not None:
                yield held
            held = None
            if end is not None and records.offset >= end:
                return records.offset
            held = _capture(record, records, limit)
            if held.response.skipped:
                yield held
                held = None
    except DAMAGED as error:
        place = records.reached()
        damage = Response(error=f"damaged ({error})")
        if held is not None and place != held.offset:
            yield held
            held = None
        yield replace(held, response=damage) if held else Capture(place, damage)
        return -1
    if held is not None:
        yield held
    return None


def _capture(record: WarcRecord, records: _Records, limit: int) -> Capture:
    """Read a record.

    Raises
    ------
    OSError
        The record is damaged.
    """
    headers = record.headers
    block = b""
    kind = (headers.get("WARC-Type") or "unknown").strip().lower()
    declared = (headers.get("Content-Type") or "").lower()
    if kind not in {"response", "resource"}:
        response = Response(skipped=f"{kind} records")
    elif kind == "resource" and media_type(declared) not in {*HTML_TYPES, ""}:
        response = Response(skipped="other media types")
    elif kind == "response" and not declared.startswith("application/http"):
        response = Response(skipped="responses of other protocols")
    else:
        block = record.reader.read(min(record.content_length, limit + MAX_HEADER))
        response = Response(block[:limit], charset_of(declared)) if kind == "resource" else read_response(block, limit)
    if not headers.get("Content-Length") or len(block) + record.consume() < record.content_length:
        records.cut = records.offset
        response = Response(error="the file ends inside this record")
    elif (reason := headers.get("WARC-Truncated")) and not response.skipped:
        response = replace(response, truncated=f"the crawler truncated the page ({reason})")
    return Capture(
        records.offset,
        response,
        (headers.get("WARC-Record-ID") or "").strip("<> "),
        (headers.get("WARC-Target-URI") or "").strip("<> ") or None,  # wget writes it in angle brackets
        headers.get("WARC-Date") or "",
    )


def _member(stream: BinaryIO) -> Iterator[bytes]:
    """Decompress a gzip member in bounded pieces, as little input can give much output; the stream is then behind it.

    Raises
    ------
    EOFError, zlib.error
        The file ends inside the member, or is damaged.
    """
    unzip = zlib.decompressobj(wbits=31)
    while not unzip.eof:
        chunk = stream.read(_BLOCK)
        if not chunk:
            raise EOFError
        while chunk:
            yield unzip.decompress(chunk, _BLOCK)
            chunk = unzip.unconsumed_tail
    stream.seek(-len(unzip.unused_data), os.SEEK_CUR)


def _after_member(stream: BinaryIO, offset: int, size: int) -> tuple[int, int | None]:
    """Return where the next record after a gzip member seems to start, and the offset of a member that is cut off."""
    start = size
    try:
        while start == size and offset < size:
            stream.seek(offset)
            if not GZIP.startswith(stream.read(len(GZIP))):  # padding
                break
            stream.seek(offset)
            for _ in _member(stream):
                pass
            offset = stream.tell()
            start = next_record(stream, offset, size, zipped=True)
    except (EOFError, zlib.error):
        return size, offset
    return start, None


def _passes_member(path: Path, offset: int, length: int) -> bool:
    """Tell whether a record goes past the end of its gzip member, though the next member begins a record.

    The members that some compressors make begin and end anywhere.
    """
    with path.open("rb") as stream:
        stream.seek(offset)
        pieces = _member(stream)
        start = next(pieces, b"")
        size = len(start) + sum(map(len, pieces))
        return start.find(_RECORD_END) + len(_RECORD_END) + length > size and _begins_record(stream.read(1024))
