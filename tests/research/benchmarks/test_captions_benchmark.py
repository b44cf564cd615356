"""Captions and formulas of pages are found and counted."""

import numpy as np
import pytest

import blockml
from research.benchmarks.captions import Output, count_captions, count_formulas, figures, formulas, is_below, rows

PAGE = blockml.parse(
    "<p>Before.</p><figure><img src=/a.png srcset='b.png 2x'><figcaption>Two cats and a dog</figcaption></figure>"
    "<figure><img src=c.png><figcaption>A cat</figcaption></figure><figure><figcaption>No picture is here</figcaption>"
    "</figure><figure><img alt='a.b' src=data:image/png;base64,AA/><figcaption>No address is here</figcaption></figure>"
    "<p>After.</p><div class=wp-caption><img src=d.png><p class=wp-caption-text>Three cats on mats</div>",
    url="https://a.example/",
)
FORMULAS = blockml.parse(
    "<p>So <span class=katex><math><msup><mi>speed</mi><mn>2</mn></msup><annotation encoding=application/x-tex>speed^2"
    "</annotation></math><span class=katex-html>speed2</span></span> and <script type=math/tex>a_1 &lt; b</script> and "
    "<math alttext=x></math>.</p>"
)
WIKI = blockml.parse(
    "<p>So <img class=mwe-math-fallback-image-inline alt='{\\displaystyle s_{i}}'>.</p>"
    "<img src='//latex.codecogs.com/a' alt='a^2<br />'>"
)


def outputs(page: blockml.Page, text: str) -> Output:
    """Return an output with the same text and Markdown that keeps all blocks."""
    return Output(text, text, np.ones(len(page.blocks), dtype=bool))


def test_figures_have_a_picture_and_a_caption_of_three_words() -> None:
    """Figures and elements of caption classes with a picture and three words are found with all addresses."""
    assert [(sorted(figure.addresses), figure.caption) for figure in figures(PAGE)] == [
        (["//a.example/a.png", "//a.example/b.png"], "Two cats and a dog"),
        (["//a.example/d.png"], "Three cats on mats"),
    ]


@pytest.mark.parametrize(
    ("text", "n_pictures", "n_captions"),
    [
        ("Before.\n\nAfter.", 0, 0),
        ("Before.\n\n![x](https://a.example/b.png)\n\nAfter.", 1, 0),
        ("Before.\n\n[![x](/a.png)](/l)\n\n*Two [cats](/c)* and a dog\n\nAfter.", 1, 1),
        ("Two cats and a dog\n\n![x](/a.png)\n\nAfter.", 1, 0),
    ],
)
def test_captions_are_below_their_picture(text: str, n_pictures: int, n_captions: int) -> None:
    """Only figures between kept texts count, and a caption before its picture is not below it."""
    counts = count_captions(PAGE, outputs(PAGE, text))
    assert (counts["figures"], counts["pictures"], counts["captions"]) == (1, n_pictures, n_captions)


def test_a_caption_far_below_is_not_that_of_the_picture() -> None:
    """A caption after a paragraph does not count."""
    assert not is_below("Two cats and a dog", ")\n\n" + "word " * 30 + "Two cats and a dog")


def test_formulas_are_found_once() -> None:
    """MathJax scripts take the place of the MathML that they make, and TeX without a sign is not counted."""
    assert [formula.tex for formula in formulas(FORMULAS)] == ["a_1<b"]
    assert [formula.tex for formula in formulas(WIKI)] == ["s_{i}", "a^2"]


@pytest.mark.parametrize(
    ("text", "n_missing", "n_repeated"),
    [("So $speed^2$.", 0, 0), ("So .", 1, 0), ("So $speed^2$ $speed^2$.", 0, 1), ("So $speed^2$ s p e e d 2.", 0, 1)],
)
def test_missing_and_repeated_formulas_are_counted(text: str, n_missing: int, n_repeated: int) -> None:
    """TeX that is missing, written twice, or written with its characters is counted."""
    source = FORMULAS.source or ""
    page = blockml.parse(source.replace("script", "b"))
    counts = count_formulas(page, outputs(page, text))
    assert counts["formulas"] == 1
    assert (counts["text missing"], counts["text repeated"]) == (n_missing, n_repeated)
    assert (counts["Markdown missing"], counts["Markdown repeated"]) == (n_missing, n_repeated)


def test_numbers_of_formulas_are_passed_over() -> None:
    """A formula between two kept paragraphs counts if its removed number is between them, but not with other text."""
    for number, n_formulas in (("(1)", 1), ("Share", 0)):
        page = blockml.parse(f"<p>So</p><div><math alttext='x^2'></math></div><div>{number}</div><p>and more.</p>")
        kept = np.array([True, False, True])
        assert count_formulas(page, Output("", "", kept))["formulas"] == n_formulas


def test_rows_have_shares_of_figures_and_formulas() -> None:
    """Captions are a share of written pictures, and formulas written once a share of all."""
    counts = count_captions(PAGE, outputs(PAGE, "![x](/a.png)\n\nTwo cats and a dog"))
    (row,) = rows({"x": counts + count_formulas(WIKI, outputs(WIKI, "So s_{i}. a^2"))})
    assert row["caption below a written picture"] == "1.000"
    assert row["once in text (missing, repeated)"] == "1.000 (0, 0)"
