"""A whole comparison: outputs, scores and tables of systems on data sets; completed work is not repeated."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import joblib

from blockml.datasets import Dataset, LabelledPage
from blockml.datasets.labelled import check_names
from blockml.errors import DatasetError, UsageError
from blockml.evaluation.comparison.reference import PageScore, Reference
from blockml.evaluation.comparison.result_store import PageSample, Store
from blockml.evaluation.comparison.result_tables import build_tables, write_tables
from blockml.evaluation.comparison.systems import Chosen, System, check_ids, read_outputs, scoring_fingerprint
from blockml.evaluation.comparison.workers import CannotRunError, TaskResult, run_pages
from blockml.evaluation.page_results import Seen, find_seen, page_hashes
from blockml.model.training_hashes import PageHashes
from blockml.parsing.limits import ParsingOptions
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.text.words import WORD, counted

# Pages per scoring task: enough to amortise the cost of sending them, few enough to show progress.
_CHUNK = 8


@dataclass(frozen=True, slots=True)
class ComparisonRun:
    """Runs and scores systems; what the store has already is not done again."""

    store: Store  #: Directory for all files.
    jobs: int = 1  #: Number of processes.
    timeout: float = 30  #: Maximum wall-clock seconds per page.
    command: str = ""  #: Command line to show in the tables.
    #: Called with the name of a stage, how many of its pages are done, and how many there are (None if unknown).
    progress: ProgressCallback = ignore_progress
    report: Callable[[str], None] = lambda _: None  #: Receives messages about the progress.

    def run(self, chosen: Chosen, samples: Sequence[PageSample]) -> dict[str, Any]:
        """Run every system on every data set, score the outputs, and write and return the tables.

        A system that can't be run is skipped and listed in the tables with the reason. Raises UsageError if no system
        can be run, two data sets have the same name, an option is out of range, or another process is using the same
        directory; DatasetError or OSError if a page or a file of outputs can't be read, or the directory can't be
        written to.
        """
        with self.store.locked():
            names = check_names([sample.dataset for sample in samples])
            missing = dict(chosen.missing)
            for name, install in missing.items():
                self.report(f"{name} can't be run: {install}")
            # Files of outputs come first, so that a fault in one shows before hours of running.
            ordered = sorted(chosen.systems, key=lambda system: system.kind != "outputs")
            ids = frozenset[str]().union(*(sample.ids for sample in samples))
            for system in ordered:
                if system.kind == "outputs":
                    check_ids(system, ids)
            for sample in samples:
                if sample.without_gold:
                    self.report(f"{sample.dataset.name}: left out {counted(sample.without_gold, 'page')} without gold")
                ready = []
                hashes = (
                    page_hashes(sample.dataset, self.progress) if any(system.training for system in ordered) else None
                )
                for system in ordered:
                    if system.name in missing:
                        continue
                    try:
                        done = self.outputs(system, sample, hashes)
                    except CannotRunError as error:
                        missing[system.name] = str(error)
                        self.report(f"{system.name} can't be run: {error}")
                    else:
                        ready.append(system)
                        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(done["outcomes"].items()))
                        first = f"; first failure: {done['failure']}" if "failure" in done else ""
                        self.report(f"{sample.dataset.name}, {system.name}: {counts}{first}")
                self.scores(ready, sample)
            systems = [system.name for system in chosen.systems if system.name not in missing]
            if not systems:
                raise UsageError(
                    "no system can be run: " + "; ".join(f"{name}: {text}" for name, text in missing.items())
                )
            self.store.write_contents(names, systems)
            tables = build_tables(
                load_scores(self.store.directory),
                load_descriptions(self.store.directory),
                datasets={
                    sample.dataset.name: {
                        "licence": sample.dataset.licence,
                        "attribution": sample.dataset.attribution,
                        "checksum": sample.checksum,
                    }
                    for sample in samples
                },
                missing_systems=[{"name": name, "install": text} for name, text in missing.items()],
                command=self.command,
            )
            write_tables(tables, self.store.directory)
            return tables

    def outputs(
        self, system: System, sample: PageSample, hashes: Mapping[str, PageHashes] | None = None
    ) -> dict[str, Any]:
        """Run a system on a data set and store its outputs, unless current outputs are stored already.

        Outputs are current if they are undamaged and the system, version, parameters, pages and time limit are
        unchanged. ``hashes`` are those of the pages, from :func:`~blockml.evaluation.page_results.page_hashes`. Errors
        are those of :meth:`run`, which handles :class:`CannotRunError`. Returns the description of the outputs:
        ``system``, ``kind``, ``version``, ``parameters``, ``dataset``, ``checksum``, ``pages``, ``timeout``, ``seen``,
        ``outcomes``, ``peak_megabytes``, ``python``, ``platform``, ``created``, ``sha256``. Memory is that of the whole
        worker, including Python and blockml, which reads the pages.
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
            "timeout": None if system.kind == "outputs" else self.timeout,
        }
        reason = self.store.stale("outputs", dataset, name, wanted)
        if reason is None and (known := self.store.description("outputs", dataset, name)):
            return known
        if reason:
            self.report(f"running {name} on {dataset} again: {reason}")
        peaks: list[float] = []
        if system.kind == "outputs":
            results = _given(system, sample, self.report)
        elif system.folds:
            results = self._by_fold(system, sample, peaks)
        else:
            results = run_pages(system, sample.dataset.pages, jobs=self.jobs, timeout=self.timeout, peaks=peaks)
        outcomes: Counter[str] = Counter()
        if system.training and hashes is None:
            hashes = page_hashes(sample.dataset)
        seen = _seen(system, sample, hashes or {})
        pages = None if seen.pages is None else list(seen.pages)  # in the form in which it is read from the file
        description = {**wanted, "seen": {**asdict(seen), "pages": pages}, "outcomes": outcomes}

        def rows() -> Iterator[dict[str, Any]]:
            for result in tracked(results, self.progress, f"{name} on {dataset}", len(sample.dataset)):
                outcomes[result.outcome] += 1
                if result.error:
                    description.setdefault("failure", f"page {result.id}: {result.error}")
                yield asdict(result)
            description.update(
                peak_megabytes=max(peaks, default=None),
                python=platform.python_version(),
                platform=platform.platform(),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )

        return self.store.write("outputs", dataset, name, rows(), description)

    def _by_fold(self, system: System, sample: PageSample, peaks: list[float]) -> Iterator[TaskResult]:
        """Yield the results of all folds in the order of the pages."""
        found: dict[str, TaskResult] = {}
        for own, pages in _folds(system, sample):
            found |= {
                result.id: result
                for result in run_pages(own, pages.pages, jobs=self.jobs, timeout=self.timeout, peaks=peaks)
            }
        return (found[page.id] for page in sample.dataset.pages)

    def scores(self, systems: Sequence[System], sample: PageSample) -> None:
        """Score the stored outputs of systems on a data set where outputs, gold or scoring code have changed.

        Scores are written to the store. Messages tell why scores are recomputed, and how many texts were too long for
        an exact score.
        """
        name = sample.dataset.name
        fingerprint = scoring_fingerprint()
        stale: dict[System, dict[str, Any]] = {}
        for system in systems:
            outputs = self.store.description("outputs", name, system.name) or {}
            wanted = {
                "system": system.name,
                "dataset": name,
                "outputs": outputs.get("sha256"),
                "gold": sample.gold,
                "scoring": fingerprint,
            }
            reason = self.store.stale("scores", name, system.name, wanted)
            if reason is not None:
                stale[system] = wanted
            if reason:
                self.report(f"scoring {system.name} on {name} again: {reason}")
        if not stale:
            return
        pages = tracked(self._score_pages(list(stale), sample), self.progress, f"scores on {name}", len(sample.dataset))
        for (system, wanted), scores in zip(stale.items(), zip(*pages, strict=True), strict=True):
            n_approximate = sum(score.approximate for score in scores)
            if n_approximate:
                self.report(f"{system.name} on {name}: LCS scores of {n_approximate} long texts are lower bounds")
            description = {**wanted, "pages": len(scores), "approximate": n_approximate}
            self.store.write("scores", name, system.name, map(asdict, scores), description)

    def _score_pages(self, systems: Sequence[System], sample: PageSample) -> Iterator[tuple[PageScore, ...]]:
        """Yield the scores of each page by system."""
        parsings = [system.parsing if system.kind == "own" else None for system in systems]
        rows = zip(*(self.store.read("outputs", sample.dataset.name, system.name) for system in systems), strict=True)
        pages = zip(sample.dataset.pages, rows, strict=True)
        tasks = (
            joblib.delayed(_score_chunk)(chunk, parsings) for chunk in iter(lambda: list(islice(pages, _CHUNK)), [])
        )
        with joblib.Parallel(n_jobs=self.jobs, return_as="generator", pre_dispatch="2*n_jobs") as parallel:
            for chunk in parallel(tasks):
                yield from chunk


def _folds(system: System, sample: PageSample) -> Iterator[tuple[System, Dataset]]:
    """Yield the system of each fold with pages in the sample, and these pages."""
    dataset = sample.dataset
    for keys, own in system.folds:
        if pages := tuple(page for page in dataset.pages if (dataset.name, page.id) in keys):
            yield own, replace(dataset, pages=pages)


def _seen(system: System, sample: PageSample, hashes: Mapping[str, PageHashes]) -> Seen:
    """Find the pages that a system was trained on; with folds, those that the model of a page's fold was trained on."""
    whole = find_seen(system.training, sample.dataset, sample.checksum, hashes)
    if not system.folds:
        return whole
    found = [find_seen(own.training, pages, "", hashes) for own, pages in _folds(system, sample)]
    pages = [item.pages for item in found if item.pages is not None]
    n_sites = min(sum(item.sites for item in found), whole.n_sites)
    known = tuple(sorted({page_id for ids in pages for page_id in ids})) if len(pages) == len(found) else None
    return Seen(known, whole.n_pages, n_sites, whole.n_sites)


def _given(system: System, sample: PageSample, report: Callable[[str], None]) -> Iterator[TaskResult]:
    """Yield the outputs of another tool from a file."""
    texts, n_others = read_outputs(system, [page.id for page in sample.dataset.pages])
    if n_others:
        report(f"{system.name}: ignored {counted(n_others, 'line')} about pages that are not in {sample.dataset.name}")
    for page in sample.dataset.pages:
        text = texts.get(page.id)
        outcome = "missing" if text is None else "ok" if WORD.search(text) else "empty"
        yield TaskResult(page.id, outcome, text or "")


def _score_chunk(
    chunk: Sequence[tuple[LabelledPage, Sequence[Mapping[str, Any]]]], parsings: Sequence[ParsingOptions | None]
) -> list[tuple[PageScore, ...]]:
    used = {parsing for parsing in parsings if parsing is not None}
    scored = []
    for page, rows in chunk:
        if any(row["id"] != page.id for row in rows):
            raise DatasetError(f"the outputs stored for page {page.id!r} belong to another page; compare again")
        reference = Reference(page, used)
        scored.append(tuple([reference.score(row, parsing) for row, parsing in zip(rows, parsings, strict=True)]))
    return scored


def load_scores(directory: str | os.PathLike[str]) -> dict[str, dict[str, list[PageScore]]]:
    """Return the page scores of the last comparison in a directory, by data set and system, in its order."""
    store = Store(Path(directory))
    scores: dict[str, dict[str, list[PageScore]]] = {}
    for dataset, system in store.contents("scores"):
        rows = store.read("scores", dataset, system)
        scores.setdefault(dataset, {})[system] = [PageScore(**row) for row in rows]
    return scores


def load_descriptions(directory: str | os.PathLike[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the descriptions of the outputs of the last comparison in a directory, by data set and system."""
    store = Store(Path(directory))
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for dataset, system in store.contents("outputs"):
        found.setdefault(dataset, {})[system] = store.description("outputs", dataset, system) or {}
    return found
