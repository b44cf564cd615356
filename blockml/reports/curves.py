"""Figures of curves: precision and recall of blocks, and methods that read a page from start to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blockml.evaluation.calibration import PrecisionRecall
from blockml.extractors.extractor import PageCurve
from blockml.reports.figures import Axis, brief, scale_over

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


_PLOT_WIDTH, _PLOT_LEFT, _PLOT_RIGHT = 1000.0, 92.0, 990.0
_STRIP = 16.0
#: Top of the strip of content and code, top and bottom of the curve, top of the strip of kept text.
_VECTOR, _PLOT_TOP, _PLOT_BOTTOM, _KEPT = 26.0, 56.0, 206.0, 216.0

#: Maximum columns of the figure; more entries would not be visible and are averaged.
_COLUMNS = 900

_LINE = 14.0  #: Height of a line of text.

_STYLE = "".join(
    f".page-curve {selector}{{{rules}}}"
    for selector, rules in {
        "text": "font:11px sans-serif;fill:#333",
        ".axis": "stroke:#999",
        ".content": "fill:#0072b2",
        ".code": "fill:#e3e6ea",
        ".curve": "fill:none;stroke:#1a1f26;stroke-width:1.2",
        ".total": "fill:none;stroke:#a85d00;stroke-width:1.2;stroke-dasharray:4 3",
        ".limit": "stroke:#bf2f24;stroke-dasharray:6 4",
        ".kept": "fill:#1d7a46",
        ".lost": "fill:#d5dbe1",
    }.items()
)


def curve_svg(curve: PageCurve, kept: NDArray[np.bool_], title: str = "") -> str:
    """Draw the curve of a page from its first entry to its last; ``kept`` are the (n_blocks,) decisions.

    The upper strip is the vector, content dark and code light; the lower one is the text, kept text dark. Each column
    shows the mean of the same number of entries.
    """
    n = len(curve.values)
    of_blocks = np.append(kept, False)[curve.block] & curve.is_content
    x = scale_over(0, max(n, 1), _PLOT_LEFT, _PLOT_RIGHT)
    most = min(1.0, max(float(curve.values.max(initial=0.0)), curve.threshold, 0.1) * 1.05)
    y = (
        Axis(0.0, 1.0, _PLOT_BOTTOM, _PLOT_TOP, 0.25)
        if most > 0.5
        else Axis(0.0, most, _PLOT_BOTTOM, _PLOT_TOP, most / 4)
    )
    side = "above" if curve.keeps_above else "below"
    legend = [f"line: {curve.name}", f"dashed red: {curve.threshold:.3g}; text at or {side} it is kept"]
    legend += [f"dashed brown: {curve.total_name}, up to 1"] if curve.total is not None else []
    lines = [*legend, *(f"{name}: {value}" for name, value in curve.facts.items())]
    height = brief(_KEPT + 42 + _LINE * len(lines))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {brief(_PLOT_WIDTH)} {height}" role="img" '
        f'class="page-curve"><style>{_STYLE}</style>',
        f"<title>{escape(title or curve.name)}</title>",
        f"<desc>{n:,} {escape(curve.unit)}, {int(curve.is_content.sum()):,} of them content; "
        f"{int(of_blocks.sum()):,} are kept.</desc>",
        f'<rect width="{brief(_PLOT_WIDTH)}" height="{height}" fill="#fff"/>',
        f'<text x="{brief(_PLOT_LEFT)}" y="16" font-weight="bold">{escape(title or curve.name)}</text>',
        _strip("content", curve.is_content.astype(float), _VECTOR, "content", "code"),
        _strip("kept", of_blocks.astype(float), _KEPT, "kept", "lost"),
    ]
    for place, label in y.ticks:
        parts.append(f'<path class="axis" d="M{brief(_PLOT_LEFT - 4)} {brief(place)}H{brief(_PLOT_LEFT)}"/>')
        parts.append(f'<text x="{brief(_PLOT_LEFT - 8)}" y="{brief(place + 4)}" text-anchor="end">{label}</text>')
    parts.append(
        f'<path class="axis" fill="none" d="M{brief(_PLOT_LEFT)} {brief(_PLOT_TOP)}'
        f'V{brief(_PLOT_BOTTOM)}H{brief(_PLOT_RIGHT)}"/>'
    )
    for place, label in x.ticks:
        parts.append(f'<text x="{brief(place)}" y="{brief(_KEPT + 32)}" text-anchor="middle">{label}</text>')
    parts.append(
        f'<text x="{brief(_PLOT_RIGHT)}" y="{brief(_KEPT + 47)}" text-anchor="end">{escape(curve.unit)}</text>'
    )
    parts.append(f'<path class="curve" d="{_polyline(curve.values, y)}"/>')
    if curve.total is not None:
        whole = Axis(0.0, 1.0, _PLOT_BOTTOM, _PLOT_TOP, 0.25)
        parts.append(f'<path class="total" d="{_polyline(curve.total, whole)}"/>')
    limit = brief(y.at(curve.threshold))
    parts.append(f'<path class="limit" d="M{brief(_PLOT_LEFT)} {limit}H{brief(_PLOT_RIGHT)}"/>')
    for number, text in enumerate(lines):
        top = brief(_KEPT + 47 + _LINE * number)
        parts.append(f'<text x="{brief(_PLOT_LEFT)}" y="{top}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"])


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


def _strip(label: str, shares: NDArray[np.float64], top: float, dark: str, light: str) -> str:
    """Draw shares as a strip: runs of equal shade become one rectangle."""
    means = np.round(_columns(shares) * 4) / 4
    parts = [
        f'<rect class="{light}" x="{brief(_PLOT_LEFT)}" y="{brief(top)}" width="{brief(_PLOT_RIGHT - _PLOT_LEFT)}" '
        f'height="{brief(_STRIP)}"/>',
        f'<text x="{brief(_PLOT_LEFT - 8)}" y="{brief(top + 12)}" text-anchor="end">{label}</text>',
    ]
    width = (_PLOT_RIGHT - _PLOT_LEFT) / max(len(means), 1)
    for start, stop in _runs(means):
        if means[start] > 0:
            parts.append(
                f'<rect class="{dark}" x="{brief(_PLOT_LEFT + width * start)}" y="{brief(top)}" '
                f'width="{brief(width * (stop - start))}" height="{brief(_STRIP)}" opacity="{brief(means[start])}"/>'
            )
    return "\n".join(parts)


def _runs(values: NDArray[np.float64]) -> Sequence[tuple[int, int]]:
    """Return start and end of each run of equal values."""
    if not len(values):
        return ()
    borders = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(borders))
