"""Detect the menu of a page by the density of its links (future work of Alarte et al. 2014).

The pages that a menu links to are mutually linked and share the template, so they are the ones to load first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.page import Nodes, Page
from blockml.page.subtrees import subtree_sums, text_lengths
from blockml.templates.linked.links import Link, PageSource, links
from blockml.templates.linked.urls import base_url, host_of, join

#: Weights of the terms (public successor of the implementation of Alarte et al. 2014; the measures are our choice).
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"amplitude": 0.2, "links": 0.1, "text": 0.3, "list": 0.2, "tag": 0.1, "position": 0.1}
)

#: Minimum number of links of a menu (our choice, for both methods).
MIN_LINKS = 2

#: Minimum weighted score of a menu (our choice); links in running text score lower.
MIN_SCORE = 0.5

#: A menu extends from its best element to ancestors while their score is above this share of the best (our choice).
_GROWTH = 0.95

#: Maximum characters per link in an element whose text consists of labels (our choice).
LABEL = 20

#: ``class``, ``id`` or ``role`` of a menu (words of the public successor), and of other lists of links (our choice).
_MENU_WORD = re.compile(r"nav|menu", re.IGNORECASE)
_OTHER_WORD = re.compile(
    r"pag(?:er|ing|ination)|breadcrumb|crumbs|posts?[-_]?nav|comments?[-_]?nav|(?<![a-z])(?:toc|tags?)(?![a-z])|social|share",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Menu:
    """Menu of a page: index of its element, links to the page's own site, and score in [0, 1]."""

    node: int
    links: tuple[Link, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """Candidate element for the menu, with the number of links that the method counts; score and terms in [0, 1]."""

    node: int
    xpath: str
    n_links: int
    score: float
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores of all elements of a page."""

    scores: NDArray[np.float64]  #: (n_nodes,) in [0, 1]; -1 for elements that can't be a menu
    n_links: NDArray[np.int64]  #: (n_nodes,) links below each element
    terms: Mapping[str, NDArray[np.float64]]  #: (n_nodes,) values by name

    def best_first(self) -> NDArray[np.intp]:
        """Return the candidates by decreasing score, then number of links, then document order."""
        order = np.lexsort((-self.n_links, -self.scores))
        return order[self.scores[order] >= 0]


def find_menu(page: Page, *, method: str = "weighted", source: PageSource | None = None) -> Menu | None:
    """Find the element that is most likely the menu of a page.

    None if no element qualifies. The ``method`` ``ratio`` finds the element with the most links per node below it, at
    least two; ties go to more links. On real pages that is mostly a row of icons or tags. ``weighted`` scores six
    terms, see :data:`WEIGHTS`, and extends the best element to ancestors of similar score; none below a score of 0.5.
    ``source`` resolves links, by default as :func:`~blockml.templates.linked.urls.resolve_link`. Raises
    UnknownNameError for an unknown method.

    Examples
    --------
    >>> import blockml
    >>> html = "<div><a href=a>A</a><a href=b>B</a><a href=c>C</a></div><p>Text with <a href=d>a link</a></p>"
    >>> page = blockml.parse(html, url="http://example.org/")
    >>> menu = find_menu(page)
    >>> page.nodes.xpath(menu.node), [link.url[-1] for link in menu.links]
    ('/html/body/div', ['a', 'b', 'c'])
    """
    scored = _score(page, method)
    order = scored.best_first()
    if not len(order) or (method == "weighted" and scored.scores[order[0]] < MIN_SCORE):
        return None
    node = int(order[0])
    if method == "weighted":
        nodes, least = page.nodes, _GROWTH * scored.scores[node]
        while (parent := int(nodes.parent[node])) >= 0 and scored.scores[parent] >= least:
            node = parent
    return Menu(node, links(page, source, within=node, frames=False), float(scored.scores[node]))


def menu_candidates(page: Page, *, method: str = "weighted", limit: int = 10) -> tuple[Candidate, ...]:
    """List at most ``limit`` candidates for the menu, best first, with the terms of their scores.

    ``method`` and errors are those of :func:`find_menu`.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<nav><ul><li><a href=a>A</a><li><a href=b>B</a></ul></nav>", url="http://example.org/")
    >>> [(one.xpath, round(one.score, 2)) for one in menu_candidates(page, limit=2)]
    [('/html/body/nav/ul', 0.81), ('/html/body/nav', 0.81)]
    """
    scored = _score(page, method)
    order = scored.best_first()[: max(limit, 0)].tolist()
    return tuple(
        Candidate(
            node=node,
            xpath=path,
            n_links=int(scored.n_links[node]),
            score=float(scored.scores[node]),
            terms=MappingProxyType({name: float(values[node]) for name, values in scored.terms.items()}),
        )
        for node, path in zip(order, page.nodes.xpaths(order), strict=True)
    )


def _score(page: Page, method: str) -> _Scores:
    check_name("method", method, MENU_METHODS)
    return MENU_METHODS[method](page)


def _ratio(page: Page) -> _Scores:
    """Score the links below an element per node below it, including texts (Alarte et al. 2014, future work)."""
    nodes = page.nodes
    is_link = nodes.named({"a"})
    n_links = _below(nodes, is_link)
    ratio = n_links / np.maximum(_below(nodes, np.ones(len(nodes), dtype=bool)), 1)
    scores = np.where((n_links >= MIN_LINKS) & (nodes.tag != 0), ratio, -1.0)
    return _Scores(scores, n_links, {"ratio": ratio})


def _weighted(page: Page) -> _Scores:
    """Score six terms of an element.

    - amplitude: 1 - 1/n for n links to pages of the site;
    - links: these links per element below;
    - text: 1 for up to 20 characters per link, then inversely proportional;
    - list: list items with these links per link, at most 1; 1 in a region marked as menu;
    - tag: 1 in such a region;
    - position: share of the page's nodes that follow.
    """
    nodes = page.nodes
    leads = _leads_on(page)
    n_links = _below(nodes, leads)
    some = np.maximum(n_links, 1)
    chars = _below(nodes, text_lengths(nodes))
    items = _below(nodes, nodes.named({"li"}) & (n_links > 0))
    region = _in_any(nodes, _regions(nodes, chars))
    terms = {
        "amplitude": 1 - 1 / some,
        "links": n_links / np.maximum(_below(nodes, nodes.tag != 0), 1),
        "text": np.minimum(1.0, LABEL * n_links / np.maximum(chars, 1)),
        "list": np.where(region, 1.0, np.minimum(1.0, items / some)),
        "tag": region.astype(np.float64),
        "position": 1 - np.arange(len(nodes)) / len(nodes),
    }
    may_be = (n_links >= MIN_LINKS) & (nodes.tag != 0) & ~nodes.named({"html", "body", "a"})
    scores = np.sum([weight * terms[name] for name, weight in WEIGHTS.items()], axis=0)
    return _Scores(np.where(may_be, scores, -1.0), n_links, terms)


def _leads_on(page: Page) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of links to pages of the same site, without fragments of the page or scripts."""
    nodes = page.nodes
    base = base_url(page) or "http://site.invalid/"  # relative links lead to the same site in any case
    own = join(base, page.url or "")
    site = host_of(base)
    known: dict[str, bool] = {}
    leads = np.zeros(len(nodes), dtype=bool)
    for node in nodes.indices("a").tolist():
        href = nodes.attributes[node].get("href")
        if href is None:
            continue
        if href not in known:
            url = join(base, href)
            jumps = "#" in href and (url == own or href.lstrip().startswith("#"))
            known[href] = url is not None and not jumps and host_of(url) == site
        leads[node] = known[href]
    return leads


def _regions(nodes: Nodes, chars: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of elements marked as menu by name or attributes.

    Attributes count only on elements with at most half of the page's characters, because many pages list their menus in
    the attributes of the body.
    """
    by_words = np.zeros(len(nodes), dtype=bool)
    others = np.zeros(len(nodes), dtype=bool)
    for node, attributes in enumerate(nodes.attributes):
        if attributes:
            words = " ".join(attributes[name] for name in ("class", "id", "role") if name in attributes)
            if words:
                others[node] = _OTHER_WORD.search(words) is not None
                by_words[node] = _MENU_WORD.search(words) is not None
    is_minor = 2 * chars <= chars.max(initial=0)
    regions: NDArray[np.bool_] = ~others & (nodes.named({"nav"}) | (by_words & is_minor))
    return regions


def _below(nodes: Nodes, values: NDArray[Any]) -> NDArray[Any]:
    """Return (n_nodes,) sums of values over the descendants of each node."""
    below: NDArray[Any] = subtree_sums(nodes, values) - values
    return below


def _in_any(nodes: Nodes, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return an (n_nodes,) mask of marked nodes and their descendants."""
    steps = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.add.at(steps, np.flatnonzero(marked), 1)
    np.add.at(steps, nodes.end[marked], -1)
    return np.cumsum(steps[:-1]) > 0


#: Detection methods by name; see :func:`find_menu`.
MENU_METHODS: Mapping[str, Callable[[Page], _Scores]] = MappingProxyType({"ratio": _ratio, "weighted": _weighted})
