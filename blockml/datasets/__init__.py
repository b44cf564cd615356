"""Readers of labelled pages, one per layout on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from blockml.archives.suffixes import is_page_of_folder
from blockml.datasets.annotated import is_annotated, read_annotated
from blockml.datasets.base import Dataset, LabelledPage, html_files, site_of
from blockml.datasets.corpus import find_table, read_corpus
from blockml.datasets.flat import gold_beside, read_flat
from blockml.datasets.folders import read_folders
from blockml.datasets.gold import BlockLabels, Gold, RegionGold, RunGold, SnippetGold, TextGold
from blockml.errors import DatasetError, UsageError, check_name
from blockml.text.plurals import counted

__all__ = [
    "LAYOUTS", "BlockLabels", "Dataset", "Gold", "LabelledPage", "RegionGold", "RunGold", "SnippetGold", "TextGold",
    "AnyData", "detect_format", "open_dataset", "open_datasets", "site_of",
]  # fmt: skip

#: Readers by name of the layout.
READERS: Mapping[str, Callable[[Path, str], Dataset]] = {
    "corpus": read_corpus,
    "folders": read_folders,
    "annotated": read_annotated,
    "flat": read_flat,
}

#: Description of each layout.
LAYOUTS: Mapping[str, str] = {
    "corpus": "pages/ID.html with gold.jsonl, compressed or not: text, snippets or block types with XPaths",
    "folders": "one folder per page: page.html with labels.jsonl or expected.txt, and meta.json",
    "flat": "NAME.html files with the main content in NAME.txt, or labels in NAME.jsonl",
    "annotated": "HTML files with spans of classes x-nc-sel0 … x-nc-sel5",
}


def detect_format(folder: Path) -> str:
    """Return the layout of a folder, a key of :data:`LAYOUTS`.

    Raises
    ------
    DatasetError
        The folder is missing or has no known layout.
    """
    if not folder.is_dir():
        raise DatasetError("not a folder" if folder.exists() else "no such folder", source=folder)
    if find_table(folder) and (folder / "pages").is_dir():
        return "corpus"
    files = html_files(folder.iterdir())
    if files and not any(is_page_of_folder(path.name) for path in files):
        if any(map(gold_beside, files)):
            return "flat"
        if any(map(is_annotated, files)):
            return "annotated"
        raise DatasetError(
            f"{counted(len(files), 'HTML file')} without gold: NAME.html needs NAME.txt (main content) or "
            "NAME.jsonl (labels)",
            source=folder,
        )
    if files or any(is_page_of_folder(path.name) and path.is_file() for path in folder.rglob("*")):
        return "folders"
    known = "; ".join(f"{name} ({description})" for name, description in LAYOUTS.items())
    raise DatasetError(f"no labelled pages; known layouts: {known}", source=folder)


def open_dataset(spec: str | Path, *, layout: str | None = None) -> Dataset:
    """Open a data set.

    Parameters
    ----------
    spec
        A folder, or ``NAME=FOLDER``. The name defaults to that of the folder.
    layout
        A key of :data:`LAYOUTS`; detected from the contents of the folder if None.

    Raises
    ------
    DatasetError
        The folder holds no labelled pages, or a damaged file.
    UnknownNameError
        The layout is unknown.
    UsageError
        The name is empty.
    """
    name, separator, folder_name = ("", "", "") if Path(spec).is_dir() else str(spec).partition("=")
    if separator and not name:
        raise UsageError("a data set is NAME=FOLDER, and the name is empty", source=spec)
    folder = Path(folder_name if separator else str(spec))
    chosen = layout or detect_format(folder)
    check_name("layout", chosen, LAYOUTS)
    return READERS[chosen](folder, name if separator else folder.resolve().name)


#: Labelled pages as functions take them: a data set, what :func:`open_dataset` opens, or several of these.
AnyData: TypeAlias = Dataset | str | Path | Iterable[Dataset | str | Path]


def open_datasets(data: AnyData) -> list[Dataset]:
    """Open one or several data sets; a data set is returned as it is.

    Examples
    --------
    >>> [dataset.name for dataset in open_datasets(["data/pages", "mine=data/sites"])]
    ['pages', 'mine']
    """
    if not isinstance(data, list | tuple):
        data = [data]
    return [item if isinstance(item, Dataset) else open_dataset(item) for item in data]
