"""Files of a comparison: tables of rows, each with a description of how it was made, to avoid repeating work.

``DIR/outputs/DATASET/SYSTEM.jsonl.gz`` and ``DIR/scores/DATASET/SYSTEM.jsonl`` have one row per page, with a ``.json``
description next to each. The description contains the SHA-256 of the table, which reveals truncated or edited tables.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import quote

from blockml.datasets import Dataset
from blockml.datasets.sources import file_lines
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.comparison.reference import PageScore
from blockml.evaluation.comparison.workers import TaskResult
from blockml.storage.atomic import atomic_write, locked

#: Largest number in a row: integers up to it are exact as floats.
_MAX_NUMBER = 2**53
# Names of the data sets and systems of the last comparison.
_CONTENTS = "contents.json"


@dataclass(frozen=True, slots=True)
class PageSample:
    """Pages of a data set for a comparison, with digests that reveal changes."""

    dataset: Dataset
    checksum: str  #: Checksum of the whole data set
    pages: str  #: SHA-256 of ids, URLs and encodings, in order
    gold: str  #: SHA-256 of the other data that the scores depend on
    without_gold: int = 0  #: Number of pages left out because they have no gold
    ids: frozenset[str] = frozenset()  #: Ids of all pages of the data set


def draw_sample(dataset: Dataset, limit: int | None = None, seed: int = 0) -> PageSample:
    """Select the pages with gold, or a random sample of ``limit`` of them, in the order of the data set.

    DatasetError is raised if no page has gold, an id occurs twice, or a page can't be read.
    """
    gold = {page.id: page.load()[1] if page.reader else page.gold for page in dataset.pages}
    pages = [page for page in dataset.pages if gold[page.id] is not None]
    if not pages:
        raise DatasetError("no page has gold", source=dataset.path)
    if len(gold) < len(dataset):
        raise DatasetError("an id occurs twice", source=dataset.path)
    if limit is not None and limit < len(pages):
        drawn = sorted(random.Random(seed).sample(range(len(pages)), limit))  # noqa: S311 (not for cryptography)
        pages = [pages[i] for i in drawn]
    try:
        checksum = dataset.checksum()
    except OSError as error:
        raise DatasetError(f"a page can't be read ({error})", source=dataset.path) from error
    return PageSample(
        dataset=replace(dataset, pages=tuple(pages)),
        checksum=checksum,
        pages=_digest((page.id, page.url, page.charset) for page in pages),
        gold=_digest((p.id, p.site, p.page_type, p.flags, gold[p.id], sorted(p.extra.items())) for p in pages),
        without_gold=sum(found is None for found in gold.values()),
        ids=frozenset(gold),
    )


def _digest(rows: Iterable[object]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """Tables of rows in a directory, by kind (``outputs`` or ``scores``), data set and system.

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

    def locked(self) -> AbstractContextManager[None]:
        """Make the directory and hold its lock, see :func:`blockml.storage.atomic.locked`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return locked(self.directory / ".lock")

    def table(self, kind: str, dataset: str, system: str) -> Path:
        """Return the path of a table."""
        end = ".jsonl.gz" if kind == "outputs" else ".jsonl"
        return self.directory / kind / _file_name(dataset) / (_file_name(system) + end)

    def write(
        self, kind: str, dataset: str, system: str, rows: Iterable[Mapping[str, Any]], description: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write a table with its description; return the description with the SHA-256 of the table added.

        ``description`` is read after the last row, so values may be added to it while rows are written.
        """
        table = self.table(kind, dataset, system)
        table.parent.mkdir(parents=True, exist_ok=True)
        # ASCII with escapes, because tools can return lone surrogates.
        lines = (json.dumps(row).encode() + b"\n" for row in rows)
        with atomic_write(table) as stream:
            if table.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                    packed.writelines(lines)
            else:
                stream.writelines(lines)
        whole = {**description, "sha256": _sha256(table)}
        with atomic_write(_description_of(table)) as stream:
            stream.write(json.dumps(whole, indent=2).encode())
        return whole

    def description(self, kind: str, dataset: str, system: str) -> dict[str, Any] | None:
        """Return the description of a table; None if the table is missing or has been changed."""
        table = self.table(kind, dataset, system)
        try:
            known = json.loads(_description_of(table).read_bytes())
            return known if isinstance(known, dict) and known.get("sha256") == _sha256(table) else None
        except (OSError, ValueError, RecursionError):
            return None

    def stale(self, kind: str, dataset: str, system: str, wanted: Mapping[str, Any]) -> str | None:
        """Return why a table must be recomputed: "" if it is missing, None if it is as described by ``wanted``."""
        known = self.description(kind, dataset, system)
        if known is None:
            table = self.table(kind, dataset, system)
            return "the file is damaged" if table.exists() and _description_of(table).exists() else ""
        changed = []
        for key, value in json.loads(json.dumps(dict(wanted))).items():
            if known.get(key) != value:
                is_digest = isinstance(value, str) and len(value) == 64  # SHA-256 values mean nothing to readers
                changed.append(f"{key} has changed" if is_digest else f"{key} was {known.get(key)!r}, is {value!r}")
        return "; ".join(changed) or None

    def read(self, kind: str, dataset: str, system: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, in order; DatasetError if it doesn't match its description."""
        table = self.table(kind, dataset, system)
        if (known := self.description(kind, dataset, system)) is None:
            raise DatasetError("the file or its description is damaged; compare again", source=table)
        types = get_type_hints(TaskResult if kind == "outputs" else PageScore)
        number = 0
        for number, line in file_lines(table):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict) or (problem := _problem(row, types)):
                what = problem if isinstance(row, dict) else "not a JSON object"
                raise DatasetError(f"line {number}: {what}; compare again", source=table)
            if known.get("pages", number) == number - 1:
                break
            yield row
        if known.get("pages", number) != number:
            raise DatasetError(f"{number} or more rows, but the description says {known['pages']!r:.20}", source=table)

    def write_contents(self, datasets: Sequence[str], systems: Sequence[str]) -> None:
        """Record data sets and systems of the last comparison; the directory may also have tables of earlier ones."""
        with atomic_write(self.directory / _CONTENTS) as stream:
            stream.write(json.dumps({"datasets": list(datasets), "systems": list(systems)}, indent=2).encode())

    def contents(self, kind: str) -> Iterator[tuple[str, str]]:
        """Yield data set and system of each table of the last comparison, in its order.

        Raises UsageError if there is no comparison, and DatasetError if the list is damaged.
        """
        path = self.directory / _CONTENTS
        try:
            known = json.loads(path.read_bytes())
            names = list(product(known["datasets"], known["systems"]))
            tables = [self.table(kind, dataset, system) for dataset, system in names]
        except FileNotFoundError:
            raise UsageError("this directory contains no comparison", source=self.directory) from None
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise DatasetError(f"damaged ({error!r}); compare again", source=path) from error
        yield from (place for place, table in zip(names, tables, strict=True) if table.exists())


def _problem(row: Mapping[str, Any], types: Mapping[str, Any]) -> str | None:
    """Return how a row deviates from these fields and types; None if it doesn't."""
    if row.keys() != types.keys():
        return f"the fields are not {', '.join(types)}"
    wrong = [name for name, kind in types.items() if not _fits(row[name], kind)]
    return f"the value of {wrong[0]} is not of the type {str(types[wrong[0]]).strip('<>')}" if wrong else None


def _fits(value: object, kind: Any) -> bool:  # noqa: ANN401 (a type or a union)
    """Tell whether a value of JSON is of a type; numbers must be finite, and integers not negative or huge."""
    if kind == list[int]:
        return isinstance(value, list) and all(_fits(item, int) for item in value)
    if kinds := get_args(kind):
        return any(_fits(value, one) for one in kinds)
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, int | float) and abs(value) <= _MAX_NUMBER  # False for NaN
    return isinstance(value, kind) and (not isinstance(value, int) or 0 <= value <= _MAX_NUMBER)


def _description_of(table: Path) -> Path:
    return table.with_name(table.name.removesuffix(".gz").removesuffix(".jsonl") + ".json")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _file_name(name: str) -> str:
    """Convert any name to a safe file name: special characters are escaped as in URLs, long names end in a hash."""
    safe = re.sub(r"^\.", "%2E", quote(name, safe=" =,+()@"))
    return safe if len(safe) <= 96 else f"{safe[:80]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
