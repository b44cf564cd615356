"""Conversion of each kind of gold to block labels."""

from __future__ import annotations

import numpy as np
import pytest

import blockml
from blockml.datasets import RegionGold, RunGold, SnippetGold, TextGold, ignored_text
from blockml.datasets.annotated import split_annotation
from blockml.evaluation import bag_scores
from blockml.page import MAIN_LABELS, Label

BLOCKS = ("home news", "cats rule", "cats are great and furry", "about cats", "copyright")
PAGE = "".join(f"<p>{text}</p>" for text in BLOCKS)


def test_text_gold_labels_blocks_by_alignment() -> None:
    """With seven matching words (ME-5.2), the second and third block are content."""
    labels = TextGold("cats rule cats are great and very furry").label(blockml.parse(PAGE))
    assert labels.share.tolist() == [0, 1, 1, 0, 0]
    assert labels.main.tolist() == [False, True, True, False, False]
    assert labels.known.all()


def test_empty_text_gold_labels_nothing() -> None:
    """Without gold words no block is content."""
    assert not TextGold("").label(blockml.parse(PAGE)).main.any()


def test_text_gold_prefers_the_copy_next_to_the_body() -> None:
    """A title that is both in a breadcrumb and in a heading is aligned with the heading."""
    page = blockml.parse("<li>My long title</li><p>x y z</p><h1>My long title</h1><p>Body of the text</p>")
    assert TextGold("My long title Body of the text").label(page).main.tolist() == [False, False, True, True]


def test_snippet_gold_labels_only_blocks_with_snippets() -> None:
    """Blocks without a snippet are unknown."""
    labels = SnippetGold(("Cats are GREAT",), ("copyright",)).label(blockml.parse(PAGE))
    assert labels.main.tolist() == [False, False, True, False, False]
    assert labels.known.tolist() == [False, False, True, False, True]


def test_nested_annotation_belongs_to_the_innermost_span() -> None:
    """A block of three words of full text and two of a comment (ME-5.1) is full text."""
    html, gold = split_annotation(
        "<p><span class=x-nc-sel2>Full text here <span class=x-nc-sel5>nice post</span></span></p>"
    )
    page = blockml.parse(html)
    assert [block.text for block in page.blocks] == ["Full text here nice post"]
    assert gold.matches(page)
    assert gold.label(page).labels == (Label.MAIN,)
    assert gold.label(page).share[0] == pytest.approx(0.6)


def test_removing_annotation_restores_the_page() -> None:
    """Only annotation spans are removed; other spans, scripts and comments that mention spans are kept."""
    page = (
        "<body><!-- <span class=x-nc-sel1> --><script>s='<span class=x-nc-sel2>'</script>"
        "<span class=a>x</span><div>A<b>B</b></div></body>"
    )
    annotated = page.replace("A<b>", '<SPAN class="x-nc-sel2">A</SPAN><b>').replace(
        "x</span>", '<span class="x-nc-sel0">x</span></span>'
    )
    clean, gold = split_annotation(annotated)
    assert clean == page
    assert gold.runs == (("x", Label.OTHER), ("A", Label.MAIN), ("B", Label.OTHER))


def test_annotation_on_other_elements_is_kept() -> None:
    """A class on a div labels its text, and the div stays in the page."""
    clean, gold = split_annotation('<div class="x-nc-sel3"><p>one</p></div><p>two</p>')
    assert clean == '<div class="x-nc-sel3"><p>one</p></div><p>two</p>'
    assert gold.runs == (("one", Label.SUPPLEMENT), ("two", Label.OTHER))


def test_run_gold_labels_blocks_of_any_profile() -> None:
    """Runs label the blocks of any segmentation, and the first label wins a tie."""
    gold = RunGold((("One", Label.MAIN), ("two", Label.OTHER), ("three", Label.COMMENT)))
    html = "<p>One <b>two</b></p><p>three</p>"
    assert gold.label(blockml.parse(html)).labels == (Label.MAIN, Label.OTHER, Label.COMMENT)
    assert gold.label(blockml.parse(html, profile="boilerpipe")).labels == (Label.MAIN, Label.COMMENT)


def test_run_gold_of_an_edited_page_is_aligned() -> None:
    """Runs that differ from the page's text are aligned word by word."""
    gold = RunGold((("Menu", Label.NAVIGATION), ("A long text of many words", Label.MAIN)))
    page = blockml.parse("<li>Menu</li><li>New</li><p>A long text of very many words</p>")
    assert not gold.matches(page)
    assert gold.label(page).labels == (Label.NAVIGATION, Label.OTHER, Label.MAIN)


def test_wordless_block_is_labelled_by_its_characters() -> None:
    """In a block of punctuation, characters vote instead of words."""
    gold = RunGold((("***", Label.MAIN), ("end", Label.OTHER)))
    assert gold.label(blockml.parse("<p>***</p><p>end</p>")).labels == (Label.MAIN, Label.OTHER)


def test_run_gold_text_contains_the_main_labels() -> None:
    """The text consists of the runs with main labels, which can be passed as an argument."""
    gold = RunGold((("T", Label.HEADING), ("B", Label.MAIN), ("C", Label.COMMENT)))
    assert gold.text() == "T\nB"
    assert gold.text(MAIN_LABELS | {Label.COMMENT}) == "T\nB\nC"


def test_text_that_may_or_may_not_be_content() -> None:
    """Ambiguous text is not in the gold text, and blocks with mostly ambiguous words are unknown."""
    gold = RunGold((("By Ann", None), ("Cats rule the world", Label.MAIN), ("in May", None)))
    assert gold.text() == "Cats rule the world"
    separate = gold.label(blockml.parse("<p>By Ann</p><p>Cats rule the world</p><p>in May</p>"))
    assert separate.known.tolist() == [False, True, False]
    assert separate.main.tolist() == [False, True, False]
    assert separate.labels == (Label.OTHER, Label.MAIN, Label.OTHER)
    joined = gold.label(blockml.parse("<p>By Ann Cats rule</p><p>the world in May</p>"))
    assert joined.known.tolist() == [False, True]  # the first run wins a tie
    aligned = gold.label(blockml.parse("<p>By Ann</p><p>Cats rule the whole world</p><p>in May</p>"))
    assert aligned.known.tolist() == [False, True, False]


def test_the_inner_region_wins() -> None:
    """The innermost region labels a block, and blocks outside of all regions are unknown."""
    page = blockml.parse("<div><p>a</p><p>b</p></div><p>c</p>")
    gold = RegionGold(
        (("/html/body/div/p[2]", Label.COMMENT), ("/html/body/div", Label.MAIN), ("/html/body/ul", Label.MAIN))
    )
    labels = gold.label(page)
    assert labels.labels == (Label.MAIN, Label.COMMENT, Label.OTHER)
    assert labels.known.tolist() == [True, True, False]
    assert gold.missing(page) == ["/html/body/ul"]


def test_a_copy_of_a_long_text_is_needed_once() -> None:
    """An extraction with one copy or with both is right; cells and other short texts count each time."""
    line, short = "Cats rule the world from noon to six.", ("six", Label.MAIN)
    gold = RunGold(((line, Label.MAIN), ("Menu", Label.NAVIGATION), short, short, (line, Label.MAIN)))
    text = gold.text()
    assert text == f"{line}\nsix\nsix"
    for found in (f"{line} six six", f"{line} {line} six six"):
        assert bag_scores(text, found, ignored=ignored_text(gold)).f1 == 1
    page = blockml.parse(f"<p>{line}<p>Menu<p>six<p>six<p>{line}")
    assert gold.label(page).main.tolist() == [True, False, True, True, True]


@pytest.mark.parametrize(
    "gold", [TextGold("x"), RunGold((("x", Label.MAIN),)), SnippetGold(("x",), ()), RegionGold(())]
)
def test_pages_without_blocks_have_no_labels(gold: TextGold | RunGold | SnippetGold | RegionGold) -> None:
    """A page without blocks gives empty labels."""
    labels = gold.label(blockml.parse(""))
    assert len(labels.main) == len(labels.share) == len(labels.known) == 0
    assert labels.main.dtype == np.bool_
