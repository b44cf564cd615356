"""The three layouts of page folders, each read into a list of page files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from blockml.archives.compression import DAMAGED, open_file, read_file
from blockml.archives.suffixes import PAGES, SERVED, is_page_of_folder, pages_below, pattern, split_compression
from blockml.errors import InputError, UnknownNameError, UsageError

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
    hrefs: Mapping[str, str] = field(default_factory=dict)  #: Ids of the pages that links, as written, lead to


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
