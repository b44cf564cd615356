"""Figure of a method that reads a page from start to end: vector, curve, threshold and kept text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.page_curve import PageCurve
from blockml.reports.axes import Axis, brief, scale_over
from blockml.storage.atomic import atomic_write

_WIDTH, _LEFT, _RIGHT = 1000.0, 92.0, 990.0
_STRIP = 16.0
#: Top of the strip of content and code, top and bottom of the curve, top of the strip of kept text.
_VECTOR, _TOP, _BOTTOM, _KEPT = 26.0, 56.0, 206.0, 216.0

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


def write_curve(path: str | os.PathLike[str], curve: PageCurve, kept: NDArray[np.bool_], title: str = "") -> Path:
    """Write :func:`curve_svg` to a file; missing folders are created; return its path."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as stream:
        stream.write(curve_svg(curve, kept, title).encode("utf-8", "replace"))
    return target


def curve_svg(curve: PageCurve, kept: NDArray[np.bool_], title: str = "") -> str:
    """Draw the curve of a page from its first entry to its last; ``kept`` are the (n_blocks,) decisions.

    The upper strip is the vector, content dark and code light; the lower one is the text, kept text dark. Each column
    shows the mean of the same number of entries.
    """
    n = len(curve.values)
    of_blocks = np.append(kept, False)[curve.block] & curve.is_content
    x = scale_over(0, max(n, 1), _LEFT, _RIGHT)
    most = min(1.0, max(float(curve.values.max(initial=0.0)), curve.threshold, 0.1) * 1.05)
    y = Axis(0.0, 1.0, _BOTTOM, _TOP, 0.25) if most > 0.5 else Axis(0.0, most, _BOTTOM, _TOP, most / 4)
    side = "above" if curve.keeps_above else "below"
    legend = [f"line: {curve.name}", f"dashed red: {curve.threshold:.3g}; text at or {side} it is kept"]
    legend += [f"dashed brown: {curve.total_name}, up to 1"] if curve.total is not None else []
    lines = [*legend, *(f"{name}: {value}" for name, value in curve.facts.items())]
    height = brief(_KEPT + 42 + _LINE * len(lines))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {brief(_WIDTH)} {height}" role="img" '
        f'class="page-curve"><style>{_STYLE}</style>',
        f"<title>{escape(title or curve.name)}</title>",
        f"<desc>{n:,} {escape(curve.unit)}, {int(curve.is_content.sum()):,} of them content; "
        f"{int(of_blocks.sum()):,} are kept.</desc>",
        f'<rect width="{brief(_WIDTH)}" height="{height}" fill="#fff"/>',
        f'<text x="{brief(_LEFT)}" y="16" font-weight="bold">{escape(title or curve.name)}</text>',
        _strip("content", curve.is_content.astype(float), _VECTOR, "content", "code"),
        _strip("kept", of_blocks.astype(float), _KEPT, "kept", "lost"),
    ]
    for place, label in y.ticks:
        parts.append(f'<path class="axis" d="M{brief(_LEFT - 4)} {brief(place)}H{brief(_LEFT)}"/>')
        parts.append(f'<text x="{brief(_LEFT - 8)}" y="{brief(place + 4)}" text-anchor="end">{label}</text>')
    parts.append(f'<path class="axis" fill="none" d="M{brief(_LEFT)} {brief(_TOP)}V{brief(_BOTTOM)}H{brief(_RIGHT)}"/>')
    for place, label in x.ticks:
        parts.append(f'<text x="{brief(place)}" y="{brief(_KEPT + 32)}" text-anchor="middle">{label}</text>')
    parts.append(f'<text x="{brief(_RIGHT)}" y="{brief(_KEPT + 47)}" text-anchor="end">{escape(curve.unit)}</text>')
    parts.append(f'<path class="curve" d="{_line(curve.values, y)}"/>')
    if curve.total is not None:
        whole = Axis(0.0, 1.0, _BOTTOM, _TOP, 0.25)
        parts.append(f'<path class="total" d="{_line(curve.total, whole)}"/>')
    limit = brief(y.at(curve.threshold))
    parts.append(f'<path class="limit" d="M{brief(_LEFT)} {limit}H{brief(_RIGHT)}"/>')
    for number, text in enumerate(lines):
        top = brief(_KEPT + 47 + _LINE * number)
        parts.append(f'<text x="{brief(_LEFT)}" y="{top}">{escape(text)}</text>')
    return "\n".join([*parts, "</svg>"])


def _columns(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average entries over at most :data:`_COLUMNS` columns of equal width."""
    if len(values) <= _COLUMNS:
        return values
    borders = np.linspace(0, len(values), _COLUMNS + 1).astype(int)
    return np.add.reduceat(values, borders[:-1]) / np.diff(borders)


def _line(values: NDArray[np.float64], y: Axis) -> str:
    means = _columns(values).tolist()
    if not means:
        return "M0 0"
    width = (_RIGHT - _LEFT) / len(means)
    return "M" + "L".join(f"{brief(_LEFT + width * (i + 0.5))} {brief(y.at(value))}" for i, value in enumerate(means))


def _strip(label: str, shares: NDArray[np.float64], top: float, dark: str, light: str) -> str:
    """Draw shares as a strip: runs of equal shade become one rectangle."""
    means = np.round(_columns(shares) * 4) / 4
    parts = [
        f'<rect class="{light}" x="{brief(_LEFT)}" y="{brief(top)}" width="{brief(_RIGHT - _LEFT)}" '
        f'height="{brief(_STRIP)}"/>',
        f'<text x="{brief(_LEFT - 8)}" y="{brief(top + 12)}" text-anchor="end">{label}</text>',
    ]
    width = (_RIGHT - _LEFT) / max(len(means), 1)
    for start, stop in _runs(means):
        if means[start] > 0:
            parts.append(
                f'<rect class="{dark}" x="{brief(_LEFT + width * start)}" y="{brief(top)}" '
                f'width="{brief(width * (stop - start))}" height="{brief(_STRIP)}" opacity="{brief(means[start])}"/>'
            )
    return "\n".join(parts)


def _runs(values: NDArray[np.float64]) -> Sequence[tuple[int, int]]:
    """Return start and end of each run of equal values."""
    if not len(values):
        return ()
    borders = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(pairwise(borders))
