"""A made-up but coherent comparison: page scores are drawn, and every table follows from them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.comparison import TABLES_VERSION

NAMES = (
    "blockml-wide", "trafilatura", "kim2013", "readability", "ccb", "boilerpipe-article", "slope", "newspaper",
    "document-slope-curve", "justext", "tag-ratio", "goose", "crfsuite-outputs", "density", "resiliparse",
    "largest-block", "dragnet", "plain", "ctr-smooth(window=3, threshold=0.25)", "bte", "fusion", "html-text",
    "link-quota", "ccb(view=tree)", "adaptive", "hybrid", "web2text", "naive", "boilernet", "sst",
)  # fmt: skip
PEERS = {
    "trafilatura", "readability", "newspaper", "justext", "goose", "resiliparse", "dragnet", "html-text", "web2text",
    "boilernet",
}  # fmt: skip
DATASETS = (
    ("mixed-types", 1357, ("article", "forum", "product", "service", "documentation", "listing", "collection")),
    ("news-2010", 621, ("article",)),
    ("web-sample", 738, ()),
    ("portals", 71, ("article", "homepage")),
    ("blogs", 240, ("article", "listing")),
)
METRICS: dict[str, dict[str, str]] = {
    "bag_f1": {"title": "F1 of words as a bag", "better": "high"},
    "bag_precision": {"title": "precision of words as a bag", "better": "high"},
    "bag_recall": {"title": "recall of words as a bag", "better": "high"},
    "lcs_f1": {"title": "F1 of words in order", "better": "high"},
    "lcs_precision": {"title": "precision of words in order", "better": "high"},
    "lcs_recall": {"title": "recall of words in order", "better": "high"},
    "shingle_f1": {"title": "F1 of word 4-grams", "better": "high"},
    "with_rate": {"title": "share of required snippets found", "better": "high"},
    "without_rate": {"title": "share of forbidden snippets found", "better": "low"},
    "block_f1": {"title": "F1 of blocks", "better": "high"},
    "block_precision": {"title": "precision of blocks", "better": "high"},
    "block_recall": {"title": "recall of blocks", "better": "high"},
}
SCRIPTS = ("Latin", "Cyrillic", "Arabic", "Han")
QUARTILES = ("q1 (0-120 words)", "q2 (121-400 words)", "q3 (401-900 words)", "q4 (901-20000 words)")
OUTCOMES = ("ok", "empty", "error", "crash", "timeout", "missing")


def made_up_tables(n_systems: int = 25, n_datasets: int = 4, *, seed: int = 0) -> dict[str, Any]:
    """Return tables of a comparison of some systems and data sets; the first system is in-sample on the second set."""
    rng = np.random.default_rng(seed)
    systems, datasets = NAMES[:n_systems], DATASETS[:n_datasets]
    tables: dict[str, Any] = {
        "schema_version": TABLES_VERSION,
        "created": "2031-05-17T09:30:00+00:00",
        "blockml": "0.2.0",
        "command": "blockml compare blockml-wide trafilatura --dataset mixed-types=/data/mixed --dataset news-2010",
        "settings": {"resamples": 1000, "seed": 0, "level": 0.95},
        "metrics": METRICS,
        "datasets": [_dataset(name, pages) for name, pages, _ in datasets],
        "systems": [_system(name, datasets) for name in systems],
        "missing_systems": [{"name": "inscriptis", "install": "pip install inscriptis"}],
        "means": [], "differences": [], "outcomes": [], "cost": [], "distribution": [], "worst": [], "hardest": [],
    }  # fmt: skip
    for dataset, n_pages, types in datasets:
        ease = rng.normal(0, 0.1, n_pages)
        slices = _slices(rng, n_pages, types)
        scores = {}
        for place, system in enumerate(systems):
            scores[system] = _page_scores(rng, system, place, ease, in_sample=place == 0 and dataset == "news-2010")
            tables["means"] += _means(dataset, system, scores[system], slices)
            tables["outcomes"].append(_outcomes(rng, dataset, system, scores[system][0]))
            cost = float(rng.lognormal(3, 1))
            costs = {"ms_mean": cost, "ms_median": cost * 0.8, "ms_p95": cost * 2.7}
            peak = None if place == 2 else float(rng.integers(60, 400))
            tables["cost"].append({"dataset": dataset, "system": system, **costs, "peak_megabytes": peak})
            tables["distribution"].append(_distribution(dataset, system, scores[system][0]))
            tables["worst"] += _worst(dataset, system, scores[system][0], types)
        tables["differences"] += [
            _difference(dataset, a, b, scores[a][0] - scores[b][0]) for a, b in combinations(systems, 2)
        ]
        all_scores = np.array([scores[system][0] for system in systems])
        tables["hardest"] += _hardest(dataset, all_scores, types)
    tables["overall"] = _overall(tables["means"], systems)
    return tables


def _dataset(name: str, pages: int) -> dict[str, Any]:
    licence = "CC-BY-4.0; pages keep their publishers' rights"
    attribution = f"A. Author (2020), the {name} data set, https://data.example/{name}"
    return {
        "name": name, "pages": pages, "sites": pages // 4, "licence": licence, "attribution": attribution,
        "checksum": "9f" * 32,
    }  # fmt: skip


def _system(name: str, datasets: tuple[tuple[str, int, tuple[str, ...]], ...]) -> dict[str, Any]:
    kind = "peer" if name in PEERS else "outputs" if name.endswith("-outputs") else "own"
    seen = [dataset for dataset, _, _ in datasets if dataset == "news-2010" and name in ("blockml-wide", "kim2013")]
    counts = {
        dataset: {"pages": [f"page-{n}" for n in range(n_pages)] if dataset in seen else [], "n_pages": n_pages,
                  "sites": n_pages // 4 if dataset in seen else 0, "n_sites": n_pages // 4}
        for dataset, n_pages, _ in datasets
    }  # fmt: skip
    about = {"name": name, "kind": kind, "version": "2.0.1", "parameters": {"threshold": 0.5}}
    return {**about, "in_sample": seen, "seen": counts}


def _slices(rng: np.random.Generator, n: int, types: tuple[str, ...]) -> dict[str, NDArray[np.str_]]:
    return {
        "page_type": np.array(types)[np.arange(n) % len(types)] if types else np.full(n, "unknown"),
        "script": rng.choice(np.array(SCRIPTS), n, p=[0.8, 0.1, 0.05, 0.05]),
        "gold_length": np.array(QUARTILES)[np.arange(n) * 4 // n],
    }


def _page_scores(
    rng: np.random.Generator, system: str, place: int, ease: NDArray[np.float64], *, in_sample: bool
) -> NDArray[np.float64]:
    """Return (3, n_pages) F1, precision and recall of each page."""
    skill = 0.95 if in_sample else 0.9 - 0.012 * place
    shift = 0.05 * np.sin(place * 2.3) if system != "plain" else -0.3
    precision = np.clip(skill + shift + ease + rng.normal(0, 0.12, ease.size), 0.02, 1)
    recall = np.clip(skill - shift + ease + rng.normal(0, 0.12, ease.size), 0.02, 1)
    failed = rng.random(ease.size) < 0.002 * place
    precision[failed] = recall[failed] = 0
    f1 = np.divide(2 * precision * recall, precision + recall, where=precision + recall > 0, out=np.zeros(ease.size))
    return np.array([f1, precision, recall])


def _means(
    dataset: str, system: str, scores: NDArray[np.float64], slices: dict[str, NDArray[np.str_]]
) -> list[dict[str, Any]]:
    rows = []
    for metric in METRICS:
        kind, _, field = metric.partition("_")
        if kind in ("with", "without"):
            told = scores[0] if kind == "with" else 1 - scores[1]
            rows.append(_row(dataset, system, metric, "all", "all", told if dataset == "portals" else None))
            continue
        if dataset == "portals":  # gold that is only snippets
            rows.append(_row(dataset, system, metric, "all", "all", None))
            continue
        shift = {"bag": 0.0, "lcs": -0.01, "shingle": -0.04, "block": -0.02}[kind]
        values = np.clip(scores[("f1", "precision", "recall").index(field)] + shift, 0, 1)
        rows.append(_row(dataset, system, metric, "all", "all", values))
        rows.append(_row(dataset, system, metric, "clean", "clean", values[5:]))
        rows.append(_row(dataset, system, metric, "site_mean", "site_mean", values[::4]))
        if metric == "bag_f1":
            rows += [
                _row(dataset, system, metric, slice_kind, str(name), values[keys == name])
                for slice_kind, keys in slices.items()
                for name in dict.fromkeys(keys.tolist())
            ]
    return rows


def _row(
    dataset: str, system: str, metric: str, slice_kind: str, name: str, values: NDArray[np.float64] | None
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "dataset": dataset, "system": system, "metric": metric, "slice_kind": slice_kind, "slice": name, "mean": None,
        "low": None, "high": None, "pages": 0,
    }  # fmt: skip
    if values is not None and values.size:
        mean, error = float(values.mean()), 1.96 * float(values.std()) / float(np.sqrt(values.size))
        row |= {"mean": mean, "low": max(0.0, mean - error), "high": min(1.0, mean + error), "pages": values.size}
    return row


def _difference(dataset: str, a: str, b: str, values: NDArray[np.float64]) -> dict[str, Any]:
    metric = "with_rate" if dataset == "portals" else "bag_f1"
    mean, error = float(values.mean()), 1.96 * float(values.std()) / float(np.sqrt(values.size))
    return {
        "dataset": dataset, "metric": metric, "a": a, "b": b, "mean": mean, "low": mean - error, "high": mean + error,
        "significant": abs(mean) > error, "wins": int((values > 1e-6).sum()), "losses": int((values < -1e-6).sum()),
        "ties": int((abs(values) <= 1e-6).sum()),
    }  # fmt: skip


def _outcomes(rng: np.random.Generator, dataset: str, system: str, f1: NDArray[np.float64]) -> dict[str, Any]:
    counts = dict.fromkeys(OUTCOMES, 0)
    for failure in rng.choice(np.array(OUTCOMES[1:]), int((f1 == 0).sum())).tolist():
        counts[failure] += 1
    counts["ok"] = int((f1 > 0).sum())
    return {"dataset": dataset, "system": system, **counts, "pages": f1.size}


def _distribution(dataset: str, system: str, f1: NDArray[np.float64]) -> dict[str, Any]:
    histogram = np.histogram(f1, bins=20, range=(0, 1))[0].tolist()
    deciles = np.quantile(f1, np.arange(11) / 10).tolist()
    metric = "with_rate" if dataset == "portals" else "bag_f1"
    return {"dataset": dataset, "system": system, "metric": metric, "histogram": histogram, "deciles": deciles}


def _worst(dataset: str, system: str, f1: NDArray[np.float64], types: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, "system": system, "id": f"page-{row:04}", "bag_f1": float(f1[row]),
         "outcome": "ok" if f1[row] else "empty", "page_type": types[row % len(types)] if types else None}
        for row in np.argsort(f1)[:10].tolist()
    ]  # fmt: skip


def _hardest(dataset: str, scores: NDArray[np.float64], types: tuple[str, ...]) -> list[dict[str, Any]]:
    best, spread = scores.max(axis=0), scores.std(axis=0)
    return [
        {"dataset": dataset, "why": why, "id": f"page-{row:04}", "best": float(best[row]), "spread": float(spread[row]),
         "page_type": types[row % len(types)] if types else None}
        for why, order in (("hard", best), ("disagreement", -spread))
        for row in np.argsort(order)[:10].tolist()
    ]  # fmt: skip


def _overall(means: list[dict[str, Any]], systems: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return overall means and ranks; the last system did not run on every data set."""
    scores: dict[str, dict[str, float]] = {}
    for row in means:
        if (row["metric"], row["slice_kind"]) == ("bag_f1", "all") and row["mean"] is not None:
            scores.setdefault(row["dataset"], {})[row["system"]] = row["mean"]
    rows: list[dict[str, Any]] = []
    for system in systems:
        own = [by_system[system] for by_system in scores.values()]
        ranks = [1 + sum(value > by_system[system] for value in by_system.values()) for by_system in scores.values()]
        ran = system != systems[-1] or len(systems) == 1
        rows.append(
            {"system": system, "metric": "bag_f1", "mean": float(np.mean(own)) if ran else None,
             "rank": float(np.mean(ranks)) if ran else None, "datasets": len(scores)}
        )  # fmt: skip
    return rows
