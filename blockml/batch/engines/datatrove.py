"""datatrove: pipeline steps that its executors run locally, on Slurm or on Ray."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from blockml.batch.batch_extractor import BatchExtractor
from blockml.batch.outputs import arrow_row
from blockml.batch.readers import Inputs, Reading, RecordFields, find_inputs
from blockml.batch.readers.work_units import Item
from blockml.errors import UsageError, needed
from blockml.parsing.decoding import decode

with needed("datatrove", "datatrove"):
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.extractors.base import BaseExtractor
    from datatrove.pipeline.writers import JsonlWriter, ParquetWriter

__all__ = ["ExtractPages", "PlainExtractor", "ReadPages", "run_locally"]


class ReadPages(PipelineStep):  # type: ignore[misc] # datatrove may be missing
    """Reads pages from files: WARC, ARC, JSON lines, Parquet or HTML. Each task reads every n-th file.

    Parameters
    ----------
    names
        Files, folders and globs, as in ``blockml predict``.
    columns
        Names of the fields of JSON lines and of the columns of Parquet files.
    limit
        Maximum number of bytes to read of a page.
    listed
        Whether the names come from a list, so that ids are names: see :func:`blockml.batch.find_inputs`.
    """

    name = "blockml pages"
    type = "READER"

    def __init__(
        self,
        *names: str,
        columns: RecordFields = RecordFields(),  # noqa: B008 (frozen)
        limit: int = Reading().limit,
        listed: bool = False,
    ) -> None:
        super().__init__()
        self.names, self.columns, self.limit, self.listed = names, columns, limit, listed

    def run(self, data: Iterable[Document] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        """Yield the documents of earlier steps, then one for each page.

        A document has its HTML as text, or as bytes in ``metadata["html"]``. A page that can't be read gives a document
        without text, with the reason in ``metadata["error"]``.
        """
        yield from data or ()
        inputs = find_inputs(self.names, self.columns, listed=self.listed)
        for number, file in enumerate(inputs.files()):
            if number % world_size == rank:
                for item in inputs.items_of(file, Reading(self.limit)):
                    self.stat_update("pages")
                    yield _document(item, self.limit)


def _document(item: Item, limit: int) -> Document:
    metadata: dict[str, Any] = {"url": item.url or None, "charset": item.charset, "truncated": item.truncated}
    try:
        html = item.read(limit)
    except OSError as error:
        return Document("", item.id, metadata={**metadata, "error": str(error)})
    if isinstance(html, bytes):  # datatrove's documents hold text; bytes go to the metadata unchanged
        metadata["html"] = html
        html = ""
    return Document(html, item.id, metadata=metadata)


class ExtractPages(PipelineStep):  # type: ignore[misc] # datatrove may be missing
    """Replaces the HTML of each document with its main text, and adds the page's record to its metadata.

    Failed documents are passed on too; see ``metadata["status"]``.

    Parameters
    ----------
    extractor
        The extractor. With ``isolation="process"`` a page that hangs or crashes loses only that page.
    """

    name = "blockml"
    type = "EXTRACTOR"

    def __init__(self, extractor: BatchExtractor | None = None) -> None:
        super().__init__()
        self.extractor = extractor or BatchExtractor(isolation="process")
        if self.extractor.options.chunks is not None:
            raise UsageError("a document has one text; split it after extraction instead of with the option chunks")

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> Iterator[Document]:  # noqa: ARG002
        """Yield the documents in order."""
        waiting: list[Document] = []

        def items() -> Iterator[Item]:
            for document in data:
                waiting.append(document)
                yield _item(document)

        try:
            for record in self.extractor.records(items()):
                document = waiting.pop(0)
                document.metadata.pop("html", None)
                document.text = record.pop("text", "")
                document.metadata |= {name: value for name, value in record.items() if name not in {"id", "url"}}
                self.stat_update(record.get("status", "extracted"))
                yield document
        finally:
            self.extractor.close()


def _item(document: Document) -> Item:
    metadata = document.metadata
    named = ("url", "charset", "error", "truncated")
    url, charset, error, truncated = (value if isinstance(value := metadata.get(n), str) else None for n in named)
    html = metadata.get("html", document.text)
    return Item(document.id, html=html, url=url, charset=charset, error=error, truncated=truncated)


class PlainExtractor(BaseExtractor):  # type: ignore[misc] # datatrove may be missing
    """Extractor in the sense of datatrove: takes HTML and returns text; datatrove drops pages without text.

    Parameters
    ----------
    model
        Name of a model, or path of a model file.
    timeout
        Time limit of a page in seconds.
    """

    name = "blockml"

    def __init__(self, model: str = "default", timeout: float = 10.0) -> None:
        super().__init__(timeout)
        self.extractor = BatchExtractor(model)

    def extract(self, text: str) -> str:
        """Return the main text of a page."""
        (record,) = self.extractor.records([Item("", html=text)])
        return str(record["text"])

    def run(self, data: Iterable[Document], rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        """Yield the documents that have text; those of :class:`ReadPages` are decoded first."""
        yield from super().run(map(_with_text, data), rank, world_size)


def _with_text(document: Document) -> Document:
    """Decode the page of a document of :class:`ReadPages`, because datatrove passes on texts only."""
    html = document.metadata.pop("html", None)
    if isinstance(html, bytes):
        document.text = decode(html, document.metadata.get("charset")).utf8.decode()
    return document


def run_locally(
    inputs: Inputs, extractor: BatchExtractor, out: Path, *, tasks: int | None = None, workers: int = 1
) -> Counter[str]:
    """Extract the pages of files on this machine into a folder of part files, one per task.

    If a run was stopped, calling this again with the same arguments continues with the unfinished tasks.

    Parameters
    ----------
    inputs
        The files: see :func:`blockml.batch.find_inputs`.
    extractor
        The extractor.
    out
        Folder to write, in Parquet, or as JSON lines if its name ends in ``.jsonl``; its folder ``logs`` holds
        datatrove's logs and counts.
    tasks
        Number of tasks, at most one per file; None for one per file.
    workers
        Number of tasks that run at the same time.

    Returns
    -------
    Counter
        Number of pages by status.
    """
    n_files = sum(1 for _ in inputs.files())
    n_tasks = min(tasks or n_files, n_files)
    limit = extractor.options.read_limit
    fields = extractor.schema.names
    if out.suffix == ".jsonl":
        writer = JsonlWriter(str(out), compression=None, adapter=partial(_record, fields))
    else:
        writer = ParquetWriter(str(out), adapter=partial(_arrow_record, fields), schema=extractor.schema)
    reader = ReadPages(*inputs.names, columns=inputs.fields, limit=limit, listed=inputs.listed)
    steps = [reader, ExtractPages(extractor), writer]
    logs = out / "logs"
    LocalPipelineExecutor(steps, tasks=n_tasks, workers=min(workers, n_tasks), logging_dir=str(logs)).run()
    found: Counter[str] = Counter()
    for file in (logs / "stats").glob("*.json"):
        for step in json.loads(file.read_text(encoding="utf-8")):
            if step["name"].endswith(ExtractPages.name):
                found.update(step["stats"])
    return found


def _record(fields: list[str], writer: object, document: Document) -> dict[str, Any]:  # noqa: ARG001 (an argument of all adapters)
    """Return the record of a page."""
    values = {"id": document.id, **document.metadata, "text": document.text}
    return {name: values.get(name) for name in fields}


def _arrow_record(fields: list[str], writer: object, document: Document) -> dict[str, Any]:
    """Return the record of a page for Parquet."""
    return arrow_row(_record(fields, writer, document))
