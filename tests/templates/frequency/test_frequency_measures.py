"""Measures: worked examples, equality for learnt and new pages, and comparison with slow code."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import blockml
from blockml.page import Page
from blockml.parsing import Limits
from blockml.templates.frequency import (
    SiteCounts,
    block_frequency,
    ibdf_rule,
    kept_texts,
    measure,
    text_frequency,
    vectors,
)
from blockml.templates.frequency.site_counts import contents_of
from blockml.templates.frequency.vectors import element_counts
from tests.templates.frequency import naive
from tests.templates.frequency.strategies import COLUMNS, PARTS, assert_same, parse_all, site_pages, texts_page

pytestmark = pytest.mark.exhaustive

CATS = ("Home", "News", "Breaking: cats", "Cats rule.", "(c) 2008")
PAGES_OF_TEXTS = [CATS, ("Home", "News", "Dogs", "Dogs bark.", "(c) 2008"), ("Home", "News", "Birds", "(c) 2008"),
           ("Home", "Sports", "Fish")]  # fmt: skip

#: Pages of words; the first page has two blocks.
PAGES_OF_WORDS = [("home news", "cat cat"), ("home news dog",), ("home news bird cat",), ("home fish",)]


def kept(page: Page, site: SiteCounts, *, include_self: bool = True) -> list[str]:
    """Return the texts that the document frequency keeps."""
    return [page.nodes.texts[node] for node in kept_texts(measure(page, site, include_self=include_self))]


@pytest.mark.parametrize("learnt", [True, False])
def test_document_frequencies(learnt: bool) -> None:  # noqa: FBT001
    """Document frequencies with and without the page are as expected and keep the same texts."""
    pages = [texts_page(*texts) for texts in PAGES_OF_TEXTS]
    site = SiteCounts.learn(pages if learnt else pages[1:])
    found = measure(pages[0], site)
    assert (found.n_pages, found.text_pages.tolist()) == (4, [4, 3, 1, 1, 3])
    assert found.text_share.tolist() == [1, 0.75, 0.25, 0.25, 0.75]
    without = measure(pages[0], site, include_self=False)
    assert (without.n_pages, without.text_pages.tolist()) == (3, [3, 2, 0, 0, 2])
    assert without.text_share == pytest.approx([1, 0.667, 0, 0, 0.667], abs=5e-4)
    for include_self in (True, False):
        assert kept(pages[0], site, include_self=include_self) == ["Breaking: cats", "Cats rule."]
    for rule in (text_frequency, block_frequency):
        assert (rule(found)[0] >= 0.5).tolist() == [False, False, True, True, False]


def test_entropies() -> None:
    """Entropies of words and blocks over four pages are as expected on a page that is not one of them."""
    site = SiteCounts.learn([texts_page(*texts) for texts in PAGES_OF_WORDS])
    blocks = {
        "home": 1, "news": 0.792481, "cat": 0.459148, "dog": 0, "bird": 0, "fish": 0, "home news": 0.896241,
        "cat cat": 0.459148, "home cat dog": 0.486383, "unheard of": 0,
    }  # fmt: skip
    found = measure(texts_page(*blocks), site, include_self=False)
    assert found.n_pages == 4
    np.testing.assert_allclose(found.entropy, list(blocks.values()), atol=1e-6)


@pytest.mark.parametrize("learnt", [True, False])
def test_entropies_without_the_page_itself(learnt: bool) -> None:  # noqa: FBT001
    """Entropies of a page, learnt or not, can be computed with and without the page itself."""
    pages = [texts_page(*texts) for texts in PAGES_OF_WORDS]
    site = SiteCounts.learn(pages if learnt else pages[1:])
    np.testing.assert_allclose(measure(pages[0], site).entropy, [0.896241, 0.459148], atol=1e-6)
    # Of the three remaining pages, home is on each, news on two, cat on one.
    without = measure(pages[0], site, include_self=False).entropy
    np.testing.assert_allclose(without, [(1 + np.log(2) / np.log(3)) / 2, 0], atol=1e-6)


def test_entropy_of_repeated_words() -> None:
    """The entropy of 'home home fish' is (1 + 1 + 0) / 3."""
    site = SiteCounts.learn([texts_page(*texts) for texts in PAGES_OF_WORDS])
    page = texts_page("home home fish")
    assert measure(page, site, include_self=False).entropy[0] == pytest.approx(2 / 3, abs=1e-6)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("learnt", [True, False])
def test_block_frequencies(learnt: bool, include_self: bool) -> None:  # noqa: FBT001
    """Blocks on 0, 1, 2 and 3 of three other pages have the expected inverse frequencies."""
    page = texts_page("alone here", "on one other", "with two more", "all have this")
    texts = ["on one other", "with two more", "all have this"]
    pages = [texts_page(*texts[place:], f"own {place}") for place in range(3)]
    site = SiteCounts.learn([*pages, page] if learnt else pages)
    found = measure(page, site, include_self=include_self)
    assert found.similar is not None
    assert found.similar.tolist() == [0, 1, 2, 3]
    assert found.ibdf == pytest.approx([1, 0.5, 0.333333, 0.25], abs=1e-6)
    scores, reasons = ibdf_rule(found)
    assert (scores >= 0.5).tolist() == [True, True, False, False]
    assert reasons[2] == "like blocks of 2 of 3 other pages"


def test_similar_blocks_need_not_be_equal() -> None:
    """Blocks with nine of ten words in common, a cosine of .9, are similar; elements count like words."""
    words = "a b c d e f g h i j".split()
    pages = [texts_page(" ".join([*words[:9], "x"])), texts_page(" ".join([*words[:8], "x", "y"]))]
    page = texts_page(" ".join(words))
    for number, site in ((1, SiteCounts.learn(pages)), (0, SiteCounts.learn(pages[1:]))):
        found = measure(page, site)
        assert found.similar is not None
        assert found.similar.tolist() == [number]
    pictures = blockml.parse("<img><img><img><p>" + " ".join(words))
    found = measure(pictures, SiteCounts.learn([page]))
    assert found.similar is not None
    assert found.similar.tolist() == [0]  # 10 / (sqrt(10) · sqrt(19)) = .73


few_words = st.lists(st.text("abcdef", min_size=1, max_size=14).map(" ".join), min_size=1, max_size=5)


@given(st.lists(few_words, min_size=1, max_size=6), few_words, st.sampled_from([1, 7, 2**17]))
def test_similar_blocks_against_all_pairs(others: list[list[str]], texts: list[str], chunk: int) -> None:
    """Similar blocks equal those found by comparing all pairs, for any size of batches."""
    page, pages = texts_page(*texts), [texts_page(*other) for other in others]
    site = SiteCounts.learn([page, *pages])
    with mock.patch.object(vectors, "_CHUNK", chunk):
        found = measure(page, site)
    expected = naive.measures(naive.see(page), [naive.see(other) for other in pages])
    assert found.similar is not None
    assert found.similar.tolist() == expected["similar"]


def test_measuring_changes_nothing() -> None:
    """Measuring changes neither the counts nor the page."""
    pages = parse_all(["".join(PARTS), "".join(PARTS[4:])])
    site = SiteCounts.learn(pages)
    before = {name: values.copy() for name, values in site.arrays().items()}
    first = measure(pages[0], site)
    site.updated([texts_page("new")])
    assert_same(measure(pages[0], site), first)
    for name, values in site.arrays().items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_elements_of_blocks_count_for_the_next_text() -> None:
    """An element counts for the block whose text follows it; those in the head or after the last text are ignored."""
    page = blockml.parse(
        "<head><script>1</script></head><table><tr><td><img><script>2</script>one<li>two <a>three</a></table><img>"
    )
    assert [page.blocks.texts[0], page.blocks.texts[-1]] == ["one", "two three"]
    assert element_counts(page).tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


@given(st.lists(site_pages, max_size=5), site_pages, st.booleans())
def test_measures_of_a_learnt_page_are_those_of_a_new_one(
    sources: list[str],
    source: str,
    include_self: bool,  # noqa: FBT001
) -> None:
    """Every measure of a page is bit-identical whether or not the page was learnt."""
    page, others = blockml.parse(source), parse_all(sources)
    only = SiteCounts.learn([page])
    known = set(only.fingerprints.tolist())
    fresh = [other for other in others if not known & set(contents_of(other).counts.fingerprints.tolist())]
    without = SiteCounts.learn(fresh)
    found = measure(page, without, include_self=include_self)
    assert_same(measure(page, without.updated([page]), include_self=include_self), found)
    assert_same(measure(page, only.updated(fresh), include_self=include_self), found)


@given(st.lists(site_pages, max_size=6), site_pages, st.booleans())
def test_against_slow_measures(
    sources: list[str],
    source: str,
    include_self: bool,  # noqa: FBT001
) -> None:
    """Measures equal those of slow code with strings, dictionaries and fractions."""
    page, pages = blockml.parse(source), parse_all(sources)
    own = naive.see(page)
    others = [naive.see(other) for other in pages]
    assume(all(other.structure == own.structure for other in others if other.texts == own.texts))
    expected = naive.measures(own, others, include_self=include_self)
    site = SiteCounts.learn(pages)
    found = measure(page, site, include_self=include_self)
    assert site.n_pages == len(naive.different(others))
    for name in (*COLUMNS, "ibdf"):
        np.testing.assert_allclose(getattr(found, name), expected[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("keep_wordless", [True, False])
def test_signs_between_blocks(keep_wordless: bool) -> None:  # noqa: FBT001
    """A text outside of all blocks is counted but does not affect any block."""
    page = blockml.parse("<p>|</p><p>one</p><p>*</p><p>two</p><p>-</p>", keep_wordless=keep_wordless)
    found = measure(page, SiteCounts.learn([page, texts_page("one", "|")]))
    assert found.text_pages.tolist() == [2, 2, 1, 1, 1]
    assert found.text_blocks.tolist() == ([0, 1, 2, 3, 4] if keep_wordless else [-1, 0, -1, 1, -1])
    assert found.text_share.tolist() == ([1, 1, 0.5, 0.5, 0.5] if keep_wordless else [1, 0.5])


def test_texts_weigh_by_words() -> None:
    """Texts weigh by words: one word on 2 of 4 pages and three on 1 give (1 · 2 + 3 · 1) / (4 · 2)."""
    page = blockml.parse("<p>More about <a>cats</a> here</p>")
    found = measure(page, SiteCounts.learn([page, texts_page("cats")]))
    assert found.text_pages.tolist() == [1, 2, 1]
    assert found.text_share.tolist() == [5 / 8]
    assert found.block_share.tolist() == [1 / 2]


def test_paths() -> None:
    """The order of class tokens and numbers in them don't change a path, and the page itself is left out."""
    pages = parse_all(
        [f"<div class='post p{n}' id=c{n}><p>About <a>number</a> {n}.</p></div><i>Same</i>" for n in range(4)]
    )
    page = blockml.parse("<div class='p99 post' id=c99><p>New</p></div><i>Same</i><b>Only here</b><p>Other place</p>")
    for site in (SiteCounts.learn(pages), SiteCounts.learn([*pages, page])):
        found = measure(page, site)
        assert found.path_share.tolist() == [1, 1, 0, 0]
        assert found.path_novelty.tolist() == [1, 0, 1, 1]
        assert found.path_words.tolist() == [3, 1, 0, 0]
        assert found.path_links.tolist() == pytest.approx([1 / 3, 0, 0, 0])


@pytest.mark.parametrize("source", ["", "<title>Cats</title>", "<img><table></table>"])
def test_pages_without_text(source: str) -> None:
    """Pages without text have empty columns and scores."""
    for pages in ([], [texts_page("Home")], [blockml.parse(source)]):
        found = measure(blockml.parse(source), SiteCounts.learn(pages))
        assert {len(getattr(found, name)) for name in COLUMNS} == {0}
        assert [len(rule(found)[0]) for rule in (text_frequency, block_frequency, ibdf_rule)] == [0, 0, 0]


def test_nothing_and_one_page_learnt() -> None:
    """Without other pages, a page has frequency 1 with itself and 0 without; no value is undefined."""
    page = texts_page("Home", "--")
    for site in (SiteCounts.learn([]), SiteCounts.learn([page])):
        found = measure(page, site)
        assert (found.n_others, found.n_pages) == (0, 1)
        assert found.text_share.tolist() == found.block_share.tolist() == [1, 1]
        without = measure(page, site, include_self=False)
        assert without.n_pages == 0
        assert without.text_share.tolist() == without.block_share.tolist() == [0, 0]
        assert without.text_pages.tolist() == [0, 0]
        for one in (found, without):
            assert one.entropy.tolist() == one.path_share.tolist() == [0, 0]
            assert one.path_novelty.tolist() == [1, 1]
            assert one.similar is not None
            assert one.similar.tolist() == [0, 0]


def test_entropy_needs_other_pages() -> None:
    """Entropy needs at least two other pages."""
    page, other = texts_page("home cats"), texts_page("home dogs")
    site = SiteCounts.learn([page, other])
    assert measure(page, site).entropy.tolist() == [0.5]
    assert measure(page, site, include_self=False).entropy.tolist() == [0]


@given(st.lists(site_pages, max_size=3))
def test_same_text_in_other_elements(sources: list[str]) -> None:
    """If the same text was counted in other elements, measures of texts are exact and others stay in range."""
    page, variant = (
        blockml.parse("<p>See <a>cats</a> too.</p><p>Home"),
        blockml.parse("<i>See </i><b>cats</b> too.<h1>Home"),
    )
    others = parse_all(sources)
    found, expected = (measure(page, SiteCounts.learn([one, *others])) for one in (variant, page))
    assert found.n_pages == expected.n_pages
    for name in ("text_pages", "text_share", "entropy", "similar"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in ("block_share", "path_share", "path_novelty", "path_links"):
        values = getattr(found, name)
        assert ((values >= 0) & (values <= 1)).all(), name
    assert (found.path_words >= 0).all()


def test_similar_blocks_can_be_left_out() -> None:
    """Without similar blocks the other measures are unchanged."""
    page = blockml.parse("".join(PARTS))
    site = SiteCounts.learn([page, texts_page("Home")])
    short, full = measure(page, site, similar=False), measure(page, site)
    assert short.similar is None
    assert short.ibdf is None
    for name in set(COLUMNS) - {"similar"}:
        np.testing.assert_array_equal(getattr(short, name), getattr(full, name))


def test_pages_of_great_depth() -> None:
    """Paths of fifty thousand steps are measured without recursion and without quadratic time."""
    limits = Limits(depth=200_000)
    page = blockml.parse("<div>" * 50_000 + "deep", limits=limits)
    higher = blockml.parse("<div>" * 49_999 + "deeper", limits=limits)
    assert int(page.nodes.depth.max()) > 50_000
    found = measure(page, SiteCounts.learn([higher, page]))
    assert found.path_share.tolist() == [0]
    assert measure(page, SiteCounts.learn([higher, texts_page("x")])).n_pages == 3
