"""Labelled pages in, a model with its measured quality out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import blockml
from blockml.datasets import Dataset
from blockml.errors import UsageError
from blockml.features import feature_set
from blockml.model.model_file import Model
from blockml.training.cross_validation import cross_validate, gaps
from blockml.training.ensemble import fit_blend
from blockml.training.page_policy import WholePages
from blockml.training.recipes import Recipe
from blockml.training.single_tree import fit_tree, to_trees
from blockml.training.splits import PROTOCOLS, n_groups
from blockml.training.table import BlockTable, build_table
from blockml.training.tuning import tune

__all__ = ["train"]


def train(
    datasets: Sequence[Dataset],
    recipe: Recipe,
    *,
    name: str | None = None,
    protocols: Sequence[str] = ("page", "site"),
    n_folds: int = 10,
    seed: int = 0,
    jobs: int = 1,
    command: str = "",
    report: Callable[[str], None] = lambda _: None,
) -> Model:
    """Train a model and measure it by cross-validation.

    Parameters
    ----------
    datasets
        Labelled pages. Pages whose gold is flagged as defective teach nothing but are measured.
    recipe
        What is trained.
    name
        Name of the model; the recipe's by default.
    protocols
        How it is measured: any of ``block``, ``page``, ``site``; none for no measurement.
    n_folds
        Folds of each protocol; fewer if there are fewer sites.
    seed
        Decides folds and ties: same pages, recipe and seed give the same model.
    jobs
        Processes; the result does not depend on it.
    command
        What the user ran, for the model's card.
    report
        Called with a line of progress now and then.

    Raises
    ------
    UsageError
        There are no content blocks, or nothing else.
    DatasetError
        A page has no gold or can't be read.
    UnknownNameError
        No such protocol.
    """
    if not datasets:
        raise UsageError("training needs at least one data set")
    table = build_table(datasets, recipe, jobs=jobs)
    report(
        f"{len(table.pages)} pages, {len(table.main)} blocks, {table.main.mean():.2%} content; "
        f"{int(table.trainable.sum())} blocks to learn from"
    )
    metrics, whole = measure(table, recipe, protocols, n_folds=n_folds, seed=seed, jobs=jobs, report=report)
    learnt = _learn(table, recipe, seed, jobs, report)
    if whole is not None:
        learnt["article"] = whole.article
    report(f"{len(learnt['trees'].feature)} tree nodes")
    chosen = feature_set(recipe.features)
    return Model(
        name=name or recipe.name,
        version=blockml.__version__,
        features=chosen.name,
        features_hash=chosen.hash,
        parsing=recipe.parsing,
        labels=tuple(sorted(recipe.main)),
        training=_provenance(datasets, table),
        metrics=metrics,
        command=command,
        seed=seed,
        **learnt,
    )


def _learn(table: BlockTable, recipe: Recipe, seed: int, jobs: int, report: Callable[[str], None]) -> dict[str, Any]:
    """Fields of a model that learning decides."""
    described = {"name": recipe.name, "learner": recipe.learner, **recipe.parameters}
    if recipe.is_boosted:
        blend = fit_blend(table, recipe, table.trainable, seed, jobs)
        return {
            "trees": blend.trees,
            "net": blend.net,
            "net_share": recipe.net_share,
            "link": "logistic",
            "rule": recipe.rule,
            "least_words": recipe.least_words,
            "caution": recipe.caution,
            "article_caution": recipe.article_caution,
            "link_caution": recipe.link_caution,
            "copy_caution": recipe.copy_caution,
            "leaning": recipe.leaning,
            "doubt": recipe.doubt,
            "threshold": 0.5,
            "recipe": {**described, "nets": recipe.nets},
        }
    rows = table.trainable
    tuning = tune(table, recipe, rows, seed)
    report(f"threshold {tuning.threshold:g}, shrinkage {tuning.shrinkage:g}")
    trees = to_trees(fit_tree(recipe, table.matrix[rows], table.main[rows], seed), tuning.shrinkage)
    return {"trees": trees, "threshold": tuning.threshold, "recipe": {**described, "shrinkage": tuning.shrinkage}}


def measure(
    table: BlockTable,
    recipe: Recipe,
    protocols: Sequence[str],
    *,
    n_folds: int,
    seed: int = 0,
    jobs: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Any], WholePages | None]:
    """Cross-validate by each protocol; ``gaps`` tells what the laxer ones pretend.

    Returns
    -------
    metrics, whole
        A summary per protocol; and what the strictest one learnt about whole pages, if the recipe asks for it.
    """
    if protocols and n_folds < 2:
        raise UsageError(f"cross-validation needs at least 2 folds, not {n_folds}")
    results = {}
    metrics: dict[str, Any] = {}
    for protocol in [name for name in PROTOCOLS if name in protocols]:
        k = min(n_folds, n_groups(table, protocol))
        if k < 2:
            report(f"by {protocol}: there is only one, so this was not measured")
            continue
        if k < n_folds:
            report(f"by {protocol}: {k} folds, for there are no more {protocol}s")
        results[protocol] = cross_validate(table, recipe, protocol, n_folds=k, seed=seed, jobs=jobs)
        metrics[protocol] = results[protocol].summary(table)
        report(_line(metrics[protocol]))
    if len(results) > 1:
        metrics["gaps"] = gaps(results, table)
        report(
            "block F1 that the laxer protocol gains: " + ", ".join(f"{k} {v:+.3f}" for k, v in metrics["gaps"].items())
        )
    whole = [result.whole for result in results.values() if result.whole is not None]
    return metrics, whole[-1] if whole else None


def _line(summary: dict[str, Any]) -> str:
    block = summary["block"]
    line = (
        f"by {summary['protocol']}, {summary['folds']} folds: block P {block['precision']:.3f} R {block['recall']:.3f} "
        f"F1 {block['f1']:.3f}"
    )
    if page := summary.get("page_bag_f1"):
        line += f"; page bag F1 {page['mean']:.3f} [{page['low']:.3f}, {page['high']:.3f}]"
    return line


def _provenance(datasets: Sequence[Dataset], table: BlockTable) -> tuple[dict[str, Any], ...]:
    """Build one record per data set, for the model file and its card."""
    entries = []
    first = 0
    for dataset in datasets:
        rows = slice(int(table.starts[first]), int(table.starts[first + len(dataset)]))
        pages = table.pages[first : first + len(dataset)]
        entries.append(
            {
                "name": dataset.name,
                "pages": len(dataset),
                "flagged_pages": sum(not page.usable for page in pages),
                "sites": len({page.site for page in pages}),
                "blocks": int(np.diff(table.starts)[first : first + len(dataset)].sum()),
                "content_blocks": int(table.main[rows].sum()),
                "checksum": dataset.checksum(),
                "licence": dataset.licence,
                "attribution": dataset.attribution,
            }
        )
        first += len(dataset)
    return tuple(entries)
