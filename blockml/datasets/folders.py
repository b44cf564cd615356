"""Page folders: one folder a page, made by hand or by a generator.

``page.html`` (or ``.htm``, ``.html.gz``) with one kind of gold beside it: ``labels.jsonl`` (``{"text", "label"}`` a
line, covering the page's text in order) or ``expected.txt`` (the main content). ``meta.json`` is optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blockml.datasets.base import Dataset, LabelledPage, site_of
from blockml.datasets.gold import Gold, RunGold, SnippetGold, TextGold
from blockml.errors import DatasetError, UnknownNameError
from blockml.page import Label

__all__ = ["PAGE_NAMES", "read_folders"]

#: Names a page file may have.
PAGE_NAMES = ("page.html", "page.html.gz", "page.htm")

_OWN_FIELDS = frozenset({"id", "url", "site", "page_type", "encoding", "with", "without", "flags"})


def read_folders(folder: Path, name: str) -> Dataset:
    """Read all page folders below ``folder``, however deep.

    A page without ``id`` in its ``meta.json`` is called by its path below ``folder``; one without ``site`` belongs
    to the registrable domain of its ``url``, or is a site of its own.

    Raises
    ------
    DatasetError
        There is none, two have the same id, or a file is damaged.
    """
    pages: dict[str, LabelledPage] = {}
    licences: dict[str, None] = {}
    for path in _page_files(folder):
        page = _read_folder(path, folder)
        if page.id in pages:
            raise DatasetError(f"two pages have the id {page.id!r}", source=path)
        pages[page.id] = page
        if licence := page.extra.get("licence"):
            licences[str(licence)] = None
    if not pages:
        raise DatasetError(f"no page folders: none holds {' or '.join(PAGE_NAMES)}", source=folder)
    return Dataset(name, folder, "folders", tuple(pages.values()), licence=", ".join(licences))


def _page_files(folder: Path) -> Iterator[Path]:
    found = sorted(path for name in PAGE_NAMES for path in folder.rglob(name))
    yield from found


def _read_folder(path: Path, top: Path) -> LabelledPage:
    meta: Any = {}
    if (meta_file := path.parent / "meta.json").is_file():
        try:
            meta = json.loads(meta_file.read_text(encoding="utf-8-sig"))
        except ValueError as error:
            raise DatasetError(f"no JSON ({error})", source=meta_file) from None
        if not isinstance(meta, dict) or not isinstance(meta.get("id", ""), str):
            raise DatasetError("a JSON object was expected, its 'id' a string", source=meta_file)
    page_id = meta.get("id") or path.parent.relative_to(top).as_posix()
    url = meta.get("url")
    return LabelledPage(
        id=page_id,
        site=meta.get("site") or site_of(url, page_id),
        path=path,
        gold=_gold(path.parent, meta),
        url=url,
        charset=meta.get("encoding"),
        page_type=meta.get("page_type"),
        flags=tuple(meta.get("flags") or ()),
        extra={key: value for key, value in meta.items() if key not in _OWN_FIELDS},
    )


def _gold(folder: Path, meta: dict[str, Any]) -> Gold | None:
    required, forbidden = tuple(meta.get("with") or ()), tuple(meta.get("without") or ())
    if (labels := folder / "labels.jsonl").is_file():
        return RunGold(tuple(_runs(labels)))
    if (expected := folder / "expected.txt").is_file():
        try:
            return TextGold(expected.read_text(encoding="utf-8-sig"), required, forbidden)
        except UnicodeDecodeError as error:
            raise DatasetError(f"the file is not UTF-8 ({error})", source=expected) from None
    return SnippetGold(required, forbidden) if required or forbidden else None


def _runs(path: Path) -> Iterator[tuple[str, Label]]:
    legal = {str(label) for label in Label}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n"), start=1):
        try:
            row = json.loads(line)
            text, label = row["text"], row["label"]
        except (ValueError, KeyError, TypeError):
            raise DatasetError(f"line {number} is no object with 'text' and 'label'", source=path) from None
        if label not in legal:
            raise UnknownNameError("label", str(label), legal, source=f"{path}, line {number}")
        yield text, Label(label)
