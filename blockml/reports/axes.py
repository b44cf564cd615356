"""Axes of the figures. Lengths are SVG user units, from the top left."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: Width of a figure: at 1:1 it fits a phone screen of 390 pixels with margins.
WIDTH = 366.0

# Tick intervals to try for scores, smallest first.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

# Maximum number of intervals between the ticks of a scale.
_MAX_INTERVALS = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis with ticks at multiples of ``step``."""

    low: float
    high: float
    start: float  #: Coordinate of ``low``
    stop: float  #: Coordinate of ``high``
    step: float

    def at(self, value: float) -> float:
        """Return the coordinate of a value, clipped to the ends of the axis.

        Examples
        --------
        >>> axis = Axis(0.0, 1.0, 10, 110, 0.5)
        >>> axis.at(0.25), axis.at(7), axis.ticks
        (35.0, 110.0, ((10.0, '0.0'), (60.0, '0.5'), (110.0, '1.0')))
        """
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 2)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Coordinate and label of each tick."""
        digits = 0
        while digits < 15 and not math.isclose(self.step * 10**digits, round(self.step * 10**digits)):
            digits += 1
        # The tolerance keeps ticks whose quotient is rounded down, such as 0.7 / 0.1.
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return tuple((self.at(i * self.step), f"{i * self.step:.{digits}f}") for i in range(first, last + 1))


def axis_over(values: Iterable[float], start: float, stop: float, *, most: int = 5, least: float = 0.0) -> Axis:
    """Return an axis over scores in [0, 1] whose ends are round numbers.

    Values outside [0, 1] are clipped; ``start`` and ``stop`` are the coordinates of the ends. There are at most
    ``most`` steps, which must be 5 or more to cover [0, 1]; ``least`` is the minimum length, so that small differences
    don't look large.

    Examples
    --------
    >>> axis = axis_over([0.713, 0.88], 0, 100)
    >>> axis.low, axis.high, axis.step
    (0.7, 0.9, 0.05)
    """
    given = [min(max(value, 0.0), 1.0) for value in values] or [0.0, 1.0]
    lowest, highest = min(given), max(given)
    missing = max(0.0, max(least, _STEPS[0]) - (highest - lowest))
    lowest = max(0.0, min(lowest - missing / 2, 1 - least))
    highest = min(1.0, max(highest + missing / 2, least))
    for step in _STEPS:
        first, last = math.floor(lowest / step + 1e-9), math.ceil(highest / step - 1e-9)
        if last - first <= most or step == _STEPS[-1]:
            break
    return Axis(round(first * step, 10), round(last * step, 10), start, stop, step)


def scale_over(low: float, high: float, start: float, stop: float) -> Axis:
    """Return an axis from exactly ``low`` to ``high``, of any range, with a few ticks at round values.

    Examples
    --------
    >>> scale_over(0, 37.5, 0, 100).ticks
    ((0.0, '0'), (26.67, '10'), (53.33, '20'), (80.0, '30'))
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-3):  # all distances are equal
        high = low + (abs(low) if abs(low) > 1e-6 else 1.0)
    least = (high - low) / _MAX_INTERVALS
    power = 10.0 ** math.floor(math.log10(least))
    return Axis(low, high, start, stop, power * next(n for n in (1, 2, 5, 10) if n * power >= least * (1 - 1e-9)))


def brief(value: float) -> str:
    """Format a coordinate with at most 2 decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
