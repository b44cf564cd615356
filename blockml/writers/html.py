"""Writes a document as an HTML fragment: its structure, not the elements of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from blockml.document.nodes import (
    Block,
    Break,
    Cell,
    Code,
    Definitions,
    Description,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    Item,
    Link,
    List,
    Note,
    NoteReference,
    Paragraph,
    Picture,
    Quotation,
    Row,
    Rule,
    Span,
    Table,
    Term,
)
from blockml.page.bounds import Budget, absolute_addresses
from blockml.text.addresses import is_safe

__all__ = ["WRITTEN_ATTRIBUTES", "WRITTEN_ELEMENTS", "write_fragment"]

#: Elements of a fragment.
WRITTEN_ELEMENTS = frozenset(
    "a blockquote br caption code dd del div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr img input li ol p pre "
    "strong sub sup table td th tr ul".split()
)
#: Attributes of its elements.
WRITTEN_ATTRIBUTES = frozenset("alt checked class colspan dir disabled href id rowspan src start type value".split())
_TAGS = "tags"


def write_fragment(document: Document, budget: Budget) -> str:
    """Write a document as HTML.

    Addresses are absolute if that of the page is known, and formulas are TeX between brackets as MathJax reads them.
    Only the text of an element is written if the budget does not pay for its tags; ``budget.warnings`` then has a
    warning.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<h1>A</h1><p onclick='x()'>B <a href='/c'>c</a> &lt;</p>", model="plain")
    >>> write_fragment(result.document, Budget(result.page))
    '<h1>A</h1><p>B <a href="/c">c</a> &lt;</p>'
    """
    writer = _Writer(document, budget)
    writer.blocks(document.children)
    fragment = "".join(writer.out)
    is_plain = document.direction == "ltr" or not fragment
    return fragment if is_plain else f'<div dir="{escape(document.direction)}">{fragment}</div>'


class _Writer:
    """Pieces of HTML written so far."""

    def __init__(self, document: Document, budget: Budget) -> None:
        self.absolute, self.budget = absolute_addresses(document.base_url, budget), budget
        self.out: list[str] = []

    def element(self, name: str, attributes: str, write: Callable[[Any], None], inner: object) -> None:
        """Write an element and what is in it, or only that."""
        if self.budget.spend(2 * len(name) + len(attributes) + 5, _TAGS):
            self.out.append(f"<{name}{attributes}>")
            write(inner)
            self.out.append(f"</{name}>")
        else:
            write(inner)
            self.out.append(" ")

    def void(self, name: str, attributes: str = "") -> None:
        """Write an element without content."""
        if self.budget.spend(len(name) + len(attributes) + 2, _TAGS):
            self.out.append(f"<{name}{attributes}>")

    def inline(self, content: Iterable[Inline]) -> None:
        """Write inline content."""
        for item in content:
            if isinstance(item, str):
                self.out.append(escape(item, quote=False))
            elif isinstance(item, Break):
                self.void("br")
            elif isinstance(item, Span):
                self.element(item.mark.value, "", self.inline, item.content)
            elif isinstance(item, Link):
                self._link(item.address, item.content, self.absolute)
            elif isinstance(item, NoteReference):
                self._link(f"#{item.anchor}", item.content)
            elif isinstance(item, Picture):
                address = self.absolute(item.address)
                if address and is_safe(address):
                    alt = f' alt="{escape(item.alt)}"' if item.alt else ""
                    self.void("img", f' src="{escape(address)}"{alt}')
            else:
                self._formula(item.tex, display=item.display)

    def _link(self, address: str, content: Iterable[Inline], absolute: Callable[[str], str] | None = None) -> None:
        if len(address) > self.budget.left:  # not read, or each of its links would read it again
            self.budget.leave_out(_TAGS)
            self.inline(content)
            return
        address = address if absolute is None else absolute(address)
        if address and is_safe(address):
            self.element("a", f' href="{escape(address)}"', self.inline, content)
        else:
            self.inline(content)

    def _formula(self, tex: str, *, display: bool) -> None:
        begin, end = ("\\[", "\\]") if display else ("\\(", "\\)")
        self.out.append(f"{begin}{escape(tex, quote=False)}{end}")

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Write blocks."""
        for block in blocks:
            _WRITERS[type(block)](self, block)

    def children(self, blocks: tuple[Block, ...]) -> None:
        """Write the blocks of an item, description or cell; a first paragraph before lists has no element."""
        if blocks and isinstance(blocks[0], Paragraph) and all(isinstance(block, List) for block in blocks[1:]):
            self.inline(blocks[0].content)
            blocks = blocks[1:]
        self.blocks(blocks)

    def paragraph(self, block: Paragraph) -> None:
        """Write a paragraph; a picture by itself is none."""
        if all(isinstance(item, Picture) for item in block.content):
            self.inline(block.content)
        else:
            self.element("p", "", self.inline, block.content)

    def note(self, block: Note) -> None:
        """Write a note, which mostly is a paragraph."""
        anchor, first = f' id="{escape(block.anchor)}"', block.children[0]
        if len(block.children) == 1 and isinstance(first, Paragraph):
            self.element("p", anchor, self.inline, first.content)
        else:
            self.element("div", anchor, self.blocks, block.children)

    def code(self, block: Code) -> None:
        """Write a listing."""
        text = escape("\n".join(block.lines), quote=False)
        if block.language:
            self.element("pre", "", lambda _: self.element("code", _class(block), self.out.append, text), None)
        else:
            self.element("pre", "", self.out.append, text)

    def formula(self, block: Formula) -> None:
        """Write a displayed formula as a paragraph."""
        self.element("p", "", lambda _: self._formula(block.tex, display=True), None)

    def figure(self, block: Figure) -> None:
        """Write a figure."""
        self.element("figure", "", self._in_figure, block)

    def _in_figure(self, block: Figure) -> None:
        self.blocks(block.children)
        if block.caption:
            self.element("figcaption", "", self.children, block.caption)

    def list(self, block: List) -> None:
        """Write a list; the numbers of items that don't follow from the one before are given."""
        first = block.items[0].number
        style = f' type="{block.style}"' if block.style else ""
        start = f' start="{first}"' if block.ordered and first != 1 else ""
        self.element("ol" if block.ordered else "ul", style + start, self._items, block)

    def _items(self, block: List) -> None:
        expected = block.items[0].number
        for item in block.items:
            attributes = f' id="{escape(item.anchor)}"' if item.anchor else ""
            if item.number is not None and expected is not None:
                attributes += f' value="{item.number}"' if item.number != expected else ""
                expected = item.number + 1
            attributes += f' type="{item.style}"' if item.style and item.style != block.style else ""
            self.element("li", attributes, self._item, item)

    def _item(self, item: Item) -> None:
        if item.checked is not None:
            self.void("input", ' type="checkbox" disabled' + (" checked" if item.checked else ""))
            self.out.append(" ")
        self.children(item.children)

    def table(self, block: Table) -> None:
        """Write a table."""
        self.element("table", "", self._in_table, block)

    def _in_table(self, block: Table) -> None:
        if block.caption:
            self.element("caption", "", self.children, block.caption)
        for row in block.rows:
            self.element("tr", "", self._cells, row)

    def _cells(self, row: Row) -> None:
        for cell in row.cells:
            spans = f' colspan="{cell.columns}"' if cell.columns > 1 else ""
            spans += f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
            self.element("th" if cell.header else "td", spans, self.children, cell.children)


_WRITERS: Mapping[type[Block], Callable[[_Writer, Any], None]] = {
    Paragraph: _Writer.paragraph,
    Heading: lambda writer, block: writer.element(f"h{block.level}", "", writer.inline, block.content),
    Code: _Writer.code,
    Formula: _Writer.formula,
    Rule: lambda writer, _: writer.void("hr"),
    Quotation: lambda writer, block: writer.element("blockquote", "", writer.blocks, block.children),
    Figure: _Writer.figure,
    List: _Writer.list,
    Definitions: lambda writer, block: writer.element("dl", "", writer.blocks, block.parts),
    Term: lambda writer, block: writer.element("dt", "", writer.inline, block.content),
    Description: lambda writer, block: writer.element("dd", "", writer.children, block.children),
    Table: _Writer.table,
    Cell: lambda writer, block: writer.children(block.children),
    Note: _Writer.note,
}


def _class(block: Code) -> str:
    return f' class="language-{escape(block.language)}"'
