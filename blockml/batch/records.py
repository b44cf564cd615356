"""Records of pages: what one line of the output holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from blockml.batch.items import CRASHED, UNREADABLE, Item
from blockml.decision.decide import with_threshold
from blockml.errors import MissingExtraError, check_name, check_type
from blockml.extract import check_labels, extract
from blockml.extractors import Extractor, Plain
from blockml.extractors.site.at_site import at_site
from blockml.page import Status
from blockml.parsing import Limits
from blockml.rendering import page_record, render
from blockml.templates.site import SiteTemplate

__all__ = ["TEXT_FORMATS", "Options", "PageExtractor", "PageRecord"]

#: Formats of the field ``text``.
TEXT_FORMATS = ("text", "markdown", "html")


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the extraction of each page of a batch, see :func:`blockml.extract`."""

    limits: Limits = Limits()
    threshold: float | None = None
    include: str | Iterable[str] = ()
    exclude: str | Iterable[str] = ()
    output_format: str = "text"  #: Format of the field ``text``, one of :data:`TEXT_FORMATS`.
    fields: tuple[str, ...] = ()  #: Fields of a record, in this order; all if empty.

    def __post_init__(self) -> None:
        check_type("limits", self.limits, Limits, legal="blockml.Limits")
        check_type("fields", self.fields, tuple, list, legal="a tuple of names")


@dataclass(frozen=True, slots=True)
class PageRecord:
    """Record of a page, with what the run itself needs to know of it."""

    id: str
    url: str | None
    status: str
    error: str | None
    values: dict[str, Any]  #: The chosen fields.
    n_characters: int  #: Length of the extracted text.

    def failure(self) -> dict[str, Any]:
        """Return the line of the page in the list of failures."""
        return {"id": self.id, "url": self.url, "status": self.status, "error": self.error}


class PageExtractor:
    """Makes the record of a page, whatever the page is.

    Parameters
    ----------
    extractor
        The extractor.
    options
        Options of the extraction.
    sites
        Templates by name of the site; on pages of these sites the extractor is adapted by
        :func:`blockml.extractors.site.at_site.at_site`.

    Raises
    ------
    UsageError
        A label, format or field is unknown, the threshold is impossible, or the extractor isn't one or has no labels.
    """

    def __init__(
        self,
        extractor: Extractor,
        options: Options = Options(),
        sites: Mapping[str, SiteTemplate] = MappingProxyType({}),
    ) -> None:
        check_type("extractor", extractor, Extractor, legal="an extractor, as of blockml.extractors.resolve")
        self.extractor = extractor
        self.options = options
        self.include, self.exclude = check_labels(extractor, options.include, options.exclude)
        self.at_sites = {site: at_site(extractor, template) for site, template in sites.items()}
        with_threshold(extractor.policy, options.threshold)
        check_name("format", options.output_format, TEXT_FORMATS)
        for name in options.fields:
            check_name("field", name, self._blank)
        self._metadata = not options.fields or not {"title", "metadata"}.isdisjoint(options.fields)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields of a record."""
        return self.options.fields or tuple(self._blank)

    def record(self, item: Item) -> PageRecord:
        """Extract a page; a page that can't be read, or whose extraction raises, has a status and a reason.

        Raises
        ------
        MemoryError
            The page needs more memory than there is.
        MissingExtraError
            The extractor needs an optional package.
        """
        try:
            try:
                html = item.read(self.options.limits.bytes + 1)
            except OSError as error:
                return self.failed(item.id, item.url, UNREADABLE, str(error))
            return self._chosen({"id": item.id, **self._extracted(item, html), "error": None})
        except (MemoryError, MissingExtraError):
            raise
        except Exception as error:  # noqa: BLE001 (a failing page must not stop the run)
            return self.failed(item.id, item.url, CRASHED, f"{type(error).__name__}: {error}")

    def failed(self, page_id: str, url: str | None, status: str, reason: str) -> PageRecord:
        """Make the record of a page that failed."""
        reason = reason.encode("utf-8", "backslashreplace").decode()
        return self._chosen(self._blank | {"id": page_id, "url": url, "status": status, "error": reason})

    def _extracted(self, item: Item, html: bytes | str) -> dict[str, Any]:
        result = extract(
            html,
            url=item.url,
            charset=item.charset,
            model=self.at_sites.get(item.site, self.extractor),
            threshold=self.options.threshold,
            include=self.include,
            exclude=self.exclude,
            limits=self.options.limits,
        )
        record = page_record(result, metadata=self._metadata)
        if self.options.output_format != "text":
            record["text"] = render(result, self.options.output_format)
        if item.truncated is not None:
            record["warnings"] = [item.truncated, *record["warnings"]]
            if result.status is Status.OK:
                record["status"] = str(Status.TRUNCATED)
        return record

    def _chosen(self, record: dict[str, Any]) -> PageRecord:
        values = {name: record[name] for name in self.options.fields} if self.options.fields else record
        return PageRecord(record["id"], record["url"], record["status"], record["error"], values, len(record["text"]))

    @cached_property
    def _blank(self) -> dict[str, Any]:
        """Record of a page about which nothing is known."""
        empty = page_record(extract(b"", model=Plain()))
        blank = {name: _nothing(value) for name, value in empty.items()}
        return {"id": "", **blank, "model": self.extractor.id, "metadata": None, "error": None}


def _nothing(value: object) -> object:
    """Return the empty value of the type of a field: an empty text or list, 0 for a count, None for a measure."""
    if isinstance(value, str | list | int):
        return type(value)()
    return None
