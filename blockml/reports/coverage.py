"""The report of coverage: F1 of the pages above each confidence against their share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from blockml.evaluation.coverage import Coverage
from blockml.reports.axes import Axis, axis_over, brief
from blockml.reports.templating import figure, write_html

_LEFT, _TOP, _RIGHT, _BOTTOM = 40.0, 12.0, 356.0, 250.0


def write_coverage(path: str | os.PathLike[str], tables: Sequence[tuple[str, Sequence[Coverage]]]) -> Path:
    """Write tables of coverage with their curves as a self-contained HTML file; return its path.

    ``tables`` has the title of each table and its rows. Raises the errors of
    :func:`blockml.reports.templating.write_html`.
    """
    panels = [{"title": title, "rows": rows, "curve": figure(_curve(title, rows))} for title, rows in tables]
    return write_html("coverage.html.jinja", path, panels=panels)


def _curve(title: str, rows: Sequence[Coverage]) -> str:
    """Draw mean F1 with its interval against the share of pages."""
    known = [(row.share.mean, row.f1, row.threshold) for row in rows if row.f1 is not None]
    x = Axis(0.0, 1.0, _LEFT, _RIGHT, 0.2)
    y = axis_over([value for _, f1, _ in known for value in f1], _BOTTOM, _TOP, least=0.1)
    parts = [
        f'<svg class="figure" viewBox="0 0 366 288" role="img"><title>{escape(title)}: F1 over share of pages</title>'
    ]
    for place, label in x.ticks:
        parts.append(f'<text class="tick" x="{place}" y="{_BOTTOM + 16}" text-anchor="middle">{label}</text>')
    for place, label in y.ticks:
        parts.append(f'<path class="rule" d="M{_LEFT} {place}H{_RIGHT}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{place + 3.5}" text-anchor="end">{label}</text>')
    points = [(x.at(share), *map(y.at, f1), threshold) for share, f1, threshold in known]
    if points:
        forth = [f"{brief(px)} {brief(high)}" for px, _, _, high, _ in points]
        back = [f"{brief(px)} {brief(low)}" for px, _, low, _, _ in reversed(points)]
        parts.append(f'<path class="band" d="M{"L".join([*forth, *back])}z"/>')
        parts.append(f'<path class="line" d="M{"L".join(f"{brief(px)} {brief(mean)}" for px, mean, *_ in points)}"/>')
    for px, mean, _, _, threshold in points:
        note = f"<title>confidence {threshold:g}</title>"
        parts.append(f'<circle class="dot" cx="{brief(px)}" cy="{brief(mean)}" r="3">{note}</circle>')
    parts.append(
        f'<text class="tick" x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 32}" text-anchor="middle">share of pages</text>'
    )
    return "\n".join([*parts, "</svg>"])
