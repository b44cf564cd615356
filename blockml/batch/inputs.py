"""Names on the command line in, pages to extract out: files, folders, globs, JSON lines."""

from __future__ import annotations

import glob
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blockml.datasets.base import read_bytes, site_of
from blockml.errors import InputError

__all__ = ["PAGE_SUFFIXES", "Item", "find_inputs", "read_items"]

#: Names of page files end like this; other files in a folder are passed over.
PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".html.gz", ".htm.gz", ".xhtml.gz")
#: What the page is called where each page has a folder of its own.
_PAGE_OF_A_FOLDER = ("page.html", "page.html.gz")
_JSONL_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class Item:
    """One page to extract. It is read in the process that works on it."""

    id: str
    path: Path | None = None
    """File with the page, gzipped if it ends in ``.gz``."""
    html: bytes | str | None = None
    """The page itself, where it came in a record."""
    url: str | None = None
    charset: str | None = None
    site: str = ""
    """Pages of one site carry the same: the record's ``site``, else the host of its URL; of a file the folder in the
    folder that was asked for, or that itself."""
    error: str | None = None
    """Why there is no page, for a record that can't be used."""

    def read(self, limit: int = -1) -> bytes | str:
        """Read the page, of a file no more than ``limit`` bytes.

        Raises
        ------
        OSError
            The file can't be read, or the record it came from couldn't be used.
        """
        if self.error is not None:
            raise InputError(self.error)
        if self.html is not None:
            return self.html
        if self.path is None:
            raise InputError("an item has neither a file nor a page", source=self.id)
        return read_bytes(self.path, limit)


def find_inputs(names: Sequence[str]) -> list[tuple[Path, Path]]:
    """Expand names into files, each with the folder its id is told from.

    A folder stands for all page files below it; a name with ``*``, ``?`` or ``[`` that is no file is a glob
    (``**`` crosses folders).

    Raises
    ------
    InputError
        A name stands for nothing.
    """
    found: list[tuple[Path, Path]] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            path = path if path.parts else path.resolve()  # "." would look like the top of a glob
            files = sorted(p for p in path.rglob("*") if p.name.lower().endswith(PAGE_SUFFIXES) and p.is_file())
            if not files:
                raise InputError(f"no page files ({', '.join(PAGE_SUFFIXES)}) below this folder", source=name)
            found.extend((file, path) for file in files)
        elif path.is_file():
            found.append((path, path.parent))
        else:
            matches = glob.glob(name, recursive=True)  # noqa: PTH207 (Path.glob takes no absolute patterns)
            files = sorted(path for path in map(Path, matches) if path.is_file())
            if not files:
                raise InputError("no such file, folder or glob", source=name)
            found.extend((file, Path()) for file in files)
    return found


def read_items(files: Iterable[tuple[Path, Path]]) -> Iterator[Item]:
    """Pages of page files and JSON lines files, with unique ids.

    The id of a file is its name without ``.html``, ``.htm`` or ``.gz``; where several files share a name, their path
    below the folder that was asked for. A JSON lines record is ``{"id", "html", "url", "charset", "site"}``;
    only ``html`` is needed, the id is then ``FILE:LINE``. A record that can't be used is an item with an ``error``.
    """
    files = list(files)
    names = Counter(_stem(path.name) for path, _ in files)
    seen: set[str] = set()
    for path, top in files:
        if path.name.lower().endswith(_JSONL_SUFFIXES):
            items: Iterable[Item] = _records(path)
        else:
            name = _stem(path.name)
            if names[name] > 1:
                below = path.relative_to(top) if path.is_relative_to(top) else path
                name = _stem(below.as_posix())
            items = [Item(name, path=path, site=_folder(path, top))]
        for item in items:
            # Nothing may be lost, and a resumed run tells pages apart by id. Names that are no text can't be written.
            page_id = name = item.id.encode("utf-8", "backslashreplace").decode()
            number = 1
            while page_id in seen:
                number += 1
                page_id = f"{name}#{number}"
            seen.add(page_id)
            yield item if page_id == item.id else replace(item, id=page_id)


def _folder(path: Path, top: Path) -> str:
    """First folder of a file below ``top``; ``top`` where pages have a folder each; the file's own in a glob."""
    below = path.relative_to(top).parts if top.parts and path.is_relative_to(top) else ()
    holds_one = len(below) == 2 and path.name.lower() in _PAGE_OF_A_FOLDER
    return str(top / below[0] if len(below) > 1 and not holds_one else top if holds_one else path.parent)


def _stem(name: str) -> str:
    for suffix in sorted(PAGE_SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _records(path: Path) -> Iterator[Item]:
    opener = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield _record(line, f"{path.name}:{number}")
    except (OSError, EOFError, zlib.error) as error:
        yield Item(f"{path.name}:{number + 1}", error=f"the file can't be read from here on ({error})")


def _record(line: str, place: str) -> Item:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Item(place, error=f"the line is no JSON ({error})")
    if not isinstance(row, dict) or not isinstance(row.get("html"), str):
        return Item(place, error="the record has no string 'html'")
    texts = {
        key: row[key].encode("utf-8", "backslashreplace").decode()
        for key in ("url", "charset")
        if isinstance(row.get(key), str)
    }
    site = row["site"] if isinstance(row.get("site"), str) else site_of(texts.get("url"), "")
    return Item(str(row["id"]) if row.get("id") is not None else place, html=row["html"], site=site, **texts)
