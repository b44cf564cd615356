"""Page files: one file per page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blockml.archives.suffixes import is_page_of_folder, name_text, page_stem
from blockml.batch.items import Item
from blockml.batch.readers.base import Reading, in_groups

__all__ = ["PageFile", "PageFiles", "file_size", "page_file", "page_units"]


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page file with the id and the site that follow from its path."""

    path: str
    id: str
    site: str
    size: int


@dataclass(frozen=True, slots=True)
class PageFiles:
    """Some page files, which the worker opens."""

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
            yield Item(file.id, path=Path(file.path), site=file.site)


def page_file(path: Path, top: Path, base: Path) -> PageFile:
    """Describe a page file.

    The id is the path below ``base`` without suffix, and so does not depend on which other files there are. The site is
    the subfolder of ``top`` that contains the file, or ``top`` if each page has a folder of its own; if ``top`` is the
    empty path, the folder of the file.
    """
    name = name_text((path.relative_to(base) if path.is_relative_to(base) else path).as_posix())
    return PageFile(os.fspath(path), page_stem(name) or name, name_text(_site_folder(path, top)), file_size(path))


def file_size(path: Path) -> int:
    """Return the bytes of a file; 0 for one that is missing, as is reported when it is read, and standard input."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def page_units(files: Iterator[PageFile]) -> Iterator[PageFiles]:
    """Group page files into units by their size."""
    for group, size in in_groups(files, lambda file: file.size):
        yield PageFiles(group[0].path, group, size)


def _site_folder(path: Path, top: Path) -> Path:
    below = path.relative_to(top).parts if top.parts and path.is_relative_to(top) else ()
    if len(below) == 2 and is_page_of_folder(path.name):
        return top
    return top / below[0] if len(below) > 1 else path.parent
