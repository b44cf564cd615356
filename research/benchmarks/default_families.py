"""Contribution and cost of each family of features."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import LabelledPage
from blockml.decision.rules import score_blocks
from blockml.evaluation import bootstrap_mean, paired_difference
from blockml.features import FeatureSet, feature_set, matrix
from blockml.features.ancestor_words import ancestor_words
from blockml.features.feature_sets import COLUMNS, split_name
from blockml.features.page_context import PageContext
from blockml.features.page_matrix import page_context
from blockml.parsing import parse
from blockml.training import RECIPES, BlockTable, Recipe, fit_ensemble
from research.benchmarks.default_parts import Measured, kept_by
from research.benchmarks.default_study import Probabilities, Study, Table, training_rows
from research.benchmarks.speed import cpu_seconds, parse_only

#: Name for columns of neighbouring blocks, whose cost is negligible.
NEIGHBOURS = "neighbours"
#: Families that do not use the tree.
CHEAP = ("text", "position")
#: Parameters that halve the time: fewer trees, higher learning rate (our choice).
QUICK = {"n_trees": 100, "rate": 0.12}
#: Rounds of timing; the minimum of a page counts.
ROUNDS = 3


def columns_by_family(features: str) -> dict[str, list[int]]:
    """Find the columns of each family in a feature set, and the columns of neighbouring blocks."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(feature_set(features).columns):
        base, offset, _ = split_name(name)
        family = COLUMNS[base].family
        module = "others" if family is None else family.__module__.rpartition(".")[2]
        places.setdefault(NEIGHBOURS if offset else module, []).append(place)
    return places


def variants(families: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """List the columns that each variant sets to 0."""
    found: dict[str, list[int]] = {"all columns": []}
    found |= {f"without {name}": list(places) for name, places in families.items()}
    rest = [place for name, places in families.items() if name not in CHEAP for place in places]
    return found | {f"{' and '.join(CHEAP)} alone": rest}


def ablation(study: Study, *, full: bool, timed: int) -> dict[str, Table]:
    """Compare models without each of the families."""
    families = columns_by_family(study.recipe.features)
    recipe = study.recipe if full else RECIPES["boosted"].but(**quicker(study.recipe))
    blanked, fold = variants(families), study.folds(study.seed)
    numbers = np.unique(fold).tolist()
    tasks = [(name, number) for name in blanked for number in numbers]
    with joblib.Parallel(n_jobs=study.jobs, max_nbytes="1M") as parallel:
        parts = parallel(
            joblib.delayed(predict_without)(study.table, recipe, blanked[name], fold, number, study.seed)
            for name, number in tasks
        )
    found = []
    for name in blanked:
        final = np.zeros(len(study.table.main), dtype=np.float32)
        for (other, number), said in zip(tasks, parts, strict=True):
            if other == name:
                final[fold[study.table.page_of_row] == number] = said
        found.append(decided(study, name, recipe, final))
    counts = [len(feature_set(study.recipe.features).columns) - len(places) for places in blanked.values()]
    rows: Table = []
    for item, count in zip(found, counts, strict=True):
        row: dict[str, object] = {"": item.name, "columns": count}
        for name in ("all", "fit"):
            pages = study.groups[name]
            row[f"{name}, {int(pages.sum())} pages"] = bootstrap_mean(item.f1[pages])
            row[f"difference, {name}"] = (
                None if item is found[0] else paired_difference(item.f1[pages], found[0].f1[pages])
            )
        rows.append(row)
    learnt = "trees and MLPs" if full else f"{recipe.parameters['n_trees']} trees alone"
    return {f"Families of features ({learnt})": rows, "Cost of families of features": costs(study, families, timed)}


def quicker(recipe: Recipe) -> dict[str, Any]:
    """Return parameters with at most as many trees as the recipe has."""
    own = dict(recipe.parameters)
    return {**own, **QUICK} if own["n_trees"] > QUICK["n_trees"] else own


def predict_without(
    table: BlockTable, recipe: Recipe, places: Sequence[int], fold: NDArray[np.int64], number: int, seed: int
) -> Probabilities:
    """Predict the rows of a fold by a model that was trained with some columns set to 0.

    A constant column has no effect: trees cannot split on it and do not sample it, and MLPs scale it to 0.
    """
    matrix = table.matrix.copy()
    matrix[:, list(places)] = 0
    blank = replace(table, matrix=matrix)
    ensemble = fit_ensemble(blank, recipe, training_rows(table, fold, number), seed)
    return np.concatenate([ensemble.probabilities(blank, page)[1] for page in np.flatnonzero(fold == number).tolist()])


def decided(study: Study, name: str, recipe: Recipe, final: Probabilities) -> Measured:
    """Decide by the recipe's rule, without P(article)."""
    table = study.table
    scores = np.empty_like(final)
    for page, item in enumerate(table.pages):
        here = table.rows_of(page)
        scores[here] = score_blocks(recipe.policy, final[here], item.policy_columns, None)
    return kept_by(study, name, scores >= np.float32(0.5))


def costs(study: Study, families: Mapping[str, Sequence[int]], timed: int) -> Table:
    """Measure CPU time of each family, separately and together, as a multiple of lxml's parse of the same pages."""
    names = feature_set(study.recipe.features).columns
    work: dict[str, Sequence[Callable[[PageContext], object]]] = {
        name: [partial(compute, FeatureSet(name, 1, tuple(names[place] for place in places), "one family"))]
        for name, places in families.items()
        if name != NEIGHBOURS
    }
    work["words and groups for MLPs"] = (ancestor_words, lambda context: context.block_groups)
    pages = list(study.dataset.pages)
    random.Random(study.seed).shuffle(pages)  # noqa: S311 (a sample, no secret)
    each = (seconds_of(page, study.recipe, work) for page in pages)
    seconds = list(itertools.islice((row for row in each if row), timed))
    sums = {name: sum(row[name] for row in seconds) for name in seconds[0]}
    rows: Table = []
    for name in [*work, "all of them", "lxml's parse"]:
        whole, rest = sums["all of them"], sums.get(f"without {name}")
        rows.append(
            {
                "": name,
                "ms a page": 1000 * sums[name] / len(seconds),
                "times lxml's parse": sums[name] / sums["lxml's parse"],
                "saved if left out": None if rest is None else (whole - rest) / sums["lxml's parse"],
            }
        )
    return rows


def compute(columns: FeatureSet, context: PageContext) -> None:
    """Compute some columns of a page."""
    matrix(context.page, columns, context=context)


def seconds_of(
    labelled: LabelledPage, recipe: Recipe, work: Mapping[str, Sequence[Callable[[PageContext], object]]]
) -> dict[str, float]:
    """Measure CPU time of a page by each family, all, all but each, and lxml's parse; empty without blocks."""
    html, _ = labelled.load()
    page = parse(html, url=labelled.url, charset=labelled.charset, **recipe.parsing.options())
    if not len(page.blocks):
        return {}

    def least(chosen: Sequence[str]) -> float:
        return min(cpu_seconds(lambda: run(page_context(page), chosen)) for _ in range(ROUNDS))

    def run(view: PageContext, chosen: Sequence[str]) -> None:
        for name in chosen:
            for task in work[name]:
                task(view)

    found = {name: least([name]) for name in work}
    found |= {f"without {name}": least([other for other in work if other != name]) for name in work}
    found["all of them"] = least(list(work))
    found["lxml's parse"] = min(cpu_seconds(lambda: parse_only(html)) for _ in range(ROUNDS))
    return found
