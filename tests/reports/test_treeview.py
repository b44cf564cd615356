"""Trees as text: every path leads to the leaf that prediction reaches."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from blockml.extractors import trained
from blockml.features import feature_set
from blockml.reports.treeview import TreeRow, tree_rows, tree_svg, tree_text

MODEL = trained("kim2013").model
TREES = MODEL.ensembles[0].trees
COLUMNS = feature_set(MODEL.features).columns


def fits(row: TreeRow, values: NDArray[np.float32]) -> bool:
    """Return whether a matrix row fulfils all conditions of a path."""
    for condition in row.path.split(" and "):
        if nominal := re.fullmatch(r"(\w+) (is not|is) (\w+)", condition):
            holds = (values[COLUMNS.index(f"{nominal[1]}={nominal[3]}")] > 0.5) == (nominal[2] == "is")
        else:
            name, sign, threshold = condition.split(" ")
            holds = (values[COLUMNS.index(name)] <= float(threshold)) == (sign == "<=")
        if not holds:
            return False
    return True


def test_paths_lead_to_the_predicted_value() -> None:
    """Exactly one leaf's path fits each row of whole numbers, and it has the predicted value."""
    rows = tree_rows(TREES, COLUMNS, depth=5)
    random = np.random.default_rng(0)
    matrix = random.integers(0, 12, (40, len(COLUMNS))).astype(np.float32)
    matrix[:, [("=" in name) for name in COLUMNS]] = 0
    whole = [row for row in rows if row.depth == 5 or not row.test]
    assert [sum(fits(row, values) for row in whole) for values in matrix] == [1] * len(matrix)
    leaves = {row.node: row for row in tree_rows(TREES, COLUMNS) if not row.test}
    assert len(leaves) == rows[0].n_leaves
    assert set(TREES.predict(matrix).tolist()) <= {row.value for row in leaves.values()}


def test_text_and_drawing_have_a_line_and_a_box_for_each_node() -> None:
    """Each node has a line of text and a box; boxes don't overlap, and subtrees below the depth limit are marked."""
    rows = tree_rows(TREES, COLUMNS, depth=3)
    assert len(tree_text(rows).splitlines()) == len(rows)
    svg = tree_svg(rows)
    assert svg.count("<rect") == len(rows)
    boxes = [(float(x), float(y)) for x, y in re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', svg)]
    for level in {y for _, y in boxes}:
        places = sorted(x for x, y in boxes if y == level)
        assert all(b - a >= 128 for a, b in pairwise(places))
    assert svg.count('class="cut"') == sum(bool(row.test) and row.depth == 3 for row in rows)


@pytest.mark.parametrize("depth", [0, 1])
def test_shallow_trees(depth: int) -> None:
    """Shallow trees, even of only a root, are written as text and drawn."""
    rows = tree_rows(TREES, COLUMNS, depth=depth)
    assert len(rows) == 2 ** (depth + 1) - 1
    assert tree_svg(rows).endswith("</svg>")
    assert tree_text(rows).startswith("all blocks: ")
