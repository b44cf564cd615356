"""Weak labels from element names, classes, ids and roles."""

from __future__ import annotations

import pytest

import blockml
from blockml.datasets import TextGold
from blockml.datasets.weak_labels import weak_labels


def labels_of(html: str, content: str = "", page_type: str | None = None) -> list[str]:
    """Return the labels of the blocks of a page, with a question mark for unknown ones."""
    page = blockml.parse(html)
    labels = weak_labels(page, TextGold(content).label(page), page_type=page_type)
    assert labels.labels is not None
    return [str(label) if known else "?" for label, known in zip(labels.labels, labels.known, strict=True)]


@pytest.mark.parametrize(
    ("word", "label"),
    [
        (word, label)
        for label, words in {
            "comment": "comments-area commentlist comment_list disqus_thread commentSection",
            "related": "related-posts relatedArticles",
            "advertisement": "ads adsbygoogle ad-slot-3",
            "footer": "site-footer colophon",
            "navigation": "main-nav navbar breadcrumbs",
            "other": "cookie-banner",
            "?": "no-comments comments-off shadow adsorption footnote navy unrelated entry-content header",
        }.items()
        for word in words.split()
    ],
)
def test_words_of_classes_and_ids(word: str, label: str) -> None:
    """Whole words match, in a class with other words or as an id."""
    assert labels_of(f"<div class='x {word}'><p>Text</div>") == [label]
    assert labels_of(f"<div id='{word}'><p>Text</div>") == [label]


def test_elements_and_roles() -> None:
    """Elements and roles give labels without any class."""
    html = "<nav>One</nav><div role=navigation>Two</div><footer>Three</footer><div role=contentinfo>Four</div>"
    assert labels_of(html) == ["navigation", "navigation", "footer", "footer"]


def test_the_nearest_name_wins_except_in_the_footer() -> None:
    """The nearest ancestor with a known name gives the label, but everything in the footer is footer."""
    assert labels_of("<div class=side-nav><div class=related><p>One</div><p>Two</div>") == ["related", "navigation"]
    assert labels_of("<footer><nav>One</nav><div class=comments>Two</div></footer>") == ["footer", "footer"]


def test_footers_of_articles_and_sections_are_unknown() -> None:
    """The footer of an article or section, which often contains a byline, gives no label."""
    assert labels_of("<article><footer>One</footer></article><section class=footer>Two</section>") == ["?", "?"]


def test_names_of_the_body_and_of_links_give_no_label() -> None:
    """A class of the body or of a link doesn't label its text, because it only says that there are comments."""
    assert labels_of("<body class=comments><p>One<p><a class=comments>Two</a>") == ["?", "?"]


def test_main_content_comes_from_the_gold() -> None:
    """Headings are labelled by element, and blocks whose gold contradicts their name are unknown."""
    html = "<h2>Cats rule</h2><p>They do.<div class=comments><p>They don't, though.</div><p>Else"
    assert labels_of(html, "Cats rule They do.") == ["heading", "main", "comment", "?"]
    assert labels_of(html, "Cats rule They do. They don't, though.") == ["heading", "main", "?", "?"]


def test_half_covered_blocks_are_unknown() -> None:
    """A block that is only partly covered by the gold is unknown."""
    assert labels_of("<p>one two three four five", "one two three") == ["?"]
    assert labels_of("<nav>one two three four five</nav>", "one two") == ["?"]


def test_forums() -> None:
    """Comments on forum pages are main content or unknown."""
    html = "<div class=comments><p>First post here<p>Second post here</div><nav>Menu</nav>"
    assert labels_of(html, "First post here", "forum") == ["main", "?", "navigation"]


def test_a_page_without_blocks() -> None:
    """A page without blocks has no labels."""
    assert labels_of("") == []
