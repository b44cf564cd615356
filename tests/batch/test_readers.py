"""Readers of batches: page files, JSON lines, WARC, ARC and Parquet files, and standard input."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from blockml import _kernel
from blockml.archives.http import decoded_body, read_response
from blockml.batch import BatchExtractor, Inputs, Item, Options, RecordFields, find_inputs, predict_items, read_items
from blockml.batch.readers import Reading, WarcRange, describe_inputs
from blockml.batch.readers.json_lines import page_of
from blockml.errors import InputError, UsageError
from blockml.extractors import Plain
from tests.reference import python_reference


def items_of(*names: Path | str, fields: RecordFields = RecordFields(), reading: Reading | None = None) -> list[Item]:  # noqa: B008
    """Return the items of inputs."""
    return list(read_items(find_inputs([str(name) for name in names], fields), reading))


# --- page files -------------------------------------------------------------------------------------------------------


def test_ids_of_files(tmp_path: Path) -> None:
    """An id is the path below the input without its suffix, and files that aren't pages are counted but not read."""
    for name in ("a.html", "b.htm", "x/page.html", "y/page.html", "y/notes.txt", "z.HTML", "labels.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<p>{name}", encoding="utf-8")
    (tmp_path / "c.html.gz").write_bytes(gzip.compress(b"<p>zipped"))
    inputs = find_inputs([str(tmp_path)])
    items = {item.id: item for item in read_items(inputs)}
    assert list(items) == ["a", "b", "c", "x/page", "y/page", "z"]
    assert items["c"].read() == b"<p>zipped"
    assert inputs.passed_over == {".txt": 1, ".jsonl": 1}
    assert [item.id for item in items_of(tmp_path / "y")] == ["page"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes links")
def test_links_in_a_folder(tmp_path: Path) -> None:
    """Links to files are read, links to folders counted, broken links unreadable, and links to devices left out."""
    (tmp_path / "a.html").write_text("<p>a", encoding="utf-8")
    os.mkfifo(tmp_path / "fifo")
    links = {"b": "a.html", "c": "none.html", "d": ".", "e": ".", "f": "f.html", "g": "fifo", "h": "/dev/null"}
    for name, target in links.items():
        (tmp_path / f"{name}.html").symlink_to(target)
    inputs = find_inputs([str(tmp_path)])
    statuses = {
        record["id"]: record["status"] for record in predict_items(read_items(inputs), Plain(), isolation="none")
    }
    assert statuses == {"a": "ok", "b": "ok", "c": "unreadable", "f": "unreadable"}
    assert inputs.passed_over == {"links to folders": 2}
    assert inputs.size() == 8
    assert len(list(describe_inputs(inputs))) == 4


def test_globs_and_single_files(tmp_path: Path) -> None:
    """A glob finds files, ``**`` includes subfolders, and a file given by name may have any suffix."""
    (tmp_path / "d").mkdir()
    for name in ("a.html", "d/b.html", "page.txt"):
        (tmp_path / name).write_text("<p>x", encoding="utf-8")
    assert [item.id for item in items_of(f"{tmp_path}/**/*.html")] == ["a", "d/b"]
    assert [item.id for item in items_of(tmp_path / "page.txt")] == ["page.txt"]


ROW = '{"id": "a", "html": "<p>x"}'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pages.json", f"{ROW}\n{ROW}\n", None),
        ("pages", f"{ROW}\n", None),
        ("pages.txt", f"{{ {ROW[1:]}\n", None),
        ("pages.json", f"[{ROW}, {ROW}]", "JSON, but not JSON lines"),
        ("pages.jsonl", f"[\n  {ROW}\n]", "JSON, but not JSON lines"),
        ("meta.json", '{\n  "id": "a"\n}', "JSON, but not JSON lines"),
    ],
)
def test_many_pages_are_never_read_as_one(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    """JSON lines are recognised by their content, and other files of records are unreadable, with a reason."""
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    items = items_of(tmp_path / name)
    if expected is None:
        assert [item.id for item in items] == ["a"] * text.count("\n")
    else:
        assert [item.id for item in items] == [name]
        assert expected in (items[0].error or "")


TABLES = [
    ("pages.csv", "id,html,url\na,<p>x,http://cats.example/1\nb,<p>y,\n", RecordFields()),
    ("pages.tsv.gz", "id\thtml\turl\na\t<p>x\thttp://cats.example/1\nb\t<p>y\t\n", RecordFields()),
    ("pages.csv", "Key;Page Source;Link\na;<p>x;http://cats.example/1\nb;<p>y;\n", RecordFields()),
    ("pages.csv", "n,seite,ort\na,<p>x,http://cats.example/1\nb,<p>y,\n", RecordFields("seite", "n", "ort")),
]


@pytest.mark.parametrize(("name", "text", "fields"), TABLES)
def test_tables_have_a_page_per_row(tmp_path: Path, name: str, text: str, fields: RecordFields) -> None:
    """Columns of CSV and TSV files are recognised by their names, or named."""
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    items = items_of(tmp_path / name, fields=fields)
    assert [(item.id, item.html, item.url, item.site) for item in items] == [
        ("a", "<p>x", "http://cats.example/1", "cats.example"),
        ("b", "<p>y", None, ""),
    ]


def test_rows_of_a_table_may_name_files_and_lack_pages(tmp_path: Path) -> None:
    """Every row of a table gives an item: of its page, of the file that it names, or with the reason why not."""
    (tmp_path / "one.html").write_text("<p>One", encoding="utf-8")
    (tmp_path / "t.csv").write_text("file,encoding\none.html,latin1\nnone.html,\n,utf-8\n", encoding="utf-8")
    first, second, third = items_of(tmp_path / "t.csv")
    assert (first.id, first.read(), first.charset) == ("t.csv:1", b"<p>One", "latin1")
    assert (second.id, second.error) == ("t.csv:2", "the row names a file that does not exist, 'none.html'")
    assert (third.id, third.error) == ("t.csv:3", "the row has no page")
    (tmp_path / "t.csv").write_text("html\n<p>x\n<p>a,<p>b,<p>c\n<p>y\n", encoding="utf-8")
    first, second = items_of(tmp_path / "t.csv")
    assert first.html == "<p>x"
    assert second.id == "t.csv:2"
    assert "row 2 has 3 cells" in (second.error or "")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no column of pages was recognised; the columns are: a, b"):
        items_of(tmp_path / "t.csv")
    with pytest.raises(UsageError, match="no column 'c'; the columns are: a, b"):
        items_of(tmp_path / "t.csv", fields=RecordFields(html="c"))
    (tmp_path / "t.csv").write_bytes(b"PK\x03\x04 a workbook")
    assert ["an Excel file" in (item.error or "") for item in items_of(tmp_path / "t.csv")] == [True]
    (tmp_path / "t.csv").write_text("html\n", encoding="utf-8")
    assert items_of(tmp_path / "t.csv") == []


@pytest.mark.parametrize("name", ["none.html", "none/*.html", "empty"])
def test_inputs_without_pages_are_errors(tmp_path: Path, name: str) -> None:
    """A name or glob that matches no page, and an empty folder, are errors."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        find_inputs([str(tmp_path / name)])


def test_files_are_decompressed_up_to_the_limit(tmp_path: Path) -> None:
    """A small file that decompresses to a huge page is read only up to the limit."""
    path = tmp_path / "bomb.html.gz"
    path.write_bytes(gzip.compress(b"<p>word " * 10_000_000))
    (item,) = items_of(path)
    assert len(item.read(1001)) == 1001


# --- JSON lines -------------------------------------------------------------------------------------------------------

LINES = [
    b'{"id": "one", "html": "<p>1", "url": "http://a.example/"}',
    b'{"html": "<p>2"}',
    b"{not json",
    b'{"id": "four", "url": "http://a.example/4", "html": null}',
    b"",
    b'{"id": "one", "html": "<p>again", "charset": "utf-8", "site": "mine"}',
    b'{"id": 7, "html": "<p>7", "url": null}',
    b'{"id": "\\ud800", "html": "<p>8"}',
    b'[1, "\xff"]',
]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_json_lines(tmp_path: Path, suffix: str) -> None:
    """Records keep their ids and URLs, and invalid ones become items with an error."""
    data = b"\xef\xbb\xbf" + b"\r\n".join(LINES)
    path = tmp_path / f"in.jsonl{suffix}"
    path.write_bytes({"": data, ".gz": gzip.compress(data), ".zst": zstandard.compress(data)}[suffix])
    items = items_of(path)
    assert [item.id for item in items] == [
        "one", f"{path.name}:2", f"{path.name}:3", "four", "one", "7", "\\ud800", f"{path.name}:9",
    ]  # fmt: skip
    assert [item.error is None for item in items] == [True, True, False, False, True, True, True, False]
    assert items[0].url == "http://a.example/"
    assert (items[4].charset, items[4].site) == ("utf-8", "mine")
    assert "not JSON" in str(items[2].error)
    assert (items[3].error, items[3].url) == (
        "the record has no string 'html'; --columns can name another",
        "http://a.example/4",
    )
    assert items[7].error == "not a JSON object"


def test_fields_of_json_lines(tmp_path: Path) -> None:
    """The names of the fields can be changed."""
    path = tmp_path / "in.ndjson"
    path.write_text('{"key": 1, "content": "<p>x", "link": "http://a.example/b"}\n', encoding="utf-8")
    (item,) = items_of(path, fields=RecordFields(html="content", id="key", url="link"))
    assert (item.id, item.html, item.url, item.site) == ("1", b"<p>x", "http://a.example/b", "a.example")


#: Pieces of lines: escapes, characters of all lengths, control characters, invalid UTF-8, and fields like the page's.
LINE_PIECES = [
    b"\\n", b'\\"', b"\\\\", b"\\/", b"\\b\\f\\t\\r", b"\\u00e9", b"\\ud83d\\ude00", b"\\ud800", b"\\x", b"\\", b"\x1f",
    b"\n", b"\x7f", b"\xff", "é你😀".encode(), b"word", b"1234567", b'"', b'"html": "', b'{"html": "', b"}", b"{",
    b", ", b'", "html": "', b'", "id": "', b"\0",
]  # fmt: skip


@settings(max_examples=500)
@given(
    before=st.sampled_from(
        [b"", b'"id": 7, ', b'"a": {"html": "<p>"}, ', b'"html": 1, ', b'"a": "\\"html\\": \\"x", ']
    ),
    pieces=st.lists(st.sampled_from(LINE_PIECES), max_size=9),
    space=st.sampled_from([b"", b" ", b"\t \r"]),
    after=st.sampled_from([b'"}', b'", "url": "http://a.example"}', b'", "html": ""}', b'", "html": null}', b'"', b""]),
)
def test_lines_are_read_like_by_json(before: bytes, pieces: list[bytes], space: bytes, after: bytes) -> None:
    """The C extension reads the same page from a line as Python's ``json``."""
    line = b"{" + before + b'"html"' + space + b":" + space + b'"' + b"".join(pieces) + after
    found = page_of(line, len(line), "x:1", RecordFields())
    with python_reference(), pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "orjson", None)
        wanted = page_of(line, len(line), "x:1", RecordFields())
    assert found == wanted if wanted is None or wanted.error is None else found is not None and found.error is not None


@pytest.mark.parametrize("escape", [b"", b"\\u00e9"])
def test_bytes_that_are_not_utf8_reach_the_parser(escape: bytes) -> None:
    """The reader keeps invalid bytes, so that the parser can replace and count them."""
    line = b'{"html": "<p>caf\xe9' + escape + b'"}'
    item = page_of(line, len(line), "x:1", RecordFields())
    assert item is not None
    assert item.html == b"<p>caf\xe9" + "é".encode() * bool(escape)


def test_a_simple_line_is_read_by_the_extension() -> None:
    """The extension decodes simple strings and returns the offset after their end."""
    if _kernel.compiled is None:
        pytest.skip("needs the C extension")
    line = rb'{"html": "<p class=\"a\">\n\t\\ \/ 12345678'.replace(b"8", "8é".encode()) + b'", "id": 1}'
    text, end = _kernel.compiled.json_string(line, 10)
    assert (text, line[end:]) == ('<p class="a">\n\t\\ / 12345678é'.encode(), b'", "id": 1}')
    assert _kernel.compiled.json_string(rb'"a\u0041"', 1)[0] is None
    assert [_kernel.compiled.json_string(b'"a', start) for start in (1, 2, 3, -1)] == [(None, 2)] * 4


_PARTS = ['"', "\\", "\n", "\t", "/", "é", "漢", "a", "b" * 7, "c" * 62, "d" * 63, "e" * 64, "\x7f"]
_ENDS = ['"', '", "id": 1}', "", "\n", '\\"', '\\u0041"', '"' + "x" * 200]


@given(parts=st.lists(st.sampled_from(_PARTS), max_size=60), end=st.sampled_from(_ENDS))
def test_strings_of_any_length_are_read_like_json(parts: list[str], end: str) -> None:
    """Strings are decoded correctly for any length and position of escapes and any following text."""
    if _kernel.compiled is None:
        pytest.skip("needs the C extension")
    text = "".join(parts)
    line = b'{"html": "' + json.dumps(text, ensure_ascii=False)[1:-1].encode() + end.encode()
    found, stop = _kernel.compiled.json_string(line, 10)
    if end.startswith('"'):
        assert found == text.encode()
        assert line[stop:] == end.encode()
    else:
        assert found is None


def test_lines_are_bounded(tmp_path: Path) -> None:
    """An endless line is an error that uses no more memory than the limit, and the next line is read."""
    path = tmp_path / "in.jsonl.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(b'{"id": "huge", "html": "')
        for _ in range(100):
            stream.write(b"x" * 1_000_000)
        stream.write(b'"}\n{"id": "next", "html": "<p>x"}\n')
    items = items_of(path, reading=Reading(limit=1000))
    assert [item.id for item in items] == ["in.jsonl.gz:1", "next"]
    assert items[0].error == "the line has 100000027 bytes, more than allowed for a page"


@pytest.mark.parametrize("n_lines", [1, 3000])
def test_ranges_of_lines_cover_the_file(tmp_path: Path, n_lines: int) -> None:
    """A file is split between lines, and default ids contain the line's number."""
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"html": "x" * 1500}) + "\n" for _ in range(n_lines)), encoding="utf-8")
    units = list(Inputs((str(path),)).units(Reading()))
    assert (len(units) > 1) == (n_lines > 1)
    assert sum(unit.stored for unit in units) == path.stat().st_size
    assert [item.id for item in items_of(path)] == [f"in.jsonl:{number}" for number in range(1, n_lines + 1)]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
def test_damaged_files_end_with_an_error(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    """Pages before the damage are read, even if the damage is in the second member of the file."""
    lines = b"".join(json.dumps({"html": f"<p>{random.Random(i).random()}"}).encode() + b"\n" for i in range(5000))  # noqa: S311
    path = tmp_path / f"cut.jsonl{suffix}"
    for before in (b"", compress(lines)):
        path.write_bytes(before + compress(lines)[:-200])
        items = items_of(path)
        n_before = 5000 if before else 0
        assert n_before < len(items) < n_before + 5000
        assert "cannot read the rest of the file (Compressed file ended" in str(items[-1].error)
        assert all(item.error is None for item in items[:-1])
        path.write_bytes(before + compress(lines))
        assert len(items_of(path)) == n_before + 5000


@pytest.mark.exhaustive
@pytest.mark.parametrize("value", [0, 255])
def test_no_damaged_byte_of_a_parquet_file_crashes(tmp_path: Path, value: int) -> None:
    """No damaged byte crashes the process, although some would crash pyarrow."""
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "html": [b"<p>one", b"<p>two"]}), path)
    whole = path.read_bytes()
    read = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        with suppress(InputError, UsageError):  # refused
            read += sum(item.error is None for item in items_of(path))
    assert 0 < read < 2 * len(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="names of files are Unicode there")
def test_ids_are_the_same_in_every_locale(tmp_path: Path) -> None:
    """Names of files are decoded as UTF-8 in every locale, and invalid bytes are escaped."""
    folder = tmp_path / "in"
    for name in ("café", "ネコ", os.fsdecode(b"\xe9")):
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.html").write_text("<p>words</p>", encoding="utf-8")
        (folder / name / f"{name}.jsonl").write_text('{"html": "<p>words</p>"}\n', encoding="utf-8")
        (folder / name / f"{name}.warc").write_bytes(warc_record(1, response(b"<p>")).replace(b"WARC-Record-ID", b"X"))
    program = (
        "import glob, json\n"
        "from blockml.batch import find_inputs, read_items\n"
        "names = ['in', *sorted(glob.glob('in/*/*.jsonl'))]\n"
        "print(json.dumps([(item.id, item.site) for item in read_items(find_inputs(names))]))\n"
    )
    found = []
    for locale in ({"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
        environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", **locale}
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, env=environment)  # noqa: S603 (our own program)
        found.append(json.loads(run.stdout))
    assert found[0] == found[1] == found[2]
    ids = {page_id for page_id, _ in found[0]}
    assert ids >= {"café/café", "ネコ/ネコ", "\\udce9/\\udce9", "café.jsonl:1", "café.warc@0", "\\udce9.jsonl:1"}
    assert len(ids) == 9


# --- WARC and ARC -----------------------------------------------------------------------------------------------------


def response(body: bytes, headers: str = "Content-Type: text/html", status: str = "200 OK") -> bytes:
    """Return an HTTP response."""
    return f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n".encode() + body


def warc_record(number: int, block: bytes, kind: str = "response", media: str = "application/http") -> bytes:
    """Return a WARC record."""
    header = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Target-URI: http://site.example/{number}\r\nContent-Type: {media}; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return header.encode() + block + b"\r\n\r\n"


def page(number: int, size: int = 3000) -> bytes:
    """Return a page of random words, which hardly compresses."""
    chance = random.Random(number)  # noqa: S311 (no secret)
    return f"<p>page {number} {''.join(chance.choices('abcdefghij ', k=size))}".encode()


def write_warc(path: Path, records: list[bytes]) -> list[int]:
    """Write a WARC file, compressed by record if the suffix says so, and return the offsets of the records."""
    offsets = []
    with path.open("wb") as stream:
        for record in records:
            offsets.append(stream.tell())
            stream.write(gzip.compress(record, mtime=0) if path.suffix == ".gz" else record)
    return offsets


def ids(items: list[Item]) -> list[str]:
    """Return the numbers in the ids of WARC records."""
    return [item.id.removeprefix("urn:uuid:") for item in items]


@pytest.mark.parametrize("name", ["a.warc.gz", "a.warc", "a.warc.zst", "whole.warc.gz", "noname"])
def test_pages_of_a_warc_file(tmp_path: Path, name: str) -> None:
    """HTML responses are read in order from every compression, and other records are counted."""
    chunked = b"5\r\n<p>ch\r\n4;x=1\r\nunks\r\n0\r\n\r\n"
    records = [
        warc_record(0, b"software: test", "warcinfo", "application/warc-fields"),
        *(warc_record(n, response(page(n))) for n in range(1, 1000)),
        warc_record(1000, response(chunked, "Content-Type: text/html\r\nTransfer-Encoding: chunked")),
        warc_record(1001, response(gzip.compress(b"<p>zip"), "Content-Type: text/html\r\nContent-Encoding: gzip")),
        warc_record(1002, response("<p>\u00e4".encode("latin-1"), "Content-Type: text/html; charset=iso-8859-1")),
        warc_record(1003, response(b"{}", "Content-Type: application/json")),
        warc_record(1004, response(b"<p>gone", status="404 Not Found")),
        warc_record(1005, b"GET / HTTP/1.1\r\n\r\n", "request", "application/http"),
        warc_record(1006, b"<p>resource", "resource", "text/html"),
    ]
    path = tmp_path / name
    if name in {"a.warc.gz", "a.warc"}:
        write_warc(path, records)
    else:
        data = b"".join(records)
        path.write_bytes({"a": zstandard.compress(data), "w": gzip.compress(data), "n": data}[name[0]])
    reading = Reading()
    items = items_of(path, reading=reading)
    assert ids(items) == [str(n) for n in (*range(1, 1003), 1006)]
    assert [item.html for item in items[:999]] == [page(n) for n in range(1, 1000)]
    assert [item.html for item in items[999:]] == [b"<p>chunks", b"<p>zip", b"<p>\xe4", b"<p>resource"]
    assert (items[1001].charset, items[0].url, items[0].site) == (
        "iso-8859-1", "http://site.example/1", "site.example"
    )  # fmt: skip
    assert reading.skipped == {
        "warcinfo records": 1, "request records": 1, "other media types": 1,
        "responses with a status other than 200": 1,
    }  # fmt: skip
    if name in {"a.warc.gz", "a.warc"}:
        assert len(list(Inputs((str(path),)).units(Reading()))) > 2


@pytest.mark.exhaustive
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 299), st.sampled_from(["flip", "cut", "zero"]), st.randoms(use_true_random=False))
def test_a_damaged_member_loses_only_its_record(
    tmp_path_factory: pytest.TempPathFactory, number: int, damage: str, chance: random.Random
) -> None:
    """The damaged record becomes an item with an error, and all others are read."""
    path = tmp_path_factory.mktemp("warc") / "a.warc.gz"
    offsets = write_warc(path, [warc_record(n, response(page(n))) for n in range(300)])
    data = bytearray(path.read_bytes())
    start, end = offsets[number], offsets[number + 1] if number < 299 else len(data)
    place = chance.randrange(start + 20, end - 12)
    before = data[place : place + 8]
    after = {"cut": b"", "zero": bytes(8), "flip": bytes(255 - byte for byte in before)}[damage]
    data[place : end if damage == "cut" else place + 8] = after
    path.write_bytes(bytes(data))
    items = items_of(path)
    good = [item.id for item in items if item.error is None]
    assert {f"urn:uuid:{n}" for n in range(300) if n != number} <= set(good)
    assert len(items) <= 301
    assert any(item.error for item in items)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n_kept", [100, 1703, 1809, 1828])
def test_no_record_far_after_a_damaged_member_is_lost(tmp_path: Path, n_kept: int) -> None:
    """Places of records and members agree after damage, so that no right length seems to extend past its member."""
    path = tmp_path / "a.warc.gz"
    offsets = write_warc(path, [warc_record(n, response(page(n))) for n in range(300)])
    data = path.read_bytes()
    path.write_bytes(data[: offsets[267] + n_kept] + data[offsets[268] :])
    items = items_of(path)
    good = [item.id for item in items if item.error is None and item.id != "urn:uuid:267"]
    assert good == [f"urn:uuid:{n}" for n in range(300) if n != 267]
    (error,) = [item.error for item in items if item.error]
    assert f"from byte {offsets[267]:,} of the compressed data" in error


def test_a_wrong_length_loses_only_its_record(tmp_path: Path) -> None:
    """The next gzip member starts the next record, even if the length before it is wrong."""
    for length in (9, 3000, 10**6):
        records = [warc_record(n, response(page(n))) for n in range(8)]
        records[2] = warc_record(2, b"GET /", "request").replace(b"Length: ", b"Length: %d" % length)
        records[5] = records[5].replace(b"Length: ", b"Length: %d" % length)
        write_warc(tmp_path / "a.warc.gz", records)
        items = items_of(tmp_path / "a.warc.gz")
        assert [item.id[-1] for item in items if item.error is None] == ["0", "1", "3", "4", "6", "7"]
        assert (
            "urn:uuid:5",
            "http://site.example/5",
            "damaged (the record's length extends past its gzip member)",
        ) in [(item.id, item.url, item.error) for item in items]


def skippable(content: bytes, kind: int = 0) -> bytes:
    """Return a skippable frame of Zstandard."""
    return bytes([0x50 + kind]) + b"\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


@pytest.mark.parametrize("kind", [0, 13, 15])
@pytest.mark.parametrize("length", [0, 4, 4096, 1_000_000])
def test_skippable_frames(tmp_path: Path, kind: int, length: int) -> None:
    """Zstandard files may have frames that are skipped, such as those that pzstd writes."""
    extra = skippable(bytes(length), kind)
    row, record = f"{ROW}\n".encode(), warc_record(1, response(page(1)))
    starts: tuple[bytes, ...] = (
        (b"", extra, extra * 3) if kind != 13 or length == 0 else (zstandard.compress(b"") + extra,)
    )
    for start in starts:
        (tmp_path / "a.jsonl").write_bytes(start + zstandard.compress(row) + extra + zstandard.compress(row) + extra)
        (tmp_path / "b").write_bytes(start + zstandard.compress(record) + extra + zstandard.compress(record))
        assert [(item.id, item.error) for item in items_of(tmp_path / "a.jsonl")] == [("a", None)] * 2
        assert [(item.id, item.error) for item in items_of(tmp_path / "b")] == [("urn:uuid:1", None)] * 2
    (tmp_path / "c.jsonl").write_bytes(extra[:-1] if length else extra[:7])
    assert "cannot read the rest of the file" in str([item.error for item in items_of(tmp_path / "c.jsonl")])


@pytest.mark.parametrize("is_compressed", [False, True])
def test_archives_with_a_dictionary(tmp_path: Path, is_compressed: bool) -> None:  # noqa: FBT001
    """The first frame of a ``.warc.zst`` file may hold the dictionary of the others."""
    records = [warc_record(n, response(page(n, 300))) for n in range(300)]
    words = zstandard.train_dictionary(4000, list(records)).as_bytes()
    compressor = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(words))
    frames = [skippable(zstandard.compress(words) if is_compressed else words, 13), *map(compressor.compress, records)]
    (tmp_path / "a.warc.zst").write_bytes(b"".join(frames))
    assert [item.html for item in items_of(tmp_path)] == [page(n, 300) for n in range(300)]


@pytest.mark.parametrize("n_records", [1, 3, 300])
def test_no_record_of_a_zstandard_file_is_lost(tmp_path: Path, n_records: int) -> None:
    """The records that are still buffered at the end of the file are read as well."""
    text = b"<p>" + b"some words " * 300
    data = b"".join(warc_record(n, response(text)) for n in range(n_records))
    (tmp_path / "a.warc.zst").write_bytes(zstandard.compress(data))
    assert ids(items_of(tmp_path)) == [str(n) for n in range(n_records)]


def test_a_wrong_length_in_an_uncompressed_file_loses_only_its_record(tmp_path: Path) -> None:
    """A length that extends past the following records hides none of them."""
    for kind in ("response", "request"):
        records = [warc_record(n, response(page(n))) for n in range(8)]
        records[3] = warc_record(3, response(page(3)), kind).replace(b"Length: ", b"Length: 999")
        write_warc(tmp_path / "a.warc", records)
        items = items_of(tmp_path / "a.warc")
        assert ids(items) == [str(n) for n in range(8)]
        assert [item.error for item in items if item.error] == ["damaged (the file ends inside this record)"]


@pytest.mark.parametrize("kept", [20, 150, 900])
def test_a_truncated_record_loses_only_itself(tmp_path: Path, kept: int) -> None:
    """The next record is found even without a line break before it, as when a crawler was killed and restarted."""
    records = [warc_record(n, response(page(n))) for n in range(8)]
    records[3] = records[3][:kept]
    write_warc(tmp_path / "a.warc", records)
    items = items_of(tmp_path / "a.warc")
    assert ids([item for item in items if item.error is None]) == ["0", "1", "2", "4", "5", "6", "7"]
    assert len(items) == 8


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_first_member_loses_only_its_record(tmp_path: Path, place: int) -> None:
    """The suffix of the file shows that more records follow the damaged one."""
    write_warc(tmp_path / "a.warc.gz", [warc_record(n, response(page(n))) for n in range(300)])
    data = bytearray((tmp_path / "a.warc.gz").read_bytes())
    data[place] ^= 1
    (tmp_path / "a.warc.gz").write_bytes(data)
    items = items_of(tmp_path)
    assert ids(items[1:]) == [str(n) for n in range(1, 300)]
    assert (items[0].error or "").startswith("damaged")


def test_a_small_damaged_file_is_recognised_by_its_content(tmp_path: Path) -> None:
    """The format is recognised by the bytes before the damage, regardless of the file's name."""
    write_warc(tmp_path / "a.gz", [warc_record(n, response(page(n))) for n in range(3)])
    (tmp_path / "a.gz").write_bytes((tmp_path / "a.gz").read_bytes()[:-20])
    (tmp_path / "b.gz").write_bytes(gzip.compress(f"{ROW}\n".encode() * 20)[:-8])
    assert [item.id for item in items_of(tmp_path / "a.gz") if item.error is None] == ["urn:uuid:0", "urn:uuid:1"]
    assert [item.id for item in items_of(tmp_path / "b.gz") if item.error is None] == ["a"] * 20


def test_members_may_end_inside_of_records(tmp_path: Path) -> None:
    """Gzip members of a fixed size, and records without line breaks between them, are read."""
    data = b"".join(warc_record(n, response(page(n))) for n in range(99))
    pieces = [data[place : place + 1000] for place in range(0, len(data), 1000)]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(map(gzip.compress, pieces)))
    assert ids(items_of(tmp_path / "a.warc.gz")) == [str(n) for n in range(99)]
    write_warc(tmp_path / "b.warc.gz", [warc_record(n, response(page(n)))[:-4] for n in range(99)])
    items = items_of(tmp_path / "b.warc.gz")
    assert [(item.id, item.html) for item in items] == [(f"urn:uuid:{n}", page(n)) for n in range(99)]


def test_truncated_files_are_noticed(tmp_path: Path) -> None:
    """The end of a file is an error if it is in the middle of a gzip member or of a record."""
    members = [gzip.compress(warc_record(n, response(page(n, 20)))) for n in range(2)]
    for end in (0, 1, 2, 5, 10, 12, 30, 100, len(members[1]) - 1, len(members[1])):
        for empty in (b"", gzip.compress(b"")):
            (tmp_path / "a.warc.gz").write_bytes(members[0] + empty + members[1][:end])
            items = items_of(tmp_path / "a.warc.gz")
            assert [item.error for item in items[:-1]] == [None] * (len(items) - 1)
            assert (items[-1].error is None) == (end in {0, len(members[1])})
            assert sum(item.error is not None for item in items) <= 1
    records = [warc_record(n, response(page(n, 20))) for n in range(2)]
    for end in (0, 5, 100, 200, len(records[1]) - 5, len(records[1]) - 4, len(records[1])):
        (tmp_path / "a.warc").write_bytes(records[0] + records[1][:end])
        items = items_of(tmp_path / "a.warc")
        assert (items[0].html, items[-1].error is None) == (page(0, 20), end == 0 or end >= len(records[1]) - 4)


def test_an_archive_inside_a_page_is_not_read(tmp_path: Path) -> None:
    """Records inside pages, gzipped or not, aren't read as records, no matter where a file is split."""
    inner = gzip.compress(warc_record(9999, response(b"<p>inner")), mtime=0)
    plain = warc_record(8888, response(b"<p>inner"))
    for name in ("a.warc", "a.warc.gz"):
        # Stored blocks of gzip keep the bytes of the inner record.
        records = [warc_record(n, response(page(n, 100) + (inner + b"\r\n\r\n" + plain) * 40)) for n in range(400)]
        path = tmp_path / name
        with path.open("wb") as stream:
            for record in records:
                stream.write(gzip.compress(record, 0, mtime=0) if name.endswith("gz") else record)
        items = []
        end = 0
        for unit in Inputs((str(path),)).units(Reading()):  # as the pool does
            assert isinstance(unit, WarcRange)
            if end >= unit.end:
                continue
            left = WarcRange(unit.path, max(unit.start, end), unit.end, unit.zipped)
            reading = Reading()
            items += list(left.items(reading))
            end = reading.end or 0
        assert ids(items) == [str(n) for n in range(400)]


def test_pages_of_an_arc_file(tmp_path: Path) -> None:
    """Pages of ARC files are read, compressed or not."""
    first = b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 10\nversion 1\n\n"
    body = response(b"<p>old")
    data = first + f"http://a.example/ 1.2.3.4 20260101000000 text/html {len(body)}\n".encode() + body + b"\n"
    (tmp_path / "a.arc").write_bytes(data)
    (tmp_path / "b.arc.gz").write_bytes(gzip.compress(data))
    items = items_of(tmp_path)
    assert [(item.id, item.html, item.url) for item in items] == [
        ("a.arc:2", b"<p>old", "http://a.example/"),
        ("b.arc.gz:2", b"<p>old", "http://a.example/"),
    ]


@given(st.binary(max_size=300))
def test_any_response_is_read(block: bytes) -> None:
    """Any bytes are read as a response or raise an error of the reader."""
    for start in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n"):
        found = read_response(start + block)
        with suppress(OSError):
            assert len(decoded_body(found.body, found.codings, 100)[0]) <= 100


CHUNKS = b"5\r\n<p>ab\r\n9\r\n<p>and so\r\n0\r\n\r\n"
ZIPPED = gzip.compress(b"<p>ab <p>and so", mtime=0)


@pytest.mark.parametrize(
    ("body", "field", "kind"),
    [
        (CHUNKS, "Transfer-Encoding: chunked", "chunked"),
        (b"<p>joined already", "Transfer-Encoding: chunked", None),
        (ZIPPED, "Content-Encoding: gzip", "compressed"),
        (b"<p>unzipped already", "Content-Encoding: gzip", None),
        (zlib.compress(b"<p>ab <p>and so"), "Content-Encoding: deflate", "compressed"),
        (b"", "Content-Encoding: deflate", None),
    ],
)
def test_truncated_bodies_have_a_warning(tmp_path: Path, body: bytes, field: str, kind: str | None) -> None:
    """A body that is cut off gives a warning and, if the page has text, the status ``truncated``."""

    def truncated(data: bytes, limit: int = 1000) -> str | None:
        found = read_response(response(data, field))
        return decoded_body(found.body, found.codings, limit)[1]

    assert truncated(body) is None
    if kind is None:
        return
    expected = f"the response ends inside its {kind} body"
    for end in (11, -6, -5, -4):
        assert truncated(body[:end]) == expected
    assert truncated(body[:-4], 3) is None  # the limit is reported
    write_warc(tmp_path / "a.warc", [warc_record(1, response(body[:-4], field))])
    (record,) = predict_items(read_items(find_inputs([str(tmp_path / "a.warc")])), Plain(), isolation="none")
    assert record["warnings"][0] == expected
    assert record["status"] == ("truncated" if record["text"] else "empty_page")


def test_truncation_by_the_crawler_is_reported(tmp_path: Path) -> None:
    """The field ``WARC-Truncated`` (ISO 28500, section 5.13) is reported."""
    record = warc_record(1, response(b"<p>page")).replace(b"WARC-Date", b"WARC-Truncated: length\r\nWARC-Date")
    write_warc(tmp_path / "a.warc", [record])
    assert items_of(tmp_path / "a.warc")[0].truncated == "the crawler truncated the page (length)"


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd"])
def test_a_damaged_body_loses_only_its_page(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged body doesn't stop reading, even from a pipe."""
    records = [
        warc_record(1, response(b"\1damaged", f"Content-Encoding: {encoding}")),
        warc_record(2, response(b"<p>x")),
    ]
    with piped(b"".join(records), monkeypatch):
        items = items_of("-")
    assert [(item.id, item.error is None) for item in items] == [("urn:uuid:1", False), ("urn:uuid:2", True)]
    assert "the compressed body is damaged" in str(items[0].error)


def test_compressed_bodies_are_bounded() -> None:
    """A small body that decompresses to much more is read up to the limit."""
    for name, body in (("gzip", gzip.compress(bytes(10**7))), ("deflate", zlib.compress(bytes(10**7)))):
        assert len(decoded_body(body, (name,), 1000)[0]) == 1000


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("Content-Encoding: " + ",".join(["br"] * 20_000), "the body has more than 5 content encodings"),
        ("Content-Encoding: " + ",".join(["br"] * 6), "the body has more than 5 content encodings"),
        ("Content-Encoding: " + ",".join(["br"] * 5), None),
        ("Set-Cookie: " + "a" * 66_000, "the HTTP header has more than 65,536 bytes"),
        ("Set-Cookie: " + "a" * 60_000, None),
    ],
)
def test_long_headers(tmp_path: Path, header: str, error: str | None) -> None:
    """A header that is too long, or that has too many encodings, makes its page unreadable, and no other one."""
    records = [warc_record(n, response(page(n))) for n in range(3)]
    records[1] = warc_record(1, response(b" " * 5000 + page(1), f"Content-Type: text/html\r\n{header}"))
    write_warc(tmp_path / "a.warc.gz", records)
    items = items_of(tmp_path / "a.warc.gz")
    assert ids(items) == ["0", "1", "2"]
    assert [item.error for item in items] == [None, error, None] or (error is None and "br" in header)


def test_only_the_first_bytes_tell_whether_a_body_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body is not copied as a whole for each of its encodings to see whether it is text."""

    class Bytes(bytes):
        def lstrip(self, *_: object) -> bytes:
            raise AssertionError("copies the whole body")

    monkeypatch.setattr("blockml.archives.http._streamed", lambda *_: (b"", False))
    assert decoded_body(Bytes(b" <p>x"), ("br", "br"), 1000) == (b" <p>x", None)


def test_bodies_are_decoded_by_workers(tmp_path: Path) -> None:
    """Units keep bodies as they were sent, so that the time to decode one counts for its page."""
    records = [warc_record(1, response(gzip.compress(b"<p>zip"), "Content-Type: text/html\r\nContent-Encoding: gzip"))]
    write_warc(tmp_path / "a.warc.gz", records)
    (unit,) = find_inputs([str(tmp_path / "a.warc.gz")]).units(Reading())
    (item,) = unit.items(Reading())
    assert (item.codings, item.html) == (("gzip",), gzip.compress(b"<p>zip"))
    assert item.read() == b"<p>zip"


def test_a_first_segment_is_a_truncated_page(tmp_path: Path) -> None:
    """A page whose further segments are in other records (ISO 28500, section 7) is not complete."""
    first = warc_record(1, response(b"<p>page")).replace(b"WARC-Date", b"WARC-Segment-Number: 1\r\nWARC-Date")
    rest = warc_record(2, b" end", "continuation").replace(b"WARC-Date", b"WARC-Segment-Number: 2\r\nWARC-Date")
    write_warc(tmp_path / "a.warc", [first, rest])
    reading = Reading()
    (item,) = items_of(tmp_path / "a.warc", reading=reading)
    assert item.truncated == "only the first segment of the page is read"
    assert reading.skipped == {"continuation records": 1}


# --- Parquet and standard input ---------------------------------------------------------------------------------------


def test_pages_of_a_parquet_file(tmp_path: Path) -> None:
    """Rows are read for any type of cells, and a cell without a page becomes an item with an error."""
    table = pa.table({"html": [b"<p>1", b"<p>2", None], "url": ["http://a.example/", None, None], "id": [5, 6, 7]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    items = items_of(tmp_path / "a.parquet")
    assert [(item.id, item.html, item.url) for item in items] == [
        ("5", b"<p>1", "http://a.example/"), ("6", b"<p>2", None), ("7", None, None),
    ]  # fmt: skip
    assert items[2].error == "the column 'html' holds nothing, not bytes or text"
    with pytest.raises(UsageError, match="no column 'body'; the columns are: html, url, id"):
        items_of(tmp_path / "a.parquet", fields=RecordFields(html="body"))


def odd_columns() -> Iterator[tuple[str, Any]]:
    """Yield columns of three cells that contain no pages or whose types have no equivalent in Python."""
    texts = ["<p>one", "<p>two", None]
    yield from {
        "dictionary": pa.array(texts).dictionary_encode(), "large": pa.array(texts, pa.large_string()),
        "view": pa.array(texts, pa.string_view()), "bytes": pa.array([b"<p>one", b"\xff", None], pa.binary_view()),
        "fixed": pa.array([b"<p>one", b"<p>two", None], pa.binary(6)), "null": pa.nulls(3),
        "struct": pa.array([{"a": "b"}] * 3), "list": pa.array([["a"], [], None]),
        "map": pa.array([[("a", "b")]] * 3, pa.map_(pa.string(), pa.string())),
        "far": pa.array([2**62, -(2**62), None], pa.timestamp("s")),
        "nanoseconds": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        "zone": pa.array([1, 2, 3], pa.timestamp("us", "Nowhere/None")),
        "date": pa.array([2**61, 0, None], pa.date64()),
        "duration": pa.array([2**62, 1, None], pa.duration("s")), "time": pa.array([1, 2, 3], pa.time64("ns")),
        "number": pa.array([1.5, float("nan"), None]), "decimal": pa.array([1, 2, None], pa.decimal128(38, 2)),
        "list of times": pa.array([[1], [2], None], pa.list_(pa.timestamp("ns"))),
    }.items()  # fmt: skip
    buffers = pa.array(["ab", "cd", "ef"]).buffers()
    yield "not UTF-8", pa.Array.from_buffers(pa.string(), 3, [*buffers[:2], pa.py_buffer(b"\xff\xfe\xed\xa0c\x80")])


@pytest.mark.parametrize("field", ["html", "url", "id", "charset", "site"])
def test_columns_of_odd_types(tmp_path: Path, field: str) -> None:
    """Each row has a record, which is the same for files and for tables."""
    options = Options(fields=("status", "text"))
    for name, column in odd_columns():
        table = pa.table({"html": pa.array(["<p>one", "<p>two", "<p>three"]), "x": [1, 2, 3]})
        table = table.drop_columns("html").append_column("html", column) if field == "html" else (
            table.append_column(field, column)
        )  # fmt: skip
        made = BatchExtractor("plain", options)(table).to_pylist()
        assert len(made) == 3
        if field != "html":
            assert [row["text"] for row in made] == ["one", "two", "three"], name
        if name == "not UTF-8" and field == "html":
            assert [row["status"] for row in made] == ["empty_page", "ok", "ok"]
        if name == "far":  # Parquet can't store these times
            continue
        try:
            pq.write_table(table, tmp_path / "a.parquet")
        except pa.ArrowNotImplementedError:  # older versions of pyarrow can't write views
            assert name in {"view", "bytes"}
            continue
        items = read_items(find_inputs([str(tmp_path / "a.parquet")]))
        assert list(predict_items(items, Plain(), options, isolation="none")) == made, name


def test_duplicated_columns(tmp_path: Path) -> None:
    """Two columns with the name of the page's column are an error, but unused columns may have equal names."""
    html = pa.array(["<p>one"])
    twice = pa.Table.from_arrays([html, html], names=["html", "html"])
    pq.write_table(twice, tmp_path / "a.parquet")
    for call in (lambda: items_of(tmp_path / "a.parquet"), lambda: BatchExtractor("plain")(twice)):
        with pytest.raises(UsageError, match="the table has two columns named 'html'"):
            call()
    others = pa.Table.from_arrays([html, html, html], names=["html", "x", "x"])
    pq.write_table(others, tmp_path / "b.parquet")
    assert [item.html for item in items_of(tmp_path / "b.parquet")] == ["<p>one"]
    assert BatchExtractor("plain")(others).num_rows == 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"<p>page", ["stdin"]),
        (gzip.compress(b"<p>page", mtime=0), ["stdin"]),
        (b'{"id": "a", "html": "x"}\n{"html": "y"}\n', ["a", "stdin:2"]),
        (b'[1]\n{"id": "a", "html": "x"}\n', ["stdin:1", "a"]),
        (b"[1] A footnote", ["stdin"]),
        (b"1984\nA novel", ["stdin"]),
        (b"{% extends 'base' %}\n<p>x", ["stdin"]),
        (b"{'html': 'x'}\n", ["stdin:1"]),
        (b"", ["stdin"]),
        (warc_record(3, response(b"<p>x")), ["urn:uuid:3"]),
    ],
    ids=["page", "gzip", "lines", "array", "text", "number", "template", "python", "empty", "warc"],
)
def test_standard_input(data: bytes, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input can be a page, JSON lines or a WARC file."""
    with piped(data, monkeypatch):
        assert [item.id for item in items_of("-")] == expected


@contextmanager
def piped(data: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make standard input a pipe with these bytes, which can't seek."""
    reading, writing = os.pipe()

    def write() -> None:
        with suppress(BrokenPipeError), os.fdopen(writing, "wb") as stream:
            stream.write(data)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        yield
    thread.join()


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_an_archive_through_a_pipe(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive read from a pipe gives the same records as from a file, with every compression."""
    compress = COMPRESSIONS[suffix]
    data = b"".join(compress(warc_record(n, response(page(n)))) for n in range(300))
    with piped(data, monkeypatch):
        items = items_of("-")
    assert [(item.id, item.html) for item in items] == [(f"urn:uuid:{n}", page(n)) for n in range(300)]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("kind", ["page", "lines", "warc"])
def test_damaged_standard_input(kind: str, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged standard input gives the pages before the damage and then an error."""
    texts = {
        "page": [page(1)],
        "lines": [json.dumps({"html": page(n).decode()}).encode() + b"\n" for n in range(300)],
        "warc": [warc_record(n, response(page(n))) for n in range(300)],
    }
    for end in (-1, -1000, 5):
        with piped(b"".join(COMPRESSIONS[suffix](text) for text in texts[kind])[:end], monkeypatch):
            *items, last = items_of("-")
        assert "Compressed file ended" in str(last.error)
        whole = kind != "page" and end < 0  # except for the last record, which may be damaged
        assert [item.error for item in items] == [None] * len(items)
        assert len(items) in ({298, 299, 300} if whole else {0})
