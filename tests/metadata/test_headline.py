"""Headings that are most of the title, and names of hosts that are headlines."""

from __future__ import annotations

import pytest

import blockml


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("» A Vegan Tour of NYC :zenhabits", "A Vegan Tour of NYC"),
        ("Letters of Note: Some annoying news", "Some annoying news"),
    ],
)
def test_a_heading_that_is_most_of_the_title(title: str, expected: str) -> None:
    """Without an h1 the rest of the title is the name of the site, however it is separated."""
    html = f"<title>{title}</title><h2>{expected}</h2><p>Cats rule the world, and nobody has ever asked them.</p>"
    assert blockml.extract(html).metadata.title == expected


def test_an_h1_with_the_name_of_the_host() -> None:
    """It is the headline if a short name follows it in the title, unless that is a line of the page or it is a link."""
    text = "<p>Cats rule the world, and nobody has ever asked them.</p>"
    for title, shown, expected in (
        ("Cats - The Daily", "<h1>Cats</h1>", "Cats"),
        ("Cats - The Daily", "<h1><a href=/>Cats</a></h1><h2>The Daily</h2>", "The Daily"),
        ("Cats - The Daily report", "<h1>Cats</h1><h2>The Daily report</h2>", "The Daily report"),
    ):
        found = blockml.extract(f"<title>{title}</title>{shown}{text}", url="https://www.cats.example/")
        assert found.metadata.title == expected
