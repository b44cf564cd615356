"""Pages to label from anything but a folder of page files: tables, JSON lines, WARC files, published layouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import webencodings

from blockml.archives.suffixes import is_page_of_folder, split_compression
from blockml.batch import find_inputs, read_items
from blockml.batch.items import Item
from blockml.datasets import open_dataset
from blockml.datasets.base import Dataset, LabelledPage, html_files
from blockml.datasets.corpus import find_table
from blockml.datasets.published import PUBLISHED
from blockml.datasets.sources import is_table
from blockml.datasets.table import read_table
from blockml.errors import InputError, UsageError
from blockml.labelling.store import PageToLabel
from blockml.parsing import Limits
from blockml.storage.names import safe_file_name
from blockml.storage.spool import Spool

__all__ = ["in_own_folders", "labels_folder", "page_of_item", "pages_to_label"]

#: Files of a page folder, beside that of the page.
_FILES = frozenset({"labels.jsonl", "meta.json"})
#: Maximum characters of the path of a page folder.
_MAX_PATH = 1_000


def labels_folder(source: Path) -> Path:
    """Return the default folder of labels for an input: its name without suffixes and with ``-labelled``.

    Examples
    --------
    >>> labels_folder(Path("crawl/pages.jsonl.gz")).as_posix(), labels_folder(Path("data/pages")).as_posix()
    ('crawl/pages-labelled', 'data/pages-labelled')
    """
    if set("*?[") & set(source.name) and not source.exists():
        raise UsageError("a glob names no single folder; give the folder of the labels with -o", source=source)
    source = source if source.name not in ("", "..") else source.resolve()
    name = source.name if source.is_dir() else Path(split_compression(source.name)[0]).stem
    return source.with_name(f"{name}-labelled")


def pages_to_label(names: Sequence[str], *, outside_files: bool = False) -> Path | list[PageToLabel]:
    """Return the pages of inputs; a folder of page files or page folders is returned as it is.

    Parameters
    ----------
    names
        A folder; a table of pages with or without gold; or files, globs and archives as ``blockml predict`` reads them.
    outside_files
        Whether a table may name files outside of its folder.

    Raises
    ------
    DatasetError
        A table can't be read or has no column of pages.
    InputError
        There are no pages.
    UsageError
        A table or data set is one of several inputs.
    """
    path = Path(names[0])
    found = _data_set(path, outside_files=outside_files)
    if found is not None:
        if len(names) > 1:
            raise UsageError("give one table or data set, or several files and archives of pages", source=path)
        return in_own_folders([_page_of_row(page) for page in found.pages])
    if len(names) == 1 and path.is_dir() and html_files(path.rglob("*")):
        return path
    with Spool() as spool:
        items = _items(names)
        pages = [page for item in items if (page := page_of_item(item, _folder_of(item.id), spool)) is not None]
    if not pages:
        raise InputError("no page could be read", source=", ".join(names))
    return in_own_folders(pages)


def _items(names: Sequence[str]) -> Iterator[Item]:
    return read_items(find_inputs(names))


def _data_set(path: Path, *, outside_files: bool) -> Dataset | None:
    """Open a table, a corpus folder or a published layout; None for anything else."""
    if path.is_file() and is_table(path):
        return read_table(path, path.stem, needs_gold=False, outside_files=outside_files)
    is_corpus = find_table(path) and (path / "pages").is_dir()
    is_layout = path.is_dir() and (is_corpus or any(layout.files(path) for layout in PUBLISHED.values()))
    return open_dataset(path) if is_layout else None


def _page_of_row(page: LabelledPage) -> PageToLabel:
    meta = {"url": page.url, "site": page.site if page.site_known else None, "page_type": page.page_type}
    meta |= {"encoding": page.charset, "record": page.id}
    return PageToLabel(_folder_of(page.id), page, {name: value for name, value in meta.items() if value})


def _folder_of(page_id: str) -> str:
    """Return the page folder of an id, in which no folder has the name of a file of page folders.

    Examples
    --------
    >>> _folder_of("cats/1"), len(_folder_of("cats/" * 3000)) < 100  # no path may be longer than some 4,000 bytes
    ('cats/1', True)
    """
    steps = [f"{step}/" if is_page_of_folder(step) or step in _FILES else step for step in page_id.split("/") if step]
    path = "/".join(map(safe_file_name, steps))
    return path if 0 < len(path) <= _MAX_PATH else safe_file_name(page_id)


def in_own_folders(pages: Sequence[PageToLabel]) -> list[PageToLabel]:
    """Give each page its own folder: a crawl may repeat ids, and different ids may have equal file names.

    Examples
    --------
    >>> [page.id for page in in_own_folders([PageToLabel(name, Path(name)) for name in ("a", "b", "a", "a-2")])]
    ['a', 'b', 'a-2', 'a-2-2']
    """
    counts: Counter[str] = Counter()
    taken: set[str] = set()
    for page in pages:
        name = page.id
        while page.id in taken:
            counts[name] += 1
            page.id = f"{name}-{counts[name] + 1}"
        taken.add(page.id)
    return list(pages)


def page_of_item(item: Item, page_id: str, spool: Spool, **meta: Any) -> PageToLabel | None:  # noqa: ANN401 (JSON)
    """Return a page whose bytes are kept in a temporary file; None if it can't be read.

    ``meta`` are further fields of the labelled page.
    """
    try:
        html = item.read(Limits().bytes + 1)
    except OSError:
        return None
    charset = "utf-8" if isinstance(html, str) else item.charset
    known = charset if charset and webencodings.lookup(charset) else None
    place = spool.write(html.encode("utf-8", "replace") if isinstance(html, str) else html)
    fields = {"url": item.url, "record": item.id, **meta, "encoding": known}
    return PageToLabel(page_id, (spool, place), {name: value for name, value in fields.items() if value})
