"""Pieces of the output, encoded by the worker that made them, and parts of an unfinished output.

They are in a folder next to the output. ``manifest.json`` lists what the output depends on. Each part is a file with
encoded records, ``00000.part``, and a description, ``00000.json``; the part is complete once the description exists. A
part ends where a unit of the input ends. All files are written under a temporary name, flushed to the disk and renamed.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol

from blockml.batch.page_records import PageRecord
from blockml.batch.readers.work_units import MANIFEST
from blockml.errors import UsageError, needed
from blockml.records import FAILURES
from blockml.storage.atomic import atomic_write

__all__ = ["CsvLines", "Encoder", "End", "JsonLines", "Packer", "Part", "PartWriter", "Parts", "Piece", "Records"]


#: Minimum number of records, or of characters of text, of a complete piece. Because pieces depend only on the records,
#: so do the bytes of compressed output.
_PIECE_RECORDS = 64
_PIECE_CHARACTERS = 1 << 18
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Piece:
    """Some records of a unit."""

    payload: Any  #: Encoded records.
    n_records: int
    statuses: Counter[str]
    failures: list[dict[str, Any]]  #: ``id``, ``url``, ``status`` and ``error`` of pages that failed.
    rules: Counter[str] = field(default_factory=Counter)  #: Counts of :meth:`blockml.rules.RuleMatches.tally`.


@dataclass(frozen=True, slots=True)
class End:
    """End of a unit: which records were not pages, and where reading ended (see ``Reading.end``)."""

    skipped: Mapping[str, int] = field(default_factory=dict)
    end: int | None = None


class Encoder(Protocol):
    """Encodes records; pickled and sent to the workers."""

    def encode(self, records: Sequence[dict[str, Any]]) -> Any:  # noqa: ANN401 (bytes, or the records)
        """Encode some records."""


@dataclass(frozen=True, slots=True)
class Records:
    """Leaves records unchanged."""

    def encode(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the records."""
        return list(records)


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Encodes records as JSON lines, compressed or not. Compressed pieces can be joined."""

    compression: str = ""  #: Suffix of the compression: empty, ``.gz`` or ``.zst``.

    head: ClassVar[bytes] = b""  #: Start of the output.

    def encode(self, records: Sequence[dict[str, Any]]) -> bytes:
        """Encode some records."""
        return _compressed(b"".join([_line(record) for record in records]), self.compression)


@dataclass(frozen=True, slots=True)
class CsvLines:
    """Encodes records as CSV (RFC 4180, UTF-8): lists and objects as JSON, null as an empty cell."""

    fields: tuple[str, ...]
    compression: str = ""  #: Suffix of the compression, as of :class:`JsonLines`.

    @property
    def head(self) -> bytes:
        """Header row."""
        return _compressed(self._rows([self.fields]), self.compression)

    def encode(self, records: Sequence[dict[str, Any]]) -> bytes:
        """Encode some records."""
        rows = ([_cell(record[name]) for name in self.fields] for record in records)
        return _compressed(self._rows(rows), self.compression)

    def _rows(self, rows: Iterable[Sequence[object]]) -> bytes:
        stream = io.StringIO(newline="")
        csv.writer(stream).writerows(rows)
        return stream.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _compressed(data: bytes, compression: str) -> bytes:
    """Compress data; compressed pieces can be joined."""
    if compression == ".gz":
        return gzip.compress(data, _GZIP_LEVEL, mtime=0)
    if compression == ".zst":
        with needed("Writing Zstandard files", "zstd"):
            import zstandard
        return bytes(zstandard.compress(data, _ZSTD_LEVEL))
    return data


def _line(record: Mapping[str, Any]) -> bytes:
    """Encode a record like the standard library's ``json``; texts with orjson if it is installed, which is faster."""
    with suppress(ImportError, TypeError, UnicodeEncodeError):  # not installed, or a text has lone surrogates
        import orjson

        fields = []
        for name, value in record.items():
            text = orjson.dumps(value) if isinstance(value, str) else _ENCODE(value).encode()
            fields.append(b'"%b": %b' % (name.encode(), text))
        return b"{%b}\n" % b", ".join(fields)
    return (_ENCODE(record) + "\n").encode("utf-8", "backslashreplace")


class Packer:
    """Groups records into pieces."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._records: list[PageRecord] = []
        self._characters = 0

    def add(self, record: PageRecord) -> Piece | None:
        """Add a record; return a piece if it is complete."""
        self._records.append(record)
        self._characters += record.n_characters
        full = len(self._records) == _PIECE_RECORDS or self._characters >= _PIECE_CHARACTERS
        return self.flush() if full else None

    def flush(self) -> Piece | None:
        """Return the remaining records as a piece, or None if no records are left."""
        if not self._records:
            return None
        payload = self._encoder.encode([row for record in self._records for row in record.rows])
        statuses = Counter(record.status for record in self._records)
        failures = [record.failure() for record in self._records if record.status in FAILURES]
        rules = sum((record.rules for record in self._records), Counter[str]())
        piece = Piece(payload, len(self._records), statuses, failures, rules)
        self._records, self._characters = [], 0
        return piece


#: Bytes or seconds after which a part ends with the current unit: the most that a kill can lose.
_PART_BYTES = 64 << 20
_PART_SECONDS = 10.0
_FORMAT = 1


@dataclass(slots=True)
class Part:
    """Description of a part."""

    n_units: int = 0  #: Units of the input, including those of earlier parts.
    end: int | None = None  #: Offset at which reading of the last unit ended, see ``Reading.end``.
    n_bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)


class Parts:
    """Folder that holds the finished parts of an output until it is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._manifest = folder / MANIFEST

    def begin(self, manifest: Mapping[str, Any]) -> None:
        """Remove the parts of an earlier run and write the manifest."""
        self.remove()
        self.folder.mkdir(parents=True)
        _write(self._manifest, {"format": _FORMAT, **manifest})

    def resume(self, manifest: Mapping[str, Any]) -> bool:
        """Check that the parts belong to the same run; return whether any exist.

        Raises
        ------
        UsageError
            Inputs, options, model or version differ; the message names the difference.
        """
        if not self._manifest.is_file():
            return False
        try:
            before = json.loads(self._manifest.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"can't be read ({error})", source=self._manifest) from error
        now = json.loads(json.dumps({"format": _FORMAT, **manifest}))
        different = [
            f"{name} was {before.get(name)!r} and is {now.get(name)!r}"
            for name in (*now, *(name for name in before if name not in now))
            if before.get(name) != now.get(name)
        ]
        if different:
            raise UsageError(
                f"can't be continued: {'; '.join(different)}; give the same options, or start over without resume=True",
                source=self.folder,
            )
        return True

    def complete(self) -> Iterator[tuple[Path, Part]]:
        """Yield the complete parts in order."""
        number = 0
        while (described := self.folder / f"{number:05d}.json").is_file():
            values = json.loads(described.read_text(encoding="utf-8"))
            values |= {name: Counter(values[name]) for name in ("statuses", "skipped", "rules")}
            yield self.folder / f"{number:05d}.part", Part(**values)
            number += 1

    def remove(self) -> None:
        """Remove the folder, starting with the manifest."""
        self._manifest.unlink(missing_ok=True)
        if self.folder.is_dir():
            shutil.rmtree(self.folder)


class PartWriter:
    """Writes the parts that follow the complete ones.

    Parameters
    ----------
    parts
        The folder.
    number
        Number of complete parts.
    n_units
        Number of units in them.
    """

    def __init__(self, parts: Parts, number: int, n_units: int) -> None:
        self._parts = parts
        self._number = number
        self._part = Part(n_units)
        self._stream: BinaryIO | None = None
        self._begun = time.monotonic()

    def add(self, piece: Piece) -> None:
        """Append encoded records."""
        if self._stream is None:
            self._stream = (self._parts.folder / f"{self._number:05d}.new").open("wb")
        self._stream.write(piece.payload)
        self._part.n_bytes += len(piece.payload)
        self._part.statuses += piece.statuses
        self._part.failures += piece.failures
        self._part.rules += piece.rules

    def end_unit(self, end: End) -> None:
        """Record the end of a unit, and complete the part if it is large or old enough."""
        self._part.n_units += 1
        self._part.end = end.end
        self._part.skipped.update(end.skipped)
        if self._part.n_bytes >= _PART_BYTES or time.monotonic() - self._begun >= _PART_SECONDS:
            self.complete()

    def complete(self) -> None:
        """Complete the part, which must not contain records of an unfinished unit."""
        if self._stream is None:
            self._stream = (self._parts.folder / f"{self._number:05d}.new").open("wb")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._stream = None
        part = self._parts.folder / f"{self._number:05d}.part"
        part.with_suffix(".new").replace(part)
        _write(part.with_suffix(".json"), {item.name: getattr(self._part, item.name) for item in fields(Part)})
        self._number += 1
        self._part = Part(self._part.n_units, self._part.end)
        self._begun = time.monotonic()

    def close(self) -> None:
        """Drop the unfinished part."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _write(path: Path, value: Mapping[str, Any]) -> None:
    with atomic_write(path, mark="new") as stream:
        stream.write(json.dumps(value).encode())  # escaped, because file names may not be UTF-8
