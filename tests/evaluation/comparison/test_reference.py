"""The fast scores of a page compared with the public metrics, gold and evaluation."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.datasets import Gold, LabelledPage, RegionGold, SnippetGold, TextGold, open_dataset
from blockml.errors import DatasetError
from blockml.evaluation import bag_scores, evaluate_extractor, lcs_scores, shingle_scores, snippet_rates
from blockml.evaluation.comparison import PageScore, Reference, System, choose, reference
from blockml.extractors import resolve
from blockml.page import Label
from tests.strategies import messy_html, messy_texts

DATA = Path(__file__).parents[3] / "data" / "pages"


def referred(html: str, gold: Gold | None, **facts: object) -> Reference:
    """Return the reference of a page with this HTML and gold."""
    page = LabelledPage("a", "s", Path("a.html"), reader=lambda _: (html.encode("utf-8", "replace"), gold), **facts)  # type: ignore[arg-type]
    return Reference(page)


def row(text: str, **more: object) -> dict[str, object]:
    """Return a row of outputs."""
    return {"outcome": "ok", "text": text, "kept": None, "seconds": None, **more}


few_words = st.lists(st.sampled_from(["the", "The", "cat", "sat", "on", "你好", "İ", "--", "a_b"]), max_size=25).map(
    " ".join
)


@given(few_words | messy_texts, few_words | messy_texts)
def test_word_scores_equal_the_public_metrics(gold: str, text: str) -> None:
    """Bag-of-words, LCS and shingle scores equal the public metrics."""
    words = referred("<p>x</p>", TextGold(gold)).words(text)
    assert words is not None
    assert words.bag == pytest.approx(bag_scores(gold, text))
    assert words.lcs == pytest.approx(lcs_scores(gold, text))
    assert words.shingle == pytest.approx(shingle_scores(gold, text))
    assert not words.approximate


@given(messy_html, few_words | messy_texts)
def test_blocks_of_a_text_are_those_of_equal_gold(html: str, text: str) -> None:
    """A text of a system selects the same blocks as gold with this text, so plain text has block scores."""
    page = blockml.parse(html.encode("utf-8", "replace"))
    found = referred(html, TextGold("x")).blocks_of(text)
    assert found.tolist() == TextGold(text).label(page).main.tolist()


@pytest.mark.parametrize("name", ["plain", "kim2013"])
def test_scores_equal_those_of_evaluate(name: str) -> None:
    """Comparing and evaluating an extractor give the same scores."""
    dataset = open_dataset(DATA)
    expected = evaluate_extractor(resolve(name), dataset)
    [system] = choose([name]).systems
    found = [scored(system, page) for page in dataset.pages]
    assert [score.id for score in found] == [result.id for result in expected]
    for score, result in zip(found, expected, strict=True):
        for metric in ("bag_f1", "bag_precision", "bag_recall", "lcs_f1", "shingle_f1", "with_rate", "without_rate"):
            assert getattr(score, metric) == pytest.approx(result.metric(metric)), (score.id, metric)
        block = result.block
        assert (score.tp, score.fp, score.fn, score.tn) == (block.tp, block.fp, block.fn, block.tn)
        assert (score.site, score.page_type, score.flagged) == (result.site, result.page_type, result.flagged)


def scored(system: System, page: LabelledPage) -> PageScore:
    """Return the score of a system on a page."""
    html, _ = page.load()
    output = system.make()(html.decode(), page.url)
    return Reference(page, [system.parsing]).score(row(output.text, kept=output.kept), system.parsing)


@pytest.mark.parametrize("outcome", ["error", "crash", "timeout", "missing"])
def test_a_failure_scores_nothing_if_the_gold_is_empty(outcome: str) -> None:
    """An empty text is correct for empty gold, but a failure has scores of 0 and no rate of removed snippets."""
    measured = referred("<p>Menu</p>", TextGold("", ("two",), ("Menu",)))
    failed, empty = measured.score(row("", outcome=outcome)), measured.score(row("", outcome="empty"))
    assert (failed.bag_f1, failed.lcs_f1, failed.shingle_f1, failed.with_rate, failed.without_rate) == (
        0,
        0,
        0,
        0,
        None,
    )
    assert (empty.bag_f1, empty.lcs_f1, empty.shingle_f1, empty.with_rate, empty.without_rate) == (1, 1, 1, 0, 0)


def test_a_page_without_output_scores_like_an_empty_text() -> None:
    """A failed page scores like an empty text, also for systems that return blocks."""
    measured = referred("<p>Menu</p><p>one two three</p>", TextGold("one two three", ("two",), ("Menu",)))
    failed = row("", outcome="timeout")
    for score in (measured.score(failed), measured.score(failed, blockml.extractors.Plain().parsing)):
        assert (score.outcome, score.bag_f1, score.lcs_f1, score.shingle_f1) == ("timeout", 0, 0, 0)
        assert (score.tp, score.fp, score.fn, score.tn) == (0, 0, 1, 1)
        assert (score.with_rate, score.without_rate, score.gold_words) == (0, None, 3)


def test_gold_without_text_has_no_word_scores() -> None:
    """Gold regions only give block scores, and gold snippets only block scores and rates."""
    html = "<html><body><h1>A title</h1><p>Some text</p>"
    regions = referred(html, RegionGold((("/html/body/h1", Label.HEADING), ("/html/body/p", Label.NAVIGATION))))
    score = regions.score(row("A title some text"))
    assert (score.bag_f1, score.lcs_f1, score.shingle_f1, score.with_rate, score.gold_words) == (None,) * 4 + (0,)
    assert (score.tp, score.fp) == (1, 1)
    score = referred(html, SnippetGold(("title",), ("nothing",))).score(row("A title"))
    assert (score.bag_f1, score.with_rate, score.without_rate) == (None, 1, 0)
    rates = snippet_rates("A title", ("title",), ("nothing",))
    assert (score.with_rate, score.without_rate) == rates


def test_scores_of_very_long_texts_are_marked_as_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The LCS score of a very long text is a lower bound and is marked as approximate."""
    gold, text = "a b c d e f " * 30, "b a c d x e f " * 30
    measured = referred("<p>x</p>", TextGold(gold))
    exact = measured.score(row(text))
    monkeypatch.setattr(reference, "_MAX_CELLS", 100)
    bound = measured.score(row(text))
    assert (exact.approximate, bound.approximate) == (False, True)
    assert exact.lcs_f1 is not None
    assert bound.lcs_f1 is not None
    assert 0 < bound.lcs_f1 <= exact.lcs_f1
    assert bound.bag_f1 == exact.bag_f1


@pytest.mark.parametrize(
    ("attributes", "extra", "language"),
    [
        ("lang=en-GB", {}, "en"),
        ("lang=' DE '", {"language": "fr"}, "de"),
        ("xml:lang=pt_BR", {}, "pt"),
        ("lang=''", {"language": "zh-Hans"}, "zh"),
        ("", {"lang": "ja"}, "ja"),
        ("lang=english", {}, "unknown"),
        ("", {"language": None}, "unknown"),
    ],
)
def test_language_of_the_page_or_the_data_set(attributes: str, extra: dict[str, object], language: str) -> None:
    """The language is the primary subtag in lower case, from the page or else from the data set."""
    assert referred(f"<html {attributes}><p>x</p>", TextGold("x"), extra=extra).language == language


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Crème brûlée 2026", "latin"),
        ("Всё о GNU", "cyrillic"),
        ("维基百科 wiki", "han"),
        ("カタカナとひらがな 漢字", "kana"),
        ("한국어", "hangul"),
        ("مرحبا", "arabic"),
        ("नमस्ते", "devanagari"),
        ("Ελληνικά", "greek"),
        ("שלום", "hebrew"),
        ("สวัสดี", "thai"),
        ("ქართული", "other"),
        ("42", "latin"),
    ],
)
def test_script_of_most_letters(text: str, script: str) -> None:
    """The script is that of most letters of the gold, or of the page if the gold has none."""
    assert referred("<p>page</p>", TextGold(text)).script == script


def test_page_without_gold_is_refused() -> None:
    """A page without gold can't be scored."""
    with pytest.raises(DatasetError, match="no gold"):
        referred("<p>x</p>", None)


def test_scores_are_never_nan() -> None:
    """Scores are numbers even if page, gold and text are empty."""
    score = referred("", TextGold("")).score(row(""))
    assert (score.bag_f1, score.lcs_f1, score.shingle_f1, score.script) == (1, 1, 1, "other")
    assert not any(isinstance(value, float) and math.isnan(value) for value in (score.bag_f1, score.with_rate))


def test_a_language_that_is_not_declared_is_detected() -> None:
    """The language of a long gold text is detected, and a short one has no language."""
    pytest.importorskip("py3langid")
    gold = "Die Katzen des Hauses schlafen den ganzen Tag, und niemand hat sie jemals um etwas anderes gebeten."
    assert referred(f"<p>{gold}</p>", TextGold(gold)).language == "de"
    assert referred("<p>Katzen</p>", TextGold("Katzen")).language == "unknown"
