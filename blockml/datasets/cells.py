"""Cells of tables as pages and texts, in the forms that spreadsheets, exports and crawlers write."""

from __future__ import annotations

import base64
import binascii
import io
import re
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from blockml.archives.compression import DAMAGED, decompressed, recognized
from blockml.archives.suffixes import PAGE_FILES
from blockml.document.text import render_text
from blockml.errors import DatasetError
from blockml.parsing import Limits, parse

__all__ = ["gold_text", "is_empty", "page_content", "page_path"]

#: A table may come from somebody else, and what it names would be shown in reports.
_OUTSIDE = "outside of the table's folder"
_ALLOW = "outside_files=True (in commands: --outside-files) allows this"
#: Maximum characters of a cell in a message.
_SHOWN = 60
#: A text in base64 of at least 40 characters, with line ends or without.
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{38,}+={0,2}\s*")
#: The start of an address.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
#: Gold that is markup from its first to its last character.
_MARKUP = re.compile(r"\s*<(?:[a-z][a-z0-9]*\b|!)[^<>]*>.*>\s*", re.DOTALL | re.IGNORECASE)


def is_empty(value: Any) -> bool:  # noqa: ANN401
    """Return whether a cell is empty: None, NaN, or only white space."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124
    return is_nan or type(value).__name__ in ("NAType", "NaTType")


def page_content(value: Any) -> bytes | str | None:  # noqa: ANN401
    """Return the page in a cell: text, bytes, compressed bytes, or a text in base64; None for the name of a file.

    Raises
    ------
    DatasetError
        The cell has another type, or a compressed page is damaged.

    Examples
    --------
    >>> page_content("PGh0bWw+PHA+Q2F0cyBydWxlIHRoZSB3b3JsZC48L3A+"), page_content("pages/1.html")
    (b'<html><p>Cats rule the world.</p>', None)
    """
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    if isinstance(value, str) and "<" not in value and _BASE64.fullmatch(value):
        try:
            data = base64.b64decode("".join(value.split()), validate=True)
        except binascii.Error:
            return None
        return _decompressed(data) if recognized(data[:4]) or b"<" in data else None
    if isinstance(value, bytes):
        return _decompressed(value)
    if isinstance(value, str):
        return value if "<" in value else None
    if isinstance(value, int | float):
        return None
    raise DatasetError(f"the page is a {type(value).__name__}, not text or bytes")


def _decompressed(data: bytes) -> bytes:
    if not (compression := recognized(data[:4])):
        return data
    try:
        return decompressed(io.BytesIO(data), compression).read(Limits().bytes + 1)
    except DAMAGED as error:
        raise DatasetError(f"the page is a damaged {compression} stream ({error})") from error


def page_path(name: str, folder: Path, *, outside_files: bool = False) -> Path:
    """Return the file that a cell names, relative to ``folder``; the suffix may be missing.

    Raises
    ------
    DatasetError
        There is no such file, or it is outside of the folder without ``outside_files``; the message is the reason.
    """
    scheme = found[1].lower() if (found := _SCHEME.match(name)) else ""
    if scheme == "file":
        with suppress(ValueError):  # not a URL
            name = url2pathname(urlsplit(name).path)
    shown = repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")
    for text in (name, name.replace("\\", "/")):
        place = folder / text
        for end in ("", *PAGE_FILES):
            with suppress(OSError):  # a name may be too long for the file system
                if place.name and (file := place.with_name(place.name + end)).is_file():
                    if not (outside_files or _is_below(file, folder)):
                        raise DatasetError(f"names a file {_OUTSIDE}, {shown}; {_ALLOW}")
                    return file
    if scheme not in ("", "file"):
        raise DatasetError(f"has the address {shown} instead of a page; pages are not downloaded")
    raise DatasetError(f"names a file that does not exist, {shown}")


def gold_text(value: Any, folder: Path, *, outside_files: bool = False) -> Any:  # noqa: ANN401
    """Return the text of a cell of gold.

    Markup gives its text, a list its lines, and the name of a text file its content. Other values are returned as they
    are.

    Raises
    ------
    DatasetError
        The text file is outside of the folder, and ``outside_files`` is not set.
    OSError
        The text file can't be read.
    UnicodeError
        It is not in UTF-8.

    Examples
    --------
    >>> gold_text("<h1>Cats</h1><p>Cats rule.</p>", Path()), gold_text(["Cats", "Cats rule."], Path())
    ('Cats\\nCats rule.', 'Cats\\nCats rule.')
    >>> gold_text("Write <p> for a paragraph", Path())
    'Write <p> for a paragraph'
    """
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        return value
    if _MARKUP.fullmatch(value):
        page = parse(value)
        return render_text(page, [True] * len(page.blocks))
    if value.lower().endswith(".txt") and len(value) < 1000 and "\n" not in value and _is_file(folder / value):
        if not (outside_files or _is_below(folder / value, folder)):
            raise DatasetError(f"the gold names a file {_OUTSIDE}, {value[:_SHOWN]!r}; {_ALLOW}")
        return (folder / value).read_text(encoding="utf-8-sig")
    return value


def _is_below(file: Path, folder: Path) -> bool:
    """Tell whether a file is in a folder or below it, after links are followed."""
    return file.resolve().is_relative_to(folder.resolve())


def _is_file(path: Path) -> bool:
    """Tell whether a path is a file; a name that is too long for the file system is not."""
    try:
        return path.is_file()
    except OSError:
        return False
