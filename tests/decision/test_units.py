"""Units that are kept or removed as a whole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import blockml
from blockml.decision import DecisionPolicy, PolicyColumns, Prediction, with_threshold
from blockml.decision.decide import decide
from blockml.decision.prediction import Draft
from blockml.decision.remarks import completed_remark, cut_remark
from blockml.decision.rules import UNITS, apply_in_order
from blockml.decision.units import mean_over_units, pooled_units
from blockml.extractors import page_matrix
from blockml.features.page_context import PageContext
from blockml.outline import Outline
from blockml.page import Reason
from tests.strategies import messy_html

POLICY = DecisionPolicy(rule="expected_f1", duplicate_penalty=4.0)
Scores = NDArray[np.float32]


def complete(outline: Outline, scores: Scores, probabilities: Scores, threshold: float = 0.5) -> Draft:
    """Return the blocks that scores keep, with their units completed."""
    policy = DecisionPolicy("expected_f1", threshold=threshold)
    found = Draft(policy, outline, Prediction(probabilities), scores, scores >= np.float32(threshold))
    apply_in_order(UNITS, found)
    return found


def completed(html: str, scores: list[float], threshold: float = 0.5) -> tuple[str, dict[str, str]]:
    """Return the kept texts, and by text the reason of each block that was added or removed."""
    page = blockml.parse(html)
    values = np.array(scores, np.float32)
    found = complete(Outline(page), values, values, threshold)
    texts = page.blocks.texts
    reasons = {texts[row]: str(reason) for reason, rows in found.changes for row in rows.tolist()}
    return " | ".join(itertools.compress(texts, found.kept.tolist())), reasons


def test_a_data_table_is_decided_as_a_whole() -> None:
    """No cell of a kept table is lost, whatever its own probability is."""
    page = blockml.parse("<p>Text here.<table><tr><th>Size<th>Price<tr><td>S<td>10<tr><td>M<td>12</table><p>Imprint")
    scores = np.array([0.9, 0.9, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1], np.float32)
    found = decide(POLICY, page, Prediction(scores, matrix=page_matrix(page, "page")))
    assert found.kept.tolist() == [True] * 7 + [False]
    assert [str(reason) for reason in found.reasons[3:5]] == ["kept_with_table", "above_threshold"]
    scores[1:7] = 0.2
    scores[2] = 0.8
    found = decide(POLICY, page, Prediction(scores, matrix=page_matrix(page, "page")))
    assert found.kept.tolist() == [True] + [False] * 7
    assert found.reasons[2] is Reason.REMOVED_WITH_TABLE


def test_cells_of_layout_tables_are_separate() -> None:
    """A layout table is no unit."""
    page = blockml.parse("<table><tr><td>menu<td><p>one<p>two</table>")
    assert pooled_units(Outline(page)).tolist() == [0, 1, 2]


def test_template_blocks_in_tables_are_decided_with_them() -> None:
    """Blocks of the template in a kept table stay."""
    page = blockml.parse("<table><tr><th>Size<th>Price<tr><td>small<td>ten</table><p>Imprint<p>One two three")
    removed = np.array([True, False, False, False, True, False])
    scores = np.array([0.99, 0.99, 0.99, 0.99, 0.9, 0.6], np.float32)
    prediction = Prediction(scores, matrix=page_matrix(page, "page"), removed=removed)
    assert decide(POLICY, page, prediction).kept.tolist() == [True] * 4 + [False, True]


@pytest.mark.parametrize(
    ("html", "scores", "kept", "reason"),
    [
        ("<ul><li>One thing<li>Two<li>Three things</ul><p>End", [0.9, 0.1, 0.8, 0.1], "One thing | Two | Three things",
         "kept_with_list"),
        ("<ul><li>One<li>Two<li>Three very long things</ul><p>End", [0.9, 0.1, 0.1, 0.1], "One", ""),
        ("<ul><li>One long <p>thing</ul><p>End", [0.9, 0.1, 0.1], "One long | thing", "kept_with_list"),
        ("<dl><dt>Size<dd>Ten meters long</dl><p>End", [0.1, 0.9, 0.1], "Size | Ten meters long", "kept_with_list"),
        ("<p>Two sites allow it:<ul><li><a>North</a><li><a>South</a></ul><p>End", [0.9, 0.2, 0.2, 0.1],
         "Two sites allow it: | North | South", "kept_with_lead_in"),
        ("<p>Two sites allow it:<ul><li><a>North</a><li><a>South</a></ul><p>End", [0.9, 0.05, 0.05, 0.1],
         "Two sites allow it:", ""),
        ("<p>Run this:<pre>make all</pre><p>End", [0.9, 0.2, 0.1], "Run this: | make all", "kept_with_lead_in"),
        ("<p>Two sites allow it:<ul><li>North<li>South</ul><p>End", [0.1, 0.9, 0.9, 0.1],
         "Two sites allow it: | North | South", "kept_with_list"),
        ("<p>Price:<p>12 euros<p>End", [0.9, 0.35, 0.1], "Price: | 12 euros", "kept_with_label"),
        ("<p>Price:<p>12 euros<p>End", [0.1, 0.9, 0.1], "Price: | 12 euros", "kept_with_value"),
        ("<p>The mill of<div>Northwing</div><p>is open.<p>End", [0.9, 0.4, 0.9, 0.1],
         "The mill of | Northwing | is open.", "kept_with_sentence"),
        ("<p>The mill.<div>Northwing</div><p>is open.<p>End", [0.9, 0.4, 0.9, 0.1], "The mill. | is open.", ""),
        ("<p>First<h2>Mills</h2><p>They turn.<h2>End</h2>", [0.9, 0.1, 0.9, 0.1], "First | Mills | They turn.",
         "kept_with_text"),
        ("<p>First<div><h2>Ad</h2><p>Buy now</div><p>They turn.", [0.9, 0.1, 0.1, 0.9], "First | They turn.", ""),
        ("<p>First<h2>Mills</h2><p>They turn.<h2>End</h2>", [0.9, 0.9, 0.45, 0.1], "First | Mills | They turn.",
         "kept_with_heading"),
        ("<p>First<h2>Mills</h2><p>They turn.<h2>End</h2>", [0.9, 0.9, 0.1, 0.1], "First", "removed_with_text"),
        ("<p>First<h2>Mills</h2><p>Ad<h3>Old</h3><p>They turn.", [0.9, 0.9, 0.1, 0.9, 0.9],
         "First | Mills | Old | They turn.", ""),
        ("<p>First<div><h2>Mills</h2><a href=/e>edit</a></div><p>They turn.<h2>End</h2>", [0.9, 0.9, 0.1, 0.45, 0.1],
         "First | Mills | They turn.", "kept_with_heading"),
        ("<p>Mills<sup><a href=#n><b>[1]</b></a></sup><p>Ad<ol><li id=n>By Ann. <a href=#r>↩</a>", [0.9, 0.9, 0.1, 0.2],
         "Mills | [1] | By Ann.", "kept_with_mark"),
        ("<p>Mills<sup><a href=#n1>1</a></sup><p>Ad<ol><li id=n1>By Ann.", [0.9, 0.9, 0.1, 0.2], "Mills | 1", ""),
        ("<p>First<h2><a href=/m>Mills</a></h2><p>They turn.", [0.9, 0.9, 0.1], "First | Mills", ""),
        ("<h1>Mills</h1><p>They turn.<h2>End</h2><p>Yes", [0.9, 0.1, 0.1, 0.1], "Mills", ""),
        (f"<p>First<h4>{'Mills turn. ' * 8}</h4><p>More<h4>End</h4>", [0.9, 0.9, 0.1, 0.1],
         f"First | {('Mills turn. ' * 8).strip()}", ""),
    ],
)  # fmt: skip
def test_what_a_kept_line_needs_stays_with_it(html: str, scores: list[float], kept: str, reason: str) -> None:
    """Lists, lead-ins, labels, sentences and headings."""
    found, reasons = completed(html, scores)
    assert found == kept
    assert {*reasons.values()} == ({reason} - {""})


@given(messy_html, st.integers(0, 2**32 - 1), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_lower_threshold_never_keeps_less(html: str, seed: int, one: float, other: float) -> None:
    """Completion is monotone, and units are whole at each threshold."""
    page = blockml.parse(html)
    scores = np.random.default_rng(seed).random(len(page.blocks)).astype(np.float32)
    prediction = Prediction(scores, matrix=page_matrix(page, "page"))
    low, high = sorted((one, other))
    more, less = (decide(with_threshold(POLICY, value), page, prediction).kept for value in (low, high))
    assert (more | ~less).all()


@given(messy_html, st.integers(0, 2**32 - 1))
def test_pooled_units_have_one_score(html: str, seed: int) -> None:
    """All blocks of a code element or a data table have the mean score, and others their own."""
    page = blockml.parse(html)
    outline = Outline(page)
    scores = np.random.default_rng(seed).random(len(page.blocks)).astype(np.float32)
    found = mean_over_units(scores, outline)
    number = pooled_units(outline)
    assert (np.diff(number) >= 0).all()
    for unit in np.unique(number).tolist():
        values = found[number == unit]
        if np.unique(outline.line[number == unit]).size > 1:
            assert np.unique(values).size == 1
            assert scores[number == unit].min() - 1e-6 <= values[0] <= scores[number == unit].max() + 1e-6


def test_values_in_a_list_may_recur() -> None:
    """Equal items of a list, and an item that is equal to a paragraph, are not duplicates; equal lists are."""
    three = "<li>one two three<li>four five six"
    page = blockml.parse(
        f"<ul>{three}<li>one two three</ul><p>four five six<ol>{three}</ol><div><ul>{three}</ul></div>"
    )
    text = PolicyColumns.of(PageContext(page), POLICY).text.tolist()
    assert text == [-1, -1, -1, -1, 4, 4, 4, 4]


@pytest.mark.parametrize("quotation", [0.95, 0.6])
def test_a_quotation_is_never_kept_instead_of_its_original(quotation: float) -> None:
    """The original stays even if its quotation is more probable."""
    page = blockml.parse(
        "<section><blockquote>One two three four</blockquote></section><p>One two three four<p>They turn, and turn."
    )
    prediction = Prediction(np.array([quotation, 0.7, 0.95], np.float32), matrix=page_matrix(page, "page"))
    found = decide(DecisionPolicy("expected_f1", duplicate_penalty=40.0), page, prediction)
    assert found.kept.tolist() == [False, True, True]


@pytest.mark.parametrize("threshold", [0.6, 0.9, 0.97, 1.0])
def test_no_threshold_empties_a_confident_page(threshold: float) -> None:
    """Certain text reaches a threshold with its probability, and the best of it stays at any threshold."""
    page = blockml.parse(f"<p>{'word ' * 50}<p>{'word ' * 60}<p>Imprint")
    scores = np.array([0.96, 0.95, 0.01], np.float32)
    prediction = Prediction(scores, matrix=page_matrix(page, "page"))
    assert decide(DecisionPolicy("expected_f1"), page, prediction).kept.tolist() == [True, True, False]
    found = decide(DecisionPolicy("expected_f1", threshold=threshold), page, prediction)
    assert found.kept.tolist() == [True, threshold < 0.95, False]
    assert [reason.keeps for reason in found.reasons] == found.kept.tolist()


@pytest.mark.parametrize(("likely", "is_kept"), [(0.6, True), (0.4, False)])
def test_a_table_half_of_whose_words_are_likely_is_kept(likely: float, *, is_kept: bool) -> None:
    """A table whose labels are less likely than its values isn't lost with them."""
    page = blockml.parse("<p>Text here.<table><tr><th>Size<th>Price<tr><td>small<td>ten</table>")
    probabilities = np.array([0.9, 0.1, likely, 0.1, likely], np.float32)
    scores = np.array([0.9, 0.2, 0.2, 0.2, 0.2], np.float32)
    found = complete(Outline(page), scores, probabilities)
    assert found.kept.tolist() == [True] + [is_kept] * 4


@pytest.mark.parametrize("first", [0.9, 0.55, 0.3])
def test_an_announced_list_is_kept_at_each_lower_threshold(first: float) -> None:
    """A list that is kept because a line announces it does not lose items at a lower threshold that keeps some."""
    outline = Outline(
        blockml.parse("<p>We need:<ul><li>flour of rye<li>water and salt<li>yeast or leaven</ul><p>Imprint")
    )
    scores = np.array([0.9, first, 0.3, 0.3, 0.0], np.float32)
    before: set[int] = set()
    for threshold in (0.8, 0.6, 0.5, 0.4, 0.2):
        kept = set(np.flatnonzero(complete(outline, scores, scores, threshold).kept).tolist())
        assert before <= kept
        before = kept
    assert {0, 1, 2, 3} <= before


def test_a_list_is_kept_whole_or_not_at_all() -> None:
    """Two fifths of the words of a list keep all of it; with fewer it goes, unless it has most of the kept text."""
    items = "".join(f"<li>Item number {number}" for number in range(10))

    def kept(n_items: int, text: str, threshold: float = 0.5) -> tuple[int, list[str]]:
        """Return how many items are kept, and reasons, if the first items reach a score of 0.6."""
        outline = Outline(blockml.parse(f"<p>{text}<ul>{items}</ul>"))
        scores = np.array([0.9] + [0.6] * n_items + [0.1] * (10 - n_items), np.float32)
        found = complete(outline, scores, scores, threshold)
        return int(np.count_nonzero(found.kept[1:])), [str(reason) for reason, _ in found.changes]

    assert kept(4, "Text") == kept(4, "Text " * 20) == (10, ["kept_with_list"])
    assert kept(3, "Text " * 20) == (0, ["removed_with_list"])
    assert kept(3, "Text") == kept(3, "Text", 0.55) == (3, [])
    assert kept(3, "Text " * 20, 0.7) == (0, [])


def test_a_cut_list_is_named() -> None:
    """A warning says after which item a list is cut, and how many are left out."""
    outline = Outline(blockml.parse("<ul>" + "".join(f"<li>Item {number}" for number in range(9)) + "</ul><p>Text"))
    rows = np.arange(10)
    assert cut_remark(outline, rows < 3) == 'a list is cut: 6 items after "Item 2" are left out'
    assert cut_remark(outline, rows < 7) is None
    assert cut_remark(outline, (rows < 3) | (rows == 5)) is None
    assert cut_remark(outline, rows > 5) is None


def test_completed_units_are_named() -> None:
    """One warning names the tables and lists that were completed, at most five, and those that were left out."""
    rows = "".join(f"<table><tr><th>Size {number}<tr><td>ten<td>two</table>" for number in range(7))
    outline = Outline(blockml.parse(f"<p>Text{rows}<ul><li>Home<li>Shop</ul>"))
    changes = [
        (Reason.KEPT_WITH_TABLE, np.arange(2, 22)),
        (Reason.KEPT_WITH_TEXT, np.array([0])),
        (Reason.REMOVED_WITH_LIST, np.array([23])),
    ]
    tables = ", ".join(f'the table "Size {number}"' for number in range(5))
    assert completed_remark(outline, changes) == f'kept whole: {tables}, and 2 more; left out whole: the list "Home"'
    assert completed_remark(outline, [(Reason.KEPT_WITH_LIST, np.array([0]))]) is None
    assert completed_remark(Outline(blockml.parse("<p>Text")), [(Reason.KEPT_WITH_LIST, np.array([0]))]) is None


def test_a_warning_names_a_list_that_is_kept_whole() -> None:
    """The warning reaches the result of an extraction."""
    page = blockml.parse("<p>We need for the bread of the valley:<ul><li>flour<li>water<li>salt</ul><p>End")
    scores = np.array([0.9, 0.8, 0.8, 0.1, 0.1], np.float32)
    found = decide(POLICY, page, Prediction(scores, matrix=page_matrix(page, "page")))
    assert found.remarks == ('kept whole: the list "flour"',)


@pytest.mark.parametrize(
    ("body", "is_kept"),
    [("<pre>make all</pre>", True), ("<blockquote>To be, or not</blockquote>", True), ("<img src=a.jpg>", False)],
)
def test_a_caption_stays_with_its_text(body: str, *, is_kept: bool) -> None:
    """The caption of a kept listing or quotation is kept; that of a picture is part of no text."""
    html = f"<p>Text here.<figure>{body}<figcaption>How we do it</figcaption></figure><p>Imprint"
    n_body = "<img" not in body
    kept, reasons = completed(html, [0.9] + [0.9] * n_body + [0.2, 0.1])
    assert ("How we do it" in kept) is is_kept
    assert reasons == ({"How we do it": "kept_with_value"} if is_kept else {})
