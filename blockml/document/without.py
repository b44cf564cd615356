"""Documents without links, pictures, tables of data or formatting."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from blockml.document.inline import LINE, LINK, MARK_STARTS, REFERENCE, Start, Token, normalised
from blockml.document.nodes import (
    Block,
    Break,
    Cell,
    Code,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    Link,
    Mark,
    NoteReference,
    Paragraph,
    Picture,
    Rule,
    Span,
    Table,
    Term,
    parts_of,
    with_children,
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
            elif not (isinstance(block, Table) and "tables" in self.kinds):
                inner, caption = ([*self.blocks(part)] for part in parts_of(block))
                if isinstance(block, Figure) and not (inner and caption):
                    yield from (*inner, *caption)
                elif inner or isinstance(block, Cell):  # all cells of a row stay
                    yield with_children(block, inner, caption)

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
