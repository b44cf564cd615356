"""ARC files, the format of web archives before WARC (Internet Archive, 1996)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from blockml.archives.compression import compression_of
from blockml.archives.content import Content, Syntax
from blockml.archives.http import MAX_HEADER, Response, read_response
from blockml.archives.suffixes import name_text
from blockml.archives.warc import Capture, read_captures

__all__ = ["arc_captures"]

#: The line before a record: URL, address, date, media type and, last, length.
_LINE = rb"\S{1,7000}+ +\S{1,100} +\d{8,14} +(?:\S[^\n]{0,900} )?\d{1,18}[ \r]{0,9}(?:\n|\Z)"
_ARC = Syntax(
    start=re.compile(rb"^(?=[a-z][a-z0-9+.-]{1,20}:)" + _LINE, re.MULTILINE),
    first_line=re.compile(_LINE),
    prefix=re.compile(rb"[a-z][a-z0-9+.-]{1,12}:"),
    max_line=1 << 13,
    n_ends=1,
    overlap=1 << 13,
)


def arc_captures(path: Path, limit: int) -> Iterator[Capture]:
    """Read the records of a file, compressed or not, whose ids are their numbers.

    A damaged one gives an error, and no other one is lost.
    """
    name, count = name_text(path.name), 0

    def begin(content: Content) -> tuple[Capture, Callable[[int], Response]]:
        nonlocal count
        count += 1
        words = content.first_line.decode("utf-8", "replace").split()
        capture = Capture(0, Response(), f"{name}:{count}", words[0], words[2])
        return capture, partial(_response, content, int(words[-1]))

    with path.open("rb") as stream:
        content = Content(stream, 0, compression_of(path), _ARC)
        for capture in read_captures(content, None, limit, lambda _: None, begin):
            if not capture.id:  # there is no record here
                count += 1
                yield replace(capture, id=f"{name}:{count}")
            elif not (capture.url or "").startswith("filedesc:"):
                yield capture


def _response(content: Content, length: int, limit: int) -> Response:
    return read_response(content.read(length, limit + MAX_HEADER))
