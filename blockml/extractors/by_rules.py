"""An extractor that keeps what the rules of a page's site name, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from blockml.decision.prediction import Prediction
from blockml.extractors.base import Extractor, Traits
from blockml.page import Page
from blockml.rules import ANY_SITE, AnyRules, page_matches, read_rules
from blockml.rules.applying import PageMatches

__all__ = ["RulesExtractor"]

#: Fields whose elements have the content, if a site has rules with one of them.
_CONTAINERS = frozenset({"within", "keep"})


@dataclass(eq=False, repr=False)
class RulesExtractor(Extractor):
    """Keeps blocks by the rules of a page's site only.

    A block is kept if the innermost rule around it is ``within`` or ``keep``; if the rules of the site have neither,
    all blocks are kept that no ``drop`` removes. A page has no content if its site has no rules, or if none of its
    layouts matches the page.

    Parameters
    ----------
    rules
        A file of rules or a mapping: see :func:`blockml.rules.read_rules`.

    Examples
    --------
    >>> import blockml
    >>> by_rules = RulesExtractor({"cats.example": {"within": "article", "drop": ".ad"}})
    >>> html = "<nav>Home</nav><article><p>Cats rule.<p class=ad>Buy one.</article>"
    >>> [blockml.extract(html, url=f"https://{site}.example/", model=by_rules).text for site in ("cats", "dogs")]
    ['Cats rule.', '']
    """

    name: ClassVar[str] = "rules"
    traits: ClassVar[Traits] = Traits("hand-written or learnt selectors")

    rules: AnyRules

    def __post_init__(self) -> None:
        self.rules = rules = read_rules(self.rules)
        self._id = f"rules:{Path(rules.source or 'given').name} {rules.digest}"

    @property
    def id(self) -> str:
        """Name of the file, with a digest of the rules."""
        return self._id

    def matches(self, page: Page) -> bool:
        """Tell whether a page's site has rules, and the page a layout of theirs."""
        own = [match for match in self._matches(page).found if match.site != ANY_SITE]
        needed = {match.kind for match in own} & _CONTAINERS
        return any(match.mask.any() for match in own if match.kind in needed or (not needed and match.kind == "drop"))

    def _matches(self, page: Page) -> PageMatches:
        return page_matches(read_rules(self.rules), page)

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score blocks that are kept by 1, others by 0."""
        return self.predict(page).scores

    def predict(self, page: Page) -> Prediction:
        """Score blocks, with a remark if no rule applies to the page."""
        matches = self._matches(page)
        rule, action = matches.by_block
        kinds = {match.kind for match in matches.found}
        if _CONTAINERS.isdisjoint(kinds):
            kept = (action != "drop") & ("drop" in kinds)
        else:
            kept = (action == "keep") | ((action == "") & (rule >= 0))
        remark = () if kept.any() or matches.has(*kinds) else (f"no rule of {self.id} matches the page",)
        return Prediction(kept.astype(np.float32), remarks=remark)

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the rule that decides about each block."""
        matches = self._matches(page)
        return tuple(matches.found[rule].name if rule >= 0 else "" for rule in matches.by_block[0].tolist())
