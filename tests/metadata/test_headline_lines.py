"""Headlines found as lines of a page that occur in its title."""

from __future__ import annotations

import pytest

import blockml

CATS = "Cats rule the world"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"<title>Daily News, Sports | {CATS}</title><b>{CATS}</b><p>They do.", CATS),
        (f"<title>{CATS} - World - News - Daily</title><h3>Cats rule <i>the</i> world</h3>", CATS),
        (f"<title>news.example: {CATS}</title><div>CATS RULE THE WORLD!</div><p>They do.", CATS),
        ("<title>猫咪统治世界的故事--健康·生活--人民网</title><p>猫咪统治世界的故事</p>", "猫咪统治世界的故事"),
        (f"<title>{CATS} | Life</title><meta property=og:title content='{CATS} | Life'><h3>{CATS}</h3>", CATS),
        (f"<title>Daily - {CATS}</title><h1>Sections</h1><h2>{CATS}</h2>", CATS),
        (f"<title>Daily - {CATS}</title><h2>{CATS}</h2><h1>Sections</h1>", "Sections"),
        (f"<title>{CATS} - Daily</title><h1>World</h1><h2>{CATS}</h2>", "World"),
        (f"<title>{CATS} | The Cat Times</title><p><a href=/>The Cat Times</a><p>Home", CATS),
        (f"<title>{CATS} - News - All</title><p>Cats rule", f"{CATS} - News"),
    ],
)
def test_a_line_of_the_page_in_its_title(page: str, expected: str) -> None:
    """The longest part of the title that is a line without a link is the headline, even below the h1 of a section."""
    assert blockml.extract(page).title == expected


@pytest.mark.parametrize("number", range(10))
def test_the_first_of_two_lines_of_equal_length(number: int) -> None:
    """The first of two lines of equal length is the headline, in every process."""
    first, second = f"Cats rule {number} worlds", f"Dogs take {number} sticks"
    assert blockml.extract(f"<title>{first} - {second}</title><b>{second}</b><p>{first}<p>They do.").title == first


def test_a_long_title_is_not_searched() -> None:
    """A long title is not searched for headlines, because splitting its parts into words takes seconds per megabyte."""
    short, long = (f"<title>Daily | {CATS} | {'word ' * n}</title><b>{CATS}</b><p>They do." for n in (10, 1000))
    assert blockml.extract(short).title == CATS
    assert blockml.extract(long).title != CATS


@pytest.mark.parametrize("host", ["www.cats.co.uk", "cats.co.nz", "news.cats.co.uk"])
def test_the_second_level_of_a_suffix_is_not_a_site_name(host: str) -> None:
    """A public suffix such as "co.uk" is not a site name, although many titles contain "co"."""
    page = f"<title>Council confirms its plan | Cats</title><p>{CATS}, and nobody has ever asked them to."
    assert blockml.extract(page, url=f"https://{host}/plan").title == "Council confirms its plan"
