"""Pieces of blocks: sentences and the like, which can be joined again, and blocks by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, TypeAlias

from blockml.document.nodes import (
    Block,
    Break,
    Cell,
    Definitions,
    Description,
    Inline,
    Item,
    Link,
    List,
    NoteReference,
    Picture,
    Row,
    Span,
    Table,
    Term,
    inline_text,
)

__all__ = ["Pieces", "standing"]

_Content: TypeAlias = tuple[Inline, ...]
_Marked: TypeAlias = Span | Link | NoteReference


class Pieces:
    """Cuts inline content into pieces, and joins them again: parts of one link or mark become one.

    Examples
    --------
    >>> import re
    >>> pieces = Pieces()
    >>> found = [*pieces.cut(("See ", Link("/a", ("One. Two. Three",)), ". End"), re.compile(r"\\.\\s+"))]
    >>> found[0]
    ('See ', Link(address='/a', content=('One. ',)))
    >>> pieces.joined(found[:2])
    ('See ', Link(address='/a', content=('One. Two.',)))
    """

    def __init__(self) -> None:
        self._wholes: dict[int, tuple[_Marked, _Marked]] = {}  # parts of marks by id, and what they are parts of

    def cut(self, content: Iterable[Inline], pattern: re.Pattern[str]) -> Iterator[_Content]:
        """Iterate over pieces, which end where a pattern matches, at a line break, or between two pictures."""
        run: list[Inline] = []
        for item in content:
            if _is_picture(item) and any(map(_is_picture, run[-2:])) and inline_text(run[-1:]).strip() == "":
                yield tuple(run)
                run = []
            if isinstance(item, str):
                start = 0
                for match in pattern.finditer(item):
                    run.append(item[start : match.end()])
                    yield tuple(run)
                    run, start = [], match.end()
                if start < len(item):
                    run.append(item[start:])
            elif isinstance(item, Break):
                yield (*run, item)
                run = []
            elif isinstance(item, _Marked):
                *inner, last = self.cut(item.content, pattern)
                for piece in inner:
                    yield (*run, self._part(item, piece))
                    run = []
                run.append(self._part(item, last) if inner else item)
            else:
                run.append(item)
        if run:
            yield tuple(run)

    def joined(self, pieces: Iterable[_Content]) -> _Content:
        """Join consecutive pieces; the result has no white space or line breaks at its ends."""
        return _trimmed(_trimmed(self._joined(chain.from_iterable(pieces)), is_end=False), is_end=True)

    def is_part(self, item: Inline) -> bool:
        """Tell whether an item is a part of a link or mark."""
        return id(item) in self._wholes

    def _part(self, item: _Marked, content: _Content) -> _Marked:
        part = replace(item, content=content)
        self._wholes[id(part)] = (part, self._wholes[id(item)][1] if self.is_part(item) else item)
        return part

    def _joined(self, content: Iterable[Inline]) -> list[Inline]:
        found: list[Inline] = []
        for whole, group in groupby(content, self._whole):
            items = [*group]
            if whole is str:
                found.append("".join([item for item in items if isinstance(item, str)]))
            elif whole is None or len(items) == 1:
                found += items
            else:
                parts = [item for item in items if isinstance(item, _Marked)]
                inner = self._joined(chain.from_iterable(part.content for part in parts))
                found.append(replace(parts[0], content=tuple(inner)))
        return found

    def _whole(self, item: Inline) -> object:
        """Return what joins adjacent items: the whole of a part of a mark, or the type of text."""
        return str if isinstance(item, str) else self._wholes[id(item)][1] if self.is_part(item) else None


def _is_picture(item: Inline) -> bool:
    """Tell whether an item is a picture, or a link or mark around pictures."""
    return isinstance(item, Picture) or (isinstance(item, _Marked) and all(map(_is_picture, item.content)))


def _trimmed(content: Sequence[Inline], *, is_end: bool) -> _Content:
    """Return content without white space and line breaks at its start or end, and without marks around nothing else."""
    left = [*content] if is_end else [*reversed(content)]
    while left:
        item = left.pop()
        if isinstance(item, str):
            item = item.rstrip() if is_end else item.lstrip()
        elif isinstance(item, Break):
            continue
        elif isinstance(item, _Marked):
            inner = _trimmed(item.content, is_end=is_end)
            if not inner:
                continue
            item = item if inner == item.content else replace(item, content=inner)
        if item:
            left.append(item)
            break
    return tuple(left) if is_end else tuple(reversed(left))


def standing(block: Block) -> Block:
    """Return a block in the containers that it can't be without, such as a cell in a row of a table."""
    inner: Any = (block,)
    if isinstance(block, Cell):
        inner = (Row(block.first, block.last, block.node, inner),)
    if isinstance(block, Cell | Row):
        return Table(block.first, block.last, block.node, inner)
    if isinstance(block, Item):
        return List(block.first, block.last, block.node, inner, block.number is not None)
    if isinstance(block, Term | Description):
        return Definitions(block.first, block.last, block.node, inner)
    return block
