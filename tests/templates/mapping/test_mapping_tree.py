"""Trees as columns: counts, parts, and damaged files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import blockml
from blockml.errors import UsageError
from blockml.templates.mapping import Tree, map_trees, tree_of
from blockml.templates.mapping.tree import text_hashes
from tests.strategies import is_dropped, messy_html


@settings(max_examples=60)
@given(messy_html)
def test_tree_columns(html: str) -> None:
    """Counts, positions and looks are those of the page without dropped elements, counted one by one."""
    nodes = blockml.parse(html).nodes
    tree = tree_of(blockml.parse(html))
    kept = [node for node in range(len(nodes)) if not is_dropped(nodes, node)]
    assert tree.nodes.tolist() == kept
    for row, node in enumerate(kept):
        assert tree.name(row) == nodes.name(node)
        assert (kept[tree.parent[row]] if tree.parent[row] >= 0 else -1) == nodes.parent[node]
        siblings = [other for other in kept if nodes.parent[other] == nodes.parent[node]]
        assert (tree.position[row], tree.n_siblings[row]) == (siblings.index(node), len(siblings))
        assert tree.n_children[row] == sum(nodes.parent[other] == node for other in kept)
        assert tree.end[row] == row + sum(node <= other < nodes.end[node] for other in kept)
        values = nodes.attributes[node]
        own_id = tree.id_table[tree.ids[row]] if tree.ids[row] >= 0 else ""
        assert own_id == values.get("id", "").strip()
        assert tree.class_table[tree.classes[row]] == set(values.get("class", "").split())
        assert dict(tree.attribute_table[tree.attributes[row]]) == {
            key: value for key, value in values.items() if key not in {"id", "class"}
        }
        assert tree.texts[row] == (text_hashes([nodes.texts[node]])[0] if nodes.name(node) == "#text" else 0)


def test_text_hash_is_stable() -> None:
    """The hash of a normalised text, which files contain, is the same on every machine."""
    assert text_hashes([" two\n words\u00a0"])[0] == text_hashes(["two words"])[0] != text_hashes(["twowords"])[0]
    assert text_hashes(["two words"])[0] == 14727076500890504880
    assert text_hashes(["\ud800"])[0] > 0


@settings(max_examples=60)
@given(messy_html)
def test_trees_survive_a_round_trip_through_arrays(html: str) -> None:
    """A round trip through arrays restores everything but the positions on the page."""
    tree = tree_of(blockml.parse(html))
    again = Tree.from_arrays(*tree.arrays())
    assert all(np.array_equal(getattr(tree, name), getattr(again, name)) for name in Tree.__slots__ if name != "nodes")
    assert again.nodes.tolist() == [-1] * len(tree)


@settings(max_examples=60)
@given(messy_html)
def test_parts_keep_counts(html: str) -> None:
    """A part keeps its rows' counts, positions and looks, without names and ids that it doesn't use."""
    tree = tree_of(blockml.parse(html))
    mask = np.zeros(len(tree), dtype=bool)
    for row in range(len(tree)):
        mask[row] = (tree.parent[row] < 0 or mask[tree.parent[row]]) and row % 5 != 4
    part = Tree.from_arrays(*tree.restricted(mask).arrays())
    rows = np.flatnonzero(mask)
    assert tree.restricted(mask).nodes.tolist() == tree.nodes[rows].tolist()
    for new, old in enumerate(rows.tolist()):
        assert part.name(new) == tree.name(old)
        assert part.parent[new] == (np.flatnonzero(rows == tree.parent[old])[0] if tree.parent[old] >= 0 else -1)
        assert part.class_table[part.classes[new]] == tree.class_table[tree.classes[old]]
        assert part.attribute_table[part.attributes[new]] == tree.attribute_table[tree.attributes[old]]
        assert (part.ids[new] >= 0) == (tree.ids[old] >= 0)
        if part.ids[new] >= 0:
            assert part.id_table[part.ids[new]] == tree.id_table[tree.ids[old]]
    for name in ("n_children", "n_siblings", "position", "texts"):
        assert getattr(part, name).tolist() == getattr(tree, name)[rows].tolist()
    assert set(part.names[1:]) == {tree.name(row) for row in rows.tolist()} - {"#text"}
    assert len(part.id_table) == len(set(part.ids.tolist()) - {-1})


def test_parts_are_closed_upwards() -> None:
    """A row without its parent, and a mask for another tree, are refused."""
    tree = tree_of(blockml.parse("<p>text"))
    with pytest.raises(UsageError, match="without its parent"):
        tree.restricted(np.arange(len(tree)) != 3)
    with pytest.raises(UsageError, match="tree of 5 rows"):
        tree.restricted(np.ones(4, dtype=bool))


@pytest.mark.parametrize(
    ("column", "row", "value"),
    [
        ("parent", 3, 3), ("parent", 3, 4), ("parent", 0, 7), ("parent", 4, 1), ("parent", 0, -2), ("end", 3, 3),
        ("end", 3, 99), ("end", 0, 2), ("tag", 0, 99), ("tag", 0, -1), ("tag", 3, 0), ("ids", 3, -2), ("ids", 3, 5),
        ("classes", 2, -1), ("classes", 2, 9), ("attributes", 2, 9), ("n_children", 0, 1), ("position", 4, 1),
        ("position", 4, -1), ("n_siblings", 4, 0),
    ],
)  # fmt: skip
def test_damaged_columns_are_refused(column: str, row: int, value: int) -> None:
    """Rows that form no tree, and codes and positions out of range, are refused."""
    arrays, strings = tree_of(blockml.parse("<p id=a class=b>text")).arrays()
    damaged: np.ndarray[Any, Any] = arrays[column].copy()
    damaged[row] = value
    with pytest.raises(UsageError, match="tree"):
        Tree.from_arrays({**arrays, column: damaged}, strings)


def test_damaged_tables_are_refused() -> None:
    """Missing parts, wrong types and unreadable attributes are refused."""
    arrays, strings = tree_of(blockml.parse("<p id=a class=b>text")).arrays()
    for wrong_arrays in (
        {**arrays, "tag": arrays["tag"].astype(np.int64)},
        {**arrays, "texts": arrays["texts"][1:]},
        {**arrays, "end": arrays["end"].reshape(1, -1)},
        {name: column for name, column in arrays.items() if name != "end"},
    ):
        with pytest.raises(UsageError, match="tree"):
            Tree.from_arrays(wrong_arrays, strings)
    for wrong_strings in (
        {**strings, "names": ["p", *strings["names"][1:]]},
        {**strings, "names": []},
        {**strings, "class_table": ["b", "b"]},
        {**strings, "attribute_table": []},
        {**strings, "attribute_table": ["[]", "nonsense"]},
        {**strings, "attribute_table": ["[]", "[[1, 2]]"]},
        {**strings, "attribute_table": ["[]", '["abc"]']},
        {**strings, "attribute_table": ["[]", "3"]},
        {**strings, "attribute_table": ["[" * 5000]},
        {**strings, "id_table": [7]},
        {},
    ):
        with pytest.raises(UsageError, match="tree"):
            Tree.from_arrays(arrays, wrong_strings)  # type: ignore[arg-type]


def test_empty_page_has_an_empty_tree() -> None:
    """An empty page has a tree without rows, which every function on trees accepts."""
    tree = tree_of(blockml.parse(""))
    assert len(tree) == len(Tree.from_arrays(*tree.arrays())) == len(tree.restricted(np.zeros(0, dtype=bool))) == 0
    other = tree_of(blockml.parse("text"))
    assert map_trees(tree, other).tolist() == []
    assert map_trees(other, tree).tolist() == [-1] * 4
