"""Chunks of a document for retrieval: consecutive blocks of at most a given size, which belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from blockml.document.nodes import (
    Block,
    Cell,
    Code,
    Document,
    Heading,
    List,
    Paragraph,
    Row,
    Table,
    Term,
    children_of,
    inline_text,
    text_of,
    with_children,
)
from blockml.document.pieces import Pieces, standing

__all__ = ["ChunkBlocks", "split_document"]

#: Ends of sentences, and of words.
_LETTERS = re.compile(r"\S{1,64}")  # not more, because each part of a long word reads one of these again
_SENTENCE, _WORD = re.compile(r"[.!?…][\"'”’)]*\s+|[。！？][」』”’）]*"), re.compile(r"\s+")
#: Sections of at most this share of a chunk are small, and so are headers of tables that are repeated.
_SMALL = 4
#: Maximum number of empty cells per cell that take the place of cells which extend from rows above (our choice).
_MAX_ADDED = 4
_MAX_HEADING = 500
#: Maximum characters of a line without a full stop that names the list below it, and of one that names a longer
#: paragraph or code, such as "Warning".
_MAX_LABEL, _MAX_NAME = 60, 30
#: Level of posts of a thread, below those of headings.
_POST = 7
#: Pieces of text of at most this share of a chunk are not cut again, although what is written around them is too long.
_MIN_PIECE = 8
#: Number of pieces that is tried first as the next part, and maximum number of further tries once some fit.
_FIRST_TRY, _MAX_TRIES = 8, 4
#: Text of parts from which the size of what is around a text is computed.
_SAMPLE = "a"

Write = Callable[[Sequence[Block]], str]
Around = Callable[[Block], Block]


class ChunkBlocks(NamedTuple):
    """The blocks of a chunk."""

    headings: tuple[str, ...]  #: above the first block, outermost first
    blocks: tuple[Block, ...]
    start: int  #: place in the text
    end: int


class _Section(NamedTuple):
    above: tuple[Heading, ...]
    blocks: tuple[Block, ...]  #: its heading first
    level: int  #: of its heading; 0 without one, and :data:`_POST` for a post

    @property
    def is_heading(self) -> bool:
        return len(self.blocks) == 1 and isinstance(self.blocks[0], Heading)


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
    posts: Set[int] = frozenset(),
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
    posts
        First blocks of the page in each post of a thread; a post is like a section.
    """
    return _Splitter(size, overlap, write, length, places, text, repeats_header, posts).split(document)


class _Splitter:
    def __init__(
        self, size: int, overlap: int, write: Write | None, length: Callable[[str], int],
        places: Callable[[Block], tuple[int, int]], text: str, repeats_header: Callable[[int], bool],
        posts: Set[int],
    ) -> None:  # fmt: skip
        self.size, self.overlap, self.room = size, overlap, size - overlap
        self.write, self.length = write, length
        self.repeats_header = repeats_header if write is not None else lambda _: False
        self.places, self.text, self.posts = places, text, posts
        self.found: dict[int, tuple[Block, int, int]] = {}  # places of parts of blocks, and others that were searched
        self.sizes: dict[int, tuple[Block, int]] = {}
        self.headings: dict[int, str] = {}

    def split(self, document: Document) -> list[ChunkBlocks]:
        """Return the chunks of a document."""
        parts: list[ChunkBlocks] = []
        for group in self._joined(self._sections(document)):
            blocks = [block for section in group for block in section.blocks]
            above = tuple(self._heading(heading) for heading in group[0].above)
            if parts and all(section.is_heading for section in group) and self._goes_on(parts[-1].blocks, blocks):
                whole = (*parts[-1].blocks, *blocks)  # headings without text say nothing by themselves
                start, end = self._place_of(whole)
                parts[-1] = ChunkBlocks(parts[-1].headings, whole, start, end)
                continue
            own = blocks[:1] if isinstance(blocks[0], Heading) else []
            before: tuple[Block, ...] = ()
            for place, packed in enumerate(self._packed(blocks)):
                names = above if not place else (*above, *map(self._heading, own))
                repeated = self._repeated(before) if self.overlap else ()
                own_blocks = self._merged((*repeated, *packed))
                if repeated and self._length(own_blocks) > self.size + 2:  # with what is between them
                    own_blocks = self._merged(packed)
                start, end = self._place_of(own_blocks)
                start, end = (start, end) if start >= 0 else (parts[-1].end,) * 2 if parts else (0, 0)
                parts.append(ChunkBlocks(names, own_blocks, start, end))
                before = packed
        return parts

    def _goes_on(self, before: Sequence[Block], blocks: Sequence[Block]) -> bool:
        """Tell whether a chunk has room for the blocks after it."""
        return not self._is_apart(before[-1], blocks[0]) and self._length([*before, *blocks]) <= self.size + 2

    def _sections(self, document: Document) -> Iterator[_Section]:
        """Iterate over the sections of a document, which also end before each post of a thread."""
        for above, blocks in document.sections():
            run: list[Block] = [*above[-1:]]
            parents, level = above[:-1], above[-1].level if above else 0
            for block in blocks:
                if block.first in self.posts:
                    if run:
                        yield _Section(parents, tuple(run), level)
                    run, parents, level = [], above, _POST
                run.append(block)
            yield _Section(parents, tuple(run), level)

    def _merged(self, blocks: Iterable[Block]) -> tuple[Block, ...]:
        """Return blocks with adjacent parts of one list or table as one."""
        found: list[Block] = []
        for _, group in groupby(blocks, lambda block: (type(block), block.node)):
            parts = [*group]
            if len(parts) > 1 and isinstance(parts[0], List | Table):
                merged = with_children(parts[-1], [child for part in parts for child in children_of(part)])
                self.found[id(merged)] = (merged, *self._place_of(parts))
                found.append(merged)
            else:
                found += parts
        return tuple(found)

    def _written(self, blocks: Sequence[Block]) -> str:
        """Return some blocks as they are written; without a writer, their text."""
        if self.write is not None:
            return self.write(blocks)
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
                # A heading without text is for the section below it.
                moved = group[-1:] if last.is_heading and last.level == section.level else []
                if len(group) > len(moved):
                    yield group[: len(group) - len(moved)]
                group, used = moved, self._size([block for one in moved for block in one.blocks])
            group.append(section)
            used += size
        if group:
            yield group

    def _size(self, blocks: Sequence[Block]) -> int:
        return sum(map(self._size_of, blocks))

    def _length(self, blocks: Sequence[Block]) -> int:
        """Return the size of blocks, with what separates them from others."""
        return self.length(self._written(blocks)) + 2 if blocks else 0

    def _size_of(self, block: Block) -> int:
        """Return the size of a block that is not in another one, like :meth:`_length`."""
        if (known := self.sizes.get(id(block))) is None:
            known = self.sizes[id(block)] = (block, self._length((block,)))
            if self.write is None:
                self.found[id(block)] = (block, *self._place(block))
        return known[1]

    def _packed(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, ...]]:
        """Iterate over runs of blocks of at most the size, none of which ends with a heading."""
        run: list[Block] = []
        used, room = 0, self.room + 2
        for block in self._short(blocks):
            size = self._size_of(block)
            if run and self._is_apart(run[-1], block):
                yield tuple(run)
                run, used = [], 0
            elif run and max(used + size, self._slice_size(run[0], block)) > room:
                first = self._first_moved(run, block, room)
                yield tuple(run[:first])
                run = run[first:]
                used = self._size(run)
            run.append(block)
            used += size
        if run:
            yield tuple(run)

    def _first_moved(self, run: Sequence[Block], block: Block, room: int) -> int:
        """Return from where the end of a run goes on with the block below it: headings, if they are short."""
        first, moved = len(run), 0
        while first and _announces(run[first - 1], block) and 2 * moved <= room - 2:
            above = run[first - 1]
            most = max(self._size_of(above) + moved + self._size_of(block), self._slice_size(above, block))
            if most > room and not isinstance(above, Heading):
                break
            first -= 1
            moved += self._size_of(above)
        return first if first and 2 * moved <= room - 2 else len(run)

    def _is_apart(self, before: Block, block: Block) -> bool:
        """Tell whether a slice of the text can't have a block directly after another one."""
        if self.write is not None:
            return False
        (first, last), (start, _) = self._place(before), self._place(block)
        is_apart = start < first or (last < start and not self.text[last:start].isspace())
        return is_apart and min(first, start) >= 0

    def _slice_size(self, first: Block, last: Block) -> int:
        """Return the size of the slice of the text between two blocks, with white space that may be long."""
        if self.write is not None or self.length is not len:
            return 0
        start, end = self._place_of((first, last))
        return end - start + 2

    def _short(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Iterate over blocks, with parts instead of those that are too long with what announces them."""
        above, before = 0, None  # size of what announces the block, and the block before it
        for block in blocks:
            size = 2 * self.size if self._is_long(block) else self._size_of(block)
            above = above if before is not None and _announces(before, block) and 2 * above <= self.room else 0
            if size + above <= self.room + 2:
                yield block
            else:
                self.room -= above
                yield from self._parts(block, lambda part: part)
                self.room += above
            above, before = above + size, block

    def _parts(self, block: Block, around: Around) -> Iterator[Block]:
        """Split a block that is too long; ``around`` returns a part with the containers around the block."""
        if isinstance(block, Paragraph | Heading | Term):
            yield from self._sentences(block, around)
        elif isinstance(block, Code):
            yield from self._lines(block, around)
        elif isinstance(block, Table):
            yield from self._rows(block, around)
        elif children := children_of(block):
            yield from self._wrapped(children, lambda inner: with_children(block, inner), around)
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
        """Iterate over containers of some of the children each, to which ``finish`` adds ``reserve`` characters.

        What surrounds the children takes no room if it is too large for any chunk.
        """
        room = self.room - reserve + 2
        frame = 0  # size of what surrounds the children
        extra = 0 if self._is_long(children[0]) else self._extra(wrap(tuple(children[:1])), around)
        if len(children) > 1 and not any(map(self._is_long, children[:2])):
            pair = [self._alone(wrap((child,))) for child in children[:2]]
            frame = max(0, sum(pair) - self._alone(wrap(tuple(children[:2]))))
        limit = room + (extra if extra >= room else 0)
        room = limit - extra
        run: list[Block] = []
        used, last = frame, 0
        for child in children:
            size = room + 1 if self._is_long(child) else self._alone(wrap((child,))) - frame
            if run and used + size > room:
                n_moved = int(_announces(run[-1], child) and 2 * last <= room)
                if len(run) > n_moved:
                    yield from map(finish, self._halved(run[: len(run) - n_moved], wrap, around, limit))
                run = run[len(run) - n_moved :]
                used = frame + n_moved * last
            if used + size > room:
                inner = partial(_inside, wrap, around)
                self.room -= used - frame
                parts = [*self._parts(child, inner)]
                self.room += used - frame
                yield from self._halved([*run, *parts[:1]], wrap, around, limit)
                yield from (wrap((part,)) for part in parts[1:])
                run, used = [], frame
            else:
                run.append(child)
                used += size
            last = size
        if run:
            yield from map(finish, self._halved(run, wrap, around, limit))

    def _is_long(self, block: Block) -> bool:
        """Tell from the place of a block in the text that it is too long for a chunk, without writing it."""
        if self.length is not len or id(block) in self.found:
            return False
        start, end = self.places(block)
        return end - start > 2 * self.size

    def _alone(self, block: Block) -> int:
        """Return the size of a block without the containers around it, but for those that it can't be without."""
        return self._length((standing(block),))

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
        rows, n_header = _without_spans(table.rows), 0
        while n_header < len(rows) and all(cell.header for cell in rows[n_header].cells):
            n_header += 1
        header = rows[:n_header]
        size = self._length((with_children(table, header),)) if header else 0
        is_short = 0 < _SMALL * size <= self.room
        yield from self._short(table.caption)
        is_first = True

        def with_header(part: Block) -> Block:
            nonlocal is_first
            if is_first or not is_short or not self.repeats_header(size):
                is_first = False
                return part
            found = with_children(table, (*header, *children_of(part)))
            self.found[id(found)] = (found, *self._place(part))
            return found

        reserve = size if is_short else 0
        yield from self._wrapped(
            rows, lambda some: with_children(table, some), around, finish=with_header, reserve=reserve
        )

    def _lines(self, code: Code, around: Around) -> Iterator[Block]:
        """Split a listing into lines; a longer line is cut."""
        start, end = self._place(code)
        limit, frame = self._limit(replace(code, lines=(_SAMPLE,)), around)
        most = max(1, limit - frame)
        left = [line[at : at + most] for line in code.lines for at in (range(0, len(line), most) if line else (0,))]
        left.reverse()

        def part(count: int) -> Code:
            return replace(code, lines=tuple(left[: -count - 1 : -1]))

        count = _FIRST_TRY
        while left:
            sizes = (self.length(line) + 1 for line in reversed(left))
            measured = partial(self._next_size, part, around, start, end)
            most, fitting = self._fitting(sizes, measured, count, limit)
            if self.write is None and not fitting and (half := len(left[-1]) // 2):
                left[-1:] = [left[-1][half:], left[-1][:half]]  # the text has more white space than the line
                continue
            count = fitting or most
            found = part(count)
            del left[-count:]
            start = yield from self._cut(found, "\n".join(found.lines), start, end, is_last=not left)

    def _sentences(self, block: Paragraph | Heading | Term, around: Around) -> Iterator[Block]:
        """Split a paragraph into runs of sentences, or of words or letters where a sentence is too long."""
        start, end = self._place(block)
        limit, _ = self._limit(replace(block, content=(_SAMPLE,)), around)
        pieces = Pieces()
        cuts = [_SENTENCE, _WORD, *[re.compile(f".{{1,{most}}}", re.DOTALL) for most in self._halves()]]
        left = [(piece, 0) for piece in pieces.cut(block.content, cuts[0])][::-1]

        def part(count: int) -> Paragraph | Heading | Term:
            return replace(block, content=pieces.joined([piece for piece, _ in left[: -count - 1 : -1]]))

        count = _FIRST_TRY
        while left:
            first, level = left[-1]
            sizes = (self.length(inline_text(piece)) for piece, _ in reversed(left))
            measured = partial(self._next_size, part, around, start, end)
            most, fitting = self._fitting(sizes, measured, count, limit)
            if not fitting and level + 1 < len(cuts) and self.length(inline_text(first)) > self.room // _MIN_PIECE:
                left[-1:] = [(piece, level + 1) for piece in pieces.cut(first, cuts[level + 1])][::-1]
                continue
            # What each part repeats, such as a long address, takes no room from its text.
            count = fitting or (most if pieces.is_part(first[0]) else 1)
            found = part(count)
            del left[-count:]
            if found.content:
                start = yield from self._cut(found, inline_text(found.content), start, end, is_last=not left)

    def _halves(self) -> Iterator[int]:
        """Iterate over the maximum lengths of pieces of a word, the longest first."""
        shares = 1
        while shares <= _MIN_PIECE:
            yield max(1, self.room // shares)
            shares *= 2

    def _fitting(self, sizes: Iterable[int], size: Callable[[int], int], first: int, limit: int) -> tuple[int, int]:
        """Return how many of the next pieces fit by the sizes of their texts, at least 1, and how many as written.

        ``size`` returns the size of a number of pieces as they are written. It is called for few numbers that are not
        far above those that fit, beginning with ``first``, so that time is in proportion to what is split.
        """
        most = used = 0
        for own in sizes:
            used += own
            if most and used > self.room + 1:  # the last character may be white space
                break
            most += 1
        count, fitting, too_many, n_tries = min(first, most), 0, most + 1, 0
        while fitting + 1 < too_many and (not fitting or n_tries < _MAX_TRIES):
            own = size(count)
            if own <= limit:
                fitting = count
                n_tries += 1
                most_next = too_many - 1
            else:
                too_many = count
                most_next = (fitting + too_many) // 2
            count = min(max(count * limit // max(own, 1), fitting + 1), most_next)
        return most, fitting

    def _limit(self, part: Block, around: Around) -> tuple[int, int]:
        """Return the maximum size of a part, and the size of what is around its text; see :meth:`_wrapped`.

        The text of ``part`` is :data:`_SAMPLE`.
        """
        frame = max(0, self._part_size(part, around) - self.length(_SAMPLE))
        return self.room + (frame if frame >= self.room else 0), frame

    def _part_size(self, part: Block, around: Around) -> int:
        """Return the size of a part of a paragraph or listing."""
        return self.length(self.write((around(part),)) if self.write is not None else text_of((part,)))

    def _next_size(self, part: Callable[[int], Block], around: Around, start: int, end: int, count: int) -> int:
        """Return the size of the next pieces of a block, whose text goes on from ``start`` to ``end``.

        A slice of the text may have more white space than the pieces, such as that of a listing in a heading.
        """
        found = part(count)
        if self.write is not None:
            return self._part_size(found, around)
        begin, stop = self._letters(text_of((found,)), start, end)
        return self.length(self.text[begin:stop])

    def _letters(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return where the page's text from ``start`` to ``end`` has the letters of ``text``, which it begins with.

        Only letters and signs are counted, because the white space of a listing or verse differs.
        """
        left = sum(map(len, text.split()))
        begin = stop = start
        for match in _LETTERS.finditer(self.text, start, end) if left else ():
            begin = match.start() if stop == start else begin
            stop = min(match.end(), match.start() + left)
            left -= stop - match.start()
            if left <= 0:
                break
        return begin, stop

    def _cut(self, part: Block, text: str, start: int, end: int, *, is_last: bool) -> Generator[Block, None, int]:
        """Give a part of a block its place in the text, which begins at ``start``, and return the end of that."""
        begin, stop = self._letters(text, start, end)
        stop = end if is_last and self.text[stop:end].strip() else stop
        self.found[id(part)] = (part, begin, stop)
        yield part
        return stop

    def _repeated(self, before: Sequence[Block]) -> tuple[Block, ...]:
        """Return the end of a chunk that the next one repeats."""
        block = before[-1] if before else None
        if isinstance(block, Paragraph):
            pieces = Pieces()
            sentences = [*pieces.cut(block.content, _SENTENCE)]
            used, first = 0, len(sentences)
            while first and (used := used + self.length(inline_text(sentences[first - 1]))) <= self.overlap:
                first -= 1
            content = pieces.joined(sentences[first:])
            if not content:
                return ()
            part = replace(block, content=content)
            start, end = self._place(block)
            _, start = self._letters("".join(map(inline_text, sentences[:first])), start, end)
            start, _ = self._letters(inline_text(content), start, end)
            self.found[id(part)] = (part, start, end)
            return (part,)
        if isinstance(block, List | Table):
            children = children_of(block) if isinstance(block, List) else block.rows
            used, first = 0, len(children)
            while first and (
                (used := used + self._length((with_children(block, children[first - 1 : first]),))) <= self.overlap + 2
            ):
                first -= 1
            return (with_children(block, children[first:]),) if first < len(children) else ()
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


def _without_spans(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return rows with empty cells instead of cells that extend from rows above, so that the rows can be separated.

    Rows that would get many more cells than the table has are not changed.
    """
    n_cells, n_rows = sum(len(row.cells) for row in rows), len(rows)
    added = sum(cell.columns * (min(cell.rows, n_rows) - 1) for row in rows for cell in row.cells)
    if not 0 < added <= _MAX_ADDED * n_cells:
        return rows
    taken: dict[int, tuple[int, Cell]] = {}  # rows for which a column is still spanned from above, and the empty cell
    found = []
    for row in rows:
        cells, column = list[Cell](), 0
        below = {column: (n - 1, cell) for column, (n, cell) in taken.items() if n > 1}
        for cell in row.cells:
            while column in taken:
                cells.append(taken[column][1])
                column += 1
            cells.append(replace(cell, rows=1))
            if cell.rows > 1:
                empty = Cell(-1, -1, cell.node, (), header=cell.header)
                below |= dict.fromkeys(range(column, column + cell.columns), (cell.rows - 1, empty))
            column += cell.columns
        while column in taken:
            cells.append(taken[column][1])
            column += 1
        taken = below
        found.append(replace(row, cells=tuple(cells)))
    return tuple(found)


def _announces(block: Block, following: Block) -> bool:
    """Tell whether a block belongs to what follows: a heading, a line that ends in a colon, or a label."""
    if not isinstance(block, Paragraph):
        return isinstance(block, Heading)
    text = inline_text(block.content).strip()
    if text.endswith((":", "：")):
        return True
    if not text[-1:].isalnum() or len(text) > _MAX_LABEL:
        return False
    is_longer = isinstance(following, Paragraph) and len(inline_text(following.content)) > _MAX_LABEL
    return isinstance(following, List) or (len(text) <= _MAX_NAME and (is_longer or isinstance(following, Code)))


def _inside(wrap: Callable[[tuple[Block, ...]], Block], around: Around, part: Block) -> Block:
    return around(wrap((part,)))
