"""A whole comparison: outputs, scores and tables of systems on data sets; completed work is not repeated."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from blockml.errors import UsageError
from blockml.evaluation.comparison.scoring import load_descriptions, load_scores, score_systems
from blockml.evaluation.comparison.store import PageSample, Progress, Store, no_progress
from blockml.evaluation.comparison.systems import Chosen, System, read_outputs
from blockml.evaluation.comparison.tables import build_tables, write_tables
from blockml.evaluation.comparison.workers import CannotRunError, Result, run_pages
from blockml.text.tokens import WORD

__all__ = ["compare", "run_system"]


def compare(
    chosen: Chosen,
    samples: Sequence[PageSample],
    store: Store,
    *,
    jobs: int = 1,
    timeout: float = 30,
    command: str = "",
    progress: Progress = no_progress,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run every system on every data set, score the outputs, and write the tables.

    A system that can't be run is skipped and listed in the tables with the reason.

    Parameters
    ----------
    chosen, samples
        The systems, and the labelled pages of each data set.
    store
        Where everything is kept. A later call with the same directory does only what is missing or stale.
    jobs
        Number of processes.
    timeout
        Maximum wall-clock seconds per page.
    command
        Command line to show in the tables.
    progress
        Wraps iterations over pages, to show progress.
    report
        Receives messages about the progress.

    Returns
    -------
    dict
        The tables: see :func:`blockml.evaluation.comparison.tables.build_tables`.

    Raises
    ------
    UsageError
        No system can be run, two data sets have the same name, pebble is not installed, or an option is out of range.
    DatasetError
        A page or a file of outputs can't be read.
    OSError
        The directory can't be written to.
    """
    names = [sample.dataset.name for sample in samples]
    if len(set(names)) < len(names):
        raise UsageError(f"data sets need different names, not {', '.join(names)}; name them with NAME=DIR")
    missing = dict(chosen.missing)
    for name, install in missing.items():
        report(f"{name} can't be run: {install}")
    for sample in samples:
        ready = []
        for system in chosen.systems:
            if system.name in missing:
                continue
            try:
                done = run_system(system, sample, store, jobs=jobs, timeout=timeout, progress=progress, report=report)
            except CannotRunError as error:
                missing[system.name] = str(error)
                report(f"{system.name} can't be run: {error}")
            else:
                ready.append(system)
                counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(done["outcomes"].items()))
                report(f"{sample.dataset.name}, {system.name}: {counts}")
        score_systems(ready, sample, store, jobs=jobs, progress=progress, report=report)
    systems = [system.name for system in chosen.systems if system.name not in missing]
    if not systems:
        raise UsageError("no system can be run: " + "; ".join(f"{name}: {text}" for name, text in missing.items()))
    store.write_contents(names, systems)
    tables = build_tables(
        load_scores(store.directory),
        load_descriptions(store.directory),
        datasets={
            sample.dataset.name: {
                "licence": sample.dataset.licence,
                "attribution": sample.dataset.attribution,
                "checksum": sample.checksum,
            }
            for sample in samples
        },
        missing_systems=[{"name": name, "install": text} for name, text in missing.items()],
        command=command,
    )
    write_tables(tables, store.directory)
    return tables


def run_system(
    system: System,
    sample: PageSample,
    store: Store,
    *,
    jobs: int = 1,
    timeout: float = 30,
    progress: Progress = no_progress,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run a system on a data set and store its outputs, unless current outputs are stored already.

    Outputs are current if they are undamaged and system, version, parameters, pages and time limit are unchanged.
    Parameters and errors are those of :func:`compare`, which handles :class:`CannotRunError`.

    Returns
    -------
    dict
        Description of the outputs: ``system``, ``kind``, ``version``, ``parameters``, ``dataset``, ``checksum``,
        ``pages``, ``timeout``, ``in_sample``, ``outcomes``, ``peak_megabytes``, ``python``, ``platform``, ``created``,
        ``sha256``. Memory is that of a whole worker, including Python and blockml, which reads the pages.
    """
    name, dataset = system.name, sample.dataset.name
    wanted = {
        "system": name,
        "kind": system.kind,
        "version": system.version,
        "parameters": dict(system.parameters),
        "dataset": dataset,
        "checksum": sample.checksum,
        "pages": len(sample.dataset),
        "pages_digest": sample.pages,
        "timeout": None if system.kind == "outputs" else timeout,
    }
    reason = store.stale("outputs", dataset, name, wanted)
    if reason is None and (known := store.description("outputs", dataset, name)):
        return known
    if reason:
        report(f"{name} is run on {dataset} again: {reason}")
    peaks: list[float] = []
    if system.kind == "outputs":
        results = _given(system, sample, report)
    else:
        results = run_pages(system, sample.dataset.pages, jobs=jobs, timeout=timeout, peaks=peaks)
    outcomes: Counter[str] = Counter()
    description = {**wanted, "in_sample": sample.checksum in system.trained_on, "outcomes": outcomes}

    def rows() -> Iterator[dict[str, Any]]:
        for result in progress(results, len(sample.dataset)):
            outcomes[result.outcome] += 1
            yield asdict(result)
        description.update(
            peak_megabytes=max(peaks, default=None),
            python=platform.python_version(),
            platform=platform.platform(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    return store.write("outputs", dataset, name, rows(), description)


def _given(system: System, sample: PageSample, report: Callable[[str], None]) -> Iterator[Result]:
    """Yield the outputs of another tool, read from a file."""
    texts, n_others = read_outputs(system, [page.id for page in sample.dataset.pages])
    if n_others:
        report(f"{system.name}: {n_others} lines are about other pages than those of {sample.dataset.name}")
    for page in sample.dataset.pages:
        text = texts.get(page.id)
        outcome = "missing" if text is None else "ok" if WORD.search(text) else "empty"
        yield Result(page.id, outcome, text or "")
