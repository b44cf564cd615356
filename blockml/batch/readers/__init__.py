"""Readers of all commands: names of inputs → sources → units → items."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from blockml.archives.compression import DAMAGED, decompressed, open_decompressed, recognized
from blockml.archives.kinds import (
    PAGE_FILES,
    InputKind,
    is_list_of_pages,
    is_page_file,
    is_page_of_folder,
    kind_by_start,
    kind_of,
    name_text,
    only_named,
    read_in_folders,
    split_compression,
)
from blockml.batch.readers.page_files import file_item, file_size, file_units, labelled_item
from blockml.batch.readers.web_archives import WarcRange, without_overlap
from blockml.batch.readers.work_units import MANIFEST, PARTS_SUFFIX, Item, Items, Reading, RecordFields, Unit, in_units
from blockml.errors import DatasetError, InputError, UsageError
from blockml.text.addresses import split_host

if TYPE_CHECKING:
    from blockml.batch.readers.page_addresses import PageAddresses
    from blockml.datasets.labelled import LabelledPage

__all__ = [
    "InputFile",
    "Inputs",
    "Items",
    "Reading",
    "RecordFields",
    "Unit",
    "WarcRange",
    "describe_inputs",
    "find_inputs",
    "in_units",
    "read_items",
    "read_names",
    "without_overlap",
]

#: Name of standard input.
_STDIN = "-"
#: Number of bytes used to recognise the kind of an input.
_PEEKED = 1 << 13


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of the input."""

    path: Path
    top: Path  #: Folder that its site is relative to.
    base: Path  #: Folder that its id is relative to.
    labelled: LabelledPage | None = None  #: The page, if it belongs to a data set.
    #: Id and site of its page, if it is read under another path than the one that was given.
    named: tuple[str, str] | None = None

    def item(self) -> Item:
        """Return the page of the file, not read yet."""
        if self.labelled is not None:
            return labelled_item(self.labelled)
        if self.named is not None:
            return Item(self.named[0], self.path, site=self.named[1])
        return file_item(self.path, self.top, self.base)


@dataclass(slots=True)
class Inputs:
    """The files that inputs name, searched for at each iteration so that millions of them need no memory."""

    names: tuple[str, ...]
    fields: RecordFields = field(default_factory=RecordFields)
    #: Files that are not pages, by suffix, and links to folders.
    passed_over: Counter[str] = field(default_factory=Counter)
    #: Whether the names come from a list, so that the id of a page is its whole name, not only its last part.
    listed: bool = False
    addresses: PageAddresses | None = None  #: PageAddresses of page files; see :meth:`add_addresses`.
    n_without_address: int = 0  #: Page files that have none there, in the last reading.

    def add_addresses(self, addresses: PageAddresses) -> None:
        """Use addresses for the page files; raises UsageError if none of the first files has one."""
        pages = ((file.path, file.item().id) for file in self.files() if _kind(file) is None)
        addresses.check((os.fspath(path), page_id) for path, page_id in pages)
        self.addresses = addresses

    def files(self) -> Iterator[InputFile]:
        """Yield the files; files of a folder are sorted by path."""
        self.passed_over.clear()
        for name in self.names:
            path = Path(name)
            if name == _STDIN:
                yield InputFile(path, Path(), Path())
            elif path.is_dir() and is_data_set(path):
                yield from _labelled(path)
            elif path.is_dir():
                yield from self._below(path if path.parts else path.resolve())  # the top of a glob is Path() too
            elif path.exists():
                yield InputFile(path, path.parent, Path() if self.listed else path.parent)
            else:
                base = _fixed_part(name)
                for match in sorted(map(Path, glob.iglob(name, recursive=True))):  # noqa: PTH207 (absolute patterns)
                    if match.is_file() and not _is_unfinished(match.parent):
                        yield InputFile(match, Path(), base)

    def _below(self, top: Path) -> Iterator[InputFile]:
        in_folders = read_in_folders()
        for path in _walk(top, self.passed_over):
            # Files of records are only read if named: they may be labels or an output.
            if is_page_file(path.name) or split_compression(path.name.lower())[0].endswith(in_folders):
                yield InputFile(path, top, top)
            else:
                self.passed_over[path.suffix] += 1

    def size(self) -> int:
        """Return the total bytes of all files, to show progress."""
        return sum(file_size(file.path) for file in self.files())

    def units(self, reading: Reading) -> Iterator[Unit]:
        """Split the files into units. Records that the parent process reads itself are counted in ``reading``."""

        def plain_pages() -> Iterator[Item]:
            """Yield page files up to the next file of another kind, which is left in ``other``."""
            for found in files:
                if (units := self._units_of(found, reading)) is not None:
                    other.append(units)
                    return
                yield self._page(found)

        files = self.files()
        self.n_without_address = 0
        other: list[Iterator[Unit]] = []
        while True:
            yield from file_units(plain_pages())
            if not other:
                return
            yield from other.pop()

    def items_of(self, file: InputFile, reading: Reading) -> Iterator[Item]:
        """Yield the pages of one of the files, as :func:`read_items` yields them."""
        units = self._units_of(file, reading)
        yield from _items(file_units(iter([self._page(file)])) if units is None else units, reading)

    def _page(self, file: InputFile) -> Item:
        """Return the page of a file, with its address and site if addresses are given."""
        page = file.item()
        if self.addresses is None:
            return page
        url = self.addresses.of(os.fspath(file.path), page.id)
        self.n_without_address += url is None
        return page if url is None else replace(page, url=url, site=split_host(url)[0] or page.site)

    def _units_of(self, file: InputFile, reading: Reading) -> Iterator[Unit] | None:
        """Return the units of a file of many pages, or of standard input; None for a file that is a page."""
        if os.fspath(file.path) == _STDIN and file.labelled is None:
            return _stdin_units(self.fields, reading)
        return None if (kind := _kind(file)) is None else self._of_kind(file.path, kind, reading)

    def _of_kind(self, path: Path, kind: InputKind, reading: Reading) -> Iterator[Unit]:
        name = name_text(path.name)
        try:
            if kind.refused:
                raise InputError(kind.refused)
            yield from _reader(kind.reader)(path, self.fields, reading)
        except (OSError, DatasetError) as error:
            yield Items((Item(name, error=f"cannot read the file ({error})"),))


def find_inputs(
    names: Sequence[str],
    fields: RecordFields = RecordFields(),  # noqa: B008 (frozen)
    *,
    listed: bool = False,
) -> Inputs:
    """Find the files that inputs name.

    Parameters
    ----------
    names
        Files, of pages or of a kind in :data:`blockml.archives.kinds.INPUT_KINDS`, which says how it is recognised;
        folders, for all page files and files of some kinds below them, or for the pages of a data set with the ids that
        it gives them; globs, in which ``**`` crosses folders; and ``-`` for standard input. All except Parquet may be
        compressed.
    fields
        Names of the fields of JSON lines and of the columns of Parquet files and tables.
    listed
        Whether the names come from a list, so that the id of a page is its name without suffix; otherwise it is the
        path below the folder or glob, or the last part of a file's name.

    Raises
    ------
    InputError
        A name matches no file.
    UsageError
        A name is empty or names a list of pages.
    """
    for name in names:
        if not name:
            raise UsageError("the name of an input is empty")
        if not any(True for _ in Inputs((name,)).files()):
            suffixes = ", ".join((*PAGE_FILES, *read_in_folders()))
            what = f"no pages ({suffixes}) in this folder" if Path(name).is_dir() else "no such file, folder or glob"
            raise InputError(what, source=name)
        if Path(name).is_file() and not is_page_file(name) and is_list_of_pages(_first_lines(_start(Path(name)))):
            raise UsageError("is a list of pages; 'blockml predict --files-from' reads its names", source=name)
    return Inputs(tuple(names), fields, listed=listed)


def read_names(path: str) -> list[str]:
    """Read the names of inputs from a text file, one per line; ``-`` is standard input.

    Raises InputError if it can't be read or is empty.
    """
    try:
        data = sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), source=path) from error
    names = [os.fsdecode(line) for line in data.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    if not names:
        raise InputError("names no inputs", source=path)
    return names


def read_items(inputs: Inputs, reading: Reading | None = None) -> Iterator[Item]:
    """Yield the pages of all inputs.

    The id of a page depends only on the page: it is the path of a file below the input folder without suffix; the id of
    a JSON record or row, or else ``FILE:LINE``; the record id of a WARC record. An invalid record yields an item with
    an ``error``.
    """
    reading = reading or Reading()
    yield from _items(inputs.units(reading), reading)


def _items(units: Iterator[Unit], reading: Reading) -> Iterator[Item]:
    """Yield the pages of units in order, as a pool of workers yields their records."""
    before: Unit | None = None
    end: int | None = None
    for unit in units:
        if (left := without_overlap(unit, before, end)) is not None:
            reading.end = None
            for item in left.items(reading):
                yield item.decoded(reading.limit)
            before, end = left, reading.end


def is_data_set(folder: Path) -> bool:
    """Return whether a folder has labelled pages whose ids are not their paths: a corpus, or page folders with gold."""
    from blockml.datasets.folders import find_table

    if (folder / "pages").is_dir() and find_table(folder):
        return True
    for place, folders, names in os.walk(folder):
        folders.sort()
        if pages := [name for name in names if is_page_file(name)]:
            return all(map(is_page_of_folder, pages)) and not {"labels.jsonl", "expected.txt"}.isdisjoint(names)
        if len(Path(place).relative_to(folder).parts) > 3:
            return False
    return False


def _labelled(folder: Path) -> Iterator[InputFile]:
    """Yield the pages of a data set."""
    from blockml.datasets import open_dataset

    for page in open_dataset(folder).pages:
        yield InputFile(page.path, folder, folder, page)


def _walk(folder: Path, passed_over: Counter[str]) -> Iterator[Path]:
    """Yield the files below a folder sorted by path, holding the entries of one folder at a time in memory.

    Links to folders are counted but not followed, because they may form loops. A broken link counts as a file, whose
    record reports it; devices, FIFOs and links to them are left out.
    """
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        if entry.is_dir(follow_symlinks=False):
            if not _is_unfinished(Path(entry.path)):
                yield from _walk(Path(entry.path), passed_over)
        elif not entry.is_symlink():
            if entry.is_file():
                yield Path(entry.path)
        elif os.path.isdir(entry.path):  # noqa: PTH112 (Path raises for a link that may not be followed)
            passed_over["links to folders"] += 1
        elif os.path.isfile(entry.path) or not os.path.exists(entry.path):  # noqa: PTH110, PTH113
            yield Path(entry.path)


def _is_unfinished(folder: Path) -> bool:
    """Return whether a folder has the parts of an unfinished output, which change while the input is read."""
    return folder.name.endswith(PARTS_SUFFIX) and (folder / MANIFEST).is_file()


def _fixed_part(pattern: str) -> Path:
    """Return the folder at the start of a glob.

    Examples
    --------
    >>> _fixed_part("crawl/*/page.html").as_posix(), _fixed_part("*.html").as_posix()
    ('crawl', '.')
    """
    parts = Path(pattern).parts
    fixed = next((number for number, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    return Path(*parts[:fixed])


def _kind(found: InputFile) -> InputKind | None:
    """Return the kind of a file of many pages; None for a page."""
    if found.labelled is not None or is_page_file(found.path.name):
        return None
    return kind_of(found.path.name, _start(found.path))


def _reader(name: str) -> Callable[..., Iterator[Unit]]:
    """Return the reader of a kind, ``MODULE:NAME`` in this package."""
    module, _, function = name.partition(":")
    reader: Callable[..., Iterator[Unit]] = getattr(import_module(f"{__name__}.{module}"), function)
    return reader


def _start(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; empty if it is damaged."""
    try:
        with open_decompressed(path) as stream:
            # Reads no more than needed, because the file may be damaged further on.
            return cast("io.BufferedReader", stream).peek(_PEEKED)
    except DAMAGED:
        return b""


def _first_lines(start: bytes) -> bytes:
    """Return the complete lines in the first bytes of a file."""
    return start.rpartition(b"\n")[0] if len(start) >= _PEEKED else start


def _stdin_units(fields: RecordFields, reading: Reading) -> Iterator[Unit]:
    """Split standard input: a WARC file, JSON lines or one page, compressed or not."""
    raw = cast("io.BufferedReader", sys.stdin.buffer)
    try:
        stream = cast("io.BufferedReader", decompressed(cast("BinaryIO", raw), recognized(raw.peek(4))))
        kind = kind_by_start(stream.peek(_PEEKED))
        if kind is not None and kind.refused:
            raise InputError(kind.refused)
        if kind is not None and not kind.piped:
            raise UsageError(f"{only_named()} files cannot be read from standard input; give the file's name")
        if kind is not None:
            yield from _reader(kind.piped)("stdin", stream, fields, reading)
        else:
            page = stream.read(reading.limit)
            yield Items((Item("stdin", html=page),))
    except DAMAGED as error:
        yield Items((Item("stdin", error=f"cannot read the file ({error})"),))


def describe_inputs(inputs: Inputs) -> Iterable[str]:
    """Yield a line per file with path and size, so that two runs can be compared."""
    for file in inputs.files():
        page_id = [] if file.labelled is None else [file.labelled.id]
        yield json.dumps([str(file.path), file_size(file.path), *page_id])
