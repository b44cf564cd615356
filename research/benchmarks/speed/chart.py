"""Draws growth curves as SVG: one log-log panel per family of curves; linear cost is a horizontal line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from research.benchmarks.speed.growth import Curve, Growth

__all__ = ["picture"]

#: Size of the plot of a panel, and its margins, in pixels.
_WIDTH, _HEIGHT = 268.0, 170.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 58.0, 34.0, 16.0, 44.0
_COLUMNS = 2
_LEGEND = 46.0
#: Round numbers in a decade: 1, 2 and 5.
_DECADE = 3
#: Colours for the colour-blind (Okabe and Ito 2008), on white and on black; and dash patterns.
_STYLE = """
.ground { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #e5e5e5 }
.c0 { --c: #0072b2 } .c1 { --c: #d55e00 } .c2 { --c: #009e73 } .c3 { --c: #a0568c } .c4 { --c: #59636e }
.line { fill: none; stroke: var(--c); stroke-width: 1.8 } .dot { fill: var(--c) } .dashed { stroke-dasharray: 5 3 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #30363d }
  .c0 { --c: #56b4e9 } .c1 { --c: #f0883e } .c2 { --c: #3fc99a } .c3 { --c: #d9a0c8 } .c4 { --c: #aaaaaa }
}
"""
_COLOURS = 4
#: Maximum number of amounts that each have a tick label.
_FEW = 6
#: Suffix of dashed curves, which have the colour of the curve without the suffix.
_BROKEN, _WHOLE = ", wall", ", CPU"


def picture(growths: Sequence[Growth], heading: str) -> str:
    """Draw the curves as SVG.

    Parameters
    ----------
    growths
        Growth curves, each drawn in one panel.
    heading
        Heading above the panels.
    """
    names = list(dict.fromkeys(_colour_name(curve) for growth in growths for curve in growth.curves))
    width = _COLUMNS * (_LEFT + _WIDTH + _RIGHT)
    height = _LEGEND + math.ceil(len(growths) / _COLUMNS) * (_TOP + _HEIGHT + _BOTTOM)
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{escape(heading)}</title><style>{_STYLE}</style>",
        f'<rect class="ground" width="{width:g}" height="{height:g}"/>',
        f'<text class="text" x="{_LEFT:g}" y="18" font-weight="bold">{escape(heading)}</text>',
        *_legend(names, broken=any(curve.name.endswith(_BROKEN) for growth in growths for curve in growth.curves)),
    ]
    for place, growth in enumerate(growths):
        left = _LEFT + place % _COLUMNS * (_LEFT + _WIDTH + _RIGHT)
        top = _LEGEND + _TOP + place // _COLUMNS * (_TOP + _HEIGHT + _BOTTOM)
        drawn += [f'<g transform="translate({left:g} {top:g})">', *_panel(growth, names), "</g>"]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _colour_name(curve: Curve) -> str:
    return curve.name.removesuffix(_BROKEN).removesuffix(_WHOLE)


def _legend(names: Sequence[str], *, broken: bool) -> Iterator[str]:
    """Draw the legend in a row."""
    x = _LEFT
    for number, name in enumerate(names):
        yield f'<path class="line c{number % _COLOURS}" d="M{x:g} 34h18"/>'
        yield f'<text class="text" x="{x + 23:g}" y="38">{escape(name)}</text>'
        x += 23 + 6.4 * len(name) + 16
    if broken:
        yield f'<path class="line c4 dashed" d="M{x:g} 34h18"/>'
        yield f'<text class="text" x="{x + 23:g}" y="38">wall time</text>'


def _panel(growth: Growth, names: Sequence[str]) -> Iterator[str]:
    """Draw one plot with its axes; the origin is its upper left corner."""
    amounts = [amount for curve in growth.curves for amount in curve.amounts]
    times = [1000 * second for curve in growth.curves for second in curve.seconds]
    low_x, high_x = math.log10(min(amounts)), max(math.log10(max(amounts)), math.log10(min(amounts)) + 0.1)
    # At least a decade, so that small differences don't look large.
    low_y, high_y = _decade(min(times), max(times))

    def x(value: float) -> float:
        return round((math.log10(value) - low_x) / (high_x - low_x) * _WIDTH, 1)

    def y(value: float) -> float:
        return round((high_y - math.log10(value)) / (high_y - low_y) * _HEIGHT, 1)

    yield _text(0, -18, growth.title)
    yield _text(0, -6, f"ms for each {growth.unit}", "faint")
    for value in _ticks(low_y, high_y):
        yield f'<line class="grid" x1="0" x2="{_WIDTH:g}" y1="{y(value):g}" y2="{y(value):g}"/>'
        yield _text(-6, y(value) + 4, _short(value), "faint", "end")
    own = growth.curves[0].amounts
    for value in own if len(own) <= _FEW else _ticks(low_x, high_x):
        yield f'<line class="grid" x1="{x(value):g}" x2="{x(value):g}" y1="0" y2="{_HEIGHT:g}"/>'
        yield _text(x(value), _HEIGHT + 15, _short(value), "faint", "middle")
    yield _text(_WIDTH / 2, _HEIGHT + 31, growth.amount, "text", "middle")
    for curve in growth.curves:
        points = [(x(n), y(1000 * seconds)) for n, seconds in zip(curve.amounts, curve.seconds, strict=True)]
        yield from _line(curve, points, f"c{names.index(_colour_name(curve)) % _COLOURS}")


def _line(curve: Curve, points: Sequence[tuple[float, float]], colour: str) -> Iterator[str]:
    """Draw one curve through its points, whose tooltips have the values."""
    broken = " dashed" if curve.name.endswith(_BROKEN) else ""
    yield f'<polyline class="line {colour}{broken}" points="{" ".join(f"{x:g},{y:g}" for x, y in points)}"/>'
    for (x, y), amount, seconds in zip(points, curve.amounts, curve.seconds, strict=True):
        told = escape(f"{curve.name}, {amount:,}: {1000 * seconds:.3g} ms")
        yield f'<circle class="dot {colour}" cx="{x:g}" cy="{y:g}" r="2.4"><title>{told}</title></circle>'


def _text(x: float, y: float, text: str, look: str = "text", anchor: str = "start") -> str:
    return f'<text class="{look}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _decade(low: float, high: float) -> tuple[float, float]:
    """Return logarithms of round numbers (1, 2 or 5 times a power of ten) around all values, at least 1 apart."""
    steps = [math.log10(factor * 10.0**power) for power in range(-6, 9) for factor in (1, 2, 5)]
    first = max(place for place, step in enumerate(steps) if step <= math.log10(low) + 1e-9)
    last = min(place for place, step in enumerate(steps) if step >= math.log10(high) - 1e-9)
    if last - first < _DECADE:
        first -= (_DECADE - (last - first)) // 2
        last = first + _DECADE
    return steps[first], steps[last]


def _ticks(low: float, high: float) -> list[float]:
    """Return tick values between two logarithms: powers of ten, and also 2 and 5 times these if there are few."""
    factors = (1, 2, 5) if high - low < 2.1 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    values = [factor * 10.0**power for power in powers for factor in factors]
    return [value for value in values if low - 1e-9 <= math.log10(value) <= high + 1e-9]


def _short(value: float) -> str:
    """Format a number for an axis.

    Examples
    --------
    >>> [_short(value) for value in (0.5, 20, 5e3, 1e7)]
    ['0.5', '20', '5k', '10M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
