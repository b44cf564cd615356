"""Chunks of a document for retrieval: consecutive blocks of at most a given size, which belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from blockml.document.lists import block_span
from blockml.document.nodes import (
    Block,
    Break,
    Cell,
    Code,
    Definitions,
    Description,
    Document,
    Figure,
    Heading,
    Inline,
    Item,
    Link,
    List,
    Note,
    NoteReference,
    Paragraph,
    Quotation,
    Row,
    Span,
    Table,
    Term,
    children_of,
    inline_text,
)

__all__ = ["ChunkBlocks", "split_document"]

#: Ends of sentences, and of words.
_LETTERS = re.compile(r"\S+")
_SENTENCE, _WORD = re.compile(r"[.!?…][\"'”’)]*\s+|[。！？][」』”’）]*"), re.compile(r"\s+")
#: Sections of at most this share of a chunk are small, and so are headers of tables that are repeated.
_SMALL = 4
_MAX_HEADING = 500

Write = Callable[[Sequence[Block]], str]
Around = Callable[[Block], Block]
_Content = tuple[Inline, ...]


class ChunkBlocks(NamedTuple):
    """The blocks of a chunk."""

    headings: tuple[str, ...]  #: above the first block, outermost first
    blocks: tuple[Block, ...]
    start: int  #: place in the text
    end: int


class _Section(NamedTuple):
    above: tuple[Heading, ...]
    blocks: tuple[Block, ...]  #: its heading first
    level: int  #: of its heading; 0 without one

    @property
    def is_heading(self) -> bool:
        return len(self.blocks) == 1 and self.level > 0


def split_document(
    document: Document,
    size: int,
    *,
    write: Write | None,
    length: Callable[[str], int],
    places: Callable[[Block], tuple[int, int]],
    text: str,
    overlap: int = 0,
    repeats_header: Callable[[int], bool] = lambda _: False,
) -> list[ChunkBlocks]:
    """Split a document into chunks.

    A chunk goes on below a lower heading if the whole section fits; below one of the same level only if both sections
    are small and have the same heading above. Blocks that are too long are split into items, rows, lines or sentences.

    Parameters
    ----------
    document
        The document.
    size
        Maximum size of a chunk; only a picture, formula or address that is longer makes a larger one.
    write, length
        Return the written form of some blocks (None: their text), and the size of that.
    places
        Returns start and end of a block in the text; -1 for one without text.
    text
        The text.
    overlap
        Size of what a chunk repeats of the one before it, if both are of one section: whole sentences, items or rows.
    repeats_header
        Tells whether the header of a table, given its size, is repeated in each part of it.
    """
    return _Splitter(size, overlap, write, length, places, text, repeats_header).split(document)


class _Splitter:
    def __init__(
        self, size: int, overlap: int, write: Write | None, length: Callable[[str], int],
        places: Callable[[Block], tuple[int, int]], text: str, repeats_header: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self.size, self.overlap, self.room = size, overlap, size - overlap
        self.write: Write = self._slice if write is None else write
        self.length = length
        self.repeats_header = repeats_header if write is not None else lambda _: False
        self.places, self.text = places, text
        self.found: dict[int, tuple[Block, int, int]] = {}  # places of parts of blocks
        self.headings: dict[int, str] = {}

    def split(self, document: Document) -> list[ChunkBlocks]:
        """Return the chunks of a document."""
        sections = [
            _Section(above[:-1], (*above[-1:], *blocks), above[-1].level if above else 0)
            for above, blocks in document.sections()
        ]
        parts: list[ChunkBlocks] = []
        for group in self._joined(sections):
            blocks = [block for section in group for block in section.blocks]
            above = tuple(self._heading(heading) for heading in group[0].above)
            own = blocks[:1] if group[0].level else []
            before: tuple[Block, ...] = ()
            for place, packed in enumerate(self._packed(blocks)):
                names = above if not place else (*above, *map(self._heading, own))
                repeated = self._repeated(before) if self.overlap else ()
                own_blocks = self._merged((*repeated, *packed))
                start, end = self._place_of(own_blocks)
                start, end = (start, end) if start >= 0 else (parts[-1].end,) * 2 if parts else (0, 0)
                parts.append(ChunkBlocks(names, own_blocks, start, end))
                before = packed
        return parts

    def _merged(self, blocks: Iterable[Block]) -> tuple[Block, ...]:
        """Return blocks with adjacent parts of one list or table as one."""
        found: list[Block] = []
        for block in blocks:
            before = found[-1] if found else None
            if isinstance(block, List | Table) and type(before) is type(block) and before.node == block.node:
                start, end = self._place_of((before, block))
                merged = _with_children(block, (*children_of(before), *children_of(block)))
                self.found[id(merged)] = (merged, start, end)
                found[-1] = merged
            else:
                found.append(block)
        return tuple(found)

    def _slice(self, blocks: Sequence[Block]) -> str:
        """Return the text of some blocks."""
        start, end = self._place_of(blocks)
        return self.text[max(start, 0) : max(end, 0)]

    def _heading(self, heading: Block) -> str:
        """Return the text of a heading in one line."""
        if id(heading) not in self.headings:
            content = heading.content if isinstance(heading, Heading) else ()
            self.headings[id(heading)] = " ".join(inline_text(content).split())[:_MAX_HEADING]
        return self.headings[id(heading)]

    def _joined(self, sections: Iterable[_Section]) -> Iterator[list[_Section]]:
        """Iterate over groups of sections that share a chunk."""
        group: list[_Section] = []
        used = 0
        for section in sections:
            size = self._size(section.blocks)
            if group:
                first, last = group[0], group[-1]
                is_lower = section.level > first.level
                is_sibling = section.level == first.level and section.above == first.above
                is_small = _SMALL * max(used, size) <= self.room
                goes_on = used + size <= self.room and (is_lower or (is_sibling and is_small))
                if goes_on or (last.is_heading and is_lower):
                    group.append(section)
                    used += size
                    continue
                yield group
            group, used = [section], size
        if group:
            yield group

    def _size(self, blocks: Sequence[Block]) -> int:
        return sum([self._length((block,)) for block in blocks])

    def _length(self, blocks: Sequence[Block]) -> int:
        """Return the size of blocks, with what separates them from others."""
        return self.length(self.write(blocks)) + 2 if blocks else 0

    def _packed(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, ...]]:
        """Iterate over runs of blocks of at most the size, none of which ends with a heading."""
        run: list[Block] = []
        used, room = 0, self.room + 2
        for block in self._short(blocks):
            size = self._length((block,))
            if run and used + size > room:
                kept: list[Block] = []
                while len(run) > 1 and isinstance(run[-1], Heading):
                    kept.insert(0, run.pop())
                yield tuple(run)
                run = kept
                used = self._size(run)
            run.append(block)
            used += size
        if run:
            yield tuple(run)

    def _short(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Iterate over blocks, with parts instead of those that are too long with the headings directly above them."""
        above = 0  # size of these headings
        for block in blocks:
            size = 2 * self.size if self._is_long(block) else self._length((block,))
            above = 0 if 2 * above > self.room else above
            if size + above <= self.room + 2:
                yield block
            else:
                self.room -= above
                yield from self._parts(block, lambda part: part)
                self.room += above
            above = above + size if isinstance(block, Heading) else 0

    def _parts(self, block: Block, around: Around) -> Iterator[Block]:
        """Split a block that is too long; ``around`` returns a part with the containers around the block."""
        if isinstance(block, Paragraph | Heading | Term):
            yield from self._sentences(block, around, (_SENTENCE, _WORD, re.compile(f".{{1,{self.room}}}", re.DOTALL)))
        elif isinstance(block, Code):
            yield from self._lines(block, around)
        elif isinstance(block, Table):
            yield from self._rows(block, around)
        elif children := children_of(block):
            yield from self._wrapped(children, lambda inner: _with_children(block, inner), around)
        else:
            yield block

    def _wrapped(
        self,
        children: Sequence[Block],
        wrap: Callable[[tuple[Block, ...]], Block],
        around: Around,
        *,
        finish: Callable[[Block], Block] = lambda block: block,
        reserve: int = 0,
    ) -> Iterator[Block]:
        """Iterate over containers of some of the children each, to which ``finish`` adds ``reserve`` characters."""
        room = self.room - reserve + 2
        frame = 0  # size of what surrounds the children
        extra = 0 if self._is_long(children[0]) else self._extra(wrap(tuple(children[:1])), around)
        if len(children) > 1 and not any(map(self._is_long, children[:2])):
            pair = [self._alone(wrap((child,))) for child in children[:2]]
            frame = max(0, sum(pair) - self._alone(wrap(tuple(children[:2]))))
        room -= extra
        run: list[Block] = []
        used = frame
        for child in children:
            size = room + 1 if self._is_long(child) else self._alone(wrap((child,))) - frame
            if run and used + size > room:
                yield from map(finish, self._halved(run, wrap, around, room + extra))
                run, used = [], frame
            if frame + size > room:
                inner = partial(_inside, wrap, around)
                yield from (wrap((part,)) for part in self._parts(child, inner))
            else:
                run.append(child)
                used += size
        if run:
            yield from map(finish, self._halved(run, wrap, around, room + extra))

    def _is_long(self, block: Block) -> bool:
        """Tell from the place of a block in the text that it is too long for a chunk, without writing it."""
        if self.length is not len or id(block) in self.found:
            return False
        start, end = self.places(block)
        return end - start > 2 * self.size

    def _alone(self, block: Block) -> int:
        """Return the size of a block without the containers around it, but for those that it can't be without."""
        inner: Any = (block,)
        if isinstance(block, Cell):
            inner = (Row(block.first, block.last, block.node, inner),)
        if isinstance(block, Cell | Row):
            inner = (Table(block.first, block.last, block.node, inner),)
        elif isinstance(block, Item):
            inner = (List(block.first, block.last, block.node, inner, block.number is not None),)
        elif isinstance(block, Term | Description):
            inner = (Definitions(block.first, block.last, block.node, inner),)
        return self._length(inner)

    def _extra(self, block: Block, around: Around) -> int:
        """Return the size that containers add to a block in them, such as the indent of its first line."""
        return max(0, self._length((around(block),)) - self._alone(block))

    def _halved(
        self, run: Sequence[Block], wrap: Callable[[tuple[Block, ...]], Block], around: Around, room: int
    ) -> Iterator[Block]:
        """Iterate over a container of children whose size was estimated, or its halves if that was too small."""
        whole = wrap(tuple(run))
        if len(run) > 1 and self._length((around(whole),)) > room:
            yield from self._halved(run[: len(run) // 2], wrap, around, room)
            yield from self._halved(run[len(run) // 2 :], wrap, around, room)
        else:
            yield whole

    def _rows(self, table: Table, around: Around) -> Iterator[Block]:
        """Split a table into rows, and repeat a short header."""
        n_header = 0
        while n_header < len(table.rows) and all(cell.header for cell in table.rows[n_header].cells):
            n_header += 1
        header = table.rows[:n_header]
        size = self._length((_with_children(table, header),)) if header else 0
        is_short = 0 < _SMALL * size <= self.room
        yield from self._short(table.caption)
        is_first = True

        def with_header(part: Block) -> Block:
            nonlocal is_first
            if is_first or not is_short or not self.repeats_header(size):
                is_first = False
                return part
            found = _with_children(table, (*header, *children_of(part)))
            self.found[id(found)] = (found, *self._place(part))
            return found

        reserve = size if is_short else 0
        yield from self._wrapped(
            table.rows, lambda rows: _with_children(table, rows), around, finish=with_header, reserve=reserve
        )

    def _lines(self, code: Code, around: Around) -> Iterator[Block]:
        """Split a listing into lines; a longer line is cut."""
        start, end = self._place(code)
        frame = self._length((around(replace(code, lines=("",))),))
        most = max(1, self.room - frame + 2)
        run: list[str] = []
        used = 0
        for line in code.lines:
            for piece in [line[at : at + most] for at in range(0, len(line), most)] or [""]:
                size = self.length(piece) + 1
                if run and used + size > most:
                    start = yield from self._cut(
                        replace(code, lines=tuple(run)), "\n".join(run), start, end, is_last=False
                    )
                    run, used = [], 0
                run.append(piece)
                used += size
        if run:
            yield from self._cut(replace(code, lines=tuple(run)), "\n".join(run), start, end, is_last=True)

    def _cut(self, part: Block, text: str, start: int, end: int, *, is_last: bool) -> Generator[Block, None, int]:
        """Give a part of a block its place in the text, which begins at ``start``, and return the end of that.

        Only letters and signs are counted, because the white space of a listing or verse differs.
        """
        left = sum(map(len, text.split()))
        begin = stop = start
        for match in _LETTERS.finditer(self.text, start, end):
            begin = match.start() if stop == start else begin
            stop = min(match.end(), match.start() + left)
            left -= stop - match.start()
            if left <= 0:
                break
        stop = end if is_last else stop
        self.found[id(part)] = (part, begin, stop)
        yield part
        return stop

    def _sentences(
        self, block: Paragraph | Heading | Term, around: Around, patterns: Sequence[re.Pattern[str]]
    ) -> Iterator[Block]:
        """Split a paragraph into runs of sentences, or of words where a sentence is too long."""
        start, end = self._place(block)
        run: list[_Content] = []
        used = 0

        def ended(*, is_last: bool) -> Generator[Block, None, int]:
            content = _trimmed([item for piece in run for item in piece])
            if content:
                part = replace(block, content=content)
                return (yield from self._cut(part, inline_text(content), start, end, is_last=is_last))
            return start

        extra = -1
        for piece in self._pieces(block.content, patterns):
            part = replace(block, content=_trimmed(piece) or piece)
            extra = self._extra(part, around) if extra < 0 else extra
            size = self._alone(part) - 1
            if run and used + size > self.room + 1 - extra:
                start = yield from ended(is_last=False)
                run, used = [], 0
            run.append(piece)
            used += size
        if run:
            yield from ended(is_last=True)

    def _pieces(self, content: Iterable[Inline], patterns: Sequence[re.Pattern[str]]) -> Iterator[_Content]:
        """Iterate over pieces of inline content that are short enough, if there are ends of sentences or words."""
        pattern, *others = patterns
        for piece in _cut_at(content, pattern):
            if others and self.length(inline_text(piece)) > self.room:
                yield from self._pieces(piece, others)
            else:
                yield piece

    def _repeated(self, before: Sequence[Block]) -> tuple[Block, ...]:
        """Return the end of a chunk that the next one repeats."""
        block = before[-1] if before else None
        if isinstance(block, Paragraph):
            pieces = list(_cut_at(block.content, _SENTENCE))
            used, first = 0, len(pieces)
            while first and (used := used + self.length(inline_text(pieces[first - 1]))) <= self.overlap:
                first -= 1
            content = _trimmed([item for piece in pieces[first:] for item in piece])
            if not content:
                return ()
            part = replace(block, content=content)
            start, end = self._place(block)
            left = sum(sum(map(len, inline_text(piece).split())) for piece in pieces[:first])
            for match in _LETTERS.finditer(self.text, start, end):
                start = match.start() + left
                left -= len(match[0])
                if left < 0:
                    break
            self.found[id(part)] = (part, start, end)
            return (part,)
        if isinstance(block, List | Table):
            children = children_of(block) if isinstance(block, List) else block.rows
            used, first = 0, len(children)
            while first and (
                (used := used + self._length((_with_children(block, children[first - 1 : first]),))) <= self.overlap + 2
            ):
                first -= 1
            return (_with_children(block, children[first:]),) if first < len(children) else ()
        return ()

    def _place_of(self, blocks: Sequence[Block]) -> tuple[int, int]:
        """Return the start and end of blocks in the text; those of pictures have none of their own."""
        places = [self._place(block) for block in blocks]
        shown = [place for place in places if place[0] < place[1]]
        return (min(shown)[0], max(end for _, end in shown)) if shown else (-1, -1)

    def _place(self, block: Block) -> tuple[int, int]:
        """Return the start and end of a block in the text."""
        if (known := self.found.get(id(block))) is not None:
            return known[1], known[2]
        if inner := children_of(block):
            return self._place_of(inner)
        return self.places(block)


def _inside(wrap: Callable[[tuple[Block, ...]], Block], around: Around, part: Block) -> Block:
    return around(wrap((part,)))


def _with_children(block: Block, children: Sequence[Block]) -> Block:
    """Return a container with other children."""
    first, last = block_span(children)
    name, inner = "children", tuple(children)
    match block:
        case List():
            name = "items"
        case Definitions():
            name = "parts"
        case Row():
            name = "cells"
        case Table():
            return replace(block, first=first, last=last, rows=inner, caption=())  # type: ignore[arg-type]
        case Figure():
            return replace(block, first=first, last=last, children=inner, caption=())
        case Quotation() | Item() | Description() | Cell() | Note():
            pass
    changes: dict[str, Any] = {name: inner}
    return replace(block, first=first, last=last, **changes)


def _cut_at(content: Iterable[Inline], pattern: re.Pattern[str]) -> Iterator[_Content]:
    """Iterate over pieces of inline content, which end where a pattern matches, or at a line break."""
    run: list[Inline] = []
    for item in content:
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
        elif isinstance(item, Span | Link | NoteReference):
            *whole, last = _cut_at(item.content, pattern)
            for inner in whole:
                yield (*run, replace(item, content=_trimmed(inner) or inner), " ")
                run = []
            run.append(replace(item, content=last))
        else:
            run.append(item)
    if run:
        yield tuple(run)


def _trimmed(content: Sequence[Inline]) -> _Content:
    """Return content without white space and line breaks at its ends, and with adjacent texts joined."""
    found: list[Inline] = []
    texts: list[str] = []
    for item in [*content, None]:
        if isinstance(item, str):
            texts.append(item)
            continue
        if text := "".join(texts):
            found.append(text)
        texts = []
        if item is not None:
            found.append(item)
    while found and (isinstance(found[0], Break) or (isinstance(found[0], str) and not found[0].strip())):
        del found[0]
    while found and (isinstance(found[-1], Break) or (isinstance(found[-1], str) and not found[-1].strip())):
        del found[-1]
    if found and isinstance(found[0], str):
        found[0] = found[0].lstrip()
    if found and isinstance(found[-1], str):
        found[-1] = found[-1].rstrip()
    return tuple(found)
