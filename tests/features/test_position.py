"""Positions of blocks and windows around them, by hand and compared with sums over each window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.features.page_context import PageContext
from blockml.features.position import WINDOWS, around, position

LONG = "word " * 12


def columns(html: str) -> dict[str, list[float]]:
    """Return the columns of both families by name."""
    view = PageContext(blockml.parse(html))
    found = {**position(view), **around(view)}
    return {name: np.broadcast_to(values, len(view)).astype(float).tolist() for name, values in found.items()}


def test_positions_by_hand() -> None:
    """Blocks of 2, 12, 1, 2 and 12 words under two headings have the expected positions."""
    found = columns(f"<h1>Title here</h1><p>{LONG}<h2><b>Sub</b></h2><p>short one<p>{LONG}")
    expected: dict[str, list[float]] = {
        "place": [0, 0.25, 0.5, 0.75, 1],
        "index": [0, 1, 2, 3, 4],
        "fromend": [4, 3, 2, 1, 0],
        "wordplace": [0, 2 / 29, 14 / 29, 15 / 29, 17 / 29],
        "wordsbefore": [0, 2, 14, 15, 17],
        "wordsafter": [27, 15, 14, 12, 0],
        "proseplace": [0, 0, 0.5, 0.5, 0.5],
        "heading": [1, 0, 2, 0, 0],
        "sinceh1": [0, 1, 2, 3, 4],
        "wordssinceh1": [0, 2, 14, 15, 17],
        "fromfirsth1": [0, 1, 2, 3, 4],
        "sinceheading": [0, 1, 0, 1, 2],
        "wordssinceheading": [0, 2, 0, 1, 3],
        "lastheading": [1, 1, 2, 2, 2],
        "untilheading": [0, 1, 0, 2, 1],
        "sinceprose": [-1, 0, 1, 2, 0],
        "untilprose": [1, 0, 2, 1, 0],
    }
    assert {name: found[name] for name in expected} == {name: pytest.approx(row) for name, row in expected.items()}


def test_positions_without_a_reference() -> None:
    """Distances have fixed values on a page without headings or running text."""
    found = columns("<p>one<p>two")
    for name in ("sinceh1", "wordssinceh1", "sinceheading", "wordssinceheading", "sinceprose", "untilprose"):
        assert found[name] == [-1, -1], name
    assert found["fromfirsth1"] == [-9999, -9999]
    assert found["lastheading"] == found["heading"] == [0, 0]
    assert found["untilheading"] == [2, 1]
    assert found["proseplace"] == [0, 0]


def test_blocks_before_the_first_h1_and_after_the_second() -> None:
    """One column counts from the nearest h1 before a block, and another from the first h1 of the page."""
    found = columns("<p>one<h1>two</h1><p>three<h1>four</h1><p>five")
    assert found["fromfirsth1"] == [-1, 0, 1, 2, 3]
    assert found["sinceh1"] == [-1, 0, 1, 0, 1]
    assert found["wordssinceh1"] == [-1, 0, 1, 0, 1]


def test_a_heading_contains_inline_elements() -> None:
    """A block is in a heading up to four levels above, and the higher of two headings counts."""
    inside = "<h3><span><i><b>one</b></i></span></h3><h2><span><i><b><u>two</u></b></i></span></h2>"
    assert columns(inside + "<h4><h1>three</h1></h4>")["heading"] == [3, 0, 1]


pages = st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), min_size=1, max_size=40)


@given(blocks=pages)
def test_windows_are_sums_over_blocks(blocks: list[tuple[int, int]]) -> None:
    """Windows end with the page, and smoothing sums over 12 blocks on each side."""
    html = "".join(f"<p>* {'w ' * free}<a>{'w ' * linked}</a>*</p>" for free, linked in blocks)
    found = columns(html)
    n = len(blocks)
    for reach in WINDOWS:
        for block in range(n):
            window = blocks[max(0, block - reach) : block + reach + 1]
            words, links = sum(map(sum, window)), sum(linked for _, linked in window)
            assert found[f"words{reach}around"][block] == words
            assert found[f"links{reach}around"][block] == pytest.approx(links / max(1, words))
    kernel = {k: math.exp(-k * k / 18) for k in range(-12, 13)}
    weight = {k: value / sum(kernel.values()) for k, value in kernel.items()}
    for block in range(n):
        near = [(weight[i - block], *blocks[i]) for i in range(n) if abs(i - block) <= 12]
        smooth = sum([w * min(60, free + linked) for w, free, linked in near])
        smooth_links = sum([w * min(60, linked) for w, _, linked in near])
        assert found["blurredwords"][block] == pytest.approx(smooth)
        assert found["blurredlinks"][block] == pytest.approx(smooth_links / max(0.1, smooth))
