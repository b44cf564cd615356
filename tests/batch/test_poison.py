"""Pages and records that harm the process that reads them, among a thousand good ones in one archive."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

from blockml.batch import Guard, Options, PageExtractor, find_inputs, predict_to_file
from blockml.batch.run import failures_path
from tests.batch.poison import Poison

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
