"""Numbers in, coordinates out: what the templates draw as SVG. Lengths are SVG user units, from the top left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = [
    "Axis",
    "Dot",
    "DotPlot",
    "DotRow",
    "Histogram",
    "Histograms",
    "Mark",
    "Profile",
    "Scatter",
    "axis_over",
    "dot_plot",
    "heat",
    "histograms",
    "profile",
    "scatter",
]

#: Width of a figure: shown 1:1, it fits a telephone of 390 pixels with its margins.
WIDTH = 366.0
#: Names stand left of this, values right of the plot.
_LEFT, _RIGHT = 144.0, 318.0
_ROW = 19.0
_TALL_ROW = 23.0
_TOP = 22.0
#: Width of a character, as a share of the font size; a mean over the letters of common sans-serif faces.
_CHARACTER = 0.56
_FONT = 11.0


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear scale with its ticks."""

    low: float
    high: float
    start: float
    """Where ``low`` is drawn."""
    stop: float
    """Where ``high`` is drawn."""
    step: float
    """Distance of two ticks."""

    def at(self, value: float) -> float:
        """Place of a value; what lies outside is drawn at the border.

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
        """Place and label of each tick."""
        digits = 1 if math.isclose(10 * self.step, round(10 * self.step)) else 2
        n = round((self.high - self.low) / self.step)
        return tuple(
            (self.at(value), f"{value:.{digits}f}") for value in (self.low + i * self.step for i in range(n + 1))
        )


#: Distances of ticks that are tried, the finest first.
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)


def axis_over(values: Iterable[float], start: float, stop: float, *, most: int = 5, least: float = 0.0) -> Axis:
    """Axis over scores in [0, 1] whose ends are round numbers.

    Parameters
    ----------
    values
        What it holds; others than scores are drawn at the border.
    start, stop
        Where it is drawn.
    most
        It has at most so many steps, at least 5 where it must go from 0 to 1.
    least
        It is at least so long, so that small differences don't look large.

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
        # A hair of tolerance, or 0.7 / 0.1 would count as a little less than 7.
        first, last = math.floor(lowest / step + 1e-9), math.ceil(highest / step - 1e-9)
        if last - first <= most or step == _STEPS[-1]:
            break
    return Axis(round(first * step, 10), round(last * step, 10), start, stop, step)


@dataclass(frozen=True, slots=True)
class DotRow:
    """A mean with its interval, to be drawn."""

    mean: float | None
    low: float | None
    high: float | None
    shaded: bool = False
    """Whether the row stands on shaded ground."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A drawn mean."""

    y: float
    """Middle of the row."""
    x: float | None
    """None where there is no mean."""
    left: float | None
    right: float | None
    """Ends of the interval; None where there is none."""


@dataclass(frozen=True, slots=True)
class DotPlot:
    """Rows of dots with intervals over one axis."""

    width: float
    height: float
    axis: Axis
    top: float
    """Upper border of the first row."""
    bottom: float
    """Lower border of the last row."""
    row: float
    """Height of a row."""
    dots: tuple[Dot, ...]
    shades: tuple[tuple[float, float], ...]
    """Upper border and height of each shaded run of rows."""


def dot_plot(rows: Sequence[DotRow]) -> DotPlot:
    """Place means with intervals, one row each, from the top.

    Examples
    --------
    >>> plot = dot_plot([DotRow(0.85, 0.8, 0.9, shaded=True), DotRow(None, None, None)])
    >>> plot.dots[0].x, plot.dots[1].x, plot.axis.low, plot.shades
    (231.0, None, 0.8, ((22.0, 19.0),))
    """
    drawn = [value for row in rows for value in (row.mean, row.low, row.high) if value is not None]
    axis = axis_over(drawn, _LEFT, _RIGHT, most=4, least=0.05)
    dots = tuple(
        Dot(
            y=_TOP + _ROW * (place + 0.5),
            x=None if row.mean is None else axis.at(row.mean),
            left=None if row.low is None else axis.at(row.low),
            right=None if row.high is None else axis.at(row.high),
        )
        for place, row in enumerate(rows)
    )
    bottom = _TOP + _ROW * len(rows)
    shades = _runs([row.shaded for row in rows])
    return DotPlot(WIDTH, bottom + 4, axis, _TOP, bottom, _ROW, dots, shades)


def _runs(flags: Sequence[bool]) -> tuple[tuple[float, float], ...]:
    """Upper border and height of each run of flagged rows."""
    runs: list[tuple[float, float]] = []
    for place, flag in enumerate(flags):
        if flag and place and flags[place - 1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + _ROW)
        elif flag:
            runs.append((_TOP + _ROW * place, _ROW))
    return tuple(runs)


@dataclass(frozen=True, slots=True)
class Histogram:
    """One small histogram."""

    y: float
    """Middle of the row."""
    path: str
    """SVG path of the bars."""
    baseline: float
    """Where the bars stand."""
    low: float | None
    median: float | None
    high: float | None
    """Places of the first, fifth and ninth decile; None where there are none."""


@dataclass(frozen=True, slots=True)
class Histograms:
    """Histograms of scores in [0, 1] under one another, all to one scale."""

    width: float
    height: float
    axis: Axis
    top: float
    bottom: float
    rows: tuple[Histogram, ...]


def histograms(rows: Sequence[tuple[Sequence[float], Sequence[float | None]]]) -> Histograms:
    """Place small histograms, one row each; a bar's height is its share of the row's pages.

    Parameters
    ----------
    rows
        Counts of bins that part [0, 1] evenly, and the 11 deciles; no deciles for no pages.

    Examples
    --------
    >>> figure = histograms([([0, 3, 1, 0], [])])
    >>> figure.rows[0].path
    'M187.5 45h43.5v-20h-43.5zM231 45h43.5v-6.67h-43.5z'
    """
    shares = [[count / (sum(counts) or 1) for count in counts] for counts, _ in rows]
    tallest = max((share for row in shares for share in row), default=0) or 1
    axis = Axis(0.0, 1.0, _LEFT, _RIGHT, 0.5)
    drawn = []
    for place, (row, (_, deciles)) in enumerate(zip(shares, rows, strict=True)):
        baseline = _TOP + _TALL_ROW * (place + 1)
        bar = (_RIGHT - _LEFT) / max(len(row), 1)
        path = "".join(
            [
                f"M{_n(_LEFT + bar * i)} {_n(baseline)}h{_n(bar)}v-{_n((_TALL_ROW - 3) * share / tallest)}h-{_n(bar)}z"
                for i, share in enumerate(row)
                if share
            ]
        )
        low, median, high = (_decile(axis, deciles, tenth) for tenth in (1, 5, 9))
        drawn.append(Histogram(baseline - _TALL_ROW / 2, path, baseline, low, median, high))
    bottom = _TOP + _TALL_ROW * len(rows)
    return Histograms(WIDTH, bottom + 4, axis, _TOP, bottom, tuple(drawn))


def _decile(axis: Axis, deciles: Sequence[float | None], tenth: int) -> float | None:
    value = deciles[tenth] if tenth < len(deciles) else None
    return None if value is None else axis.at(value)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its label; ``text`` is empty where no label has room."""

    x: float
    y: float
    text: str
    text_x: float
    """Left end of the label."""
    text_y: float
    """Baseline of the label."""
    leader: str
    """SVG path from the point to a label that stands apart; empty if it doesn't."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Recall to the right, precision upwards."""

    width: float
    height: float
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    iso: tuple[tuple[str, str, float, float], ...]
    """Lines of equal F1: SVG path, label, and where the label ends."""


_SCATTER_HEIGHT = 320.0
_FRAME = (46.0, 10.0, 356.0, 278.0)  # left, top, right, bottom

_Box = tuple[float, float, float, float]


def scatter(points: Sequence[tuple[float, float, Sequence[str]]]) -> Scatter:
    """Place points and their labels.

    Labels are placed greedily, those of the first points first, where they hide neither a point nor a label.

    Parameters
    ----------
    points
        Recall, precision, and the labels to try, best first.

    Examples
    --------
    >>> figure = scatter([(0.9, 0.8, ["a"]), (0.9, 0.8, ["b"]), (0.7, 0.9, ["c"])])
    >>> [mark.text for mark in figure.marks], figure.marks[0].text_x == figure.marks[1].text_x
    (['a', 'b', 'c'], False)
    """
    left, top, right, bottom = _FRAME
    x = axis_over([recall for recall, _, _ in points], left, right, least=0.2)
    y = axis_over([precision for _, precision, _ in points], bottom, top, least=0.2)
    places = [(x.at(recall), y.at(precision)) for recall, precision, _ in points]
    iso = _iso_lines(x, y)
    taken: list[_Box] = [(px - 5, py - 5, px + 5, py + 5) for px, py in places]
    taken += [(end_x - 42, end_y - 12, end_x, end_y) for _, _, end_x, end_y in iso]
    marks = []
    for (px, py), (_, _, labels) in zip(places, points, strict=True):
        found = _label_place(px, py, labels, taken)
        if found is None:
            marks.append(Mark(px, py, "", px, py, ""))
            continue
        text, box, leader = found
        taken.append(box)
        marks.append(Mark(px, py, text, round(box[0] + 1, 2), round(box[3] - 3, 2), leader))
    return Scatter(WIDTH, _SCATTER_HEIGHT, x, y, tuple(marks), iso)


def _label_place(x: float, y: float, labels: Sequence[str], taken: Sequence[_Box]) -> tuple[str, _Box, str] | None:
    """Label, its box and leader line: the first label that has room, near the point if it can be."""
    left, top, right, bottom = _FRAME
    for text in labels:
        width, height = len(text) * _CHARACTER * _FONT + 2, _FONT + 2
        for distance in (7.0, 15.0, 26.0, 38.0):
            for dx, dy in ((1, 0), (-1, 0), (0, -1), (0, 1), (0.7, -0.7), (0.7, 0.7), (-0.7, -0.7), (-0.7, 0.7)):
                anchor_x, anchor_y = x + dx * distance, y + dy * distance
                # The side or corner of the box that is nearest to the point lies on the anchor.
                box_x = anchor_x - width * (0 if dx > 0 else 1 if dx < 0 else 0.5)
                box_y = anchor_y - height * (0.5 if dy == 0 else 1 if dy < 0 else 0)
                box = (box_x, box_y, box_x + width, box_y + height)
                inside = left <= box[0] and box[2] <= right and top <= box[1] and box[3] <= bottom
                if inside and not any(_overlap(box, other) for other in taken):
                    leader = f"M{_n(x)} {_n(y)}L{_n(anchor_x)} {_n(anchor_y)}" if distance > 7 else ""
                    return text, box, leader
    return None


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _iso_lines(x: Axis, y: Axis) -> tuple[tuple[str, str, float, float], ...]:
    """Lines on which recall r and precision p have the same harmonic mean f: p = f r / (2 r - f)."""
    step = 0.1 if max(x.high - x.low, y.high - y.low) > 0.3 else 0.05
    steps = [x.low + (x.high - x.low) * i / 80 for i in range(81)]
    lines = []
    for f in (step * i for i in range(1, round(1 / step))):
        curve = [(r, f * r / (2 * r - f)) for r in steps if 2 * r > f]
        inside = [(x.at(r), y.at(p)) for r, p in curve if y.low <= p <= y.high]
        if len(inside) > 8:
            path = "M" + "L".join(f"{_n(px)} {_n(py)}" for px, py in inside)
            lines.append((path, _n(f), inside[-1][0], inside[-1][1]))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Profile:
    """Scores of a page's blocks in document order, as bars."""

    width: float
    height: float
    paths: Mapping[str, str]
    """SVG path of the bars of each group."""
    threshold: float | None
    """Height of the threshold's line."""


def profile(scores: Sequence[float], groups: Sequence[str], threshold: float | None) -> Profile:
    """Draw scores in [0, 1] as bars, one block after the other.

    Parameters
    ----------
    scores
        Score of each block.
    groups
        What each block's bar is coloured by.
    threshold
        From which score on a block is kept.

    Examples
    --------
    >>> figure = profile([0.5, 1.0], ["dropped", "kept"], 0.75)
    >>> figure.paths["kept"], figure.paths["dropped"], figure.threshold
    ('M500 80h500v-80h-500z', 'M0 80h500v-40h-500z', 20.0)
    """
    width, height = 1000.0, 80.0
    bar = width / max(len(scores), 1)
    bars: dict[str, list[str]] = {}
    for place, (score, group) in enumerate(zip(scores, groups, strict=True)):
        # A score of 0 shows as a hair, so that one sees that there is a block.
        tall = max(height * score, 1.5)
        path = f"M{_n(bar * place)} {_n(height)}h{_n(bar)}v-{_n(tall)}h-{_n(bar)}z"
        bars.setdefault(group, []).append(path)
    line = None if threshold is None else height * (1 - threshold)
    return Profile(width, height, {group: "".join(paths) for group, paths in bars.items()}, line)


def heat(values: Sequence[float | None], *, better: str = "high") -> list[float | None]:
    """Strength of each cell's colour in [0, 1], from the worst to the best of the values.

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
