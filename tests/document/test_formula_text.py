"""Formulas in plain text: TeX, written once, in the place where the page shows it."""

import numpy as np
import pytest

import blockml
from blockml import render
from tests.rendered import render_markdown, render_text
from tests.reported import reported

MATH = "<math><msup><mi>x</mi><mn>2</mn></msup></math>"
KATEX = (
    "<span class=katex><span class=katex-mathml><math><semantics><mrow><mi>x</mi></mrow>"
    "<annotation encoding='application/x-tex'>x</annotation></semantics></math></span>"
    "<span class=katex-html aria-hidden=true><span>x</span></span></span>"
)
SEEN = "<span class=MathJax><nobr><span>x</span><span>2</span></nobr></span>"


@pytest.mark.parametrize("name", ["06", "83"])
def test_reported_pages_have_formulas_once(name: str) -> None:
    """Formulas of KaTeX and Wikipedia occur once, even displayed ones outside the kept blocks."""
    page, expected = reported(name)
    assert blockml.extract(page).text == expected.partition("PLAIN TEXT\n")[2].strip()


@pytest.mark.parametrize("name", ["07", "08"])
def test_reported_pages_have_formulas_in_markdown(name: str) -> None:
    """MathML without TeX and formulas in scripts are written as TeX in Markdown."""
    page, expected = reported(name)
    written = render(blockml.extract(page), "markdown", with_title=False)
    right = [part for part in expected.partition("MARKDOWN\n")[2].strip().split("\n\n") if "$" in part]
    assert [part for part in written.split("\n\n") if "$" in part and "eqno" not in part][-len(right) :] == right


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (f"<p>So {MATH}, then.", "So x^{2}, then."),
        (f"<p>{MATH} is", "x^{2} is"),
        (f"<p>So {KATEX}. And {KATEX}{KATEX} here", "So x. And x x here"),
        (f"<p>So <span class=MathJax_Preview>x2</span>{SEEN}<script type=math/tex>x^2</script>, then", "So x^2, then"),
        ("<p>So <script type=math/tex>x^2</script> then", "So x^2 then"),
        ("<script type=math/tex>x^2</script><p>is", "x^2 is"),
        ("<p>So<script type='math/tex; mode=display'>x^2</script>then", "So\nx^2\nthen"),
        (f"<p>So {MATH.replace('<math', '<math display=block')} then", "So\nx^{2}\nthen"),
        (f"<p>So<div style='display:none'>{MATH}</div><p>then", "So\nx^{2}\nthen"),
        (f"<p>So <span class=MathJax><span>x2</span><span>{MATH}</span></span> then", "So x^{2} then"),
        (f"<table><tr><td>a<td>{MATH}</table>", "a\tx^{2}"),
        ("<p>So <img src=/latex.php?x alt='x^2'> is", "So x^2 is"),
        ("<p>So <img src=/cgi-bin/mimetex.cgi?x alt='x_1'>", "So x_1"),
        ("<p>So <img class=latex src=q.png alt='x^2'><p>is <img src=q.png alt='x^2'>.", "So x^2\nis ."),
        (f"<p>So {MATH} and <img src=/latex.php?x alt='y^2'> is", "So x^{2} and y^2 is"),
        ("<p>Otter is<br><img src=/latex.php?x alt='x^2'><br>For", "Otter is\nx^2\nFor"),
        ("<p>Otter</p><p><img src=/latex.php?x alt='x^2'> is great", "Otter\nx^2 is great"),
        ("<p>So <img src=https://latex.codecogs.com/png?x alt='x^2'> is", "So x^2 is"),
        ("<p>So <img src=/math/render/svg/a alt='{\\displaystyle x^2}'> is", "So x^2 is"),
        (
            "<p>Let <img class=latex src=a.png alt='x^2'><noscript><img class=latex src=a.png alt='x^2'></noscript> be",
            "Let x^2 be",
        ),
        ("<p>Costs $5 and \\(x\\)", "Costs $5 and \\(x\\)"),
    ],
)
def test_formulas(html: str, text: str) -> None:
    """Duplicates and parts of a formula are left out, and displayed formulas are lines."""
    page = blockml.parse(html)
    assert render_text(page, [True] * len(page.blocks)) == text


def test_removed_formulas_stay_removed() -> None:
    """A formula in a paragraph without kept text is not written."""
    page = blockml.parse(f"<p>a</p><p>b</p><p>c {MATH} d</p><p>e</p>")
    kept = [block.text in {"a", "b"} for block in page.blocks]
    assert render_text(page, kept) == "a\nb"


@pytest.mark.parametrize(("number", "is_written"), [("(1)", True), ("[A.12b]", True), ("(see below)", False)])
@pytest.mark.parametrize("order", ["{number}{formula}", "{formula}{number}"])
def test_the_removed_number_of_a_formula_is_not_a_text_between(number: str, order: str, *, is_written: bool) -> None:
    """A displayed formula between kept paragraphs is written though its number is removed."""
    formula = "<div><math display=block alttext='x^2'><mi>x</mi><mn>2</mn></math></div>"
    page = blockml.parse(f"<p>So</p>{order.format(number=f'<label>{number}</label>', formula=formula)}<p>and more.</p>")
    kept = np.array([block.text in {"So", "and more."} for block in page.blocks])
    assert ("$$x^2$$" in render_markdown(page, kept)) == is_written
    assert ("x^2" in render_text(page, kept)) == is_written


def test_paragraphs_have_the_same_formulas() -> None:
    """Paragraphs have the same formulas as the text, and their spans match it."""
    result = blockml.extract(f"<p>One {KATEX} two</p><p>{MATH}</p><p>End {MATH}</p>", model="plain")
    assert [paragraph.text for paragraph in result.paragraphs] == ["One x two", "x^{2}", "End x^{2}"]
    assert all(result.text[item.start : item.end] == item.text for item in result.paragraphs)
