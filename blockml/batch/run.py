"""Runs over many pages: records one by one, or an output that a killed run can continue."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

from blockml.archives.kinds import is_page_file
from blockml.batch.outputs import UNFINISHED, Folder, Output, output_for, read_lines
from blockml.batch.packing import End, JsonLines, Parts, PartWriter, Piece, Records
from blockml.batch.page_records import Finisher, PageExtractor, finishes
from blockml.batch.pool import Result, check_jobs, run_units
from blockml.batch.readers import Inputs, Reading, Unit, describe_inputs, in_units
from blockml.batch.readers.work_units import PARTS_SUFFIX, Item
from blockml.batch.worker import Guard, Setup, rows_here
from blockml.errors import BlockmlError, UsageError, check_name
from blockml.extractors import Extractor
from blockml.model import model_digest
from blockml.options import Options
from blockml.records import FAILURES
from blockml.storage.atomic import atomic_write, locked_output
from blockml.text.words import counted

if TYPE_CHECKING:
    from blockml.templates.site import SiteTemplate

__all__ = [
    "ISOLATIONS",
    "Summary",
    "failures_path",
    "parts_path",
    "predict_items",
    "predict_to_file",
    "predict_to_stream",
]

#: Where pages are extracted: in worker processes, or in the calling process without a guard.
ISOLATIONS = ("process", "none")
#: Number of finished records to encode at a time.
_GROUP = 64
_NO_SITES: Mapping[str, SiteTemplate] = MappingProxyType({})


@dataclass(slots=True)
class Summary:
    """Counts of a run."""

    statuses: Counter[str] = field(default_factory=Counter)  #: Pages by status.
    skipped: Counter[str] = field(default_factory=Counter)  #: Records of archives that are not pages, by reason.
    left_out: Counter[str] = field(default_factory=Counter)  #: Pages that filters left out, by reason.
    rules: Counter[str] = field(default_factory=Counter)  #: Counts of :meth:`blockml.rules.RuleMatches.tally`.
    n_earlier: int = 0  #: Pages done by an earlier run that this one continued.

    @property
    def n_pages(self) -> int:
        """Number of pages, including those of the earlier run."""
        return self.statuses.total()

    @property
    def n_failed(self) -> int:
        """Number of pages that failed."""
        return sum(count for status, count in self.statuses.items() if status in FAILURES)

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {status}" for status, count in sorted(self.statuses.items()))
        earlier = f"; {self.n_earlier:,} of them done earlier" if self.n_earlier else ""
        text = f"{counted(self.n_pages, 'page')}: {counts or 'nothing to do'}{earlier}"
        for title, reasons in (("left out", self.left_out), ("skipped", self.skipped)):
            if reasons:
                text += f"; {title}: " + ", ".join(f"{count:,} {reason}" for reason, count in sorted(reasons.items()))
        return text


def predict_items(
    items: Iterable[Item],
    extractor: Extractor,
    options: Options = Options(),  # noqa: B008 (frozen)
    *,
    jobs: int = 1,
    guard: Guard = Guard(),  # noqa: B008 (frozen)
    isolation: str = "process",
    sites: Mapping[str, SiteTemplate] = _NO_SITES,
) -> Iterator[dict[str, Any]]:
    """Extract many pages.

    Parameters
    ----------
    items
        The pages, read as they are needed.
    extractor
        The extractor. With ``isolation="process"`` it is pickled, so its class must be importable.
    options
        Options of the extraction of each page.
    jobs
        Number of processes; doesn't affect the records.
    guard
        Limits on each page.
    isolation
        ``process``: pages are extracted by worker processes, and one that hangs, crashes or needs too much memory loses
        only that page. ``none``: in this process, without a guard, for callers that have one.
    sites
        Templates by site name, as returned by :func:`blockml.batch.learn_sites`. On pages of these sites the extractor
        is adapted by :func:`blockml.sites.at_site`.

    Returns
    -------
    Iterator[dict]
        One record per item, in order: ``id``, ``url``, ``status``, ``title``, ``text``, ``confidence``, ``n_blocks``,
        ``n_kept_blocks``, ``model``, ``warnings``, ``metadata``, ``error``, or those of ``options.fields``. The status
        is one of :class:`blockml.page.Status`, ``timeout``, ``crashed`` or ``unreadable``.

    Raises
    ------
    UsageError
        A label, format, field or isolation is unknown, ``extractor`` is not an extractor or has no block labels, or
        ``jobs`` is not a positive integer.
    WorkerError
        Worker processes can't be started.
    """
    check_name("isolation", isolation, ISOLATIONS)
    check_jobs(jobs)
    pages = PageExtractor(extractor, options, sites)
    records = _records(iter(items), pages, jobs, guard, isolation)
    return Finisher(options)(records) if finishes(options) else records


def _records(
    items: Iterator[Item], pages: PageExtractor, jobs: int, guard: Guard, isolation: str
) -> Iterator[dict[str, Any]]:
    if isolation == "none":
        yield from rows_here(items, pages)
        return
    setup = Setup(pages, Records(), guard, pages.options.read_limit)
    for result in run_units(setup, in_units(items), jobs):
        if isinstance(result.part, Piece):
            yield from result.part.payload


def predict_to_stream(
    inputs: Inputs,
    pages: PageExtractor,
    stream: BinaryIO,
    *,
    jobs: int = 1,
    guard: Guard = Guard(),  # noqa: B008 (frozen)
    on_result: Callable[[Result, Summary], None] = lambda *_: None,
) -> tuple[Summary, list[dict[str, Any]]]:
    """Extract many pages and write JSON lines as they are done.

    Returns
    -------
    Summary
        Counts of the run.
    list of dict
        ``id``, ``url``, ``status`` and ``error`` of the pages that failed.
    """
    check_jobs(jobs)
    summary = Summary()
    failures: list[dict[str, Any]] = []
    reading = Reading(pages.options.read_limit, summary.skipped)
    finisher = Finisher(pages.options) if finishes(pages.options) else None
    setup = Setup(pages, Records() if finisher else JsonLines(), guard, reading.limit)
    for result in run_units(setup, inputs.units(reading), jobs):
        if isinstance(result.part, Piece):
            payload = result.part.payload
            stream.write(JsonLines().encode(list(finisher(payload))) if finisher else payload)
            stream.flush()
            failures += result.part.failures
        _count(summary, result)
        on_result(result, summary)
    summary.left_out = finisher.left_out if finisher else summary.left_out
    return summary, failures


def predict_to_file(
    inputs: Inputs,
    pages: PageExtractor,
    path: Path,
    *,
    jobs: int = 1,
    guard: Guard = Guard(),  # noqa: B008 (frozen)
    resume: bool = False,
    overwrite: bool = True,
    on_result: Callable[[Result, Summary], None] = lambda *_: None,
) -> Summary:
    """Extract many pages into a file or folder, see :func:`blockml.batch.outputs.output_for`.

    Complete parts of the output are kept in the folder :func:`parts_path` until the output is written atomically.
    Pages that failed are listed in :func:`failures_path`.

    Parameters
    ----------
    inputs
        The input.
    pages
        Makes the record of each page.
    path
        The file, or an existing folder for one document per page.
    jobs
        Number of worker processes; doesn't affect the output.
    guard
        Limits on each page.
    resume
        Continue a run that was stopped or killed. The output is byte for byte the same as without the interruption.
    overwrite
        Replace the output of an earlier run, start over if one is unfinished, and write documents beside input pages,
        where a ``.txt`` is never replaced.
    on_result
        Called with each result and the counts so far.

    Raises
    ------
    UsageError
        The output can't be written, would replace an input or is being written by another run, or the run to resume had
        other inputs or options; without ``overwrite`` also if there is an earlier output.
    """
    check_jobs(jobs)
    output = output_for(path, pages.options.format, pages.options.record_fields)
    finisher = Finisher(pages.options) if finishes(pages.options) else None
    encoder = JsonLines() if finisher else output.encoder
    _check_apart(inputs, path, output)
    parts = Parts(parts_path(path))
    manifest = _manifest(inputs, pages, guard)
    try:
        with locked_output(path):
            if not (resume and parts.resume(manifest)):
                if resume:
                    parts.remove()  # left by a run that was killed while removing them
                elif not overwrite and any(parts.complete()):
                    raise UsageError(
                        "an earlier run onto this output is unfinished: resume=True continues it, overwrite=True "
                        "starts over",
                        source=path,
                    )
                _check_earlier(inputs, path, output, resume=resume, overwrite=overwrite)
                parts.begin(manifest)
            try:
                summary = _write_parts(inputs, pages, encoder, parts, jobs, guard, on_result)
            except (BlockmlError, OSError):
                if not any(parts.complete()):
                    parts.remove()  # nothing to resume
                raise
            with _finished(parts, finisher, output) as complete:
                output.assemble(complete)
            summary.left_out = finisher.left_out if finisher else summary.left_out
            _write_failures(failures_path(path), parts, summary)
            parts.remove()
    except OSError as error:
        raise UsageError(f"can't be written ({error})", source=path) from error
    return summary


def parts_path(path: Path) -> Path:
    """Return the folder of the parts of an unfinished output."""
    return path.with_name(f"{path.name}{PARTS_SUFFIX}")


def failures_path(path: Path) -> Path:
    """Return the JSON lines file that lists the pages of an output that failed."""
    return path.with_name(f"{path.name}.failures.jsonl")


def _check_apart(inputs: Inputs, path: Path, output: Output) -> None:
    """Raise UsageError if the output, its list of failures or a document could replace an input."""
    replaced = [name for name in (path, failures_path(path)) if name.is_file()]
    suffix = output.suffix if isinstance(output, Folder) else None
    if not replaced and suffix is None:
        return
    folder = path.resolve()
    for file in inputs.files():
        found = file.path
        is_document = suffix is not None and found.name.lower().endswith(suffix)
        if (is_document and found.resolve().is_relative_to(folder)) or any(_is_same(found, name) for name in replaced):
            raise UsageError(f"is an input, which the output {path} could replace; choose another output", source=found)


def _check_earlier(inputs: Inputs, path: Path, output: Output, *, resume: bool, overwrite: bool) -> None:
    """Raise UsageError if an earlier output is complete or would be replaced without ``overwrite``."""
    if isinstance(output, Folder):
        _check_documents(inputs, output, resume=resume, overwrite=overwrite)
    elif path.is_file() and resume:
        raise _complete(path)
    elif path.is_file() and path.stat().st_size and not overwrite:
        raise UsageError("exists already; choose another output, or overwrite=True replaces it", source=path)


def _check_documents(inputs: Inputs, output: Folder, *, resume: bool, overwrite: bool) -> None:
    """Raise UsageError if a document would replace a text file next to its page, which may be the page's gold.

    Without ``overwrite``, none may be next to its page, where it could be read as gold, or replace another file. With
    ``resume``, one means that the output is complete. A run with parts to continue is not checked, because it may have
    been killed while writing its documents.
    """
    is_text = output.suffix == ".txt"
    if overwrite and not resume and not is_text:
        return
    other = "choose another folder for the documents"
    allowed = f"{other}, or allow it with overwrite=True"
    among = other if is_text else allowed  # a second run can't replace a text next to its page
    if not overwrite and any(_is_same(Path(name), output.path) for name in inputs.names):
        raise UsageError(f"is the folder of the input; {among}", source=output.path)
    for file in inputs.files():
        document = output.place(file.item().id)
        is_beside = document.parent.is_dir() and _is_same(document.parent, file.path.parent)
        if is_beside and is_text and document.is_file():
            raise UsageError(
                "is next to its page and may be its gold, which the document would replace; remove it if an older run "
                "wrote it, or choose another output",
                source=document,
            )
        if resume and document.is_file():
            raise _complete(output.path)
        if overwrite:
            continue
        if file.labelled is None and not is_page_file(file.path.name):  # has many pages, whose names are not known yet
            if (found := next(output.path.rglob(f"*{output.suffix}"), None)) is not None:
                nothing = ", and no run is left to resume" if resume else ""
                raise UsageError(
                    f"exists already{nothing}; {other}, or give overwrite=True, which replaces only documents of the "
                    "same name",
                    source=found,
                )
        elif is_beside:
            raise UsageError(f"would be next to its page; {among}", source=document)
        if document.is_file():
            raise UsageError(f"exists already; {allowed}", source=document)


def _complete(path: Path) -> UsageError:
    return UsageError("the output is already complete; there is nothing to resume", source=path)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one is standard input, or is gone
        return False


def _write_parts(
    inputs: Inputs,
    pages: PageExtractor,
    encoder: Any,  # noqa: ANN401 (an Encoder)
    parts: Parts,
    jobs: int,
    guard: Guard,
    on_result: Callable[[Result, Summary], None],
) -> Summary:
    """Write the missing parts; return the counts of all parts."""
    summary = Summary()
    number = n_units = 0
    end: int | None = None
    for _, part in parts.complete():
        number, n_units, end = number + 1, part.n_units, part.end
        summary.statuses += part.statuses
        summary.skipped += part.skipped
        summary.rules += part.rules
    summary.n_earlier = summary.n_pages
    reading = Reading(pages.options.read_limit, summary.skipped)
    units = inputs.units(reading)
    last: Unit | None = None
    for unit in islice(units, n_units):
        last = unit
    previous = None if last is None else Result(last, End(end=end))
    writer = PartWriter(parts, number, n_units)
    setup = Setup(pages, encoder, guard, reading.limit)
    try:
        for result in run_units(setup, units, jobs, previous):
            _count(summary, result)
            if isinstance(result.part, Piece):
                writer.add(result.part)
            else:
                writer.end_unit(result.part)
            on_result(result, summary)
        writer.complete()
    finally:
        writer.close()
    return summary


@contextmanager
def _finished(parts: Parts, finisher: Finisher | None, output: Output) -> Iterator[Iterable[Path]]:
    """Yield the parts, or one file with their records after the finisher, in the encoding of the output."""
    complete = (part for part, _ in parts.complete())
    if finisher is None:
        yield complete
        return
    with TemporaryDirectory(dir=parts.folder) as folder:
        target = Path(folder, "finished")
        records = finisher(record for part in complete for record in read_lines(part))
        with target.open("wb") as stream:
            while group := list(islice(records, _GROUP)):
                stream.write(output.encoder.encode(group))
        yield [target]


def _count(summary: Summary, result: Result) -> None:
    if isinstance(result.part, Piece):
        summary.statuses += result.part.statuses
        summary.rules += result.part.rules
    else:
        summary.skipped.update(result.part.skipped)


def _write_failures(path: Path, parts: Parts, summary: Summary) -> None:
    if not any(summary.statuses[status] for status in FAILURES):
        path.unlink(missing_ok=True)
        return
    with atomic_write(path, mark=UNFINISHED) as stream:
        for _, part in parts.complete():
            stream.write(JsonLines().encode(part.failures))


def _manifest(inputs: Inputs, pages: PageExtractor, guard: Guard) -> dict[str, Any]:
    """Return everything that the output depends on."""
    import blockml

    files = hashlib.sha256()
    count = 0
    for line in describe_inputs(inputs):
        files.update(line.encode("utf-8", "backslashreplace") + b"\n")
        count += 1
    sites = hashlib.sha256(repr(sorted((site, found.id) for site, found in pages.at_sites.items())).encode())
    return {
        "version": blockml.__version__,
        "model": pages.extractor.id,
        "model_content": [model_digest(model) for model in pages.extractor.used_models()],
        "inputs": list(inputs.names),
        "files": f"{count} files, {files.hexdigest()[:16]}",
        "record_fields": asdict(inputs.fields),
        "urls": None if inputs.addresses is None else inputs.addresses.digest(),
        "options": pages.options.record(),
        "site_templates": sites.hexdigest()[:16] if pages.at_sites else None,
        "guard": asdict(guard),
    }
