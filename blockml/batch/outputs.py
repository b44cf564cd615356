"""Outputs of a batch: JSON lines, Parquet and Arrow tables, and a folder of documents."""

from __future__ import annotations

import json
import os
import shutil
import struct
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from blockml.archives.kinds import LINES, split_compression
from blockml.batch.packing import CsvLines, Encoder, JsonLines
from blockml.batch.readers.work_units import printable
from blockml.errors import UsageError, needed
from blockml.formats import FORMATS
from blockml.records import RECORD_FIELDS
from blockml.storage.atomic import atomic_write, is_device

__all__ = [
    "UNFINISHED",
    "ArrowBatches",
    "Folder",
    "LinesFile",
    "Output",
    "ParquetFile",
    "arrow_row",
    "file_name",
    "output_for",
    "read_batches",
    "read_lines",
    "record_batch",
    "schema",
]


#: Compressions of outputs. Brotli is missing because its concatenated streams are not a valid stream.
_WRITTEN = ("", ".gz", ".zst")
#: Rows per row group.
_GROUP_ROWS = 1024
#: Part of the name of an output while it is written, so that a resumed run replaces what a killed one left.
UNFINISHED = "unfinished"
#: Maximum bytes of a file name on common file systems.
_MAX_NAME = 200
#: Maximum depth of folders; deeper paths could be too long.
_MAX_FOLDERS = 12


class Output(Protocol):
    """An output that is written when all parts are complete."""

    @property
    def encoder(self) -> Encoder:
        """Encodes the records of a part."""

    @abstractmethod
    def assemble(self, parts: Iterable[Path]) -> None:
        """Write the output from the parts, atomically."""


def output_for(path: Path, output_format: str, fields: Sequence[str]) -> Output:
    """Return the output for a path.

    Parameters
    ----------
    path
        A file whose suffix gives the format, or a folder, which has no suffix or already exists.
    output_format
        Format of the texts.
    fields
        Names of the fields of a record.

    Raises
    ------
    UsageError
        The fields don't allow a folder, or no output has this suffix.
    MissingExtraError
        A package for this format isn't installed.
    """
    name = path.name.lower()
    if path.is_dir() or not (path.suffix or path.exists()):
        if not {"id", "text"} <= set(fields):
            raise UsageError("documents in a folder need the fields id and text", source=path)
        return Folder(path, FORMATS[output_format].suffix)
    if name.endswith(".parquet"):
        schema(fields)  # fails early without pyarrow
        return ParquetFile(path, tuple(fields))
    bare, compression = split_compression(name)
    if compression not in _WRITTEN:
        raise UsageError(f"outputs aren't written as {compression}; choose {' or '.join(_WRITTEN[1:])}", source=path)
    if bare.endswith(".csv"):
        return LinesFile(path, CsvLines(tuple(fields), compression))
    if not bare.endswith(LINES):
        legal = ", ".join((*LINES, ".csv", ".parquet"))
        raise UsageError(
            f"no output has this suffix; choose one of: {legal}, or a folder, whose name has no suffix or ends in /",
            source=path,
        )
    return LinesFile(path, JsonLines(compression))


def read_lines(part: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a part in uncompressed JSON lines."""
    with part.open("rb") as stream:
        yield from map(json.loads, stream)


@dataclass(frozen=True, slots=True)
class LinesFile:
    """JSON lines or CSV, compressed or not."""

    path: Path
    encoder: JsonLines | CsvLines

    def assemble(self, parts: Iterable[Path]) -> None:
        """Join the parts."""
        with atomic_write(self.path, mark=UNFINISHED) as target:
            target.write(self.encoder.head)
            for part in parts:
                with part.open("rb") as stream:
                    shutil.copyfileobj(stream, target, 1 << 20)


@dataclass(frozen=True, slots=True)
class Folder:
    """One file per page with its text, named by the id of the page."""

    path: Path
    suffix: str

    @property
    def encoder(self) -> JsonLines:
        """Encodes JSON lines."""
        return JsonLines()

    def assemble(self, parts: Iterable[Path]) -> None:
        """Write the documents of pages with text; a second page with the same name has the next free number."""
        self.path.mkdir(parents=True, exist_ok=True)
        for folder, _, names in os.walk(self.path):  # left by a run that was killed while it wrote documents
            for name in names:
                if name.endswith(f"{self.suffix}.{UNFINISHED}.part"):
                    Path(folder, name).unlink()
        seen: dict[str, int] = {}  # latest number of each name; numbered names count as names too
        for part in parts:
            for record in read_lines(part):
                if record["text"]:
                    self._write(record["id"], record["text"], seen)

    def place(self, page_id: str, number: int = 1) -> Path:
        """Return the path of the document of the ``number``-th page with this name."""
        return self.path / f"{file_name(page_id, self.suffix)}{f'~{number}' if number > 1 else ''}{self.suffix}"

    def _write(self, page_id: str, text: str, seen: dict[str, int]) -> None:
        key = file_name(page_id, self.suffix).casefold()
        number = seen.get(key, 0) + 1
        while number > 1 and f"{key}~{number}" in seen:  # the id of another page
            number += 1
        seen[key] = number
        if number > 1:
            seen[f"{key}~{number}"] = 1
        target = self.place(page_id, number)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target, durable=False, mark=UNFINISHED) as stream:
            stream.write(text.encode("utf-8", "backslashreplace") + b"\n")


def file_name(page_id: str, suffix: str = ".txt") -> str:
    """Return a relative path for a page: its id, with characters that file systems don't allow written as ``%XX``.

    So are the first letter of a name that Windows keeps for a device, and a dot or space at the end of a folder. No
    folder has a name that ends in the suffix of the documents, so that none can clash with a document.

    Examples
    --------
    >>> file_name("news/story-1"), file_name("<urn:uuid:12>"), file_name("../../etc/passwd")
    ('news/story-1', '%3Curn%3Auuid%3A12%3E', '%2E%2E/%2E%2E/etc/passwd')
    >>> file_name("aux/con.x"), file_name("a. /b."), file_name("console")
    ('%61ux/%63on.x', 'a.%20/b.', 'console')
    >>> file_name("news.txt/story-1.txt")
    'news%2Etxt/story-1.txt'
    """
    pieces = [piece for piece in page_id.split("/") if piece] or ["page"]
    *folders, name = [*pieces[:_MAX_FOLDERS], "/".join(pieces[_MAX_FOLDERS:])] if len(pieces) > _MAX_FOLDERS else pieces
    return "/".join([*(_folder(_safe(piece), suffix) for piece in folders), _safe(name)])


def _safe(piece: str) -> str:
    if set(piece) == {"."}:
        return "%2E" * len(piece[: _MAX_NAME // 3])
    name = quote(piece, safe=" ()+,=@!&'")[:_MAX_NAME]
    return f"%{ord(name[0]):02X}{name[1:]}" if is_device(name) else name


def _folder(name: str, suffix: str) -> str:
    if name.endswith((".", " ")):
        return f"{name[:-1]}%{ord(name[-1]):02X}"
    if not name.casefold().endswith(suffix):
        return name
    return f"{name[: -len(suffix)]}%2E{name[len(name) - len(suffix) + 1 :]}"


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """Parquet with the schema of :func:`blockml.batch.outputs.schema`."""

    path: Path
    fields: tuple[str, ...]

    @property
    def encoder(self) -> ArrowBatches:
        """Encodes record batches."""
        return ArrowBatches(self.fields)

    def assemble(self, parts: Iterable[Path]) -> None:
        """Write row groups of a fixed number of rows, regardless of the parts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = schema(self.fields)
        with (
            atomic_write(self.path, mark=UNFINISHED) as target,
            pq.ParquetWriter(target, columns, compression="zstd") as writer,
        ):
            waiting = columns.empty_table()
            for part in parts:
                for batch in read_batches(part, columns):
                    waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
                    while len(waiting) >= _GROUP_ROWS:
                        writer.write_table(waiting.slice(0, _GROUP_ROWS).combine_chunks())
                        waiting = waiting.slice(_GROUP_ROWS)
            if len(waiting):
                writer.write_table(waiting.combine_chunks())


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
