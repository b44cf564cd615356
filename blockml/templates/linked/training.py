"""Pages built like a page, among those it links to: what its template can be learned from (Gottron 2008, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UnknownNameError, UsageError
from blockml.page import Page
from blockml.templates.clustering import auto_threshold, single_linkage
from blockml.templates.distances import METRICS, distance_matrix
from blockml.templates.linked.link_order import ordered
from blockml.templates.linked.links import Link, links, names_of
from blockml.templates.linked.source import PageSource
from blockml.templates.linked.subdigraph import is_copy

__all__ = ["Lack", "TrainingSet", "training_set"]


class Lack(StrEnum):
    """Why there is no training set to learn from."""

    NO_LINKS = "no_links"  #: the page links to no other page
    NOTHING_LOADED = "nothing_loaded"  #: no link led to another page
    TOO_FEW_PAGES = "too_few_pages"  #: too few of the pages are built like it


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSet:
    """A page and the pages it links to, in groups by how they are built."""

    pages: tuple[Page, ...]
    """The key page, then those of its group in the order they were loaded."""
    loaded: tuple[Page, ...]
    """(n,) the key page, then all pages that were compared with it."""
    labels: NDArray[np.int32]
    """(n,) group of each of these; 0 is that of the key page."""
    threshold: float | None
    """Distance up to which groups were merged; None if nothing told them apart, or nothing was compared."""
    how: str
    """Where the threshold comes from: ``given``, or ``gap``, ``preset`` or ``none``; see
    :func:`~blockml.templates.clustering.auto_threshold`."""
    n_links: int
    """Links of the key page that could be followed."""
    n_loaded: int
    """Pages loaded, the key page and copies included; failures are not."""
    failed: tuple[str, ...]
    """Links that led to no page."""
    reason: Lack | None
    """Why the pages are too few to learn from; None if they are enough."""

    def __repr__(self) -> str:
        """Short: the pages are long."""
        return f"TrainingSet({len(self.pages)} of {self.n_loaded} pages, {self.reason or self.how})"


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
    """Load the pages that a page links to, and keep those that are built like it.

    The pages are clustered by single linkage; the cluster of the key page is the training set. Pages with just the
    text of the key page are dropped, for on them all of it repeats; so are pages that come a second time, by another
    link.

    Parameters
    ----------
    key
        The page whose template is wanted.
    source
        Where the other pages come from.
    max_pages
        How many links are followed at most (our choice); links that fail count too.
    order
        In which order; see :func:`~blockml.templates.linked.link_order.ordered`.
    same_site, pages_only
        Which links count; see :func:`~blockml.templates.linked.links.links`.
    metric
        Distance of two pages, a name of :data:`~blockml.templates.distances.METRICS`. ``cp`` is the fastest of three
        that did equally well (Gottron 2008).
    threshold
        Distance up to which clusters are merged; :func:`~blockml.templates.clustering.auto_threshold` if None.
    min_train
        How many pages make a training set, the key page included (our choice). With two, all that the other page has
        as well would be template.

    Returns
    -------
    TrainingSet
        With the key page alone, and a reason, if there is nothing to learn from.

    Raises
    ------
    UsageError
        ``max_pages`` or ``threshold`` is below 0, or ``min_train`` below 1.
    UnknownNameError
        No such order or metric.

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
        raise UsageError(f"max_pages, the number of links followed, is at least 0, not {max_pages}")
    if min_train < 1:
        raise UsageError(f"min_train, the number of pages of a training set, is at least 1, not {min_train}")
    if threshold is not None and not threshold >= 0:
        raise UsageError(f"threshold is a distance, at least 0, not {threshold}")
    if metric not in METRICS:
        raise UnknownNameError("metric", metric, METRICS)
    reach = ordered(key, links(key, source, same_site=same_site, pages_only=pages_only), order, source)
    others, n_loaded, failed = _load(key, source, reach, max_pages)
    loaded = (key, *others)
    labels, used, how = np.zeros(1, dtype=np.int32), threshold, "none" if threshold is None else "given"
    if others:
        labels, used, how = _clustered(loaded, metric, threshold)
    pages = tuple(page for page, label in zip(loaded, labels.tolist(), strict=True) if label == 0)
    reason = None
    if len(pages) < min_train:
        reason = Lack.TOO_FEW_PAGES if others else Lack.NOTHING_LOADED if reach else Lack.NO_LINKS
    return TrainingSet(
        pages=pages,
        loaded=loaded,
        labels=labels,
        threshold=used,
        how=how,
        n_links=len(reach),
        n_loaded=n_loaded,
        failed=failed,
        reason=reason,
    )


def _load(
    key: Page, source: PageSource, reach: Sequence[Link], max_pages: int
) -> tuple[list[Page], int, tuple[str, ...]]:
    """Pages behind the first links that are neither the key page nor copies of it; pages loaded; links that failed."""
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


def _clustered(
    pages: Sequence[Page], metric: str, threshold: float | None
) -> tuple[NDArray[np.int32], float | None, str]:
    """Labels of the pages, the threshold, and where it comes from. The first page's label is 0."""
    matrix = distance_matrix(pages, metric)
    how = "given"
    if threshold is None:
        threshold, how = auto_threshold(matrix, metric)
    if threshold is None:  # nothing tells them apart
        return np.zeros(len(pages), dtype=np.int32), None, how
    return single_linkage(matrix, threshold=threshold).labels, threshold, how
