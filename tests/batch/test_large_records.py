"""Records of two gigabytes are read with bounded memory, and the next record is read as well."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux only"),
    pytest.mark.exhaustive,
]

SIZE = (2 << 30) + 5
#: Extra memory in bytes that a program may use: pages have at most 64 MB, lines of JSON three times as much.
MEMORY = 700 << 20
PROGRAM = """
import json, resource, sys
from pathlib import Path
from blockml.batch import find_inputs, read_items
from blockml.batch.readers import Reading
import fastwarc.warc, pyarrow.parquet
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + int(sys.argv[2]), -1))
limit = int(sys.argv[3])
items = list(read_items(find_inputs([sys.argv[1]]), Reading(limit)))
lengths = [0 if item.error else len(item.read(limit)) for item in items]
print(json.dumps([[item.id, item.error, length] for item, length in zip(items, lengths)]))
"""


def read_with_little_memory(
    path: Path, limit: int = (64 << 20) + 1, memory: int = MEMORY
) -> list[tuple[str, str | None, int]]:
    """Return ids, errors and lengths of the items of a file, read by a process with limited memory."""
    command = [sys.executable, "-c", PROGRAM, str(path), str(memory), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own program)
    assert done.returncode == 0, done.stderr
    return [tuple(item) for item in json.loads(done.stdout)]


def record(name: str, size: int) -> bytes:
    """Return the header of a WARC record and of the response in it."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{name}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(head) + size}\r\n\r\n"
    ).encode() + head


def write_sparse(path: Path, before: bytes, after: bytes) -> None:
    """Write a sparse file with a hole of two gigabytes, which uses no disk space."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(SIZE, 1)
        file.write(after)


def test_large_warc_record(tmp_path: Path) -> None:
    """A page in a WARC file is cut off after the limit."""
    next_one = record("next", 4) + b"<p>x\r\n\r\n"
    write_sparse(tmp_path / "a.warc", record("huge", SIZE), b"\r\n\r\n" + next_one)
    limit = (64 << 20) + 1
    assert read_with_little_memory(tmp_path / "a.warc") == [("huge", None, limit), ("next", None, 4)]


def test_large_parquet_cells(tmp_path: Path) -> None:
    """A page that is stored once and shared by all rows is loaded for one row at a time."""
    pages = pa.DictionaryArray.from_arrays(pa.array([0] * 32, pa.int32()), [b"x" * (140 << 20)])
    options = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 30, "store_schema": False}
    pq.write_table(pa.table({"html": pages}), tmp_path / "a.parquet", **options)
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    found = read_with_little_memory(tmp_path / "a.parquet", limit=1000, memory=3 * MEMORY)
    assert [(error, length) for _, error, length in found] == [(None, 1000)] * 32


def test_large_json_line(tmp_path: Path) -> None:
    """A line that is too long becomes an error, and the next line is read."""
    before = b'{"id": "huge", "html": "'
    write_sparse(tmp_path / "a.jsonl", before, b'"}\n{"id": "next", "html": "<p>x"}\n')
    error = f"the line has {len(before) + SIZE + 3} bytes, more than allowed for a page"
    assert read_with_little_memory(tmp_path / "a.jsonl") == [("a.jsonl:1", error, 0), ("next", None, 4)]


def test_large_page_file(tmp_path: Path) -> None:
    """A page file is cut off after the limit."""
    write_sparse(tmp_path / "a.html", b"<p>x", b"<p>y")
    ((_, error, length),) = read_with_little_memory(tmp_path / "a.html")
    assert (error, length) == (None, (64 << 20) + 1)
