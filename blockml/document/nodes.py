"""The nodes of a document: its blocks, such as paragraphs, lists and tables, and the inline content of these.

The tree is in a normal form, so that no writer has to clean anything.

Inline content has single spaces, and none at its start, its end or around a line break. White space is outside of marks. No mark
is empty, and no mark is inside of an equal one. Adjacent equal marks are one, except links and code.

No block is empty. An item of a list may hold further lists, a cell of a table any blocks. Containers are at most
:data:`MAX_DEPTH` deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

__all__ = [
    "BREAK", "MAX_DEPTH", "Block", "Break", "Cell", "Code", "Definitions", "Description", "Document", "Figure", "Formula",
    "Heading", "Inline", "InlineFormula", "Item", "Link", "List", "Mark", "Note", "NoteReference", "Paragraph", "Picture",
    "Quotation", "Row", "Rule", "Span", "Table", "Term", "children_of",
]  # fmt: skip

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


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """A line break."""


#: The line break.
BREAK = Break()


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Marked text; code contains one text only."""

    mark: Mark
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A link."""

    address: str  #: as the page gives it, relative to :attr:`Document.base_url`
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, eq=False)
class NoteReference:
    """A link to a note of the document."""

    anchor: str  #: that of a :class:`Note` or :class:`Item`
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture."""

    address: str  #: as the page gives it, relative to :attr:`Document.base_url`
    alt: str  #: alternative text in one line; empty without one
    width: int | None = None  #: in pixels; None if not given
    height: int | None = None  #: likewise


@dataclass(frozen=True, slots=True, eq=False)
class InlineFormula:
    """A formula within a text."""

    tex: str  #: TeX without dollar signs or brackets around it
    source: str = (
        ""  #: how the text of the page writes it, such as ``\\\\(x\\\\)``; empty for MathML, scripts and pictures
    )
    display: bool = False  #: whether the page displays it on a line by itself


Inline: TypeAlias = str | Break | Span | Link | NoteReference | Picture | InlineFormula


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block of a document, which has text of consecutive blocks of the page."""

    first: int  #: first block of the page (:class:`blockml.page.Blocks`) with text in it; -1 if it has none
    last: int  #: last block of the page with text in it; -1 if it has none
    node: int  #: element of the page (:class:`blockml.page.Nodes`) that it stands for, or the deepest one around it


@dataclass(frozen=True, slots=True, eq=False)
class Paragraph(Block):
    """A paragraph."""

    content: tuple[Inline, ...]
    removed: bool = False  #: whether it is a caption that the decision left out, which is written only with its picture


@dataclass(frozen=True, slots=True, eq=False)
class Heading(Block):
    """A heading."""

    level: int  #: 1 to 6
    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Code(Block):
    """A listing."""

    lines: tuple[str, ...]
    language: str  #: as the page names it, in lower case; empty if unknown


@dataclass(frozen=True, slots=True, eq=False)
class Formula(Block):
    """A formula displayed by itself."""

    tex: str  #: TeX without dollar signs or brackets around it
    source: str = ""  #: see :attr:`InlineFormula.source`


@dataclass(frozen=True, slots=True, eq=False)
class Rule(Block):
    """A horizontal rule."""


@dataclass(frozen=True, slots=True, eq=False)
class Quotation(Block):
    """A quotation."""

    children: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Figure(Block):
    """Pictures and their caption."""

    children: tuple[Block, ...]
    caption: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Item(Block):
    """An item of a list."""

    children: tuple[Block, ...]
    number: int | None = None  #: None in lists without order
    checked: bool | None = None  #: state of its check box; None without one
    anchor: str = ""  #: id of a note; empty for other items
    style: str = ""  #: like that of the list, for an item that differs


@dataclass(frozen=True, slots=True, eq=False)
class List(Block):
    """A list."""

    items: tuple[Item, ...]
    ordered: bool
    style: str = (
        ""  #: ``a``, ``A``, ``i`` or ``I`` for letters and Roman numbers; empty for digits and lists without order
    )


@dataclass(frozen=True, slots=True, eq=False)
class Term(Block):
    """A term of definitions."""

    content: tuple[Inline, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Description(Block):
    """A description of the terms before it."""

    children: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Definitions(Block):
    """Terms and their descriptions."""

    parts: tuple[Term | Description, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cell(Block):
    """A cell of a table."""

    children: tuple[Block, ...]
    header: bool = False
    columns: int = 1  #: columns that it spans
    rows: int = 1  #: rows that it spans


@dataclass(frozen=True, slots=True, eq=False)
class Row(Block):
    """A row of a table."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table(Block):
    """A table of data; layout tables are not in the tree, only their content."""

    rows: tuple[Row, ...]
    caption: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Note(Block):
    """A note outside of a list."""

    anchor: str  #: its id
    children: tuple[Block, ...]


def children_of(block: Block) -> tuple[Block, ...]:
    """Return the blocks directly inside of a block, the caption of a table first and that of a figure last.

    Examples
    --------
    >>> children_of(Quotation(0, 0, 1, (Paragraph(0, 0, 2, ("Cats",)),)))
    (Paragraph(first=0, last=0, node=2, content=('Cats',), removed=False),)
    """
    match block:
        case List():
            return block.items
        case Table():
            return (*block.caption, *block.rows)
        case Row():
            return block.cells
        case Definitions():
            return block.parts
        case Figure():
            return (*block.children, *block.caption)
        case Quotation() | Item() | Description() | Cell() | Note():
            return block.children
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The main content of a page as a tree."""

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
