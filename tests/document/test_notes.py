"""Footnote marks, and links back from the notes."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from tests.rendered import render_html, render_markdown
from tests.reported import reported

MARK = "<p>Cats rule<sup><a href='#n1'>1</a></sup> the world.</p>"


def written(html: str, *removed: str) -> str:
    """Return the Markdown of a page without the blocks that contain one of the given texts."""
    page = blockml.parse(html)
    kept = np.array([not any(text in block.text for text in removed) for block in page.blocks])
    is_in_html = "href" in render_html(page, kept)
    markdown = render_markdown(page, kept)
    assert is_in_html == ("](" in markdown)
    return markdown


@pytest.mark.parametrize("mark", ["1", "[1]", "[ 12 ]", "*", "†", "a", "[note 3]", "iv"])
def test_marks_stay_with_their_note_only(mark: str) -> None:
    """A mark is a link if its note is kept, and is left out if its note is removed."""
    page = f"<p>Cats<sup><a href='#n1'>{mark}</a></sup> rule.</p><p id=n1>Ask one.</p>"
    assert written(page, "Ask") == "Cats rule."
    assert "](#n1)" in written(page)


def test_a_note_may_start_with_an_empty_target() -> None:
    """A note may start with an empty target, and is then the paragraph or item around it."""
    note = "<ol><li><a name=n1></a>Ask one.</li></ol>"
    assert "](#n1)" in written(MARK + note)
    assert written(MARK + note, "Ask") == "Cats rule the world."


@pytest.mark.parametrize(
    "back",
    [
        "<a href='#r1'>^</a> Ask one.",
        "Ask one. <a href='#r1'>↩\ufe0e</a>",
        "<span>^ <a href='#u1'><sup>a</sup></a> <a href='#u2'><sup>b</sup></a></span> Ask one.",
        "<span>^ <a href='#r1'><sup>a</sup></a> <a href='#r2'><sup>b</sup></a></span> Ask one.",
    ],
)
def test_links_back_are_left_out(back: str) -> None:
    """Signs and letters that link from a note back to its marks are left out, with the sign before the letters."""
    marks = "<p>Cats<sup id=r1>x</sup> rule<sup id=r2>y</sup>.</p>"
    assert written(f"{marks}<ol><li id=n1>{back}</ol>").endswith("\n\n1. Ask one.")


def test_links_to_the_top_lead_to_no_element_without_a_name() -> None:
    """The address "#" leads to no element whose id or name is empty, and such a link stays."""
    page = "<p>Cats <a href='#'>x</a> rule<a href='#y'>1</a>.</p><form id=''>Ask one.</form><p id=y>So.</p>"
    assert "[x](#)" in written(page, "Ask")


def test_other_links_within_the_page_are_kept() -> None:
    """Links with words, and marks whose target is unknown, are kept."""
    assert "[See below](#x)" in written("<p><a href='#x'>See below</a> or <a href='#y'>1</a>.</p><p id=x>So.", "So")
    assert "[1](#y)" in written("<p><a href='#x'>See below</a> or <a href='#y'>1</a>.</p><p id=x>So.", "So")
    note = "<p id=n1>Ask one. <a href='#r1'>Up</a></p><p>So, as said <a href='#r1'>in the first line</a>.</p>"
    page = f"<p id=r1>Cats<a href='#n1'>1</a> rule, <a href='#r1'>as said</a>.</p>{note}"
    assert "[as said](#r1)" in written(page)
    assert "[Up](#r1)" in written(page)
    assert "[in the first line](#r1)" in written(page)


def test_the_reported_wiki_has_no_links_back() -> None:
    """References of the reported wiki are written without "^"."""
    page, _ = reported("29")
    markdown = blockml.render(blockml.extract(page), "markdown")
    assert "^" not in markdown
    assert "1. Holm, Astrid (1988). *Lights of the West*. Kell: Harbour Press. p. 44." in markdown


@pytest.mark.parametrize(
    ("marks", "written"),
    [
        ("[<a href=#n1>1</a>]", "[1]"),
        ("[<a href=#n1>1</a>, <a href=#n1>2</a>; <a href=#n1>3</a>]", "[1, 2; 3]"),
        ("<sup>[<a href=#n1>1</a>,<a href=#n1>2</a>]</sup>", "<sup>[1,2]</sup>"),
        ("(<a href=#n1>1</a>)", "(1)"),
        (", dogs,<a href=#n1>1</a>, mice", ", dogs,, mice"),
        ("<sup><a href=#n1>[1]</a></sup>", ""),
    ],
)
def test_brackets_around_a_mark_do_not_become_empty(marks: str, written: str) -> None:
    """Marks without a note that are in brackets outside of the link stay as text."""
    page = blockml.parse(f"<p>Cats{marks} rule.</p><p>They do.</p><p id=n1>Removed.</p>")
    kept = ["Removed" not in text for text in page.blocks.texts]
    assert render_markdown(page, kept) == f"Cats{written} rule.\n\nThey do."
