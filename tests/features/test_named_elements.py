"""Elements that are named as comments or as sidebars."""

from __future__ import annotations

import pytest

import blockml
from blockml.page.element_names import COMMENTS, SIDEBARS, blocks_in


@pytest.mark.parametrize(
    "name",
    ["class=comments", "class='box comment-body'", "id=comment_12", "class=userComments", "class=commentBody",
     "id=Comments", "id=disqus_thread", "class=kommentare", "class=blog-comentarios"],
)  # fmt: skip
def test_names_of_comments(name: str) -> None:
    """Comments are recognised by a class or id, also among other words."""
    assert blocks_in(blockml.parse(f"<p>Story</p><div {name}><p>One</p><p>Two</p></div>"), COMMENTS).tolist() == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    "name",
    ["class=commented", "class=nocomments", "class=commentary", "class=noloaddisqus", "data-comments=7",
     "title='No comments'", "class=no-comments", "class=hasComments", "class=commentOnSelection",
     "class=comments-open", "class=recommended", "id=respond-to-review-comments",
     "class=testimonials-comment", "class=Testimonials_comments-comment-text"],
)  # fmt: skip
def test_other_names(name: str) -> None:
    """Parts of other words and other attributes don't mark comments."""
    assert not blocks_in(blockml.parse(f"<p>Story</p><div {name}><p>One</p></div>"), COMMENTS).any()


def test_names_of_pages_and_headings_are_ignored() -> None:
    """A name on the body or on a heading doesn't mark comments."""
    page = blockml.parse(
        "<html class=comments><body class='post comment-open'><h2 id=comments>Comments</h2><p>Story</p>"
        "<p class=comment>One</p>"
    )
    assert blocks_in(page, COMMENTS).tolist() == [False, False, True]


@pytest.mark.parametrize(
    "name",
    ["class=sidebar", "class='col-4 Sidebar'", "id=sidebar", "id=sidebar2", "class=left-sidebar", "class=sidebar-right",
     "class=Sidebar-Left", "class=sidebars", "class='module-typelist module'", "id=rightSidebar-sidebar"],
)  # fmt: skip
def test_names_of_sidebars(name: str) -> None:
    """Sidebars are recognised by a class or id, also with a word for the kind or side."""
    page = blockml.parse(f"<p>Story</p><div {name}><p>One</p><p>Two</p></div>")
    assert blocks_in(page, SIDEBARS).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "name",
    ["class=no-sidebar", "class=has-sidebar", "id=content-sidebar-wrap", "class=with-sidebar-left",
     "class=sidebar-layout", "class=sidebarless-page", "data-sidebar=1", "title=sidebar", "id='my sidebar'"],
)  # fmt: skip
def test_names_of_layouts_with_sidebars(name: str) -> None:
    """Names of layouts with a sidebar, other attributes and parts of words don't mark a sidebar."""
    assert not blocks_in(blockml.parse(f"<p>Story</p><div {name}><p>One</p></div>"), SIDEBARS).any()


def test_a_page_without_blocks() -> None:
    """A page without blocks gives an empty array."""
    assert blocks_in(blockml.parse(""), COMMENTS).shape == (0,)
    assert blocks_in(blockml.parse(""), SIDEBARS).shape == (0,)
