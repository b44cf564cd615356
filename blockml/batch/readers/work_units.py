"""Units, which a worker reads independently, and the pages of a batch before extraction."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

from blockml.archives.compression import read_file
from blockml.archives.http import decoded_body
from blockml.archives.kinds import without_signature
from blockml.errors import InputError
from blockml.parsing import Limits

__all__ = [
    "MANIFEST",
    "PARTS_SUFFIX",
    "Item",
    "Items",
    "Reading",
    "RecordFields",
    "Unit",
    "in_groups",
    "in_units",
    "printable",
]


T = TypeVar("T")

#: Bytes of pages in a unit: about ten pages of average size, enough to hide the cost of its messages (.3 to .5 ms).
UNIT_BYTES = 2 << 20
#: Maximum number of pages in a unit.
UNIT_PAGES = 256
#: Suffix of a folder with the parts of an unfinished output, and the file that identifies it.
PARTS_SUFFIX, MANIFEST = ".parts", "manifest.json"


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Names of the fields of JSON lines and of the columns of Parquet files that hold the parts of a page."""

    html: str = "html"
    id: str = "id"
    url: str = "url"
    charset: str = "charset"
    site: str = "site"


@dataclass(slots=True)
class Reading:
    """Limit on the bytes of one page while reading, and the non-page records found."""

    limit: int = Limits().bytes + 1  #: One byte more than is parsed, so that parsing notices the limit.
    skipped: Counter[str] = field(default_factory=Counter)  #: Records that are not pages, by reason.
    #: Offset where reading ended, if the unit is a range of a file that was searched for records.
    end: int | None = None
    #: Called with the offset of each record of an archive before it is read.
    reached: Callable[[int], None] = lambda _: None


class Unit(Protocol):
    """A piece of the input. It is picklable, and reading it twice gives the same pages."""

    @property
    def name(self) -> str:
        """Name for messages."""

    @property
    def size(self) -> int:
        """Bytes of the input, uncompressed (estimated for compressed files)."""

    @property
    def stored(self) -> int:
        """Bytes of the input file that it covers; 0 if unknown."""

    @abstractmethod
    def items(self, reading: Reading) -> Iterator[Item]:
        """Read the pages. Anything that can't be read yields items with an error."""

    @abstractmethod
    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], Unit | None]:
        """Return the ids of pages that a process died reading, and a unit with the pages after them, if it is known.

        ``n_done`` pages were read, and ``offset`` is what ``Reading.reached`` was told last; 0 if it was not called.
        """


@dataclass(frozen=True, slots=True)
class Items:
    """Pages read by the parent process."""

    name: str
    pages: tuple[Item, ...]
    size: int
    stored: int = 0

    def items(self, reading: Reading) -> Iterator[Item]:  # noqa: ARG002 (the protocol's signature)
        """Return the pages."""
        return iter(self.pages)

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], Unit | None]:  # noqa: ARG002 (as above)
        """Return the ids of the remaining pages."""
        return [page.id for page in self.pages[n_done:]], None


def in_groups(pages: Iterable[T], size_of: Callable[[T], int]) -> Iterator[tuple[tuple[T, ...], int]]:
    """Group pages by their size, for units; yield the pages and the size of each group."""
    group: list[T] = []
    size = 0
    for page in pages:
        group.append(page)
        size += size_of(page)
        if size >= UNIT_BYTES or len(group) == UNIT_PAGES:
            yield tuple(group), size
            group, size = [], 0
    if group:
        yield tuple(group), size


def in_units(name: str, items: Iterable[Item]) -> Iterator[Items]:
    """Group pages into units by their size."""
    for group, size in in_groups(items, lambda item: len(item.html) if isinstance(item.html, Sized) else 0):
        yield Items(name, group, size)


def printable(text: str) -> str:
    """Replace lone surrogates, which can't be written as UTF-8, with escapes.

    Examples
    --------
    >>> printable("a\\ud800")
    'a\\\\ud800'
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Item:
    """One page to extract."""

    id: str
    path: Path | None = None  #: File with the page; its suffix tells whether it is compressed.
    html: bytes | str | None = None  #: The page itself, if it came in a record.
    url: str | None = None
    charset: str | None = None
    #: Name of the site: a record's ``site``, else the site of its URL; for a file, the subfolder of the input folder
    #: that contains it, or the input folder itself.
    site: str = ""
    error: str | None = None  #: Reason why the record is invalid.
    truncated: str | None = None  #: Reason why the page is incomplete; gives a warning and the status ``truncated``.
    #: Codings of ``html``, which is the body of a response as sent, in the order in which they are undone.
    codings: tuple[str, ...] = ()

    def decoded(self, limit: int = -1) -> Item:
        """Return the item without codings, with at most ``limit`` bytes; ``error`` tells if the body is damaged."""
        if not self.codings or not isinstance(self.html, bytes):
            return self
        try:
            html, reason = decoded_body(self.html, self.codings, limit if limit >= 0 else Limits().bytes + 1)
        except OSError as error:
            return replace(self, html=None, codings=(), error=str(error))
        return replace(self, html=html, codings=(), truncated=self.truncated or reason)

    def read(self, limit: int = -1) -> bytes | str:
        """Read the page, at most ``limit`` bytes of a file.

        Raises
        ------
        OSError
            The file cannot be read or holds many pages, or the record is invalid.
        """
        if self.error is not None:
            raise InputError(self.error)
        if self.codings:
            return self.decoded(limit).read()
        if self.html is not None:
            return self.html
        if self.path is None:
            raise InputError("an item needs a path or html", source=self.id)
        page = read_file(self.path, limit)
        if (kind := without_signature(page)) is not None:
            raise InputError(f"not a page but {kind.described}; pass it to 'blockml predict' by its name")
        return page
