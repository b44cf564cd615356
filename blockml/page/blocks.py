"""Text blocks of a page as columns, their labels, and statuses and reasons of decisions."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from itertools import compress
from typing import overload

import numpy as np
from numpy.typing import NDArray

from blockml.page.lazy import cached_property
from blockml.page.nodes import Flag
from blockml.text.words import counted


class Separator(IntEnum):
    """Separator between a block's text and the previous one, by the default layout of browsers.

    There is one exception: adjacent inline elements with a letter or digit on both sides of the boundary are separated
    by a space, because style sheets usually put one there, for example between label and value in spans. Small letters
    on both sides, outside of links, are one word, and so are the parts of an element with code.
    """

    GLUED = 0  #: no separator: both texts belong to one word
    SPACE = 1  #: white space within the same line of text
    CELL = 2  #: the next cell of a table row
    LINE = 3  #: a line break, list item or table row
    PARAGRAPH = 4  #: a new paragraph


_SPACE = int(Separator.SPACE)
#: Punctuation that belongs to the word before it.
_CLOSING = frozenset(".,;:!?)]")


@dataclass(frozen=True, slots=True)
class Block:
    """One text block: a view of one row of :class:`Blocks`."""

    index: int  #: position among the page's blocks, from 0
    text: str  #: text with white space normalised
    n_words: int  #: words: pieces between white space, within each text node, with a letter or digit
    n_linked: int  #: words inside ``a``
    first_line: int  #: line of the first text in the refined document, from 1
    last_line: int  #: line of the last text
    parent: str  #: name of the deepest element that contains the whole text; empty without one
    node: int  #: index of the first text node
    last_node: int  #: index of the last text node
    flags: Flag  #: flags of the first text node


@dataclass(frozen=True, eq=False)
class Blocks:
    """The text blocks of a page as columns of length n; ``blocks[i]`` and iteration give :class:`Block` views."""

    texts: tuple[str, ...]  #: (n,) text with white space normalised
    n_words: NDArray[np.int32]  #: (n,) words
    n_linked: NDArray[np.int32]  #: (n,) words inside ``a``
    first_line: NDArray[np.int32]  #: (n,) line of the first text in the refined document, from 1
    last_line: NDArray[np.int32]  #: (n,) line of the last text
    parent: NDArray[np.int32]  #: (n,) index of the deepest element that contains the whole text; -1 without one
    node: NDArray[np.int32]  #: (n,) index of the first text node
    last_node: NDArray[np.int32]  #: (n,) index of the last text node
    flags: NDArray[np.uint8]  #: (n,) :class:`Flag` bits of the first text node
    separators: NDArray[np.uint8]  #: (n,) :class:`Separator` to the previous text
    word_lengths: NDArray[np.int32]  #: (sum of n_words,) characters of each word, block after block
    parents: tuple[str, ...]  #: (n,) name of ``parent``; empty string without one

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Blocks({counted(len(self), 'block')}, {counted(int(self.n_words.sum()), 'word')})"

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Block, ...]: ...
    def __getitem__(self, index: int | slice) -> Block | tuple[Block, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"block {index} of a page with {counted(len(self), 'block')}")
        i = operator.index(index) % len(self)  # also for NumPy integers
        return Block(
            index=i,
            text=self.texts[i],
            n_words=int(self.n_words[i]),
            n_linked=int(self.n_linked[i]),
            first_line=int(self.first_line[i]),
            last_line=int(self.last_line[i]),
            parent=self.parents[i],
            node=int(self.node[i]),
            last_node=int(self.last_node[i]),
            flags=Flag(int(self.flags[i])),
        )

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def _flags_of_any(self) -> int:
        """:class:`Flag` bits that some block has."""
        return int(np.bitwise_or.reduce(self.flags))

    def any_flag(self, flag: int) -> bool:
        """Tell whether a block has a :class:`Flag`: most pages have no hidden and no preformatted block."""
        return self._flags_of_any & flag > 0

    def line_numbers(self) -> NDArray[np.intp]:
        """Return (n,) number of each block's line, from 0 without gaps.

        A sentence with an emphasis in it, for instance, is one line of three blocks.

        Examples
        --------
        >>> import blockml
        >>> blockml.parse("<p>It is <b>so</b>.</p><p>…</p>").blocks.line_numbers().tolist()
        [0, 0, 0, 1]
        """
        begins = self.separators > _SPACE
        begins[:1] = False
        number: NDArray[np.intp] = begins.cumsum()
        return number

    def separators_of(self, rows: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Return (n_rows,) the :class:`Separator` between each of the given blocks, in order, and the previous one.

        A block that is left out may have carried the line break; the blocks around it are separated by at least a
        space, unless the text after it starts with closing punctuation.
        """
        if not len(rows):
            return self.separators[:0]
        starts = np.zeros(len(rows), dtype=np.intp)
        np.add(rows[:-1], 1, out=starts[1:])
        separators: NDArray[np.uint8] = np.maximum.reduceat(self.separators[: rows[-1] + 1], starts)
        for place in ((separators <= _SPACE) & (starts < rows)).nonzero()[0].tolist():  # few
            row = rows.item(place)
            is_closing = self.separators.item(row) < _SPACE and self.texts[row][:1] in _CLOSING
            separators[place] = 0 if is_closing else _SPACE
        return separators

    def only(self, stays: NDArray[np.bool_]) -> Blocks:
        """Return the blocks marked in ``stays`` (n,); the nodes stay the same.

        Examples
        --------
        >>> import blockml
        >>> blocks = blockml.parse("<p>one<p>two<p>three").blocks.only(np.array([True, False, True]))
        >>> blocks.texts, blocks.separators.tolist()
        (('one', 'three'), [4, 4])
        """
        rows = np.flatnonzero(stays)
        return Blocks(
            texts=tuple(compress(self.texts, stays)),
            n_words=self.n_words[rows],
            n_linked=self.n_linked[rows],
            first_line=self.first_line[rows],
            last_line=self.last_line[rows],
            parent=self.parent[rows],
            node=self.node[rows],
            last_node=self.last_node[rows],
            flags=self.flags[rows],
            separators=self.separators_of(rows),
            word_lengths=self.word_lengths[np.repeat(stays, self.n_words)],
            parents=tuple(compress(self.parents, stays)),
        )


class Label(StrEnum):
    """Type of a block. Binary labels are derived from it: see :data:`MAIN_LABELS`."""

    MAIN = "main"
    HEADING = "heading"
    SUPPLEMENT = "supplement"
    COMMENT = "comment"
    RELATED = "related"
    NAVIGATION = "navigation"
    ADVERTISEMENT = "advertisement"
    FOOTER = "footer"
    OTHER = "other"


#: Headline, full text and supplement: the main content in published uses of the L3S-GN1 data (Kohlschütter et al.
#: 2010).
MAIN_LABELS = frozenset({Label.MAIN, Label.HEADING, Label.SUPPLEMENT})


class Status(StrEnum):
    """Outcome of the extraction of one page. Bad input gives a status and never raises."""

    OK = "ok"  #: there is text
    NO_CONTENT = "no_content"  #: the page has blocks, but none was kept
    EMPTY_PAGE = "empty_page"  #: the page has no text block
    TRUNCATED = "truncated"  #: a limit was reached, or the archive contains only part of the page
    UNDECODABLE = "undecodable"  #: not HTML but a binary format, or in an encoding that browsers refuse


class Reason(StrEnum):
    """Why a block was kept or removed."""

    ABOVE_THRESHOLD = "above_threshold"
    KEPT_WITH_CODE = "kept_with_code"  #: part of a preformatted text whose mean score reaches the threshold
    KEPT_WITH_TABLE = "kept_with_table"  #: part of a data table whose mean score reaches the threshold
    KEPT_WITH_LIST = "kept_with_list"  #: part of a list enough of which is kept, or the line that announces a kept list
    KEPT_WITH_LEAD_IN = "kept_with_lead_in"  #: list, table or code that a kept line announces
    KEPT_WITH_LABEL = "kept_with_label"  #: value of a kept label
    KEPT_WITH_VALUE = "kept_with_value"  #: label of a kept value, or caption of a kept table, listing or quotation
    KEPT_WITH_SENTENCE = "kept_with_sentence"  #: between two kept halves of a sentence
    KEPT_WITH_MARK = "kept_with_mark"  #: footnote to which a kept mark leads
    KEPT_WITH_HEADING = "kept_with_heading"  #: text of a kept heading
    KEPT_WITH_TEXT = "kept_with_text"  #: heading of a kept text
    KEPT_WITH_POST = "kept_with_post"  #: author or date of a kept post, or a post of a thread most of which is kept
    DECLARED = "declared"  #: kept only because the page declares its text: see :mod:`blockml.decision.declared`
    ASKED_FOR = "asked_for"  #: kept only because its label is included
    KEPT_BY_RULE = "kept_by_rule"  #: kept only because of a rule for its site: see :mod:`blockml.rules`
    BELOW_THRESHOLD = "below_threshold"
    REMOVED_WITH_CODE = "removed_with_code"  #: part of a preformatted text whose mean score is below the threshold
    REMOVED_WITH_TABLE = "removed_with_table"  #: part of a data table whose mean score is below the threshold
    REMOVED_WITH_LIST = "removed_with_list"  #: part of a list too little of which reaches the threshold
    REMOVED_WITH_TEXT = "removed_with_text"  #: heading without a kept text
    REMOVED_WITH_POST = "removed_with_post"  #: profile, button or signature beside the body of a post
    NO_CONTENT = "no_content"  #: the whole page has too little content
    LINK = "link"  #: below the threshold only because it is a link next to running text
    DUPLICATE = "duplicate"  #: below the threshold only because the page contains the same text elsewhere
    SIDEBAR = "sidebar"  #: below the threshold only because the page marks its position as a sidebar
    COMMENT = "comment"  #: a reader's comment on a page that is not a forum
    HIDDEN = "hidden"  #: text that no reader sees: see :mod:`blockml.decision.hidden`
    TEMPLATE = "template"  #: part of the template of the page's site
    EXCLUDED = "excluded"  #: removed only because its label is excluded
    REMOVED_BY_RULE = "removed_by_rule"  #: removed only because of a rule for its site

    @property
    def keeps(self) -> bool:
        """Whether blocks with this reason are kept.

        Examples
        --------
        >>> Reason.KEPT_WITH_LIST.keeps, Reason.LINK.keeps
        (True, False)
        """
        return self in _KEEPING


_KEEPING = frozenset({Reason.ABOVE_THRESHOLD, Reason.DECLARED, Reason.ASKED_FOR}) | {
    reason for reason in Reason if reason.startswith("kept_")
}
