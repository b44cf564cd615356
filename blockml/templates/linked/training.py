"""Training set of a page's template: pages of similar structure among its links (Gottron 2008, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError, check_name
from blockml.page import Page
from blockml.templates.clustering import auto_threshold, single_linkage
from blockml.templates.distances import METRICS, distance_matrix
from blockml.templates.linked.link_order import ordered
from blockml.templates.linked.links import Link, PageSource, links, names_of
from blockml.templates.linked.subdigraph import is_copy
from blockml.text.plurals import counted


class Lack(StrEnum):
    """Reason why there is no training set."""

    NO_LINKS = "no_links"  #: the page links to no other page
    NOTHING_LOADED = "nothing_loaded"  #: no link led to another page
    TOO_FEW_PAGES = "too_few_pages"  #: too few pages have a similar structure


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """A page and the pages it links to, clustered by structure."""

    pages: tuple[Page, ...]  #: The key page and the other pages of its cluster, in the order loaded
    loaded: tuple[Page, ...]  #: (n,) the key page and all pages compared with it
    labels: NDArray[np.int32]  #: (n,) cluster of each loaded page; 0 is that of the key page
    #: Distance up to which clusters were merged; None if no rule gave one, or nothing was compared
    threshold: float | None
    #: Rule that gave the threshold: ``given``, or a source of :func:`~blockml.templates.clustering.auto_threshold`
    how: str
    n_links: int  #: Links of the key page that could be followed
    n_loaded: int  #: Pages loaded, including the key page and copies, without failures
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

    The pages are clustered by single linkage; the cluster of the key page is the training set. Pages with exactly the
    text of the key page are dropped, because all of it repeats on them, and so are pages reached a second time by
    another link. If there are too few, the result has only the key page and a reason. Raises UsageError for options out
    of range, and UnknownNameError for an unknown order or metric.

    Parameters
    ----------
    key
        Page whose template is to be found.
    source
        Source of the other pages.
    max_pages
        Maximum number of links followed, including failures (our choice).
    order
        Order of following links; see :func:`~blockml.templates.linked.link_order.ordered`.
    same_site, pages_only
        Filters of links; see :func:`~blockml.templates.linked.links.links`.
    metric
        Distance, a name of :data:`~blockml.templates.distances.METRICS`. ``cp`` is the fastest of three that performed
        equally well (Gottron 2008).
    threshold
        Maximum distance at which clusters are merged; :func:`~blockml.templates.clustering.auto_threshold` if None.
    min_train
        Minimum number of pages, including the key page (our choice). With two, everything they share would be template.

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
    reach = ordered(key, links(key, source, same_site=same_site, pages_only=pages_only), order, source)
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
    """Return the pages behind the first links other than the key page and its copies, the count, and failed links."""
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
