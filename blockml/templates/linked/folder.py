"""Pages of a site in a folder: a static copy, pages with a map of their links, or page folders with ``meta.json``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from blockml.archives.compression import DAMAGED, open_decompressed, read_file
from blockml.archives.suffixes import PAGES, SERVED, with_compression
from blockml.errors import InputError, UsageError, check_name
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.linked.archive import ARCHIVE_STARTS, ArchiveSource
from blockml.templates.linked.layouts import FolderPage, is_inside, page_files, read_layout
from blockml.templates.linked.links import PageSource
from blockml.templates.linked.urls import normalise

#: File names of link maps.
_MAP_NAMES = with_compression("pages.jsonl")

#: Index files.
_INDEXES = tuple(f"index{suffix}" for suffix in (*PAGES, *SERVED))

#: Characters of a file name that need no escape in a URL's path (RFC 3986, section 3.3).
_SAFE = "/!$&'()*+,;=:@"

#: Bytes of a line read to detect the kind of a file; a record with a whole page is one line.
_MAX_LINE = 1 << 26

#: Options of the two classes.
_FOLDER_OPTIONS = ("base", "links", "parsing", "site")
_ARCHIVE_OPTIONS = ("max_redirects", "parsing")


class FolderSource(PageSource):
    """Pages of a site in a folder.

    There are three layouts:

    ``site``
        Static site, or a copy of one (wget, HTTrack). The URL of a page is ``base`` and its path below the folder.
        ``dir/`` finds ``dir/index.html``, ``page`` finds ``page.html``; escapes are decoded. A query is part of the
        file's name if such a file exists (``list.php?id=3.html``), else it is ignored; so is the scheme.
    ``map``
        File of JSON lines, one per page: ``id``, and optionally ``url``, ``path``, ``encoding``, ``site`` and
        ``hrefs``, the ids that links, as written, lead to. The pages are ``pages/ID.html`` or ``ID.html`` below the
        folder, each with any suffix of pages, or else at ``path``. A page without URL gets ``base`` and ``path``.
    ``described``
        One folder per page, with ``page.html`` and a ``meta.json`` with ``url``, and optionally ``id``, ``site`` and
        ``encoding``.

    Files that end in ``.gz``, ``.zst`` or ``.br`` are decompressed. Nothing outside the folder is read: URLs are looked
    up in a list made on construction, and symbolic links that leave the folder are ignored. Links to pages that are not
    in the folder resolve to None. The attribute ``layout`` is ``site``, ``map`` or ``described``, and ``base`` the
    normalised base URL with a final slash. Raises InputError if there is no such folder, no page in it, or an unusable
    map or ``meta.json``, and UsageError if the base is not a web URL, the site is unknown, or the layout assigns no
    sites.

    Parameters
    ----------
    folder
        Folder of the pages.
    links
        Link map, if any; relative paths start at the folder.
    base
        URL of the folder. The site's own URL makes absolute links work in a copy of it.
    site
        Keep only pages of this ``site``, if the files name sites.
    parsing
        Options for :func:`blockml.parse`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "index.html").write_text("<a href=/about>About</a>")
    ...     _ = (Path(folder) / "about.html").write_text("<p>About us</p>")
    ...     source = FolderSource(folder)
    ...     home = source.get("http://folder.invalid/")
    >>> home.url, source.resolve(home, "/about"), source.resolve(home, "/gone")
    ('http://folder.invalid/index.html', 'http://folder.invalid/about.html', None)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        links: str | os.PathLike[str] | None = None,
        base: str = "http://folder.invalid/",
        site: str | None = None,
        parsing: Mapping[str, Any] | None = None,
    ) -> None:
        self._parsing = dict(parsing or {})
        parse("", url=None, charset=None, **self._parsing)  # report invalid options now
        self._root = Path(folder).resolve()
        if not self._root.is_dir():
            raise InputError("no such folder", source=folder)
        whole = normalise(base)
        if whole is None or "?" in whole:
            raise UsageError(f"the base must be an http or https URL without a query, got {base!r}")
        self.base = whole if whole.endswith("/") else f"{whole}/"
        self.layout, files = read_layout(self._root, self._root / links if links is not None else None, site)
        self._pages: dict[str, FolderPage] = {}
        self._names: dict[str, str] = {}
        for file in files:
            self._add(file)
        if not self._pages:
            raise InputError("no pages in this folder", source=folder)
        # Copies of sites may have escapes in their file names.
        self._places = {file.place: url for url, file in self._pages.items()} if self.layout == "site" else {}
        for place, url in list(self._places.items()):
            self._places.setdefault(_unquoted(place), url)

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of all pages, in the order of the map or by path."""
        return tuple(self._pages)

    def get(self, url: str) -> Page | None:
        """Load and parse a page; None if it is unknown or its file can't be read."""
        known = self._find(normalise(url))
        if known is None:
            return None
        file = self._pages[known]
        limits = self._parsing.get("limits") or Limits()
        if not is_inside(file.path, self._root):  # may have changed since it was listed
            return None
        try:
            content = read_file(file.path, limits.bytes + 1)  # one byte more, so that parsing notices the limit
        except DAMAGED:
            return None
        return parse(content, url=known, charset=file.charset, **self._parsing)

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of the page in this folder that a link leads to; None if there is no such page.

        A link map that contains the page and the link takes precedence over resolving the link as browsers do.
        """
        own = self._find(normalise(page.url)) if page.url else None
        if own is not None:
            hrefs = self._pages[own].hrefs
            target = hrefs.get(href, hrefs.get(href.strip()))
            if target is not None:
                return self._names.get(target)
        return self._find(super().resolve(page, href))

    def url_of(self, name: str | os.PathLike[str]) -> str:
        """Return the URL of a page by its id, file, or path below the folder; raise UsageError if it is unknown."""
        key = os.fspath(name)
        if key in self._names:
            return self._names[key]
        try:
            below = Path(os.path.realpath(key)).relative_to(self._root).as_posix()
        except ValueError:  # outside the folder, or not a path
            below = ""
        if below not in self._names:
            raise UsageError(f"no page has the id or file {key!r}", source=self._root)
        return self._names[below]

    def _add(self, file: FolderPage) -> None:
        # File names may contain bytes that are not text.
        url = (normalise(file.url) if file.url else None) or normalise(
            self.base + quote(os.fsencode(file.place), _SAFE)
        )
        if url is None or url in self._pages:
            problem = "another page has this URL too; choose a site if there are several" if url else "no URL"
            raise InputError(f"{problem}: {url or file.place}", source=file.path)
        self._pages[url] = file
        for name in (*file.names, file.path.relative_to(self._root).as_posix()):
            self._names.setdefault(name, url)

    def _find(self, url: str | None) -> str | None:
        """Return the URL under which a page is listed."""
        if url is None or url in self._pages:
            return url
        if self.layout != "site":
            return None
        path, _, query = url.partition("://")[2].partition("?")
        start = self.base.partition("://")[2]
        if f"{path}/" == start:
            path = start
        if not path.startswith(start):
            return None
        places = _candidates(_unquoted(path.removeprefix(start)), query)
        return next((self._places[place] for place in places if place in self._places), None)


def open_source(path: str | os.PathLike[str], **options: Any) -> FolderSource | ArchiveSource:  # noqa: ANN401
    """Open the pages of a site in any supported storage, detected by content.

    A folder with a link map (``pages.jsonl``, possibly compressed), page folders or page files is a
    :class:`FolderSource`, and so is a link map itself. A WARC or ARC file, JSON lines with whole pages, and a folder of
    only such files is an :class:`~blockml.templates.linked.archive.ArchiveSource`. ``options`` are passed to the class.
    Raises InputError without such a file or pages in it, and UsageError for an unknown option or invalid value.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "index.html").write_text("<p>Home</p>")
    ...     open_source(folder, base="http://a.example/").urls
    ('http://a.example/index.html',)
    """
    target = Path(path)
    if not target.exists():
        raise InputError("no such file or folder", source=path)
    kind = _kind_of(target)
    if target.is_dir():
        maps = [name for name in _MAP_NAMES if _kind_of(target / name) == "map"]
        if maps:
            options = {"links": maps[0], **options}
        elif not any(page_files(target.resolve())) and any(_kind_of(file) == "archive" for file in target.iterdir()):
            kind = "archive"
    elif kind == "map":
        target, options = target.parent, {"links": target.name, **options}
    elif not kind:
        raise InputError(
            "not a folder of pages, a WARC or ARC file, a link map or JSON lines of pages; for a page, give its folder",
            source=path,
        )
    legal = _ARCHIVE_OPTIONS if kind == "archive" else _FOLDER_OPTIONS
    for name in options:
        check_name("option", name, legal)
    return ArchiveSource(target, **options) if kind == "archive" else FolderSource(target, **options)


def base_of(folder: str | os.PathLike[str], page: str | os.PathLike[str], url: str) -> str | None:
    """Return the URL of a folder by the URL of a page file in it; that of the server if the file is elsewhere.

    None if the URL is not a web URL.

    Examples
    --------
    >>> base_of("copies/cats", "copies/cats/about/index.html", "https://example.org/cats/about/")
    'https://example.org/cats/'
    """
    place = os.path.relpath(os.path.realpath(page), os.path.realpath(folder)).replace(os.sep, "/")
    start, _, query = (normalise(url) or "").partition("?")
    ends = [match.end() for match in re.finditer("/", start)][2:]  # after the host
    found = (end for end in ends if place in _candidates(_unquoted(start[end:]), query))
    return start[: next(found, ends[0])] if ends else None


def _kind_of(path: Path) -> str:
    """Detect by its first line whether a file is an ``archive``, a ``map``, or neither (empty)."""
    if not path.is_file():
        return ""
    try:
        with open_decompressed(path) as stream:
            start = stream.readline(_MAX_LINE)
    except DAMAGED:
        return ""
    if start.startswith(ARCHIVE_STARTS):
        return "archive"
    try:
        row = json.loads(start.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(row, dict):
        return ""
    if "html" in row:
        return "archive"
    return "map" if "id" in row else ""


def _unquoted(path: str) -> str:
    return os.fsdecode(unquote_to_bytes(os.fsencode(path)))


def _candidates(path: str, query: str) -> Iterator[str]:
    """Yield the paths where the page of a URL may be, likely ones first."""
    if not path or path.endswith("/"):
        places = [path + index for index in _INDEXES]
        if path:
            places += [path.rstrip("/") + suffix for suffix in PAGES]
    else:
        places = [path, *(path + suffix for suffix in PAGES), *(f"{path}/{index}" for index in _INDEXES)]
    if query:
        for text in dict.fromkeys((query, _unquoted(query))):
            for place in places:
                for mark in "?@":
                    yield from (f"{place}{mark}{text}{suffix}" for suffix in ("", *PAGES))
    yield from places
