"""The function :func:`predict`: many pages to records or an output file, with templates of their sites."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import Any, TypeAlias

from blockml.batch.packing import End
from blockml.batch.page_records import PageExtractor
from blockml.batch.pool import Result, check_jobs
from blockml.batch.readers import InputFile, Inputs, Reading, RecordFields, Unit, find_inputs, in_units, read_items
from blockml.batch.readers.page_addresses import read_addresses
from blockml.batch.readers.page_files import labelled_item
from blockml.batch.readers.tables import row_item
from blockml.batch.readers.work_units import Item
from blockml.batch.run import Summary, predict_items, predict_to_file
from blockml.batch.worker import Guard
from blockml.datasets import Dataset
from blockml.datasets.sources import object_rows
from blockml.errors import UsageError, check_type
from blockml.extractors import AnyModel, Extractor, load
from blockml.options import Options
from blockml.page import Page
from blockml.parsing import Limits, parse
from blockml.parsing.decoding import Detector
from blockml.parsing.limits import ParsingOptions
from blockml.progress import ProgressCallback, ignore_progress, tracked
from blockml.rules import AnyRules
from blockml.sites.fitting import MAX_SITE_PAGES
from blockml.templates.frequency import MIN_TRAIN
from blockml.templates.site import SiteTemplate
from blockml.text.words import counted

__all__ = ["AnyInputs", "learn_sites", "predict"]


#: Types of input that :func:`predict` accepts.
AnyInputs: TypeAlias = (
    "str | os.PathLike[str] | Dataset | Iterable[str | os.PathLike[str] | bytes | Mapping[str, Any] | Item]"
)


@dataclass(slots=True)
class GivenPages(Inputs):
    """Pages that the caller has in memory or has opened, instead of files."""

    #: Returns the pages; called each time they are read.
    items: Callable[[], Iterable[Item]] = tuple

    def files(self) -> Iterator[InputFile]:
        """Yield no files."""
        return iter(())

    def size(self) -> int:
        """Return 0, because the size is unknown."""
        return 0

    def units(self, reading: Reading) -> Iterator[Unit]:  # noqa: ARG002 (the signature of inputs)
        """Group the pages into units."""
        return in_units(self.items())


def predict(
    inputs: AnyInputs,
    *,
    model: AnyModel = "default",
    output: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    resume: bool = False,
    by_site: bool = False,
    columns: Mapping[str, str] | None = None,
    urls: str | os.PathLike[str] | Mapping[str, str] | None = None,
    guard: Guard = Guard(),  # noqa: B008 (frozen)
    progress: ProgressCallback = ignore_progress,
    threshold: float | None = None,
    favour: str | None = None,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    rules: AnyRules | None = None,
    hidden: str | None = None,
    limits: Limits = Limits(),
    backend: str | None = None,
    detector: Detector | None = None,
    format: str = "text",  # noqa: A002 (the name of the command's option)
    links: bool = True,
    images: bool = True,
    tables: bool = True,
    formatting: bool = True,
    front_matter: bool = False,
    chunks: int | None = None,
    fields: tuple[str, ...] = (),
    languages: tuple[str, ...] = (),
    deduplicate: bool = False,
    min_confidence: float | None = None,
    declared_urls: bool = False,
) -> Any:  # noqa: ANN401 (records or a summary)
    """Extract the main content of many pages.

    A bad page never raises; its record has a ``status`` and, if the page failed, an ``error``.

    Parameters
    ----------
    inputs
        A page file, folder, glob or file of many pages, such as JSON lines, WARC or ZIP (see
        :data:`blockml.archives.kinds.INPUT_KINDS`), or a list of these; a data set, or its folder; or an iterable of
        pages: ``bytes``, mappings with the fields ``columns``, or :class:`blockml.batch.Item`.
    model
        A model as accepted by :func:`blockml.load`.
    output
        A .jsonl, .csv or .parquet file to write, the first two also as .gz or .zst; or, for one document per page, a
        folder, which exists or whose name has no suffix. The output of an earlier run is replaced.
    jobs
        Number of processes; doesn't affect the records.
    resume
        Continue a run that was stopped or killed; needs ``output``.
    by_site
        Learn and remove the template of each site, which reads all pages twice.
    columns
        Names of the fields of records and of the columns of tables, if they aren't ``html``, ``id``, ``url``,
        ``charset`` and ``site``: such as ``{"html": "content"}``.
    urls
        Addresses of page files: a table with a column of file names or ids and one of addresses, or a mapping. Names
        are paths below the input folder or as given, with or without suffix. Links become absolute, and the site of a
        page is that of its address.
    guard
        Limits on the time and memory of a page.
    progress
        Called with the name of a stage, how many of its items are done, and how many there are (None if unknown). With
        ``output``, these are bytes of the inputs, else pages.
    threshold, favour, include, exclude, rules, hidden, limits, backend, detector
        As in :func:`blockml.extract`.
    format
        Format of the field ``text``: ``text``, ``markdown`` or ``html``.
    links, images, tables, formatting
        Whether Markdown and HTML include them; see :func:`blockml.render`.
    front_matter
        Whether Markdown begins with the metadata; see :func:`blockml.render`.
    chunks
        Maximum characters of a chunk: there is a record for each chunk, as made by
        :meth:`blockml.page.Extraction.chunks`, instead of each page.
    fields
        Fields of a record, in this order, such as ``("id", "text", "metadata.authors")``; see ``docs/batch.md``.
    languages
        Language codes, such as ``("en", "de")``; pages in other languages are left out.
    deduplicate
        Whether near duplicates of earlier pages are left out.
    min_confidence
        Pages below this confidence have the status ``unsure`` instead of ``ok``.
    declared_urls
        Whether pages without an address get the one that they declare (``canonical`` or ``og:url``).

    Returns
    -------
    Iterator[dict]
        Without ``output``: one record per page, in order, made on demand.
    Summary
        With ``output``: counts of the run.

    Raises
    ------
    InputError
        A name matches no file.
    DatasetError
        The table of addresses can't be read.
    UsageError
        An option has an invalid value, the output can't be written, or no page file has an address in ``urls``.
    WorkerError
        Worker processes can't be started.

    Examples
    --------
    >>> import blockml
    >>> pages = [{"id": 1, "html": "<p>One"}, {"id": 2, "html": None}]
    >>> list(blockml.predict(pages, model="kim2013", threshold=0.0, fields=("id", "text", "status")))
    [{'id': '1', 'text': 'One', 'status': 'ok'}, {'id': '2', 'text': '', 'status': 'unreadable'}]
    """
    options = Options(
        threshold=threshold, favour=favour, include=include, exclude=exclude, rules=rules, hidden=hidden, limits=limits,
        backend=backend, detector=detector, format=format, links=links, images=images, tables=tables,
        formatting=formatting, front_matter=front_matter, chunks=chunks, fields=fields, languages=languages,
        deduplicate=deduplicate, min_confidence=min_confidence, declared_urls=declared_urls,
    )  # fmt: skip
    check_jobs(jobs)
    extractor = load(model)
    found = as_inputs(inputs, record_fields(columns or {}), options.read_limit)
    if urls is not None:
        if isinstance(found, GivenPages):
            raise UsageError("urls are for files; pages in memory have a field url")
        found.add_addresses(read_addresses(urls))
    if resume and (output is None or isinstance(found, GivenPages)):
        raise UsageError("resume=True needs inputs that are files, and an output")
    sites = site_templates(found, extractor, options, jobs, progress) if by_site else {}
    if output is None:
        records = predict_items(found_items(found), extractor, options, jobs=jobs, guard=guard, sites=sites)
        return tracked(records, progress, "pages")
    return predict_to_file(
        found, PageExtractor(extractor, options, sites), output_path(output), jobs=jobs, guard=guard, resume=resume,
        on_result=by_bytes(found, progress),
    )  # fmt: skip


def record_fields(columns: Mapping[str, str]) -> RecordFields:
    """Return the names of the fields of records; raises UsageError for an unknown field or an empty name."""
    known = [item.name for item in dataclass_fields(RecordFields)]
    if any(name not in known or not value for name, value in columns.items()):
        raise UsageError(f"columns must map fields to names; the fields are: {', '.join(known)}")
    return RecordFields(**columns)


def as_inputs(inputs: AnyInputs, columns: RecordFields, limit: int) -> Inputs:
    """Convert the inputs of :func:`predict` to inputs that are read in units."""
    if isinstance(inputs, str | os.PathLike):
        return find_inputs([os.fsdecode(inputs)], columns)
    if isinstance(inputs, Dataset):
        pages = inputs.pages
        return GivenPages((inputs.name,), columns, items=lambda: (labelled_item(page).opened() for page in pages))
    if any(hasattr(inputs, name) for name in ("itertuples", "iter_rows", "to_batches", "to_pylist", "collect")):
        table = inputs  # of pandas, polars or Arrow
        return GivenPages((), columns, items=lambda: _items(object_rows(table, "the table"), columns, limit))
    if isinstance(inputs, bytes | Mapping) or not isinstance(inputs, Iterable):
        raise UsageError(f"inputs must be files, a data set or an iterable of pages, got {type(inputs).__name__}")
    if isinstance(inputs, list | tuple):
        if inputs and all(isinstance(item, str | os.PathLike) for item in inputs):
            if any(isinstance(item, str) and "<" in item for item in inputs):
                raise UsageError("a list of strings names files; give pages as bytes, or as dicts with the key html")
            return find_inputs([os.fsdecode(item) for item in inputs], columns, listed=True)
        given = inputs
        return GivenPages((), columns, items=lambda: _items(given, columns, limit))
    items = iter(inputs)  # read once
    return GivenPages((), columns, items=lambda: _items(items, columns, limit))


def _items(pages: Iterable[Any], columns: RecordFields, limit: int) -> Iterator[Item]:
    """Yield pages of any form as items."""
    for number, page in enumerate(pages, 1):
        if isinstance(page, Item):
            yield page
        elif isinstance(page, bytes):
            yield Item(str(number), html=page[:limit])
        else:
            check_type("a page", page, Mapping, legal="bytes, a mapping or an Item, in an iterable of pages")
            yield row_item(dict(page), str(number), columns, limit)


def found_items(inputs: Inputs) -> Iterable[Item]:
    """Return the pages of inputs."""
    return inputs.items() if isinstance(inputs, GivenPages) else read_items(inputs)


def site_templates(
    inputs: Inputs, extractor: Extractor, options: Options, jobs: int, progress: ProgressCallback = ignore_progress
) -> Mapping[str, SiteTemplate]:
    """Learn the templates of the sites of inputs."""
    parsing = options.adapted(extractor).parsing
    return learn_sites(lambda: found_items(inputs), parsing, limits=options.limits, jobs=jobs, progress=progress)


def output_path(output: str | os.PathLike[str]) -> Path:
    """Return the path of an output; if it ends in a separator, create the folder."""
    if os.fsdecode(output).endswith(("/", os.sep)):
        Path(output).mkdir(parents=True, exist_ok=True)
    return Path(output).resolve()


def by_bytes(inputs: Inputs, progress: ProgressCallback) -> Callable[[Result, Summary], None]:
    """Return a function that reports to ``progress``, after each result of a run, the bytes of input that are done."""
    total: int | None = None
    done = 0

    def tell(result: Result, summary: Summary) -> None:
        nonlocal total, done
        if isinstance(result.part, End):
            total = inputs.size() if total is None else total
            done += result.unit.stored
            stage = f"{counted(summary.n_pages, 'page')}, {summary.n_failed:,} failed"
            progress(stage, done, total or None)

    return (lambda *_: None) if progress is ignore_progress else tell


def learn_sites(
    read: Callable[[], Iterable[Item]],
    parsing: ParsingOptions = ParsingOptions(),  # noqa: B008 (frozen)
    *,
    limits: Limits = Limits(),
    jobs: int = 1,
    progress: ProgressCallback = ignore_progress,
) -> Mapping[str, SiteTemplate]:
    """Learn the template of each site that has enough pages.

    Parameters
    ----------
    read
        Returns the pages; called twice, first to count the pages of each site. Pages without a site and pages that
        cannot be read are ignored.
    parsing
        Parsing options of the extractor.
    limits
        Limits on each page.
    jobs
        Number of processes; does not affect the result.
    progress
        Called with the name of a stage, how many of its sites are done, and how many there are (None if unknown).

    Returns
    -------
    Mapping[str, SiteTemplate]
        Template by :attr:`~blockml.batch.Item.site`, learnt from its first 50 pages. Sites with fewer than four pages
        are left out.

    Examples
    --------
    >>> names = ("cats", "dogs", "birds", "fish")
    >>> items = [Item(name, html=f"<p>Home</p><p>About {name}.</p>", site="animals.example") for name in names]
    >>> learn_sites(lambda: items)
    {'animals.example': SiteTemplate('animals.example', 4 pages, 1 layout, ...)}
    """
    import joblib  # slow, and extraction of one page does not need it

    sizes = Counter(item.site for item in read() if item.site)
    wanted = {site: min(n, MAX_SITE_PAGES) for site, n in sizes.items() if n >= MIN_TRAIN}
    tasks = (joblib.delayed(_learn)(site, group, parsing, limits) for site, group in _groups(read(), wanted))
    with joblib.Parallel(n_jobs=jobs, return_as="generator") as parallel:
        return dict(tracked(parallel(tasks), progress, "templates of sites", len(wanted)))


def _groups(items: Iterable[Item], wanted: Mapping[str, int]) -> Iterator[tuple[str, list[Item]]]:
    """Yield the first ``wanted`` items of each site as soon as they are complete, so that few stay in memory."""
    groups: dict[str, list[Item]] = {site: [] for site in wanted}
    for item in items:
        if item.site in groups:
            groups[item.site].append(item)
            if len(groups[item.site]) == wanted[item.site]:
                yield item.site, groups.pop(item.site)


def _learn(site: str, items: Iterable[Item], parsing: ParsingOptions, limits: Limits) -> tuple[str, SiteTemplate]:
    pages: list[Page] = []
    for item in items:
        try:
            html = item.read(limits.bytes + 1)
        except OSError:  # prediction reports it
            continue
        pages.append(parse(html, url=item.url, charset=item.charset, limits=limits, **parsing.options()))
    return site, SiteTemplate.learn(pages, name=Path(site).name)
