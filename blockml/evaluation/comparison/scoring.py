"""Scores of all systems on all pages, from stored outputs and gold.

Pages are processed once for all systems: see :class:`blockml.evaluation.comparison.reference.Reference`.
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
from blockml.evaluation.comparison.fingerprints import scoring_fingerprint
from blockml.evaluation.comparison.reference import PageScore, Reference
from blockml.evaluation.comparison.store import PageSample, Progress, Store, no_progress
from blockml.evaluation.comparison.systems import System
from blockml.model.model_file import Parsing

__all__ = ["PageScore", "load_descriptions", "load_scores", "score_systems"]

# Pages per task: enough to amortise the cost of sending, few enough to show progress.
_CHUNK = 8


def score_systems(
    systems: Sequence[System],
    sample: PageSample,
    store: Store,
    *,
    jobs: int = 1,
    progress: Progress = no_progress,
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Score the stored outputs of systems on a data set, unless outputs, gold and scoring code are unchanged.

    Parameters
    ----------
    systems, sample, store
        The systems, the labelled pages, and the outputs; scores are written there too.
    jobs
        Number of processes.
    progress
        Wraps the iteration over pages, to show progress.
    report
        Receives messages: why scores are recomputed, and which texts were too long for an exact score.

    Raises
    ------
    OSError
        The outputs can't be read, or the scores can't be written.
    """
    name = sample.dataset.name
    fingerprint = scoring_fingerprint()
    stale: dict[System, dict[str, Any]] = {}
    for system in systems:
        outputs = store.description("outputs", name, system.name) or {}
        wanted = {
            "system": system.name,
            "dataset": name,
            "outputs": outputs.get("sha256"),
            "gold": sample.gold,
            "scoring": fingerprint,
        }
        reason = store.stale("scores", name, system.name, wanted)
        if reason is not None:
            stale[system] = wanted
        if reason:
            report(f"{system.name} is scored on {name} again: {reason}")
    if not stale:
        return
    pages = progress(_score_pages(list(stale), sample, store, jobs), len(sample.dataset))
    for (system, wanted), scores in zip(stale.items(), zip(*pages, strict=True), strict=True):
        n_approximate = sum(score.approximate for score in scores)
        if n_approximate:
            report(f"{system.name} on {name}: LCS scores of {n_approximate} long texts are lower bounds")
        description = {**wanted, "pages": len(scores), "approximate": n_approximate}
        store.write("scores", name, system.name, map(asdict, scores), description)


def _score_pages(
    systems: Sequence[System], sample: PageSample, store: Store, jobs: int
) -> Iterator[tuple[PageScore, ...]]:
    """Yield the scores of each page by system."""
    parsings = [system.parsing if system.kind == "own" else None for system in systems]
    rows = zip(*(store.read("outputs", sample.dataset.name, system.name) for system in systems), strict=True)
    pages = zip(sample.dataset.pages, rows, strict=True)
    tasks = (joblib.delayed(_score_chunk)(chunk, parsings) for chunk in iter(lambda: list(islice(pages, _CHUNK)), []))
    with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="2*n_jobs") as parallel:
        for chunk in parallel(tasks):
            yield from chunk


def _score_chunk(
    chunk: Sequence[tuple[LabelledPage, Sequence[Mapping[str, Any]]]], parsings: Sequence[Parsing | None]
) -> list[tuple[PageScore, ...]]:
    used = {parsing for parsing in parsings if parsing is not None}
    scored = []
    for page, rows in chunk:
        reference = Reference(page, used)
        scored.append(tuple([reference.score(row, parsing) for row, parsing in zip(rows, parsings, strict=True)]))
    return scored


def load_scores(directory: str | os.PathLike[str]) -> dict[str, dict[str, list[PageScore]]]:
    """Return the page scores of the last comparison in a directory, by data set and system, in its order.

    Raises
    ------
    UsageError
        The directory contains no comparison.
    """
    store = Store(Path(directory))
    scores: dict[str, dict[str, list[PageScore]]] = {}
    for dataset, system in store.contents("scores"):
        rows = store.read("scores", dataset, system)
        scores.setdefault(dataset, {})[system] = [PageScore(**row) for row in rows]
    return scores


def load_descriptions(directory: str | os.PathLike[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the descriptions of the outputs of the last comparison in a directory, by data set and system.

    Raises
    ------
    UsageError
        The directory contains no comparison.
    """
    store = Store(Path(directory))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for dataset, system in store.contents("outputs"):
        found.setdefault(dataset, {})[system] = store.description("outputs", dataset, system) or {}
    return found
