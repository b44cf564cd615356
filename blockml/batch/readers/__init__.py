"""Readers of all commands: names of inputs → sources → units → items."""

from __future__ import annotations

import glob
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, cast

from blockml.archives.compression import DAMAGED, compression_of, decompressed, open_decompressed, recognized
from blockml.archives.suffixes import (
    ARCHIVES,
    LINES,
    PAGE_FILES,
    is_list_of_pages,
    is_page_file,
    is_page_of_folder,
    name_text,
    split_compression,
)
from blockml.batch.items import Item
from blockml.batch.readers.addresses import PageAddresses
from blockml.batch.readers.base import MANIFEST, PARTS_SUFFIX, Items, Reading, RecordFields, Unit, in_units
from blockml.batch.readers.lines import line_blocks, line_ranges
from blockml.batch.readers.pages import PageFile, file_size, labelled_page, page_file, page_units
from blockml.batch.readers.parquet import parquet_units
from blockml.batch.readers.tables import table_units
from blockml.batch.readers.warc import WarcRange, arc_units, stream_units, warc_ranges, without_overlap
from blockml.datasets import open_dataset
from blockml.datasets.base import LabelledPage
from blockml.datasets.corpus import find_table
from blockml.errors import DatasetError, InputError, UsageError
from blockml.text.public_suffixes import split_host

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

#: Kinds of files that hold many pages, by their first bytes, decompressed.
_KINDS = {b"WARC/": "warc", b"filedesc:": "arc", b"PAR1": "parquet"}
_SUFFIXES = {
    **dict.fromkeys(LINES, "lines"), **{end: end[1:] for end in ARCHIVES}, ".parquet": "parquet", ".csv": "table",
    ".tsv": "table",
}  # fmt: skip
#: JSON of pages that isn't JSON lines: an array of objects, or an object whose opening brace is on its own line.
_JSON_DOCUMENT = re.compile(rb"\[\s*\{|\{[ \t\r]*\n")
#: Start of an object, also with Python's quotes. Pages may begin with ``{%`` or ``{{`` of a template language.
_JSON_OBJECT = re.compile(rb"\{[ \t]*[\"'}]")
#: Kinds of files that hold many pages but would be read as one, and why they are rejected.
_REFUSED = {"json": "JSON, but not JSON lines, which have one object with one page per line"}
#: Compressions of WARC files that are read in ranges.
_WITH_RANGES = ("", ".gz")
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

    def page(self) -> PageFile:
        """Describe the file as a page."""
        if self.labelled is not None:
            return labelled_page(self.labelled)
        if self.named is not None:
            return PageFile(os.fspath(self.path), *self.named, file_size(self.path))
        return page_file(self.path, self.top, self.base)


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
        pages = ((file.path, file.page().id) for file in self.files() if _kind(file) == "page")
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
                for page in open_dataset(path).pages:
                    yield InputFile(page.path, path, path, page)
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
        for path in _walk(top, self.passed_over):
            # Files of records are only read if named: they may be labels or an output.
            if is_page_file(path.name) or split_compression(path.name.lower())[0].endswith(ARCHIVES):
                yield InputFile(path, top, top)
            else:
                self.passed_over[path.suffix] += 1

    def size(self) -> int:
        """Return the total bytes of all files, to show progress."""
        return sum(file_size(file.path) for file in self.files())

    def units(self, reading: Reading) -> Iterator[Unit]:
        """Split the files into units. Records that the parent process reads itself are counted in ``reading``."""

        def plain_pages() -> Iterator[PageFile]:
            """Yield page files up to the next file of another kind, which is left in ``other``."""
            for found in files:
                if (kind := _kind(found)) != "page":
                    other.append((found, kind))
                    return
                yield self._page(found)

        files = self.files()
        self.n_without_address = 0
        other: list[tuple[InputFile, str]] = []
        while True:
            yield from page_units(plain_pages())
            if not other:
                return
            found, kind = other.pop()
            yield from self._units_of(found.path, kind, reading)

    def items_of(self, file: InputFile, reading: Reading) -> Iterator[Item]:
        """Yield the pages of one of the files, as :func:`read_items` yields them."""
        kind = _kind(file)
        if kind == "page":
            units: Iterator[Unit] = iter(page_units(iter([self._page(file)])))
        else:
            units = self._units_of(file.path, kind, reading)
        yield from _items(units, reading)

    def _page(self, file: InputFile) -> PageFile:
        """Describe a page file, with its address and the site of that."""
        page = file.page()
        if self.addresses is None:
            return page
        url = self.addresses.of(page.path, page.id)
        self.n_without_address += url is None
        return page if url is None else replace(page, url=url, site=split_host(url)[0] or page.site)

    def _units_of(self, path: Path, kind: str, reading: Reading) -> Iterator[Unit]:
        name = name_text(path.name)
        try:
            if kind in _REFUSED:
                raise InputError(_REFUSED[kind])
            if kind == "stdin":
                yield from _stdin_units(self.fields, reading)
            elif kind == "warc" and compression_of(path) not in _WITH_RANGES:
                with open_decompressed(path) as stream:
                    yield from stream_units(name, stream, reading)
            elif kind == "warc":
                yield from warc_ranges(path)
            elif kind == "arc":
                yield from arc_units(path, reading)
            elif kind == "parquet":
                yield from parquet_units(path, self.fields, reading.limit)
            elif kind == "table":
                yield from table_units(path, self.fields, reading.limit)
            elif compression_of(path):
                with open_decompressed(path) as stream:
                    yield from line_blocks(name, stream, self.fields, reading.limit)
            else:
                yield from line_ranges(path, self.fields)
        except (OSError, DatasetError) as error:
            yield Items(name, (Item(name, error=f"cannot read the file ({error})"),), 0)


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
        Files; folders, for all page files and WARC and ARC files below them, or for the pages of a data set with the
        ids that it gives them; globs, in which ``**`` crosses folders; and ``-`` for standard input. All except Parquet
        may be compressed. WARC, ARC and Parquet files are recognised by their content, JSON lines by content or by the
        suffix ``.jsonl`` or ``.ndjson``, tables by the suffix ``.csv`` or ``.tsv``.
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
            suffixes = ", ".join((*PAGE_FILES, *ARCHIVES))
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
    if find_table(folder) and (folder / "pages").is_dir():
        return True
    for place, folders, names in os.walk(folder):
        folders.sort()
        if pages := [name for name in names if is_page_file(name)]:
            return all(map(is_page_of_folder, pages)) and not {"labels.jsonl", "expected.txt"}.isdisjoint(names)
        if len(Path(place).relative_to(folder).parts) > 3:
            return False
    return False


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


def _kind(found: InputFile) -> str:
    """Return the kind of a file: ``page``, ``stdin``, or a kind of ``_KINDS``, ``_SUFFIXES`` or ``_REFUSED``."""
    path = found.path
    if found.labelled is not None:
        return "page"
    if str(path) == _STDIN:
        return "stdin"
    if is_page_file(path.name):
        return "page"
    name = split_compression(path.name.lower())[0]
    # If the start of a file is damaged, only the name shows its kind.
    by_name = next((kind for end, kind in _SUFFIXES.items() if name.endswith(end)), "page")
    return _kind_of(_start(path)) or by_name


def _kind_of(start: bytes) -> str | None:
    """Return the kind of an input from its first bytes, decompressed; None for a page or a table."""
    start = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if found := next((kind for mark, kind in _KINDS.items() if start.startswith(mark)), None):
        return found
    if _JSON_DOCUMENT.match(start):
        return "json"
    return "lines" if _JSON_OBJECT.match(start) or _is_json(start.partition(b"\n")[0]) else None


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
        kind = _kind_of(stream.peek(_PEEKED))
        if kind == "warc":
            yield from stream_units("stdin", stream, reading)
        elif kind in {"arc", "parquet"}:
            raise UsageError("ARC and Parquet files cannot be read from standard input; give the file's name")
        elif kind in _REFUSED:
            raise InputError(_REFUSED[kind])
        elif kind == "lines":
            yield from line_blocks("stdin", stream, fields, reading.limit)
        else:
            page = stream.read(reading.limit)
            yield Items("stdin", (Item("stdin", html=page),), len(page))
    except DAMAGED as error:
        yield Items("stdin", (Item("stdin", error=f"cannot read the file ({error})"),), 0)


def _is_json(line: bytes) -> bool:
    """Return whether a line is a JSON array, which a page never starts with, unlike a number or a quotation."""
    try:
        return line.startswith(b"[") and isinstance(json.loads(line), list)
    except (ValueError, RecursionError):
        return False


def describe_inputs(inputs: Inputs) -> Iterable[str]:
    """Yield a line per file with path and size, so that two runs can be compared."""
    for file in inputs.files():
        page_id = [] if file.labelled is None else [file.labelled.id]
        yield json.dumps([str(file.path), file_size(file.path), *page_id])
