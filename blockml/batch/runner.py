"""Many pages in, one record each out, in order: parallel, resumable, whatever the pages hold."""

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
from blockml.errors import UsageError
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
    """What became of the pages."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Pages by status; ``error`` for those that could not be read or worked on."""
    skipped: int = 0
    """Pages that an earlier run had done."""

    @property
    def n_pages(self) -> int:
        """Pages worked on."""
        return self.statuses.total()

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        done = f"; {self.skipped} done before" if self.skipped else ""
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
        The pages; read as they are needed, never all at once.
    extractor
        Sent to each worker once a chunk; a model's arrays are small.
    jobs
        Processes. The records do not depend on it.
    limits
        Bounds on each page.
    threshold
        Replaces the extractor's own.
    include, exclude
        Names of labels whose blocks are kept, or left out, whatever they score.
    sites
        What is known of sites, by name: see :func:`blockml.batch.learn_sites`. On their pages the extractor works as
        :func:`blockml.extractors.site.at_site.at_site` says; on others it works alone.

    Yields
    ------
    dict
        One record per item, in order: ``id``, ``url``, ``status``, ``text``, ``confidence``, ``n_blocks``, ``n_kept``,
        ``model``, ``warnings``, ``error``. A page that can't be read, or on which our own code fails, has the status
        ``error`` and says why; it never stops the others.

    Raises
    ------
    UsageError
        There is no such label, or the extractor tells none.
    """
    options = {"limits": limits, "threshold": threshold} | _chosen(extractor, include, exclude)
    knowing = {site: at_site(extractor, template) for site, template in sites.items()}
    # A worker is sent only what the pages of its chunk need.
    tasks = (
        (chunk, extractor, {item.site: knowing[item.site] for item in chunk if item.site in knowing}, options)
        for chunk in _chunks(items)
    )
    if jobs == 1:
        for task in tasks:
            yield from _work(*task)
        return
    import joblib

    with joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="3*n_jobs") as parallel:
        for records in parallel(joblib.delayed(_work)(*task) for task in tasks):
            yield from records


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _chosen(extractor: Extractor, include: str | Iterable[str], exclude: str | Iterable[str]) -> dict[str, Any]:
    """Labels to include and to exclude, as arguments of :func:`blockml.extract`."""
    included, excluded = check_labels(extractor, include, exclude)
    return {"include": included, "exclude": excluded}


def _work(
    chunk: list[Item], extractor: Extractor, knowing: Mapping[str, Extractor], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    with one_thread():  # pages are spread over processes already
        return [_page(item, knowing.get(item.site, extractor), options) for item in chunk]


def _page(item: Item, extractor: Extractor, options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        html = item.read(options["limits"].bytes + 1)
        result = extract(html, url=item.url, charset=item.charset, model=extractor, **options)
        return {"id": item.id, **page_record(result), "error": None}
    except Exception as error:  # noqa: BLE001 (one page must not stop a run of millions; the record says what happened)
        message = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        message = message.encode("utf-8", "backslashreplace").decode()
        return {
            "id": item.id,
            "url": item.url,
            "status": "error",
            "text": "",
            "confidence": None,
            "n_blocks": 0,
            "n_kept": 0,
            "model": extractor.id,
            "warnings": [],
            "error": message,
        }


def predict_to_file(
    items: Iterable[Item],
    extractor: Extractor,
    output: Path,
    *,
    jobs: int = 1,
    resume: bool = False,
    limits: Limits = Limits(),
    threshold: float | None = None,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    sites: Mapping[str, SiteTemplate] = _NO_SITES,
    progress: Callable[[Iterable[dict[str, Any]]], Iterable[dict[str, Any]]] = iter,
) -> Summary:
    """Extract many pages into a JSON lines file.

    Records go to ``OUTPUT.part`` as they come; at the end it takes the place of ``OUTPUT``. So ``OUTPUT`` is always
    whole, and an interrupted run leaves its work behind: with ``resume`` pages that either file holds without an
    error, by the same model, are not worked on again.

    Parameters
    ----------
    include, exclude, sites
        See :func:`predict`.
    progress
        Wraps the iteration over records, to show progress.

    Raises
    ------
    UsageError
        The output can't be written, there is no such label, or the extractor tells none.
    """
    labels = _chosen(extractor, include, exclude)
    summary = Summary()
    part = output.with_name(output.name + ".part")
    if output.is_dir():
        raise UsageError("the output is a folder; name a file", source=output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        models = {site: at_site(extractor, template).id for site, template in sites.items()}
        done = _carry_over(output, part, {extractor.id, *models.values()}) if resume else {}
        outdated = False
        with part.open("a" if resume else "w", encoding="utf-8", newline="\n") as stream:

            def wanted() -> Iterator[Item]:
                nonlocal outdated
                for item in items:
                    if done.get(item.id) == models.get(item.site, extractor.id):
                        summary.skipped += 1
                    else:  # among them pages whose site was not known then, or was known otherwise
                        outdated |= item.id in done
                        yield item

            records = predict(wanted(), extractor, jobs=jobs, limits=limits, threshold=threshold, sites=sites, **labels)
            for record in progress(records):
                summary.statuses[record["status"]] += 1
                stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        if outdated:
            lines = part.read_text(encoding="utf-8").split("\n")[:-1]
            _replace(part, {json.loads(line)["id"]: line for line in lines}.values())
        part.replace(output)
    except OSError as error:
        raise UsageError(f"the output can't be written ({error.strerror or error})", source=output) from error
    return summary


def _carry_over(output: Path, part: Path, models: Set[str]) -> dict[str, str]:
    """Put the good records of earlier runs into ``part``; return the model of each by id.

    A line that was cut off, records of failed pages, and those of other models are dropped, so those pages are worked
    on again.
    """
    records: dict[str, str] = {}
    made_by: dict[str, str] = {}
    for path in (output, part):
        if not path.is_file():
            continue
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                record = json.loads(line)
                if record["error"] is None and record["model"] in models:
                    records[record["id"]] = line
                    made_by[record["id"]] = record["model"]
            except (ValueError, KeyError, TypeError):
                continue
    if records:
        _replace(part, records.values())
    else:
        part.unlink(missing_ok=True)
    return made_by


def _replace(part: Path, lines: Iterable[str]) -> None:
    """Put these lines in the place of those that are there."""
    fresh = part.with_name(part.name + ".new")
    fresh.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    fresh.replace(part)
