"""Extraction of many pages into records, in parallel and resumable."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from blockml.batch.blas import one_thread
from blockml.batch.inputs import Item
from blockml.errors import MissingExtraError, UsageError
from blockml.extract import check_labels, extract
from blockml.extractors import Extractor
from blockml.extractors.site.at_site import at_site
from blockml.parsing import Limits
from blockml.rendering import page_record
from blockml.templates.site import SiteTemplate

__all__ = ["Summary", "predict", "predict_to_file"]

_NO_SITES: Mapping[str, SiteTemplate] = MappingProxyType({})

#: Pages sent to a worker at a time: enough to hide the cost of sending, few enough to show progress.
_CHUNK = 16


@dataclass(slots=True)
class Summary:
    """Number of pages of a run by outcome."""

    #: Pages by status; ``error`` for those that could not be read or failed.
    statuses: Counter[str] = field(default_factory=Counter)
    skipped: int = 0  #: Pages done in an earlier run.

    @property
    def n_pages(self) -> int:
        """Number of pages of this run."""
        return self.statuses.total()

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        done = f"; {self.skipped} already done" if self.skipped else ""
        return f"{self.n_pages} pages: {counts or 'nothing to do'}{done}"


def predict(
    items: Iterable[Item],
    extractor: Extractor,
    *,
    jobs: int = 1,
    limits: Limits = Limits(),
    threshold: float | None = None,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    sites: Mapping[str, SiteTemplate] = _NO_SITES,
) -> Iterator[dict[str, Any]]:
    """Extract many pages.

    Parameters
    ----------
    items
        The pages; read one chunk at a time.
    extractor
        The extractor, sent to a worker with each chunk.
    jobs
        Number of processes; does not affect the records.
    limits
        Limits on each page.
    threshold
        Replaces the extractor's threshold.
    include, exclude
        Labels whose blocks are kept or removed, whatever their score.
    sites
        Templates by name of the site, as from :func:`blockml.batch.learn_sites`. On pages of these sites the extractor
        is adapted by :func:`blockml.extractors.site.at_site.at_site`.

    Returns
    -------
    Iterator[dict]
        One record per item, in order: ``id``, ``url``, ``status``, ``text``, ``confidence``, ``n_blocks``, ``n_kept``,
        ``model``, ``warnings``, ``error``. A page that cannot be read, or whose extraction fails, has the status
        ``error`` and a message.

    Raises
    ------
    UsageError
        A label is unknown, or the extractor has no labels.
    """
    included, excluded = check_labels(extractor, include, exclude)
    options = {"limits": limits, "threshold": threshold, "include": included, "exclude": excluded}
    at_sites = {site: at_site(extractor, template) for site, template in sites.items()}
    iterator = iter(items)
    chunks = iter(lambda: list(islice(iterator, _CHUNK)), [])
    # Each chunk is sent with the templates of its own sites only.
    return _run(
        (
            (chunk, extractor, {item.site: at_sites[item.site] for item in chunk if item.site in at_sites}, options)
            for chunk in chunks
        ),
        jobs,
    )


def _run(tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[dict[str, Any]]:
    if jobs == 1:
        for task in tasks:
            yield from _extract_chunk(*task)
        return
    try:
        import joblib  # slow, and one process does not need it
    except ImportError as error:
        raise MissingExtraError("prediction in several processes", "train") from error

    with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="3*n_jobs") as parallel:
        for records in parallel(joblib.delayed(_extract_chunk)(*task) for task in tasks):
            yield from records


def _extract_chunk(
    chunk: list[Item], extractor: Extractor, at_sites: Mapping[str, Extractor], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    with one_thread():  # pages already run in parallel processes
        return [_extract_item(item, at_sites.get(item.site, extractor), options) for item in chunk]


def _extract_item(item: Item, extractor: Extractor, options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        html = item.read(options["limits"].bytes + 1)
        result = extract(html, url=item.url, charset=item.charset, model=extractor, **options)
        return {"id": item.id, **page_record(result), "error": None}
    except Exception as failure:  # noqa: BLE001 (a failing page must not stop the run)
        message = str(failure) if isinstance(failure, OSError) else f"{type(failure).__name__}: {failure}"
        failed: dict[str, Any] = {"status": "error", "title": None, "text": "", "confidence": None}
        failed |= {"n_blocks": 0, "n_kept": 0, "model": extractor.id, "warnings": [], "metadata": None}
        error = message.encode("utf-8", "backslashreplace").decode()
        return {"id": item.id, "url": item.url, **failed, "error": error}


def predict_to_file(
    items: Iterable[Item],
    extractor: Extractor,
    output: Path,
    *,
    resume: bool = False,
    sites: Mapping[str, SiteTemplate] = _NO_SITES,
    progress: Callable[[Iterable[dict[str, Any]]], Iterable[dict[str, Any]]] = iter,
    **options: Any,  # noqa: ANN401 (those of predict)
) -> Summary:
    """Extract many pages into a JSON lines file.

    Records are written to ``OUTPUT.part``, which replaces ``OUTPUT`` at the end, so ``OUTPUT`` is always complete.

    Parameters
    ----------
    items, extractor, sites
        See :func:`predict`.
    output
        The file.
    resume
        Keep the records of an interrupted run, in either file, that have no error and come from the same model.
    progress
        Wraps the iteration over records, to show progress.
    **options
        Further parameters of :func:`predict`.

    Raises
    ------
    UsageError
        The output cannot be written, a label is unknown, or the extractor has no labels.
    """
    summary = Summary()
    models = {site: at_site(extractor, template).id for site, template in sites.items()}
    part = output.with_name(output.name + ".part")
    done: dict[str, str] = {}
    outdated = False

    def remaining() -> Iterator[Item]:
        nonlocal outdated
        for item in items:
            if done.get(item.id) == models.get(item.site, extractor.id):
                summary.skipped += 1
            else:
                outdated |= item.id in done  # extracted with another template of its site, or without one
                yield item

    records = predict(remaining(), extractor, sites=sites, **options)
    if output.is_dir():
        raise UsageError("the output is a folder; give a file name", source=output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        if resume:
            done = _carry_over(output, part, {extractor.id, *models.values()})
        with part.open("a" if resume else "w", encoding="utf-8", newline="\n") as stream:
            for record in progress(records):
                summary.statuses[record["status"]] += 1
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        if outdated:
            lines = part.read_text(encoding="utf-8").split("\n")[:-1]
            _rewrite(part, {json.loads(line)["id"]: line for line in lines}.values())
        part.replace(output)
    except OSError as error:
        raise UsageError(f"cannot write the output ({error.strerror or error})", source=output) from error
    return summary


def _carry_over(output: Path, part: Path, models: Set[str]) -> dict[str, str]:
    """Move the valid records of earlier runs into ``part``; return the model of each by id.

    Incomplete lines, failed pages and records of other models are dropped, so that these pages are extracted again.
    """
    records: dict[str, str] = {}
    model_of: dict[str, str] = {}
    for path in (output, part):
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for line in text.split("\n"):
            try:
                record = json.loads(line)
                if record["error"] is None and record["model"] in models:
                    records[record["id"]] = line
                    model_of[record["id"]] = record["model"]
            except (ValueError, KeyError, TypeError):
                continue
    if records:
        _rewrite(part, records.values())
    else:
        part.unlink(missing_ok=True)
    return model_of


def _rewrite(part: Path, lines: Iterable[str]) -> None:
    fresh = part.with_name(part.name + ".new")
    fresh.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    fresh.replace(part)
