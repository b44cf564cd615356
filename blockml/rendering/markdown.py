"""Rendering of kept blocks as Markdown: a walk over the nodes that are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page, Separator
from blockml.page.lazy import Lazy
from blockml.parsing.segmentation import BREAKING
from blockml.rendering.bounds import Budget
from blockml.rendering.code import CODE, code_language, code_lines, line_starts, listings
from blockml.rendering.containers import Lines
from blockml.rendering.escapes import heading_line
from blockml.rendering.inline_text import InlineText
from blockml.rendering.links import resolver
from blockml.rendering.mathematics import find_formulas, formula_of_image, shown_formulas, writes_dollars
from blockml.rendering.notes import hide_dead_marks
from blockml.rendering.pictures import alternative_text, find_pictures
from blockml.rendering.roles import with_roles
from blockml.rendering.shown import ROW_PARENTS, content_span, layout_parts, shown_nodes
from blockml.rendering.spaces import KEEPS_ALL, NO_BREAK, has_indent, kept_spaces, verse_indent, verses, with_indent
from blockml.rendering.spans import BREAK, Formula, Mark, Picture, Span
from blockml.rendering.tables import Cell, read_span, table_lines
from blockml.rendering.text import node_separators
from blockml.text.characters import PILCROWS, is_permalink_sign

__all__ = ["render_markdown"]

_MARKS = {
    **dict.fromkeys(("b", "strong"), Mark.STRONG),
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), Mark.EMPHASIS),
    **dict.fromkeys(("del", "s", "strike"), Mark.DELETED),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Mark.CODE),
    "sub": Mark.SUBSCRIPT,
    "sup": Mark.SUPERSCRIPT,
}
_EMPHASIS = frozenset({"i", "em"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
#: Elements that are a code block if they keep line breaks by their style.
_CODE_LINES = frozenset({"code", "samp", "tt"})
_PARTS = frozenset({"table", "caption", "tr", "td", "th"})
_VOID = frozenset({"br", "hr", "img"})
_CONTAINERS = frozenset({"li", "blockquote"})
_DEFINITIONS = frozenset({"dt", "dd"})
#: Elements that only start and end a paragraph.
_PLAIN = BREAKING - CODE - _PARTS - _VOID - _CONTAINERS - _DEFINITIONS - frozenset(_HEADINGS)
#: Terms with this many nodes or characters aren't set in bold; some old pages have all of their text in one.
_TERM_NODES, _TERM_LENGTH = 40, 200
#: Elements that produce output in Markdown.
_ELEMENTS = BREAKING | frozenset(_MARKS) | _VOID | {"a"}
#: Enum members are slow to look up in Python 3.11.
_LINK, _LINE, _GLUED = Mark.LINK, int(Separator.LINE), int(Separator.GLUED)
#: A text that MathJax shows as a displayed formula.
_DISPLAYED = re.compile(r"\s*\\\[((?:(?!\\[\[\]]).)+)\\\]\s*", re.DOTALL)


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool], *, budget: Budget | None = None) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as Markdown (CommonMark with tables).

    Links and images have absolute addresses if the page has one. List items keep their numbers if others are removed.
    Only the text of layout tables is written. Formulas are written as TeX between dollar signs. Anything that would
    make the output larger than :class:`~blockml.rendering.bounds.Budget` allows is left out, and ``budget.warnings``
    names it.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats <b>rule</b> the <a href='/w'>world</a>.</p>", url="https://a.example/")
    >>> print(render_markdown(page, [True] * len(page.blocks)))
    # Cats
    <BLANKLINE>
    Cats **rule** the [world](https://a.example/w).
    """
    rows = np.flatnonzero(np.asarray(kept, dtype=bool))
    return _Writer(with_roles(page), rows, budget or Budget(page)).write() if len(rows) else ""


@dataclass(slots=True)
class _Table:
    """An open table of data."""

    rows: list[list[Cell]] = field(default_factory=list)
    row: int = -1  #: node of the last row, or of the section whose cells have no row
    in_cell: bool = False  #: whether a cell is open


class _Writer:
    """State of the walk over the shown nodes of a page."""

    def __init__(self, page: Page, rows: NDArray[np.intp], budget: Budget) -> None:
        self.nodes, self.budget = page.nodes, budget
        self.formulas, self.copies = find_formulas(page)
        found = find_pictures(page, rows)
        self.pictures, rows = found.addresses, found.with_captions(rows)
        self.shown = shown_nodes(page, rows, _ELEMENTS, list(self.pictures))
        if self.formulas:
            self.shown[shown_formulas(page, self.shown, self.formulas)] = True
            self.shown[list(self.copies)] = True
        hide_dead_marks(page, self.shown)
        self.listings = listings(page.nodes)
        self.layout = layout_parts(page.nodes, self.shown)
        self.order, self.breaks = self._order(*content_span(page.nodes, page.blocks.parent[rows], list(self.pictures)))
        self.separators = node_separators(page, rows, self.shown)
        self.texts = _normalised(page, rows)
        self.spaces = kept_spaces(page.nodes)
        self.absolute: Callable[[str], str] = resolver(page.base_url, budget)
        self.lines = Lines(page.nodes, budget)
        self.paragraph = InlineText(has_tex=Lazy(lambda: writes_dollars(page)), budget=budget)
        self.tables: list[_Table] = []
        self.heading = 0
        self.defines = False  # whether a definition may start on the line after its term
        self.line_starts = Lazy(lambda: frozenset(line_starts(page.nodes)))
        #: Writers of elements whose content is not walked over; copies of formulas are not written.
        self.whole: dict[int, Callable[[int], object]] = {
            **dict.fromkeys(np.flatnonzero(page.nodes.named(CODE) & self.shown).tolist(), self._code),
            **dict.fromkeys((*self.listings, *self._styled_code()), self._code),
            **dict.fromkeys(self.pictures, self._picture),
            **dict.fromkeys(self.copies, lambda _: None),
            **dict.fromkeys(self.formulas, lambda node: self._formula(self.formulas[node])),
        }

    def _order(self, first: int, stop: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the shown nodes that produce output themselves, and whether a paragraph ends before each.

        Elements that only start and end a paragraph are counted: one starts or ends between two nodes if the number of
        those that started, or ended, before them differs.
        """
        nodes = self.nodes
        order = first + self.shown[first:stop].nonzero()[0]
        is_plain = np.array([name in _PLAIN for name in nodes.names], dtype=bool)[nodes.tag[order]]
        for node in (*self.formulas, *self.copies):
            is_plain[slice(*order.searchsorted((node + 1, nodes.end[node])))] = False
        is_plain &= ~np.isin(order, self.listings) if self.listings else True
        plain, order = order[is_plain], order[~is_plain]
        n_begun = plain.searchsorted(order)
        n_ended = np.sort(nodes.end[plain]).searchsorted(order, side="right")
        breaks = np.ones(len(order), dtype=bool)
        breaks[1:] = (n_begun[1:] != n_begun[:-1]) | (n_ended[1:] != n_ended[:-1])
        return order, breaks

    def write(self) -> str:
        """Walk over the nodes and return the Markdown."""
        nodes, order = self.nodes, self.order
        names, raw, texts, separators, whole = nodes.names, nodes.texts, self.texts, self.separators, self.whole
        paragraph, spaces, skipped = self.paragraph, self.spaces, 0
        open_ends: list[int] = []
        closers: list[Callable[[], object]] = []
        ends = nodes.end[order]
        holds_text = (ends == order + 2) & (nodes.tag.take(order + 1, mode="clip") == 0)
        columns = [column.tolist() for column in (order, nodes.tag[order], ends, self.breaks, holds_text)]
        for node, tag, end, breaks, is_leaf in zip(*columns, strict=True):
            if node < skipped:
                continue
            while open_ends and open_ends[-1] <= node:
                open_ends.pop()
                closers.pop()()
            if breaks and paragraph.content and not (self.defines and paragraph.ends_with_break()):
                self._flush()
            if tag == 0:
                self._separate(separators.get(node, _GLUED))
                text = texts.get(node) or _with_single_spaces(raw[node])
                if spaces is not None or "\\[" in text:
                    self._text(node, text)
                else:
                    paragraph.inner.append(text)
                continue
            name = names[tag]
            if node in whole:
                whole[node](node)
                skipped = end
            elif name in _VOID:
                self._void(node, name)
            elif is_leaf and self._mark_text(node, name):
                skipped = end
            elif (closer := self._open(node, name)) is not None:
                open_ends.append(end)
                closers.append(closer)
        while closers:
            closers.pop()()
        self._flush()
        return self.lines.text

    def _styled_code(self) -> list[int]:
        """Return the inline elements of code over several lines, which a style lays out like ``pre``."""
        if self.spaces is None:
            return []
        nodes = self.nodes
        found = np.flatnonzero(nodes.named(_CODE_LINES) & self.shown & (self.spaces > 0)).tolist()
        return [node for node in found if "\n" in "".join(nodes.texts[node : nodes.end.item(node)]).strip()]

    def _text(self, node: int, text: str) -> None:
        """Write a text that may be a displayed formula, or have line breaks that are kept."""
        kind = 0 if self.spaces is None else self.spaces[node]
        if kind:
            first, *others = self.nodes.texts[node].split("\n")
            is_indented = kind == KEEPS_ALL and has_indent(first)
            self.paragraph.add(with_indent(first) if is_indented else _with_single_spaces(first))
            for line in others:
                self._void(node, "br")
                is_indented = kind == KEEPS_ALL and bool(line.strip())
                self.paragraph.add(with_indent(line) if is_indented else _with_single_spaces(line))
        elif match := _DISPLAYED.fullmatch(text):
            self._formula(f"$${match[1].strip()}$$")
        else:
            self.paragraph.add(text)

    def _separate(self, separator: int) -> None:
        """Start a paragraph or a word if the page does so between two kept texts."""
        if separator == _GLUED or not self.paragraph.has_content():
            return
        if separator < _LINE:
            self.paragraph.add(" ")
        elif not self.paragraph.ends_with_break() and not self.paragraph.is_formula():
            self._flush()

    def _open(self, node: int, name: str) -> Callable[[], object] | None:
        """Start an element, and return a function that ends it; None if nothing needs to be done."""
        if name == "a":
            return self._link(self.nodes.attributes[node])
        if name in _MARKS:
            return None if name == "cite" and self._marks_title(node) else self._begin_mark(_MARKS[name])
        if name == "dd" and self.paragraph.ends_with_break():
            self.defines = True
            return self._flush
        self._flush()
        if self.heading:
            return self._flush
        if name in _PARTS and node not in self.layout:
            return self._open_part(node, name)
        if self._in_cell():
            return self._flush
        if name in _HEADINGS:
            self.heading = _HEADINGS[name]
            return self._end_heading
        if name == "dt" and self._is_short(node):
            return partial(self._end_term, self._begin_mark(Mark.STRONG))
        if name in _CONTAINERS and self.lines.has_room():
            self.lines.open(node, name)
            self.lines.containers[-1].marker += self._check_mark(node) if name == "li" else ""
            return self._end_container
        return self._flush

    def _mark_text(self, node: int, name: str) -> bool:
        """Write a link or mark that contains only a text; tell whether this was done, because :meth:`_open` does more.

        Links within the page may be permalinks, and displayed formulas are paragraphs.
        """
        mark = _LINK if name == "a" else _MARKS.get(name)
        if mark is None or self.spaces is not None or self.paragraph.has(mark):
            return False
        address, text = "", self.texts.get(node + 1) or _with_single_spaces(self.nodes.texts[node + 1])
        if "\\[" in text:
            return False
        if mark is _LINK:
            attributes = self.nodes.attributes[node]
            given = attributes.get("href", "")
            if self.heading or given[:1] == "#" or "headerlink" in attributes.get("class", ""):
                return False
            address = self.absolute(given)
        self._separate(self.separators.get(node + 1, _GLUED))
        is_marked = mark is not _LINK or (address and self.budget.spend(len(address), "addresses"))
        self.paragraph.inner.append(Span(mark, address, [text]) if is_marked else text)
        return True

    def _marks_title(self, node: int) -> bool:
        """Tell whether a citation contains emphasis, so that it is more than the title of a work."""
        inner = self.nodes.tag[node + 1 : min(node + _TERM_NODES, int(self.nodes.end[node]))].tolist()
        return any(self.nodes.names[tag] in _EMPHASIS for tag in inner)

    def _check_mark(self, node: int) -> str:
        """Return the mark of an item of a task list, which starts with a check box; empty for other items."""
        for item in range(node + 1, min(node + 4, int(self.nodes.end[node]))):
            if self.nodes.name(item) == "input" and self.nodes.attributes[item].get("type") == "checkbox":
                return "[x] " if "checked" in self.nodes.attributes[item] else "[ ] "
            if self.nodes.tag[item] == 0:
                break
        return ""

    def _link(self, attributes: Mapping[str, str]) -> Callable[[], object] | None:
        """Start a link; a heading's link to itself gets no address."""
        address = attributes.get("href", "")
        if self.heading and address.startswith("#"):
            start = len(self.paragraph.inner)
            return partial(self.paragraph.cut, start, is_permalink_sign)
        absolute = self.absolute(address)
        if not absolute or self.paragraph.has(_LINK) or not self.budget.spend(len(absolute), "addresses"):
            return None
        self.paragraph.open(_LINK, absolute)
        is_anchor = self.heading or "headerlink" in attributes.get("class", "")
        without = is_permalink_sign if is_anchor else PILCROWS.__contains__ if address[:1] == "#" else None
        return partial(self.paragraph.close, _LINK, without=without)

    def _in_cell(self) -> bool:
        return bool(self.tables) and self.tables[-1].in_cell

    def _begin_mark(self, mark: Mark) -> Callable[[], object] | None:
        if self.paragraph.has(mark):
            return None
        self.paragraph.open(mark)
        return lambda: self.paragraph.close(mark)

    def _end_heading(self) -> None:
        level, self.heading = self.heading, 0
        text = self.paragraph.take(heading=True)
        if text:
            self.lines.block([heading_line(level, text)])

    def _is_short(self, node: int) -> bool:
        """Tell whether a term has only a few words."""
        end = int(self.nodes.end[node])
        return end - node < _TERM_NODES and sum(map(len, self.nodes.texts[node:end])) < _TERM_LENGTH

    def _end_term(self, close: Callable[[], object] | None) -> None:
        """End a term in bold; its definition starts on the next line, unless it starts with a list or the like."""
        if close is not None:
            close()
        if self.paragraph.content:
            self.paragraph.add(BREAK)

    def _end_container(self) -> None:
        self._flush()
        self.lines.close()

    def _open_part(self, node: int, name: str) -> Callable[[], object]:
        """Start a data table, its caption, a row or a cell."""
        if name == "table":
            self.tables.append(_Table())
            return self._end_table
        if not self.tables or name == "caption":
            return self._flush
        table = self.tables[-1]
        parent = int(self.nodes.parent[node])
        if name == "tr" or not table.rows or (parent != table.row and self.nodes.name(parent) in ROW_PARENTS):
            table.rows.append([])
            table.row = node if name == "tr" else parent
        if name == "tr":
            return self._flush
        table.in_cell = True
        return lambda: self._end_cell(node, name)

    def _end_cell(self, node: int, name: str) -> None:
        table, attributes = self.tables[-1], self.nodes.attributes[node]
        text = self.paragraph.take(cell=True).replace("\n", " ")
        table.in_cell = False
        is_header = name == "th" or "thead" in {self.nodes.name(item) for item in self.nodes.ancestors(node, 2)}
        spans = (read_span(attributes, "colspan"), read_span(attributes, "rowspan")) if attributes else ()
        table.rows[-1].append(Cell(text, is_header, *spans))

    def _end_table(self) -> None:
        self._flush()
        lines = table_lines(self.tables.pop().rows, self.budget)
        if lines:
            self.lines.block(lines)

    def _void(self, node: int, name: str) -> None:
        paragraph = self.paragraph
        if name == "hr":
            self._flush()
            if not self.heading and not self._in_cell():
                self.lines.block(["---"])
        elif name == "br":
            if paragraph.ends_with_break() and not self.heading:
                self._flush()  # two line breaks separate paragraphs
            else:
                paragraph.add(BREAK)
        elif tex := formula_of_image(self.nodes.attributes[node]):
            paragraph.add(Formula(tex))

    def _picture(self, node: int) -> None:
        address = self.absolute(self.pictures[node])
        alt = alternative_text(self.nodes.attributes[node])
        if address and self.budget.spend(len(address) + len(alt), "addresses"):
            self.paragraph.add(Picture(alt, address))

    def _formula(self, tex: str) -> None:
        """Write a formula with its dollar signs, as a paragraph if it is displayed."""
        is_own = tex.startswith("$$") and not self.heading and not self._in_cell()
        if is_own:
            self._flush()
        self.paragraph.add(Formula(tex))
        if is_own:
            self._flush()

    def _code(self, node: int) -> None:
        """Write a code block; within headings and cells, its lines as code spans."""
        self._flush()
        lines = code_lines(self.nodes, node, self.shown, self.line_starts.value)
        if not lines:
            return
        if self.heading or self._in_cell():
            for line in lines:
                self.paragraph.open(Mark.CODE)
                self.paragraph.add(line)
                self.paragraph.close(Mark.CODE)
                self.paragraph.add(BREAK)
            self._flush()
            return
        longest = max((len(run) for line in lines if "`" in line for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        self.lines.block([fence + code_language(self.nodes, node), *lines, fence])

    def _flush(self) -> None:
        """Write the open paragraph, if it has text; within a heading write a space, and within a cell a line break."""
        paragraph = self.paragraph
        if not paragraph.content:
            return
        if self.heading:
            paragraph.add(" ")
            return
        if self._in_cell():
            if not paragraph.ends_with_break():
                paragraph.add(BREAK)
            return
        self.defines = False
        text = paragraph.take()
        if text:
            self.lines.paragraph(text)


def _normalised(page: Page, rows: NDArray[np.intp]) -> dict[int, str]:
    """Return the texts of kept blocks that have one node, by node, with white space at their ends as one space."""
    blocks, raw = page.blocks, page.nodes.texts
    single = rows[blocks.node[rows] == blocks.last_node[rows]].tolist()
    nodes = blocks.node[single].tolist()
    found = dict(zip(nodes, [blocks.texts[row] for row in single], strict=True))
    for node, text in found.items():
        own = raw[node]
        if len(text) != len(own):
            found[node] = f"{' ' * own[0].isspace()}{text}{' ' * own[-1].isspace()}"
    followers = np.array(nodes, dtype=np.intp)
    for place in verses(page.nodes, followers).tolist():
        if indent := verse_indent(raw[nodes[place]]):
            found[nodes[place]] = NO_BREAK * len(indent) + found[nodes[place]].lstrip()
    return found


def _with_single_spaces(text: str) -> str:
    """Return a text with each run of white space as one space."""
    inner = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{inner}{' ' * text[-1].isspace()}" if inner else " " * bool(text)
