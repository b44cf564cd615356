"""Any extractor in, the same one that knows a site out: from what was learnt before, or from a page's links."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, Any

from blockml.extractors.base import Extractor
from blockml.extractors.combinations import Combination, Serial
from blockml.extractors.site import TextFrequency
from blockml.page import Page
from blockml.templates.site import SiteTemplate, loaded

if TYPE_CHECKING:
    from blockml.templates.linked import PageSource, TrainingSet

__all__ = ["at_site", "from_links"]


def at_site(extractor: Extractor, template: SiteTemplate | str | os.PathLike[str]) -> Extractor:
    """Let an extractor know a site.

    Parameters
    ----------
    extractor
        One that knows sites gets the template. Any other one works on the page that is left when texts that
        repeat on the site are gone; it stays as it is where too few pages are known.
    template
        What was learnt of the site.

    Returns
    -------
    Extractor
        Another one; the given one isn't changed.

    Raises
    ------
    ModelError
        The template's file can't be used.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import resolve
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> at_site(resolve("plain"), SiteTemplate.learn(pages)).score(pages[0]).tolist()
    [0.0, 1.0]
    """
    site = loaded(template)
    if isinstance(extractor, Combination) and extractor.uses_siblings:
        return extractor.with_members(lambda member: at_site(member, template) if member.uses_siblings else member)
    if extractor.uses_siblings:
        return copy(extractor).set_params(template=site)
    return Serial([TextFrequency(site, fallback="plain"), extractor])


def from_links(
    extractor: Extractor,
    page: Page,
    source: PageSource,
    **options: Any,  # noqa: ANN401 (those of training_set)
) -> tuple[Extractor, TrainingSet]:
    """Let an extractor know a site from the pages that one page links to (Gottron 2008, *Bridging the gap*).

    Parameters
    ----------
    extractor
        Any: see :func:`at_site`.
    page
        The page, with a URL and parsed as the extractor wants it.
    source
        Where linked pages come from, parsed alike.
    **options
        Of :func:`blockml.templates.linked.training_set`: ``max_pages``, ``order``, ``metric`` …

    Returns
    -------
    Extractor, TrainingSet
        The extractor that knows what the page and its template's other pages share, and how these were found. Where
        too few were, it works by its fallback.

    Raises
    ------
    UsageError
        No such option, or no such value.
    """
    from blockml.templates.linked import training_set  # few need it, and importing it takes as long as numpy

    found = training_set(page, source, **options)
    template = SiteTemplate.learn(found.pages, name=page.url or "")
    return at_site(extractor, template), found
