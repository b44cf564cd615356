"""Records of pages, and their completion in order: near duplicates, and pages in other languages."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from blockml.batch.readers.work_units import Item, printable
from blockml.errors import MissingExtraError, check_type
from blockml.extract import extract_with
from blockml.extractors import Extractor
from blockml.formats import check_options, find_chunks, render
from blockml.options import Options
from blockml.page import Chunk, Status
from blockml.records import CRASHED, FAILURES, OPTIONAL, RECORD, UNREADABLE, UNSURE, chunk_record, page_record
from blockml.text.sketches import DuplicateIndex, token_sketch
from blockml.text.words import metric_tokens

if TYPE_CHECKING:
    from blockml.templates.site import SiteTemplate

__all__ = ["SKETCH", "Finisher", "PageExtractor", "PageRecord", "RecordMaker", "finishes", "finishing_fields"]


#: Key of the chunks in the record of a page, before its rows are made.
CHUNKS = "chunks"
#: Key of the counts of rules.
TALLY = "tally of rules"


@dataclass(frozen=True, slots=True)
class PageRecord:
    """Record of a page, with the values that the run itself needs."""

    id: str
    url: str | None
    status: str
    error: str | None
    rows: tuple[dict[str, Any], ...]  #: The chosen fields of the page, or of each of its chunks.
    n_characters: int  #: Length of the extracted text.
    rules: Counter[str] = field(default_factory=Counter)  #: Counts of :meth:`blockml.rules.RuleMatches.tally`.

    def failure(self) -> dict[str, Any]:
        """Return the page's entry in the list of failures."""
        return {"id": self.id, "url": self.url, "status": self.status, "error": self.error}


class RecordMaker(Protocol):
    """Makes the record of each page in a worker process; pickled and sent to the workers."""

    def start(self) -> None:
        """Prepare a worker before its first page; does nothing unless overridden."""
        return

    @abstractmethod
    def record(self, item: Item) -> PageRecord:
        """Make the record of a page."""

    @abstractmethod
    def failed(self, page_id: str, url: str | None, status: str, reason: str) -> PageRecord:
        """Make the record of a page that ended its worker, or wasn't read; in the parent process."""


class PageExtractor(RecordMaker):
    """Makes the record of any page.

    Parameters
    ----------
    extractor
        The extractor.
    options
        Options of the extraction.
    sites
        Templates by name of the site; on pages of these sites the extractor is adapted by
        :func:`blockml.sites.at_site`.

    Raises
    ------
    UsageError
        ``extractor`` is not an extractor, or has no block labels although the options name some; or links, images,
        tables or formatting are left out of a format that doesn't have them.
    """

    def __init__(
        self,
        extractor: Extractor,
        options: Options = Options(),  # noqa: B008 (frozen)
        sites: Mapping[str, SiteTemplate] = MappingProxyType({}),
    ) -> None:
        check_type("extractor", extractor, Extractor, legal="an extractor, as returned by blockml.extractors.resolve")
        check_options(options.format, **options.switches)
        self.extractor = options.adapted(extractor)
        self.options = options
        self.at_sites = _at_sites(self.extractor, sites)
        self._read = frozenset(name.partition(".")[0] for name in (*options.record_fields, *finishing_fields(options)))
        self._metadata = not {"title", "page_type", "metadata", "language"}.isdisjoint(self._read)

    def record(self, item: Item) -> PageRecord:
        """Extract a page; if it can't be read or its extraction raises, the record has a status and a reason.

        Raises
        ------
        MemoryError
            The page needs more memory than is available.
        MissingExtraError
            The extractor needs an optional package.
        """
        try:
            try:
                item = item.decoded(self.options.read_limit)
                html = item.read(self.options.read_limit)
            except OSError as error:
                return self.failed(item.id, item.url, UNREADABLE, str(error))
            return self._chosen({"id": item.id, **self._extracted(item, html), "error": None})
        except (MemoryError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001 (a failing page must not stop the run)
            return self.failed(item.id, item.url, CRASHED, f"{type(error).__name__}: {error}")

    def failed(self, page_id: str, url: str | None, status: str, reason: str) -> PageRecord:
        """Make the record of a page that failed."""
        known = {"id": page_id, "url": url, "status": status, "model": self.extractor.id, "error": printable(reason)}
        return self._chosen({item.name: known.get(item.name, item.kind.empty()) for item in (*RECORD, *OPTIONAL)})

    def _extracted(self, item: Item, html: bytes | str) -> dict[str, Any]:
        extractor = self.at_sites.get(item.site, self.extractor)
        url = item.url or (_declared_url(html) if self.options.declared_urls else None)
        result = extract_with(self.options, extractor, html, url=url, charset=item.charset)
        options = self.options
        if self._metadata:
            _ = result.metadata  # first, because the title of Markdown is read by itself otherwise
        chunks: tuple[Chunk, ...] | None = None
        if options.chunks is None:
            text = render(result, options.format, **options.switches)  # first, because it may add warnings
        else:
            text, chunks = result.text, find_chunks(result, options.chunks, options.format, without=options.switches)
        record = page_record(result, metadata=self._metadata) | {"text": text, CHUNKS: chunks}
        if "comments" in self._read:
            record["comments"] = result.comments
        if "language" in self._read:
            record["language"] = result.language
        if result.rules is not None:
            record |= {"rules": result.rules.matched(), TALLY: result.rules.tally()}
        if SKETCH in self._read:
            record[SKETCH] = sorted(token_sketch(metric_tokens(result.text)))
        if item.truncated is not None:
            record["warnings"] = [item.truncated, *record["warnings"]]
            if result.status is Status.OK:
                record["status"] = str(Status.TRUNCATED)
        least = self.options.min_confidence
        if least is not None and record["status"] == Status.OK and record["confidence"] < least:
            record["status"] = UNSURE
        return record

    def _chosen(self, record: dict[str, Any]) -> PageRecord:
        names = [*self.options.record_fields, *finishing_fields(self.options)]
        rows = [record]
        if self.options.chunks is not None:
            rows = [record | _chunk_row(number, chunk) for number, chunk in enumerate(record.get(CHUNKS) or ())]
        chosen = tuple([{name: _value(row, name) for name in names} for row in rows])
        return PageRecord(
            record["id"],
            record["url"],
            record["status"],
            record["error"],
            chosen,
            len(record["text"]),
            record.get(TALLY, Counter()),
        )


def _at_sites(extractor: Extractor, sites: Mapping[str, SiteTemplate]) -> dict[str, Extractor]:
    """Return the extractor with each template. Only those who have templates import what they need."""
    if not sites:
        return {}
    from blockml.sites import at_site

    return {site: at_site(extractor, template) for site, template in sites.items()}


def _declared_url(html: bytes | str) -> str | None:
    from blockml.datasets.labelled import declared_url  # only this option needs it

    return declared_url(html)


def _chunk_row(number: int, chunk: Chunk) -> dict[str, Any]:
    """Return the fields of a chunk, which replace those of its page."""
    return {"number": number, **chunk_record(chunk)}


def _value(record: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 (of any type)
    outer, _, inner = name.partition(".")
    return record.get(outer) if not inner or record[outer] is None else record[outer][inner]


#: Field of records between a worker and the end of a run.
SKETCH = "sketch"


def finishing_fields(options: Options) -> tuple[str, ...]:
    """Return the fields that :class:`Finisher` needs besides those that are written; empty if it has nothing to do."""
    fields: dict[str, None] = {}
    if options.deduplicate or "duplicate_of" in options.record_fields:
        fields |= dict.fromkeys(("id", "status", SKETCH))
    if options.languages:
        fields |= dict.fromkeys(("status", "language"))
    return tuple(name for name in fields if name not in options.record_fields)


def finishes(options: Options) -> bool:
    """Return whether the records of a run with these options need a :class:`Finisher`."""
    return bool(options.languages or options.deduplicate or "duplicate_of" in options.record_fields)


class Finisher:
    """Completes the records of a run in order, and leaves out those that the options exclude.

    Failed pages are kept.

    Parameters
    ----------
    options
        The options of the run.
    """

    def __init__(self, options: Options) -> None:
        self.left_out: Counter[str] = Counter()  #: Pages that were left out, by reason.
        self._options = options
        self._duplicates = options.deduplicate or "duplicate_of" in options.record_fields
        self._index = DuplicateIndex()

    def __call__(self, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the completed records."""
        options = self._options
        for record in records:
            if options.languages and record["status"] not in FAILURES and record["language"] not in options.languages:
                self.left_out["in another language"] += 1
                continue
            if self._duplicates:
                record["duplicate_of"] = self._index.first(record["id"], record[SKETCH] or ())
                if options.deduplicate and record["duplicate_of"] is not None:
                    self.left_out["near duplicates"] += 1
                    continue
            yield {name: record[name] for name in options.record_fields}
