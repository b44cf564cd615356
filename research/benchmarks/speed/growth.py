"""Growth of cost with the size, blocks and depth of a page, and with the pages of a batch."""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import blockml
from blockml.batch import Item, predict_items
from blockml.extractors import Extractor
from research.benchmarks.speed.pages import Source, blocks, long_page, nested
from research.benchmarks.speed.subjects import backends, on_backend
from research.benchmarks.speed.tables import Table

__all__ = ["Curve", "Growth", "exponent", "least_seconds", "of_batches", "of_pages", "ways_of"]

#: A point is repeated until this total of seconds or this number of rounds; the minimum counts.
_ENOUGH, _ROUNDS = 3.0, 5

Ways = Mapping[str, Extractor]
"""Extractors by name."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Time per unit over amounts, for one configuration."""

    name: str
    amounts: list[int]
    seconds: list[float]
    """Seconds per unit, one for each amount."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Curves with common amounts."""

    title: str
    amount: str
    """Name of the quantity that grows."""
    unit: str
    """Unit of the amounts to which times refer."""
    curves: list[Curve]
    fitted: bool = True
    """Whether an exponent is fitted."""

    def table(self) -> Table:
        """Return one row per amount, with milliseconds per unit; the last row has the exponents."""
        rows: Table = [
            {self.amount: f"{amount:,}"} | {self._column(c): 1000 * c.seconds[place] for c in self.curves}
            for place, amount in enumerate(self.curves[0].amounts)
        ]
        if self.fitted:
            rows.append(
                {self.amount: "exponent"} | {self._column(c): exponent(c.amounts, c.seconds) for c in self.curves}
            )
        return rows

    def _column(self, curve: Curve) -> str:
        return f"{curve.name}: ms/{self.unit}"


def exponent(amounts: Sequence[float], each: Sequence[float]) -> float | None:
    """Fit the exponent with which time grows with the amount, from times per unit; 1 is linear.

    Fitted on logarithms in the upper half of the range, because below the constant cost of a call dominates.

    Examples
    --------
    >>> exponent([1, 10, 100, 1000], [7.0, 0.9, 0.5, 5.0])
    2.0
    >>> exponent([5], [1.0])
    """
    x, y = np.log(amounts), np.log(each)
    upper = x >= (x[0] + x[-1]) / 2
    if upper.sum() < 2:
        return None
    return round(1 + float(np.polyfit(x[upper], y[upper], 1)[0]), 2)


def ways_of(models: Sequence[str]) -> dict[str, Extractor]:
    """Return each model on each back end except html5lib."""
    return {
        f"{name}, {backend}": on_backend(name, backend)
        for name in models
        for backend in backends()
        if backend != "html5lib"
    }


def of_pages(ways: Ways, sources: Sequence[Source], share: float) -> Iterator[Growth]:
    """Measure CPU time of pages of increasing size, number of blocks and depth.

    Parameters
    ----------
    ways
        Extractors by name.
    sources
        Real pages.
    share
        Fraction of the largest amounts at which to stop, in (0, 1].
    """
    makers: tuple[tuple[str, str, tuple[str, float], tuple[float, float], Callable[[int], bytes]], ...] = (
        ("Size of a page", "bytes", ("MB", 1e6), (1e4, 5e7), functools.partial(long_page, sources)),
        ("Blocks of a page", "blocks", ("1,000 blocks", 1e3), (10, 1e5), blocks),
        ("Elements within each other", "levels", ("1,000 levels", 1e3), (1, 5e4), nested),
    )
    for title, amount, (unit, many), (first, last), make in makers:
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        amounts = _amounts(first, share * last)
        for n in amounts:
            html = make(n)
            for name, extractor in ways.items():
                work = functools.partial(blockml.extract, html, model=extractor)
                seconds[name].append(least_seconds(work) / n * many)
        yield Growth(title, amount, unit, [Curve(name, amounts, taken) for name, taken in seconds.items()])


def of_batches(ways: Ways, page: Source, share: float) -> Growth:
    """Measure CPU time of batches of copies of one page."""
    amounts = _amounts(1, share * 1e3, 1)
    item = Item("page", html=page.html, url=page.url, charset=page.charset)

    def run(extractor: Extractor, n: int) -> int:
        return sum(1 for _ in predict_items([item] * n, extractor, isolation="none"))

    curves = [
        Curve(name, amounts, [least_seconds(functools.partial(run, extractor, n)) / n for n in amounts])
        for name, extractor in ways.items()
    ]
    return Growth("Pages of a batch", "pages", "page", curves)


def _amounts(first: float, last: float, each: int = 2) -> list[int]:
    """Return amounts from the first to the last, with the given number per decade."""
    last = max(first, last)
    steps = round(each * float(np.log10(last / first)))
    return sorted({round(float(value)) for value in np.geomspace(first, last, steps + 1)})


def least_seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the minimum time over some rounds, by default CPU time of the process."""
    taken: list[float] = []
    while not taken or (sum(taken) < _ENOUGH and len(taken) < _ROUNDS):
        gc.collect()
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)
