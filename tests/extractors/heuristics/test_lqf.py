"""Link quota filter: worked examples, both readings of the paper compared with slow implementations, edge cases."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.lqf import BLOCK_NODES, LQF, link_quotas
from blockml.page import Status
from blockml.parsing import PROFILES
from tests.strategies import content_nodes, messy_html, path_of

if TYPE_CHECKING:
    from blockml.page import Nodes

NESTED = "<div>abc<b>xy<a>de</a></b><p>long para</p></div>"
MENU = "<ul><li><a>Home</a></li><li><a>News</a> now</li></ul>"
SKIP = "<a>Skip to content</a><div><a>Menu</a><p>Some text</p></div>"


def quota(html: str, path: str, *, literal: bool = False) -> float:
    """Return the quota of one element below body."""
    nodes = blockml.parse(html).nodes
    node = nodes.find(f"/html/body/{path}")
    assert node is not None
    return float(link_quotas(nodes, literal=literal)[node])


@pytest.mark.parametrize(
    ("html", "path", "intended", "printed"),
    [
        ("<div>abc<a>de</a></div>", "div", 2 / 5, 2 / 7),
        (NESTED, "div", 2 / 7, 10 / 39),
        (NESTED, "div/p", 0, 0),
        (MENU, "ul/li[1]", 1, 1 / 2),
        (MENU, "ul/li[2]", 4 / 7, 4 / 11),
        (MENU, "ul", math.nan, math.nan),
        ("<a><div>abc<b>de</b></div></a>", "a/div", 1, 1),
        ("<div>ab<b><p>cde</p></b></div>", "div", 0, 0),
    ],
)
def test_link_quotas_as_intended_and_as_printed(html: str, path: str, intended: float, printed: float) -> None:
    """The worked examples have the intended and the printed quotas, and a link around a block links all of its text."""
    assert quota(html, path) == pytest.approx(intended, nan_ok=True)
    assert quota(html, path, literal=True) == pytest.approx(printed, nan_ok=True)


def test_menu_entries_are_removed_by_the_intended_quota() -> None:
    """The intended quota removes both menu entries by default, and the printed one keeps both."""
    assert blockml.extract(MENU, model=LQF()).status is Status.NO_CONTENT
    assert blockml.extract(MENU, model=LQF(literal=True)).text.split() == ["Home", "News", "now"]


def slow_length(nodes: Nodes, node: int) -> int:
    """Return the number of characters of a text in the body."""
    return len(" ".join(nodes.texts[node].split())) if node in content_nodes(nodes) else 0


def descendants(nodes: Nodes, node: int) -> list[int]:
    """Return all descendants of a node."""
    return [other for other in range(len(nodes)) if other != node and node in path_of(nodes, other)]


def is_linked(nodes: Nodes, node: int) -> bool:
    """Tell whether a node is inside a link."""
    return any(nodes.name(above) == "a" for above in path_of(nodes, node))


def slow_quota(nodes: Nodes, block: int) -> float:
    """Return the linked share of the text in a block element, without nested block elements."""
    own = [
        text
        for text in descendants(nodes, block)
        if [above for above in path_of(nodes, text) if nodes.name(above) in BLOCK_NODES][-1] == block
    ]
    total = sum(slow_length(nodes, text) for text in own)
    links = sum(slow_length(nodes, text) for text in own if is_linked(nodes, text))
    return links / total if total else math.nan


def slow_printed_quota(nodes: Nodes, node: int, known: dict[int, float]) -> float:
    """Return the quota of the printed algorithm, implemented line by line."""
    if node not in known:
        rest = descendants(nodes, node)
        total, links = 0.0, 0.0
        while rest:
            below = rest.pop(0)
            if nodes.name(below) in BLOCK_NODES:
                rest = [other for other in rest if other not in descendants(nodes, below)]
                continue
            text = sum(slow_length(nodes, other) for other in [below, *descendants(nodes, below)])
            total += text
            if nodes.name(below) == "a":
                links += text
            elif nodes.name(below) != "#text" and not math.isnan(inner := slow_printed_quota(nodes, below, known)):
                links += inner * text
        known[node] = links / total if total else math.nan
        if total and nodes.name(node) in BLOCK_NODES and is_linked(nodes, node):
            known[node] = 1.0
    return known[node]


@settings(max_examples=40)
@given(messy_html)
@example(NESTED)
@example("<a><div>a<b>b</b></div></a>c</html>d")
def test_quotas_equal_slow_references(html: str) -> None:
    """Both readings equal slow references, and are undefined at the same nodes."""
    nodes = blockml.parse(html).nodes
    intended, printed = link_quotas(nodes), link_quotas(nodes, literal=True)
    known: dict[int, float] = {}
    for node in range(len(nodes)):
        if nodes.name(node) in BLOCK_NODES:
            assert intended[node] == pytest.approx(slow_quota(nodes, node), nan_ok=True)
            assert printed[node] == pytest.approx(slow_printed_quota(nodes, node, known), nan_ok=True)
        else:
            assert np.isnan(intended[node])
            assert np.isnan(printed[node])


@settings(max_examples=40)
@given(messy_html, st.sampled_from(sorted(PROFILES)), st.booleans())
@example(SKIP, "anchor", False)  # noqa: FBT003 (hypothesis passes them by position)
def test_scores_come_from_the_block_elements_around_each_text(html: str, profile: str, literal: bool) -> None:  # noqa: FBT001
    """A block scores 1 minus the quota of the block element around its texts, or minus the largest quota above them."""
    page = blockml.parse(html, profile=profile)
    quotas = link_quotas(page.nodes, literal=literal)
    alone = LQF(literal=literal).score(page)
    along = LQF(literal=literal, remove_subtree=True).score(page)
    for block in page.blocks:
        for text in range(block.node, block.last_node + 1):
            if page.nodes.tag[text] == 0:
                chain = [above for above in path_of(page.nodes, text) if page.nodes.name(above) in BLOCK_NODES]
                takes = [above for above in chain[:-1] if page.nodes.name(above) not in {"html", "body"}]
                assert alone[block.index] == pytest.approx(1 - quotas[chain[-1]])
                assert along[block.index] == pytest.approx(1 - np.nanmax(quotas[[*takes, chain[-1]]]))


def test_elements_in_a_removed_one_are_kept_by_default() -> None:
    """Text in a removed division is kept unless ``remove_subtree`` is set, which doesn't apply to the body."""
    assert blockml.extract(SKIP, model=LQF()).text == "Some text"
    assert blockml.extract(SKIP, model=LQF(remove_subtree=True)).status is Status.NO_CONTENT
    assert blockml.extract("<a>Skip</a><p>Some text", model=LQF(remove_subtree=True)).text == "Some text"


@pytest.mark.parametrize("limit", [0, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1])
def test_a_block_with_exactly_the_quota_is_kept(limit: float) -> None:
    """A block is kept if its linked share is at most the quota."""
    shares = [(linked, total) for total in range(1, 41) for linked in range(total + 1)]
    html = "".join(f"<p>{'x' * (total - linked)}<a>{'y' * linked}</a>" for linked, total in shares)
    result = blockml.extract(html, model=LQF(quota=limit))
    assert result.kept.tolist() == [linked / total <= limit for linked, total in shares]


def test_the_quota_determines_the_threshold() -> None:
    """The default threshold is 1 minus the quota."""
    assert LQF().default_threshold == 0.5
    assert LQF(0.25).default_threshold == 0.75


def test_edge_cases() -> None:
    """Pages without links keep everything, pages of only links nothing, and pages without text have no scores."""
    plain = blockml.parse("<h1>Title</h1>text <b>bold</b><ul><li>item</ul>")
    assert LQF().score(plain).tolist() == [1.0] * len(plain.blocks)
    linked = blockml.parse("<ul><li><a>Home</a><li><a><b>News</b></a></ul><a><div>More</div></a>")
    assert LQF().score(linked).tolist() == [0.0] * len(linked.blocks)
    assert blockml.extract("", model=LQF()).status is Status.EMPTY_PAGE
    assert LQF(remove_subtree=True).score(blockml.parse("<div><img></div>")).shape == (0,)


@settings(max_examples=40)
@given(messy_html, st.booleans(), st.booleans())
def test_doubled_texts_give_equal_scores(html: str, remove_subtree: bool, literal: bool) -> None:  # noqa: FBT001
    """Doubling all texts doesn't change the scores, because quotas are shares."""
    page = blockml.parse(html)
    twice = [" ".join(text.split()) * 2 for text in page.nodes.texts]
    doubled = replace(page, nodes=replace(page.nodes, texts=twice))
    lqf = LQF(remove_subtree=remove_subtree, literal=literal)
    assert np.array_equal(lqf.score(doubled), lqf.score(page))


@pytest.mark.parametrize("literal", [False, True])
def test_deep_pages_are_scored(literal: bool) -> None:  # noqa: FBT001
    """Thousands of nested elements are scored."""
    page = blockml.parse("<b><div>" * 3000 + "text <a>link</a>" + "</div></b>" * 3000)
    scores = LQF(literal=literal, remove_subtree=True).score(page)
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize(
    ("parameters", "legal"),
    [
        ({"quota": -0.1}, "a number from 0 to 1"),
        ({"quota": 1.1}, "a number from 0 to 1"),
        ({"quota": "half"}, "a number from 0 to 1"),
        ({"quota": math.nan}, "a number from 0 to 1"),
        ({"remove_subtree": "yes"}, "one of True, False"),
        ({"literal": None}, "one of True, False"),
    ],
)
def test_illegal_parameters(parameters: dict[str, object], legal: str) -> None:
    """The error lists the legal values."""
    lqf = LQF()
    for name, value in parameters.items():
        setattr(lqf, name, value)
    with pytest.raises(UsageError, match=legal):
        lqf.score(blockml.parse("<p>text"))
