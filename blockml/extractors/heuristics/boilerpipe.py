"""Boilerpipe: two small decision trees on neighbouring blocks, and the steps of its extractors.

Kohlschütter, Fankhauser and Nejdl 2010, *Boilerplate detection using shallow text features*, and the public source
of boilerpipe (Apache-2.0).

Based on the public source of boilerpipe (Apache-2.0).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import IntFlag
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.extractor import Extractor, Traits, parameter
from blockml.features.density import link_density, word_density, wrapped_lines
from blockml.page import Blocks, Nodes, Page
from blockml.parsing.limits import ParsingOptions
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
        """Return an (n,) mask of rows with the mark."""
        return (self.marks & mark) > 0

    def marked(self, mark: RowMark, where: NDArray[np.bool_]) -> BlockRows:
        """Return the rows with a mark on those of a mask (n,), and on no others."""
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
        sums = {name: np.add.reduceat(getattr(self, name), starts) for name in ("words", "linked", "wrapped", "lines")}
        return BlockRows(
            **sums,
            first=self.first[starts],
            last=np.maximum.reduceat(self.last, starts),
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
    """Return the (n_nodes,) number of elements with one of these names that are open at a node."""
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
    """Return the parts of a title that may be the headline of the page."""
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


Numbers = NDArray[np.floating[Any]] | NDArray[np.integer[Any]]


def _before(column: Numbers) -> Numbers:
    """Return the values of the previous blocks; 0 for the first."""
    return np.concatenate([[0], column])[:-1]


def _after(column: Numbers) -> Numbers:
    """Return the values of the next blocks; 0 for the last."""
    return np.concatenate([column, [0]])[1:]


# Constants of both trees, as learned by C4.8 (Kohlschütter et al. 2010, algorithms 1 and 2; public source).


def words_rules(links: Numbers, words: Numbers) -> NDArray[np.bool_]:
    """Classify rows by numbers of words.

    Parameters
    ----------
    links
        (n,) link density.
    words
        (n,) number of words.
    """
    after_text = (words > 16) | (_after(words) > 15) | (_before(words) > 4)
    after_links = (words > 40) | (_after(words) > 17)
    return (links <= 0.333333) & np.where(_before(links) <= 0.555556, after_text, after_links)


def density_rules(links: Numbers, density: Numbers) -> NDArray[np.bool_]:
    """Classify rows by densities.

    Parameters
    ----------
    links
        (n,) link density.
    density
        (n,) words per line of 80 characters.
    """
    following = _after(density)
    after_text = np.where(density <= 9, (following > 10) | (_before(density) > 4), following != 0)
    return (links <= 0.333333) & np.where(_before(links) <= 0.555556, after_text, following > 11)


class _Boilerpipe(Extractor):
    """Base class of boilerpipe's extractors, which segment pages like boilerpipe."""

    traits: ClassVar[Traits] = Traits("Kohlschütter et al. 2010")

    @property
    def parsing(self) -> ParsingOptions:
        """Boilerpipe's blocks: inline tags do not separate, blocks without words are dropped."""
        return ParsingOptions(profile="boilerpipe", keep_wordless=False, tokenizer="boilerpipe")


class NumWords(_Boilerpipe):
    """Boilerpipe's rules on the numbers of words of a block and its neighbours.

    Missing neighbours count as blocks without words.

    Examples
    --------
    >>> import blockml
    >>> text = f"<p>{'word ' * 20}</p>"
    >>> page = blockml.parse(f"<p><a href=/>Home</a></p><p>Head</p>{text}<p>Last words</p><p>Imprint</p>")
    >>> NumWords().score(page).tolist()
    [0.0, 1.0, 1.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "numwords"

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score content 1 and the rest 0."""
        return words_rules(link_density(page.blocks), page.blocks.n_words).astype(np.float32)


class Density(_Boilerpipe):
    """Boilerpipe's rules on the text and link densities of a block and its neighbours.

    Missing neighbours count as blocks without words. Therefore the last block of a page is content only if its text
    density is low and that of the block before is high, however long it is; a single block never is.

    Examples
    --------
    >>> import blockml
    >>> blockml.extract(f"<p>{'word ' * 60}</p>", model=Density()).kept.tolist()
    [False]
    >>> blockml.extract(f"<p>{'word ' * 60}</p><p>Last words</p>", model=Density()).kept.tolist()
    [True, True]
    """

    name: ClassVar[str] = "density"

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score content 1 and the rest 0."""
        return density_rules(link_density(page.blocks), word_density(page.blocks)).astype(np.float32)


#: A step of a chain.
Step = Callable[[BlockRows], BlockRows]


def take_the_first_title(rows: BlockRows) -> BlockRows:
    """Unmark all titles except the first."""
    return rows.marked(RowMark.TITLE, rows.has(RowMark.TITLE) & (np.cumsum(rows.has(RowMark.TITLE)) == 1))


def fuse_equal_densities(rows: BlockRows) -> BlockRows:
    """Fuse neighbours of equal text density."""
    return rows.fused(np.concatenate([[False], rows.density[1:] == rows.density[:-1]]))


def _close(rows: BlockRows) -> NDArray[np.bool_]:
    """Return an (n,) mask of content rows with at most one block between them and the previous row."""
    near = np.concatenate([[False], rows.first[1:] - rows.last[:-1] - 1 <= 1])
    close: NDArray[np.bool_] = rows.has(RowMark.CONTENT) & near
    return close


def fuse_with_the_row_before(rows: BlockRows) -> BlockRows:
    """Fuse content with the previous row, which becomes content."""
    return rows.fused(_close(rows))


def _content_before(rows: BlockRows) -> NDArray[np.bool_]:
    return np.concatenate([[False], rows.has(RowMark.CONTENT)[:-1]])


def fuse_content(rows: BlockRows) -> BlockRows:
    """Fuse neighbours that are both content."""
    return rows.fused(_close(rows) & _content_before(rows))


def fuse_content_of_one_level(rows: BlockRows) -> BlockRows:
    """Fuse neighbours that are both content and equally deep."""
    same_level = np.concatenate([[False], rows.level[1:] == rows.level[:-1]])
    return rows.fused(_close(rows) & _content_before(rows) & same_level)


def classify_by_words(rows: BlockRows) -> BlockRows:
    """Apply the rules on numbers of words."""
    return rows.marked(RowMark.CONTENT, words_rules(rows.links, rows.words))


def classify_by_density(rows: BlockRows) -> BlockRows:
    """Apply the rules on densities."""
    return rows.marked(RowMark.CONTENT, density_rules(rows.links, rows.density))


def cut_after_the_end(rows: BlockRows) -> BlockRows:
    """Unmark content after an end mark that follows at least 60 words of dense content."""
    content = rows.has(RowMark.CONTENT)
    dense_words = np.cumsum(np.where(content & (rows.density >= 9), rows.words, 0))
    ended = np.maximum.accumulate(rows.has(RowMark.END) & (dense_words >= 60))
    return rows.marked(RowMark.CONTENT, content & ~ended)


def cut_trailing_headings(rows: BlockRows) -> BlockRows:
    """Unmark headings at the end of the content."""
    body = np.flatnonzero(rows.has(RowMark.CONTENT) & ~rows.has(RowMark.HEADING))
    last = body[-1] if len(body) else -1
    return rows.marked(RowMark.CONTENT, rows.has(RowMark.CONTENT) & (np.arange(len(rows)) <= last))


def drop_other(rows: BlockRows) -> BlockRows:
    """Drop rows that are not content."""
    return rows.only(rows.has(RowMark.CONTENT))


def drop_other_but_titles(rows: BlockRows) -> BlockRows:
    """Drop rows that are neither content nor titles."""
    return rows.only(rows.has(RowMark.CONTENT) | rows.has(RowMark.TITLE))


def keep_the_largest(rows: BlockRows) -> BlockRows:
    """Keep the content row with the most words, the first of equals."""
    if len(rows) < 2:
        return rows
    is_largest = np.zeros(len(rows), dtype=bool)
    if rows.has(RowMark.CONTENT).any():
        is_largest[np.where(rows.has(RowMark.CONTENT), rows.words, -1).argmax()] = True
    rows = rows.marked(RowMark.LARGEST, is_largest).marked(RowMark.SMALLER, ~is_largest)
    return rows.marked(RowMark.CONTENT, is_largest)


def keep_the_largest_and_its_level(rows: BlockRows) -> BlockRows:
    """Keep the largest row, and rows of 150 words at its level without a higher row in between."""
    rows = keep_the_largest(rows)
    largest = np.flatnonzero(rows.has(RowMark.LARGEST))
    if not len(largest):
        return rows
    level = rows.level[largest[0]]
    part = np.cumsum(rows.level < level)
    found = (part == part[largest[0]]) & (rows.level == level) & (rows.words >= 150)
    return rows.marked(RowMark.CONTENT, rows.has(RowMark.CONTENT) | found)


def expand_to_the_title(rows: BlockRows) -> BlockRows:
    """Mark the rows between the last title and the content after it."""
    content = np.flatnonzero(rows.has(RowMark.CONTENT))
    start = content[0] if len(content) else 0
    titles = np.flatnonzero(rows.has(RowMark.TITLE)[:start])
    if not len(titles) or rows.has(RowMark.TITLE)[start]:
        return rows
    places = np.arange(len(rows))
    between = (places >= titles[-1]) & (places < start) & rows.has(RowMark.SMALLER)
    return rows.marked(RowMark.CONTENT, rows.has(RowMark.CONTENT) | between)


def add_large_of_one_level(rows: BlockRows) -> BlockRows:
    """Mark rows of 100 words at the level of the largest row."""
    largest = np.flatnonzero(rows.has(RowMark.LARGEST))
    found = np.isin(rows.level, rows.level[largest]) & (rows.words >= 100)
    return rows.marked(RowMark.CONTENT, rows.has(RowMark.CONTENT) | found)


def add_the_list_at_the_end(rows: BlockRows) -> BlockRows:
    """Mark list items without links that directly follow the largest row at a lower level."""
    largest = np.flatnonzero(rows.has(RowMark.LARGEST))
    if not len(largest):
        return rows
    fits = (
        rows.has(RowMark.ITEM) & rows.has(RowMark.SMALLER) & (rows.linked == 0) & (rows.level > rows.level[largest[0]])
    )
    fits[: largest[0] + 1] = True
    items = np.logical_and.accumulate(fits) & (np.arange(len(rows)) > largest[0])
    return rows.marked(RowMark.CONTENT, rows.has(RowMark.CONTENT) | items)


#: The chain of boilerpipe's DefaultExtractor, without a step of the public source that has no effect: it fuses content
#: with the row before when no row is content yet.
DEFAULT_STEPS: Final[tuple[Step, ...]] = (fuse_equal_densities, classify_by_density)

#: Chains of boilerpipe's ArticleExtractor: of the releases that its ports follow, and of the latest source. Titles and
#: end marks are detected by :func:`rows_of`.
ARTICLE_STEPS: Final[Mapping[str, tuple[Step, ...]]] = {
    "nine": (
        classify_by_words,
        cut_after_the_end,
        fuse_with_the_row_before,
        drop_other,
        fuse_content,
        keep_the_largest,
        expand_to_the_title,
    ),
    "twelve": (
        take_the_first_title,
        classify_by_words,
        cut_after_the_end,
        cut_trailing_headings,
        fuse_with_the_row_before,
        drop_other_but_titles,
        fuse_content_of_one_level,
        keep_the_largest_and_its_level,
        expand_to_the_title,
        add_large_of_one_level,
        add_the_list_at_the_end,
    ),
}


class _Chain(_Boilerpipe):
    """Scores by steps over rows of fused blocks."""

    @property
    @abstractmethod
    def chain(self) -> tuple[Step, ...]:
        """The steps, in order."""

    def score(self, page: Page) -> NDArray[np.float32]:
        """Score content 1 and the rest 0."""
        *_, (_, content) = self._decisions(page)
        return content.astype(np.float32)

    def explain(self, page: Page) -> tuple[str, ...]:
        """Name the last step that changed the decision about each block."""
        notes = [""] * len(page.blocks)
        before = np.zeros(len(page.blocks), dtype=bool)
        for step, content in self._decisions(page):
            for block in np.flatnonzero(content != before).tolist():
                notes[block] = step.__name__.replace("_", " ")
            before = content
        return tuple(notes)

    def _decisions(self, page: Page) -> Iterator[tuple[Step, NDArray[np.bool_]]]:
        """Iterate over the steps with the decision after each, (n_blocks,)."""
        rows = rows_of(page)
        for step in self.chain:
            rows = step(rows) if len(rows) else rows
            yield step, np.append(rows.has(RowMark.CONTENT), False)[rows.row_of_block]


class BoilerpipeDefault(_Chain):
    """Boilerpipe's chain for any page: neighbours of equal density are fused, then classified by the density rules.

    Examples
    --------
    >>> import blockml
    >>> text = f"<p>{'word ' * 60}</p>"
    >>> page = blockml.parse(f"<p><a href=/>Home</a></p><p>Head line</p>{text * 2}<p>Last words</p><p>Imprint</p>")
    >>> BoilerpipeDefault().score(page).tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    """

    name: ClassVar[str] = "boilerpipe-default"

    @property
    def chain(self) -> tuple[Step, ...]:
        """The steps of the public source's DefaultExtractor."""
        return DEFAULT_STEPS


@dataclass(eq=False, repr=False)
class BoilerpipeArticle(_Chain):
    """Boilerpipe's chain for news: the largest run of content, extended by title and level.

    Parameters
    ----------
    steps
        ``twelve``: the steps of the latest public source. ``nine``: those of the earlier releases that its ports
        follow, which ignore levels, headings and lists.

    Examples
    --------
    >>> import blockml
    >>> text = "<p>" + "word " * 60 + "</p>"
    >>> links = "<ul><li><a href=/>One</a><li><a href=/>Two</a><li><a href=/>Six</a></ul>"
    >>> page = blockml.parse(f"<h1>Head</h1>{text * 2}{links}<div>{text}</div>")
    >>> BoilerpipeArticle().score(page).tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """

    name: ClassVar[str] = "boilerpipe-article"
    steps: str = parameter("twelve", tuple(ARTICLE_STEPS))

    @property
    def chain(self) -> tuple[Step, ...]:
        """The chosen steps of the public source's ArticleExtractor."""
        self.check()
        return ARTICLE_STEPS[self.steps]
