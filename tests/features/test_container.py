"""Candidates for the container of the content, and positions of blocks relative to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.features.container import (
    CANDIDATES,
    MOST_LEVELS,
    container,
    more_candidates,
    relative_to,
    smallest_holding,
)
from blockml.features.page_context import PageContext
from tests.strategies import messy_html, path_of

LONG = "<p>" + "word " * 12 + "</p>"
PAGE = (
    f"<header><p>Menu</p></header><main><article>{LONG * 3}</article><aside><p>side</p></aside></main>"
    "<footer>the foot</footer>"
)


def columns(html: str) -> dict[str, list[float]]:
    """Return the columns of both families by name."""
    view = PageContext(blockml.parse(html))
    found = {**container(view), **more_candidates(view)}
    return {name: np.broadcast_to(values, len(view)).astype(float).tolist() for name, values in found.items()}


def test_candidates_by_hand() -> None:
    """All candidates except main find the article, which has 36 of 40 words."""
    found = columns(PAGE)
    for name in ("half", "most", "all", "clean", "cleanall", "scored", "article"):
        assert found[f"outof{name}"] == [2, 0, 0, 0, 1, 2], name
        assert found[f"below{name}"] == [-1, 1, 1, 1, -1, -1], name
        assert found[f"off{name}"] == [-1, 0, 0, 0, 1, 2], name
        assert found[f"share{name}"] == pytest.approx([36 / 40] * 6), name
        assert found[f"prose{name}"] == [1] * 6, name
    assert found["outofmain"] == [1, 0, 0, 0, 0, 1]
    assert found["belowmain"] == [-1, 2, 2, 2, 2, -1]
    assert found["sharemain"] == pytest.approx([37 / 40] * 6)
    assert found["prosemain"] == pytest.approx([36 / 37] * 6)
    assert found["scoreup"] == pytest.approx([0.33, 1, 1, 1, 0.5, 0.33])
    assert found["scoreparent"] == [0] * 6  # a paragraph gives its score to its parent


def test_missing_candidates() -> None:
    """If a candidate doesn't exist, its columns have the values for missing candidates."""
    found = columns("<p>one<p>two three")
    for name in ("titled", "article", "main", "scored"):
        assert found[f"outof{name}"] == found[f"below{name}"] == [-2, -2]
        assert found[f"off{name}"] == [0, 0]
        assert found[f"share{name}"] == found[f"prose{name}"] == [-1, -1]
    assert found["scoreup"] == found["scoreparent"] == [0, 0]


def test_main_by_its_role() -> None:
    """Of several elements with the role main, the one with most words is chosen."""
    found = columns(f"<div role=main>one</div><div role=main>{LONG}</div><div role=note>{LONG * 2}</div>")
    assert found["offmain"] == [-1, 0, 1, 2]
    found = columns("<article>one</article><article>two three</article><article>four</article>")
    assert found["offarticle"] == [-1, 0, 1]


def test_the_title_belongs_to_the_content() -> None:
    """The container with the title is the smallest element with the h1 and half of the running text."""
    found = columns(f"<div><h1>Head</h1><div>{LONG}{LONG}</div></div><div>{LONG}</div>")
    assert found["offtitled"] == [0, 0, 0, 1]
    assert found["outoftitled"] == [0, 0, 0, 1]
    assert found["belowtitled"] == [1, 2, 2, -1]


@pytest.mark.parametrize("mark", ["<aside>", "<div class=Comments>", "<div id=sidebar>", "<nav>", "<form>"])
def test_text_in_boilerplate_elements_does_not_count(mark: str) -> None:
    """Running text in elements that are boilerplate by tag, class or id doesn't count, unless there is no other."""
    found = columns(f"<article>{LONG * 2}</article><section>{mark}{LONG * 6}")
    assert found["offclean"] == [0, 0, *range(1, 7)]
    assert found["offmost"] == [0] * 8
    assert columns(f"{mark}{LONG * 3}")["offclean"] == [0] * 3


def test_classes_of_the_whole_page_do_not_count() -> None:
    """A class of html or body doesn't make the whole page boilerplate."""
    found = columns(f"<html class=comments><body class='sidebar-left'><article>{LONG * 2}</article><aside>{LONG * 9}")
    assert found["offclean"][:3] == [0, 0, 1]


def test_paragraphs_score_by_clauses_and_length_less_links() -> None:
    """A paragraph's score counts fully for its parent, half for the next and a third for the next block element."""
    text = "word, " * 40  # a score of 1 + 40 + 2, for 239 characters and 40 clauses
    found = columns(f"<section><div><p>{text}</p></div></section><section><p>{'word ' * 12}</p></section>")
    best = 1 + 40 + 2
    assert found["scoreup"] == pytest.approx([1, (0.33 * best + 0.5) / best], rel=1e-6)
    linked = columns(f"<div>{'word ' * 12}</div><div>{'word ' * 9}<a>{'link ' * 3}</a></div>")
    assert linked["scoreparent"] == pytest.approx([1, 0.75])


@given(html=messy_html, data=st.data())
def test_relations_equal_those_of_walking_up(html: str, data: st.DataObject) -> None:
    """The columns relative to any element equal those found by walking up."""
    view = PageContext(blockml.parse(html))
    nodes = view.nodes
    elements = np.flatnonzero(nodes.tag != 0).tolist()
    if not elements:
        return
    node = data.draw(st.sampled_from(elements))
    found: dict[str, Any] = dict(relative_to(view, node))
    way = path_of(nodes, node)[::-1]
    inside = []
    for block, first in enumerate(view.blocks.node.tolist()):
        holding = [level for level, above in enumerate(way) if above <= first < nodes.end[above]]
        assert found["outof"][block] == min([*holding, len(way), MOST_LEVELS + 1])
        inside.append(holding[:1] == [0])
        depth = len(path_of(nodes, int(view.blocks.parent[block]))) - len(way)
        assert found["below"][block] == (depth if inside[-1] else -1)
    if any(inside):
        first, last = inside.index(True), len(inside) - 1 - inside[::-1].index(True)
        assert found["off"].tolist() == [min(0, i - first) + max(0, i - last) for i in range(len(inside))]
    else:
        assert (found["off"] != 0).all()


@given(html=messy_html, share=st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_the_smallest_element_with_enough_words(html: str, share: float) -> None:
    """The element has the required share of words, and none of its descendants has."""
    view = PageContext(blockml.parse(html))
    mass = view.total_of(np.arange(len(view.nodes)), view.words)[view.reached]
    place = smallest_holding(view, mass, share)
    if not view.words.any():
        assert place == -1
        return
    assert mass[place] >= share * mass.max()
    depth = view.nodes.depth[view.reached]
    assert (mass[depth > depth[place]] < share * mass.max()).all()


def test_every_candidate_has_its_columns() -> None:
    """Each candidate has five columns, and there are two columns of scores."""
    assert len(columns("<p>one")) == 5 * len(CANDIDATES) + 2
