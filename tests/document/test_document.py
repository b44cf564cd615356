"""The document of a page: each kept text is in it once, its normal form, and what is left out of it on request."""

from __future__ import annotations

import gzip
import os
import pickle
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.document.nodes import (
    MAX_DEPTH,
    Block,
    Break,
    Code,
    Definitions,
    Description,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    InlineFormula,
    Item,
    Link,
    List,
    NoteReference,
    Paragraph,
    Picture,
    Quotation,
    Span,
    Table,
    Term,
    children_of,
    text_of,
)
from blockml.errors import UnknownNameError
from blockml.page import Extraction

DATA = sorted((Path(__file__).parents[2] / "data" / "pages").glob("*/page.html"))
CORPORA = os.environ.get("BLOCKML_CORPORA")
#: Differences between plain text and the document: permalink signs, and note marks without a note.
NOT_SHOWN = set("¶#§[]*0123456789†‡ \uf0c1\uf0c2⚓🔗")


def built(html: str) -> Document:
    """Return the document of a page with all of its blocks."""
    return blockml.extract(html, model="plain").document


def leaves(document: Document) -> Iterable[Block]:
    """Iterate over the blocks that contain no others."""
    return (block for block in document.walk() if not children_of(block))


def check_inline(content: tuple[Inline, ...], around: frozenset[str] = frozenset()) -> None:
    """Check the normal form of inline content."""
    assert content
    for before, item, after in zip((Break(), *content), content, (*content[1:], Break()), strict=False):
        if isinstance(item, str):
            assert item
            assert not isinstance(before, str)
            assert not {"\n", "\t"} & set(item)
            assert "  " not in item
            assert not (isinstance(before, Break) and item[0] == " ")
            assert not (isinstance(after, Break) and item[-1] == " ")
        elif isinstance(item, Span | Link | NoteReference):
            kind = item.mark if isinstance(item, Span) else "link"
            assert kind not in around
            check_inline(item.content, around | {kind})


def check(result: Extraction) -> None:
    """Check that each kept block is in one leaf of the document, in order, and that its blocks are in normal form."""
    document = result.document
    shown = [block for block in leaves(document) if block.first >= 0 and not getattr(block, "removed", False)]
    rows = [row for block in shown for row in range(block.first, block.last + 1) if result.kept[row]]
    assert rows == sorted(set(rows))
    missing = {row for row, kept in enumerate(result.kept) if kept}.difference(rows)
    assert all(set(result.page.blocks.texts[row]) <= NOT_SHOWN or result.page.nodes.flags[0] for row in missing)
    for block in document.walk():
        content = getattr(block, "content", None)
        if content is not None:
            check_inline(content)
        if isinstance(block, List | Item | Quotation | Definitions | Description | Figure | Table):
            assert children_of(block)


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.parent.name)
def test_each_text_is_once_in_the_document(path: Path) -> None:
    """All kept blocks are in the document once and in order, and it has the letters of the text."""
    result = blockml.extract(path)
    check(result)
    assert "".join(text_of(result.document.children).split()) == "".join(result.text.split())


@pytest.mark.skipif(CORPORA is None, reason="BLOCKML_CORPORA is not set")
def test_real_pages_are_whole() -> None:
    """All kept texts of real pages are in the document once, and plain text and document have the same letters."""
    paths = sorted(Path(CORPORA or "", "wcxb").rglob("*.html.gz"))[::25]
    n_equal = 0
    for path in paths:
        result = blockml.extract(gzip.decompress(path.read_bytes()))
        check(result)
        own, text = ("".join(words.split()) for words in (text_of(result.document.children), result.text))
        n_equal += own == text
    assert n_equal >= 0.9 * len(paths) > 0


@pytest.mark.parametrize(
    ("html", "types"),
    [
        ("<h2>a</h2><p>b<hr><p>c", [Heading, Paragraph, type(None), Paragraph]),
        ("<ul><li>a<ol><li>b</ol></ul>", [List, Item, Paragraph, List, Item, Paragraph]),
        ("<dl><dt>a<dt>b<dd>c</dl>", [Definitions, Term, Term, Description, Paragraph]),
        ("<dl><dt>a<dd>b<dd>c</dl>", [Definitions, Term, Description, Paragraph, Description, Paragraph]),
        ("<dd>a</dd><li>b", [Definitions, Description, Paragraph, List, Item, Paragraph]),
        ("<li>a<dl></li><dt>b", [List, Item, Paragraph, Definitions, Term]),
        ("<ul><ol><li>a</ol><dd>b</ul>", [List, Item, Paragraph, Definitions, Description, Paragraph]),
        ("<ul><dd>a</dd><ol><li>b</ol></ul>", [Definitions, Description, Paragraph, List, Item, Paragraph]),
        ("<blockquote><p>a<pre>b</pre></blockquote>", [Quotation, Paragraph, Code]),
        ("<p>a</p><div>\\[x\\]</div><p>b", [Paragraph, Formula, Paragraph]),
        ("<p>a<figure><img src=/i.jpg><figcaption>b</figcaption></figure><p>c",
         [Paragraph, Figure, Paragraph, Paragraph, Paragraph]),
        ("<table><tr><td>a<td>b</table>", [Paragraph, Paragraph]),
    ],
)  # fmt: skip
def test_blocks(html: str, types: list[type]) -> None:
    """Elements become blocks, those that lay out the page disappear, and unclosed terms are not nested."""
    found = [type(block) for block in built(html).walk()]
    assert len(found) == len(types)
    assert all(wanted in (own, type(None)) for own, wanted in zip(found, types, strict=True))


@given(
    tags=st.lists(
        st.sampled_from(
            "<div> </div> <ul> </ul> <ol> </ol> <dl> </dl> <dt>a </dt> <dd>b </dd> <li>c </li> <p>d".split()
        ),
        max_size=14,
    )
)
def test_any_markup_of_lists(tags: list[str]) -> None:
    """Items, terms and descriptions in wrong places are written in each format."""
    result = blockml.extract("".join(tags), model="plain")
    check(result)
    for name in ("html", "markdown", "tei", "json"):
        blockml.render(result, name)


def test_every_node_knows_its_blocks() -> None:
    """Score, reason and XPath of a cell are found by the numbers of its blocks and of its element."""
    result = blockml.extract("<table><tr><th>a<th>b<tr><td>c <b>d</b><td>e</table>", model="plain")
    cell = result.tables[0].rows[1].cells[0]
    assert (cell.first, cell.last) == (2, 3)
    assert result.page.nodes.xpath(cell.node).endswith("/tr[2]/td[1]")
    assert [str(result.reasons[row]) for row in range(cell.first, cell.last + 1)] == ["above_threshold"] * 2


def test_tables_give_rows() -> None:
    """The rows of a table are equally long, and spanned cells are empty."""
    html = "<table><tr><th>a<th colspan=2>b<tr><td rowspan=2>c<td><p>d<p>e<td>f<tr><td>g</table>"
    (table,) = blockml.extract(html, model="plain").tables
    assert table.to_rows() == [["a", "b", ""], ["c", "d\ne", "f"], ["", "g", ""]]
    pandas = pytest.importorskip("pandas")
    rows = table.to_rows()
    assert pandas.DataFrame(rows[1:], columns=rows[0]).shape == (2, 3)


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((), "A **bold** [link](/b) or ![](a.jpg) of *`code`*.\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |"),
        (("links",), "A **bold** link or ![](a.jpg) of *`code`*.\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |"),
        (("images", "tables"), "A **bold** [link](/b) or of *`code`*."),
        (("formatting", "images", "tables", "links"), "A bold link or of `code`."),
    ],
)
def test_without(kinds: tuple[str, ...], text: str) -> None:
    """Kinds of content are left out, and the rest is in normal form again."""
    html = (
        "<p>A <b>bold</b> <a href=/b>link</a> or <img src=a.jpg width=400> of <i><code>code</code></i>."
        "<table><tr><th>1<th>2<tr><td>3<td>4</table>"
    )
    result = blockml.extract(html, model="plain")
    switches: dict[str, bool] = dict.fromkeys(kinds, False)
    assert blockml.render(result, "markdown", with_title=False, **switches) == text
    for block in result.document.without(*kinds).walk():
        if isinstance(block, Paragraph):
            check_inline(block.content)
    with pytest.raises(UnknownNameError, match="kind of content"):
        result.document.without("pictures")


def test_formulas_are_taken_out_of_texts() -> None:
    """Formulas in a text are nodes, and others with marks in them stay text."""
    (paragraph,) = built(r"<p>Let \(x\) be <b>\(y\) or</b> \( a <i>b</i> \) and \[z\].").children
    assert isinstance(paragraph, Paragraph)
    assert [item.tex for item in paragraph.content if isinstance(item, InlineFormula)] == ["x", "z"]
    assert text_of([paragraph]) == r"Let \(x\) be \(y\) or \( a b \) and \[z\]."


def test_depth_is_bounded() -> None:
    """Containers are at most so deep, and no text is lost."""
    for element in ("<ul><li>a", "<blockquote>a", "<dl><dd>a", "<ul>a<li>b<ul>"):
        document = built(element * 300)
        depths = {id(block): 1 for block in document.children}
        for block in document.walk():
            for child in children_of(block):
                depths[id(child)] = depths[id(block)] + 1
        assert max(depths.values()) <= 3 * MAX_DEPTH
        assert text_of(document.children).count("a") == 300


def test_documents_are_pickled() -> None:
    """A pickled document is written like the original."""
    result = blockml.extract("<p>a<br><b>b</b> <img src=/i.jpg width=400> c", model="plain")
    loaded = pickle.loads(pickle.dumps(result))  # noqa: S301 (our own bytes)
    assert (loaded.markdown, loaded.html) == (result.markdown, result.html)
    assert any(isinstance(item, Picture) for item in loaded.document.children[0].content)


def test_rules_are_between_blocks() -> None:
    """A rule at the start or end of an item or of the whole document separates nothing."""
    result = blockml.extract("<hr><p>a</p><hr><p>b</p><ul><li><hr>c</li><li>d<hr></li></ul><hr>", model="plain")
    assert [type(block).__name__ for block in result.document.walk()] == [
        "Paragraph", "Rule", "Paragraph", "List", "Item", "Paragraph", "Item", "Paragraph",
    ]  # fmt: skip


def test_check_boxes_of_cards_are_not_tasks() -> None:
    """An item of several paragraphs, such as a product that can be compared, has no state; one with a sublist has."""
    box = "<input type=checkbox>"
    page = f"<ul><li>{box}<p>Mill</p><p>$ 9</p></li></ul><p>x</p><ul><li>{box} Grind<ul><li>Rye</li></ul></li></ul>"
    items = [block for block in blockml.extract(page, model="plain").document.walk() if isinstance(block, Item)]
    assert [item.checked for item in items] == [None, False, None]


def test_a_table_with_a_header_keeps_a_small_table_in_a_cell() -> None:
    """The rows of a table in a cell are lines of it, and the table around it keeps its columns."""
    inner = "<table><caption>In stock</caption><tr><td>S<td>M<tr><td>L<td><b>XL</b></table>"
    head = "<table><thead><tr><th>Name<th>Sizes<th>Price</thead>"
    html = f"{head}<tr><td>Shirt<td>{inner}<td>10<tr><td>Hat<td>one<td>5</table>"
    result = blockml.extract(html, model="plain")
    assert [table.to_rows() for table in result.tables] == [
        [["Name", "Sizes", "Price"], ["Shirt", "In stock\nS M\nL XL", "10"], ["Hat", "one", "5"]]
    ]
    assert "| Shirt | In stock<br>S M<br>L **XL** | 10 |" in result.markdown


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><th>Menu<th>News<tr><td>Home<td><table><tr><td>Cats rule it<td>3 May<tr><td>x<td>y</table></table>",
        f"<table><tr><th>Menu<th>News<tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table><td>{'cat ' * 200}</table>",
        "<table role=none><tr><th>A<th>B<tr><td>one two three<td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>",
        "<table><tr><th>A<td>one two three four five<td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>",
    ],
)
def test_a_table_around_most_of_a_page_is_layout(html: str) -> None:
    """A table with another one is layout if that has most of its text, a cell is long, or it has no row of headers."""
    tables = blockml.extract(html, model="plain").tables
    assert len(tables) == 1
    assert tables[0].to_rows()[0][0] in ("Cats rule it", "a")
