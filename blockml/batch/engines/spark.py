"""Apache Spark: pages of a data frame, or of files, by ``mapInArrow``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from blockml.batch.arrow import record_batch, schema
from blockml.batch.extractor import BatchExtractor
from blockml.batch.readers import Reading, find_inputs, read_items
from blockml.batch.records import Options, PageExtractor
from blockml.errors import MissingExtraError
from blockml.extractors import Plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["extract_files", "extract_frame"]

#: Rows of a batch that goes to a Python worker: 64 pages of the mean size are 12 MB, Spark's own 10,000 are 2 GB.
MAX_BATCH_ROWS = 64


def extract_frame(frame: DataFrame, extractor: BatchExtractor) -> DataFrame:
    """Extract the pages of a data frame, one row out for each row in.

    Parameters
    ----------
    frame
        The pages, in the columns ``extractor.columns``.
    extractor
        The extractor; its columns ``keep`` stay in the result.

    Returns
    -------
    DataFrame
        Columns ``keep`` and those of the records.

    Raises
    ------
    MissingExtraError
        pyspark isn't installed.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType
    except ImportError as error:
        raise MissingExtraError("Spark", "spark") from error

    frame.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(MAX_BATCH_ROWS))
    made = from_arrow_schema(_schema(extractor))
    kept = [frame.schema[name] for name in extractor.keep]
    return frame.mapInArrow(extractor.partition, StructType([*kept, *made.fields]))


def extract_files(session: SparkSession, names: Sequence[str], extractor: BatchExtractor) -> DataFrame:
    """Extract the pages of files that all machines see, one task per file.

    Parameters
    ----------
    session
        The session.
    names
        Files, folders and globs, as for ``blockml predict``.
    extractor
        The extractor; ``keep`` has no effect.

    Returns
    -------
    DataFrame
        The records. Pages that couldn't be read have a row too.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    inputs = find_inputs(names, extractor.columns)
    rows = [(str(file.path), str(file.base)) for file in inputs.files()]
    frame = session.createDataFrame(rows, "path string, base string").repartition(max(1, len(rows)))
    columns = _schema(extractor)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        reading = Reading(extractor.options.limits.bytes + 1)
        for batch in batches:
            for name in batch.column("path").to_pylist():
                records = extractor.records(read_items(find_inputs([name], extractor.columns), reading))
                while chunk := list(islice(records, MAX_BATCH_ROWS)):
                    yield record_batch(chunk, columns)

    return frame.mapInArrow(work, from_arrow_schema(columns))


def _schema(extractor: BatchExtractor) -> Any:  # noqa: ANN401 (pyarrow has no types)
    """Return the schema of the records without loading the model on the driver."""
    return schema(PageExtractor(Plain(), Options(fields=extractor.options.fields)).fields)
