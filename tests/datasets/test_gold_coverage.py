"""Text of a page that its gold doesn't cover, and repetitions in gold."""

from __future__ import annotations

import pytest

import blockml
from blockml.datasets import block_tokens
from blockml.datasets.gold_coverage import repeated_words, uncovered_text
from blockml.text.words import metric_tokens


def text(name: str, n: int = 60) -> str:
    """Return a text of ``n`` words that occur in no other text."""
    return " ".join(f"{name}{i}" for i in range(n))


def n_uncovered(html: str, gold: str) -> int:
    """Return the number of uncovered words after the end of the gold."""
    page = blockml.parse(html)
    return uncovered_text(page, *block_tokens(page), metric_tokens(gold)).words


CASES = {
    "paragraphs behind the end": (f"<p>{text('a')}</p><p>{text('b')}</p><p>{text('c')}</p>", 120),
    "in another element": (f"<p>{text('a')}</p><div>{text('b')}</div>", 0),
    "in a box of another class": (f"<div><p>{text('a')}</p></div><div class=ad><p>{text('b')}</p></div>", 0),
    "in boxes of one class, numbers aside": (
        f"<div class='post post-1'><p>{text('a')}</p></div><div class='post post-22'><p>{text('b')}</p></div>",
        60,
    ),
    "phrasing elements make no position": (f"<p>{text('a')}</p><p><b>{text('b')}</b></p>", 60),
    "links": (f"<p>{text('a')}</p><p><a href=/>{text('b')}</a></p>", 0),
    "short blocks": (f"<p>{text('a')}</p><p>{text('b', 9)}</p><p>{text('c', 9)}</p>", 0),
    "comments by their heading": (f"<p>{text('a')}</p><h3>12 Comments:</h3><p>{text('b')}</p>", 0),
    "other articles by their heading": (f"<p>{text('a')}</p><b>Related stories:</b><p>{text('b')}</p>", 0),
    "a heading that only starts alike": (
        f"<p>{text('a')}</p><h3>Responses of cells to light</h3><p>{text('b')}</p>",
        60,
    ),
    "before the gold": (f"<p>{text('b')}</p><p>{text('a')}</p>", 0),
    "nothing": (f"<p>{text('a')}</p>", 0),
    "no running text": ("<p>a0 a1 a2</p>", 0),
    "no text at all": ("", 0),
}


@pytest.mark.parametrize(("html", "words"), CASES.values(), ids=CASES)
def test_uncovered_text(html: str, words: int) -> None:
    """Running text after the gold is counted only if it is at the layout position of gold text."""
    assert n_uncovered(html, text("a")) == words


def test_a_sentence_quoted_elsewhere_is_not_a_position() -> None:
    """A layout position isn't one of content if it only repeats a small part of the gold."""
    teasers = f"<li>{text('a', 30)}</li><li>{text('b', 200)}</li>"
    assert n_uncovered(f"<p>{text('a', 300)}</p>{teasers}", text("a", 300)) == 0


def test_first_words_of_uncovered_text() -> None:
    """The reported first words are spelt as on the page."""
    page = blockml.parse(f"<p>{text('a')}</p><p>Then {text('B')}</p>")
    assert uncovered_text(page, *block_tokens(page), metric_tokens(text("a"))).begins == "Then B0 B1 B2 B3 B4"


@pytest.mark.parametrize(
    ("page", "gold", "words"),
    [
        ("a", "a", 0),
        ("a", "aa", 60),
        ("aa", "aa", 0),
        ("aab", "ab", 0),
        ("ab", "abb", 60),
        ("a", "abb", 0),
        ("", "aa", 0),
        ("a", "", 0),
    ],
)
def test_repeated_words(page: str, gold: str, words: int) -> None:
    """Passages that the gold contains more often than the page are repeated; each letter represents sixty words."""
    texts = {letter: text(letter).split() for letter in "ab"}
    tokens, wanted = ([word for letter in letters for word in texts[letter]] for letters in (page, gold))
    assert repeated_words(tokens, wanted) == words


def test_short_texts_repeat_nothing() -> None:
    """Seven words are fewer than a shingle, so none is counted as repeated."""
    words = text("a", 7).split()
    assert repeated_words(words, words) == repeated_words([], []) == 0
