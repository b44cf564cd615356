"""Page files: one file per page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blockml.archives.suffixes import is_page_of_folder, name_text, page_stem
from blockml.batch.items import Item
from blockml.batch.readers.base import Reading, in_groups, printable
from blockml.errors import BlockmlError

if TYPE_CHECKING:
    from blockml.datasets.base import LabelledPage

__all__ = ["PageFile", "PageFiles", "file_size", "labelled_page", "page_file", "page_units", "site_folder"]


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page file with the id and site derived from its path."""

    path: str
    id: str
    site: str
    size: int
    labelled: LabelledPage | None = None  #: The page, if it belongs to a data set.
    url: str | None = None  #: Its address, if a table of addresses has one.

    def item(self) -> Item:
        """Return the page, to be read later, or read now if its data set has its own way of reading it."""
        if (page := self.labelled) is None:
            return Item(self.id, path=Path(self.path), url=self.url, site=self.site)
        url = self.url or page.url
        try:
            html = page.load()[0] if page.reader else None
        except BlockmlError as error:
            return Item(self.id, url=url, site=self.site, error=str(error))
        path = None if page.reader else page.path
        return Item(self.id, path, html, url, page.charset, self.site)


@dataclass(frozen=True, slots=True)
class PageFiles:
    """Page files, to be opened by the worker."""

    name: str
    files: tuple[PageFile, ...]
    size: int

    @property
    def stored(self) -> int:
        """Bytes of the files."""
        return self.size

    def items(self, reading: Reading) -> Iterator[Item]:  # noqa: ARG002 (the protocol's signature)
        """Yield the pages, not read yet."""
        for file in self.files:
            yield file.item()

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], PageFiles | None]:  # noqa: ARG002 (as above)
        """Return the id of the file that was read, and the files after it."""
        rest = self.files[n_done + 1 :]
        left = PageFiles(rest[0].path, rest, sum(file.size for file in rest)) if rest else None
        return [file.id for file in self.files[n_done : n_done + 1]], left


def labelled_page(page: LabelledPage) -> PageFile:
    """Describe a page of a data set, with its id, URL and site."""
    return PageFile(os.fspath(page.path), printable(page.id), page.site, file_size(page.path), page)


def page_file(path: Path, top: Path, base: Path) -> PageFile:
    """Describe a page file.

    The id is the path below ``base`` without suffix, so it does not depend on other files. The site is the subfolder of
    ``top`` that contains the file, or ``top`` if every page is in its own folder; if ``top`` is the empty path, it is
    the file's folder.
    """
    name = name_text((path.relative_to(base) if path.is_relative_to(base) else path).as_posix())
    return PageFile(os.fspath(path), page_stem(name) or name, name_text(site_folder(path, top)), file_size(path))


def file_size(path: Path) -> int:
    """Return the bytes of a file; 0 for standard input, and for a missing file, which is reported when it is read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def page_units(files: Iterator[PageFile]) -> Iterator[PageFiles]:
    """Group page files into units by their size."""
    for group, size in in_groups(files, lambda file: file.size):
        yield PageFiles(group[0].path, group, size)


def site_folder(path: Path, top: Path) -> Path:
    """Return the folder of the site of a page file; see :func:`page_file`."""
    below = path.relative_to(top).parts if top.parts and path.is_relative_to(top) else ()
    if len(below) == 2 and is_page_of_folder(path.name):
        return top
    return top / below[0] if len(below) > 1 else path.parent
