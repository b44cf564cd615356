"""Boilerpipe's rules and chains of filters, compared with slow implementations that go block by block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockml
from blockml.errors import UsageError
from blockml.extractors.heuristics.boilerpipe import (
    ARTICLE_STEPS,
    DEFAULT_STEPS,
    BlockRows,
    BoilerpipeArticle,
    BoilerpipeDefault,
    Density,
    NumWords,
    RowMark,
    Step,
    density_rules,
    rows_of,
    words_rules,
)
from blockml.features.density import word_density
from blockml.page import Page
from tests.strategies import messy_html, path_of

EXTRACTORS = (NumWords(), Density(), BoilerpipeDefault(), BoilerpipeArticle(), BoilerpipeArticle("nine"))
every_extractor = pytest.mark.parametrize("extractor", EXTRACTORS, ids=lambda item: item.id)


def page_of(html: str) -> Page:
    """Parse a page with the options of boilerpipe."""
    return blockml.parse(html, profile="boilerpipe", keep_wordless=False, tokenizer="boilerpipe")


def kept(extractor: Any, html: str) -> list[str]:
    """Return the texts of the kept blocks."""
    page = page_of(html)
    return [text for text, score in zip(page.blocks.texts, extractor.score(page).tolist(), strict=True) if score]


# --- the rules --------------------------------------------------------------------------------------------------------


def slow_words(before: Any, this: Any, after: Any) -> bool:
    """Apply the published tree on numbers of words to (link density, number of words) of three blocks."""
    if this[0] > 0.333333:
        return False
    if before[0] <= 0.555556:
        if this[1] <= 16:
            if after[1] <= 15:
                return bool(before[1] > 4)
            return True
        return True
    if this[1] <= 40:
        return bool(after[1] > 17)
    return True


def slow_density(before: Any, this: Any, after: Any) -> bool:
    """Apply the published tree on densities to (link density, word density) of three blocks."""
    if this[0] > 0.333333:
        return False
    if before[0] <= 0.555556:
        if this[1] <= 9:
            if after[1] <= 10:
                return bool(before[1] > 4)
            return True
        return bool(after[1] != 0)
    return bool(after[1] > 11)


def slowly(rule: Any, links: Sequence[float], numbers: Sequence[float]) -> list[bool]:
    """Apply a rule block by block."""
    blocks = [(0, 0), *zip(links, numbers, strict=True), (0, 0)]
    return [rule(*blocks[i : i + 3]) for i in range(len(links))]


def test_two_rules_on_six_blocks() -> None:
    """Both rules decide as expected for six blocks."""
    links = np.array([1, 0, 0.02, 0, 0.5, 0])
    assert words_rules(links, np.array([5, 8, 60, 10, 6, 12])).tolist() == [False, True, True, True, False, True]
    assert density_rules(links, np.array([5, 8, 12, 10, 6, 12])).tolist() == [False, True, True, True, False, False]


_links = st.sampled_from([0.0, 0.2, 0.333333, 1 / 3, 0.4, 0.555556, 5 / 9, 0.56, 1.0])
_numbers = st.sampled_from([0, 1, 4, 5, 9, 10, 11, 12, 15, 16, 17, 18, 40, 41, 100])


@given(st.lists(st.tuples(_links, _numbers), max_size=8))
def test_rules_equal_the_published_trees(blocks: list[tuple[float, int]]) -> None:
    """The rules over columns decide like the trees block by block, on both sides of every threshold."""
    links, numbers = [block[0] for block in blocks], [block[1] for block in blocks]
    columns = np.array(links, dtype=np.float32), np.array(numbers, dtype=np.int32)
    assert words_rules(*columns).tolist() == slowly(slow_words, links, numbers)
    assert density_rules(columns[0], columns[1].astype(np.float32)).tolist() == slowly(slow_density, links, numbers)


def test_one_long_block_is_content_by_words_and_not_by_density() -> None:
    """Because nothing follows the block, the published rule on densities removes it."""
    html = f"<p>{'word ' * 60}</p>"
    assert NumWords().score(page_of(html)).tolist() == [1.0]
    assert Density().score(page_of(html)).tolist() == [0.0]


@settings(max_examples=30)
@given(messy_html)
def test_rules_are_applied_to_pages(html: str) -> None:
    """The rules are applied to the link density, number of words and word density of each block."""
    page = page_of(html)
    links = [block.n_linked / max(1, block.n_words) for block in page.blocks]
    words = [float(block.n_words) for block in page.blocks]
    assert NumWords().score(page).tolist() == slowly(slow_words, links, words)
    assert Density().score(page).tolist() == slowly(slow_density, links, word_density(page.blocks).tolist())


# --- before any filter ------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(messy_html)
def test_rows_are_the_blocks_of_boilerpipe(html: str) -> None:
    """Counts, density, depth and marks of each row equal those of a walk over the tree."""
    page = page_of(html)
    rows, nodes = rows_of(page), page.nodes
    inline = set("strike u b i em strong span sup sub code tt var abbr acronym font #text".split())
    row = 0
    for number, block in enumerate(page.blocks):
        names = [nodes.name(node) for node in path_of(nodes, block.node)]
        if {"option", "object", "embed", "applet", "noscript"} & set(names):
            assert rows.row_of_block[number] == -1
            continue
        assert rows.row_of_block[number] == row
        assert rows.first[row] == rows.last[row] == row + rows.first[0]
        assert (rows.words[row], rows.linked[row]) == (block.n_words, block.n_linked)
        assert rows.level[row] == len([name for name in names if name not in inline])
        assert rows.has(RowMark.HEADING)[row] == bool({"h1", "h2", "h3"} & set(names))
        assert rows.has(RowMark.ITEM)[row] == ("li" in names)
        assert not rows.has(RowMark.CONTENT | RowMark.LARGEST | RowMark.SMALLER)[row]
        row += 1
    assert len(rows) == row


@given(st.lists(st.lists(st.sampled_from([1, 5, 12, 79, 80, 81, 90, 160]), min_size=1, max_size=30), max_size=4))
def test_lines_are_wrapped_like_for_the_density(blocks: list[list[int]]) -> None:
    """Wrapped words per full line equal the word density, except for blocks without a full line."""
    page = page_of("".join("<p>" + " ".join("w" * length for length in lengths) for lengths in blocks))
    rows, density = rows_of(page), word_density(page.blocks)
    assert np.where(density > 0, rows.density, 0) == pytest.approx(density, rel=1e-6)
    assert rows.density[density == 0].tolist() == rows.words[density == 0].tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Comments (3)", True), ("12 comments so far", True), ("No comments", False), ("3 users responded in", True),
        ("comment", False), ("Comment", False), ("<a href=/>Comment</a>", True), ("<a href=/>comment</a>", False),
        ("© Reuters 2008", True), ("Please rate this", True), ("Now have your say", True),
        ("Thanks for your comments - this feedback is now closed", True),
        ("Thanks for your comments - this feedback is now closed!", False), ("Rätta artikeln", True),
        ("Comments " + "word " * 14, False), ("Comments " + "word " * 13, True), ("Add it", False),
    ],
)  # fmt: skip
def test_texts_that_end_articles(text: str, *, expected: bool) -> None:
    """Texts of fewer than 15 words that mostly introduce comments are marked as the end of an article."""
    assert rows_of(page_of(f"<p>{text}")).has(RowMark.END).tolist() == [expected]


@pytest.mark.parametrize(
    ("title", "headline", "expected"),
    [
        ("Cats rule the world", "Cats rule the world", True),
        ("Cats rule the world", "CATS RULE THE WORLD!", True),
        ("Cats rule the world | The Paper", "Cats rule the world", True),
        ("Cats rule the world | The Paper", "The Paper", False),
        ("The Paper: Cats rule the world", "Cats rule the world", True),
        ("The Paper » News » Cats rule the world", "Cats rule the world", True),
        ("Cats rule - Dogs don't - The Paper", "Cats rule - Dogs don't", True),
        ("A paper on every day - Cats rule it", "Cats rule it", True),
        ("Some words of the site | Cats rule the world today", "Some words of the site", True),
        ("Some words of the site | Cats rule the world today", "of the site", False),
        ("www.cats-rule-the-world.com | Cats", "www.cats-rule-the-world.com", False),
        ("Dogs", "Cats", False), ("", "Cats", False), ("'", "'x", False),
    ],
)  # fmt: skip
def test_repeated_titles(title: str, headline: str, *, expected: bool) -> None:
    """A block is marked as title if it repeats the title, with or without the name of the site."""
    assert rows_of(page_of(f"<title>{title}</title><p>{headline}")).has(RowMark.TITLE).tolist() == [expected]


# --- slow chains ------------------------------------------------------------------------------------------------------

FIELDS = ("first", "last", "words", "linked", "wrapped", "lines", "level")


class Block:
    """A row as an object that is changed in place."""

    def __init__(self, rows: BlockRows, row: int) -> None:
        self.members = {int(block) for block in np.flatnonzero(rows.row_of_block == row)}
        self.first, self.last, self.words, self.linked, self.wrapped, self.lines, self.level = (
            int(getattr(rows, name)[row]) for name in FIELDS
        )
        self.marks = {mark for mark in RowMark if rows.has(mark)[row]}

    @property
    def content(self) -> bool:
        """Tell whether the block is content."""
        return RowMark.CONTENT in self.marks

    @content.setter
    def content(self, value: bool) -> None:
        (self.marks.add if value else self.marks.discard)(RowMark.CONTENT)

    def take(self, other: Block) -> None:
        """Merge the next block into this one."""
        self.members |= other.members
        self.last = other.last
        self.words += other.words
        self.linked += other.linked
        self.wrapped += other.wrapped
        self.lines += other.lines
        self.level = min(self.level, other.level)
        self.marks |= other.marks


def fused(blocks: list[Block], joins: Any) -> list[Block]:
    """Merge each block into the previous result if ``joins`` returns True for both."""
    result: list[Block] = []
    for block in blocks:
        if result and joins(result[-1], block):
            result[-1].take(block)
        else:
            result.append(block)
    return result


def ruled(blocks: list[Block], rule: Any, number: Any) -> None:
    """Classify all blocks by a rule."""
    links = [block.linked / max(1, block.words) for block in blocks]
    for block, value in zip(blocks, slowly(rule, links, [number(block) for block in blocks]), strict=True):
        block.content = value


def largest_of(blocks: list[Block], *, of_level: bool) -> None:
    """Keep the largest block, and large blocks of its level around it up to a block of a lower level."""
    if len(blocks) < 2:
        return
    largest = max((block for block in blocks if block.content), key=lambda block: block.words, default=None)
    for block in blocks:
        block.content = block is largest
        block.marks.add(RowMark.LARGEST if block is largest else RowMark.SMALLER)
    if of_level and largest:
        place = blocks.index(largest)
        for side in (blocks[:place][::-1], blocks[place + 1 :]):
            for block in side:
                if block.level < largest.level:
                    break
                if block.level == largest.level and block.words >= 150:
                    block.content = True


def up_to_title(blocks: list[Block]) -> None:
    """Keep the blocks between the title and the first content."""
    title = start = -1
    for place, block in enumerate(blocks):
        if start == -1 and RowMark.TITLE in block.marks:
            title = place
        if start == -1 and block.content:
            start = place
    if title != -1 and start > title:
        for block in blocks[title:start]:
            block.content = block.content or RowMark.SMALLER in block.marks


def slow_article(blocks: list[Block], *, twelve: bool) -> list[Block]:
    """Apply the filters of the ArticleExtractor."""
    if twelve:
        titles = [block for block in blocks if RowMark.TITLE in block.marks]
        for block in titles[1:]:
            block.marks.discard(RowMark.TITLE)
    ruled(blocks, slow_words, lambda block: block.words)
    dense, ended = 0, False
    for block in blocks:
        dense += block.words if block.content and block.wrapped / block.lines >= 9 else 0
        ended = ended or (RowMark.END in block.marks and dense >= 60)
        block.content = block.content and not ended
    for block in reversed(blocks) if twelve else ():
        if block.content and RowMark.HEADING not in block.marks:
            break
        block.content = False
    blocks = fused(blocks, lambda before, block: block.content and block.first - before.last <= 2)
    blocks = [block for block in blocks if block.content or (twelve and RowMark.TITLE in block.marks)]
    blocks = fused(
        blocks,
        lambda before, block: (
            before.content
            and block.content
            and block.first - before.last <= 2
            and (before.level == block.level or not twelve)
        ),
    )
    largest_of(blocks, of_level=twelve)
    up_to_title(blocks)
    largest = next((block for block in blocks if RowMark.LARGEST in block.marks), None)
    if twelve and largest:
        for block in blocks:
            block.content = block.content or (block.words >= 100 and block.level == largest.level)
        for block in blocks[blocks.index(largest) + 1 :]:
            is_item = RowMark.ITEM in block.marks and RowMark.SMALLER in block.marks
            if not (is_item and block.level > largest.level and not block.linked):
                break
            block.content = True
    return blocks


def slow_default(blocks: list[Block]) -> list[Block]:
    """Apply the filters of the DefaultExtractor."""
    blocks = fused(blocks, lambda before, block: before.wrapped * block.lines == block.wrapped * before.lines)
    ruled(blocks, slow_density, lambda block: block.wrapped / block.lines)
    return blocks


def run(rows: BlockRows, steps: tuple[Step, ...]) -> set[int]:
    """Return the blocks that are content after all steps."""
    for step in steps:
        rows = step(rows) if len(rows) else rows
    content = np.flatnonzero(rows.has(RowMark.CONTENT))
    return set(np.flatnonzero(np.isin(rows.row_of_block, content)).tolist())


@st.composite
def any_rows(draw: st.DrawFn) -> BlockRows:
    """Generate blocks that are affected by every rule and step."""
    row = st.tuples(
        st.sampled_from([0, 1, 3, 6, 12, 17, 30, 60, 100, 150, 151]),
        st.sampled_from([0.0, 0.0, 0.0, 0.4, 1.0]),
        st.sampled_from([1, 1, 2, 3]),
        st.integers(3, 5),
        st.sets(st.sampled_from([RowMark.TITLE, RowMark.END, RowMark.HEADING, RowMark.ITEM]), max_size=2),
    )
    drawn = draw(st.lists(row, min_size=1, max_size=14))
    words, links, lines, level, marks = (list(column) for column in zip(*drawn, strict=True))
    n = len(drawn)
    return BlockRows(
        first=np.arange(n),
        last=np.arange(n),
        words=np.array(words),
        linked=np.array([int(w * share) for w, share in zip(words, links, strict=True)]),
        wrapped=np.array(words),
        lines=np.array(lines),
        level=np.array(level),
        marks=np.array([sum(item) for item in marks], dtype=np.uint8),
        row_of_block=np.arange(n),
    )


@given(any_rows())
def test_chains_equal_slow_ones(rows: BlockRows) -> None:
    """Steps over columns decide like loops over blocks that are changed in place."""
    for steps, slow in (
        (DEFAULT_STEPS, slow_default),
        (ARTICLE_STEPS["nine"], lambda blocks: slow_article(blocks, twelve=False)),
        (ARTICLE_STEPS["twelve"], lambda blocks: slow_article(blocks, twelve=True)),
    ):
        blocks = slow([Block(rows, row) for row in range(len(rows))])
        assert run(rows, steps) == set().union(*(block.members for block in blocks if block.content))


LONG = "<p>" + "word " * 60 + "</p>"
LINKS = "<ul>" + "<li><a href=/>Some link</a></li>" * 4 + "</ul>"


def test_the_article_is_the_longest_run() -> None:
    """Text that is separated from the longest run by links is left out, except for the block before the run."""
    html = f"{LONG}{LINKS}<div>{LONG * 3}</div>{LINKS}<b>Imprint</b>"
    run = ["Some link", *[" ".join(["word"] * 60)] * 3]
    assert kept(BoilerpipeArticle(), html) == kept(BoilerpipeArticle("nine"), html) == run


def test_neighbours_of_equal_density_are_merged_first() -> None:
    """Two dense blocks are merged and followed by a short one, so they are removed, unlike by the plain rule."""
    html = f"{LONG}{LINKS}{LONG * 2}<p>End here"
    assert (len(kept(Density(), html)), len(kept(BoilerpipeDefault(), html))) == (4, 2)


def test_the_article_ends_where_comments_start() -> None:
    """Blocks after the heading of comments are removed if there is content before it."""
    assert len(kept(BoilerpipeArticle(), f"{LONG * 2}<p>Comments (2)</p>{LONG * 3}")) == 2
    assert len(kept(BoilerpipeArticle(), f"<p>Comments (2)</p>{LONG * 3}")) == 4


def test_text_of_options_and_noscript_is_ignored() -> None:
    """Text in options and noscript elements is removed, because boilerpipe's parser drops it."""
    html = f"<p>{'word ' * 30}</p><noscript>{LONG}</noscript><select><option>{'word ' * 40}</select>"
    assert len(kept(BoilerpipeArticle(), html)) == 1


def test_explanations_name_the_step() -> None:
    """The explanation names the last filter that changed a block."""
    page = page_of(f"<p>Head</p>{LONG}{LINKS}<div>{LONG * 2}</div><p>End")
    notes = BoilerpipeArticle().explain(page)
    assert notes[1] == "keep the largest and its level"
    assert notes[2] == ""
    assert notes[-2] == notes[-3] == "classify by words"
    assert BoilerpipeDefault().explain(page_of(f"{LONG}<p>End"))[0] == "classify by density"


def test_unknown_steps() -> None:
    """The error for an unknown chain lists the known ones."""
    with pytest.raises(UsageError, match="nine, twelve"):
        BoilerpipeArticle("ten").score(page_of(LONG))


@every_extractor
@settings(max_examples=30)
@given(html=messy_html)
def test_any_page_gets_scores(extractor: Any, html: str) -> None:
    """Scores are reproducible float32 values of 0 or 1, for boilerpipe's blocks and for the default ones."""
    for page in (page_of(html), blockml.parse(html)):
        scores = extractor.score(page)
        assert (scores.dtype, scores.shape) == (np.float32, (len(page.blocks),))
        assert set(scores.tolist()) <= {0.0, 1.0}
        assert np.array_equal(scores, extractor.score(page))
        assert len(extractor.explain(page)) == len(page.blocks)


@every_extractor
def test_blocks_are_those_of_boilerpipe(extractor: Any) -> None:
    """Inline tags don't separate blocks, and blocks without words are dropped."""
    result = blockml.extract("<p>one <b>two</b> <i>three</i></p><p>--</p>", model=extractor)
    assert result.page.blocks.texts == ("one two three",)
