"""Words in attributes: the C extension and Python find the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml import _kernel
from blockml.page import Attributes, attributes
from blockml.parsing import BACKENDS
from tests.reference import python_reference

WORDS = (b"ab", b"bab", b"abab", b"date")
VALUES = st.text("abdteABé ", max_size=90)
GROUPS: list[tuple[tuple[bytes, ...], bool]] = [((b"ab", b"cd"), False), ((b"cd", b"ef"), True)]


@given(st.lists(st.tuples(st.sampled_from(["a", "ab", "data-b"]), VALUES), max_size=20), st.booleans())
def test_equal_to_the_reference(attributes: list[tuple[str, str]], any_case: bool) -> None:  # noqa: FBT001
    """Words at the edges of pieces, sets and values are found once, and none is found across an edge."""
    html = "".join(f'<p {name}="{value}">x' for name, value in attributes)
    page = blockml.parse(html)
    found = page.nodes.with_words(WORDS, any_case=any_case)
    with python_reference():
        assert blockml.parse(html).nodes.with_words(WORDS, any_case=any_case) == found
    some = sorted(set[int]().union(*found.values()))
    for nodes in (page.nodes, replace(page.nodes, attributes=list(page.nodes.attributes))):
        assert nodes.with_any(WORDS, any_case=any_case) == some
    for word, own in found.items():
        text = word.decode()
        assert own == [
            node
            for node, item in enumerate(page.nodes.attributes)
            if any(text in name or text in (value.lower() if any_case else value) for name, value in item.items())
        ]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_last_attribute_has_an_end(backend: str) -> None:
    """A searched word may contain the NUL that ends a value, on each back end."""
    nodes = blockml.parse("<p id=cat role=heading>A", backend=backend).nodes
    assert nodes.with_words((b"role\0heading\0",)) == {b"role\0heading\0": nodes.indices("p").tolist()}


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_any_case_is_that_of_ascii_letters(backend: str) -> None:
    """The Kelvin sign, whose lower case is a k, is not a k, on each back end."""
    nodes = blockml.parse("<p title='\u212aat'>A<p title=KAT>B", backend=backend).nodes
    assert nodes.with_words((b"kat",), any_case=True) == {b"kat": nodes.indices("p").tolist()[1:]}


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[tuple[bytes, ...], bool]]]:
    """Declare other words, and forget the searches of the declared ones before and after."""
    monkeypatch.setattr(attributes, "_TOGETHER", GROUPS)
    attributes._search_for.cache_clear()
    yield GROUPS
    attributes._search_for.cache_clear()


def test_words_that_are_searched_together(groups: list[tuple[tuple[bytes, ...], bool]]) -> None:
    """One search finds the words of all groups, each in its own case."""
    html = "<p id=ab-CD>A<p id=cd-EF>B"
    page = blockml.parse(html)
    first, second = page.nodes.indices("p").tolist()
    expected = [{b"ab": [first], b"cd": [second]}, {b"cd": [first, second], b"ef": [second]}]
    assert [page.nodes.with_words(words, any_case=any_case) for words, any_case in groups] == expected
    assert page.nodes.with_words((b"ef",)) == {b"ef": []}
    with python_reference():
        nodes = blockml.parse(html).nodes
        assert [nodes.with_words(words, any_case=any_case) for words, any_case in groups] == expected


def test_one_search_finds_all_words(monkeypatch: pytest.MonkeyPatch, compiled: _kernel.Compiled) -> None:
    """A page is searched once for all the words that are declared together."""
    nodes = blockml.parse("<p class=comments>A").nodes
    assert isinstance(nodes.attributes, Attributes)
    nodes.attributes.searched.clear()
    searches = list[object]()

    def search(pairs: bytes, words: tuple[bytes, ...], *others: Any) -> None:
        searches.append(words)
        compiled.attribute_words(pairs, words, *others)

    kernel = SimpleNamespace(attribute_words=search, word_table=compiled.word_table)
    monkeypatch.setattr(_kernel, "compiled", kernel)
    assert len(attributes._TOGETHER) > 1
    for words, any_case in attributes._TOGETHER:
        nodes.with_words(words, any_case=any_case)
    assert len(searches) == 1


def test_wrong_arrays(compiled: _kernel.Compiled) -> None:
    """Arrays that don't fit together, short words and too many words are refused."""
    ends, found = np.array([0, 5]), np.zeros(2, np.int64)
    words = (b"da",)
    table = compiled.word_table(words, 0)
    with pytest.raises(IndexError, match="attribute sets end"):
        compiled.attribute_words(b"a\0dadada\0", words, table, (ends, found))
    with pytest.raises(IndexError, match="attribute sets end"):
        compiled.attribute_words(b"a\0\0\0\0\0da", words, table, (ends, found))
    with pytest.raises(IndexError, match="too many"):
        compiled.attribute_words(b"", words, table, (ends, found[:1]))
    with pytest.raises(IndexError, match="too many"):
        compiled.attribute_words(b"", words, table[1:], (ends, found))
    for too_many in (words * 64, words * 65):
        with pytest.raises(IndexError, match="too many"):
            compiled.word_table(too_many, 0)
        with pytest.raises(IndexError, match="too many"):
            compiled.attribute_words(b"", too_many, table, (ends, found))
    with pytest.raises(ValueError, match="two bytes"):
        compiled.word_table((b"d",), 0)
    with pytest.raises(TypeError):
        compiled.word_table(("da",), 0)  # type: ignore[arg-type]


def test_a_wrong_table_reads_nothing_beyond_the_words(compiled: _kernel.Compiled) -> None:
    """A table that says that each byte begins each of 64 words finds only the word that is there."""
    found = np.zeros(1, np.int64)
    table = b"\xff" * len(compiled.word_table((b"da",), 0))
    compiled.attribute_words(b"a\0dadada\0", (b"da",), table, (np.array([9]), found))
    assert found.tolist() == [1]
