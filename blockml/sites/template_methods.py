"""Extractors that use other pages of the site: repeated text is template, the rest is content.

They learn from pages (``fit``) or use a stored template (``template``). With too few pages, or an
implausible result, a fallback extractor is used, with a remark.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from blockml.decision.prediction import Prediction
from blockml.errors import UsageError
from blockml.extractors.combinations import Member
from blockml.extractors.extractor import Between, Extractor, Traits, parameter
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
from blockml.templates.frequency.measures import Scores
from blockml.templates.mapping import MAJORITY, content_blocks, template_share
from blockml.templates.site import ClusteredCounts, SiteTemplate, loaded

#: A template, or the path of its file.
Template = SiteTemplate | str | os.PathLike[str]

_REASONS = {
    FallbackReason.TOO_FEW_PAGES: "the template was learned from too few pages",
    FallbackReason.REMOVES_NEARLY_ALL: "the template matches almost all of this page",
    FallbackReason.REMOVES_NEARLY_NONE: "the template matches almost nothing on this page",
}


@dataclass(eq=False, repr=False)
class SiteMethod(Extractor):
    """Base class of extractors that score blocks by the template of the page's site.

    Parameters
    ----------
    template
        The template, or the path of its file; :meth:`fit` sets it.
    fallback
        Extractor that is used if there is too little to learn from.
    min_train
        Minimum number of pages of the site, including the page itself; with fewer, the fallback is used.
    """

    template: Template | None = None
    _: KW_ONLY
    fallback: Member = "accb"
    min_train: int = parameter(MIN_TRAIN, Between(1, 1_000_000, whole=True))

    def check(self) -> None:
        """Check the arguments.

        Raises
        ------
        UsageError
            A value is not legal.
        ModelError
            The template's file cannot be used.
        """
        loaded(self.template)
        self._check_rest()

    def _check_rest(self) -> None:
        """Check everything except the template."""
        super().check()
        self._fallback().check()

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the site from pages of it; the page to extract from may be among them."""
        self.template = SiteTemplate.count(pages)
        return self

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score blocks by the template, or by the fallback."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score blocks, with a remark if the fallback is used."""
        reason, scores, _ = self._by_site(page)
        if reason is None:
            return Prediction(scores)
        other = self._fallback()
        found = other.predict(page)
        kept = other.decide(page, found).kept  # the decision, because its scores have another threshold
        instead = "was ignored" if other.id == "plain" else f"{other.id} was used instead"
        return Prediction(kept.astype(np.float32), (f"{_REASONS[reason]} and {instead}", *found.remarks))

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the number of pages with a block, or return the explanations of the fallback."""
        reason, _, notes = self._by_site(page)
        return notes if reason is None else self._fallback().explain(page)

    def _by_site(self, page: Page) -> tuple[FallbackReason | None, NDArray[np.float32], tuple[str, ...]]:
        """Return the reason for the fallback or None, scores and notes."""
        template = self._template_of(page)
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

    include_self = True
    _needs_similar: ClassVar[bool] = False

    def _template_of(self, page: Page) -> SiteTemplate | None:  # noqa: ARG002 (subclasses choose by the page)
        """Return the template to use for a page."""
        return loaded(self.template)  # once per page: a file takes as long to read as a page

    @abstractmethod
    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:
        """Return scores with the threshold at .5, and a note for each block."""

    def _fallback(self) -> Extractor:
        if isinstance(self.fallback, Extractor):
            return self.fallback
        if self.fallback not in METHODS:
            raise UsageError(
                f"parameter 'fallback' of {self.name} must be an extractor or one of: {', '.join(METHODS)}"
            )
        return METHODS[self.fallback]()


@dataclass(eq=False, repr=False, kw_only=True)
class ClusteredMethod(SiteMethod):
    """Base class of extractors that may learn only from pages of similar structure.

    Parameters
    ----------
    metric
        Distance by which :meth:`fit` clusters the pages, by single linkage at its published threshold; a page is
        compared with the pages of its nearest cluster, as in Gottron 2008, *Bridging the gap*, section 5. None for all
        pages of the site, and with a stored template.
    template, fallback, min_train
        See :class:`SiteMethod`.
    """

    metric: str | None = parameter(None, (None, "cp", "cps", "ctss"))

    def __post_init__(self) -> None:
        """Start without clusters."""
        self._clusters: ClusteredCounts | None = None

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the site from pages of it, or the clusters of these pages."""
        self.check()
        pages = list(pages) if self.metric else pages
        self.template = SiteTemplate.count(pages)
        self._clusters = ClusteredCounts.learn(list(pages), self.metric) if self.metric else None
        return self

    def _template_of(self, page: Page) -> SiteTemplate | None:
        if self._clusters is None or self._clusters.metric != self.metric:
            return loaded(self.template)
        return self._clusters.template_of(page)


@dataclass(eq=False, repr=False, kw_only=True)
class TextFrequency(ClusteredMethod):
    """Removes texts that occur on more than a third of the site's pages.

    Gottron 2008, *Bridging the gap*, sections 6 and 7. A block is removed if most of its words are in these texts.

    Parameters
    ----------
    theta
        Maximum share of the pages on which a content text occurs.
    include_self
        Count the page itself among the pages, like the paper.
    metric, template, fallback, min_train
        See :class:`ClusteredMethod`.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> blockml.extract("<p>Home</p><p>About snails.</p>", model=TextFrequency().fit(pages)).text
    'About snails.'
    """

    name: ClassVar[str] = "df"
    traits: ClassVar[Traits] = Traits("Gottron 2008, Bridging the gap", uses_site=True)
    theta: float = parameter(THETA, Between(0, 1))
    include_self: bool = parameter(default=True)

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return text_frequency(known, self.theta)


@dataclass(eq=False, repr=False, kw_only=True)
class BlockFrequency(SiteMethod):
    """Removes blocks that occur on more than a third of the site's pages.

    Gottron 2008, *Bridging the gap*, with whole text blocks as segments, which the paper names as future work.

    Parameters
    ----------
    template, fallback, min_train, theta
        See :class:`SiteMethod` and :class:`TextFrequency`.
    """

    name: ClassVar[str] = "blockdf"
    traits: ClassVar[Traits] = Traits("Gottron 2008, Bridging the gap, on blocks", uses_site=True)
    theta: float = parameter(THETA, Between(0, 1))

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return block_frequency(known, self.theta)


@dataclass(eq=False, repr=False, kw_only=True)
class Entropy(ClusteredMethod):
    """Removes blocks whose words are spread evenly over the site's pages.

    Lin and Ho 2002, *Discovering informative content blocks* (InfoDiscoverer).

    Parameters
    ----------
    metric, template, fallback, min_train
        See :class:`ClusteredMethod`.
    theta
        Maximum entropy of content blocks (our choice); None finds one for each page like InfoDiscoverer, which stops
        too early on most pages.
    """

    name: ClassVar[str] = "entropy"
    traits: ClassVar[Traits] = Traits("Lin and Ho 2002 (InfoDiscoverer)", uses_site=True)
    theta: float | None = parameter(0.7, Between(0, 1, optional=True))

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return entropy_rule(known, self.theta)


@dataclass(eq=False, repr=False, kw_only=True)
class IBDF(SiteMethod):
    """Removes blocks that are similar to blocks of more than a third of the site's other pages.

    Debnath, Mitra and Giles 2005, *Identifying content blocks* (ContentExtractor).

    Parameters
    ----------
    template, fallback, min_train, theta
        See :class:`SiteMethod` and :class:`TextFrequency`.
    """

    name: ClassVar[str] = "ibdf"
    traits: ClassVar[Traits] = Traits("Debnath, Mitra and Giles 2005 (ContentExtractor)", uses_site=True)
    theta: float = parameter(THETA, Between(0, 1))
    _needs_similar: ClassVar[bool] = True

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        return ibdf_rule(known, theta=self.theta)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeMapping(SiteMethod):
    """Removes nodes that other pages of the same layout have in the same place.

    Alarte et al. 2014, *Web template extraction based on hyperlink analysis*: equal top-down mapping. Texts have to be
    equal.

    Parameters
    ----------
    template, fallback, min_train
        See :class:`SiteMethod`; a subdigraph may be as small as one other page.
    container
        Keep only blocks in the smallest element that holds most of the remaining words
        (:func:`~blockml.templates.mapping.main_container`), because the paper expects the main content in one place
        with much text. Off by default because the paper does not measure it; on news it gains .035 of LCS F1
        (research/papers.md).
    """

    name: ClassVar[str] = "etdm"
    traits: ClassVar[Traits] = Traits("Alarte et al. 2014", uses_site=True)
    min_train: int = parameter(2, Between(1, 1_000_000, whole=True))
    container: bool = parameter(default=False)

    def fit(self, pages: Iterable[Page], labels: object = None) -> Self:  # noqa: ARG002 (the contract's signature)
        """Learn the layouts of the site from pages of it."""
        self.template = SiteTemplate.learn(list(pages))
        return self

    def _judge(self, page: Page, template: SiteTemplate, known: Measures) -> Scores:  # noqa: ARG002 (one signature)
        inside = template.in_tree(page)
        share = np.zeros(len(page.blocks)) if inside is None else template_share(page, inside)
        notes = ["in the template" if part == 1 else f"{part:.0%} in the template" if part else "" for part in share]
        scores = (1 - share).astype(np.float32)
        if self.container and inside is not None:
            outside = ~content_blocks(page, inside, second_stage=True) & (share < MAJORITY)
            scores[outside] = 0
            notes = ["outside of the main container" if out else note for out, note in zip(outside, notes, strict=True)]
        return scores, notes
