"""Gottron 2008, Bridging the gap, table 3: pages of one template among others, clustering, extraction by frequency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.evaluation import bootstrap_mean, lcs_scores, paired_difference
from blockml.extract import extract_page
from blockml.extractors import Extractor, resolve
from blockml.page import Page
from blockml.sites.fitting import group_by_site
from blockml.templates.clustering import PRESETS, auto_threshold, single_linkage
from blockml.templates.distances import distance_matrix, sketch
from blockml.templates.site import SiteTemplate
from research.benchmarks.papers.common import corpus, show, signed, spread
from research.benchmarks.templates.common import parsed

__all__ = ["content_section", "precision_at"]

#: Number of pages of other templates that are added; the paper's pages link to 15 pages on average.
FOREIGN = 20

#: Numbers of pages of the template, including the page itself.
SIZES = (2, 4, 6, 8, 10)

#: Rules that remove repeated text, with a parameter from high precision to high recall, and rules for single pages.
CURVES: Mapping[str, tuple[str, str, Sequence[float]]] = {
    "DF (CP)": ("df", "theta", (0.1, 0.2, 1 / 3, 0.5, 0.75, 0.9)),
    "entropy (CP)": ("entropy", "theta", (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
    "DSC": ("dsc", "factor", (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
    "ACCB": ("accb", "threshold", (0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)),
}

#: Recalls at which precisions are compared.
RECALLS = (0.95, 0.98, 0.99)

_Scores = tuple[float, float, float]  # precision, recall, F1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One extraction."""

    system: str
    place: str  #: Id of the page.
    site: str
    scores: _Scores
    n_pages: int = 1  #: Number of pages that were learnt.
    purity: float = 1.0  #: Share of these pages that have the template of the page.
    fallback: bool = False


def content_section(corpora: Path | None, jobs: int) -> None:
    """Print scores of the whole procedure, by number of pages, and precision at equal recall."""
    if corpora is None:
        sets = {"data": corpus(None, "data")}
    else:
        big9 = corpus(corpora, "ir-research-big9-chaos")
        with_template = tuple(page for page in big9.pages if page.extra.get("cluster"))
        sets = {"big9": replace(big9, pages=with_template), "cleanportaleval": corpus(corpora, "cleanportaleval")}
    for name, dataset in sets.items():
        outcomes = _outcomes(dataset, jobs)
        show(f"{name}: the whole route, {FOREIGN} foreign pages; LCS of words", _route_rows(outcomes))
        show(f"{name}: by pages of the template among {FOREIGN} foreign ones", _size_rows(outcomes))
        show(f"{name}: precision at equal recall", list(_recall_rows(outcomes)))


def _outcomes(dataset: Dataset, jobs: int) -> list[Outcome]:
    """Extract every page of every template with at least four pages."""
    groups = [group for group in group_by_site(dataset.pages) if len(group) >= 4]
    chance = np.random.default_rng(0)
    tasks = []
    for group in groups:
        own = {page.id for page in group}
        others = [page for page in dataset.pages if page.id not in own]
        drawn = chance.permutation(len(others))[:FOREIGN].tolist()
        tasks.append((group, [others[place] for place in drawn]))
    with joblib.Parallel(n_jobs=jobs) as parallel:
        return [row for rows in parallel(joblib.delayed(_of_template)(*task) for task in tasks) for row in rows]


def _of_template(group: Sequence[LabelledPage], foreign: Sequence[LabelledPage]) -> list[Outcome]:
    """Extract the pages of one template by every system."""
    own, others = [parsed(page) for page in group], [parsed(page) for page in foreign]
    pages = [*own, *others]
    sketches = [sketch(page) for page in pages]
    matrices = {metric: distance_matrix(sketches, metric) for metric in ("cp", "cps", "ctss")}
    is_own = np.arange(len(pages)) < len(own)
    labels: dict[str, NDArray[np.int32]] = {"unclustered": np.zeros(len(pages), dtype=np.int32)}
    for metric, matrix in matrices.items():
        labels[f"{metric.upper()} {PRESETS[metric]:g}"] = single_linkage(matrix, threshold=PRESETS[metric]).labels
    automatic = auto_threshold(matrices["cp"], "cp").value
    labels["CP, automatic"] = single_linkage(matrices["cp"], threshold=1.0 if automatic is None else automatic).labels
    labels["template known"] = np.where(is_own, 0, 1 + np.arange(len(pages))).astype(np.int32)
    templates: dict[bytes, SiteTemplate] = {}

    def learnt(chosen: NDArray[np.bool_]) -> SiteTemplate:
        key = chosen.tobytes()
        if key not in templates:
            templates[key] = SiteTemplate.count([pages[place] for place in np.flatnonzero(chosen).tolist()])
        return templates[key]

    rows: list[Outcome] = []
    for place, labelled in enumerate(group):
        gold = labelled.load()[1]
        text = gold.text() if gold else None
        if not text:
            continue
        page, where = own[place], (labelled.id, labelled.site)

        def scored(system: str, extractor: Extractor, chosen: NDArray[np.bool_] | None = None) -> Outcome:
            scores, fallback = _extracted(page, extractor, text)  # noqa: B023 (called before the next page)
            if chosen is None:
                return Outcome(system, *where, scores)  # noqa: B023
            purity = float(is_own[chosen].mean())
            return Outcome(system, *where, scores, int(chosen.sum()), purity, fallback)  # noqa: B023

        rows += [scored(name, resolve(name)) for name in ("plain", "dsc", "accb")]
        for name, of_pages in labels.items():
            chosen = of_pages == of_pages[place]
            rows.append(scored(f"DF, {name}", _with(learnt(chosen), "df"), chosen))
            if not name.startswith("CPS") and not name.startswith("CTSS"):
                rows.append(scored(f"entropy, {name}", _with(learnt(chosen), "entropy"), chosen))
        cluster = labels["CP 0.7"] == labels["CP 0.7"][place]
        for title, (name, parameter, values) in CURVES.items():
            for value in values:
                options = {parameter: value}
                extractor = _with(learnt(cluster), name, options) if "CP" in title else resolve(name, options)
                rows.append(scored(f"{title} @{value:.3g}", extractor))
        rows += _by_size(place, matrices["cp"], is_own, pages, scored)
    return rows


def _by_size(
    place: int,
    matrix: NDArray[np.float64],
    is_own: NDArray[np.bool_],
    pages: Sequence[Page],
    scored: Callable[[str, Extractor, NDArray[np.bool_]], Outcome],
) -> Iterator[Outcome]:
    """Repeat DF after clustering by CP with fewer pages of the template, which follow the page in the data set."""
    n_own = int(is_own.sum())
    for size in SIZES:
        if size > n_own:
            return
        kept = np.isin(np.arange(len(pages)), [(place + step) % n_own for step in range(size)]) | ~is_own
        rows = np.flatnonzero(kept)
        labels = single_linkage(matrix[np.ix_(rows, rows)], threshold=PRESETS["cp"]).labels
        mine = labels[int(np.flatnonzero(rows == place)[0])]
        chosen = np.zeros(len(pages), dtype=bool)
        chosen[rows[labels == mine]] = True
        template = SiteTemplate.count([pages[row] for row in np.flatnonzero(chosen).tolist()])
        yield scored(f"size {size}", _with(template, "df"), chosen)


def _with(template: SiteTemplate, name: str, options: Mapping[str, object] | None = None) -> Extractor:
    """Return a rule with a template; with too few pages it keeps everything."""
    return resolve(name, {"fallback": "plain", **(options or {})}).set_params(template=template)


def _extracted(page: Page, extractor: Extractor, gold: str) -> tuple[_Scores, bool]:
    result = extract_page(page, extractor)
    found = lcs_scores(gold, result.text)
    return (found.precision, found.recall, found.f1), any("the template" in remark for remark in result.remarks)


def _values(outcomes: Sequence[Outcome], system: str) -> tuple[NDArray[np.float64], list[Outcome]]:
    found = [row for row in outcomes if row.system == system]
    return np.array([row.scores for row in found]), found


def _route_rows(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """Average over pages, with intervals over sites, and the difference from keeping everything."""
    plain, clustered = (_values(outcomes, name)[0][:, 2] for name in ("plain", "DF, CP 0.7"))
    rows: list[dict[str, object]] = []
    for system in dict.fromkeys(row.system for row in outcomes):
        if "@" in system or system.startswith("size"):
            continue
        values, found = _values(outcomes, system)
        sites = [row.site for row in found]
        rows.append(
            {
                "system": system,
                "pages": len(found),
                "learnt from": f"{np.mean([row.n_pages for row in found]):.1f}",
                "of the template": f"{np.mean([row.purity for row in found]):.0%}",
                "fallback": f"{np.mean([row.fallback for row in found]):.0%}",
                "P": float(values[:, 0].mean()),
                "R": float(values[:, 1].mean()),
                "R >= .99": f"{np.mean(values[:, 1] >= 0.99):.0%}",
                "F1": spread(bootstrap_mean(values[:, 2], groups=sites)),
                "minus plain": signed(paired_difference(values[:, 2], plain, groups=sites)),
                "minus DF, CP 0.7": signed(paired_difference(values[:, 2], clustered, groups=sites)),
            }
        )
    return rows


def _size_rows(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for size in SIZES:
        values, found = _values(outcomes, f"size {size}")
        if found:
            row: dict[str, object] = {"pages of the template": size, "pages": len(found)}
            row["fallback"] = f"{np.mean([item.fallback for item in found]):.0%}"
            rows.append(row | dict(zip(("P", "R", "F1"), values.mean(axis=0).tolist(), strict=True)))
    return rows


def _recall_rows(outcomes: Sequence[Outcome]) -> Iterator[dict[str, object]]:
    """Interpolate the mean precision at given mean recalls along each rule's parameter."""
    for title, (_, parameter, values) in CURVES.items():
        points = [_values(outcomes, f"{title} @{value:.3g}")[0].mean(axis=0) for value in values]
        curve = [(float(recall), float(precision)) for precision, recall, _ in points]
        row: dict[str, object] = {"system": title, "varied": parameter, "recalls": _span(curve)}
        for recall in RECALLS:
            found = precision_at(curve, recall)
            row[f"P at R {recall:g}"] = "-" if found is None else found
        yield row


def _span(curve: Sequence[tuple[float, float]]) -> str:
    recalls = [recall for recall, _ in curve]
    return f"{min(recalls):.3f} … {max(recalls):.3f}"


def precision_at(curve: Sequence[tuple[float, float]], recall: float) -> float | None:
    """Return the best precision at a recall, interpolated between points (recall, precision); None beyond the last.

    Examples
    --------
    >>> precision_at([(0.8, 0.9), (1.0, 0.7)], 0.9), precision_at([(0.8, 0.9)], 0.9)
    (0.8, None)
    """
    points = sorted(curve)
    if not points or recall > points[-1][0]:
        return None
    best = max((precision for at, precision in points if at >= recall), default=0.0)
    for (low, p_low), (high, p_high) in pairwise(points):
        if low <= recall <= high and high > low:
            best = max(best, p_low + (p_high - p_low) * (recall - low) / (high - low))
    return round(best, 6)
