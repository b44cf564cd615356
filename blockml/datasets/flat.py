"""Reader of flat folders: ``NAME.html`` with its main content in ``NAME.txt``, or its labels in ``NAME.jsonl``."""

from __future__ import annotations

from pathlib import Path

from blockml.archives.suffixes import page_stem
from blockml.datasets.base import Dataset, LabelledPage, declared_url, html_files, site_of
from blockml.datasets.folders import read_labels, read_text
from blockml.datasets.gold import Gold, TextGold
from blockml.errors import DatasetError


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
        url = declared_url(path)
        site = site_of(url, page_id)
        pages[page_id] = LabelledPage(page_id, site, path, gold=_gold(path), url=url, site_known=site != page_id)
    if not any(page.gold for page in pages.values()):
        raise DatasetError("no page has gold: NAME.html needs NAME.txt or NAME.jsonl next to it", source=folder)
    return Dataset(name, folder, "flat", tuple(pages.values()))


def _gold(page: Path) -> Gold | None:
    gold = gold_beside(page)
    if gold is None:
        return None
    return read_labels(gold) if gold.suffix == ".jsonl" else TextGold(read_text(gold))
