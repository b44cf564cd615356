"""Text blocks of a page as columns; a :class:`Block` is a view of one row."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from blockml.page.nodes import Flag
from blockml.text.plurals import counted


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


@dataclass(frozen=True, slots=True, eq=False)
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

    def __getitem__(self, index: int) -> Block:
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

    def any_flag(self, flag: int) -> bool:
        """Tell whether a block has a :class:`Flag`: most pages have no hidden and no preformatted block."""
        return bool(np.bitwise_or.reduce(self.flags) & flag)

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
        starts = np.zeros_like(rows)
        np.add(rows[:-1], 1, out=starts[1:])
        separators: NDArray[np.uint8] = np.maximum.reduceat(self.separators[: rows[-1] + 1], starts)
        is_apart = (separators <= _SPACE) & (starts < rows)
        separators[is_apart] = _SPACE
        for place in (is_apart & (self.separators[rows] < _SPACE)).nonzero()[0].tolist():
            if self.texts[rows[place]][:1] in _CLOSING:
                separators[place] = 0
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
