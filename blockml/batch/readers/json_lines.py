"""JSON lines: one page per line."""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from blockml import _kernel
from blockml.archives.compression import DAMAGED, bounded_lines, compression_of, goes_on, open_decompressed
from blockml.archives.kinds import name_text
from blockml.batch.readers.work_units import UNIT_BYTES, UNIT_PAGES, Item, Reading, RecordFields, Unit, printable
from blockml.text.addresses import split_host

__all__ = ["LineBlock", "LineRange", "line_units", "loads", "page_of", "piped_lines"]

#: Maximum bytes of a line per byte of a page: a two-byte character may be written as a six-byte escape.
_LINE_FACTOR = 3
#: Maximum bytes of a range that is read at once; only ranges with a long line have more.
_AT_ONCE = 4 * UNIT_BYTES
#: Bytes to search for line ends at a time; they should fit in the processor's cache.
_SEARCHED_BYTES = 256 << 10
_BOM = b"\xef\xbb\xbf"
#: Placeholder for the text of a page while the rest of its line is parsed. It occurs in no line.
_MARK = uuid.uuid4().hex.encode()


@dataclass(frozen=True, slots=True)
class LineRange:
    """Range of whole lines of an uncompressed file."""

    path: Path
    start: int
    end: int
    first: int  #: Number of the first line, starting at 1.
    fields: RecordFields

    @property
    def stored(self) -> int:
        """Length in bytes."""
        return self.end - self.start

    def items(self, reading: Reading) -> Iterator[Item]:
        """Yield the pages of the lines."""
        number, offset, name = self.first, self.start, name_text(self.path.name)
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                stream: BinaryIO = file
                if self.stored <= _AT_ONCE:  # faster than line by line
                    stream = io.BytesIO(file.read(self.stored))
                for number, (line, length) in enumerate(bounded_lines(stream, _line_limit(reading)), self.first):
                    if item := page_of(line, length, f"{name}:{number}", self.fields):
                        yield item
                    offset += length
                    if offset >= self.end:
                        return
        except OSError as error:
            yield Item(f"{name}:{number}", error=f"cannot read the rest of the file ({error})")

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], None]:  # noqa: ARG002 (the protocol's signature)
        """Return a name of the range, whose lines are not known."""
        return [f"{self.path.name}@{self.start}"], None


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Lines that the parent process decompressed; the worker parses them."""

    source: str
    first: int
    lines: tuple[tuple[bytes, int], ...]  #: Each line with its full length in bytes.
    fields: RecordFields
    error: str | None = None  #: Reason why reading ended after these lines.
    stored: int = 0

    def items(self, reading: Reading) -> Iterator[Item]:  # noqa: ARG002 (the protocol's signature)
        """Yield the pages of the lines."""
        for number, (line, length) in enumerate(self.lines, self.first):
            if item := page_of(line, length, f"{self.source}:{number}", self.fields):
                yield item
        if self.error is not None:
            yield Item(f"{self.source}:{self.first + len(self.lines)}", error=self.error)

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], None]:  # noqa: ARG002 (the protocol's signature)
        """Return the numbers of lines that may not have been read; empty lines are not pages."""
        return [f"{self.source}:{number}" for number in range(self.first + n_done, self.first + len(self.lines))], None


def line_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Unit]:
    """Split a file, compressed or not, into units of whole lines."""
    if not compression_of(path):
        yield from _ranges(path, fields)
        return
    with open_decompressed(path) as stream:
        yield from piped_lines(name_text(path.name), stream, fields, reading)


def _ranges(path: Path, fields: RecordFields) -> Iterator[LineRange]:
    """Split an uncompressed file into ranges of whole lines, about :data:`UNIT_BYTES` each."""
    start = position = n_lines = 0
    first = 1
    block = bytearray(_SEARCHED_BYTES)
    with path.open("rb", buffering=0) as stream:
        while length := stream.readinto(block):
            cut = 0
            while end := block.find(b"\n", cut, length) + 1:  # faster than bytes.count, because lines are long
                cut, n_lines = end, n_lines + 1
            if cut and position + cut - start >= UNIT_BYTES:
                yield LineRange(path, start, position + cut, first, fields)
                first += n_lines
                start, n_lines = position + cut, 0
            position += length
    if position > start:
        yield LineRange(path, start, position, first, fields)


def piped_lines(source: str, stream: BinaryIO, fields: RecordFields, reading: Reading) -> Iterator[LineBlock]:
    """Split a stream into blocks of whole lines, about :data:`UNIT_BYTES` each.

    Damage of compressed data is an error of its block, and the lines of the frames or gzip members after it follow.
    """
    lines: list[tuple[bytes, int]] = []
    first, size = 1, 0
    error: str | None = None
    while True:
        may_be_partial, error = error is not None, None
        try:
            for line, length in bounded_lines(stream, _line_limit(reading)):
                is_partial, may_be_partial = may_be_partial and not _is_record(line), False
                if is_partial:  # the end of a damaged line
                    continue
                lines.append((line, length))
                size += len(line)
                if size >= UNIT_BYTES or len(lines) == UNIT_PAGES:
                    yield LineBlock(source, first, tuple(lines), fields)
                    first, lines, size = first + len(lines), [], 0
        except DAMAGED as damage:
            error = f"cannot read {'a part' if goes_on(stream) else 'the rest'} of the file ({damage})"
        if lines or error:
            yield LineBlock(source, first, tuple(lines), fields, error)
        if error is None or not goes_on(stream):
            return
        first, lines, size = first + len(lines) + 1, [], 0


def _line_limit(reading: Reading) -> int:
    return _LINE_FACTOR * reading.limit + UNIT_BYTES


def page_of(line: bytes, length: int, default_id: str, fields: RecordFields) -> Item | None:
    """Return the page of a line; None for an empty line."""
    if length > len(line):
        return Item(default_id, error=f"the line has {length} bytes, more than allowed for a page")
    line = line.removeprefix(_BOM)
    if not line or line.isspace():
        return None
    try:
        row = _parse(line, fields.html)
    except (ValueError, RecursionError) as error:
        return Item(default_id, error=f"not JSON ({error})")
    if not isinstance(row, dict):
        return Item(default_id, error="not a JSON object")
    url, site = (printable(row[name]) if isinstance(row.get(name), str) else None for name in (fields.url, fields.site))
    page_id = default_id if row.get(fields.id) is None else printable(str(row[fields.id]))
    html = row.get(fields.html)
    if not isinstance(html, bytes | str):
        return Item(page_id, url=url, error=f"the record has no string {fields.html!r}; --columns can name another")
    return Item(page_id, html=html, url=url, charset="utf-8", site=site or split_host(url)[0])


def _parse(line: bytes, field: str) -> Any:  # noqa: ANN401 (any JSON)
    """Parse a line. The text of the field is returned as bytes if possible, because pages are parsed from UTF-8.

    Invalid UTF-8 is left to the parser of the page, which replaces and counts it.
    """
    if record := _parse_around(line, field):
        return record
    try:
        row = loads(line)
    except ValueError:  # not UTF-8, or a value that orjson rejects and the standard library accepts
        row = json.loads(line.decode("utf-8", "surrogateescape"))
    if isinstance(row, dict) and isinstance(row.get(field), str):
        with suppress(UnicodeEncodeError):  # lone surrogates
            row[field] = row[field].encode("utf-8", "surrogateescape")
    return row


def _parse_around(line: bytes, field: str) -> dict[str, Any] | None:
    """Parse a line, reading one field with the C extension; None if the line isn't simple enough."""
    start = _start_of(field).search(line)
    if start is None or _kernel.compiled is None:
        return None
    text, end = _kernel.compiled.json_string(line, start.end())
    if text is None:
        return None
    try:
        record = loads(line[: start.end()] + _MARK + line[end:])
    except ValueError:
        return None
    if not isinstance(record, dict) or record.get(field) != _MARK.decode():  # it was in another string or object
        return None
    return record | {field: text}


def _is_record(line: bytes) -> bool:
    """Tell whether a line is a JSON object."""
    try:
        return isinstance(loads(line), dict)
    except ValueError:
        return False


@cache
def _start_of(field: str) -> re.Pattern[bytes]:
    """Return a pattern for a field up to the first quotation mark of its text."""
    return re.compile(rb'%b\s*:\s*"' % re.escape(json.dumps(field, ensure_ascii=False).encode()))


def loads(data: bytes) -> Any:  # noqa: ANN401 (any JSON)
    """Parse JSON, with orjson if it is installed.

    Raises
    ------
    ValueError
        It is not valid.
    """
    try:
        import orjson
    except ImportError:
        return json.loads(data.decode())
    return orjson.loads(data)
