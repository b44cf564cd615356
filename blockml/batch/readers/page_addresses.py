"""Addresses of page files from a table, because a saved page rarely names its own."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from blockml.archives.kinds import name_text, page_stem
from blockml.datasets.labelled_tables import COLUMNS
from blockml.datasets.sources import is_empty, is_table, table_rows
from blockml.errors import UsageError, check_type
from blockml.storage.atomic import refuse_special

__all__ = ["PageAddresses", "read_addresses"]

#: Number of files that are looked up before a run, so that a table of other files is noticed.
_CHECKED = 1000
#: Kinds of columns that name a file, in order of preference.
_NAMING = ("path", "id")


class PageAddresses:
    """Addresses by the name of a file: its path as the input names it, its path below the input, or its id.

    Examples
    --------
    >>> known = read_addresses({"cats/a.html": "https://cats.example/a", "b": "https://cats.example/b"})
    >>> known.of("pages/cats/a.html", "cats/a"), known.of("pages/b.html.gz", "b"), known.of("pages/c.html", "c")
    ('https://cats.example/a', 'https://cats.example/b', None)
    """

    def __init__(self, source: str) -> None:
        self.by_name: dict[str, str] = {}  #: Names without suffixes.
        self.source = source  #: Name of the table in messages.

    def add(self, name: str, url: str, number: int, what: str = "row") -> None:
        """Add the address of a file; messages name its place by ``what`` and ``number``, such as row 3.

        Raises
        ------
        UsageError
            The file has another address.
        """
        if self.by_name.setdefault(_key(name), url) != url:
            raise UsageError(
                f"{what} {number} has another address for {name!r} than a {what} before it", source=self.source
            )

    def of(self, path: str, page_id: str) -> str | None:
        """Return the address of a page file; None if the table has none."""
        return self.by_name.get(_key(name_text(path))) or self.by_name.get(_key(page_id))

    def check(self, files: Iterable[tuple[str, str]]) -> None:
        """Check that one of the first files, given as path and id, has an address.

        Raises
        ------
        UsageError
            None has one.
        """
        first = list(islice(files, _CHECKED))
        if not any(self.of(*file) for file in first):
            what = f"the first file is {first[0][0]!r}, with the id {first[0][1]!r}" if first else "there are no files"
            named = f"; the first name is {next(iter(self.by_name))!r}" if self.by_name else ""
            raise UsageError(f"has no address of a page file; {what}{named}", source=self.source)

    def digest(self) -> str:
        """Return a hash of all names and addresses, to compare two runs."""
        rows = "".join(f"{name}\n{url}\n" for name, url in sorted(self.by_name.items()))
        return hashlib.sha256(rows.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _key(name: str) -> str:
    """Return a name of a file without the suffixes of pages, and with ``/`` as separator."""
    return (page_stem(name) or name).replace("\\", "/").removeprefix("./")


def read_addresses(source: str | os.PathLike[str] | Mapping[str, str]) -> PageAddresses:
    """Read the addresses of page files from a table with a column of file names or ids and one of addresses.

    Parameters
    ----------
    source
        A CSV, TSV, JSON, JSON lines or Parquet file, or a mapping from names to addresses.

    Raises
    ------
    DatasetError
        The table can't be read.
    UsageError
        ``source`` has another type, is not a table, lacks one of the columns, or has two addresses for a file.
    """
    if isinstance(source, Mapping):
        found = PageAddresses("urls")
        for number, (name, url) in enumerate(source.items(), start=1):
            check_type("a name in urls", name, str, os.PathLike, legal="a str or a path")
            check_type("an address in urls", url, str, legal="a str")
            found.add(os.fsdecode(name), url, number, "name")
        return found
    check_type("urls", source, str, os.PathLike, legal="a table's path, or a mapping from file names to addresses")
    path = Path(source)
    try:
        refuse_special(path)
    except OSError as error:
        raise UsageError(str(error), source=path) from error
    if path.exists() and not is_table(path):
        raise UsageError("is not a table of addresses, such as a CSV with the columns path and url", source=path)
    found = PageAddresses(str(source))
    names: list[str] | None = None
    name_column = url_column = ""
    for number, row in enumerate(table_rows(path), start=1):
        if names is None:
            names = list(row)
            name_column, url_column = _columns(names, path)
        if is_empty(row.get(name_column)) or is_empty(address := row.get(url_column)):
            continue
        if not isinstance(address, str):
            raise UsageError(f"row {number} has an address that is not a text: {address!r}", source=path)
        found.add(_text(row[name_column]), address.strip(), number)
    if not found.by_name:
        raise UsageError("has no row with a name and an address below the names of its columns", source=path)
    return found


def _text(cell: Any) -> str:  # noqa: ANN401 (a cell of any type)
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell).strip()


def _columns(names: list[str], path: Path) -> tuple[str, str]:
    """Return the columns of file names and of addresses."""
    plain = {name.strip().lower().replace("-", "_").replace(" ", "_"): name for name in reversed(names)}
    known = {
        "file names": [name for kind in _NAMING for name in COLUMNS[kind]] + ["name", "page"],
        "addresses": list(COLUMNS["url"]),
    }
    chosen = []
    for what, legal in known.items():
        column = next((plain[name] for name in legal if name in plain), None)
        if column is None:
            raise UsageError(
                f"no column of {what}; the first row must have the names of the columns, one of which must be "
                f"{', '.join(legal)}; found: {', '.join(names)}",
                source=path,
            )
        chosen.append(column)
    return chosen[0], chosen[1]
