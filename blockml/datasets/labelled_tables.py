"""Reader of tables: one row per page with its main content or snippets, or one row per labelled block.

Pages and gold are copied to a temporary file while the table is read, so memory does not grow with their size.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, cast

from blockml.archives.kinds import page_stem
from blockml.datasets.gold import Gold, RegionGold, RunGold, as_label
from blockml.datasets.label_studio import SpanGold, is_export, label_studio_rows
from blockml.datasets.labelled import (
    Dataset,
    LabelledPage,
    declared_url,
    known_charset,
    page_from_row,
    read_page_file,
    text_gold,
)
from blockml.datasets.sources import (
    TableRow,
    field_problem,
    gold_text,
    is_empty,
    page_content,
    page_path,
    read_json,
    table_rows,
)
from blockml.errors import DatasetError, UsageError, check_name
from blockml.storage.spool import Spool
from blockml.text.words import counted

#: Names recognised for each kind of column, in order of preference; case, spaces and hyphens don't matter. A column
#: is used once: ``content`` is the page in a table with ``main_text``, and the gold in one with ``html``.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "html": tuple(
        "html raw_html page_html html_content source_html page_source page document content body content_html".split()
    ),
    "path": tuple("path file filename file_name html_file html_path page_file page_path".split()),
    "text": tuple(
        "text main_text main_content gold gold_text articlebody article_body article plaintext plain_text expected"
        " expected_text reference ground_truth block_text block content body article_html gold_html main_html"
        " content_html".split()
    ),
    "label": tuple("label block_label is_content is_main gold_label class target".split()),
    "xpath": ("xpath", "block_xpath"),
    "with": ("with", "required", "must_contain"),
    "without": ("without", "forbidden", "must_not_contain"),
    "ignore": ("ignore", "ignored"),
    "id": ("id", "page_id", "doc_id", "document_id", "uid", "key"),
    "url": ("url", "uri", "page_url", "address", "link"),
    "site": ("site", "domain", "host"),
    "page_type": ("page_type",),
    "encoding": ("encoding", "charset"),
    "flags": ("flags",),
}
_LISTS = ("with", "without", "ignore", "flags")
#: Number of rows searched for columns, because rows of JSON may omit some; and maximum number of failures in a message.
_FIRST_ROWS, _LISTED = 50, 3
#: Cells of other columns are kept with the page up to this length.
_MAX_EXTRA = 200
#: Maximum characters of a column name in a message.
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _StoredPage:
    """Reader of a page and its gold from the temporary file; bytes are None if the page is a separate file."""

    spool: Spool
    place: tuple[int, int]
    codec: str | None = None

    def __call__(self, path: Path) -> tuple[bytes, Gold | None]:
        html, gold = cast("tuple[bytes | None, Gold | None]", self.spool.read(self.place))
        html = read_page_file(path) if html is None else html
        return html.decode(self.codec, "replace").encode() if self.codec else html, gold


def read_table(
    path: Path,
    name: str,
    columns: Mapping[str, str] | None = None,
    *,
    needs_gold: bool = True,
    outside_files: bool = False,
) -> Dataset:
    """Read a table file, or an export of Label Studio; see :func:`blockml.datasets.open_dataset`.

    With ``needs_gold=False``, a table may have no column of gold.
    """
    if path.suffix.lower() == ".json" and path.is_file() and is_export(data := read_json(path)):
        if columns:
            raise UsageError("columns don't apply to an export of Label Studio", source=path)
        found = dataset_of_rows(label_studio_rows(data, path), name, path, outside_files=outside_files)
        return replace(found, format="label-studio")
    rows = table_rows(path)
    return dataset_of_rows(rows, name, path, columns, needs_gold=needs_gold, outside_files=outside_files)


def dataset_of_rows(
    rows: Iterable[TableRow],
    name: str,
    source: Path,
    columns: Mapping[str, str] | None = None,
    *,
    needs_gold: bool = True,
    outside_files: bool = False,
) -> Dataset:
    """Make a data set of rows.

    Parameters
    ----------
    rows
        Mappings from column names to cells.
    name
        Name of the data set.
    source
        Path of the table, which messages name; pages given by file name are relative to its folder.
    columns
        Column names by kind (a key of :data:`COLUMNS`); others are recognised by their names.
    needs_gold
        Whether a table without a column of gold is an error.
    outside_files
        Whether cells may name files that are not below that folder.

    Raises
    ------
    DatasetError
        The table is empty, a column is missing, a cell has the wrong type, or an id occurs twice.
    UnknownNameError
        A key of ``columns`` is not a kind of column.
    UsageError
        A column that ``columns`` names does not exist.
    """
    stream = iter(rows)
    first = list(islice(stream, _FIRST_ROWS))
    if not first:
        raise DatasetError("the table has no rows", source=source)
    names = list(dict.fromkeys(str(key) for row in first for key in row))
    chosen = _chosen_columns(names, columns or {}, source, needs_gold=needs_gold)
    failures = []
    pages: dict[str, LabelledPage] = {}
    with Spool() as spool:
        for number, record in _records(chain(first, stream), chosen, source):
            page = _page(number, record, spool, source, outside_files=outside_files)
            if isinstance(page, str):
                failures.append(f"row {number} {page}")
                continue
            if page.id in pages:
                again = "is on rows that are not adjacent" if "label" in chosen else "occurs twice"
                raise DatasetError(f"row {number}: the id {page.id!r} {again}", source=source)
            pages[page.id] = page
    if failures:
        listed = "; ".join(failures[:_LISTED]) + ("; …" if len(failures) > _LISTED else "")
        if not pages:
            raise DatasetError(f"no row has a page: {listed}", source=source)
        warnings.warn(f"{source}: {counted(len(failures), 'row')} left out: {listed}", stacklevel=3)
    return Dataset(name, source, "table", tuple(pages.values()), failures=tuple(failures))


def page_columns(names: Sequence[str], columns: Mapping[str, str], source: Path) -> dict[str, str]:
    """Return the columns of a table that hold pages or their fields, by kind.

    Parameters
    ----------
    names
        Names of all columns.
    columns
        Names by kind (a key of :data:`COLUMNS`) of columns that are not to be recognised by their names.
    source
        Name of the table in messages.

    Raises
    ------
    DatasetError
        There is no column of pages.
    UsageError
        A column that ``columns`` names does not exist.
    """
    chosen = _chosen_columns(names, columns, source, needs_gold=False)
    return {kind: chosen[kind] for kind in ("html", "path", "id", "url", "site", "encoding") if kind in chosen}


def _chosen_columns(
    names: Sequence[str], columns: Mapping[str, str], source: Path, *, needs_gold: bool
) -> dict[str, str]:
    """Return the column name for each kind of column in the table."""
    there = f"the columns are: {', '.join(name if len(name) <= _SHOWN else f'{name[:_SHOWN]}…' for name in names)}"
    if any("<" in name for name in names):
        there += "; the first row must have the names of the columns"
    columns = {kind: str(column) for kind, column in columns.items()}  # a frame may have numbers as names
    for kind, column in columns.items():
        check_name("kind of column", kind, COLUMNS)
        if column not in names:
            raise UsageError(f"no column {column!r}; {there}", source=source)
    chosen = dict(columns)
    plain = {name.strip().lower().replace("-", "_").replace(" ", "_"): name for name in reversed(names)}
    for kind, known in COLUMNS.items():
        free = (plain[item] for item in known if item in plain and plain[item] not in chosen.values())
        if kind not in chosen and not (kind == "path" and "html" in chosen) and (found := next(free, None)):
            chosen[kind] = found
    how = "name it by columns={'%s': …}"
    if not {"html", "path"} & chosen.keys():
        raise DatasetError(f"no column of pages was recognised; {there}; {how % 'html'}", source=source)
    if needs_gold and not {"text", "with", "without", "xpath"} & chosen.keys():
        raise DatasetError(f"no column of gold was recognised; {there}; {how % 'text'}", source=source)
    if "xpath" in chosen and "label" not in chosen:
        raise DatasetError(f"XPaths need a column of labels; {there}; {how % 'label'}", source=source)
    return chosen


def _records(rows: Iterable[TableRow], chosen: Mapping[str, str], source: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each page's first row and its cells by kind; ``blocks`` has the cells of labelled rows."""
    others = {*chosen.values()}
    numbered = ((number, _cells(row, chosen, others)) for number, row in enumerate(rows, start=1))
    if "label" not in chosen:
        yield from numbered
        return
    keys = [kind for kind in ("id", "path", "html") if kind in chosen][:1]
    for _, group in groupby(numbered, key=lambda item: [_text(item[1].get(kind)) for kind in keys]):
        number, record = next(group)
        blocks: list[tuple[str | None, str | None, object]] = []
        for row_number, row in chain([(number, dict(record))], group):
            row_source = f"{source}, row {row_number}"
            found = [_text(row.get(kind)) for kind in ("text", "xpath")]
            if any(found):
                blocks.append((found[0], found[1], as_label(row.get("label"), row_source)))
        yield number, record | {"text": None, "blocks": blocks}


def _cells(row: TableRow, chosen: Mapping[str, str], others: set[str]) -> dict[str, Any]:
    cells = {kind: None if is_empty(cell := row.get(column)) else cell for kind, column in chosen.items()}
    extra = {
        str(key): value
        for key, value in row.items()
        if key not in others
        and (isinstance(value, bool | int) or (isinstance(value, str) and len(value) <= _MAX_EXTRA))
    }
    return cells | {"extra": extra}


def _text(value: Any) -> str | None:  # noqa: ANN401
    """Return a cell as text; pandas turns integers into floats if a column has gaps."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value)


def _page(
    number: int, record: dict[str, Any], spool: Spool, source: Path, *, outside_files: bool
) -> LabelledPage | str:
    """Return the page of a record, or the reason why it has no page."""
    for kind, value in record.items():
        if isinstance(value, Mapping) and kind != "extra":
            raise DatasetError(f"row {number}: {kind!r} is an object, not a text", source=source)
    cell, path = record.get("html"), record.get("path")
    try:
        html = None if cell is None else page_content(cell)
        text = gold_text(record.get("text"), source.parent, outside_files=outside_files)
    except (DatasetError, OSError, UnicodeError) as error:
        raise DatasetError(f"row {number}: {error}", source=source) from None
    if html is None and (path := path or _text(cell)) is None:
        return "has no page"
    file = source
    if html is None:
        try:
            file = page_path(str(path), source.parent, outside_files=outside_files)
        except DatasetError as error:
            return str(error)
    page_id = _text(record.get("id")) or (str(number) if path is None else page_stem(str(path)) or str(path))
    if not isinstance(text, str | SpanGold | None):
        raise DatasetError(f"row {number}: the gold is a {type(text).__name__}, not a text", source=source)
    spans = text if isinstance(text, SpanGold) else None
    row = record["extra"] | {
        "main_content": None if spans else text,
        **{name: _text(record.get(name)) for name in ("url", "site", "page_type", "encoding")},
        **{name: _listed(record.get(name)) for name in _LISTS},
    }
    if not row["url"] and not row["site"]:
        row["url"] = declared_url(file if html is None else html)
    if problem := field_problem(row | {"id": None}):  # unlike in folders, an id is not the name of a file
        raise DatasetError(f"row {number}: {problem}", source=source)
    charset: str | None = "utf-8"
    codec: str | None = None
    if not isinstance(html, str):
        charset, codec = known_charset(row.pop("encoding"), source) if row["encoding"] else (None, None)
    made = page_from_row(row | {"encoding": None}, page_id, file)
    gold = _block_gold(record["blocks"]) if "blocks" in record else spans or text_gold(row["main_content"], row)
    data = html.encode("utf-8", "replace") if isinstance(html, str) else html
    reader = _StoredPage(spool, spool.write((data, gold)), codec)
    return replace(made, reader=reader, charset=charset, inline=data is not None)


def _listed(value: Any) -> Any:  # noqa: ANN401
    """Return a cell with several texts as a list; a string has one per line."""
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return list(value) if hasattr(value, "__iter__") else value


def _block_gold(blocks: Sequence[tuple[str | None, str | None, Any]]) -> Gold | None:
    """Return the gold of labelled blocks, which are given by text, or by XPath if any of them has no text."""
    if not blocks:
        return None
    if all(text is not None for text, _, _ in blocks):
        return RunGold(tuple((text or "", label) for text, _, label in blocks))
    return RegionGold(tuple((xpath.partition("/text()")[0], label) for _, xpath, label in blocks if xpath and label))
