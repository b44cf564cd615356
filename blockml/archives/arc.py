"""ARC files, the format of web archives before WARC (Internet Archive, 1996)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from blockml.archives.compression import DAMAGED, open_decompressed
from blockml.archives.http import MAX_HEADER, Response, read_response
from blockml.archives.suffixes import name_text
from blockml.archives.warc import Capture

__all__ = ["arc_captures"]

_MAX_LINE = 1 << 16  # maximum bytes of the line before a record
_BLOCK = 1 << 20


def arc_captures(path: Path, limit: int) -> Iterator[Capture]:
    """Read the records of a file, compressed or not, up to the first damaged one; the records have no offsets."""
    count, name = 0, name_text(path.name)
    try:
        with open_decompressed(path) as stream:
            while line := stream.readline(_MAX_LINE):
                if not line.strip():
                    continue
                count += 1
                capture = _capture(stream, line, f"{name}:{count}", limit)
                if not (capture.url or "").startswith("filedesc:"):
                    yield capture
    except DAMAGED as error:
        reason = f"cannot read the rest of the file ({error})"
        yield Capture(0, Response(error=reason), f"{name}:{count + 1}")


def _capture(stream: BinaryIO, line: bytes, capture_id: str, limit: int) -> Capture:
    """Read a record: a line of URL, address, date, media type and length, then the response."""
    words = line.decode("utf-8", "replace").split()
    if len(words) < 5 or not words[-1].isdecimal():
        raise OSError(f"record {capture_id} has an invalid first line")
    length = int(words[-1])
    block = stream.read(min(length, limit + MAX_HEADER))
    left = length - len(block)
    while left > 0 and (rest := stream.read(min(left, _BLOCK))):
        left -= len(rest)
    response = read_response(block)
    if left > 0 and not response.skipped:
        response = Response(error="the file ends inside this record")
    return Capture(0, response, capture_id, words[0], words[2])
