"""The tag distribution of labelled pages."""

from __future__ import annotations

from pathlib import Path

import blockml
from blockml.datasets import TextGold, open_dataset
from blockml.datasets.tags import tag_distribution, tag_points
from tests.refined import refined_lines

DATA = Path(__file__).parents[2] / "data"


def test_points_are_lines_of_the_refined_document() -> None:
    """Each point is the line of a start tag in the body."""
    page = blockml.parse("<ul><li>Menu</ul><p>One</p><p>Two<script>x</script></p><p>foot</p>")
    points = tag_points(page, TextGold("One Two").label(page))
    body = next(line.number for line in refined_lines(page.nodes) if line.value == "body")
    starts = {
        (line.number, line.value) for line in refined_lines(page.nodes) if line.kind == "start" and line.number >= body
    }
    assert set(zip(points.line.tolist(), points.tag, strict=True)) == starts
    assert [tag for tag, inside in zip(points.tag, points.inside, strict=True) if inside] == ["p"]


def test_page_without_content_has_nothing_inside() -> None:
    """If no block is content, no tag is inside."""
    page = blockml.parse("<p>One</p>")
    assert not tag_points(page, TextGold("").label(page)).inside.any()


def test_paragraphs_are_suggested_and_buttons_are_not() -> None:
    """In the pages of data/, paragraphs are inside the content and controls are outside, as in the paper."""
    rows = {row.tag: row for row in tag_distribution(open_dataset(DATA / "sites"))}
    assert rows["p"].suggested
    assert rows["p"].in_paper
    assert rows["p"].parent_of_main > rows["p"].parent_of_other
    assert not rows["nav"].suggested
    assert not rows["button"].suggested
