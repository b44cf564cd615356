"""Blocks have the text that browsers show, with every back end."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import blockml
from blockml.extractors import Plain

BACKENDS = ["lxml", "html5lib", *(["lexbor"] if find_spec("selectolax") else [])]


def text(html: str, backend: str = "lxml") -> str:
    """Return the text of all blocks."""
    return blockml.extract(html, model=Plain(), backend=backend).text


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>She said <q>no</q>.", "She said “no”."),
        ("<p>He wrote <q>nobody <q>important</q> was hurt</q>.", "He wrote “nobody ‘important’ was hurt”."),
        ("<p>He wrote <q>nobody <q>at all</q></q>.", "He wrote “nobody ‘at all’”."),
        ("<p>He wrote <q>“nobody”</q>.", "He wrote “nobody”."),
        ("<html lang=de><p>Sie sagte <q>nein</q>.", "Sie sagte „nein“."),
        ("<p>An empty <q></q> one", "An empty one"),
        ("<p>A jar of honey <img class=emoji alt=🍯 src=a.png> is free.", "A jar of honey 🍯 is free."),
        ("<p><img src=/emoji/1f986.png alt=🦆> swim", "🦆 swim"),
        ("<p>A cat <img class=emoji alt='A whole sentence' src=a.png> here", "A cat here"),
        ("<p><img class=dropcap alt=T src=t.gif>he mill stands.", "The mill stands."),
        ("<p><img class=dropcap alt=T src=t.gif>The mill stands.", "The mill stands."),
        ("<p>See the map <i class=material-icons>arrow_forward</i> now", "See the map now"),
        ("<p>See <i class=material-icons-list>arrow</i> now", "See arrow now"),
        ("<p>See <i class=material-icons>Two words</i> now", "See Two words now"),
        ("<p>One<video src=a>Get a browser</video><canvas>No canvas</canvas><p>Two", "One\nTwo"),
        ("<p>One</p><object data=x.swf><p>Install it</p></object><p>Two<progress>70 %</progress>", "One\nTwo"),
        ("<p>Write to <a class=__cf_email__ data-cfemail=2a4b6a48044945>[email protected]</a>.", "Write to a@b.co."),
        ("<p>Write to <a data-cfemail=xyz>[email protected]</a>.", "Write to [email protected]."),
        ("<p>He\0llo <b>wor\0\0ld</b><pre>\0a</pre>", "Hello world\na"),
    ],
)
def test_texts_are_those_that_browsers_show(html: str, expected: str, backend: str) -> None:
    """Marks, emoji, initials, names of icons, fallbacks and protected addresses."""
    assert text(html, backend) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<i class='fa fa-check'></i>", "✓"),
        ("<span class='icon icon-times-circle'></span>", "✗"),
        ("<div><span class=checkmark></span></div>", "✓"),
        ("<i class='bi bi-x-lg'></i>", "✗"),
        ("<i class=material-icons>check_circle</i>", "✓"),
        ("<b><span class=material-symbols-outlined>close</span></b>", "✗"),
        ("<svg><title>Yes</title><path d=M0></path></svg>", "Yes"),
        ("<svg role=img aria-label='Not included' class=cross><path d=M0></path></svg>", "Not included"),
        ("<i class='fa fa-check'></i>since May", "since May"),
        ("<i class='fa fa-check' aria-hidden=true></i><span class=sr-only>Yes</span>", "Yes"),
        ("<i class='fa fa-info'></i>", ""),
        ("<i class=material-icons>expand_more</i>", ""),
        ("<span class=nowrap></span>", ""),
        ("<span class='x-large no-print close-by'></span>", ""),
        ("<button><i class='fa fa-close'></i></button>", ""),
        ("<a href=/><i class='fa fa-check'></i></a>", ""),
        ("<i class='fa fa-check' style='display:none'></i><i class='fa fa-times'></i>", "✗"),
        ("<i class='fa fa-check' hidden></i>", ""),
        ("<i class='fa fa-check'></i><i class='fa fa-times'></i>", ""),
        ("<span class='check no'></span>", ""),
        ("<i class='fa fa-check disabled'></i>", ""),
        ("<span class=close></span>", ""),
        (f"<i aria-label='{'a long label ' * 4}' class=icon></i>", ""),
    ],
)
def test_cells_have_their_signs(cell: str, expected: str, backend: str) -> None:
    """A check mark or a cross that is drawn is a text, if it is all that a table cell has."""
    html = f"<table><tr><th>Plan<th>Free<th>Pro<tr><td>Search<td>{cell}<td>50 pages</table>"
    page = blockml.parse(html, backend=backend)
    assert [text for text in page.blocks.texts[4:-1] if text] == ([expected] if expected else [])
    result = blockml.extract(html, model=Plain(), backend=backend)
    assert result.markdown.endswith(f"| Search | {expected} | 50 pages |")
    nodes = page.nodes
    for node in range(len(nodes)):
        assert len(nodes.ancestors(node)) == nodes.depth[node]
        assert all(above < node < nodes.end[above] for above in nodes.ancestors(node))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("<li><i class='fa fa-check'></i> Backup<li><i class='fa fa-times'></i> Support", ["✓ Backup", "✗ Support"]),
        (
            "<li><i class=icon-cross></i> A<li><span><i class=icon-cross></i></span><span>B</span><li>C",
            ["✗ A", "✗ B", "C"],
        ),
        ("<li><i class='fa fa-times'></i> Close<li>Other", ["Close", "Other"]),
        (
            "<li><i class=icon-cross></i>✗ A<li><i class=icon-cross></i> B<li><i class=icon-tick></i> C",
            ["✗ A", "✗ B", "✓ C"],
        ),
        ("<li><i class=icon-ok></i> A<li><i class=icon-remove></i> B", ["✓ A", "✗ B"]),
        ("<li><svg class='icon icon-check'></svg> A<li><svg class='icon icon-close'></svg> B", ["✓ A", "✗ B"]),
        ("<li><i class='bi bi-check'></i> A<li><i class='bi bi-x'></i> B", ["✓ A", "✗ B"]),
        ("<li><i class=material-icons>check</i> A<li><i class=material-icons>close</i> B", ["✓ A", "✗ B"]),
        ("<li><b class=tick hidden></b><b class=cross></b> A<li><b class=cross></b> B", ["✗ A", "✗ B"]),
        ("<li><i class='fa fa-check'></i> Backup<li><i class='fa fa-check'></i> Support", ["Backup", "Support"]),
        ("<li><a href=/><i class='fa fa-times'></i> Close</a><li>Other", ["Close", "Other"]),
        ("<li><i class='fa fa-times'></i><li>Other", ["Other"]),
        ("<li>Remove <i class='fa fa-times'></i><li>Other", ["Remove", "Other"]),
    ],
)
def test_crossed_items_have_their_signs(items: str, expected: list[str], backend: str) -> None:
    """Items of a list begin with the sign that is drawn before them if there is a cross, because it says "not"."""
    table = "<table><tr><th>Plan<th>Free<tr><td>Search<td><i class='fa fa-check'></i></table>"
    html = f"{table}<ul>{items}</ul>{table}<ul><li><i class='fa fa-check'></i> Last</ul>"
    rows = ["Plan\tFree", "Search\t✓"]
    assert text(html, backend).split("\n") == [*rows, *expected, *rows, "Last"]


def test_the_rest_of_a_page_is_no_fallback() -> None:
    """Text after an element that is not closed stays if there is much of it."""
    article = "The cat sat on the mat and looked at the rain. " * 40
    assert text(f"<p>One<video src=a><p>{article}").startswith("One\nThe cat sat")


def test_markdown_has_emoji_as_text() -> None:
    """An emoji is not written as a picture too."""
    for picture in (
        "class=emoji alt=🍯 src=/emoji/a.png",
        "class=wp-smiley alt=🍯 src=https://s.org/emoji/svg/1f36f.svg",
    ):
        result = blockml.extract(f"<p>A jar <img {picture}> is free.", model=Plain())
        assert result.markdown == "A jar 🍯 is free."
        assert result.images == ()


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<p>Look for a &lt;strong>report&lt;/strong>, &lt;a href='/x?a=1'>here&lt;/a>", ("Look for a report, here",)),
        ('<p>[vc_row css=".a{}"][vc_column]Hello[/vc_column][/vc_row]<p>[quote id=3]<p>b', ("Hello", "b")),
        ("<p>[caption id='a' width=“12”]Boat[/caption]", ("Boat",)),
        ("<p>He [sic] said so [1] in a [video].<p>[/", ("He [sic] said so [1] in a [video].", "[/")),
        ("<p>1 &lt; 2 and 3 &lt;/ 4 > 1", ("1 < 2 and 3 </ 4 > 1",)),
        ("<p>Write &lt;b>x&lt;/b> in <code>b</code>", ("Write <b>x</b> in", "b")),
    ],
)
def test_markup_that_is_shown_by_mistake(html: str, texts: tuple[str, ...]) -> None:
    """Escaped tags around words and shortcodes are left out, except on pages with code."""
    assert blockml.parse(html).blocks.texts == texts


def test_elements_within_a_line() -> None:
    """A style within a line joins a division with the text beside it; elements beside others keep their lines."""
    html = (
        "<div>It costs $<div style='display:inline'><b>5</b></div> a <p style='display: inline-block;'>day</p>.</div>"
    )
    assert blockml.extract(html, model="plain").text == "It costs $5 a day."
    assert blockml.extract(html, model="plain").markdown == "It costs $**5** a day."
    html = "<div><div style='display:inline-block'>One</div><div style='display:inline-block'>Two</div></div>"
    assert blockml.extract(html, model="plain").text == "One\nTwo"
    names = [blockml.parse("<div>a<div style='display:inline'>b</div></div>").nodes.name(node) for node in (3, 5)]
    assert names == ["div", "div"]


def test_lists_of_word() -> None:
    """Paragraphs with a bullet of Word are items, and numbers stay."""
    mark = "<span style='mso-list:Ignore'>{}<span>&nbsp; </span></span>"
    html = "".join(
        f"<p style='mso-list:l0'><span>{mark.format(sign)}</span>Item {sign}</p>" for sign in ("·", "o", "1.")
    )
    result = blockml.extract(html, model="plain")
    assert result.markdown == "- Item ·\n- Item o\n\n1\\. Item 1."
    assert result.text == "Item ·\nItem o\n1. Item 1."


def test_links_back() -> None:
    """The sign of a link from a note back to the text is not text; other signs are."""
    html = "<p>Sunday. <a href='#r1'>↩</a><p>Press ↩ or <a href='/x'>↩</a>."
    assert blockml.parse(html).blocks.texts == ("Sunday.", "Press ↩ or ↩.")


def test_readings_above_characters() -> None:
    """Readings of characters are left out, because they would be part of the words, except in brackets."""
    html = "<p><ruby>春<rt>はる</rt></ruby>から<ruby>山<rp>(</rp><rt>やま</rt><rp>)</rp></ruby>の"
    assert blockml.extract(html, model="plain").text == "春から山(やま)の"
