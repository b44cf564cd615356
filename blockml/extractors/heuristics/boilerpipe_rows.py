"""The blocks of a page as boilerpipe's steps see them: rows that are marked, dropped and fused.

Based on the public source of boilerpipe (Apache-2.0).
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, replace
from enum import IntFlag
from typing import Final

import numpy as np
from numpy.typing import NDArray

from blockml.features.density import wrapped_lines
from blockml.page import Blocks, Nodes, Page
from blockml.parsing.segmentation import PROFILES


class RowMark(IntFlag):
    """Marks that the steps of a chain set on rows."""

    CONTENT = 1
    TITLE = 2  #: repeats the page's title or a part of it
    END = 4  #: text that comes after articles
    HEADING = 8  #: inside ``h1``, ``h2`` or ``h3``
    ITEM = 16  #: inside ``li``
    LARGEST = 32  #: was kept as the largest row
    SMALLER = 64  #: was present when another row was kept as the largest


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """The blocks of a page, some of them fused, as columns of ``n`` rows in document order."""

    first: NDArray[np.int64]  #: (n,) number of the row's first block, counted over the blocks that boilerpipe sees.
    last: NDArray[np.int64]  #: (n,) number of its last block.
    words: NDArray[np.int64]  #: (n,) words.
    linked: NDArray[np.int64]  #: (n,) linked words.
    wrapped: NDArray[np.int64]  #: (n,) words on full lines; all words if it has no full line.
    lines: NDArray[np.int64]  #: (n,) full lines; 1 for a block without a full line.
    #: (n,) open elements that are not inline, at the first text of any of its blocks: the smallest number.
    level: NDArray[np.int64]
    marks: NDArray[np.uint8]  #: (n,) :class:`RowMark` bits.
    row_of_block: NDArray[np.int64]  #: (n_blocks,) row that contains a block; -1 for none.

    def __len__(self) -> int:
        return len(self.first)

    @property
    def links(self) -> NDArray[np.float64]:
        """(n,) link density."""
        return self.linked / np.maximum(1, self.words)

    @property
    def density(self) -> NDArray[np.float64]:
        """(n,) words per line."""
        return self.wrapped / self.lines

    def has(self, mark: RowMark) -> NDArray[np.bool_]:
        """(n,) whether a row has the mark."""
        return (self.marks & mark) > 0

    def marked(self, mark: RowMark, where: NDArray[np.bool_]) -> BlockRows:
        """Give the mark to these rows and take it from all others."""
        return replace(self, marks=np.where(where, self.marks | mark, self.marks & ~np.uint8(mark)).astype(np.uint8))

    def only(self, where: NDArray[np.bool_]) -> BlockRows:
        """Drop all other rows."""
        columns = [name for name in BlockRows.__slots__ if name != "row_of_block"]
        number = np.where(where, np.cumsum(where) - 1, -1)
        return BlockRows(
            **{name: getattr(self, name)[where] for name in columns},
            row_of_block=np.append(number, -1)[self.row_of_block],
        )

    def fused(self, joins: NDArray[np.bool_]) -> BlockRows:
        """Fuse each of these rows with the previous row, keeping all marks."""
        starts = np.flatnonzero(~joins)
        if len(starts) == len(self):
            return self
        return BlockRows(
            first=self.first[starts],
            last=np.maximum.reduceat(self.last, starts),
            words=np.add.reduceat(self.words, starts),
            linked=np.add.reduceat(self.linked, starts),
            wrapped=np.add.reduceat(self.wrapped, starts),
            lines=np.add.reduceat(self.lines, starts),
            level=np.minimum.reduceat(self.level, starts),
            marks=np.bitwise_or.reduceat(self.marks, starts),
            row_of_block=np.append(np.cumsum(~joins) - 1, -1)[self.row_of_block],
        )


#: Elements whose text boilerpipe never sees (public source, DefaultTagActionMap; scripts and styles are already
#: removed).
_IGNORED: Final = frozenset({"option", "object", "embed", "applet", "noscript"})
#: Elements that a block of text runs through; an anchor does not end a block, but it is a level.
_INLINE: Final = PROFILES["boilerpipe"] - {"a"}


def rows_of(page: Page) -> BlockRows:
    """Create one row per block, with the marks that are set before all steps."""
    blocks, nodes = page.blocks, page.nodes
    wrapped, lines = wrapped_lines(blocks)
    elements = set(nodes.names) - {"#text"}
    seen = _open(nodes, _IGNORED)[blocks.node] == 0
    rows = BlockRows(
        first=np.cumsum(seen),
        last=np.cumsum(seen),
        words=blocks.n_words.astype(np.int64),
        linked=blocks.n_linked.astype(np.int64),
        wrapped=np.where(wrapped > 0, wrapped, blocks.n_words),  # one word may be longer than a line
        lines=lines,
        level=_open(nodes, elements - _INLINE)[blocks.node],
        marks=np.zeros(len(blocks), dtype=np.uint8),
        row_of_block=np.arange(len(blocks)),
    )
    rows = rows.marked(RowMark.TITLE, _repeats_title(blocks.texts, page.title))
    rows = rows.marked(RowMark.END, _ends_article(blocks))
    rows = rows.marked(RowMark.HEADING, _open(nodes, {"h1", "h2", "h3"})[blocks.node] > 0)
    rows = rows.marked(RowMark.ITEM, _open(nodes, {"li"})[blocks.node] > 0)
    return rows.only(seen)


def _open(nodes: Nodes, names: Set[str]) -> NDArray[np.int64]:
    """(n_nodes,) number of elements with one of these names that are open at a node."""
    wanted = nodes.named(names)
    closed = np.bincount(nodes.end[wanted], minlength=len(nodes) + 1)[: len(nodes)]
    return np.cumsum(wanted) - np.cumsum(closed)


#: Blocks after an article: they have fewer than 15 words and are mostly about comments (public source,
#: TerminatingBlocksFinder).
_END = re.compile(
    r"comments|[0-9]+( comments| users responded in)|© reuters|please rate this|post a comment"
    r"|.*(what you think\.\.\.|add your comment|add comment|reader views|have your say|reader comments|rätta artikeln)"
    r"|thanks for your comments - this feedback is now closed$"
)


def _ends_article(blocks: Blocks) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether a block is of a kind that follows articles."""
    short = blocks.n_words < 15
    found = [
        is_short and (_END.match(text.lower()) is not None if len(text) >= 8 else text == "Comment" and n_linked > 0)
        for is_short, text, n_linked in zip(short.tolist(), blocks.texts, blocks.n_linked.tolist(), strict=True)
    ]
    return np.array(found, dtype=bool)


#: Separators of a title and the name of a site or column: for the first, the longest piece may be the headline; for the
#: second, every piece of four words or more may be (public source, DocumentTitleMatchClassifier).
_LONGEST_OF: Final = (r" *[|»-] *", r" *[|»:] *", r" *[|»:()] *", r" *[|»:()-] *", r" *[|»,:()-] *")
_ANY_OF: Final = (r" +\| +", r" +- +")
_SIGNS: Final = re.compile(r"[?!.:-]+")


def _repeats_title(texts: tuple[str, ...], title: str) -> NDArray[np.bool_]:
    """Return (n_blocks,) whether a block repeats the title, or a part of it that may be the headline."""
    headlines = _headlines(_plain(title))
    plain = [_plain(text) for text in texts] if headlines else [""] * len(texts)
    return np.array([text in headlines or _SIGNS.sub("", text).strip() in headlines for text in plain], dtype=bool)


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ").replace("'", "").strip().lower()


def _headlines(title: str) -> set[str]:
    """Parts of a title that may be the headline of the page."""
    if not title:
        return set()
    headlines = {title, re.sub(" - [^-]+$", "", title), re.sub("^[^-]+ - ", "", title)}
    for pattern in _LONGEST_OF:
        longest, most_words = "", 0
        for part in _parts(pattern, title):
            if len(part.split()) > most_words or len(part) > len(longest):
                longest, most_words = part, len(part.split())
        headlines.add(longest.strip())
    for pattern in _ANY_OF:
        headlines.update(part for part in _parts(pattern, title) if len(part.split()) >= 4)
    return headlines - {""}


def _parts(pattern: str, title: str) -> list[str]:
    return [part for part in re.split(pattern, title) if ".com" not in part]
