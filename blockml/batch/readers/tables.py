"""CSV, TSV and Parquet files: one page per row, in a column or in a file that a column names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from blockml.archives.kinds import name_text
from blockml.batch.readers.work_units import Item, Items, Reading, RecordFields, in_units, printable
from blockml.datasets.labelled import site_of
from blockml.datasets.labelled_tables import page_columns
from blockml.datasets.sources import TableRow, is_empty, page_content, page_path, table_rows
from blockml.errors import DatasetError, InputError, UsageError, needed
from blockml.text.addresses import split_host

__all__ = ["RowGroup", "cell_text", "cell_value", "chosen_columns", "parquet_units", "row_item", "table_units"]


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
    yield from in_units(_items(path, chain([first], rows), columns, reading.limit))


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


#: Maximum uncompressed bytes of a row group that a worker reads as a whole, which takes pyarrow three times as much
#: memory. The parent process reads rows of larger ones one at a time, because each may be the same huge page.
_MAX_GROUP_BYTES = 128 << 20
_BATCH_ROWS = 16  # rows decoded at a time


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Row group of a file."""

    path: Path
    group: int
    first: int  #: Number of its first row in the file, starting at 1.
    size: int
    fields: RecordFields
    n_rows: int
    stored: int = 0

    def items(self, reading: Reading) -> Iterator[Item]:
        """Yield the pages of the rows."""
        return _rows(self.path, (self.group,), self.first, self.fields, reading.limit)

    def unread(self, n_done: int, offset: int) -> tuple[Iterable[str], None]:  # noqa: ARG002 (the protocol's signature)
        """Return the remaining rows by number; at most one per byte, because damaged files may declare any number."""
        name = name_text(self.path.name)
        last = self.first + min(self.n_rows, self.size)
        return (f"{name}:{number}" for number in range(self.first + n_done, last)), None


def parquet_units(path: Path, fields: RecordFields, reading: Reading) -> Iterator[RowGroup | Items]:
    """Split a file into units.

    Raises
    ------
    InputError
        The file is damaged.
    UsageError
        It lacks a column that ``fields`` names.
    """
    metadata = _opened(path, fields).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    # Stored sizes are estimated, because pyarrow aborts the process on damaged column metadata.
    share = path.stat().st_size / max(1, sum(group.total_byte_size for group in groups))
    first = 1
    for number, group in enumerate(groups):
        if (size := group.total_byte_size) <= _MAX_GROUP_BYTES:
            yield RowGroup(path, number, first, size, fields, group.num_rows, int(share * size))
        else:
            yield from in_units(_rows(path, (number,), first, fields, reading.limit, at_once=1))
        first += group.num_rows


def _opened(path: Path, fields: RecordFields) -> Any:  # noqa: ANN401 (pyarrow has no types)
    with needed("Reading Parquet files", "arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        file = pq.ParquetFile(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"not a readable Parquet file ({error})", source=path) from error
    names = file.schema_arrow.names
    if fields.html not in chosen_columns(names, fields):
        raise UsageError(f"no column {fields.html!r}; the columns are: {', '.join(names)}", source=path)
    return file


def chosen_columns(names: Sequence[str], fields: RecordFields) -> list[str]:
    """Return the columns of a table that hold pages; raises UsageError if the table has one of them twice."""
    columns = [name for name in dict.fromkeys(astuple(fields)) if name in names]
    if twice := [name for name in columns if names.count(name) > 1]:
        raise UsageError(f"the table has two columns named {twice[0]!r}")
    return columns


def cell_value(cell: Any) -> Any:  # noqa: ANN401 (a cell of any type)
    """Return the Python value of an Arrow scalar; other values are returned unchanged.

    Invalid UTF-8 gives bytes, times out of Python's range give numbers, and other values that can't be converted give
    None.
    """
    try:
        return cell.as_py() if hasattr(cell, "as_py") else cell
    except (ValueError, OverflowError, KeyError):  # the last one for an unknown time zone
        return cell.as_buffer().to_pybytes() if hasattr(cell, "as_buffer") else getattr(cell, "value", None)


def _rows(
    path: Path, groups: tuple[int, ...], first: int, fields: RecordFields, limit: int, at_once: int = _BATCH_ROWS
) -> Iterator[Item]:
    import pyarrow as pa

    number, name = first, name_text(path.name)
    try:
        file = _opened(path, fields)
        columns = chosen_columns(file.schema_arrow.names, fields)
        for batch in file.iter_batches(at_once, row_groups=list(groups), columns=columns):
            cells = {name: batch.column(name) for name in columns}
            for row in range(batch.num_rows):
                values = {name: cell_value(column[row]) for name, column in cells.items()}
                yield row_item(values, f"{name}:{number}", fields, limit)
                number += 1
    except (OSError, ValueError, pa.ArrowException) as error:
        yield Item(f"{name}:{number}", error=f"cannot read the rest of the row group ({error})")


def row_item(row: dict[str, Any], default_id: str, fields: RecordFields, limit: int) -> Item:
    """Return the page of a row of a table; a cell without a page gives an item with an error."""
    url, charset, site = (cell_text(row.get(name)) for name in (fields.url, fields.charset, fields.site))
    page_id = cell_text(row.get(fields.id)) or default_id
    html = row.get(fields.html)
    if isinstance(html, bytearray | memoryview):
        html = bytes(html)
    if not isinstance(html, bytes | str):
        kind = "nothing" if html is None or html != html else type(html).__name__  # noqa: PLR0124 (NaN)
        error = f"the column {fields.html!r} holds {kind}, not bytes or text"
        if fields.html not in row:
            error = f"no column {fields.html!r}, only {', '.join(map(str, row))}; name the column that has the pages"
        return Item(page_id, url=url, error=error)
    return Item(page_id, html=html[:limit], url=url, charset=charset, site=site or split_host(url)[0])


def cell_text(value: object) -> str | None:
    """Return a cell as text; None for an empty cell, which may be NaN in a data frame."""
    if value is None or value != value:  # noqa: PLR0124 (NaN)
        return None
    return printable(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))
