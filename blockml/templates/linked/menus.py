"""The menu of a page, found by how dense its links are (the future work of Alarte et al. 2014).

The links of a menu lead to pages that link to each other and share the template: they are the ones to load first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError
from blockml.page import Nodes, Page
from blockml.page.subtrees import subtree_sums, text_lengths
from blockml.templates.linked.links import Link, links
from blockml.templates.linked.source import PageSource
from blockml.templates.linked.urls import base_url, host_of, join

__all__ = ["METHODS", "WEIGHTS", "Candidate", "Menu", "find_menu", "menu_candidates"]

#: Weights of the terms (public successor of the implementation of Alarte et al. 2014; how each term is measured is our
#: choice).
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"amplitude": 0.2, "links": 0.1, "text": 0.3, "list": 0.2, "tag": 0.1, "position": 0.1}
)

#: Fewest links of a menu (our choice, for both methods).
MIN_LINKS = 2

#: Lowest weighted score of a menu (our choice): below it, links stand in running text.
MIN_SCORE = 0.5

#: A menu grows from its best element outwards as long as the score stays at this share of the best (our choice).
GROWTH = 0.95

#: Characters per link up to which an element holds nothing but labels (our choice).
LABEL = 20

#: ``class``, ``id`` or ``role`` of a menu (the words that the successor looks for), and of lists of links that are
#: none though they go by the same words (our choice).
_MENU_WORD = re.compile(r"nav|menu", re.IGNORECASE)
_OTHER_WORD = re.compile(
    r"pag(?:er|ing|ination)|breadcrumb|crumbs|posts?[-_]?nav|comments?[-_]?nav|(?<![a-z])(?:toc|tags?)(?![a-z])|social|share",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Menu:
    """The menu of a page."""

    node: int
    """Index of the element that holds it."""
    links: tuple[Link, ...]
    """Where it leads to, on the page's own site."""
    score: float
    """How much it looks like one, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An element that may be a menu."""

    node: int
    """Its index."""
    xpath: str
    """Where it stands."""
    n_links: int
    """Links below it that the method counts."""
    score: float
    """How much it looks like a menu, in [0, 1]."""
    terms: Mapping[str, float]
    """What the score is made of, each in [0, 1]."""


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Scores of all elements of a page."""

    scores: NDArray[np.float64]
    """(n_nodes,) in [0, 1]; -1 for what can't be a menu."""
    n_links: NDArray[np.int64]
    """(n_nodes,) links below each element."""
    terms: Mapping[str, NDArray[np.float64]]
    """(n_nodes,) by name."""


def find_menu(page: Page, *, method: str = "weighted", source: PageSource | None = None) -> Menu | None:
    """Find the element of a page that is most likely its menu.

    Parameters
    ----------
    page
        The page.
    method
        ``ratio``: the element with the most links per node below it, and at least two; of equals the one with more
        links. On real pages that is mostly a row of icons or tags. ``weighted``: six terms, see :data:`WEIGHTS`; from
        the best element outwards as long as that costs little; none below a score of 0.5.
    source
        Says which URL a link leads to; :func:`~blockml.templates.linked.urls.resolve` if there is none.

    Returns
    -------
    Menu or None
        None if the page has no such element.

    Raises
    ------
    UnknownNameError
        No such method.

    Examples
    --------
    >>> import blockml
    >>> html = "<div><a href=a>A</a><a href=b>B</a><a href=c>C</a></div><p>Text with <a href=d>a link</a></p>"
    >>> page = blockml.parse(html, url="http://example.org/")
    >>> menu = find_menu(page)
    >>> page.nodes.xpath(menu.node), [link.url[-1] for link in menu.links]
    ('/html/body/div', ['a', 'b', 'c'])
    """
    judged = _judge(page, method)
    order = _best_first(judged)
    if not len(order) or (method == "weighted" and judged.scores[order[0]] < MIN_SCORE):
        return None
    node = int(order[0])
    if method == "weighted":
        node = _outermost(page.nodes, judged.scores, node)
    return Menu(node, links(page, source, within=node, frames=False), float(judged.scores[node]))


def menu_candidates(page: Page, *, method: str = "weighted", limit: int = 10) -> tuple[Candidate, ...]:
    """Elements that may be the menu, best first, with what their scores are made of.

    Parameters
    ----------
    page
        The page.
    method
        See :func:`find_menu`.
    limit
        How many at most.

    Raises
    ------
    UnknownNameError
        No such method.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<nav><ul><li><a href=a>A</a><li><a href=b>B</a></ul></nav>", url="http://example.org/")
    >>> [(one.xpath, round(one.score, 2)) for one in menu_candidates(page, limit=2)]
    [('/html/body/nav/ul', 0.81), ('/html/body/nav', 0.81)]
    """
    judged = _judge(page, method)
    order = _best_first(judged)[: max(limit, 0)].tolist()
    paths = page.nodes.xpaths(order)
    return tuple(
        Candidate(
            node=node,
            xpath=path,
            n_links=int(judged.n_links[node]),
            score=float(judged.scores[node]),
            terms=MappingProxyType({name: float(values[node]) for name, values in judged.terms.items()}),
        )
        for node, path in zip(order, paths, strict=True)
    )


def _judge(page: Page, method: str) -> _Judged:
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    return METHODS[method](page)


def _best_first(judged: _Judged) -> NDArray[np.intp]:
    """Candidates by score, of equals the one with more links, then the first in the document."""
    order = np.lexsort((-judged.n_links, -judged.scores))
    return order[judged.scores[order] >= 0]


def _outermost(nodes: Nodes, scores: NDArray[np.float64], best: int) -> int:
    """The farthest ancestor to which the score never falls below its share of the best one."""
    node = best
    while (parent := int(nodes.parent[node])) >= 0 and scores[parent] >= GROWTH * scores[best]:
        node = parent
    return node


def _ratio(page: Page) -> _Judged:
    """Links below an element per node below it, texts included (Alarte et al. 2014, future work)."""
    nodes = page.nodes
    is_link = nodes.named({"a"})
    n_links = _below(nodes, is_link)
    ratio = n_links / np.maximum(_below(nodes, np.ones(len(nodes), dtype=bool)), 1)
    scores = np.where((n_links >= MIN_LINKS) & (nodes.tag != 0), ratio, -1.0)
    return _Judged(scores, n_links, {"ratio": ratio})


def _weighted(page: Page) -> _Judged:
    """Six terms of an element.

    - amplitude: 1 - 1/n for n links to pages of the site;
    - links: these per element below;
    - text: 1 for up to 20 characters per link, then in inverse proportion;
    - list: list items with such links per link, at most 1; 1 in a region that calls itself a menu;
    - tag: 1 in such a region;
    - position: share of the page's nodes that come after the start.
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
    return _Judged(np.where(may_be, scores, -1.0), n_links, terms)


def _leads_on(page: Page) -> NDArray[np.bool_]:
    """(n_nodes,) links to pages of the same site; no anchors, jumps inside of the page, or programs."""
    nodes = page.nodes
    base = base_url(page) or "http://site.invalid/"  # relative links lead to the same site, wherever that is
    own = join(base, page.url or "")
    site = host_of(base)
    known: dict[str, bool] = {}
    leads = np.zeros(len(nodes), dtype=bool)
    for node in nodes.places("a").tolist():
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
    """(n_nodes,) elements that call themselves a menu, by name or by their attributes.

    An attribute counts only on an element with at most half of the page's characters, for many pages say of their
    whole body which menus it has.
    """
    by_words = np.zeros(len(nodes), dtype=bool)
    others = np.zeros(len(nodes), dtype=bool)
    for node, attributes in enumerate(nodes.attributes):
        if attributes:
            words = " ".join(attributes[name] for name in ("class", "id", "role") if name in attributes)
            if words:
                others[node] = _OTHER_WORD.search(words) is not None
                by_words[node] = _MENU_WORD.search(words) is not None
    part = 2 * chars <= chars.max(initial=0)
    regions: NDArray[np.bool_] = ~others & (nodes.named({"nav"}) | (by_words & part))
    return regions


def _below(nodes: Nodes, values: NDArray[Any]) -> NDArray[Any]:
    """(n_nodes,) sum of integer or Boolean values over all that is below each node, itself not included."""
    below: NDArray[Any] = subtree_sums(nodes, values) - values
    return below


def _in_any(nodes: Nodes, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(n_nodes,) whether a node is marked or below a marked one."""
    steps = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.add.at(steps, np.flatnonzero(marked), 1)
    np.add.at(steps, nodes.end[marked], -1)
    inside: NDArray[np.bool_] = np.cumsum(steps[:-1]) > 0
    return inside


#: Ways to find a menu by name; see :func:`find_menu`.
METHODS: Mapping[str, Callable[[Page], _Judged]] = MappingProxyType({"ratio": _ratio, "weighted": _weighted})
