"""Content code blurring."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.ccb import ACCB, CCB, TCCB, blur
from blockml.extractors.heuristics.token_stream import token_stream
from blockml.page import Page, Status
from tests.strategies import messy_html, slow_words

METHODS = (CCB, ACCB, TCCB)

#: Two menu entries, ten words of content and a comment.
TOKENS = "<div><a>Home</a> <a>News</a></div><p>w1 w2 w3 w4 w5 w6 w7 w8 w9 w10</p><div>c1</div>"

#: Replaces every letter and digit by another one of the same kind.
_OTHER = str.maketrans(
    string.ascii_letters + string.digits + "世界",
    string.ascii_lowercase[1:] + "a" + string.ascii_uppercase[1:] + "A" + string.digits[1:] + "0" + "界世",
)


def vector(extractor: CCB, html: str) -> str:
    """Return the content (1) and code (0) entries of a page."""
    stream = extractor._stream(blockml.parse(html))
    lengths = extractor._lengths(stream, stream.tokens())
    return "".join(("0" if tag else "1") * int(n) for tag, n in zip(stream.is_tag.tolist(), lengths, strict=True))


def slow_scores(extractor: CCB, page: Page) -> list[float]:
    """Return the scores of blocks with words, computed entry by entry and word by word."""
    stream = token_stream(page, extractor.view)
    entries: list[int] = []  # 1 for content
    runs: list[list[int]] = [[]]  # entries of each run of texts
    words: list[tuple[int, int, list[int]]] = []  # block, run, entries
    for name, text, n_chars, block in zip(
        stream.names, stream.texts, stream.n_chars.tolist(), stream.block, strict=True
    ):
        if name:
            if type(extractor) is CCB or name not in ("a", "/a"):
                entries += [0] * (1 if isinstance(extractor, TCCB) else n_chars)
                runs.append([])
            continue
        here = len(entries)
        pieces = slow_words(text, "cjk")
        place = 0
        for number, piece in enumerate(pieces):
            place = text.index(piece, place)
            own = (
                [here + number] if isinstance(extractor, TCCB) else list(range(here + place, here + place + len(piece)))
            )
            words.append((int(block), len(runs) - 1, own))
            place += len(piece)
        size = len(pieces) if isinstance(extractor, TCCB) else n_chars
        runs[-1] += range(here, here + size)
        entries += [1] * size
    sigma = extractor.sigma or extractor.radius / 3
    ratios, _ = blur(np.array(entries, dtype=float), extractor.radius, sigma, extractor.eps, extractor.max_iter)
    reached: dict[int, list[float]] = {}
    for block, run, own in words:
        of_word = max(ratios[runs[run]]) if extractor.keep_blocks else ratios[own].mean()
        reached.setdefault(block, []).append(float(of_word))
    scores = []
    for block in range(len(page.blocks)):
        ranked = sorted(reached.get(block, []), reverse=True)
        scores.append(ranked[(len(ranked) - 1) // 2] if ranked else -1)
    return scores


def test_characters_and_tokens_of_small_pages() -> None:
    """Characters of tags are code and spaces between words are content, and anchors count or are ignored."""
    assert vector(CCB(), "<p>ab</p>") == "000110000"
    assert vector(CCB(), "<p>ab <a>cd</a> ef</p>") == "0001110001100001110000"
    assert vector(ACCB(), "<p>ab <a>cd</a> ef</p>") == "000111111110000"
    assert vector(TCCB(), "<p>ab <a>cd</a> ef</p>") == "01110"
    assert vector(TCCB(), TOKENS) == "0110011111111110010"


def test_an_anchor_splits_a_text_only_if_it_counts() -> None:
    """If anchors are ignored, the three texts of the paragraph share the largest ratio."""
    page = blockml.parse("<p>ab <a>cd</a> ef</p>")
    for extractor, n_runs in ((CCB(), 3), (ACCB(), 1), (TCCB(), 1)):
        stream = extractor._stream(page)
        separates = extractor._separates(stream)
        assert len(set(np.cumsum(separates)[~stream.is_tag].tolist())) == n_runs


def test_ten_words_between_menu_and_comment() -> None:
    """After one round and after convergence, only the ten words are kept."""
    page = blockml.parse(TOKENS)
    once = TCCB(radius=2, sigma=1, max_iter=1).score(page)
    np.testing.assert_allclose(once, [0.684097, 1.0, 0.425822], atol=1e-6)
    settled = TCCB(radius=2, sigma=1, eps=0.01).score(page)
    np.testing.assert_allclose(settled, [0.621772, 0.845574, 0.551722], atol=1e-6)
    entries = np.array([int(entry) for entry in vector(TCCB(), TOKENS)], dtype=float)
    assert blur(entries, 2, 1.0, 0.01, 100)[1] == 17
    for extractor in (TCCB(radius=2, sigma=1, max_iter=1), TCCB(radius=2, sigma=1)):
        assert blockml.extract(TOKENS, model=extractor).text == "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"


def test_tokens_with_anchors() -> None:
    """Tags of anchors in the vector lower the ratios of menu entries."""
    entries = np.array([int(entry) for entry in "00100100" + "0" + "1" * 10 + "0010"], dtype=float)
    ratios, _ = blur(entries, 2, 1.0, 0.01, 1)
    np.testing.assert_allclose(ratios[[2, 5, 21]], [0.402620, 0.402620, 0.425822], atol=1e-6)
    assert ratios[9:19].max() == pytest.approx(1)


def test_single_words_instead_of_blocks() -> None:
    """Each word has its mean ratio, and a block the ratio that half of its words reach."""
    page = blockml.parse(TOKENS)
    words = TCCB(radius=2, sigma=1, max_iter=1, keep_blocks=False).score(page)
    assert words[0] == pytest.approx(0.684097, abs=1e-6)
    assert words[1] == pytest.approx(1)
    page = blockml.parse("<p>ab cd</p>")
    ratios, _ = blur(np.array([0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0], dtype=float), 2, 1.0, 0.01, 1)
    means = sorted([ratios[3:5].mean(), ratios[6:8].mean()])
    assert CCB(radius=2, sigma=1, max_iter=1, keep_blocks=False).score(page)[0] == pytest.approx(means[1])
    assert CCB(radius=2, sigma=1, max_iter=1).score(page)[0] == pytest.approx(ratios[3:8].max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("keep_blocks", [True, False])
def test_a_text_without_tags_is_content(method: type[CCB], keep_blocks: bool) -> None:  # noqa: FBT001
    """Without code every ratio is 1."""
    for text in ("just a text", "x", "--"):
        scores = method(keep_blocks=keep_blocks).score(blockml.parse(text))
        assert scores.tolist() == [1.0]


@pytest.mark.parametrize("method", METHODS)
def test_pages_without_text_have_no_scores(method: type[CCB]) -> None:
    """Pages without text, or with only a title, have no scores."""
    for html in ("", "<p></p><div><br></div>", "<title>Only a title</title>"):
        assert method().score(blockml.parse(html)).shape == (0,)


@pytest.mark.parametrize("method", METHODS)
def test_short_content_is_kept_with_min_words(method: type[CCB]) -> None:
    """A page with only short content keeps nothing by default, and its best block with ``min_words``."""
    rows = "<div class='row first'><span class='cell'><a href=/x>Link</a></span></div>" * 20
    html = f"{rows}<p class='short'>One short sentence is all there is.</p>{rows}"
    assert blockml.extract(html, model=method()).status is Status.NO_CONTENT
    rescued = blockml.extract(html, model=method(min_words=5))
    assert rescued.text == "One short sentence is all there is."
    assert rescued.status is Status.OK


@pytest.mark.parametrize("method", METHODS)
def test_min_words_adds_one_block_if_words_are_missing(method: type[CCB]) -> None:
    """Only the score of the added block changes, and pages with enough words are unchanged."""
    page = blockml.parse(f"<p>{'word ' * 99}</p>" + "<ul><li><a href=/>Home</a></li></ul>" * 20)
    plain = method().score(page)
    kept = plain >= 0.75
    assert kept.sum() >= 1
    assert not kept.all()
    n_kept = int(page.blocks.n_words[kept].sum())
    assert np.array_equal(method(min_words=n_kept).score(page), plain)
    rescued = method(min_words=n_kept + 1).score(page)
    assert (rescued != plain).sum() == 1
    assert rescued[rescued != plain].tolist() == [0.75]
    assert np.array_equal(method(min_words=1000, threshold=0).score(page), plain)


def test_the_best_block_has_words_and_ratio() -> None:
    """A sentence with a medium ratio is added before a word with a high ratio."""
    scores, n_words = np.array([0.7, 0.6, 0.1], dtype=np.float32), np.array([1, 20, 30])
    np.testing.assert_allclose(CCB(min_words=5)._rescued(scores, n_words), [0.7, 0.75, 0.1], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_texts_without_words_follow_their_surroundings(method: type[CCB]) -> None:
    """A row of stars is content inside an article, but not inside a menu."""
    article, menu = f"<p>{'word ' * 99}</p>", "<div class=entry><a href=/x>x</a></div>" * 30
    page = blockml.parse(f"{menu}<hr><p>* * *</p><hr>{menu}{article}<p>* * *</p>{article}")
    scores = method().score(page)
    stars = [number for number, text in enumerate(page.blocks.texts) if text == "* * *"]
    assert scores[stars[0]] < 0.75 <= scores[stars[1]]


@settings(max_examples=40, deadline=None)
@given(messy_html, st.sampled_from(METHODS), st.booleans(), st.sampled_from(["raw", "tree"]))
def test_scores_of_any_page_equal_the_slow_ones(html: str, method: type[CCB], keep_blocks: bool, view: str) -> None:  # noqa: FBT001
    """Scores are in [0, 1], reproducible and equal to those of a loop over entries."""
    page = blockml.parse(html)
    extractor = method(radius=7, keep_blocks=keep_blocks, view=view)
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))
    expected = np.array(slow_scores(extractor, page))
    np.testing.assert_allclose(scores[expected >= 0], expected[expected >= 0], atol=1e-6)


_texts = st.text(alphabet=string.ascii_letters + string.digits + " .,-—é世界", max_size=120)
_elements = st.tuples(st.sampled_from(["p", "div", "li", "a href=/", "b", "span class=x", "h1", "pre", "td"]), _texts)


@settings(max_examples=40, deadline=None)
@given(st.lists(_elements, max_size=25), st.sampled_from(METHODS), st.booleans())
def test_only_counts_matter(elements: list[tuple[str, str]], method: type[CCB], keep_blocks: bool) -> None:  # noqa: FBT001
    """Replacing every letter and digit doesn't change the scores."""
    first, second = (
        blockml.parse("".join(f"<{tag}>{text.translate(table)}</{tag.split()[0]}>" for tag, text in elements))
        for table in ({}, _OTHER)
    )
    extractor = method(keep_blocks=keep_blocks)
    assert np.array_equal(extractor.score(first), extractor.score(second))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("parameter", "value", "legal"),
    [
        ("radius", 0, "a whole number from 1 to 500"),
        ("radius", 2.5, "a whole number from 1 to 500"),
        ("sigma", 0, "None or a number from 0.1 to 1000"),
        ("eps", 0, "a number from 0.0001 to 1"),
        ("max_iter", 0, "a whole number from 1 to 1000"),
        ("threshold", 1.5, "a number from 0 to 1"),
        ("threshold", None, "a number from 0 to 1"),
        ("keep_blocks", "yes", "one of True, False"),
        ("view", "dom", "one of raw, tree"),
        ("min_words", -1, "a whole number from 0 to 1e\\+06"),
    ],
)
def test_illegal_values_name_the_legal_ones(method: type[CCB], parameter: str, value: Any, legal: str) -> None:
    """The error is raised when a value is set or when a page is scored."""
    with pytest.raises(UsageError, match=f"'{parameter}' of {method.name} must be {legal}"):
        method().set_params(**{parameter: value})
    with pytest.raises(UsageError, match=legal):
        method(**{parameter: value}).score(blockml.parse("<p>text</p>"))


def test_ids_name_changed_parameters() -> None:
    """The id contains only parameters that differ from their defaults."""
    assert [method().id for method in METHODS] == ["ccb", "accb", "tccb"]
    assert TCCB(radius=18, keep_blocks=False).id == "tccb(radius=18, keep_blocks=False)"
    assert TCCB(radius=25).id == "tccb"


@pytest.mark.parametrize("method", METHODS)
def test_sigma_is_a_third_of_the_radius(method: type[CCB]) -> None:
    """The default sigma is a third of the radius."""
    page = blockml.parse(TOKENS)
    assert np.array_equal(method(radius=12).score(page), method(radius=12, sigma=4).score(page))
    assert not np.array_equal(method(radius=12).score(page), method(radius=12, sigma=2).score(page))


def test_a_block_has_the_score_that_half_of_its_words_reach() -> None:
    """A block with forty words in one run and three in another has the ratio of the first."""
    long = "plain words " * 20
    html = f"<table><tr><td>{long}</td></tr></table><p>{long}<a href=/{'x' * 200}>{'linked ' * 3}</a></p>"
    page = blockml.parse(html)
    stream = token_stream(page)
    lengths = stream.n_chars
    ratios, _ = blur(np.repeat((~stream.is_tag).astype(float), lengths), 40, 40 / 3, 0.01, 100)
    largest = [part.max() for part in np.split(ratios, np.cumsum(lengths)[:-1])]
    scores = CCB().score(page)
    rows: NDArray[np.intp] = np.flatnonzero(stream.block == 1)
    assert len(rows) == 2
    assert scores[1] == pytest.approx(largest[int(rows[0])], abs=1e-6)
