"""Pages that are forms, and have no content unless some of it is probable."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.decision import DecisionPolicy, Prediction
from blockml.decision.decide import decide
from blockml.decision.declared import is_form
from blockml.extractors import page_matrix
from blockml.page import Reason

POLICY = DecisionPolicy(rule="expected_f1", min_content_words=40, form_best_probability=0.7)
LOG_IN = "<form><input name=name><input type=password></form>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (LOG_IN, True),
        ("<input type=Password>", True),
        ("<input>" * 8, True),
        ("<input type=TEXT><input type=email><textarea></textarea>" + "<button>Go</button>" * 6, True),
        ("<input type=tel>" * 3 + "<input type=hidden>" * 4, False),  # seven fields
        ("<input>" * 2 + "<input type=checkbox>" * 9, False),  # two to write into
        ("<input type=search>" * 9, False),
        ("", False),
    ],
)
def test_forms(html: str, expected: bool) -> None:  # noqa: FBT001
    """A password, or three fields to write into and eight altogether."""
    assert is_form(blockml.parse(html)) is expected


@pytest.mark.parametrize(
    ("html", "n_words", "probability", "is_kept"),
    [
        (LOG_IN, 20, 0.6, False),
        (LOG_IN, 20, 0.8, True),  # probable
        (LOG_IN, 90, 0.6, True),  # long
        (LOG_IN, 49, 0.6, False),
        (LOG_IN, 50, 0.6, True),  # running text
        ("", 20, 0.6, True),  # no form
        (LOG_IN + "<meta property=og:type content=article>", 19, 0.6, True),
    ],
)
def test_a_form_has_no_content(html: str, n_words: int, probability: float, is_kept: bool) -> None:  # noqa: FBT001
    """If few words are expected, none is probable enough, and the page has no running text and declares no article."""
    page = blockml.parse(f"{html}<p>{'word ' * n_words}")
    found = decide(POLICY, page, Prediction(np.array([probability], np.float32), matrix=page_matrix(page, "page")))
    assert found.kept.tolist() == [is_kept]
    if not is_kept:
        assert found.reasons == (Reason.NO_CONTENT,)
