"""Readers of folders of pages: one folder per page, flat folders, and the corpus layout.

``page.html`` (or another suffix of pages) has one kind of gold next to it: ``labels.jsonl`` (``{"text", "label"}`` per
line, covering the page's text in order) or ``expected.txt`` (the main content). ``meta.json`` is optional. The first
line of labels that are not confirmed has ``"unfinished": true``, so that labels and their state are one file.

Each may be compressed, as ``pages/ID.html.gz``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from blockml.archives.compression import DAMAGED
from blockml.archives.kinds import is_page_of_folder, page_stem, pages_below, with_compression
from blockml.datasets.gold import IGNORE, Gold, RegionGold, RunGold, TextGold, as_label
from blockml.datasets.labelled import (
    UNFINISHED_FLAG,
    Dataset,
    LabelledPage,
    declared_url,
    html_files,
    page_from_row,
    text_gold,
)
from blockml.datasets.sources import parse_record, text_lines
from blockml.errors import DatasetError
from blockml.page import Label
from blockml.storage.atomic import atomic_write


def read_folders(folder: Path, name: str) -> Dataset:
    """Read the page folders below ``folder``, at any depth.

    A page's id defaults to its path below ``folder``. Its site is that of ``meta.json``, else the registrable domain of
    the URL that ``meta.json`` gives or the page declares, else the first of several folders around it.

    Raises
    ------
    DatasetError
        There is no page, two pages have the same id, or a file is damaged.
    """
    pages: dict[str, LabelledPage] = {}
    for path in html_files(path for path in folder.rglob("*") if is_page_of_folder(path.name)):
        page = _read_folder(path, folder)
        if page.id in pages:
            raise DatasetError(f"two pages have the id {page.id!r}", source=path)
        pages[page.id] = page
    if not pages:
        raise DatasetError("no page folders: found no page.html", source=folder)
    licences = dict.fromkeys(str(page.extra["licence"]) for page in pages.values() if page.extra.get("licence"))
    return Dataset(name, folder, "folders", tuple(pages.values()), licence=", ".join(licences))


def _read_folder(path: Path, top: Path) -> LabelledPage:
    meta: Any = {}
    if (meta_file := path.parent / "meta.json").is_file():
        meta = parse_record(read_text(meta_file), "the file", meta_file)
    if has_unfinished_labels(path.parent):
        meta["flags"] = [*dict.fromkeys([*(meta.get("flags") or ()), UNFINISHED_FLAG])]
    below = path.parent.relative_to(top)
    page_id = meta.get("id") or below.as_posix()
    if not meta.get("site") and not meta.get("url"):
        if url := declared_url(path):
            meta["url"] = url
        elif len(below.parts) > 1:
            meta["site"] = below.parts[0]
    return page_from_row(meta, page_id, path, _gold(path.parent, meta))


def _gold(folder: Path, meta: dict[str, Any]) -> Gold | None:
    if (labels := folder / "labels.jsonl").is_file():
        return read_labels(labels)
    if not (expected := folder / "expected.txt").is_file():
        return text_gold(None, meta)
    return text_gold(read_text(expected), meta)


def read_text(path: Path) -> str:
    """Read a text in UTF-8; raise DatasetError if it is in another encoding."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DatasetError(f"not UTF-8 ({error})", source=path) from None


def read_labels(path: Path) -> RunGold:
    """Read JSON lines of ``{"text", "label"}``, which cover the text of a page in order.

    The label ``ignore`` marks text that may be content or not. A page without text has an empty file.

    Raises
    ------
    DatasetError
        A line is not an object with both strings, or its label is unknown.
    """
    return RunGold(tuple(_runs(path)))


def _runs(path: Path) -> Iterator[tuple[str, Label | None]]:
    for number, line in text_lines(path):
        if not line.strip():
            continue
        row = parse_record(line, f"line {number}", path)
        text, label = row.get("text"), row.get("label")
        if not isinstance(text, str) or not isinstance(label, str):
            raise DatasetError(f"line {number} needs the strings 'text' and 'label'", source=path)
        yield text, as_label(label, f"{path}, line {number}")


def has_unfinished_labels(folder: Path) -> bool:
    """Tell whether the labels in a page folder are not confirmed; False without labels or with damaged ones."""
    path = folder / "labels.jsonl"
    if not path.is_file():
        return False
    try:
        first = next((line for _, line in text_lines(path) if line.strip()), "")
        return bool(first) and parse_record(first, "line 1", path).get(UNFINISHED_FLAG) is True
    except (OSError, DatasetError):  # reported when the labels are read
        return False


def write_labels(
    path: Path, texts: Iterable[str], labels: Iterable[Label | None], *, is_unfinished: bool = False
) -> None:
    """Write the labels of a page's blocks for :func:`read_labels`, in order and atomically; None becomes ``ignore``.

    The first line tells whether they are unfinished; a page without blocks has none.

    Raises
    ------
    OSError
        The file can't be written.
    """
    rows: list[dict[str, Any]] = [
        {"text": text, "label": str(label or IGNORE)} for text, label in zip(texts, labels, strict=True)
    ]
    if rows and is_unfinished:
        rows[0][UNFINISHED_FLAG] = True
    with atomic_write(path) as stream:
        stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8", "replace"))


def gold_beside(page: Path) -> Path | None:
    """Return the file with the gold of a page (same name with ``.txt`` or ``.jsonl``), or None if there is neither.

    Examples
    --------
    >>> gold_beside(Path("missing/p0.html")) is None
    True
    """
    stem = page_stem(page.name) or page.name
    return next((path for end in (".jsonl", ".txt") if (path := page.with_name(stem + end)).is_file()), None)


def read_flat(folder: Path, name: str) -> Dataset:
    """Read the HTML files of a folder and their gold files; a file without one becomes a page without gold.

    Raises
    ------
    DatasetError
        No page has gold, two pages have the same id, or a file is damaged.
    """
    pages: dict[str, LabelledPage] = {}
    for path in html_files(folder.iterdir()):
        page_id = page_stem(path.name) or path.name
        if page_id in pages:
            raise DatasetError(f"two pages have the id {page_id!r}", source=path)
        pages[page_id] = page_from_row({"url": declared_url(path)}, page_id, path, _flat_gold(path))
    if not any(page.gold for page in pages.values()):
        raise DatasetError("no page has gold: NAME.html needs NAME.txt or NAME.jsonl next to it", source=folder)
    return Dataset(name, folder, "flat", tuple(pages.values()))


def _flat_gold(page: Path) -> Gold | None:
    gold = gold_beside(page)
    if gold is None:
        return None
    return read_labels(gold) if gold.suffix == ".jsonl" else TextGold(read_text(gold))


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
        pages[row["id"]] = page_from_row(row, row["id"], path, _corpus_gold(row))
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


def _corpus_gold(row: Mapping[str, Any]) -> Gold | None:
    content = row.get("main_content")
    if blocks := [block for block in row.get("blocks") or () if "xpath" in block]:
        for block in blocks:
            if block["type"] not in REGION_LABELS:
                raise DatasetError(f"page {row['id']!r} has the unknown block type {block['type']!r}")
        return RegionGold(tuple((block["xpath"], REGION_LABELS[block["type"]]) for block in blocks), content)
    return text_gold(content, row)
