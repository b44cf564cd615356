"""Rows of tables: CSV, TSV, JSON, JSON lines and Parquet files, data frames, Arrow tables and iterables of dicts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from blockml.archives.compression import DAMAGED, open_file
from blockml.archives.suffixes import LINES, split_compression
from blockml.datasets.records import MAX_LINE, file_lines
from blockml.errors import DatasetError, UsageError, needed

__all__ = ["TABLE_READERS", "TableRow", "is_table", "object_rows", "read_json", "table_rows"]

TableRow = Mapping[str, Any]

_DELIMITERS = ",;\t|"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BATCH_ROWS = 16  # number of rows of a Parquet file or Arrow table converted at a time


def is_table(path: Path) -> bool:
    """Tell whether a file name has the suffix of a table.

    Examples
    --------
    >>> is_table(Path("labels.CSV.gz")), is_table(Path("page.html"))
    (True, False)
    """
    return _suffix(path) in TABLE_READERS


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
    if not is_table(path):
        raise DatasetError(f"not a table; the suffixes are {', '.join(TABLE_READERS)}", source=path)
    try:
        yield from TABLE_READERS[_suffix(path)](path)
    except (*DAMAGED, UnicodeError) as error:
        raise DatasetError(f"cannot be read ({getattr(error, 'strerror', None) or error})", source=path) from error


def _csv_rows(path: Path) -> Iterator[TableRow]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))  # pages are longer than the default, 128 KB
    lines = _lines(path)
    header = next(lines, "")
    tab = _suffix(path) == ".tsv"
    unquoted = "".join(header.split('"')[::2])
    delimiter = "\t" if tab else max(_DELIMITERS, key=unquoted.count)
    reader = csv.reader(_chained(header, lines), delimiter=delimiter)
    try:
        names = next(reader, [])
        for number, cells in enumerate(reader, start=1):
            if len(cells) > len(names):
                many = f"row {number} has {len(cells)} cells, the header has {len(names)}"
                raise DatasetError(f"{many}; texts that contain {delimiter!r} need quotes", source=path)
            if cells:
                yield dict(zip(names, cells, strict=False))
    except csv.Error as error:
        raise DatasetError(f"line {reader.line_num} is not CSV ({error})", source=path) from error


def _chained(first: str, others: Iterator[str]) -> Iterator[str]:
    yield first
    yield from others


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text in UTF-8, or in UTF-16 with a byte order mark."""
    with open_file(path) as stream:
        start = stream.read(2)
    if start in _UTF16:
        with open_file(path) as stream, io.TextIOWrapper(stream, "utf-16", newline="") as text:
            yield from text
        return
    for number, line in file_lines(path):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            found = f"byte {line[error.start]:#x}"
            raise DatasetError(
                f"line {number} is not UTF-8 ({found}); save the table in UTF-8, which Excel calls 'CSV UTF-8'",
                source=path,
            ) from None


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
                raise DatasetError(f"line {number} is not JSON ({error})", source=path) from None
            if not isinstance(row, dict):
                raise DatasetError(f"line {number} is not a JSON object", source=path)
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
    except (ValueError, pa.ArrowException) as error:
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
    if hasattr(data, "lazy") and hasattr(data, "collect"):  # polars.LazyFrame
        data = data.collect()
    if hasattr(data, "iter_rows"):  # polars
        yield from data.iter_rows(named=True)
    elif hasattr(data, "to_batches"):  # Arrow
        for batch in data.to_batches():
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                yield from batch.slice(start, _BATCH_ROWS).to_pylist()
    elif hasattr(data, "itertuples"):  # pandas
        names = [str(name) for name in data.columns]
        for cells in data.itertuples(index=False, name=None):
            yield dict(zip(names, cells, strict=True))
    elif isinstance(data, Mapping):
        yield from _mapping_rows(data, source)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        for number, row in enumerate(data, start=1):
            if not isinstance(row, Mapping):
                raise DatasetError(f"row {number} is a {type(row).__name__}, not an object with columns", source=source)
            yield row
    else:
        raise UsageError(
            "data must be a folder, a table file, a data frame, an Arrow table, a list of dicts or of labelled pages, "
            f"got {type(data).__name__}"
        )


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
