"""Any extractor in, the same one that knows a site out: from what was learnt before, or from a page's links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.base import Extractor, Prediction
from blockml.extractors.combinations import LEAST_SCORE, Combination, Member, remaining_scores
from blockml.extractors.site.methods import TextFrequency
from blockml.page import Page
from blockml.parsing.options import ParsingOptions
from blockml.templates.site import SiteTemplate, loaded

if TYPE_CHECKING:
    from blockml.templates.linked import PageSource, TrainingSet

__all__ = ["Unrepeated", "at_site", "from_links"]


@dataclass(eq=False, repr=False)
class Unrepeated(Combination):
    """Keeps what an extractor keeps of a page, less what another one calls repeated.

    The extractor sees the whole page: what repeats is context for what doesn't. If nothing that it keeps would be left,
    its own decision stands.

    Parameters
    ----------
    members
        What tells repeated blocks, such as :class:`~blockml.extractors.site.methods.TextFrequency`; and the extractor.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> Unrepeated([TextFrequency().fit(pages), "plain"]).score(pages[0]).tolist()
    [0.0, 1.0]
    """

    name: ClassVar[str] = "unrepeated"
    members: Sequence[Member] = ("df", "plain")

    @property
    def default_threshold(self) -> float:
        """Threshold of the extractor."""
        return max(self.extractors()[-1].effective_threshold, LEAST_SCORE)

    @property
    def gives_labels(self) -> bool:
        """Whether the extractor does."""
        return self.extractors()[-1].gives_labels

    @property
    def parsing(self) -> ParsingOptions:
        """Parsing of the extractor: a model's pages have to be cut as in training."""
        return self.extractors()[-1].parsing

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score by the extractor; what repeats scores 0."""
        return self.decide(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score by the extractor, and pass on what both remark."""
        self.check()
        site, last = self.extractors()
        rare, found = site.predict(page), last.predict(page)
        decision = last.decide(page, found)
        whole = Prediction(remaining_scores(decision, last), (*rare.remarks, *found.remarks), decision.labels)
        left = replace(whole, removed=~site.decide(page, rare).kept)
        if not self.decide(page, left).kept.any() and self.decide(page, whole).kept.any():
            return replace(whole, remarks=(f"fallback to {last.id}: everything it keeps repeats", *whole.remarks))
        return left

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name what removes a block, else tell what the extractor tells."""
        site, last = self.extractors()
        rare = site.decide(page).kept.tolist()
        return tuple(
            [
                note if stays else f"repeats: {why}"
                for stays, why, note in zip(rare, site.explain(page), last.explain(page), strict=True)
            ]
        )


def at_site(extractor: Extractor, template: SiteTemplate | str | os.PathLike[str]) -> Extractor:
    """Let an extractor know a site.

    Parameters
    ----------
    extractor
        One that knows sites gets the template. Of what any other one keeps, texts that repeat on the site are left
        out (:class:`Unrepeated`); it stays as it is where too few pages are known.
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
    return Unrepeated([TextFrequency(site, fallback="plain"), extractor])


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
