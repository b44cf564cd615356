"""Distances to words in classes, ids and roles that name parts of a page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.features.keywords import KEYWORDS, keyword_bits
from blockml.features.page_context import REACH, PageContext
from blockml.features.structure import FAR
from blockml.features.vocabulary import ROLES, vocabulary_distance
from tests.strategies import path_of


def told(html: str) -> list[dict[str, float]]:
    """Return the columns of each block in which a word was found."""
    view = PageContext(blockml.parse(html))
    columns = {name: values.tolist() for name, values in vocabulary_distance(view).items()}
    assert len(columns) == len(KEYWORDS) + len(ROLES)
    return [
        {name: values[block] for name, values in columns.items() if values[block] != FAR} for block in range(len(view))
    ]


def test_levels_to_the_nearest_word() -> None:
    """Words of classes and ids count in any case, and the nearest level is used."""
    html = "<div id=Comments><ul class='NAV'><li class=zz>one<li class='nav zz'>two</ul>three</div>four"
    assert told(html) == [
        {"clscomment": 2, "clsnavigation": 1}, {"clscomment": 2, "clsnavigation": 0}, {"clscomment": 0}, {},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "column"),
    [
        ("role=main", "rolemain"),
        ("role='presentation NAVIGATION'", "rolenav"),
        ("role=contentinfo", "roleextra"),
        ("itemprop=articleBody", "propbody"),
        ("property=headline", "prophead"),
        ("itemprop='review other'", "proppart"),
    ],
)
def test_roles_and_properties(attribute: str, column: str) -> None:
    """Whole words match, in any case."""
    assert told(f"<section {attribute}><p>one</section><p>two") == [{column: 1}, {}]


@pytest.mark.parametrize(
    "attribute", ["role=mains", "role=x-main", "itemprop=''", "role", "data-role=main", "name=nav"]
)
def test_other_attributes_are_ignored(attribute: str) -> None:
    """Parts of a role and other attributes do not match."""
    assert told(f"<p {attribute}>one") == [{}]


def test_no_role_is_in_two_groups() -> None:
    """A role in two groups would replace its earlier group."""
    words = [word for group in ROLES.values() for word in group]
    assert len(words) == len(set(words))


values = st.sampled_from(["", "nav", "Post-Comments", "main content", "zz", "related-posts", "x"])


@settings(max_examples=50)
@given(chain=st.lists(st.tuples(values, values), max_size=REACH + 8))
def test_levels_equal_those_of_walking_up(chain: list[tuple[str, str]]) -> None:
    """The levels equal those found by walking up to the maximum level."""
    html = "".join(f"<div class='{first}' id='{second}'>w" for first, second in chain)
    view = PageContext(blockml.parse(html))
    found: dict[str, Any] = dict(vocabulary_distance(view)) if len(view) else {}
    for block, parent in enumerate(view.blocks.parent.tolist()):
        above = path_of(view.nodes, parent)[::-1][:REACH]
        texts = [" ".join(view.nodes.attributes[node].get(key, "") for key in ("class", "id")) for node in above]
        for number, name in enumerate(KEYWORDS):
            levels = [level for level, value in enumerate(texts) if keyword_bits(value) >> number & 1]
            assert found[f"cls{name}"][block] == min(levels, default=FAR)
