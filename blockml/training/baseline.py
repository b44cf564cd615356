"""Comparison of a cross-validated recipe with a baseline: the released model, on the pages that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import joblib
import numpy as np
from numpy.typing import NDArray

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.gold import ignored_text
from blockml.document.text import render_text
from blockml.evaluation.bootstrap import MIN_DOCUMENTS, Difference, paired_difference
from blockml.evaluation.seen import page_hashes
from blockml.evaluation.words import bag_scores
from blockml.extract import extract_page
from blockml.extractors import Extractor
from blockml.parsing import parse
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.text.plurals import counted
from blockml.training.cross_validation import CrossValidation
from blockml.training.recipes import Recipe
from blockml.training.table import BlockTable

__all__ = ["BaselineDifference", "compare_with_baseline"]


@dataclass(frozen=True, slots=True, eq=False)
class BaselineDifference:
    """Page F1 of a recipe, out of fold, minus that of a model that has not seen the pages."""

    model: str  #: Id of the model.
    protocol: str  #: What the folds keep together: ``page`` or ``site``.
    pages: int  #: Number of pages that the model has not seen.
    difference: Difference  #: Paired; whole sites are resampled if folds are by site.

    def __str__(self) -> str:
        found = self.difference
        name = self.model.split(" ")[0]
        start = (
            f"against {name}, by {self.protocol}: page bag F1 {found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}] "
            f"on {counted(self.pages, 'page')} that {name} has not seen"
        )
        if self.pages < MIN_DOCUMENTS:
            return f"{start}, too few to tell which is better; use {name}"
        if found.significant and found.mean > 0:
            return f"{start}: use the new model on pages like these"
        if found.significant:
            return f"{start}: use {name}, or adapt it to sites with at least four labelled pages"
        return f"{start}, not significant: use {name}, or adapt it to sites with at least four labelled pages"


def compare_with_baseline(
    model: Extractor,
    datasets: Sequence[Dataset],
    table: BlockTable,
    result: CrossValidation,
    recipe: Recipe,
    *,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> BaselineDifference | None:
    """Compare the out-of-fold decisions of a cross-validation with those of a model, page by page.

    Parameters
    ----------
    model
        The model, such as the released ``default``.
    datasets
        The pages of ``table``, in its order.
    table, result, recipe
        Rows of the pages, their cross-validation, and its recipe.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are.

    Returns
    -------
    BaselineDifference or None
        None if there are fewer than two pages with a gold text that the model has not seen.
    """
    hashes = [own for dataset in datasets for own in page_hashes(dataset).values()]
    known = [used.training_hashes for used in model.used_models()]
    labelled = [page for dataset in datasets for page in dataset.pages]
    numbers = [
        number
        for number in table.pages_with_text()
        if all(item is not None and not item.has_page(hashes[number]) for item in known)
    ]
    if len(numbers) < 2:
        return None
    tasks = (
        joblib.delayed(_page_f1)(model, recipe, labelled[number], result.kept[table.rows_of(number)])
        for number in numbers
    )
    with joblib.Parallel(n_jobs=jobs, batch_size=8, return_as="generator") as parallel:
        scores = np.array(list(tracked(parallel(tasks), progress, f"pages by {model.id}", len(numbers))))
    sites = [table.pages[number].site for number in numbers] if result.protocol == "site" else None
    difference = paired_difference(scores[:, 0], scores[:, 1], groups=sites)
    return BaselineDifference(model.id, result.protocol, len(numbers), difference)


def _page_f1(model: Extractor, recipe: Recipe, labelled: LabelledPage, kept: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the bag-of-words F1 of the blocks that a recipe keeps, and of the text that a model extracts."""
    html, gold = labelled.load()
    text = None if gold is None else gold.text(recipe.main)
    assert text is not None  # noqa: S101 (pages with a gold text are given)
    page = parse(html, url=labelled.url, charset=labelled.charset, **recipe.parsing.options())
    if model.parsing == recipe.parsing:
        other = page
    else:
        other = parse(html, url=labelled.url, charset=labelled.charset, **model.parsing.options())
    found = extract_page(other, model).text
    ignored = "" if gold is None else ignored_text(gold)
    own = bag_scores(text, render_text(page, kept), ignored=ignored).f1
    return own, bag_scores(text, found, ignored=ignored).f1
