"""Outputs and gold in, scores of every page out.

Pages are gone through once for all systems: see :class:`blockml.evaluation.comparison.reference.Reference`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import joblib

from blockml.datasets import LabelledPage
from blockml.evaluation.comparison.marks import scoring_mark
from blockml.evaluation.comparison.reference import PageScore, Reference
from blockml.evaluation.comparison.store import Progress, Sample, Store, no_progress
from blockml.evaluation.comparison.systems import System
from blockml.parsing.options import ParsingOptions

__all__ = ["PageScore", "load_descriptions", "load_scores", "score_systems"]

# Pages sent to a process at a time: enough to hide the cost of sending, few enough to show progress.
_CHUNK = 8


def score_systems(
    systems: Sequence[System],
    sample: Sample,
    store: Store,
    *,
    jobs: int = 1,
    progress: Progress = no_progress,
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Score the stored outputs of systems on a data set, those that are not scored already.

    They are if outputs, gold and the code that scores are the same as then.

    Parameters
    ----------
    jobs
        Processes.
    progress
        Wraps the iteration over pages, to show progress.
    report
        Told why scores are made again, and of texts too long for an exact score.

    Raises
    ------
    OSError
        The outputs can't be read, or the scores can't be written.
    """
    name = sample.dataset.name
    descriptions: dict[str, dict[str, Any]] = {}
    for system in systems:
        outputs = store.description("outputs", name, system.name) or {}
        wanted = {
            "system": system.name,
            "dataset": name,
            "outputs": outputs.get("sha256"),
            "gold": sample.gold,
            "scoring": scoring_mark(),
        }
        reason = store.stale("scores", name, system.name, wanted)
        if reason is not None:
            descriptions[system.name] = wanted
        if reason:
            report(f"{system.name} is scored on {name} again: {reason}")
    waiting = [system for system in systems if system.name in descriptions]
    if not waiting:
        return
    pages = progress(_score_pages(waiting, sample, store, jobs), len(sample.dataset))
    for system, scores in zip(waiting, zip(*pages, strict=True), strict=True):
        n_approximate = sum(score.approximate for score in scores)
        if n_approximate:
            report(f"{system.name} on {name}: {n_approximate} texts too long to find all common words in order")
        description = {**descriptions[system.name], "pages": len(scores), "approximate": n_approximate}
        store.write("scores", name, system.name, map(asdict, scores), description)


def _score_pages(systems: Sequence[System], sample: Sample, store: Store, jobs: int) -> Iterator[tuple[PageScore, ...]]:
    """Scores of each page by system."""
    parsings = [system.parsing if system.kind == "own" else None for system in systems]
    rows = zip(*(store.read("outputs", sample.dataset.name, system.name) for system in systems), strict=True)
    pages = zip(sample.dataset.pages, rows, strict=True)
    tasks = (joblib.delayed(_score_chunk)(chunk, parsings) for chunk in iter(lambda: list(islice(pages, _CHUNK)), []))
    with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="2*n_jobs") as parallel:
        for chunk in parallel(tasks):
            yield from chunk


def _score_chunk(
    chunk: Sequence[tuple[LabelledPage, Sequence[Mapping[str, Any]]]], parsings: Sequence[ParsingOptions | None]
) -> list[tuple[PageScore, ...]]:
    used = {parsing for parsing in parsings if parsing is not None}
    return [_score_page(Reference(page, used), rows, parsings) for page, rows in chunk]


def _score_page(
    reference: Reference, rows: Sequence[Mapping[str, Any]], parsings: Sequence[ParsingOptions | None]
) -> tuple[PageScore, ...]:
    return tuple([reference.score(row, parsing) for row, parsing in zip(rows, parsings, strict=True)])


def load_scores(directory: str | os.PathLike[str]) -> dict[str, dict[str, list[PageScore]]]:
    """Page scores of the last comparison in a directory, by data set and system, in its order.

    Raises
    ------
    UsageError
        There is none.
    """
    store = Store(Path(directory))
    scores: dict[str, dict[str, list[PageScore]]] = {}
    for dataset, system in store.contents("scores"):
        rows = store.read("scores", dataset, system)
        scores.setdefault(dataset, {})[system] = [PageScore(**row) for row in rows]
    return scores


def load_descriptions(directory: str | os.PathLike[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Descriptions of the outputs of the last comparison in a directory, by data set and system.

    Raises
    ------
    UsageError
        There is none.
    """
    store = Store(Path(directory))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for dataset, system in store.contents("outputs"):
        found.setdefault(dataset, {})[system] = store.description("outputs", dataset, system) or {}
    return found
