"""WARC files (ISO 28500): one page per response.

A file whose records are gzip members of their own, as the standard recommends, or that is not compressed, is split into
ranges that workers read in parallel. The start of a range is searched for: it is a place where a gzip member begins
whose content begins like a record. A body that contains an archive may look the same. The range before it then ends
behind this place, at :attr:`Reading.end`, and the place is given up; so splitting never changes which records are read.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from blockml.batch.items import Item
from blockml.batch.readers.base import Items, Reading, Unit, in_units, printable
from blockml.batch.readers.compression import DAMAGED, GZIP, ZSTD
from blockml.batch.readers.http import HTML_TYPES, MAX_HEADER, Response, charset_of, media_type, read_response
from blockml.errors import MissingExtraError

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

__all__ = ["WarcRange", "stream_units", "warc_ranges", "without_overlap"]

_RANGE_BYTES = 1 << 18  # of a compressed file; about five times as many uncompressed
_COMPRESSION = 5
_BLOCK = 1 << 20
_MEMBER = b"\x1f\x8b\x08"
_RECORD = b"WARC/1."


@dataclass(frozen=True, slots=True)
class WarcRange:
    """Range of a WARC file: the records that start in it."""

    path: Path
    start: int
    end: int
    zipped: bool

    @property
    def name(self) -> str:
        """File and offset."""
        return f"{self.path.name}@{self.start}"

    @property
    def size(self) -> int:
        """Length in bytes, estimated from the compressed length."""
        return self.stored * (_COMPRESSION if self.zipped else 1)

    @property
    def stored(self) -> int:
        """Length in bytes of the file."""
        return self.end - self.start

    def items(self, reading: Reading) -> Iterator[Item]:
        """Yield the pages of the range; a damaged record gives an item with an error and costs no other record."""
        size = self.path.stat().st_size
        start = self.start
        while start < self.end:
            with self.path.open("rb") as stream:
                records = _Records(stream, start, self.path)
                place = yield from _pages(self.path.name, records, self.end, reading)
                if place is None and records.zipped:
                    # The reader takes an empty member or a truncated file for the end.
                    start, cut = _after_member(stream, records.offset, size)
                    if cut is not None:
                        yield Item(f"{self.path.name}@{cut}", error="the file ends inside this gzip member")
                elif place is None:
                    start = size
                elif place < 0:
                    start = next_record(stream, -place, size, zipped=self.zipped)
                else:
                    start = place
        reading.end = start


def warc_ranges(path: Path) -> Iterator[WarcRange]:
    """Split a WARC file into ranges. A file compressed as a whole is one range."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        start_bytes = stream.read(4)
        zipped = start_bytes.startswith(GZIP)
        if start_bytes.startswith(ZSTD):
            yield WarcRange(path, 0, size, zipped=True)
            return
        start = 0
        step = _RANGE_BYTES * (1 if zipped else _COMPRESSION)
        while start < size:
            end = next_record(stream, start + step, size, zipped=zipped)
            yield WarcRange(path, start, end, zipped)
            start = end


def without_overlap(unit: Unit, before: Unit, end: int) -> Unit | None:
    """Return the part of a unit behind the offset where reading of the unit before ended; None if nothing is left."""
    if not isinstance(unit, WarcRange) or not isinstance(before, WarcRange) or unit.path != before.path:
        return unit
    if end <= unit.start or unit.start < before.end:  # the latter in a file that is given twice
        return unit
    return WarcRange(unit.path, end, unit.end, unit.zipped) if end < unit.end else None


def stream_units(name: str, stream: BinaryIO, reading: Reading) -> Iterator[Items]:
    """Read the pages of a WARC file that comes through a pipe, up to the first damaged record."""
    return in_units(name, _drained(name, _Records(cast("BinaryIO", _Pipe(stream)), 0, None), reading))


def _drained(name: str, records: _Records, reading: Reading) -> Iterator[Item]:
    yield from _pages(name, records, None, reading)


def next_record(stream: BinaryIO, position: int, size: int, *, zipped: bool) -> int:
    """Return the first place from ``position`` on where a record seems to start; ``size`` if there is no such place."""
    if position >= size:
        return size
    mark = _MEMBER if zipped else b"\r\n\r\n" + _RECORD
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        while (position := content.find(mark, position)) >= 0:
            if not zipped:
                return position + 4
            if _begins_record(content[position : position + 1024]):
                return position
            position += 1
    return size


def _begins_record(member: bytes) -> bool:
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
        try:
            from fastwarc.stream_io import GzipReader, ZstdReader
            from fastwarc.warc import ArchiveIterator
        except ImportError as error:
            raise MissingExtraError("Reading WARC files", "warc") from error
        if path is not None:
            stream.seek(start)
        first = stream.peek(4)[:4]  # type: ignore[attr-defined] # of a buffered reader
        self._gzip = GzipReader(stream) if first.startswith(GZIP) else None
        self.zipped = self._gzip is not None
        source: Any = self._gzip or (ZstdReader(stream) if first.startswith(ZSTD) else stream)
        self._iterator = iter(ArchiveIterator(source, parse_http=False))
        self.offset = start
        self._path = path
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
            yield record
            record.consume()
            if self._gzip and self._path and self._member() != self.offset:
                self._too_long = _passes_member(self._path, self.offset, record.content_length)
                if self._too_long:
                    raise OSError("the record's length goes past its gzip member")

    def reached(self) -> int:
        """Return the offset of the gzip member, or else of the latest record, that was being read."""
        return self._member() if self._gzip and not self._too_long else self.offset

    def _member(self) -> int:
        assert self._gzip is not None  # noqa: S101 (for the type checker)
        return int(self._gzip.frame_start_position() or 0)


def _pages(name: str, records: _Records, end: int | None, reading: Reading) -> Generator[Item, None, int | None]:
    """Yield the pages of records that start before ``end``.

    A page is held back until the next record was found, since the checksum of a gzip member comes last.

    Returns
    -------
    int or None
        Offset of the record that starts at or behind ``end``; or, negated and minus one, of the damaged record; None
        if the stream ended.
    """
    held: Item | None = None
    held_at = -1
    try:
        for record in records:
            if held is not None:
                yield held
            held, held_at = None, records.offset
            if end is not None and records.offset >= end:
                return records.offset
            held = _page(name, record, records.offset, reading)
    except DAMAGED as error:
        place = records.reached()
        if held is not None and place != held_at:
            yield held
            held = None
        yield Item(held.id if held else f"{name}@{place}", url=held.url if held else None, error=f"damaged ({error})")
        return -1 - place
    if held is not None:
        yield held
    return None


def _page(name: str, record: WarcRecord, offset: int, reading: Reading) -> Item | None:
    """Read a record; None if it is not a page.

    Raises
    ------
    OSError
        The record is damaged.
    """
    headers = record.headers
    kind = (headers.get("WARC-Type") or "unknown").strip().lower()
    if kind not in {"response", "resource"}:
        reading.skipped[f"{printable(kind)} records"] += 1
        return None
    url = printable((headers.get("WARC-Target-URI") or "").strip("<> ")) or None  # wget writes it in angle brackets
    page_id = printable((headers.get("WARC-Record-ID") or "").strip("<> ")) or f"{name}@{offset}"
    declared = (headers.get("Content-Type") or "").lower()
    if kind == "resource" and media_type(declared) not in HTML_TYPES:
        reading.skipped["other media types"] += 1
        return None
    block = record.reader.read(min(record.content_length, reading.limit + MAX_HEADER))
    whole = len(block) > reading.limit or len(block) + record.consume() >= record.content_length
    response = _response(kind, declared, block, reading.limit)
    if response.skipped:
        reading.skipped[response.skipped] += 1
        return None
    if reason := headers.get("WARC-Truncated"):
        response = replace(response, truncated=f"the crawler truncated the page ({printable(reason)})")
    return response.item(page_id, url, None if whole else "the file ends inside this record")


def _response(kind: str, declared: str, block: bytes, limit: int) -> Response:
    """Return the response of a record, or a resource like the body of a response."""
    if kind == "resource":
        return Response(block[:limit], charset_of(declared))
    if not declared.startswith("application/http"):
        return Response(b"", None, skipped="responses of other protocols")
    return read_response(block, declared, limit)


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
        return start.find(b"\r\n\r\n") + 4 + length > size and _begins_record(stream.read(1024))
