"""Records as Arrow tables. pyarrow (extra ``arrow``) is imported on first use."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blockml.batch.readers.base import printable
from blockml.errors import needed
from blockml.records import RECORD_FIELDS

__all__ = ["ArrowBatches", "arrow_row", "read_batches", "record_batch", "schema"]

_LENGTH = struct.Struct("<Q")


def schema(names: Sequence[str]) -> Any:  # noqa: ANN401 (pyarrow has no types)
    """Return the ``pyarrow.Schema`` of records with these fields.

    Raises
    ------
    MissingExtraError
        pyarrow isn't installed.
    """
    with needed("Parquet and Arrow tables", "arrow"):
        import pyarrow as pa
    return pa.schema([(name, RECORD_FIELDS[name].kind.arrow(pa)) for name in names])


def record_batch(records: Iterable[Mapping[str, Any]], columns: Any) -> Any:  # noqa: ANN401 (pyarrow has no types)
    """Return records as a ``pyarrow.RecordBatch`` with a schema of :func:`schema`."""
    import pyarrow as pa

    rows = [arrow_row(record) for record in records]
    return pa.RecordBatch.from_pylist(rows, schema=columns)


def arrow_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with values that fit :func:`schema`."""
    row: dict[str, Any] = {name: _printable(value) for name, value in record.items()}
    metadata = record.get("metadata")
    if metadata is not None:
        sources = _sources(metadata["sources"])
        row["metadata"] = {name: _printable(value) for name, value in metadata.items()} | {"sources": sources}
    if record.get("metadata.sources") is not None:
        row["metadata.sources"] = _sources(record["metadata.sources"])
    return row


def _sources(sources: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"field": name, "source": source} for name, source in sources.items()]


def _printable(value: Any) -> Any:  # noqa: ANN401 (a string, or a list of strings or JSON objects)
    if isinstance(value, list):
        return [printable(json.dumps(item, ensure_ascii=False) if isinstance(item, dict) else item) for item in value]
    return printable(value) if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class ArrowBatches:
    """Encodes records as record batches, each preceded by its length in eight bytes."""

    fields: tuple[str, ...]

    def encode(self, records: Sequence[dict[str, Any]]) -> bytes:
        """Encode some records."""
        message = record_batch(records, schema(self.fields)).serialize()
        return _LENGTH.pack(message.size) + bytes(message)


def read_batches(path: Path, columns: Any) -> Iterator[Any]:  # noqa: ANN401 (pyarrow has no types)
    """Yield the record batches of a file that :class:`ArrowBatches` encoded."""
    import pyarrow as pa

    with path.open("rb") as stream:
        while prefix := stream.read(_LENGTH.size):
            message = stream.read(_LENGTH.unpack(prefix)[0])
            yield pa.ipc.read_record_batch(pa.py_buffer(message), columns)
