"""Many small things beside something long that is shared cost about what an ordinary page costs, in every output."""

from __future__ import annotations

from functools import cache

import pytest

from research.benchmarks.hostile.crossed import ALL_OUTPUTS, LONG, SMALL, page, seconds

SIZE, LARGE = 40_000, 200_000
#: Pairs that once took a time that grew with the square of the page, and a sample of the others.
KNOWN = [
    ("class", "MathML"), ("class", "pictures in blocks"), ("address", "pictures in blocks"), ("signs", "note marks"),
    ("word", "hidden paragraphs"), ("text before", "hidden copies"), ("formula", "brackets"), ("blanks", "note marks"),
    ("deep nesting", "nested pictures"), ("text of the page", "lines"),
]  # fmt: skip
PAIRS = [(long, small) for long in LONG for small in SMALL]
SAMPLE = [*((*pair, LARGE) for pair in KNOWN), *((*pair, SIZE) for pair in PAIRS[::61])]
#: Maximum time as a multiple of an ordinary page's: a square took hundreds. Shorter times don't count.
MAX_COST, SHORT = 60, 0.15


@cache
def ordinary(size: int) -> dict[str, float]:
    """Return the seconds of each output of an ordinary page, after everything is loaded."""
    seconds("", "", SIZE, list(ALL_OUTPUTS))
    return seconds("", "", size, list(ALL_OUTPUTS))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("long", "small", "size"), SAMPLE)
def test_small_things_do_not_read_what_they_share_again(long: str, small: str, size: int) -> None:
    """No output takes many times as long as that of an ordinary page of the same size, at least not three times."""
    slow = {"parse", *ALL_OUTPUTS}
    for _ in range(3):
        found = seconds(long, small, size, [name for name in ALL_OUTPUTS if name in slow])
        slow &= {name for name, taken in found.items() if taken > max(SHORT, MAX_COST * ordinary(size)[name])}
        if not slow:
            return
    raise AssertionError(f"{long} and {small}: {', '.join(sorted(slow))}")


@pytest.mark.parametrize("small", SMALL)
def test_pages_have_both_ingredients(small: str) -> None:
    """Each page has about the size that was asked for, and half of it is the many small things."""
    source = page("text before", small, SIZE)
    assert 0.6 * SIZE < len(source) < 1.2 * SIZE
