"""Documents without links, pictures, tables of data or formatting."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from blockml.document.inline import LINE, LINK, REFERENCE, RawInline, RawSpan, normalised
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
_FORMATTING = frozenset({Mark.STRONG, Mark.EMPHASIS, Mark.DELETED})


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
                content = () if is_caption and "images" in self.kinds else normalised([*self.raw(block.content)])
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

    def raw(self, content: Iterable[Inline]) -> Iterable[RawInline]:
        """Iterate over the inline content that stays, before it is normalised again."""
        for item in content:
            if isinstance(item, Break):
                yield LINE
            elif isinstance(item, Picture):
                if "images" not in self.kinds:
                    yield item
            elif isinstance(item, Link | NoteReference):
                kind, address = (LINK, item.address) if isinstance(item, Link) else (REFERENCE, item.anchor)
                inner = [*self.raw(item.content)]
                if "links" in self.kinds:
                    yield from inner
                else:
                    yield RawSpan(kind, address, inner)
            elif isinstance(item, Span):
                inner = [*self.raw(item.content)]
                if item.mark in _FORMATTING and "formatting" in self.kinds:
                    yield from inner
                else:
                    yield RawSpan(item.mark, "", inner)
            else:
                yield item


#: Names of the fields with the blocks in a block, besides ``children``.
_FIELDS: Mapping[Callable[..., Block], str] = {List: "items", Definitions: "parts"}
