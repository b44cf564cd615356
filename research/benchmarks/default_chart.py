"""Draws curves over two axes of shares, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from blockml.reports.figures import Axis, axis_over

#: Colours for the colour-blind (Okabe and Ito 2008).
_COLOURS = ("#999999", "#56b4e9", "#0072b2", "#d55e00")
_LEFT, _TOP, _RIGHT, _BOTTOM = 60.0, 40.0, 460.0, 340.0


def chart(
    title: str, curves: Mapping[str, Sequence[tuple[float, ...]]], *, x_name: str, y_name: str, diagonal: bool = False
) -> str:
    """Draw curves of scores over shares in [0, 1].

    Parameters
    ----------
    title, x_name, y_name
        Titles of the figure and of each axis.
    curves
        Points (x, y) of each curve, or (x, y, low, high) with an interval.
    diagonal
        Draw the diagonal too, and both axes from 0 to 1.
    """
    points = [point for curve in curves.values() for point in curve]
    x = Axis(0.0, 1.0, _LEFT, _RIGHT, 0.25)
    y = Axis(0.0, 1.0, _BOTTOM, _TOP, 0.25)
    if not diagonal:
        y = axis_over([value for point in points for value in point[1:]], _BOTTOM, _TOP, least=0.02)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_RIGHT + 180:.0f} {_BOTTOM + 50:.0f}" '
        f'width="{_RIGHT + 180:.0f}" font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_RIGHT + 180:.0f}" height="{_BOTTOM + 50:.0f}" fill="white"/>',
        f'<text x="{_LEFT:.0f}" y="20">{escape(title)}</text>',
    ]
    for at, text in x.ticks:
        drawn.append(f'<line x1="{at:g}" x2="{at:g}" y1="{_TOP:g}" y2="{_BOTTOM:g}" stroke="#e5e5e5"/>')
        drawn.append(f'<text x="{at:g}" y="{_BOTTOM + 16:g}" text-anchor="middle">{text}</text>')
    for at, text in y.ticks:
        drawn.append(f'<line x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{at:g}" y2="{at:g}" stroke="#e5e5e5"/>')
        drawn.append(f'<text x="{_LEFT - 6:g}" y="{at + 4:g}" text-anchor="end">{text}</text>')
    if diagonal:
        drawn.append(f'<path d="M{_LEFT:g} {_BOTTOM:g}L{_RIGHT:g} {_TOP:g}" stroke="#bbbbbb" stroke-dasharray="4 3"/>')
    middle = (_LEFT + _RIGHT) / 2
    drawn.append(f'<text x="{middle:g}" y="{_BOTTOM + 36:g}" text-anchor="middle">{escape(x_name)}</text>')
    drawn.append(
        f'<text transform="translate(16 {(_TOP + _BOTTOM) / 2:g}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_name)}</text>"
    )
    for place, ((name, curve), colour) in enumerate(zip(curves.items(), _COLOURS, strict=False)):
        drawn += _curve(curve, x, y, colour)
        top = _TOP + 14 + 18 * place
        drawn.append(f'<path d="M{_RIGHT + 8:g} {top - 4:g}h18" stroke="{colour}" stroke-width="2"/>')
        drawn.append(f'<text x="{_RIGHT + 30:g}" y="{top:g}">{escape(name)}</text>')
    return "\n".join([*drawn, "</svg>"])


def _curve(curve: Sequence[tuple[float, ...]], x: Axis, y: Axis, colour: str) -> list[str]:
    """Draw one curve with its points and intervals."""
    line = " ".join(f"{x.at(point[0]):g},{y.at(point[1]):g}" for point in curve)
    drawn = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for point in curve:
        at = x.at(point[0])
        if len(point) > 2:
            drawn.append(f'<path d="M{at:g} {y.at(point[2]):g}V{y.at(point[3]):g}" stroke="{colour}"/>')
        drawn.append(
            f'<circle cx="{at:g}" cy="{y.at(point[1]):g}" r="3" fill="{colour}">'
            f"<title>{point[0]:.3f}: {point[1]:.3f}</title></circle>"
        )
    return drawn
