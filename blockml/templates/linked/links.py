"""Links of a page to other pages, and the interface for folders, archives and the web as sources of pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from blockml.page import Page
from blockml.templates.linked.urls import base_url, host_of, join, normalise, resolve_link

#: Elements that link to another page, and the attribute with its URL.
LINKING: Mapping[str, str] = {"a": "href", "area": "href"}

#: Elements that embed another page, and the attribute with its URL.
FRAMING: Mapping[str, str] = {"frame": "src", "iframe": "src"}

#: Extensions of pages, and parts of the paths of other files (public successor of the implementation of Alarte et al.
#: 2014).
PAGE_EXTENSIONS = frozenset({"", "html", "htm", "php", "php3", "asp"})
_NO_PAGES = ("/file", "feeds", ".pdf", "/rss")


class PageSource(ABC):
    """Source of pages by URL; a page that can't be loaded gives None, never an error."""

    @abstractmethod
    def get(self, url: str) -> Page | None:
        """Load and parse a page, with the base URL of its links as its ``url``."""

    def resolve(self, page: Page, href: str) -> str | None:
        """Return the URL of a page's link in the form that :meth:`get` accepts; None if it doesn't lead to a page."""
        return resolve_link(page, href)


class Link(NamedTuple):
    """Link of a page."""

    url: str  #: Target, in the form that :meth:`~blockml.templates.linked.links.PageSource.get` accepts
    node: int  #: Index of the first element with this link


def links(
    page: Page,
    source: PageSource | None = None,
    *,
    same_site: bool = True,
    pages_only: bool = False,
    frames: bool = True,
    within: int | None = None,
) -> tuple[Link, ...]:
    """List the links of a page to other pages in document order, each URL once.

    Parameters
    ----------
    page
        The page. Without ``url``, only absolute links can be resolved, and its site is unknown unless a ``<base href>``
        gives it.
    source
        Resolves links; :func:`~blockml.templates.linked.urls.resolve_link` if None.
    same_site
        Keep only links to the page's own site, because other sites rarely share its template (Alarte et al. 2014); see
        :func:`~blockml.templates.linked.urls.same_site`. Gottron (2008) keeps all links and leaves the choice to
        clustering.
    pages_only
        Drop URLs whose path does not look like a page, such as images and feeds; see :func:`is_page`.
    frames
        Include the pages in ``frame`` and ``iframe``, the only links of a frameset.
    within
        Index of an element: keep only links below it.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<a href=b>b</a> <a href=#top>up</a> <a href=//x.net>x</a>", url="http://ex.org/a")
    >>> links(page)
    (Link(url='http://ex.org/b', node=3),)
    >>> [link.url for link in links(page, same_site=False)]
    ['http://ex.org/b', 'http://x.net/']
    """
    own = names_of(page, source)
    site = host_of(page.url or base_url(page) or "")
    found: dict[str, Link] = {}
    for url, node in _resolved(page, source, {**LINKING, **FRAMING} if frames else LINKING, within):
        if url not in found and url not in own:
            found[url] = Link(url, node)
    return tuple(
        link
        for link in found.values()
        if (not same_site or host_of(link.url) == site) and (not pages_only or is_page(link.url))
    )


def is_page(url: str) -> bool:
    """Return whether a URL looks like a page, by the extension and some parts of its path.

    Examples
    --------
    >>> [is_page(url) for url in ("http://a.org/", "http://a.org/b.htm?c=d.e", "http://a.org/b.jpg", "http://a.org/rss")]
    [True, True, False, False]
    """
    path = (url.partition("://")[2].partition("/")[2] if "://" in url else url).partition("?")[0]
    path = f"/{path}".lower()
    extension = path.rpartition("/")[2].partition(".")[2].rpartition(".")[2]
    return extension in PAGE_EXTENSIONS and not any(piece in path for piece in _NO_PAGES)


def names_of(page: Page, source: PageSource | None = None) -> set[str]:
    """Return all forms of a page's URL; empty if it has none.

    Examples
    --------
    >>> import blockml
    >>> sorted(names_of(blockml.parse("", url="http://Example.org")))
    ['http://Example.org', 'http://example.org/']
    """
    if not page.url:
        return set()
    resolved = source.resolve(page, page.url) if source is not None else None
    return {name for name in (page.url, normalise(page.url), resolved) if name is not None}


def _resolved(
    page: Page, source: PageSource | None, attributes: Mapping[str, str], within: int | None
) -> Iterable[tuple[str, int]]:
    """Yield URL and node of each link in document order, resolving each distinct ``href`` once."""
    nodes = page.nodes
    base = base_url(page) if source is None else None
    known: dict[str, str | None] = {}
    leading = nodes.named(attributes.keys())
    first, end = (0, len(nodes)) if within is None else (within, int(nodes.end[within]))
    for node in (leading[first:end].nonzero()[0] + first).tolist():
        href = nodes.attributes[node].get(attributes[nodes.name(node)])
        if href is None:
            continue
        if href not in known:
            known[href] = join(base, href) if source is None else source.resolve(page, href)
        url = known[href]
        if url is not None:
            yield url, node
