"""Extractors that know other pages of the site: what repeats there is template, the rest is content.

They learn from pages (``fit``) or are given what was learnt before (``template``). Where there is too little to learn
from, or the result can't be right, another extractor steps in, and the extraction says so.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.extractors.base import Between, Extractor, Prediction, Traits
from blockml.extractors.combinations import Member
from blockml.extractors.methods import METHODS
from blockml.page import Page
from blockml.templates.frequency import (
    MIN_TRAIN,
    THETA,
    FallbackReason,
    Measures,
    block_frequency,
    entropy_rule,
    fallback_reason,
    ibdf_rule,
    kept_share,
    measure,
    text_frequency,
    too_few,
)
from blockml.templates.mapping import template_share
from blockml.templates.site import SiteTemplate, loaded

__all__ = [
    "IBDF",
    "BlockFrequency",
    "Entropy",
    "SiteMethod",
    "TextFrequency",
    "TreeMapping",
]

#: A template, or the path of its file.
Template = SiteTemplate | str | os.PathLike[str]

Scores = tuple[NDArray[np.float32], Sequence[str]]

_SHARE: Final = Between(0, 1)


class SiteMethod(Extractor):
    """Scores blocks by what is known of the page's site."""

    template: Template | None
    """What is known of the site."""
    fallback: Member
    """Extractor that steps in."""
    min_train: int
    """Fewest pages to judge by, the page itself included."""

    def check(self) -> None:
        """Check the arguments.

        Raises
        ------
        UsageError
            One is no legal value.
        ModelError
            The template's file can't be used.
        """
        loaded(self.template)
        self._check_rest()

    def _check_rest(self) -> None:
        """Check all but the template."""
        super().check()
        self._fallback().check()

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the site from pages of it; the page to extract from may be among them."""
        self.template = SiteTemplate.count(pages)
        return self

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score blocks by their site, or by the fallback."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score blocks, and name the fallback if it stepped in."""
        doubt, scores, _ = self._by_site(page)
        if doubt is None:
            return Prediction(scores)
        other = self._fallback()
        found = other.predict(page)
        kept = other.decide(
            page, found
        ).kept  # its scores are compared with another threshold: only the decision counts
        return Prediction(kept.astype(np.float32), (f"fallback to {other.id}: {doubt}", *found.remarks))

    def explain(self, page: Page) -> tuple[str, ...]:
        """Tell on how many pages a block stands, or what the fallback tells."""
        doubt, _, notes = self._by_site(page)
        return notes if doubt is None else self._fallback().explain(page)

    def _by_site(self, page: Page) -> tuple[FallbackReason | None, NDArray[np.float32], tuple[str, ...]]:
        """Scores and notes, and why they should not be used."""
        template = loaded(self.template)  # once: a file takes as long to read as a page
        self._check_rest()
        nothing = np.zeros(len(page.blocks), dtype=np.float32), ("",) * len(page.blocks)
        if template is None:
            return FallbackReason.TOO_FEW_PAGES, *nothing
        template.check(page)
        known = measure(page, template.counts, include_self=self.include_self, similar=self._needs_similar)
        if too_few(known, self.min_train):
            return FallbackReason.TOO_FEW_PAGES, *nothing
        scores, notes = self._judge(page, template, known)
        return fallback_reason(known, kept_share(page, scores), min_train=self.min_train), scores, tuple(notes)

    include_self: bool = True
    _needs_similar: ClassVar[bool] = False

    @abstractmethod
    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:
        """Scores with .5 at the border, and a note for each block."""

    def _fallback(self) -> Extractor:
        if isinstance(self.fallback, Extractor):
            return self.fallback
        if self.fallback not in METHODS:
            raise UsageError(f"parameter 'fallback' of {self.name} is an extractor or one of: {', '.join(METHODS)}")
        return METHODS[self.fallback]()


def _traits(source: str) -> Traits:
    return Traits(needs_training=False, uses_siblings=True, gives_probabilities=False, source=source)


_LEGAL: Final = {"min_train": Between(1, 1_000_000, whole=True)}


class TextFrequency(SiteMethod):
    """Removes texts that stand on more than a third of the site's pages.

    Gottron 2008, *Bridging the gap*, sections 6 and 7. A block goes if most of its words stand in such texts.

    Parameters
    ----------
    template
        What is known of the site; :meth:`fit` sets it.
    theta
        Share of the pages up to which a text is content.
    include_self
        Count the page itself among the pages, as the paper does.
    fallback
        Extractor that steps in.
    min_train
        Fewest pages to judge by, the page itself included.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> blockml.extract("<p>Home</p><p>About snails.</p>", model=TextFrequency().fit(pages)).text
    'About snails.'
    """

    name: ClassVar[str] = "df"
    traits: ClassVar[Traits] = _traits("Gottron 2008, Bridging the gap")
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {
        "theta": _SHARE, "include_self": (True, False), **_LEGAL,
    }  # fmt: skip

    def __init__(
        self,
        template: Template | None = None,
        theta: float = THETA,
        include_self: bool = True,  # noqa: FBT001, FBT002 (scikit-learn's style)
        fallback: Member = "accb",
        min_train: int = MIN_TRAIN,
    ) -> None:
        self.template = template
        self.theta = theta
        self.include_self = include_self
        self.fallback = fallback
        self.min_train = min_train

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return text_frequency(known, self.theta)


class BlockFrequency(SiteMethod):
    """Removes blocks that stand on more than a third of the site's pages.

    Gottron 2008, *Bridging the gap*, with whole text blocks as segments: his future work.

    Parameters
    ----------
    template, theta, fallback, min_train
        See :class:`TextFrequency`.
    """

    name: ClassVar[str] = "blockdf"
    traits: ClassVar[Traits] = _traits("Gottron 2008, Bridging the gap, on blocks")
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {"theta": _SHARE, **_LEGAL}

    def __init__(
        self,
        template: Template | None = None,
        theta: float = THETA,
        fallback: Member = "accb",
        min_train: int = MIN_TRAIN,
    ) -> None:
        self.template = template
        self.theta = theta
        self.fallback = fallback
        self.min_train = min_train

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return block_frequency(known, self.theta)


class Entropy(SiteMethod):
    """Removes blocks whose words are spread evenly over the site's pages.

    Lin and Ho 2002, *Discovering informative content blocks* (InfoDiscoverer).

    Parameters
    ----------
    template, fallback, min_train
        See :class:`TextFrequency`.
    theta
        Entropy up to which a block is content (our choice); None finds one on each page as InfoDiscoverer does, which
        on most pages stops too early.
    """

    name: ClassVar[str] = "entropy"
    traits: ClassVar[Traits] = _traits("Lin and Ho 2002 (InfoDiscoverer)")
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {"theta": Between(0, 1, optional=True), **_LEGAL}

    def __init__(
        self,
        template: Template | None = None,
        theta: float | None = 0.7,
        fallback: Member = "accb",
        min_train: int = MIN_TRAIN,
    ) -> None:
        self.template = template
        self.theta = theta
        self.fallback = fallback
        self.min_train = min_train

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return entropy_rule(known, self.theta)


class IBDF(SiteMethod):
    """Removes blocks that are similar to blocks of more than a third of the site's other pages.

    Debnath, Mitra and Giles 2005, *Identifying content blocks* (ContentExtractor).

    Parameters
    ----------
    template, theta, fallback, min_train
        See :class:`TextFrequency`.
    """

    name: ClassVar[str] = "ibdf"
    traits: ClassVar[Traits] = _traits("Debnath, Mitra and Giles 2005 (ContentExtractor)")
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = {"theta": _SHARE, **_LEGAL}
    _needs_similar: ClassVar[bool] = True

    def __init__(
        self,
        template: Template | None = None,
        theta: float = THETA,
        fallback: Member = "accb",
        min_train: int = MIN_TRAIN,
    ) -> None:
        self.template = template
        self.theta = theta
        self.fallback = fallback
        self.min_train = min_train

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return ibdf_rule(known, theta=self.theta)


class TreeMapping(SiteMethod):
    """Removes what other pages of the same layout have at the same place.

    Alarte et al. 2014, *Web template extraction based on hyperlink analysis*: equal top-down mapping. Texts have to be
    equal.

    Parameters
    ----------
    template, fallback
        See :class:`TextFrequency`.
    min_train
        Fewest pages to judge by, the page itself included; a subdigraph may be as small as one page besides.
    """

    name: ClassVar[str] = "etdm"
    traits: ClassVar[Traits] = _traits("Alarte et al. 2014")
    legal: ClassVar[Mapping[str, Between | tuple[object, ...]]] = _LEGAL

    def __init__(self, template: Template | None = None, fallback: Member = "accb", min_train: int = 2) -> None:
        self.template = template
        self.fallback = fallback
        self.min_train = min_train

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the layouts of the site from pages of it."""
        self.template = SiteTemplate.learn(list(pages))
        return self

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        inside = template.in_tree(page)
        share = np.zeros(len(page.blocks)) if inside is None else template_share(page, inside)
        notes = ["in the template" if part == 1 else f"{part:.0%} in the template" if part else "" for part in share]
        return (1 - share).astype(np.float32), notes
