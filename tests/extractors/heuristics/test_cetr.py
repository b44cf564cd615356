"""Tag ratios: worked examples, comparison with slow implementations, and edge cases."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors import Extractor
from blockml.extractors.heuristics.cetr import (
    CETR,
    CETRTM,
    LINE_LENGTH,
    SourceLines,
    above_deviation,
    away_from_origin,
    smooth,
    split_lines,
    steps_ahead,
)
from blockml.extractors.heuristics.token_stream import token_stream
from tests.extractors.heuristics.test_dsc import LETTERS
from tests.strategies import messy_html

BOTH: tuple[type[Extractor], ...] = (CETR, CETRTM)
RATIOS = st.lists(st.floats(0, 1000), min_size=1, max_size=30)
MENU = "<ul>\n" + "<li><a href=/>Home</a></li>\n" * 60 + "</ul>\n"
ARTICLE = "<h1>What happened</h1>\n" + ("<p>" + "Words that tell what happened there. " * 9 + "</p>\n") * 4
TEXT = "".join(f"<p>{'word ' * 13}</p>\n" for _ in range(8))


def lines_of(html: str, *, rewrap: bool = True) -> SourceLines:
    """Return the lines of a source."""
    return split_lines(token_stream(blockml.parse(html)), rewrap=rewrap)


@pytest.mark.parametrize(
    ("line", "ratios"),
    [
        ("<div><a>Home</a><a>News</a></div>", [8 / 6]),
        ("<p>Cats rule the world, really.</p>", [28 / 2]),
        ("plain text line", [15]),
        ("", []),
        ("<br><br>", [0]),
    ],
)
def test_tag_ratios_of_lines(line: str, ratios: list[float]) -> None:
    """The ratio is the number of characters divided by the number of tags, and empty lines don't count."""
    assert lines_of(line).ratio.tolist() == pytest.approx(ratios)
    assert lines_of(f"<p>ab</p>\n{line}\n<p>cd</p>").ratio.tolist() == pytest.approx([1, *ratios, 1])


def test_lines_of_the_source() -> None:
    """A text may span several lines, and white space and entities are counted after decoding."""
    lines = lines_of("<p>first\r\n   se&eacute;ond  line\r<a>third</a>\n\n</p>")
    assert lines.n_chars.tolist() == [5, 11, 5, 0]
    assert lines.n_tags.tolist() == [1, 0, 2, 1]
    assert lines.n_words.tolist() == [1, 2, 1]
    assert lines.line.tolist() == [0, 1, 2]
    assert lines.block.tolist() == [0, 0, 0]
    assert lines_of("<p>one\r\ntwo<a>three</a></p>").n_chars.tolist() == [3, 8]


def test_scripts_styles_and_comments_are_removed() -> None:
    """Scripts, styles and comments are removed with their tags, and so are lines that have nothing else."""
    html = "<p>one</p>\n<script>\nvar x = '<p>';\n</script>\n<style>\np {}\n</style>\n<!-- a\nb --><p>"
    html += "two <!-- c\n -->three</p>"
    lines = lines_of(html)
    assert lines.n_chars.tolist() == [3, 3, 5]
    assert lines.n_tags.tolist() == [2, 1, 1]


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from(["<p>", "</p>", "<b>", "</b>", "<br>", "<a href=x>", "</a>", "word ", "x", "two words", "\n"]),
        max_size=50,
    ).map("".join)
)
def test_lines_equal_those_of_a_regular_expression(html: str) -> None:
    """If parsing doesn't change the text, a regular expression per line gives the same counts."""
    expected = []
    for line in html.split("\n"):
        texts = [" ".join(text.split()) for text in re.split("<[^>]*>", line)]
        n_tags = line.count("<")
        if n_tags or any(texts):
            expected.append(sum(map(len, texts)) / max(1, n_tags))
    assert lines_of(html, rewrap=False).ratio.tolist() == pytest.approx(expected)


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from(["<p>", "<a href=/a/long/address>", "</a>", "word ", "x" * 200, "你好" * 50, "\n"]), max_size=60
    )
)
def test_long_lines_are_broken(parts: list[str]) -> None:
    """No line is longer than the limit, and breaking changes no tag or word and loses only spaces."""
    html = "<p>".join(["", "".join(parts)])
    broken, whole = lines_of(html), lines_of(html, rewrap=False)
    assert (broken.n_chars <= LINE_LENGTH).all()
    assert broken.n_tags.sum() == whole.n_tags.sum()
    assert 0 <= whole.n_chars.sum() - broken.n_chars.sum() <= len(broken.n_chars) - len(whole.n_chars)
    if "x" * 200 not in parts:
        assert broken.n_words.sum() == whole.n_words.sum()
    assert ((broken.n_chars > 0) | (broken.n_tags > 0)).all()


def test_lines_break_between_words_and_not_at_tags() -> None:
    """A long URL doesn't separate a link from its text."""
    link = f"<a href=/{'x' * 100}>a link of some words</a>"
    lines = lines_of(f"<p>{link}{link}{link}{link}</p>")
    assert lines.n_chars.tolist() == [61, 18]
    assert lines.n_tags.tolist() == [8, 2]
    assert lines_of("<p>" + "word " * 12 + "words more</p>").n_chars.tolist() == [65, 4]


@pytest.mark.parametrize("kind", BOTH)
def test_pages_without_line_breaks_work(kind: type[Extractor]) -> None:
    """Removing the line breaks of the source doesn't change which article is found."""
    html = MENU + ARTICLE + MENU
    for source in (html, html.replace("\n", "")):
        text = blockml.extract(source, model=kind()).text
        assert text.count("Words that tell") == 36
        assert text.count("Home") < 60
    assert blockml.extract(html.replace("\n", ""), model=kind().set_params(rewrap=False)).text.count("Home") == 120


@given(st.floats(0, 1000), st.integers(1, 20), st.floats(0.1, 10))
def test_smoothing_keeps_constant_values(value: float, n: int, sigma: float) -> None:
    """A constant vector is unchanged by smoothing, including its ends."""
    np.testing.assert_allclose(smooth(np.full(n, value), sigma), value)


@given(RATIOS, st.sampled_from([0.1, 0.5, 1, 2.3, 10]))
def test_smoothing_is_a_weighted_mean(values: list[float], sigma: float) -> None:
    """The weighted mean covers neighbours up to one sigma, rounded up."""
    expected = []
    for place in range(len(values)):
        near = [other for other in range(len(values)) if abs(other - place) <= math.ceil(sigma)]
        weights = [math.exp(-((other - place) ** 2) / (2 * sigma**2)) for other in near]
        total = sum(weight * values[other] for weight, other in zip(weights, near, strict=True))
        expected.append(total / sum(weights))
    np.testing.assert_allclose(smooth(np.array(values), sigma), expected, atol=1e-9)


@given(RATIOS, st.integers(1, 40))
def test_steps_are_differences_to_the_mean_of_the_next_values(values: list[float], ahead: int) -> None:
    """Near the end the mean covers the remaining values, and the last value has no step."""
    expected = [
        abs(sum(rest) / len(rest) - values[place]) if (rest := values[place + 1 : place + 1 + ahead]) else 0
        for place in range(len(values))
    ]
    np.testing.assert_allclose(steps_ahead(np.array(values), ahead), expected, atol=1e-9)


def test_the_threshold_is_the_standard_deviation_of_the_ratios() -> None:
    """The threshold is the deviation of the ratios, which is larger than that of the smoothed ratios."""
    ratio = np.array([0.0, 0.0, 10.0, 0.0, 0.0])
    assert smooth(ratio).std() < smooth(ratio)[1] < ratio.std() < smooth(ratio)[2]
    assert above_deviation(ratio).tolist() == [False, False, True, False, False]
    assert above_deviation(ratio, factor=0.5).tolist() == [False, True, True, True, False]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2)), min_size=1, max_size=15),
    st.lists(st.tuples(st.floats(29, 31), st.floats(0, 2)), min_size=1, max_size=15),
    st.lists(st.tuples(st.floats(69, 71), st.floats(9, 11)), min_size=1, max_size=15),
    st.integers(0, 9),
)
def test_distant_clusters_are_separated(
    near: list[tuple[float, float]],
    middle: list[tuple[float, float]],
    far: list[tuple[float, float]],
    random_state: int,
) -> None:
    """Of three distant clusters, all except the one at the origin are content."""
    chosen = away_from_origin(np.array(near + middle + far), n_init=10, random_state=random_state)
    assert chosen.tolist() == [False] * len(near) + [True] * (len(middle) + len(far))


def test_the_origin_stays_a_centre() -> None:
    """The centre at the origin isn't moved to its points, and may have none."""
    points = np.array([[8.0, 0], [10, 0], [12, 0], [18, 0], [18, 0], [18, 0], [60, 0]])
    assert away_from_origin(points).all()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("html", "scores"),
    [
        ("", []),
        ("<p></p>\n<br>", []),
        ("a b c", [1]),
        ("a long line of some words\nx\n\nx\ny", [1]),
        ("<p>one line</p>", [1]),
        ("<p>one</p>\n<p>two</p>", [1, 1]),
        ("你好" * 400, [1]),
    ],
)
def test_edges(kind: type[Extractor], html: str, scores: list[float]) -> None:
    """Pages without text have no scores, and pages without tags or with equal lines are kept."""
    assert kind().score(blockml.parse(html)).tolist() == scores


@pytest.mark.parametrize("kind", BOTH)
def test_ideographs_count_as_text(kind: type[Extractor]) -> None:
    """A Chinese article is found although it has no spaces at which lines could be broken."""
    menu = "<li><a href=/>首页</a></li>\n" * 12
    page = blockml.parse(f"<ul>{menu}</ul><p>{'这是一篇关于天气的文章。' * 40}</p><ul>{menu}</ul>")
    scores = kind().score(page)
    assert scores[12] > 0.9
    assert scores[:8].tolist() + scores[-8:].tolist() == [0] * 16


def test_a_block_scores_its_share_of_words_on_content_lines() -> None:
    """A block with some lines of content has a score between 0 and 1."""
    page = blockml.parse(MENU + TEXT + "<p>" + "word " * 13 + "\n" + "<a></a>x<a></a>\n" * 14 + "</p>" + MENU)
    scores = CETRTM().score(page)
    assert scores[60:68].tolist() == [1] * 8
    assert 0 < scores[68] < 1


@pytest.mark.parametrize("kind", BOTH)
@settings(max_examples=30)
@given(html=messy_html, rewrap=st.booleans())
def test_any_page_gets_scores(kind: type[Extractor], html: str, rewrap: bool) -> None:  # noqa: FBT001 (drawn)
    """Scores are reproducible float32 values in [0, 1], one per block."""
    page = blockml.parse(html)
    extractor = kind().set_params(rewrap=rewrap)
    scores = extractor.score(page)
    assert scores.dtype == np.float32
    assert scores.shape == (len(page.blocks),)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.array_equal(scores, extractor.score(page))


@pytest.mark.parametrize("kind", BOTH)
@settings(max_examples=20)
@given(html=LETTERS)
def test_letters_do_not_matter(kind: type[Extractor], html: str) -> None:
    """Replacing all letters doesn't change the scores."""
    scores = [kind().score(blockml.parse(html.replace("Q", letter))).tolist() for letter in "Qz"]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (CETR, {"rewrap": None}, "rewrap.*True, False"),
        (CETR, {"sigma": 0}, "sigma.*from 0.1 to 10"),
        (CETR, {"ahead": 0}, "ahead.*whole number from 1"),
        (CETR, {"clusters": 1}, "clusters.*whole number from 2"),
        (CETR, {"n_init": 1.5}, "n_init.*whole number from 1"),
        (CETR, {"random_state": -1}, "random_state.*whole number from 0"),
        (CETRTM, {"sigma": math.nan}, "sigma"),
        (CETRTM, {"factor": "high"}, "factor.*from 0 to 10"),
    ],
)
def test_illegal_parameters_name_the_legal_ones(
    kind: type[Extractor], parameters: dict[str, object], message: str
) -> None:
    """The error is raised when the parameter is set or when the first page is scored."""
    with pytest.raises(UsageError, match=message):
        kind(**parameters).score(blockml.parse("x"))
    with pytest.raises(UsageError, match=message):
        kind().set_params(**parameters)
