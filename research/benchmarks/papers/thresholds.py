"""Gottron 2008, Clustering, tables 1 to 4: thresholds chosen on other sites than those evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import note
from blockml.datasets import LabelledPage
from blockml.evaluation.clusters import adjusted_rand, cluster_scores, dunn
from blockml.templates.clustering import PRESETS, auto_threshold, k_medoids_runs, single_linkage
from blockml.templates.distances import METRICS, PageSketch, distance_matrix, sketch
from research.benchmarks.papers.common import corpus, show
from research.benchmarks.papers.published import compare_with_published
from research.benchmarks.templates.clustering import merge_gap
from research.benchmarks.templates.common import parsed, stratified

__all__ = ["held_out_folds", "thresholds_section"]

#: Collections with known templates.
COLLECTIONS = ("sites", "ir-research-big9-chaos", "cleanportaleval")

#: Maximum number of pages of each template, for distances of linear and of quadratic cost.
LINEAR_PAGES, QUADRATIC_PAGES = 10, 5

#: Names of rules.
_MEDIAN, _LOOSE = "k-median, true number, 20 runs", "published, loose"

#: Number of folds of sites, and of thresholds tried.
N_FOLDS, N_THRESHOLDS = 4, 101

_Matrix = NDArray[np.float64]


def thresholds_section(corpora: Path | None, jobs: int) -> None:
    """Print scores of every distance on held-out sites, by rule for the threshold."""
    names = COLLECTIONS if corpora is not None else ("data",)
    sets = [corpus(corpora, name) for name in names]
    # A page without a known template, as in the second half of one collection, does not belong to a group.
    pages = [
        (page, f"{dataset.name}/{page.site}", f"{dataset.name}/{page.template_group}")
        for dataset in sets
        for page in dataset.pages
        if dataset.name != COLLECTIONS[1] or page.extra.get("cluster")
    ]
    for size, metrics in ((LINEAR_PAGES, ("cp", "cps", "tv", "ctss")), (QUADRATIC_PAGES, tuple(METRICS))):
        chosen = _some(pages, size)
        sketches = joblib.Parallel(n_jobs=jobs)(joblib.delayed(_sketched)(page) for page, _, _ in chosen)
        sites, groups = [site for _, site, _ in chosen], [group for _, _, group in chosen]
        note(f"{len(chosen)} pages of {len(set(groups))} templates on {len(set(sites))} sites")
        rows: list[dict[str, object]] = []
        for metric in metrics:
            matrix = distance_matrix(sketches, metric, jobs=jobs)
            rows += _judged(matrix, metric, sites, groups)
            note(metric)
        dataset = f"{len(set(groups))} templates, up to {size} pages each"
        title = f"{len(chosen)} pages of {len(set(sites))} sites, {dataset}"
        show(f"{title}; means over {_n_folds(sites)} folds of held-out sites", rows)
        _show_claims(rows, dataset)


def _show_claims(rows: Sequence[Mapping[str, object]], dataset: str) -> None:
    """Print which conclusions of the published tables hold for the paper's rules here."""
    columns = {"rand_ordered": "Rand (paper)", "purity": "purity", "mutual_information_gottron": "MI (paper)"}
    measured: dict[str, dict[str, dict[str, float]]] = {}

    def add(metric: str, system: str, value: object) -> None:
        measured.setdefault(metric, {})[system] = {dataset: float(str(value))}

    for row in rows:
        distance, rule = str(row["distance"]), str(row["threshold from"])
        add("dunn", distance, row["Dunn"])
        names = {
            "true number": f"{distance}, single linkage",
            _MEDIAN: f"{distance}, k-median",
            "published": f"{distance} at {PRESETS.get(distance, 0):g}",
            _LOOSE: f"{distance} at {PRESETS['cp-loose']:g}",
        }
        for metric, column in columns.items() if rule in names else ():
            add(metric, names[rule], row[column])
    claims = [
        {
            "table": f"{table['name']}, {table['place']}",
            "claim": claim["text"],
            "on held-out sites": _found(claim["ours"]),
        }
        for table in compare_with_published(measured)
        for claim in table["claims"]
        if claim["ours"] is not None
    ]
    if claims:
        show(f"Claims, {dataset}", claims)


def _found(holds: object) -> str:
    return "holds" if holds else "does not hold"


def _some(pages: Sequence[tuple[LabelledPage, str, str]], size: int) -> list[tuple[LabelledPage, str, str]]:
    """Return up to ``size`` pages of each group, drawn at random."""
    order = stratified([group for _, _, group in pages], seed=0)
    seen: dict[str, int] = {}
    kept = []
    for place in order:
        group = pages[place][2]
        seen[group] = seen.get(group, 0) + 1
        if seen[group] <= size:
            kept.append(place)
    return [pages[place] for place in sorted(kept)]


def _sketched(labelled: LabelledPage) -> PageSketch:
    return sketch(parsed(labelled))


def _n_folds(sites: Sequence[str]) -> int:
    """Return the number of folds: at least two sites in each."""
    return max(2, min(N_FOLDS, len(set(sites)) // 2))


def held_out_folds(sites: Sequence[str], n_folds: int) -> NDArray[np.int64]:
    """Assign pages to folds such that all pages of a site are in one, sites in random order.

    Examples
    --------
    >>> fold = held_out_folds(["a", "b", "a", "c"], 2)
    >>> bool(fold[0] == fold[2]), sorted(set(fold.tolist()))
    (True, [0, 1])
    """
    names = sorted(set(sites))
    order = np.random.default_rng(0).permutation(len(names)).tolist()
    fold_of = {names[place]: rank % n_folds for rank, place in enumerate(order)}
    return np.array([fold_of[site] for site in sites])


def _judged(matrix: _Matrix, metric: str, sites: Sequence[str], groups: Sequence[str]) -> list[dict[str, object]]:
    """Cluster the pages of each fold with thresholds of the others, published ones, and rules without gold."""
    n_folds = _n_folds(sites)
    fold = held_out_folds(sites, n_folds)
    truth = np.unique(np.asarray(groups), return_inverse=True)[1]
    grid = np.linspace(0, float(matrix.max()), N_THRESHOLDS)
    found: dict[str, list[tuple[float | None, dict[str, float]]]] = {}
    indices: list[float] = []
    for number in range(n_folds):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        near, own = matrix[np.ix_(train, train)], matrix[np.ix_(test, test)]
        indices.append(dunn(own, truth[test]))
        best, oracle = _best(near, truth[train], grid), _best(own, truth[test], grid)
        rules = {"other sites": best, "published": PRESETS.get(metric), "automatic": None}
        rules |= {"gap of merges": merge_gap(own), "oracle": oracle}
        rules["automatic"] = auto_threshold(own, metric).value
        if metric == "cp":
            rules[_LOOSE] = PRESETS["cp-loose"]
        k = len(set(truth[test].tolist()))
        for rule, threshold in rules.items():
            if threshold is not None:
                labels = single_linkage(own, threshold=threshold).labels
                found.setdefault(rule, []).append((threshold, cluster_scores(labels, truth[test])))
        labels = single_linkage(own, k=k).labels
        found.setdefault("true number", []).append((None, cluster_scores(labels, truth[test])))
        runs = [cluster_scores(run.labels, truth[test]) for run in k_medoids_runs(own, k, 20).runs]
        averaged = {key: mean(run[key] for run in runs) for key in runs[0]}
        found.setdefault(_MEDIAN, []).append((None, averaged))
    return [_row(metric, rule, results, mean(indices)) for rule, results in found.items()]


def _best(matrix: _Matrix, truth: NDArray[np.intp], grid: NDArray[np.float64]) -> float:
    """Return the median of the thresholds with the highest adjusted Rand index."""
    scores = np.array([adjusted_rand(single_linkage(matrix, threshold=t).labels, truth) for t in grid.tolist()])
    return float(np.median(grid[scores >= scores.max() - 1e-12]))


def _row(
    metric: str, rule: str, results: Sequence[tuple[float | None, dict[str, float]]], index: float
) -> dict[str, object]:
    thresholds = [threshold for threshold, _ in results if threshold is not None]
    keys = {"rand_ordered": "Rand (paper)", "adjusted_rand": "adjusted Rand", "purity": "purity"}
    keys |= {"mutual_information_gottron": "MI (paper)", "nmi": "NMI"}
    scores = [row for _, row in results]
    span = f"{min(thresholds):.3g} … {max(thresholds):.3g}" if thresholds else "-"
    return {
        "distance": metric,
        "Dunn": index,
        "threshold from": rule,
        "thresholds": span,
        "clusters": f"{mean(row['clusters'] for row in scores):.1f}",
        **{title: mean(row[key] for row in scores) for key, title in keys.items()},
        "lowest adjusted Rand": min(row["adjusted_rand"] for row in scores),
    }
