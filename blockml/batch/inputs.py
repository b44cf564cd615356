"""Inputs of a batch: page files, folders, globs and JSON lines."""

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

#: Suffixes of page files, longest first; other files in a folder are ignored.
PAGE_SUFFIXES = (".xhtml.gz", ".html.gz", ".htm.gz", ".xhtml", ".html", ".htm")
#: File names of pages in folders of their own.
_PAGE_OF_A_FOLDER = ("page.html", "page.html.gz")
_JSONL_SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class Item:
    """One page to extract. It is read by the process that extracts it."""

    id: str
    path: Path | None = None  #: File with the page, gzipped if it ends in ``.gz``.
    html: bytes | str | None = None  #: The page itself, if it came in a record.
    url: str | None = None
    charset: str | None = None
    #: Name of the site: a record's ``site``, else the host of its URL; for a file, the subfolder of the input folder
    #: that contains it, or the input folder itself.
    site: str = ""
    error: str | None = None  #: Reason why the record is invalid.

    def read(self, limit: int = -1) -> bytes | str:
        """Read the page, at most ``limit`` bytes of a file.

        Raises
        ------
        OSError
            The file cannot be read, or the record is invalid.
        """
        if self.error is not None:
            raise InputError(self.error)
        if self.html is not None:
            return self.html
        if self.path is None:
            raise InputError("an item needs a path or html", source=self.id)
        return read_bytes(self.path, limit)


def find_inputs(names: Sequence[str]) -> list[tuple[Path, Path]]:
    """Expand inputs into files, each with the folder to which ids are relative.

    Parameters
    ----------
    names
        Files; folders, which stand for all page files below them; and globs, in which ``**`` crosses folders.

    Raises
    ------
    InputError
        A name matches no file.
    """
    found: list[tuple[Path, Path]] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            path = path if path.parts else path.resolve()  # the top of a glob is Path() too
            files = sorted(p for p in path.rglob("*") if p.name.lower().endswith(PAGE_SUFFIXES) and p.is_file())
            if not files:
                raise InputError(f"no page files ({', '.join(PAGE_SUFFIXES)}) in this folder", source=name)
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
    """Yield the pages of page files and JSON lines files, with unique ids.

    The id of a file is its name without suffix, or its path below the input folder if several files share the name. A
    JSON lines record is ``{"id", "html", "url", "charset", "site"}``; only ``html`` is required, and the id defaults to
    ``FILE:LINE``. An invalid record gives an item with an ``error``.

    Parameters
    ----------
    files
        Files and folders as returned by :func:`find_inputs`.
    """
    files = list(files)
    names = Counter(_stem(path.name) for path, _ in files)
    seen: set[str] = set()
    for path, top in files:
        if path.name.lower().endswith(_JSONL_SUFFIXES):
            items: Iterable[Item] = _records(path)
        else:
            below = path.relative_to(top) if path.is_relative_to(top) else path
            name = _stem(path.name) if names[_stem(path.name)] == 1 else _stem(below.as_posix())
            items = [Item(name, path=path, site=_site_folder(path, top))]
        for item in items:
            # A resumed run identifies pages by id, and ids with lone surrogates could not be written.
            page_id = name = item.id.encode("utf-8", "backslashreplace").decode()
            number = 1
            while page_id in seen:
                number += 1
                page_id = f"{name}#{number}"
            seen.add(page_id)
            yield item if page_id == item.id else replace(item, id=page_id)


def _site_folder(path: Path, top: Path) -> str:
    """Return the subfolder of ``top`` that contains a file, or ``top`` if each page has a folder of its own.

    For a glob, the folder of the file is returned.
    """
    below = path.relative_to(top).parts if top.parts and path.is_relative_to(top) else ()
    if len(below) == 2 and path.name.lower() in _PAGE_OF_A_FOLDER:
        return str(top)
    return str(top / below[0] if len(below) > 1 else path.parent)


def _stem(name: str) -> str:
    return next((name[: -len(end)] for end in PAGE_SUFFIXES if name.lower().endswith(end)), name)


def _records(path: Path) -> Iterator[Item]:
    opener = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors="replace") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield _record(line, f"{path.name}:{number}")
    except (OSError, EOFError, zlib.error) as error:
        yield Item(f"{path.name}:{number + 1}", error=f"cannot read the rest of the file ({error})")


def _record(line: str, default_id: str) -> Item:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Item(default_id, error=f"not JSON ({error})")
    if not isinstance(row, dict) or not isinstance(row.get("html"), str):
        return Item(default_id, error="the record has no string 'html'")
    texts = {
        key: row[key].encode("utf-8", "backslashreplace").decode()
        for key in ("url", "charset")
        if isinstance(row.get(key), str)
    }
    site = row["site"] if isinstance(row.get("site"), str) else site_of(texts.get("url"), "")
    return Item(str(row["id"]) if row.get("id") is not None else default_id, html=row["html"], site=site, **texts)
