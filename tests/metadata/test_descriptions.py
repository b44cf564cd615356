"""Descriptions are plain text, even on pages that escape them twice."""

from __future__ import annotations

from html import escape

import pytest

import blockml
from blockml.metadata.metadata import page_metadata


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Cats <b>rule</b>.</p><p>They do", "Cats rule. They do"),
        ("<p>Cats <b>rule", "Cats rule"),
        ("Cats rule<br/>the <a href='/w'>world</a> <p class='x", "Cats rule the world"),
        ("Caf&eacute; &amp; cats&nbsp;", "Café & cats"),
        ("The <table> element", "The <table> element"),
        ("List<Cat, Error> of cats <3", "List<Cat, Error> of cats <3"),
        ("Result<Cat>: <b>cats</b> if 1 < 2", "Result : cats if 1 < 2"),
    ],
)
def test_descriptions_have_no_markup(text: str, expected: str) -> None:
    """Closed tags are removed from a description; unclosed ones may be what the page is about and stay."""
    page = blockml.parse(f'<meta name=description content="{escape(text)}"><p>Cats')
    assert page_metadata(page).description == expected
