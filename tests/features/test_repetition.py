"""Groups of similar blocks, by hand and by comparing the ancestors of each pair of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import blockml
from blockml.features.page_context import GROUPINGS, REACH, PageContext
from blockml.features.repetition import GROUP_LEVELS, like_siblings, repetition, same_path
from blockml.page import Nodes
from tests.strategies import messy_html, path_of


def columns(html: str) -> dict[str, list[float]]:
    """Return the columns of the families by name."""
    view = PageContext(blockml.parse(html))
    found = {name: values for family in (same_path, repetition, like_siblings) for name, values in family(view).items()}
    return {name: values.astype(float).tolist() for name, values in found.items()}


def test_groups_by_hand() -> None:
    """Two paragraphs, of which one starts with a link, are a group without the div between them."""
    found = columns("<p>one<div>two three</div><p><a>four</a> five")
    for name in ("path", "near"):
        assert found[f"size{name}"] == [2, 1, 2]
        assert found[f"share{name}"] == pytest.approx([3 / 5, 2 / 5, 3 / 5])
        assert found[f"density{name}"] == [1.5, 2, 1.5]
        assert found[f"links{name}"] == pytest.approx([1 / 3, 0, 1 / 3])
        assert found[f"prose{name}"] == [0, 0, 0]
        assert found[f"tight{name}"] == pytest.approx([2 / 3, 1, 2 / 3])
    assert found["sizefar"] == [3, 3, 3]
    assert found["alike0up"] == [2, 1, 2]
    assert found["wordsalike0up"] == [1.5, 2, 1.5]
    assert found["linksalike0up"] == pytest.approx([1 / 3, 0, 1 / 3])
    for k in GROUP_LEVELS[1:]:
        assert found[f"alike{k}up"] == [1, 1, 1]
        assert found[f"wordsalike{k}up"] == [5, 5, 5]


def test_classes_separate_blocks_with_equal_tags() -> None:
    """Classes of near ancestors separate the near groups, and those of distant ancestors the far groups."""
    found = columns("<p class=a>one<p class=b>two<p class=a>three")
    assert (found["sizepath"], found["sizenear"], found["sizefar"]) == ([3] * 3, [2, 1, 2], [3] * 3)
    assert found["alike0up"] == [2, 1, 2]
    far = columns("".join(f"<section class={name}><div><div><p>one</div></div></section>" for name in "abb"))
    assert (far["sizenear"], far["sizefar"]) == ([3] * 3, [1, 2, 2])
    assert far["alike3up"] == [1, 2, 2]


def test_running_text_in_a_group() -> None:
    """The column is the share of running text in the words of a group."""
    assert columns("<p>" + "w " * 12 + "<p>w w w")["prosepath"] == pytest.approx([12 / 15] * 2)


def keys(nodes: Nodes, parent: int) -> dict[str, list[object]]:
    """Return what each grouping compares above a block."""
    above = path_of(nodes, parent)[::-1][:REACH]
    tags: list[object] = [nodes.name(node) for node in above]
    kinds: list[object] = [(nodes.name(node), nodes.attributes[node].get("class", "")) for node in above]
    return {"path": tags, "near": kinds[:3], "far": kinds[2:]}


@given(html=messy_html)
def test_blocks_with_equal_ancestors_have_equal_numbers(html: str) -> None:
    """Group numbers are equal if and only if the compared ancestors are."""
    view = PageContext(blockml.parse(html))
    if not len(view):
        return
    above = [keys(view.nodes, parent) for parent in view.blocks.parent.tolist()]
    found: dict[str, Any] = dict(zip(("path", *GROUPINGS), [view.path_groups, *view.block_groups], strict=True))
    for name, numbers in found.items():
        written = [repr(item[name]) for item in above]
        pairs = set(zip(written, numbers.tolist(), strict=True))
        assert len(pairs) == len(set(written)) == len(set(numbers.tolist()))


@given(html=messy_html)
def test_similar_siblings_have_the_same_parent_tag_and_class(html: str) -> None:
    """The columns equal those counted one element at a time."""
    view = PageContext(blockml.parse(html))
    if not len(view):
        return
    nodes, words = view.nodes, view.total_of(np.arange(len(view.nodes)), view.words)
    found: dict[str, Any] = dict(like_siblings(view))
    kinds = [(int(nodes.parent[i]), nodes.name(i), nodes.attributes[i].get("class", "")) for i in range(len(nodes))]
    for k in GROUP_LEVELS:
        for block, node in enumerate(view.levels((k,))[0].tolist()):
            like = [other for other in range(len(nodes)) if kinds[other] == kinds[node]]
            assert found[f"alike{k}up"][block] == len(like)
            assert found[f"wordsalike{k}up"][block] == pytest.approx(sum(words[other] for other in like) / len(like))


def test_group_numbers() -> None:
    """Each grouping has an array of small numbers, which is empty for a page without blocks."""
    view = PageContext(blockml.parse("<p class=a>one<p>two<p class=a>three"))
    found = view.block_groups
    assert len(found) == len(GROUPINGS) == 2
    assert [numbers.tolist() for numbers in found] == [[0, 1, 0], [0, 0, 0]]
    none = PageContext(blockml.parse("")).block_groups
    assert [(len(numbers), numbers.dtype) for numbers in none] == [(0, np.dtype(np.int32))] * 2
