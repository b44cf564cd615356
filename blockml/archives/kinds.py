"""Kinds of files that hold many pages: how each is recognised, and which reader of :mod:`blockml.batch` reads it.

A new kind is a row of :data:`INPUT_KINDS` and its reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from blockml.archives.bundles import ZIP_STARTS, is_tar
from blockml.archives.suffixes import LINES, split_compression

__all__ = [
    "INPUT_KINDS",
    "InputKind",
    "kind_by_name",
    "kind_by_start",
    "kind_of",
    "only_named",
    "read_in_folders",
    "without_signature",
]

#: JSON of pages that isn't JSON lines: an array of objects, or an object whose opening brace is on its own line.
_JSON_DOCUMENT = re.compile(rb"\[\s*\{|\{[ \t\r]*\n")
#: Start of an object, also with Python's quotes. Pages may begin with ``{%`` or ``{{`` of a template language.
_JSON_OBJECT = re.compile(rb"\{[ \t]*[\"'}]")


@dataclass(frozen=True, slots=True)
class InputKind:
    """A kind of files that hold many pages."""

    name: str
    described: str  #: With its article, for messages: ``a WARC file``.
    suffixes: tuple[str, ...]  #: In lower case, before the suffix of a compression.
    #: Tells from the first bytes of a file, decompressed, whether it is of this kind; None if only names tell.
    begins: Callable[[bytes], bool] | None
    #: Function of ``blockml.batch.readers`` that splits a file into units, as ``MODULE:NAME``; loaded at its first use.
    reader: str
    piped: str = ""  #: The same for standard input; empty if the kind needs a file with a name.
    has_signature: bool = True  #: Whether ``begins`` is never true for a page.
    in_folders: bool = False  #: Whether it is read in a folder that is an input, or only if it is named itself.
    refused: str = ""  #: Why it is not read, if it isn't.


def _starts_with(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda start: start.startswith(marks)


def _is_json_document(start: bytes) -> bool:
    return _JSON_DOCUMENT.match(start) is not None


def _is_lines(start: bytes) -> bool:
    """Tell whether a file starts with an object or with an array on its own line.

    No page starts with an array, unlike a number or a quotation.
    """
    if _JSON_OBJECT.match(start):
        return True
    line = start.partition(b"\n")[0]
    try:
        return line.startswith(b"[") and isinstance(json.loads(line), list)
    except (ValueError, RecursionError):
        return False


#: In the order in which the starts of files are tried.
INPUT_KINDS = (
    InputKind(
        "WARC", "a WARC file", (".warc",), _starts_with(b"WARC/"), "warc:warc_units", "warc:piped_warc",
        in_folders=True,
    ),
    InputKind("ARC", "an ARC file", (".arc",), _starts_with(b"filedesc:"), "warc:arc_units", in_folders=True),
    InputKind("Parquet", "a Parquet file", (".parquet",), _starts_with(b"PAR1"), "parquet:parquet_units"),
    InputKind("ZIP", "a ZIP archive", (".zip",), _starts_with(*ZIP_STARTS), "bundles:zip_units"),
    InputKind("tar", "a tar archive", (".tar", ".tgz"), is_tar, "bundles:tar_units", "bundles:piped_tar"),
    InputKind(
        "JSON", "a JSON document", (), _is_json_document, "", has_signature=False,
        refused="JSON, but not JSON lines, which have one object with one page per line",
    ),
    InputKind(
        "JSON lines", "a file of JSON lines", LINES, _is_lines, "lines:line_units", "lines:piped_lines",
        has_signature=False,
    ),
    InputKind("CSV", "a table", (".csv", ".tsv"), None, "tables:table_units", has_signature=False),
)  # fmt: skip


def kind_of(name: str, start: bytes) -> InputKind | None:
    """Return the kind of a file from its name and its first bytes, decompressed; None for a page.

    Examples
    --------
    >>> kind_of("pages.data", b"WARC/1.0").name, kind_of("a.csv", b"html,text").name, kind_of("a.txt", b"<p>One")
    ('WARC', 'CSV', None)
    """
    by_name, by_start = kind_by_name(name), kind_by_start(start)
    # The start may be damaged. A workbook is a ZIP archive, but the reader of tables knows what it is.
    return by_name if by_start is None or (by_start.name == "ZIP" and by_name is not None) else by_start


def kind_by_start(start: bytes) -> InputKind | None:
    """Return the kind of a file from its first bytes, decompressed; None for a page and for a table.

    Examples
    --------
    >>> kind_by_start(b"WARC/1.0\\r\\n").name, kind_by_start(b"<!doctype html>")
    ('WARC', None)
    """
    start = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    return next((kind for kind in INPUT_KINDS if kind.begins is not None and kind.begins(start)), None)


def kind_by_name(name: str) -> InputKind | None:
    """Return the kind of a file from its suffix, in any case and with any compression.

    Examples
    --------
    >>> kind_by_name("CC-MAIN-1.WARC.GZ").name, kind_by_name("a.html")
    ('WARC', None)
    """
    bare = split_compression(name.lower())[0]
    return next((kind for kind in INPUT_KINDS if bare.endswith(kind.suffixes)), None)


def without_signature(page: bytes) -> InputKind | None:
    """Return the kind of a file that was taken for a page, if its first bytes are those of no page."""
    return next(
        (kind for kind in INPUT_KINDS if kind.has_signature and kind.begins is not None and kind.begins(page)), None
    )


def read_in_folders() -> tuple[str, ...]:
    """Return the suffixes of the files of many pages that are read in folders."""
    return tuple(suffix for kind in INPUT_KINDS if kind.in_folders for suffix in kind.suffixes)


def only_named() -> str:
    """Return the names of the kinds that are not read from standard input, for messages."""
    names = [kind.name for kind in INPUT_KINDS if not kind.piped and kind.has_signature]
    return f"{', '.join(names[:-1])} and {names[-1]}"
