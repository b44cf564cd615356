"""Pages and records that harm the process that reads them, among a thousand good ones in one archive."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blockml.batch import Guard, Item, Options, PageExtractor, RecordFields, find_inputs, predict_to_file
from blockml.batch.readers import Items, Reading
from blockml.batch.readers.json_lines import LineBlock
from blockml.batch.readers.tables import RowGroup
from blockml.batch.run import failures_path
from tests.batch.poison import Poison
from tests.batch.slow_reading import SlowReading

pytestmark = pytest.mark.exhaustive

N_GOOD = 1000
#: Time limit in seconds: long enough for the largest page on a busy machine.
SECONDS = 8.0
#: Poison pages, by the number of the good page that follows.
POISONS = {100: "loop", 300: "hog", 301: "segfault", 500: "exit", 700: "raise"}
#: Size in bytes of a page with more elements than the limit, and of a page compressed to a thousandth of its size.
LARGE, BOMB = 12_000_000, 1_000_000_000


def record(name: str, body: bytes, encoding: str = "") -> bytes:
    """Return a gzip member of a WARC file with one page."""
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{encoding}\r\n".encode() + body
    header = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{name}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(header.encode() + block + b"\r\n\r\n", 1, mtime=0)


def bomb() -> bytes:
    """Return a compressed page that is a thousand times as large when decompressed."""
    member = gzip.compress(b"<p>word</p>" * 1_000_000)
    return member * (BOMB // 11_000_000)


def archive(path: Path) -> None:
    """Write good pages, pages that make :class:`Poison` fail, a large page, a compression bomb and a damaged record."""
    words = "word " * 500
    with path.open("wb") as stream:
        for number in range(N_GOOD):
            if word := POISONS.get(number):
                stream.write(record(word, f"<p>{word} {words}".encode()))
            if number == 800:
                stream.write(record("large", b"<p>large page" * (LARGE // 13)))
            if number == 900:
                stream.write(record("bomb", bomb(), "Content-Encoding: gzip\r\n"))
            if number == 950:
                damaged = bytearray(record("damaged", words.encode()))
                damaged[30:40] = bytes(10)
                stream.write(damaged)
            stream.write(record(str(number), f"<p>page {number} {words}".encode()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
@pytest.mark.parametrize("jobs", [1, 2])
def test_poison_loses_only_its_page(tmp_path: Path, jobs: int) -> None:
    """Every good page is extracted, and each bad one has a record with the reason."""
    source, out = tmp_path / "pages.warc.gz", tmp_path / "out.jsonl"
    archive(source)
    pages = PageExtractor(Poison(), Options(fields=("id", "status", "text", "error")))
    guard = Guard(seconds=SECONDS, memory=1 << 30)
    predict_to_file(find_inputs([str(source)]), pages, out, jobs=jobs, guard=guard)
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    good = [row for row in records if row["id"].isdecimal()]
    assert [row["id"] for row in good] == [str(number) for number in range(N_GOOD)]
    assert {row["status"] for row in good} == {"ok"}
    others = {row["id"]: row["status"] for row in records if not row["id"].isdecimal()}
    place = next(name for name in others if name.startswith("pages.warc.gz@"))
    assert others == {
        "loop": "timeout", "hog": "crashed", "segfault": "crashed", "exit": "crashed", "raise": "crashed",
        "large": "truncated", "bomb": "truncated", place: "unreadable",
    }  # fmt: skip
    failures = [json.loads(line) for line in failures_path(out).read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in failures] == ["loop", "hog", "segfault", "exit", "raise", place]
    assert failures[1]["error"] == "needed more than 1,024 MB of memory"
    assert failures[2]["error"] == "the process was killed by SIGSEGV"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only")
@pytest.mark.parametrize(("jobs", "zipped"), [(1, True), (2, False)])
def test_reading_goes_on_after_a_record_that_takes_too_long(tmp_path: Path, jobs: int, zipped: bool) -> None:  # noqa: FBT001
    """A record whose reading hangs or needs too much memory has a row, and every other page is extracted."""
    source, out = tmp_path / ("a.warc.gz" if zipped else "a.warc"), tmp_path / "out.jsonl"
    bad = {0: "hang", 20: "hog", 21: "hang", 59: "hang"}
    members = [record(str(number), f"<p>{bad.get(number, 'page')} {number}".encode()) for number in range(60)]
    members = members if zipped else [gzip.decompress(member) for member in members]
    places = {number: sum(map(len, members[:number])) for number in bad}
    source.write_bytes(b"".join(members))
    pages = PageExtractor(SlowReading(), Options(fields=("id", "status", "text", "error")))
    predict_to_file(find_inputs([str(source)]), pages, out, jobs=jobs, guard=Guard(seconds=0.5, memory=1 << 30))
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    expected = [f"{source.name}@{places[number]}" if number in bad else str(number) for number in range(60)]
    assert [row["id"] for row in rows] == expected
    failed = {row["id"]: (row["status"], row["error"]) for row in rows if row["status"] != "ok"}
    timeout = ("timeout", "reading it: took longer than 0.5 seconds")
    hog = ("crashed", "reading it: needed more than 1,024 MB of memory")
    assert list(failed.values()) == [timeout, hog, timeout, timeout]


def test_pages_that_can_not_be_read_have_a_name(tmp_path: Path) -> None:
    """If a process dies while it reads a unit, each page after those that it had read has a row."""
    pq.write_table(pa.table({"html": ["<p>x"] * 5}), tmp_path / "a.parquet")
    for number in range(3):
        (tmp_path / f"{number}.html").write_text("<p>x", encoding="utf-8")
    group, *_ = find_inputs([str(tmp_path / "a.parquet")]).units(Reading())
    assert isinstance(group, RowGroup)
    assert list(group.unread(2, 0)[0]) == ["a.parquet:3", "a.parquet:4", "a.parquet:5"]
    (files,) = find_inputs([str(tmp_path)]).units(Reading())
    names, left = files.unread(1, 0)
    assert list(names) == ["1"]
    assert left is not None
    assert [item.id for item in left.items(Reading())] == ["2"]
    lines = LineBlock("a.jsonl", 7, ((b"{}", 2),) * 3, RecordFields())
    assert lines.unread(1, 0) == (["a.jsonl:8", "a.jsonl:9"], None)
    assert Items((Item("a"), Item("b"))).unread(1, 0) == (["b"], None)
