"""Blocks in elements that are named for comments."""

from __future__ import annotations

import pytest

import blockml
from blockml.features.page_kind import in_comments


@pytest.mark.parametrize(
    "name",
    ["class=comments", "class='box comment-body'", "id=comment_12", "class=userComments", "class=commentBody",
     "id=Comments", "id=disqus_thread", "class=kommentare", "class=blog-comentarios"],
)  # fmt: skip
def test_names_of_comments(name: str) -> None:
    """Class or id, alone or with other words."""
    assert in_comments(blockml.parse(f"<p>Story</p><div {name}><p>One</p><p>Two</p></div>")).tolist() == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    "name",
    ["class=commented", "class=nocomments", "class=commentary", "class=noloaddisqus", "data-comments=7",
     "title='No comments'", "class=recommended", "id=respond-to-review-comments"],
)  # fmt: skip
def test_other_names(name: str) -> None:
    """Parts of other words, and other attributes, name no comments."""
    assert not in_comments(blockml.parse(f"<p>Story</p><div {name}><p>One</p></div>")).any()


def test_names_of_pages_and_headings_are_passed_over() -> None:
    """A body may say that it has comments, and a manual may have a section on them."""
    page = blockml.parse(
        "<html class=comments><body class='post comment-open'><h2 id=comments>Comments</h2><p>Story</p>"
        "<p class=comment>One</p>"
    )
    assert in_comments(page).tolist() == [False, False, True]


def test_a_page_without_blocks() -> None:
    """There is nothing to find."""
    assert in_comments(blockml.parse("")).shape == (0,)
