"""Pages that link to each other, among those that a page links to (Alarte et al. 2014, Algorithm 1).

What a menu leads to carries that menu, so these pages form a complete subdigraph: each links to each other one. Such
pages very likely share the template of the page that the search starts from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.linked.link_order import ordered
from blockml.templates.linked.links import links, names_of
from blockml.templates.linked.source import PageSource
from blockml.templates.linked.urls import host_of

__all__ = ["Subdigraph", "find_subdigraph", "is_copy"]


@dataclass(frozen=True, slots=True, eq=False)
class Subdigraph:
    """Mutually linked pages, and what it took to find them."""

    urls: tuple[str, ...]
    """The links of the key page that lead to them, in the order they were followed."""
    pages: tuple[Page, ...]
    """The pages; the key page is none of them."""
    complete: bool
    """Whether there are as many as were asked for; else these are the most that were found."""
    n_links: int
    """Links of the key page that could be followed."""
    n_loaded: int
    """Pages loaded, the key page included; failures are not."""
    failed: tuple[str, ...]
    """Links that led to no page."""


def find_subdigraph(
    key: Page,
    source: PageSource,
    *,
    n: int = 4,
    order: str = "document",
    max_loads: int = 50,
    same_site: bool = True,
    pages_only: bool = False,
) -> Subdigraph:
    """Find pages that link to each other among those that the key page links to, loading as few as possible.

    The links are followed one by one. After each, the largest set of pages is looked for that contains the new one and
    in which each page links to each other; the search ends with the first set of ``n``. What a page links to counts
    only as far as the key page links to it too. Links to the key page don't count, and neither do pages with just its
    text: their template would be all of it.

    A page may have other URLs than the one that was asked for: the one it has after a redirect. Both then are the
    same page, and links to either lead to it; a link that leads to a page already known is not followed again, or, if
    that shows only after loading, adds one more URL to it. A redirect to the key page is a link to the key page; one
    to another site is no link of this site.

    Parameters
    ----------
    key
        The page whose links are followed.
    source
        Where the pages come from.
    n
        How many mutually linked pages are enough. 4 is the published optimum (Alarte et al. 2014).
    order
        In which order the links are followed; see :func:`~blockml.templates.linked.link_order.ordered`.
    max_loads
        How many links are followed at most (our choice); links that fail count, the key page doesn't.
    same_site, pages_only
        Which links count; see :func:`~blockml.templates.linked.links.links`.

    Returns
    -------
    Subdigraph
        ``n`` pages; if there are not as many, the largest set found first; empty if no page could be loaded.

    Raises
    ------
    UsageError
        ``n`` is below 1 or ``max_loads`` below 0.
    UnknownNameError
        No such order.

    Examples
    --------
    >>> import blockml
    >>> class Site(PageSource):
    ...     def get(self, url):
    ...         links = {"/a": "b c", "/b": "a c", "/c": "a"}[url[-2:]].split()
    ...         return blockml.parse(url + "".join(f"<a href={link}>{link}</a>" for link in links), url=url)
    >>> key = blockml.parse("<a href=a>a</a><a href=b>b</a><a href=c>c</a>", url="http://example.org/")
    >>> found = find_subdigraph(key, Site(), n=3)
    >>> found.urls, found.complete, found.n_loaded
    (('http://example.org/a', 'http://example.org/b'), False, 4)
    """
    if n < 1:
        raise UsageError(f"n, the number of mutually linked pages, is at least 1, not {n}")
    if max_loads < 0:
        raise UsageError(f"max_loads, the number of links followed, is at least 0, not {max_loads}")
    found = links(key, source, same_site=same_site, pages_only=pages_only)
    reach = ordered(key, found, order, source)
    graph = _Graph(key, source, same_site=same_site)
    best: list[int] = []
    n_followed = 0
    for link in reach:
        if graph.knows(link.url):
            continue
        if n_followed == max_loads:
            break
        n_followed += 1
        new = graph.load(link.url)
        if new is None:
            continue
        largest = graph.largest_with(new, limit=min(n, len(best) + 1))
        if len(largest) > len(best):
            best = largest
        if len(best) == n:
            break
    return Subdigraph(
        urls=tuple(graph.asked[i] for i in best),
        pages=tuple(graph.pages[i] for i in best),
        complete=len(best) == n,
        n_links=len(reach),
        n_loaded=1 + n_followed - len(graph.failed),
        failed=tuple(graph.failed),
    )


def is_copy(page: Page, key: Page) -> bool:
    """Whether a page shows just the text of the key page. Pages without text, such as sets of frames, are no copies.

    Examples
    --------
    >>> import blockml
    >>> key = blockml.parse("<p>One text</p>")
    >>> is_copy(blockml.parse("<div><p>One  text</div>"), key), is_copy(blockml.parse("<p>Two"), key)
    (True, False)
    """
    return len(key.blocks) > 0 and page.blocks.texts == key.blocks.texts


class _Graph:
    """The pages loaded so far, by number, and which of them link to each other."""

    def __init__(self, key: Page, source: PageSource, *, same_site: bool) -> None:
        self.pages: list[Page] = []
        self.asked: list[str] = []
        self.failed: list[str] = []
        self._key = key
        self._source = source
        self._site = host_of(key.url) if same_site and key.url else None
        #: Number of the page behind each URL; None for the key page and for pages that don't count.
        self._numbers: dict[str, int | None] = dict.fromkeys(names_of(key, source))
        self._names: list[set[str]] = []
        self._targets: list[set[str]] = []
        #: Bit ``j`` of entry ``i``: the two link to each other.
        self._mutual: list[int] = []

    def knows(self, url: str) -> bool:
        """Whether it is clear, without loading it, which page has this URL."""
        return url in self._numbers

    def load(self, url: str) -> int | None:
        """Load a page; its number if it is new or can be reached in a new way."""
        page = self._source.get(url)
        if page is None:
            self.failed.append(url)
            return None
        names = {url, *names_of(page, self._source)}
        known = [self._numbers[name] for name in names if name in self._numbers]
        if known:
            number = None if None in known else min(number for number in known if number is not None)
        elif is_copy(page, self._key) or (self._site is not None and self._left_site(page)):
            number = None
        else:
            number = len(self.pages)
            self.pages.append(page)
            self.asked.append(url)
            self._names.append(set())
            self._targets.append({link.url for link in links(page, self._source, same_site=False)})
            self._mutual.append(0)
        self._numbers.update(dict.fromkeys(names, number))
        if number is not None:
            self._names[number] |= names
            self._connect(number)
        return number

    def _left_site(self, page: Page) -> bool:
        return bool(page.url) and host_of(page.url or "") != self._site

    def _connect(self, new: int) -> None:
        """Note which pages link to this one and back."""
        for other in range(len(self.pages)):
            if other != new and self._links(new, other) and self._links(other, new):
                self._mutual[new] |= 1 << other
                self._mutual[other] |= 1 << new

    def _links(self, one: int, other: int) -> bool:
        return not self._targets[one].isdisjoint(self._names[other])

    def largest_with(self, page: int, limit: int) -> list[int]:
        """The largest set of mutually linked pages with this one, of at most ``limit``, ascending.

        Of equal ones it is the first in the order of numbers. A set can be larger by one at most than the largest one
        without the new page, so ``limit`` needn't be more than that.
        """
        rest = _largest_clique(self._mutual, self._mutual[page], limit - 1)
        return sorted([*rest, page])


def _largest_clique(mutual: Sequence[int], among: int, limit: int) -> list[int]:
    """The first largest set of mutually linked pages, of at most ``limit``, among those with a bit set."""
    best: list[int] = []
    stack: list[tuple[list[int], int]] = [([], among)]
    while stack:
        chosen, rest = stack.pop()
        if len(chosen) > len(best):
            best = chosen
        if len(best) >= limit:
            break
        further = []
        for page in _bits(rest):
            if len(chosen) + rest.bit_count() <= len(best):
                break
            rest &= ~(1 << page)
            further.append(([*chosen, page], rest & mutual[page]))
        stack += reversed(further)
    return best


def _bits(mask: int) -> Iterable[int]:
    """Places of the bits that are set, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
