"""An extractor and labelled pages of a site in, the extractor that knows the site out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from blockml.datasets import LabelledPage
from blockml.extractors import Extractor
from blockml.page import Page
from blockml.parsing import parse
from blockml.parsing.options import ParsingOptions

__all__ = ["MOST_SIBLINGS", "at_their_site", "by_site", "parsed"]

#: Pages of a site that are learnt from: more than these hardly change what repeats (our choice; Gottron 2008 wishes
#: for a limit).
MOST_SIBLINGS = 50


def by_site(pages: Iterable[LabelledPage]) -> list[list[LabelledPage]]:
    """Pages grouped by template, as far as the data set tells: groups and pages in their order."""
    groups: dict[str, list[LabelledPage]] = {}
    for page in pages:
        groups.setdefault(page.template_group, []).append(page)
    return list(groups.values())


def at_their_site(extractor: Extractor, pages: Sequence[LabelledPage]) -> Extractor:
    """Copy of an extractor that has learnt from pages of a site, of which it looks at no gold.

    Parameters
    ----------
    extractor
        Any; only those that use siblings learn.
    pages
        Pages of one site: the first :data:`MOST_SIBLINGS` are learnt from. The page to extract from may be among them.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    return (
        copy(extractor).fit(parsed(pages[:MOST_SIBLINGS], extractor.parsing)) if extractor.uses_siblings else extractor
    )


def parsed(pages: Iterable[LabelledPage], parsing: ParsingOptions) -> Iterator[Page]:
    """Parse pages one by one, without their gold.

    Raises
    ------
    DatasetError
        A page can't be read.
    """
    options = parsing.options()
    for labelled in pages:
        html, _ = labelled.load()
        yield parse(html, url=labelled.url, charset=labelled.charset, **options)
