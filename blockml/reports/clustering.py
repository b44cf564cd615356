"""The HTML report of a clustering of pages by template."""

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
from blockml.reports.maps import (
    HistogramFigure,
    Style,
    dendrogram,
    heat_map,
    histogram_figure,
    leaf_order,
    page_order,
    point_map,
    styles,
)
from blockml.reports.ranking import Row
from blockml.reports.templating import NONE, count, shorten, write_html
from blockml.text.words import counted

# Maximum number of leaves of the drawn tree, so that it fits a screen.
_MAX_LEAVES = 40
# Maximum number of rows of the first table, and of known groups named in a row.
_MAX_ROWS, _MAX_GROUPS = 25, 3

#: Descriptions of the distances.
DISTANCES = {
    "rtdm": "edits that turn one tree of elements into the other (restricted top-down mapping)",
    "cp": "paths from the root to a leaf that only one of two pages has",
    "cps": "runs of elements on these paths that only one of two pages has",
    "tv": "Euclidean distance of the tag counts",
    "lcts": "tags outside the longest common subsequence of two pages' tags",
    "ctss": "runs of consecutive tags that only one of two pages has",
}
#: Titles and interpretation of the indices.
INDICES = {
    "dunn": (
        "Dunn index",
        "smallest distance between groups divided by largest distance within one; groups are separate above 1",
    ),
    "rand": ("Rand index", "share of page pairs that clusters and known groups both join or both separate"),
    "rand_ordered": ("Rand index, ordered", "over all ordered pairs, each page with itself included (Gottron 2008)"),
    "adjusted_rand": ("adjusted Rand index", "Rand index corrected for chance: 0 is chance, 1 is full agreement"),
    "purity": ("purity", "mean share of the most frequent known group in a cluster"),
    "purity_weighted": ("weighted purity", "purity with clusters weighted by their number of pages"),
    "mutual_information": ("mutual information", "information shared by clusters and groups (Strehl et al. 2000)"),
    "mutual_information_gottron": (
        "mutual information (Gottron 2008)",
        "mutual information, normalised as in that paper",
    ),
    "nmi": ("normalised mutual information", "mutual information divided by mean entropy: 1 is full agreement"),
}
# Quality of a map of points, by maximum stress (Kruskal 1964).
_STRESS = ((0.025, "excellent"), (0.05, "good"), (0.1, "fair"), (math.inf, "poor"))

# Keys that a result, a page and a cluster may lack.
_OPTIONAL = (
    "settings", "threshold", "matrix", "merges", "map", "histogram", "indices", "seconds", "command", "version",
)  # fmt: skip
_PAGE_OPTIONAL = ("url", "title", "finer", "n_blocks", "n_nodes", "truth")
_CLUSTER_OPTIONAL = ("median", "within", "largest", "common_words", "truth")


def write_clustering(result: Row, path: str | os.PathLike[str]) -> Path:
    """Write the report of a clustering as a self-contained HTML file.

    Raises UsageError if matrix, merges, map or histogram don't fit the pages or one another, or a page belongs to an
    unlisted cluster, and the errors of :func:`blockml.reports.templating.write_html`.

    Parameters
    ----------
    result
        The clustering; keys whose value may be None may also be missing.

        ``distance``, ``settings``, ``command``, ``version``, ``seconds``
            Name of the distance, how the result was computed, and the duration of each step.
        ``threshold``, ``threshold_source``
            Distance at which clusters were cut, or None; and ``gap``, ``silhouette``, ``preset``, ``given``, ``k`` or
            ``none``.
        ``pages``
            One row per page: ``id``, ``cluster``, ``title``, ``url``, ``finer`` (its subcluster), ``n_blocks``,
            ``n_nodes``, ``truth`` (its known group).
        ``clusters``
            One row per cluster: ``number``, ``size``, ``median`` (id of the medoid page), ``within`` and ``largest``
            (mean and largest distance of its pages, or None), ``common_words``, ``pages`` (their ids), ``truth``.
        ``matrix``
            (n, n) distances in the order of the pages, or None. It becomes an image of n × n pixels.
        ``merges``
            (n - 1, 4) linkage matrix as in scipy, or None.
        ``map``
            ``points`` (n, 2) and their ``stress``, or None.
        ``histogram``
            ``edges`` (m + 1,) and ``counts`` (m,), or None.
        ``indices``
            Name to value.
    path
        The file; missing folders are created.
    """
    result = {
        **dict.fromkeys(_OPTIONAL),
        "threshold_source": "none",
        **result,
        "pages": [{**dict.fromkeys(_PAGE_OPTIONAL), **page} for page in result["pages"]],
        "clusters": [{**dict.fromkeys(_CLUSTER_OPTIONAL), **row} for row in result["clusters"]],
    }
    pages, labels = result["pages"], [page["cluster"] for page in result["pages"]]
    matrix = _shaped(result, "matrix", (len(pages), len(pages)))
    merges = _shaped(result, "merges", (max(len(pages) - 1, 0), 4))
    points = _shaped(result["map"] or {}, "points", (len(pages), 2))
    order = page_order(labels, leaf_order(merges) if merges is not None and pages else None)
    clusters = _clusters(result, matrix, order)
    several = len(pages) > 1
    return write_html(
        "clustering.html.jinja",
        path,
        result=result,
        distance=DISTANCES.get(result["distance"], ""),
        threshold=result["threshold"],
        clusters=clusters,
        max_rows=_MAX_ROWS,
        singles=[cluster.pages[0] for cluster in clusters if len(cluster.pages) == 1],
        marks={cluster.number: cluster.style for cluster in clusters},
        has_distances=matrix is not None,
        outcome=_outcome(result, clusters, matrix, labels),
        heat_map=heat_map(matrix, order, labels) if matrix is not None and several else None,
        trees=_trees(merges, result, clusters) if merges is not None and several else [],
        cloud=_cloud(points, result, clusters) if points is not None and several else None,
        histogram=_histogram(result["histogram"], result["threshold"]),
        indices=[(*INDICES.get(name, (name, "")), _number(value)) for name, value in (result["indices"] or {}).items()],
        settings=[(str(name).replace("_", " "), value) for name, value in (result["settings"] or {}).items()],
        seconds=[(str(name), f"{value:.2f} s") for name, value in (result["seconds"] or {}).items()],
    )


def _shaped(result: Row, name: str, shape: tuple[int, int]) -> NDArray[np.float64] | None:
    given = result.get(name)
    if given is None:
        return None
    array = np.asarray(given, dtype=np.float64)
    if array.size == 0 and 0 in shape:  # an empty list has no columns
        return np.zeros(shape)
    if array.shape != shape:
        raise UsageError(f"{name} must have the shape {shape}, got {array.shape} from {len(given)} rows")
    return array


@dataclass(frozen=True, slots=True)
class PageLine:
    """A page in the list of its cluster."""

    about: Row
    link: str | None  #: Its URL, if it is safe to open
    distance: float | None  #: Distance to the medoid page


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in the report."""

    number: int
    about: Row
    style: Style
    pages: tuple[PageLine, ...]  #: The medoid page, then the others by distance to it, if known
    medoid: Row
    n_subclusters: int | None  #: None if subclusters were not computed
    truth: str  #: Known groups of its pages, most frequent first


def _clusters(result: Row, matrix: NDArray[np.float64] | None, order: Sequence[int]) -> tuple[Cluster, ...]:
    """Return the non-empty clusters, largest first."""
    pages = result["pages"]
    members: dict[int, list[int]] = {}
    for page in order:
        members.setdefault(pages[page]["cluster"], []).append(page)
    rows = {row["number"]: row for row in result["clusters"]}
    if missing := members.keys() - rows.keys():
        raise UsageError(f"pages are in cluster {min(missing)}, which is not among the clusters")
    ranked = sorted(members, key=lambda number: (-len(members[number]), number))
    marks = styles(ranked)
    return tuple(_cluster(rows[number], marks[number], members[number], pages, matrix) for number in ranked)


def _cluster(
    row: Row, style: Style, members: Sequence[int], pages: Sequence[Row], matrix: NDArray[np.float64] | None
) -> Cluster:
    medoid = next((page for page in members if pages[page]["id"] == row["median"]), members[0])
    distances = {page: None if matrix is None else float(matrix[medoid, page]) for page in members}
    lines = []
    for page in sorted(members, key=lambda page: (page != medoid, distances[page] or 0.0)):
        url = pages[page]["url"]
        link = url if url and re.match(r"https?://", url, re.IGNORECASE) else None
        lines.append(PageLine(pages[page], link, distances[page]))
    truth = row["truth"] or Counter(str(pages[page]["truth"]) for page in members if pages[page]["truth"])
    groups = sorted(truth.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{shorten(name, 28)} {count(n)}" for name, n in groups[:_MAX_GROUPS]]
    more = [f"{len(groups) - _MAX_GROUPS} more"] if len(groups) > _MAX_GROUPS else []
    return Cluster(
        number=row["number"],
        about=row,
        style=style,
        pages=tuple(lines),
        medoid=pages[medoid],
        n_subclusters=len({pages[page]["finer"] for page in members} - {None}) or None,
        truth=", ".join(named + more),
    )


def _outcome(
    result: Row, clusters: Sequence[Cluster], matrix: NDArray[np.float64] | None, labels: Sequence[int]
) -> dict[str, Any]:
    """Summarise the clustering in numbers."""
    pairs = {(page["truth"], page["cluster"]) for page in result["pages"] if page["truth"] is not None}
    clusters_of = Counter(group for group, _ in pairs)
    groups_of = Counter(cluster for _, cluster in pairs)
    within = [float(cluster.about["largest"]) for cluster in clusters if cluster.about["largest"] is not None]
    min_between = None
    if matrix is not None and len(clusters) > 1:
        numbers = np.asarray(labels)
        min_between = float(matrix[numbers[:, None] != numbers[None]].min())
    return {
        "n_pages": len(labels),
        "n_clusters": len(clusters),
        "n_singles": sum(len(cluster.pages) == 1 for cluster in clusters),
        "largest": len(clusters[0].pages) if clusters else 0,
        "n_subclusters": len(
            {(page["cluster"], page["finer"]) for page in result["pages"] if page["finer"] is not None}
        ),
        # Largest distance within a cluster, and smallest one between clusters.
        "max_within": max(within, default=None) if len(labels) > len(clusters) else None,
        "min_between": min_between,
        # Known groups, clusters with pages of at most one of them, and groups with pages in several clusters.
        "n_groups": len(clusters_of),
        "n_pure": sum(groups_of[cluster.number] < 2 for cluster in clusters),
        "n_spread": sum(n > 1 for n in clusters_of.values()),
    }


def _trees(merges: NDArray[np.float64], result: Row, clusters: Sequence[Cluster]) -> list[dict[str, Any]]:
    """Return the tree of clusters and, if it hides branches within them, the upper branches of the tree of pages."""
    pages, labels, threshold = result["pages"], [page["cluster"] for page in result["pages"]], result["threshold"]
    sizes = {cluster.number: len(cluster.pages) for cluster in clusters}
    # A few pages are all shown at once, and a tree with one leaf shows nothing.
    whole = len(pages) > _MAX_LEAVES and len(clusters) > 1
    drawn = [dendrogram(merges, labels, most=_MAX_LEAVES, whole=whole, threshold=threshold)]
    if whole and len(drawn[0].leaves) < _MAX_LEAVES:
        drawn.append(dendrogram(merges, labels, most=_MAX_LEAVES, whole=False, threshold=threshold))
    return [
        {"figure": figure, "lines": [_leaf_text(leaf.pages, leaf.cluster, pages, sizes) for leaf in figure.leaves]}
        for figure in drawn
    ]


def _leaf_text(
    members: Sequence[int], cluster: int | None, pages: Sequence[Row], sizes: Mapping[int, int]
) -> tuple[str, str]:
    """Return label and title of a leaf."""
    n, first = len(members), pages[members[0]]
    if cluster is None:
        several = len({pages[page]["cluster"] for page in members})
        pages_text, clusters_text = counted(n, "page"), counted(several, "cluster")
        return f"{clusters_text}, {pages_text}", f"{pages_text} of {clusters_text}"
    if n == 1:
        return shorten(str(first["id"]), 20), f"{first['id']}: {first['title'] or NONE}; cluster {cluster}"
    whole = counted(n, "page") if n == sizes[cluster] else f"{n} of {counted(sizes[cluster], 'page')}"
    return f"{cluster}: {whole}", f"cluster {cluster}, {whole}, such as {first['id']}"


def _cloud(points: NDArray[np.float64], result: Row, clusters: Sequence[Cluster]) -> dict[str, Any]:
    """Lay out the map of points in drawing order: medoids last, small clusters above large ones."""
    figure = point_map(points)
    by_number = {cluster.number: cluster for cluster in clusters}
    drawn = []
    for page, (x, y) in zip(result["pages"], figure.places, strict=True):
        cluster = by_number[page["cluster"]]
        size = len(cluster.pages)
        is_medoid = size > 2 and cluster.medoid["id"] == page["id"]  # with two pages, either is the medoid
        note = ", its medoid" if is_medoid else ""
        title = f"{page['id']}: {page['title'] or NONE}; cluster {cluster.number}{note}"
        drawn.append((is_medoid, -size, (x, y, cluster.style, is_medoid, title)))
    drawn.sort(key=lambda item: item[:2])
    stress = result["map"].get("stress")
    quality = "" if stress is None else next((word for most, word in _STRESS if stress <= most), "poor")
    return {"figure": figure, "points": [item[2] for item in drawn], "stress": stress, "quality": quality}


def _histogram(given: Row | None, threshold: float | None) -> HistogramFigure | None:
    if not given or not sum(given["counts"]):
        return None
    edges, counts = [float(edge) for edge in given["edges"]], [int(n) for n in given["counts"]]
    if len(edges) != len(counts) + 1 or any(left > right for left, right in pairwise(edges)):
        raise UsageError(f"{len(counts)} bins need {len(counts) + 1} increasing edges, got {len(edges)}")
    return histogram_figure(edges, counts, threshold)


def _number(value: float | None) -> str:
    """Format an index, which may be infinite or undefined."""
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.3f}" if math.isfinite(value) else "∞"
