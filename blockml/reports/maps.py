"""Coordinates of the figures of many pages: heat map, map of points, histogram of distances, and their marks.

Lengths are in the units of :mod:`blockml.reports.axes`.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.reports.axes import WIDTH, Axis, brief, scale_over

# Outlines of the marks, relative to their centre and of about equal area.
_SHAPES = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",  # circle
    "m-3.6-3.6h7.2v7.2h-7.2z",  # square
    "m0-5l4.7 8.1h-9.4z",  # triangle
    "m0-5.1l5.1 5.1l-5.1 5.1l-5.1-5.1z",  # diamond
    "m0 5l4.7-8.1h-9.4z",  # triangle down
    "m-1.7-4.8h3.4v3.1h3.1v3.4h-3.1v3.1h-3.4v-3.1h-3.1v-3.4h3.1z",  # cross
)
_DOT = "m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0z"
# Colours of the style sheet, ``k0`` to ``k5``: more can't be told apart with every kind of colour blindness (our
# choice). Each is used with three shapes.
_N_COLOURS = 6
_N_STYLES = 3 * _N_COLOURS


@dataclass(frozen=True, slots=True)
class Style:
    """Colour and shape of a cluster's marks."""

    colour: str  #: Class of the style sheet: ``k0`` to ``k5``, or ``other``
    shape: str  #: SVG path of the mark, to be drawn after a move to its centre


def styles(clusters: Sequence[int]) -> dict[int, Style]:
    """Return the style of each cluster: different colours *and* shapes first, then one small grey dot.

    Examples
    --------
    >>> found = styles(range(20))
    >>> found[0].colour, found[6].colour, found[0].shape == found[6].shape, found[19].colour
    ('k0', 'k0', False, 'other')
    """
    return {
        number: Style(f"k{place % _N_COLOURS}", _SHAPES[(place + place // _N_COLOURS) % len(_SHAPES)])
        if place < _N_STYLES
        else Style("other", _DOT)
        for place, number in enumerate(clusters)
    }


def png(pixels: NDArray[np.uint8], palette: NDArray[np.uint8]) -> bytes:
    """Encode an image with a palette (ISO/IEC 15948), without an imaging library.

    ``pixels`` are (height, width) colour indices, ``palette`` the (n ≤ 256, 3) red, green and blue values.

    Examples
    --------
    >>> import numpy as np
    >>> png(np.zeros((1, 1), dtype=np.uint8), np.zeros((1, 3), dtype=np.uint8))[:4]
    b'\\x89PNG'
    """
    height, width = pixels.shape
    # The first byte of a line is its filter: 0, none, is best for images with a palette.
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


# Colours at equal steps from near to far; each is darker than the one before, so that it also works in grey.
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
    start: float  #: Distance from the upper left corner
    length: float
    named: bool  #: Whether its number fits


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A distance matrix as an image with one pixel per pair of pages."""

    width: float
    height: float
    left: float
    top: float
    side: float  #: Side length of the drawn image
    image: str
    strip: str  #: The image, and the colours from near to far, as ``data:`` URIs
    high: float  #: Distance shown by the darkest colour; the lightest is 0
    bands: tuple[Band, ...]


# Cluster numbers are left of and above the image.
_MAP_LEFT, _MAP_TOP = 26.0, 18.0


def heat_map(matrix: ArrayLike, order: Sequence[int], labels: Sequence[int]) -> HeatMap:
    """Draw a distance matrix.

    ``matrix`` are (n, n) distances, n at least 1; ``order`` the (n,) indices of the pages from the top and from the
    left, pages of a cluster being adjacent; ``labels`` the (n,) cluster of each page.

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
    bands: list[Band] = []
    place = 0
    for cluster, pages in groupby(order, key=lambda page: labels[page]):
        n = len(list(pages))
        # A number needs the height of a line next to the image, and its own width above it.
        named = unit * n >= 4 + 6 * len(str(cluster))
        bands.append(Band(cluster, round(unit * place, 2), round(unit * n, 2), named))
        place += n
    return HeatMap(
        width=WIDTH,
        height=_MAP_TOP + side + 34,
        left=_MAP_LEFT,
        top=_MAP_TOP,
        side=side,
        image=_data_uri(np.rint(255 * np.clip(distances / high, 0, 1)).astype(np.uint8)),
        strip=_data_uri(np.arange(256, dtype=np.uint8)[None]),
        high=high,
        bands=tuple(bands),
    )


@dataclass(frozen=True, slots=True)
class PointMap:
    """Points in the plane; both directions have the same scale, because only distances have a meaning."""

    width: float
    height: float
    places: tuple[tuple[float, float], ...]


# Room for the marks, and the maximum height of the map.
_MARGIN, _MAX_HEIGHT = 12.0, 366.0


def point_map(points: ArrayLike) -> PointMap:
    """Lay out points.

    The coordinates are (n, 2); the second one points upwards.

    Examples
    --------
    >>> point_map([[0, 0], [2, 1]]).places
    ((12.0, 183.0), (354.0, 12.0))
    """
    xy = np.nan_to_num(np.asarray(points, dtype=np.float64).reshape(-1, 2), posinf=0.0, neginf=0.0) * (1.0, -1.0)
    low, high = (xy.min(axis=0), xy.max(axis=0)) if len(xy) else (np.zeros(2), np.zeros(2))
    spread = high - low
    room = np.array([WIDTH, _MAX_HEIGHT]) - 2 * _MARGIN
    factor = min((room[i] / spread[i] for i in range(2) if spread[i] > 1e-12), default=1.0)
    height = max(float(spread[1] * factor), 80.0) + 2 * _MARGIN
    places = np.array([WIDTH, height]) / 2 + (xy - (low + high) / 2) * factor
    return PointMap(WIDTH, round(height, 2), tuple((round(x, 2), round(y, 2)) for x, y in places.tolist()))


@dataclass(frozen=True, slots=True)
class HistogramFigure:
    """Histogram of pairs by distance, on a logarithmic scale that shows single pairs next to thousands."""

    width: float
    height: float
    x: Axis
    y_ticks: tuple[tuple[float, str], ...]
    top: float
    baseline: float
    path: str  #: SVG path of the bars
    threshold: float | None


_BARS_LEFT, _BARS_RIGHT, _BARS_TOP, _BARS_BASE = 46.0, 358.0, 18.0, 190.0


def histogram_figure(edges: Sequence[float], counts: Sequence[float], threshold: float | None) -> HistogramFigure:
    """Lay out a histogram of the distances of all pairs of pages.

    ``edges`` are (n + 1,) increasing bin edges, ``counts`` the (n,) numbers of pairs; ``threshold`` is the distance at
    which clusters were cut, if known.

    Examples
    --------
    >>> figure = histogram_figure([0, 1, 2], [50, 0], 0.5)
    >>> figure.path, figure.y_ticks[0], figure.threshold
    ('M46 190V18H202V190z', (164.11, '1'), 124.0)
    """
    x = scale_over(edges[0], max(edges[-1], threshold or 0.0), _BARS_LEFT, _BARS_RIGHT)
    most = max((*counts, 1))
    # The scale starts at half a pair, because the logarithm of one pair would leave no bar.
    unit = (_BARS_BASE - _BARS_TOP) / math.log(2 * most)
    base = brief(_BARS_BASE)
    bars = [
        f"M{brief(x.at(left))} {base}V{brief(_BARS_BASE - unit * math.log(2 * n))}H{brief(x.at(right))}V{base}z"
        for left, right, n in zip(edges[:-1], edges[1:], counts, strict=True)
        if n > 0
    ]
    powers = [10**i for i in range(int(math.log10(most)) + 1)]
    ticks = tuple((round(_BARS_BASE - unit * math.log(2 * power), 2), f"{power:,}") for power in powers)
    cut = None if threshold is None else x.at(threshold)
    return HistogramFigure(WIDTH, _BARS_BASE + 36, x, ticks, _BARS_TOP, _BARS_BASE, "".join(bars), cut)
