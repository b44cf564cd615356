"""Paragraphs with marks: the fast path for simple ones equals the general one."""

from __future__ import annotations

import random

import pytest

from blockml.rendering import inline
from blockml.rendering.inline import inline_markdown
from blockml.rendering.spans import BREAK, Inline, Mark, Picture, Span

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
    BREAK,
]


def _content(draw: random.Random, *, depth: int = 0) -> list[Inline]:
    return [
        Span(draw.choice(list(Mark)), "https://a.example/", _content(draw, depth=depth + 1))
        if depth < 2 and draw.random() < 0.4
        else Picture("m", "/m.png")
        if draw.random() < 0.02
        else draw.choice(_TEXTS)
        for _ in range(draw.choice((0, 1, 1, 1, 2)) if depth else draw.randrange(1, 6))
    ]


@pytest.mark.parametrize("cell", [False, True])
def test_simple_marks_are_written_like_all_others(monkeypatch: pytest.MonkeyPatch, *, cell: bool) -> None:
    """Random paragraphs are the same with and without the fast path."""
    draw = random.Random(7)  # noqa: S311 (not for cryptography)
    contents = [_content(draw) for _ in range(4000)]
    found = [inline_markdown(content, cell=cell) for content in contents]
    spans = [content for content in contents if any(isinstance(item, Span) for item in content)]
    n_simple = sum(1 for content in spans if inline._with_simple_marks(content, cell=cell) is not None)
    assert n_simple > 300
    monkeypatch.setattr(inline, "_with_simple_marks", lambda *_, **__: None)
    assert found == [inline_markdown(content, cell=cell) for content in contents]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (["so ", Span(Mark.LINK, "/b", [" it "]), "is"], "so [it](/b) is"),
        ([Span(Mark.STRONG, "", ["$1"]), " or ", Span(Mark.CODE, "", ["x*y"])], "**$1** or `x*y`"),
        (["wow!", Span(Mark.LINK, "/b", ["b"])], "wow\\![b](/b)"),
        (["wow! ", Span(Mark.LINK, "/b", ["b"])], "wow! [b](/b)"),
        ([Span(Mark.STRONG, "", []), Span(Mark.EMPHASIS, "", ["a"])], "*a*"),
    ],
)
def test_marks(content: list[Inline], expected: str) -> None:
    """White space is moved out of marks."""
    assert inline_markdown(content) == expected
