"""Coordinates of the figures."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from blockml.reports.figures import SPREAD_AXIS, Scatter, axis_over, dot_axis, heat, scatter, tallest_bar
from blockml.reports.ranking import Standing
from blockml.reports.templating import draw

shares = st.floats(0, 1)


@given(st.lists(shares), st.sampled_from([0.0, 0.05, 0.2]))
def test_axis_has_its_values_between_round_ends(values: list[float], least: float) -> None:
    """Axis ends are multiples of the step in [0, 1] with few steps between, and all values are on the axis."""
    axis = axis_over(values, 10, 110, least=least)
    n_steps = (axis.high - axis.low) / axis.step
    assert 0 <= axis.low < axis.high <= 1
    assert n_steps == pytest.approx(round(n_steps))
    assert 1 <= round(n_steps) <= 5
    assert axis.high - axis.low >= least - 1e-9
    assert all(axis.low - 1e-9 <= value <= axis.high + 1e-9 for value in values)
    assert [place for place, _ in axis.ticks] == sorted(place for place, _ in axis.ticks)
    assert [axis.at(float(label)) for _, label in axis.ticks] == pytest.approx([place for place, _ in axis.ticks])
    assert (axis.at(axis.low), axis.at(axis.high)) == (10, 110)


def test_axis_may_run_downwards() -> None:
    """An axis may run downwards, as for precision, whose coordinates shrink upwards."""
    axis = axis_over([0.2, 0.8], 100, 0)
    assert axis.at(0.8) < axis.at(0.2)


def standing(
    mean: float | None, low: float | None = None, high: float | None = None, *, tied: bool = False
) -> Standing:
    """Return a system with a mean and its interval."""
    return Standing("x", "peer", 1, in_sample=False, mean=mean, low=low, high=high, tied_with_best=tied)


def drawn_dots(*rows: Standing) -> html.HtmlElement:
    """Return the drawn dot plot of some systems."""
    svg = draw("dot_plot", id="d", axis=dot_axis(rows), table=rows, name="a", title="b", level="95")
    return html.fromstring(str(svg))


def test_dots_are_in_rows_from_the_top() -> None:
    """Dots are in rows from the top; a higher mean is further right, inside its interval."""
    svg = drawn_dots(standing(0.9, 0.88, 0.93), standing(0.8, 0.78, 0.81), standing(None), standing(0.7))
    rows = svg.findall("g")
    heights = [float(row.findall("text")[-1].attrib["y"]) for row in rows]
    assert heights == sorted(heights)
    assert heights[-1] < float(svg.attrib["viewbox"].split()[-1])
    marks = [[float(mark.attrib["d"][1:].split()[0]) for mark in row.findall("path")] for row in rows]
    (first,), (second,), none, (bare,) = marks
    assert first > second > bare
    assert none == []
    intervals = [[(float(line.attrib["x1"]), float(line.attrib["x2"])) for line in row.findall("line")] for row in rows]
    assert [len(found) for found in intervals] == [1, 1, 0, 0]
    assert intervals[0][0][0] < first < intervals[0][0][1]


def test_dot_plot_of_nothing_known_has_an_axis() -> None:
    """A dot plot has an axis even if all means are missing."""
    axis = dot_axis([standing(None)])
    assert (axis.low, axis.high) == (0, 1)


def test_shaded_runs_are_joined() -> None:
    """All shaded rows are one shape, so that neighbours have no seam between them."""
    svg = drawn_dots(*(standing(0.5, tied=flag) for flag in (True, True, False, True)))
    (shade,) = svg.find_class("shade")
    assert shade.attrib["d"] == "".join(f"M0 {y}h366v19h-366z" for y in (22, 41, 79))


def bars(path: str) -> list[tuple[float, float, float, float]]:
    """Return left, bottom, width and height of each bar of a path."""
    pattern = r"M([\d.]+) ([\d.]+)h([\d.]+)v-([\d.]+)h-[\d.]+z"
    assert re.fullmatch(f"({pattern})*", path)
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in re.findall(pattern, path)]


def test_bars_of_a_histogram_are_shares() -> None:
    """Bars are shares of the row's pages on one scale; empty bins and rows without pages have no bars."""
    none = [None] * 11
    spreads = [([2, 0, 2, 0], [0.1 * i for i in range(11)]), ([0, 0, 0, 40], none), ([], none)]
    rows = [(standing(0.5), {"histogram": counts, "deciles": deciles}) for counts, deciles in spreads]
    tallest = tallest_bar(counts for counts, _ in spreads)
    drawn = draw("histograms", id="h", axis=SPREAD_AXIS, tallest=tallest, rows=rows, name="a", title="b")
    svg = html.fromstring(str(drawn))
    first, second, third = (bars(path.attrib["d"]) for path in svg.find_class("bars"))
    assert [bar[3] for bar in first] == pytest.approx([bar[3] / 2 for bar in second * 2])
    assert first[1][0] - first[0][0] == pytest.approx(2 * first[0][2], abs=0.02)
    assert second[0][0] + second[0][2] == pytest.approx(SPREAD_AXIS.stop, abs=0.02)
    assert third == []
    assert {bar[1] for bar in first} == {45.0}
    (median,), (spread,) = svg.find_class("median"), svg.find_class("range")
    assert float(median.attrib["x1"]) == SPREAD_AXIS.at(0.5)
    assert (float(spread.attrib["x1"]), float(spread.attrib["x2"])) == (SPREAD_AXIS.at(0.1), SPREAD_AXIS.at(0.9))


def label_boxes(figure: Scatter) -> list[tuple[float, float, float, float]]:
    """Return a generous estimate of the area of each label: left, top, right, bottom."""
    boxes = []
    for point in figure.points:
        width = 6.6 * len(point.text)
        left = point.text_x - width * {"start": 0, "middle": 0.5, "end": 1}[point.anchor]
        if point.text:
            boxes.append((left, point.text_y - 8, left + width, point.text_y))
    return boxes


@given(st.lists(st.tuples(shares, shares, st.sampled_from(["a", "long-name", "another-long-name"])), max_size=30))
def test_labels_hide_nothing(points: list[tuple[float, float, str]]) -> None:
    """No label overlaps another label or a point, or leaves the plot."""
    figure = scatter([(recall, precision, [name, "9"]) for recall, precision, name in points])
    boxes = label_boxes(figure)
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for point in figure.points:
        assert not any(box[0] < point.x < box[2] and box[1] < point.y < box[3] for box in boxes)
    for box in boxes:
        assert box[0] >= figure.x.start
        assert box[2] <= figure.x.stop
        assert box[1] >= figure.y.stop
        assert box[3] <= figure.y.start


def test_labels_grow_away_from_their_points() -> None:
    """Labels are anchored next to their points, so that a label wider than estimated grows away from its point."""
    figure = scatter([(recall, 0.5, ["a-name"]) for recall in (0.1, 0.5, 0.9)] + [(0.92, 0.5, ["b-name"])])
    for point in figure.points:
        beside = {"start": point.text_x > point.x, "end": point.text_x < point.x, "middle": point.text_y != point.y}
        assert beside[point.anchor]
    assert {point.anchor for point in figure.points} >= {"start", "end"}


def test_best_recall_and_precision_are_top_right() -> None:
    """Recall grows to the right and precision upwards."""
    low, high = scatter([(0.5, 0.6, ["low"]), (0.9, 0.95, ["high"])]).points
    assert high.x > low.x
    assert high.y < low.y
    assert (low.text, high.text) == ("low", "high")


def test_a_label_without_room_is_left_out() -> None:
    """A label without room is replaced by its short form or left out, and the first points get theirs first."""
    assert [point.text for point in scatter([(0.8, 0.8, ["x" * 90, "7"]), (0.2, 0.8, ["x" * 90])]).points] == ["7", ""]
    crowd = [point.text for point in scatter([(0.8, 0.8, ["a-name-of-many-letters"])] * 90).points]
    assert crowd[0]
    assert not crowd[-1]


def test_iso_lines_join_points_of_equal_f1() -> None:
    """Every point of a line has the F1 of the line's label."""
    figure = scatter([(0.2, 0.9, ["a"]), (0.9, 0.2, ["b"])])
    assert [label for _, label, _, _ in figure.iso][:3] == ["0.3", "0.4", "0.5"]
    for path, label, _, _ in figure.iso:
        for x, y in re.findall(r"([\d.]+) ([\d.]+)", path):
            recall = figure.x.low + (float(x) - figure.x.start) / (figure.x.stop - figure.x.start) * (
                figure.x.high - figure.x.low
            )
            precision = figure.y.low + (float(y) - figure.y.start) / (figure.y.stop - figure.y.start) * (
                figure.y.high - figure.y.low
            )
            assert 2 * recall * precision / (recall + precision) == pytest.approx(float(label), abs=2e-3)


@given(st.lists(st.tuples(shares, st.sampled_from(["kept", "dropped", "missed"])), max_size=40))
def test_profile_has_a_bar_for_each_block(blocks: list[tuple[float, str]]) -> None:
    """Bars are in document order and as high as the score, and a score of 0 is visible."""
    svg = str(draw("profile", lines=[{"score": score, "group": group} for score, group in blocks]))
    paths = re.findall(r'<path class="(\w+)" d="([^"]*)"/>', svg)
    drawn = sorted((bar[0], bar[3], group) for group, path in paths for bar in bars(path))
    assert [group for _, _, group in drawn] == [group for _, group in blocks]
    assert [height for _, height, _ in drawn] == pytest.approx([max(80 * score, 1.5) for score, _ in blocks], abs=0.01)


@given(st.lists(st.none() | shares), st.sampled_from(["high", "low"]))
def test_heat_runs_from_worst_to_best(values: list[float | None], better: str) -> None:
    """Colours are ordered as the values, from 0 to 1, and missing values have none."""
    colours = heat(values, better=better)
    assert [colour is None for colour in colours] == [value is None for value in values]
    pairs = sorted((v, c) for v, c in zip(values, colours, strict=True) if v is not None and c is not None)
    order = [colour for _, colour in pairs]
    assert all(0 <= colour <= 1 for colour in order)
    assert order == sorted(order, reverse=better == "low")
    if len({value for value, _ in pairs}) > 1:
        assert {max(order), min(order)} == {0, 1}
