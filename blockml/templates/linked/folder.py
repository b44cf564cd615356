"""Pages of a site in a folder: a static copy, pages with a map of their links, or page folders with ``meta.json``."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from blockml.errors import InputError, UnknownNameError, UsageError
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.linked.archive import ArchiveSource
from blockml.templates.linked.layouts import DAMAGED, PageFile, is_inside, page_files, read_file, read_layout
from blockml.templates.linked.source import PageSource
from blockml.templates.linked.urls import normalise

__all__ = ["FolderSource", "open_source"]

#: Names under which a link map is looked for.
_MAP_NAMES = ("pages.jsonl", "pages.jsonl.gz")

#: What servers add to a path that is no file.
_INDEXES = tuple(f"index{suffix}" for suffix in (".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".aspx", ".jsp"))
_ADDED = (".html", ".htm", ".xhtml")

#: Characters of a file name that need no escape in the path of a URL (RFC 3986, section 3.3).
_SAFE = "/!$&'()*+,;=:@"

#: A record with a whole page is one line; no more of it is read to find out what a file is.
_MAX_LINE = 1 << 26

#: Options of the two classes.
_FOLDER_OPTIONS = ("base", "links", "parsing", "site")
_ARCHIVE_OPTIONS = ("max_redirects", "parsing")


class FolderSource(PageSource):
    """The pages of a site in a folder.

    Three layouts are known:

    ``site``
        A static site, or a copy of one (wget, HTTrack). The URL of a page is ``base`` and its path below the folder.
        ``dir/`` finds ``dir/index.html``, ``page`` finds ``page.html``; escapes are undone. A query is part of the
        file's name if there is such a file (``list.php?id=3.html``), else it doesn't count; neither does the scheme.
    ``map``
        A file of JSON lines, one a page: ``id``, and optionally ``url``, ``path``, ``encoding``, ``site`` and
        ``hrefs``, which says to which id each link, as written, leads. The pages are ``pages/ID.html.gz`` or
        ``ID.html`` below the folder, or else at ``path``. A page without a URL gets ``base`` and ``path``.
    ``described``
        A folder a page, with ``page.html`` and a ``meta.json`` that holds ``url``, and optionally ``id``, ``site`` and
        ``encoding``.

    Files that end in ``.gz`` are unzipped. Nothing outside the folder is read: URLs are looked up in a list of the
    files that were there when the source was made, and symbolic links that lead out of the folder are passed over.

    A folder knows what it has: a link to any other page resolves to None.

    Parameters
    ----------
    folder
        Where the pages are.
    links
        The file with the link map, if there is one; a relative path starts at the folder.
    base
        URL of the folder. That of the site makes absolute links work in a copy of it.
    site
        Take only the pages of this ``site``, where the files name one.
    parsing
        Options for :func:`blockml.parse`.

    Attributes
    ----------
    layout
        ``site``, ``map`` or ``described``.
    base
        The base, normalised, with a slash at its end.

    Raises
    ------
    InputError
        There is no such folder, no page in it, or a map or ``meta.json`` that can't be used.
    UsageError
        The base is no web URL, there is no such site, or nothing says to which site pages belong.

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
        parse("", url=None, charset=None, **self._parsing)  # a wrong option shows here, not at some page
        self._root = Path(folder).resolve()
        if not self._root.is_dir():
            raise InputError("no such folder", source=folder)
        self.base = _base(base)
        self.layout, files = read_layout(self._root, self._root / links if links is not None else None, site)
        self._pages: dict[str, PageFile] = {}
        self._names: dict[str, str] = {}
        for file in files:
            self._add(file)
        if not self._pages:
            raise InputError("no pages in this folder", source=folder)
        # Paths for looking up URLs. Copies of sites may have the escapes of a URL in their file names.
        self._places = {file.place: url for url, file in self._pages.items()} if self.layout == "site" else {}
        for place, url in list(self._places.items()):
            self._places.setdefault(_unquoted(place), url)

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs of all its pages: of a map in its order, else by path."""
        return tuple(self._pages)

    def get(self, url: str) -> Page | None:
        """Load and parse a page; None if there is none, or its file can't be read."""
        known = self._find(normalise(url))
        if known is None:
            return None
        file = self._pages[known]
        limits = self._parsing.get("limits") or Limits()
        if not is_inside(file.path, self._root):  # it was when it was listed
            return None
        try:
            content = read_file(file.path, limits.bytes + 1)  # one more than allowed, so that parsing notices
        except DAMAGED:
            return None
        return parse(content, url=known, charset=file.charset, **self._parsing)

    def resolve(self, page: Page, href: str) -> str | None:
        """URL of the page in this folder that a link leads to; None if there is none.

        If the folder has a link map that knows the page, by its URL, and the link, that counts; how browsers resolve
        the link comes second.
        """
        own = self._find(normalise(page.url)) if page.url else None
        if own is not None:
            hrefs = self._pages[own].hrefs
            target = hrefs.get(href, hrefs.get(href.strip()))
            if target is not None:
                return self._names.get(target)
        return self._find(super().resolve(page, href))

    def url_of(self, name: str | os.PathLike[str]) -> str:
        """URL of a page by its id, its file, or the file's path below the folder.

        Raises
        ------
        UsageError
            There is no such page.
        """
        key = os.fspath(name)
        if key in self._names:
            return self._names[key]
        try:
            below = Path(os.path.realpath(key)).relative_to(self._root).as_posix()
        except ValueError:  # outside the folder, or no path at all
            below = ""
        if below not in self._names:
            raise UsageError(f"no page has the id or file {key!r}", source=self._root)
        return self._names[below]

    def _add(self, file: PageFile) -> None:
        # Names of files may hold bytes that are no text.
        url = (normalise(file.url) if file.url else None) or normalise(
            self.base + quote(os.fsencode(file.place), _SAFE)
        )
        if url is None or url in self._pages:
            problem = "another page has this URL as well; choose one site if there are several" if url else "no URL"
            raise InputError(f"{problem}: {url or file.place}", source=file.path)
        self._pages[url] = file
        for name in (*file.names, file.path.relative_to(self._root).as_posix()):
            self._names.setdefault(name, url)

    def _find(self, url: str | None) -> str | None:
        """URL under which a page is listed."""
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
    """Open the pages of a site, whatever they are stored as.

    A folder with a link map (``pages.jsonl``, maybe zipped), page folders or page files is a :class:`FolderSource`,
    and so is a link map itself. A WARC file, JSON lines with whole pages, and a folder with nothing but such files is
    an :class:`~blockml.templates.linked.archive.ArchiveSource`. Files are known by what is in them, not by their names.

    Parameters
    ----------
    path
        File or folder.
    **options
        Passed on to the class.

    Raises
    ------
    InputError
        There is nothing there, or nothing that holds pages.
    UsageError
        The class has no such option, or its value is wrong.

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
    if target.is_dir():
        maps = [name for name in _MAP_NAMES if _kind_of(target / name) == "map"]
        if maps:
            return _folder(target, {"links": maps[0], **options})
        if not any(page_files(target.resolve())) and any(_kind_of(file) == "archive" for file in target.iterdir()):
            return _archive(target, options)
        return _folder(target, options)
    kind = _kind_of(target)
    if kind == "map":
        return _folder(target.parent, {"links": target.name, **options})
    if kind == "archive":
        return _archive(target, options)
    raise InputError(
        "neither a folder of pages nor a WARC file, a link map or JSON lines of pages; for one page, name its folder",
        source=path,
    )


def _folder(path: Path, options: Mapping[str, Any]) -> FolderSource:
    _check_options(options, _FOLDER_OPTIONS)
    return FolderSource(path, **options)


def _archive(path: Path, options: Mapping[str, Any]) -> ArchiveSource:
    _check_options(options, _ARCHIVE_OPTIONS)
    return ArchiveSource(path, **options)


def _check_options(options: Mapping[str, Any], legal: Sequence[str]) -> None:
    for name in options:
        if name not in legal:
            raise UnknownNameError("option", name, legal)


def _kind_of(path: Path) -> str:
    """What a file holds by its first line: ``archive``, ``map``, or nothing known (empty)."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as stream:
            zipped = stream.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as stream:
            start = stream.readline(_MAX_LINE)
    except DAMAGED:
        return ""
    if start.startswith(b"WARC/"):
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


def _base(base: str) -> str:
    whole = normalise(base)
    if whole is None or "?" in whole:
        raise UsageError(f"the base is an http or https URL without a query, not {base!r}")
    return whole if whole.endswith("/") else f"{whole}/"


def _unquoted(path: str) -> str:
    return os.fsdecode(unquote_to_bytes(os.fsencode(path)))


def _candidates(path: str, query: str) -> Iterator[str]:
    """Paths at which the page of a URL may lie, likely ones first."""
    if not path or path.endswith("/"):
        places = [path + index for index in _INDEXES]
        if path:
            places += [path.rstrip("/") + suffix for suffix in _ADDED]
    else:
        places = [path, *(path + suffix for suffix in _ADDED), *(f"{path}/{index}" for index in _INDEXES)]
    if query:
        for text in dict.fromkeys((query, _unquoted(query))):
            for place in places:
                for mark in "?@":
                    yield from (f"{place}{mark}{text}{suffix}" for suffix in ("", *_ADDED))
    yield from places
