"""Structural distances between pages (Gottron 2008), pair by pair or as a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from blockml.errors import UsageError, check_name
from blockml.page import Page
from blockml.progress import ProgressCallback, ignore_progress
from blockml.templates.distances.metric import Matrix, Metric
from blockml.templates.distances.page_sketch import PageSketch, sketch
from blockml.templates.distances.rtdm import RestrictedTopDownMapping
from blockml.templates.distances.sets import (
    CommonPaths,
    CommonPathShingles,
    CommonTagSequenceShingles,
    LongestCommonTagSubsequence,
    TagVector,
)

__all__ = ["METRICS", "Metric", "PageSketch", "distance", "distance_matrix", "sketch"]

#: Distances by name with their default settings; ``METRICS["cps"].using(q=4)`` changes a setting.
METRICS: Mapping[str, Metric[Any]] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            RestrictedTopDownMapping(),
            CommonPaths(),
            CommonPathShingles(),
            TagVector(),
            LongestCommonTagSubsequence(),
            CommonTagSequenceShingles(),
        )
    }
)


def distance(a: Page | PageSketch, b: Page | PageSketch, metric: str = "cp", **settings: object) -> float:
    """Compute the structural distance of two pages; texts don't matter.

    Returns 0 for pages with equal elements in equal places. Raises UsageError on an unknown metric or setting, an
    invalid value, a sketch with classes and one without, or a page too large for a metric of quadratic cost.

    Parameters
    ----------
    a, b
        Pages or their sketches.
    metric
        A name from :data:`METRICS`: ``cp`` (common paths), ``cps`` (their shingles), ``ctss`` (shingles of the tag
        sequence), ``lcts`` (longest common subsequence of tags), ``rtdm`` (tree edit distance from above), all in
        [0, 1], or ``tv`` (tag counts), unbounded.
    **settings
        ``q`` (``cps``: 3, ``ctss``: 8), shingle length; ``norm`` (``rtdm``: ``"sum"``, ``"max"`` or None, the number
        of edits); ``max_nodes`` (``rtdm`` and ``lcts``), the largest page accepted.

    Notes
    -----
    The six distances of Gottron 2008, "Clustering Template Based Web Documents". To compare one page with many, call
    ``METRICS["cp"].prepare`` once per page and ``METRICS["cp"].compare`` per pair.

    Examples
    --------
    >>> import blockml
    >>> one, two = blockml.parse("<div><p>a</p></div>"), blockml.parse("<div><p>b</p><p>c</p></div><hr>")
    >>> round(distance(one, two), 3), distance(one, two, "rtdm", norm=None)
    (0.333, 2.0)
    """
    chosen = _chosen(metric, settings)
    first, second = _sketches([a, b])
    prepared = chosen.prepare(first), chosen.prepare(second)
    return 0.0 if first.fingerprint == second.fingerprint else chosen.compare(*prepared)


def distance_matrix(
    pages: Sequence[Page | PageSketch],
    metric: str = "cp",
    *,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
    **settings: object,
) -> Matrix:
    """Compute the distances of all pairs of pages.

    The matrix is symmetric with zeros on the diagonal, and independent of ``jobs``. Pages with equal elements are
    compared once. ``jobs`` is the number of processes for ``rtdm`` and ``lcts``, -1 for all cores; the other metrics
    compute the matrix as one sparse product. ``progress`` is called as :mod:`blockml.progress` says;
    ``metric`` and ``settings`` are those of :func:`distance`. Raises UsageError like :func:`distance`, and for 0 jobs.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(html) for html in ("<p>a</p>", "<p>b</p><p>c</p>", "<ul><li>d</ul>")]
    >>> distance_matrix(pages, "cp").tolist()
    [[0.0, 0.0, 0.5], [0.0, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    chosen = _chosen(metric, settings)
    if jobs == 0:
        raise UsageError("jobs must be a positive number of processes, or -1 for all cores, not 0")
    first: dict[bytes, int] = {}
    distinct: list[Any] = []
    place = []
    for page in _sketches(pages):
        number = first.setdefault(page.fingerprint, len(first))
        if number == len(distinct):
            distinct.append(chosen.prepare(page))
        place.append(number)
    places = np.array(place, dtype=np.intp)
    return chosen.matrix(distinct, jobs=jobs, progress=progress)[np.ix_(places, places)]


def _chosen(metric: str, settings: Mapping[str, object]) -> Metric[Any]:
    check_name("metric", metric, METRICS)
    return METRICS[metric].using(**settings)


def _sketches(pages: Sequence[Page | PageSketch]) -> list[PageSketch]:
    sketches = [page if isinstance(page, PageSketch) else sketch(page) for page in pages]
    if len({page.classes for page in sketches}) > 1:
        raise UsageError("sketches with classes can only be compared with each other: sketch all pages the same way")
    return sketches
