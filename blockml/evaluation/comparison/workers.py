"""A system run on pages in processes of its own, so that no page can take the run down.

Systems that learn from other pages of a site do so before the clock starts, too.

A page on which a tool raises, hangs, or ends its process is a result like any other. Time is taken around the call
alone: the page is read and decoded, and the tool made and called once, before the clock starts.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import multiprocessing
import os
import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blockml.datasets import LabelledPage
from blockml.errors import BlockmlError, UsageError, install_hint
from blockml.evaluation.comparison.systems import Output, Run, System
from blockml.evaluation.cost import peak_megabytes
from blockml.evaluation.site_pages import MOST_SIBLINGS, by_site
from blockml.parsing.decoding import decode
from blockml.text.tokens import WORD

if TYPE_CHECKING:
    from pebble import ProcessPool

__all__ = ["CannotRunError", "Result", "run_pages"]

# Pages after which a worker is replaced, so that what a tool leaks doesn't add up (our choice).
_PAGES_PER_WORKER = 300

# Seconds within which a worker must be ready; imports take some, more so on a busy machine (our choice).
_START = 120

# Sites that a worker remembers; pages of a site mostly come one after the other.
_SITES_KEPT = 4

# Seconds after which a silent pool is looked at.
_LOOK = 5

# Characters kept of an error message: it may quote the page (our choice).
_MESSAGE = 300

# What a tool is called with once before the clock starts, to have it import what it needs.
_WARM_UP = (
    "<html><head><title>A page</title></head><body><article><h1>A page</h1>"
    + "<p>This is a paragraph of plain English text, long enough for anyone to see that it is the content.</p>" * 5
    + "</article></body></html>"
)


class CannotRunError(BlockmlError):
    """A system that can't even be started."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one page."""

    id: str
    outcome: str
    """``ok`` (text with a word), ``empty``, ``error`` (it raised), ``crash`` (its process ended), ``timeout``, or
    ``missing`` (a file of outputs has no such page)."""
    text: str = ""
    seconds: float | None = None
    """CPU time of the call."""
    wall: float | None = None
    """Time on the clock; the limit if it was reached."""
    error: str | None = None
    kept: list[int] | None = None
    """Indices of the kept blocks; None if the system knows no blocks."""
    status: str | None = None
    """Status that blockml gave the extraction; None for other systems."""


def run_pages(
    system: System,
    pages: Sequence[LabelledPage],
    *,
    jobs: int = 1,
    timeout: float = 30,
    peaks: list[float] | None = None,
) -> Iterator[Result]:
    """Run a system on pages in processes of their own; results come in the order of the pages.

    Parameters
    ----------
    jobs
        Processes.
    timeout
        Seconds on the clock that a page may take.
    peaks
        Filled with the most memory in megabytes that a worker had held after each page, where the platform tells.

    Raises
    ------
    CannotRunError
        The system can't be started.
    UsageError
        pebble is not installed, or an option is out of range.
    DatasetError
        A page can't be read.
    """
    if jobs < 1 or not timeout > 0:
        raise UsageError(f"jobs must be at least 1 and timeout more than 0, not {jobs} and {timeout}")
    waiting = deque(pages)
    siblings = _siblings(pages) if system.uses_siblings else {}
    while waiting:
        first = waiting[0]
        pool = _pool(system, jobs)
        try:
            _wait_for_start(pool, system)
            for future in _schedule(pool, system, list(waiting), siblings, timeout):
                while not wait([future], timeout=_LOOK).done:
                    if not pool.active:
                        raise BrokenProcessPool  # noqa: TRY301 (as the pool does)
                result, peak = _result(future, waiting[0], timeout)
                waiting.popleft()
                if peak is not None and peaks is not None:
                    peaks.append(peak)
                yield result
        except BrokenProcessPool:
            # A worker ended where the pool can't tell on which page. Go on with a new pool; the page that an old one
            # began and ended with is to blame.
            if waiting[0] is first:
                yield Result(waiting.popleft().id, "crash", error="the process ended")
        finally:
            pool.stop()
            pool.join()


def _pool(system: System, jobs: int) -> ProcessPool:
    try:
        from pebble import ProcessPool
    except ImportError:
        raise UsageError(f"running systems needs pebble; {install_hint('report')}") from None
    # On Linux a process begins with the peak memory of the one it was started by, unless that is a small server.
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    return ProcessPool(jobs, _PAGES_PER_WORKER, initializer=_start, initargs=(system,), context=context)


def _wait_for_start(pool: ProcessPool, system: System) -> None:
    try:
        pool.schedule(_warm_up, args=(system,)).result(timeout=_START)
    except TimeoutError:
        raise CannotRunError(f"not ready after {_START} seconds", source=system.name) from None
    except BrokenProcessPool:
        raise CannotRunError("its process ends while it starts", source=system.name) from None
    except ImportError as error:
        raise CannotRunError(f"can't be imported ({error})", source=system.name) from None


def _lean(page: LabelledPage) -> LabelledPage:
    """The page without its gold: no more is sent than a worker needs."""
    return replace(page, gold=None, extra={})


def _siblings(pages: Sequence[LabelledPage]) -> dict[str, tuple[LabelledPage, ...]]:
    """Pages of the same site by the id of each page, itself included."""
    groups = [(group, tuple([_lean(page) for page in group[:MOST_SIBLINGS]])) for group in by_site(pages)]
    return {page.id: learnt for group, learnt in groups for page in group}


def _schedule(
    pool: ProcessPool,
    system: System,
    pages: Sequence[LabelledPage],
    siblings: Mapping[str, tuple[LabelledPage, ...]],
    timeout: float,
) -> list[Future[Any]]:
    tasks = [(system, _lean(page), siblings.get(page.id, ())) for page in pages]
    try:
        return [pool.schedule(_work, args=task, timeout=timeout) for task in tasks]
    except RuntimeError as error:  # the pool broke meanwhile
        raise BrokenProcessPool from error


def _result(future: Future[Any], page: LabelledPage, timeout: float) -> tuple[Result, float | None]:
    from pebble import ProcessExpired

    try:
        result: tuple[Result, float | None] = future.result()
    except TimeoutError:
        return Result(page.id, "timeout", wall=timeout, error=f"not done after {timeout:g} seconds"), None
    except ProcessExpired as error:
        return Result(page.id, "crash", error=f"the process ended with exit code {error.exitcode}"), None
    return result


def _start(system: System) -> None:
    """Begin a worker: keep its tool quiet, and have everything imported before the clock starts."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123 (no path)
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with contextlib.suppress(ImportError):  # told when the pool is waited for
        _warm_up(system)


def _warm_up(system: System) -> None:
    """Call the tool once."""
    try:
        _made(system)(_WARM_UP, None)
    except ImportError:
        raise
    except BaseException:  # noqa: BLE001, S110 (it may fail on this page and not on others)
        pass


@functools.lru_cache(maxsize=_SITES_KEPT)
def _made(system: System, siblings: tuple[LabelledPage, ...] = ()) -> Run:
    """The system as this worker made it, for a site if it uses siblings."""
    return system.make(siblings)


def _work(system: System, page: LabelledPage, siblings: tuple[LabelledPage, ...]) -> tuple[Result, float | None]:
    """Run the system on a page, in a worker; the result, and the most memory that the worker has held."""
    data, _ = page.load()
    html = decode(data, page.charset).text
    run, error, output = _made(system, siblings), None, Output("")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        output = run(html, page.url)
    except BaseException as raised:  # noqa: BLE001 (whatever a tool raises, be it SystemExit, is what became of the page)
        error = f"{type(raised).__name__}: {raised}"[:_MESSAGE]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    text = str(output.text)  # a tool may give a kind of str that drags its page along
    outcome = "error" if error else "ok" if WORD.search(text) else "empty"
    return Result(page.id, outcome, text, cpu, wall, error, output.kept, output.status), peak_megabytes()
