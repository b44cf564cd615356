"""Titles of two parts that are both headings, and permalink signs in headings."""

from __future__ import annotations

import pytest

import blockml
from blockml.metadata.metadata import page_metadata

TEXT = "<p>They rule the world from the sofa, as everybody knows.</p>"


def title(html: str, url: str | None = None) -> str | None:
    """Return the title of a page."""
    return page_metadata(blockml.parse(html, url=url)).title


@pytest.mark.parametrize(
    ("head", "headings", "expected"),
    [
        ("Cats rule | The Daily", "<h1>The Daily</h1><h2>Cats rule</h2>", "Cats rule"),
        ("The Daily: Cats rule the world", "<h1>The Daily</h1><h2>Cats rule the world</h2>", "Cats rule the world"),
        ("Cats rule | The Daily", "<h1>The Daily</h1><h2><a href=c>#</a> \xad<b>Cats</b> rule</h2>", "Cats rule"),
        ("Überkatzen | Die Zeitung", "<h1>Die Zeitung</h1><h2>Ü\xadberkatzen</h2>", "Überkatzen"),
        ("Cats rule - Cat Forums", "<h1>Cat Forums</h1><h2>Cats rule</h2><h3>Cats rule</h3>", "Cats rule"),
        ("Ann Lee - Cats", "<h1><a href=/>Ann Lee</a></h1><h2>Cats</h2>", "Cats"),
        ("Cats rule | The Daily", "<h1>Cats rule</h1><h2>The Daily</h2>", "Cats rule"),
        ("Cats rule | The Daily", "<h1>Cats rule the world</h1><h2>The Daily</h2>", "Cats rule the world"),
        ("Cats: rule | The Daily", "<h1>Cats: rule</h1><h2>Cats</h2>", "Cats: rule"),
        ("Cats :: Fish :: On poles", "<h1>Cats</h1><h2>Fish</h2><h3>On poles</h3>", "On poles"),
        ("Cats » Archive » On poles", "<h1><a href=/>Cats</a></h1><h2>On poles</h2>", "On poles"),
        ("The Pole: Chapter 3. Ice", "<h1>The Pole</h1><h2>Chapter 3. Ice</h2>", "Chapter 3. Ice"),
        ("On poles - Page 2 - Cats", "<h1>Cats</h1><h2>On poles</h2>", "On poles"),
        ("On poles | Cats", "<header><h1><img src=l alt=Cats></h1></header><h2>On poles</h2>", "On poles"),
        ("On poles | Cats", "<h1>Menu</h1><h1>On poles</h1><h1>Related</h1>", "On poles"),
        ("On poles: why they are borrowed", "<h1>On poles</h1>", "On poles"),
        ("Cat Forum - View topic - On poles", "<h2><a href=t>On poles</a></h2>", "On poles"),
    ],
)
def test_the_nearest_heading_before_the_text_is_the_title(head: str, headings: str, expected: str) -> None:
    """The heading next to the text is the title, unless it ends the title as the site's name and is the shorter one."""
    assert title(f"<title>{head}</title>{headings}{TEXT}") == expected


def test_the_site_of_the_address_is_not_the_title() -> None:
    """The site's name from the address is not the title, even if it is a heading right before the text."""
    html = f"<title>Learn cats | catdev</title><h1>Learn cats</h1><h2>catdev</h2>{TEXT}"
    assert title(html, "https://catdev.example/learn") == "Learn cats"


def test_headings_after_the_text_are_not_titles() -> None:
    """Headings after the text are not titles, even if the title contains them."""
    assert title(f"<title>Cats | Other Cats Here</title><h1>Cats</h1>{TEXT}<h2>Other Cats Here</h2>") == "Cats"


@pytest.mark.parametrize("sign", ["#", "¶", "§", "🔗", "🔗\ufe0f", "\uf0c1", "\ue157", "\u200b", "\u2060", "##"])
def test_permalink_signs_are_not_part_of_a_title(sign: str) -> None:
    """A permalink sign before or after the heading's text is not part of the title."""
    assert title(f"<h1>Cats rule<a href=#c>{sign}</a></h1>{TEXT}") == "Cats rule"
    assert title(f"<h1><a href=#c>{sign}</a> Cats rule</h1>{TEXT}") == "Cats rule"


@pytest.mark.parametrize("heading", ["Learn C#", "§ 5 Cats", "Cats 🛠️", "Cats & #dogs"])
def test_other_signs_in_a_title_are_kept(heading: str) -> None:
    """Signs that are not the only text of a link stay in the title."""
    assert title(f"<h1>{heading}</h1>{TEXT}") == heading
