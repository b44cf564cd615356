"""Order in which the links of a page are followed, to load as few pages as possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blockml.errors import check_name
from blockml.page import Nodes, Page
from blockml.templates.linked.links import Link, PageSource
from blockml.templates.linked.menus import find_menu

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
        Its links, from :func:`~blockml.templates.linked.links.links`.
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
    >>> from blockml.templates.linked.links import links
    >>> page = blockml.parse("<a href=/x/y>1</a><a href=../c>2</a><a href=d>3</a>", url="http://ex.org/a/b/")
    >>> [link.url for link in ordered(page, links(page), "hierarchy")]
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
