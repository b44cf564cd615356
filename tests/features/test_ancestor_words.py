"""Words of ancestors' tags and attributes, compared with an implementation for one block at a time."""

from __future__ import annotations

import re
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings

import blockml
from blockml.features.ancestor_words import N_HASHED_WORDS, AncestorWords, ancestor_words
from blockml.features.page_context import PageContext
from blockml.page import Page
from tests.strategies import messy_html


def words_above(page: Page, block: int) -> list[tuple[str, bool]]:
    """Return the words above a block, each with a flag for distant ancestors, by walking up from the element."""
    found = []
    chain: list[int] = []
    node = int(page.blocks.parent[block])
    while len(chain) < 4:
        chain.append(node)
        node = int(page.nodes.parent[node]) if node >= 0 else -1
    for level, element in enumerate(chain):
        words = ["<" if element < 0 else f"<{page.nodes.name(element)}"]
        for name in ("class", "id", "itemprop", "role"):
            value = page.nodes.attributes[element].get(name, "") if element >= 0 else ""
            apart = re.sub(r"([a-z])(?=[A-Z])", r"\1 ", value).lower()
            words += sorted({*(f".{part}" for part in apart.split()), *re.findall(r"[a-z]+|[0-9]+", apart)})
        found += [(word, level >= 2) for word in words]
    return found


def buckets_of(words: list[tuple[str, bool]]) -> list[int]:
    """Return the sorted numbers of the words' hash buckets."""
    return sorted(
        (crc32(word.encode("utf-8", "surrogatepass")) ^ (0x9E3779B97F4A7C15 if far else 0)) % N_HASHED_WORDS
        for word, far in words
    )


@settings(max_examples=60)
@given(html=messy_html)
def test_words_equal_those_of_one_block_at_a_time(html: str) -> None:
    """The words equal those found for one block at a time, also on malformed pages."""
    page = blockml.parse(html)
    found = ancestor_words(PageContext(page))
    assert len(found.bag) == len(page.blocks)
    for block in range(len(page.blocks)):
        bag = found.bag[block]
        assert sorted(found.hashed_words[found.starts[bag] : found.starts[bag + 1]].tolist()) == buckets_of(
            words_above(page, block)
        )


def test_blocks_with_equal_ancestors_share_a_bag() -> None:
    """Blocks with equal ancestors share one bag of words, and names are split before inner capitals."""
    page = blockml.parse("<ul class='navItems top-2'>" + "<li id=One><b>x</b>y" * 50 + "</ul><p itemprop=name>z")
    found = ancestor_words(PageContext(page))
    assert len(found.starts) == 4
    assert len(set(found.bag[:-1:2].tolist())) == 1
    assert buckets_of(words_above(page, 0)) != buckets_of(words_above(page, 1))


def test_a_page_without_blocks_has_no_bags() -> None:
    """Joining and selecting rows work for a page without blocks."""
    none = ancestor_words(PageContext(blockml.parse("")))
    some = ancestor_words(PageContext(blockml.parse("<p>one<div>two")))
    assert (len(none.bag), none.starts.tolist()) == (0, [0])
    joined = AncestorWords.join([none, some, none, some])
    assert joined.bag.tolist() == [*some.bag.tolist(), *(some.bag + 2).tolist()]
    assert np.array_equal(joined.hashed_words, np.tile(some.hashed_words, 2))
    assert len(AncestorWords.join([]).starts) == 1
    assert len(some.take(np.zeros(0, dtype=np.intp)).hashed_words) == 0


def test_selected_blocks_keep_their_words() -> None:
    """Rows are in the order of the selection and have the same words as before."""
    page = blockml.parse("<p class=a>one<p class='b c'>two<div class=a>three")
    found = ancestor_words(PageContext(page))
    rows = np.array([2, 0, 2])
    part = found.take(rows)
    assert len(part.starts) == 3
    for place, row in enumerate(rows.tolist()):
        bag, whole = part.bag[place], found.bag[row]
        assert np.array_equal(
            part.hashed_words[part.starts[bag] : part.starts[bag + 1]],
            found.hashed_words[found.starts[whole] : found.starts[whole + 1]],
        )


@pytest.mark.parametrize("value", ["x " * 100_000, "aB" * 100_000, "é" * 100_000, "1a" * 1000])
def test_endless_attributes_are_cut_off(value: str) -> None:
    """The number of words is limited for an attribute of any length."""
    found = ancestor_words(PageContext(blockml.parse(f"<p class='{value}'>one")))
    assert len(found.hashed_words) <= 4 * (1 + 4 * (8 + 32))
