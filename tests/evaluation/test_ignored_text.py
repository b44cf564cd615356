"""Text that the gold ignores counts neither for nor against a system, by every word metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from blockml.datasets import Dataset, Gold, LabelledPage, RunGold, TextGold, ignored_text
from blockml.evaluation import bag_scores, evaluate_extractor, lcs_scores, shingle_scores
from blockml.evaluation.comparison import Reference
from blockml.extractors import Plain
from blockml.page import Label

TEXT, BYLINE = "Cats rule the world and nobody asked them.", "By Ann of Cat News"
PAGE = f"<p>{BYLINE}</p><p>{TEXT}</p>".encode()
GOLD = (TextGold(TEXT, ignored=(BYLINE,)), RunGold(((BYLINE, None), (TEXT, Label.MAIN))))


@pytest.mark.parametrize("scores", [bag_scores, lcs_scores])
def test_ignored_words_are_not_counted(scores: object) -> None:
    """Words of an ignored text are free once; other words, and gold words that are found twice, still count."""
    assert callable(scores)
    assert scores(TEXT, f"{BYLINE} {TEXT}").f1 < 1
    assert scores(TEXT, f"{BYLINE} {TEXT}", ignored=BYLINE).f1 == 1
    assert scores(TEXT, f"{BYLINE} {BYLINE} {TEXT}", ignored=BYLINE).f1 < 1
    assert scores(TEXT, TEXT, ignored=BYLINE) == scores(TEXT, TEXT)
    assert scores(TEXT, f"{TEXT} cats", ignored=BYLINE).f1 < 1


def test_shingles_within_an_ignored_text_are_not_counted() -> None:
    """The shingles where both texts meet still count."""
    free, counted = (shingle_scores(TEXT, f"{BYLINE} {TEXT}", ignored=ignored) for ignored in (BYLINE, ""))
    assert counted.precision < free.precision < 1


@pytest.mark.parametrize("gold", GOLD)
def test_evaluation_and_comparison_leave_ignored_texts_out(gold: Gold) -> None:
    """An extractor that keeps the byline has the F1 of one that does not."""
    assert ignored_text(gold) == BYLINE
    labelled = LabelledPage("a", "a", Path("a.html"), reader=lambda _: (PAGE, gold))
    evaluated = evaluate_extractor(Plain(), Dataset("a", Path("a"), "folder", (labelled,)))
    assert [result.bag and result.bag.f1 for result in evaluated] == [1]
    row = {"outcome": "ok", "text": f"{BYLINE} {TEXT}", "kept": None, "seconds": 0.1}
    assert Reference(labelled).score(row).bag_f1 == 1
