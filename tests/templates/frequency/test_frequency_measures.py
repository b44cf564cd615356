"""Measures: the worked examples, the same for learnt and new pages, and a slow re-computation."""

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
from blockml.templates.frequency.vectors import element_counts
from tests.templates.frequency import naive
from tests.templates.frequency.strategies import COLUMNS, PARTS, assert_same, parse_all, site_pages, texts_page

CATS = ("Home", "News", "Breaking: cats", "Cats rule.", "(c) 2008")
PAGES_OF_TEXTS = [CATS, ("Home", "News", "Dogs", "Dogs bark.", "(c) 2008"), ("Home", "News", "Birds", "(c) 2008"),
           ("Home", "Sports", "Fish")]  # fmt: skip

#: Pages of words, with the first page's two blocks as given.
PAGES_OF_WORDS = [("home news", "cat cat"), ("home news dog",), ("home news bird cat",), ("home fish",)]


def kept(page: Page, site: SiteCounts, *, include_self: bool = True) -> list[str]:
    """Texts that the document frequency keeps."""
    return [page.nodes.texts[node] for node in kept_texts(measure(page, site, include_self=include_self))]


@pytest.mark.parametrize("learnt", [True, False])
def test_document_frequencies(learnt: bool) -> None:  # noqa: FBT001
    """Document frequencies with the page and without it; the same texts are kept."""
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
    """Entropies of single words and of blocks over four pages, measured on a page that is none of them."""
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
    """The first of the four pages, learnt or not, and taken out again."""
    pages = [texts_page(*texts) for texts in PAGES_OF_WORDS]
    site = SiteCounts.learn(pages if learnt else pages[1:])
    np.testing.assert_allclose(measure(pages[0], site).entropy, [0.896241, 0.459148], atol=1e-6)
    # Three pages are left: home is on each, news on two, cat on one.
    without = measure(pages[0], site, include_self=False).entropy
    np.testing.assert_allclose(without, [(1 + np.log(2) / np.log(3)) / 2, 0], atol=1e-6)


def test_entropy_of_distinct_words() -> None:
    """With or without repetition: 'home home fish' has (1 + 1 + 0) / 3 or (1 + 0) / 2."""
    site = SiteCounts.learn([texts_page(*texts) for texts in PAGES_OF_WORDS])
    page = texts_page("home home fish")
    assert measure(page, site, include_self=False).entropy[0] == pytest.approx(2 / 3, abs=1e-6)
    assert measure(page, site, include_self=False, distinct=True).entropy[0] == pytest.approx(1 / 2, abs=1e-6)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("learnt", [True, False])
def test_block_frequencies(learnt: bool, include_self: bool) -> None:  # noqa: FBT001
    """Blocks that 0, 1, 2 and 3 of three other pages have."""
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
    """Nine of ten words in common are a cosine of .9, eight are not; elements count as well."""
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
    """Pairs that the search skips are never similar, whatever the size of its batches."""
    page, pages = texts_page(*texts), [texts_page(*other) for other in others]
    site = SiteCounts.learn([page, *pages])
    with mock.patch.object(vectors, "_CHUNK", chunk):
        found = measure(page, site)
    expected = naive.measures(naive.see(page), [naive.see(other) for other in pages])
    assert found.similar is not None
    assert found.similar.tolist() == expected["similar"]


def test_measuring_changes_nothing() -> None:
    """The template and the page are unchanged."""
    pages = parse_all(["".join(PARTS), "".join(PARTS[4:])])
    site = SiteCounts.learn(pages)
    before = {name: values.copy() for name, values in site.arrays().items()}
    first = measure(pages[0], site)
    site.updated([texts_page("new")])
    assert_same(measure(pages[0], site), first)
    for name, values in site.arrays().items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_elements_of_blocks() -> None:
    """Elements count for the block whose text comes next; those of the head and after the last text for none."""
    page = blockml.parse(
        "<head><script>1</script></head><table><tr><td><img><script>2</script>one<li>two <a>three</a></table><img>"
    )
    assert [page.blocks.texts[0], page.blocks.texts[-1]] == ["one", "two three"]
    assert element_counts(page).tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


@given(st.lists(site_pages, max_size=5), site_pages, st.booleans(), st.booleans(), st.booleans())
def test_a_learnt_page_looks_like_a_new_one(
    sources: list[str],
    source: str,
    include_self: bool,  # noqa: FBT001
    casefold: bool,  # noqa: FBT001
    mask_digits: bool,  # noqa: FBT001
) -> None:
    """Every measure, bit for bit, is the same whether the page is among those that were learnt."""
    page, others = blockml.parse(source), parse_all(sources)
    only = SiteCounts.learn([page], casefold=casefold, mask_digits=mask_digits)
    known = set(only.tables.fingerprints.tolist())
    fresh = [other for other in others if not known & set(only.contents(other).tables.fingerprints.tolist())]
    without = SiteCounts.learn(fresh, casefold=casefold, mask_digits=mask_digits)
    found = measure(page, without, include_self=include_self)
    assert_same(measure(page, without.updated([page]), include_self=include_self), found)
    assert_same(measure(page, only.updated(fresh), include_self=include_self), found)


@given(st.lists(site_pages, max_size=6), site_pages, st.booleans(), st.booleans(), st.booleans())
def test_against_slow_measures(
    sources: list[str],
    source: str,
    include_self: bool,  # noqa: FBT001
    casefold: bool,  # noqa: FBT001
    mask_digits: bool,  # noqa: FBT001
) -> None:
    """Strings, dictionaries and fractions give the same."""
    page, pages = blockml.parse(source), parse_all(sources)
    own = naive.see(page, casefold=casefold, mask_digits=mask_digits)
    others = [naive.see(other, casefold=casefold, mask_digits=mask_digits) for other in pages]
    assume(all(other.structure == own.structure for other in others if other.texts == own.texts))
    expected = naive.measures(own, others, include_self=include_self)
    site = SiteCounts.learn(pages, casefold=casefold, mask_digits=mask_digits)
    found = measure(page, site, include_self=include_self)
    assert site.n_pages == len(naive.different(others))
    for name in (*COLUMNS, "ibdf"):
        np.testing.assert_allclose(getattr(found, name), expected[name], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("keep_wordless", [True, False])
def test_signs_between_blocks(keep_wordless: bool) -> None:  # noqa: FBT001
    """A text that is in no block is counted all the same, and bears on no block."""
    page = blockml.parse("<p>|</p><p>one</p><p>*</p><p>two</p><p>-</p>", keep_wordless=keep_wordless)
    found = measure(page, SiteCounts.learn([page, texts_page("one", "|")]))
    assert found.text_pages.tolist() == [2, 2, 1, 1, 1]
    assert found.text_blocks.tolist() == ([0, 1, 2, 3, 4] if keep_wordless else [-1, 0, -1, 1, -1])
    assert found.text_share.tolist() == ([1, 1, 0.5, 0.5, 0.5] if keep_wordless else [1, 0.5])


def test_weights_are_words() -> None:
    """A link of one word in a sentence of four: (1 · 2 + 3 · 1) / (4 · 2) of the pages."""
    page = blockml.parse("<p>More about <a>cats</a> here</p>")
    found = measure(page, SiteCounts.learn([page, texts_page("cats")]))
    assert found.text_pages.tolist() == [1, 2, 1]
    assert found.text_share.tolist() == [5 / 8]
    assert found.block_share.tolist() == [1 / 2]


def test_paths() -> None:
    """Class tokens in any order and numbers in them make no other path; the page itself has no say."""
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
    """No blocks, no texts: empty columns."""
    for pages in ([], [texts_page("Home")], [blockml.parse(source)]):
        found = measure(blockml.parse(source), SiteCounts.learn(pages))
        assert {len(getattr(found, name)) for name in COLUMNS} == {0}
        assert [len(rule(found)[0]) for rule in (text_frequency, block_frequency, ibdf_rule)] == [0, 0, 0]


def test_nothing_and_one_page_learnt() -> None:
    """A page without other pages has frequency 1, and 0 without itself. No value is undefined."""
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


def test_only_other_pages_make_an_entropy() -> None:
    """Entropy needs two other pages."""
    page, other = texts_page("home cats"), texts_page("home dogs")
    site = SiteCounts.learn([page, other])
    assert measure(page, site).entropy.tolist() == [0.5]
    assert measure(page, site, include_self=False).entropy.tolist() == [0]


@given(st.lists(site_pages, max_size=3))
def test_same_text_in_other_elements(sources: list[str]) -> None:
    """If another page with the same text was counted, texts and words are exact, and other measures stay in range."""
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
    """The rest is the same."""
    page = blockml.parse("".join(PARTS))
    site = SiteCounts.learn([page, texts_page("Home")])
    short, full = measure(page, site, similar=False), measure(page, site)
    assert short.similar is None
    assert short.ibdf is None
    for name in set(COLUMNS) - {"similar"}:
        np.testing.assert_array_equal(getattr(short, name), getattr(full, name))


def test_pages_of_great_depth() -> None:
    """Paths of fifty thousand steps take no recursion and no quadratic time."""
    limits = Limits(depth=200_000)
    page = blockml.parse("<div>" * 50_000 + "deep", limits=limits)
    higher = blockml.parse("<div>" * 49_999 + "deeper", limits=limits)
    assert int(page.nodes.depth.max()) > 50_000
    found = measure(page, SiteCounts.learn([higher, page]))
    assert found.path_share.tolist() == [0]
    assert measure(page, SiteCounts.learn([higher, texts_page("x")])).n_pages == 3
