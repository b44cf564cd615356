"""Learns the rules of a layout from pages: containers of the content, what to drop in them, and metadata.

Candidates of selectors: what the elements of a page are called by names that are likely to last.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.page import Metadata, Page
from blockml.rules.applying import VALUE_READERS, PageMatches, element_value, match_sites
from blockml.rules.site_rules import DECIDING, DESCRIBING, SiteRules, read_rules

__all__ = ["LEAST_RULES_PAGES", "Learnt", "RulesPage", "candidates", "is_stable", "learn_layout"]


#: Minimum number of pages to learn from.
LEAST_RULES_PAGES = 5
#: Gain of mean F1 that a selector must bring; maximum number of ``within`` and of ``drop`` (our choices).
_LEAST_GAIN, _MOST_WITHIN, _MOST_DROPS = 0.003, 3, 12
#: Minimum share of the pages that have an element, for the first container, further ones and what is dropped.
_COMMON, _SOMETIMES, _RARE = 0.6, 0.2, 0.1
#: Number of first containers that are tried to the end.
_STARTS = 8
#: Minimum share of the pages on which a selector of metadata must give the value, of those that have one.
_AGREED = 0.8
_MOST_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Learnt:
    """Rules that were learnt for a layout, and how they do on pages that they were not learnt from."""

    rules: SiteRules | None  #: None if no element contains the content.
    pages: int
    f1: float  #: Mean F1 of words by cross-validation; 0 for a page without content of the rules.
    matches: float  #: Share of the pages that a container matched, likewise.
    agreement: Mapping[str, float]  #: Share of the pages whose title, authors and date agree, likewise.
    failures: tuple[tuple[str, float, str], ...]  #: The worst pages: id, F1 and how they fail.

    def record(self, against: str) -> dict[str, Any]:
        """Return the measurements as a table of a file of rules."""
        found = {"pages": self.pages, "f1": round(self.f1, 3), "matches": round(self.matches, 3), "against": against}
        return found | {name: round(share, 3) for name, share in self.agreement.items()}


def learn_layout(site: str, samples: Sequence[RulesPage]) -> Learnt:
    """Learn the rules of a layout from all pages, and measure them by cross-validation over pages.

    The first container is the one from which the search ends best; containers and drops are added as long as each
    raises the mean F1 of the words.

    Examples
    --------
    >>> import blockml
    >>> from blockml.page import Metadata
    >>> html = "<nav>Home</nav><div class=entry><h1>Cats</h1><p>They rule.<p class=ad>Buy now</div>"
    >>> wanted, known = np.array([False, True, True, False]), np.ones(4, bool)
    >>> samples = [RulesPage(name, blockml.parse(html), wanted, known, Metadata()) for name in "12345"]
    >>> found = learn_layout("cats.example", samples)
    >>> found.rules.record(), found.f1
    ({'within': '.entry', 'drop': '.ad'}, 1.0)
    """
    tables = [_Table(sample) for sample in samples]
    n_folds = min(_MOST_FOLDS, len(samples))
    results: list[tuple[float, str]] = [(0.0, "")] * len(samples)
    read: list[Mapping[str, Any]] = [{}] * len(samples)
    for fold in range(n_folds):
        rules = _learn(site, [table for number, table in enumerate(tables) if number % n_folds != fold])
        for number in range(fold, len(samples), n_folds):
            found = match_sites([] if rules is None else [rules], samples[number].page)
            results[number] = measure_rules(found, samples[number])
            read[number] = found.metadata()
    agreement, rules = dict[str, float](), _learn(site, tables)
    if rules is not None:
        shares = {kind: _share_agreed(kind, samples, read) for kind in DESCRIBING if kind in rules.selectors}
        agreement = {kind: share for kind, share in shares.items() if share >= _AGREED}
        stay = {kind: found for kind, found in rules.selectors.items() if kind in DECIDING or kind in agreement}
        rules = replace(rules, selectors=stay)
    worst = sorted((score, sample.id, how) for (score, how), sample in zip(results, samples, strict=True) if how)[:3]
    return Learnt(
        rules, len(samples), float(np.mean([score for score, _ in results])),
        sum(how != "no container" for _, how in results) / len(results), agreement,
        tuple((name, score, how) for score, name, how in worst),
    )  # fmt: skip


def _share_agreed(kind: str, samples: Sequence[RulesPage], read: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of the pages with a value of a field of metadata from which rules read the same."""
    pairs = [(getattr(sample.metadata, kind), one.get(kind)) for sample, one in zip(samples, read, strict=True)]
    return float(np.mean([_agree(kind, wanted, found) for wanted, found in pairs if wanted]))


def measure_rules(found: PageMatches, sample: RulesPage) -> tuple[float, str]:
    """Return the F1 of the words that rules keep of a page, and how they fail; empty from an F1 of .95 on."""
    if not found.has("within"):
        return 0.0, "no container"
    rule, action = found.by_block
    kept = (action == "") & (rule >= 0)
    words = sample.page.blocks.n_words * sample.known
    shared, n_kept, n_wanted = (float(words[mask].sum()) for mask in (kept & sample.wanted, kept, sample.wanted))
    score = float(_f1(shared, n_kept, n_wanted))
    how = f"loses {1 - shared / n_wanted:.0%}" if n_wanted and shared < n_wanted else ""
    extra = f"adds {1 - shared / n_kept:.0%}" if n_kept and shared < n_kept else ""
    return score, "" if score >= 0.95 else ", ".join(filter(None, (how, extra)))


def _f1(shared: Any, kept: Any, wanted: Any) -> NDArray[np.float64]:  # noqa: ANN401 (numbers or arrays)
    """Return F1 of words; 1 if nothing is wanted and nothing is kept."""
    total = np.asarray(kept + wanted, dtype=float)
    return np.where(total > 0, 2 * shared / np.where(total > 0, total, 1), 1.0)


class _Table:
    """Which blocks of a page each candidate contains, as ranges of blocks, because pages may have thousands of both."""

    def __init__(self, sample: RulesPage) -> None:
        self.sample = sample
        nodes, blocks = sample.page.nodes, sample.page.blocks
        self.elements = candidates(sample.page)
        self.names = list(self.elements)
        self.row = {name: row for row, name in enumerate(self.names)}
        starts, ends = np.searchsorted(blocks.node, np.arange(len(nodes) + 1)), nodes.end.tolist()
        ranges = list[tuple[int, int, int]]()
        for row, name in enumerate(self.names):
            beyond = -1
            for node in self.elements[name]:
                if node >= beyond:  # not within one before it
                    beyond = ends[node]
                    ranges.append((row, int(starts[node]), int(starts[beyond])))
        self.owner, self.low, self.high = np.array(ranges, dtype=np.int64).reshape(-1, 3).T
        self.words = (blocks.n_words * sample.known).astype(float)
        self.wanted = self.words * sample.wanted

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n_candidates,) the sum of the values (n_blocks,) of the blocks in each."""
        before = np.append(0.0, np.cumsum(values))
        sums = before[self.high] - before[self.low]
        return np.asarray(np.bincount(self.owner, sums, minlength=len(self.names)), dtype=np.float64)

    def mask(self, name: str) -> NDArray[np.bool_]:
        """Return (n_blocks,) which blocks a candidate contains; none if the page doesn't have it."""
        found = np.zeros(len(self.words), dtype=bool)
        first, last = np.searchsorted(self.owner, [row := self.row.get(name, len(self.names)), row + 1])
        for low, high in zip(self.low[first:last].tolist(), self.high[first:last].tolist(), strict=True):
            found[low:high] = True
        return found


class _Search:
    """Candidates of several pages in one order, and the effect of each on the F1 of every page."""

    def __init__(self, tables: Sequence[_Table]) -> None:
        counts = Counter(name for table in tables for name in table.names)
        least = max(2, _RARE * len(tables))
        # Equal ones are decided in favour of the shortest.
        self.names = sorted((name for name, count in counts.items() if count >= least), key=lambda x: (len(x), x))
        self.shares = np.array([counts[name] / len(tables) for name in self.names])
        self.tables = tables
        self.rows = [np.array([table.row.get(name, -1) for name in self.names]) for table in tables]

    def masks(self, number: int) -> list[NDArray[np.bool_]]:
        """Return the blocks of each page in a candidate."""
        return [table.mask(self.names[number]) for table in self.tables]

    def means(self, kept: Sequence[NDArray[np.bool_]], *, drop: bool) -> NDArray[np.float64]:
        """Return (n_names,) mean F1 if each candidate is dropped, or added to what is kept."""
        total = np.zeros(len(self.names))
        for table, rows, mask in zip(self.tables, self.rows, kept, strict=True):
            of = mask if drop else ~mask
            changes = np.stack([table.sums(table.wanted * of), table.sums(table.words * of)], axis=1)
            shared, n_kept = np.append(changes, np.zeros((1, 2)), axis=0)[rows].T * (-1 if drop else 1)
            total += _f1(shared + table.wanted[mask].sum(), n_kept + table.words[mask].sum(), table.wanted.sum())
        return total / len(self.tables)


def _learn(site: str, tables: Sequence[_Table]) -> SiteRules | None:
    """Learn rules from all of some pages; None if no element contains the content."""
    search = _Search(tables)
    if not search.names:
        return None
    nothing = [np.zeros(len(table.words), dtype=bool) for table in tables]
    first = np.where(search.shares >= _COMMON, search.means(nothing, drop=False), -1.0)
    best: tuple[float, list[int], list[int]] = (0.0, [], [])
    for start in np.argsort(-first, kind="stable")[:_STARTS].tolist():
        if first[start] > 0:
            best = max(best, _from(search, start, float(first[start])), key=lambda item: item[0])
    _, within, drops = best
    if not within:
        return None
    texts: dict[str, Any] = {"within": [search.names[number] for number in within]}
    if drops:
        texts["drop"] = [search.names[number] for number in drops]
    texts |= _metadata(tables)
    return next(iter(read_rules({site: texts})))


def _from(search: _Search, start: int, score: float) -> tuple[float, list[int], list[int]]:
    """Add containers and drops to a first container as long as they gain; return F1, containers and drops."""
    within, drops = [start], list[int]()
    kept = search.masks(start)
    while True:
        added = np.where(search.shares >= _SOMETIMES, search.means(kept, drop=False), -1.0)
        dropped = search.means(kept, drop=True)
        added[within] = dropped[within] = -1.0
        if len(within) >= _MOST_WITHIN:
            added[:] = -1.0
        if len(drops) >= _MOST_DROPS:
            dropped[:] = -1.0
        is_drop = dropped.max() >= added.max()
        found = int((dropped if is_drop else added).argmax())
        gained = max(dropped.max(), added.max())
        if gained < score + _LEAST_GAIN:
            return score - _LEAST_GAIN * (len(within) + len(drops)), within, drops
        score = float(gained)
        (drops if is_drop else within).append(found)
        pairs = zip(kept, search.masks(found), strict=True)
        kept = [one & ~mask if is_drop else one | mask for one, mask in pairs]


def _metadata(tables: Sequence[_Table]) -> dict[str, str]:
    """Return the shortest selector of each field of metadata that gives the values of most pages."""
    found = {}
    for kind in DESCRIBING:
        wanted = [(table, value) for table in tables if (value := getattr(table.sample.metadata, kind))]
        if len(wanted) < LEAST_RULES_PAGES - 1:
            continue
        counts = Counter[str]()
        for table, value in wanted:
            counts.update(_giving(kind, table, value))
        likely = [(-count, len(name), name) for name, count in counts.items() if count >= _AGREED * len(wanted)]
        if likely:
            found[kind] = min(likely)[2]
    return found


def _giving(kind: str, table: _Table, value: object) -> list[str]:
    """Return the candidates whose first elements give a value of metadata."""
    page, known = table.sample.page, dict[int, bool]()
    found = []
    for name, elements in table.elements.items():
        node = elements[0]
        if node not in known:
            texts = [element_value(page, one) for one in (elements[:5] if kind == "authors" else [node])]
            known[node] = _agree(kind, value, VALUE_READERS[kind](texts))
        if known[node]:
            found.append(name)
    return found


def _agree(kind: str, wanted: Any, found: Any) -> bool:  # noqa: ANN401 (texts or lists of them)
    """Tell whether two values of metadata agree; dates do if their days do."""
    if kind == "published":
        return str(wanted)[:10] == str(found)[:10]
    if kind == "title":
        return " ".join(str(wanted).split()).casefold() == " ".join(str(found or "").split()).casefold()
    return [name.casefold() for name in wanted] == [name.casefold() for name in found or ()]


#: Elements whose names say what they are for; ``meta`` and ``time`` have values of metadata.
_NAMED = frozenset(
    "article aside blockquote dl figcaption figure footer form h1 h2 h3 h4 h5 h6 header iframe main nav ol pre section "
    "table time ul".split()
)
#: Elements that are told from others by the stable name of their parent.
_CHILDREN = frozenset("div dl h1 h2 h3 h4 h5 h6 li ol p section span table ul".split())
#: Attributes with one name, beside ``id`` and ``class``.
_NAMING = ("role", "itemprop", "property", "name", "data-testid", "data-component", "data-qa", "rel")
_MOST_CLASSES = 8
_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{1,39}")
_PROPERTY = re.compile(r"[A-Za-z][A-Za-z_.:-]{1,39}")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
#: Minimum letters of the parts of a name on average, and minimum letters of a part without vowels that looks random.
_MEAN_PART, _RANDOM_PART = 2.5, 5


@dataclass(frozen=True, slots=True, eq=False)
class RulesPage:
    """A page to learn from, with the blocks that rules are to keep."""

    id: str
    page: Page
    wanted: NDArray[np.bool_]  #: (n_blocks,) content, by a decision or by labels.
    known: NDArray[np.bool_]  #: (n_blocks,) whether that is known.
    metadata: Metadata  #: Values that rules are to read.


def is_stable(name: str) -> bool:
    """Tell whether a name is likely to be the same on later pages: it has no digits, and its parts look like words.

    Examples
    --------
    >>> [is_stable(name) for name in ("entry-content", "articleBody", "post-12", "css-qXzPt", "sc-bdVaJa")]
    [True, True, False, False, False]
    """
    parts = _PARTS.findall(name)
    if not _NAME.fullmatch(name) or (len(parts) > 1 and sum(map(len, parts)) < _MEAN_PART * len(parts)):
        return False
    return not any(len(part) >= _RANDOM_PART and not set("aeiouyAEIOUY") & set(part) for part in parts)


def candidates(page: Page) -> dict[str, list[int]]:
    """Return the elements of a page by each CSS selector that may become a rule, in document order.

    A selector is an id, a class, an attribute that names a part, or an element whose name does, or a child of one of
    these.

    Examples
    --------
    >>> import blockml
    >>> found = candidates(blockml.parse("<div id=main class='entry x1'><p>One</p><p>Two</p></div>"))
    >>> {name: len(nodes) for name, nodes in found.items()}
    {'#main': 1, '.entry': 1, '#main > p': 2, '.entry > p': 2}
    """
    nodes = page.nodes
    found: dict[str, list[int]] = {}
    own: dict[int, list[str]] = {}
    for node in np.flatnonzero(nodes.tag != 0).tolist():
        name, attributes = nodes.name(node), nodes.attributes[node]
        terms = list(_terms(name, attributes)) if attributes or name in _NAMED else []
        own[node] = terms
        above = own.get(nodes.parent.item(node)) if name in _CHILDREN else None
        for term in (*terms, *(f"{term} > {name}" for term in above or ())):
            found.setdefault(term, []).append(node)
    return found


def _terms(name: str, attributes: Mapping[str, str]) -> Iterator[str]:
    """Yield selectors of an element by itself."""
    if name in _NAMED:
        yield name
    if is_stable(value := attributes.get("id", "")):
        yield f"#{value}"
    for value in dict.fromkeys(attributes.get("class", "").split()[:_MOST_CLASSES]):
        if is_stable(value):
            yield f".{value}"
    for key in _NAMING:
        value = attributes.get(key, "")
        if value and _PROPERTY.fullmatch(value):
            yield f'{name if name == "meta" else ""}[{key}="{value}"]'
