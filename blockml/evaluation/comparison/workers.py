"""Isolated worker processes that run a system on pages, so that no page can abort the run.

An exception, a hang or a crash of the process on a page is an outcome like any other. Only the call itself is timed:
reading and decoding the page, importing the tool, a warm-up call and fitting to a site happen before.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import multiprocessing
import os
import pickle
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from blockml.datasets import LabelledPage
from blockml.errors import BlockmlError, UsageError, install_hint
from blockml.evaluation.comparison.systems import Run, System, SystemOutput
from blockml.evaluation.run import peak_megabytes
from blockml.parsing.decoding import decode
from blockml.sites.grouping import MAX_SITE_PAGES, group_by_site
from blockml.text.words import WORD

if TYPE_CHECKING:
    from pebble import ProcessPool

# Number of pages after which a worker is replaced, to bound memory leaks of tools (our choice).
_PAGES_PER_WORKER = 300

# Seconds within which a worker must be ready; imports are slow on a busy machine (our choice).
_START_TIMEOUT = 120

# Number of fitted systems that a worker caches; pages of a site are mostly consecutive.
_SITES_CACHED = 4

# Seconds between checks of whether a silent pool is still alive.
_POLL_SECONDS = 5

# Maximum length of a recorded error message, which may quote the page (our choice).
_MAX_MESSAGE = 300

# Page for a warm-up call, which makes a tool import what it needs.
_WARM_UP = (
    "<html><head><title>A page</title></head><body><article><h1>A page</h1>"
    + "<p>This is a paragraph of plain English text, long enough for anyone to see that it is the content.</p>" * 5
    + "</article></body></html>"
)


# On Linux a process inherits the peak memory of its parent, which is small for a fork server.
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_CONTEXT: Any = multiprocessing.get_context(_METHOD)


class _ProcessWithoutMain(_CONTEXT.Process):  # type: ignore[misc]  # the class depends on the platform
    """Process that does not import the script of its parent, so that scripts need no ``if __name__ == "__main__"``."""

    @staticmethod
    def _Popen(process: Any) -> Any:  # noqa: ANN401, N802 (the method of the base class)
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            return _CONTEXT.Process._Popen(process)  # noqa: SLF001
        finally:
            sys.modules["__main__"] = main


class _WithoutMain(type(_CONTEXT)):  # type: ignore[misc]  # the class depends on the platform
    """Context of such processes; only for systems that the script does not define."""

    Process = _ProcessWithoutMain


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
    the system can't be started, DatasetError if a page can't be read, and UsageError if pebble is not installed or an
    option is out of range.
    """
    if jobs < 1 or not timeout > 0:
        raise UsageError(f"jobs must be at least 1 and timeout more than 0, got {jobs} and {timeout}")
    waiting = deque(pages)
    site_pages = _site_pages(pages) if system.uses_site else {}
    while waiting:
        first = waiting[0]
        pool = _pool(system, jobs)
        try:
            _wait_for_start(pool, system)
            for future in _schedule(pool, system, list(waiting), site_pages, timeout):
                while not wait([future], timeout=_POLL_SECONDS).done:
                    if not pool.active:
                        raise BrokenProcessPool  # noqa: TRY301 (as the pool does)
                result, peak = _result(future, waiting[0], timeout)
                waiting.popleft()
                if peak is not None and peaks is not None:
                    peaks.append(peak)
                yield result
        except BrokenProcessPool:
            # A worker died, and the pool can't tell on which page. Continue with a new pool; if a pool breaks on its
            # first page, that page is the cause.
            if waiting[0] is first:
                yield TaskResult(waiting.popleft().id, "crash", error="the process ended")
        finally:
            pool.stop()
            pool.join()


def _pool(system: System, jobs: int) -> ProcessPool:
    try:
        from pebble import ProcessPool
    except ImportError:
        raise UsageError(f"running systems needs pebble; {install_hint('report')}") from None
    context = _CONTEXT if b"__main__" in pickle.dumps(system) else _WithoutMain()
    return ProcessPool(jobs, _PAGES_PER_WORKER, initializer=_start, initargs=(system,), context=context)


def _wait_for_start(pool: ProcessPool, system: System) -> None:
    try:
        pool.schedule(_warm_up, args=(system,)).result(timeout=_START_TIMEOUT)
    except TimeoutError:
        raise CannotRunError(f"not ready after {_START_TIMEOUT} seconds") from None
    except BrokenProcessPool:
        raise CannotRunError("its process ended during start-up") from None
    except ImportError as error:
        raise CannotRunError(f"can't be imported ({error})") from None


def _without_gold(page: LabelledPage) -> LabelledPage:
    """Drop everything that a worker doesn't need, to send less data."""
    return replace(page, gold=None, extra={})


def _site_pages(pages: Sequence[LabelledPage]) -> dict[str, tuple[LabelledPage, ...]]:
    """Return, by page id, the pages of the same site, including the page itself."""
    groups = [(group, tuple(map(_without_gold, group[:MAX_SITE_PAGES]))) for group in group_by_site(pages)]
    return {page.id: fitted_on for group, fitted_on in groups for page in group}


def _schedule(
    pool: ProcessPool,
    system: System,
    pages: Sequence[LabelledPage],
    site_pages: Mapping[str, tuple[LabelledPage, ...]],
    timeout: float,
) -> list[Future[Any]]:
    tasks = [(system, _without_gold(page), site_pages.get(page.id, ())) for page in pages]
    try:
        return [pool.schedule(_work, args=task, timeout=timeout) for task in tasks]
    except RuntimeError as error:  # the pool broke meanwhile
        raise BrokenProcessPool from error


def _result(future: Future[Any], page: LabelledPage, timeout: float) -> tuple[TaskResult, float | None]:
    from pebble import ProcessExpired

    try:
        result: tuple[TaskResult, float | None] = future.result()
    except TimeoutError:
        return TaskResult(page.id, "timeout", wall=timeout, error=f"not done after {timeout:g} seconds"), None
    except ProcessExpired as error:
        return TaskResult(page.id, "crash", error=f"the process ended with exit code {error.exitcode}"), None
    return result


def _start(system: System) -> None:
    """Initialise a worker: silence the tool, and import everything before timing starts."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (no path)
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):  # reported when the pool is waited for
        _warm_up(system)


def _warm_up(system: System) -> None:
    try:
        _made(system)(_WARM_UP, None)
    except ImportError:
        raise
    except BaseException:  # noqa: BLE001, S110 (it may fail on this page and not on others)
        pass


@functools.lru_cache(maxsize=_SITES_CACHED)
def _made(system: System, site_pages: tuple[LabelledPage, ...] = ()) -> Run:
    """Construct the system in this worker, and fit it to a site if it uses site pages."""
    return system.make(site_pages)


def _work(system: System, page: LabelledPage, site_pages: tuple[LabelledPage, ...]) -> tuple[TaskResult, float | None]:
    """Run the system on a page, in a worker; return the result and the peak memory of the worker."""
    data, _ = page.load()
    html = decode(data, page.charset).text
    run, error, output = _made(system, site_pages), None, SystemOutput("")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        output = run(html, page.url)
    except BaseException as raised:  # noqa: BLE001 (any exception of a tool, even SystemExit, is an outcome)
        error = f"{type(raised).__name__}: {raised}"[:_MAX_MESSAGE]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    text = str(output.text)  # a tool may return a subclass of str that references its page
    outcome = "error" if error else "ok" if WORD.search(text) else "empty"
    return TaskResult(page.id, outcome, text, cpu, wall, error, output.kept, output.status), peak_megabytes()
