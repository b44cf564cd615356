"""Rendering of kept blocks as plain text, laid out like a browser does, with white space that a page shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blockml.document.code import line_starts, write_code
from blockml.document.shown import OF_SPACES, OF_TEX_IMAGES, may_have_formulas
from blockml.outline import Outline
from blockml.page import Flag, Nodes, Page, Separator
from blockml.page.attributes import searched_together
from blockml.parsing.segmentation import own_line_starts
from blockml.text.words import lazy_pattern

__all__ = [
    "KEEPS_ALL",
    "KEEPS_LINES",
    "NO_BREAK",
    "cell_span",
    "has_indent",
    "kept_spaces",
    "node_separators",
    "render_text",
    "text_pieces",
    "text_places",
    "verse_indent",
    "verses",
    "with_indent",
]


#: Enum members are slow to look up in Python 3.11.
_PREFORMATTED, _GLUED, _SPACE, _CELL = (
    int(Flag.PREFORMATTED),
    *map(int, (Separator.GLUED, Separator.SPACE, Separator.CELL)),
)
#: Text between two blocks, by :class:`~blockml.page.Separator`.
_SEPARATORS = ("", " ", "\t", "\n", "\n")
#: Attributes of cells that span several columns or rows, and maximum number of tabs before a cell (our choice).
_OF_SPANS = searched_together((b"rowspan\0", b"colspan\0"))
_MAX_TABS = 32
#: Scripts from this code point on put no space between words; the segmentation into blocks uses the same one.
_FIRST_IDEOGRAPH = "\u2e80"
#: Runs of blanks, and blanks around line breaks.
_BLANKS, _AROUND_LINES = lazy_pattern(r"[^\S\n]+"), lazy_pattern(r" ?\n ?")
_SEPARATED_PARAGRAPHS = (*_SEPARATORS[:-1], "\n\n")


def render_text(
    page: Page, kept: NDArray[np.bool_] | Sequence[bool], *, paragraphs: bool = False, outline: Outline | None = None
) -> str:
    """Join the kept blocks, given by a mask of shape (n_blocks,). The outline of the page is made if it isn't given.

    Blocks separated only by inline tags are joined as parts of one paragraph, cells of a table row by a tab, and others
    by a line break. A row of a data table with text in several cells is one line. With ``paragraphs``, paragraphs are
    separated by an empty line; items of a list, rows of a table and lines of a paragraph are still separated by a line
    break. Preformatted text keeps its line breaks and indentation. Formulas are TeX.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One <b>bold</b>ly said.</p><ul><li>Two<li>Three</ul>")
    >>> render_text(page, [True] * len(page.blocks))
    'One boldly said.\\nTwo\\nThree'
    """
    gaps, texts = text_pieces(page, kept, paragraphs=paragraphs, outline=outline)
    pieces = gaps + texts  # has the size of both
    pieces[::2], pieces[1::2] = gaps, texts
    return "".join(pieces).strip("\n")


def text_places(page: Page, kept: NDArray[np.bool_]) -> tuple[str, NDArray[np.int64], NDArray[np.int64]]:
    """Return the text of :func:`render_text`, and (n_kept,) the start and end of each kept block in it.

    Examples
    --------
    >>> import blockml
    >>> page = blockml.parse("<p>One <b>bold</b>ly said.</p><p>Two</p>")
    >>> [places.tolist() for places in text_places(page, np.ones(4, dtype=bool))[1:]]
    [[0, 4, 8, 17], [3, 8, 16, 20]]
    """
    gaps, texts = text_pieces(page, kept)
    pieces = [piece for pair in zip(gaps, texts, strict=True) for piece in pair]
    whole = "".join(pieces)
    text = whole.strip("\n")
    ends = np.cumsum([len(whole.lstrip("\n")) - len(whole), *map(len, pieces)], dtype=np.int64)[1:].clip(0, len(text))
    return text, ends[::2], ends[1::2]


def node_separators(page: Page, rows: NDArray[np.intp], shown: NDArray[np.bool_]) -> dict[int, int]:
    """Return the :class:`~blockml.page.Separator` before texts that aren't glued to the kept text before them, by node.

    Parameters
    ----------
    page
        The page.
    rows
        (n_rows,) the kept blocks.
    shown
        (n_nodes,) whether a node is written.
    """
    blocks, separators = page.blocks, page.blocks.separators_of(rows)
    first, places = blocks.node[rows], separators > _GLUED
    found = dict(zip(first[places].tolist(), separators[places].tolist(), strict=True))
    if not (blocks.last_node[rows] > first).any():
        return found
    # Within a block, an element directly after another one starts a new word, for example two adjacent links.
    nodes, raw = page.nodes, page.nodes.texts
    is_text = shown & (nodes.tag == 0)
    texts = is_text.nonzero()[0]
    is_text[blocks.node] = False
    inner = is_text.nonzero()[0]
    before = texts[texts.searchsorted(inner) - 1]
    is_apart = (inner > before + 1) & (nodes.end[nodes.parent[before]] <= inner)
    for last, node in zip(before[is_apart].tolist(), inner[is_apart].tolist(), strict=True):
        left, right = raw[last][-1], raw[node][0]
        if left.isalnum() and right.isalnum() and max(left, right) < _FIRST_IDEOGRAPH:
            found[node] = _SPACE
    return found


def text_pieces(
    page: Page, kept: NDArray[np.bool_] | Sequence[bool], *, paragraphs: bool = False, outline: Outline | None = None
) -> tuple[list[str], list[str]]:
    """Return the separators before the kept blocks, and the texts of the blocks; see :func:`render_text`."""
    blocks = page.blocks
    rows = np.asarray(kept, dtype=bool).nonzero()[0]
    if not len(rows):
        return [], []
    separators, n_tabs = blocks.separators_of(rows), dict[int, int]()
    if "tr" in page.nodes.names:
        separators, n_tabs = _with_rows_as_lines(page, rows, separators, outline)
    texts = [blocks.texts[row] for row in rows.tolist()]
    by_separator = _SEPARATED_PARAGRAPHS if paragraphs else _SEPARATORS
    gaps = [by_separator[separator] for separator in separators.tolist()]
    _keep_source(page, rows, separators, gaps, texts)
    if "\t" in gaps[1:]:
        cells = (separators[1:] == _CELL).nonzero()[0] + 1
        before = np.concatenate(([-1], rows[:-1]))  # the previous kept block of each
        # Cells that begin before the end of each block.
        n_cells = np.cumsum(page.nodes.named({"td", "th"}))[blocks.node]
        for place in cells.tolist():
            gaps[place] = "\t" * max(1, int(n_cells[rows[place]] - n_cells[before[place]]))  # a tab per empty cell
    _indent_verses(page, rows, texts)
    write_code(page, rows, gaps, texts)
    if page.nodes.has_custom_elements:
        for place in own_line_starts(page.nodes, page.blocks, rows).tolist():
            gaps[place] = gaps[place] if "\n" in gaps[place] else "\n"
    if may_have_formulas(page) or page.nodes.with_any(OF_TEX_IMAGES):
        from blockml.document.mathematics import write_formulas

        write_formulas(page, rows, gaps, texts)
    gaps[0] = ""
    for place, n in n_tabs.items():
        gaps[place] = gaps[place].rstrip("\t") + "\t" * n
    return gaps, texts


def _with_rows_as_lines(
    page: Page, rows: NDArray[np.intp], separators: NDArray[np.uint8], outline: Outline | None
) -> tuple[NDArray[np.uint8], dict[int, int]]:
    """Return the separators (n_rows,) with each row of a data table as one line if several of its cells have text.

    Also return the number of tabs before the text of a cell, by its place, where that puts values below their names.
    """
    table = (outline or Outline(page)).data_table
    places = (table[rows] >= 0).nonzero()[0] if table is not None else rows[:0]
    if table is None or not len(places):  # the usual case
        return separators, {}
    nodes, owner, all_rows = page.nodes, page.blocks.node[rows[places]], page.nodes.indices("tr")
    row = nodes.innermost(all_rows, owner)
    is_inner = row >= 0  # in the row of the block before
    is_inner[1:] &= row[1:] == row[:-1]
    is_inner[0] = False
    starts = ((row >= 0) & ~is_inner).nonzero()[0]
    cells, spanning = np.flatnonzero(nodes.named({"td", "th"})), nodes.with_any(_OF_SPANS)
    is_later = cells.searchsorted(owner[starts]) - cells.searchsorted(row[starts]) > 1
    is_torn = is_inner & (separators[places] > _CELL)
    if not spanning and not np.count_nonzero(is_torn) and not np.count_nonzero(is_later):
        return separators, {}
    cell = nodes.innermost(cells, owner)
    is_new = is_inner.copy()
    is_new[1:] &= cell[1:] != cell[:-1]
    has_cells = np.zeros(len(all_rows) + 1, dtype=bool)  # by row: whether several cells have text
    number = all_rows.searchsorted(row)
    has_cells[number[is_new]] = True
    is_torn &= has_cells[number]
    separators = separators.copy()
    separators[places[is_torn]] = np.where(is_new[is_torn], _CELL, _SPACE)
    column = _columns(nodes, cells, spanning)[cells.searchsorted(cell)]
    n_tabs = np.where(is_new, column - np.append(0, column[:-1]), 0)
    is_only = np.bincount(all_rows.searchsorted(nodes.parent[cells]))[number[starts]] == 1
    starts = starts[~is_only | (column[starts] > 0)]
    n_tabs[starts] = _beyond_least(column[starts], table[rows[places[starts]]])
    return separators, {
        place: n for place, n in zip(places.tolist(), n_tabs.clip(0, _MAX_TABS).tolist(), strict=True) if n > 0
    }


def _beyond_least(columns: NDArray[np.int64], tables: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the columns (n_rows,) of the first texts of rows, without those that never have one in their table."""
    _, number = np.unique(tables, return_inverse=True)
    least = np.full(len(tables), columns.max(initial=0))
    np.minimum.at(least, number, columns)
    found: NDArray[np.int64] = columns - least[number]
    return found


def _columns(nodes: Nodes, cells: NDArray[np.intp], spanning: list[int]) -> NDArray[np.int64]:
    """Return (n_cells,) the column of each cell, given the elements that may span several columns or rows."""
    row = nodes.parent[cells]
    order = np.argsort(row, kind="stable")  # nested tables are within rows of others
    in_order = row[order]
    column = np.empty(len(cells), dtype=np.int64)
    column[order] = np.arange(len(cells)) - in_order.searchsorted(in_order)
    held = ((node, nodes.attributes[node]) for node in spanning)
    spans = {node: (cell_span(own, "colspan", _MAX_TABS), cell_span(own, "rowspan", len(nodes))) for node, own in held}
    groups = {nodes.parent.item(nodes.parent.item(node)) for node, span in spans.items() if span != (1, 1)}
    group = nodes.parent[row]
    taken: dict[int, int] = {}  # rows for which a column is still spanned from above
    last_row = last_group = place = -1
    for index in order[np.isin(group[order], list(groups))].tolist():
        if row[index] != last_row:
            is_same = group[index] == last_group
            taken = {place: n - 1 for place, n in taken.items() if n > 1} if is_same else {}
            last_row, last_group, place = row[index], group[index], 0
        while place in taken:
            place += 1
        column[index] = place
        wide, high = spans.get(int(cells[index]), (1, 1))
        if high > 1 and place < _MAX_TABS:
            taken |= dict.fromkeys(range(place, place + wide), high)
        place += wide
    return column


def cell_span(attributes: Mapping[str, str], name: str, most: int) -> int:
    """Read ``colspan`` or ``rowspan`` up to a maximum; 1 if it is missing or invalid.

    Examples
    --------
    >>> [cell_span({"rowspan": value}, "rowspan", 50) for value in ("3", "900", "0", "x")]
    [3, 50, 1, 1]
    """
    value = attributes.get(name, "").strip()
    return min(int(value), most) or 1 if value.isascii() and value.isdecimal() and len(value) < 6 else 1


def _keep_source(
    page: Page, rows: NDArray[np.intp], separators: NDArray[np.uint8], gaps: list[str], texts: list[str]
) -> None:
    """Write the texts of preformatted blocks, and of those whose style keeps white space, as in the page, in place."""
    blocks, spaces = page.blocks, kept_spaces(page.nodes)
    if spaces is None and not blocks.any_flag(_PREFORMATTED):  # the usual case
        return
    is_preformatted = (blocks.flags[rows] & _PREFORMATTED) != 0
    if spaces is not None:
        is_preformatted |= spaces[blocks.node[rows]] > 0
    places = is_preformatted.nonzero()[0]
    if not len(places):
        return
    before = np.concatenate(([-1], rows[:-1]))
    source = _source_of(page)
    first, last = blocks.node[rows[places]], blocks.last_node[rows[places]]
    raw = page.nodes.texts
    for place, node in zip(places.tolist(), first.tolist(), strict=True):
        texts[place] = raw[node]
    for place in places[first < last].tolist():  # few blocks have several nodes
        texts[place] = source(int(rows[place]), int(rows[place]) + 1)
    is_joined = is_preformatted & (separators <= _SPACE)
    is_joined[1:] &= is_preformatted[:-1]
    for place in np.flatnonzero(is_joined & (before + 1 == rows)).tolist():
        gaps[place] = ""
    places = np.flatnonzero(is_joined & (before + 1 < rows))
    for place, last, row in zip(places.tolist(), before[places].tolist(), rows[places].tolist(), strict=True):
        removed = source(last + 1, row)
        gaps[place] = "\n" if "\n" in removed else " " if removed else ""
    starts = np.asarray(line_starts(page.nodes), dtype=np.intp)
    n_lines = starts.searchsorted(blocks.node[rows]) - starts.searchsorted(blocks.last_node[before])
    for place in np.flatnonzero(is_joined & (n_lines > 0)).tolist():
        gaps[place] = "\n" * int(n_lines[place])
    if spaces is not None:
        _keep_spaces(spaces[blocks.node[rows]], gaps, texts)


def _keep_spaces(kinds: NDArray[np.int8], gaps: list[str], texts: list[str]) -> None:
    """Write the texts of blocks whose style keeps white space, in place; ``kinds`` (n_rows,) says how."""
    for place in kinds.nonzero()[0].tolist():
        if kinds[place] == KEEPS_LINES:
            texts[place] = _AROUND_LINES.sub("\n", _BLANKS.sub(" ", texts[place]))
        if not place or "\n" in gaps[place]:
            inner = texts[place].lstrip("\n")
            texts[place] = inner[1:] if inner[:1] == " " != inner[1:2] else inner  # a blank is not an indent
        if place + 1 == len(gaps) or "\n" in gaps[place + 1]:
            texts[place] = texts[place].rstrip()


def _indent_verses(page: Page, rows: NDArray[np.intp], texts: list[str]) -> None:
    """Indent the texts of verses, in place."""
    owners = page.blocks.node[rows]
    for place in verses(page.nodes, owners).tolist():
        if indent := verse_indent(page.nodes.texts[owners[place]]):
            texts[place] = indent + texts[place].lstrip()


def _source_of(page: Page) -> Callable[[int, int], str]:
    """Return a function that joins the texts of a range of blocks, with the white space of the source between them."""
    texts, blocks = page.nodes.texts, page.blocks

    def source(start: int, stop: int) -> str:
        first, last = blocks.node[start:stop].tolist(), blocks.last_node[start:stop].tolist()
        return "".join([text for begin, end in zip(first, last, strict=True) for text in texts[begin : end + 1]])

    return source


#: Kinds of kept white space: only line breaks, or also blanks.
KEEPS_LINES, KEEPS_ALL = 1, 2
NO_BREAK = "\xa0"
_KINDS = {"pre-line": KEEPS_LINES, **dict.fromkeys(("pre", "pre-wrap", "break-spaces", "preserve"), KEEPS_ALL)}
_STYLE = lazy_pattern(r"(?:^|[;\s])white-space(?:-collapse)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_CLASS = lazy_pattern(r"(?:^|\s)whitespace-(pre(?:-line|-wrap)?|normal|nowrap|break-spaces)(?:\s|$)")
_MAX_INDENT = 60
#: Maximum characters of a verse; longer lines with an indent are paragraphs.
_MAX_VERSE = 80
#: Blanks that a browser shows. Ideographic ones indent paragraphs.
_INDENT = lazy_pattern(r"[ \t\n]*(?=[\xa0\u2000-\u200a])([\xa0\u2000-\u200a \t\n]{2,60})")
_KEEPS_SPACES = int(Flag.PREFORMATTED)


def kept_spaces(nodes: Nodes) -> NDArray[np.int8] | None:
    """Return (n_nodes,) how styles and classes keep white space outside of ``pre``: 0 for not at all; None if none do.

    Examples
    --------
    >>> import blockml
    >>> kept_spaces(blockml.parse("<p style='white-space: pre-line'>a<b style='white-space: normal'>b</b>").nodes)
    array([0, 0, 0, 1, 1, 0, 0], dtype=int8)
    """
    found: NDArray[np.int8] | None = None
    for node in nodes.with_any(OF_SPACES):
        kind = _kind(nodes.attributes[node])
        if found is None and kind:
            found = np.zeros(len(nodes), dtype=np.int8)
        if found is not None and kind is not None:
            found[node : nodes.end[node]] = kind
    if found is not None:
        found[(nodes.flags & _KEEPS_SPACES) > 0] = 0
    return found


def _kind(attributes: Mapping[str, str]) -> int | None:
    """Return how an element keeps white space; None if its attributes say nothing."""
    for pattern, name in ((_STYLE, "style"), (_CLASS, "class")):
        if (value := attributes.get(name)) and (given := pattern.findall(value)):
            return _KINDS.get(given[-1].lower(), 0)
    return None


def verses(nodes: Nodes, texts: NDArray[np.signedinteger]) -> NDArray[np.intp]:
    """Return the places of those text nodes (n,) that directly follow a line break, or start an element that does."""
    if "br" not in nodes.names:
        return np.zeros(0, dtype=np.intp)
    tag, before = nodes.names.index("br"), texts - 1
    is_first = (nodes.parent[texts] == before) & (nodes.tag[before - 1] == tag)
    return np.asarray(((nodes.tag[before] == tag) | is_first).nonzero()[0])


def verse_indent(text: str) -> str:
    r"""Return the blanks that indent a verse, given the text of a line; empty for other lines.

    Examples
    --------
    >>> verse_indent("\xa0\xa0 a verse"), verse_indent(" words")
    ('   ', '')
    """
    match = _INDENT.match(text)
    return " " * len(match[1]) if match and len(text) - match.end() <= _MAX_VERSE else ""


def has_indent(line: str) -> bool:
    """Tell whether a text starts with more white space than separates words.

    Examples
    --------
    >>> has_indent("  to"), has_indent("\\tto"), has_indent(" to"), has_indent("  ")
    (True, True, False, False)
    """
    space = line[: len(line) - len(line.lstrip())]
    return space not in ("", " ") and len(space) < len(line)


def with_indent(line: str) -> str:
    """Return a line with single spaces, and its indent as blanks that Markdown and HTML show.

    Examples
    --------
    >>> with_indent("   to  be ")
    '\\xa0\\xa0\\xa0to be '
    """
    inner = line.expandtabs(4).lstrip()
    indent = min(len(line.expandtabs(4)) - len(inner), _MAX_INDENT)
    return NO_BREAK * indent + " ".join(inner.split()) + " " * inner[-1:].isspace()
