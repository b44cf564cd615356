"""Pieces of the output: groups of records, encoded by the worker that made them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from blockml.batch.records import PageRecord
from blockml.errors import needed
from blockml.records import FAILURES

__all__ = ["CsvLines", "Encoder", "End", "JsonLines", "Packer", "Piece", "Records"]

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
