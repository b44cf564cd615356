"""In which order the links of a page are followed, so that few pages have to be loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError
from blockml.page import Nodes, Page
from blockml.templates.linked.links import Link
from blockml.templates.linked.menus import find_menu
from blockml.templates.linked.source import PageSource

__all__ = ["ORDERS", "Order", "ordered"]

#: From a page, its links, and what resolves links, to the same links in another order.
Order = Callable[[Page, Sequence[Link], PageSource | None], tuple[Link, ...]]


def ordered(
    page: Page, links: Sequence[Link], order: str = "document", source: PageSource | None = None
) -> tuple[Link, ...]:
    """Put the links of a page into the order in which to follow them.

    Parameters
    ----------
    page
        The page they stand on.
    links
        Its links, from :func:`~blockml.templates.linked.links.links`.
    order
        ``document``: as they stand (Alarte et al. 2014). ``hierarchy``: first links to the page's own directory and
        below, by depth, then to that above and below, and so on; among equals always the one whose nearest one chosen
        before is farthest in the tree of the page (public successor of their implementation). ``menu``: first the links
        of the menu that :func:`~blockml.templates.linked.menus.find_menu` finds, then the others as they stand (the
        future work of Alarte et al. 2014).
    source
        What the links were resolved with.

    Raises
    ------
    UnknownNameError
        No such order.

    Examples
    --------
    >>> import blockml
    >>> from blockml.templates.linked.links import links
    >>> page = blockml.parse("<a href=/x/y>1</a><a href=../c>2</a><a href=d>3</a>", url="http://ex.org/a/b/")
    >>> [link.url for link in ordered(page, links(page), "hierarchy")]
    ['http://ex.org/a/b/d', 'http://ex.org/a/c', 'http://ex.org/x/y']
    """
    if order not in ORDERS:
        raise UnknownNameError("order of links", order, ORDERS)
    return ORDERS[order](page, links, source)


def _document(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:  # noqa: ARG001
    return tuple(sorted(links, key=lambda link: link.node))


def _menu(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:
    """Links of the menu first; told by URL, for the same link may stand somewhere before the menu as well."""
    links = _document(page, links, source)
    menu = find_menu(page, source=source)
    if menu is None:
        return links
    inside = {link.url for link in menu.links}
    return tuple(sorted(links, key=lambda link: link.url not in inside))  # sorting keeps the order of equals


def _hierarchy(page: Page, links: Sequence[Link], source: PageSource | None) -> tuple[Link, ...]:
    """Levels by directory, farthest first inside of each."""
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
    """Host and directories of a URL, or directories of a path."""
    return url.partition("?")[0].partition("://")[2 if "://" in url else 0].split("/")[:-1]


def _level(here: Sequence[str], there: Sequence[str]) -> tuple[int, int]:
    """How many directories one has to go up, and how many down then."""
    common = 0
    for one, other in zip(here, there, strict=False):
        if one != other:
            break
        common += 1
    return len(here) - common, len(there) - common


def farthest_first(nodes: Nodes, places: Sequence[int]) -> list[int]:
    """Order nodes so that each is as far as can be from the nearest one before it.

    The distance is the number of steps in the tree. The first node stays first; ties go to the lower index.

    Parameters
    ----------
    nodes
        The tree.
    places
        (k,) node indices, ascending.

    Returns
    -------
    list of int
        (k,) positions in ``places``.

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
        # In document order two nodes share just what all neighbours between them share.
        to_last = np.empty_like(depth)
        to_last[last] = depth[last]
        to_last[last + 1 :] = np.minimum.accumulate(shared[last:])
        to_last[:last] = np.minimum.accumulate(shared[:last][::-1])[::-1]
        nearest = np.minimum(nearest, depth[last] + depth - 2 * to_last)
        nearest[last] = -1
        chosen.append(int(nearest.argmax()))
    return chosen


def _shared_depths(nodes: Nodes, places: Sequence[int]) -> NDArray[np.int64]:
    """(k - 1,) depth of the deepest element around each node and the next; -1 if they have different roots.

    Climbing from a node stops at or before the node before it, so all climbs together see each node of the page once.
    """
    shared = np.empty(len(places) - 1, dtype=np.int64)
    for i, (one, other) in enumerate(pairwise(places)):
        node = other
        while node > one:
            node = int(nodes.parent[node])
        shared[i] = nodes.depth[node] if node >= 0 else -1
    return shared


#: Orders of links by name.
ORDERS: Mapping[str, Order] = MappingProxyType({"document": _document, "hierarchy": _hierarchy, "menu": _menu})
