"""Reader of page folders: one folder per page, made by hand or by a generator.

``page.html`` (or another suffix of pages) has one kind of gold next to it: ``labels.jsonl`` (``{"text", "label"}`` per
line, covering the page's text in order) or ``expected.txt`` (the main content). ``meta.json`` is optional. The first
line of labels that are not confirmed has ``"unfinished": true``, so that labels and their state are one file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from blockml.archives.suffixes import is_page_of_folder
from blockml.datasets.base import (
    UNFINISHED_FLAG,
    Dataset,
    LabelledPage,
    declared_url,
    html_files,
    page_from_row,
    text_gold,
)
from blockml.datasets.gold import Gold, RunGold
from blockml.datasets.labels import IGNORE, as_label
from blockml.datasets.records import parse_record, text_lines
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
