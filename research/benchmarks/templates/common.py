"""Tables, sampling and page features shared by the sections."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import blockml
from blockml.datasets import LabelledPage
from blockml.page import Page
from blockml.templates.distances import PageSketch, sketch

#: Distances of linear cost per pair; the others are measured on a sample of a large collection.
LINEAR = ("cp", "cps", "tv", "ctss")

Row = dict[str, Any]
Labels = NDArray[np.int32]
Matrix = NDArray[np.float64]


def table(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str] | None = None) -> str:
    """Format rows as a Markdown table; ``columns`` selects and names the keys."""
    names = columns or {key: key for key in rows[0]}
    lines = [list(names.values()), ["---"] * len(names), *([_cell(row[key]) for key in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        rounded = round(value, 4) + 0.0  # no negative zero
        return f"{rounded:.4f}".replace("0.", ".", 1) if abs(rounded) < 1 else f"{rounded:.4f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def average(values: Sequence[float], form: str) -> str:
    """Format the mean of some numbers, or ``-`` if there are none."""
    return format(mean(values), form) if values else "-"


def cpu_seconds(work: Callable[[], object], rounds: int = 2) -> float:
    """Measure the CPU time of a call, the minimum of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def stratified(groups: Sequence[str], seed: int) -> list[int]:
    """Order item indices so that one of each group comes first, then a second of each, and so on."""
    chance = np.random.default_rng(seed).permutation(len(groups)).tolist()
    seen: Counter[str] = Counter()
    ranked = []
    for place in sorted(range(len(groups)), key=lambda place: chance[place]):
        ranked.append((seen[groups[place]], groups[place], place))
        seen[groups[place]] += 1
    return [place for _, _, place in sorted(ranked)]


def sketched(labelled: LabelledPage) -> tuple[PageSketch, PageSketch]:
    """Sketch a page without and with classes."""
    page = parsed(labelled)
    return sketch(page), sketch(page, classes=True)


def parsed(labelled: LabelledPage) -> Page:
    """Parse a labelled page."""
    return blockml.parse(labelled.load()[0], url=labelled.url, charset=labelled.charset)


def group_of(labelled: LabelledPage, field: str) -> str:
    """Return the site of a page, or another field of its row; empty if missing."""
    return labelled.site if field == "site" else str(labelled.extra.get(field) or "")


def layout_of(labelled: LabelledPage) -> str:
    """Return the name of the page's template within its site."""
    return str(labelled.extra.get("layout") or labelled.extra["template"])
