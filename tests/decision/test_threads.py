"""What a kept thread needs: the authors and bodies of its posts, without what is beside them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.decision.comments import thread_changes
from blockml.posts import find_posts
from tests.reported import reported

POST = (
    "<div class=post><h2>Rye</h2><b class=author>{}</b> 2026-01-02<div class=content><p>It is a flour of rye."
    "</p><p>And of oats.</p></div><a>Quote</a></div>"
)
PAGE = blockml.parse("<p>Flour</p>" + "".join(map(POST.format, ["Ann", "Bo", "Cy"])))
POSTS = find_posts(PAGE)
MASK = st.lists(st.booleans(), min_size=len(PAGE.blocks), max_size=len(PAGE.blocks)).map(np.array)


def test_profiles_and_buttons_of_a_forum() -> None:
    """Author lines stay; what is expected to be left out is."""
    html, expected = reported("54")
    markdown = blockml.extract(html).markdown
    assert "Posts:" in expected
    assert markdown.count("Post by ") == 3
    assert not any(text in markdown for text in ("Posts:", "Regular", "Joined", "Quote", "Pike are people"))


@pytest.mark.parametrize("name", ["31-stackoverflow", "54-phpbb", "212-thread"])
def test_a_lower_threshold_never_keeps_less_of_a_thread(name: str) -> None:
    """What is beside a body is removed at every threshold alike."""
    html = (Path(__file__).parents[1] / "reported_pages" / f"{name}.html").read_bytes()
    before = blockml.extract(html, threshold=0.95).kept
    for threshold in (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0):
        kept = blockml.extract(html, threshold=threshold).kept
        assert not (before & ~kept).any()
        before = kept


@given(MASK, MASK, MASK, MASK, MASK)
def test_more_kept_blocks_never_mean_less(
    kept: np.ndarray, likely: np.ndarray, by_model: np.ndarray, more: np.ndarray, more_likely: np.ndarray
) -> None:
    """What is added is likely or in a header, and grows with what is kept; bodies are never cut."""
    added, removed = thread_changes(POSTS, PAGE.blocks, kept, likely, by_model)
    headers = [row for post in POSTS for row in post.header]
    bodies = [row for post in POSTS for row in post.body]
    assert not (added & kept).any()
    assert not (removed & ~kept).any()
    assert {*np.flatnonzero(added & ~likely).tolist()} <= {*headers}
    assert not removed[[*headers, *bodies]].any()
    grown = kept | more
    added_later, removed_later = thread_changes(POSTS, PAGE.blocks, grown, likely | more_likely, by_model)
    assert not ((kept | added) & ~removed & ~((grown | added_later) & ~removed_later)).any()


def test_what_is_removed_from_posts() -> None:
    """The first post keeps its title; without a known author, or with one kept body, nothing is removed."""
    all_kept = np.ones(len(PAGE.blocks), dtype=bool)
    added, removed = thread_changes(POSTS, PAGE.blocks, all_kept, all_kept, all_kept)
    assert not added.any()
    assert [PAGE.blocks.texts[row] for row in np.flatnonzero(removed)] == ["Quote", "Rye", "Quote", "Rye", "Quote"]
    nameless = [replace(post, author=None) for post in POSTS]
    only_first = np.zeros(len(PAGE.blocks), dtype=bool)
    only_first[[*POSTS[0].body]] = True
    for posts, by_model in ((nameless, all_kept), (POSTS, only_first)):
        assert not thread_changes(posts, PAGE.blocks, all_kept, all_kept, by_model)[1].any()
