"""Data tables as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from blockml.rendering.bounds import Budget

__all__ = ["Cell", "read_span", "table_lines"]

#: Maximum number of columns or rows that one cell spans; larger numbers are mistakes in the page.
_MAX_SPAN = 50
_EMPTY = "empty cells of tables"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str  #: Markdown within one line
    header: bool  #: ``th``, or in ``thead``
    columns: int = 1  #: columns that it spans
    rows: int = 1  #: rows that it spans


def read_span(attributes: Mapping[str, str], name: str) -> int:
    """Read ``colspan`` or ``rowspan``; 1 if it is missing or invalid."""
    value = attributes.get(name, "").strip()
    return min(int(value), _MAX_SPAN) or 1 if value.isascii() and value.isdecimal() and len(value) < 6 else 1


def table_lines(rows: Sequence[Sequence[Cell]], budget: Budget) -> list[str]:
    """Write a table with its separator row; a cell over several columns or rows is followed by empty ones.

    The first row is the header, unless it starts with a header cell followed by other cells: then the header is empty.
    If the budget is too small for them, empty cells at the end of rows are left out, because readers add them.

    Examples
    --------
    >>> import blockml
    >>> budget = Budget(blockml.parse(""))
    >>> print("\\n".join(table_lines([[Cell("a", True), Cell("b", True)], [Cell("1", False, 2)]], budget)))
    | a | b |
    | --- | --- |
    | 1 |  |
    """
    grid: list[list[str]] = []
    taken: dict[int, int] = {}  # rows for which a column is still spanned from above
    for cells in rows:
        line: list[str] = []
        below: dict[int, int] = {}
        for cell in cells:
            while taken.get(len(line), 0) and budget.spend(len("|  "), _EMPTY):
                line.append("")
            more = cell.columns - 1
            if more and not budget.spend(more * len("|  | --- "), _EMPTY):
                more = 0
            if cell.rows > 1:
                below.update(dict.fromkeys(range(len(line), len(line) + more + 1), cell.rows - 1))
            line += [cell.text.replace("|", "\\|"), *[""] * more]
        while taken.get(len(line), 0) and budget.spend(len("|  "), _EMPTY):
            line.append("")
        taken = {column: count - 1 for column, count in taken.items() if count > 1} | below
        grid.append(line)
    first = next((cells for cells, line in zip(rows, grid, strict=True) if any(line)), ())
    headers = [cell.header for cell in first if cell.text]
    width = max((place for line in grid for place, text in enumerate(line, start=1) if text), default=0)
    grid = [line for line in grid if any(line)]
    if headers and headers[0] and not all(headers):
        grid.insert(0, [])
    missing = sum(max(0, width - len(line)) for line in grid[1:])
    is_filled = budget.spend(missing * len("|  "), _EMPTY)
    grid = [(line + [""] * (width - len(line)) if is_filled or line is grid[0] else line)[:width] for line in grid]
    written = [f"| {' | '.join(line)} |" for line in grid]
    return [*written[:1], f"|{' --- |' * width}", *written[1:]] if written else []
