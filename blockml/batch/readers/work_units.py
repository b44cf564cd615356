"""Units, which a worker reads independently, and the pages of a batch before extraction."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from blockml.archives.compression import read_file
from blockml.archives.http import decoded_body
from blockml.archives.kinds import without_signature
from blockml.errors import BlockmlError, InputError
from blockml.parsing import Limits

if TYPE_CHECKING:
    from blockml.datasets.labelled import LabelledPage

__all__ = ["MANIFEST", "PARTS_SUFFIX", "Item", "Items", "Reading", "RecordFields", "Unit", "in_units", "printable"]


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
    """Pages that the parent process has read, or has found as files."""

    pages: tuple[Item, ...]
    stored: int = 0

    def items(self, reading: Reading) -> Iterator[Item]:  # noqa: ARG002 (the protocol's signature)
        """Yield the pages; files are not read yet."""
        return (page.opened() for page in self.pages)

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], Unit | None]:  # noqa: ARG002 (as above)
        """Return the id of the page that was read, and the pages after it."""
        rest = self.pages[n_done + 1 :]
        return [page.id for page in self.pages[n_done : n_done + 1]], replace(self, pages=rest) if rest else None


def in_units(items: Iterable[Item], file_size: Callable[[Item], int] | None = None) -> Iterator[Items]:
    """Group pages into units by their size: that of the text that they hold, or of their files, which are the input."""
    group: list[Item] = []
    size = 0
    for item in items:
        group.append(item)
        size += file_size(item) if file_size else len(item.html) if isinstance(item.html, Sized) else 0
        if size >= UNIT_BYTES or len(group) == UNIT_PAGES:
            yield Items(tuple(group), size if file_size else 0)
            group, size = [], 0
    if group:
        yield Items(tuple(group), size if file_size else 0)


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
    labelled: LabelledPage | None = None  #: The page, if it is in a data set that has its own way of reading pages.

    def opened(self) -> Item:
        """Return the item with its page read now, if its data set has its own way of reading pages."""
        if self.labelled is None:
            return self
        try:
            return replace(self, labelled=None, path=None, html=self.labelled.load()[0])
        except BlockmlError as error:
            return replace(self, labelled=None, path=None, error=str(error))

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
