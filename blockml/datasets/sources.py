"""Rows and cells of tables, in the forms that spreadsheets, exports and crawlers write, and JSON records."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from blockml.archives.compression import DAMAGED, decompressed, open_file, recognized
from blockml.archives.kinds import LINES, PAGE_FILES, is_table_file, split_compression
from blockml.document.text import render_text
from blockml.errors import DatasetError, UsageError, needed
from blockml.parsing import Limits, parse

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


#: A table may come from somebody else, and what it names would be shown in reports.
_OUTSIDE = "outside of the table's folder"
_ALLOW = "outside_files=True (in commands for labelled pages: --outside-files) allows this"
#: Maximum characters of a cell in a message.
_SHOWN = 60
#: A text in base64 of at least 40 characters, with line ends or without.
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{38,}+={0,2}\s*")
#: The start of an address.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
#: Gold that is markup from its first to its last character.
_MARKUP = re.compile(r"\s*<(?:[a-z][a-z0-9]*\b|!)[^<>]*>.*>\s*", re.DOTALL | re.IGNORECASE)


def is_empty(value: Any) -> bool:  # noqa: ANN401
    """Return whether a cell is empty: None, NaN, or only white space."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    is_nan = isinstance(value, float) and value != value  # noqa: PLR0124
    return is_nan or type(value).__name__ in ("NAType", "NaTType")


def page_content(value: Any) -> bytes | str | None:  # noqa: ANN401
    """Return the page in a cell: text, bytes, compressed bytes, or a text in base64; None for the name of a file.

    Raises
    ------
    DatasetError
        The cell has another type, or a compressed page is damaged.

    Examples
    --------
    >>> page_content("PGh0bWw+PHA+Q2F0cyBydWxlIHRoZSB3b3JsZC48L3A+"), page_content("pages/1.html")
    (b'<html><p>Cats rule the world.</p>', None)
    """
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    if isinstance(value, str) and "<" not in value and _BASE64.fullmatch(value):
        try:
            data = base64.b64decode("".join(value.split()), validate=True)
        except binascii.Error:
            return None
        return _decompressed(data) if recognized(data[:4]) or b"<" in data else None
    if isinstance(value, bytes):
        return _decompressed(value)
    if isinstance(value, str):
        return value if "<" in value else None
    if isinstance(value, int | float):
        return None
    raise DatasetError(f"the page is a {type(value).__name__}, not text or bytes")


def _decompressed(data: bytes) -> bytes:
    if not (compression := recognized(data[:4])):
        return data
    try:
        return decompressed(io.BytesIO(data), compression).read(Limits().bytes + 1)
    except DAMAGED as error:
        raise DatasetError(f"the page is a damaged {compression} stream ({error})") from error


def page_path(name: str, folder: Path, *, outside_files: bool = False) -> Path:
    """Return the file that a cell names, relative to ``folder``; the suffix may be missing.

    Raises
    ------
    DatasetError
        There is no such file, or it is outside of the folder without ``outside_files``; the message is the reason.
    """
    scheme = found[1].lower() if (found := _SCHEME.match(name)) else ""
    if scheme == "file":
        with suppress(ValueError):  # not a URL
            name = url2pathname(urlsplit(name).path)
    shown = repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")
    for text in (name, name.replace("\\", "/")):
        place = folder / text
        for end in ("", *PAGE_FILES):
            with suppress(OSError):  # a name may be too long for the file system
                if place.name and (file := place.with_name(place.name + end)).is_file():
                    if not (outside_files or _is_below(file, folder)):
                        raise DatasetError(f"names a file {_OUTSIDE}, {shown}; {_ALLOW}")
                    return file
    if scheme not in ("", "file"):
        raise DatasetError(f"has the address {shown} instead of a page; pages are not downloaded")
    raise DatasetError(f"names a file that does not exist, {shown}")


def gold_text(value: Any, folder: Path, *, outside_files: bool = False) -> Any:  # noqa: ANN401
    """Return the text of a cell of gold.

    Markup gives its text, a list its lines, and the name of a text file its content. Other values are returned as they
    are.

    Raises
    ------
    DatasetError
        The text file is outside of the folder, and ``outside_files`` is not set.
    OSError
        The text file can't be read.
    UnicodeError
        It is not in UTF-8.

    Examples
    --------
    >>> gold_text("<h1>Cats</h1><p>Cats rule.</p>", Path()), gold_text(["Cats", "Cats rule."], Path())
    ('Cats\\nCats rule.', 'Cats\\nCats rule.')
    >>> gold_text("Write <p> for a paragraph", Path())
    'Write <p> for a paragraph'
    """
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        return value
    if _MARKUP.fullmatch(value):
        page = parse(value)
        return render_text(page, [True] * len(page.blocks))
    if value.lower().endswith(".txt") and len(value) < 1000 and "\n" not in value and _is_file(folder / value):
        if not (outside_files or _is_below(folder / value, folder)):
            raise DatasetError(f"the gold names a file {_OUTSIDE}, {value[:_SHOWN]!r}; {_ALLOW}")
        return (folder / value).read_text(encoding="utf-8-sig")
    return value


def _is_below(file: Path, folder: Path) -> bool:
    """Tell whether a file is in a folder or below it, after links are followed."""
    return file.resolve().is_relative_to(folder.resolve())


def _is_file(path: Path) -> bool:
    """Tell whether a path is a file; a name that is too long for the file system is not."""
    try:
        return path.is_file()
    except OSError:
        return False


#: Fields that hold a string, and fields that hold a list of strings; each may be missing or null.
_TEXTS = ("id", "url", "site", "page_type", "encoding", "main_content")
#: Maximum bytes of a line: twice the parser's limit for a page.
MAX_LINE = 2**27
_LISTS = ("with", "without", "ignore", "flags")


def file_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, counted from 1; the suffix determines the decompression.

    Lines are limited because a small compressed file can expand to a line of any length.

    Raises
    ------
    DatasetError
        A line is longer than any record.
    """
    number = 0
    with open_file(path) as stream:
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise DatasetError(f"line {number} is longer than {MAX_LINE} bytes", source=path)
            yield number, line


def text_lines(path: Path, remedy: str = "save the file in UTF-8") -> Iterator[tuple[int, str]]:
    """Yield the lines of a file in UTF-8 with their numbers, counted from 1.

    Raises
    ------
    DatasetError
        A line is longer than any record, or is not UTF-8.
    """
    for number, line in file_lines(path):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            found = f"byte {line[error.start]:#x}"
            raise DatasetError(f"line {number} is not UTF-8 ({found}); {remedy}", source=path) from None


def parse_record(line: str, what: str, source: Path) -> dict[str, Any]:
    """Parse a JSON object and check the fields that describe a page.

    Parameters
    ----------
    line
        The JSON.
    what
        Name of the record in error messages, such as ``line 3``.
    source
        The file.

    Raises
    ------
    DatasetError
        Not JSON, not an object, or a field that blockml reads is of the wrong type.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{what} is not JSON ({error})", source=source) from None
    if not isinstance(row, dict):
        raise DatasetError(f"{what} is not a JSON object", source=source)
    if problem := field_problem(row):
        raise DatasetError(f"{what}: {problem}", source=source)
    return row


def field_problem(row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the types of a record; None if they are right."""
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            return f"{name!r} must be a string"
    for name in _LISTS:
        if not _is_list(row.get(name), str):
            return f"{name!r} must be a list of strings"
    if not _is_list(blocks := row.get("blocks"), dict) or not all(
        "xpath" not in block or (isinstance(block["xpath"], str) and isinstance(block.get("type"), str))
        for block in blocks or ()
    ):
        return "'blocks' must be a list of objects with strings 'xpath' and 'type'"
    place = PurePosixPath(row.get("id") or "")
    if place.is_absolute() or ".." in place.parts:
        return f"the id {str(place)!r} leads out of the folder"
    return None


def _is_list(value: object, kind: type) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, kind) for item in value))
