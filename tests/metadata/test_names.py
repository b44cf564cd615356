"""Names of authors: labelled values, bylines with dates, counts next to a name, and texts that are not names."""

from __future__ import annotations

import pytest

import blockml
from blockml.metadata.metadata import page_metadata
from blockml.metadata.names import byline_names, clean_names, names_author, person_names


def authors(html: str) -> tuple[str, ...]:
    """Return the authors of a page."""
    return page_metadata(blockml.parse(f"{html}<p>Cats rule the world.")).authors


@pytest.mark.parametrize("text", ["By Ann Lee, 記者", "Ann Lee, 기자"])
def test_a_title_without_a_name_is_left_out(text: str) -> None:
    """The title of a reporter that is separated from the name is not another name."""
    assert person_names(text) == ("Ann Lee",)


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("Written by", "Ann Lee", ("Ann Lee",)),
        ("Verfasst von", "Ann Lee", ("Ann Lee",)),
        ("Est. reading time", "3 minutes", ()),
        ("Price", "$22", ()),
        ("Availability", "In stock", ()),
    ],
)
def test_a_labelled_value_is_an_author_if_its_label_names_one(
    label: str, value: str, expected: tuple[str, ...]
) -> None:
    """A labelled value is an author if its label names one, whichever of the two comes first."""
    elements = [f"<meta name=twitter:data1 content='{value}'>", f"<meta name=twitter:label1 content='{label}'>"]
    assert authors("".join(elements)) == authors("".join(elements[::-1])) == expected
    assert authors(elements[0]) == ()


def test_labels_in_several_languages() -> None:
    """Labels that name authors are known in several languages; "Posted at" is not one."""
    assert all(map(names_author, ["Author", "Écrit par", "Escrito por", "Skrevet af", "Geschreven door:", "作者"]))
    assert not any(map(names_author, ["Posted at", "Authority", "Description", "Filed under", "Brand", ""]))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p class=author>By</p><p class=author-name>Ann Lee</p>", ("Ann Lee",)),
        ("<p class=author-date>15.05.2020, 07:11</p>", ()),
        ("<p class=author-date>15.05.2020, 07:11</p><p class=byline>Ann Lee</p>", ("Ann Lee",)),
        ("<p class=byline>Dec 17, 2025 Julian K. Arni</p>", ("Julian K. Arni",)),
        ("<div class=byline>Share Facebook Twitter Pinterest</div>", ()),
        ("<p class=author>de catlady » Ven 12 Fév 2016, 18:00</p>", ("catlady",)),
        ("<div class=author>Ann Lee <b class=author-role>Chief</b></div>", ("Ann Lee",)),
        ("<div class=author><b class=author-name>Ann Lee</b> Chief</div>", ("Ann Lee",)),
        (
            "<div class=author><a rel=author>Ann Lee</a> and <a rel=author>Bob Ray</a> Fans</div>",
            ("Ann Lee", "Bob Ray"),
        ),
        ("<div class=author><i class=author-name><i class=author-name>Ann Lee</i>, boss</i></div>", ("Ann Lee",)),
        ("<div class=author><b class=author-name><img></b>Ann Lee</div>", ("Ann Lee",)),
        ("<p class=comment-author>Ann Lee</p><p class=review-author>Bob Ray</p>", ()),
        ("<p class=authorized-dealer>Authorized dealer</p>", ()),
        ("<p class=author>[责任编辑：杜智]</p>", ("杜智",)),
        ("<p class=byline>[ 田中宏昌， ITmedia]</p>", ("田中宏昌", "ITmedia")),
        ("<p class=author>田中宏昌（ITmedia）</p>", ("田中宏昌",)),
        ("<p class=byline>Ann Lee [Staff]</p>", ("Ann Lee",)),
        ("<p class=author>发表于</p><p class=byline>durch Ann Lee</p>", ("Ann Lee",)),
        ("<p class=author>More stories by Ann Lee</p>", ("Ann Lee",)),
        ("<meta name=author content='//cat.example/ann/'><p class=author>Ann Lee</p>", ("Ann Lee",)),
        ("<meta name=author content='Super User'>", ()),
        ("<meta name=author content='Discuz! Team and Comsenz UI Team'>", ()),
        ("<p class=byline>5 days ago</p><p class=byline>Foto: Ann Lee</p><p class=byline>Bob Ray</p>", ("Bob Ray",)),
    ],
)
def test_bylines(html: str, expected: tuple[str, ...]) -> None:
    """Dates and authors of comments are not authors of the page, and the name within a byline is preferred."""
    assert authors(html) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann Lee Published on July 3, 2025", ("Ann Lee",)),
        ("Ann Lee - June 3, 2025", ("Ann Lee",)),
        ("Updated March 3, 2024", ()),
        ("Sat, 20 Dec, 2025", ()),
        ("Submitted by Ann Lee on Mon, 2014-12-01", ("Ann Lee",)),
        ("03/10/2023 by Ann Lee", ("Ann Lee",)),
        ("Ann Lee and Bob Ray 3 days ago", ("Ann Lee", "Bob Ray")),
        ("Ann Lee Twitter", ("Ann Lee",)),
        ("1:01PM", ()),
        ("3 min read | Ann Lee", ("Ann Lee",)),
        ("Room 12 Cats", ("Room",)),
    ],
)
def test_dates_next_to_a_name(text: str, expected: tuple[str, ...]) -> None:
    """Dates before or after a name are removed from a byline, but words that are not months stay."""
    assert byline_names(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ann Lee, MS, RD", ("Ann Lee",)),
        ("Ann Lee og Bob Ray", ("Ann Lee", "Bob Ray")),
        ("Le chat d'y Lee et Bob", ("Le chat d'y Lee", "Bob")),
        ("Recipe by Ann Lee", ("Ann Lee",)),
        ("作者：安", ("安",)),
        ("105464", ()),
        ("Name *", ()),
        ("About the author", ()),
    ],
)
def test_names_are_cleaned(value: str, expected: tuple[str, ...]) -> None:
    """Degrees, numbers and labels are removed from names."""
    assert clean_names([value]) == expected


@pytest.mark.parametrize(
    "inner",
    [
        "<a itemprop=name>catlady</a><span>12,560</span>",
        "<meta itemprop=name content=catlady><b>Member since May 2014</b>",
        "<b><i itemprop='url name'>catlady</i></b> 3 posts",
    ],
)
def test_the_name_of_a_microdata_author_is_preferred(inner: str) -> None:
    """The name of a microdata author is preferred to the counts and ranks that forums put next to it."""
    assert authors(f"<span itemprop=author itemscope>{inner}</span><b itemprop=name>Cats</b>") == ("catlady",)


def test_a_microdata_author_may_have_several_names() -> None:
    """All names of a microdata author are read."""
    html = "<div itemprop=author><b itemprop=name>Ann Lee</b><b itemprop=name>Bob Ray</b></div>"
    assert authors(html) == ("Ann Lee", "Bob Ray")
