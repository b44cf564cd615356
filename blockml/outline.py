"""The outline of a page: which table, list, code or section each block is part of.

It depends on the page only, not on what is kept. Each column is computed when it is first read, because most pages
have no table and most callers need one kind of element.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Set
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Page
from blockml.page.lazy import cached_property
from blockml.parsing.segmentation import BREAKING, own_line_starts
from blockml.text.words import lazy_pattern

__all__ = ["FOOTNOTE_MARK", "Outline", "UnitKind"]


class UnitKind(IntEnum):
    """Kind of element that readers read as a whole."""

    CELL = 1
    ROW = 2
    TABLE = 3
    ITEM = 4
    LIST = 5
    DEFINITIONS = 6
    TERM = 7
    DESCRIPTION = 8
    CODE = 9
    HEADING = 10
    QUOTATION = 11
    FIGURE = 12


#: Names of the elements of each kind.
_NAMES: Mapping[UnitKind, Set[str]] = {
    UnitKind.CELL: frozenset({"td", "th"}),
    UnitKind.ROW: frozenset({"tr"}),
    UnitKind.TABLE: frozenset({"table"}),
    UnitKind.ITEM: frozenset({"li"}),
    UnitKind.LIST: frozenset({"ul", "ol", "menu", "dir"}),
    UnitKind.DEFINITIONS: frozenset({"dl"}),
    UnitKind.TERM: frozenset({"dt"}),
    UnitKind.DESCRIPTION: frozenset({"dd"}),
    UnitKind.CODE: frozenset({"pre", "listing", "xmp"}),
    UnitKind.HEADING: frozenset(f"h{level}" for level in range(1, 7)),
    UnitKind.QUOTATION: frozenset({"blockquote"}),
    UnitKind.FIGURE: frozenset({"figure"}),
}
#: Fields of forms, and their number in columns of elements.
_FIELDS, _FIELD = frozenset({"input", "select", "textarea"}), len(UnitKind) + 1
_NUMBER_OF_NAME: Mapping[str, int] = {
    **{name: int(kind) for kind, names in _NAMES.items() for name in names},
    **dict.fromkeys(_FIELDS, _FIELD),
}
_LISTS = frozenset({UnitKind.LIST, UnitKind.DEFINITIONS})
_NO_ELEMENTS = np.zeros(0, dtype=np.int64)
_PREFORMATTED = int(Flag.PREFORMATTED)
#: Whether the elements of each number are lists, and items of lists.
_IS_LIST, _IS_ITEM = np.zeros((2, _FIELD + 1), dtype=bool)
_IS_LIST[list(_LISTS)] = True
_IS_ITEM[[UnitKind.ITEM, UnitKind.TERM, UnitKind.DESCRIPTION]] = True
#: Elements that don't occur in cells of data tables.
_SECTIONS = _NAMES[UnitKind.HEADING] | {"pre", "blockquote", "hr"}
#: A table without header cells is layout if a cell has this many characters.
_LONG_CELL = 800
#: Texts of footnote marks.
FOOTNOTE_MARK = lazy_pattern(
    r"\s*\[?\s*(?:(?:note|fn|n)\.?\s*)?(?:[0-9]{1,3}|[a-z]{1,2}|[ivx]{1,5}|[*†‡§]{1,3})\s*\]?\s*", re.IGNORECASE
)
#: Maximum lines per item of a plain list.
_MAX_LINES = 3


class Outline:
    """The structure of a page as columns over its blocks.

    Parameters
    ----------
    page
        The parsed page.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h2>Cats</h2><p>They <b>rule</b>.<ul><li>All<li>of us</ul>")
    >>> outline = Outline(page)
    >>> [page.nodes.name(node) if node >= 0 else "" for node in outline.unit(UnitKind.ITEM).tolist()]
    ['', '', '', '', 'li', 'li']
    >>> outline.unit(UnitKind.ROW) is None, outline.line.tolist(), outline.section.tolist()
    (True, [0, 1, 1, 1, 2, 3], [0, 0, 0, 0, 0, 0])
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._elements: dict[UnitKind, NDArray[np.int64]] = {}
        self._units: dict[UnitKind, NDArray[np.int32] | None] = {}
        self._line_elements: dict[int, int] = {}

    def elements(self, kind: UnitKind) -> NDArray[np.int64]:
        """Return (n_elements,) the nodes of the elements of a kind, in document order."""
        if kind not in self._numbers:
            return _NO_ELEMENTS
        if (known := self._elements.get(kind)) is None:
            structural, kinds = self._structural
            known = self._elements[kind] = structural[kinds == int(kind)]
        return known

    @cached_property
    def _numbers(self) -> list[int]:
        """(n_names,) number of the unit kind of each element name, or the number for form fields; 0 for other names."""
        return [_NUMBER_OF_NAME.get(name, 0) for name in self.page.nodes.names]

    @cached_property
    def _structural(self) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Elements of any unit kind and form fields, about one in ten nodes, and their numbers; (n,) each."""
        kinds = np.array(self._numbers, dtype=np.int8)[self.page.nodes.tag]
        found = kinds.nonzero()[0].astype(np.int64, copy=False)
        return found, kinds[found]

    def unit(self, kind: UnitKind) -> NDArray[np.int32] | None:
        """Return the innermost element of a kind around each block, (n_blocks,), or -1; None if all would be -1."""
        if kind not in self._units:
            elements, found = self.elements(kind), None
            if len(elements):
                found = self.page.nodes.innermost(elements, self.page.blocks.node)
            self._units[kind] = found if found is not None and found.max(initial=-1) >= 0 else None
        return self._units[kind]

    def blocks_in(self, elements: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return (n_elements,) the first block of each element, and one past the last; equal without blocks."""
        owner = self.page.blocks.node
        return owner.searchsorted(elements), owner.searchsorted(self.page.nodes.end[elements])

    def range_in(self, element: int) -> tuple[int, int]:
        """Return the first block of an element, and one past the last; equal without blocks."""
        owner = self.page.blocks.node
        # Of the same type: numpy would convert the whole column for a number of Python.
        first, after = owner.searchsorted(np.array((element, self.page.nodes.end.item(element)), owner.dtype)).tolist()
        return first, after

    def line_element(self, node: int) -> int:
        """Return the nearest element, the node itself or around it, that starts a new line; 0 without one."""
        nodes, known = self.page.nodes, self._line_elements
        chain = []
        while node > 0 and node not in known and nodes.name(node) not in BREAKING:
            chain.append(node)
            node = nodes.parent.item(node)
        found = known.get(node, max(node, 0))
        known.update(dict.fromkeys(chain, found))  # thousands of nodes may be in the same thousands of elements
        return found

    def has_fields(self, element: int) -> bool:
        """Tell whether an element has fields of a form."""
        field = bisect_left(self._fields, element)
        return field < len(self._fields) and self._fields[field] < self.page.nodes.end.item(element)

    @cached_property
    def _fields(self) -> list[int]:
        """Form fields."""
        structural, kinds = self._structural
        found: list[int] = structural[kinds == _FIELD].tolist()
        return found

    @cached_property
    def data_table(self) -> NDArray[np.int32] | None:
        """(n_blocks,) innermost table around each block, -1 if none or layout; None without data tables."""
        table = self.unit(UnitKind.TABLE)
        if table is None:
            return None
        found = np.where(self.layout, np.int32(-1), table)
        return found if found.max() >= 0 else None

    @cached_property
    def code(self) -> NDArray[np.int32] | None:
        """(n_blocks,) outermost code element around each block, -1 without one; None without any."""
        has_code = self.page.blocks.any_flag(_PREFORMATTED)
        return self._outermost(self.elements(UnitKind.CODE)) if has_code else None

    @cached_property
    def plain_list(self) -> NDArray[np.int32] | None:
        """(n_blocks,) outermost plain list around each block, -1 without one; None without any.

        A list is plain if its items have at most three lines on average. Others are posts, cards or the layout of a
        page.
        """
        if _LISTS.isdisjoint(self._numbers):
            return None
        structural, kinds = self._structural
        lists, items = structural[_IS_LIST[kinds]], structural[_IS_ITEM[kinds]]
        n_items = items.searchsorted(self.page.nodes.end[lists]) - items.searchsorted(lists)
        first, after = self.blocks_in(lists)
        line = np.append(self.line, 0)  # a list without blocks may be after the last one
        return self._outermost(lists[(first < after) & (line[after - 1] - line[first] < _MAX_LINES * n_items)])

    @cached_property
    def whole(self) -> NDArray[np.int32] | None:
        """Data table or plain list around each block, the outer one if it is in both; (n_blocks,), -1 for none."""
        table, plain = self.data_table, self.plain_list
        if table is None or plain is None:
            return plain if table is None else table
        return np.where((table >= 0) & ((plain < 0) | (table < plain)), table, plain)

    def _outermost(self, elements: NDArray[np.int64]) -> NDArray[np.int32] | None:
        """Return the outermost of some elements around each block, (n_blocks,), or -1; None if all would be -1."""
        found, stop = np.full(len(self.page.blocks), -1, dtype=np.int32), 0
        ranges = (column.tolist() for column in (elements, *self.blocks_in(elements)))
        for element, first, after in zip(*ranges, strict=True):
            if after > max(first, stop):
                found[first:after] = element
                stop = after
        return found if stop else None

    @cached_property
    def line(self) -> NDArray[np.intp]:
        """(n_blocks,) number of each block's line of text: see :meth:`blockml.page.Blocks.line_numbers`.

        Custom elements that are paragraphs are lines of their own.
        """
        number = self.page.blocks.line_numbers()
        if len(number) and self.page.nodes.has_custom_elements:
            starts = own_line_starts(self.page.nodes, self.page.blocks)
            begins = np.append(False, number[1:] != number[:-1])
            begins[starts] = True
            number = begins.cumsum()
        return number

    @cached_property
    def section(self) -> NDArray[np.intp]:
        """(n_blocks,) first block of the last heading that begins at or before each block; -1 before all headings."""
        found, first = np.full(len(self.page.blocks), -1, dtype=np.intp), self.section_starts
        found[first] = first
        np.maximum.accumulate(found, out=found)
        return found

    @cached_property
    def section_starts(self) -> NDArray[np.intp]:
        """(n_headings,) first block of each heading with text that is not in a cell of a data table, ascending."""
        first, after = self.blocks_in(self.elements(UnitKind.HEADING))
        first = first[first < after]
        if (table := self.unit(UnitKind.TABLE)) is not None:
            first = first[(table[first] < 0) | self.layout[first]]
        is_same = first[1:] == first[:-1]  # headings in headings
        return np.delete(first, is_same.nonzero()[0]) if np.count_nonzero(is_same) else first

    @cached_property
    def layout(self) -> NDArray[np.bool_]:
        """(n_blocks,) whether the innermost table around each block is there for the layout of the page only."""
        table = self.unit(UnitKind.TABLE)
        if table is None:
            return np.zeros(len(self.page.blocks), dtype=bool)
        elements = self.elements(UnitKind.TABLE)
        return (table >= 0) & self._is_layout[elements.searchsorted(table, side="right") - 1]

    @property
    def layout_tables(self) -> frozenset[int]:
        """The tables that are there for the layout of the page only."""
        tables = self.elements(UnitKind.TABLE)
        return frozenset(tables[self._is_layout].tolist()) if len(tables) else frozenset()

    @cached_property
    def _is_layout(self) -> NDArray[np.bool_]:
        """(n_tables,) whether each table is layout.

        A table is layout if it is declared as layout, contains another table, has one column, or has no header cell and
        either is one row or has a cell with a long text, a heading, code or a quotation.
        """
        nodes, blocks, tables = self.page.nodes, self.page.blocks, self.elements(UnitKind.TABLE)
        attributes, ends = nodes.attributes, nodes.end[tables]
        found: NDArray[np.bool_] = np.array(
            [attributes[node].get("role") in {"presentation", "none"} for node in tables.tolist()]
        )
        found[:-1] |= tables[1:] < ends[:-1]  # contains the next one
        cells = self.elements(UnitKind.CELL)
        n_rows, n_cells, n_headers = (
            parts.searchsorted(ends) - parts.searchsorted(tables)
            for parts in (self.elements(UnitKind.ROW), cells, nodes.indices("th"))
        )
        found |= (n_cells <= n_rows) | ((n_headers == 0) & (n_rows < 2))
        unknown = (~found & (n_headers == 0)).nonzero()[0]  # those that a cell like a section of a page makes layout
        if len(unknown):
            of_cells = tables.searchsorted(cells, side="right") - 1  # right for cells of tables that contain no other
            chosen = (np.isin(of_cells, unknown) & (cells < ends[of_cells])).nonzero()[0]
            cells, of_cells = cells[chosen], of_cells[chosen]
            sections = np.flatnonzero(nodes.named(_SECTIONS))
            has_section = sections.searchsorted(nodes.end[cells]) > sections.searchsorted(cells)
            lengths = np.zeros(len(blocks) + 1, dtype=np.int64)
            np.cumsum(np.fromiter(map(len, blocks.texts), np.int64, len(blocks)), out=lengths[1:])
            first, after = self.blocks_in(cells)
            found[of_cells[has_section | (lengths[after] - lengths[first] > _LONG_CELL)]] = True
        return found
