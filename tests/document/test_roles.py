"""Headings and lists by their role, and custom elements with text."""

import pytest

import blockml
from blockml.document.nodes import Heading, inline_text, text_of
from tests.rendered import render_html, render_markdown, render_text
from tests.reported import reported


def markdown(html: str) -> str:
    """Return the Markdown of a page whose blocks are all kept."""
    page = blockml.parse(html)
    return render_markdown(page, [True] * len(page.blocks))


def test_a_reported_page_with_roles_is_right() -> None:
    """With headings and a list."""
    page, expected = reported("60")
    lines = expected.removeprefix("MARKDOWN\n").strip()
    assert blockml.render(blockml.extract(page), "markdown").strip() == lines


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<div role=heading aria-level=3>One</div>", "### One"),
        ("<div role=heading>One</div>", "## One"),
        ("<div role=heading aria-level=9>One</div>", "## One"),
        ("<h4 role=heading aria-level=1>One</h4>", "#### One"),
        ("<div role='headings'>One</div>", "One"),
        ("<div role=list><div role=listitem>a</div><div role=listitem>b</div></div>", "- a\n- b"),
        ("<div role=list><div>a</div></div>", "a"),
        ("<div><div role=listitem>a</div></div>", "a"),
        ("<div role=list><div role=listitem><h2>a</h2>b</div></div>", "## a\n\nb"),
        ("<ol role=list><li role=listitem>a</ol>", "1. a"),
    ],
)
def test_roles(html: str, written: str) -> None:
    """An element that has its own kind keeps it, and cards are not items."""
    assert markdown(html) == written


def test_html_has_the_elements_of_roles() -> None:
    """With the same text."""
    page = blockml.parse("<div role=heading>One</div><div role=list><div role=listitem>a</div></div>")
    assert render_html(page, [True, True]) == "<h2>One</h2><ul><li>a</li></ul>"


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<x-a>One.</x-a><x-a>Two <b>three</b>.</x-a>", ["One.", "Two three."]),
        ("<div><x-b><x-a>One.</x-a></x-b><x-a>Two.</x-a></div>", ["One.", "Two."]),
        ("<p>It is <x-time>noon</x-time>.", ["It is noon."]),
        ("<p><b>At</b> <x-time>noon</x-time>", ["At noon"]),
    ],
)
def test_custom_elements(html: str, lines: list[str]) -> None:
    """They are paragraphs unless text or an inline element is beside them."""
    page = blockml.parse(f"<body>{html}</body>")
    assert render_text(page, [True] * len(page.blocks)).split("\n") == lines
    assert markdown(html).replace("**", "").split("\n\n") == lines


@pytest.mark.parametrize(
    "tip",
    ["<tool-tip>With tax</tool-tip>", "<i role=tooltip>With tax</i>", "<span class='tip tooltiptext'>With tax</span>"],
)
def test_a_hint_is_not_a_part_of_a_heading(tip: str) -> None:
    """A heading is written without its tooltip, unless the tooltip is all of its text."""
    document = blockml.extract(f"<h2>Price {tip}</h2><p>Five {tip}.<h2>{tip}</h2><p>Six.", model="plain").document
    headings = [inline_text(block.content) for block in document.walk() if isinstance(block, Heading)]
    assert headings == ["Price", "With tax"]
    assert "With tax" in text_of(document.children[1:2])
