"""Sums and nearest ancestors over whole trees, compared with walking from node to node."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.page.subtrees import in_blocks, nearest, nearest_above, subtree_sums, text_lengths
from tests.strategies import content_nodes, messy_html, path_of

names = st.sets(st.sampled_from(["html", "body", "div", "p", "a", "b", "li", "td", "#text"]))


@settings(max_examples=25)
@given(messy_html, names)
def test_nearest_marked_nodes(html: str, marked_names: set[str]) -> None:
    """The nearest marked nodes are those found by walking up from each node, including or excluding the node itself."""
    nodes = blockml.parse(html).nodes
    marked = nodes.named(marked_names)
    for node in range(len(nodes)):
        chain = [above for above in path_of(nodes, node) if nodes.name(above) in marked_names]
        assert nearest(nodes, marked)[node] == (chain[-1] if chain else -1)
        above = [other for other in chain if other != node]
        assert nearest_above(nodes, marked)[node] == (above[-1] if above else -1)


def test_deep_trees_are_searched() -> None:
    """Nearest ancestors are found in a tree a thousand levels deep."""
    nodes = blockml.parse("<div><b>" * 500 + "x").nodes
    assert nearest(nodes, nodes.named({"body"}))[-1] == nodes.find("/html/body")


@settings(max_examples=25)
@given(messy_html)
def test_sums_below_nodes_and_in_blocks(html: str) -> None:
    """Sums below nodes and in blocks equal those added one by one."""
    page = blockml.parse(html)
    values = np.arange(len(page.nodes)) * 37 % 11
    sums = subtree_sums(page.nodes, values)
    for node in range(len(page.nodes)):
        below = [other for other in range(len(page.nodes)) if node in path_of(page.nodes, other)]
        assert sums[node] == values[below].sum()
    texts = content_nodes(page.nodes)
    of_texts = np.where(page.nodes.tag == 0, values, 0)
    expected = [sum(values[text] for text in texts if block.node <= text <= block.last_node) for block in page.blocks]
    assert in_blocks(page.blocks, of_texts).tolist() == expected


@settings(max_examples=25)
@given(messy_html)
def test_lengths_of_texts(html: str) -> None:
    """Lengths of texts count characters with white space normalised, for the texts of blocks."""
    nodes = blockml.parse(html).nodes
    lengths = text_lengths(nodes)
    content = content_nodes(nodes)
    assert np.flatnonzero(lengths).tolist() == content
    assert [int(lengths[node]) for node in content] == [len(" ".join(nodes.texts[node].split())) for node in content]
