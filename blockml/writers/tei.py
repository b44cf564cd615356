"""Writes a document as TEI P5, the XML of the Text Encoding Initiative."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from blockml.document.nodes import (
    Block,
    Break,
    Code,
    Definitions,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    InlineFormula,
    Item,
    Link,
    List,
    Mark,
    Note,
    NoteReference,
    Paragraph,
    Picture,
    Quotation,
    Rule,
    Span,
    Table,
    Term,
)  # fmt: skip
from blockml.page.bounds import Budget, absolute_addresses
from blockml.text.addresses import is_safe

__all__ = ["write_tei"]

_NAMESPACE = "http://www.tei-c.org/ns/1.0"
#: Characters that XML doesn't allow, and names that it allows as ids.
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
#: The start of an address whose host is a number in brackets.
_NUMBERED_HOST = re.compile(r"(?:[a-z][a-z\d+.-]*:)?//(?:[^][/?#@]*@)?\[[\da-f:.]+\]", re.IGNORECASE)
_REND = {Mark.STRONG: "bold", Mark.EMPHASIS: "italic", Mark.DELETED: "strikethrough", Mark.SUBSCRIPT: "subscript",
         Mark.SUPERSCRIPT: "superscript"}  # fmt: skip


def write_tei(document: Document, budget: Budget, *, header: Mapping[str, str | Sequence[str] | None]) -> str:
    """Write a document as TEI.

    ``header`` has the metadata for the ``teiHeader``: ``title``, ``authors``, ``published``, ``site_name``, ``url``,
    ``description``, ``language`` and ``keywords``, each of which may be missing. Sections are nested ``div`` elements.

    Examples
    --------
    >>> import blockml
    >>> result = blockml.extract("<h1>Cats</h1><p>They <b>rule</b>.", model="plain")
    >>> print(write_tei(result.document, Budget(result.page), header={}).partition("<text>")[2])
    <body>
    <div><head>Cats</head>
    <p>They <hi rend="bold">rule</hi>.</p>
    </div>
    </body></text></TEI>
    """
    writer = _Writer(document, budget)
    writer.sections(document.children)
    language = f" xml:lang={_quoted(document.language)}" if document.language else ""
    start = f'<TEI xmlns="{_NAMESPACE}"{language}>{_header(header)}<text><body>\n'
    return f"{start}{''.join(writer.out) or '<p/>'}</body></text></TEI>"


class _Writer:
    """Pieces of XML written so far."""

    def __init__(self, document: Document, budget: Budget) -> None:
        self.absolute, self.budget = absolute_addresses(document.base_url, budget), budget
        self.out: list[str] = []

    def element(self, name: str, attributes: str, write: Callable[[Any], None], inner: object, after: str = "") -> None:
        """Write an element and what is in it, or only that; ``after`` follows it."""
        is_paid = self.budget.spend(2 * len(name) + len(attributes) + 6, "tags")
        self.out.append(f"<{name}{attributes}>" if is_paid else "")
        write(inner)
        self.out.append(f"</{name}>{after}" if is_paid else " ")

    def sections(self, blocks: Iterable[Block]) -> None:
        """Write the blocks of the body: each heading begins a division, which ends before the next one of its level."""
        levels: list[int] = []
        for block in blocks:
            if isinstance(block, Heading):
                while levels and levels[-1] >= block.level:
                    levels.pop()
                    self.out.append("</div>\n")
                levels.append(block.level)
                self.out.append("<div>")
                self.element("head", "", self.inline, block.content, "\n")
            else:
                self.blocks((block,))
        self.out.append("</div>\n" * len(levels))

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Write blocks."""
        for block in blocks:
            _WRITERS[type(block)](self, block)

    def children(self, blocks: tuple[Block, ...]) -> None:
        """Write the blocks of an item or cell; a paragraph by itself has no element."""
        if len(blocks) == 1 and isinstance(blocks[0], Paragraph):
            self.inline(blocks[0].content)
        else:
            self.blocks(blocks)

    def inline(self, content: Iterable[Inline]) -> None:
        """Write inline content."""
        for item in content:
            if isinstance(item, str):
                self.out.append(_escaped(item))
            elif isinstance(item, Break):
                self.out.append("<lb/>")
            elif isinstance(item, InlineFormula):
                self.formula(item.tex)
            elif isinstance(item, Picture):
                self.picture(item)
            elif isinstance(item, Span) and item.mark is Mark.CODE:
                self.element("code", "", self.inline, item.content)
            elif isinstance(item, Span):
                self.element("hi", f' rend="{_REND[item.mark]}"', self.inline, item.content)
            else:
                self._link(item)

    def _link(self, item: Link | NoteReference) -> None:
        address = self.absolute(item.address) if isinstance(item, Link) else f"#{item.anchor}"
        if address and is_safe(address):
            self.element("ref", f" target={_address(address)}", self.inline, item.content)
        else:
            self.inline(item.content)

    def picture(self, item: Picture) -> None:
        """Write a picture with its alternative text."""
        address = self.absolute(item.address)
        if address and is_safe(address) and self.budget.spend(len(address) + len(item.alt), "addresses"):
            alt = f"<desc>{_escaped(item.alt)}</desc>" if item.alt else ""
            self.out.append(f"<graphic url={_address(address)}>{alt}</graphic>")

    def formula(self, tex: str) -> None:
        """Write a formula."""
        self.out.append(f'<formula notation="TeX">{_escaped(tex)}</formula>')

    def paragraph(self, write: Callable[[Any], None], inner: object) -> None:
        """Write a paragraph."""
        self.element("p", "", write, inner, "\n")

    def code(self, block: Code) -> None:
        """Write a listing."""
        language = f" lang={_quoted(block.language)}" if block.language else ""
        text = _escaped("\n".join(block.lines))
        self.paragraph(lambda _: self.element("code", f'{language} xml:space="preserve"', self.out.append, text), None)

    def figure(self, block: Figure) -> None:
        """Write pictures and their caption."""
        self.element("figure", "", self.blocks, (*block.children, *block.caption), "\n")

    def list(self, block: List) -> None:
        """Write a list."""
        rend = "numbered" if block.ordered else "bulleted"
        self.element("list", f' rend="{rend}"', self._items, block.items, "\n")

    def _items(self, items: Iterable[Item]) -> None:
        for item in items:
            attributes = f' xml:id="{item.anchor}"' if _NAME.fullmatch(item.anchor) else ""
            attributes += f' n="{item.number}"' if item.number is not None else ""
            attributes += "" if item.checked is None else ' rend="checked"' if item.checked else ' rend="unchecked"'
            self.element("item", attributes, self.children, item.children, "\n")

    def definitions(self, block: Definitions) -> None:
        """Write a glossary, in which each label has an item."""
        self.element("list", ' type="gloss"', self._parts, block, "\n")

    def _parts(self, block: Definitions) -> None:
        labelled = False
        for part in block.parts:
            if isinstance(part, Term):
                self.out.append("<item/>" if labelled else "")
                self.element("label", "", self.inline, part.content)
            else:
                self.out.append("" if labelled else "<label/>")
                self.element("item", "", self.children, part.children, "\n")
            labelled = isinstance(part, Term)
        self.out.append("<item/>" if labelled else "")

    def table(self, block: Table) -> None:
        """Write a table."""
        self.blocks(block.caption)
        self.element("table", "", self._rows, block, "\n")

    def _rows(self, block: Table) -> None:
        for row in block.rows:
            self.out.append("<row>")
            for cell in row.cells:
                spans = [("cols", cell.columns), ("rows", cell.rows)]
                attributes = ' role="label"' if cell.header else ""
                attributes += "".join(f' {name}="{count}"' for name, count in spans if count > 1)
                self.element("cell", attributes, self.children, cell.children)
            self.out.append("</row>\n")


_WRITERS: Mapping[type[Block], Callable[[_Writer, Any], None]] = {
    Paragraph: lambda writer, block: writer.paragraph(writer.inline, block.content),
    Heading: lambda writer, block: writer.element("p", ' rend="heading"', writer.inline, block.content, "\n"),
    Code: _Writer.code,
    Formula: lambda writer, block: writer.paragraph(writer.formula, block.tex),
    Rule: lambda writer, _: writer.out.append('<milestone unit="section" rend="rule"/>\n'),
    Quotation: lambda writer, block: writer.element("quote", "", writer.blocks, block.children, "\n"),
    Figure: _Writer.figure,
    List: _Writer.list,
    Definitions: _Writer.definitions,
    Table: _Writer.table,
    Note: lambda writer, block: writer.element("note", "", writer.blocks, block.children, "\n"),
}


def _header(fields: Mapping[str, str | Sequence[str] | None]) -> str:
    """Return the ``teiHeader``."""

    def elements(name: str, key: str) -> str:
        value = fields.get(key) or ()
        values = [value] if isinstance(value, str) else value
        return "".join([f"<{name}>{_escaped(text)}</{name}>" for text in values])

    title = elements("title", "title") or "<title/>"
    published = elements("publisher", "site_name") or "<publisher/>" * bool(fields.get("published"))
    published = published + elements("date", "published") or "<p/>"
    source = f"<bibl>{title}{elements('author', 'authors')}{elements('idno', 'url')}</bibl>"
    language = f"<language ident={_quoted(str(fields['language']))}/>" if fields.get("language") else ""
    profile = f"<abstract>{elements('p', 'description')}</abstract>" if fields.get("description") else ""
    profile += f"<langUsage>{language}</langUsage>" if language else ""
    keywords = elements("term", "keywords")
    profile += f"<textClass><keywords>{keywords}</keywords></textClass>" if keywords else ""
    profile = f"<profileDesc>{profile}</profileDesc>" if profile else ""
    file = f"<fileDesc><titleStmt>{title}{elements('author', 'authors')}</titleStmt>"
    file += f"<publicationStmt>{published}</publicationStmt><sourceDesc>{source}</sourceDesc></fileDesc>"
    return f"<teiHeader>{file}{profile}</teiHeader>"


def _escaped(text: str) -> str:
    return escape(_FORBIDDEN.sub("", text), quote=False)


def _quoted(text: str) -> str:
    return f'"{escape(_FORBIDDEN.sub("", text))}"'


def _address(text: str) -> str:
    """Return an address with escapes for brackets, which schemas allow only around numbers of hosts."""
    host = _NUMBERED_HOST.match(text)
    end = host.end() if host else 0
    return _quoted(text[:end] + text[end:].replace("[", "%5B").replace("]", "%5D"))
