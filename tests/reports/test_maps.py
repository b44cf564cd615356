"""Coordinates of the pictures of many pages: heat map, tree of merges, map of points, histogram of distances."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from blockml.reports.figures import scale_over
from blockml.reports.maps import dendrogram, heat_map, histogram_figure, leaf_order, page_order, png, point_map, styles

Pixels = NDArray[np.uint8]


def decode(data: bytes) -> Pixels:
    """Return (height, width, 3) colours of a palette image, after checking every checksum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name], at = body, at + 12 + length
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    palette = np.frombuffer(chunks[b"PLTE"], dtype=np.uint8).reshape(-1, 3)
    colours: Pixels = palette[lines[:, 1:]]
    return colours


def drawn(uri: str) -> NDArray[np.float64]:
    """Return (height, width) darkness of an image in a data URI from 0 to 1, by relative luminance."""
    head, _, body = uri.partition(",")
    assert head == "data:image/png;base64"
    shares = decode(base64.b64decode(body, validate=True)) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    darkness: NDArray[np.float64] = 1 - linear @ (0.2126, 0.7152, 0.0722)
    return darkness


@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 3)))
def test_images_survive_a_round_trip(pixels: Pixels) -> None:
    """Images of any size keep their pixels and palette when they are decoded."""
    palette = np.array([[0, 0, 0], [255, 0, 9], [1, 2, 3], [255, 255, 255]], dtype=np.uint8)
    assert (decode(png(pixels, palette)) == palette[pixels]).all()


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_ticks_of_a_scale_are_round_and_few(low: float, spread: float) -> None:
    """Ticks of a scale are round, few, and at the place of their label, and no value is outside the scale."""
    scale = scale_over(low, low + spread, 10, 110)
    places, values = [place for place, _ in scale.ticks], [float(label) for _, label in scale.ticks]
    assert (scale.at(scale.low), scale.at(scale.high)) == (10, 110)
    assert 1 <= len(places) <= 6
    assert places == sorted(places)
    assert [scale.at(value) for value in values] == pytest.approx(places, abs=0.1)
    for a, b in pairwise(values):
        assert round((b - a) / 10 ** math.floor(math.log10(b - a) + 1e-3), 2) in (1, 2, 5)
    assert scale.at(low - 1e9) == 10
    assert scale.at(low + 1e9) == 110


@pytest.mark.parametrize("bounds", [(0.0, math.nan), (0.0, math.inf), (-math.inf, 1.0)])
def test_scale_without_finite_bounds_goes_from_0_to_1(bounds: tuple[float, float]) -> None:
    """A scale without finite bounds goes from 0 to 1."""
    scale = scale_over(*bounds, 0, 1)
    assert (scale.low, scale.high) == (0, 1)


def test_marks_differ_by_colour_and_shape() -> None:
    """The first 18 clusters each have a different mark, and the first 6 share neither colour nor shape."""
    found = list(styles(range(30)).values())
    assert len({(style.colour, style.shape) for style in found[:18]}) == 18
    assert len({style.colour for style in found[:6]}) == len({style.shape for style in found[:6]}) == 6
    assert {(style.colour, style.shape) for style in found[18:]} == {("other", found[18].shape)}
    assert found[18].shape not in {style.shape for style in found[:18]}


def test_pixels_of_the_heat_map_are_the_distances() -> None:
    """Pixels are lighter for smaller distances, in the requested order."""
    matrix = np.array([[0, 0.1, 0.8, 0.9], [0.1, 0, 0.5, 1.6], [0.8, 0.5, 0, 0.3], [0.9, 1.6, 0.3, 0]])
    order = [2, 0, 3, 1]
    figure = heat_map(matrix, order, [0, 1, 0, 1])
    dark = drawn(figure.image)
    assert dark.shape == (4, 4)
    wanted = matrix[np.ix_(order, order)]
    assert np.argsort(dark, axis=None, kind="stable").tolist() == np.argsort(wanted, axis=None, kind="stable").tolist()
    assert figure.high == 1.6
    strip = drawn(figure.strip)[0]
    assert (np.diff(strip) >= 0).all()
    assert strip[0] < 0.05
    assert strip[-1] > 0.95
    assert dark[0, 0] == strip[0]
    assert dark[2, 3] == strip[255]  # pages 3 and 1


def test_bands_are_the_clusters() -> None:
    """Bands of clusters cover the sides, and a number is written only where it has room."""
    labels = [100 + place // 5 for place in range(155)] + [7] * 5
    figure = heat_map(np.zeros((160, 160)), range(160), labels)
    assert [band.cluster for band in figure.bands] == [*range(100, 131), 7]
    assert sum(band.length for band in figure.bands) == pytest.approx(figure.side, abs=0.2)
    for a, b in pairwise(figure.bands):
        assert a.start + a.length == pytest.approx(b.start, abs=0.02)
    assert [band.named for band in figure.bands] == [False] * 31 + [True]


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_heat_map_of_equal_pages_is_light(value: float) -> None:
    """A heat map of equal pages is light, even if all distances are zero or undefined."""
    figure = heat_map(np.full((3, 3), value), [0, 1, 2], [0, 0, 0])
    assert figure.high == 1
    assert drawn(figure.image).max() < 0.05


def merges_of(heights: list[float], picks: list[int]) -> NDArray[np.float64]:
    """Return a linkage matrix that joins two of the remaining clusters at each height."""
    left, rows = list(range(len(heights) + 1)), []
    sizes = [1] * len(left)
    for height, pick in zip(sorted(heights), picks, strict=True):
        a = left.pop(pick % len(left))
        b = left.pop(pick // 7 % len(left))
        rows.append((min(a, b), max(a, b), height, sizes[a] + sizes[b]))
        left.append(len(sizes))
        sizes.append(sizes[a] + sizes[b])
    return np.array(rows).reshape(-1, 4)


@st.composite
def linkages(draw: st.DrawFn) -> NDArray[np.float64]:
    """Draw linkage matrices with ties."""
    heights = draw(st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), min_size=1, max_size=30))
    picks = draw(st.lists(st.integers(0, 1000), min_size=len(heights), max_size=len(heights)))
    return merges_of(heights, picks)


def members_of(merges: NDArray[np.float64]) -> list[set[int]]:
    """Return the pages of each node."""
    pages = [{page} for page in range(len(merges) + 1)]
    for a, b in merges[:, :2].astype(int).tolist():
        pages.append(pages[a] | pages[b])
    return pages


def cut(merges: NDArray[np.float64], threshold: float) -> list[int]:
    """Return the cluster of each page, named by its smallest member."""
    labels = list(range(len(merges) + 1))
    pages = members_of(merges)
    for row, merge in enumerate(merges):
        if merge[2] <= threshold:
            for page in pages[len(labels) + row]:
                labels[page] = min(pages[len(labels) + row])
    return labels


@given(linkages())
def test_branches_do_not_cross(merges: NDArray[np.float64]) -> None:
    """The pages of every merge are next to each other."""
    order = leaf_order(merges)
    assert sorted(order) == list(range(len(merges) + 1))
    places = {page: place for place, page in enumerate(order)}
    for pages in members_of(merges):
        spots = [places[page] for page in pages]
        assert max(spots) - min(spots) == len(pages) - 1


def test_larger_branches_come_first() -> None:
    """The larger branch comes first, so that late additions to a chain come after its core."""
    chain = [[1, 2, 0.1, 2], [0, 5, 0.2, 3], [3, 6, 0.3, 4], [4, 7, 0.4, 5]]
    assert leaf_order(chain) == [1, 2, 0, 3, 4]
    assert leaf_order([[b, a, height, size] for a, b, height, size in chain]) == [1, 2, 0, 3, 4]


@given(st.lists(st.integers(0, 5), max_size=40), st.randoms(use_true_random=False))
def test_pages_of_a_cluster_are_next_to_each_other(labels: list[int], random: object) -> None:
    """Pages of a cluster are next to each other and occur once, even if the clusters are not from the tree."""
    leaves = list(range(len(labels)))
    random.shuffle(leaves)  # type: ignore[attr-defined]
    for given_leaves in (None, leaves):
        order = page_order(labels, given_leaves)
        assert sorted(order) == sorted(leaves)
        runs = [labels[page] for i, page in enumerate(order) if i == 0 or labels[page] != labels[order[i - 1]]]
        assert len(runs) == len(set(runs))
        if given_leaves is None:
            counts = [labels.count(label) for label in runs]
            assert counts == sorted(counts, reverse=True)
        elif order:
            assert runs[0] == labels[leaves[0]]


@given(linkages(), st.integers(2, 40), st.booleans(), st.sampled_from([0.0, 0.2, 0.6, 1.0]))
def test_leaves_partition_the_pages(merges: NDArray[np.float64], most: int, whole: bool, threshold: float) -> None:  # noqa: FBT001
    """There are at most as many leaves as requested, in the tree's order, and clusters stay whole if requested."""
    labels = cut(merges, threshold)
    figure = dendrogram(merges, labels, most=most, whole=whole, threshold=threshold)
    assert [page for leaf in figure.leaves for page in leaf.pages] == leaf_order(merges)
    assert len(figure.leaves) <= max(most, 1)
    nodes = members_of(merges)
    for leaf in figure.leaves:
        assert set(leaf.pages) in nodes
        found = {labels[page] for page in leaf.pages}
        assert leaf.cluster == (found.pop() if len(found) == 1 else None)
        assert bool(leaf.wedge) == (len(leaf.pages) > 1)
        assert figure.top < leaf.y < figure.bottom <= figure.height
    n_ends = len(set(labels)) if whole else len(labels)
    assert len(figure.leaves) == min(most, n_ends)
    # Each drawn merge is one bracket and adds one leaf.
    assert sum(path.count("V") for _, path in figure.branches) == len(figure.leaves) - 1
    assert figure.threshold == figure.scale.at(threshold)


def test_merges_are_drawn_at_their_heights() -> None:
    """A bracket goes from the heights of its children to its own, in their cluster's colour if below the threshold."""
    merges = [[0, 1, 0.2, 2], [2, 3, 0.4, 2], [4, 5, 0.8, 4]]
    figure = dendrogram(merges, [5, 5, 9, 9], most=9, whole=False, threshold=0.5)
    at = [f"{figure.scale.at(height):.2f}".rstrip("0").rstrip(".") for height in (0, 0.2, 0.4, 0.8)]
    paths = dict(figure.branches)
    assert set(paths) == {5, 9, None}
    assert paths[5] == f"M{at[0]} 31.5H{at[1]}V46.5H{at[0]}"
    assert paths[9] == f"M{at[0]} 61.5H{at[2]}V76.5H{at[0]}"
    assert paths[None] == f"M{at[1]} 39H{at[3]}V69H{at[2]}"


def test_long_chains_are_drawn() -> None:
    """A tree as deep as the number of pages, such as one of single linkage, is drawn."""
    n = 5000
    merges = [[0, 1, 0.1, 2]] + [[n + i, i + 2, 0.1 + i / n, i + 3] for i in range(n - 2)]
    figure = dendrogram(merges, [0] * n, most=40, whole=False, threshold=None)
    assert len(figure.leaves) == 40
    assert len(figure.leaves[0].pages) == n - 39
    assert figure.threshold is None


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=20))
def test_points_keep_their_distances(points: list[tuple[float, float]]) -> None:
    """Points keep their distances up to one factor, are inside the figure, and have the second coordinate upwards."""
    figure = point_map(points)
    for x, y in figure.places:
        assert 11.9 <= x <= figure.width - 11.9
        assert 11.9 <= y <= figure.height - 11.9
    given_distances = [math.dist(points[0], point) for point in points]
    drawn_distances = [math.dist(figure.places[0], place) for place in figure.places]
    if max(given_distances) > 1e-3:
        factor = max(drawn_distances) / max(given_distances)
        assert drawn_distances == pytest.approx([factor * distance for distance in given_distances], abs=0.1)
    for (_, a), (_, b) in zip(points, figure.places, strict=True):
        assert a <= points[0][1] or b <= figure.places[0][1]


def test_bars_of_distances_are_logarithmic() -> None:
    """Ten times as many pairs add the same height anywhere; a single pair has a visible bar, and no pair has none."""
    figure = histogram_figure([0, 1, 2, 3, 4, 5], [1, 10, 0, 100, 1000], None)
    bars = re.findall(r"M([\d.]+) 190V([\d.]+)H([\d.]+)V190z", figure.path)
    tops = [float(top) for _, top, _ in bars]
    assert len(tops) == 4
    assert [a - b for a, b in pairwise(tops)] == pytest.approx([tops[0] - tops[1]] * 3, abs=0.03)
    assert tops[0] < figure.baseline - 5
    assert tops[-1] == figure.top
    assert [float(left) for left, _, _ in bars] == [figure.x.at(i) for i in (0, 1, 3, 4)]
    assert [label for _, label in figure.y_ticks] == ["1", "10", "100", "1,000"]
    assert [place for place, _ in figure.y_ticks] == pytest.approx(tops, abs=0.02)
    assert figure.threshold is None


@pytest.mark.parametrize("threshold", [0.25, 7.0])
def test_threshold_is_on_the_scale(threshold: float) -> None:
    """The scale is extended if the threshold is beyond it."""
    figure = histogram_figure([0, 0.5, 1], [3, 4], threshold)
    assert figure.threshold == figure.x.at(threshold)
    assert figure.x.high == max(1, threshold)
