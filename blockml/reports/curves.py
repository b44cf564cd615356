"""Figures of curves: precision and recall of blocks, and methods that read a page from start to end."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.calibration import PrecisionRecall
from blockml.extractors.extractor import PageCurve
from blockml.reports.figures import Axis, brief, scale_over
from blockml.reports.templating import draw

#: Colours that colour-blind readers can tell apart (Okabe and Ito 2008), dark enough for thin lines on white.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a6a00", "#56b4e9", "#000000")
_LEFT, _TOP, _RIGHT, _BOTTOM = 54.0, 34.0, 454.0, 354.0
_WIDTH, _HEIGHT = 700.0, 400.0

#: Maximum points of a line: more are not visible at this size.
_MOST_POINTS = 400


def curves_svg(title: str, curves: Mapping[str, tuple[PrecisionRecall, tuple[float, float] | None]]) -> str:
    """Draw precision-recall curves.

    ``curves`` has the curve of each system, and the recall and precision of its decision, drawn as a dot, or None.
    """
    x, y = Axis(0.0, 1.0, _LEFT, _RIGHT, 0.2), Axis(0.0, 1.0, _BOTTOM, _TOP, 0.2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {brief(_WIDTH)} {brief(_HEIGHT)}" role="img" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{brief(_WIDTH)}" height="{brief(_HEIGHT)}" fill="#fff"/>',
        f'<text x="{brief(_LEFT)}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for place, label in x.ticks:
        parts.append(f'<path d="M{brief(place)} {brief(_TOP)}V{brief(_BOTTOM)}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{brief(place)}" y="{brief(_BOTTOM + 17)}" text-anchor="middle">{label}</text>')
    for place, label in y.ticks:
        parts.append(f'<path d="M{brief(_LEFT)} {brief(place)}H{brief(_RIGHT)}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{brief(_LEFT - 7)}" y="{brief(place + 4)}" text-anchor="end">{label}</text>')
    parts += [_equal_f(f, x, y) for f in (0.5, 0.7, 0.8, 0.9)]
    middle = brief((_TOP + _BOTTOM) / 2)
    parts.append(
        f'<text x="{brief((_LEFT + _RIGHT) / 2)}" y="{brief(_BOTTOM + 36)}" text-anchor="middle">recall</text>'
    )
    parts.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">precision</text>')
    for number, (name, (curve, dot)) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        dashes = "" if number < len(_COLOURS) else ' stroke-dasharray="5 3"'
        parts.append(f'<path d="{_line(curve, x, y)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        if dot is not None:
            parts.append(f'<circle cx="{brief(x.at(dot[0]))}" cy="{brief(y.at(dot[1]))}" r="4.5" fill="{colour}"/>')
        top = _TOP + 14 + 20 * number
        parts.append(
            f'<path d="M{brief(_RIGHT + 16)} {brief(top - 4)}h20" stroke="{colour}" stroke-width="2"{dashes}/>'
        )
        text = f"{name}, AP {curve.average_precision:.3f}"
        parts.append(f'<text x="{brief(_RIGHT + 42)}" y="{brief(top)}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _line(curve: PrecisionRecall, x: Axis, y: Axis) -> str:
    """Return the SVG path of a curve in steps, thinned to as many points as are visible.

    Blocks of equal score are kept together, so no threshold gives a value between two points.
    """
    chosen = np.unique(np.linspace(0, len(curve.recall) - 1, min(len(curve.recall), _MOST_POINTS)).astype(int))
    recalls, precisions = curve.recall[chosen].tolist(), curve.precision[chosen].tolist()
    start = f"M{brief(x.at(0.0))} {brief(y.at(precisions[0]))}"
    points = zip(recalls, precisions, strict=True)
    return start + "".join(f"V{brief(y.at(precision))}H{brief(x.at(recall))}" for recall, precision in points)


def _equal_f(f: float, x: Axis, y: Axis) -> str:
    """Return the line of a constant F1, with its label."""
    recalls = np.linspace(f / (2 - f), 1.0, 60).tolist()
    points = [(x.at(recall), y.at(f * recall / (2 * recall - f))) for recall in recalls]
    path = "M" + "L".join(f"{brief(px)} {brief(py)}" for px, py in points)
    end_x, end_y = points[-1]
    return (
        f'<path d="{path}" fill="none" stroke="#bbb" stroke-dasharray="3 4"/>'
        f'<text x="{brief(end_x - 3)}" y="{brief(end_y - 3)}" text-anchor="end" fill="#767676" '
        f'font-size="10">F1 {f}</text>'
    )


#: Left, right, top and bottom of the curve along a page.
_PLOT_LEFT, _PLOT_RIGHT, _PLOT_TOP, _PLOT_BOTTOM = 92.0, 990.0, 56.0, 206.0

#: Maximum columns of the figure; more entries would not be visible and are averaged.
_COLUMNS = 900


def curve_svg(curve: PageCurve, kept: NDArray[np.bool_], title: str = "") -> str:
    """Draw the curve of a page from its first entry to its last; ``kept`` are the (n_blocks,) decisions.

    The upper strip is the vector, content dark and code light; the lower one is the text, kept text dark. Each column
    shows the mean of the same number of entries.
    """
    of_blocks = np.append(kept, False)[curve.block] & curve.is_content
    most = min(1.0, max(float(curve.values.max(initial=0.0)), curve.threshold, 0.1) * 1.05)
    whole = Axis(0.0, 1.0, _PLOT_BOTTOM, _PLOT_TOP, 0.25)
    y = whole if most > 0.5 else Axis(0.0, most, _PLOT_BOTTOM, _PLOT_TOP, most / 4)
    side = "above" if curve.keeps_above else "below"
    legend = [f"line: {curve.name}", f"dashed red: {curve.threshold:.3g}; text at or {side} it is kept"]
    legend += [f"dashed brown: {curve.total_name}, up to 1"] if curve.total is not None else []
    lines = [*legend, *(f"{name}: {value}" for name, value in curve.facts.items())]
    return draw(
        "page_curve",
        curve=curve,
        title=title or curve.name,
        x=scale_over(0, max(len(curve.values), 1), _PLOT_LEFT, _PLOT_RIGHT),
        y=y,
        strips=[
            ("content", 26, "content", "code", _shades(curve.is_content)),
            ("kept", 216, "kept", "lost", _shades(of_blocks)),
        ],
        lines=lines,
        n_kept=of_blocks.sum(),
        path=_polyline(curve.values, y),
        total=None if curve.total is None else _polyline(curve.total, whole),
    )


def _columns(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average entries over at most :data:`_COLUMNS` columns of equal width."""
    if len(values) <= _COLUMNS:
        return values
    borders = np.linspace(0, len(values), _COLUMNS + 1).astype(int)
    return np.add.reduceat(values, borders[:-1]) / np.diff(borders)


def _polyline(values: NDArray[np.float64], y: Axis) -> str:
    means = _columns(values).tolist()
    if not means:
        return "M0 0"
    width = (_PLOT_RIGHT - _PLOT_LEFT) / len(means)
    return "M" + "L".join(
        f"{brief(_PLOT_LEFT + width * (i + 0.5))} {brief(y.at(value))}" for i, value in enumerate(means)
    )


def _shades(flags: NDArray[np.bool_]) -> list[tuple[float, float, float]]:
    """Return place, width and share of each run of columns with an equal share of flags, if it is not 0."""
    shares = np.round(_columns(flags.astype(float)) * 4) / 4
    width = (_PLOT_RIGHT - _PLOT_LEFT) / max(len(shares), 1)
    borders = np.flatnonzero(np.diff(shares, prepend=-1, append=-1)).tolist()
    return [
        (_PLOT_LEFT + width * start, width * (stop - start), shares[start])
        for start, stop in pairwise(borders)
        if shares[start] > 0
    ]
