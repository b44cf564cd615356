"""The six distances and the clusterings of Gottron 2008 against known sites."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from blockml.cli.output import note
from blockml.datasets import open_dataset
from blockml.evaluation.clusters import adjusted_rand, cluster_scores, dunn
from blockml.templates.clustering import (
    PRESETS,
    auto_threshold,
    average_linkage,
    find_subclusters,
    gap_threshold,
    k_medoids_runs,
    single_linkage,
)
from blockml.templates.distances import METRICS, distance_matrix
from research.benchmarks.templates.common import LINEAR, Matrix, Row, group_of, sketched, stratified, table

#: Results of Gottron 2008 for 500 pages of five sites: Dunn indices (table 1), and Rand indices over ordered pairs of
#: k-median, mean of 100 runs (table 2), and of single linkage (table 3).
PAPER = {
    "dunn": {"rtdm": 0.4657, "tv": 0.1031, "cp": 1.1691, "cps": 1.2272, "lcts": 0.6726, "ctss": 1.2901},
    "k-median, mean": {"rtdm": 0.9608, "tv": 0.9399, "cp": 0.9560, "cps": 0.9140, "lcts": 0.9157, "ctss": 0.9293},
    "single linkage, true number": {"rtdm": 0.92, "tv": 0.92, "cp": 1.0, "cps": 1.0, "lcts": 1.0, "ctss": 1.0},
}
#: Number of pages above which a collection is sampled for the distances of quadratic cost.
LARGE = 300
#: Maximum number of clusters tried by their silhouette.
MOST = 60
#: Collections and the true groups of each: the site, or another field of a row.
TRUTHS = {"sites": ("site",), "ir-research-big9-chaos": ("cluster", "site"), "cleanportaleval": ("site",)}


def clusterings(matrix: Matrix, metric: str, truth: ArrayLike, runs: int) -> Iterator[tuple[str, float | None, Any]]:
    """Yield name, threshold and one or more results of each clustering method."""
    k = len(np.unique(truth))
    yield "single linkage, true number", None, [single_linkage(matrix, k=k).labels]
    gap = gap_threshold(matrix, relative=metric == "tv")
    found = np.zeros(len(matrix), dtype=np.int32) if gap is None else single_linkage(matrix, threshold=gap).labels
    yield "single linkage, gap", gap, [found]
    auto = auto_threshold(matrix, metric)
    found = np.zeros(len(matrix), dtype=np.int32)
    if auto.value is not None:
        found = single_linkage(matrix, threshold=auto.value).labels
    yield f"single linkage, automatic ({auto.source})", auto.value, [found]
    # Single linkage depends only on the distances of its merges: look for the gap among these.
    jump = merge_gap(matrix)
    yield "single linkage, gap of merges", jump, [single_linkage(matrix, threshold=jump).labels]
    for name, threshold in PRESETS.items():
        if name.partition("-")[0] == metric:
            yield "single linkage, published", threshold, [single_linkage(matrix, threshold=threshold).labels]
    tried = [single_linkage(matrix, threshold=t) for t in np.linspace(0, max(float(matrix.max()), 1e-9), 101)]
    best = max(tried, key=lambda clustering: adjusted_rand(clustering.labels, truth))
    yield "single linkage, oracle threshold", best.threshold, [best.labels]
    yield "average linkage, true number", None, [average_linkage(matrix, k=k).labels]
    yield "average linkage, best silhouette", None, [find_subclusters(matrix, max_clusters=MOST).clustering.labels]
    medoids = k_medoids_runs(matrix, k, runs)
    yield f"k-median, mean of {runs} runs", None, [run.labels for run in medoids.runs]
    yield "k-median, run of least distance", None, [medoids.best.labels]


def merge_gap(matrix: Matrix) -> float:
    """Return the middle of the widest gap of at least .05 between successive merge distances of single linkage."""
    merges = single_linkage(matrix, k=1).merges
    assert merges is not None  # noqa: S101 - linkage is hierarchical
    heights = np.unique(np.append(merges[:, 2], 0.05 * float(matrix.max())))
    heights = heights[heights >= 0.05 * float(matrix.max())]
    if len(heights) < 2:
        return float(heights[0])
    widest = int(np.diff(heights).argmax())
    return float(heights[widest : widest + 2].mean())


def confusions(labels: ArrayLike, truth: Sequence[str]) -> Row:
    """Collect clusters with pages of several groups, the largest first, and groups split over several clusters."""
    cells = Counter(zip(np.asarray(labels).tolist(), truth, strict=True))
    clusters: dict[int, dict[str, int]] = {}
    groups: dict[str, list[int]] = {}
    for (cluster, group), count in sorted(cells.items(), key=lambda cell: -cell[1]):
        clusters.setdefault(cluster, {})[group] = count
        groups.setdefault(group, []).append(count)
    merged = sorted((c for c in clusters.values() if len(c) > 1), key=lambda c: -sum(c.values()))
    return {"merged": merged, "split": {group: sizes for group, sizes in groups.items() if len(sizes) > 1}}


def describe(found: Row, most: int = 6) -> str:
    """Describe confusions in words."""
    merged = "; ".join(
        " + ".join(f"{group} {count}" for group, count in list(c.items())[:most])
        + (f" and {len(c) - most} more" if len(c) > most else "")
        for c in found["merged"][:most]
    )
    parts = sorted(found["split"].items(), key=lambda item: -len(item[1]))
    split = "; ".join(f"{group} into {len(sizes)}, the largest {sizes[0]}" for group, sizes in parts[:most])
    return f"merged: {merged or 'none'} ({len(found['merged'])}); split: {split or 'none'} ({len(parts)})"


def extremes(matrix: Matrix, truth: Sequence[str], ids: Sequence[str]) -> str:
    """Describe the pairs behind the Dunn index: the farthest within a group, the nearest of different groups."""
    codes = np.unique(np.asarray(truth), return_inverse=True)[1]
    same = codes[:, None] == codes
    inside = np.unravel_index(np.where(same, matrix, -1).argmax(), matrix.shape)
    apart = np.unravel_index(np.where(same, np.inf, matrix).argmin(), matrix.shape)
    return (
        f"{matrix[inside]:.4f} inside {truth[int(inside[0])]} ({ids[int(inside[0])]}, {ids[int(inside[1])]}), "
        f"{matrix[apart]:.4f} between {ids[int(apart[0])]} and {ids[int(apart[1])]}"
    )


def evaluate(matrix: Matrix, metric: str, truth: Sequence[str], ids: Sequence[str], runs: int) -> tuple[Row, list[Row]]:
    """Compute the Dunn index of a distance, and a row of scores per clustering."""
    codes = np.unique(np.asarray(truth), return_inverse=True)[1]
    rows = []
    for method, threshold, results in clusterings(matrix, metric, codes, runs):
        scores = [cluster_scores(labels, codes) for labels in results]
        means = {key: mean(score[key] for score in scores) for key in scores[0]}
        row: Row = {"distance": metric, "method": method, "threshold": threshold, **means}
        if len(results) == 1:
            row |= {"clusters": int(means["clusters"]), "confusions": confusions(results[0], truth)}
        rows.append(row)
    return {"distance": metric, "dunn": dunn(matrix, codes), "extremes": extremes(matrix, truth, ids)}, rows


def ranking(values: Mapping[str, float], paper: Mapping[str, float] | None) -> str:
    """Rank distances, best first, and count the pairs in the order of the paper."""
    rounded = {name: round(value, 4) for name, value in values.items()}
    levels = sorted(set(rounded.values()), reverse=True)
    order = " > ".join(" = ".join(name for name in rounded if rounded[name] == level) for level in levels)
    if paper is None:
        return order
    pairs = [(a, b) for a in rounded for b in rounded if paper[a] > paper[b]]
    return f"{order}; {sum(rounded[a] > rounded[b] for a, b in pairs)} of {len(pairs)} pairs as in the paper"


_COLUMNS = {
    "method": "method",
    "distance": "distance",
    "threshold": "threshold",
    "clusters": "clusters",
    "rand": "Rand",
    "rand_ordered": "Rand (paper)",
    "adjusted_rand": "adjusted Rand",
    "purity": "purity",
    "mutual_information_gottron": "MI (paper)",
    "mutual_information": "MI (Strehl)",
    "nmi": "NMI",
}


def clustering_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Evaluate all distances and clusterings on every collection."""
    report: Row = {}
    for name, truths in TRUTHS.items():
        if name not in options.collections:
            continue
        if not (corpora / name).is_dir():
            note(f"{name} is missing and was skipped")
            continue
        pages = [page for page in open_dataset(corpora / name).pages if group_of(page, truths[0])]
        both = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(sketched)(page) for page in pages)
        sketches = [plain for plain, _ in both]
        parts: dict[str, tuple[Sequence[int], Sequence[str]]] = {name: (range(len(pages)), tuple(METRICS))}
        if len(pages) > LARGE:
            groups = [group_of(page, truths[0]) for page in pages]
            some = sorted(stratified(groups, options.seed)[: options.sample])
            parts = {name: (range(len(pages)), LINEAR), f"{name}, a sample": (some, tuple(METRICS))}
        for part, (places, metrics) in parts.items():
            matrices = {}
            for metric in metrics:
                start = time.time()
                matrices[metric] = distance_matrix([sketches[i] for i in places], metric, jobs=options.jobs)
                note(f"{part}: {metric} took {time.time() - start:.1f} s")
            for field in truths:
                of = [group_of(pages[i], field) for i in places]
                ids = [pages[i].id for i in places]
                results = [evaluate(matrices[metric], metric, of, ids, options.runs) for metric in metrics]
                rows = sorted((row for _, part in results for row in part), key=lambda row: str(row["method"]))
                title = f"{part} by {field}: {len(of)} pages, {len(set(of))} groups"
                report[title] = {"dunn": [dunns for dunns, _ in results], "clusterings": rows}
                print_clustering(title, report[title])
    return report


def print_clustering(title: str, result: Row) -> None:
    """Print the tables of one collection."""
    print(f"\n### {title}\n")
    print(table(result["dunn"], {"distance": "distance", "dunn": "Dunn index", "extremes": "largest and smallest"}))
    print(f"* Dunn index: {ranking({row['distance']: row['dunn'] for row in result['dunn']}, PAPER['dunn'])}")
    for method in dict.fromkeys(row["method"] for row in result["clusterings"]):
        rows = {row["distance"]: row for row in result["clusterings"] if row["method"] == method}
        paper = next((values for name, values in PAPER.items() if method.startswith(name)), None)
        if paper is not None:
            by_rand = {name: row["rand_ordered"] for name, row in rows.items()}
            print(f"* {method}, Rand (paper): {ranking(by_rand, paper)}")
        if "published" not in method:
            print(f"* {method}, adjusted Rand: {ranking({n: row['adjusted_rand'] for n, row in rows.items()}, None)}")
    print(f"\n{table(result['clusterings'], _COLUMNS)}")
    for row in result["clusterings"]:
        if row["method"].startswith("single") and "confusions" in row and row["adjusted_rand"] < 1:
            at = "" if row["threshold"] is None else f" {row['threshold']:.4g}"
            print(f"* {row['distance']}, {row['method']}{at}: {describe(row['confusions'])}")
