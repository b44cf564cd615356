"""Readers of labelled pages: one per layout of folders, and one for tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from blockml.archives.kinds import is_page_of_folder, split_compression
from blockml.datasets.annotated import is_annotated, read_annotated
from blockml.datasets.folders import (
    find_table,
    gold_beside,
    read_corpus,
    read_flat,
    read_folders,
    read_labels,
    write_labels,
)
from blockml.datasets.gold import (
    BlockLabels,
    Gold,
    RegionGold,
    RunGold,
    SnippetGold,
    TextGold,
    block_tokens,
    ignored_text,
)
from blockml.datasets.labelled import Dataset, LabelledPage, check_names, html_files, site_of
from blockml.datasets.labelled_tables import dataset_of_rows, read_table
from blockml.datasets.published import PUBLISHED
from blockml.datasets.sources import TABLE_READERS, is_table, object_rows, table_parts
from blockml.errors import DatasetError, UsageError, check_name
from blockml.page.lazy import imported_later as _imported_later
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.datasets.validation import (
        INVALID_FOR_EVALUATION,
        INVALID_FOR_TRAINING,
        Finding,
        FindingKind,
        check_pages,
        filtered,
        gold_defects,
        soft_error,
        validate,
    )

__all__ = [
    "INVALID_FOR_EVALUATION", "INVALID_FOR_TRAINING", "LAYOUTS", "AnyData", "BlockLabels", "Dataset", "Finding",
    "FindingKind", "Gold", "LabelledPage", "RegionGold", "RunGold", "SnippetGold", "TextGold", "block_tokens",
    "check_pages", "detect_format", "filtered", "gold_defects", "ignored_text", "open_dataset", "open_datasets",
    "read_labels", "site_of", "soft_error", "validate", "write_labels",
]  # fmt: skip

#: Names that are imported on first use, because they need the extra ``train``.
_LATER = (
    "INVALID_FOR_EVALUATION", "INVALID_FOR_TRAINING", "Finding", "FindingKind", "check_pages", "filtered",
    "gold_defects", "soft_error", "validate",
)  # fmt: skip

if not TYPE_CHECKING:  # type checkers would take any name for granted
    __getattr__ = _imported_later(__name__, dict.fromkeys(_LATER, "blockml.datasets.validation"))

#: Readers of folders by layout name.
READERS: Mapping[str, Callable[[Path, str], Dataset]] = {
    "corpus": read_corpus,
    "folders": read_folders,
    "annotated": read_annotated,
    "flat": read_flat,
    **{name: layout.read for name, layout in PUBLISHED.items()},
}

#: Description of each layout.
LAYOUTS: Mapping[str, str] = {
    "corpus": "pages/ID.html with gold.jsonl, compressed or not: text, snippets or block types with XPaths",
    "folders": "one folder per page: page.html with labels.jsonl or expected.txt, and meta.json",
    "flat": "NAME.html files with the main content in NAME.txt, or labels in NAME.jsonl",
    "annotated": "HTML files with spans of class x-nc-sel0 … x-nc-sel5",
    **{name: layout.description for name, layout in PUBLISHED.items()},
    "table": "CSV, TSV, JSON, JSON lines or Parquet: pages or their file names with text, snippets or labelled blocks",
    "label-studio": "JSON export of Label Studio with HyperText labels",
}


def detect_format(path: Path) -> str:
    """Return the layout of a folder or file, a key of :data:`LAYOUTS`.

    Raises
    ------
    DatasetError
        It is missing or has no known layout.
    """
    if path.is_file():
        if is_table(path):
            return "table"
        tables = f"neither a folder nor a table; the suffixes of tables are {', '.join(TABLE_READERS)}"
        if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
            tables += "; save a spreadsheet as 'CSV UTF-8'"
        raise DatasetError(tables, source=path)
    if not path.is_dir():
        raise DatasetError("no such folder or file", source=path)
    if find_table(path) and (path / "pages").is_dir():
        return "corpus"
    if published := next((name for name, layout in PUBLISHED.items() if layout.files(path)), None):
        return published
    files = html_files(path.iterdir())
    if files and not any(is_page_of_folder(file.name) for file in files):
        if any(map(gold_beside, files)):
            return "flat"
        if any(map(is_annotated, files)):
            return "annotated"
        raise DatasetError(
            f"{counted(len(files), 'HTML file')} without gold: NAME.html needs NAME.txt (main content) or "
            "NAME.jsonl (labels)",
            source=path,
        )
    if table_parts(path):
        return "table"
    if files or any(is_page_of_folder(found.name) and found.is_file() for found in path.rglob("*")):
        return "folders"
    known = "; ".join(f"{name} ({description})" for name, description in LAYOUTS.items())
    raise DatasetError(f"no labelled pages; known layouts: {known}", source=path)


def open_dataset(
    source: Any,  # noqa: ANN401
    *,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
    layout: str | None = None,
    outside_files: bool = False,
) -> Dataset:
    """Open labelled pages: a folder, a table file, or data in memory.

    Parameters
    ----------
    source
        A folder in one of :data:`LAYOUTS`; a CSV, TSV, JSON, JSON lines or Parquet file; ``NAME=PATH`` of either; a
        pandas or polars frame, an Arrow table, an iterable of dicts, or a dict of columns; a list of
        :class:`LabelledPage`; or an open data set, which is returned. Tables have a row per page or per labelled block.
    columns
        For tables: column names by kind (a key of :data:`blockml.datasets.labelled_tables.COLUMNS`), such as
        ``{"html": "source", "text": "main_text"}``. Columns of other kinds are recognised by their names.
    name
        Name of the data set; by default that of the folder or file.
    layout
        A key of :data:`LAYOUTS`; by default recognised from the contents.
    outside_files
        Whether tables may name page files and text files outside of their folder (for data in memory: the current
        folder). Leave it off for tables from others: what they name would be shown in reports.

    Returns
    -------
    Dataset
        The pages are read when they are used. Those from a table or from memory are kept in a temporary file, which
        is deleted with the last page.

    Raises
    ------
    DatasetError
        No labelled pages were found, or a file is damaged.
    MissingExtraError
        A Parquet file can't be read without pyarrow.
    UnknownNameError
        The layout, or a kind of column, is unknown.
    UsageError
        The source is none of these, the name is empty, or there is no such column.

    Examples
    --------
    >>> rows = [{"html": "<h1>Cats</h1><p>Cats rule.</p><p>Home</p>", "main_text": "Cats rule."}]
    >>> data = open_dataset(rows, name="cats")
    >>> data
    Dataset('cats', 1 page, path='<list>', format='table')
    >>> html, gold = data.pages[0].load()
    >>> gold.text()
    'Cats rule.'
    """
    if isinstance(source, Dataset):
        return replace(source, name=name) if name else source
    if not isinstance(source, str | Path):
        return _open_object(source, name or "data", columns, outside_files=outside_files)
    prefix, separator, rest = ("", "", "") if Path(source).exists() else str(source).partition("=")
    if separator and not prefix:
        raise UsageError("the name before '=' is empty; a data set is given as NAME=PATH", source=source)
    place = str(rest if separator else source)
    if "://" in place:
        raise UsageError("is an address; download it, and give the folder or file", source=place)
    path = Path(place).expanduser()
    chosen = layout or detect_format(path)
    check_name("layout", chosen, LAYOUTS)
    title = name or prefix or split_compression(path.resolve().name)[0]
    if chosen in ("table", "label-studio"):
        return read_table(path, name or prefix or Path(title).stem, columns, outside_files=outside_files)
    if columns:
        raise UsageError(f"columns only apply to tables; the layout of this folder is {chosen}", source=path)
    return READERS[chosen](path, title)


def _open_object(source: AnyData, name: str, columns: Mapping[str, str] | None, *, outside_files: bool) -> Dataset:
    """Open data in memory."""
    kind = Path(f"<{type(source).__name__}>")
    if isinstance(source, Sequence) and source and all(isinstance(item, LabelledPage) for item in source):
        if len({page.id for page in source}) < len(source):
            raise DatasetError("two pages have the same id", source=kind)
        return Dataset(name, kind, "table", tuple(source))
    return dataset_of_rows(object_rows(source, kind), name, kind, columns, outside_files=outside_files)


#: Labelled pages as an argument: anything :func:`open_dataset` opens, or a list of data sets, folders and files.
AnyData: TypeAlias = Any


def open_datasets(data: AnyData) -> list[Dataset]:
    """Open one data set, or each of a list of data sets, folders and files.

    Raises
    ------
    DatasetError
        One can't be read.
    UsageError
        Two have the same name.

    Examples
    --------
    >>> [dataset.name for dataset in open_datasets(["data/pages", "mine=data/sites"])]
    ['pages', 'mine']
    """
    several = isinstance(data, list | tuple) and all(isinstance(item, Dataset | str | os.PathLike) for item in data)
    opened = [open_dataset(item) for item in (data if several else [data])]
    check_names(opened)
    return opened
