"""Files on disk in, labelled pages out: one reader per layout, chosen by what a folder holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from blockml.datasets.annotated import read_annotated
from blockml.datasets.base import Dataset, LabelledPage, site_of
from blockml.datasets.corpus import find_table, read_corpus, read_rows
from blockml.datasets.folders import PAGE_NAMES, read_folders
from blockml.datasets.gold import BlockLabels, Gold, RegionGold, RunGold, SnippetGold, TextGold
from blockml.errors import DatasetError, UnknownNameError

__all__ = [
    "FORMATS",
    "BlockLabels",
    "Dataset",
    "Gold",
    "LabelledPage",
    "RegionGold",
    "RunGold",
    "SnippetGold",
    "TextGold",
    "detect_format",
    "open_dataset",
    "site_of",
]


def _annotated(folder: Path, name: str) -> Dataset:
    table = find_table(folder.parent)
    urls = {row["id"]: row["url"] for row in read_rows(table) if row.get("url")} if table else {}
    return read_annotated(folder, name, urls)


#: Readers by the name of the layout.
FORMATS: Mapping[str, Callable[[Path, str], Dataset]] = {
    "corpus": read_corpus,
    "folders": read_folders,
    "annotated": _annotated,
}

#: What each layout is.
LAYOUTS: Mapping[str, str] = {
    "corpus": "pages/ID.html.gz with gold.jsonl.gz: text, snippets or block types with XPaths",
    "folders": "a folder a page: page.html with labels.jsonl or expected.txt, and meta.json",
    "annotated": "HTML files with spans of classes x-nc-sel0 … x-nc-sel5",
}


def detect_format(folder: Path) -> str:
    """Tell which layout a folder has.

    Raises
    ------
    DatasetError
        None of them.
    """
    if not folder.is_dir():
        raise DatasetError("no such folder", source=folder)
    if find_table(folder) and (folder / "pages").is_dir():
        return "corpus"
    if any(path.name.endswith((".html", ".htm", ".html.gz", ".htm.gz")) for path in folder.iterdir()):
        return "folders" if any((folder / name).is_file() for name in PAGE_NAMES) else "annotated"
    if any(True for name in PAGE_NAMES for _ in folder.rglob(name)):
        return "folders"
    raise DatasetError(
        "no labelled pages; known layouts: " + "; ".join(f"{name} ({what})" for name, what in LAYOUTS.items()),
        source=folder,
    )


def open_dataset(spec: str | Path, *, layout: str | None = None) -> Dataset:
    """Open a data set.

    Parameters
    ----------
    spec
        A folder, or ``NAME=FOLDER``. Without a name the folder's own is taken.
    layout
        Key of :data:`FORMATS`; found out from the folder's contents if None.

    Raises
    ------
    DatasetError
        The folder holds no labelled pages, or a damaged one.
    UnknownNameError
        No such layout.
    """
    name, separator, folder_name = ("", "", "") if Path(spec).is_dir() else str(spec).partition("=")
    folder = Path(folder_name if separator else str(spec))
    chosen = layout or detect_format(folder)
    if chosen not in FORMATS:
        raise UnknownNameError("layout", chosen, FORMATS)
    return FORMATS[chosen](folder, name if separator else folder.resolve().name)
