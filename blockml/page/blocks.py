"""Text blocks of a page as columns; a :class:`Block` is a view of one row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from blockml.page.nodes import Flag

__all__ = ["Block", "Blocks", "Separator"]


class Separator(IntEnum):
    """What stands between a block's text and the text before it, as browsers lay them out by default.

    One thing differs: two inline elements side by side, both with a letter or digit at the border, are taken for two
    words. Style sheets mostly part them, as with label and value in spans.
    """

    GLUED = 0  #: nothing: the two are parts of one word
    SPACE = 1  #: white space: the same line of text goes on
    CELL = 2  #: the next cell of a table row
    LINE = 3  #: a line break, list item or table row
    PARAGRAPH = 4  #: a new paragraph


@dataclass(frozen=True, slots=True)
class Block:
    """One text block: a view of one row of :class:`Blocks`."""

    index: int
    """Position among the page's blocks, from 0."""
    text: str
    """Text with white space normalised."""
    n_words: int
    """Number of words: white-space separated pieces of each of its texts, with a letter or digit."""
    n_linked: int
    """How many of them stand inside ``a``."""
    first_line: int
    """Line of its first text in the refined document, from 1."""
    last_line: int
    """Line of its last text."""
    parent: str
    """Name of the deepest element that holds all of its text."""
    node: int
    """Index of its first text node."""
    last_node: int
    """Index of its last text node."""
    flags: Flag
    """Flags of its first text node."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The text blocks of a page as columns; ``blocks[i]`` and iteration give :class:`Block` views.

    ``n`` is the number of blocks.
    """

    texts: tuple[str, ...]
    """(n,) text with white space normalised."""
    n_words: NDArray[np.int32]
    """(n,) words."""
    n_linked: NDArray[np.int32]
    """(n,) linked words."""
    first_line: NDArray[np.int32]
    """(n,) line of the first text, from 1."""
    last_line: NDArray[np.int32]
    """(n,) line of the last text."""
    parent: NDArray[np.int32]
    """(n,) node index of the deepest element that holds all text; -1 if there is none."""
    node: NDArray[np.int32]
    """(n,) index of the first text node."""
    last_node: NDArray[np.int32]
    """(n,) index of the last text node."""
    flags: NDArray[np.uint8]
    """(n,) :class:`Flag` bits of the first text node."""
    separators: NDArray[np.uint8]
    """(n,) :class:`Separator` to the text before."""
    word_lengths: NDArray[np.int32]
    """(sum of n_words,) length of every word in characters, block after block."""
    parents: tuple[str, ...]
    """(n,) name of the parent element; empty string if there is none."""

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Block:
        if not -len(self) <= index < len(self):
            raise IndexError(f"block {index} of a page with {len(self)} blocks")
        i = index % len(self)
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
