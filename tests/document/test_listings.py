"""Code blocks whose lines are rows, items or elements, and check marks of tasks."""

import re

import pytest

import blockml
from blockml import render
from tests.rendered import render_html, render_markdown, render_text
from tests.reported import reported

CODE = "```\ndef f():\n    return 1\n\nf()\n```"
LINES = ("def f():", "    return 1", "", "f()")


def markdown(html: str) -> str:
    """Return the Markdown of a page whose blocks are all kept."""
    page = blockml.parse(f"<p>before</p>{html}<p>after</p>")
    text = render_markdown(page, [True] * len(page.blocks))
    return text.removeprefix("before\n\n").removesuffix("\n\nafter")


def test_listings_of_a_reported_page_are_blocks() -> None:
    """The lines of seven highlighters are each one code block without line numbers."""
    page, expected = reported("28")
    blocks = re.findall(r"```\w*\n(.*?)```", render(blockml.extract(page), "markdown"), re.DOTALL)
    right = re.findall(r"```\w*\n(.*?)```", expected, re.DOTALL)
    assert blocks == right


def test_plain_text_of_a_reported_page_has_listings() -> None:
    """With indents and empty lines, and without numbers."""
    page, expected = reported("28")
    text = blockml.extract(page).text
    for lines in re.findall(r"```\w*\n(.*?)\n```", expected, re.DOTALL):
        assert f"\n{lines}\n" in f"{text}\n"
    assert not re.search(r"^\s*\d+\s*$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("around", "line"),
    [
        ("<table>{}</table>", "<tr><td class=blob-num>{n}</td><td class=blob-code>{line}</td></tr>"),
        ("<table>{}</table>", "<tr><td class=lines-num></td><td class=lines-code><code>{line}\n</code></td></tr>"),
        ("<pre><table>{}</table></pre>", "<tr><td class=hljs-ln-numbers>{n}<td class=hljs-ln-code>{line}</tr>"),
        ("<div>{}</div>", "<div class=code-line>{line}</div>"),
        ("<ol>{}</ol>", "<li class=code-line>{line}</li>"),
        ("<div class=syntaxhighlighter>{}</div>", "<div class=line>{line}</div>"),
        ("<pre>{}</pre>", "<div>{line}</div>"),
    ],
)
def test_lines_are_one_block(around: str, line: str) -> None:
    """The lines of a listing are one block with indents and empty lines, and without numbers."""
    rows = "".join(line.format(n=number, line=text) for number, text in enumerate(LINES, 1))
    html = around.format(rows)
    assert markdown(html) == CODE
    page = blockml.parse(f"<p>before</p>{html}<p>after</p>")
    kept = [True] * len(page.blocks)
    assert render_text(page, kept) == "\n".join(["before", *LINES, "after"])
    written = render_html(page, kept)
    assert "<pre>" in written
    assert [line for line in LINES if line not in written] == []


def test_white_space_of_an_empty_line_does_not_move() -> None:
    """A line after an empty one gains no space, and its indent is kept."""
    assert markdown("<pre><div>a</div><div> </div><div>b</div></pre>") == "```\na\n\nb\n```"
    assert markdown("<pre><div>a</div><div></div><div>    b</div></pre>") == "```\na\n\n    b\n```"


def test_other_tables_are_tables() -> None:
    """A table whose class is an element of another word, as in "blob", is not a listing."""
    assert markdown("<table><tr><th class=blob>a<th>b<tr><td>c<td>d</table>").startswith("| a | b |")


@pytest.mark.parametrize(
    ("item", "written"),
    [
        ("<input type=checkbox checked disabled> Done", "- [x] Done"),
        ("<label><input type=checkbox> Open</label>", "- [ ] Open"),
        ("<input type=text> Name", "- Name"),
        ("Later <input type=checkbox>", "- Later"),
    ],
)
def test_tasks_have_check_marks(item: str, written: str) -> None:
    """An item that starts with a checkbox gets a check mark."""
    assert markdown(f"<ul><li>{item}</li></ul>") == written


@pytest.mark.parametrize("space", ["    ", "&nbsp;&nbsp;&nbsp;&nbsp;"])
def test_indents_in_elements_of_their_own_are_kept(space: str) -> None:
    """Outside of ``pre``; an empty line, which has a blank, doesn't indent the next one."""
    lines = ["<code>def f():</code>", f"<code>{space}</code><code>return 1</code>", "&nbsp;", "<code>f()</code>"]
    numbers = "".join(f"<div class=line>{n}</div>" for n in range(1, 5))
    code = "".join(f"<div class=line>{line}</div>" for line in lines)
    html = f"<table class=syntaxhighlighter><tr><td class=gutter>{numbers}<td class=code>{code}</table>"
    assert markdown(html) == CODE
    page = blockml.parse(html)
    assert render_text(page, [True] * len(page.blocks)) == "\n".join(LINES)
    assert render_html(page, [True] * len(page.blocks)) == f"<pre>{chr(10).join(LINES)}</pre>"


def test_a_column_of_numbers_is_left_out_of_plain_text() -> None:
    """Where it is preformatted; code that begins with a number is not a column."""
    page = blockml.parse("<table><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table><pre>1\nx</pre>")
    assert render_text(page, [True] * len(page.blocks)) == "a\nb\n1\nx"


def test_a_listing_of_numbers_stays_in_plain_text() -> None:
    """Numbers that no code follows are not line numbers."""
    page = blockml.parse("<p>before</p><pre>1\n2\n3</pre><p>after</p>")
    assert render_text(page, [True] * len(page.blocks)) == "before\n1\n2\n3\nafter"
