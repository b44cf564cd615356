"""CPU time of several things in turns, page by page: ratios hold on a busy machine where absolute times do not."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.pages import Source
from blockml import _kernel

__all__ = ["FLOOR", "WHOLE", "Laps", "Subject", "Times", "cpu_seconds", "in_python", "measured"]

#: The subject that all others are compared with.
FLOOR = "lxml's parse"
#: The lap of a subject that has but one.
WHOLE = ""


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call, in all threads of the process, until its result is gone.

    A tree of lxml takes a fifth as long to free as to make.
    """
    start = time.process_time()
    work()
    return time.process_time() - start


class Laps:
    """CPU seconds of the parts of one piece of work, by name.

    Examples
    --------
    >>> laps = Laps()
    >>> laps("sum", lambda: sum(range(9))), list(laps.seconds)
    (None, ['sum'])
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, name: str, work: Callable[[], object]) -> None:
        """Do a part, and let go of what came out, which costs time too; a name that comes again is added to."""
        self.seconds[name] = self.seconds.get(name, 0.0) + cpu_seconds(work)


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is measured."""

    name: str
    run: Callable[[Laps, Source], object]
    """Does it for one page, and says what is timed."""
    most: int | None = None
    """It is measured on the first so many pages; None for all."""
    compiled: bool = True
    """Whether it may use the compiled kernel."""
    may_fail: bool = False
    """Whether it is counted if it raises; else the run ends."""


@dataclass(slots=True)
class Times:
    """Results of a measurement."""

    n_pages: int
    seconds: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    """(n_pages,) least CPU seconds of each lap, by the names of subject and lap; NaN for laps that did not occur."""
    failures: dict[str, dict[str, int]] = field(default_factory=dict)
    """Pages that a subject failed on, by its name and the error's."""

    def put(self, subject: str, lap: str, page: int, seconds: float) -> None:
        """Keep the time of a page, if it is the least so far."""
        times = self.seconds.setdefault((subject, lap), np.full(self.n_pages, np.nan))
        times[page] = np.fmin(times[page], seconds)

    def whole(self, subject: str) -> NDArray[np.float64]:
        """(n_pages,) seconds of a subject that has one lap."""
        return self.seconds[subject, WHOLE]

    def laps(self, subject: str) -> Mapping[str, NDArray[np.float64]]:
        """(n_pages,) seconds of each lap of a subject, in the order in which they came first."""
        return {lap: times for (name, lap), times in self.seconds.items() if name == subject}


@contextmanager
def in_python(wanted: bool = True) -> Iterator[None]:  # noqa: FBT001, FBT002 (a switch is what it is)
    """Do without the compiled kernel for a while."""
    before = _kernel.compiled
    if wanted:
        _kernel.compiled = None
    try:
        yield
    finally:
        _kernel.compiled = before


def measured(
    sources: Sequence[Source], subjects: Sequence[Subject], rounds: int, progress: Callable[[Any], Any] = iter
) -> Times:
    """Time all subjects on all pages, one after the other on each page, in several rounds.

    Parameters
    ----------
    sources
        The pages.
    subjects
        What is measured; one that fails on a page, and may, is counted and not tried there again.
    rounds
        From 1; the least time counts.
    progress
        Wraps the iteration over pages.

    Returns
    -------
    Times
        Of each lap and page.
    """
    times = Times(len(sources))
    smallest = min(sources, key=lambda source: len(source.html))
    for subject in subjects:  # what is loaded when it is first needed must not count
        _run(subject, smallest)
    gc.collect()
    gc.freeze()  # otherwise collections of loaded objects would add to the time of random subjects
    for page, source in enumerate(progress(sources)):
        failed: set[str] = set()
        for _ in range(rounds):
            for subject in subjects:
                if subject.name in failed or (subject.most is not None and page >= subject.most):
                    continue
                gc.collect()  # each pays for its own garbage
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
    """Seconds of each lap, or what went wrong."""
    laps = Laps()
    try:
        with in_python(not subject.compiled):
            subject.run(laps, source)
    except Exception as error:
        if not subject.may_fail:
            raise
        return error  # other people's tools raise anything on real pages
    return laps.seconds
