"""ARC files, the format of web archives before WARC (Internet Archive, 1996)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from blockml.batch.items import Item
from blockml.batch.readers.base import Items, Reading, in_units, printable
from blockml.batch.readers.compression import DAMAGED, open_decompressed
from blockml.batch.readers.http import MAX_HEADER, read_response

__all__ = ["arc_units"]

_MAX_LINE = 1 << 16  # of the line before a record
_BLOCK = 1 << 20


def arc_units(path: Path, reading: Reading) -> Iterator[Items]:
    """Read the pages of a file, compressed or not, up to the first damaged record; see :func:`in_units`."""
    return in_units(path.name, _pages(path, reading))


def _pages(path: Path, reading: Reading) -> Iterator[Item]:
    count = 0
    try:
        with open_decompressed(path) as stream:
            while line := stream.readline(_MAX_LINE):
                if not line.strip():
                    continue
                count += 1
                item = _page(stream, line, f"{path.name}:{count}", reading)
                if item is not None:
                    yield item
    except DAMAGED as error:
        yield Item(f"{path.name}:{count + 1}", error=f"cannot read the rest of the file ({error})")


def _page(stream: BinaryIO, line: bytes, page_id: str, reading: Reading) -> Item | None:
    """Read a record: a line of URL, address, date, media type and length, then the response."""
    words = line.decode("utf-8", "replace").split()
    if len(words) < 5 or not words[-1].isdecimal():
        raise OSError(f"record {page_id} has no valid first line")
    url, length = printable(words[0]), int(words[-1])
    block = stream.read(min(length, reading.limit + MAX_HEADER))
    left = length - len(block)
    while left > 0 and (rest := stream.read(min(left, _BLOCK))):
        left -= len(rest)
    if url.startswith("filedesc:"):
        return None
    response = read_response(block, words[-2], reading.limit)
    if response.skipped:
        reading.skipped[response.skipped] += 1
        return None
    return response.item(page_id, url, "the file ends inside this record" if left > 0 else None)
