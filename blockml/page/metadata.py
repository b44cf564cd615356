"""Metadata of a page: title, authors, dates and more, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a page; fields that the page does not give are None or an empty tuple.

    Examples
    --------
    >>> Metadata(title="Cats", sources={"title": "h1"}).record()["title"]
    'Cats'
    """

    title: str | None = None  #: Headline, without the name of the site.
    authors: tuple[str, ...] = ()  #: Names of persons or organisations.
    published: str | None = None  #: Date of publication: ISO 8601, a date or a date with time.
    modified: str | None = None  #: Date of the last change, in the format of ``published``.
    site_name: str | None = None  #: Name of the site.
    description: str | None = None  #: Summary that the page declares.
    #: Language in BCP 47, such as ``en`` or ``pt-br``: declared, or else that of a script in which only one is written.
    language: str | None = None
    script: str | None = None  #: Script of most letters of the page's text in ISO 15924, such as ``Latn``.
    canonical_url: str | None = None  #: Absolute address that the page declares for itself.
    image: str | None = None  #: Absolute address of the picture that represents the page.
    page_type: str | None = None  #: Declared kind: ``article``, ``forum``, ``product``, ``list`` or ``website``.
    keywords: tuple[str, ...] = ()  #: Keywords that the page declares.
    #: Products, recipes, events, jobs and similar things that the page declares in JSON-LD or microdata, each as a JSON
    #: object with its type in ``@type``.
    items: tuple[Mapping[str, Any], ...] = ()
    #: Where each of the other fields comes from: ``json-ld``, ``opengraph``, ``meta``, ``dublin core``, ``microdata``,
    #: ``html``, ``h1``, ``title``, ``url`` or ``visible`` (bylines, dates and ``time`` elements).
    sources: Mapping[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()} | {
            "sources": dict(self.sources)
        }
