"""The menu of a page by the density of its links, and the order in which links are followed.

The pages that a menu links to are mutually linked and share the template, so they are the ones to load first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.page import Nodes, Page
from blockml.page.subtrees import nearest, subtree_sums, text_lengths
from blockml.templates.linked.links import Link, PageSource, base_url, find_links, host_of, join

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
    ``source`` resolves links, by default as :func:`~blockml.templates.linked.links.resolve_link`. Raises
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
    return Menu(node, find_links(page, source, within=node, frames=False), float(scored.scores[node]))


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
    region = nearest(nodes, _regions(nodes, chars)) >= 0
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


#: Detection methods by name; see :func:`find_menu`.
MENU_METHODS: Mapping[str, Callable[[Page], _Scores]] = MappingProxyType({"ratio": _ratio, "weighted": _weighted})


#: Reorders the links of a page; the source resolves further links.
Order = Callable[[Page, Sequence[Link], PageSource | None], tuple[Link, ...]]


def ordered(
    page: Page, links: Sequence[Link], order: str = "document", source: PageSource | None = None
) -> tuple[Link, ...]:
    """Put the links of a page in the order in which to follow them.

    Raises UnknownNameError for an unknown order.

    Parameters
    ----------
    page
        The page.
    links
        Its links, from :func:`~blockml.templates.linked.links.find_links`.
    order
        ``document``: document order (Alarte et al. 2014). ``hierarchy``: first links within the page's own directory,
        by depth, then those one directory up, and so on; within a level always the link whose nearest link chosen
        before is farthest in the DOM tree (public successor of their implementation). ``menu``: first the links of the
        menu that :func:`~blockml.templates.linked.menus.find_menu` finds (future work of Alarte et al. 2014).
    source
        Resolves the links of the menu, as in ``links``.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.linked.links import find_links
    >>> page = blockml.parse("<a href=/x/y>1</a><a href=../c>2</a><a href=d>3</a>", url="http://ex.org/a/b/")
    >>> [link.url for link in ordered(page, find_links(page), "hierarchy")]
    ['http://ex.org/a/b/d', 'http://ex.org/a/c', 'http://ex.org/x/y']
    """
    check_name("order of links", order, ORDERS)
    return ORDERS[order](page, links, source)


def _document(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:  # noqa: ARG001
    return tuple(sorted(links, key=lambda link: link.node))


def _menu(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:
    """Put links of the menu first, compared by URL because the same link may also occur before the menu."""
    links = _document(page, links, source)
    menu = find_menu(page, source=source)
    if menu is None:
        return links
    inside = {link.url for link in menu.links}
    return tuple(sorted(links, key=lambda link: link.url not in inside))  # sorting is stable


def _hierarchy(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:
    """Sort links by the level of their directory, farthest first within a level."""
    here = _directory(page.url or "")
    levels: dict[tuple[int, int], list[Link]] = defaultdict(list)
    for link in _document(page, links, source):
        levels[_level(here, _directory(link.url))].append(link)
    return tuple(
        level[place]
        for key in sorted(levels)
        for level in [levels[key]]
        for place in farthest_first(page.nodes, [link.node for link in level])
    )


def _directory(url: str) -> list[str]:
    """Split a URL into host and directories, or a path into directories."""
    return url.partition("?")[0].partition("://")[2 if "://" in url else 0].split("/")[:-1]


def _level(here: Sequence[str], there: Sequence[str]) -> tuple[int, int]:
    """Count the directories to go up, and then down."""
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False))))
    return len(here) - common, len(there) - common


def farthest_first(nodes: Nodes, places: Sequence[int]) -> list[int]:
    """Order nodes so that each is as far as possible, in tree edges, from the nearest one before it.

    Takes (k,) ascending node indices and returns (k,) positions in them. The first node stays first; ties go to the
    lower index.

    Examples
    --------
    >>> import blockml
    >>> nodes = blockml.parse("<ul><li><b>a</b><b>c</b></ul><p><b>d</b>").nodes
    >>> farthest_first(nodes, nodes.named({"b"}).nonzero()[0].tolist())
    [0, 2, 1]
    """
    if not places:
        return []
    depth = nodes.depth[np.asarray(places)].astype(np.int64)
    shared = _shared_depths(nodes, places)
    nearest = np.full(len(places), np.iinfo(np.int64).max)
    chosen = [0]
    for _ in range(len(places) - 1):
        last = chosen[-1]
        # In document order two nodes share exactly what all adjacent pairs between them share.
        to_last = np.empty_like(depth)
        to_last[last] = depth[last]
        to_last[last + 1 :] = np.minimum.accumulate(shared[last:])
        to_last[:last] = np.minimum.accumulate(shared[:last][::-1])[::-1]
        nearest = np.minimum(nearest, depth[last] + depth - 2 * to_last)
        nearest[last] = -1
        chosen.append(int(nearest.argmax()))
    return chosen


def _shared_depths(nodes: Nodes, places: Sequence[int]) -> NDArray[np.int64]:
    """Return (k - 1,) depths of the lowest common ancestor of adjacent nodes; -1 if they have different roots.

    Climbing stops at or before the previous node, so all climbs together visit each node once.
    """
    shared = np.empty(len(places) - 1, dtype=np.int64)
    for i, (one, other) in enumerate(pairwise(places)):
        node = other
        while node > one:
            node = int(nodes.parent[node])
        shared[i] = nodes.depth[node] if node >= 0 else -1
    return shared


#: Link orders by name.
ORDERS: Mapping[str, Order] = MappingProxyType({"document": _document, "hierarchy": _hierarchy, "menu": _menu})
