"""Pages for the tests of engines, one of which needs more memory than it may use."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from blockml.batch import BatchExtractor, Guard, Options

DATA = Path(__file__).parents[3] / "data" / "pages"
FIELDS = ("id", "url", "status", "text", "confidence", "error")
#: Worker processes are killed if a page needs more memory than the limit.
GUARDED = BatchExtractor(
    "kim2013", Options(fields=FIELDS), isolation="process", guard=Guard(seconds=60.0, memory=48 << 20)
)
POISON = "<p>word</p>" * 400_000


def html_pages() -> dict[str, str]:
    """Return pages by id, with the poison page in the middle."""
    pages = {path.parent.name: path.read_text(encoding="utf-8", errors="replace") for path in DATA.glob("*/page.html")}
    names = sorted(pages)
    ordered = {name: pages[name] for name in names}
    return dict([*list(ordered.items())[:9], ("poison", POISON), *list(ordered.items())[9:]])


def rows() -> list[dict[str, str]]:
    """Return the pages as rows of a table."""
    return [{"id": name, "html": html, "url": f"http://{name}.example/"} for name, html in html_pages().items()]


def warc(path: Path) -> Path:
    """Write the pages to a WARC file, with a damaged member and records that are not pages."""
    members = []
    for name, html in html_pages().items():
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
        header = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{name}>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
            f"WARC-Target-URI: http://{name}.example/\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        members.append(gzip.compress(header.encode() + block + b"\r\n\r\n", mtime=0))
    damaged = bytearray(members[3])
    damaged[200:210] = bytes(10)
    members[3] = bytes(damaged)
    path.write_bytes(b"".join(members))
    return path


def expected() -> list[dict[str, Any]]:
    """Return the expected records of the rows."""
    good = (row for row in rows() if row["id"] != "poison")
    made = list(BatchExtractor("kim2013", Options(fields=FIELDS)).records(good))
    reason = "needed more than 48 MB of memory"
    failed = {"id": "poison", "url": "http://poison.example/", "status": "crashed", "text": "", "confidence": None}
    return [*made[:9], failed | {"error": reason}, *made[9:]]


def killer(isolation: str) -> BatchExtractor:
    """Return an extractor whose process is killed once by each of the two bad pages of :func:`killing_rows`."""
    fields = ("id", "status", "text")
    return BatchExtractor("tests.batch.poison:Poison", Options(fields=fields), isolation=isolation)


def killing_rows(folder: Path, n: int = 40) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return rows, two of which kill a worker once, and the expected records."""
    texts = [f"kill {folder / str(number)}" if number in (7, 30) else f"Page {number}" for number in range(n)]
    rows = [{"id": f"{number:02d}", "html": f"<p>{text}"} for number, text in enumerate(texts)]
    return rows, [{"id": row["id"], "status": "ok", "text": text} for row, text in zip(rows, texts, strict=True)]
