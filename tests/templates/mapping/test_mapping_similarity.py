"""Similarity of nodes: worked examples, and comparison with the literal definition."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError, UsageError
from blockml.templates.mapping import EQUALITIES, NodeEquality, tree_of
from blockml.templates.mapping.similarity import _places
from tests.strategies import messy_html
from tests.templates.mapping.made_trees import Item, similarities, similarity, slow_place, slow_similarity

equalities = st.one_of(
    st.sampled_from(sorted(EQUALITIES)).map(EQUALITIES.__getitem__),
    st.builds(
        NodeEquality,
        cls=st.sampled_from([0, 0.3]),
        pos=st.sampled_from([0, 0.2]),
        att=st.sampled_from([0, 0.4]),
        chd=st.sampled_from([0, 0.5]),
        threshold=st.sampled_from([0.2, 0.6]),
        text_equality=st.booleans(),
        same_id=st.booleans(),
        same_look=st.booleans(),
        exact=st.booleans(),
        ignore_digits=st.booleans(),
        ignore_counts=st.booleans(),
    ),
)


@pytest.mark.parametrize(
    ("one", "two", "new", "old"),
    [
        (Item("p class='menu top'", 4, 0, 1), Item("p class=menu", 5, 0, 1), 0.85, 0.58),
        (Item("p", 3, 0, 1), Item("p", 3, 0, 1), 1.0, 1.0),
        (Item("p", 3, 0, 2), Item("p", 3, 1, 2), 0.8, 0.95),
        (Item("p", 3, 0, 1), Item("p", 0, 0, 1), 0.5, 0.9),
        (Item("p class=art-1", 9, 0, 1), Item("p class=art-2", 10, 0, 1), 0.85, 0.19),
        (Item("p id=x class=y", 1, 0, 3), Item("p id=x", 9, 2, 3), inf, inf),
        (Item("p class=a role=nav", 1, 0, 3), Item("p class=a role=nav", 9, 2, 3), inf, inf),
        (Item("p class=a role=nav", 1, 0, 3), Item("div class=a role=nav", 9, 2, 3), -inf, -inf),
    ],
)
def test_published_weights(one: Item, two: Item, new: float, old: float) -> None:
    """The new and the old published weights give these similarities."""
    (a, i), (b, j) = one.tree(), two.tree()
    assert similarity(a, i, b, j) == similarity(a, i, b, j, "hybex") == pytest.approx(new, abs=1e-9)
    assert similarity(a, i, b, j, "hybex-old") == pytest.approx(old, abs=1e-9)


def test_position_scores() -> None:
    """Position scores of 3 by 3, 2 by 4 and 4 by 2 siblings are as expected."""
    third = 1 / 3
    for n_a, n_b, expected in (
        (3, 3, [[1, 1 - third, third], [1 - third, 1, 1 - third], [third, 1 - third, 1]]),
        (2, 4, [[1, 1, 1, 0.5], [0.5, 1, 1, 1]]),
        (4, 2, [[1, 0.5], [1, 1], [1, 1], [0.5, 1]]),
    ):
        one, two = (tree_of(blockml.parse("<p></p>" * n)) for n in (n_a, n_b))
        only_place = NodeEquality(cls=0, chd=0, pos=1, threshold=0)
        scores = similarities(one, range(3, 3 + n_a), two, range(3, 3 + n_b), only_place)
        assert scores == pytest.approx(np.array(expected))


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_positions_against_all_positions(n_a: int, n_b: int, data: st.DataObject) -> None:
    """The closed form equals the distance to the nearest position that counts as the same, and is never 0."""
    i, j = data.draw(st.integers(0, n_a - 1)), data.draw(st.integers(0, n_b - 1))
    (place,) = _places(*(np.array([number], dtype=np.int32) for number in (i, n_a, j, n_b)))
    assert place == pytest.approx(slow_place(i, n_a, j, n_b))
    assert 0 < place <= 1


@settings(max_examples=60)
@given(messy_html, messy_html, equalities)
def test_similarities_against_their_definition(one: str, two: str, equality: NodeEquality) -> None:
    """Similarities equal their definition."""
    a, b = tree_of(blockml.parse(one)), tree_of(blockml.parse(two))
    rows_a, rows_b = range(min(12, len(a))), range(len(b))[-12:]
    matrix = similarities(a, rows_a, b, rows_b, equality)
    assert matrix.shape == (len(rows_a), len(rows_b))
    for x, i in enumerate(rows_a):
        for y, j in enumerate(rows_b):
            assert matrix[x, y] == pytest.approx(slow_similarity(a, i, b, j, equality)[0], abs=1e-9)


def test_wrong_equalities_are_refused() -> None:
    """Unknown names and settings out of range are refused."""
    tree = tree_of(blockml.parse("x"))
    with pytest.raises(UnknownNameError, match="blockml, hybex, hybex-old, label, strict"):
        similarity(tree, 0, tree, 0, "hybrid")
    with pytest.raises(UsageError, match=r"weights of a node equality must be in \[0, 1\]: pos"):
        NodeEquality(pos=1.5)
    with pytest.raises(UsageError, match="cls"):
        NodeEquality(cls=float("nan"))
    with pytest.raises(UsageError, match="threshold"):
        replace(EQUALITIES["hybex"], threshold=-1)


def test_presets_cannot_be_changed() -> None:
    """Presets are read-only, because everybody who imports them shares them."""
    with pytest.raises(TypeError):
        EQUALITIES["hybex"] = NodeEquality()  # type: ignore[index]
