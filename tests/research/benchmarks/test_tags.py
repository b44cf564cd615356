"""The tag distribution of labelled pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import blockml
from blockml.datasets import TextGold, open_dataset
from research.benchmarks.papers.tags import main, tag_distribution, tag_points
from tests.refined import refined_lines

DATA = Path(__file__).parents[3] / "data"


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


def test_tags_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figure shows the shares of tags in the data set, and those of a chosen page."""
    target = tmp_path / "tags.html"
    assert main([str(DATA / "pages"), "-o", str(target), "--page", "short-article"]) == 0
    assert capsys.readouterr().out.startswith("tag ")
    html = target.read_text()
    assert html.count("<svg") == 2
    assert "Figure 2 for short-article" in html
    with pytest.raises(SystemExit):
        main([str(DATA / "pages"), "-o", str(target), "--page", "nothing"])
