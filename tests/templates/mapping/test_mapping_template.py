"""Templates of pages: the worked example, order, votes, duplicates, and applying a stored template."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.page import Page
from blockml.templates.mapping import (
    EQUALITIES,
    PageTemplate,
    Tree,
    learnt_tree,
    map_trees,
    membership,
    page_template,
    tree_of,
)
from tests.strategies import messy_html
from tests.templates.mapping.made_trees import BIRDS, DOGS, KEY


def found(key: str, *others: str, **settings: object) -> PageTemplate:
    """Return the template of a page, which must exist."""
    template = page_template(blockml.parse(key), [blockml.parse(html) for html in others], **settings)  # type: ignore[arg-type]
    assert template is not None
    return template


def below_body(template: PageTemplate) -> list[str]:
    """Return names and texts of the template, starting at the body, each after its depth."""
    nodes = template.page.nodes
    names = [nodes.name(node) for node in range(len(nodes))]
    rows = [node for node in range(names.index("body"), len(nodes)) if template.nodes[node]]
    return [f"{nodes.depth[node]} {nodes.texts[node].strip() or names[node]}" for node in rows]


MENU_AND_FOOT = [
    "1 body", "2 div", "3 a", "4 Home", "3 a", "4 News", "3 a", "4 About", "2 div", "3 p", "4 Copyright",
]  # fmt: skip


def test_menu_and_footer_are_the_template() -> None:
    """The template is the menu and the footer, from two pages or from three in any order."""
    for others in ([DOGS], [DOGS, BIRDS], [BIRDS, DOGS], [BIRDS]):
        template = found(KEY, *others)
        assert below_body(template) == MENU_AND_FOOT
        assert template.n_pages == len(others)
        nodes = template.page.nodes
        assert [nodes.texts[n] for n in np.flatnonzero(~template.nodes & (nodes.tag == 0)).tolist()] == [
            "Cats", "Cats rule.", "Really.",
        ]  # fmt: skip


variants = st.lists(messy_html, min_size=2, max_size=4).flatmap(
    lambda pieces: st.tuples(*[st.permutations(pieces).map("<hr>".join) for _ in range(3)])
)


def test_definition_and_algorithm_differ() -> None:
    """The two paragraphs of the key page compete for that of each other page; the first page prefers one of them.

    By definition 3.3 each page has another one, and none is on both pages. By algorithm 2 the loser is gone when the
    second page comes, so its paragraph goes to the one that is left.
    """
    pages = ("<p class=a>x</p><p>x</p>", "<p class=b>x</p>", "<p>x</p>")
    definition, algorithm = found(*pages), found(*pages, successive=True)
    assert below_body(definition) == ["1 body"]
    assert below_body(algorithm) == ["1 body", "2 p", "3 x"]
    assert (definition.n_pages, algorithm.n_pages) == (2, 2)
    assert algorithm.mask.tolist() == (algorithm.votes == 2).tolist()


@settings(max_examples=60)
@given(variants, st.sampled_from(sorted(EQUALITIES)))
def test_successive_templates_are_closed_upwards(others: tuple[str, ...], preset: str) -> None:
    """A successive template is the votes of all rounds and closed upwards; for one other page both rules agree."""
    key, *rest = map(blockml.parse, [*others, "<p>other"])
    template = page_template(key, rest, equality=preset, successive=True)
    assert template is not None
    assert len(learnt_tree(template)) == template.mask.sum()
    assert template.mask.tolist() == (template.votes == template.n_pages).tolist()
    single = [page_template(key, rest[-1:], equality=preset, successive=successive) for successive in (True, False)]
    assert single[0] is not None
    assert single[1] is not None
    assert single[0].mask.tolist() == single[1].mask.tolist()


def test_a_page_that_cannot_be_mapped_is_skipped_by_the_algorithm_only() -> None:
    """Algorithm 2 skips a page with another root, while the definition requires every page."""
    assert not found(KEY, "", DOGS).mask.any()
    template = found(KEY, "", DOGS, successive=True)
    assert below_body(template) == MENU_AND_FOOT
    assert template.n_pages == 1
    assert page_template(blockml.parse(KEY), [blockml.parse("")], successive=True) is None


def test_votes_do_not_apply_to_a_successive_template() -> None:
    """A successive template refuses a minimum of votes, because every page decides."""
    with pytest.raises(UsageError, match="min_votes"):
        found(KEY, DOGS, successive=True, min_votes=2)


def test_texts_may_differ_as_published() -> None:
    """Without equal texts, as published, the template includes the texts of an article with the same structure."""
    same_shape = KEY.replace("Cats rule.", "Dogs bark.").replace("Cats", "Dogs")
    published = replace(EQUALITIES["hybex"], text_equality=False)
    assert len(below_body(found(KEY, same_shape, equality=published))) == len(tree_of(blockml.parse(KEY))) - 2
    ours = below_body(found(KEY, same_shape))
    assert "4 Really." in ours
    assert not {"4 Cats", "4 Cats rule."} & set(ours)
    assert below_body(found(KEY, DOGS, equality=published)) == MENU_AND_FOOT


@pytest.mark.parametrize("preset", sorted(EQUALITIES))
def test_longer_pages_do_not_empty_the_template(preset: str) -> None:
    """The footer is in the template even if another page has more children of the body."""
    pages = [
        f"<body class='post-{n}'>{'<p>text ' * n}<div id=foot class=foot><a href=/>Home</a></div>" for n in (6, 9, 14)
    ]
    pages = [page.replace("text", f"text {key}") for key, page in zip("abc", pages, strict=True)]
    assert below_body(found(*pages, equality=preset))[-3:] == ["2 div", "3 a", "4 Home"]


@settings(max_examples=40)
@given(variants, st.sampled_from(sorted(EQUALITIES)))
def test_order_of_pages_does_not_matter(others: tuple[str, ...], preset: str) -> None:
    """Votes do not depend on the order of the pages."""
    key, *rest = map(blockml.parse, [*others, "<p>other"])
    templates = [page_template(key, order, equality=preset) for order in permutations(rest)]
    assert all(template is not None for template in templates)
    votes = {tuple(template.votes.tolist()) for template in templates if template is not None}
    assert len(votes) == 1


@settings(max_examples=60)
@given(variants, st.sampled_from(sorted(EQUALITIES)), st.sampled_from([None, 1, 2, 5]))
def test_templates_are_closed_upwards(others: tuple[str, ...], preset: str, min_votes: int | None) -> None:
    """Templates are closed upwards, and votes equal those of single mappings at any threshold."""
    key, *rest = map(blockml.parse, [*others, "<p>other"])
    template = page_template(key, rest, equality=preset, min_votes=min_votes)
    assert template is not None
    part = learnt_tree(template)
    assert len(part) == template.mask.sum()
    assert (template.nodes.sum(), template.nodes.shape) == (template.mask.sum(), (len(key.nodes),))
    needed = min(min_votes or template.n_pages, template.n_pages)
    assert template.mask.tolist() == (template.votes >= needed).tolist()
    seen = {page.source: page for page in reversed(rest)}
    own = tree_of(key)
    votes = np.zeros(len(own), dtype=int)
    for page in rest:
        if page.blocks.texts != key.blocks.texts and seen[page.source] is page:
            votes += map_trees(own, tree_of(page), preset) >= 0
    assert template.votes.tolist() == votes.tolist()


def test_duplicates_are_skipped() -> None:
    """Copies of the key page, even with other markup, and copies of each other are skipped."""
    key, copy, dogs = blockml.parse(KEY), blockml.parse(KEY.replace("<p>", "<p class=x>")), blockml.parse(DOGS)
    assert page_template(key, []) is None
    assert page_template(key, [key, copy]) is None
    template = page_template(key, [copy, dogs, dogs], min_votes=2)
    assert template is not None
    assert (template.n_pages, template.votes.max(), below_body(template)) == (1, 1, MENU_AND_FOOT)


def test_votes_of_some_pages() -> None:
    """A page without the menu removes it if all pages must agree, but not if two of three suffice."""
    others = [DOGS, BIRDS, "<body><p>Not found</p></body>"]
    assert below_body(found(KEY, *others)) == ["1 body"]
    assert below_body(found(KEY, *others, min_votes=2)) == MENU_AND_FOOT
    assert below_body(found(KEY, *others, min_votes=9)) == ["1 body"]
    with pytest.raises(UsageError, match="at least 1"):
        found(KEY, DOGS, min_votes=0)


def test_empty_pages_have_templates() -> None:
    """An empty key page has an empty template, and an empty page among others leaves nothing."""
    assert found("", KEY).mask.tolist() == []
    assert found(KEY, "").mask.any() == np.False_
    assert page_template(blockml.parse(""), [blockml.parse("<div></div>")]) is None
    assert len(learnt_tree(found("", KEY))) == 0


def test_stored_templates_are_applied() -> None:
    """A stored template is applied to a page that it was not learnt from."""
    template = found(KEY, DOGS)
    stored = Tree.from_arrays(*learnt_tree(template).arrays())
    new = blockml.parse(BIRDS)
    inside = membership(new, stored)
    assert [new.nodes.texts[node] for node in np.flatnonzero(inside & (new.nodes.tag == 0)).tolist()] == [
        "Home", "News", "About", "Copyright",
    ]  # fmt: skip
    assert membership(template.page, stored).tolist() == template.nodes.tolist()
    assert membership(blockml.parse(""), stored).tolist() == []
    script = blockml.parse("<script>x</script>" + KEY)
    assert not membership(script, stored)[script.nodes.named({"script"})].any()


def articles_of(corpora: Path, site: str, numbers: list[int]) -> list[Page]:
    """Return some of the articles of a site."""
    folder = corpora / "sites"
    with gzip.open(folder / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if (row["site"], row["layout"]) == (site, "article")]
    files = [(folder / "pages" / f"{rows[number]['id']}.html.gz").read_bytes() for number in numbers]
    return [blockml.parse(gzip.decompress(content)) for content in files]


@pytest.mark.corpora
@pytest.mark.parametrize("preset", ["hybex", "blockml"])
def test_templates_of_a_real_site(corpora: Path, preset: str) -> None:
    """The template of a Chinese blog includes its menu, side bar and footer, but not the article."""
    key, *others = articles_of(corpora, "jobbym", [0, 10, 20, 29])
    template = page_template(key, others, equality=preset)
    assert template is not None
    nodes = key.nodes
    inside = {nodes.texts[node].strip() for node in np.flatnonzero(template.nodes & (nodes.tag == 0)).tolist()}
    assert {"首页", "归档", "标签", "发表于", "站点概览"} <= inside
    longest = max(range(len(key.blocks)), key=lambda row: len(key.blocks.texts[row]))
    assert not template.nodes[key.blocks.node[longest]]
