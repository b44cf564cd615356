"""Gain of each part of the default model and of more training pages, and results on other folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.cli.output import write_output
from blockml.decision.policy import DecisionPolicy
from blockml.evaluation import bootstrap_mean, paired_difference
from blockml.training import RECIPES, Recipe
from research.benchmarks.default_chart import chart
from research.benchmarks.default_study import Predictions, Probabilities, Study, Table, training_rows

#: Candidates for a single threshold.
THRESHOLDS = tuple([round(0.05 + 0.025 * i, 3) for i in range(37)])
#: Shares of the training sites.
SHARES = (0.125, 0.25, 0.5, 1.0)
#: Suffix of the name of the unchanged recipe.
_RECIPE = "(default)"


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one variant on all pages."""

    name: str
    f1: NDArray[np.float64]
    """(n_pages,) bag-of-words F1; NaN without gold text."""
    n_empty: int
    """Number of pages of which nothing is kept."""

    @property
    def is_recipe(self) -> bool:
        """Whether it is the unchanged recipe."""
        return self.name.endswith(_RECIPE)


def predictors(study: Study, predictions: Predictions, seed: int) -> list[Measured]:
    """Evaluate only trees, only MLPs, and both, with the rest of the recipe unchanged; the last row is the recipe."""
    trees, recipe, numbers = predictions.trees, study.recipe, predictions.all_mlps
    n = len(numbers)
    found = [
        measured(study, predictions, "recipe boosted", RECIPES["boosted"], trees, trees, seed),
        measured(study, predictions, "trees alone", recipe, trees, trees, seed),
    ]
    for name, chosen in {"one MLP alone": (0,), f"{n} MLPs alone": numbers}.items():
        mlp = predictions.mlp(*chosen)
        found.append(measured(study, predictions, name, recipe, mlp, mlp, seed))
    even = predictions.both(*numbers, mlp_weight=0.5)
    found.append(measured(study, predictions, f"trees + {n} MLPs, equal weights", recipe, trees, even, seed))
    single = {f"trees + MLP {number + 1}": (number,) for number in numbers}
    for name, chosen in {**single, f"trees + {n} MLPs {_RECIPE}": numbers}.items():
        found.append(measured(study, predictions, name, recipe, trees, predictions.both(*chosen), seed))
    return found


def rules(study: Study, predictions: Predictions, seed: int) -> list[Measured]:
    """Evaluate rules on the full ensemble, from the simplest to the recipe's, then the recipe without each rule."""
    trees, final, recipe = predictions.trees, predictions.both(*predictions.all_mlps), study.recipe
    policy = recipe.policy
    alone = replace(policy, neighbor_smoothing=0.0, negative_shrinkage=0.0)
    plain = DecisionPolicy(rule="expected_f1")
    abstaining = replace(plain, min_content_words=policy.min_content_words)
    articles = policy.base_penalty + policy.article_penalty
    policies = {
        "threshold .5": DecisionPolicy(),
        "expected F1": plain,
        "+ abstention": abstaining,
        "+ base penalty": replace(abstaining, base_penalty=policy.base_penalty),
        "+ article penalty": replace(alone, link_penalty=0.0, duplicate_penalty=0.0),
        "+ link penalty": replace(alone, duplicate_penalty=0.0),
        "+ duplicate penalty": alone,
        "+ smoothing over neighbouring lines": replace(policy, negative_shrinkage=0.0),
        f"+ shrinkage of negative log odds {_RECIPE}": policy,
        "default without abstention": replace(policy, min_content_words=0.0),
        "default without base penalty": replace(policy, base_penalty=0.0),
        "default, article penalty for all pages": replace(policy, base_penalty=articles, article_penalty=0.0),
    }
    tried = {name: replace(recipe, policy=variant) for name, variant in policies.items()}
    found = [measured(study, predictions, name, variant, trees, final, seed) for name, variant in tried.items()]
    return [found[0], best_threshold(study, predictions, final), *found[1:]]


def measured(
    study: Study,
    predictions: Predictions,
    name: str,
    recipe: Recipe,
    alone: Probabilities,
    final: Probabilities,
    seed: int,
) -> Measured:
    """Evaluate one variant."""
    return kept_by(study, name, study.whole(predictions, recipe, alone, final, seed).scores >= np.float32(0.5))


def kept_by(study: Study, name: str, kept: NDArray[np.bool_]) -> Measured:
    """Evaluate kept blocks, (n_rows,)."""
    some = np.bincount(study.table.page_of_row, kept, minlength=len(study.table.pages)) > 0
    return Measured(name, study.f1(kept), int((study.groups["all"] & ~some).sum()))


def best_threshold(study: Study, predictions: Predictions, final: Probabilities) -> Measured:
    """Evaluate a single threshold, tuned for each fold on the pages of the other folds."""
    each = np.array([study.f1(final >= np.float32(threshold)) for threshold in THRESHOLDS])
    teaches = study.groups["all"] & np.array([page.usable for page in study.table.pages])
    chosen = np.zeros(len(study.table.pages))
    for number in np.unique(predictions.fold).tolist():
        others = teaches & (predictions.fold != number)
        chosen[predictions.fold == number] = THRESHOLDS[int(each[:, others].mean(axis=1).argmax())]
    values = np.unique(chosen)
    name = f"one threshold for all ({', '.join(f'{value:.3f}'[1:] for value in values)})"
    return kept_by(study, name, final >= chosen[study.table.page_of_row].astype(np.float32))


def compared(study: Study, variants: Sequence[Measured], last: Measured) -> Table:
    """Compute the mean F1 of each variant and its difference from a reference variant, on each group of pages."""
    rows: Table = []
    for variant in variants:
        row: dict[str, object] = {"": variant.name}
        for name, pages in study.groups.items():
            title = f"{name}, {int(pages.sum())} pages"
            row[title] = bootstrap_mean(variant.f1[pages])
            row[f"difference, {name}"] = (
                None if variant is last else paired_difference(variant.f1[pages], last.f1[pages])
            )
        rows.append({**row, "nothing kept": variant.n_empty})
    return rows


def by_page_type(study: Study, variants: Sequence[Measured], last: Measured) -> tuple[Table, Table]:
    """Compute the mean F1 of each variant by page type, and its difference from a reference variant."""
    kinds = np.array([page.page_type or "unknown" for page in study.table.pages])
    of_kind = {kind: study.groups["all"] & (kinds == kind) for kind in np.unique(kinds).tolist()}
    named = {f"{kind}, {int(pages.sum())} pages": pages for kind, pages in of_kind.items() if pages.any()}
    means: Table = [
        {"": variant.name} | {name: float(variant.f1[pages].mean()) for name, pages in named.items()}
        for variant in variants
    ]
    differences: Table = [
        {"": variant.name}
        | {name: paired_difference(variant.f1[pages], last.f1[pages]) for name, pages in named.items()}
        for variant in variants
        if variant is not last
    ]
    return means, differences


def parts(study: Study) -> dict[str, Table]:
    """Evaluate predictors and rules."""
    predictions = study.predictions(study.seed, study.recipe.n_mlps)
    first, second = predictors(study, predictions, study.seed), rules(study, predictions, study.seed)
    last = first[-1]
    means, differences = by_page_type(study, [*first, *[item for item in second if not item.is_recipe]], last)
    return {
        "Predictors of blocks": compared(study, first, last),
        "Rules": compared(study, [last if item.is_recipe else item for item in second], last),
        "By page type": means,
        "By page type, difference to the default": differences,
    }


def fresh(study: Study) -> dict[str, Table]:
    """Evaluate the recipe on folds of another seed, which were not used for any choice."""
    seed = study.seed + 1
    both = [(number, study.predictions(number, study.recipe.n_mlps)) for number in (study.seed, seed)]
    first, second = [rules(study, predictions, number) for number, predictions in both]
    before, last = [next(item for item in found if item.is_recipe) for found in (first, second)]
    rows: Table = [
        {
            "pages": f"{name}, {int(pages.sum())}",
            f"folds of seed {study.seed}": bootstrap_mean(before.f1[pages]),
            f"folds of seed {seed}": bootstrap_mean(last.f1[pages]),
            "difference": paired_difference(last.f1[pages], before.f1[pages]),
        }
        for name, pages in study.groups.items()
    ]
    by_predictor = predictors(study, both[1][1], seed)
    return {
        "Recipe on other folds": rows,
        f"Predictors of blocks on folds of seed {seed}": compared(study, by_predictor, by_predictor[-1]),
        f"Rules on folds of seed {seed}": compared(study, second, last),
    }


def learning(study: Study, figures: str) -> dict[str, Table]:
    """Train trees and one MLP on shares of the training sites, without P(article)."""
    recipe = replace(study.recipe, policy=replace(study.recipe.policy, article_penalty=0.0))
    found = []
    for share in SHARES:
        predictions = study.predictions(study.seed, 1, share)
        pairs = [("trees", predictions.trees), ("trees + 1 MLP", predictions.both(0))]
        found.append(
            [measured(study, predictions, name, recipe, predictions.trees, p, study.seed) for name, p in pairs]
        )
    fold = study.folds(study.seed)
    rows: Table = []
    for share, variants in zip(SHARES, found, strict=True):
        row: dict[str, object] = {"share of the sites": f"{share:.1%}".replace(".0%", "%")}
        row["training pages"] = training_pages(study, fold, share)
        for variant, last in zip(variants, found[-1], strict=True):
            for name in ("all", "fit"):
                pages = study.groups[name]
                row[f"{variant.name}, {name}"] = bootstrap_mean(variant.f1[pages])
            here = study.groups["all"]
            row[f"{variant.name}, difference"] = (
                None if variant is last else paired_difference(variant.f1[here], last.f1[here])
            )
        rows.append(row)
    write_output(_curves(found, study.groups["all"]), str(Path(figures) / "learning-curve.svg"))
    return {"Learning curve": rows}


def _curves(found: list[list[Measured]], pages: NDArray[np.bool_]) -> str:
    """Draw F1 against the share of the sites."""
    lines: dict[str, list[tuple[float, ...]]] = {}
    for share, variants in zip(SHARES, found, strict=True):
        for variant in variants:
            lines.setdefault(variant.name, []).append((share, *bootstrap_mean(variant.f1[pages])))
    return chart("F1 by the share of the training sites", lines, x_name="share of the sites", y_name="page bag F1")


def training_pages(study: Study, fold: NDArray[np.int64], share: float) -> int:
    """Return the number of training pages, averaged over folds."""
    table = study.table
    counts = [
        len(np.unique(table.page_of_row[training_rows(table, fold, number, study.seed, share)]))
        for number in np.unique(fold).tolist()
    ]
    return round(float(np.mean(counts)))
