"""How a gold text covers its page: what running text it leaves out, and whether it repeats itself.

Everything here compares two texts, the page's and the gold's. No extractor has a say, so that what is found can be
used to choose the pages that extractors are trained and judged on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from blockml.page import Nodes, Page

__all__ = ["LeftOut", "left_out", "repeated_words"]

#: Words in a shingle by which a block is looked for in the gold (our choice: as few as rarely meet by chance).
_SHINGLE = 3
#: Words in a shingle of which a repeated gold has more copies than the page (our choice: no turn of phrase).
_COPY = 8
#: A block is running text from this many words on, if less than half of them are links (Kohlschütter et al. 2010 find
#: blocks of 17 words and more to be text rather than template).
_RUNNING_WORDS = 17
#: Shares of a block's shingles in the gold: from the first on it is covered, below the second it is left out.
_COVERED, _MISSING = 0.7, 0.3
#: A place of the layout is where the content stands if this share of the covered running text stands there, and so
#: many words: teasers and comments that happen to repeat a sentence of the gold are no content.
_PLACE_SHARE, _PLACE_WORDS = 0.3, 50

#: Elements of phrases, which are no place of their own (HTML Standard, 4.5).
_PHRASES = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var".split()
)
_DIGITS = re.compile(r"\d+")
#: Blocks that announce text by others, or other articles (our choice, from reading pages).
_OTHER_PART = re.compile(
    r"\W*(?:\d+ )?(?:(?:reader |your )?comments?|responses?|related (?:stories|articles|posts|links|news)|more stories|"
    r"see also)\b\W*(?:\(?\d*\)?|on .*)$",
    re.IGNORECASE,
)


class LeftOut(NamedTuple):
    """Running text that the gold leaves out, though text at the same place of the layout is gold."""

    words: int
    """Words behind the last block that the gold covers."""
    begins: str
    """First words of it."""


@dataclass(frozen=True, slots=True)
class _Running:
    """The running text of a page, one entry per block of it."""

    block: NDArray[np.intp]
    words: NDArray[np.int64]
    covered: NDArray[np.float64]
    """Share of its shingles that stand in the gold."""


def left_out(page: Page, owner: NDArray[np.int32], tokens: list[str], gold: list[str]) -> LeftOut:
    """Measure the running text behind the gold's last block, at the places where the gold's own text stands.

    Two blocks stand at the same place if the elements around them have the same names and classes, all the way up:
    as the paragraphs of an article do, and the posts of a thread, but not a paragraph and a teaser beside it.
    Nothing counts if a heading in between announces comments or other articles.

    Parameters
    ----------
    page
        The page.
    owner, tokens
        Its words, as :func:`blockml.datasets.gold.block_tokens` gives them.
    gold
        Words of the gold text.

    Examples
    --------
    >>> import blockml
    >>> from blockml.datasets.gold import block_tokens
    >>> from blockml.text.tokens import metric_tokens
    >>> texts = [" ".join(f"{word}{i}" for i in range(60)) for word in ("cat", "dog", "cow")]
    >>> page = blockml.parse("".join(f"<p>{text}</p>" for text in texts))
    >>> left_out(page, *block_tokens(page), metric_tokens(texts[0]))
    LeftOut(words=120, begins='dog0 dog1 dog2 dog3 dog4 dog5')
    """
    running = _running(page, owner, tokens, gold)
    is_covered = running.covered >= _COVERED
    chosen = _content_places(page, running, is_covered)
    if not len(chosen):
        return LeftOut(0, "")
    last = int(chosen[is_covered[chosen]][-1])
    missing = chosen[(chosen > last) & (running.covered[chosen] < _MISSING)]
    if not len(missing):
        return LeftOut(0, "")
    first = int(running.block[missing[0]])
    if any(_OTHER_PART.match(text) for text in page.blocks.texts[int(running.block[last]) + 1 : first]):
        return LeftOut(0, "")
    return LeftOut(int(running.words[missing].sum()), " ".join(page.blocks.texts[first].split()[:6]))


def _content_places(page: Page, running: _Running, is_covered: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Running texts, in order, at the places of the layout where much of the gold's running text stands."""
    least = max(_PLACE_WORDS, _PLACE_SHARE * float(running.words[is_covered].sum()))
    numbers: dict[tuple[int, str, str], int] = {}
    known = {-1: -1}
    parents = page.blocks.parent[running.block].tolist()
    places = np.array([_place(page.nodes, parent, known, numbers) for parent in parents], dtype=np.int64)
    n = len(numbers) + 1
    covered = np.bincount(places[is_covered] + 1, running.words[is_covered], minlength=n)
    return np.flatnonzero(covered[places + 1] >= least)


def _place(nodes: Nodes, element: int, known: dict[int, int], numbers: dict[tuple[int, str, str], int]) -> int:
    """Number of the place of an element.

    ``known`` holds the places of elements seen before, ``numbers`` those of a name and classes inside a place; both
    grow.
    """
    chain = []
    while element not in known:
        chain.append(element)
        element = int(nodes.parent[element])
    place = known[element]
    for node in reversed(chain):
        name = nodes.name(node)
        if name not in _PHRASES:
            # Numbers in classes tell one post from the next.
            classes = _DIGITS.sub("", nodes.attributes[node].get("class", ""))
            place = numbers.setdefault((place, name, classes), len(numbers))
        known[node] = place
    return place


def _running(page: Page, owner: NDArray[np.int32], tokens: list[str], gold: list[str]) -> _Running:
    """Find the blocks of running text, and how much of each stands in the gold."""
    n = len(page.blocks)
    codes, gold_codes = _shingles(tokens, gold, _SHINGLE)
    starts, ends = owner[: len(codes)], owner[_SHINGLE - 1 :]
    inside = starts == ends  # shingles that cross no border of a block
    n_shingles = np.bincount(starts[inside], minlength=n)
    held = np.bincount(starts[inside & np.isin(codes, gold_codes)], minlength=n)
    words = np.bincount(owner, minlength=n)
    block = np.flatnonzero((words >= _RUNNING_WORDS) & (2 * page.blocks.n_linked < page.blocks.n_words))
    return _Running(block, words[block], held[block] / np.maximum(1, n_shingles[block]))


def _shingles(page: list[str], gold: list[str], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of the shingle that starts at each word of two texts; equal shingles have equal numbers."""
    numbers: dict[str, int] = {}
    words = [
        np.array([numbers.setdefault(word, len(numbers)) for word in text], dtype=np.int64) for text in (page, gold)
    ]
    codes = words
    for step in range(1, size):  # one word more each time, numbered anew: so no code grows too large
        longer = [
            code[:-1] * (len(numbers) + 1) + word[step:] for code, word in zip(codes, words, strict=True) if len(code)
        ]
        if len(longer) < len(words):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        anew = np.unique(np.concatenate(longer), return_inverse=True)[1]
        codes = [anew[: len(longer[0])], anew[len(longer[0]) :]]
    return codes[0], codes[1]


def repeated_words(tokens: list[str], gold: list[str]) -> int:
    """Count the words that a gold text has once more than the page.

    Words that the page hasn't got at all don't count.

    Examples
    --------
    >>> text = "a text of more than eight words that stands here once".split()
    >>> repeated_words(["home", *text], text + text), repeated_words(text + text, text + text)
    (11, 0)
    """
    page_codes, gold_codes = _shingles(tokens, gold, _COPY)
    if not len(gold_codes):
        return 0
    n = 1 + int(max(gold_codes.max(), page_codes.max(initial=0)))
    in_page, in_gold = np.bincount(page_codes, minlength=n), np.bincount(gold_codes, minlength=n)
    more = np.where(in_page > 0, np.maximum(0, in_gold - in_page), 0)
    # A copy of k words holds k - 7 shingles; how many copies there are doesn't show, so one is taken.
    return int(more.sum()) + (_COPY - 1) * bool(more.any())
