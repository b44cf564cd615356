"""Comparison of a cross-validated recipe with a baseline: the released model, on the pages that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from blockml.evaluation.bootstrap import MIN_DOCUMENTS, Difference, paired_difference
from blockml.evaluation.page_results import evaluate_extractor
from blockml.extractors import Extractor, TrainedExtractor
from blockml.progress import ProgressCallback, ignore_progress
from blockml.text.words import counted
from blockml.training.out_of_fold import OutOfFold
from blockml.training.prepare import PageKey, PreparedData

__all__ = ["BaselineDifference", "baseline_difference", "compare_with_baseline", "unseen_pages"]


@dataclass(frozen=True, slots=True, eq=False)
class BaselineDifference:
    """Page F1 of a recipe, out of fold, minus that of a model that has not seen the pages."""

    model: str  #: Name of the model.
    protocol: str  #: What the folds keep together: ``page`` or ``site``.
    pages: int  #: Number of pages with a gold text that the model has not seen.
    difference: Difference  #: Paired; whole sites are resampled if folds are by site.

    @property
    def interval(self) -> str:
        """The difference with its interval, or only the difference if there are too few pages for one."""
        found = self.difference
        return f"{found.mean:+.3f}{'' if self.is_few else f' [{found.low:+.3f}, {found.high:+.3f}]'}"

    @property
    def is_few(self) -> bool:
        """Whether there are too few pages for an interval."""
        return self.pages < MIN_DOCUMENTS

    def __str__(self) -> str:
        found, name = self.difference, self.model
        start = (
            f"against {name}, by {self.protocol}: page bag F1 {self.interval} on {counted(self.pages, 'page')} that "
            f"{name} has not seen"
        )
        if self.is_few:
            return f"{start}, too few to tell which is better; use {name}"
        if found.significant and found.mean > 0:
            return f"{start}: use the new model on pages like these"
        advice = f"use {name}, or adapt it to sites with at least four labelled pages"
        return f"{start}{'' if found.significant else ', not significant'}: {advice}"


def compare_with_baseline(
    model: Extractor,
    data: PreparedData,
    models: OutOfFold,
    *,
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> BaselineDifference | None:
    """Compare the models of folds with a model, page by page, on what they extract.

    Parameters
    ----------
    model
        The model, such as the released ``default``.
    data
        The pages.
    models
        Models of their folds.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its pages are done, and how many there are.

    Returns
    -------
    BaselineDifference or None
        None if there are fewer than two pages with a gold text that the model has not seen.
    """
    held_out = unseen_pages(model, data)
    if len(held_out) < 2:
        return None
    scores: list[tuple[float, float, str]] = []
    stage, n_done = f"pages by {model.id}", 0
    progress(stage, 0, len(held_out))
    for dataset in data.datasets:
        for fold in models.folds:
            chosen = held_out & fold.pages
            pages = tuple(page for page in dataset.pages if (dataset.name, page.id) in chosen)
            if not pages:
                continue
            part = replace(dataset, pages=pages)
            own, other = (
                evaluate_extractor(extractor, part, jobs=jobs) for extractor in (TrainedExtractor(fold.model), model)
            )
            scores += [
                (a.bag.f1, b.bag.f1, a.site)
                for a, b in zip(own, other, strict=True)
                if a.bag is not None and b.bag is not None
            ]
            n_done += len(pages)
            progress(stage, n_done, len(held_out))
    return baseline_difference(model.id.partition(" ")[0], models.protocol, scores)


def baseline_difference(
    name: str, protocol: str, scores: Sequence[tuple[float, float, str]]
) -> BaselineDifference | None:
    """Return the difference of the scores of pages out of fold and by another system, each with the page's site.

    None for fewer than two pages. Whole sites are resampled if folds are by site.
    """
    if len(scores) < 2:
        return None
    own, other, sites = zip(*sorted(scores, key=lambda row: row[2]), strict=True)
    difference = paired_difference(own, other, groups=sites if protocol == "site" else None)
    return BaselineDifference(name, protocol, len(scores), difference)


def unseen_pages(model: Extractor, data: PreparedData) -> frozenset[PageKey]:
    """Return the pages with a gold text that a model has certainly not seen in training."""
    known = [used.training_hashes for used in model.used_models()]
    return frozenset(
        key
        for key, page in zip(data.keys, data.table.pages, strict=True)
        if page.gold_counts is not None
        and page.hashes is not None
        and all(item is not None and not item.has_page(page.hashes) for item in known)
    )
