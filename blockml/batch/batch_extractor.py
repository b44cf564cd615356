"""A picklable extractor for engines that process tables and streams of pages, and extraction of a column of pages.

An engine does the scheduling: it sends the extractor to its workers and calls it there. ``docs/batch.md`` has examples
for Spark, Ray Data, datatrove, Hugging Face datasets, DuckDB and polars.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from blockml.batch.outputs import record_batch, schema
from blockml.batch.packing import Piece, Records
from blockml.batch.page_records import PageExtractor, finishes
from blockml.batch.pool import WorkerPool
from blockml.batch.readers import RecordFields, in_units
from blockml.batch.readers.tables import cell_text, cell_value, chosen_columns, row_item
from blockml.batch.readers.work_units import Item
from blockml.batch.run import ISOLATIONS
from blockml.batch.worker import Guard, Setup, rows_here
from blockml.errors import UsageError, check_name, needed
from blockml.extractors import AnyModel, load
from blockml.options import Options
from blockml.page.lazy import cached_property

__all__ = ["BatchExtractor", "extract_column"]


@dataclass(frozen=True)
class BatchExtractor:
    """Extracts the pages of tables, partitions and iterables: one row in, one row out, in order.

    With the option ``chunks`` there is a row for each chunk instead.

    It is pickled as the name of a model and the options; each process that uses it loads the model once. A page never
    raises: for any content of a cell, the row has a ``status`` and, if the page failed, an ``error``.

    Examples
    --------
    >>> extractor = BatchExtractor("kim2013", options=Options(threshold=0.0, fields=("id", "text", "status")))
    >>> list(extractor.records([{"id": 1, "html": "<p>One"}, {"id": 2, "html": None}]))
    [{'id': '1', 'text': 'One', 'status': 'ok'}, {'id': '2', 'text': '', 'status': 'unreadable'}]
    """

    model: AnyModel = "default"  #: A model as accepted by :func:`blockml.load`; names and paths are pickled unchanged.
    options: Options = field(default_factory=Options)  #: Options of the extraction of each page.
    columns: RecordFields = field(default_factory=RecordFields)  #: Names of the columns that hold the pages.
    #: Columns of the input that tables keep, before those of the records, which must have other names.
    keep: tuple[str, ...] = ()
    #: ``none``: pages are extracted in the calling process. ``process``: in a worker process that is replaced when a
    #: page hangs, crashes or needs too much memory.
    isolation: str = "none"
    guard: Guard = field(default_factory=Guard)  #: Limits on one page, with ``isolation="process"``.

    def __post_init__(self) -> None:
        check_name("isolation", self.isolation, ISOLATIONS)
        if finishes(self.options):
            raise UsageError("languages, deduplicate and duplicate_of need a whole run: use blockml.predict")
        if self.keep and self.options.chunks is not None:
            raise UsageError("keep and chunks can't be combined, because a page has several chunks; join them by id")

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __call__(self, table: Any) -> Any:  # noqa: ANN401 (pyarrow has no types)
        """Extract the pages of a ``pyarrow.Table``.

        Returns
        -------
        pyarrow.Table
            The columns ``keep`` of the table and those of :attr:`schema`, with the same number of rows.

        Raises
        ------
        UsageError
            ``table`` is not a table (:meth:`records` takes rows), or ``keep`` names a field of the records, or a column
            twice.
        """
        if not hasattr(table, "schema"):
            raise UsageError(f"table must be a pyarrow.Table, got {type(table).__name__}; pass rows to .records()")
        import pyarrow as pa

        batch = self._batch(table)
        result = pa.Table.from_batches([batch])
        for place, name in enumerate(self.keep):
            result = result.add_column(place, table.schema.field(name), table.column(name))
        return result

    def partition(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Extract the pages of an iterable of ``pyarrow.RecordBatch``, as required by Spark's ``mapInArrow``."""
        import pyarrow as pa

        for batch in batches:
            made = self._batch(batch)
            kept = [(batch.schema.field(name), batch.column(name)) for name in self.keep]
            columns = [item for item, _ in kept] + list(made.schema)
            yield pa.RecordBatch.from_arrays([*(cells for _, cells in kept), *made.columns], schema=pa.schema(columns))

    def records(self, rows: Iterable[Mapping[str, Any] | Item]) -> Iterator[dict[str, Any]]:
        """Extract pages given as items, or as mappings with the fields ``columns``; yield their records."""
        items = (row if isinstance(row, Item) else self._item(row, n) for n, row in enumerate(rows, 1))
        if self.isolation == "none":
            yield from rows_here(items, self._pages)
            return
        for result in self._workers.run(in_units(items)):
            if isinstance(result.part, Piece):
                yield from result.part.payload

    @property
    def schema(self) -> Any:  # noqa: ANN401 (pyarrow has no types)
        """``pyarrow.Schema`` of the records; raises UsageError if a table would have two columns with one name."""
        names = [*self.keep, *self.options.record_fields]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise UsageError(
                f"two columns would be named {', '.join(twice)}; choose other fields with Options(fields=...)"
            )
        return schema(self.options.record_fields)

    def close(self) -> None:
        """End the worker process, if there is one."""
        if "_workers" in self.__dict__:
            self.__dict__.pop("_workers").close()

    def _batch(self, table: Any) -> Any:  # noqa: ANN401 (pyarrow has no types)
        """Return the record batch of the pages of a table or record batch."""
        names = chosen_columns(table.schema.names, self.columns)
        cells = [map(cell_value, table.column(name)) for name in names]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)] or [{}] * table.num_rows
        return record_batch(self.records(rows), self.schema)

    def _item(self, row: Mapping[str, Any], number: int) -> Item:
        """Return the page of a row; cells of data frames and Arrow tables may have any type."""
        values = {name: cell_value(value) for name, value in row.items()}
        return row_item(
            values, cell_text(values.get(self.columns.id)) or str(number), self.columns, self.options.read_limit
        )

    @cached_property
    def _pages(self) -> PageExtractor:
        return PageExtractor(load(self.model), self.options)

    @cached_property
    def _workers(self) -> WorkerPool:
        pool = WorkerPool(Setup(self._pages, Records(), self.guard, self.options.read_limit), 1)
        weakref.finalize(self, pool.close)
        return pool


def extract_column(column: Any, *, model: AnyModel = "default", **options: Any) -> Any:  # noqa: ANN401
    r"""Extract the main texts of a column of pages.

    Parameters
    ----------
    column
        A pandas or polars series, an Arrow array, or any iterable of ``str`` or ``bytes``.
    model
        A model as accepted by :func:`blockml.load`.
    **options
        Fields of :class:`blockml.options.Options`, such as ``threshold`` and ``favour``, as in :func:`blockml.extract`.
        The output format is ``format="markdown"`` or ``"html"`` instead of ``"text"``; :func:`blockml.render` calls it
        ``output_format``.

    Returns
    -------
    series, array or list
        The texts, in a column of the same kind (a list for other iterables); empty for pages that failed.

    Raises
    ------
    MissingExtraError
        The column is not a list or tuple, and narwhals isn't installed.
    UsageError
        The column is not iterable, or an option is unknown or has an invalid value.

    Examples
    --------
    >>> extract_column(["<p>One", b"<p>Two", None], model="kim2013", threshold=0.0)
    ['One', 'Two', '']
    >>> extract_column(["<h1>One</h1><p>Two"], model="kim2013", threshold=0.0, format="markdown")
    ['# One\n\nTwo']
    """
    if isinstance(column, str | bytes | bytearray | memoryview | Mapping) or not hasattr(column, "__iter__"):
        raise UsageError(f"column must be a series, an array or another iterable, got {type(column).__name__}")
    if isinstance(column, list | tuple):
        return _texts(column, model, options)
    with needed("a column of a data frame", "frames"):
        import narwhals as nw
    series = nw.from_native(column, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return _texts(column, model, options)
    texts = _texts(series.to_list(), model, options)
    made = nw.new_series(series.name, texts, nw.String(), backend=series.implementation)
    return made.to_native()


def _texts(cells: Iterable[Any], model: AnyModel, options: Mapping[str, Any]) -> list[str]:
    for name in options:
        if name == "output_format":
            raise UsageError("the output format is given by format, not output_format, as in blockml.predict")
        check_name("option", name, [item.name for item in fields(Options)])
    rows = ({"html": cell} for cell in cells)
    return [record["text"] for record in BatchExtractor(model, Options(**options)).records(rows)]
