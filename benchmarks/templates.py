"""How well pages of one template are told from others, how fast, and how many pages it takes to find them.

Needs the folder of labelled corpora; one that lacks some sets measures those it has. Every section prints Markdown and
writes its numbers as JSON. Times are CPU time of one process; those of ``times`` are the least of two rounds.

``clustering``  the six distances and the clusterings of Gottron 2008 against known sites (his tables 1 to 4)
``times``       what a matrix of distances costs (his figure 1)
``layouts``     finer clusters inside a site against its layouts
``linked``      pages to load for mutually linked ones (Alarte et al. 2014: 7), and training sets by size
``scale``       single linkage of ten thousand pages
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

import blockml
from blockml.cli.output import note, write_output
from blockml.datasets import LabelledPage, open_dataset
from blockml.evaluation.clusters import adjusted_rand, cluster_scores, dunn, nmi, rand
from blockml.page import Page
from blockml.templates.clustering import (
    PRESETS,
    auto_threshold,
    average_linkage,
    find_subclusters,
    gap_threshold,
    k_medoids_runs,
    minhash_linkage,
    single_linkage,
    two_level_labels,
)
from blockml.templates.distances import METRICS, PageSketch, distance_matrix, sketch
from blockml.templates.linked import ORDERS, PageSource, find_menu, find_subdigraph, links, ordered, training_set
from blockml.templates.linked.folder import FolderSource, open_source

#: Distances whose cost per pair is linear: the others are measured on a sample of a large collection.
LINEAR = ("cp", "cps", "tv", "ctss")
#: What Gottron 2008 printed for 500 pages of five sites: Dunn indices (table 1), and Rand indices over ordered pairs of
#: the mean of 100 runs of k-median (table 2) and of single linkage (table 3).
PAPER = {
    "dunn": {"rtdm": 0.4657, "tv": 0.1031, "cp": 1.1691, "cps": 1.2272, "lcts": 0.6726, "ctss": 1.2901},
    "k-median, mean": {"rtdm": 0.9608, "tv": 0.9399, "cp": 0.9560, "cps": 0.9140, "lcts": 0.9157, "ctss": 0.9293},
    "single linkage, true number": {"rtdm": 0.92, "tv": 0.92, "cp": 1.0, "cps": 1.0, "lcts": 1.0, "ctss": 1.0},
}
#: A collection with more pages is sampled for the distances of quadratic cost.
LARGE = 300
#: Distances and thresholds of the large collection: published ones, and ones below the least distance between two of
#: its sites (measured by the first section).
THRESHOLDS = (("cp", PRESETS["cp"]), ("cp", 0.6), ("cps", 0.4), ("ctss", PRESETS["ctss"]), ("ctss", 0.8))
#: Most clusters of a collection that are tried by their silhouette.
MOST = 60
#: Collections, and what is taken for the truth of each: the site, or another field of a row.
TRUTHS = {"sites": ("site",), "ir-research-big9-chaos": ("cluster", "site"), "cleanportaleval": ("site",)}
#: Measured beside the six distances: tree mapping that gives up beyond the published threshold.
CURVES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    **{metric: (metric, {}) for metric in METRICS},
    f"rtdm up to {PRESETS['rtdm']:g}": ("rtdm", {"cutoff": PRESETS["rtdm"]}),
}
LINE = 12  # pixels of a line of text
TRAINING_SIZES = (4, 8, 16, 32, 64)
SAME_LAYOUT = 4  # pages of one layout that a template is learned from

Row = dict[str, Any]
Labels = NDArray[np.int32]
Matrix = NDArray[np.float64]


def table(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str] | None = None) -> str:
    """Rows as Markdown; ``columns`` chooses keys and names them."""
    names = columns or {key: key for key in rows[0]}
    lines = [list(names.values()), ["---"] * len(names), *([_cell(row[key]) for key in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        rounded = round(value, 4) + 0.0  # no negative zero
        return f"{rounded:.4f}".replace("0.", ".", 1) if abs(rounded) < 1 else f"{rounded:.4f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def average(values: Sequence[float], form: str) -> str:
    """Mean of some numbers in words; of none there is none."""
    return format(mean(values), form) if values else "-"


def cpu_seconds(work: Callable[[], object], rounds: int = 2) -> float:
    """CPU time of a call, the least of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def stratified(groups: Sequence[str], seed: int) -> list[int]:
    """Places of all items in an order that starts with one of each group, then has a second of each, and so on."""
    chance = np.random.default_rng(seed).permutation(len(groups)).tolist()
    seen: Counter[str] = Counter()
    ranked = []
    for place in sorted(range(len(groups)), key=lambda place: chance[place]):
        ranked.append((seen[groups[place]], groups[place], place))
        seen[groups[place]] += 1
    return [place for _, _, place in sorted(ranked)]


def sketched(labelled: LabelledPage) -> tuple[PageSketch, PageSketch]:
    """Sketch of a page without and with classes."""
    page = parsed(labelled)
    return sketch(page), sketch(page, classes=True)


def parsed(labelled: LabelledPage) -> Page:
    """Parse a labelled page."""
    return blockml.parse(labelled.load()[0], url=labelled.url, charset=labelled.charset)


def group_of(labelled: LabelledPage, field: str) -> str:
    """Site of a page, or another field of its row; empty if it has none."""
    return labelled.site if field == "site" else str(labelled.extra.get(field) or "")


def layout_of(labelled: LabelledPage) -> str:
    """Name of the template within its site."""
    return str(labelled.extra.get("layout") or labelled.extra["template"])


# --- clustering ------------------------------------------------------------------------------------------------------


def clusterings(matrix: Matrix, metric: str, truth: ArrayLike, runs: int) -> Iterator[tuple[str, float | None, Any]]:
    """Every way to cluster: its name, threshold, and one or more results."""
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
    # Distances that join no clusters don't matter to single linkage: look for the gap among those that do.
    jump = merge_gap(matrix)
    yield "single linkage, gap of merges", jump, [single_linkage(matrix, threshold=jump).labels]
    for name, threshold in PRESETS.items():
        if name.partition("-")[0] == metric:
            yield "single linkage, published", threshold, [single_linkage(matrix, threshold=threshold).labels]
    tried = [single_linkage(matrix, threshold=t) for t in np.linspace(0, max(float(matrix.max()), 1e-9), 101)]
    best = max(tried, key=lambda clustering: adjusted_rand(clustering.labels, truth))
    yield "single linkage, best threshold in hindsight", best.threshold, [best.labels]
    yield "average linkage, true number", None, [average_linkage(matrix, k=k).labels]
    yield "average linkage, best silhouette", None, [find_subclusters(matrix, max_clusters=MOST).clustering.labels]
    medians = k_medoids_runs(matrix, k, runs)
    yield f"k-median, mean of {runs} runs", None, [run.labels for run in medians.runs]
    yield "k-median, run of least distance", None, [medians.best.labels]


def merge_gap(matrix: Matrix) -> float:
    """Middle of the widest gap between the distances of successive merges of single linkage, from .05 on."""
    merges = single_linkage(matrix, k=1).merges
    assert merges is not None  # noqa: S101 - what linkage gives
    heights = np.unique(np.append(merges[:, 2], 0.05 * float(matrix.max())))
    heights = heights[heights >= 0.05 * float(matrix.max())]
    if len(heights) < 2:
        return float(heights[0])
    widest = int(np.diff(heights).argmax())
    return float(heights[widest : widest + 2].mean())


def confusions(labels: ArrayLike, truth: Sequence[str]) -> Row:
    """Clusters with pages of several groups, the largest first, and groups with pages in several clusters."""
    cells = Counter(zip(np.asarray(labels).tolist(), truth, strict=True))
    clusters: dict[int, dict[str, int]] = {}
    groups: dict[str, list[int]] = {}
    for (cluster, group), count in sorted(cells.items(), key=lambda cell: -cell[1]):
        clusters.setdefault(cluster, {})[group] = count
        groups.setdefault(group, []).append(count)
    merged = sorted((c for c in clusters.values() if len(c) > 1), key=lambda c: -sum(c.values()))
    return {"merged": merged, "split": {group: sizes for group, sizes in groups.items() if len(sizes) > 1}}


def told(found: Row, most: int = 6) -> str:
    """Confusions in words."""
    merged = "; ".join(
        " + ".join(f"{group} {count}" for group, count in list(c.items())[:most])
        + (f" and {len(c) - most} more" if len(c) > most else "")
        for c in found["merged"][:most]
    )
    parts = sorted(found["split"].items(), key=lambda item: -len(item[1]))
    split = "; ".join(f"{group} into {len(sizes)}, the largest {sizes[0]}" for group, sizes in parts[:most])
    return f"joined: {merged or 'none'} ({len(found['merged'])}). Parted: {split or 'none'} ({len(parts)})"


def extremes(matrix: Matrix, truth: Sequence[str], ids: Sequence[str]) -> str:
    """What the Dunn index is made of: the two farthest pages of a group, the two nearest of different groups."""
    codes = np.unique(np.asarray(truth), return_inverse=True)[1]
    same = codes[:, None] == codes
    inside = np.unravel_index(np.where(same, matrix, -1).argmax(), matrix.shape)
    apart = np.unravel_index(np.where(same, np.inf, matrix).argmin(), matrix.shape)
    return (
        f"{matrix[inside]:.4f} inside {truth[int(inside[0])]} ({ids[int(inside[0])]}, {ids[int(inside[1])]}), "
        f"{matrix[apart]:.4f} between {ids[int(apart[0])]} and {ids[int(apart[1])]}"
    )


def evaluate(matrix: Matrix, metric: str, truth: Sequence[str], ids: Sequence[str], runs: int) -> tuple[Row, list[Row]]:
    """The Dunn index of a distance, and a row of scores per clustering."""
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
    """Distances, best first, and how many of the pairs that the paper orders are in the same order here."""
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
    """All distances and clusterings on every collection."""
    report: Row = {}
    for name, truths in TRUTHS.items():
        if name not in options.collections:
            continue
        if not (corpora / name).is_dir():
            note(f"{name} is not there and left out")
            continue
        pages = [page for page in open_dataset(corpora / name).pages if group_of(page, truths[0])]
        both = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(sketched)(page) for page in pages)
        sketches = [plain for plain, _ in both]
        parts: dict[str, tuple[Sequence[int], Sequence[str]]] = {name: (range(len(pages)), tuple(METRICS))}
        if len(pages) > LARGE:
            groups = [group_of(page, truths[0]) for page in pages]
            some = sorted(stratified(groups, options.seed)[: options.sample])
            parts = {
                name: (range(len(pages)), LINEAR),
                f"{name}, a sample": (some, tuple(METRICS)),
            }
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
    """Tables of one collection."""
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
            print(f"* {row['distance']}, {row['method']}{at}: {told(row['confusions'])}")


# --- times -----------------------------------------------------------------------------------------------------------


def times_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Seconds for sketches and matrices of more and more pages."""
    pages = open_dataset(corpora / "sites").pages
    order = stratified([page.site for page in pages], options.seed)[: max(options.sizes)]
    trees = [parsed(pages[place]) for place in order]
    sketches = [sketch(page) for page in trees]
    sizes = [size for size in options.sizes if size <= len(trees)]
    curves: dict[str, list[float | None]] = {
        "sketches": [cpu_seconds(lambda: [sketch(page) for page in trees[:size]]) for size in sizes]  # noqa: B023
    }
    for name, (metric, settings) in CURVES.items():
        distance_matrix(sketches[:2], metric, **settings)  # what is imported at the first call
        curve: list[float | None] = []
        for size, before in zip(sizes, [0, *sizes], strict=False):
            # Twice the pages are four times the pairs.
            expected = (curve[-1] or 0) * (size / before) ** 2 if curve and curve[-1] is not None else 0.0
            skipped = bool(curve and curve[-1] is None) or expected > options.limit
            some = sketches[:size]
            curve.append(None if skipped else cpu_seconds(lambda: distance_matrix(some, metric, **settings)))  # noqa: B023
        curves[name] = curve
        note(f"times: {name}")
    rows = [{"": name, **dict(zip(map(str, sizes), values, strict=True))} for name, values in curves.items()]
    print(f"\n### CPU seconds by number of pages ({mean(map(len, sketches)):.0f} elements a page on average)\n")
    print(table(rows))
    largest = max(i for i in range(len(sizes)) if all(values[i] is not None for values in curves.values()))
    ratios = {
        name: f"{(values[largest] or 0) / (curves['cp'][largest] or 1e-9):.2f}" for name, values in curves.items()
    }
    print(f"At {sizes[largest]} pages, as multiples of cp: " + ", ".join(f"{n} {r}" for n, r in ratios.items()) + "\n")
    write_output(picture(sizes, curves), f"{options.out}/times.svg")
    return {"sizes": sizes, "seconds": curves}


def picture(sizes: Sequence[int], curves: Mapping[str, Sequence[float | None]]) -> str:
    """Draw seconds against pages, both on logarithmic axes."""
    width, height, left, top = 520, 360, 60, 40
    colours = ("#888", "#1f5fa8", "#c0392b", "#d98500", "#27865a", "#7d3fa8", "#222", "#6ab0e8")
    seconds = [value for values in curves.values() for value in values if value]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))

    def x(size: float) -> float:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        return left + width * math.log(size / sizes[0]) / span

    def y(value: float) -> float:
        return top + height * (high - math.log10(value)) / max(high - low, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 120} {top + height + 40}" '
        'font-family="sans-serif" font-size="11">',
        "<title>CPU seconds for a matrix of distances, by number of pages</title>",
        f'<rect width="{left + width + 120}" height="{top + height + 40}" fill="white"/>',
        f'<text x="{left}" y="20">CPU seconds for all distances between pages, by number of pages</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    parts += [f'<text x="{x(s):.1f}" y="{top + height + 18}" text-anchor="middle">{s}</text>' for s in sizes]
    labels: list[tuple[float, float]] = []
    for (name, values), colour in zip(curves.items(), colours, strict=False):
        points = [(x(size), y(value)) for size, value in zip(sizes, values, strict=True) if value]
        if points:
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            a, b = points[-1]
            while any(a == c and abs(b - d) < LINE for c, d in labels):  # no two names on one another
                b -= 1
            labels.append((a, b))
            parts.append(f'<text x="{a + 6:.1f}" y="{b + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"])


# --- layouts ---------------------------------------------------------------------------------------------------------


def layouts_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Clusters inside each site against its layouts, with and without class tokens."""
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
            found["all sites at once, two levels"] = [{**whole, "nmi": nmi(labels, layouts)}]
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
    """Every way to cluster the pages of one site."""
    yield "average linkage, best silhouette", find_subclusters(matrix).clustering.labels
    gap = gap_threshold(matrix, relative=metric == "tv")
    one = np.zeros(len(matrix), dtype=np.int32)
    yield "single linkage, gap", one if gap is None else single_linkage(matrix, threshold=gap).labels
    yield "average linkage, true number", average_linkage(matrix, k=len(np.unique(truth))).labels


# --- linked pages ----------------------------------------------------------------------------------------------------


class Kept(PageSource):
    """A source that keeps its pages parsed."""

    def __init__(self, source: FolderSource) -> None:
        self._source = source
        self._pages: dict[str, Page | None] = {}

    def get(self, url: str) -> Page | None:
        """Take the page that was parsed before."""
        if url not in self._pages:
            self._pages[url] = self._source.get(url)
        return self._pages[url]

    def resolve(self, page: Page, href: str) -> str | None:
        """As the source does."""
        return self._source.resolve(page, href)


def linked_site(folder: Path, site: str, layouts: Mapping[str, str], n_keys: int, seed: int) -> Row:
    """Subdigraphs and training sets of the home page and other key pages of one site; ``layouts`` by page id."""
    files = open_source(folder, site=site)
    assert isinstance(files, FolderSource)  # noqa: S101 - what a folder of pages is
    source, layout = Kept(files), {files.url_of(page): name for page, name in layouts.items()}
    urls, names = list(layout), list(layout.values())
    # The first page is the home page; the others are of different layouts as far as there are as many.
    keys = [0, *(place for place in stratified(names, seed) if place and names[place] != names[0])]
    keys = list(dict.fromkeys([*keys, *stratified(names, seed)]))[: 1 + n_keys]
    found: Row = {"digraphs": [], "training": []}
    for place in keys:
        key = source.get(urls[place])
        if key is None:
            continue
        of = {"site": site, "key": urls[place], "home": place == 0, "layout": names[place]}
        for order in ORDERS:
            digraph = find_subdigraph(key, source, order=order)
            alike = [layout.get(page.url or "") == names[place] for page in digraph.pages]
            row = {**of, "order": order, "size": len(digraph.pages), "loaded": digraph.n_loaded}
            row |= {"complete": digraph.complete, "links": digraph.n_links, "alike": mean(alike) if alike else None}
            row |= {"menu": find_menu(key, source=source) is not None}
            reach = ordered(key, links(key, source), order, source)
            same = [i for i, link in enumerate(reach) if layout.get(link.url) == names[place]]
            # The key page is loaded too.
            row["until"] = same[SAME_LAYOUT - 1] + 2 if len(same) >= SAME_LAYOUT else None
            found["digraphs"].append(row)
        for size in TRAINING_SIZES:
            start = time.process_time()
            training = training_set(key, files, max_pages=size)
            seconds = time.process_time() - start
            right = [layout.get(page.url or "") == names[place] for page in training.loaded[1:]]
            kept = [hit for hit, label in zip(right, training.labels[1:].tolist(), strict=True) if label == 0]
            row = {**of, "max_pages": size, "loaded": len(right), "kept": len(kept), "right": sum(kept)}
            row |= {"of_layout": sum(right), "how": training.how, "enough": training.reason is None}
            found["training"].append({**row, "seconds": seconds})
    return found


def linked_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Pages to load, by order of links, and training sets, by size."""
    folder = corpora / "sites"
    layouts: dict[str, dict[str, str]] = {}
    for page in sorted(open_dataset(folder).pages, key=lambda page: (not is_home(page), page.id)):
        layouts.setdefault(page.site, {})[page.id] = layout_of(page)
    results = joblib.Parallel(n_jobs=options.jobs)(
        joblib.delayed(linked_site)(folder, site, pages, options.keys, options.seed) for site, pages in layouts.items()
    )
    digraphs = [row for result in results for row in result["digraphs"]]
    training = [row for result in results for row in result["training"]]
    print(f"\n### Four mutually linked pages: {len(digraphs) // len(ORDERS)} key pages of {len(layouts)} sites\n")
    groups = {"all": digraphs, "home pages": [row for row in digraphs if row["home"]]}
    groups["other pages"] = [row for row in digraphs if not row["home"]]
    print(table([digraph_row(name, order, rows) for name, rows in groups.items() for order in ORDERS]))
    print("By site: pages loaded, mean size\n")
    shown = []
    for site in layouts:
        row: Row = {"site": site}
        for order in ORDERS:
            rows = [item for item in digraphs if item["site"] == site and item["order"] == order]
            row[order] = f"{mean(r['loaded'] for r in rows):.1f}, {mean(r['size'] for r in rows):.1f}"
        shown.append(row)
    print(table(shown))
    print("### Training sets by number of links followed\n")
    print(table([training_row(size, [row for row in training if row["max_pages"] == size]) for size in TRAINING_SIZES]))
    return {"digraphs": digraphs, "training": training}


def is_home(page: LabelledPage) -> bool:
    """Whether a page is the home page of its site: said by the name of its layout."""
    return layout_of(page).rpartition("/")[2].startswith("home") or page.id.endswith("--000")


def digraph_row(name: str, order: str, rows: Sequence[Row]) -> Row:
    """Means over key pages, in one order of links."""
    rows = [row for row in rows if row["order"] == order]
    reached = [row["until"] for row in rows if row["until"] is not None]
    alike = [row["alike"] for row in rows if row["alike"] is not None]
    return {
        "key pages": f"{name} ({len(rows)})",
        "order": order,
        "complete": f"{mean(row['complete'] for row in rows):.0%}",
        "mean size": f"{mean(row['size'] for row in rows):.2f}",
        "pages loaded": f"{mean(row['loaded'] for row in rows):.1f}",
        "loaded where complete": average([row["loaded"] for row in rows if row["complete"]], ".1f"),
        "of the key's layout": average(alike, ".0%"),
        "menu found": f"{mean(row['menu'] for row in rows):.0%}",
        f"pages until {SAME_LAYOUT} of the key's layout": f"{average(reached, '.1f')} ({len(reached)} keys)",
    }


def training_row(size: int, rows: Sequence[Row]) -> Row:
    """Means over key pages, at one number of links."""
    some = [row for row in rows if row["kept"]]
    share = [row["of_layout"] / row["loaded"] for row in rows if row["loaded"]]
    kept = [row["right"] / row["of_layout"] for row in rows if row["of_layout"]]
    return {
        "links at most": size,
        "pages loaded": f"{mean(row['loaded'] for row in rows):.1f}",
        "share of the key's layout": average(share, ".3f"),
        "pages kept": f"{mean(row['kept'] for row in rows):.1f}",
        "precision": f"{average([row['right'] / row['kept'] for row in some], '.3f')} ({len(some)} keys)",
        "recall": average(kept, ".3f"),
        "enough pages": f"{mean(row['enough'] for row in rows):.0%}",
        "threshold from": ", ".join(f"{how} {n}" for how, n in Counter(row["how"] for row in rows).most_common()),
        "seconds": f"{mean(row['seconds'] for row in rows):.3f}",
    }


# --- scale -----------------------------------------------------------------------------------------------------------


def mutated(values: NDArray[np.uint64], pool: NDArray[np.uint64], chance: np.random.Generator) -> NDArray[np.uint64]:
    """Copy a set with 5 to 15 % of its elements dropped and as many of others added."""
    kept = values[chance.random(len(values)) >= chance.uniform(0.05, 0.15)]
    added = chance.choice(pool, round(len(values) * chance.uniform(0.05, 0.15)))
    return np.unique(np.concatenate([kept, added]))


def scale_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Cluster thousands of sets: those of real pages, and copies of them that differ a little."""
    pages = open_dataset(corpora / "sites").pages
    both = joblib.Parallel(n_jobs=options.jobs)(joblib.delayed(sketched)(page) for page in pages)
    report: list[Row] = []
    for metric, threshold in THRESHOLDS:
        chance = np.random.default_rng(options.seed)
        real = [METRICS[metric].prepare(plain) for plain, _ in both]
        pool, owner = np.concatenate(real), list(range(len(real)))
        owner += chance.integers(len(real), size=max(options.copies - len(real), 0)).tolist()
        sets = [*real, *(mutated(real[i], pool, chance) for i in owner[len(real) :])]
        sites = np.array([pages[i].site for i in owner])
        start = time.process_time()
        labels = minhash_linkage(sets, threshold=threshold).labels
        seconds = time.process_time() - start
        some = np.sort(chance.permutation(len(sets))[: options.exact])
        sample = [sets[i] for i in some.tolist()]
        start = time.process_time()
        exact = single_linkage(METRICS[metric].matrix(sample), threshold=threshold).labels
        exact_seconds = time.process_time() - start
        start = time.process_time()
        again = minhash_linkage(sample, threshold=threshold).labels
        sample_seconds = time.process_time() - start
        row: Row = {"distance": metric, "threshold": threshold, "pages": len(sets), "seconds": f"{seconds:.1f}"}
        row |= {"clusters": len(set(labels.tolist())), "adjusted Rand with sites": adjusted_rand(labels, sites)}
        row |= {"sample": len(some), "seconds (sample)": f"{sample_seconds:.1f}", "exact": f"{exact_seconds:.1f}"}
        row |= {"Rand": rand(again, exact), "adjusted Rand": adjusted_rand(again, exact)}
        row["all pages, on the sample"] = adjusted_rand(labels[some], exact)
        report.append(row)
        note(f"scale: {metric} {threshold:g}")
    print("\n### Single linkage without a matrix; Rand indices with single linkage of the sample's matrix\n")
    print(table(report))
    return {"scale": report}


SECTIONS: Mapping[str, Callable[[Path, argparse.Namespace], Row]] = {
    "clustering": clustering_section,
    "times": times_section,
    "layouts": layouts_section,
    "linked": linked_section,
    "scale": scale_section,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one section or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="?", default="all", choices=[*SECTIONS, "all"])
    parser.add_argument("--corpora", default=os.environ.get("BLOCKML_CORPORA"), help="folder of the labelled corpora")
    parser.add_argument("--out", default="out/templates", help="folder for JSON and pictures (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=100, help="runs of k-median (default: %(default)s)")
    parser.add_argument("--collections", nargs="+", default=list(TRUTHS), choices=TRUTHS, help="for clustering")
    parser.add_argument(
        "--sample", type=int, default=210, help="pages of a large collection, as many of each group, for slow distances"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[25, 50, 100, 200, 400], help="pages of the time curves"
    )
    parser.add_argument("--limit", type=float, default=60, help="leave out matrices expected to take more seconds")
    parser.add_argument("--keys", type=int, default=5, help="key pages of a site beside its home page")
    parser.add_argument("--copies", type=int, default=10_000, help="pages of the large collection")
    parser.add_argument("--exact", type=int, default=2_000, help="pages of it that are clustered exactly too")
    options = parser.parse_args(argv)
    if not options.corpora:
        note("BLOCKML_CORPORA names no folder of corpora")
        return 3
    for name in SECTIONS if options.section == "all" else [options.section]:
        result = SECTIONS[name](Path(options.corpora), options)
        write_output(json.dumps(result, indent=2), f"{options.out}/{name}.json")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
