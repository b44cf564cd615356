"""What a comparison keeps on disk, so that nothing is done twice: tables of rows, each with its description beside it.

``DIR/outputs/DATASET/SYSTEM.jsonl.gz`` and ``DIR/scores/DATASET/SYSTEM.jsonl`` hold a row for each page, the ``.json``
beside each tells what it was made from. The description carries the SHA-256 of the table, so a table that was cut off
or changed is noticed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

from blockml.datasets import Dataset
from blockml.errors import DatasetError, UsageError
from blockml.storage.atomic import atomic_write

__all__ = ["Progress", "Sample", "Store", "draw_sample", "no_progress"]

#: Wraps an iteration over so many pages, to show progress.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]

#: Names the data sets and systems of the last comparison.
_CONTENTS = "contents.json"


def no_progress(pages: Iterable[Any], total: int) -> Iterable[Any]:  # noqa: ARG001 (the signature of Progress)
    """Show nothing."""
    return pages


@dataclass(frozen=True, slots=True)
class Sample:
    """The pages of a data set that are compared on, with marks by which a change of them is noticed."""

    dataset: Dataset
    checksum: str
    """Of the whole data set: see :meth:`blockml.datasets.Dataset.checksum`."""
    pages: str
    """Of ids, URLs and encodings, in order."""
    gold: str
    """Of all that the scores depend on beside the pages."""


def draw_sample(dataset: Dataset, limit: int | None = None, seed: int = 0) -> Sample:
    """Choose the pages to compare on: those with gold, or a random sample of them, in the order of the data set.

    Raises
    ------
    DatasetError
        No page has gold, an id occurs twice, or a page can't be read.
    """
    gold = {page.id: page.load()[1] if page.reader else page.gold for page in dataset.pages}
    pages = [page for page in dataset.pages if gold[page.id] is not None]
    if not pages:
        raise DatasetError("no page has gold", source=dataset.path)
    if len(gold) < len(dataset):
        raise DatasetError("an id occurs twice", source=dataset.path)
    if limit is not None and limit < len(pages):
        drawn = sorted(random.Random(seed).sample(range(len(pages)), limit))  # noqa: S311 (no secret)
        pages = [pages[i] for i in drawn]
    try:
        checksum = dataset.checksum()
    except OSError as error:
        raise DatasetError(f"a page can't be read ({error})", source=dataset.path) from error
    return Sample(
        dataset=replace(dataset, pages=tuple(pages)),
        checksum=checksum,
        pages=_digest((page.id, page.url, page.charset) for page in pages),
        gold=_digest((p.id, p.site, p.page_type, p.flags, gold[p.id], sorted(p.extra.items())) for p in pages),
    )


def _digest(rows: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """Tables of rows in a directory.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     _ = store.write("scores", "news", "accb:radius=60", [{"id": "a"}], {"version": "1"})
    ...     store.stale("scores", "news", "accb:radius=60", {"version": "2"})
    "version was '1', is '2'"
    """

    directory: Path

    def table(self, kind: str, dataset: str, system: str) -> Path:
        """File with the rows of a system on a data set."""
        end = ".jsonl.gz" if kind == "outputs" else ".jsonl"
        return self.directory / kind / _file_name(dataset) / (_file_name(system) + end)

    def write(
        self, kind: str, dataset: str, system: str, rows: Iterable[Mapping[str, Any]], description: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write rows and their description; return the description, to which the SHA-256 of the table was added.

        ``description`` is read after the last row, so what is known only then may be put into it on the way.

        Raises
        ------
        OSError
            The directory can't be written to.
        """
        table = self.table(kind, dataset, system)
        table.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(table) as stream:
            if table.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                    packed.writelines(map(_line, rows))
            else:
                stream.writelines(map(_line, rows))
        whole = {**description, "sha256": _sha256(table)}
        with atomic_write(_beside(table)) as stream:
            stream.write(json.dumps(whole, indent=2).encode())
        return whole

    def description(self, kind: str, dataset: str, system: str) -> dict[str, Any] | None:
        """Description of a table; None if there is no table, or one that is not as it was written."""
        table = self.table(kind, dataset, system)
        try:
            known = json.loads(_beside(table).read_bytes())
            return known if isinstance(known, dict) and known.get("sha256") == _sha256(table) else None
        except (OSError, ValueError):
            return None

    def stale(self, kind: str, dataset: str, system: str, wanted: Mapping[str, Any]) -> str | None:
        """Tell why a table must be made anew: None if it needn't, an empty text if it was never made.

        Parameters
        ----------
        wanted
            What its description must hold.
        """
        known = self.description(kind, dataset, system)
        if known is None:
            table = self.table(kind, dataset, system)
            return "the file is damaged" if table.exists() and _beside(table).exists() else ""
        now = json.loads(json.dumps(dict(wanted)))
        changed = [_difference(key, known.get(key), value) for key, value in now.items() if known.get(key) != value]
        return "; ".join(changed) or None

    def read(self, kind: str, dataset: str, system: str) -> Iterator[dict[str, Any]]:
        """Rows of a table, in order.

        Raises
        ------
        OSError
            There is none.
        """
        table = self.table(kind, dataset, system)
        with gzip.open(table, "rb") if table.suffix == ".gz" else table.open("rb") as stream:
            yield from map(json.loads, stream)

    def write_contents(self, datasets: Sequence[str], systems: Sequence[str]) -> None:
        """Note what the last comparison in this directory was of; tables of earlier ones may lie beside it."""
        with atomic_write(self.directory / _CONTENTS) as stream:
            stream.write(json.dumps({"datasets": list(datasets), "systems": list(systems)}, indent=2).encode())

    def contents(self, kind: str) -> Iterator[tuple[str, str]]:
        """Data set and system of each table of the last comparison, in its order.

        Raises
        ------
        UsageError
            No comparison was written to this directory.
        """
        try:
            known = json.loads((self.directory / _CONTENTS).read_bytes())
        except (OSError, ValueError):
            raise UsageError("there is no comparison in this directory", source=self.directory) from None
        for dataset, system in product(known["datasets"], known["systems"]):
            if self.table(kind, dataset, system).exists():
                yield dataset, system


def _difference(key: str, old: object, new: object) -> str:
    """What has changed; marks that nobody reads are left out."""
    is_mark = isinstance(new, str) and len(new) == 64  # SHA-256
    return f"{key} has changed" if is_mark else f"{key} was {old!r}, is {new!r}"


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row).encode() + b"\n"  # ASCII: holds lone surrogates too, should a tool give any


def _beside(table: Path) -> Path:
    return table.with_name(table.name.removesuffix(".gz").removesuffix(".jsonl") + ".json")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _file_name(name: str) -> str:
    """File name for any name: what could harm is written as in URLs, long names end in a hash.

    Examples
    --------
    >>> _file_name("accb:radius=60"), _file_name("../x"), len(_file_name("x" * 999))
    ('accb%3Aradius=60', '%2E.%2Fx', 97)
    """
    safe = re.sub(r"^\.", "%2E", quote(name, safe=" =,+()@"))
    return safe if len(safe) <= 96 else f"{safe[:80]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
