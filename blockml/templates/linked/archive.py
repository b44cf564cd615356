"""Archived pages in WARC files and JSON lines, indexed by URL."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from blockml.archives.compression import DAMAGED, open_decompressed
from blockml.archives.http import decoded_body
from blockml.archives.warc import Capture, arc_captures, begins_record, warc_captures
from blockml.errors import InputError, UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.linked.links import PageSource, join, normalise

#: Maximum bytes of a JSON line: those of the largest page, written as escapes.
_MAX_LINE = 3 * 2**26
#: Maximum number of warnings (our choice).
_MAX_WARNINGS = 100

_BLOCK = 1 << 20  # bytes read at a time
_BOM = b"\xef\xbb\xbf"
#: First bytes, decompressed, of WARC and ARC files.
ARCHIVE_STARTS = (b"WARC/", b"filedesc:")


@dataclass(frozen=True, slots=True)
class _Place:
    """Location of a page or redirect."""

    file: int  #: Number of the file
    offset: int  #: Start of the record or line, or of a gzip member before it
    skip: int  #: Records to skip from there
    date: str
    target: str | None = None  #: Target of a redirect


class ArchiveSource(PageSource):
    """Fetched pages in WARC files (ISO 28500), ARC files, or files of JSON lines, compressed or not.

    In a WARC or ARC file, the pages are those that ``blockml predict`` reads; the charset of ``Content-Type`` is used
    for parsing. Redirects are followed within the archive; the page then has the final URL. The latest of several
    captures of a URL counts. A JSON line is ``{"url", "html", "charset"}``.

    Construction reads the files once for an index; pages are read when requested. That is fast if each record of a WARC
    file is a separate gzip member, as the standard recommends, or if the file isn't compressed; in an ARC file, and in
    one compressed in another way, everything before the page is read again. A damaged WARC record is skipped; other
    files are read up to the damage. Links to pages that are not in the archive resolve to None. ``warnings`` lists
    file, byte offset and reason of each unreadable part. Raises InputError if there is no such file or folder, or no
    page in it; MissingExtraError if a package for the kind of file is not installed; and UsageError for a negative
    ``max_redirects``.

    Parameters
    ----------
    path
        File, or folder of files.
    max_redirects
        Maximum number of consecutive redirects.
    parsing
        Options for :func:`blockml.parse`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "site.jsonl").write_text('{"url": "http://a.example/", "html": "<p>Home</p>"}')
    ...     source = ArchiveSource(Path(folder) / "site.jsonl")
    ...     source.urls, source.get("http://A.example").blocks.texts
    (('http://a.example/',), ('Home',))
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_redirects: int = 5, parsing: Mapping[str, Any] | None = None
    ) -> None:
        if max_redirects < 0:
            raise UsageError(f"max_redirects must be at least 0, got {max_redirects}")
        self.max_redirects = max_redirects
        self._parsing = dict(parsing or {})
        parse("", url=None, charset=None, **self._parsing)  # report invalid options now
        source = Path(path)
        if not source.is_file() and not source.is_dir():
            raise InputError("no such file or folder", source=source)
        # A folder may contain logs next to the archives.
        files = [source] if source.is_file() else sorted(file for file in source.iterdir() if file.is_file())
        starts = (*ARCHIVE_STARTS, b"{")
        self._files = [file for file in files if source.is_file() or _start_of(file).startswith(starts)]
        self._places: dict[str, _Place] = {}
        self._warnings: list[str] = []
        for number, file in enumerate(self._files):
            index = self._index_records if _start_of(file).startswith(ARCHIVE_STARTS) else self._index_lines
            index(number, file)
        self.warnings = tuple(self._warnings)
        if not self.urls:
            reason = f": {self.warnings[0]}" if self.warnings else ""
            raise InputError(f"no archived web pages here{reason}", source=path)

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of all pages in the order of the files, without redirects."""
        return tuple(url for url, place in self._places.items() if place.target is None)

    def get(self, url: str) -> Page | None:
        """Load and parse a page; None if the archive lacks it or it is damaged."""
        known = self._find(normalise(url))
        if known is None:
            return None
        place = self._places[known]
        file = self._files[place.file]
        limits = self._parsing.get("limits") or Limits()
        try:
            body: bytes | str
            if _start_of(file).startswith(ARCHIVE_STARTS):
                body, charset = _read_record(file, place, known, limits.bytes + 1)  # so parsing sees the limit
            else:
                body, charset = _read_line(file, place, known)
        except DAMAGED:  # the file may have changed, too
            return None
        return parse(body, url=known, charset=charset, **self._parsing)

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of the page that a link leads to, after redirects; None if the archive lacks it."""
        return self._find(super().resolve(page, href))

    def _find(self, url: str | None) -> str | None:
        """Return the URL under which a page is listed, after all redirects."""
        for _ in range(self.max_redirects + 1):
            if url is None or url not in self._places:
                return None
            target = self._places[url].target
            if target is None:
                return url
            url = target
        return None

    def _add(self, url: str | None, place: _Place) -> None:
        if url is None or url == place.target:  # a redirect to itself, for example to set a cookie, is ignored
            return
        known = self._places.get(url)
        if known is None or known.date <= place.date:
            self._places[url] = place

    def _warn(self, file: Path, offset: int, reason: str) -> None:
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append(f"{file.name}: byte {offset}: {reason}")

    def _index_lines(self, number: int, file: Path) -> None:
        offset = 0
        try:
            with open_decompressed(file) as stream:
                while line := stream.readline(_MAX_LINE):
                    if line.strip():
                        row = _row(line)
                        if row is None:
                            self._warn(file, offset, "not a JSON object with the texts 'url' and 'html'; skipped")
                        else:
                            self._add(normalise(row["url"]), _Place(number, offset, 0, ""))
                    offset += len(line)
        except DAMAGED as error:
            self._warn(file, offset, f"reading stopped here ({error})")

    def _index_records(self, number: int, file: Path) -> None:
        offset, skip, start = 0, -1, 0
        try:
            for capture in _captures(file, 1):
                skip += 1
                if capture.offset > start:
                    start = capture.offset
                    if begins_record(file, start):  # else the gzip member starts inside a record
                        offset, skip = start, 0
                response, url = capture.response, normalise(capture.url or "")
                date = "".join(filter(str.isdigit, capture.date))  # ARC files have only the digits
                if response.error:
                    self._warn(file, capture.offset, response.error)
                elif response.location and url and (target := join(url, response.location)):
                    self._add(url, _Place(number, offset, skip, date, target))
                elif not response.skipped:
                    self._add(url, _Place(number, offset, skip, date))
        except DAMAGED as error:
            self._warn(file, start, f"reading stopped here ({error})")


def _captures(file: Path, limit: int, offset: int = 0) -> Iterator[Capture]:
    """Read the records of a WARC file starting at an offset, or all of an ARC file."""
    if _start_of(file).startswith(ARCHIVE_STARTS[0]):
        return warc_captures(file, limit, offset)
    return arc_captures(file, limit)


def _read_record(file: Path, place: _Place, url: str, limit: int) -> tuple[bytes, str | None]:
    """Read body and charset of a response; raise OSError if it is damaged or another record is at its offset."""
    capture = next(islice(_captures(file, limit, place.offset), place.skip, None), None)
    if capture is None or normalise(capture.url or "") != url or capture.response.error or capture.response.skipped:
        raise OSError("damaged, or changed since it was indexed")
    return decoded_body(capture.response.body, capture.response.codings, limit)[0], capture.response.charset


def _read_line(file: Path, place: _Place, url: str) -> tuple[str, str | None]:
    """Read page and charset of a JSON line; raise OSError if it has changed."""
    with open_decompressed(file) as stream:
        _skip(stream, place.offset)
        row = _row(stream.readline(_MAX_LINE))
    if row is None or normalise(row["url"]) != url:
        raise OSError("changed since it was indexed")
    charset = row.get("charset")
    return row["html"], charset if isinstance(charset, str) else None


def _skip(stream: BinaryIO, length: int) -> None:
    """Move forward in a stream, which can't seek if it is compressed by Zstandard."""
    if stream.seekable():
        stream.seek(length)
        return
    while length > 0 and (piece := stream.read(min(length, _BLOCK))):
        length -= len(piece)


def _row(line: bytes) -> dict[str, Any] | None:
    """Parse a JSON line; None if it is not the record of a page."""
    row = json_object(line)
    return row if row and isinstance(row.get("url"), str) and isinstance(row.get("html"), str) else None


def json_object(text: bytes) -> dict[str, Any] | None:
    """Parse a JSON object, possibly after a byte order mark; None for anything else."""
    try:
        row = json.loads(text.removeprefix(_BOM))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _start_of(file: Path) -> bytes:
    try:
        with open_decompressed(file) as stream:
            return stream.read(16).removeprefix(_BOM)
    except DAMAGED:
        return b""
