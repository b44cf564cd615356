"""Decisions: thresholds, code, labels, comments, reasons and confidence."""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.decision import Decision, DecisionPolicy, Prediction, with_threshold
from blockml.decision.decide import confidence, decide, label_names
from blockml.errors import UsageError
from blockml.page import Label, Page, Reason
from tests.models import page_without_columns, with_labels
from tests.strategies import messy_html

scores_lists = st.lists(st.floats(0, 1, width=32), max_size=20)


def page_of(n: int) -> Page:
    """Return a page of ``n`` paragraphs."""
    return blockml.parse("".join(f"<p>block number {i}" for i in range(n)))


def decided(scores: Sequence[float], threshold: float = 0.5, page: Page | None = None) -> Decision:
    """Return the decision for blocks with the given scores."""
    policy = with_threshold(DecisionPolicy(), threshold)
    return decide(policy, page or page_of(len(scores)), Prediction(np.array(scores, np.float32)))


@given(scores_lists, st.floats(0, 1), st.floats(0, 1))
def test_a_lower_threshold_never_keeps_less(values: list[float], one: float, other: float) -> None:
    """The blocks kept at a higher threshold are a subset of those at a lower one."""
    low, high = sorted((one, other))
    assert not (decided(values, high).kept & ~decided(values, low).kept).any()
    assert decided(values, 0).kept.all()


@pytest.mark.exhaustive
@given(messy_html, st.floats(0, 1), st.floats(0, 1), st.sets(st.sampled_from(list(Label))), st.data())
def test_the_default_model_is_monotonic(
    html: str, one: float, other: float, include: set[Label], data: st.DataObject
) -> None:
    """A lower threshold, a larger include or a smaller exclude never keeps less."""
    exclude = data.draw(st.sets(st.sampled_from(list(Label)))) - include
    low, high = sorted((one, other))
    some = blockml.extract(html, threshold=high, include=include, exclude=exclude).kept
    assert not (some & ~blockml.extract(html, threshold=low, include=include, exclude=exclude).kept).any()
    assert not (some & ~blockml.extract(html, threshold=high, include=include).kept).any()
    assert not (blockml.extract(html, threshold=high, exclude=exclude).kept & ~some).any()


@pytest.mark.parametrize("threshold", [0.1, 0.2, 0.3, 0.7, 1 / 3, 1.0])
def test_score_equal_to_the_threshold_is_kept(threshold: float) -> None:
    """The threshold is rounded to float32, like scores, before it is compared."""
    score = np.float32(threshold)
    decision = decided([float(np.nextafter(score, np.float32(0))), float(score)], threshold)
    assert decision.kept.tolist() == [False, True]
    assert decision.reasons == (Reason.BELOW_THRESHOLD, Reason.ABOVE_THRESHOLD)


@pytest.mark.exhaustive
def test_no_threshold_leaves_a_confident_page_empty() -> None:
    """At 1 the best part stays of each page that 0.5 keeps with confidence, and nothing that 0.5 or 0.7 removes."""
    n_lowered = 0
    for labelled in (page for name in ("pages", "sites") for page in blockml.open_dataset(f"data/{name}").pages):
        usual, some, few = (blockml.extract(labelled.load()[0], threshold=value) for value in (0.5, 0.7, 1.0))
        if usual.confidence > 0.5:
            assert few.kept.any()
            n_lowered += 1
        assert not (few.kept & ~some.kept).any()
        assert not (few.kept & ~usual.kept).any()
    assert n_lowered > 20


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, math.inf])
def test_thresholds_outside_the_range_are_refused(threshold: float) -> None:
    """The error names the range and the value."""
    with pytest.raises(UsageError, match="must be between 0 and 1, got"):
        with_threshold(DecisionPolicy(), threshold)


def test_no_blocks() -> None:
    """A page without blocks gives an empty decision."""
    decision = decided([])
    assert (decision.kept.shape, decision.reasons, decision.confidence) == ((0,), (), 0)
    assert decision.kept.dtype == np.bool_


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.booleans(), st.integers(0, 1000)), max_size=20))
def test_confidence_is_the_expected_share_of_correct_words(rows: list[tuple[float, bool, int]]) -> None:
    """Each word is correct with the probability of its block's decision."""
    scores, kept, words = (np.array(column) for column in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    got = confidence(scores.astype(np.float32), kept.astype(bool), words.astype(np.int32))
    total = sum(row[2] for row in rows)
    right = sum((score if keep else 1 - score) * n for score, keep, n in rows)
    assert got == pytest.approx(right / total if total else 0, abs=1e-5)
    assert 0 <= got <= 1


def test_preformatted_text_is_decided_as_a_whole() -> None:
    """Pieces of one code block share a decision, by the mean score of their words, and two code blocks don't."""
    page = blockml.parse("<pre></pre><pre>a b c <b>d</b></pre><p>x</p><pre><i>e</i> f<pre>g</pre></pre>")
    assert page.blocks.texts == ("a b c", "d", "x", "e", "f", "g")
    decision = decided([0.8, 0.1, 0.3, 0.9, 0.1, 0.2], page=page)
    assert decision.kept.tolist() == [True, True, False, False, False, False]
    assert decision.reasons == (
        Reason.ABOVE_THRESHOLD,
        Reason.KEPT_WITH_CODE,
        Reason.BELOW_THRESHOLD,
        Reason.REMOVED_WITH_CODE,
        Reason.BELOW_THRESHOLD,
        Reason.BELOW_THRESHOLD,
    )


def test_signs_do_not_decide_about_code_with_words() -> None:
    """Brackets in code only count if the code has no words."""
    page = blockml.parse("<pre>{ <b>word</b> ; <i>}</i></pre><pre>{ <b>}</b></pre>")
    words = page.blocks.n_words.tolist()
    scores = [0.9 if n else 0.1 for n in words]
    kept = decided(scores, page=page).kept.tolist()
    assert kept == [True] * (len(words) - 2) + [False] * 2


def typed(page: Page, scores: Sequence[float], labels: Sequence[Label]) -> Prediction:
    """Return a prediction whose block types are certain."""
    types, matrix = with_labels(page, labels)
    return Prediction(np.array(scores, np.float32), matrix=matrix, block_types=types)


def test_comments_are_removed_with_a_reason() -> None:
    """Comments keep their scores and can be included, and comments in code are not readers' comments."""
    page = blockml.parse(f"<p>{'word ' * 20}<div><p>a comment</div><pre>some code <i>// comment</i></pre>")
    labels = [Label.MAIN, Label.COMMENT, Label.MAIN, Label.COMMENT]
    prediction = typed(page, [0.9, 0.8, 0.7, 0.6], labels)
    decision = decide(DecisionPolicy(), page, prediction)
    assert decision.kept.tolist() == [True, False, True, True]
    assert decision.reasons[1] is Reason.COMMENT
    assert decision.scores.tolist() == prediction.scores.tolist()
    assert decision.overruled.tolist() == [False, True, False, False]
    asked = decide(DecisionPolicy(), page, prediction, include={Label.COMMENT})
    assert asked.kept.all()
    assert asked.reasons[1] is Reason.ASKED_FOR
    without = decide(DecisionPolicy(), page, prediction, exclude={Label.MAIN})
    assert [str(reason) for reason in without.reasons[:2]] == ["excluded", "comment"]


def test_confidence_refers_to_the_extracted_text() -> None:
    """Words that the policy removes lower the confidence, except for comments."""
    long = "word " * 20
    page = blockml.parse(f"<p>{long}<p>{long}<div><p>{long}</div>")
    scores, policy = np.array([0.9, 0.5, 0.8], np.float32), DecisionPolicy("expected_f1", comment_probability=0.5)
    matrix = page_without_columns(page)
    assert decide(policy, page, Prediction(scores, matrix=matrix)).confidence == pytest.approx(4.4 / 5.2)
    commented = decide(policy, page, typed(page, scores.tolist(), [Label.MAIN, Label.MAIN, Label.COMMENT]))
    assert commented.kept.tolist() == [True, True, False]
    assert commented.confidence == pytest.approx(2.8 / 3.4)
    few = decide(with_threshold(policy, 0.6), page, Prediction(scores, matrix=matrix))
    assert few.confidence < 4.4 / 5.2
    assert decide(policy, page, Prediction(scores * 0, matrix=matrix)).confidence == 0


def test_comments_are_kept_if_nothing_else_is() -> None:
    """Comments are kept if no other block is, and removed if running text is kept."""
    page = blockml.parse(f"<p>{'word ' * 20}<div><p>a comment<p>an answer</div>")
    labels = [Label.MAIN, Label.COMMENT, Label.COMMENT]
    for probability, kept in ((0.1, [False, True, True]), (0.9, [True, False, False])):
        prediction = typed(page, [probability, 0.8, 0.8], labels)
        assert decide(DecisionPolicy(), page, prediction).kept.tolist() == kept


def test_template_blocks_are_removed_with_a_reason() -> None:
    """A removed block has the reason of the template, unless it is below the threshold anyway."""
    removed = np.array([True, False, True])
    decision = decide(DecisionPolicy(), page_of(3), Prediction(np.array([0.9, 0.8, 0.1], np.float32), removed=removed))
    assert decision.kept.tolist() == [False, True, False]
    assert [str(reason) for reason in decision.reasons] == ["template", "above_threshold", "below_threshold"]


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.5])
def test_kept_template_blocks_have_a_reason_that_keeps(threshold: float) -> None:
    """Template blocks are kept at the threshold 0 or inside kept code, and have the reason for keeping them."""
    page = blockml.parse("<pre>one two three\n<b>four</b> five</pre><p>x y<p>z")
    removed = np.array([True, False, False, False, True])
    policy = with_threshold(DecisionPolicy(), threshold)
    decision = decide(policy, page, Prediction(np.full(5, 0.9, np.float32), removed=removed))
    assert decision.kept.tolist() == [reason.keeps for reason in decision.reasons]
    assert decision.kept.tolist() == [threshold < 0.5] * 3 + [True, threshold == 0]


@pytest.mark.parametrize(
    ("html", "policy", "scores", "reasons"),
    [
        (
            f"<p>{'word ' * 130}</p><a href=/x>one two three four</a>",
            DecisionPolicy("expected_f1", link_penalty=9.0),
            [0.95, 0.6],
            ["above_threshold", "link"],
        ),
        (
            "<div><p>one two three four</p></div><section><p>one two three four</p></section><p>five six",
            DecisionPolicy("expected_f1", duplicate_penalty=40.0),
            [0.95, 0.95, 0.01],
            ["above_threshold", "duplicate", "below_threshold"],
        ),
        (
            "<p>one two<p>three four",
            DecisionPolicy("expected_f1", min_content_words=100),
            [0.2, 0.01],
            ["no_content", "below_threshold"],
        ),
        (
            "<p>One two<div class='widget sidebar'><p>Three four<p>Five six</div>",
            DecisionPolicy("expected_f1", sidebar_probability=0.7),
            [0.95, 0.6, 0.8],
            ["above_threshold", "sidebar", "above_threshold"],
        ),
    ],
)
def test_the_rule_that_removes_a_block_is_named(
    html: str, policy: DecisionPolicy, scores: list[float], reasons: list[str]
) -> None:
    """A rule is the reason for removing a block only if the block would be kept without the rule."""
    page = blockml.parse(html)
    prediction = Prediction(np.array(scores, np.float32), matrix=page_without_columns(page))
    decision = decide(policy, page, prediction)
    assert [str(reason) for reason in decision.reasons] == reasons
    assert decision.probabilities.tolist() == prediction.scores.tolist()


def test_a_sidebar_with_all_content_is_kept() -> None:
    """A sidebar is only removed if other content is kept, and a lower threshold brings its blocks back."""
    alone = blockml.parse("<div id=sidebar><p>One two<p>Three four</div><p>Five six")
    policy, scores = DecisionPolicy("expected_f1", sidebar_probability=0.7), np.array([0.6, 0.5, 0.01], np.float32)
    prediction = Prediction(scores, matrix=page_without_columns(alone))
    assert decide(policy, alone, prediction).kept.tolist() == [True, True, False]
    beside = Prediction(np.array([0.6, 0.5, 0.9], np.float32), matrix=page_without_columns(alone))
    assert decide(policy, alone, beside).kept.tolist() == [False, False, True]
    assert decide(with_threshold(policy, 0.4), alone, beside).kept.tolist() == [True, False, True]
    assert decide(with_threshold(policy, 0.3), alone, beside).kept.all()


@given(messy_html)
def test_kept_and_reasons_agree(html: str) -> None:
    """Each reason either keeps or removes a block."""
    result = blockml.extract(html)
    assert result.kept.tolist() == [reason.keeps for reason in result.reasons]
    assert all(isinstance(reason, Reason) for reason in result.reasons)
    assert result.probabilities.shape == result.scores.shape == result.kept.shape


def test_names_of_labels() -> None:
    """Labels can be given as a name or a list, and a label on both sides is an error."""
    assert label_names((), "heading") == (frozenset(), frozenset({Label.HEADING}))
    assert label_names(["comment", "main"], ()) == (frozenset({Label.COMMENT, Label.MAIN}), frozenset())
    assert label_names((), ()) == (frozenset(), frozenset())
    with pytest.raises(UsageError, match="both included and excluded: main"):
        label_names(["main"], ["main", "heading"])


@pytest.mark.parametrize("output", ["text", "labels", "reasons", "markdown", "html", "metadata", "images", "chunks"])
@pytest.mark.usefixtures("compiled")  # the functions of the builder in Python refer to each other
def test_a_result_is_freed_immediately(output: str) -> None:
    """What a result holds, which is the whole page, is freed without a garbage collection, whatever was read of it."""
    html = "<title>Cats</title><h1>Cats</h1><picture><source srcset=a.jpg><img src=data:></picture><p>They rule.<p>So."

    def read() -> None:
        result = blockml.extract(html)
        assert result.chunks(10) if output == "chunks" else getattr(result, output)

    read()  # imports modules
    gc.collect()
    gc.disable()
    try:
        read()
        assert gc.collect() == 0
    finally:
        gc.enable()
