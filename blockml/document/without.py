"""Documents without links, pictures, tables of data or formatting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from blockml.document.inline import LINE, LINK, MARK_STARTS, REFERENCE, Start, Token, normalised
from blockml.document.lists import block_span
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
    Link,
    List,
    Mark,
    NoteReference,
    Paragraph,
    Picture,
    Row,
    Rule,
    Span,
    Table,
    Term,
)
from blockml.errors import check_name

__all__ = ["KINDS", "without"]

#: Kinds of content that can be left out.
KINDS = ("links", "images", "tables", "formatting")
#: Marks that are not formatting.
_KEPT_MARKS = frozenset({Mark.CODE, Mark.SUBSCRIPT, Mark.SUPERSCRIPT})


def without(document: Document, kinds: Collection[str]) -> Document:
    """Return a document without some of :data:`KINDS`: see :meth:`blockml.document.nodes.Document.without`."""
    for kind in kinds:
        check_name("kind of content", kind, KINDS)
    return replace(document, children=tuple(_Filter(frozenset(kinds)).blocks(document.children)))


class _Filter:
    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds

    def blocks(self, blocks: Iterable[Block]) -> Iterable[Block]:
        """Iterate over the blocks that stay."""
        for block in blocks:
            if isinstance(block, Code | Formula | Rule):
                yield block
            elif isinstance(block, Paragraph | Heading | Term):
                is_caption = isinstance(block, Paragraph) and block.removed  # written with its picture only
                content = () if is_caption and "images" in self.kinds else normalised([*self.tokens(block.content)])
                if content:
                    yield replace(block, content=content)
            elif isinstance(block, Figure):
                children, caption = tuple(self.blocks(block.children)), tuple(self.blocks(block.caption))
                if children and caption:
                    yield replace(block, children=children, caption=caption)
                else:
                    yield from (*children, *caption)
            elif isinstance(block, Table):
                if "tables" not in self.kinds:
                    rows: Any = tuple(self.row(row) for row in block.rows)
                    yield replace(block, rows=rows, caption=tuple(self.blocks(block.caption)))
            else:
                name = _FIELDS.get(type(block), "children")
                inner = tuple(self.blocks(getattr(block, name)))
                if inner:
                    first, last = block_span(inner)
                    changes: dict[str, Any] = {name: inner}
                    yield replace(block, first=first, last=last, **changes)

    def row(self, row: Row) -> Row:
        """Return a row; all of its cells stay."""
        return replace(
            row, cells=tuple(replace(cell, children=tuple(self.blocks(cell.children))) for cell in row.cells)
        )

    def tokens(self, content: Iterable[Inline]) -> Iterable[Token]:
        """Iterate over the inline content that stays, before it is normalised again."""
        for item in content:
            if isinstance(item, Break):
                yield LINE
            elif isinstance(item, Link | NoteReference | Span):
                start = _start(item)
                is_left_out = ("formatting" if isinstance(item, Span) else "links") in self.kinds
                if is_left_out and start.kind not in _KEPT_MARKS:
                    yield from self.tokens(item.content)
                else:
                    yield from (start, *self.tokens(item.content), None)
            elif not (isinstance(item, Picture) and "images" in self.kinds):
                yield item


def _start(span: Link | NoteReference | Span) -> Start:
    if isinstance(span, Span):
        return MARK_STARTS[span.mark]
    return Start(LINK, span.address) if isinstance(span, Link) else Start(REFERENCE, span.anchor)


#: Names of the fields with the blocks in a block, besides ``children``.
_FIELDS: Mapping[Callable[..., Block], str] = {List: "items", Definitions: "parts"}
