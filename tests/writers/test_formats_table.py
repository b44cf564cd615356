"""The table of research/markdown.md that shows each kind of block and inline content in each format."""

from __future__ import annotations

import re
from pathlib import Path

import blockml
from blockml.document import nodes
from blockml.document.nodes import Block
from blockml.page import Extraction

PAGE = Path(__file__).parents[2] / "research" / "markdown.md"
START, END = "<!-- table of kinds -->\n", "<!-- end of table of kinds -->"
#: A page for each class of node, which contains it.
EXAMPLES = {
    "Heading": "<h2>Cats</h2>",
    "Paragraph": "<p>Cats rule.</p>",
    "Span: strong": "<p>Cats <b>rule</b>.</p>",
    "Span: em": "<p>Cats <i>rule</i>.</p>",
    "Span: del": "<p>Cats <s>rule</s>.</p>",
    "Span: sub": "<p>H<sub>2</sub>O</p>",
    "Span: sup": "<p>m<sup>2</sup></p>",
    "Span: code": "<p>Call <kbd>cat</kbd>.</p>",
    "Link": "<p>See <a href=/c>cats</a>.</p>",
    "NoteReference": "<p>Cats<a href=#n1>[1]</a> rule.</p><ol><li id=n1>All.</ol>",
    "Note": "<p>Cats<a href=#n1>[1]</a> rule.</p><p id=n1>1: All.</p>",
    "Picture": "<p>A <img src=/c.jpg alt=cat width=400> rules.</p>",
    "InlineFormula": "<p>So <math alttext='x^2'><mi>x</mi></math>.</p>",
    "Break": "<p>Cats<br>rule.</p>",
    "Formula": "<p>So</p><p>\\[x^2\\]</p>",
    "Code": "<pre><code class=language-py>a = 1\nb = 2</code></pre>",
    "Rule": "<p>a<hr><p>b",
    "Quotation": "<blockquote>Cats rule.</blockquote>",
    "Figure": "<p>a<figure><img src=/c.jpg><figcaption>Cat</figcaption></figure><p>b",
    "List: unordered": "<ul><li>a<li>b</ul>",
    "List: ordered": "<ol start=3><li>a<li>b</ol>",
    "List: letters": "<ol type=a><li>a<li>b</ol>",
    "Item: check box": "<ul><li><input type=checkbox checked> a</ul>",
    "Definitions": "<dl><dt>cat<dd>A ruler.</dl>",
    "Table": "<table><caption>C</caption><tr><th>a<th>b<tr><td>1<td>2</table>",
}


def outputs(result: Extraction) -> list[str]:
    """Return the four outputs of a page."""
    tei = blockml.render(result, "tei").partition("<body>\n")[2].removesuffix("</body></text></TEI>")
    return [result.text, blockml.render(result, "markdown", with_title=False), result.html, tei]


def cell(text: str) -> str:
    """Write a text as code in one line of a table, with arrows for line ends."""
    code = text.strip("\n").replace("\n", "↵").replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", code)), default=0))
    pad = " " if "`" in (code[:1], code[-1:]) else ""
    return f"{fence}{pad}{code}{pad}{fence}" if code else ""


def table() -> str:
    """Make the table."""
    rows = ["| kind | text | Markdown | HTML | TEI |", "|---|---|---|---|---|"]
    for kind, html in EXAMPLES.items():
        result = blockml.extract(html, model="plain")
        rows.append(f"| {kind} | {' | '.join(map(cell, outputs(result)))} |")
    return "\n".join(rows) + "\n"


def test_the_documentation_shows_each_kind() -> None:
    """The table in the documentation is the one that the writers make."""
    _, _, rest = PAGE.read_text("utf-8").partition(START)
    assert rest.partition(END)[0] == table(), f"put this into research/markdown.md:\n{table()}"


def test_there_is_an_example_of_each_class() -> None:
    """Each class of block is in an example, or part of one that is."""
    found: set[str] = set()
    for html in EXAMPLES.values():
        found |= {type(block).__name__ for block in blockml.extract(html, model="plain").document.walk()}
    classes = {
        name for name in nodes.__all__ if isinstance(item := getattr(nodes, name), type) and issubclass(item, Block)
    }
    assert classes - found == {"Block"}


def test_html_gives_the_same_document() -> None:
    """The HTML of each example, read again, gives the same Markdown and HTML."""
    for kind, html in EXAMPLES.items():
        first = blockml.extract(html, model="plain")
        second = blockml.extract(first.html, model="plain")
        assert second.html == first.html, kind
        assert outputs(second)[1] == outputs(first)[1], kind
