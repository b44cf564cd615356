"""Applies rules to the decision about a page, and reads metadata by rules."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.decision.decide import Decision
from blockml.metadata.dates import iso_date
from blockml.metadata.headline import element_text
from blockml.metadata.names import clean_names
from blockml.page import Page, Reason
from blockml.page.lazy import LazySequence, cached_property
from blockml.page.page import Metadata
from blockml.page.subtrees import nearest
from blockml.rules.selectors import Mask, Selector, SelectorTree
from blockml.rules.site_rules import DECIDING, DESCRIBING, AnyRules, Rules, SiteRules, read_rules
from blockml.text.words import counted

__all__ = ["RuleMatches", "apply_rules", "metadata_by_rules", "page_matches", "title_by_rules"]

#: Minimum probability of certain words, and share of them that a rule may remove without a remark (our choices).
CERTAIN, LARGE_SHARE = 0.9, 0.5
#: Attributes that have the value of an element, in order of preference.
_VALUES = ("content", "datetime")
#: Maximum number of elements that values of metadata are read from.
_MOST_VALUES = 20


@dataclass(frozen=True, slots=True, eq=False)
class RuleMatches:
    """Matches of the rules of a page's site on the page."""

    #: Number of elements that each rule matched, by its name, such as ``cats.example drop .ad``. Rules of other layouts
    #: of the site are missing.
    counts: Mapping[str, int]
    by_block: Sequence[str]  #: (n_blocks,) name of the rule that decided about each block; empty without one.
    large: tuple[str, ...] = ()  #: Names of rules that removed more than half of the page's certain words.
    removed_nodes: NDArray[np.bool_] | None = None  #: (n_nodes,) what rules remove, with or without text.

    def matched(self) -> list[str]:
        """Return the names of the rules that matched something."""
        return [name for name, count in self.counts.items() if count]

    def tally(self) -> Counter[str]:
        """Return how often each rule was tried, matched something, and removed too much; sums are those of a run."""
        pairs = (("tried", self.counts), ("matched", self.matched()), ("large", self.large))
        return Counter(f"{what} {name}" for what, names in pairs for name in names)


def tally_notes(rules: AnyRules, tally: Counter[str]) -> list[str]:
    """Return sentences about the rules that matched nothing in a run, or removed too much.

    Examples
    --------
    >>> from blockml.rules import read_rules
    >>> rules = read_rules({"cats.example": {"drop": [".ad", "nav"]}, "dogs.example": {"drop": "nav"}})
    >>> tally = Counter({"tried cats.example drop .ad": 9, "tried cats.example drop nav": 9})
    >>> tally_notes(rules, tally + Counter({"matched cats.example drop nav": 9}))
    ['the rule cats.example drop .ad matched none of 9 pages', 'no page had the sites of 1 rule']
    """
    notes, untried = list[str](), 0
    for name in read_rules(rules).names():
        tried, matched, large = (tally[f"{what} {name}"] for what in ("tried", "matched", "large"))
        untried += not tried
        if tried and not matched:
            notes.append(f"the rule {name} matched none of {counted(tried, 'page')}")
        if large:
            share = "more than half of the words that certainly are content"
            notes.append(f"the rule {name} removed {share} of {large:,} of {counted(tried, 'page')}")
    return [*notes, f"no page had the sites of {counted(untried, 'rule')}"] if untried else notes


class Match(NamedTuple):
    """A rule of a page's site and layout, with the elements that it matches."""

    name: str
    kind: str
    selector: Selector
    site: str
    mask: Mask


@dataclass(frozen=True, eq=False)
class PageMatches:
    """The elements of a page that rules match, and what follows for its blocks and metadata."""

    page: Page
    found: Sequence[Match]

    def has(self, *kinds: str) -> bool:
        """Tell whether a rule of some kinds matches an element."""
        return any(match.kind in kinds and bool(match.mask.any()) for match in self.found)

    @cached_property
    def by_node(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """(n_nodes + 1,) rule and its action, as in :attr:`by_block`, of each node and of what has none."""
        nodes = self.page.nodes
        rule_at = np.full(len(nodes) + 1, -1)
        # On the same element, within comes before keep, and keep before drop; of equal ones the first rule decides.
        deciding = [(number, match) for number, match in enumerate(self.found) if match.kind in DECIDING]
        for number, match in sorted(deciding, key=lambda item: (DECIDING.index(item[1].kind), -item[0])):
            rule_at[:-1][match.mask] = number
        outside = next((number for number, match in deciding if match.kind == "within" and match.mask.any()), -1)
        rule = rule_at[np.append(nearest(nodes, rule_at[:-1] >= 0), -1)]
        kinds = np.array([*(match.kind for match in self.found), ""])
        action = np.where(kinds[rule] == "within", "", kinds[rule])
        if outside >= 0:
            action = np.where(rule < 0, "drop", action)
            rule = np.where(rule < 0, outside, rule)
        return rule, action

    @property
    def by_block(self) -> tuple[NDArray[np.int64], NDArray[np.str_]]:
        """(n_blocks,) number of the rule that decides about each block, -1 without one, and what it does.

        That is ``keep``, ``drop``, or empty: the extractor decides.
        """
        rule, action = self.by_node
        return rule[self.page.blocks.parent], action[self.page.blocks.parent]

    def metadata(self, kinds: Collection[str] = DESCRIBING) -> dict[str, Any]:
        """Read fields of metadata; those without a value are missing."""
        values: dict[str, Any] = {}
        for _, kind, selector, _, mask in self.found:
            if kind not in kinds or kind in values or not mask.any():
                continue
            elements = np.flatnonzero(mask)[:_MOST_VALUES].tolist()
            texts = [element_value(self.page, node, selector.attribute) for node in elements]
            values[kind] = VALUE_READERS[kind](texts)
        return {kind: value for kind, value in values.items() if value}


@functools.lru_cache(maxsize=1)
def page_matches(rules: Rules, page: Page) -> PageMatches:
    """Match the rules of a page's site, once for the extractor, the decision and the metadata of the page."""
    return match_sites(rules.at(page.url), page)


def apply_rules(rules: AnyRules, page: Page, decision: Decision) -> tuple[Decision, RuleMatches]:
    """Change a decision by the rules of the page's site.

    Of the elements around a block that match a rule, the innermost decides: ``keep`` keeps the block, ``drop`` removes
    it, and ``within`` leaves it to the extractor; ``drop`` comes before ``keep`` on the same element. Blocks in none of
    them are removed if an element matches ``within``. A rule decides about a block only if its element contains all of
    the block.

    Returns
    -------
    Decision
        With the blocks that the rules keep.
    RuleMatches
        What the rules matched.

    Examples
    --------
    >>> import blockml
    >>> html = "<nav>Home</nav><div class=ad>Buy this. <p class=price>Only 3 left.</p></div>"
    >>> rules = {"*": {"drop": ".ad", "keep": ".price"}}
    >>> result = blockml.extract(html, model="plain", rules=rules)
    >>> result.text
    'Home\\nOnly 3 left.'
    >>> [(str(reason), rule) for reason, rule in zip(result.reasons, result.rules.by_block)][1:]
    [('removed_by_rule', '* drop .ad'), ('above_threshold', '* keep .price')]
    """
    rules = read_rules(rules)
    matches = page_matches(rules, page)
    names, (number, action) = [match.name for match in matches.found], matches.by_block
    counts = {match.name: int(match.mask.sum()) for match in matches.found}
    kept = np.where(action == "", decision.kept, action == "keep")
    removed, added = decision.kept & ~kept, kept & ~decision.kept
    by_rule = np.array([*names, ""], dtype=object)[np.where(action == "", -1, number)]

    def reasons() -> tuple[Reason, ...]:
        before = np.array([*decision.reasons, None], dtype=object)[:-1]
        before[removed], before[added] = Reason.REMOVED_BY_RULE, Reason.KEPT_BY_RULE
        return tuple(before.tolist())

    large = _large(page, decision, removed, number, names)
    remarks = [f"the rule {name} removes more than half of the words that certainly are content" for name in large]
    if page.url is None and any(site != "*" for site in rules.by_site):
        remarks.append("the page has no address, so that only the rules for * apply")
    changed = replace(
        decision, kept=kept, reasons=LazySequence(len(kept), reasons), overruled=decision.overruled & ~kept | removed,
        remarks=(*decision.remarks, *remarks),
    )  # fmt: skip
    return changed, RuleMatches(counts, by_rule.tolist(), large, removed_nodes=matches.by_node[1][:-1] == "drop")


def match_sites(sites: Sequence[SiteRules], page: Page) -> PageMatches:
    """Match the rules of a page's site; of its layouts, the first whose ``within`` matches counts."""
    tree = SelectorTree(page.nodes)
    found = list[Match]()
    layouts, decided = Counter(rules.site for rules in sites if "within" in rules.selectors), set[str]()
    for rules in sites:
        own = [Match(*rule, rules.site, rule[-1].select(tree)) for rule in rules.named() if rule[1] == "within"]
        if layouts[rules.site] > 1 and own:
            if rules.site in decided or not any(match.mask.any() for match in own):
                continue
            decided.add(rules.site)
        found += [
            *own, *(Match(*rule, rules.site, rule[-1].select(tree)) for rule in rules.named() if rule[1] != "within")
        ]  # fmt: skip
    return PageMatches(page, found)


def _large(
    page: Page, decision: Decision, removed: NDArray[np.bool_], number: NDArray[np.int64], names: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of the rules that remove more than half of the words that certainly are content."""
    words = page.blocks.n_words * (decision.kept & (decision.probabilities >= CERTAIN))
    taken = np.bincount(number[removed], weights=words[removed], minlength=len(names))
    return tuple(names[rule] for rule in np.flatnonzero(taken > LARGE_SHARE * words.sum()).tolist())


def metadata_by_rules(rules: AnyRules, page: Page, declared: Metadata) -> Metadata:
    """Replace the title, authors and date by the values of the rules of the page's site, where these give one.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p class=by>By Ann Lee</p><time datetime=2024-05-03>Friday</time>")
    >>> rules = blockml.read_rules({"*": {"authors": ".name, .by", "published": "//time/@datetime", "title": "h2"}})
    >>> found = metadata_by_rules(rules, page, Metadata(title="Cats"))
    >>> found.title, found.authors, found.published, found.sources
    ('Cats', ('Ann Lee',), '2024-05-03', {'authors': 'rule', 'published': 'rule'})
    """
    values = page_matches(read_rules(rules), page).metadata()
    sources = {**declared.sources, **dict.fromkeys(values, "rule")}
    return replace(declared, **values, sources=sources) if values else declared


def title_by_rules(rules: AnyRules, page: Page) -> str | None:
    """Return the title that the rules of a page's site give; None without one."""
    return page_matches(read_rules(rules), page).metadata({"title"}).get("title")


def element_value(page: Page, node: int, attribute: str | None = None) -> str:
    """Return the value of an element: the named attribute, or else that of ``meta`` and ``time``, or its text."""
    attributes = page.nodes.attributes[node]
    if attribute is not None:
        return attributes.get(attribute, "").strip()
    return next(filter(None, map(attributes.get, _VALUES)), None) or element_text(page, node)


def _first(texts: Sequence[str]) -> str | None:
    return next(filter(None, texts), None)


def _first_date(texts: Sequence[str]) -> str | None:
    return next(filter(None, map(iso_date, texts)), None)


#: How the values of each field of metadata are read from those of elements.
VALUE_READERS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "title": _first,
    "authors": clean_names,
    "published": _first_date,
}
