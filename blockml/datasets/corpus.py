"""The corpus layout: ``pages/ID.html.gz`` beside ``gold.jsonl.gz`` (or ``pages.jsonl.gz`` for sites without gold)."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import webencodings

from blockml.datasets.base import Dataset, LabelledPage, read_bytes, site_of
from blockml.datasets.gold import Gold, RegionGold, SnippetGold, TextGold
from blockml.errors import DatasetError
from blockml.page import Label

__all__ = ["find_table", "read_corpus", "read_rows"]

#: Block types of the dataset-popular collection (Kreuzer 2013) as labels.
REGION_LABELS: Mapping[str, Label] = {
    "Ad": Label.ADVERTISEMENT,
    "Article": Label.MAIN,
    "Comments": Label.COMMENT,
    "Content": Label.MAIN,
    "Footer": Label.FOOTER,
    "Header": Label.OTHER,
    "Image": Label.SUPPLEMENT,
    "LinkList": Label.RELATED,
    "Logo": Label.OTHER,
    "Menu": Label.NAVIGATION,
    "Menu Sidebar": Label.NAVIGATION,
    "Searchbar": Label.OTHER,
    "Sidebar": Label.RELATED,
    "Table": Label.MAIN,
    "Title": Label.HEADING,
    "Video": Label.SUPPLEMENT,
}

#: CleanEval wraps a page in an element that was never part of it.
_WRAPPER = re.compile(rb"\A\s*<text\b[^>]*>(.*?)(?:</text>\s*)?\Z", re.DOTALL | re.IGNORECASE)

#: Row fields with a place of their own in a labelled page.
_OWN_FIELDS = frozenset(
    {"id", "url", "site", "page_type", "encoding", "main_content", "with", "without", "blocks", "flags"}
)


def find_table(folder: Path) -> Path | None:
    """The table of a corpus folder: ``gold.jsonl`` or ``pages.jsonl``, plain or gzipped."""
    for name in ("gold.jsonl.gz", "gold.jsonl", "pages.jsonl.gz", "pages.jsonl"):
        if (folder / name).is_file():
            return folder / name
    return None


def read_rows(table: Path) -> Iterator[dict[str, Any]]:
    """Rows of a JSON lines file, gzipped if its name ends in ``.gz``.

    Raises
    ------
    DatasetError
        The file can't be read, or a line is no JSON object with a string ``id``; it names the line.
    """
    opener = gzip.open if table.suffix == ".gz" else open
    try:
        with opener(table, "rt", encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield _row(line, number, table)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DatasetError(f"can't be read ({error})", source=table) from error


def _row(line: str, number: int, table: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DatasetError(f"line {number} is no JSON ({error})", source=table) from None
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise DatasetError(f"line {number} is no object with a string 'id'", source=table)
    return row


def read_corpus(folder: Path, name: str) -> Dataset:
    """Read a corpus folder.

    Gold is, by what a row holds: block types with XPaths, the main content as text, or snippets; rows of a
    ``pages.jsonl`` have none.

    Raises
    ------
    DatasetError
        There is no table, a row is damaged, or a page file is missing.
    """
    table = find_table(folder)
    if table is None:
        raise DatasetError("no gold.jsonl or pages.jsonl", source=folder)
    pages = []
    for row in read_rows(table):
        path = next((p for end in (".html.gz", ".html") if (p := folder / "pages" / (row["id"] + end)).is_file()), None)
        if path is None:
            raise DatasetError(f"page {row['id']!r} has no file in pages/", source=table)
        pages.append(_labelled_page(row, path))
    licence, attribution = _terms(folder)
    return Dataset(name, folder, "corpus", tuple(pages), licence, attribution)


def _labelled_page(row: Mapping[str, Any], path: Path) -> LabelledPage:
    page_id, url, label = row["id"], row.get("url"), row.get("encoding")
    gold, is_wrapped = _gold(row), bool(row.get("has_text_wrapper"))
    charset, codec = _charset(label, path) if label else (None, None)
    needs_reader = is_wrapped or codec is not None
    return LabelledPage(
        id=page_id,
        site=row.get("site") or site_of(url, page_id),
        path=path,
        gold=None if needs_reader else gold,
        reader=_Reader(gold, codec, is_wrapped=is_wrapped) if needs_reader else None,
        url=url,
        charset=charset,
        page_type=row.get("page_type"),
        flags=tuple(row.get("flags") or ()),
        extra={key: value for key, value in row.items() if key not in _OWN_FIELDS},
    )


def _charset(label: str, path: Path) -> tuple[str, str | None]:
    """Encoding label of the web, and the codec to decode with first, if only Python knows the encoding."""
    if webencodings.lookup(label):
        return label, None
    try:
        codec = codecs.lookup(label).name
    except LookupError:  # an error here, not at page 700
        raise DatasetError(f"the page's encoding {label!r} is unknown", source=path) from None
    name = codec.replace("_", "-")
    return (name, None) if webencodings.lookup(name) else ("utf-8", codec)


class _Reader:
    """Reads a page without the element that CleanEval wraps it in, and from encodings that the web doesn't know."""

    __slots__ = ("codec", "gold", "is_wrapped")

    def __init__(self, gold: Gold | None, codec: str | None, *, is_wrapped: bool) -> None:
        self.gold = gold
        self.codec = codec
        self.is_wrapped = is_wrapped

    def __call__(self, path: Path) -> tuple[bytes, Gold | None]:
        data = read_bytes(path)
        if self.is_wrapped and (match := _WRAPPER.match(data)):
            data = match[1]
        return data.decode(self.codec, "replace").encode() if self.codec else data, self.gold


def _gold(row: Mapping[str, Any]) -> Gold | None:
    content = row.get("main_content")
    if blocks := [block for block in row.get("blocks") or () if "xpath" in block]:
        for block in blocks:
            if block["type"] not in REGION_LABELS:
                raise DatasetError(f"page {row['id']!r} has the unknown block type {block['type']!r}")
        return RegionGold(tuple((block["xpath"], REGION_LABELS[block["type"]]) for block in blocks), content)
    required, forbidden = tuple(row.get("with") or ()), tuple(row.get("without") or ())
    if content is not None:
        return TextGold(content, required, forbidden)
    return SnippetGold(required, forbidden) if required or forbidden else None


def _terms(folder: Path) -> tuple[str, str]:
    """Licence and attribution lines of the folder's README, where it has them."""
    readme = folder / "README.md"
    if not readme.is_file():
        return "", ""
    text = readme.read_text(encoding="utf-8")
    licence = re.search(r"^Licence[^:\n]*:\s*(.+)$", text, re.MULTILINE)
    source = re.search(r"^Source:\s*(.+)$", text, re.MULTILINE)
    return licence[1] if licence else "", source[1] if source else ""
