"""Clustering of pages by structure: distances, clusters and statistics of each cluster in one result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import BlockmlError, UsageError, check_name
from blockml.page import Page
from blockml.progress import ProgressCallback, ignore_progress
from blockml.templates.clustering import (
    Clustering,
    auto_threshold,
    average_linkage,
    distance_histogram,
    find_subclusters,
    k_medoids_runs,
    mds,
    minhash_linkage,
    single_linkage,
)
from blockml.templates.distances import METRICS, Metric, PageSketch, distance_matrix, sketch
from blockml.templates.distances.metric import Matrix
from blockml.templates.distances.sets import SetMetric
from blockml.text.sketches import stable_hash64

#: Clustering methods: single or average linkage, or ``k`` medoids.
LINKAGES = ("single", "average", "median")

#: Maximum number of pages for computing all distances; a matrix of 2,000 has 32 MB (our choice).
MOST_COMPARED = 2_000

#: Distance and threshold that separate a few pages of one site by template. Of three distances and six thresholds with
#: single linkage, these agreed best with the layouts of 14 real sites with 16 pages each: mean adjusted Rand index .64,
#: and as many clusters as layouts (3.4).
SITE_DISTANCE, SITE_THRESHOLD = "cp", 0.3

#: Size of the sample for the threshold and for the spread of a large cluster if there is no matrix (our choice).
SAMPLE_SIZE = 300
_SEED = 0

#: Maximum number of pages for a map, which takes quadratic time (our choice).
_MOST_MAPPED = 500

#: Number of starts of k-medoids; the best one counts (our choice: the published averages are over 100).
_N_STARTS = 20

#: Distance of subclusters, with classes: of six, the one that agreed best with the layouts of eight sites (our choice).
_SUBCLUSTER_METRIC = "cps"

_NO_SETTINGS: Mapping[str, object] = MappingProxyType({})

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class PageSummary:
    """Features of a page for clustering, and its statistics: a small part of its size."""

    url: str | None
    title: str
    n_blocks: int
    n_nodes: int
    sketch: PageSketch  #: Sketch for distances
    classes: PageSketch | None  #: Sketch with classes for subclusters; None if they aren't wanted
    texts: NDArray[np.uint64]  #: (n_texts,) keys of the distinct texts of its blocks
    words: NDArray[np.int64]  #: (n_texts,) words of the blocks with each text


def summarise_page(page: Page, *, subclusters: bool = False) -> PageSummary:
    """Extract the data that :func:`cluster_pages` needs, optionally for subclusters too, so that the page can be freed.

    Examples
    --------
    >>> import blockml
    >>> summary = summarise_page(blockml.parse("<title>Cats</title><p>Home</p><p>Cats rule.</p><p>Home</p>"))
    >>> summary.title, summary.n_blocks, sorted(summary.words.tolist())
    ('Cats', 3, [2, 2])
    """
    texts, place = np.unique(stable_hash64(page.blocks.texts), return_inverse=True)
    return PageSummary(
        url=page.url,
        title=page.title,
        n_blocks=len(page.blocks),
        n_nodes=len(page.nodes),
        sketch=sketch(page),
        classes=sketch(page, classes=True) if subclusters else None,
        texts=texts,
        words=np.bincount(place.reshape(-1), page.blocks.n_words, len(texts)).astype(np.int64),
    )


def cluster_pages(
    pages: Sequence[Page | PageSummary],
    ids: Sequence[str],
    *,
    distance: str = "cp",
    threshold: float | Literal["auto"] | None = "auto",
    k: int | None = None,
    linkage: str = "single",
    subclusters: bool = False,
    minhash: bool = False,
    truth: Sequence[str | None] | None = None,
    pictures: bool = True,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
    settings: Mapping[str, object] = _NO_SETTINGS,
) -> dict[str, Any]:
    """Cluster pages by structure.

    Up to 2,000 pages are clustered by all their distances. More are clustered by single linkage of sets of features
    with MinHash, which gives the same clusters; an automatic threshold, and the statistics of a larger cluster, then
    come from a sample of 300 pages. Raises UsageError for an unknown name or setting, conflicting options, numbers out
    of range, a page too large for the distance, or ids other than n distinct ones, and MissingExtraError for more than
    2,000 pages without the package datasketch.

    Parameters
    ----------
    pages
        n pages, or their summaries from :func:`summarise_page`.
    ids
        n distinct names.
    distance
        A name from :data:`~blockml.templates.distances.METRICS`; for more than 2,000 pages ``cp``, ``cps`` or ``ctss``.
    threshold
        Maximum distance at which clusters are merged; ``"auto"`` for
        :func:`~blockml.templates.clustering.auto_threshold`. Ignored if ``k`` is given.
    k
        Number of clusters, instead of a threshold.
    linkage
        One of :data:`LINKAGES`; ``median`` (k-medoids) needs ``k``.
    subclusters
        Find subclusters by a second distance.
    minhash
        Use MinHash for any number of pages.
    truth
        (n,) true group of each page, None if unknown.
    pictures
        Compute the data of figures: a map of up to 500 pages, and a histogram.
    jobs
        Processes for ``rtdm`` and ``lcts``.
    progress
        Called with the name of a stage, how many of its items are done, and how many there are (None if unknown).
    settings
        Settings of the distance.

    Returns
    -------
    dict
        ``distance``, ``settings``, ``threshold``, ``threshold_source`` (``gap``, ``silhouette``, ``preset``, ``given``,
        ``k`` or ``none``), ``pages`` and ``clusters`` (rows), ``matrix``, ``merges``, ``map``, ``histogram`` (None if
        not computed), ``seconds``: see :func:`blockml.reports.clustering.write_clustering`. Clusters, and subclusters
        (``finer``) within each, are numbered from 0 by their first pages.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(html) for html in ("<p>a</p>", "<ul><li>b</ul>", "<p>c</p><p>d</p>")]
    >>> result = cluster_pages(pages, ["one", "two", "three"], threshold=0.4)
    >>> {page["id"]: page["cluster"] for page in result["pages"]}
    {'one': 0, 'two': 1, 'three': 0}
    """
    check_name("distance", distance, METRICS)
    metric = METRICS[distance].using(**settings)
    summaries = [
        page if isinstance(page, PageSummary) else summarise_page(page, subclusters=subclusters) for page in pages
    ]
    minhash = minhash or len(summaries) > MOST_COMPARED
    n = len(summaries)
    if len(ids) != n or len(set(ids)) != n:
        raise UsageError(f"{n} pages need {n} different ids, got {len(set(ids))}")
    if truth is not None and len(truth) != n:
        raise UsageError(f"{n} pages need {n} known groups, got {len(truth)}")
    if subclusters and any(page.classes is None for page in summaries):
        raise UsageError("subclusters need summaries with classes: summarise_page(page, subclusters=True)")
    _check_method(linkage, threshold, k, metric, minhash=minhash)

    def distances(members: Sequence[int]) -> Matrix:
        return _distances([summaries[i].sketch for i in members], [ids[i] for i in members], metric, settings)

    seconds: dict[str, float] = {}

    def timed(name: str, step: Callable[..., _T], *arguments: Any, **options: Any) -> _T:  # noqa: ANN401
        progress(name, 0, None)
        start = time.perf_counter()
        result = step(*arguments, **options)
        seconds[name] = time.perf_counter() - start
        return result

    matrix = None
    if minhash:
        sets = [metric.prepare(page.sketch) for page in summaries]
        found, source = timed("clusters", _cluster_sets, sets, threshold, metric)
    else:
        everything = [page.sketch for page in summaries]
        matrix = timed("distances", _distances, everything, ids, metric, settings, jobs=jobs, progress=progress)
        found, source = timed("clusters", _cluster_matrix, matrix, threshold, k, linkage, distance)
    groups = found.groups()
    inner = timed("finer clusters", _subclusters, summaries, ids, groups) if subclusters else [None] * len(ids)
    drawn = matrix if pictures else None
    plane = timed("map", mds, drawn) if drawn is not None and len(ids) <= _MOST_MAPPED else None
    known = truth if truth is not None else [None] * len(ids)
    labels = found.labels.tolist()
    return {
        "distance": distance,
        "settings": {"linkage": linkage, **({} if k is None else {"k": k}), **settings},
        "threshold": found.threshold,
        "threshold_source": source,
        "pages": [
            {
                "id": ids[i],
                "cluster": labels[i],
                "finer": inner[i],
                "title": page.title or None,
                "url": page.url,
                "n_blocks": page.n_blocks,
                "n_nodes": page.n_nodes,
                "truth": known[i],
            }
            for i, page in enumerate(summaries)
        ],
        "clusters": [
            _row(number, members, ids, known, summaries, matrix, distances) for number, members in enumerate(groups)
        ],
        "matrix": matrix,
        "merges": found.merges,
        "map": None if plane is None else {"points": plane.coordinates, "stress": plane.stress},
        "histogram": None if drawn is None else distance_histogram(drawn)._asdict(),
        "seconds": seconds,
    }


def _check_method(linkage: str, threshold: object, k: int | None, metric: Metric[Any], *, minhash: bool) -> None:
    """Raise UsageError for conflicting options before anything is computed."""
    check_name("linkage", linkage, LINKAGES)
    if k is None and threshold is None:
        raise UsageError('give a threshold, "auto", or a number of clusters k')
    if isinstance(threshold, str) and threshold != "auto":
        raise UsageError(f'a threshold must be a non-negative number, or "auto", got {threshold!r}')
    if linkage == "median" and k is None:
        raise UsageError("median clustering needs a number of clusters k, not a threshold")
    if not minhash:
        return
    reason = f"more than {MOST_COMPARED:,} pages are clustered without the distances of all pairs"
    if not isinstance(metric, SetMetric):
        legal = ", ".join(name for name, item in METRICS.items() if isinstance(item, SetMetric))
        raise UsageError(f"{reason}: by one of {legal}, not by {metric.name}")
    if k is not None or linkage != "single":
        wrong = f"by {linkage} linkage" if linkage != "single" else "to a number of clusters k"
        raise UsageError(f"{reason}: by single linkage up to a threshold, not {wrong}")


def _distances(
    sketches: Sequence[PageSketch],
    ids: Sequence[str],
    metric: Metric[Any],
    settings: Mapping[str, object],
    *,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Matrix:
    """Compute all distances; name the page in an error about it."""
    try:
        return distance_matrix(sketches, metric.name, jobs=jobs, progress=progress, **settings)
    except UsageError:
        for page, page_id in zip(sketches, ids, strict=True):
            try:
                metric.prepare(page)
            except BlockmlError as error:
                raise UsageError(str(error), source=page_id) from error
        raise


def _cluster_matrix(
    matrix: Matrix, threshold: float | str | None, k: int | None, linkage: str, distance: str
) -> tuple[Clustering, str]:
    """Return clusters and the source of the threshold."""
    if k is not None and linkage == "median":
        return k_medoids_runs(matrix, k, _N_STARTS).best.clustering, "k"
    join = single_linkage if linkage == "single" else average_linkage
    if k is not None:
        return join(matrix, k=k), "k"
    value, source = (threshold, "given") if threshold != "auto" else auto_threshold(matrix, distance)
    if value is None and len(matrix):  # no rule separates the pages
        return join(matrix, k=1), source
    return join(matrix, threshold=float(value or 0.0)), source


def _cluster_sets(
    sets: Sequence[NDArray[np.uint64]], threshold: float | str | None, metric: Metric[Any]
) -> tuple[Clustering, str]:
    """Return clusters and the source of the threshold, without all distances."""
    value, source = threshold, "given"
    if threshold == "auto":
        value, source = auto_threshold(metric.matrix([sets[i] for i in _sample(range(len(sets)))]), metric.name)
    # No distance of sets is above 1.
    return minhash_linkage(sets, threshold=1.0 if value is None else float(value)), source


def _sample(members: Sequence[int]) -> list[int]:
    """Return up to 300 of the members, in order, always the same ones."""
    if len(members) <= SAMPLE_SIZE:
        return list(members)
    drawn = np.random.default_rng(_SEED).choice(len(members), SAMPLE_SIZE, replace=False)
    return [members[i] for i in np.sort(drawn).tolist()]


def _subclusters(summaries: Sequence[PageSummary], ids: Sequence[str], groups: Sequence[Sequence[int]]) -> list[int]:
    """Return the (n,) subcluster of each page; clusters too large for all distances have one."""
    inner = [0] * len(summaries)
    for members in groups:
        if not 1 < len(members) <= MOST_COMPARED:
            continue
        sketches = [page for i in members if (page := summaries[i].classes) is not None]
        matrix = _distances(sketches, [ids[i] for i in members], METRICS[_SUBCLUSTER_METRIC], {})
        for i, label in zip(members, find_subclusters(matrix).clustering.labels.tolist(), strict=True):
            inner[i] = label
    return inner


def _row(
    number: int,
    members: Sequence[int],
    ids: Sequence[str],
    truth: Sequence[str | None],
    summaries: Sequence[PageSummary],
    matrix: Matrix | None,
    distances: Callable[[Sequence[int]], Matrix],
) -> dict[str, Any]:
    """Return the statistics of a cluster."""
    compared = list(members) if matrix is not None else _sample(members)
    inside = matrix[np.ix_(compared, compared)] if matrix is not None else distances(compared)
    n = len(compared)
    groups = Counter(str(truth[i]) for i in members if truth[i] is not None)
    return {
        "number": number,
        "size": len(members),
        "median": ids[compared[int(inside.sum(axis=1).argmin())]],
        "within": float(inside.sum() / (n * (n - 1))) if n > 1 else None,
        "largest": float(inside.max()) if n > 1 else None,
        "common_words": _repeated([summaries[i] for i in members]),
        "pages": [ids[i] for i in members],
        "truth": groups or None,
    }


def _repeated(pages: Sequence[PageSummary]) -> float | None:
    """Return the share of words in blocks whose text occurs on several of the pages; None without words."""
    words = np.concatenate([page.words for page in pages])
    if len(pages) < 2 or not words.any():
        return None
    _, place, counts = np.unique(
        np.concatenate([page.texts for page in pages]), return_inverse=True, return_counts=True
    )
    return float(words[counts[place.reshape(-1)] > 1].sum() / words.sum())
