"""Boilerpipe: two small decision trees on neighbouring blocks, and the chains of steps built around them.

Kohlschütter, Fankhauser and Nejdl 2010, *Boilerplate detection using shallow text features*, and the public source
of boilerpipe (Apache-2.0).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from blockml.extractors.base import Extractor, Traits, parameter
from blockml.extractors.heuristics.boilerpipe_rows import BlockRows, RowMark, rows_of
from blockml.features.density import link_density, word_density
from blockml.page import Page
from blockml.parsing.options import ParsingOptions

Numbers = NDArray[np.floating[Any]] | NDArray[np.integer[Any]]


def _before(column: Numbers) -> Numbers:
    """Values of the previous blocks; 0 for the first."""
    values = np.zeros_like(column)
    values[1:] = column[:-1]
    return values


def _after(column: Numbers) -> Numbers:
    """Values of the next blocks; 0 for the last."""
    values = np.zeros_like(column)
    values[:-1] = column[1:]
    return values


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
    """(n,) whether a row is content with at most one block between it and the previous row."""
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
