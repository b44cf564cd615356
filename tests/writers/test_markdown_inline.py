"""Inline content: its normal form, and how Markdown writes it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

import blockml
from blockml.document.inline import LINE, LINK, Start, Token, normalised
from blockml.document.nodes import Break, Inline, Link, Mark, Picture, Span
from blockml.page.bounds import Budget
from blockml.writers.markdown_inline import InlineWriter

_TEXTS = [
    "",
    " ",
    "a",
    " b",
    "c ",
    " d e ",
    "!",
    "(f",
    "g.",
    "$1",
    "&",
    ";",
    "é",
    "1. h",
    "- i",
    "\xa0j",
    "k*",
    "[l]",
    LINE,
]


def _content(draw: random.Random, kinds: Sequence[str] = (LINK, *Mark), *, depth: int = 0) -> list[Token]:
    """Return random content; a page's equal marks are not nested when collected."""
    found: list[Token] = []
    for _ in range(draw.choice((0, 1, 1, 1, 2)) if depth else draw.randrange(1, 6)):
        if depth < 2 and draw.random() < 0.4:
            kind = draw.choice(kinds)
            inner = _content(draw, [other for other in kinds if other != kind], depth=depth + 1)
            found += (Start(kind, "https://a.example/" if kind == LINK else ""), *inner, None)
        else:
            found.append(Picture("/m.png", "m") if draw.random() < 0.02 else draw.choice(_TEXTS))
    return found


def _writer() -> InlineWriter:
    return InlineWriter(lambda address: address, Budget(blockml.parse("")))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["so ", Start(LINK, "/b"), " it ", None, "is"], "so [it](/b) is"),
        ([Start(Mark.STRONG), "$1", None, " or ", Start(Mark.CODE), "x*y", None], "**$1** or `x*y`"),
        ([Start(Mark.CODE), "x", Start(LINK, "/b"), "y", Start(Mark.STRONG), "z", None, None, None], "`x`[`yz`](/b)"),
        (["wow!", Start(LINK, "/b"), "b", None], "wow\\![b](/b)"),
        (["wow! ", Start(LINK, "/b"), "b", None], "wow! [b](/b)"),
        ([Start(Mark.STRONG), None, Start(Mark.EMPHASIS), "a", None], "*a*"),
    ],
)
def test_marks(content: list[Token], expected: str) -> None:
    """White space is moved out of marks."""
    assert _writer()(normalised(content)) == expected


def _texts(content: Iterable[Inline | Token]) -> str:
    """Return the letters and signs of content, without white space."""
    pieces = [
        item if isinstance(item, str) else _texts(item.content) if isinstance(item, Span | Link) else ""
        for item in content
    ]
    return "".join("".join(pieces).split())


def _check(content: tuple[Inline, ...], around: frozenset[str]) -> None:
    """Check the normal form of content inside of some marks."""
    before: Inline = Break()
    afters = (*content[1:], Break()) if content else ()
    for item, after in zip(content, afters, strict=True):
        if isinstance(item, str):
            assert item
            assert "  " not in item
            assert not isinstance(before, str)
            assert not (isinstance(before, Break) and item[0] == " ")
            assert not (isinstance(after, Break) and item[-1] == " ")
        elif isinstance(item, Span | Link):
            kind = item.mark if isinstance(item, Span) else LINK
            assert kind not in around
            assert item.content
            first, last = item.content[0], item.content[-1]
            assert not (isinstance(first, str) and first[0] == " ")
            assert not (isinstance(last, str) and last[-1] == " ")
            if isinstance(item, Span) and item.mark is not Mark.CODE:
                assert not (isinstance(before, Span) and before.mark is item.mark)
            _check(item.content, around | {kind})
        before = item


def test_normal_form() -> None:
    """Random content is in the normal form, with the same text."""
    draw = random.Random(8)  # noqa: S311 (not for cryptography)
    for _ in range(4000):
        content = _content(draw)
        found = normalised(content)
        assert _texts(found) == _texts(content)
        _check(found, frozenset())
