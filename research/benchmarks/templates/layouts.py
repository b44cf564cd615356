"""Subclusters of each site against its layouts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import open_dataset
from blockml.evaluation.clusters import adjusted_rand, nmi
from blockml.templates.clustering import average_linkage, find_subclusters, gap_threshold, single_linkage
from blockml.templates.distances import distance_matrix
from research.benchmarks.templates.common import LINEAR, Labels, Matrix, Row, layout_of, sketched, table


def layouts_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Evaluate clusters within each site against its layouts, with and without class tokens."""
    pages = open_dataset(corpora / "sites").pages
    both = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(sketched)(page) for page in pages)
    sites = np.array([page.site for page in pages])
    layouts = np.array([f"{page.site}/{layout_of(page)}" for page in pages])
    rows: list[Row] = []
    by_site: list[Row] = []
    for metric in LINEAR:
        for classes in (False, True):
            matrix = distance_matrix([pair[classes] for pair in both], metric)
            found: dict[str, list[Row]] = {}
            for site in sorted(set(sites.tolist())):
                places = np.flatnonzero(sites == site)
                for method, labels in inside(matrix[np.ix_(places, places)], metric, layouts[places]):
                    row: Row = {"site": site, "layouts": len(set(layouts[places])), "clusters": int(labels.max()) + 1}
                    row |= {
                        "adjusted_rand": adjusted_rand(labels, layouts[places]),
                        "nmi": nmi(labels, layouts[places]),
                    }
                    found.setdefault(method, []).append(row)
                    by_site.append({"distance": metric, "classes": "yes" if classes else "no", "method": method, **row})
            levels = two_level_labels(average_linkage(matrix, k=len(set(sites.tolist()))).labels, matrix)
            labels = levels[:, 0] * len(levels) + levels[:, 1]
            whole = {"clusters": len(set(labels.tolist())), "adjusted_rand": adjusted_rand(labels, layouts)}
            found["all sites, two levels"] = [{**whole, "nmi": nmi(labels, layouts)}]
            for method, results in found.items():
                means = {key: mean(row[key] for row in results) for key in ("adjusted_rand", "nmi")}
                count = f"{mean(row['clusters'] for row in results):.1f}"
                shown = {"distance": metric, "classes": "yes" if classes else "no", "method": method}
                rows.append({**shown, "clusters": count, **means})
    print(f"\n### Layouts of {len(set(sites.tolist()))} sites: {len(set(layouts.tolist()))} in all; means over sites\n")
    rows.sort(key=lambda row: str(row["method"]))
    print(table(rows))
    best = max((row for row in rows if "silhouette" in row["method"]), key=lambda row: row["adjusted_rand"])
    keys = ("distance", "classes", "method")
    print(f"By site, {best['distance']}, classes: {best['classes']}, {best['method']}\n")
    chosen = [row for row in by_site if all(row[key] == best[key] for key in keys)]
    print(table(chosen, {key: key for key in ("site", "layouts", "clusters", "adjusted_rand", "nmi")}))
    return {"means": rows, "sites": by_site}


def inside(matrix: Matrix, metric: str, truth: NDArray[np.str_]) -> Iterator[tuple[str, Labels]]:
    """Yield name and labels of each clustering method for the pages of one site."""
    yield "average linkage, best silhouette", find_subclusters(matrix).clustering.labels
    gap = gap_threshold(matrix, relative=metric == "tv")
    one = np.zeros(len(matrix), dtype=np.int32)
    yield "single linkage, gap", one if gap is None else single_linkage(matrix, threshold=gap).labels
    yield "average linkage, true number", average_linkage(matrix, k=len(np.unique(truth))).labels


def two_level_labels(labels: NDArray[np.int32], matrix: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return (n, 2) the cluster of each item, and its subcluster in that.

    Examples
    --------
    >>> near = np.abs(np.subtract.outer([0, 0.1, 5, 5.1], [0, 0.1, 5, 5.1]))
    >>> two_level_labels(np.zeros(4, np.int32), near).tolist()
    [[0, 0], [0, 0], [0, 1], [0, 1]]
    """
    levels = np.stack([labels, labels], axis=1)
    for cluster in set(labels.tolist()):
        members = np.flatnonzero(labels == cluster)
        levels[members, 1] = find_subclusters(matrix[np.ix_(members, members)]).clustering.labels
    return levels
