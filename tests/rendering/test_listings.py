"""Code blocks whose lines are rows, items or elements, and check marks of tasks."""

import re

import pytest

import blockml
from blockml.rendering import render, render_markdown
from tests.rendering.reported import reported

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
    by_spaces = {"def slope(pool):", "def flow(pool):"}  # indents are white space between tags, which becomes one space
    for block, lines in zip(blocks, right, strict=True):
        is_joined = lines.partition("\n")[0] in by_spaces
        assert block == (re.sub("^ +", " ", lines, flags=re.MULTILINE) if is_joined else lines)


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
    assert markdown(around.format(rows)) == CODE


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
