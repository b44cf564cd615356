"""JSON lines: one page per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from blockml.batch.items import Item
from blockml.batch.readers.base import UNIT_BYTES, UNIT_PAGES, Reading, RecordFields, printable
from blockml.batch.readers.compression import DAMAGED, bounded_lines
from blockml.datasets.base import site_of

__all__ = ["LINE_SUFFIXES", "LineBlock", "LineRange", "line_blocks", "line_ranges"]

#: Suffixes of JSON lines files, without that of a compression.
LINE_SUFFIXES = (".jsonl", ".ndjson")

#: Bytes of a line per byte of a page: characters outside ASCII may be written as six-byte escapes of two bytes.
_LINE_FACTOR = 3
#: Bytes of a range that is read at once; only one with a long line has more.
_AT_ONCE = 4 * UNIT_BYTES
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Range of a file that is not compressed; it begins and ends between lines."""

    path: Path
    start: int
    end: int
    first: int  #: Number of the first line, from 1.
    fields: RecordFields

    @property
    def name(self) -> str:
        """File and offset."""
        return f"{self.path.name}@{self.start}"

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    @property
    def stored(self) -> int:
        """Length in bytes."""
        return self.size

    def items(self, reading: Reading) -> Iterator[Item]:
        """Yield the pages of the lines."""
        number, offset = self.first, self.start
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                stream: BinaryIO = file
                if self.size <= _AT_ONCE:  # faster than line by line
                    stream = io.BytesIO(file.read(self.size))
                for number, (line, length) in enumerate(bounded_lines(stream, _line_limit(reading)), self.first):
                    if item := _page(line, length, f"{self.path.name}:{number}", self.fields):
                        yield item
                    offset += length
                    if offset >= self.end:
                        return
        except OSError as error:
            yield Item(f"{self.path.name}:{number}", error=f"cannot read the rest of the file ({error})")


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that the parent process decompressed; the worker parses them."""

    source: str
    first: int
    lines: tuple[tuple[bytes, int], ...]  #: Each with its full length in bytes.
    size: int
    fields: RecordFields
    error: str | None = None  #: Reason why reading ended after these lines.
    stored: int = 0

    @property
    def name(self) -> str:
        """File and number of the first line."""
        return f"{self.source}:{self.first}"

    def items(self, reading: Reading) -> Iterator[Item]:  # noqa: ARG002 (the protocol's signature)
        """Yield the pages of the lines."""
        for number, (line, length) in enumerate(self.lines, self.first):
            if item := _page(line, length, f"{self.source}:{number}", self.fields):
                yield item
        if self.error is not None:
            yield Item(f"{self.source}:{self.first + len(self.lines)}", error=self.error)


def line_ranges(path: Path, fields: RecordFields) -> Iterator[LineRange]:
    """Split a file that is not compressed into ranges of whole lines, about :data:`UNIT_BYTES` each."""
    start = position = n_lines = 0
    first = 1
    block = bytearray(UNIT_BYTES)
    codes = np.frombuffer(block, np.uint8)
    with path.open("rb", buffering=0) as stream:
        while length := stream.readinto(block):
            n_lines += int(np.count_nonzero(codes[:length] == ord("\n")))  # faster than bytes.count
            cut = block.rfind(b"\n", 0, length) + 1
            if cut and position + cut - start >= UNIT_BYTES // 2:
                yield LineRange(path, start, position + cut, first, fields)
                first += n_lines
                start, n_lines = position + cut, 0
            position += length
    if position > start:
        yield LineRange(path, start, position, first, fields)


def line_blocks(source: str, stream: BinaryIO, fields: RecordFields, limit: int) -> Iterator[LineBlock]:
    """Split a stream into blocks of whole lines, about :data:`UNIT_BYTES` each."""
    lines: list[tuple[bytes, int]] = []
    first, size = 1, 0
    error = None
    try:
        for line, length in bounded_lines(stream, _line_limit(Reading(limit))):
            lines.append((line, length))
            size += len(line)
            if size >= UNIT_BYTES or len(lines) == UNIT_PAGES:
                yield LineBlock(source, first, tuple(lines), size, fields)
                first, lines, size = first + len(lines), [], 0
    except DAMAGED as damage:
        error = f"cannot read the rest of the file ({damage})"
    if lines or error:
        yield LineBlock(source, first, tuple(lines), size, fields, error)


def _line_limit(reading: Reading) -> int:
    return _LINE_FACTOR * reading.limit + UNIT_BYTES


def _page(line: bytes, length: int, default_id: str, fields: RecordFields) -> Item | None:
    """Return the page of a line; None for an empty line."""
    if length > len(line):
        return Item(default_id, error=f"the line has {length} bytes, more than a page may have")
    line = line.removeprefix(_BOM)
    if not line or line.isspace():
        return None
    try:
        row = _parse(line)
    except (ValueError, RecursionError) as error:
        return Item(default_id, error=f"not JSON ({error})")
    if not isinstance(row, dict) or not isinstance(row.get(fields.html), str):
        return Item(default_id, error=f"the record has no string {fields.html!r}")
    url, charset, site = (
        printable(row[name]) if isinstance(row.get(name), str) else None
        for name in (fields.url, fields.charset, fields.site)
    )
    page_id = default_id if row.get(fields.id) is None else printable(str(row[fields.id]))
    return Item(page_id, html=row[fields.html], url=url, charset=charset, site=site or site_of(url, ""))


def _parse(line: bytes) -> Any:  # noqa: ANN401 (any JSON)
    """Parse a line, by orjson where it is installed; it refuses some values that the standard library reads."""
    try:
        import orjson
    except ImportError:
        return json.loads(line.decode("utf-8", "replace"))
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line.decode("utf-8", "replace"))
