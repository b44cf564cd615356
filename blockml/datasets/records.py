"""JSON records of data sets: parsing, and checks of the fields that blockml reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from blockml.archives.compression import open_file
from blockml.errors import DatasetError

#: Fields that hold a string, and fields that hold a list of strings; each may be missing or null.
_TEXTS = ("id", "url", "site", "page_type", "encoding", "main_content")
#: Maximum bytes of a line: twice the parser's limit for a page.
MAX_LINE = 2**27
_LISTS = ("with", "without", "ignore", "flags")


def file_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, counted from 1; the suffix determines the decompression.

    Lines are limited because a small compressed file can expand to a line of any length.

    Raises
    ------
    DatasetError
        A line is longer than any record.
    """
    number = 0
    with open_file(path) as stream:
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise DatasetError(f"line {number} is longer than {MAX_LINE} bytes", source=path)
            yield number, line


def text_lines(path: Path, remedy: str = "save the file in UTF-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file in UTF-8 with their numbers, counted from 1.

    Raises
    ------
    DatasetError
        A line is longer than any record, or is not UTF-8.
    """
    for number, line in file_lines(path):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            found = f"byte {line[error.start]:#x}"
            raise DatasetError(f"line {number} is not UTF-8 ({found}); {remedy}", source=path) from None


def parse_record(line: str, what: str, source: Path) -> dict[str, Any]:
    """Parse a JSON object and check the fields that describe a page.

    Parameters
    ----------
    line
        The JSON.
    what
        Name of the record in error messages, such as ``line 3``.
    source
        The file.

    Raises
    ------
    DatasetError
        Not JSON, not an object, or a field that blockml reads is of the wrong type.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{what} is not JSON ({error})", source=source) from None
    if not isinstance(row, dict):
        raise DatasetError(f"{what} is not a JSON object", source=source)
    if problem := field_problem(row):
        raise DatasetError(f"{what}: {problem}", source=source)
    return row


def field_problem(row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the types of a record; None if they are right."""
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            return f"{name!r} must be a string"
    for name in _LISTS:
        if not _is_list(row.get(name), str):
            return f"{name!r} must be a list of strings"
    if not _is_list(blocks := row.get("blocks"), dict) or not all(
        "xpath" not in block or (isinstance(block["xpath"], str) and isinstance(block.get("type"), str))
        for block in blocks or ()
    ):
        return "'blocks' must be a list of objects with strings 'xpath' and 'type'"
    place = PurePosixPath(row.get("id") or "")
    if place.is_absolute() or ".." in place.parts:
        return f"the id {str(place)!r} leads out of the folder"
    return None


def _is_list(value: object, kind: type) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, kind) for item in value))
