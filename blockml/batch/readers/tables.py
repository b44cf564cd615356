"""CSV and TSV files: one page per row, in a column or in a file that a column names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from blockml.archives.suffixes import name_text
from blockml.batch.items import Item
from blockml.batch.readers.base import Items, Reading, RecordFields, in_units, printable
from blockml.datasets.base import site_of
from blockml.datasets.cells import is_empty, page_content, page_path
from blockml.datasets.sources import TableRow, table_rows
from blockml.datasets.table import page_columns
from blockml.errors import DatasetError, UsageError

__all__ = ["table_units"]

#: Kind of column of a data set for the fields of records whose names differ.
_KINDS = {"charset": "encoding"}


def table_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[Items]:
    """Read a file in the parent process, because only reading it from its start tells where a row begins.

    Columns are recognised by the names that tables of labelled pages may have, except those that ``fields`` names.

    Raises
    ------
    DatasetError
        The start of the file cannot be read.
    UsageError
        There is no column of pages, or none that ``fields`` names.
    """
    rows = table_rows(path)
    first = next(rows, None)
    if first is None:
        return
    usual = asdict(RecordFields())
    named = {_KINDS.get(kind, kind): name for kind, name in asdict(fields).items() if name != usual[kind]}
    try:
        columns = page_columns(list(first), named, path)
    except DatasetError as error:  # the caller can name the column
        raise UsageError(str(error)) from error
    yield from in_units(path.name, _items(path, chain([first], rows), columns, reading.limit))


def _items(path: Path, rows: Iterator[TableRow], columns: Mapping[str, str], limit: int) -> Iterator[Item]:
    """Yield the pages of rows; damage further on yields an item with an error, after which reading ends."""
    name, number = name_text(path.name), 0
    try:
        for number, row in enumerate(rows, start=1):
            yield _item(row, f"{name}:{number}", columns, path.parent, limit)
    except DatasetError as error:
        yield Item(f"{name}:{number + 1}", error=f"cannot read the rest of the table ({error})")


def _item(row: TableRow, default_id: str, columns: Mapping[str, str], folder: Path, limit: int) -> Item:
    """Return the page of a row; a row without a page gives an item with an error."""
    cells = {kind: row.get(column) for kind, column in columns.items()}
    texts = {
        kind: None if is_empty(cell := cells.get(kind)) else printable(str(cell).strip())
        for kind in ("id", "url", "site", "encoding")
    }
    page_id, url = texts["id"] or default_id, texts["url"]
    site = texts["site"] or site_of(url, "")
    cell = cells.get("html")
    try:
        html = "" if is_empty(cell) else page_content(cell)
        if html:
            return Item(page_id, html=html[:limit], url=url, charset=texts["encoding"], site=site)
        # A cell without markup is the name of a file.
        file = cells.get("path") if is_empty(cell) else cell
        if is_empty(file):
            return Item(page_id, url=url, error="the row has no page")
        return Item(page_id, path=page_path(str(file), folder), url=url, charset=texts["encoding"], site=site)
    except DatasetError as error:
        return Item(page_id, url=url, error=f"the row {error}")
