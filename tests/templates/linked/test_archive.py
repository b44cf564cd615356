"""Fetched pages in WARC files and JSON lines: which records are found, which are pages, and damaged files."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import InputError, MissingExtraError, UsageError
from blockml.templates.linked import ArchiveSource, find_links, open_source

A, B, C = (f"http://a.example/{name}" for name in "abc")


def record(
    url: str,
    body: bytes = b"",
    *,
    status: str = "200 OK",
    headers: Sequence[str] = ("Content-Type: text/html",),
    date: str = "2024-01-01T00:00:00Z",
    kind: str = "response",
) -> bytes:
    """Return a record of a WARC file, written by hand after ISO 28500."""
    block = "\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode() + body
    head = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        "WARC-Record-ID: <urn:uuid:12345678-1234-4234-8234-123456789012>",
        f"WARC-Date: {date}",
        f"WARC-Target-URI: {url}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
    ]
    return "\r\n".join([*head, "", ""]).encode() + block + b"\r\n\r\n"


def titled(url: str, title: str | None = None, date: str = "2024-01-01T00:00:00Z") -> bytes:
    """Return a page whose title is its URL."""
    return record(url, f"<title>{url if title is None else title}</title><p>text".encode(), date=date)


def moved(url: str, target: str, status: str = "301 Moved", date: str = "2024-01-01T00:00:00Z") -> bytes:
    """Return a redirect."""
    return record(url, status=status, headers=[f"Location: {target}"], date=date)


WARCINFO = (
    b"WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/warc-fields\r\n"
    b"Content-Length: 14\r\n\r\nsoftware: test\r\n\r\n"
)


def archive(folder: Path, records: Iterable[bytes], layout: str = "members", name: str = "site.warc") -> Path:
    """Write a WARC file: ``plain``, each record a gzip ``members``, all in ``one`` member, or ``pairs`` of them."""
    parts = list(records)
    if layout == "one":
        parts = [b"".join(parts)]
    elif layout == "pairs":
        parts = [b"".join(parts[start : start + 2]) for start in range(0, len(parts), 2)]
    path = folder / name
    path.write_bytes(b"".join(part if layout == "plain" else gzip.compress(part) for part in parts))
    return path


def title(source: ArchiveSource, url: str) -> str | None:
    """Return the title of a page."""
    page = source.get(url)
    return None if page is None else page.title


LAYOUTS = pytest.mark.parametrize("layout", ["plain", "members", "one", "pairs"])


@LAYOUTS
def test_pages_are_found_anywhere_in_an_archive(tmp_path: Path, layout: str) -> None:
    """Pages are found in any order, compressed or not, among records of other kinds."""
    bulky = record(B, b"<title>b</title>" + b"<p>some text</p>" * 20_000)
    request = record(A, kind="request")
    parts = [WARCINFO, titled(A), request, bulky, titled(C), record(f"{C}/empty")]
    source = ArchiveSource(archive(tmp_path, parts, layout))
    assert (source.urls, source.warnings) == ((A, B, C, f"{C}/empty"), ())
    assert [title(source, url) for url in (C, A, B, A, f"{C}/empty")] == [C, A, "b", A, ""]
    page = source.get("HTTP://A.example:80/b#part")
    assert page is not None
    assert page.source is not None
    assert (page.url, len(page.source)) == (B, 16 + 16 * 20_000)
    assert source.get("http://a.example/missing") is None
    assert source.get("no URL") is None


def test_archives_written_by_fastwarc_are_read(tmp_path: Path) -> None:
    """Archives of an independent writer, with other headers in another order, are read."""
    from fastwarc.stream_io import GzipWriter
    from fastwarc.warc import WarcRecord, WarcRecordType

    with (tmp_path / "made.warc.gz").open("wb") as stream:
        for url in (A, B, C):
            made = WarcRecord()
            made.init_headers(WarcRecordType.response, content_length=0)
            made.headers["WARC-Target-URI"] = url
            made.headers["Content-Type"] = "application/http; msgtype=response"
            made.set_bytes_content(f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{url}</title>".encode())
            writer = GzipWriter(stream)
            made.write(writer)
            writer.finish()
    source = ArchiveSource(tmp_path / "made.warc.gz")
    assert source.urls == (A, B, C)
    assert [title(source, url) for url in source.urls] == [A, B, C]


@pytest.mark.parametrize(
    ("headers", "status", "is_page"),
    [
        (["Content-Type: text/html"], "200 OK", True),
        (["content-type: TEXT/HTML; charset=utf-8"], "200", True),
        (["Content-Type: application/xhtml+xml"], "200 OK", True),
        (["Content-Type: text/plain"], "200 OK", False),
        (["Content-Type: image/png"], "200 OK", False),
        ([], "200 OK", True),
        (["Content-Type: text/html"], "404 Not Found", False),
        (["Content-Type: text/html"], "206 Partial Content", False),
        (["Content-Type: text/html"], "500 Oops", False),
        (["Content-Type: text/html"], "nonsense", False),
        (["Content-Type: text/html"], "301 Moved", False),
    ],
)
def test_pages_are_html_with_status_200(tmp_path: Path, headers: list[str], status: str, is_page: bool) -> None:  # noqa: FBT001
    """Only HTML responses with status 200 are pages; others are skipped."""
    path = archive(tmp_path, [record(A, b"<p>text", status=status, headers=headers), titled(B)])
    assert ArchiveSource(path).urls == ((A, B) if is_page else (B,))


def test_the_charset_of_the_header_counts(tmp_path: Path) -> None:
    """The charset of the header, quoted or not, overrides that of the page."""
    parts = [
        record(A, "<meta charset=utf-8>ж".encode("koi8-r"), headers=['Content-Type: text/html; Charset="KOI8-R"']),
        record(B, "<meta charset=koi8-r>ж".encode("koi8-r")),
    ]
    source = ArchiveSource(archive(tmp_path, parts))
    pages = [source.get(url) for url in (A, B)]
    found = [(page.blocks.texts, page.encoding_source) for page in pages if page is not None]
    assert found == [(("ж",), "transport"), (("ж",), "meta")]


def chunked(body: bytes) -> bytes:
    """Return a body as servers send it in chunks."""
    return b"3\r\n" + body[:3] + b"\r\n%x\r\n" % len(body[3:]) + body[3:] + b"\r\n0\r\n\r\n"


BODY = b"<title>unpacked</title>" + b"<p>some text</p>" * 50


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (["Content-Encoding: gzip"], gzip.compress(BODY, mtime=0)),
        (["Content-Encoding: gzip"], gzip.compress(BODY[:99], mtime=0) + gzip.compress(BODY[99:], mtime=0)),
        (["Content-Encoding: x-gzip"], gzip.compress(BODY, mtime=0)),
        (["Content-Encoding: deflate"], zlib.compress(BODY)),
        (["Content-Encoding: deflate"], zlib.compress(BODY)[2:-4]),  # as some servers send it, without zlib's header
        (["Transfer-Encoding: chunked"], chunked(BODY)),
        (["Transfer-Encoding: chunked", "Content-Encoding: gzip"], chunked(gzip.compress(BODY, mtime=0))),
        # Decompressed by the crawler, which kept the headers:
        (["Content-Encoding: gzip"], BODY),
        (["Transfer-Encoding: chunked"], BODY),
        (["Transfer-Encoding: chunked", "Content-Encoding: gzip"], chunked(BODY)),
        (["Transfer-Encoding: chunked", "Content-Encoding: gzip"], BODY),
        # Not an encoding at all:
        (["Content-Encoding: utf-8"], BODY),
    ],
)
def test_bodies_are_decompressed(tmp_path: Path, headers: list[str], body: bytes) -> None:
    """Bodies are decompressed even if the headers are wrong."""
    parts = [record(A, body, headers=["Content-Type: text/html", *headers]), titled(B)]
    source = ArchiveSource(archive(tmp_path, parts))
    page = source.get(A)
    assert page is not None
    assert page.source == BODY.decode()
    assert title(source, B) == B


def test_responses_with_only_line_feeds_are_pages(tmp_path: Path) -> None:
    """A response whose header lines end with line feeds, as some servers send, is a page."""
    whole = record(A, b"<title>a</title>")
    head, mark, block = whole.partition(b"\r\n\r\n")
    response = block.removesuffix(mark).replace(b"\r\n", b"\n")
    head = head.rpartition(b" ")[0] + b" %d" % len(response)
    (tmp_path / "site.warc").write_bytes(head + mark + response + mark)
    assert title(ArchiveSource(tmp_path / "site.warc"), A) == "a"


def test_a_damaged_body_is_dropped(tmp_path: Path) -> None:
    """A damaged body is dropped, and one that decompresses to too much is cut."""
    packed = gzip.compress(BODY, mtime=0)
    headers = ["Content-Type: text/html", "Content-Encoding: gzip"]
    bomb = gzip.compress(b"<p>x</p>" * 1_000_000)
    parts = [record(A, packed[:20] + b"\xff" * 10 + packed[30:], headers=headers), record(B, bomb, headers=headers)]
    source = ArchiveSource(archive(tmp_path, parts), parsing={"limits": blockml.Limits(bytes=800)})
    assert source.urls == (A, B)
    assert source.get(A) is None
    page = source.get(B)
    assert page is not None
    assert (len(page.blocks), page.status) == (100, blockml.Status.TRUNCATED)


# Redirects and captures


def test_redirects_lead_to_the_page(tmp_path: Path) -> None:
    """Redirects are followed inside the archive; the page has the last URL, against which links are resolved."""
    home = record(C, b"<a href=/old>1</a><a href=newer>2</a><a href=/a>3</a><a href=/gone>4</a><a href=/lost>5</a>")
    parts = [moved(f"{A}/x", "/a"), moved("http://a.example/old", "/newer", "302 Found"), home, titled(A)]
    parts += [moved("http://a.example/newer", "//a.example/a#part", "308"), moved("http://a.example/lost", "/missing")]
    source = ArchiveSource(archive(tmp_path, parts))
    assert source.urls == (C, A)
    page = source.get("http://a.example/old")
    assert page is not None
    assert (page.url, page.title) == (A, A)
    start = source.get(C)
    assert start is not None
    assert [link.url for link in find_links(start, source)] == [A]
    assert source.get("http://a.example/lost") is None


def test_redirects_to_addresses_in_utf8_are_followed(tmp_path: Path) -> None:
    """Redirects to unescaped UTF-8 addresses, as some servers send, are followed."""
    parts = [moved(A, "/caf\u00e9/\u0105"), titled("http://a.example/caf%C3%A9/%C4%85", "caf\u00e9")]
    assert title(ArchiveSource(archive(tmp_path, parts)), A) == "caf\u00e9"


def test_redirects_end(tmp_path: Path) -> None:
    """Circular and too long redirects give no page; one to the same URL, as for a cookie, is ignored."""
    chain = [moved(f"{B}/{number}", f"{B}/{number + 1}") for number in range(4)]
    circle = [moved(f"{C}/1", f"{C}/2"), moved(f"{C}/2", f"{C}/1")]
    parts = [*chain, *circle, titled(f"{B}/4"), titled(A), moved(A, "#cookie")]
    source = ArchiveSource(archive(tmp_path, parts), max_redirects=3)
    assert [title(source, f"{B}/{number}") for number in range(5)] == [None, *[f"{B}/4"] * 4]
    assert source.get(f"{C}/1") is None
    assert title(source, A) == A
    assert title(ArchiveSource(tmp_path / "site.warc", max_redirects=0), f"{B}/4") == f"{B}/4"
    with pytest.raises(UsageError, match="max_redirects must be at least 0"):
        ArchiveSource(tmp_path / "site.warc", max_redirects=-1)


def test_the_last_capture_counts(tmp_path: Path) -> None:
    """The last capture by date, then by position, counts; failed ones are ignored, and redirects replace the page."""
    new, old = "2024-06-01T00:00:00Z", "2023-01-01T00:00:00Z"
    parts = [
        titled(A, "middle"), titled(A, "newest", new), titled(A, "oldest", old),
        titled(B, "first"), titled(B, "second"), record(B, status="404 Gone", date=new),
        titled(C, "page"), moved(C, "/a", date=new),
    ]  # fmt: skip
    source = ArchiveSource(archive(tmp_path, parts))
    assert [title(source, url) for url in (A, B, C)] == ["newest", "second", "newest"]
    assert source.urls == (A, B)


def test_urls_are_normalised(tmp_path: Path) -> None:
    """URLs are normalised, without the angle brackets that wget writes; other schemes are skipped."""
    parts = [titled("<http://A.example:80/%7Ea?>", "a"), titled("dns:a.example"), titled("urn:x"), titled(B)]
    source = ArchiveSource(archive(tmp_path, parts))
    assert source.urls == ("http://a.example/~a", B)
    assert title(source, "http://a.example/~a") == "a"


def test_a_folder_of_archives_is_one_source(tmp_path: Path) -> None:
    """A folder of WARC files and JSON lines is one source, and other files are ignored."""
    archive(tmp_path, [titled(A, "old"), moved(B, "/c")], "members", "1.warc.gz")
    archive(tmp_path, [titled(A, "new", "2024-02-01T00:00:00Z")], "plain", "2.warc")
    (tmp_path / "3.jsonl").write_text(json.dumps({"url": C, "html": "<title>c</title>"}))
    (tmp_path / "crawl.log").write_text("3 pages\n" * 100)
    (tmp_path / "tmp").mkdir()
    source = open_source(tmp_path)
    assert isinstance(source, ArchiveSource)
    assert (source.urls, source.warnings) == ((A, C), ())
    assert [title(source, url) for url in (A, B, C)] == ["new", "c", "c"]


@pytest.mark.parametrize("layout", ["frames", "whole", "blocks", "arc", "arc.gz"])
def test_archives_of_other_makers_are_read(tmp_path: Path, layout: str) -> None:
    """Zstandard archives, gzip members that end anywhere, and ARC files are read."""
    pages = [titled(A), moved(B, "/c"), titled(C), titled(f"{A}/new", "old"), titled(f"{A}/new", "new")]
    blocks = [(part.split()[8].decode(), part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n")) for part in pages]
    arc = b"filedesc://a.arc 0.0.0.0 20240101000000 text/plain 10\nversion 1\n\n" + b"".join(
        f"{url} 1.2.3.4 20240101000000 text/html {len(block)}\n".encode() + block + b"\n" for url, block in blocks
    )
    whole = b"".join(pages)
    data = {
        "frames": b"".join(map(zstandard.compress, pages)),
        "whole": zstandard.compress(whole),
        "blocks": b"".join(gzip.compress(whole[start : start + 500]) for start in range(0, len(whole), 500)),
        "arc": arc,
        "arc.gz": gzip.compress(arc),
    }
    (tmp_path / f"site.{layout}").write_bytes(data[layout])
    source = open_source(tmp_path / f"site.{layout}")
    assert isinstance(source, ArchiveSource)
    assert (source.urls, source.warnings) == ((A, C, f"{A}/new"), ())
    assert [title(source, url) for url in (f"{A}/new", C, B, A)] == ["new", C, C, A]


# Damage


PARTS = [titled(A), titled(B), record(C, b"<title>c</title>" + b"<p>text" * 300)]
MEMBERS = [gzip.compress(part, mtime=0) for part in PARTS]


@pytest.mark.parametrize("kept", [1, 5, 9, 40, len(MEMBERS[2]) // 2, len(MEMBERS[2]) - 9, len(MEMBERS[2]) - 1])
def test_a_truncated_compressed_archive_is_read_so_far(tmp_path: Path, kept: int) -> None:
    """A compressed archive that ends early is read up to there, with a warning."""
    start = len(MEMBERS[0]) + len(MEMBERS[1])
    path = tmp_path / "cut.warc.gz"
    path.write_bytes(b"".join(MEMBERS)[: start + kept])
    source = ArchiveSource(path)
    assert {A, B} <= set(source.urls)
    for url in source.urls:
        page = source.get(url)
        assert page is not None
        assert page.source is not None
        assert page.source.encode() in b"".join(PARTS)
    assert len(source.warnings) == 1
    if kept < len(MEMBERS[2]) - 9:
        assert C not in source.urls
    if kept >= 40:  # with less, readers don't see that there is another member
        assert source.warnings[0].startswith(f"cut.warc.gz: byte {start}: ")


@pytest.mark.parametrize("kept", [3, 30, 200, 400, len(PARTS[2]) - 10])
def test_a_truncated_plain_archive_is_read_so_far(tmp_path: Path, kept: int) -> None:
    """A plain archive that ends inside a name, a header or a page is read up to there, with a warning."""
    start = len(PARTS[0]) + len(PARTS[1])
    path = tmp_path / "cut.warc"
    path.write_bytes(b"".join(PARTS)[: start + kept])
    source = ArchiveSource(path)
    assert source.urls == (A, B)
    assert [title(source, url) for url in source.urls] == [A, B]
    assert [warning.rpartition(": ")[0] for warning in source.warnings] == [f"cut.warc: byte {start}"]


@pytest.mark.parametrize("place", [0, 30, len(MEMBERS[1]) - 6])
def test_a_damaged_member_loses_only_its_page(tmp_path: Path, place: int) -> None:
    """A member damaged in its signature, content or checksum is lost with a warning, and the others are read."""
    damaged = bytearray(MEMBERS[1])
    damaged[place] ^= 0xFF
    path = tmp_path / "bad.warc.gz"
    path.write_bytes(MEMBERS[0] + damaged + MEMBERS[2])
    source = ArchiveSource(path)
    assert source.urls == (A, C)
    assert [title(source, url) for url in source.urls] == [A, "c"]
    (warning,) = source.warnings
    assert warning.startswith(f"bad.warc.gz: byte {len(MEMBERS[0])}: damaged (")


def test_garbage_between_records_is_skipped(tmp_path: Path) -> None:
    """Garbage between records is skipped, and the warning gives the end of the record before it."""
    path = tmp_path / "bad.warc"
    path.write_bytes(PARTS[0] + b"garbage\r\n" * 50 + b"\r\n" + PARTS[1])
    source = ArchiveSource(path)
    assert source.urls == (A, B)
    assert [title(source, url) for url in source.urls] == [A, B]
    (warning,) = source.warnings
    assert warning.startswith(f"bad.warc: byte {len(PARTS[0])}: damaged (")
    for wrong in (b"Content-Length: 8", b"Content-Length: 99999"):
        path.write_bytes(PARTS[0] + PARTS[1].replace(b"Content-Length: ", wrong) + PARTS[2])
        source = ArchiveSource(path)
        assert source.urls == (A, C)
        assert [title(source, url) for url in source.urls] == [A, "c"]
        assert [warning.startswith(f"bad.warc: byte {len(PARTS[0])}: ") for warning in source.warnings] == [True]


def test_an_empty_member_does_not_end_the_reading(tmp_path: Path) -> None:
    """An empty member, which the reader takes for the end of the file, does not end reading."""
    path = tmp_path / "gap.warc.gz"
    path.write_bytes(gzip.compress(b"").join([*MEMBERS, b""]))
    source = ArchiveSource(path)
    assert (source.urls, source.warnings) == ((A, B, C), ())
    assert title(source, C) == "c"


def test_broken_responses_do_not_hide_the_next(tmp_path: Path) -> None:
    """Responses without status line, headers, an end of headers or valid text do not hide the next page."""
    whole = record(A, b"<p>")
    parts = [
        whole.replace(b"HTTP/1.1 200 OK\r\n", b"HTTX/9.9 ok go\n"),
        record(A, b"", headers=["X: " + "x" * 100_000, "Content-Type: text/html"]),
        record(A, headers=["\xff\xfe: y", "no colon", ": no name"]),
        whole.replace(b"a.example", b"a.ex\xff\xfe\r"),
        titled(B),
    ]
    for part in parts[:-1]:
        path = archive(tmp_path, [part, titled(B)])
        source = ArchiveSource(path)
        assert B in source.urls or source.warnings
    assert title(ArchiveSource(archive(tmp_path, [parts[0], parts[1], parts[2], titled(B)])), B) == B


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4), st.booleans())
def test_no_damage_raises(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[int, int]],
    zipped: bool,  # noqa: FBT001
) -> None:
    """Changed bytes give pages, warnings, or the error that the archive has no pages."""
    whole = bytearray(b"".join(MEMBERS if zipped else PARTS))
    for place, value in changes:
        whole[place % len(whole)] = value
    path = tmp_path_factory.getbasetemp() / "fuzzed.warc"
    path.write_bytes(whole)
    try:
        source = ArchiveSource(path)
    except InputError:
        return
    for url in source.urls:
        source.get(url)


def test_a_file_that_changed_gives_nothing(tmp_path: Path) -> None:
    """After a file has changed or gone, the source returns no page instead of raising or returning a wrong one."""
    path = archive(tmp_path, PARTS)
    lines = tmp_path / "pages.jsonl"
    lines.write_text("".join(json.dumps({"url": url, "html": url}) + "\n" for url in (A, B)))
    source, other = ArchiveSource(path), ArchiveSource(lines)
    archive(tmp_path, [titled(C), titled(A), titled(B)])
    lines.write_text("".join(json.dumps({"url": url, "html": url}) + "\n" for url in (B, A)))
    assert [source.get(url) for url in (A, B, C)] == [None] * 3
    assert [other.get(url) for url in (A, B)] == [None] * 2
    for gone in (path, lines):
        gone.unlink()
    assert (source.get(A), other.get(A)) == (None, None)


@pytest.mark.parametrize("content", [b"", b"WARC/1.1\r\n", WARCINFO, b"\x1f\x8bgarbage", b"<html>", b"{}"])
def test_archives_without_pages_are_refused(tmp_path: Path, content: bytes) -> None:
    """A file without archived pages is refused at once."""
    path = tmp_path / "file.warc"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"file\.warc: no archived web pages here"):
        ArchiveSource(path)
    with pytest.raises(InputError, match="no such file or folder"):
        ArchiveSource(tmp_path / "missing.warc")


# JSON lines


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_pages_are_found_anywhere_in_json_lines(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    """Pages in JSON lines are found in any order, compressed or not; lines without a page give a warning."""
    rows = [
        json.dumps({"url": A, "html": "<title>ä</title>", "charset": "utf-8"}, ensure_ascii=False),
        "",
        '{"url": "http://a.example/x"}',
        "{",
        "[1]",
        json.dumps({"url": "mailto:a@b.example", "html": ""}),
        json.dumps({"url": B, "html": "<title>b</title><p>\u2028" + "long " * 50_000}),
        json.dumps({"url": A, "html": "<title>later</title>", "id": 7}),
    ]
    text = "\ufeff" + "\r\n".join(rows)
    path = tmp_path / "pages"
    path.write_bytes(compress(text.encode()))
    source = ArchiveSource(path)
    assert source.urls == (A, B)
    assert [title(source, url) for url in (B, A, B)] == ["b", "later", "b"]
    places = [text.encode().index(f"\n{row}\r".encode()) + 1 for row in rows[2:5]]
    assert [warning.split(": ")[1] for warning in source.warnings] == [f"byte {place}" for place in places]


@pytest.mark.parametrize("zipped", [False, True])
def test_json_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:  # noqa: FBT001
    """A line over the maximum length, which a small gzip file can contain, is skipped, and the next one is found."""
    monkeypatch.setattr("blockml.templates.linked.archive._MAX_LINE", 1000)
    lines = [{"url": f"http://a.example/{n}", "html": f"<p>{n}" + "x" * n} for n in (5000, 7)]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = tmp_path / f"a.jsonl{'.gz' if zipped else ''}"
    file.write_bytes(gzip.compress(data) if zipped else data)
    source = ArchiveSource(file)
    assert source.get("http://a.example/5000") is None
    found = source.get("http://a.example/7")
    assert found is not None
    assert found.blocks.texts == ("7xxxxxxx",)
    assert "not a JSON object" in source.warnings[0]


def test_truncated_json_lines_are_read_so_far(tmp_path: Path) -> None:
    """A compressed file of JSON lines that ends early is read up to there, with a warning."""
    rows = [json.dumps({"url": f"{A}/{number}", "html": str(number**99)}) for number in range(2000)]
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(rows).encode())[:-5000])
    source = ArchiveSource(path)
    assert 100 < len(source.urls) < 2000
    assert "reading stopped here (" in source.warnings[0]
    assert source.get(source.urls[-1]) is not None


def test_a_useless_file_does_not_fill_the_warnings(tmp_path: Path) -> None:
    """A file of useless lines gives at most a hundred warnings."""
    path = tmp_path / "pages.jsonl"
    path.write_text("{\n" * 1000 + json.dumps({"url": A, "html": ""}))
    assert len(ArchiveSource(path).warnings) == 100


# The rest


def test_a_missing_package_for_archives_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for a package needed by a compression other than gzip gives the command that installs it."""
    path = archive(tmp_path, PARTS)
    packed = tmp_path / "site.warc.zst"
    packed.write_bytes(zstandard.compress(b"".join(PARTS)))
    monkeypatch.setitem(sys.modules, "fastwarc", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"Reading Zstandard files needs .*pip install .*\[zstd\]"):
        ArchiveSource(packed)
    assert ArchiveSource(path).urls == (A, B, C)


def test_parsing_options_of_archives_apply(tmp_path: Path) -> None:
    """Pages of an archive are parsed with the options given, and wrong options are refused."""
    path = archive(tmp_path, PARTS)
    page = ArchiveSource(path, parsing={"backend": "html5lib"}).get(A)
    assert page is not None
    assert page.backend == "html5lib"
    with pytest.raises(UsageError):
        ArchiveSource(path, parsing={"backend": "nothing"})


def test_the_index_contains_no_pages(tmp_path: Path) -> None:
    """The index has only positions, so a pickled source is far smaller than its archive."""
    import pickle

    path = archive(tmp_path, [record(f"{A}/{number}", b"<p>text</p>" * 2000) for number in range(20)], "plain")
    source = ArchiveSource(path)
    stored = pickle.dumps(source)
    assert len(stored) < path.stat().st_size / 50
    page = pickle.load(io.BytesIO(stored)).get(f"{A}/7")  # noqa: S301
    assert len(page.blocks) == 2000
