"""Cost of distance matrices by number of pages."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from blockml.cli.output import note, write_output
from blockml.datasets import open_dataset
from blockml.templates.distances import METRICS, distance_matrix, sketch
from research.benchmarks.templates.common import Row, cpu_seconds, parsed, stratified, table

LINE = 12  # height of a line of text in pixels


def times_section(corpora: Path, options: argparse.Namespace) -> Row:
    """Measure the time of sketches and matrices for increasing numbers of pages."""
    pages = open_dataset(corpora / "sites").pages
    order = stratified([page.site for page in pages], options.seed)[: max(options.sizes)]
    trees = [parsed(pages[place]) for place in order]
    sketches = [sketch(page) for page in trees]
    sizes = [size for size in options.sizes if size <= len(trees)]
    curves: dict[str, list[float | None]] = {
        "sketches": [cpu_seconds(lambda: [sketch(page) for page in trees[:size]]) for size in sizes]  # noqa: B023
    }
    for name in METRICS:
        distance_matrix(sketches[:2], name)  # import modules before timing
        curve: list[float | None] = []
        for size, before in zip(sizes, [0, *sizes], strict=False):
            # The number of pairs is quadratic.
            expected = (curve[-1] or 0) * (size / before) ** 2 if curve and curve[-1] is not None else 0.0
            skipped = bool(curve and curve[-1] is None) or expected > options.limit
            some = sketches[:size]
            curve.append(None if skipped else cpu_seconds(lambda: distance_matrix(some, name)))  # noqa: B023
        curves[name] = curve
        note(f"times: {name}")
    rows = [{"": name, **dict(zip(map(str, sizes), values, strict=True))} for name, values in curves.items()]
    print(f"\n### CPU seconds by number of pages ({mean(map(len, sketches)):.0f} elements a page on average)\n")
    print(table(rows))
    largest = max(i for i in range(len(sizes)) if all(values[i] is not None for values in curves.values()))
    ratios = {
        name: f"{(values[largest] or 0) / (curves['cp'][largest] or 1e-9):.2f}" for name, values in curves.items()
    }
    print(f"At {sizes[largest]} pages, as multiples of cp: " + ", ".join(f"{n} {r}" for n, r in ratios.items()) + "\n")
    write_output(picture(sizes, curves), f"{options.out}/times.svg")
    return {"sizes": sizes, "seconds": curves}


def picture(sizes: Sequence[int], curves: Mapping[str, Sequence[float | None]]) -> str:
    """Draw seconds against pages, both on logarithmic axes."""
    width, height, left, top = 520, 360, 60, 40
    colours = ("#888", "#1f5fa8", "#c0392b", "#d98500", "#27865a", "#7d3fa8", "#222", "#6ab0e8")
    seconds = [value for values in curves.values() for value in values if value]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))

    def x(size: float) -> float:
        span = math.log(sizes[-1] / sizes[0]) or 1.0
        return left + width * math.log(size / sizes[0]) / span

    def y(value: float) -> float:
        return top + height * (high - math.log10(value)) / max(high - low, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 120} {top + height + 40}" '
        'font-family="sans-serif" font-size="11">',
        "<title>CPU seconds for a matrix of distances, by number of pages</title>",
        f'<rect width="{left + width + 120}" height="{top + height + 40}" fill="white"/>',
        f'<text x="{left}" y="20">CPU seconds for all distances between pages, by number of pages</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<line x1="{left}" x2="{left + width}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e5e5e5"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    parts += [f'<text x="{x(s):.1f}" y="{top + height + 18}" text-anchor="middle">{s}</text>' for s in sizes]
    labels: list[tuple[float, float]] = []
    for (name, values), colour in zip(curves.items(), colours, strict=False):
        points = [(x(size), y(value)) for size, value in zip(sizes, values, strict=True) if value]
        if points:
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            a, b = points[-1]
            while any(a == c and abs(b - d) < LINE for c, d in labels):  # keep labels apart
                b -= 1
            labels.append((a, b))
            parts.append(f'<text x="{a + 6:.1f}" y="{b + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"])
