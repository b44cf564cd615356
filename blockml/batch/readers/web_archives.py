"""Web archives: one page per response.

A WARC file is split into ranges that workers read in parallel if it is uncompressed, or if each record is a separate
gzip member, as the standard recommends; see :mod:`blockml.archives.warc`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from blockml.archives.compression import compression_of, open_decompressed
from blockml.archives.kinds import name_text
from blockml.archives.warc import Capture, arc_captures, is_zipped, next_record, piped_captures, warc_captures
from blockml.batch.readers.work_units import Item, Items, Reading, RecordFields, Unit, in_units, printable
from blockml.text.addresses import split_host

__all__ = ["WarcRange", "arc_units", "piped_warc", "warc_units", "without_overlap"]

_RANGE_BYTES = 1 << 18  # compressed; about five times as many uncompressed
_COMPRESSION = 5
#: Compressions of WARC files that are read in ranges.
_WITH_RANGES = ("", ".gz")


@dataclass(frozen=True, slots=True)
class WarcRange:
    """Range of a WARC file: the records that start in it."""

    path: Path
    start: int
    end: int
    zipped: bool

    @property
    def stored(self) -> int:
        """Length in bytes of the file."""
        return self.end - self.start

    def items(self, reading: Reading) -> Iterator[Item]:
        """Yield the pages of the range; a damaged record gives an item with an error and loses no other record."""

        def captures() -> Iterator[Capture]:
            reading.end = yield from warc_captures(self.path, reading.limit, self.start, self.end, reading.reached)

        return _pages(name_text(self.path.name), captures(), reading)

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], WarcRange | None]:  # noqa: ARG002 (as above)
        """Return the record at the offset that was reached, and the records after it."""
        offset = max(offset, self.start)
        with self.path.open("rb") as stream:
            start = next_record(stream, offset + 1, self.end, zipped=self.zipped)
        left = WarcRange(self.path, start, self.end, self.zipped) if start < self.end else None
        return [f"{name_text(self.path.name)}@{offset}"], left


def _ranges(path: Path) -> Iterator[WarcRange]:
    """Split a WARC file, uncompressed or compressed with gzip, into ranges. One compressed as a whole is one range."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        start_bytes = stream.read(4)
        zipped = is_zipped(path, start_bytes)
        start = 0
        step = _RANGE_BYTES * (1 if zipped else _COMPRESSION)
        while start < size:
            end = next_record(stream, start + step, size, zipped=zipped)
            yield WarcRange(path, start, end, zipped)
            start = end


def without_overlap(unit: Unit, before: Unit | None, end: int | None) -> Unit | None:
    """Return the part of a unit after the offset where reading of the previous unit ended; None if nothing is left."""
    if not isinstance(unit, WarcRange) or not isinstance(before, WarcRange) or unit.path != before.path or end is None:
        return unit
    if end <= unit.start or unit.start < before.end:  # the second if a file is given twice
        return unit
    return WarcRange(unit.path, end, unit.end, unit.zipped) if end < unit.end else None


def warc_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Unit]:
    """Split a WARC file into units: ranges, unless its compression has to be undone from the start."""
    if compression_of(path) in _WITH_RANGES:
        yield from _ranges(path)
    else:
        with open_decompressed(path) as stream:
            yield from piped_warc(name_text(path.name), stream, fields, reading)


def piped_warc(name: str, stream: BinaryIO, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001
    """Read the pages of a WARC file that comes through a pipe."""
    return in_units(_pages(name, piped_captures(stream, reading.limit), reading))


def arc_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:  # noqa: ARG001 (of all readers)
    """Read the pages of an ARC file, compressed or not; see :func:`in_units`."""
    return in_units(_pages(name_text(path.name), arc_captures(path, reading.limit), reading))


def _pages(name: str, captures: Iterable[Capture], reading: Reading) -> Iterator[Item]:
    """Yield the pages in the records of a file, and count the other records."""
    for capture in captures:
        response = capture.response
        if response.skipped:
            reading.skipped[printable(response.skipped)] += 1
            continue
        page_id = printable(capture.id) or f"{name}@{capture.offset or capture.position}"
        url = printable(capture.url or "") or None
        if response.error:
            yield Item(page_id, url=url, error=response.error)
            continue
        truncated = response.truncated and printable(response.truncated)
        html = response.body if response.codings else response.body[: reading.limit]
        page = Item(page_id, None, html, url, response.charset, split_host(url)[0], None, truncated, response.codings)
        yield page
