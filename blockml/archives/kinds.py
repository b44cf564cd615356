"""Kinds of files: which are pages, which hold many pages, and which are compressed.

A new kind is a row of :data:`INPUT_KINDS` and its reader.

Suffixes match in any case, so ``B.HTML.GZ`` is a compressed page. :mod:`blockml.archives.compression` has the readers
of compressions, and :mod:`blockml.archives.kinds` the files that hold many pages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from blockml.archives.bundles import ZIP_STARTS, is_tar

__all__ = [
    "COMPRESSIONS",
    "INPUT_KINDS",
    "LINES",
    "PAGES",
    "PAGE_FILES",
    "SERVED",
    "InputKind",
    "is_list_of_pages",
    "is_page_file",
    "is_page_of_folder",
    "is_table_file",
    "is_table_of_pages",
    "kind_by_name",
    "kind_by_start",
    "kind_of",
    "name_text",
    "only_named",
    "page_stem",
    "pages_below",
    "pattern",
    "read_in_folders",
    "read_kinds",
    "split_compression",
    "with_compression",
    "without_signature",
]


#: Pages.
PAGES = (".html", ".htm", ".xhtml")
#: Files with one page per line.
LINES = (".jsonl", ".ndjson")
#: Tables of pages.
_TABLES = (".csv", ".tsv", ".json", *LINES, ".parquet")
#: Compressions, which may follow any other suffix.
COMPRESSIONS = (".gz", ".zst", ".br")
#: Suffixes of server-side pages in copies of sites, in addition to :data:`PAGES`.
SERVED = (".shtml", ".php", ".asp", ".aspx", ".jsp", ".cgi")

#: Suffixes of page files. If a page has several files, the one whose suffix comes first here is read.
PAGE_FILES = tuple(page + end for page in PAGES for end in (*COMPRESSIONS, ""))


def split_compression(name: str) -> tuple[str, str]:
    """Split a compression suffix off a file name; it is returned in lower case, or empty.

    Examples
    --------
    >>> split_compression("B.HTML.GZ"), split_compression("a.html")
    (('B.HTML', '.gz'), ('a.html', ''))
    """
    end = os.path.splitext(name)[1].lower()  # noqa: PTH122 (Path would change some names)
    return (name[: -len(end)], end) if end in COMPRESSIONS else (name, "")


def with_compression(*names: str) -> tuple[str, ...]:
    """Return file names with each compression suffix and without, compressed ones first.

    Examples
    --------
    >>> with_compression("gold.jsonl")
    ('gold.jsonl.gz', 'gold.jsonl.zst', 'gold.jsonl.br', 'gold.jsonl')
    """
    return tuple(name + end for name in names for end in (*COMPRESSIONS, ""))


def name_text(path: str | os.PathLike[str]) -> str:
    """Return the name or path of a file as text: read as UTF-8 in every locale, with escapes for other bytes.

    Examples
    --------
    >>> name_text(os.fsdecode(b"page-\\xe9.html"))
    'page-\\\\udce9.html'
    """
    return os.fsencode(path).decode("utf-8", "surrogateescape").encode("utf-8", "backslashreplace").decode()


def page_stem(name: str) -> str | None:
    """Return the name or path of a page file without its suffixes; None for other files.

    Examples
    --------
    >>> page_stem("news/B.HTML.GZ"), page_stem("a.htm"), page_stem("style.css.gz")
    ('news/B', 'a', None)
    """
    bare = split_compression(name)[0]
    low = bare.lower()
    return next((bare[: -len(end)] for end in PAGES if low.endswith(end)), None)


def is_page_file(name: str) -> bool:
    """Tell whether a file name is that of a page."""
    return page_stem(name) is not None


def is_page_of_folder(name: str) -> bool:
    """Tell whether a file name is that of the page of a page folder, such as ``page.html`` or ``page.htm.gz``."""
    return (page_stem(name) or "").lower() == "page"


def pages_below(folder: Path) -> dict[str, Path]:
    """Return the page files below a folder by their path without suffixes, with ``/`` as separator."""
    found: dict[str, Path] = {}
    for place, _, names in os.walk(folder):
        for name in sorted(filter(is_page_file, names), key=_rank, reverse=True):
            path = Path(place, name)
            if stem := page_stem(path.relative_to(folder).as_posix()):
                found[stem] = path
    return found


def _rank(name: str) -> int:
    low = name.lower()
    return next(rank for rank, end in enumerate(PAGE_FILES) if low.endswith(end))


def pattern(*groups: tuple[str, ...]) -> str:
    """Return a regular expression for one suffix of each group in turn.

    Examples
    --------
    >>> pattern((".html", ".htm"), (".gz", ""))
    '(?:\\\\.html|\\\\.htm)(?:\\\\.gz|)'
    """
    return "".join(f"(?:{'|'.join(map(re.escape, group))})" for group in groups)


def is_table_file(name: str) -> bool:
    """Tell whether a file name is that of a table.

    Examples
    --------
    >>> is_table_file("labels.CSV.gz"), is_table_file("page.html")
    (True, False)
    """
    return split_compression(name)[0].lower().endswith(_TABLES)


def is_table_of_pages(name: str, data: bytes) -> bool:
    """Tell whether a file is a table of pages instead of a page, by its name and the start of its content.

    Examples
    --------
    >>> is_table_of_pages("a.csv", b"html,text"), is_table_of_pages("a.json", b"<!doctype html>")
    (True, False)
    """
    return is_table_file(name) and not data[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


#: A line of a list of page files or addresses, and the maximum bytes of a text that is tested for being a list.
_LISTED = re.compile(rf"https?://[^\s<>]+|[^<>]+{pattern(PAGE_FILES)}", re.IGNORECASE)
_MAX_LIST = 1 << 20


def is_list_of_pages(data: bytes) -> bool:
    r"""Tell whether a file's content is a list of page files or addresses, one per line, instead of a page.

    Examples
    --------
    >>> is_list_of_pages(b"a/1.html\na/2.html\n"), is_list_of_pages(b"Two lines\nof text")
    (True, False)
    """
    if len(data) > _MAX_LIST or b"<" in data:
        return False
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines() if line.strip()]
    return bool(lines) and all(map(_LISTED.fullmatch, lines))


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
        "WARC", "a WARC file", (".warc",), _starts_with(b"WARC/"), "web_archives:warc_units", "web_archives:piped_warc",
        in_folders=True,
    ),
    InputKind("ARC", "an ARC file", (".arc",), _starts_with(b"filedesc:"), "web_archives:arc_units", in_folders=True),
    InputKind("Parquet", "a Parquet file", (".parquet",), _starts_with(b"PAR1"), "tables:parquet_units"),
    InputKind("ZIP", "a ZIP archive", (".zip",), _starts_with(*ZIP_STARTS), "page_files:zip_units"),
    InputKind("tar", "a tar archive", (".tar", ".tgz"), is_tar, "page_files:tar_units", "page_files:piped_tar"),
    InputKind(
        "JSON", "a JSON document", (), _is_json_document, "", has_signature=False,
        refused="JSON, but not JSON lines, which have one object with one page per line",
    ),
    InputKind(
        "JSON lines", "a file of JSON lines", LINES, _is_lines, "json_lines:line_units", "json_lines:piped_lines",
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
    """Return the kind of a file that was read as a page, if its first bytes show that it is not one."""
    return next(
        (kind for kind in INPUT_KINDS if kind.has_signature and kind.begins is not None and kind.begins(page)), None
    )


def read_in_folders() -> tuple[str, ...]:
    """Return the suffixes of the files of many pages that are read in folders."""
    return tuple(suffix for kind in INPUT_KINDS if kind.in_folders for suffix in kind.suffixes)


def only_named() -> str:
    """Return the names of the kinds that are not read from standard input, for messages."""
    return _enumerated([kind.name for kind in INPUT_KINDS if not kind.piped and kind.has_signature], "and")


def read_kinds(*, in_folders: bool = False) -> str:
    """Return the names of the kinds that are read, or only of those that are read in folders too, for help.

    Examples
    --------
    >>> read_kinds(in_folders=True)
    'WARC or ARC'
    """
    return _enumerated([kind.name for kind in INPUT_KINDS if not kind.refused and kind.in_folders >= in_folders], "or")


def _enumerated(names: Sequence[str], conjunction: str) -> str:
    """Join names by commas and a conjunction."""
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"
