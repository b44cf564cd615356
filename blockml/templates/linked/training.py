"""Pages to train a page's template on, among its links: a complete subdigraph, or pages of similar structure.

The pages that a menu links to contain that menu, so all of them link to each other; they very likely share the template
of the page that the menu is on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.page import Page
from blockml.templates.clustering import auto_threshold, single_linkage
from blockml.templates.distances import METRICS, distance_matrix
from blockml.templates.linked.links import Link, PageSource, find_links, host_of, names_of
from blockml.templates.linked.menus import ordered
from blockml.text.words import counted


class Lack(StrEnum):
    """Reason why there is no training set."""

    NO_LINKS = "no_links"  #: the page links to no other page
    NOTHING_LOADED = "nothing_loaded"  #: no link led to another page
    TOO_FEW_PAGES = "too_few_pages"  #: too few pages have a similar structure


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """A page and the pages it links to, clustered by structure."""

    pages: tuple[Page, ...]  #: The page itself and the other pages of its cluster, in the order of loading
    loaded: tuple[Page, ...]  #: (n,) the page itself and all pages compared with it
    labels: NDArray[np.int32]  #: (n,) cluster of each loaded page; 0 is that of the page itself
    #: Distance up to which clusters were merged; None if no rule gave one, or nothing was compared
    threshold: float | None
    #: Rule that gave the threshold: ``given``, or a source of :func:`~blockml.templates.clustering.auto_threshold`
    how: str
    n_links: int  #: Number of links of the page that could be followed
    n_loaded: int  #: Number of pages loaded, including the page itself and copies, without failures
    failed: tuple[str, ...]  #: Links that didn't lead to a page
    reason: Lack | None  #: Why the pages are too few to learn from; None if they suffice

    def __repr__(self) -> str:
        """Return a short form, because pages are long."""
        return f"TrainingSet({len(self.pages)} of {counted(self.n_loaded, 'page')}, {self.reason or self.how})"


def training_set(
    key: Page,
    source: PageSource,
    *,
    max_pages: int = 50,
    order: str = "document",
    same_site: bool = True,
    pages_only: bool = False,
    metric: str = "cp",
    threshold: float | None = None,
    min_train: int = 4,
) -> TrainingSet:
    """Load the pages that a page links to, and keep those of similar structure.

    The pages are clustered by single linkage; the cluster of the given page is the training set. Pages with exactly the
    text of the given page are dropped, because all of it repeats on them, and so are pages reached a second time by
    another link. If there are too few, the result has only the given page and a reason. Raises UsageError for options
    out of range, and UnknownNameError for an unknown order or metric.

    Parameters
    ----------
    key
        Page whose template is to be found.
    source
        Source of the other pages.
    max_pages
        Maximum number of links followed, including failures (our choice).
    order
        Order of following links; see :func:`~blockml.templates.linked.menus.ordered`.
    same_site, pages_only
        Filters of links; see :func:`~blockml.templates.linked.links.find_links`.
    metric
        Distance, a name of :data:`~blockml.templates.distances.METRICS`. ``cp`` is the fastest of three that performed
        equally well (Gottron 2008).
    threshold
        Maximum distance at which clusters are merged; :func:`~blockml.templates.clustering.auto_threshold` if None.
    min_train
        Minimum number of pages, including the given one (our choice). With two, all that they share would be template.

    Examples
    --------
    >>> import blockml
    >>> class Site(PageSource):
    ...     def get(self, url):
    ...         html = f"<ul><li>{url}</ul>" if url.endswith("x") else f"<h1>{url}</h1><p><a>More</a></p>"
    ...         return blockml.parse(html, url=url)
    >>> html = "<h1>Home</h1>" + "".join(f"<p><a href={name}>{name}</a></p>" for name in "axbc")
    >>> found = training_set(blockml.parse(html, url="http://example.org/"), Site(), threshold=0.5)
    >>> [page.url[-1] for page in found.pages], found.labels.tolist(), found.how, found.reason
    (['/', 'a', 'b', 'c'], [0, 0, 1, 0, 0], 'given', None)
    """
    if max_pages < 0:
        raise UsageError(f"max_pages, the number of links followed, must be at least 0, got {max_pages}")
    if min_train < 1:
        raise UsageError(f"min_train, the size of a training set, must be at least 1, got {min_train}")
    if threshold is not None and not threshold >= 0:
        raise UsageError(f"threshold must be a non-negative distance, got {threshold}")
    check_name("metric", metric, METRICS)
    reach = ordered(key, find_links(key, source, same_site=same_site, pages_only=pages_only), order, source)
    others, n_loaded, failed = _load(key, source, reach, max_pages)
    loaded = (key, *others)
    labels, how = np.zeros(len(loaded), dtype=np.int32), "none" if threshold is None else "given"
    if others:
        matrix = distance_matrix(loaded, metric)
        if threshold is None:
            threshold, how = auto_threshold(matrix, metric)
        if threshold is not None:  # else no rule separates the pages
            labels = single_linkage(matrix, threshold=threshold).labels
    pages = tuple(page for page, label in zip(loaded, labels.tolist(), strict=True) if label == 0)
    reason = None
    if len(pages) < min_train:
        reason = Lack.TOO_FEW_PAGES if others else Lack.NOTHING_LOADED if reach else Lack.NO_LINKS
    return TrainingSet(
        pages=pages,
        loaded=loaded,
        labels=labels,
        threshold=threshold,
        how=how,
        n_links=len(reach),
        n_loaded=n_loaded,
        failed=failed,
        reason=reason,
    )


def _load(
    key: Page, source: PageSource, reach: Sequence[Link], max_pages: int
) -> tuple[list[Page], int, tuple[str, ...]]:
    """Return the pages behind the first links other than the given page and its copies, the count, and failed links."""
    known = names_of(key, source)
    pages: list[Page] = []
    failed: list[str] = []
    n_followed = 0
    for url, _ in reach:
        if url in known:
            continue
        if n_followed == max_pages:
            break
        n_followed += 1
        page = source.get(url)
        if page is None:
            failed.append(url)
            continue
        names = names_of(page, source)
        if known.isdisjoint(names) and not is_copy(page, key):
            pages.append(page)
        known |= {url, *names}
    return pages, 1 + n_followed - len(failed), tuple(failed)


@dataclass(frozen=True, slots=True, eq=False)
class Subdigraph:
    """Mutually linked pages and the cost of finding them."""

    urls: tuple[str, ...]  #: Links of the given page that lead to them, in the order followed
    pages: tuple[Page, ...]  #: The pages, without the given page
    complete: bool  #: Whether ``n`` pages were found; else this is the largest set found
    n_links: int  #: Number of links of the page that could be followed
    n_loaded: int  #: Pages loaded, including the given page, without failures
    failed: tuple[str, ...]  #: Links that didn't lead to a page


def find_subdigraph(
    key: Page, source: PageSource, *, n: int = 4, order: str = "document", max_loads: int = 50
) -> Subdigraph:
    """Find mutually linked pages among those that the given page links to, loading as few as possible.

    Links are followed one by one. After each, the largest set of mutually linked pages with the new one is searched;
    the search ends with the first set of ``n``. Only targets that the given page also links to count. Links to the key
    page don't count, nor do pages with exactly its text, because all of it would be template.

    A redirected page has two URLs, and links to either lead to it; a link to a known page is not followed again or, if
    it proves to be one only after loading, adds another URL to it. A redirect to the given page is a link to it; a
    redirect to another site is not a link of this site. Returns ``n`` pages, or the first largest set found. Raises
    UsageError for ``n`` below 1 or ``max_loads`` below 0, and UnknownNameError for an unknown order.

    Parameters
    ----------
    key
        The page whose links are followed.
    source
        Source of the pages.
    n
        Number of mutually linked pages to find. 4 is the published optimum (Alarte et al. 2014).
    order
        Order of following links; see :func:`~blockml.templates.linked.menus.ordered`.
    max_loads
        Maximum number of links followed, including failures (our choice).

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
        raise UsageError(f"n, the number of mutually linked pages, must be at least 1, got {n}")
    if max_loads < 0:
        raise UsageError(f"max_loads, the number of links followed, must be at least 0, got {max_loads}")
    reach = ordered(key, find_links(key, source), order, source)
    graph = _Graph(key, source)
    best: list[int] = []
    n_followed = 0
    for link in reach:
        if link.url in graph.numbers:
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
        urls=tuple(graph.requested[i] for i in best),
        pages=tuple(graph.pages[i] for i in best),
        complete=len(best) == n,
        n_links=len(reach),
        n_loaded=1 + n_followed - len(graph.failed),
        failed=tuple(graph.failed),
    )


def is_copy(page: Page, key: Page) -> bool:
    """Return whether a page has exactly the text of the given page. Pages without text (framesets) are not copies.

    Examples
    --------
    >>> import blockml
    >>> key = blockml.parse("<p>One text</p>")
    >>> is_copy(blockml.parse("<div><p>One  text</div>"), key), is_copy(blockml.parse("<p>Two"), key)
    (True, False)
    """
    return len(key.blocks) > 0 and page.blocks.texts == key.blocks.texts


class _Graph:
    """Loaded pages by number, and which of them link to each other."""

    def __init__(self, key: Page, source: PageSource) -> None:
        self.pages: list[Page] = []
        self.requested: list[str] = []
        self.failed: list[str] = []
        self._key = key
        self._source = source
        self._site = host_of(key.url) if key.url else None
        #: Number of the page at each known URL; None for the given page and for pages that don't count.
        self.numbers: dict[str, int | None] = dict.fromkeys(names_of(key, source))
        self._names: list[set[str]] = []
        self._targets: list[set[str]] = []
        #: Bit ``j`` of entry ``i``: the two link to each other.
        self._mutual: list[int] = []

    def load(self, url: str) -> int | None:
        """Load a page and return its number if it is new or newly reachable by this URL."""
        page = self._source.get(url)
        if page is None:
            self.failed.append(url)
            return None
        names = {url, *names_of(page, self._source)}
        known = [self.numbers[name] for name in names if name in self.numbers]
        left_site = self._site is not None and bool(page.url) and host_of(page.url or "") != self._site
        if known:
            number = None if None in known else min(number for number in known if number is not None)
        elif is_copy(page, self._key) or left_site:
            number = None
        else:
            number = len(self.pages)
            self.pages.append(page)
            self.requested.append(url)
            self._names.append(set())
            self._targets.append({link.url for link in find_links(page, self._source, same_site=False)})
            self._mutual.append(0)
        self.numbers.update(dict.fromkeys(names, number))
        if number is not None:
            self._names[number] |= names
            self._connect(number)
        return number

    def _connect(self, new: int) -> None:
        """Record which pages and this one link to each other."""
        for other in range(len(self.pages)):
            to_other = not self._targets[new].isdisjoint(self._names[other])
            if other != new and to_other and not self._targets[other].isdisjoint(self._names[new]):
                self._mutual[new] |= 1 << other
                self._mutual[other] |= 1 << new

    def largest_with(self, page: int, limit: int) -> list[int]:
        """Return the first largest set of at most ``limit`` mutually linked pages that includes this one, ascending.

        A new page enlarges the largest set by at most one, so ``limit`` needs to be no more than that.
        """
        rest = _largest_clique(self._mutual, self._mutual[page], limit - 1)
        return sorted([*rest, page])


def _largest_clique(mutual: Sequence[int], among: int, limit: int) -> list[int]:
    """Return the first largest set of at most ``limit`` mutually linked pages within a bit set."""
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
    """Yield the positions of the set bits, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
