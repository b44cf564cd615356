"""Reader of the corpus layout: ``pages/ID.html`` with ``gold.jsonl``, or ``pages.jsonl`` without gold.

Each may be compressed, as ``pages/ID.html.gz``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from blockml.archives.compression import DAMAGED
from blockml.archives.suffixes import pages_below, with_compression
from blockml.datasets.base import Dataset, LabelledPage, page_from_row, text_gold
from blockml.datasets.gold import Gold, RegionGold
from blockml.datasets.records import parse_record, text_lines
from blockml.errors import DatasetError
from blockml.page import Label

#: Block types of the dataset-popular collection (Kreuzer 2013) as labels.
REGION_LABELS: Mapping[str, Label] = {
    **dict.fromkeys(("Article", "Content", "Table"), Label.MAIN),
    **dict.fromkeys(("Image", "Video"), Label.SUPPLEMENT),
    **dict.fromkeys(("LinkList", "Sidebar"), Label.RELATED),
    **dict.fromkeys(("Menu", "Menu Sidebar"), Label.NAVIGATION),
    **dict.fromkeys(("Header", "Logo", "Searchbar"), Label.OTHER),
    "Title": Label.HEADING,
    "Comments": Label.COMMENT,
    "Ad": Label.ADVERTISEMENT,
    "Footer": Label.FOOTER,
}


def find_table(folder: Path) -> Path | None:
    """Return the table of a corpus folder (``gold.jsonl`` or ``pages.jsonl``, compressed or not), or None."""
    names = with_compression("gold.jsonl", "pages.jsonl")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_rows(table: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON lines file, which may be compressed.

    Raises
    ------
    DatasetError
        The file cannot be read, or a line is not a JSON object with an ``id`` and fields of the right types.
    """
    try:
        for number, line in text_lines(table):
            if not line.strip():
                continue
            row = parse_record(line, f"line {number}", table)
            if not row.get("id"):
                raise DatasetError(f"line {number} has no 'id'", source=table)
            yield row
    except DAMAGED as error:
        raise DatasetError(f"cannot be read ({error})", source=table) from error


def read_corpus(folder: Path, name: str) -> Dataset:
    """Read a corpus folder.

    The fields of a record determine the kind of gold: block types with XPaths, the main content as text, or snippets.
    Pages listed in ``pages.jsonl`` have no gold.

    Raises
    ------
    DatasetError
        The table is missing or empty, a record is damaged, two have the same id, or a page file is missing.
    """
    table = find_table(folder)
    if table is None:
        raise DatasetError("no gold.jsonl or pages.jsonl", source=folder)
    files = pages_below(folder / "pages")
    pages: dict[str, LabelledPage] = {}
    for row in read_rows(table):
        if row["id"] in pages:
            raise DatasetError(f"two pages have the id {row['id']!r}", source=table)
        path = files.get(PurePosixPath(row["id"]).as_posix())
        if path is None:
            raise DatasetError(f"page {row['id']!r} has no file in pages/", source=table)
        pages[row["id"]] = page_from_row(row, row["id"], path, _gold(row))
    if not pages:
        raise DatasetError("the table has no page", source=table)
    # A table that was cut at the end of a line is known by the pages that it lacks.
    known = {PurePosixPath(page_id).as_posix() for page_id in pages}
    failures = tuple([f"page {name} has no row in {table.name}" for name in files if name not in known])
    # Licence and attribution are lines in the folder's README.
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    licence = re.search(r"^Licence[^:\n]*:\s*(.+)$", text, re.MULTILINE)
    source = re.search(r"^Source:\s*(.+)$", text, re.MULTILINE)
    facts = (licence[1] if licence else "", source[1] if source else "")
    return Dataset(name, folder, "corpus", tuple(pages.values()), *facts, failures=failures)


def _gold(row: Mapping[str, Any]) -> Gold | None:
    content = row.get("main_content")
    if blocks := [block for block in row.get("blocks") or () if "xpath" in block]:
        for block in blocks:
            if block["type"] not in REGION_LABELS:
                raise DatasetError(f"page {row['id']!r} has the unknown block type {block['type']!r}")
        return RegionGold(tuple((block["xpath"], REGION_LABELS[block["type"]]) for block in blocks), content)
    return text_gold(content, row)
