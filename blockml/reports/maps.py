"""Coordinates of what shows many pages at once: heat map, map of points, histogram of distances; and their marks.

Lengths are SVG user units, from the top left, as in :mod:`blockml.reports.figures`.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.reports.figures import WIDTH

__all__ = [
    "Band",
    "DistanceHistogram",
    "HeatMap",
    "PointMap",
    "Scale",
    "Style",
    "brief",
    "distance_histogram",
    "heat_map",
    "png",
    "point_map",
    "scale_over",
    "styles",
]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale of any range: distances need not end at 1."""

    low: float
    high: float
    start: float
    """Where ``low`` is drawn."""
    stop: float
    """Where ``high`` is drawn."""
    ticks: tuple[tuple[float, str], ...]
    """Place and label of each tick."""

    def at(self, value: float) -> float:
        """Place of a value; what lies outside is drawn at the border."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.stop - self.start), 2)


#: Steps between ticks: with so many, there is a tick in any range.
_MOST_STEPS = 5


def scale_over(low: float, high: float, start: float, stop: float) -> Scale:
    """Scale from ``low`` to ``high``, with a few ticks at round values.

    Examples
    --------
    >>> scale_over(0, 37.5, 0, 100).ticks
    ((0.0, '0'), (26.67, '10'), (53.33, '20'), (80.0, '30'))
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-3):  # all distances alike
        high = low + (abs(low) if abs(low) > 1e-6 else 1.0)
    least = (high - low) / _MOST_STEPS
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    scale = Scale(low, high, start, stop, ())
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple((scale.at(i * step), f"{i * step:.{digits}f}") for i in range(first, last + 1))
    return Scale(low, high, start, stop, ticks)


def brief(value: float) -> str:
    """Write a coordinate to 2 decimals, without zeros at its end."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


#: Outlines of the marks, relative to their middle and of about equal area.
_SHAPES = {
    "circle": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "square": "m-3.6-3.6h7.2v7.2h-7.2z",
    "triangle": "m0-5l4.7 8.1h-9.4z",
    "diamond": "m0-5.1l5.1 5.1l-5.1 5.1l-5.1-5.1z",
    "triangle down": "m0 5l4.7-8.1h-9.4z",
    "cross": "m-1.7-4.8h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1v-3.4h3.1z",
}
_DOT = "m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z"
#: Colours of the style sheet, ``k0`` to ``k5``: more are not told apart under every kind of colour blindness (our
#: choice). Each comes with three shapes.
_N_COLOURS = 6
_N_STYLES = 3 * _N_COLOURS


@dataclass(frozen=True, slots=True)
class Style:
    """Colour and shape of a cluster's marks."""

    colour: str
    """Class of the style sheet: ``k0`` to ``k5``, or ``other``."""
    shape: str
    """SVG path of the mark, to be put behind a move to its middle."""


def styles(clusters: Sequence[int]) -> dict[int, Style]:
    """Style of each cluster: unlike colours *and* shapes for the first, one small grey dot for all that follow.

    Examples
    --------
    >>> found = styles(range(20))
    >>> found[0].colour, found[6].colour, found[0].shape == found[6].shape, found[19].colour
    ('k0', 'k0', False, 'other')
    """
    shapes = list(_SHAPES.values())
    return {
        number: Style(f"k{place % _N_COLOURS}", shapes[(place + place // _N_COLOURS) % len(shapes)])
        if place < _N_STYLES
        else Style("other", _DOT)
        for place, number in enumerate(clusters)
    }


def png(pixels: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    """Encode an image with a palette (ISO/IEC 15948), without an imaging library.

    Parameters
    ----------
    pixels
        (height, width) index of each pixel's colour.
    palette
        (n ≤ 256, 3) red, green and blue of each colour.

    Examples
    --------
    >>> import numpy as np
    >>> png(np.zeros((1, 1), dtype=np.uint8), np.zeros((1, 3), dtype=np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width = pixels.shape
    # Each line is led by its filter: 0, none, is best for images with a palette.
    lines = np.zeros((height, width + 1), dtype=np.uint8)
    lines[:, 1:] = pixels
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in chunks
    )


#: Colours at equal steps from near to far; each is darker than the one before, so it can be read in grey, too.
_SHADES = ((0xF7, 0xFB, 0xF9), (0xA9, 0xD9, 0xCF), (0x3A, 0x9D, 0x93), (0x14, 0x56, 0x66), (0x0A, 0x1C, 0x2B))


def _data_uri(levels: NDArray[np.uint8]) -> str:
    places = np.linspace(0, len(_SHADES) - 1, 256)
    channels = [np.interp(places, np.arange(len(_SHADES)), [shade[i] for shade in _SHADES]) for i in range(3)]
    palette = np.rint(np.stack(channels, axis=1)).astype(np.uint8)
    return "data:image/png;base64," + base64.b64encode(png(levels, palette)).decode("ascii")


@dataclass(frozen=True, slots=True)
class Band:
    """The pages of one cluster along a side of the heat map."""

    cluster: int
    start: float
    """Distance from the upper left corner."""
    length: float
    named: bool
    """Whether there is room for its number."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A distance matrix as an image: one pixel a pair of pages."""

    width: float
    height: float
    left: float
    top: float
    side: float
    """Length of a side of the drawn image."""
    image: str
    """The image, as a ``data:`` URI."""
    strip: str
    """The colours from near to far, as a ``data:`` URI."""
    high: float
    """Distance that has the darkest colour; 0 has the lightest."""
    bands: tuple[Band, ...]


#: Cluster numbers stand left of and above the image.
_MAP_LEFT, _MAP_TOP = 26.0, 18.0


def heat_map(matrix: ArrayLike, order: Sequence[int], labels: Sequence[int]) -> HeatMap:
    """Draw a distance matrix.

    Parameters
    ----------
    matrix
        (n, n) distances, n at least 1.
    order
        The pages from the top and from the left; pages of a cluster side by side.
    labels
        (n,) cluster of each page.

    Examples
    --------
    >>> figure = heat_map([[0, 1], [1, 0]], [1, 0], [4, 7])
    >>> [(band.cluster, band.start) for band in figure.bands]
    [(7, 0.0), (4, 170.0)]
    """
    distances = np.nan_to_num(np.asarray(matrix, dtype=np.float64))[np.ix_(order, order)]
    high = float(distances.max()) or 1.0
    side = WIDTH - _MAP_LEFT
    unit = side / len(order)
    runs: list[tuple[int, int, int]] = []  # cluster, first place, number of pages
    for place, page in enumerate(order):
        if runs and runs[-1][0] == labels[page]:
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((labels[page], place, 1))
    return HeatMap(
        width=WIDTH,
        height=_MAP_TOP + side + 34,
        left=_MAP_LEFT,
        top=_MAP_TOP,
        side=side,
        image=_data_uri(np.rint(255 * np.clip(distances / high, 0, 1)).astype(np.uint8)),
        strip=_data_uri(np.arange(256, dtype=np.uint8)[None]),
        high=high,
        # A number needs the height of a line beside the image, and its own width above it.
        bands=tuple(
            Band(c, round(unit * i, 2), round(unit * n, 2), unit * n >= 4 + 6 * len(str(c))) for c, i, n in runs
        ),
    )


@dataclass(frozen=True, slots=True)
class PointMap:
    """Points in the plane; both directions have one scale, as only distances mean something."""

    width: float
    height: float
    places: tuple[tuple[float, float], ...]


#: Room for the marks, and how high the map may get.
_MARGIN, _HIGHEST = 12.0, 366.0


def point_map(points: ArrayLike) -> PointMap:
    """Place points.

    Parameters
    ----------
    points
        (n, 2) coordinates, the second upwards.

    Examples
    --------
    >>> point_map([[0, 0], [2, 1]]).places
    ((12.0, 183.0), (354.0, 12.0))
    """
    xy = np.nan_to_num(np.asarray(points, dtype=np.float64).reshape(-1, 2), posinf=0.0, neginf=0.0) * (1.0, -1.0)
    low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.zeros(2))
    spread = high - low
    room = np.array([WIDTH, _HIGHEST]) - 2 * _MARGIN
    factor = min((room[i] / spread[i] for i in range(2) if spread[i] > 1e-12), default=1.0)
    height = max(float(spread[1] * factor), 80.0) + 2 * _MARGIN
    middle = np.array([WIDTH, height]) / 2
    places = middle + (xy - (low + high) / 2) * factor
    return PointMap(WIDTH, round(height, 2), tuple((round(x, 2), round(y, 2)) for x, y in places.tolist()))


@dataclass(frozen=True, slots=True)
class DistanceHistogram:
    """Numbers of pairs by their distance; heights are logarithmic, so that a single pair shows beside thousands."""

    width: float
    height: float
    x: Scale
    y_ticks: tuple[tuple[float, str], ...]
    top: float
    baseline: float
    path: str
    """SVG path of the bars."""
    threshold: float | None


_BARS_LEFT, _BARS_RIGHT, _BARS_TOP, _BARS_BASE = 46.0, 358.0, 18.0, 190.0


def distance_histogram(edges: Sequence[float], counts: Sequence[float], threshold: float | None) -> DistanceHistogram:
    """Draw how many pairs of pages have which distance.

    Parameters
    ----------
    edges
        (n + 1,) borders of the bins, rising.
    counts
        (n,) pairs in each bin.
    threshold
        Distance at which clusters were cut.

    Examples
    --------
    >>> figure = distance_histogram([0, 1, 2], [50, 0], 0.5)
    >>> figure.path, figure.y_ticks[0], figure.threshold
    ('M46 190V18H202V190z', (164.11, '1'), 124.0)
    """
    x = scale_over(edges[0], max(edges[-1], threshold or 0.0), _BARS_LEFT, _BARS_RIGHT)
    most = max((*counts, 1))
    # The scale begins at half a pair: the logarithm of one pair would leave no bar.
    unit = (_BARS_BASE - _BARS_TOP) / math.log(2 * most)
    bars = [
        f"M{brief(x.at(left))} {brief(_BARS_BASE)}"
        f"V{brief(_BARS_BASE - unit * math.log(2 * count))}H{brief(x.at(right))}V{brief(_BARS_BASE)}z"
        for left, right, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count > 0
    ]
    powers = [10**i for i in range(int(math.log10(most)) + 1)]
    ticks = tuple((round(_BARS_BASE - unit * math.log(2 * power), 2), f"{power:,}") for power in powers)
    cut = None if threshold is None else x.at(threshold)
    return DistanceHistogram(WIDTH, _BARS_BASE + 36, x, ticks, _BARS_TOP, _BARS_BASE, "".join(bars), cut)
