"""Weighted and tree-aware content code blurring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.ccb import ACCB, CCB, TreeCCB, WeightedCCB, _around, blur
from blockml.page import Page
from tests.strategies import messy_html, path_of

METHODS = (WeightedCCB, TreeCCB)
WORDS = "some plain words without any markup in between "


def slow_around(page: Page, size: list[int], content: list[float], prior: float) -> list[float]:
    """Return the ratio of the element around each block, computed from the outermost element inwards."""
    nodes, holders = page.nodes, page.blocks.parent.tolist()
    paths = [path_of(nodes, holder) for holder in holders]
    result = []
    for path in paths:
        ratio, outer_size = sum(content) / sum(size), None
        for element in path:
            inside = [number for number, other in enumerate(paths) if element in other]
            own_size = sum(size[number] for number in inside)
            if own_size != outer_size:
                ratio = (sum(content[number] for number in inside) + prior * ratio) / (own_size + prior)
            outer_size = own_size
        result.append(ratio)
    return result


@settings(max_examples=25, deadline=None)
@given(messy_html, st.sampled_from(METHODS), st.booleans(), st.booleans())
def test_any_page_gets_scores(html: str, method: type[WeightedCCB], keep_blocks: bool, attributes: bool) -> None:  # noqa: FBT001
    """Scores are reproducible float32 values in [0, 1], one per block."""
    page = blockml.parse(html)
    extractor = method(radius=7, keep_blocks=keep_blocks, attributes=attributes)
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))


@pytest.mark.parametrize("method", METHODS)
def test_edge_cases(method: type[WeightedCCB]) -> None:
    """A page without tags is content, and a menu isn't."""
    assert method().score(blockml.parse("just a text")).tolist() == [1.0]
    assert method().score(blockml.parse("<p></p>")).shape == (0,)
    menu = "<ul class=menu><li class=entry><a href=/>Home</a></ul>" * 9
    assert (method().score(blockml.parse(menu)) < 0.75).all()
    assert method(min_words=1).score(blockml.parse(menu)).max() == np.float32(0.75)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["p", "b", "a", "div", "li"]), st.text("abc 12.é", max_size=90)), max_size=20)
)
def test_only_counts_matter(method: type[WeightedCCB], elements: list[tuple[str, str]]) -> None:
    """Replacing each letter and digit doesn't change the scores."""
    first, second = (
        blockml.parse("".join(f"<{tag} id=x>{text.translate(table)}</{tag}>" for tag, text in elements))
        for table in ({}, str.maketrans("abc12é", "bca21à"))
    )
    assert np.array_equal(method().score(first), method().score(second))


def test_without_inline_tags_it_equals_the_basic_method() -> None:
    """Without inline tags the weight has no effect."""
    page = blockml.parse(f"<div id=x><h1>Title</h1><p>{WORDS * 5}</p><ul class=menu><li>{WORDS}<li>x</ul></div>")
    for weight in (0, 0.3, 1):
        assert np.array_equal(WeightedCCB(inline_weight=weight).score(page), CCB().score(page))


def test_anchors_without_weight_are_ignored() -> None:
    """If anchors are the only inline tags, weight 0 gives the scores of ``accb``."""
    page = blockml.parse(f"<ul><li><a href=/long/address>Home</a></ul><p>{WORDS * 5}<a href=/x>{WORDS}</a> end</p>")
    assert np.array_equal(WeightedCCB(inline_weight=0).score(page), ACCB().score(page))


def test_a_larger_weight_is_more_code() -> None:
    """A larger weight lowers the scores of texts with links and of menus."""
    menu = "<li><a href=/some/address class=entry>Entry</a>"
    page = blockml.parse(f"<ul>{menu * 20}</ul><p>{f'{WORDS} <a href=/another/long/address>linked</a> ' * 9}</p>")
    scores = np.array([WeightedCCB(inline_weight=weight).score(page) for weight in (0, 0.25, 0.5, 1)])
    assert (np.diff(scores[:, [5, 20]], axis=0) < 0).all()


def test_inline_tags_do_not_end_a_text() -> None:
    """Words in an inline tag with long attributes belong to the text around it, unlike words after an image."""
    long = "x" * 300
    for tag, joined in (("b", True), ("img", False)):
        page = blockml.parse(f"<p>{WORDS * 9}<{tag} class={long}>few</{tag}><{tag} class={long}></p>")
        flat = WeightedCCB()._stream(page)
        assert WeightedCCB()._separates(flat)[2] != joined


def test_ratios_of_inline_tags_are_ignored() -> None:
    """The largest ratio of a line is that of a text, even if a tag between two texts has a larger one."""
    far = f"<hr class={'x' * 300}>"
    page = blockml.parse(f"{far}one<b class={'x' * 80}></b>two{far}")
    flat = WeightedCCB()._stream(page)
    entries = np.repeat((~flat.is_tag).astype(float), WeightedCCB()._lengths(flat, flat.tokens()))
    ratios, _ = blur(entries, 40, 40 / 3, 0.01, 100)
    assert ratios.max() > ratios[entries == 1].max()
    np.testing.assert_allclose(WeightedCCB().score(page), ratios[entries == 1].max(), rtol=1e-6)


def test_attributes_can_be_ignored() -> None:
    """With ``attributes=False`` a page scores as if its tags had none."""
    bare = f"<ul><li><a>Home</a></li></ul><p>{WORDS * 4}<b>bold</b></p>"
    dressed = (
        bare.replace("<li", "<li class='entry first'").replace("<a", "<a href=/index.html").replace("<b", "<b id=b")
    )
    without, ignored = (WeightedCCB(attributes=False).score(blockml.parse(html)) for html in (bare, dressed))
    assert np.array_equal(without, ignored)
    assert WeightedCCB().score(blockml.parse(dressed))[0] < ignored[0]


def test_without_prior_the_tree_does_not_matter() -> None:
    """Without a prior, ``dccb`` equals ``wccb``."""
    page = blockml.parse(f"<div><h1 class=headline>Title</h1><p>{WORDS * 9}</p></div><div>{'<p>x</p>' * 30}</div>")
    np.testing.assert_allclose(TreeCCB(prior=0).score(page), WeightedCCB().score(page), rtol=1e-6)
    assert not np.array_equal(TreeCCB().score(page), WeightedCCB().score(page))


def test_short_blocks_follow_their_element() -> None:
    """A line scores higher in an article than among teasers, and the score of a long text hardly changes."""
    line = "<p class='lead'>A line of some length, no more.</p>"
    teaser = "<div class=teaser><a href=/some/long/address class=link>Teaser</a></div>"
    page = blockml.parse(f"<div>{line}<p>{WORDS * 20}</p>{line}</div><div>{teaser * 99}{line}{teaser * 99}</div>")
    weighted, tree = WeightedCCB().score(page), TreeCCB().score(page)
    lines = [number for number, text in enumerate(page.blocks.texts) if text.startswith("A line")]
    assert (tree[lines] > weighted[lines]).tolist() == [True, True, False]
    assert abs(tree[1] - weighted[1]) < 0.05


@settings(max_examples=25, deadline=None)
@given(messy_html, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 10.0, 100.0]))
def test_ratios_of_elements_equal_the_slow_ones(html: str, seed: int, prior: float) -> None:
    """A walk down from the root gives the same ratio for each block."""
    page = blockml.parse(html)
    if not len(page.blocks):
        return
    random = np.random.default_rng(seed)
    size = random.integers(1, 50, len(page.blocks)).astype(float)
    content = size * random.random(len(size))
    expected = slow_around(page, size.astype(int).tolist(), content.tolist(), prior)
    np.testing.assert_allclose(_around(page, size, content, prior), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("parameter", "value", "legal"),
    [
        ("inline_weight", 1.5, "a number from 0 to 1"),
        ("attributes", "no", "one of True, False"),
        ("prior", -1, "a number from 0 to"),
        ("radius", 0, "a whole number from 1 to 500"),
    ],
)
def test_illegal_values_name_the_legal_ones(parameter: str, value: Any, legal: str) -> None:
    """The error is raised when a value is set or when a page is scored."""
    with pytest.raises(UsageError, match=f"'{parameter}' of dccb must be {legal}"):
        TreeCCB().set_params(**{parameter: value})
    with pytest.raises(UsageError, match=legal):
        TreeCCB(**{parameter: value}).score(blockml.parse("<p>text</p>"))


def test_names() -> None:
    """Ids are the public names, followed by changed parameters."""
    assert [method().id for method in METHODS] == ["wccb", "dccb"]
    assert TreeCCB(prior=50, radius=30).id == "dccb(radius=30, prior=50)"
