"""Pages in, which of them are built alike out: distances, clusters and what there is to tell of each, in one result."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from blockml.errors import BlockmlError, UnknownNameError, UsageError
from blockml.page import Page
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
from blockml.templates.distances.base import Progress
from blockml.templates.distances.sets import SetMetric
from blockml.text.hashing import stable_hash64

__all__ = ["LINKAGES", "MOST_COMPARED", "PageSummary", "cluster_pages", "summarise"]

#: Ways to cluster: the two nearest first, by their nearest pages or by the mean of all; or around ``k`` median pages.
LINKAGES = ("single", "average", "median")

#: Beyond so many pages, no distances of all pairs: a matrix of 2,000 has 32 MB (our choice).
MOST_COMPARED = 2_000

#: Pages that a threshold, or the spread of a large cluster, is told from where there is no matrix (our choice).
SAMPLE = 300
_SEED = 0

#: Pages of the largest map: each of its rounds takes time by the square of their number (our choice).
_MOST_MAPPED = 500

#: Starts of k-median; the best counts (our choice: the published averages are over 100).
_N_STARTS = 20

#: The distance of finer clusters, taken with classes: of six ways, the one that agreed best with the layouts of eight
#: sites (our choice).
_FINER = "cps"

_NO_SETTINGS: Mapping[str, object] = MappingProxyType({})

Matrix = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class PageSummary:
    """All that clustering needs of a page, and what is told of it: a small part of its size."""

    url: str | None
    title: str
    n_blocks: int
    n_nodes: int
    sketch: PageSketch
    """For distances."""
    classes: PageSketch | None
    """The same with classes, for finer clusters; None if they aren't wanted."""
    texts: NDArray[np.uint64]
    """(n_texts,) keys of the distinct texts of its blocks."""
    words: NDArray[np.int64]
    """(n_texts,) words of the blocks with each text."""


def summarise(page: Page, *, finer: bool = False) -> PageSummary:
    """Keep of a page what :func:`cluster_pages` needs, so that the page itself may go.

    Parameters
    ----------
    page
        The page.
    finer
        Whether finer clusters are wanted.

    Examples
    --------
    >>> import blockml
    >>> summary = summarise(blockml.parse("<title>Cats</title><p>Home</p><p>Cats rule.</p><p>Home</p>"))
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
        classes=sketch(page, classes=True) if finer else None,
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
    finer: bool = False,
    many: bool = False,
    truth: Sequence[str | None] | None = None,
    pictures: bool = True,
    jobs: int = 1,
    progress: Progress = iter,
    settings: Mapping[str, object] = _NO_SETTINGS,
) -> dict[str, Any]:
    """Find which pages are built alike.

    Up to 2,000 pages, by the distances of all pairs. Beyond, by single linkage of the sets that pages are told apart
    by, with the same clusters as those distances would give; an automatic threshold is then told from 300 pages, and
    so is what is told of a cluster with more.

    Parameters
    ----------
    pages
        n pages, or what :func:`summarise` kept of them.
    ids
        n names, each once.
    distance
        A name from :data:`~blockml.templates.distances.METRICS`; for more than 2,000 pages ``cp``, ``cps`` or ``ctss``.
    threshold
        Distance up to which clusters are merged; ``"auto"`` for
        :func:`~blockml.templates.clustering.auto_threshold`. Without effect if ``k`` is given.
    k
        How many clusters to make instead.
    linkage
        One of :data:`LINKAGES`; ``median`` needs ``k``.
    finer
        Look for finer clusters inside of each, by another distance.
    many
        Work as for more than 2,000 pages, however many there are.
    truth
        (n,) known group of each page, None where it isn't known.
    pictures
        Compute what only pictures need: a map of up to 500 pages, and a histogram.
    jobs
        Processes for ``rtdm`` and ``lcts``.
    progress
        Wraps the pieces that distances are computed in.
    settings
        Of the distance.

    Returns
    -------
    dict
        ``distance``, ``settings``, ``threshold``, ``threshold_source`` (``gap``, ``silhouette``, ``preset``, ``given``,
        ``k`` or ``none``), ``pages`` and ``clusters`` (rows), ``matrix``, ``merges``, ``map``, ``histogram`` (each None
        where there is none), ``seconds``: see :func:`blockml.reports.clustering.write_clustering`, which shows it.
        Clusters, and finer ones inside of each, are numbered from 0 in the order of their first pages.

    Raises
    ------
    UsageError
        An unknown name or setting, options that exclude each other, numbers outside their range, a page that is too
        large for the distance, or ids that aren't n different ones.
    MissingExtraError
        More than 2,000 pages, and the package datasketch is not installed.

    Examples
    --------
    >>> import blockml
    >>> pages = [blockml.parse(html) for html in ("<p>a</p>", "<ul><li>b</ul>", "<p>c</p><p>d</p>")]
    >>> result = cluster_pages(pages, ["one", "two", "three"], threshold=0.4)
    >>> {page["id"]: page["cluster"] for page in result["pages"]}
    {'one': 0, 'two': 1, 'three': 0}
    """
    metric = _metric(distance, settings)
    summaries = [page if isinstance(page, PageSummary) else summarise(page, finer=finer) for page in pages]
    many = many or len(summaries) > MOST_COMPARED
    _check(summaries, ids, truth, finer=finer)
    _check_method(linkage, threshold, k, metric, many=many)

    def distances(members: Sequence[int]) -> Matrix:
        return _distances([summaries[i].sketch for i in members], [ids[i] for i in members], metric, settings)

    clock = _Clock()
    matrix = None
    if many:
        found, source = clock(
            "clusters", _of_many, [metric.prepare(page.sketch) for page in summaries], threshold, metric
        )
    else:
        everything = [page.sketch for page in summaries]
        matrix = clock("distances", _distances, everything, ids, metric, settings, jobs=jobs, progress=progress)
        found, source = clock("clusters", _of_matrix, matrix, threshold, k, linkage, distance)
    groups = found.groups()
    inner = clock("finer clusters", _inner, summaries, ids, groups) if finer else [None] * len(ids)
    drawn = matrix if pictures else None
    plane = clock("map", mds, drawn) if drawn is not None and len(ids) <= _MOST_MAPPED else None
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
        "seconds": clock.seconds,
    }


class _Clock:
    """Notes how long each step took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, step: Callable[..., T], *arguments: Any, **options: Any) -> T:  # noqa: ANN401
        start = time.perf_counter()
        result = step(*arguments, **options)
        self.seconds[name] = time.perf_counter() - start
        return result


def _metric(distance: str, settings: Mapping[str, object]) -> Metric[Any]:
    if distance not in METRICS:
        raise UnknownNameError("distance", str(distance), METRICS)
    return METRICS[distance].using(**settings)


def _check(
    summaries: Sequence[PageSummary], ids: Sequence[str], truth: Sequence[str | None] | None, *, finer: bool
) -> None:
    n = len(summaries)
    if len(ids) != n or len(set(ids)) != n:
        raise UsageError(f"{n} pages have {n} different ids, not {len(set(ids))}")
    if truth is not None and len(truth) != n:
        raise UsageError(f"the known groups of {n} pages are {n}, not {len(truth)}")
    if finer and any(page.classes is None for page in summaries):
        raise UsageError("finer clusters need pages that were summarised for them: summarise(page, finer=True)")


def _check_method(linkage: str, threshold: object, k: int | None, metric: Metric[Any], *, many: bool) -> None:
    """Refuse what excludes each other before anything is computed."""
    if linkage not in LINKAGES:
        raise UnknownNameError("linkage", str(linkage), LINKAGES)
    if k is None and threshold is None:
        raise UsageError('give a threshold, "auto", or a number of clusters k')
    if isinstance(threshold, str) and threshold != "auto":
        raise UsageError(f'a threshold is a number of at least 0, or "auto", not {threshold!r}')
    if linkage == "median" and k is None:
        raise UsageError("median clustering needs a number of clusters k; it knows no threshold")
    if not many:
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
    progress: Progress = iter,
) -> Matrix:
    """Distances of all pairs; an error names the page that it is about."""
    try:
        matrix = distance_matrix(sketches, metric.name, jobs=jobs, progress=progress, **settings)
    except UsageError:
        for page, page_id in zip(sketches, ids, strict=True):
            try:
                metric.prepare(page)
            except BlockmlError as error:
                raise UsageError(str(error), source=page_id) from error
        raise
    if not np.isfinite(matrix).all():
        raise UsageError("a cutoff leaves some pairs of pages without a distance, and clustering needs all")
    return matrix


def _of_matrix(
    matrix: Matrix, threshold: float | str | None, k: int | None, linkage: str, distance: str
) -> tuple[Clustering, str]:
    """Clusters, and where the threshold comes from."""
    if k is not None and linkage == "median":
        return k_medoids_runs(matrix, k, _N_STARTS).best.clustering, "k"
    join = single_linkage if linkage == "single" else average_linkage
    if k is not None:
        return join(matrix, k=k), "k"
    value, source = (threshold, "given") if threshold != "auto" else auto_threshold(matrix, distance)
    if value is None and len(matrix):  # nothing tells them apart
        return join(matrix, k=1), source
    return join(matrix, threshold=float(value or 0.0)), source


def _of_many(
    sets: Sequence[NDArray[np.uint64]], threshold: float | str | None, metric: Metric[Any]
) -> tuple[Clustering, str]:
    """The same without distances of all pairs."""
    value, source = threshold, "given"
    if threshold == "auto":
        value, source = auto_threshold(metric.matrix([sets[i] for i in _sample(range(len(sets)))]), metric.name)
    # No distance of sets is above 1.
    return minhash_linkage(sets, threshold=1.0 if value is None else float(value)), source


def _sample(members: Sequence[int]) -> list[int]:
    """Up to 300 of the members, in their order, always the same ones."""
    if len(members) <= SAMPLE:
        return list(members)
    drawn = np.random.default_rng(_SEED).choice(len(members), SAMPLE, replace=False)
    return [members[i] for i in np.sort(drawn).tolist()]


def _inner(summaries: Sequence[PageSummary], ids: Sequence[str], groups: Sequence[Sequence[int]]) -> list[int]:
    """(n,) finer cluster of each page inside its own; clusters too large for all distances stay whole."""
    inner = [0] * len(summaries)
    for members in groups:
        if not 1 < len(members) <= MOST_COMPARED:
            continue
        sketches = [page for i in members if (page := summaries[i].classes) is not None]
        matrix = _distances(sketches, [ids[i] for i in members], METRICS[_FINER], {})
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
    """What is told of a cluster."""
    judged = list(members) if matrix is not None else _sample(members)
    inside = matrix[np.ix_(judged, judged)] if matrix is not None else distances(judged)
    n = len(judged)
    groups = Counter(str(truth[i]) for i in members if truth[i] is not None)
    return {
        "number": number,
        "size": len(members),
        "median": ids[judged[int(inside.sum(axis=1).argmin())]],
        "within": float(inside.sum() / (n * (n - 1))) if n > 1 else None,
        "largest": float(inside.max()) if n > 1 else None,
        "common_words": _repeated([summaries[i] for i in members]),
        "pages": [ids[i] for i in members],
        "truth": groups or None,
    }


def _repeated(pages: Sequence[PageSummary]) -> float | None:
    """Share of the words of some pages that stand in blocks whose text another one of them has; None without words."""
    words = np.concatenate([page.words for page in pages])
    if len(pages) < 2 or not words.any():
        return None
    _, place, counts = np.unique(
        np.concatenate([page.texts for page in pages]), return_inverse=True, return_counts=True
    )
    return float(words[counts[place.reshape(-1)] > 1].sum() / words.sum())
