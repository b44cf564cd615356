"""WARC files (ISO 28500) and ARC files, the format before: the records of a file or a range of it.

The start of a range is searched for: it is an offset where a gzip member starts whose content starts like a record. A
body that contains an archive may look the same. The previous range then ends after this offset, at the one that
:func:`warc_captures` returns, and the offset is discarded; so splitting never changes which records are read.
"""

from __future__ import annotations

import mmap
import re
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from blockml.archives.compression import GZIP, compression_of, recognized
from blockml.archives.content import RECORD_START, Content, DamageError, Syntax
from blockml.archives.http import HTML_TYPES, MAX_HEADER, Response, charset_of, media_type, read_response
from blockml.archives.kinds import name_text, split_compression

__all__ = [
    "Capture",
    "arc_captures",
    "begins_record",
    "is_zipped",
    "next_record",
    "piped_captures",
    "read_captures",
    "warc_captures",
]


_SNIFFED = 1 << 10
_MEMBER = b"\x1f\x8b\x08"
_RECORD = b"WARC/1."
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
    position: int = 0  #: Start of the record in the uncompressed content; for gzip members, in that of this reading


#: Reads the header of a record; returns what it says, and a function from the limit of a body to the response.
Begin = Callable[[Content], tuple[Capture, Callable[[int], Response]]]


def warc_captures(
    path: Path, limit: int, start: int = 0, end: int | None = None, reached: Callable[[int], None] = lambda _: None
) -> Generator[Capture, None, int]:
    """Read the records that start in a range of a file; a damaged one gives an error and no other one is lost.

    Parameters
    ----------
    path
        The file, compressed or not.
    limit
        Maximum number of bytes of a body.
    start, end
        Offset of a record, or of its gzip member, and end of the range; by default the whole file.
    reached
        Called with the offset of each record before it is read.

    Returns
    -------
    int
        Offset at which reading ended: at least ``end``.
    """
    size = path.stat().st_size
    end = size if end is None else end
    with path.open("rb") as stream:
        stream.seek(start)
        first = stream.peek(4)[:4]
        content = Content(stream, start, ".gz" if is_zipped(path, first) else recognized(first))
        place = yield from read_captures(content, end, limit, reached)
    return size if place is None or not content.has_offsets else place


def piped_captures(stream: BinaryIO, limit: int) -> Iterator[Capture]:
    """Read the records of an uncompressed file from a pipe; a damaged one gives an error and no other one is lost."""
    yield from read_captures(Content(stream, None), None, limit, lambda _: None)


def is_zipped(path: Path, first: bytes) -> bool:
    """Tell whether a file's records are in gzip members: by its first bytes, or by its name if these are damaged."""
    return first.startswith(GZIP) or (split_compression(path.name)[1] == ".gz" and not first.startswith(_RECORD[:4]))


def next_record(stream: BinaryIO, position: int, size: int, *, zipped: bool) -> int:
    """Return the first offset at or after ``position`` where a record seems to start, or else ``size``."""
    if position >= size:
        return size
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if not zipped:
            return found.start() if (found := RECORD_START.search(content, position)) else size
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


def _begin(content: Content) -> tuple[Capture, Callable[[int], Response]]:
    """Read the header of a record."""
    fields = content.fields()
    url = fields.get("warc-target-uri", "").strip("<> ") or None  # wget writes it in angle brackets
    page_id = fields.get("warc-record-id", "").strip("<> ")
    capture = _empty(content, page_id, url, fields.get("warc-date", ""))
    return capture, partial(_response, content, fields)


def read_captures(
    content: Content, end: int | None, limit: int, reached: Callable[[int], None], begin: Begin = _begin
) -> Generator[Capture, None, int | None]:
    """Yield the records of an archive that start before ``end``; ``begin`` reads their headers.

    A record is yielded only after the next one was found, because the checksum of a gzip member comes last.

    Returns
    -------
    int or None
        Offset of the record that starts at or after ``end``; None if the stream ended.
    """
    held: Capture | None = None
    while True:
        try:
            while content.find():
                if held is not None:
                    yield held
                held = None
                if end is not None and content.offset >= end:
                    return content.offset
                reached(content.offset)
                held, read = begin(content)
                held = replace(held, response=read(limit))
        except DamageError as damage:
            if held is not None and not damage.in_record:
                yield held
                held = None
                if end is not None and content.offset >= end:
                    return content.offset
            lost = held or _empty(content)
            goes_on = content.resume()
            reasons = "; ".join(dict.fromkeys(filter(None, (str(damage), content.lost))))
            yield replace(lost, response=Response(error=f"damaged ({reasons})"))
            held = None
            if not goes_on:
                return None
        else:
            if held is not None:
                yield held
            return None


def _empty(content: Content, page_id: str = "", url: str | None = None, date: str = "") -> Capture:
    """Return the capture of the current record, without its response."""
    return Capture(content.offset, Response(), page_id, url, date, content.position)


def _response(content: Content, fields: Mapping[str, str], limit: int) -> Response:
    """Read the content of a record; raises DamageError."""
    digits = fields.get("content-length", "")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
        raise DamageError("the record's Content-Length is missing or invalid")
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
    is_response = kind == "response"
    response = read_response(block) if is_response else Response(block[:limit], charset=charset_of(declared))
    if response.skipped or response.error:
        return response
    if reason := fields.get("warc-truncated"):
        return replace(response, truncated=f"the crawler truncated the page ({reason})")
    if fields.get("warc-segment-number"):  # ISO 28500, section 7: the others are continuation records
        return replace(response, truncated="only the first segment of the page is read")
    return response


#: The line before a record: URL, address, date, media type and, last, length.
_LINE = rb"\S{1,7000}+ +\S{1,100} +\d{8,14} +(?:\S[^\n]{0,900} )?\d{1,18}[ \r]{0,9}(?:\n|\Z)"
_ARC = Syntax(
    start=re.compile(rb"^(?=[a-z][a-z0-9+.-]{1,20}:)" + _LINE, re.MULTILINE),
    first_line=re.compile(_LINE),
    prefix=re.compile(rb"[a-z][a-z0-9+.-]{1,12}:"),
    max_line=1 << 13,
    n_ends=1,
    overlap=1 << 13,
)


def arc_captures(path: Path, limit: int) -> Iterator[Capture]:
    """Read the records of a file, compressed or not, whose ids are their numbers.

    A damaged one gives an error, and no other one is lost.
    """
    name, count = name_text(path.name), 0

    def begin(content: Content) -> tuple[Capture, Callable[[int], Response]]:
        nonlocal count
        count += 1
        words = content.first_line.decode("utf-8", "replace").split()
        capture = Capture(0, Response(), f"{name}:{count}", words[0], words[2])
        return capture, partial(_arc_response, content, int(words[-1]))

    with path.open("rb") as stream:
        content = Content(stream, 0, compression_of(path), _ARC)
        for capture in read_captures(content, None, limit, lambda _: None, begin):
            if not capture.id:  # there is no record here
                count += 1
                yield replace(capture, id=f"{name}:{count}")
            elif not (capture.url or "").startswith("filedesc:"):
                yield capture


def _arc_response(content: Content, length: int, limit: int) -> Response:
    return read_response(content.read(length, limit + MAX_HEADER))
