"""Adaptation of extractors to a site: grouping of labelled pages, and fitting on the other pages of a site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from blockml.datasets import LabelledPage
from blockml.extractors import Extractor
from blockml.page import Page
from blockml.parsing import parse
from blockml.parsing.limits import ParsingOptions

#: Maximum number of pages of a site to fit on: more pages hardly change which text repeats (our choice; Gottron 2008
#: calls for a limit).
MAX_SITE_PAGES = 50


def group_by_site(pages: Iterable[LabelledPage]) -> list[list[LabelledPage]]:
    """Group pages by the template group of the data set; groups and pages keep their order."""
    groups: dict[str, list[LabelledPage]] = {}
    for page in pages:
        groups.setdefault(page.template_group, []).append(page)
    return list(groups.values())


def fit_to_site(
    extractor: Extractor, pages: Sequence[LabelledPage], parsing: Mapping[str, Any] | None = None
) -> Extractor:
    """Return a copy of an extractor, fitted on pages of one site without using their gold.

    An extractor that doesn't use site pages is returned unchanged. The first :data:`MAX_SITE_PAGES` of the pages are
    used; they may include the page to extract from. ``parsing`` replaces parsing options of the extractor. Raises
    DatasetError if a page can't be read.
    """
    if not extractor.uses_site:
        return extractor
    return copy(extractor).fit(parse_pages(pages[:MAX_SITE_PAGES], replace(extractor.parsing, **(parsing or {}))))


def parse_pages(pages: Iterable[LabelledPage], parsing: ParsingOptions) -> Iterator[Page]:
    """Parse pages one by one, without their gold; DatasetError is raised if one can't be read."""
    options = parsing.options()
    for labelled in pages:
        html, _ = labelled.load()
        yield parse(html, url=labelled.url, charset=labelled.charset, **options)
