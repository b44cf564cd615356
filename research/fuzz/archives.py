"""Damaged files of many pages: WARC, ARC, JSON lines, Parquet, compressed or not."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from blockml.batch import find_inputs, read_items
from blockml.errors import BlockmlError
from research.fuzz.mutations import mutated

__all__ = ["archive", "small_archive", "warc_record"]

ROOT = Path(__file__).parents[2]


def _archives_of(sources: Sequence[bytes]) -> Mapping[str, bytes]:
    """Return files of every kind with these pages."""
    warc = b"".join(gzip.compress(warc_record(number, source), 1, mtime=0) for number, source in enumerate(sources))
    lines = b"".join(
        json.dumps({"id": 1, "html": item.decode("utf-8", "replace")}).encode() + b"\n" for item in sources
    )
    made = {
        "a.warc.gz": warc,
        "a.warc": b"".join(warc_record(number, source) for number, source in enumerate(sources)),
        "a.jsonl": lines,
        "a.jsonl.gz": gzip.compress(lines, 1, mtime=0),
        "a.html.gz": gzip.compress(sources[0], mtime=0),
        "a.arc": b"filedesc://a.arc 0.0.0.0 20260101000000 text/plain 10\n1 0 a\n\n\n\n"
        + b"".join(b"http://a.example/ 1.2.3.4 20260101000000 text/html %d\n%b\n" % (len(s), s) for s in sources),
    }
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return made
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": list(map(str, range(len(sources)))), "html": list(sources)}), stream)
    return made | {"a.parquet": stream.getvalue()}


def warc_record(number: int, source: bytes, ends: str = "\r\n") -> bytes:
    """Return a WARC record with a page, whose header ends its lines with ``ends``."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + source
    return (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{number}>\r\nContent-Length: {len(block)}\r\n"
        "Content-Type: application/http; msgtype=response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\r\n"
    ).replace("\r\n", ends).encode() + block + b"\r\n\r\n"  # fmt: skip


@cache
def _archives() -> Mapping[str, bytes]:
    return _archives_of([path.read_bytes()[:20_000] for path in sorted((ROOT / "data").glob("*/*/page.html"))[:6]])


@cache
def _small_archives() -> Mapping[str, bytes]:
    return _archives_of([b"<p>one<p>two", b"<title>A</title><a href=/>b</a>"])


def archive(chance: random.Random, folder: Path) -> None:
    """Read a damaged archive to its end: every page has an id, and one that can't be read has a reason."""
    _read_damaged(_archives(), chance, folder)


def small_archive(chance: random.Random, folder: Path) -> None:
    """Read a damaged archive of two small pages."""
    _read_damaged(_small_archives(), chance, folder)


def _read_damaged(archives: Mapping[str, bytes], chance: random.Random, folder: Path) -> None:
    name = chance.choice(sorted(archives))
    path = folder / name
    path.write_bytes(mutated(archives[name], chance, (b"WARC/1.0\r\n", b"\r\n\r\n", b"\x1f\x8b\x08", b"\n", b"{")))
    try:
        for item in read_items(find_inputs([str(path)])):
            assert isinstance(item.id, str)
            assert item.error is None or item.error
            try:
                source = item.read()
            except OSError:
                continue
            assert isinstance(source, bytes | str)
    except BlockmlError:
        return
