"""Writes a document as Markdown: CommonMark with tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from blockml.document.nodes import (
    BREAK,
    Block,
    Cell,
    Code,
    Definitions,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    InlineFormula,
    Item,
    List,
    Mark,
    Note,
    Paragraph,
    Quotation,
    Rule,
    Span,
    Table,
    Term,
    children_of,
)
from blockml.page.bounds import Budget
from blockml.writers.escapes import heading_line
from blockml.writers.markdown_inline import InlineWriter, resolver

__all__ = ["write_heading", "write_markdown"]

_EMPTY = "empty cells of tables"
_NO_LISTS: AbstractSet[int] = frozenset()
#: Terms of this many characters aren't set in bold; some old pages have all of their text in one.
_MAX_TERM = 190
_ROMAN = {"m": 1000, "cm": 900, "d": 500, "cd": 400, "c": 100, "xc": 90, "l": 50, "xl": 40, "x": 10, "ix": 9, "v": 5,
          "iv": 4, "i": 1}  # fmt: skip
_MAX_ROMAN = 4000
_MIN_NUMBERS = 2  # rows of numbers that show that the one above them is a header
_STRONG, _CODE = Mark.STRONG, Mark.CODE
#: Text of an item's check box.
_CHECKS = {None: "", False: "[ ] ", True: "[x] "}


def write_markdown(document: Document, budget: Budget) -> str:
    """Write a document as Markdown.

    List items keep their numbers. Formulas are TeX between dollar signs. What the budget does not pay for is left out,
    and ``budget.warnings`` names it.

    Examples
    --------
    >>> import blockml
    >>> page = "<h1>Cats</h1><p>Cats <b>rule</b> the <a href='/w'>world</a>.</p>"
    >>> result = blockml.extract(page, url="https://a.example/", model="plain")
    >>> print(write_markdown(result.document, Budget(result.page)))
    # Cats
    <BLANKLINE>
    Cats **rule** the [world](https://a.example/w).
    """
    writer = _Writer(document, budget)
    writer.blocks(document.children)
    return "\n".join(writer.lines).strip("\n")


def write_heading(title: str) -> str:
    """Write a title as a heading of the first level.

    Examples
    --------
    >>> write_heading("Cats & #1 <b>")
    '# Cats & #1 \\\\<b>'
    """
    writer = InlineWriter(str, Budget(None))
    return heading_line(1, writer((title,), heading=True))


@dataclass(slots=True, eq=False)
class _Container:
    """An open list item or quotation."""

    marker: str  #: start of its first line
    indent: str  #: start of the lines after that
    list_number: int  #: number of the list; -1 for a quotation
    is_pending: bool = True  #: whether its first line is still to be written


class _Writer:
    """Lines written so far, and the open list items and quotations."""

    def __init__(self, document: Document, budget: Budget) -> None:
        self.budget = budget
        self.inline = InlineWriter(resolver(document.base_url, budget), budget)
        self.lines: list[str] = []
        self.containers: list[_Container] = []
        self.last: list[_Container] = []  # containers around the last block written
        self.last_lists: AbstractSet[int] = _NO_LISTS  # lists around it
        self.signs: list[str] = []  # sign of the markers of each list

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Write blocks."""
        for block in blocks:
            _WRITERS[type(block)](self, block)

    def paragraph(self, block: Paragraph) -> None:
        """Write a paragraph."""
        self.text(self.inline(block.content))

    def heading(self, block: Heading) -> None:
        """Write a heading."""
        if text := self.inline(block.content, heading=True):
            self.write([heading_line(block.level, text)])

    def code(self, block: Code) -> None:
        """Write a listing between fences that are longer than all runs of backticks in it."""
        longest = max((len(run) for line in block.lines if "`" in line for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        self.write([fence + block.language, *block.lines, fence])

    def quotation(self, block: Quotation) -> None:
        """Write a quotation."""
        self._within(_Container("> ", "> ", -1), block.children)

    def items(self, block: List) -> None:
        """Write a list; an item that begins with a list has no marker."""
        number = len(self.signs)
        for item in block.items:
            digits, label = "", ""
            if block.ordered and item.number is not None:
                label = item_label(item.style or block.style, item.number)
                digits = "" if label else str(item.number)
            if len(self.signs) == number:
                self.signs.append(self._sign(digits, ordered=block.ordered and not label))
            marker = f"{digits}{self.signs[number]} "
            indent = " " * len(marker)
            if isinstance(item.children[0], List):
                marker = indent = ""
            else:
                marker += label + _CHECKS[item.checked]
            self._within(_Container(marker, indent, number), item.children)

    def definitions(self, block: Definitions) -> None:
        """Write terms in bold, each with the first paragraph of its description on the next line."""
        term: tuple[Inline, ...] = ()
        for part in block.parts:
            if isinstance(part, Term):
                self._end_term(term)
                is_short = len(_plain(part.content)) < _MAX_TERM
                term = (Span(_STRONG, tuple(_without(_STRONG, part.content))),) if is_short else ()
                if not is_short:
                    self.text(self.inline(part.content))
                continue
            children = part.children
            if term and isinstance(children[0], Paragraph):
                self.text(self.inline((*term, BREAK, *children[0].content)))
                term, children = (), children[1:]
            self._end_term(term)
            term = ()
            self.blocks(children)
        self._end_term(term)

    def table(self, block: Table) -> None:
        """Write the caption and the rows of a table."""
        self.blocks(block.caption)
        lines = self._rows(block)
        if lines:
            self.write(lines)

    def _end_term(self, term: tuple[Inline, ...]) -> None:
        if term:
            self.text(self.inline(term))

    def _within(self, container: _Container, blocks: Iterable[Block]) -> None:
        self.containers.append(container)
        self.blocks(blocks)
        self.containers.pop()

    def text(self, text: str) -> None:
        """Write the text of a paragraph."""
        if self.containers or "\n" in text:
            self.write(text.split("\n"))
        elif text:
            if self.lines:
                self.lines.append("")
            self.lines.append(text)
            self.last, self.last_lists = [], _NO_LISTS

    def write(self, lines: Sequence[str]) -> None:
        """Write the lines of a paragraph, heading, table or listing, with the marks of lists and quotations."""
        first = rest = blank = ""
        starts: _Container | None = None
        containers = self.containers
        for container in containers:
            if not container.is_pending:
                first += container.indent
                if starts is None:
                    blank = rest + container.indent
            else:
                first += container.marker
                starts = container
            container.is_pending = False
            rest += container.indent
        if rest and not self.budget.spend(len(rest) * (1 + len(lines)), "indents of lists and quotations"):
            containers, starts, first, rest, blank = [], None, "", "", ""
        if self.lines and not self._is_tight(starts):
            self.lines.append(blank.rstrip())
        self.lines.append((first + lines[0]).rstrip() if not lines[0] else first + lines[0])
        self.lines += [(rest + line) if line else rest.rstrip() for line in lines[1:]]
        is_bare = bool(containers) and not containers[-1].indent  # below an item that has no marker
        self.last = containers[:]
        self.last_lists = _NO_LISTS if is_bare else {item.list_number for item in containers} - {-1}

    def _is_tight(self, starts: _Container | None) -> bool:
        """Tell whether no blank line precedes a block, which starts the list item ``starts``."""
        if starts is None or starts.list_number < 0:
            return False
        if starts.list_number in self.last_lists:
            return True
        if starts.marker[:1].isdecimal() and starts.marker[:-2] != "1":  # can't start a list below a paragraph
            return False
        around = self.containers[: self.containers.index(starts)]
        return any(item.list_number in self.last_lists for item in around)

    def _sign(self, digits: str, *, ordered: bool) -> str:
        """Return the sign for a list's markers; it differs from that of a list just before, or both would be joined."""
        first, second = (".", ")") if ordered else ("-", "*")
        place = len(self.containers)
        if len(self.last) <= place or self.last[:place] != self.containers:
            return first
        before = self.last[place]
        goes_on = digits and before.marker.strip() == f"{int(digits) - 1}{first}"  # joined, it has the same numbers
        is_same = before.list_number >= 0 and self.signs[before.list_number] == first
        return second if is_same and not goes_on else first

    def _rows(self, table: Table) -> list[str]:
        """Write a table with its separator row; a cell over several columns or rows is followed by empty ones.

        The header is empty if the first row is not one. If the budget is too small, empty cells at the end of rows are
        left out, because readers add them.
        """
        spend = self.budget.spend
        grid = table.grid(self._cell, lambda n_empty: spend(n_empty * len("|  | --- "), _EMPTY))
        shown = ([cell for cell in row.cells if cell.children] for row in table.rows)
        first = next(filter(None, shown), [])  # the cells with text in the first row with text
        width = max((place for line in grid for place, text in enumerate(line, start=1) if text), default=0)
        grid = [line for line in grid if any(line)]
        if grid and not _is_header(first, grid):
            grid.insert(0, [])
        missing = sum(max(0, width - len(line)) for line in grid[1:])
        is_filled = spend(missing * len("|  "), _EMPTY)
        grid = [(line + [""] * (width - len(line)) if is_filled or line is grid[0] else line)[:width] for line in grid]
        written = [f"| {' | '.join(line)} |" for line in grid]
        return [*written[:1], f"|{' --- |' * width}", *written[1:]] if written else []

    def _cell(self, cell: Cell) -> str:
        """Write the blocks of a cell in one line."""
        children = cell.children
        if not children:
            return ""
        content = [item for line in _lines(children) for item in (BREAK, *line)][1:]
        return self.inline(content, cell=True).replace("|", "\\|")


_WRITERS: Mapping[type[Block], Callable[[_Writer, Any], None]] = {
    Paragraph: _Writer.paragraph,
    Heading: _Writer.heading,
    Code: _Writer.code,
    Formula: lambda writer, block: writer.text(writer.inline((InlineFormula(block.tex, display=True),))),
    Rule: lambda writer, _: writer.write(["---"]),
    Quotation: _Writer.quotation,
    List: _Writer.items,
    Definitions: _Writer.definitions,
    Table: _Writer.table,
    Figure: lambda writer, block: writer.blocks(children_of(block)),
    Note: lambda writer, block: writer.blocks(block.children),
}


def _is_header(cells: Sequence[Cell], grid: Sequence[Sequence[str]]) -> bool:
    """Tell whether the cells with text of the first row are a header: header cells, all bold, or above numbers.

    A header cell and its values are not a header.
    """
    headers = [cell.header for cell in cells]
    if any(headers):
        return all(headers) or not headers[0]
    contents = [_lines(cell.children) for cell in cells]
    items = (item for lines in contents for line in lines for item in line)
    return all(isinstance(item, Span) and item.mark is _STRONG for item in items) or _is_above_numbers(grid)


def _is_above_numbers(grid: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first of at least three rows has no digits, but all others do in one of its columns."""
    first, *others = grid
    if len(others) < _MIN_NUMBERS or any(map(_has_digit, first)):
        return False
    return any(
        text and all(column < len(line) and _has_digit(line[column]) for line in others)
        for column, text in enumerate(first)
    )


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def _lines(blocks: Iterable[Block]) -> Iterable[tuple[Inline, ...]]:
    """Iterate over the lines of the blocks of a cell."""
    for block in blocks:
        match block:
            case Paragraph() | Heading() | Term():
                yield block.content
            case Code():
                yield from ((Span(_CODE, (" ".join(line.split()),)),) for line in block.lines if line.strip())
            case Formula():
                yield (InlineFormula(block.tex, display=True),)
            case List():
                for item in block.items:
                    label = _label(block, item)
                    for line in _lines(item.children):
                        yield (label, *line) if label else line
                        label = ""
            case _:
                yield from _lines(children_of(block))


def _label(block: List, item: Item) -> str:
    """Return the number and the check mark of an item in a cell."""
    number = item.number if block.ordered else None
    label = "" if number is None else item_label(item.style or block.style, number) or f"{number}. "
    return label + _CHECKS[item.checked]


def _plain(content: Iterable[Inline]) -> str:
    """Return the text of some content without pictures and formulas."""
    return "".join(item if isinstance(item, str) else _plain(getattr(item, "content", ())) for item in content)


def _without(mark: Mark, content: Iterable[Inline]) -> Iterable[Inline]:
    """Iterate over content without a mark, but with what is marked."""
    for item in content:
        if isinstance(item, Span) and item.mark is mark:
            yield from item.content
        else:
            yield item


def item_label(kind: str, number: int) -> str:
    """Return the letter or Roman number of an item, with its dot and space; empty outside of 1 to 3999.

    Markdown has no lists with such numbers, so the label is written as text of the item.

    Examples
    --------
    >>> item_label("a", 28), item_label("I", 4), item_label("", 1)
    ('ab. ', 'IV. ', '')
    """
    if not kind or not 0 < number < _MAX_ROMAN:
        return ""
    text = ""
    if kind in "iI":
        for sign, value in _ROMAN.items():
            text += sign * (number // value)
            number %= value
    while number:
        number, place = divmod(number - 1, 26)
        text = chr(ord("a") + place) + text
    return f"{text if kind in 'ai' else text.upper()}. "
