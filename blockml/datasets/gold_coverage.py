"""Coverage of a page by its gold text: running text after the end of the gold, and repetitions in the gold.

Both checks compare the page with the gold and use no extractor, so pages can be selected by them for training and
evaluation without favouring any extractor.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Page

#: Words per shingle for matching blocks with the gold (our choice: shingles of three rarely match by coincidence).
_SHINGLE = 3
#: Words per shingle for counting repetitions in the gold (our choice: longer than a turn of phrase).
_COPY = 8
#: Running text has at least this many words, less than half of them in links (Kohlschütter et al. 2010 found that
#: blocks of 17 words or more are text rather than template).
_RUNNING_WORDS = 17
#: A block is covered if at least the first share of its shingles is in the gold, and uncovered below the second.
_COVERED, _UNCOVERED = 0.7, 0.3
#: A layout position holds content if it has at least this share, and this many words, of the covered running text:
#: teasers and comments that happen to repeat a sentence of the gold have less.
_POSITION_SHARE, _POSITION_WORDS = 0.3, 50

#: Phrasing elements, which do not make a layout position (HTML Standard, 4.5).
_PHRASES = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var".split()
)
_DIGITS = re.compile(r"\d+")
#: Headings of comments and related articles (our choice).
_OTHER_PART = re.compile(
    r"\W*(?:\d+ )?(?:(?:reader |your )?comments?|responses?|related (?:stories|articles|posts|links|news)|more stories|"
    r"see also)\b\W*(?:\(?\d*\)?|on .*)$",
    re.IGNORECASE,
)


class UncoveredText(NamedTuple):
    """Running text after the last block that the gold covers."""

    words: int
    begins: str  #: First words of the text.


def uncovered_text(page: Page, owner: NDArray[np.int32], tokens: list[str], gold: list[str]) -> UncoveredText:
    """Measure the running text after the gold's last block, at the layout positions where the gold's text is.

    Two blocks have the same layout position if the elements around them have the same names and classes up to the root:
    the paragraphs of an article do, and so do the posts of a thread, but a paragraph and a teaser next to it don't.
    Nothing is counted if a heading in between announces comments or related articles.

    Parameters
    ----------
    page
        The page.
    owner, tokens
        Block index of each word and the words, from :func:`blockml.datasets.gold.block_tokens`.
    gold
        Words of the gold text.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets.gold import block_tokens
    >>> from blockml.text.words import metric_tokens
    >>> texts = [" ".join(f"{word}{i}" for i in range(60)) for word in ("cat", "dog", "cow")]
    >>> page = blockml.parse("".join(f"<p>{text}</p>" for text in texts))
    >>> uncovered_text(page, *block_tokens(page), metric_tokens(texts[0]))
    UncoveredText(words=120, begins='dog0 dog1 dog2 dog3 dog4 dog5')
    """
    blocks = page.blocks
    words = np.bincount(owner, minlength=len(blocks))
    running = np.flatnonzero((words >= _RUNNING_WORDS) & (2 * blocks.n_linked < blocks.n_words))
    words = words[running]
    share = _covered_share(len(blocks), owner, tokens, gold)[running]
    is_covered = share >= _COVERED
    positions = _layout_positions(page, running)
    covered_words = np.bincount(positions[is_covered], words[is_covered], minlength=len(running) + 1)
    is_content = covered_words[positions] >= max(_POSITION_WORDS, _POSITION_SHARE * float(words[is_covered].sum()))
    end = np.flatnonzero(is_content & is_covered)[-1:]
    after = np.flatnonzero(is_content & (share < _UNCOVERED))
    after = after[after > end] if len(end) else after[:0]
    if not len(after):
        return UncoveredText(0, "")
    last, first = int(running[end[0]]), int(running[after[0]])
    if any(_OTHER_PART.match(text) for text in blocks.texts[last + 1 : first]):
        return UncoveredText(0, "")
    return UncoveredText(int(words[after].sum()), " ".join(blocks.texts[first].split()[:6]))


def _covered_share(n_blocks: int, owner: NDArray[np.int32], tokens: list[str], gold: list[str]) -> NDArray[np.float64]:
    """Return the (n_blocks,) share of the shingles of each block that occur in the gold."""
    codes, gold_codes = _shingles(tokens, gold, _SHINGLE)
    starts = owner[: len(codes)]
    inside = starts == owner[_SHINGLE - 1 :][: len(codes)]  # shingles within one block
    in_gold = np.bincount(starts[inside & np.isin(codes, gold_codes)], minlength=n_blocks)
    return in_gold / np.maximum(1, np.bincount(starts[inside], minlength=n_blocks))


def _layout_positions(page: Page, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the (n_rows,) index of the layout position of each given block."""
    nodes = page.nodes
    numbers: dict[tuple[int, str, str], int] = {}  # by position of the parent, name and classes
    position_of = {-1: -1}  # by element
    for parent in page.blocks.parent[rows].tolist():
        chain = []
        element = parent
        while element not in position_of:
            chain.append(element)
            element = int(nodes.parent[element])
        position = position_of[element]
        for node in reversed(chain):
            if (name := nodes.name(node)) not in _PHRASES:
                # Digits are dropped because classes may number the posts of a thread.
                classes = _DIGITS.sub("", nodes.attributes[node].get("class", ""))
                position = numbers.setdefault((position, name, classes), len(numbers))
            position_of[node] = position
    found = [position_of[parent] for parent in page.blocks.parent[rows].tolist()]
    return np.unique(np.array(found, dtype=np.int64), return_inverse=True)[1].astype(np.int64)


def _shingles(page: list[str], gold: list[str], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code of the shingle that starts at each word of two texts; empty if either text is too short."""
    if min(len(page), len(gold)) < size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    numbers: dict[str, int] = {}
    words = [
        np.array([numbers.setdefault(word, len(numbers)) for word in text], dtype=np.int64) for text in (page, gold)
    ]
    codes = words
    for step in range(1, size):  # codes are renumbered after each word, so that they stay small
        longer = [code[:-1] * (len(numbers) + 1) + word[step:] for code, word in zip(codes, words, strict=True)]
        renumbered = np.unique(np.concatenate(longer), return_inverse=True)[1]
        codes = [renumbered[: len(longer[0])], renumbered[len(longer[0]) :]]
    return codes[0], codes[1]


def repeated_words(tokens: list[str], gold: list[str]) -> int:
    """Count the words in passages that the gold text repeats more often than the page.

    Passages that do not occur in the page are not counted.

    Parameters
    ----------
    tokens, gold
        Words of the page and of the gold text.

    Examples
    --------
    >>> text = "a text of more than eight words that occurs here once".split()
    >>> repeated_words(["home", *text], text + text), repeated_words(text + text, text + text)
    (11, 0)
    """
    page_codes, gold_codes = _shingles(tokens, gold, _COPY)
    if not len(gold_codes):
        return 0
    n = 1 + int(max(gold_codes.max(), page_codes.max()))
    in_page, in_gold = np.bincount(page_codes, minlength=n), np.bincount(gold_codes, minlength=n)
    excess = np.where(in_page > 0, np.maximum(0, in_gold - in_page), 0)
    # A copy of k words has k - 7 shingles; the number of copies is unknown, so one is assumed.
    return int(excess.sum()) + (_COPY - 1) * bool(excess.any())
