"""Suffixes of file names: which files are pages, and which are compressed.

Suffixes match in any case, so ``B.HTML.GZ`` is a compressed page. :mod:`blockml.archives.compression` has the readers
of compressions, and :mod:`blockml.archives.kinds` the files that hold many pages.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["COMPRESSIONS", "LINES", "PAGES", "PAGE_FILES", "SERVED", "is_page_file", "is_page_of_folder"]
__all__ += ["is_list_of_pages", "is_table_file", "is_table_of_pages", "name_text", "page_stem", "pages_below"]
__all__ += ["pattern", "split_compression", "with_compression"]

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
