"""Isolated worker processes that run a system on pages, so that no page can abort the run.

An exception, a hang or a crash of the process on a page is an outcome like any other. The processes are those of
:mod:`blockml.batch.pool`. Only the call itself is timed: reading and decoding the page, importing the tool, a warm-up
call and fitting to a site happen before.
"""

from __future__ import annotations

import functools
import logging
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from blockml.batch.packing import Piece, Records
from blockml.batch.page_records import PageRecord, RecordMaker
from blockml.batch.pool import WorkerError, WorkerPool
from blockml.batch.readers.work_units import Item, Items
from blockml.batch.worker import MOST_MEMORY, Guard, Setup
from blockml.datasets import LabelledPage
from blockml.errors import BlockmlError, UsageError
from blockml.evaluation.comparison.systems import Run, System, SystemOutput
from blockml.evaluation.page_results import peak_megabytes
from blockml.parsing.decoding import decode
from blockml.records import TIMEOUT
from blockml.sites.fitting import MAX_SITE_PAGES, group_by_site
from blockml.text.words import WORD

# Number of pages after which a worker is replaced, to bound memory leaks of tools (our choice).
_PAGES_PER_WORKER = 300

# Number of fitted systems that a worker caches; pages of a site are mostly consecutive.
_SITES_CACHED = 4

# Maximum length of a recorded error message, which may quote the page (our choice).
_MAX_MESSAGE = 300

# Page for a warm-up call, which makes a tool import what it needs.
_WARM_UP = (
    "<html><head><title>A page</title></head><body><article><h1>A page</h1>"
    + "<p>This is a paragraph of plain English text, long enough for anyone to see that it is the content.</p>" * 5
    + "</article></body></html>"
)


class CannotRunError(BlockmlError):
    """A system can't be started."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Outcome of running a system on one page."""

    id: str
    #: ``ok`` (text with a word), ``empty``, ``error`` (it raised), ``crash`` (its process ended), ``timeout``, or
    #: ``missing`` (the page is not in a file of outputs)
    outcome: str
    text: str = ""
    seconds: float | None = None  #: CPU time of the call
    wall: float | None = None  #: Wall-clock time; the limit if it was reached
    error: str | None = None
    kept: list[int] | None = None
    status: str | None = None  #: See :class:`blockml.evaluation.comparison.systems.SystemOutput`


@dataclass(frozen=True, slots=True)
class _Task(Item):
    """A page to run the system on, and the pages of its site if the system learns from them."""

    page: LabelledPage | None = None
    site_pages: tuple[LabelledPage, ...] = ()


@dataclass(frozen=True, slots=True)
class _SystemRunner(RecordMaker):
    """Runs a system on pages in a worker. The row of a page is a result, and the peak memory of the worker."""

    system: System
    timeout: float

    def start(self) -> None:
        """Silence the tool, and import everything before timing starts."""
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (no path)
            for stream in (1, 2):
                os.dup2(nowhere.fileno(), stream)
        logging.disable(logging.CRITICAL)
        warnings.simplefilter("ignore")
        try:
            _made(self.system)(_WARM_UP, None)
        except ImportError as error:
            raise CannotRunError(f"can't be imported ({error})") from None
        except BaseException:  # noqa: BLE001, S110 (it may fail on this page and not on others)
            pass

    def record(self, item: Item) -> PageRecord:
        """Run the system on a page."""
        task = cast("_Task", item)
        assert task.page is not None  # noqa: S101 (for the type checker)
        data, _ = task.page.load()
        html = decode(data, task.page.charset).text
        run, error, output = _made(self.system, task.site_pages), None, SystemOutput("")
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            output = run(html, task.page.url)
        except BaseException as raised:  # noqa: BLE001 (any exception of a tool, even SystemExit, is an outcome)
            error = f"{type(raised).__name__}: {raised}"[:_MAX_MESSAGE]
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        text = str(output.text)  # a tool may return a subclass of str that references its page
        outcome = "error" if error else "ok" if WORD.search(text) else "empty"
        return _record(TaskResult(item.id, outcome, text, cpu, wall, error, output.kept, output.status))

    def failed(self, page_id: str, url: str | None, status: str, reason: str) -> PageRecord:  # noqa: ARG002
        """Return the outcome of a page that ended its worker."""
        if status == TIMEOUT:
            return _record(TaskResult(page_id, "timeout", wall=self.timeout, error=reason), in_worker=False)
        return _record(TaskResult(page_id, "crash", error=reason), in_worker=False)


def _record(result: TaskResult, *, in_worker: bool = True) -> PageRecord:
    row = {"result": result, "peak": peak_megabytes() if in_worker else None}
    return PageRecord(result.id, None, result.outcome, result.error, (row,), len(result.text))


@functools.lru_cache(maxsize=_SITES_CACHED)
def _made(system: System, site_pages: tuple[LabelledPage, ...] = ()) -> Run:
    """Construct the system in this worker, and fit it to a site if it uses site pages."""
    return system.make(site_pages)


def run_pages(
    system: System,
    pages: Sequence[LabelledPage],
    *,
    jobs: int = 1,
    timeout: float = 30,
    peaks: list[float] | None = None,
) -> Iterator[TaskResult]:
    """Run a system on pages in worker processes; results are yielded in the order of the pages.

    ``jobs`` is the number of processes, ``timeout`` the maximum wall-clock time per page in seconds. ``peaks`` receives
    the peak memory of the worker in megabytes after each page, where the platform reports it. Raises CannotRunError if
    the system can't be started, DatasetError if a page can't be read, and UsageError if an option is out of range.
    """
    if jobs < 1 or not timeout > 0:
        raise UsageError(f"jobs must be at least 1 and timeout more than 0, got {jobs} and {timeout}")
    setup = Setup(
        _SystemRunner(system, timeout),
        Records(),
        Guard(timeout, MOST_MEMORY),
        page_by_page=True,
        units_per_worker=_PAGES_PER_WORKER,
    )
    site_pages = _site_pages(pages) if system.uses_site else {}
    tasks = (_Task(page.id, page=_without_gold(page), site_pages=site_pages.get(page.id, ())) for page in pages)
    units = (Items((task,)) for task in tasks)
    try:
        with WorkerPool(setup, jobs) as pool:
            for result in pool.run(units):
                if not isinstance(result.part, Piece):
                    continue
                for row in result.part.payload:
                    if row["peak"] is not None and peaks is not None:
                        peaks.append(row["peak"])
                    yield row["result"]
    except WorkerError as error:
        raise CannotRunError(str(error)) from error


def _without_gold(page: LabelledPage) -> LabelledPage:
    """Drop everything that a worker doesn't need, to send less data."""
    return replace(page, gold=None, extra={})


def _site_pages(pages: Sequence[LabelledPage]) -> dict[str, tuple[LabelledPage, ...]]:
    """Return, by page id, the pages of the same site, including the page itself."""
    groups = [(group, tuple(map(_without_gold, group[:MAX_SITE_PAGES]))) for group in group_by_site(pages)]
    return {page.id: fitted_on for group, fitted_on in groups for page in group}
