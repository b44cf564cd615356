"""Coordinates of the figures of many pages: heat map, map of points, dendrogram.

Lengths are in the units of :mod:`blockml.reports.figures`.
"""

from __future__ import annotations

import base64
import heapq
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blockml.reports.figures import WIDTH, Axis, brief, scale_over

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


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """A linkage matrix prepared for drawing; node ``i < n`` is page ``i``, node ``n + j`` results from merge ``j``."""

    n: int
    children: list[tuple[int, int]]  #: (n - 1,) children of each merge in drawing order: the larger one first
    heights: list[float]
    sizes: list[int]
    starts: list[int]  #: (2 n - 1,) index of each node's first page among the leaves
    leaves: list[int]  #: (n,) pages in drawing order


def _tree(merges: ArrayLike) -> _Tree:
    rows = np.asarray(merges, dtype=np.float64).reshape(-1, 4)
    n = len(rows) + 1
    sizes, heights, first = [1] * n, [0.0] * n, list(range(n))
    children = []
    for a, b in rows[:, :2].astype(np.int64).tolist():
        # Chains, which single linkage tends to form, then start with their core, followed by the pages added later.
        large, small = (a, b) if (-sizes[a], first[a]) <= (-sizes[b], first[b]) else (b, a)
        children.append((large, small))
        sizes.append(sizes[a] + sizes[b])
        first.append(min(first[a], first[b]))
    heights += np.nan_to_num(rows[:, 2]).tolist()
    starts = [0] * (2 * n - 1)
    for node in range(2 * n - 2, n - 1, -1):  # parents follow their children
        large, small = children[node - n]
        starts[large], starts[small] = starts[node], starts[node] + sizes[large]
    leaves = [0] * n
    for page in range(n):
        leaves[starts[page]] = page
    return _Tree(n, children, heights, sizes, starts, leaves)


def leaf_order(merges: ArrayLike) -> list[int]:
    """Return the pages of a linkage matrix, (n - 1, 4) as in scipy, in an order in which no branches cross.

    Examples
    --------
    >>> leaf_order([[0, 2, 0.1, 2], [1, 3, 0.5, 3]])
    [0, 2, 1]
    """
    return _tree(merges).leaves


def page_order(labels: Sequence[int], leaves: Sequence[int] | None) -> list[int]:
    """Return the pages sorted by cluster; clusters and pages follow the order of the leaves, if given.

    Without leaves the largest cluster comes first.

    Examples
    --------
    >>> page_order([1, 0, 1, 1], None), page_order([1, 0, 1, 1], [1, 3, 2, 0])
    ([0, 2, 3, 1], [1, 3, 2, 0])
    """
    places = {page: place for place, page in enumerate(range(len(labels)) if leaves is None else leaves)}
    first: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for page, place in places.items():
        first.setdefault(labels[page], place)
        sizes[labels[page]] = sizes.get(labels[page], 0) + 1
    ranks = {label: (0 if leaves is not None else -sizes[label], first[label]) for label in first}
    return sorted(places, key=lambda page: (ranks[labels[page]], places[page]))


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page, or a branch that is drawn as a single leaf."""

    y: float
    pages: tuple[int, ...]
    cluster: int | None  #: Common cluster of its pages; None if there are several
    wedge: str  #: SVG path that represents the branch, up to its last merge; empty for a page


@dataclass(frozen=True, slots=True)
class Dendrogram:
    """A tree of merges with its leaves below each other and distances to the right."""

    width: float
    height: float
    scale: Axis
    top: float
    bottom: float
    leaves: tuple[Leaf, ...]
    #: SVG path of the branches within each cluster; None is the key for branches between clusters
    branches: tuple[tuple[int | None, str], ...]
    threshold: float | None  #: Coordinate of the threshold


_TREE_LEFT, _TREE_RIGHT, _TREE_TOP, _TREE_ROW = 150.0, 358.0, 24.0, 15.0


def dendrogram(
    merges: ArrayLike, labels: Sequence[int], *, most: int, whole: bool, threshold: float | None
) -> Dendrogram:
    """Draw a tree of merges; if it has many leaves, lower branches are drawn as single leaves.

    The branch with the highest merge is split first, until the maximum number of leaves is reached. ``merges`` is a
    linkage matrix as in scipy, (n - 1, 4), ``labels`` the (n,) cluster of each page, ``most`` the maximum number of
    leaves. ``whole`` tells whether branches within one cluster are never split; ``threshold`` is the distance at which
    the tree was cut, if known.

    Examples
    --------
    >>> figure = dendrogram([[0, 2, 0.1, 2], [1, 3, 0.5, 3]], [0, 1, 0], most=9, whole=True, threshold=0.3)
    >>> [(leaf.pages, leaf.cluster) for leaf in figure.leaves], figure.branches
    ([((0, 2), 0), ((1,), 1)], ((None, 'M191.6 31.5H358V46.5H150'),))
    """
    tree = _tree(merges)
    n, root = tree.n, 2 * tree.n - 2
    shared: list[int | None] = list(labels)
    for a, b in tree.children:
        shared.append(shared[a] if shared[a] == shared[b] else None)
    queue = [(-tree.heights[root], root)]
    ends: list[int] = []
    split: list[int] = []
    while queue:
        _, node = heapq.heappop(queue)
        full = len(ends) + len(queue) + 2 > most
        if node < n or full or (whole and shared[node] is not None):
            ends.append(node)
            continue
        split.append(node)
        for child in tree.children[node - n]:
            heapq.heappush(queue, (-tree.heights[child], child))
    high = max(tree.heights[root], threshold or 0.0)
    scale = scale_over(0.0, high, _TREE_LEFT, _TREE_RIGHT)
    places: dict[int, tuple[float, float]] = {}
    leaves = []
    for row, node in enumerate(sorted(ends, key=lambda node: tree.starts[node])):
        x, y = scale.at(tree.heights[node]), _TREE_TOP + _TREE_ROW * (row + 0.5)
        places[node] = (x, y)
        size = tree.sizes[node]
        half = 2 + 4 * math.log(size) / math.log(n) if size > 1 else 0.0
        left = brief(_TREE_LEFT)
        wedge = f"M{left} {brief(y - half)}L{brief(x)} {brief(y)}L{left} {brief(y + half)}z" if size > 1 else ""
        pages = tuple(tree.leaves[tree.starts[node] : tree.starts[node] + size])
        leaves.append(Leaf(y, pages, shared[node], wedge))
    paths: dict[int | None, list[str]] = {}
    for node in sorted(split):
        (x_a, y_a), (x_b, y_b) = (places[child] for child in tree.children[node - n])
        x = scale.at(tree.heights[node])
        places[node] = (x, (y_a + y_b) / 2)
        paths.setdefault(shared[node], []).append(f"M{brief(x_a)} {brief(y_a)}H{brief(x)}V{brief(y_b)}H{brief(x_b)}")
    bottom = _TREE_TOP + _TREE_ROW * len(leaves)
    branches = tuple((cluster, "".join(parts)) for cluster, parts in paths.items())
    cut = None if threshold is None else scale.at(threshold)
    return Dendrogram(WIDTH, bottom + 4, scale, _TREE_TOP, bottom, tuple(leaves), branches, cut)
