"""Lines that are kept because the page declares their text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import blockml
from blockml.decision import DecisionPolicy, Prediction, with_threshold
from blockml.decision.decide import decide
from blockml.decision.declared import declares_article, has_running_text, recipe_lines, summary_line
from blockml.extractors import page_matrix
from blockml.features.page_context import PageContext
from blockml.page import Reason
from tests.models import page_without_columns

SUMMARY = "Nobody has ever asked the cats whether they like it at all."


def recipe(**fields: object) -> str:
    """Return the JSON-LD script of a recipe."""
    return f'<script type="application/ld+json">{json.dumps({"@type": "Recipe", **fields})}</script>'


def kept_by(html: str, kept: list[str]) -> list[str]:
    """Return the texts of the recipe's lines that are added to the kept blocks."""
    page = blockml.parse(html)
    texts = page.blocks.texts
    found = recipe_lines(page, np.ones(len(texts), bool), np.isin(texts, kept))
    return [text for text, chosen in zip(texts, found.tolist(), strict=True) if chosen]


@pytest.mark.parametrize(
    "fields",
    [
        {"recipeIngredient": ["2 eggs", "1 cup of milk"]},
        {"ingredients": "<b>2</b> eggs\n1 cup of milk"},
        {"recipeInstructions": [{"@type": "HowToStep", "text": "2 eggs"}, {"@type": "HowToStep", "name": "2 EGGS!"}]},
        {"recipeInstructions": {"@type": "HowToSection", "itemListElement": [{"text": "2 &nbsp; eggs"}]}},
    ],
)
def test_parts_of_recipes(fields: dict[str, object]) -> None:
    """Texts are compared by their words, and a line that is part of a declared text needs four words."""
    html = recipe(**fields) + "<p>Menu<li>2 eggs<li>1 cup of milk<li>cup of milk"
    alone = "2 eggs 1 cup of milk" not in str(fields) and "ingredients" not in fields
    expected = {"2 eggs": alone, "1 cup of milk": "milk" in str(fields), "Menu": False, "cup of milk": False}
    assert kept_by(html, []) == [text for text, found in expected.items() if found]


def test_each_part_of_a_recipe_is_added_once() -> None:
    """A declared line isn't added if a copy is kept or was added already."""
    html = recipe(recipeIngredient=["2 eggs", "salt"]) + "<li>2 eggs<li>salt<li>2 eggs<li>salt"
    assert kept_by(html, ["2 eggs"]) == ["salt"]


@pytest.mark.parametrize("value", [None, 7, [[[[[[[["2 eggs"]]]]]]]], {"text": {"text": 3}}, "", "x" * 100_000])
def test_malformed_recipes_add_nothing(value: object) -> None:
    """Malformed, huge and deeply nested recipes add no line."""
    assert kept_by(recipe(recipeIngredient=value) + "<li>2 eggs", []) == []


def added(meta: str, html: str) -> list[str]:
    """Return the texts that a description adds to the last block of a page."""
    page = blockml.parse(f'<meta name="description" content="{meta}">{html}')
    kept = np.arange(len(page.blocks)) == len(page.blocks) - 1
    found = summary_line(PageContext(page), np.ones(len(kept), bool), kept)
    return [text for text, chosen in zip(page.blocks.texts, found.tolist(), strict=True) if chosen]


@pytest.mark.parametrize(
    ("meta", "html", "expected"),
    [
        (SUMMARY, f"<p>Menu<div>{SUMMARY}</div><p>Text", [SUMMARY]),
        (SUMMARY[:-9] + "…", f"<div>{SUMMARY}</div><p>Text", [SUMMARY]),
        (SUMMARY + " They don't.", f"<div>{SUMMARY}</div><p>Text", [SUMMARY]),
        (SUMMARY, f"<div>{SUMMARY}</div><div>{SUMMARY.upper()}</div><p>Text", [SUMMARY.upper()]),
        (SUMMARY, f"<a href=/x>{SUMMARY}</a><p>Text", []),
        (SUMMARY, f"<div>{SUMMARY}</div>{'<p>One' * 20}<p>Text", []),
        ("Nobody has", f"<div>{SUMMARY}</div><p>Text", []),
        ("The cats", "<div>The cats</div><p>Text", []),
        ("", f"<div>{SUMMARY}</div><p>Text", []),
    ],
)
def test_the_summary_before_a_text(meta: str, html: str, expected: list[str]) -> None:
    """The last line before the text is added if it starts or continues the description and isn't a link."""
    assert added(meta, html) == expected


def test_declared_lines_have_their_reason() -> None:
    """A declared line is kept on an article if it has the policy's probability, with a reason that says so."""
    page = blockml.parse(f'<meta name="description" content="{SUMMARY}"><div>{SUMMARY}</div><p>Text of an article')
    policy = DecisionPolicy("expected_f1", declared_probability=0.2)

    def reason(probability: float, p_article: float, policy: DecisionPolicy = policy) -> Reason:
        scores = np.array([probability, 0.95], np.float32)
        found = decide(policy, page, Prediction(scores, matrix=page_without_columns(page), p_article=p_article))
        assert found.kept[0] == (found.reasons[0] in (Reason.DECLARED, Reason.ABOVE_THRESHOLD))
        return found.reasons[0]

    assert reason(0.25, 0.9) is Reason.DECLARED
    assert {reason(0.15, 0.9), reason(0.25, 0.4)} == {Reason.BELOW_THRESHOLD}
    assert reason(0.25, 0.9, DecisionPolicy("expected_f1")) is Reason.BELOW_THRESHOLD
    assert reason(0.25, 0.9, with_threshold(policy, 0.01)) is Reason.ABOVE_THRESHOLD
    assert reason(0.25, 0.9, with_threshold(policy, 0.9)) is Reason.BELOW_THRESHOLD


def test_template_lines_are_not_declared() -> None:
    """A line in the site's template isn't kept as a summary of the page."""
    page = blockml.parse(f'<meta name="description" content="{SUMMARY}"><div>{SUMMARY}</div><p>Text of an article')
    prediction = Prediction(
        np.array([0.4, 0.95], np.float32),
        removed=np.array([True, False]),
        matrix=page_without_columns(page),
        p_article=0.9,
    )
    assert decide(DecisionPolicy("expected_f1", declared_probability=0.2), page, prediction).kept.tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("head", "n_words", "probability", "declared"),
    [
        ("<meta property=og:type content=article>", 20, 0.1, True),
        ('<script type="application/ld+json">{"@type": "NewsArticle"}</script>', 20, 0.1, True),
        ("<meta property=og:type content=website>", 20, 0.1, False),
        ("<meta property=og:type content=article>", 19, 0.1, False),
        ("<meta property=og:type content=article>", 20, 0.09, False),
    ],
)
def test_a_declared_article_has_content(head: str, n_words: int, probability: float, declared: bool) -> None:  # noqa: FBT001
    """A page that declares an article isn't discarded if it has running text that may be its start."""
    page = blockml.parse(f"{head}<p>{'word ' * n_words}")
    prediction = Prediction(np.array([probability], np.float32), matrix=page_matrix(page, "page"))
    assert declares_article(prediction) is ("website" not in head)
    assert (declares_article(prediction) and has_running_text(prediction)) is declared
    policy = DecisionPolicy(rule="expected_f1", min_content_words=40)
    assert decide(policy, page, prediction).kept.tolist() == [declared]


def test_nothing_is_declared_without_the_columns() -> None:
    """A page without the columns of the rule, or without blocks, doesn't declare an article."""
    page = blockml.parse("<meta property=og:type content=article><p>" + "word " * 30)
    assert not declares_article(Prediction(np.ones(1, np.float32)))
    assert not has_running_text(Prediction(np.ones(1, np.float32)))
    assert not declares_article(Prediction(np.ones(1, np.float32), matrix=page_without_columns(page)))
    assert not declares_article(Prediction(np.zeros(0, np.float32), matrix=page_matrix(blockml.parse(""), "page")))
