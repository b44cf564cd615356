"""Pages of a site in a folder, in any of three layouts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from blockml.archives.compression import DAMAGED, open_decompressed, open_file, read_file
from blockml.archives.kinds import (
    PAGES,
    SERVED,
    is_page_of_folder,
    pages_below,
    pattern,
    split_compression,
    with_compression,
)
from blockml.errors import InputError, UnknownNameError, UsageError, check_name
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.templates.linked.archive import ARCHIVE_STARTS, ArchiveSource, json_object
from blockml.templates.linked.links import PageSource, normalise

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
    row = json_object(start) or {}
    return "archive" if "html" in row else "map" if "id" in row else ""


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


#: Extensions of pages in copies of sites, with the query that wget appends: ``list.php?id=3``, on Windows
#: ``list.php@id=3``.
_PAGE_NAME = re.compile(rf".(?:{pattern((*PAGES, *SERVED))}|\.php\d)(?:[?@].*)?\Z", re.IGNORECASE | re.DOTALL)

#: Markup that identifies a page without an extension, and the bytes searched for it (our choice).
_MARKUP = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_SNIFFED = 1024


@dataclass(frozen=True, slots=True)
class FolderPage:
    """Page file of a folder."""

    path: Path
    names: tuple[str, ...]  #: Names other than its path: its id, its path in the site
    place: str  #: Path in the site, from which a page without a URL gets one
    url: str | None = None
    site: str | None = None
    charset: str | None = None
    hrefs: Mapping[str, str] = field(
        default_factory=dict
    )  #: Id of the page to which each link leads, by the address as written


def read_layout(root: Path, links: Path | None, site: str | None) -> tuple[str, list[FolderPage]]:
    """Detect a folder's layout (``site``, ``map`` or ``described``) and list its pages, of one site or all.

    Raises InputError for an unusable link map or ``meta.json``, and UsageError for an unknown site or if the layout
    assigns no sites.
    """
    if links is not None:
        return "map", _of_site(list(_mapped(root, links)), site, root)
    names = sorted(_files(root))
    if described := list(_described(root, names)):
        return "described", _of_site(described, site, root)
    if site is not None:
        raise UsageError("this folder does not assign its pages to sites", source=root)
    places: dict[str, str] = {}  # a page and its compressed copy are one page
    for name in names:
        if is_page_name(name) or _has_markup(root / name):
            places.setdefault(split_compression(name)[0], name)
    return "site", [FolderPage(root / name, (place,), place) for place, name in places.items()]


def page_files(root: Path) -> Iterator[str]:
    """Yield the paths below a folder whose name is that of a page."""
    return (name for name in _files(root) if is_page_name(name))


def is_page_name(name: str) -> bool:
    """Return whether a path has the extension of a page.

    Examples
    --------
    >>> [is_page_name(name) for name in ("a/b.html.gz", "list.php?id=3", "logo.png", "about")]
    [True, True, False, False]
    """
    return _PAGE_NAME.search(split_compression(name)[0].rpartition("/")[2]) is not None


def is_inside(path: Path, root: Path) -> bool:
    """Return whether a file lies below a resolved folder after following all symbolic links."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError, ValueError):  # circular links, an invalid name
        return False


def _of_site(files: Sequence[FolderPage], site: str | None, root: Path) -> list[FolderPage]:
    """Keep the pages of one site, or all if ``site`` is None."""
    sites = {file.site for file in files if file.site is not None}
    if site is not None and site not in sites:
        raise UnknownNameError("site", site, sites, source=root)
    return [file for file in files if site is None or file.site == site]


def _has_markup(path: Path) -> bool:
    """Return whether a file without extension contains HTML; wget saves some pages without one."""
    if "." in split_compression(path.name)[0]:
        return False
    try:
        return _MARKUP.search(read_file(path, _SNIFFED)) is not None
    except DAMAGED:
        return False


def _described(root: Path, names: Sequence[str]) -> Iterator[FolderPage]:
    """Yield page files next to a ``meta.json`` with a URL or an id."""
    there = set(names)
    for name in names:
        folder, slash, own = name.rpartition("/")
        beside = f"{folder}{slash}meta.json"
        if not is_page_of_folder(own) or beside not in there:
            continue
        try:
            meta = _object(read_file(root / beside), root / beside)
        except DAMAGED as error:
            raise InputError(f"can't be read ({error})", source=root / beside) from error
        url, page_id = _text(meta, "url"), _text(meta, "id")
        if url is not None or page_id is not None:
            own_id = page_id or folder.rpartition("/")[2]
            yield FolderPage(root / name, (own_id,), name, url, _text(meta, "site"), _text(meta, "encoding"))


def _mapped(root: Path, links: Path) -> Iterator[FolderPage]:
    """Yield the page of each entry of a link map; entries without a page file are skipped."""
    try:
        with open_file(links) as stream:
            rows = [(_object(line, f"{links}:{n}"), f"{links}:{n}") for n, line in enumerate(stream, 1) if line.strip()]
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError(f"the link map can't be read ({error})", source=links) from error
    files = [pages_below(folder) for folder in (root / "pages", root)]
    for row, source in rows:
        if "id" not in row:
            raise InputError("each line of a link map must have an 'id'", source=source)
        page_id, place, hrefs = str(row["id"]), _text(row, "path") or "", row.get("hrefs")
        paths = [found.get(PurePosixPath(page_id).as_posix()) for found in files]
        paths.append(root / place if place and "\0" not in place else None)
        path = next((path for path in paths if path and path.is_file() and is_inside(path, root)), None)
        if path is not None:
            yield FolderPage(
                path.resolve(),
                (page_id, place) if place else (page_id,),
                place or page_id,
                _text(row, "url"),
                _text(row, "site"),
                _text(row, "encoding"),
                {href: str(target) for href, target in hrefs.items()} if isinstance(hrefs, dict) else {},
            )


def _object(text: bytes, source: object) -> dict[str, Any]:
    try:
        row = json.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid JSON ({error})", source=source) from error
    if not isinstance(row, dict):
        raise InputError("not a JSON object", source=source)
    return row


def _text(row: Mapping[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and value else None


def _files(root: Path) -> Iterator[str]:
    """Yield the paths of regular files below a folder, without following links to folders."""
    for folder, _, names in os.walk(root):
        below = Path(folder).relative_to(root).as_posix()
        start = "" if below == "." else f"{below}/"
        for name in names:
            path = Path(folder) / name
            if path.is_file() and (not path.is_symlink() or is_inside(path, root)):
                yield start + name
