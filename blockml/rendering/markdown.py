"""Rendering of kept blocks as Markdown: a walk over the nodes that are shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from blockml.page import Flag, Nodes, Page, Separator
from blockml.page.lazy import Lazy
from blockml.parsing.segmentation import BREAKING
from blockml.rendering.code import code_language, code_lines
from blockml.rendering.inline import Mark, Paragraph
from blockml.rendering.links import image_address, resolver
from blockml.rendering.mathematics import find_formulas, formula_of_image, writes_dollars
from blockml.rendering.shown import content_span, layout_parts, shown_nodes, text_sums
from blockml.rendering.tables import Cell, read_span, table_lines
from blockml.rendering.text import kept_separators

__all__ = ["render_markdown"]

_MARKS = {
    **dict.fromkeys(("b", "strong"), Mark.STRONG),
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), Mark.EMPHASIS),
    **dict.fromkeys(("del", "s", "strike"), Mark.DELETED),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), Mark.CODE),
    "sub": Mark.SUBSCRIPT,
    "sup": Mark.SUPERSCRIPT,
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CODE = frozenset({"pre", "listing", "xmp", "textarea"})
_PARTS = frozenset({"table", "caption", "tr", "td", "th"})
_VOID = frozenset({"br", "hr", "img"})
_CONTAINERS = frozenset({"li", "dt", "dd", "blockquote"})
#: Elements that only begin and end a paragraph.
_PLAIN = BREAKING - _CODE - _PARTS - _VOID - _CONTAINERS - frozenset(_HEADINGS)
#: Elements that leave a trace in Markdown.
_ELEMENTS = BREAKING | frozenset(_MARKS) | _VOID | {"a"}
#: Members of enumerations are looked up slowly in Python 3.11.
_LINK, _LINE, _NOSCRIPT = Mark.LINK, int(Separator.LINE), int(Flag.NOSCRIPT)
#: Brackets, and backslashes before punctuation, in the text of a picture.
_IN_ALT = re.compile(r"[\[\]]|\\(?=[!-/:-@\[-`{-~])")
#: Maximum depth of lists and quotations; of deeper ones only the text is written.
_MAX_DEPTH = 12
_NO_LISTS: Set[int] = frozenset()
#: Texts of links from a heading to itself.
_ANCHORS = frozenset({"¶", "#", "§", "🔗", "\u200b"})


def render_markdown(page: Page, kept: NDArray[np.bool_] | Sequence[bool]) -> str:
    """Render the kept blocks, given by a mask of shape (n_blocks,), as Markdown (CommonMark with tables).

    Links and images have absolute addresses if the page has one. List items keep their numbers if others are removed.
    Layout tables give their text. Formulas are written as TeX between dollar signs.

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
    return _Writer(page, rows).write() if len(rows) else ""


@dataclass(slots=True)
class _Container:
    """An open list item or quotation."""

    marker: str  #: begin of its first line
    indent: str  #: begin of the lines after that
    list_node: int  #: node of the list; -1 for a quotation
    is_term: bool = False  #: whether it is the term of a definition
    is_pending: bool = True  #: whether its first line is still to be written
    n_blocks: int = 0  #: number of paragraphs written in it


@dataclass(slots=True)
class _Table:
    """An open table of data."""

    rows: list[list[Cell]] = field(default_factory=list)
    parts: list[str] | None = None  #: paragraphs of the open cell; None outside of cells


class _Writer:
    """State of a walk over the shown nodes of a page."""

    def __init__(self, page: Page, rows: NDArray[np.intp]) -> None:
        self.nodes = page.nodes
        self.formulas, self.copies = find_formulas(page)
        self.shown = shown_nodes(page, rows, _ELEMENTS)
        if self.formulas:
            self.shown[_shown_formulas(page, self.shown, self.formulas)] = True
            self.shown[list(self.copies)] = True
        self.layout = layout_parts(page.nodes, self.shown)
        self.order, self.breaks = self._order(*content_span(page.nodes, page.blocks.parent[rows]))
        self.separators = _separators(page, rows)
        self.texts = _normalised(page, rows)
        self.absolute: Callable[[str], str] = resolver(page.base_url)
        self.lines: list[str] = []
        self.paragraph = Paragraph(
            has_private=page.utf8 is None or b"\xf3" in page.utf8 or b"\xf4" in page.utf8,
            has_tex=Lazy(lambda: writes_dollars(page)),
        )
        self.containers: list[_Container] = []
        self.tables: list[_Table] = []
        self.heading = 0
        self.last_lists: Set[int] = _NO_LISTS  # lists around the paragraph that was written last
        self.picture = -1, ""  # node and address of the last picture
        self.defined: set[int] = set()  # lists of definitions with a term that was written
        self.numbers: dict[int, int] | None = None  # of the items of numbered lists

    def _order(self, first: int, stop: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the shown nodes that leave a trace themselves, and whether a paragraph ends before each.

        Elements that only begin and end a paragraph are counted: one begins or ends between two nodes if the number
        of those that began, or ended, before them differs.
        """
        nodes = self.nodes
        order = first + np.flatnonzero(self.shown[first:stop])
        is_plain = nodes.named(_PLAIN)
        for node in (*self.formulas, *self.copies):
            is_plain[node + 1 : nodes.end[node]] = False
        plain, order = order[is_plain[order]], order[~is_plain[order]]
        n_begun = plain.searchsorted(order)
        n_ended = np.sort(nodes.end[plain]).searchsorted(order, side="right")
        breaks = np.ones(len(order), dtype=bool)
        breaks[1:] = (n_begun[1:] != n_begun[:-1]) | (n_ended[1:] != n_ended[:-1])
        return order, breaks

    def write(self) -> str:
        """Walk over the nodes and return the Markdown."""
        nodes, order = self.nodes, self.order
        names, texts, separators, skipped = nodes.names, self.texts, self.separators, 0
        paragraph = self.paragraph
        open_ends: list[int] = []
        closers: list[Callable[[], object]] = []
        columns = (order.tolist(), nodes.tag[order].tolist(), nodes.end[order].tolist(), self.breaks.tolist())
        for node, tag, end, breaks in zip(*columns, strict=True):
            if node < skipped:
                continue
            while open_ends and open_ends[-1] <= node:
                open_ends.pop()
                closers.pop()()
            if breaks and paragraph.parts:
                self._flush()
            if tag == 0:
                if paragraph.parts and node in separators:
                    self._separate(separators[node])
                paragraph.text(texts.get(node) or _with_single_spaces(nodes.texts[node]))
                continue
            name = names[tag]
            if self.formulas and (node in self.formulas or node in self.copies):
                self._formula(node)
                skipped = end
            elif name in _CODE:
                self._code(node)
                skipped = end
            elif name in _VOID:
                self._void(node, name)
            elif (closer := self._open(node, name)) is not None:
                open_ends.append(end)
                closers.append(closer)
        while closers:
            closers.pop()()
        self._flush()
        return "\n".join(self.lines).strip("\n")

    def _separate(self, separator: int) -> None:
        """Begin a paragraph or a word, as the page does between two kept texts."""
        if separator < _LINE:
            self.paragraph.parts.append(" ")
        elif not self.paragraph.ends_with_break():
            self._flush()

    def _open(self, node: int, name: str) -> Callable[[], object] | None:
        """Begin an element, and return what ends it; None if nothing does."""
        if name == "a":
            return self._link(self.nodes.attributes[node].get("href", ""))
        if name in _MARKS:
            return self._begin_mark(_MARKS[name])
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
        if name in _CONTAINERS and len(self.containers) < _MAX_DEPTH:
            self.containers.append(self._container(node, name))
            return self._end_container
        return self._flush

    def _link(self, address: str) -> Callable[[], object] | None:
        """Begin a link, without an address in a heading that is a link to itself."""
        if self.heading and address.startswith("#"):
            start = len(self.paragraph.parts)
            return partial(self.paragraph.cut, start, _ANCHORS)
        absolute = self.absolute(address)
        return self._begin_mark(_LINK, absolute) if absolute else None

    def _in_cell(self) -> bool:
        return bool(self.tables) and self.tables[-1].parts is not None

    def _begin_mark(self, mark: Mark, address: str = "") -> Callable[[], object] | None:
        if self.paragraph.has(mark):
            return None
        self.paragraph.open(mark, address)
        if mark is _LINK and self.heading:
            return lambda: self.paragraph.close(mark, without=_ANCHORS)
        return lambda: self.paragraph.close(mark)

    def _end_heading(self) -> None:
        level, self.heading = self.heading, 0
        text = self.paragraph.take(heading=True)
        if text:
            self._block([f"{'#' * level} {text}"])

    def _container(self, node: int, name: str) -> _Container:
        """Return the container of a list item, term, definition or quotation."""
        if name == "blockquote":
            return _Container("> ", "> ", -1)
        parent = int(self.nodes.parent[node])
        if name == "dt":
            return _Container("", "", parent, is_term=True)
        if name == "dd":
            is_defined = parent in self.defined
            return _Container(": " * is_defined, "  " * is_defined, parent)
        if parent >= 0 and self.nodes.name(parent) == "ol":
            if self.numbers is None:
                self.numbers = _item_numbers(self.nodes)
            marker = f"{self.numbers[node]}. "
            return _Container(marker, " " * len(marker), parent)
        return _Container("- ", "  ", parent)

    def _end_container(self) -> None:
        self._flush()
        container = self.containers.pop()
        if container.is_term and not container.is_pending:
            self.defined.add(container.list_node)

    def _open_part(self, node: int, name: str) -> Callable[[], object]:
        """Begin a table of data, its caption, a row or a cell."""
        if name == "table":
            self.tables.append(_Table())
            return self._end_table
        if not self.tables or name == "caption":
            return self._flush
        table = self.tables[-1]
        if name == "tr":
            table.rows.append([])
            return self._flush
        if not table.rows:
            table.rows.append([])
        table.parts = []
        return lambda: self._end_cell(node, name)

    def _end_cell(self, node: int, name: str) -> None:
        self._flush()
        table, attributes = self.tables[-1], self.nodes.attributes[node]
        text = "<br>".join(table.parts or ()).replace("  \n", "<br>").replace("\n", " ")
        table.parts = None
        is_header = name == "th" or "thead" in {self.nodes.name(item) for item in self.nodes.ancestors(node)[:2]}
        spans = (read_span(attributes, "colspan"), read_span(attributes, "rowspan"))
        table.rows[-1].append(Cell(text, is_header, *spans))

    def _end_table(self) -> None:
        self._flush()
        lines = table_lines(self.tables.pop().rows)
        if lines:
            self._block(lines)

    def _void(self, node: int, name: str) -> None:
        paragraph = self.paragraph
        if name == "hr":
            self._flush()
            if not self.heading and not self._in_cell():
                self._block(["---"])
        elif name == "br":
            if paragraph.ends_with_break() and not self.heading:
                self._flush()  # two line breaks separate paragraphs
            else:
                paragraph.line_break()
        else:
            attributes = self.nodes.attributes[node]
            tex = formula_of_image(attributes)
            address = self.absolute(image_address(attributes))
            if tex:
                paragraph.raw(tex)
            elif address and not self._repeats(node, address):
                alt = _IN_ALT.sub(r"\\\g<0>", " ".join(attributes.get("alt", "").split()))
                paragraph.raw(f"![{alt}]({address})")

    def _repeats(self, node: int, address: str) -> bool:
        """Tell whether a picture is the one before once more, as ``noscript`` has it for pictures that load late."""
        before, self.picture = self.picture, (node, address)
        flags, attributes = self.nodes.flags, self.nodes.attributes
        if before[0] < 0:
            return False
        if before[1] != address:
            is_late = flags[node] & _NOSCRIPT > 0 and not flags[before[0]] & _NOSCRIPT
            if not is_late or attributes[node].get("alt") != attributes[before[0]].get("alt"):
                return False
        between = slice(before[0], node)
        return not (self.shown[between] & (self.nodes.tag[between] == 0)).any()

    def _formula(self, node: int) -> None:
        """Write a formula; nothing for a copy of one."""
        tex = self.formulas.get(node)
        if tex is None:
            return
        is_own = tex.startswith("$$") and not self.heading and not self._in_cell()
        if is_own:
            self._flush()
        self.paragraph.raw(tex)
        if is_own:
            self._flush()

    def _code(self, node: int) -> None:
        """Write a code block; within headings and cells, its lines as code spans."""
        self._flush()
        lines = code_lines(self.nodes, node, self.shown)
        if not lines:
            return
        if self.heading or self._in_cell():
            for line in lines:
                self.paragraph.open(Mark.CODE)
                self.paragraph.text(line)
                self.paragraph.close(Mark.CODE)
                self.paragraph.line_break()
            self._flush()
            return
        longest = max((len(run) for line in lines if "`" in line for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        self._block([fence + code_language(self.nodes, node), *lines, fence])

    def _flush(self) -> None:
        """Write the open paragraph, if it has text; within a heading a space."""
        paragraph = self.paragraph
        if not paragraph.parts:
            return
        if self.heading:
            paragraph.parts.append(" ")
            return
        text = paragraph.take()
        if not text:
            return
        if self._in_cell():
            self.tables[-1].parts.append(text)  # type: ignore[union-attr]
        elif self.containers or "\n" in text:
            self._block(text.split("\n"))
        else:
            if self.lines:
                self.lines.append("")
            self.lines.append(text)
            self.last_lists = _NO_LISTS

    def _block(self, lines: Sequence[str]) -> None:
        """Write the lines of a paragraph, heading, table or code block, with the marks of lists and quotations."""
        first = rest = blank = ""
        starts: _Container | None = None
        containers = self.containers
        for place, container in enumerate(containers):
            if not container.is_pending:
                first += container.indent
                if starts is None:
                    blank = rest + container.indent
            elif any(inner.list_node >= 0 and inner.is_pending for inner in containers[place + 1 :]):
                container.marker = container.indent = ""  # an item without text of its own
                starts = container
            else:
                first += container.marker
                starts = container
            container.is_pending = False
            rest += container.indent
        if self.lines and not self._is_tight(starts):
            self.lines.append(blank.rstrip())
        self.lines.append((first + lines[0]).rstrip() if not lines[0] else first + lines[0])
        self.lines += [(rest + line) if line else rest.rstrip() for line in lines[1:]]
        for container in containers:
            container.n_blocks += 1
        self.last_lists = {container.list_node for container in containers}

    def _is_tight(self, starts: _Container | None) -> bool:
        """Tell whether no blank line stands before a block that begins a list item or definition (``starts``)."""
        if starts is None or starts.list_node < 0 or starts.is_term:
            return False
        around = self.containers[: self.containers.index(starts)]
        return starts.list_node in self.last_lists or any(item.list_node in self.last_lists - {-1} for item in around)


def _normalised(page: Page, rows: NDArray[np.intp]) -> dict[int, str]:
    """Return the texts of kept blocks of one node, by node, with one space for white space at their ends."""
    blocks, raw = page.blocks, page.nodes.texts
    single = rows[blocks.node[rows] == blocks.last_node[rows]]
    found = {}
    for row, node in zip(single.tolist(), blocks.node[single].tolist(), strict=True):
        text, own = blocks.texts[row], raw[node]
        if len(text) != len(own):
            text = f"{' ' * own[0].isspace()}{text}{' ' * own[-1].isspace()}"
        found[node] = text
    return found


def _with_single_spaces(text: str) -> str:
    """Return a text with one space for each piece of white space."""
    inner = " ".join(text.split())
    return f"{' ' * text[0].isspace()}{inner}{' ' * text[-1].isspace()}" if inner else " " * bool(text)


def _separators(page: Page, rows: NDArray[np.intp]) -> dict[int, int]:
    """Return the separator before each kept block by its first node, if it is not glued to the kept text before it."""
    separators = kept_separators(page, rows)
    places = separators > Separator.GLUED
    return dict(zip(page.blocks.node[rows[places]].tolist(), separators[places].tolist(), strict=True))


def _shown_formulas(page: Page, shown: NDArray[np.bool_], formulas: Mapping[int, str]) -> list[int]:
    """Return the formulas in paragraphs with a kept text, or between two kept texts."""
    nodes = page.nodes
    is_text = (nodes.tag == 0) & ((nodes.flags & Flag.HEAD) == 0)
    for node in formulas:
        is_text[node : nodes.end[node]] = False
    n_shown = text_sums(shown & (nodes.tag == 0))
    texts = np.flatnonzero(is_text)
    found = []
    for node in formulas:
        around = next((item for item in [node, *nodes.ancestors(node)] if nodes.name(item) in BREAKING), node)
        place = int(np.searchsorted(texts, node))
        between = 0 < place < len(texts) and shown[texts[place - 1]] and shown[texts[place]]
        if between or n_shown[nodes.end[node]] > n_shown[node] or n_shown[nodes.end[around]] > n_shown[around]:
            found.append(node)
    return found


def _item_numbers(nodes: Nodes) -> dict[int, int]:
    """Return the number of each item of the numbered lists, whether it is kept or not."""
    numbers: dict[int, int] = {}
    following: dict[int, tuple[int, int]] = {}  # next number and step of each list
    is_item = nodes.named({"li"}) & (nodes.parent >= 0) & nodes.named({"ol"})[nodes.parent]
    parents = nodes.parent[is_item].tolist()
    n_items = Counter(parents)
    for item, parent in zip(np.flatnonzero(is_item).tolist(), parents, strict=True):
        if parent not in following:
            attributes = nodes.attributes[parent]
            step = -1 if "reversed" in attributes else 1
            number = _integer(attributes.get("start", ""))
            following[parent] = (n_items[parent] if step < 0 else 1) if number is None else number, step
        number, step = following[parent]
        given = _integer(nodes.attributes[item].get("value", "")) if nodes.attributes[item] else None
        numbers[item] = max(0, number if given is None else given)
        following[parent] = numbers[item] + step, step
    return numbers


def _integer(text: str) -> int | None:
    """Read an integer of at most nine digits, as Markdown allows; None if it is none."""
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,9}\s*", text) else None
