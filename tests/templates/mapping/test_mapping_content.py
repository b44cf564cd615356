"""A page without its template: shares of blocks, the main container, and scores of templates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import blockml
from blockml.errors import UsageError
from blockml.templates.mapping import content_blocks, main_container, page_template, template_share
from blockml.text.words import find_words
from tests.strategies import content_nodes, messy_html, path_of
from tests.templates.mapping.made_trees import BIRDS, DOGS, KEY


def n_words(text: str) -> int:
    """Return the number of words in a text."""
    return len(find_words([text])[0])


def test_half_of_the_words_are_content() -> None:
    """Four of eight words are in the template, and the other four are content."""
    page = blockml.parse(KEY)
    template = page_template(page, [blockml.parse(DOGS), blockml.parse(BIRDS)])
    assert template is not None
    share = template_share(page, template.nodes)
    assert page.blocks.n_words.sum() == 8
    assert (page.blocks.n_words * share).sum() == 4
    kept = content_blocks(page, template.nodes)
    assert " ".join(page.blocks.texts[row] for row in np.flatnonzero(kept).tolist()) == "Cats Cats rule. Really."
    assert page.blocks.n_words[kept].sum() == 4


@settings(max_examples=60)
@given(messy_html)
def test_shares_of_blocks(html: str) -> None:
    """Shares of blocks equal those counted text by text."""
    page = blockml.parse(html)
    inside = np.arange(len(page.nodes)) * 7 % 3 == 0
    share, kept = template_share(page, inside), content_blocks(page, inside)
    texts = content_nodes(page.nodes)
    for block in page.blocks:
        own = [node for node in texts if block.node <= node <= block.last_node]
        weights = [n_words(page.nodes.texts[node]) for node in own]
        assert sum(weights) == block.n_words
        if not any(weights):
            weights = [1] * len(own)
        expected = sum(weight for node, weight in zip(own, weights, strict=True) if inside[node]) / sum(weights)
        assert share[block.index] == pytest.approx(expected)
        assert kept[block.index] == (share[block.index] < 0.5)


@settings(max_examples=60)
@given(messy_html)
def test_main_container_is_the_smallest(html: str) -> None:
    """No element with fewer nodes than the main container contains four fifths of the words."""
    page = blockml.parse(html)
    nodes, blocks = page.nodes, page.blocks
    remaining = np.arange(len(blocks)) % 4 != 1
    container = main_container(page, remaining)
    rows = np.flatnonzero(remaining)
    texts = [node for node in content_nodes(nodes) for row in rows if blocks.node[row] <= node <= blocks.last_node[row]]
    holds = np.zeros(len(nodes), dtype=int)
    for node in texts:
        holds[path_of(nodes, node)[:-1]] += n_words(nodes.texts[node])
    most = [node for node in range(len(nodes)) if holds[node] and 5 * holds[node] >= 4 * blocks.n_words[rows].sum()]
    assert container == (min(most, key=lambda node: (nodes.end[node] - node, -node)) if most else None)


def test_second_stage_keeps_the_main_container() -> None:
    """The second stage removes elements far from most of the words, even if they are not template."""
    page = blockml.parse("<p>Menu</p><p>stray</p><main><p>" + "word " * 20 + "</p><p>more</p></main><p>late</p>")
    inside = np.array([text == "Menu" for text in page.nodes.texts])
    assert content_blocks(page, inside).tolist() == [False, True, True, True, True]
    assert content_blocks(page, inside, second_stage=True).tolist() == [False, False, True, False, False]
    page = blockml.parse("<p>Menu</p><main><p>" + "word " * 9 + "</p><p>" + "word " * 8 + "</p></main><p>late</p>")
    inside = np.array([text == "Menu" for text in page.nodes.texts])
    assert content_blocks(page, inside, second_stage=True).tolist() == [False, True, True, False]


def test_nothing_and_all_in_the_template() -> None:
    """An empty template keeps all blocks and a full one none, even on pages without blocks."""
    for html in (KEY, "", "<p>--", "<div></div>"):
        page = blockml.parse(html)
        for second_stage in (False, True):
            empty, full = np.zeros(len(page.nodes), dtype=bool), np.ones(len(page.nodes), dtype=bool)
            assert content_blocks(page, full, second_stage=second_stage).tolist() == [False] * len(page.blocks)
            assert content_blocks(page, empty).tolist() == [True] * len(page.blocks)
    page = blockml.parse("<p>--<p>...")
    assert main_container(page, np.ones(2, dtype=bool)) is None
    assert content_blocks(page, np.zeros(len(page.nodes), dtype=bool), second_stage=True).all()


def test_masks_of_wrong_lengths_are_refused() -> None:
    """Masks must have a value for each node, or for each block."""
    page = blockml.parse(KEY)
    for function in (template_share, content_blocks):
        with pytest.raises(UsageError, match=f"{len(page.nodes)} nodes"):
            function(page, np.zeros(3, dtype=bool))
    with pytest.raises(UsageError, match=f"{len(page.blocks)} blocks"):
        main_container(page, np.zeros(3, dtype=bool))
