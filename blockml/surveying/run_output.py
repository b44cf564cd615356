"""Records of a run as a survey reads them; any field may hold anything."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from blockml.archives.compression import DAMAGED, bounded_lines, open_decompressed
from blockml.archives.kinds import LINES, split_compression
from blockml.batch.readers.json_lines import loads
from blockml.batch.readers.work_units import printable
from blockml.datasets.labelled import site_of
from blockml.errors import InputError, UsageError, needed
from blockml.records import FAILURES, UNSURE
from blockml.text.addresses import original_url
from blockml.text.sketches import stable_hash64
from blockml.text.words import counted

#: Inputs of a survey: the path of a run's output, or records that can be read twice.
RunRecords: TypeAlias = str | Path | Sequence[Mapping[str, Any]] | Any

#: Maximum characters of an id, URL or title, and maximum bytes of a line; longer lines are counted as damaged.
_MAX_NAME, _MAX_LINE = 500, 64 << 20
#: Columns of a table that a survey reads, and number of rows to decode at a time.
_COLUMNS = (
    "id", "url", "status", "title", "text", "confidence", "article_probability", "n_blocks", "n_kept_blocks", "model",
    "metadata", "rules",
)  # fmt: skip
_BATCH_ROWS = 64
#: Maximum bytes of the rows to decode at a time, unless one row has more.
_MAX_BATCH = 1 << 30
#: Columns of which a record has at least one, unlike labels of blocks, for example.
_NAMING = frozenset({"id", "url", "status"})
_PARTS = {"metadata": ("metadata.language", "metadata.published", "metadata.page_type")}
_PARQUET = b"PAR1"
#: Statuses of pages that failed.
_FAILED = frozenset(FAILURES)


@dataclass(frozen=True, slots=True)
class Record:
    """Record of a page; missing fields and fields of the wrong type are None or empty."""

    id: str
    url: str | None
    site: str  #: Registrable domain of the URL, else the first folder of the id; empty if it has neither.
    status: str
    title: str
    text: str | None
    confidence: float | None
    n_blocks: int
    n_kept: int
    model: str
    language: str
    has_date: bool
    page_type: str = ""  #: Type that the page declares.
    p_article: float | None = None  #: Predicted probability of being an article.
    rules: tuple[str, ...] | None = None  #: Rules that matched; None if none were tried.

    @property
    def failed(self) -> bool:
        """Whether the page was not extracted."""
        return self.status in _FAILED

    @property
    def is_unsure(self) -> bool:
        """Whether the run marked the page as below its minimum confidence."""
        return self.status == UNSURE


def record_of(row: Mapping[str, Any], number: int) -> Record:
    """Return the record of an untrusted row.

    Examples
    --------
    >>> record = record_of({"id": 7, "url": "https://www.cats.example/a", "text": ["?"], "confidence": "high"}, 1)
    >>> record.id, record.site, record.text, record.confidence
    ('7', 'cats.example', None, None)
    """
    page_id = record_id(row.get("id")) or f"record {number}"
    url = _name(row.get("url")) or None
    metadata = row.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    text, rules = row.get("text"), row.get("rules")
    return Record(
        page_id,
        url,
        _site(url, page_id),
        _name(row.get("status")) or "unknown",
        _name(row.get("title")),
        printable(text[:_MAX_LINE]) if isinstance(text, str) else None,
        _share(row.get("confidence")),
        _count(row.get("n_blocks")),
        _count(row.get("n_kept_blocks")),
        _name(row.get("model")),
        _name(about.get("language")).partition("-")[0].lower(),
        isinstance(about.get("published"), str),
        _name(about.get("page_type")),
        _share(row.get("article_probability")),
        tuple(filter(None, map(_name, rules[:_MAX_NAME]))) if isinstance(rules, list) else None,
    )


def record_id(value: object) -> str:
    """Return the id of a record or page as a survey keeps it: a long one is cut, and ends in a hash to stay unique.

    Examples
    --------
    >>> record_id("cats/1"), len(record_id("https://cats.example/?" + "q=1&" * 1000))
    ('cats/1', 500)
    """
    if not isinstance(value, str) or len(value) <= _MAX_NAME:
        return _name(value)
    end = f"-{int(stable_hash64([value])[0]):016x}"
    return _name(value)[: _MAX_NAME - len(end)] + end


def _name(value: object) -> str:
    if isinstance(value, str):
        return printable(value[:_MAX_NAME])
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18 else ""


def _share(value: object) -> float | None:
    if not isinstance(value, float | int) or isinstance(value, bool) or not -math.inf < value < math.inf:
        return None
    return float(min(max(value, 0), 1))  # an integer may be too large for a float


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(value, 10**9) if 0 <= value < 2**64 else 0  # orjson reads larger integers as floats


def _site(url: str | None, page_id: str) -> str:
    original = "" if url is None else original_url(url)
    start = "/".join(original.split("/", 3)[:3]) if "://" in original else original
    if start and (site := _known_site(start)):
        return site
    folder, separator, _ = page_id.partition("/")
    return folder if separator and "://" not in page_id else ""


@lru_cache(maxsize=50_000)
def _known_site(start: str) -> str:
    return site_of(start, "")


@dataclass(slots=True)
class RunOutput:
    """The output of a run, which is read as often as needed and not kept in memory.

    Parameters
    ----------
    source
        A file of JSON lines (compressed or not) or Parquet, a folder of part files as engines write it, a
        ``pyarrow.Table``, or a list of records.

    Raises
    ------
    InputError
        The file doesn't exist, or a folder has no record files.
    UsageError
        ``source`` has another type, or can be read only once.
    """

    source: RunRecords
    n_damaged: int = field(default=0, init=False)  #: Number of lines that are not records, in the last reading.

    def __post_init__(self) -> None:
        if isinstance(self.source, str | Path):
            self.source = Path(self.source)
            self._files()
        elif not hasattr(self.source, "to_batches") and (
            not isinstance(self.source, Iterable) or isinstance(self.source, Mapping | bytes | Iterator)
        ):
            raise UsageError(
                "a survey takes the path of an output, a pyarrow.Table, or a list of records; "
                f"got {type(self.source).__name__}"
            )

    @property
    def name(self) -> str:
        """Path of the output; ``records`` for records in memory."""
        return str(self.source) if isinstance(self.source, Path) else "records"

    def __iter__(self) -> Iterator[Record]:
        self.n_damaged = 0
        for number, row in enumerate(self._rows(), 1):
            if isinstance(row, Mapping) and not row.keys().isdisjoint(_NAMING):
                yield record_of(row, number)
            else:
                self.n_damaged += 1

    def refuse_without_records(self, n_records: int) -> None:
        """Raise UsageError if the output, which was read to its end, had no records."""
        if not n_records:
            raise UsageError(
                f"no records, only {counted(self.n_damaged, 'line')} of something else; "
                "give JSON lines or Parquet that predict wrote"
                if self.n_damaged
                else "no records: the output is empty",
                source=self.name,
            )

    def _files(self) -> list[Path]:
        path = Path(str(self.source))
        if not path.is_dir():
            if not path.exists():
                raise InputError("no such file or folder", source=path)
            return [path]
        found = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith((".", "_"))]
        records = [file for file in found if split_compression(file.name.lower())[0].endswith((*LINES, ".parquet"))]
        if not records:
            raise InputError("this folder has no .jsonl or .parquet files; documents are not surveyed", source=path)
        return records

    def _rows(self) -> Iterator[Any]:
        if isinstance(self.source, Path):
            for path in self._files():
                yield from _rows_of(path)
        elif hasattr(self.source, "to_batches"):
            for batch in self.source.to_batches(max_chunksize=_BATCH_ROWS):
                yield from batch.to_pylist()
        else:
            yield from self.source


def _rows_of(path: Path) -> Iterator[Any]:
    """Yield the rows of a file; None for a line that is not JSON."""
    try:
        with path.open("rb") as stream:
            is_table = stream.read(len(_PARQUET)) == _PARQUET
        yield from _table_rows(path) if is_table else _line_rows(path)
    except DAMAGED as error:
        raise InputError(f"can't be read ({error})", source=path) from error


def _line_rows(path: Path) -> Iterator[Any]:
    with open_decompressed(path) as stream:
        for line, length in bounded_lines(stream, _MAX_LINE):
            if length > len(line):
                yield None
            elif line.strip():
                yield _parsed(line)


def _parsed(line: bytes) -> Any:  # noqa: ANN401 (JSON)
    """Parse a line; None if it is not JSON.

    What orjson refuses, such as NaN and lone surrogates, is read by Python's parser, so that the records are equal
    without orjson.
    """
    for parser in (loads, json.loads):
        with suppress(ValueError, RecursionError):
            return parser(line)
    return None


def _table_rows(path: Path) -> Iterator[Any]:
    with needed("Reading Parquet files", "arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            names = [name for name in _COLUMNS if name in file.schema_arrow.names]
            if _NAMING.isdisjoint(names):
                there = ", ".join(file.schema_arrow.names)
                raise UsageError(f"has no column id, url or status; its columns are: {there}", source=path)
            names = [part for name in names for part in _PARTS.get(name, (name,))]
            for group in range(file.metadata.num_row_groups):
                # A cell is at most as large as its column says; a file that lies about it is read more slowly.
                columns = map(file.metadata.row_group(group).column, range(file.metadata.num_columns))
                sizes = [
                    column.total_uncompressed_size for column in columns
                    if column.path_in_schema.partition(".")[0] in _COLUMNS
                ]  # fmt: skip
                size = max(1, sum(sizes))
                at_once = max(1, min(_BATCH_ROWS, _MAX_BATCH // size))  # a cell may be stored once for all rows
                for batch in file.iter_batches(at_once, row_groups=[group], columns=names):
                    step = at_once if batch.nbytes <= size else 1
                    for first in range(0, len(batch), step):
                        yield from batch.slice(first, step).to_pylist()
    except (ValueError, OverflowError, KeyError, pa.ArrowException) as error:  # Python can't hold some cells
        if isinstance(error, UsageError):
            raise
        raise InputError(f"not a readable Parquet file ({error})", source=path) from error


def count_of(counter: Counter[str], most: int) -> dict[str, int]:
    """Return the most frequent entries of a counter by name, and the sum of the others as ``other``.

    Examples
    --------
    >>> count_of(Counter(a=3, b=2, c=1), 1)
    {'a': 3, 'other': 3}
    """
    first = dict(counter.most_common(most))
    others = counter.total() - sum(first.values())
    return first | ({"other": others} if others else {})
