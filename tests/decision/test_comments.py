"""Readers' comments, forums, and labels that agree with the decision."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import blockml
from blockml.decision import DecisionPolicy, Prediction
from blockml.decision.comments import consistent_labels, is_forum, readers_comments, remove_comments
from blockml.decision.decide import decide
from blockml.decision.prediction import Draft
from blockml.extractors import page_matrix, trained
from blockml.features import PageMatrix
from blockml.page import Label, Reason
from blockml.predictors import BlockTypes
from tests.models import page_without_columns, typed_page, with_labels

FEATURES = trained("default").model.features
PAGES = Path(__file__).parents[2] / "data" / "pages"
TEXT = "Cats rule the world, and nobody has ever asked them whether they like it at all. "


def scored(types: tuple[BlockTypes, PageMatrix], kept: list[bool]) -> Draft:
    """Return a page whose scores keep the given blocks."""
    block_types, matrix = types
    mask = np.array(kept)
    prediction = Prediction(mask.astype(np.float32), matrix=matrix, block_types=block_types)
    return Draft(DecisionPolicy(), matrix.context.outline, prediction, prediction.scores, mask)


def test_labels_are_predicted_lazily() -> None:
    """Labels behave like a tuple, also after pickling; a kept block is labelled as content or as a comment."""
    page = blockml.parse("<p>one<p>two<p>three<p>four<p>five")
    types, matrix = with_labels(page, [Label.MAIN, Label.COMMENT, Label.FOOTER, Label.OTHER, Label.HEADING])
    scores = np.array([0.9, 0.9, 0.9, 0.1, 0.1], np.float32)
    labels = decide(DecisionPolicy(), page, Prediction(scores, matrix=matrix, block_types=types)).labels
    expected: tuple[Label, ...] = (Label.MAIN, Label.COMMENT, Label.MAIN, Label.OTHER, Label.COMMENT)
    assert labels is not None
    assert labels == expected
    assert len(labels) == 5
    assert (labels[0], labels[-3:], list(labels)) == (expected[0], expected[-3:], list(expected))
    assert (hash(labels), repr(labels)) == (hash(expected), repr(expected))
    assert labels != expected[:-1]
    again = pickle.loads(pickle.dumps(labels))  # noqa: S301 (our own bytes)
    assert type(again) is tuple
    assert again == expected


def test_a_removed_headline_is_a_heading() -> None:
    """A removed headline without another label is a heading if most of its words are in the title."""
    page = blockml.parse("<title>Cats rule the world</title><h1>Cats rule</h1><h1>Menu</h1><p>They do.")
    others = with_labels(page, [Label.OTHER, Label.OTHER, Label.MAIN])
    assert consistent_labels(scored(others, [False, False, True])) == (
        Label.HEADING, Label.OTHER, Label.MAIN,
    )  # fmt: skip
    links = with_labels(page, [Label.NAVIGATION, Label.OTHER, Label.MAIN])
    assert consistent_labels(scored(links, [False, False, True]))[0] is Label.NAVIGATION


def test_blocks_named_as_comments_need_a_smaller_probability() -> None:
    """Blocks in elements named as comments have a separate minimum probability, unless nothing else is kept."""
    story = "Cats rule the world. " * 5
    page = blockml.parse(f"<p>{story}</p><div class=comments><p>One</p><p>Two</p></div>")
    types = typed_page(page, {Label.MAIN: [0.0] * 3, Label.COMMENT: np.log([0.25, 0.5, 0.25]).tolist()})
    of_one, of_two = 0.3, 0.2

    def comments(probability: float, named: float, kept: tuple[bool, bool, bool] = (True, True, True)) -> list[bool]:
        policy = DecisionPolicy(comment_probability=probability, named_comment_probability=named)
        one = replace(scored(types, list(kept)), policy=policy)
        labels = consistent_labels(one)
        removed = [label is Label.COMMENT and keep for label, keep in zip(labels, kept, strict=True)]
        found = readers_comments(one)
        assert removed == ([False] * 3 if found is None else found.tolist())
        return removed

    assert comments(1.0, of_two) == [False, True, True]
    assert comments(1.0, of_one) == [False, True, False]
    assert comments(1.0, 1.0) == [False, False, False]
    assert comments(of_one, 1.0) == [False, True, False]
    assert comments(1.0, of_two, (False, True, True)) == [False, False, False]


def test_comments_are_kept_if_there_is_nothing_else() -> None:
    """Comments aren't removed if no other block is kept."""
    page = blockml.parse("<p>One<p>Two")
    one = scored(with_labels(page, [Label.COMMENT, Label.COMMENT]), [True, True])
    assert readers_comments(one) is None


@pytest.mark.parametrize(("last", "is_kept"), [(Label.COMMENT, False), (Label.MAIN, True)])
def test_a_heading_of_comments_goes_with_them(last: Label, *, is_kept: bool) -> None:
    """Unless something else is kept below it."""
    page = blockml.parse(f"<div><p>{TEXT * 3}</div><section><h2>Responses</h2><p>First</p><div>Last</div></section>")
    one = scored(with_labels(page, [Label.MAIN, Label.MAIN, Label.COMMENT, last]), [True] * 4)
    remove_comments(one)
    assert one.kept.tolist() == [True, is_kept, False, is_kept]


@pytest.mark.parametrize(("n_words", "are_comments"), [(19, False), (20, True)])
def test_comments_are_kept_next_to_few_other_words(n_words: int, are_comments: bool) -> None:  # noqa: FBT001
    """If almost all kept words are comments, they are what the page is about and are kept."""
    page = blockml.parse(f"<p>{'word ' * n_words}<div><p>One<p>Two</div>")
    one = scored(with_labels(page, [Label.MAIN, Label.COMMENT, Label.COMMENT]), [True] * 3)
    assert (readers_comments(one) is not None) is are_comments


@pytest.mark.parametrize(
    ("left", "comments", "n_words", "are_comments"),
    [(0.9, 0.9, 9, True), (0.3, 0.9, 9, False), (0.3, 0.4, 9, True), (0.3, 0.4, 30, False)],
)
def test_improbable_text_is_not_what_the_page_is_about(
    left: float,
    comments: float,
    n_words: int,
    are_comments: bool,  # noqa: FBT001
) -> None:
    """Neither the text that would be left, nor short comments that the model hardly takes for content."""
    page = blockml.parse(f"<p>{'word ' * 30}<div><p>{'one ' * n_words}<p>Two</div>")
    one = scored(with_labels(page, [Label.MAIN, Label.COMMENT, Label.COMMENT]), [True] * 3)
    one = replace(one, prediction=replace(one.prediction, scores=np.array([left, comments, comments], np.float32)))
    assert (readers_comments(one) is not None) is are_comments


@pytest.mark.parametrize(("p_article", "stays"), [(0.4, False), (0.5, True)])
def test_the_body_of_an_article_is_not_a_comment(p_article: float, stays: bool) -> None:  # noqa: FBT001
    """The body of an article isn't removed if it has the first certain running text and most of such text."""
    page = blockml.parse(f"<div><p>{TEXT * 3}</div><section><p>{TEXT * 2}</section>")
    one = scored(with_labels(page, [Label.COMMENT, Label.MAIN]), [True] * 2)
    one = replace(one, prediction=replace(one.prediction, p_article=p_article))
    assert (readers_comments(one) is None) is stays
    assert consistent_labels(one) == (Label.MAIN if stays else Label.COMMENT, Label.MAIN)


@pytest.mark.parametrize("comments", [[0, 1, 2], [1, 2, 3], [0, 3], [3]])
def test_paragraphs_in_the_element_of_the_body_are_not_comments(comments: list[int]) -> None:
    """The element with most of the certain text contains no comments, unless it starts with one."""
    page = blockml.parse(f"<div><p>{TEXT * 2}<p>{TEXT}<p>{TEXT}</div><section><p>{TEXT * 2}</section>")
    labels = [Label.COMMENT if number in comments else Label.MAIN for number in range(4)]
    one = scored(with_labels(page, labels), [True] * 4)
    expected = comments if 0 in comments else [3] if 3 in comments else []
    found = readers_comments(one)
    assert ([] if found is None else np.flatnonzero(found).tolist()) == expected
    assert [number for number, label in enumerate(consistent_labels(one)) if label is Label.COMMENT] == expected


@pytest.mark.parametrize(("n_words", "expected"), [(49, False), (50, False), (51, True)])
def test_a_forum_has_most_of_its_words_in_messages(n_words: int, expected: bool) -> None:  # noqa: FBT001
    """A page is a forum if messages contain more than half of its words and it doesn't declare an article."""
    words = f"<div class=message><p>{'word ' * n_words}</p></div><p>{'word ' * (100 - n_words)}"
    assert is_forum(page_matrix(blockml.parse(words), FEATURES)) is expected
    article = f'<meta property="og:type" content="article">{words}'
    assert not is_forum(page_matrix(blockml.parse(article), FEATURES))
    assert is_forum(page_matrix(blockml.parse(words, url="https://example.org/forum/7"), FEATURES))


def test_pages_without_the_columns_are_not_forums() -> None:
    """Pages without the columns of the rule, and pages without blocks, are not forums."""
    assert not is_forum(page_without_columns(blockml.parse("<div class=message><p>One")))
    assert not is_forum(page_matrix(blockml.parse(""), FEATURES))


def test_comments_of_example_pages() -> None:
    """Reviews in a shop are removed as comments, and answers in a forum are not."""
    shop = blockml.extract((PAGES / "product-page" / "page.html").read_bytes())
    assert Reason.COMMENT in shop.reasons
    thread = (PAGES / "forum-thread" / "page.html").read_bytes()
    assert is_forum(page_matrix(blockml.parse(thread), FEATURES))
    assert Reason.COMMENT not in blockml.extract(thread).reasons


@pytest.mark.parametrize(("beside", "is_removed"), [("<p>Ann, 12:30<p>Reply", True), ("<p>Ann<p>Lee", False)])
def test_long_comments_have_authors(beside: str, *, is_removed: bool) -> None:
    """Long text outside of elements that are named for comments is a comment only beside dates or replies."""
    page = blockml.parse(f"<p>{'text ' * 90}<div>{beside}<p>{'comment ' * 80}</div>")
    types, matrix = with_labels(page, [Label.MAIN, Label.OTHER, Label.OTHER, Label.COMMENT])
    prediction = Prediction(np.full(4, 0.9, np.float32), matrix=matrix, block_types=types)
    found = decide(DecisionPolicy(), page, prediction)
    assert found.kept.tolist() == [True, True, True, not is_removed]
    assert found.remarks == (("80 words were left out as readers' comments",) if is_removed else ())
