"""The report of a clustering: which pages share a template, as one HTML file for people."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.errors import UsageError
from blockml.reports.dendrograms import Dendrogram, dendrogram, leaf_order, page_order
from blockml.reports.maps import (
    DistanceHistogram,
    PointMap,
    Style,
    distance_histogram,
    heat_map,
    point_map,
    styles,
)
from blockml.reports.templating import NONE, count, shorten, write_html

__all__ = ["write_clustering"]

Row = Mapping[str, Any]

#: Leaves of the drawn tree: what a screen holds.
_MOST_LEAVES = 40
#: Clusters that the first table holds, and known groups that it names in a line.
_MOST_ROWS, _MOST_GROUPS = 25, 3

#: The distances in words.
_DISTANCES = {
    "rtdm": "edits that turn one tree of elements into the other (restricted top-down mapping)",
    "cp": "paths from the root to a leaf that only one of two pages has",
    "cps": "runs of elements on such paths that only one of two pages has",
    "tv": "Euclidean distance of how often each tag is used",
    "lcts": "tags outside of the longest common subsequence of two pages' tags",
    "ctss": "runs of consecutive tags that only one of two pages has",
}
#: Indices: title, and how to read a value.
_INDICES = {
    "dunn": ("Dunn index", "smallest distance between groups over the largest inside of one: above 1, they lie apart"),
    "rand": ("Rand index", "share of the pairs of pages that clusters and known groups both join or both part"),
    "rand_ordered": (
        "Rand index, ordered",
        "the same over all ordered pairs, each page with itself too (Gottron 2008)",
    ),
    "adjusted_rand": ("adjusted Rand index", "the same, so that 0 is what chance gives and 1 is agreement"),
    "purity": ("purity", "share of the commonest known group in a cluster"),
    "purity_weighted": ("weighted purity", "the same, clusters weighted by their pages"),
    "mutual_information": ("mutual information", "what clusters and known groups tell of one another"),
    "mutual_information_gottron": ("mutual information (Gottron 2008)", "the same in the units of his tables"),
    "nmi": ("normalised mutual information", "the same as a share of what they could tell: 1 is agreement"),
}
#: How good a map of points is, by the largest stress that still counts as such (Kruskal 1964).
_STRESS = ((0.025, "excellent"), (0.05, "good"), (0.1, "fair"), (math.inf, "poor"))


def write_clustering(result: Row, path: str | os.PathLike[str]) -> Path:
    """Write which pages share a template, as one self-contained HTML file: no scripts, nothing is loaded.

    Parameters
    ----------
    result
        What was found; whatever may be None may also be missing.

        ``distance``, ``settings``, ``command``, ``version``, ``seconds``
            Name of the distance, and how the result was made and how long each step took.
        ``threshold``, ``threshold_source``
            Distance at which clusters were cut, or None; and ``gap``, ``preset``, ``given``, ``k`` or ``none``.
        ``pages``
            One row a page: ``id``, ``cluster``, ``title``, ``url``, ``finer``, ``n_blocks``, ``n_nodes``, ``truth``.
        ``clusters``
            One row a cluster: ``number``, ``size``, ``median`` (a page's id), ``within`` and ``largest`` (mean and
            largest distance of its pages, or None), ``common_words``, ``pages`` (their ids), ``truth``.
        ``matrix``
            (n, n) distances in the order of the pages, or None. It becomes an image of n × n pixels.
        ``merges``
            (n - 1, 4) linkage matrix as scipy writes it, or None.
        ``map``
            ``points`` (n, 2) and their ``stress``, or None.
        ``histogram``
            ``edges`` (m + 1,) and ``counts`` (m,), or None.
        ``indices``
            Name to value.
    path
        The file; missing folders are made.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UsageError
        Matrix, merges, map or histogram don't fit the pages or one another, or a page is of no listed cluster.
    MissingExtraError
        jinja2 is not installed.
    OSError
        The file can't be written.
    """
    result = _filled(result)
    pages, labels = result["pages"], [page["cluster"] for page in result["pages"]]
    matrix = _shaped(result, "matrix", (len(pages), len(pages)))
    merges = _shaped(result, "merges", (max(len(pages) - 1, 0), 4))
    points = _shaped(result["map"] or {}, "points", (len(pages), 2))
    leaves = leaf_order(merges) if merges is not None and len(pages) else None
    clusters = _clusters(result, matrix, page_order(labels, leaves))
    threshold = result["threshold"]
    return write_html(
        "clustering.html.jinja",
        path,
        result=result,
        distance=_DISTANCES.get(result["distance"], ""),
        threshold=threshold,
        clusters=clusters,
        most=_MOST_ROWS,
        singles=[cluster.pages[0] for cluster in clusters if len(cluster.pages) == 1],
        marks={cluster.number: cluster.style for cluster in clusters},
        measured=matrix is not None,
        outcome=_outcome(result, clusters, matrix, labels),
        heat_map=None if matrix is None or len(pages) < 2 else heat_map(matrix, page_order(labels, leaves), labels),
        trees=[] if merges is None or len(pages) < 2 else _trees(merges, result, clusters),
        cloud=None if points is None or len(pages) < 2 else _cloud(points, result, clusters),
        histogram=_histogram(result["histogram"], threshold),
        indices=[
            (*_INDICES.get(name, (name, "")), _number(value)) for name, value in (result["indices"] or {}).items()
        ],
        settings=[(str(name).replace("_", " "), value) for name, value in (result["settings"] or {}).items()],
        seconds=[(str(name), f"{value:.2f} s") for name, value in (result["seconds"] or {}).items()],
    )


#: What a result, a page and a cluster may leave out.
_MISSING = dict.fromkeys(
    ["settings", "threshold", "matrix", "merges", "map", "histogram", "indices", "seconds", "command", "version"]
) | {"threshold_source": "none"}
_PAGE_MISSING = dict.fromkeys(["url", "title", "finer", "n_blocks", "n_nodes", "truth"])
_CLUSTER_MISSING = dict.fromkeys(["median", "within", "largest", "common_words", "truth"])


def _filled(result: Row) -> Row:
    return {
        **_MISSING,
        **result,
        "pages": [{**_PAGE_MISSING, **page} for page in result["pages"]],
        "clusters": [{**_CLUSTER_MISSING, **row} for row in result["clusters"]],
    }


def _shaped(result: Row, name: str, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    given = result.get(name)
    if given is None:
        return None
    array = np.asarray(given, dtype=np.float64)
    if array.size == 0 and 0 in shape:  # an empty list knows nothing of columns
        return np.zeros(shape)
    if array.shape != shape:
        raise UsageError(f"{name} must have the shape {shape}, for {len(given)} rows it has {array.shape}")
    return array


@dataclass(frozen=True, slots=True)
class PageLine:
    """A page among those of its cluster."""

    about: Row
    link: str | None
    """Its address, if a browser should open it."""
    distance: float | None
    """Distance to the median page."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What is told of a cluster."""

    number: int
    about: Row
    style: Style
    pages: tuple[PageLine, ...]
    median: Row
    n_finer: int | None
    """Number of finer clusters inside; None where none were made."""
    truth: str
    """Known groups of its pages, commonest first."""


def _clusters(result: Row, matrix: NDArray[np.float64] | None, order: Sequence[int]) -> tuple[Cluster, ...]:
    """Clusters, largest first, each with its pages: the median first, then as near to it, if distances are known."""
    pages = result["pages"]
    members: dict[int, list[int]] = {}
    for page in order:
        members.setdefault(pages[page]["cluster"], []).append(page)
    rows = {row["number"]: row for row in result["clusters"]}
    if missing := members.keys() - rows.keys():
        raise UsageError(f"pages are in cluster {min(missing)}, which is not among the clusters")
    sizes = {number: len(members.get(number, ())) for number in rows}
    ranked = sorted((number for number in rows if sizes[number]), key=lambda number: (-sizes[number], number))
    marks = styles(ranked)
    return tuple(_cluster(rows[number], marks[number], members[number], pages, matrix) for number in ranked)


def _cluster(
    row: Row, style: Style, members: Sequence[int], pages: Sequence[Row], matrix: NDArray[np.float64] | None
) -> Cluster:
    median = next((page for page in members if pages[page]["id"] == row["median"]), members[0])
    distances = dict.fromkeys(members) if matrix is None else {page: float(matrix[median, page]) for page in members}
    nearest = sorted(members, key=lambda page: (page != median, distances[page] or 0.0))
    finer = {pages[page]["finer"] for page in members} - {None}
    truth = row["truth"] or Counter(str(pages[page]["truth"]) for page in members if pages[page]["truth"])
    groups = sorted(truth.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{shorten(name, 28)} {count(n)}" for name, n in groups[:_MOST_GROUPS]]
    more = [f"{len(groups) - _MOST_GROUPS} more"] if len(groups) > _MOST_GROUPS else []
    return Cluster(
        number=row["number"],
        about=row,
        style=style,
        pages=tuple(PageLine(pages[page], _link(pages[page]["url"]), distances[page]) for page in nearest),
        median=pages[median],
        n_finer=len(finer) or None,
        truth=", ".join(named + more),
    )


def _link(url: str | None) -> str | None:
    """The address of a page, unless it could be anything but a page."""
    return url if url and re.match(r"https?://", url, re.IGNORECASE) else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer in numbers."""

    n_pages: int
    n_clusters: int
    n_alone: int
    """Clusters of one page."""
    largest: int
    """Pages of the largest cluster."""
    n_finer: int
    reach: float | None
    """Largest distance inside of a cluster."""
    parted: float | None
    """Smallest distance between clusters."""
    n_groups: int
    """Known groups; 0 if none are known."""
    n_pure: int
    """Clusters with pages of no more than one known group."""
    n_spread: int
    """Known groups with pages in several clusters."""


def _outcome(
    result: Row, clusters: Sequence[Cluster], matrix: NDArray[np.float64] | None, labels: Sequence[int]
) -> Outcome:
    pairs = {(page["truth"], page["cluster"]) for page in result["pages"] if page["truth"] is not None}
    clusters_of = Counter(group for group, _ in pairs)
    groups_of = Counter(cluster for _, cluster in pairs)
    known = [float(cluster.about["largest"]) for cluster in clusters if cluster.about["largest"] is not None]
    reach, parted = max(known, default=None), None
    if matrix is not None and len(clusters) > 1:
        numbers = np.asarray(labels)
        parted = float(matrix[numbers[:, None] != numbers[None]].min())
    return Outcome(
        n_pages=len(labels),
        n_clusters=len(clusters),
        n_alone=sum(len(cluster.pages) == 1 for cluster in clusters),
        largest=len(clusters[0].pages) if clusters else 0,
        n_finer=len({(page["cluster"], page["finer"]) for page in result["pages"] if page["finer"] is not None}),
        reach=reach if len(labels) > len(clusters) else None,
        parted=parted,
        n_groups=len(clusters_of),
        n_pure=sum(groups_of[cluster.number] < 2 for cluster in clusters),
        n_spread=sum(n > 1 for n in clusters_of.values()),
    )


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A leaf of the tree in words."""

    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A drawn tree of merges."""

    figure: Dendrogram
    lines: tuple[TreeLine, ...]


def _trees(merges: NDArray[np.float64], result: Row, clusters: Sequence[Cluster]) -> list[Tree]:
    """The tree of clusters; and, if it holds back more, the uppermost branches of the tree of pages."""
    pages, labels, threshold = result["pages"], [page["cluster"] for page in result["pages"]], result["threshold"]
    sizes = {cluster.number: len(cluster.pages) for cluster in clusters}
    # Few pages are all shown at once, and a tree of one leaf shows nothing.
    whole = len(pages) > _MOST_LEAVES and len(clusters) > 1
    drawn = [dendrogram(merges, labels, most=_MOST_LEAVES, whole=whole, threshold=threshold)]
    if whole and len(drawn[0].leaves) < _MOST_LEAVES:
        drawn.append(dendrogram(merges, labels, most=_MOST_LEAVES, whole=False, threshold=threshold))
    return [
        Tree(figure, tuple(_tree_line(leaf.pages, leaf.cluster, pages, sizes) for leaf in figure.leaves))
        for figure in drawn
    ]


def _tree_line(members: Sequence[int], cluster: int | None, pages: Sequence[Row], sizes: Mapping[int, int]) -> TreeLine:
    n = len(members)
    if cluster is None:
        several = len({pages[page]["cluster"] for page in members})
        return TreeLine(f"{several} clusters, {n} pages", f"{n} pages of {several} clusters")
    first = pages[members[0]]
    if n == 1:
        return TreeLine(
            shorten(str(first["id"]), 20), f"{first['id']}: {first.get('title') or NONE}; cluster {cluster}"
        )
    whole = f"{n} pages" if n == sizes[cluster] else f"{n} of {sizes[cluster]} pages"
    return TreeLine(f"{cluster}: {whole}", f"cluster {cluster}, {whole}, such as {first['id']}")


@dataclass(frozen=True, slots=True)
class Cloud:
    """The map of points: what is drawn above comes last."""

    figure: PointMap
    points: tuple[tuple[float, float, Style, bool, str], ...]
    """Place, mark, whether it is its cluster's median page, and title."""
    stress: float | None
    quality: str
    """The stress in a word."""


def _cloud(points: NDArray[np.float64], result: Row, clusters: Sequence[Cluster]) -> Cloud:
    figure = point_map(points)
    marks = {cluster.number: cluster.style for cluster in clusters}
    sizes = {cluster.number: len(cluster.pages) for cluster in clusters}
    # The median of two pages is either.
    medians = {cluster.number: cluster.median["id"] for cluster in clusters if len(cluster.pages) > 2}
    drawn = []
    for page, (x, y) in zip(result["pages"], figure.places, strict=True):
        number = page["cluster"]
        central = medians.get(number) == page["id"]
        title = f"{page['id']}: {page.get('title') or NONE}; cluster {number}{', its median page' if central else ''}"
        drawn.append((central, -sizes[number], (x, y, marks[number], central, title)))
    drawn.sort(key=lambda item: item[:2])
    stress = result["map"].get("stress")
    quality = "" if stress is None else next(word for most, word in _STRESS if stress <= most or most == math.inf)
    return Cloud(figure, tuple(item[2] for item in drawn), stress, quality)


def _histogram(given: Row | None, threshold: float | None) -> DistanceHistogram | None:
    if not given or not sum(given["counts"]):
        return None
    edges, counts = [float(edge) for edge in given["edges"]], [int(n) for n in given["counts"]]
    if len(edges) != len(counts) + 1 or any(left > right for left, right in pairwise(edges)):
        raise UsageError(f"{len(counts)} bins need {len(counts) + 1} rising edges, not {len(edges)}")
    return distance_histogram(edges, counts, threshold)


def _number(value: float | None) -> str:
    """Write an index, which may be infinite or undefined."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.3f}" if math.isfinite(value) else "∞"
