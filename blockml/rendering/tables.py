"""Tables of data as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Cell", "read_span", "table_lines"]

#: Maximum number of columns or rows that one cell spans; more is an error of the page.
_MAX_SPAN = 50


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


def table_lines(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Write a table with its separator row; a cell over several columns or rows is followed by empty ones.

    The first row is the header, unless it begins with a header cell and goes on with others: then the header is empty.

    Examples
    --------
    >>> print("\\n".join(table_lines([[Cell("a", True), Cell("b", True)], [Cell("1", False, 2)]])))
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
            while taken.get(len(line), 0):
                line.append("")
            if cell.rows > 1:
                below.update(dict.fromkeys(range(len(line), len(line) + cell.columns), cell.rows - 1))
            line += [cell.text.replace("|", "\\|"), *[""] * (cell.columns - 1)]
        while taken.get(len(line), 0):
            line.append("")
        taken = {column: count - 1 for column, count in taken.items() if count > 1} | below
        grid.append(line)
    width = max(map(len, grid), default=0)
    while width > 1 and not any(line[width - 1] for line in grid if len(line) >= width):
        width -= 1
    grid = [(line + [""] * (width - len(line)))[:width] for line in grid]
    has_text = [any(line) for line in grid]
    first = has_text.index(True) if True in has_text else 0
    headers = [cell.header for cell in rows[first] if cell.text] if rows else []
    if headers and headers[0] and not all(headers):
        grid.insert(first, [""] * width)
        has_text.insert(first, True)
    grid = [line for line, holds in zip(grid, has_text, strict=True) if holds]
    written = [f"| {' | '.join(line)} |" for line in grid]
    return [*written[:1], f"|{' --- |' * width}", *written[1:]] if written else []
