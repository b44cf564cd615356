"""Readers of published layouts whose page and gold files share a name: scrapinghub, WCXB, dragnet, CleanEval.

Each takes the folder and returns the labelled pages; :data:`PUBLISHED` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blockml.archives.kinds import is_page_file, page_stem
from blockml.datasets.labelled import Dataset, LabelledPage, declared_url, page_from_row, text_gold
from blockml.datasets.sources import field_problem, read_json
from blockml.errors import DatasetError

#: Separators of texts in CleanEval's gold: empty lines, and marks of headers, paragraphs and list items, also in lines.
_SEPARATOR = re.compile(r"</?[hpl]>|\n[ \t\r]*\n", re.IGNORECASE)
_URL_LINE = re.compile(r"\A\s*URL:[ \t]*(\S*)[^\n]*\n?", re.IGNORECASE)
#: Line of symbols that separates the article from readers' comments in dragnet's gold.
_COMMENTS = re.compile(r"^[^\w\n]{6,}\s*COMMENTS[^\w\n]*$", re.MULTILINE)


class _Files(NamedTuple):
    """Pages and gold files of a folder, by the name they share."""

    pages: dict[str, Path]
    gold: dict[str, Path]


def _folder(parent: Path, *names: str) -> Path | None:
    """Return the first folder with one of these names, in any case."""
    found = {path.name.lower().replace("_", "-"): path for path in parent.iterdir() if path.is_dir()}
    return next((found[name] for name in names if name in found), None)


def _page_files(folder: Path | None) -> dict[str, Path]:
    paths = sorted(folder.iterdir()) if folder else ()
    return {page_stem(path.name) or path.name: path for path in paths if is_page_file(path.name) and path.is_file()}


def _gold_files(folder: Path | None, end: str) -> dict[str, Path]:
    paths = sorted(folder.iterdir()) if folder else ()
    named = {re.sub(end, "", path.name, flags=re.IGNORECASE): path for path in paths}
    return {name: path for name, path in named.items() if name != path.name}


def _scrapinghub(folder: Path) -> _Files | None:
    table = folder / "ground-truth.json"
    return _Files(pages, {"": table}) if table.is_file() and (pages := _page_files(_folder(folder, "html"))) else None


def _wcxb(folder: Path) -> _Files | None:
    gold = _gold_files(_folder(folder, "ground-truth"), r"\.json\Z")
    return _Files(_page_files(_folder(folder, "html")), gold) if gold else None


def _dragnet(folder: Path) -> _Files | None:
    gold = _gold_files(_folder(folder, "corrected"), r"(\.html?)?(\.corrected)?\.txt\Z")
    return _Files(_page_files(_folder(folder, "html")), gold) if gold else None


def _cleaneval(folder: Path) -> _Files | None:
    """Read CleanEval: pages and ``N-cleaned.txt`` are in one folder, or in one subfolder each."""
    files = _Files({}, {})
    for place in [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]:
        files.pages.update(_page_files(place))
        files.gold.update(_gold_files(place, r"-cleaned\.txt\Z"))
    return files if files.gold else None


def _read_text(path: Path) -> str:
    """Read a gold text in UTF-8, UTF-16 with a byte order mark, or else windows-1252; these collections mix them."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def cleaneval_text(marked: str) -> str:
    """Remove the marks and the URL line of a CleanEval text, and join the lines of each paragraph.

    Examples
    --------
    >>> cleaneval_text("URL: http://cat.example/\\n\\n<h>Cats\\n\\n<p>Cats rule\\nthe world.\\n<l>One <l>Two\\n\\nEnd")
    'Cats\\nCats rule the world.\\nOne\\nTwo\\nEnd'
    """
    parts = _SEPARATOR.split(_URL_LINE.sub("", marked, count=1))
    return "\n".join(line for part in parts if (line := " ".join(part.split())))


def _rows_scrapinghub(files: _Files) -> Iterator[tuple[str, dict[str, Any]]]:
    table = read_json(files.gold[""])
    if not isinstance(table, dict):
        raise DatasetError("not a JSON object of pages by id", source=files.gold[""])
    for name, row in table.items():
        if not isinstance(row, dict) or not isinstance(row.get("articleBody"), str):
            raise DatasetError(f"page {name!r} has no text 'articleBody'", source=files.gold[""])
        yield name, {"url": row.get("url"), "main_content": row["articleBody"]}


def _rows_wcxb(files: _Files) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, path in files.gold.items():
        row = read_json(path)
        gold = row.get("ground_truth", row) if isinstance(row, dict) else None
        if not isinstance(gold, dict) or not isinstance(gold.get("main_content"), str):
            raise DatasetError("has no text 'main_content'", source=path)
        kind = row.get("page_type") or (row.get("_internal") or {}).get("page_type")
        kind = kind.get("primary") if isinstance(kind, dict) else kind
        fields = ("main_content", "with", "without", "title")
        known = {key: gold[key] for key in fields if gold.get(key) is not None}
        yield name, {"url": row.get("url"), "page_type": kind, **known}


def _rows_dragnet(files: _Files) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, path in files.gold.items():
        content, *comments = _COMMENTS.split(_read_text(path), maxsplit=1)
        yield name, {"main_content": content.strip(), **({"comments": comments[0].strip()} if comments else {})}


def _rows_cleaneval(files: _Files) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, path in files.gold.items():
        text = _read_text(path)
        match = _URL_LINE.match(text)
        yield name, {"url": match and match[1], "main_content": cleaneval_text(text), "has_text_wrapper": True}


class PublishedLayout(NamedTuple):
    """A published layout."""

    description: str
    files: Callable[[Path], _Files | None]  #: Finds pages and gold; None for a folder of another layout.
    rows: Callable[[_Files], Iterator[tuple[str, dict[str, Any]]]]  #: Yields name and record of each gold.

    def read(self, folder: Path, name: str) -> Dataset:
        """Read a folder.

        Raises
        ------
        DatasetError
            The folder has another layout, a gold file has no page, or a gold file is damaged.
        """
        files = self.files(folder)
        if files is None:
            raise DatasetError(f"not in this layout: {self.description}", source=folder)
        pages: list[LabelledPage] = []
        failures = []
        for page_id, row in self.rows(files):
            path = files.pages.get(page_id)
            if path is None:
                failures.append(f"gold {page_id} has no page")
                continue
            if problem := field_problem(row):
                raise DatasetError(problem, source=files.gold.get(page_id) or files.gold[""])
            if not row.get("url"):
                row["url"] = declared_url(path)
            pages.append(page_from_row(row, page_id, path, text_gold(row["main_content"], row)))
        if not pages:
            raise DatasetError("no gold file has a page with the same name", source=folder)
        layout = next(key for key, value in PUBLISHED.items() if value is self)
        return Dataset(name, folder, layout, tuple(pages), failures=tuple(failures))


#: Published layouts by name.
PUBLISHED: Mapping[str, PublishedLayout] = {
    "scrapinghub": PublishedLayout(
        "article-extraction-benchmark: ground-truth.json (articleBody, url) with html/ID.html.gz",
        _scrapinghub,
        _rows_scrapinghub,
    ),
    "wcxb": PublishedLayout(
        "ground-truth/ID.json (main_content, with, without) with html/ID.html.gz", _wcxb, _rows_wcxb
    ),
    "dragnet": PublishedLayout(
        "HTML/ID.html with Corrected/ID.html.corrected.txt, readers' comments after a line of symbols",
        _dragnet,
        _rows_dragnet,
    ),
    "cleaneval": PublishedLayout(
        "N.html with N-cleaned.txt, whose URL line and marks <h> <p> <l> are dropped", _cleaneval, _rows_cleaneval
    ),
}
