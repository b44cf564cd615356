"""Builds the document of a page and the blocks that are kept: a walk over the nodes that are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blockml.document.code import CODE, code_language, code_lines, line_numbers, line_starts, listings
from blockml.document.inline import LINE, LINK, MARK_STARTS, REFERENCE, InlineContent, Start, Token, normalised
from blockml.document.lists import ListPart, Lists, grouped
from blockml.document.mathematics import find_formulas, formula_of_image, shown_formulas, writes_dollars
from blockml.document.nodes import (
    MAX_DEPTH,
    Block,
    Cell,
    Code,
    Description,
    Document,
    Figure,
    Formula,
    Heading,
    Inline,
    InlineFormula,
    Item,
    Link,
    List,
    Mark,
    Note,
    Paragraph,
    Picture,
    Quotation,
    Row,
    Rule,
    Span,
    Table,
    Term,
    block_span,
)
from blockml.document.notes import find_notes
from blockml.document.picture_kinds import image_address, is_placeholder, picture_file_name, picture_sides
from blockml.document.pictures import Pictures, alternative_text, find_pictures
from blockml.document.shown import ROW_PARENTS, content_span, hide_tips, shown_nodes, text_sums, with_roles
from blockml.document.text import (
    KEEPS_ALL,
    NO_BREAK,
    cell_span,
    has_indent,
    kept_spaces,
    node_separators,
    verse_indent,
    verses,
    with_indent,
)
from blockml.outline import Outline, UnitKind
from blockml.page import Flag, Page, Separator
from blockml.page.lazy import Lazy
from blockml.parsing.segmentation import BREAKING
from blockml.posts import ThreadPost
from blockml.text.addresses import is_safe, read_address
from blockml.text.words import PILCROWS, is_permalink_sign, readable

__all__ = ["build_document"]

_MARKS: Mapping[str, Mark] = {
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
_CELLS = frozenset({"td", "th"})
_PARTS = _CELLS | {"table", "caption", "tr"}
_VOID = frozenset({"br", "hr", "img"})
#: Elements with blocks in them.
_DEFINITIONS = frozenset({"dt", "dd"})
_CONTAINERS = _DEFINITIONS | {"li", "blockquote"}
#: Elements that only start and end a paragraph.
_PLAIN = BREAKING - CODE - _PARTS - _VOID - _CONTAINERS - frozenset(_HEADINGS)
#: Elements that the document shows.
_ELEMENTS = BREAKING | frozenset(_MARKS) | _VOID | {"a"}
#: Number of nodes of a citation that may contain emphasis.
_TITLE_NODES = 40
#: Maximum nodes of a cell that are searched for pictures, and minimum side of one that shows something.
_MAX_CELL, _MIN_SIDE = 40, 5
#: Maximum words of a cell of a table with tables in it that is not layout (our choice).
_MAX_CELL_WORDS = 100
_HIDDEN = int(Flag.HIDDEN)
#: Maximum number of columns or rows that one cell spans; larger numbers are mistakes in the page.
_MAX_SPAN = 50
#: Enum members are slow to look up in Python 3.11.
_LINE, _GLUED = int(Separator.LINE), int(Separator.GLUED)
#: A text that MathJax shows as a displayed formula.
_DISPLAYED = re.compile(r"\s*\\\[((?:(?!\\[\[\]]).)+)\\\]\s*", re.DOTALL)


def build_document(
    page: Page,
    kept: NDArray[np.bool_] | Sequence[bool],
    pictures: Lazy[Pictures] | None = None,
    posts: Sequence[ThreadPost] = (),
    outline: Outline | None = None,
) -> Document:
    """Build the document of the kept blocks, given by a mask of shape (n_blocks,).

    ``pictures`` are those of :func:`blockml.document.pictures.find_pictures`, which are found if they are not given.
    Items and quotations that are ``posts`` dissolve, and the authors above them are bold. ``outline`` is that of the
    page, if it is known.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<h1>Cats</h1><p>Cats <b>rule</b> the world.</p>")
    >>> for block in build_document(page, [True] * len(page.blocks)).walk():
    ...     print(type(block).__name__, block.first, block.last, block.content)
    Heading 0 0 ('Cats',)
    Paragraph 1 3 ('Cats ', Span(mark=<Mark.STRONG: 'strong'>, content=('rule',)), ' the world.')
    """
    rows = np.flatnonzero(np.asarray(kept, dtype=bool))
    if not len(rows):
        return Document(())
    found = find_pictures(page, rows) if pictures is None else pictures.value
    named = with_roles(page)
    outline = outline if outline is not None and outline.page.nodes is named.nodes else Outline(named)
    return _Builder(named, rows, found, posts, outline).build()


class _Frame:
    """A container of blocks that is open."""

    __slots__ = ("definitions", "entries", "has_parts", "name", "node")

    def __init__(self, node: int, name: str = "") -> None:
        self.node, self.name = node, name
        self.definitions = -1  # element around a term or description
        self.entries: list[Block | ListPart] = []
        self.has_parts = False  # whether entries are more than blocks, or may become a figure


class _Table(_Frame):
    """A table of data that is open, with the entries that are beside its rows."""

    __slots__ = ("caption", "in_cell", "in_head", "inner_end", "row", "rows")

    def __init__(self, node: int) -> None:
        super().__init__(node)
        self.caption: tuple[Block, ...] = ()
        self.rows: list[tuple[int, list[Cell]]] = []  # node and cells of each
        self.inner_end = -1  # end of the last table in one of its cells
        self.row = -1  # node of the last row, or of the section whose cells have no row
        self.in_cell = self.in_head = False  # whether a cell is open, and the last row is in a head


class _Builder:
    """State of the walk over the shown nodes of a page."""

    def __init__(
        self, page: Page, rows: NDArray[np.intp], found: Pictures, posts: Sequence[ThreadPost], outline: Outline
    ) -> None:
        self.page, self.nodes, self.blocks = page, page.nodes, page.blocks
        self.formulas, self.copies = find_formulas(page)
        self.pictures, self.captions = found.addresses, found.captions
        kept_rows, rows = rows, found.with_captions(rows)
        self.removed = {*rows.tolist()} - {*kept_rows.tolist()} if self.captions else set[int]()
        self.caption_rows = {row for caption in self.captions.values() for row in caption}
        self.rows, self.row_nodes = rows, page.blocks.node[rows]
        self.shown = shown_nodes(page, rows, _ELEMENTS, list(self.pictures))
        if self.formulas:
            self.shown[shown_formulas(page, self.shown, self.formulas)] = True
            self.shown[list(self.copies)] = True
        hide_tips(page.nodes, self.shown)
        self.notes = find_notes(page, self.shown)
        self.listings = listings(page.nodes)
        self.layout = _layout(outline, posts)
        self.start, stop = content_span(page.nodes, page.blocks.parent[rows], list(self.pictures))
        self.order, self.breaks = self._order(self.start, stop)
        self.separators = node_separators(page, rows, self.shown)
        self.indents = _verse_indents(page, rows)
        self.spaces = kept_spaces(page.nodes)
        self.content = InlineContent(has_tex=Lazy(lambda: writes_dollars(page)))
        self.first = self.last = -1  # blocks of the page in the open paragraph
        self.place = -1  # the last picture in it
        self.frames = [_Frame(-1)]
        self.tables: list[_Table] = []
        self.lists = Lists(page.nodes)
        self.posts = {node for post in posts for node in (post.node, post.body_node)}
        self.authors = {row for post in posts for row in post.header if self.blocks.texts[row] == post.author}
        self.has_inputs = "input" in page.nodes.names
        self.heading = 0
        self.line_marks = Lazy(lambda: (frozenset(line_starts(page.nodes)), line_numbers(page.nodes)))
        #: Builders of elements whose content is not walked over; copies of formulas are not shown.
        self.whole: dict[int, Callable[[int], object]] = {
            **dict.fromkeys(np.flatnonzero(page.nodes.named(CODE) & self.shown).tolist(), self._code),
            **dict.fromkeys((*self.listings, *self._styled_code()), self._code),
            **dict.fromkeys(self.pictures, self._picture),
            **dict.fromkeys(self.copies, lambda _: None),
            **dict.fromkeys(self.formulas, lambda node: self._formula(node, self.formulas[node])),
        }

    def _order(self, first: int, stop: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the shown nodes that the walk stops at, and whether a paragraph ends before each.

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

    def build(self) -> Document:  # noqa: PLR0912 (one loop over nodes, without calls where texts are plain)
        """Walk over the nodes and return the document."""
        nodes, blocks, order = self.nodes, self.blocks, self.order
        names, raw, texts, separators, indents = nodes.names, nodes.texts, blocks.texts, self.separators, self.indents
        whole, self.whole = self.whole, {}  # its functions refer to this builder, which is then freed at once
        content, spaces, skipped = self.content, self.spaces, 0
        open_ends: list[int] = []
        closers: list[Callable[[], object]] = []
        ends = nodes.end[order]
        rows = blocks.node.searchsorted(order, side="right") - 1  # of texts
        are_blocks = (blocks.node[rows] == order) & (blocks.last_node[rows] == order)
        columns = [column.tolist() for column in (order, nodes.tag[order], ends, self.breaks, rows, are_blocks)]
        for node, tag, end, breaks, row, is_block in zip(*columns, strict=True):
            if node < skipped:
                continue
            while open_ends and open_ends[-1] <= node:
                open_ends.pop()
                closers.pop()()
            if breaks and content.tokens:
                self._flush()
            if tag == 0:
                if content.tokens and (separator := separators.get(node, _GLUED)) != _GLUED:
                    self._separate(separator)
                if self.first < 0:
                    self.first = row
                self.last = row
                if is_block:
                    text, own = texts[row], raw[node]
                    if len(text) != len(own):
                        text = f"{' ' * own[0].isspace()}{text}{' ' * own[-1].isspace()}"
                    if node in indents:
                        text = indents[node] + text.lstrip()
                else:
                    text = _with_single_spaces(raw[node])
                if spaces is not None or "\\[" in text:
                    self._text(node, text)
                else:
                    content.tokens.append(text)
                continue
            name = names[tag]
            if node in whole:
                whole[node](node)
                skipped = end
            elif name in _VOID:
                self._void(node, name)
            elif (closer := self._open(node, name)) is not None:
                open_ends.append(end)
                closers.append(closer)
        while closers:
            closers.pop()()
        self._flush()
        language, direction = self._declared()
        return Document(self._children(self.frames[0]), self.page.base_url, language, direction)

    def _declared(self) -> tuple[str, str]:
        """Return the language and direction that the elements around the content declare."""
        nodes = self.nodes
        around = [self.start - 1, *nodes.ancestors(self.start - 1)] if self.start else []
        held = [attributes for node in around if (attributes := nodes.attributes[node])]
        language, direction = (
            next((value for attributes in held if (value := attributes.get(name))), "") for name in ("lang", "dir")
        )
        return language, direction.lower() if direction.lower() in ("rtl", "auto") else "ltr"

    def _styled_code(self) -> list[int]:
        """Return the inline elements of code over several lines, which a style lays out like ``pre``."""
        if self.spaces is None:
            return []
        nodes = self.nodes
        found = np.flatnonzero(nodes.named(_CODE_LINES) & self.shown & (self.spaces > 0)).tolist()
        return [node for node in found if "\n" in "".join(nodes.texts[node : nodes.end.item(node)]).strip()]

    # Inline content

    def _text(self, node: int, text: str) -> None:
        """Add a text that may be a displayed formula, or have line breaks that are kept."""
        kind = 0 if self.spaces is None else self.spaces[node]
        if kind:
            first, *others = self.nodes.texts[node].split("\n")
            is_indented = kind == KEEPS_ALL and has_indent(first)
            self.content.tokens.append(with_indent(first) if is_indented else _with_single_spaces(first))
            row = self.last
            for line in others:
                self._void(node, "br")
                is_indented = kind == KEEPS_ALL and bool(line.strip())
                self.content.tokens.append(with_indent(line) if is_indented else _with_single_spaces(line))
                self.first, self.last = row if self.first < 0 else self.first, row
        elif match := _DISPLAYED.fullmatch(text):
            self._formula(node, f"$${match[1].strip()}$$", text.strip())
        else:
            self.content.tokens.append(text)

    def _separate(self, separator: int) -> None:
        """Start a paragraph or a word if the page does so between two kept texts."""
        if separator < _LINE:
            self.content.tokens.append(" ")
        elif not self.content.ends_with_break() and not self.content.is_formula():
            self._flush()

    def _link(self, node: int) -> Callable[[], object] | None:
        """Start a link; a heading's link to itself gets no address."""
        if (anchor := self.notes.marks.get(node)) and not (self.heading or self.content.has(LINK)):
            self.content.open(Start(REFERENCE, anchor))
            return partial(self.content.close, REFERENCE)
        attributes = self.nodes.attributes[node]
        address = attributes.get("href", "")
        if self.heading and address.startswith("#"):
            start = len(self.content.tokens)
            return partial(self.content.cut, start, is_permalink_sign)
        given = _address(address)
        if not given or self.content.has(LINK):
            return None
        self.content.open(Start(LINK, given))
        is_anchor = self.heading or "headerlink" in attributes.get("class", "")
        without = is_permalink_sign if is_anchor else PILCROWS.__contains__ if address[:1] == "#" else None
        return partial(self.content.close, LINK, without=without)

    def _begin_mark(self, mark: Mark) -> Callable[[], object] | None:
        if self.content.has(mark):
            return None
        self.content.open(MARK_STARTS[mark])
        return partial(self.content.close, mark)

    def _marks_title(self, node: int) -> bool:
        """Tell whether a citation contains emphasis, so that it is more than the title of a work."""
        inner = self.nodes.tag[node + 1 : min(node + _TITLE_NODES, int(self.nodes.end[node]))].tolist()
        return any(self.nodes.names[tag] in _EMPHASIS for tag in inner)

    def _picture(self, node: int) -> None:
        attributes, address = self.nodes.attributes[node], read_address(self.pictures[node])
        self.content.tokens.append(Picture(address, alternative_text(attributes), *picture_sides(attributes)))
        self.place = node

    def _void(self, node: int, name: str) -> None:
        if name == "hr":
            self._flush()
            if not self.heading and not self._in_cell():
                self._emit(Rule(-1, -1, node))
        elif name == "br":
            if self.content.ends_with_break() and not self.heading:
                self._flush()  # two line breaks separate paragraphs
            else:
                self.content.tokens.append(LINE)
        elif tex := formula_of_image(self.nodes.attributes[node]):
            self.content.tokens.append(InlineFormula(tex[1:-1]))

    # Blocks

    def _open(self, node: int, name: str) -> Callable[[], object] | None:
        """Start an element, and return a function that ends it; None if nothing needs to be done."""
        if name == "a":
            return self._link(node)
        if name in _MARKS:
            return None if name == "cite" and self._marks_title(node) else self._begin_mark(_MARKS[name])
        is_inner = bool(self.tables) and node < self.tables[-1].inner_end  # part of a table in a cell
        if is_inner and name in _CELLS:
            return None  # its rows are lines
        self._flush()
        if self.heading:
            return self._flush
        if name in _PARTS:
            return self._flush if is_inner else self._open_part(node, name)
        if name in _HEADINGS:
            if self._in_cell():
                return self._flush
            self.heading = _HEADINGS[name]
            return partial(self._end_heading, node)
        if name in _CONTAINERS and len(self.frames) <= MAX_DEPTH and node not in self.posts:
            frame = _Frame(node, name)
            if name in _DEFINITIONS:
                self._begin_definition(frame)
            self.frames.append(frame)
            return partial(self._end_container, frame)
        return self._flush

    def _begin_definition(self, frame: _Frame) -> None:
        """Find the element around a term or description; one that another follows inside of it has ended there."""
        nodes, outer = self.nodes, self.frames[-1]
        parent = nodes.parent.item(frame.node)
        if outer.name in _DEFINITIONS and outer.node == parent:
            frame.definitions = outer.definitions
            self._end_container(outer)
        else:  # it may be in a division
            is_wrapped = parent >= 0 and nodes.name(parent) == "div"
            frame.definitions = nodes.parent.item(parent) if is_wrapped else parent

    def _in_cell(self) -> bool:
        return bool(self.tables) and self.tables[-1].in_cell

    def _emit(self, block: Block) -> None:
        self.frames[-1].entries.append(block)

    def _flush(self) -> None:
        """End the open paragraph, if there is one; within a heading add a space."""
        if not self.content.tokens:
            return
        if self.heading:
            self.content.tokens.append(" ")
            return
        content = self.content.take()
        if content:
            first, last = self.first, self.last
            is_caption = bool(self.caption_rows) and first in self.caption_rows
            node = self._around(first, last)
            if first in self.authors and first == last and not any(isinstance(item, Span) for item in _flat(content)):
                content = (Span(Mark.STRONG, content),)
            paragraph = Paragraph(first, last, node, content, is_caption and first in self.removed)
            is_note = node in self.notes.notes and self.frames[-1].node != node
            self._emit(Note(first, last, node, self.notes.notes[node], (paragraph,)) if is_note else paragraph)
            self.frames[-1].has_parts |= is_caption
        self.first = self.last = -1

    def _around(self, first: int, last: int) -> int:
        """Return the deepest element around some blocks of the page, or around the last picture."""
        nodes, parents = self.nodes, self.blocks.parent
        if first < 0:
            return nodes.parent.item(self.place) if self.place >= 0 else -1
        node = parents.item(first)
        if first < last:
            stop = self.blocks.last_node.item(last)
            while node >= 0 and nodes.end.item(node) <= stop:
                node = nodes.parent.item(node)
        return node

    def _children(self, frame: _Frame) -> tuple[Block, ...]:
        """Return the blocks of a container that ends, without rules at its start and end."""
        entries = frame.entries
        while entries and isinstance(entries[-1], Rule):
            entries.pop()
        while entries and isinstance(entries[0], Rule):
            del entries[0]
        if not frame.has_parts:
            return tuple(entries)  # type: ignore[arg-type]  # there are no parts
        return grouped(self._with_figures(entries) if self.caption_rows else entries, MAX_DEPTH + 1 - len(self.frames))

    def _with_figures(self, entries: Sequence[Block | ListPart]) -> list[Block | ListPart]:
        """Join each paragraph of a picture and the caption that follows it into a figure."""
        found: list[Block | ListPart] = []
        for entry in entries:
            before = found[-1] if found else None
            is_caption = isinstance(entry, Paragraph) and entry.first in self.caption_rows
            if is_caption and isinstance(entry, Paragraph) and isinstance(before, Paragraph) and before.first < 0:
                found[-1] = Figure(entry.first, entry.last, self.nodes.parent.item(entry.node), (before,), (entry,))
            else:
                found.append(entry)
        return found

    def _end_heading(self, node: int) -> None:
        level, self.heading = self.heading, 0
        content = self.content.take(heading=True)
        if content:
            self._emit(Heading(self.first, self.last, node, level, content))
        self.first = self.last = -1

    def _end_container(self, frame: _Frame) -> None:
        self._flush()
        if self.frames[-1] is not frame:
            return  # a term or description that has ended before
        children = self._children(frame)
        self.frames.pop()
        if not children:
            return
        outer, node, rows = self.frames[-1], frame.node, block_span(children)
        if frame.name == "blockquote":
            outer.entries.append(Quotation(*rows, node, children))
            return
        if frame.name == "li":
            is_card = len(children) > 1 and not isinstance(children[1], List)  # of a product, which can be compared
            checked = None if is_card else self._check_mark(node)
            part = self.lists.part(Item(*rows, node, children, None, checked, self.notes.notes.get(node, "")))
        elif frame.name == "dd":
            part = ListPart(Description(*rows, node, children), frame.definitions)
        elif len(children) == 1 and isinstance(children[0], Paragraph):
            part = ListPart(Term(*rows, node, children[0].content), frame.definitions)
        else:
            outer.entries += children
            return
        outer.entries.append(part)
        outer.has_parts = True

    def _check_mark(self, node: int) -> bool | None:
        """Return the state of the check box that an item of a task list starts with; None for other items."""
        if not self.has_inputs:
            return None
        for item in range(node + 1, min(node + 4, int(self.nodes.end[node]))):
            if self.nodes.name(item) == "input" and self.nodes.attributes[item].get("type") == "checkbox":
                return "checked" in self.nodes.attributes[item]
            if self.nodes.tag[item] == 0:
                break
        return None

    def _open_part(self, node: int, name: str) -> Callable[[], object]:
        """Start a data table, its caption, a row or a cell; those of layout start and end a paragraph."""
        if name == "table" and self.tables:
            self.tables[-1].inner_end = self.nodes.end.item(node)
            return self._flush
        if node in self.layout or (name != "table" and not self.tables):
            return self._flush
        if name == "table":
            self.tables.append(_Table(node))
            self.frames.append(self.tables[-1])
            return self._end_table
        table = self.tables[-1]
        if name == "caption":
            self.frames.append(_Frame(node))
            return self._end_caption
        parent = self.nodes.parent.item(node)
        if name == "tr" or not table.rows or (parent != table.row and self.nodes.name(parent) in ROW_PARENTS):
            table.row = node if name == "tr" else parent
            table.rows.append((table.row, []))
            outer = self.nodes.parent.item(table.row)
            table.in_head = "thead" in (self.nodes.name(table.row), self.nodes.name(outer) if outer >= 0 else "")
        if name == "tr":
            return self._flush
        table.in_cell = True
        self.frames.append(_Frame(node))
        return partial(self._end_cell, name)

    def _end_caption(self) -> None:
        self._flush()
        self.tables[-1].caption += self._children(self.frames[-1])
        self.frames.pop()

    def _end_cell(self, name: str) -> None:
        self._flush()
        table, frame = self.tables[-1], self.frames[-1]
        children = self._children(frame)
        if not children and name == "td" and table.rows[0][1] and all(cell.header for cell in table.rows[0][1]):
            children = self._pictured(frame.node)
        self.frames.pop()
        table.in_cell = False
        attributes = self.nodes.attributes[frame.node]
        is_header = name == "th" or table.in_head
        spans = [cell_span(attributes, name, _MAX_SPAN) for name in ("colspan", "rowspan")] if attributes else ()
        table.rows[-1][1].append(Cell(*block_span(children), frame.node, children, is_header, *spans))

    def _pictured(self, node: int) -> tuple[Block, ...]:
        """Return the names of the pictures in a cell without text, such as a tick, with the links around them.

        Only tables with a header have such pictures; in others they are bullets, buttons and logos.
        """
        nodes, found, link, end_of_link = self.nodes, list[Token](), "", 0
        for item in range(node + 1, min(nodes.end.item(node), node + _MAX_CELL)):
            name, link = nodes.name(item), link if item < end_of_link else ""
            if name == "a" and not nodes.flags.item(item) & _HIDDEN:
                link, end_of_link = _address(nodes.attributes[item].get("href", "")), nodes.end.item(item)
            elif name == "img" and (text := self._name_of(item, nodes.parent.item(item) if link else -1)):
                found += (" ", Start(LINK, link), text, None) if link else (" ", text)
        content = normalised(found)
        return (Paragraph(-1, -1, node, content),) if content else ()

    def _name_of(self, picture: int, link: int) -> str:
        """Return the title of a link, or the text, title or file name of a picture in it; empty for a spacer."""
        nodes, attributes = self.nodes, self.nodes.attributes[picture]
        address = image_address(attributes)
        is_small = any(side is not None and side < _MIN_SIDE for side in picture_sides(attributes))
        if nodes.flags.item(picture) & _HIDDEN or is_small or not address or is_placeholder(address):
            return ""
        titles = (nodes.attributes[link].get("title", "") if link >= 0 else "", attributes.get("alt", ""))
        given = next((title for title in (*titles, attributes.get("title", "")) if title.strip()), "")
        return " ".join(readable(given or picture_file_name(address)).split())

    def _end_table(self) -> None:
        self._flush()
        table = self.tables.pop()
        beside = self._children(table)
        self.frames.pop()
        self.frames[-1].entries += beside
        rows = tuple(Row(*block_span(cells), node, tuple(cells)) for node, cells in table.rows if cells)
        shown = [[cell for cell in row.cells if cell.children] for row in rows]
        shown = [cells for cells in shown if cells]
        if len(shown) == 1 and not (table.caption or any(cell.header for cell in shown[0])):
            for cell in shown[0]:  # one row says nothing that its cells don't
                self.frames[-1].entries += cell.children
        elif shown:
            self._emit(Table(*block_span((*table.caption, *rows)), table.node, rows, table.caption))
        else:
            self.frames[-1].entries += table.caption

    def _rows_within(self, node: int) -> tuple[int, int]:
        """Return the first and last kept block in an element; -1 without one."""
        start, stop = self.row_nodes.searchsorted((node, max(self.nodes.end.item(node), node + 1))).tolist()
        return (int(self.rows[start]), int(self.rows[stop - 1])) if start < stop else (-1, -1)

    def _formula(self, node: int, tex: str, source: str = "") -> None:
        """Add a formula given with its dollar signs: as a block if it is displayed, except in headings and cells."""
        is_display = tex.startswith("$$")
        inner, (first, last) = tex.strip("$"), self._rows_within(node)
        if is_display and not self.heading and not self._in_cell():
            self._flush()
            self._emit(Formula(first, last, node, inner, source))
            self.first = self.last = -1
            return
        self.content.tokens.append(InlineFormula(inner, source, is_display))
        if first >= 0:
            self.first, self.last = first if self.first < 0 else self.first, last

    def _code(self, node: int) -> None:
        """Add a listing; within headings, its lines as inline code."""
        self._flush()
        lines = code_lines(self.nodes, node, self.shown, *self.line_marks.value)
        if not lines:
            return
        rows = self._rows_within(node)
        if not self.heading:
            self._emit(Code(*rows, node, tuple(lines), code_language(self.nodes, node)))
            return
        if rows[0] >= 0:
            self.first, self.last = rows[0] if self.first < 0 else self.first, rows[1]
        for line in lines:
            self.content.tokens += (MARK_STARTS[Mark.CODE], line, None, LINE)
        self._flush()


def _address(given: str) -> str:
    """Return the address of a link, or empty if it might run a script."""
    address = read_address(given)
    return address if is_safe(address) else ""


def _layout(outline: Outline, posts: Sequence[ThreadPost]) -> frozenset[int]:
    """Return the tables that are layout: those around bodies of posts too, but none with a header around small ones."""
    tables, bodies = outline.elements(UnitKind.TABLE), np.array(sorted(post.body_node for post in posts))
    if not len(tables):
        return outline.layout_tables
    ends = outline.page.nodes.end[tables]
    is_nested = bool((tables[1:] < ends[:-1]).any())
    found = outline.layout_tables.difference(_with_header(outline.page, tables) if is_nested else ())
    return found.union(tables[bodies.searchsorted(ends) > bodies.searchsorted(tables)].tolist()) if posts else found


def _with_header(page: Page, tables: NDArray[np.intp]) -> list[int]:
    """Return the tables that are data although they may contain others.

    They have a row with several header cells; all cells are short, and most of their text is not in an inner table.
    """
    nodes = page.nodes
    words = np.zeros(len(nodes), dtype=np.int64)
    words[page.blocks.node] = page.blocks.n_words
    before = text_sums(words)

    def owners(places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
        around = nodes.innermost(tables, nodes.parent[places])
        inside = places[around >= 0]
        return inside, tables.searchsorted(around[around >= 0]), before[nodes.end[inside]] - before[inside]

    heads, of_head, _ = owners(nodes.indices("th"))
    _, of_cell, sizes = owners(nodes.named(_CELLS).nonzero()[0])
    _, of_inner, inner_sizes = owners(tables)
    longest, has_header = np.zeros(len(tables), dtype=np.int64), np.zeros(len(tables), dtype=bool)
    np.maximum.at(longest, of_cell, sizes)
    has_header[of_head[1:][nodes.parent[heads[1:]] == nodes.parent[heads[:-1]]]] = True
    n_inner = np.bincount(of_inner, inner_sizes, minlength=len(tables))
    has_own = 2 * n_inner < before[nodes.end[tables]] - before[tables]
    found = tables[has_header & has_own & (longest <= _MAX_CELL_WORDS)].tolist()
    return [table for table in found if nodes.attributes[table].get("role") not in ("presentation", "none")]


def _flat(content: Iterable[Inline]) -> Iterator[Inline]:
    """Iterate over inline content and what is in its links."""
    for item in content:
        yield item
        if isinstance(item, Link):
            yield from item.content


def _verse_indents(page: Page, rows: NDArray[np.intp]) -> dict[int, str]:
    """Return the indents of verses among the first texts of the kept blocks, by node."""
    first, raw = page.blocks.node[rows], page.nodes.texts
    nodes = first[verses(page.nodes, first)].tolist()
    return {node: NO_BREAK * len(indent) for node in nodes if (indent := verse_indent(raw[node]))}


def _with_single_spaces(text: str) -> str:
    """Return a text with each run of white space as one space."""
    inner = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{inner}{' ' * text[-1].isspace()}" if inner else " " * bool(text)
