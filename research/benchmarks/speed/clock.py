"""Measures CPU time of several subjects in turns, page by page, so that ratios hold on a busy machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from blockml import _kernel
from blockml.progress import ProgressCallback, ignore_progress, tracked
from research.benchmarks.speed.pages import Source

__all__ = ["FLOOR", "WHOLE", "Laps", "Subject", "Times", "cpu_seconds", "in_python", "measured"]

#: Subject that all others are compared with.
FLOOR = "lxml's parse"
#: Lap name of a subject with a single lap.
WHOLE = ""


def cpu_seconds(work: Callable[[], object]) -> float:
    """Measure the CPU time of one call in all threads of the process, including freeing its result.

    Freeing lxml's tree takes a fifth as long as building it.
    """
    start = time.process_time()
    work()
    return time.process_time() - start


class Laps:
    """CPU seconds of named parts of a subject's work on a page.

    Examples
    --------
    >>> laps = Laps()
    >>> laps("sum", lambda: sum(range(9))), list(laps.seconds)
    (None, ['sum'])
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], object]) -> None:
        """Time a part, including freeing its result; times of equal names are added up."""
        self.seconds[name] = self.seconds.get(name, 0.0) + cpu_seconds(work)


@dataclass(frozen=True, slots=True)
class Subject:
    """A measured subject, such as a parser or an extractor."""

    name: str
    run: Callable[[Laps, Source], object]
    """Function that processes one page and times its parts by the laps."""
    most: int | None = None
    """Maximum number of pages, starting at the first; None for all."""
    compiled: bool = True
    """Whether the C extension is used."""
    may_fail: bool = False
    """Whether exceptions are counted; otherwise they end the run."""


@dataclass(slots=True)
class Times:
    """Times of all subjects on all pages."""

    n_pages: int
    seconds: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    """(n_pages,) minimum CPU seconds of each lap, by names of subject and lap; NaN for laps that did not occur."""
    failures: dict[str, dict[str, int]] = field(default_factory=dict)
    """Numbers of the pages that a subject failed on, by names of subject and exception."""

    def put(self, subject: str, lap: str, page: int, seconds: float) -> None:
        """Record the time of a page if it is the minimum so far."""
        times = self.seconds.setdefault((subject, lap), np.full(self.n_pages, np.nan))
        times[page] = np.fmin(times[page], seconds)

    def whole(self, subject: str) -> NDArray[np.float64]:
        """Return (n_pages,) seconds of a subject with a single lap."""
        return self.seconds[subject, WHOLE]

    def laps(self, subject: str) -> Mapping[str, NDArray[np.float64]]:
        """Return (n_pages,) seconds of each lap of a subject, in order of first occurrence."""
        return {lap: times for (name, lap), times in self.seconds.items() if name == subject}


@contextmanager
def in_python(wanted: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 (a switch is what it is)
    """Disable the C extension in this context."""
    before = _kernel.compiled
    if wanted:
        _kernel.compiled = None
    try:
        yield
    finally:
        _kernel.compiled = before


def measured(
    sources: Sequence[Source], subjects: Sequence[Subject], rounds: int, progress: ProgressCallback = ignore_progress
) -> Times:
    """Time all subjects in turns on each page, in several rounds.

    Parameters
    ----------
    sources
        The pages.
    subjects
        The subjects; one that may fail, and fails on a page, is counted and not run there again.
    rounds
        At least 1; the lowest time counts.
    progress
        Called as :mod:`blockml.progress` says.

    Returns
    -------
    Times
        Times of each lap and page.
    """
    times = Times(len(sources))
    smallest = min(sources, key=lambda source: len(source.html))
    for subject in subjects:  # warm up: lazy imports must not count
        _run(subject, smallest)
    gc.collect()
    gc.freeze()  # otherwise collections of older objects would add to the time of random subjects
    for page, source in enumerate(tracked(sources, progress, "pages", len(sources))):
        failed: set[str] = set()
        for _ in range(rounds):
            for subject in subjects:
                if subject.name in failed or (subject.most is not None and page >= subject.most):
                    continue
                gc.collect()  # each subject pays for its own garbage
                found = _run(subject, source)
                if isinstance(found, Exception):
                    failed.add(subject.name)
                    by_kind = times.failures.setdefault(subject.name, {})
                    by_kind[type(found).__name__] = by_kind.get(type(found).__name__, 0) + 1
                    continue
                for lap, seconds in found.items():
                    times.put(subject.name, lap, page, seconds)
    gc.unfreeze()
    return times


def _run(subject: Subject, source: Source) -> dict[str, float] | Exception:
    """Run a subject on a page: seconds of each lap, or the exception."""
    laps = Laps()
    try:
        with in_python(not subject.compiled):
            subject.run(laps, source)
    except Exception as error:
        if not subject.may_fail:
            raise
        return error  # other tools raise all kinds of exceptions on real pages
    return laps.seconds
