"""Apache Spark: pages of a data frame, or of files, with ``mapInArrow``."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockml.batch.batch_extractor import BatchExtractor
from blockml.batch.outputs import record_batch, schema
from blockml.batch.readers import InputFile, Inputs, Reading
from blockml.errors import needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["extract_files", "extract_frame", "write_records"]

#: Bytes of files per task: each task loads the model again, which takes as long as hundreds of pages.
TASK_BYTES = 64 << 20
#: Rows per batch for a Python worker: 64 pages of average size are 12 MB, Spark's default of 10,000 is 2 GB.
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
    with needed("Spark", "spark"):
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

    frame.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(MAX_BATCH_ROWS))
    made = from_arrow_schema(schema(extractor.options.record_fields))
    kept = [frame.schema[name] for name in extractor.keep]
    return frame.mapInArrow(extractor.partition, StructType([*kept, *made.fields]))


def extract_files(session: SparkSession, inputs: Inputs, extractor: BatchExtractor) -> DataFrame:
    """Extract the pages of files that all machines can read; a task reads one large file or several small ones.

    Parameters
    ----------
    session
        The session.
    inputs
        The files: see :func:`blockml.batch.find_inputs`.
    extractor
        The extractor; ``keep`` and ``columns`` have no effect.

    Returns
    -------
    DataFrame
        The records, including those of pages that couldn't be read.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = inputs.fields
    rows = [_row_of(file) for file in inputs.files()]
    frame = session.createDataFrame(rows, "path string, id string, site string, labelled binary")
    n_tasks = max(session.sparkContext.defaultParallelism, inputs.size() // TASK_BYTES)
    frame = frame.repartition(max(1, min(len(rows), n_tasks)))
    columns = schema(extractor.options.record_fields)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        reading = Reading(extractor.options.read_limit)
        for batch in batches:
            for row in batch.to_pylist():
                records = extractor.records(Inputs((), fields).items_of(_file_of(row), reading))
                while chunk := list(islice(records, MAX_BATCH_ROWS)):
                    yield record_batch(chunk, columns)

    return frame.mapInArrow(work, from_arrow_schema(columns))


def _row_of(file: InputFile) -> tuple[str, str, str, bytes | None]:
    """Return absolute path, id and site of a file, and its page if it belongs to a data set."""
    page, path = file.item(), file.path.absolute()
    if file.labelled is None:
        return os.fspath(path), page.id, page.site, None
    labelled = replace(file.labelled, path=path, gold=None)
    return os.fspath(path), page.id, page.site, pickle.dumps(labelled)


def _file_of(row: Mapping[str, Any]) -> InputFile:
    """Return the file of a row of :func:`_row_of`."""
    labelled = pickle.loads(row["labelled"]) if row["labelled"] is not None else None  # noqa: S301 (from the driver)
    return InputFile(Path(row["path"]), Path(), Path(), labelled, (row["id"], row["site"]))


def write_records(frame: DataFrame, out: Path) -> Counter[str]:
    """Write records as Parquet, or as JSON lines if the name of the folder ends in .jsonl; count their statuses."""
    path = str(out.resolve())
    reader = frame.sparkSession.read
    if out.suffix == ".jsonl":
        frame.write.json(path)
        written = reader.schema("status string").json(path)
    else:
        frame.write.parquet(path)
        written = reader.parquet(path)
    return Counter({row["status"]: row["count"] for row in written.groupBy("status").count().collect()})
