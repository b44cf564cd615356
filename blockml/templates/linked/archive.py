"""Pages fetched before: WARC files and JSON lines, indexed by URL."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from blockml.errors import InputError, MissingExtraError, UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.linked.layouts import DAMAGED, GZIP_MAGIC, open_detected
from blockml.templates.linked.links import PageSource
from blockml.templates.linked.urls import join, normalise

if TYPE_CHECKING:
    from fastwarc.stream_io import GzipReader
    from fastwarc.warc import ArchiveIterator, WarcRecord

__all__ = ["HTML_TYPES", "REDIRECTS", "ArchiveSource"]

#: Media types of web pages (HTML standard, section 1.1; RFC 3236).
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})

#: Status codes of redirects (RFC 9110, section 15.4).
REDIRECTS = frozenset({301, 302, 303, 307, 308})

#: Bytes of a line of JSON that are read at once: those of the largest page, written as escapes.
_MAX_LINE = 3 * 2**26
#: Maximum number of warnings (our choice).
_MAX_WARNINGS = 100

_CHUNK = 1 << 20  # bytes read at a time
_LENGTH = re.compile(rb"^content-length:[ \t]*([0-9]{1,18})", re.IGNORECASE | re.MULTILINE)
#: First bytes, decompressed, of WARC files and of JSON lines.
_STARTS = (b"WARC/", b"{")

#: Headers of a response to believe, in fastwarc's terms.
_DECODINGS: tuple[Literal["all", "transfer", "none"], ...] = ("all", "transfer", "none")


@dataclass(frozen=True, slots=True)
class _Capture:
    """Location of a page or redirect."""

    file: int  #: Number of the file
    offset: int  #: Start of the record or line, or of its gzip member
    skip: int  #: Records to skip from there
    date: str
    target: str | None = None  #: Target of a redirect


class ArchiveSource(PageSource):
    """Fetched pages in WARC files (ISO 28500), compressed or not, or in files of JSON lines.

    In a WARC file, responses with status 200 and an HTML media type are pages; the charset of ``Content-Type`` is used
    for parsing. Redirects are followed within the archive; the page then has the final URL. Of several captures of a
    URL the latest counts. A JSON line is ``{"url", "html", "charset"}``.

    Construction reads the files once for an index; pages are read when requested. That is fast if each record is a gzip
    member of its own, as the WARC standard recommends, or if the file isn't compressed; in a file compressed as a
    whole, everything before the page is decompressed again. A damaged file is read up to the damage, see ``warnings``.
    Links to pages that the archive lacks resolve to None. ``warnings`` lists file, byte offset and reason of each
    unreadable part. Raises InputError if there is no such file or folder, or no page in it; MissingExtraError for a
    WARC file without fastwarc installed; and UsageError for a negative ``max_redirects``.

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
        # A folder may contain logs beside the archives.
        files = [source] if source.is_file() else sorted(file for file in source.iterdir() if file.is_file())
        self._files = [file for file in files if source.is_file() or _start_of(file).startswith(_STARTS)]
        self._captures: dict[str, _Capture] = {}
        self._warnings: list[str] = []
        for number, file in enumerate(self._files):
            if _start_of(file).startswith(_STARTS[0]):
                try:
                    import fastwarc.warc  # noqa: F401
                except ImportError as error:
                    raise MissingExtraError("Reading web archives", "warc") from error
                start: int | None = 0
                while start is not None:
                    start = self._index_records(number, file, start)
            else:
                self._index_lines(number, file)
        self.warnings = tuple(self._warnings)
        if not self.urls:
            reason = f": {self.warnings[0]}" if self.warnings else ""
            raise InputError(f"no fetched web pages here{reason}", source=path)

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of all pages in the order of the files, without redirects."""
        return tuple(url for url, capture in self._captures.items() if capture.target is None)

    def get(self, url: str) -> Page | None:
        """Load and parse a page; None if the archive lacks it or it is damaged."""
        known = self._find(normalise(url))
        if known is None:
            return None
        capture = self._captures[known]
        file = self._files[capture.file]
        limits = self._parsing.get("limits") or Limits()
        try:
            body: bytes | str
            if _start_of(file).startswith(_STARTS[0]):
                body, charset = _read_record(file, capture, known, limits.bytes + 1)  # so parsing sees the limit
            else:
                body, charset = _read_line(file, capture, known)
        except DAMAGED:  # the file may have changed, too
            return None
        return parse(body, url=known, charset=charset, **self._parsing)

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of the page that a link leads to, after redirects; None if the archive lacks it."""
        return self._find(super().resolve(page, href))

    def _find(self, url: str | None) -> str | None:
        """Return the URL under which a page is listed, after all redirects."""
        for _ in range(self.max_redirects + 1):
            if url is None or url not in self._captures:
                return None
            target = self._captures[url].target
            if target is None:
                return url
            url = target
        return None

    def _add(self, url: str | None, capture: _Capture) -> None:
        if url is None or url == capture.target:  # a redirect to itself, as for a cookie, is ignored
            return
        known = self._captures.get(url)
        if known is None or known.date <= capture.date:
            self._captures[url] = capture

    def _warn(self, file: Path, offset: int, reason: str) -> None:
        if len(self._warnings) < _MAX_WARNINGS:
            self._warnings.append(f"{file.name}: byte {offset}: {reason}")

    def _index_lines(self, number: int, file: Path) -> None:
        offset = 0
        try:
            with open_detected(file) as stream:
                while line := stream.readline(_MAX_LINE):
                    if line.strip():
                        row = _row(line)
                        if row is None:
                            self._warn(file, offset, "no JSON object with the texts 'url' and 'html'; skipped")
                        else:
                            self._add(normalise(row["url"]), _Capture(number, offset, 0, ""))
                    offset += len(line)
        except DAMAGED as error:
            self._warn(file, offset, f"reading stopped here ({error})")

    def _index_records(self, number: int, file: Path, start: int) -> int | None:
        """Index the records from an offset on; return where to resume if the reader stopped before the file's end."""
        with file.open("rb") as stream:
            records = _Records(stream, start)
            try:
                for record in records:
                    found = _capture(record)
                    if record.headers.get("Content-Length") is None or record.content_length > record.consume():
                        self._warn(file, records.offset, "reading stopped here (the file ends inside this record)")
                        return None
                    if found:
                        url, date, target = found
                        self._add(url, _Capture(number, records.offset, records.skip, date, target))
            except DAMAGED as error:
                self._warn(file, records.reached(), f"reading stopped here ({error})")
                return None
        if not records.zipped:
            return None
        # The reader takes an empty member, or a truncated file, for the end.
        end = _member_end(file, records.offset)
        if end is None:
            self._warn(file, records.offset, "the gzip member that starts here is truncated")
        return end if end is not None and end < file.stat().st_size else None


class _Records:
    """Iterate over the records of a WARC file from an offset on, with the location of the latest one."""

    def __init__(self, stream: BinaryIO, start: int) -> None:
        from fastwarc.stream_io import GzipReader

        self._stream = stream
        stream.seek(start)
        self.zipped = stream.read(2) == GZIP_MAGIC
        stream.seek(start)
        self._reader: GzipReader | BinaryIO = GzipReader(stream) if self.zipped else stream
        self._start = start
        self.offset = start
        """Start of the record, or of the gzip member it is in."""
        self.skip = -1
        """Records between that offset and this record."""

    def __iter__(self) -> Iterator[WarcRecord]:
        from fastwarc.warc import ArchiveIterator

        records: ArchiveIterator = ArchiveIterator(self._reader, parse_http=False)
        for record in records:
            offset = self._member() if self.zipped else record.stream_pos
            self.skip = self.skip + 1 if offset == self.offset else 0
            self.offset = offset
            yield record

    def reached(self) -> int:
        """Return the start of the gzip member or record that can't be read."""
        if self.zipped:
            return self._member()
        return self.offset if self.skip < 0 else _record_end(self._stream, self.offset)

    def _member(self) -> int:
        return int(self._reader.frame_start_position() or 0)  # type: ignore[union-attr]


def _capture(record: WarcRecord) -> tuple[str | None, str, str | None] | None:
    """Return URL, date and, for a redirect, target of a record; None if it is neither page nor redirect."""
    from fastwarc.warc import WarcRecordType

    if record.record_type != WarcRecordType.response or not record.is_http:
        return None
    try:
        record.parse_http()
    except OSError:  # a broken response; a broken file shows at the next record
        return None
    url = _url_of(record)
    date = (record.headers.get("WARC-Date") or "").rstrip("Z")
    status = record.http_headers.status_code
    if status in REDIRECTS:
        target = join(url, record.http_headers.get("Location") or "")
        return (url, date, target) if target is not None else None
    media_type = (record.http_content_type or "").strip().lower()
    return (url, date, None) if status == 200 and media_type in HTML_TYPES else None


def _url_of(record: WarcRecord) -> str | None:
    return normalise((record.headers.get("WARC-Target-URI") or "").strip("<> "))  # wget writes it in angle brackets


def _read_record(file: Path, capture: _Capture, url: str, limit: int) -> tuple[bytes, str | None]:
    """Read body and charset of a response; raise OSError if it is damaged or another record is in its place.

    Some crawlers decompress bodies but keep the headers that declare compression. So it is tried with all headers, then
    without the content encoding, then with none.
    """
    for decoding in _DECODINGS:
        with file.open("rb") as stream:
            records = _Records(stream, capture.offset)
            record = next((record for record in records if records.skip == capture.skip), None)
            if record is None or _url_of(record) != url:
                break
            try:
                record.parse_http(auto_decode=decoding)
                pieces, left = [], limit
                while left > 0 and (piece := record.reader.read(min(left, _CHUNK))):
                    pieces.append(piece)
                    left -= len(piece)
            except OSError:
                continue
            body = b"".join(pieces)
            if not body.startswith(GZIP_MAGIC):  # else still compressed: damaged
                return body, (record.http_charset or "").strip("\"' ") or None
    raise OSError("damaged, or changed since it was indexed")


def _read_line(file: Path, capture: _Capture, url: str) -> tuple[str, str | None]:
    """Read page and charset of a JSON line; raise OSError if it has changed."""
    with open_detected(file) as stream:
        stream.seek(capture.offset)
        row = _row(stream.readline(_MAX_LINE))
    if row is None or normalise(row["url"]) != url:
        raise OSError("changed since it was indexed")
    charset = row.get("charset")
    return row["html"], charset if isinstance(charset, str) else None


def _row(line: bytes) -> dict[str, Any] | None:
    """Parse a JSON line; None if it is not the record of a page."""
    try:
        row = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None
    usable = isinstance(row, dict) and isinstance(row.get("url"), str) and isinstance(row.get("html"), str)
    return row if usable else None


def _start_of(file: Path) -> bytes:
    try:
        with open_detected(file) as stream:
            return stream.read(8).removeprefix(b"\xef\xbb\xbf")
    except DAMAGED:
        return b""


def _record_end(stream: BinaryIO, offset: int) -> int:
    """Return where the next record starts, by the length that this one declares and the two line breaks after it."""
    stream.seek(offset)
    head, _, _ = stream.read(1 << 16).partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return offset + len(head) + 4 + int(length[1]) + 4 if length else offset


def _member_end(file: Path, offset: int) -> int | None:
    """Return where the gzip member at an offset ends; None if the file ends before, or is damaged."""
    with file.open("rb") as stream:
        stream.seek(offset)
        unzip = zlib.decompressobj(wbits=31)
        with suppress(zlib.error):
            while chunk := stream.read(_CHUNK):
                while chunk:  # in bounded pieces, as little input can give much output
                    unzip.decompress(chunk, _CHUNK)
                    chunk = unzip.unconsumed_tail
                if unzip.eof:
                    return stream.tell() - len(unzip.unused_data)
    return None
