"""Rows of tables: CSV, TSV, JSON, JSON lines and Parquet files, data frames, Arrow tables and iterables of dicts."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from blockml.archives.compression import DAMAGED, open_file
from blockml.archives.suffixes import LINES, is_table_file, split_compression
from blockml.datasets.records import MAX_LINE, text_lines
from blockml.errors import DatasetError, UsageError, needed

__all__ = ["TABLE_READERS", "TableRow", "is_table", "object_rows", "read_json", "table_parts", "table_rows"]

TableRow = Mapping[str, Any]

_ONE_A_LINE = "each line must be one object; a file of one array or object has the suffix .json"
_DELIMITERS = ",;\t|"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = b"PK\x03\x04"
_SAVE = "save the table in UTF-8, which Excel calls 'CSV UTF-8'"
#: First line by which Excel knows the delimiter; number of lines that show how quotes are escaped; and a quote that is
#: escaped by a backslash, as Spark writes it: where quotes are doubled, a backslash and a quote end the cell.
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)
_FIRST_LINES = 1000
_ESCAPED = re.compile(r"""\\"[^",;\t|\r\n]""")
_BATCH_ROWS = 16  # number of rows of a Parquet file or Arrow table converted at a time


def is_table(path: Path) -> bool:
    """Tell whether a file name has the suffix of a table.

    Examples
    --------
    >>> is_table(Path("labels.CSV.gz")), is_table(Path("page.html"))
    (True, False)
    """
    return is_table_file(path.name)


def table_parts(folder: Path) -> list[Path]:
    """Return the part files of a table that an engine wrote as a folder, sorted; empty if it has other files."""
    files = [path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "_"))]
    return files if files and all(path.is_file() and is_table(path) for path in files) else []


def _suffix(path: Path) -> str:
    return Path(split_compression(path.name)[0]).suffix.lower()


def table_rows(path: Path) -> Iterator[TableRow]:
    """Yield the rows of a file as mappings from column names to cells, reading a few at a time (JSON: all).

    Raises
    ------
    DatasetError
        The file is missing, damaged, or does not have the suffix of a table.
    MissingExtraError
        The file is in Parquet format, and pyarrow isn't installed.
    """
    if path.is_dir():
        for part in table_parts(path):
            yield from table_rows(part)
        return
    if not is_table(path):
        raise DatasetError(f"not a table; the suffixes are {', '.join(TABLE_READERS)}", source=path)
    try:
        yield from TABLE_READERS[_suffix(path)](path)
    except (*DAMAGED, UnicodeError) as error:
        raise DatasetError(f"cannot be read ({getattr(error, 'strerror', None) or error})", source=path) from error


#: Reasons of errors, by words of the standard library's messages.
_CSV_ERRORS: Mapping[str, str] = {
    "new-line": "a carriage return outside of quotes; end lines with \\n",
    "unexpected end": "the file ends inside of a quoted cell; it is cut off, or a closing quote is missing",
    "expected after": "text follows a closing quote; a quote is missing, or one inside of a cell isn't doubled",
}


def _csv_rows(path: Path) -> Iterator[TableRow]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # pages are longer than the default, 128 KB
    lines = _lines(path)
    first = list(islice(lines, _FIRST_LINES))
    is_tsv = _suffix(path) == ".tsv"
    stated = _SEPARATOR_LINE.fullmatch(first[0]) if first else None  # for Excel
    if stated:
        del first[0]
    unquoted = "".join("".join(first[:1]).split('"')[::2])
    delimiter = stated[1] if stated else "\t" if is_tsv else max(_DELIMITERS, key=unquoted.count)
    rows: Iterator[str] = chain(first, lines)
    if not is_tsv and any(map(_ESCAPED.search, first)):
        rows = (line.replace('\\"', '""') for line in rows)
    reader = csv.reader(rows, delimiter=delimiter, strict=True)
    try:
        names = next(reader, [])
        if twice := [name for name, count in Counter(names).items() if count > 1 and name.strip()]:
            raise DatasetError(f"two columns have the name {twice[0]!r}", source=path)
        for number, cells in enumerate(reader, start=1):
            if len(cells) > len(names):
                many = f"row {number} has {len(cells)} cells, the header has {len(names)}"
                raise DatasetError(f"{many}; texts that contain {delimiter!r} need quotes", source=path)
            if cells:
                yield dict(zip(names, cells, strict=False))
    except csv.Error as error:
        why = next((why for words, why in _CSV_ERRORS.items() if words in str(error)), str(error))
        raise DatasetError(f"line {reader.line_num} is not CSV ({why})", source=path) from error


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text in UTF-8, or in UTF-16 with a byte order mark."""
    with open_file(path) as stream:
        start = stream.read(4)
    if start.startswith(_UTF16):
        with open_file(path) as stream, io.TextIOWrapper(stream, "utf-16", newline="") as text:
            yield from text
        return
    if start == _ZIP or b"\0" in start:
        kind = "a ZIP archive or an Excel file" if start == _ZIP else "not a text, or UTF-16 without a byte order mark"
        raise DatasetError(f"is {kind}; {_SAVE}", source=path)
    yield from (line for _, line in text_lines(path, _SAVE))


def read_json(path: Path) -> Any:  # noqa: ANN401
    """Read a JSON file; raise DatasetError if it can't be read or is not JSON."""
    try:
        text = "".join(_lines(path))
    except (*DAMAGED, UnicodeError) as error:
        raise DatasetError(f"cannot be read ({error})", source=path) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"not JSON ({error})", source=path) from None


def _json_rows(path: Path) -> Iterator[TableRow]:
    yield from object_rows(read_json(path), path)


def _json_line_rows(path: Path) -> Iterator[TableRow]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"line {number} is not JSON ({error}); {_ONE_A_LINE}", source=path) from None
            if not isinstance(row, dict):
                raise DatasetError(f"line {number} is not a JSON object; {_ONE_A_LINE}", source=path)
            yield row


def _parquet_rows(path: Path) -> Iterator[TableRow]:
    with needed("Reading Parquet files", "arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        # By default pyarrow reads ahead, and holds the whole file.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                yield from batch.to_pylist()
    except (ValueError, OverflowError, KeyError, pa.ArrowException) as error:  # Python can't hold some cells
        raise DatasetError(f"not a readable Parquet file ({error})", source=path) from error


#: Readers of tables by file suffix, which may be followed by that of a compression.
TABLE_READERS: Mapping[str, Callable[[Path], Iterator[TableRow]]] = {
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
    ".json": _json_rows,
    **dict.fromkeys(LINES, _json_line_rows),
    ".parquet": _parquet_rows,
}


def object_rows(data: Any, source: object) -> Iterator[TableRow]:  # noqa: ANN401
    """Yield the rows of a data frame (pandas, polars), an Arrow table, or an iterable of dicts.

    A dict of columns (lists, or dicts by row as pandas writes them in JSON) or of rows by id is accepted too.

    Raises
    ------
    DatasetError
        An item is not a mapping.
    UsageError
        The object is none of these.
    """
    if hasattr(data, "to_batches"):  # an Arrow table
        data = data.to_batches()
    elif hasattr(data, "to_pylist"):  # an Arrow batch
        data = [data]
    elif hasattr(data, "lazy") and hasattr(data, "collect"):  # polars.LazyFrame
        data = data.collect()
    if hasattr(data, "iter_rows"):  # polars
        yield from data.iter_rows(named=True)
    elif hasattr(data, "itertuples"):  # pandas
        if any(name is not None for name in data.index.names):
            data = data.reset_index()
        names = [str(name) for name in data.columns]
        for cells in data.itertuples(index=False, name=None):
            yield dict(zip(names, cells, strict=True))
    elif isinstance(data, Mapping):
        yield from _mapping_rows(data, source)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        for number, row in enumerate(data, start=1):
            yield from _item_rows(row, number, source)
    else:
        raise UsageError(
            "data must be a folder, a table file, a data frame, an Arrow table, a list of dicts or of labelled pages, "
            f"got {type(data).__name__}"
        )


def _item_rows(item: Any, number: int, source: object) -> Iterator[TableRow]:  # noqa: ANN401
    """Yield the row, or the rows of an Arrow batch, that an iterable has."""
    if isinstance(item, Mapping):
        yield item
    elif hasattr(item, "to_pylist"):
        for start in range(0, item.num_rows, _BATCH_ROWS):
            yield from item.slice(start, _BATCH_ROWS).to_pylist()
    else:
        kind = type(item).__name__
        raise DatasetError(f"row {number} is a {kind}; give dicts with the keys html and text", source=source)


def _mapping_rows(data: Mapping[Any, Any], source: object) -> Iterator[TableRow]:
    cells = list(data.values())
    if cells and all(isinstance(cell, list) for cell in cells):
        if len({len(cell) for cell in cells}) > 1:
            raise DatasetError("columns have different lengths", source=source)
        yield from (dict(zip(data, row, strict=True)) for row in zip(*cells, strict=True))
    elif all(isinstance(cell, Mapping) and not {*map(str, cell)} - {*map(str, range(len(cell)))} for cell in cells):
        for key in cells[0] if cells else ():
            yield {name: column.get(key) for name, column in data.items()}
    elif all(isinstance(cell, Mapping) for cell in cells):
        yield from ({"id": str(key), **row} for key, row in data.items())
    else:
        raise DatasetError("needs a list of objects, objects by id, or columns of equal length", source=source)
