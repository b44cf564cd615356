"""Axes of the figures of scores, which the templates draw as SVG, and places of labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from blockml.reports.ranking import Standing

# Names are left of this range, values right of it.
_LEFT, _RIGHT = 144.0, 318.0
# Width of a semibold character, which names of own systems use, as a share of the font size: the mean over letters of
# common sans-serif faces.
_BOLD_CHARACTER = 0.61
_FONT = 11.0


def dot_axis(rows: Iterable[Standing]) -> Axis:
    """Return the axis over means and their intervals."""
    drawn = [value for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    return axis_over(drawn, _LEFT, _RIGHT, most=4, least=0.05)


def tallest_bar(histograms: Iterable[Sequence[float]]) -> float:
    """Return the largest share of the pages of a histogram in one of its bins; 1 without pages."""
    return max((max(counts, default=0) / (sum(counts) or 1) for counts in histograms), default=0) or 1


@dataclass(frozen=True, slots=True)
class Point:
    """A point with its label; ``text`` is empty if no label fits."""

    x: float
    y: float
    text: str
    #: SVG's ``text-anchor`` of the label: the end next to the point, because letter widths differ between fonts.
    anchor: str
    text_x: float  #: Horizontal position of the label's anchor
    text_y: float  #: Baseline of the label
    leader: str  #: SVG path from the point to a distant label; empty if the label is adjacent


@dataclass(frozen=True, slots=True)
class Scatter:
    """Scatter plot with recall to the right and precision upwards."""

    width: float
    height: float
    x: Axis
    y: Axis
    points: tuple[Point, ...]
    #: Lines of equal F1: SVG path, label, and the right end of the label
    iso: tuple[tuple[str, str, float, float], ...]


_SCATTER_HEIGHT = 320.0
_FRAME = (46.0, 10.0, 356.0, 278.0)  # left, top, right, bottom

_Box = tuple[float, float, float, float]


def scatter(points: Sequence[tuple[float, float, Sequence[str]]]) -> Scatter:
    """Lay out points and their labels.

    Labels are placed greedily, in the order of the points, where they cover neither a point nor another label. Each
    point has recall, precision, and the labels to try, best first.

    Examples
    --------
    >>> figure = scatter([(0.9, 0.8, ["a"]), (0.9, 0.8, ["b"]), (0.7, 0.9, ["c"])])
    >>> [point.text for point in figure.points], figure.points[0].text_x == figure.points[1].text_x
    (['a', 'b', 'c'], False)
    """
    left, top, right, bottom = _FRAME
    x = axis_over([recall for recall, _, _ in points], left, right, least=0.2)
    y = axis_over([precision for _, precision, _ in points], bottom, top, least=0.2)
    places = [(x.at(recall), y.at(precision)) for recall, precision, _ in points]
    iso = _iso_lines(x, y)
    taken: list[_Box] = [(px - 5, py - 5, px + 5, py + 5) for px, py in places]
    taken += [(end_x - 42, end_y - 12, end_x, end_y) for _, _, end_x, end_y in iso]
    drawn = []
    for (px, py), (_, _, labels) in zip(places, points, strict=True):
        found = _place_label(px, py, labels, taken)
        if found is None:
            drawn.append(Point(px, py, "", "start", px, py, ""))
            continue
        text, box, leader = found
        taken.append(box)
        anchor, text_x = _anchor(box, px)
        drawn.append(Point(px, py, text, anchor, text_x, round(box[3] - 3, 2), leader))
    return Scatter(WIDTH, _SCATTER_HEIGHT, x, y, tuple(drawn), iso)


def _anchor(box: _Box, x: float) -> tuple[str, float]:
    """Return ``text-anchor`` and its place for a label in a box right of, left of, or around the point at ``x``."""
    if box[0] > x:
        return "start", round(box[0] + 1, 2)
    if box[2] < x:
        return "end", round(box[2] - 1, 2)
    return "middle", round((box[0] + box[2]) / 2, 2)


def _place_label(x: float, y: float, labels: Sequence[str], taken: Sequence[_Box]) -> tuple[str, _Box, str] | None:
    """Return label, box and leader line of the first label that fits, as close to the point as possible."""
    left, top, right, bottom = _FRAME
    for text in labels:
        width, height = len(text) * _BOLD_CHARACTER * _FONT + 2, _FONT + 2
        for distance in (7.0, 15.0, 26.0, 38.0):
            for dx, dy in ((1, 0), (-1, 0), (0, -1), (0, 1), (0.7, -0.7), (0.7, 0.7), (-0.7, -0.7), (-0.7, 0.7)):
                anchor_x, anchor_y = x + dx * distance, y + dy * distance
                # The side or corner of the box that is closest to the point lies on the anchor.
                box_x = anchor_x - width * (0 if dx > 0 else 1 if dx < 0 else 0.5)
                box_y = anchor_y - height * (0.5 if dy == 0 else 1 if dy < 0 else 0)
                box = (box_x, box_y, box_x + width, box_y + height)
                inside = left <= box[0] and box[2] <= right and top <= box[1] and box[3] <= bottom
                if inside and not any(_overlap(box, other) for other in taken):
                    leader = f"M{brief(x)} {brief(y)}L{brief(anchor_x)} {brief(anchor_y)}" if distance > 7 else ""
                    return text, box, leader
    return None


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _iso_lines(x: Axis, y: Axis) -> tuple[tuple[str, str, float, float], ...]:
    """Return lines on which recall r and precision p have the same harmonic mean f: p = f r / (2 r - f)."""
    step = 0.1 if max(x.high - x.low, y.high - y.low) > 0.3 else 0.05
    recalls = [x.low + (x.high - x.low) * i / 80 for i in range(81)]
    lines = []
    for f in (step * i for i in range(1, round(1 / step))):
        curve = [(r, f * r / (2 * r - f)) for r in recalls if 2 * r > f]
        inside = [(x.at(r), y.at(p)) for r, p in curve if y.low <= p <= y.high]
        if len(inside) > 8:
            path = "M" + "L".join(f"{brief(px)} {brief(py)}" for px, py in inside)
            lines.append((path, brief(f), inside[-1][0], inside[-1][1]))
    return tuple(lines)


def heat(values: Sequence[float | None], *, better: str = "high") -> list[float | None]:
    """Return the colour strength of each cell, in [0, 1], from the worst to the best of the values.

    Examples
    --------
    >>> heat([0.5, None, 0.75, 1.0]), heat([0.5, 1.0], better="low"), heat([0.3])
    ([0.0, None, 0.5, 1.0], [1.0, 0.0], [0.0])
    """
    known = [value for value in values if value is not None]
    if not known:
        return [None] * len(values)
    low, spread = min(known), (max(known) - min(known)) or math.inf
    shares = [None if value is None else (value - low) / spread for value in values]
    if better == "low" and math.isfinite(spread):
        shares = [None if share is None else 1 - share for share in shares]
    return [None if share is None else round(share, 3) for share in shares]


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


#: Axis of the histograms of scores.
SPREAD_AXIS = Axis(0.0, 1.0, _LEFT, _RIGHT, 0.5)


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
