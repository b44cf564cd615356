"""View of two pages and the nodes that mappings of their trees pair, as an HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blockml.reports.templating import write_html

#: Maximum rows of an outline: more make the file slow to open.
_MOST_ROWS = 4000


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A node of either page, or of both."""

    group: str  #: ``mapped``, ``renamed`` (mapped under another name), ``left`` or ``right`` (on one page only)
    left: str  #: Label on the first page; empty if it is not there
    right: str
    left_depth: int
    right_depth: int


@dataclass(frozen=True, slots=True, eq=False)
class MappedTrees:
    """Two trees in pre-order, and a mapping of the first to the second."""

    title: str  #: Name of the mapping
    left: Sequence[str]  #: (n,) labels of the first tree
    right: Sequence[str]  #: (m,)
    left_depths: NDArray[np.int64]  #: (n,)
    right_depths: NDArray[np.int64]  #: (m,)
    partner: NDArray[np.int32]  #: (n,) node of the second tree, or −1
    renamed: NDArray[np.bool_]  #: (n,) whether the mapped nodes have different names


def outline(trees: MappedTrees) -> list[OutlineRow]:
    """Merge two trees into one list in document order; nodes only on the second page follow the preceding mapped node.

    Examples
    --------
    >>> trees = MappedTrees("t", ["ul", "li"], ["ul", "p", "li"], np.array([0, 1]), np.array([0, 1, 1]),
    ...                     np.array([0, 2], np.int32), np.array([False, False]))
    >>> [(row.group, row.left, row.right) for row in outline(trees)]
    [('mapped', 'ul', 'ul'), ('right', '', 'p'), ('mapped', 'li', 'li')]
    """
    owner = np.full(len(trees.right), -1, dtype=np.int64)
    mapped = np.flatnonzero(trees.partner >= 0)
    owner[trees.partner[mapped]] = mapped
    alone: dict[int, list[int]] = {}
    last = -1
    for place, row in enumerate(owner.tolist()):
        if row >= 0:
            last = row
        else:
            alone.setdefault(last, []).append(place)
    rows: list[OutlineRow] = []

    def add_alone(after: int) -> None:
        rows.extend(
            OutlineRow("right", "", trees.right[place], 0, int(trees.right_depths[place]))
            for place in alone.get(after, ())
        )

    add_alone(-1)
    for row, place in enumerate(trees.partner.tolist()):
        depth = int(trees.left_depths[row])
        if place < 0:
            rows.append(OutlineRow("left", trees.left[row], "", depth, 0))
        else:
            group = "renamed" if trees.renamed[row] else "mapped"
            rows.append(OutlineRow(group, trees.left[row], trees.right[place], depth, int(trees.right_depths[place])))
        add_alone(row)
    return rows


def write_pair_view(
    path: str | os.PathLike[str],
    *,
    names: tuple[str, str],
    distances: Sequence[Mapping[str, object]],
    mappings: Sequence[MappedTrees],
) -> Path:
    """Write the distances of two pages and their mapped nodes side by side, in a self-contained HTML file.

    ``names`` are the names of the pages, ``distances`` rows with ``distance``, ``value`` and ``meaning``. Raises the
    errors of :func:`blockml.reports.templating.write_html`.
    """
    sections = []
    for trees in mappings:
        rows = outline(trees)
        counts = {group: sum(row.group == group for row in rows) for group in ("mapped", "renamed", "left", "right")}
        sections.append({"title": trees.title, "rows": rows[:_MOST_ROWS], "counts": counts, "n": len(rows)})
    return write_html("pairs.html.jinja", path, names=names, distances=distances, sections=sections)
