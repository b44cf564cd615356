"""Adds knowledge of a site to any extractor: from a template, or from the pages that a page links to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision, decide
from blockml.decision.lines import line_weights
from blockml.decision.policy import DecisionPolicy
from blockml.decision.prediction import Prediction
from blockml.extractors.combinations import LEAST_SCORE, Combination, Member
from blockml.extractors.extractor import Extractor
from blockml.extractors.trained_extractor import ParsedBy
from blockml.page import Page
from blockml.parsing.limits import ParsingOptions
from blockml.sites.template_methods import TextFrequency
from blockml.templates.site import SiteTemplate, loaded

if TYPE_CHECKING:
    from blockml.templates.linked import PageSource, TrainingSet


@dataclass(eq=False, repr=False)
class Unrepeated(Combination):
    """Keeps the blocks that an extractor keeps, except those that another one finds repeated on the site.

    The extractor scores the whole page, because repeated blocks are context for others. A whole line of text counts as
    repeated if most of its words are, so that emphasised words are not removed from a sentence. If all blocks that the
    extractor keeps are repeated, its own decision is used.

    Parameters
    ----------
    members
        A detector of repeated blocks, such as :class:`~blockml.sites.template_methods.TextFrequency`, and the
        extractor.

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
        return self.extractors()[-1].effective_threshold

    @property
    def policy(self) -> DecisionPolicy:
        """Policy of the extractor; its threshold is above 0, so that repeated blocks are not kept."""
        policy = self.extractors()[-1].policy
        return replace(policy, threshold=max(self.effective_threshold, LEAST_SCORE))

    @property
    def gives_labels(self) -> bool:
        """Whether the extractor has labels."""
        return self.extractors()[-1].gives_labels

    @property
    def parsing(self) -> ParsingOptions:
        """Parsing options of the extractor: pages of a model have to be parsed as in training."""
        return self.extractors()[-1].parsing

    def at_page(self, page: Page) -> Extractor:
        """Return this combination with the extractor that its second member uses for a page."""
        site, last = self.extractors()
        chosen = last.at_page(page)
        return self if chosen is last else Unrepeated([site, chosen])

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score with the extractor; repeated blocks score 0."""
        return self.decide(page).scores

    def predict(self, page: Page) -> Prediction:
        """Predict with the extractor, with the blocks that are repeated and the remarks of both.

        Probabilities and everything else that the extractor predicts stay, so that the decision computes the
        confidence from the model's probabilities and the blocks that are kept in the end.
        """
        self.check()
        site, last = self.extractors()
        rare, found = site.predict(page), last.predict(page)
        whole = replace(found, remarks=(*rare.remarks, *found.remarks))
        left = replace(whole, removed=_repeated_lines(page, ~site.decide(page, rare).kept))
        if not self.decide(page, left).kept.any() and self.decide(page, whole).kept.any():
            return replace(whole, remarks=("the template matches every kept block and was ignored", *whole.remarks))
        return left

    def decide(self, page: Page, prediction: Prediction | None = None) -> Decision:
        """Decide with the policy that the extractor has for the page."""
        chosen = self.at_page(page)
        return decide(chosen.policy, page, self.predict(page) if prediction is None else prediction)

    def explain(self, page: Page) -> tuple[str, ...]:
        """Explain why a block is repeated, or return the explanation of the extractor."""
        site, last = self.extractors()
        rare = (~_repeated_lines(page, ~site.decide(page).kept)).tolist()
        return tuple(
            [
                note if stays else f"repeats: {why}"
                for stays, why, note in zip(rare, site.explain(page), last.explain(page), strict=True)
            ]
        )


def _repeated_lines(page: Page, repeated: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether each block is in a line of text most of whose words are in repeated blocks."""
    line = page.blocks.line_numbers()
    weight = line_weights(page.blocks.n_words.astype(np.float64))
    share = np.bincount(line, weight * repeated) / np.bincount(line, weight)
    return np.asarray(share[line] > 0.5, dtype=bool)


def at_site(extractor: Extractor, template: SiteTemplate | str | os.PathLike[str]) -> Extractor:
    """Return an extractor that uses the template of a site.

    Parameters
    ----------
    extractor
        An extractor that uses sites gets the template. Any other one is combined with the removal of repeated texts
        (:class:`Unrepeated`), which has no effect if the template was learned from too few pages.
    template
        Template of the site.

    Returns
    -------
    Extractor
        A new extractor; the given one does not change.

    Raises
    ------
    ModelError
        The template's file cannot be used.

    Examples
    --------
    >>> import blockml
    >>> from blockml.extractors import resolve
    >>> pages = [blockml.parse(f"<p>Home</p><p>About {name}.</p>") for name in ("cats", "dogs", "birds", "fish")]
    >>> at_site(resolve("plain"), SiteTemplate.learn(pages)).score(pages[0]).tolist()
    [0.0, 1.0]
    """
    site = loaded(template)
    if isinstance(extractor, ParsedBy):
        return ParsedBy(at_site(extractor.extractor, template), extractor.backend)
    if isinstance(extractor, Combination) and extractor.uses_site:
        return extractor.with_members(lambda member: at_site(member, template) if member.uses_site else member)
    if extractor.uses_site:
        return copy(extractor).set_params(template=site)
    return Unrepeated([TextFrequency(site, fallback="plain"), extractor])


def from_links(
    extractor: Extractor,
    page: Page,
    source: PageSource,
    **options: Any,  # noqa: ANN401 (those of training_set)
) -> tuple[Extractor, TrainingSet]:
    """Return an extractor that uses the pages that one page links to (Gottron 2008, *Bridging the gap*).

    Parameters
    ----------
    extractor
        Any extractor; see :func:`at_site`.
    page
        The page, with a URL, parsed by the extractor's options.
    source
        Source of the linked pages, parsed by the same options.
    **options
        Options of :func:`blockml.templates.linked.training_set`: ``max_pages``, ``order``, ``metric`` …

    Returns
    -------
    Extractor, TrainingSet
        The extractor with the template of the page and its linked pages, and how these were found. With too few pages
        it uses its fallback.

    Raises
    ------
    UsageError
        The value of an option is unknown.
    """
    from blockml.templates.linked import training_set  # slow to import, and rarely needed

    found = training_set(page, source, **options)
    template = SiteTemplate.learn(found.pages, name=page.url or "")
    return at_site(extractor, template), found
