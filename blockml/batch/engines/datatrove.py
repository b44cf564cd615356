"""datatrove: steps of a pipeline, which its executors run locally, on Slurm and on Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blockml.batch.extractor import BatchExtractor
from blockml.batch.items import Item
from blockml.batch.readers import find_inputs, read_items
from blockml.errors import MissingExtraError

try:
    from datatrove.data import Document
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.extractors.base import BaseExtractor
except ImportError as error:
    raise MissingExtraError("datatrove", "datatrove") from error

__all__ = ["ExtractPages", "PlainExtractor", "ReadPages"]


class ReadPages(PipelineStep):  # type: ignore[misc] # datatrove may be missing
    """Reads pages from files: WARC, ARC, JSON lines, Parquet or HTML. Each task reads every n-th file.

    Parameters
    ----------
    names
        Files, folders and globs, as for ``blockml predict``.
    """

    name = "blockml pages"
    type = "READER"

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.names = names

    def run(self, data: Iterable[Document] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Document]:
        """Yield the documents of earlier steps, then a document for each page, its HTML as text.

        What can't be read is a document too: without text, and with the reason in ``metadata["error"]``.
        """
        yield from data or ()
        for number, file in enumerate(find_inputs(self.names).files()):
            if number % world_size == rank:
                for item in read_items(find_inputs([str(file.path)])):
                    self.stat_update("pages")
                    yield _document(item)


def _document(item: Item) -> Document:
    metadata: dict[str, Any] = {"url": item.url, "charset": item.charset}
    try:
        html = item.read()
    except OSError as error:
        return Document("", item.id, metadata={**metadata, "error": str(error)})
    if isinstance(html, bytes):  # datatrove's documents hold text; the bytes stay as they are
        metadata["html"] = html
        html = ""
    return Document(html, item.id, metadata=metadata)


class ExtractPages(PipelineStep):  # type: ignore[misc] # datatrove may be missing
    """Replaces the HTML of each document by its main text, and adds the record of the page to its metadata.

    Every document is passed on, also one that failed: ``metadata["status"]`` tells.

    Parameters
    ----------
    extractor
        The extractor. With ``isolation="process"`` a page that hangs or crashes costs itself alone.
    """

    name = "blockml"
    type = "EXTRACTOR"

    def __init__(self, extractor: BatchExtractor | None = None) -> None:
        super().__init__()
        self.extractor = extractor or BatchExtractor(isolation="process")

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
    html = metadata.get("html", document.text)
    error = metadata.get("error")
    return Item(document.id, html=html, url=metadata.get("url"), charset=metadata.get("charset"), error=error)


class PlainExtractor(BaseExtractor):  # type: ignore[misc] # datatrove may be missing
    """An extractor in datatrove's own sense: HTML in, text out; datatrove drops the pages that fail.

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
