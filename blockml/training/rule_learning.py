"""Learns rules of sites from pages: from their labels, or from the decisions of a model."""

from __future__ import annotations

import heapq
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.labelled import declared_url
from blockml.errors import UsageError, check_type
from blockml.extract import extract_with
from blockml.extractors import AnyModel, Extractor, load
from blockml.options import Options
from blockml.progress import ProgressCallback, ignore_progress
from blockml.rules.induction import LEAST_RULES_PAGES, Learnt, RulesPage, learn_layout
from blockml.rules.site_rules import Rules, SiteRules
from blockml.text.addresses import split_host
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.batch import Item

__all__ = ["LearntRules", "SiteResult", "learn_rules"]

#: Minimum mean F1 in cross-validation, and minimum share of the pages that a container matches (our choices).
LEAST_F1, LEAST_MATCHES = 0.9, 0.8
#: Maximum number of pages of a site to learn from.
MOST_PAGES = 40


#: Accepted by :func:`learn_rules`: pages with ``html`` and ``url``.
AnyPages: TypeAlias = "Dataset | Iterable[LabelledPage | Item | Mapping[str, Any]]"


@dataclass(frozen=True, slots=True)
class SiteResult:
    """Rules of a layout of a site, or the reason why it has none."""

    site: str
    pages: int
    learnt: Learnt | None  #: None with too few pages.
    against: str  #: ``labels`` or ``decisions``.
    reason: str = ""  #: Why the rules were refused; empty if they were accepted.

    def __str__(self) -> str:
        parts = [self.site, *([f"refused: {self.reason}"] if self.reason else [])]
        if self.learnt is not None:
            matches = f"matches {self.learnt.matches:.0%} of {counted(self.pages, 'page')}"
            failures = ", ".join(f"{name} {how}" for name, _, how in self.learnt.failures)
            fails = f"; fails: {failures}" if failures else ""
            parts.append(f"F1 {self.learnt.f1:.3f} against {self.against}, {matches}{fails}")
        return ": ".join(parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearntRules:
    """Result of :func:`learn_rules`."""

    rules: Rules  #: Of all sites that were not refused.
    results: tuple[SiteResult, ...] = ()
    unread: tuple[str, ...] = ()  #: Ids of invalid records of the input, which were left out, with the reasons.

    @property
    def refused(self) -> list[SiteResult]:
        """Sites and layouts without rules."""
        return [result for result in self.results if result.reason]

    def save(self, path: Any) -> None:  # noqa: ANN401 (a path)
        """Write the rules as TOML; raises UsageError if the file can't be written."""
        self.rules.save(path)

    def __repr__(self) -> str:
        return f"LearntRules({len(self.results) - len(self.refused)} learnt, {len(self.refused)} refused)"


def learn_rules(
    pages: AnyPages,
    *,
    model: AnyModel = "default",
    use_labels: bool = True,
    site: str | None = None,
    least_f1: float = LEAST_F1,
    progress: ProgressCallback = ignore_progress,
) -> LearntRules:
    """Learn rules of each site from five or more of its pages.

    Rules are the fewest selectors that keep what the labels or the model keep, made of names that are likely to last.
    They are measured by cross-validation over pages, and refused if they stay below ``least_f1``. If no rules of the
    whole site are good enough, its pages are clustered by layout, and each layout gets rules or is refused.

    Parameters
    ----------
    pages
        A data set, or labelled pages, :class:`blockml.batch.Item`, or mappings with ``html``, ``url`` and, if known,
        ``id`` and ``charset``.
    model
        Model that decides about pages without labels, as accepted by :func:`blockml.load`.
    use_labels
        Whether the labels of pages count; otherwise the model decides.
    site
        Site of all pages, or ``*`` for rules for any page; by default that of the address of each page, which it may
        declare itself.
    least_f1
        Minimum mean F1 of the words of rules that are not refused, from 0 to 1.
    progress
        Called with the name of a site, how many sites are done, and how many there are.

    Raises
    ------
    UsageError
        No page has an address, or an argument is not legal.

    Examples
    --------
    >>> html = "<nav>Home News</nav><article><h1>Cats</h1><p>%s</p></article><footer>Imprint</footer>"
    >>> text = "Number %d of the cats rules the world, and nobody has ever asked it to, as far as we know. "
    >>> pages = [{"html": html % (text % n * 3), "url": f"https://cats.example/{n}"} for n in range(6)]
    >>> found = learn_rules(pages)
    >>> found, found.rules.record()["cats.example"]["within"]
    (LearntRules(1 learnt, 0 refused), 'article > p')
    """
    check_type("least_f1", least_f1, float, int, legal="a number from 0 to 1")
    unread = list[str]()
    extractor, by_site = load(model), _by_site(pages, site, unread)
    if not by_site:
        raise UsageError("no page has or declares an address, which tells its site; or give site")
    results, kept = list[SiteResult](), dict[str, tuple[SiteRules, ...]]()
    for number, (name, found) in enumerate(sorted(by_site.items())):
        progress(name, number, len(by_site))
        for result in _of_site(name, _samples(found, extractor, use_labels=use_labels), least_f1):
            results.append(result)
            if not result.reason and result.learnt is not None and (rules := result.learnt.rules) is not None:
                kept[name] = (*kept.get(name, ()), replace(rules, learnt=result.learnt.record(result.against)))
    progress("sites", len(by_site), len(by_site))
    return LearntRules(Rules(kept), tuple(results), tuple(unread))


def _by_site(pages: AnyPages, site: str | None, unread: list[str]) -> dict[str, list[LabelledPage]]:
    """Return the pages of each site; of large sites a sample that does not depend on their order.

    Invalid records are added to ``unread``.
    """
    found: dict[str, list[tuple[int, int, LabelledPage]]] = defaultdict(list)
    for number, given in enumerate(pages.pages if isinstance(pages, Dataset) else pages):
        if not isinstance(given, LabelledPage | Mapping) and given.error is not None:
            unread.append(f"{given.id}: {given.error}")
            continue
        page = given if isinstance(given, LabelledPage) else _without_gold(given, number)
        name = site or split_host(page.url or declared_url(page.load()[0]))[0]
        if name:
            found[name].append((zlib.crc32(str(page.url or number).encode("utf-8", "replace")), number, page))
            if len(found[name]) >= 2 * MOST_PAGES:
                found[name] = heapq.nsmallest(MOST_PAGES, found[name])
    chosen = {name: sorted(heapq.nsmallest(MOST_PAGES, items), key=itemgetter(1)) for name, items in found.items()}
    return {name: [page for *_, page in items] for name, items in chosen.items()}


def _without_gold(page: Item | Mapping[str, Any], number: int) -> LabelledPage:
    """Return a page without labels in the form of one of a data set."""
    read: Callable[[], Any]
    if isinstance(page, Mapping):
        html, url, charset = page.get("html"), page.get("url"), page.get("charset")
        if html is None:
            raise UsageError(f"page {number + 1} has no html")
        name, read = str(page.get("id") or url or number), lambda: html
    else:
        name, url, charset, read = page.id, page.url, page.charset, cast("Callable[[], Any]", page.read)
    return LabelledPage(name, "", Path(), reader=lambda _: (read(), None), url=url, charset=charset)


def _samples(pages: Sequence[LabelledPage], extractor: Extractor, *, use_labels: bool) -> list[tuple[RulesPage, str]]:
    """Return the pages with content, each with the source of the decision."""
    found = []
    for page in pages:
        html, gold = page.load()
        result = extract_with(Options(), extractor, html, url=page.url, charset=page.charset)
        wanted, known, against = result.kept, np.ones(len(result.kept), dtype=bool), "decisions"
        if use_labels and gold is not None:
            labels = gold.label(result.page)
            wanted, known, against = labels.main, labels.known, "labels"
        if (wanted & known).any():
            found.append((RulesPage(page.id, result.page, wanted & known, known, result.metadata), against))
    return found


def _of_site(site: str, pairs: Sequence[tuple[RulesPage, str]], least_f1: float) -> Iterator[SiteResult]:
    """Yield the rules of the whole site, or else those of its layouts."""
    samples = [sample for sample, _ in pairs]
    against = "labels" if pairs and all(against == "labels" for _, against in pairs) else "decisions"
    whole = _result(site, samples, against, least_f1)
    layouts = _layouts(samples) if whole.reason and len(samples) >= 2 * LEAST_RULES_PAGES else []
    if len(layouts) < 2:
        yield whole
        return
    results = [_result(site, layout, against, least_f1) for layout in layouts]
    yield from results if any(not result.reason for result in results) else [whole]


def _result(site: str, samples: Sequence[RulesPage], against: str, least_f1: float) -> SiteResult:
    """Learn from some pages, and refuse what is not good enough."""
    if len(samples) < LEAST_RULES_PAGES:
        reason = f"{counted(len(samples), 'page')} with content, but at least {LEAST_RULES_PAGES} are needed"
        return SiteResult(site, len(samples), None, against, reason)
    found = learn_layout(site, samples)
    reason = ""
    if found.rules is None:
        reason = "no element with a lasting name contains the content"
    elif found.f1 < least_f1:
        reason = f"below F1 {least_f1:g}"
    elif found.matches < LEAST_MATCHES:
        reason = f"matches less than {LEAST_MATCHES:.0%}"
    return SiteResult(site, len(samples), found, against, reason)


def _layouts(samples: Sequence[RulesPage]) -> list[list[RulesPage]]:
    """Return the pages of each layout of a site, the largest first."""
    from blockml.templates.grouping import SITE_DISTANCE, SITE_THRESHOLD, cluster_pages  # loads SciPy

    names = [str(number) for number in range(len(samples))]
    pages = [sample.page for sample in samples]
    found: Any = cluster_pages(pages, names, distance=SITE_DISTANCE, threshold=SITE_THRESHOLD, pictures=False)
    layouts: dict[int, list[RulesPage]] = defaultdict(list)
    for row, sample in zip(found["pages"], samples, strict=True):
        layouts[row["cluster"]].append(sample)
    return sorted(layouts.values(), key=len, reverse=True)
