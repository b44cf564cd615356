"""The nodes of a document: its blocks, such as paragraphs, lists and tables, and the inline content of these.

The tree is in a normal form, so that no writer has to clean anything.

Inline content has single spaces, and none at its start, its end or around a line break. White space is outside of
marks. No mark is empty, and no mark is inside of an equal one. Adjacent equal marks are one, except links and code.

No block is empty. An item of a list may hold further lists, a cell of a table any blocks. Containers are at most
:data:`MAX_DEPTH` deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar, dataclass_transform

__all__ = [
    "BREAK", "MAX_DEPTH", "Block", "Break", "Cell", "Code", "Definitions", "Description", "Document", "Figure",
    "Formula", "Heading", "Inline", "InlineFormula", "Item", "Link", "List", "Mark", "Note", "NoteReference",
    "Paragraph", "Picture", "Quotation", "Row", "Rule", "Span", "Table", "Term", "block_span", "children_of",
    "inline_text", "parts_of", "text_of", "with_children",
]  # fmt: skip

_T = TypeVar("_T")


@dataclass_transform(eq_default=False, frozen_default=True)
def _node(cls: type[_T]) -> type[_T]:
    """Make a class of nodes, frozen for type checkers only: at run time, each node would take four times as long."""
    return dataclass(slots=True, eq=False)(cls)


#: Maximum depth of lists, quotations, notes and definitions; the content of deeper ones is in their parent.
MAX_DEPTH = 12


class Mark(StrEnum):
    """Kinds of marked text; the values are names of HTML elements."""

    STRONG = "strong"
    EMPHASIS = "em"
    DELETED = "del"
    SUBSCRIPT = "sub"
    SUPERSCRIPT = "sup"
    CODE = "code"


@_node
class Break:
    """A line break."""


#: The line break.
BREAK = Break()


@_node
class Span:
    """Marked text; code contains one text only."""

    mark: Mark
    content: tuple[Inline, ...]


@_node
class Link:
    """A link."""

    address: str  #: as the page gives it, relative to :attr:`Document.base_url`
    content: tuple[Inline, ...]


@_node
class NoteReference:
    """A link to a note of the document."""

    anchor: str  #: the ``anchor`` of the :class:`Note` or :class:`Item` that it links to
    content: tuple[Inline, ...]


@_node
class Picture:
    """A picture."""

    address: str  #: as the page gives it, relative to :attr:`Document.base_url`
    alt: str  #: alternative text in one line; empty without one
    width: int | None = None  #: in pixels; None if not given
    height: int | None = None  #: likewise


@_node
class InlineFormula:
    """A formula within a text."""

    tex: str  #: TeX without dollar signs or brackets around it
    source: str = (
        ""  #: how the text of the page writes it, such as ``\\\\(x\\\\)``; empty for MathML, scripts and pictures
    )
    display: bool = False  #: whether the page displays it on a line by itself


Inline: TypeAlias = str | Break | Span | Link | NoteReference | Picture | InlineFormula


@_node
class Block:
    """A block of a document, which has text of consecutive blocks of the page."""

    first: int  #: first block of the page (:class:`blockml.page.Blocks`) with text in it; -1 if it has none
    last: int  #: last block of the page with text in it; -1 if it has none
    node: int  #: element of the page (:class:`blockml.page.Nodes`) that it stands for, or the deepest one around it


@_node
class Paragraph(Block):
    """A paragraph."""

    content: tuple[Inline, ...]
    removed: bool = False  #: whether it is a caption that the decision left out, which is written only with its picture


@_node
class Heading(Block):
    """A heading."""

    level: int  #: 1 to 6
    content: tuple[Inline, ...]


@_node
class Code(Block):
    """A listing."""

    lines: tuple[str, ...]
    language: str  #: as the page names it, in lower case; empty if unknown


@_node
class Formula(Block):
    """A formula displayed by itself."""

    tex: str  #: TeX without dollar signs or brackets around it
    source: str = ""  #: see :attr:`InlineFormula.source`


@_node
class Rule(Block):
    """A horizontal rule."""


@_node
class Quotation(Block):
    """A quotation."""

    children: tuple[Block, ...]


@_node
class Figure(Block):
    """Pictures and their caption."""

    children: tuple[Block, ...]
    caption: tuple[Block, ...]


@_node
class Item(Block):
    """An item of a list."""

    children: tuple[Block, ...]
    number: int | None = None  #: None in lists without order
    checked: bool | None = None  #: state of its check box; None without one
    anchor: str = ""  #: id of a note; empty for other items
    style: str = ""  #: like that of the list, for an item that differs


@_node
class List(Block):
    """A list."""

    items: tuple[Item, ...]
    ordered: bool
    style: str = (
        ""  #: ``a``, ``A``, ``i`` or ``I`` for letters and Roman numbers; empty for digits and lists without order
    )


@_node
class Term(Block):
    """A term of definitions."""

    content: tuple[Inline, ...]


@_node
class Description(Block):
    """A description of the terms before it."""

    children: tuple[Block, ...]


@_node
class Definitions(Block):
    """Terms and their descriptions."""

    parts: tuple[Term | Description, ...]


@_node
class Cell(Block):
    """A cell of a table."""

    children: tuple[Block, ...]
    header: bool = False
    columns: int = 1  #: columns that it spans
    rows: int = 1  #: rows that it spans


@_node
class Row(Block):
    """A row of a table."""

    cells: tuple[Cell, ...]


@_node
class Table(Block):
    """A table of data; layout tables are not in the tree, only their content."""

    rows: tuple[Row, ...]
    caption: tuple[Block, ...] = ()

    def to_rows(self) -> list[list[str]]:
        """Return the text of each cell by row, the header first; those spanned from above or the left are empty.

        All rows are equally long. ``pandas.DataFrame(rows[1:], columns=rows[0])`` makes a data frame of a table with a
        header.

        Examples
        --------
        >>> import blockml
        >>> result = blockml.extract("<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table>", model="plain")
        >>> result.tables[0].to_rows()
        [['a', 'b'], ['1', '2'], ['', '3']]
        """
        grid = self.grid(lambda cell: text_of(cell.children))
        width = max(map(len, grid), default=0)
        return [line + [""] * (width - len(line)) for line in grid]

    def grid(self, write: Callable[[Cell], str], pay: Callable[[int], bool] = lambda _: True) -> list[list[str]]:
        """Return the text that ``write`` makes of each cell, by row, with empty ones below and beside cells that span.

        ``pay`` tells whether a number of empty ones is added; others are missing, and the cells after them are moved.
        """
        grid: list[list[str]] = []
        taken: dict[int, int] = {}  # rows for which a column is still spanned from above
        for row in self.rows:
            line: list[str] = []
            below: dict[int, int] = {}
            for cell in row.cells:
                while taken.get(len(line), 0) and pay(1):
                    line.append("")
                more = cell.columns - 1
                if more and not pay(more):
                    more = 0
                if cell.rows > 1:
                    below.update(dict.fromkeys(range(len(line), len(line) + more + 1), cell.rows - 1))
                line += [write(cell), *[""] * more]
            while taken.get(len(line), 0) and pay(1):
                line.append("")
            taken = {column: count - 1 for column, count in taken.items() if count > 1} | below
            grid.append(line)
        return grid


@_node
class Note(Block):
    """A footnote or endnote that is not an item of a list."""

    anchor: str  #: the id that references to it link to
    children: tuple[Block, ...]


#: The field of each type of block that holds its child blocks.
_FIELDS: Mapping[type[Block], str] = {
    **dict.fromkeys((Quotation, Figure, Item, Description, Cell, Note), "children"),
    List: "items", Definitions: "parts", Row: "cells", Table: "rows",
}  # fmt: skip


def children_of(block: Block) -> tuple[Block, ...]:
    """Return the blocks directly inside of a block, the caption of a table first and that of a figure last.

    Examples
    --------
    >>> children_of(Quotation(0, 0, 1, (Paragraph(0, 0, 2, ("Cats",)),)))
    (Paragraph(first=0, last=0, node=2, content=('Cats',), removed=False),)
    """
    children, caption = parts_of(block)
    return (*caption, *children) if isinstance(block, Table) else (*children, *caption)


def parts_of(block: Block) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the blocks directly inside of a block without its caption, and the caption.

    Examples
    --------
    >>> parts_of(Rule(-1, -1, 3))
    ((), ())
    """
    name = _FIELDS.get(type(block))
    caption = block.caption if isinstance(block, Table | Figure) else ()
    return (() if name is None else getattr(block, name)), caption


def with_children(block: Block, children: Iterable[Block], caption: Iterable[Block] = ()) -> Block:
    """Return a container with other blocks, and another caption if it may have one.

    Examples
    --------
    >>> with_children(Quotation(0, 1, 1, ()), [Paragraph(3, 3, 2, ("Cats",))])
    Quotation(first=3, last=3, node=1, children=(Paragraph(first=3, last=3, node=2, content=('Cats',), removed=False),))
    """
    changes: dict[str, Any] = {_FIELDS[type(block)]: tuple(children)}
    if isinstance(block, Table | Figure):
        changes["caption"] = tuple(caption)
    found = replace(block, **changes)
    first, last = block_span(children_of(found))
    return replace(found, first=first, last=last)


def block_span(blocks: Iterable[Block]) -> tuple[int, int]:
    """Return the first and the last block of the page in some blocks of a document; -1 without one.

    Examples
    --------
    >>> block_span([Paragraph(-1, -1, 3, ()), Paragraph(2, 4, 5, ())])
    (2, 4)
    """
    first = last = -1
    for block in blocks:
        if block.first >= 0:
            first = block.first if first < 0 else first
            last = block.last
    return first, last


def text_of(blocks: Iterable[Block]) -> str:
    """Return the text of some blocks, one line each, without captions that were removed.

    Cells of a row are separated by tabs. Formulas are TeX.

    Examples
    --------
    >>> text_of([Paragraph(0, 0, 2, ("Cats ", Span(Mark.STRONG, ("rule",)))), Code(1, 1, 3, ("x",), "")])
    'Cats rule\\nx'
    """
    lines = []
    for block in blocks:
        if isinstance(block, Paragraph) and block.removed:
            continue
        if isinstance(block, Paragraph | Heading | Term):
            lines.append(inline_text(block.content))
        elif isinstance(block, Row):
            lines.append("\t".join([text_of(cell.children) for cell in block.cells]))
        elif isinstance(block, Code):
            lines += block.lines
        elif isinstance(block, Formula):
            lines.append(block.source or block.tex)
        else:
            lines.append(text_of(children_of(block)))
    return "\n".join([line for line in lines if line])


def inline_text(content: Iterable[Inline]) -> str:
    """Return the text of inline content, without pictures.

    Examples
    --------
    >>> inline_text(("Cats ", Link("/w", ("rule",)), InlineFormula("x^2")))
    'Cats rulex^2'
    """
    pieces = []
    for item in content:
        if isinstance(item, str):
            pieces.append(item)
        elif isinstance(item, Break):
            pieces.append("\n")
        elif isinstance(item, InlineFormula):
            pieces.append(item.source or item.tex)
        elif not isinstance(item, Picture):
            pieces.append(inline_text(item.content))
    return "".join(pieces)


@_node
class Document:
    """The main content of a page as a tree.

    Documents and their blocks are shared, so they must not be changed; :func:`with_children` returns a changed copy.
    """

    children: tuple[Block, ...]
    base_url: str = ""  #: address that those of links and pictures are relative to; empty if unknown
    language: str = ""  #: language that the page declares, such as ``en``; empty without one
    direction: str = "ltr"  #: ``ltr``, ``rtl`` or ``auto``

    def walk(self) -> Iterator[Block]:
        """Iterate over all blocks in order, each before the blocks inside of it.

        Examples
        --------
        >>> document = Document((Quotation(0, 0, 1, (Paragraph(0, 0, 2, ("Cats",)),)), Rule(-1, -1, 3)))
        >>> [type(block).__name__ for block in document.walk()]
        ['Quotation', 'Paragraph', 'Rule']
        """
        left = [*reversed(self.children)]
        while left:
            block = left.pop()
            yield block
            left += reversed(children_of(block))

    def sections(self) -> Iterator[tuple[tuple[Heading, ...], tuple[Block, ...]]]:
        """Iterate over the sections: the headings above each, outermost first, and the blocks below the last of them.

        The blocks before the first heading have no headings. Headings inside of lists and quotations start no section.

        Examples
        --------
        >>> import blockml
        >>> document = blockml.extract("<h1>Cats</h1><p>They rule.<h2>Food</h2><p>Fish.", model="plain").document
        >>> for headings, blocks in document.sections():
        ...     print([heading.content for heading in headings], len(blocks))
        [('Cats',)] 1
        [('Cats',), ('Food',)] 1
        """
        above: list[Heading] = []
        blocks: list[Block] = []
        for block in self.children:
            if isinstance(block, Heading):
                if above or blocks:
                    yield tuple(above), tuple(blocks)
                above, blocks = [*[item for item in above if item.level < block.level], block], []
            else:
                blocks.append(block)
        if above or blocks:
            yield tuple(above), tuple(blocks)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of data, in order."""
        return tuple([block for block in self.walk() if isinstance(block, Table)])

    def without(self, *kinds: str) -> Document:
        """Return the document without some kinds of content.

        Parameters
        ----------
        kinds
            ``links`` (their text stays), ``images`` (with captions that the decision removed), ``tables`` of data with
            their text, or ``formatting``: bold, italic and deleted text, which stays as text.

        Raises
        ------
        UnknownNameError
            A kind has another name.

        Examples
        --------
        >>> import blockml
        >>> document = blockml.extract("<p>A <b>bold</b> <a href=/b>link</a>.", model="plain").document
        >>> document.without("links", "formatting").children[0].content
        ('A bold link.',)
        """
        if not kinds:
            return self
        from blockml.document.without import without  # it builds nodes

        return without(self, kinds)
