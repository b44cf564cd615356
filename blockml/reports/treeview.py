"""A decision tree as text and as a drawing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from blockml.predictors import Trees
from blockml.reports.templating import draw, write_html

#: Maximum number of leaves listed from either end.
_MOST_LEAVES = 250

#: Width of a box and the space after it.
_COLUMN, _GAP = 136.0, 8.0


@dataclass(frozen=True, slots=True)
class TreeRow:
    """A node of a tree in pre-order."""

    node: int
    depth: int
    condition: str  #: Condition of the branch that leads here; empty at the root
    test: str  #: Test of an inner node; empty at a leaf
    value: float  #: Value of the node, or of a leaf
    n_leaves: int  #: Leaves below; 1 at a leaf
    path: str  #: All conditions from the root


def tree_rows(trees: Trees, columns: tuple[str, ...], number: int = 0, depth: int | None = None) -> list[TreeRow]:
    """Return the nodes of one tree, up to a depth; the left branch, where the test holds, first."""
    below = _leaves_below(trees, int(trees.roots[number]))
    rows: list[TreeRow] = []
    waiting: list[tuple[int, int, str, tuple[str, ...]]] = [(int(trees.roots[number]), 0, "", ())]
    while waiting:
        node, level, condition, path = waiting.pop()
        feature = int(trees.feature[node])
        name = columns[feature] if feature >= 0 else ""
        is_cut = feature >= 0 and level != depth
        holds, fails = _conditions(name, float(trees.threshold[node]))
        rows.append(
            TreeRow(
                node, level, condition, holds if feature >= 0 else "", float(trees.value[node]), below[node],
                " and ".join(path),
            )
        )  # fmt: skip
        if is_cut:
            waiting.append((int(trees.right[node]), level + 1, fails, (*path, fails)))
            waiting.append((int(trees.left[node]), level + 1, holds, (*path, holds)))
    return rows


def _conditions(name: str, threshold: float) -> tuple[str, str]:
    """Return the conditions of both branches; a column of one nominal value is tested for that value."""
    base, separator, value = name.partition("=")
    if separator and 0 <= threshold < 1:
        return f"{base} is not {value}", f"{base} is {value}"
    return f"{name} <= {threshold:.4g}", f"{name} > {threshold:.4g}"


def _leaves_below(trees: Trees, root: int) -> dict[int, int]:
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if trees.feature[node] >= 0:
            waiting += [int(trees.left[node]), int(trees.right[node])]
    below: dict[int, int] = {}
    for node in reversed(order):
        inner = trees.feature[node] >= 0
        below[node] = below[int(trees.left[node])] + below[int(trees.right[node])] if inner else 1
    return below


def tree_text(rows: list[TreeRow], *, paths: bool = False) -> str:
    """Write a tree as indented text with one line per node, or one line per leaf with its whole path.

    Examples
    --------
    >>> import numpy as np
    >>> stump = Trees(np.array([0, -1, -1], np.int32), np.array([.5, 0, 0]), np.array([1, -1, -1], np.int32),
    ...               np.array([2, -1, -1], np.int32), np.array([.4, .1, .9]), np.array([0], np.int32))
    >>> print(tree_text(tree_rows(stump, ("ld_0",))))
    all blocks: 2 leaves
      ld_0 <= 0.5: 0.1
      ld_0 > 0.5: 0.9
    """
    lines = []
    for row in rows:
        if not row.test:
            shown = row.path if paths else "  " * row.depth + row.condition
            lines.append(f"{shown or 'all blocks'}: {row.value:.4g}")
        elif not paths:
            lines.append(f"{'  ' * row.depth}{row.condition or 'all blocks'}: {row.n_leaves} leaves")
    return "\n".join(lines)


def tree_svg(rows: list[TreeRow]) -> str:
    """Draw a tree from the top; the lowest level drawn has leaves and, dashed, subtrees that were cut off."""
    # Leaves of the drawing get columns from left to right; a node is centred above its children.
    children: dict[int, list[int]] = {place: [] for place in range(len(rows))}
    above: list[int] = []
    for place, row in enumerate(rows):
        del above[row.depth :]
        if above:
            children[above[-1]].append(place)
        above.append(place)
    leaves = [place for place, below in children.items() if not below]
    x = {place: _GAP + _COLUMN * column for column, place in enumerate(leaves)}
    for place in reversed(children):  # children before their parent
        if children[place]:
            x[place] = sum(x[child] for child in children[place]) / 2
    nodes = [(row, x[place], [x[child] for child in children[place]]) for place, row in enumerate(rows)]
    return draw("tree", nodes=nodes, width=_GAP + _COLUMN * len(leaves), depth=max(row.depth for row in rows))


def write_tree(
    path: str | os.PathLike[str], drawn: list[TreeRow], whole: list[TreeRow], *, name: str, about: str
) -> Path:
    """Write a tree as a self-contained HTML file: a drawing of its upper levels, then its leaves with their paths.

    ``drawn`` are the rows of the drawn levels, ``whole`` those of the whole tree. Raises the errors of
    :func:`blockml.reports.templating.write_html`.
    """
    leaves = sorted((row for row in whole if not row.test), key=lambda row: -row.value)
    shown = leaves if len(leaves) <= 2 * _MOST_LEAVES else [*leaves[:_MOST_LEAVES], *leaves[-_MOST_LEAVES:]]
    tree = tree_svg(drawn)
    return write_html("tree.html.jinja", path, name=name, about=about, tree=tree, leaves=shown, n_leaves=len(leaves))
