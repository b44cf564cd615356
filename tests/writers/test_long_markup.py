"""Markup that is long, wide or deep: it is read in time that grows with its length, or these tests would take hours."""

from __future__ import annotations

import pytest

import blockml
from blockml.document.mathematics import find_formulas
from blockml.document.picture_kinds import image_address, is_placeholder
from blockml.page import Page
from tests.rendered import render_markdown

N = 100_000
WORD = "<p>The cat sat on the mat.</p>"


def markdown(html: str) -> str:
    """Return the Markdown of a page whose blocks are all kept."""
    page = blockml.parse(html, url="https://a.example/")
    return render_markdown(page, [True] * len(page.blocks))


def formula(page: Page) -> str:
    """Return the only formula of a page."""
    (found,) = find_formulas(page)[0].values()
    return found


@pytest.mark.parametrize(
    ("candidates", "address"),
    [
        ("a.jpg 1w, " * N + "b.jpg 2w", "b.jpg"),
        ("a " * N, ""),
        ("a" * N + " b", ""),
        ("x " + " " * N + "y z", ""),
        ("x " + "," * N + " y 3w", "y"),
        ("x " + "1" * N + "w, y 1w", "y"),
        ("," * N, ""),
        ("a.jpg 600w 400h, b.jpg 300w 200h", "a.jpg"),
        ("a.jpg 2x,b.jpg 3x", "b.jpg"),
    ],
)
def test_candidates_of_a_picture(candidates: str, address: str) -> None:
    """The widest one that has an address; words that are not a width make no candidate."""
    assert image_address({"srcset": candidates}) == address


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ({"data-src": ".jpg" * N + "{", "src": "a.jpg"}, "a.jpg"),
        ({"data-src": ".jpg" * N, "src": "a.jpg"}, ".jpg" * N),
        ({"data-x": "a.jpg" * N + "{"}, ""),
        ({"data-x": "a.jpg" * N}, "a.jpg" * N),
        ({"data-x": ".jpg"}, ""),
    ],
)
def test_late_addresses(attributes: dict[str, str], address: str) -> None:
    """Suffixes of pictures make an address, unless it is a template."""
    assert image_address(attributes) == address


def test_names_of_placeholders_are_short() -> None:
    """Names of more than 200 characters are not those of placeholders."""
    assert is_placeholder("/a-lazy-b.png")
    assert not is_placeholder("/" + "-lazy" * N + ".png")


def test_sources_of_a_picture_are_read_once() -> None:
    """The pictures of one ``picture`` share its sources."""
    pictures = f"<picture>{'<source>' * 6_000}<source srcset={{}}.jpg>{'<img src=data:x>' * 6_000}</picture>{WORD}"
    few = f"<picture><source><source srcset=b.jpg><img src=data:x></picture>{WORD}"
    result = blockml.extract(WORD + pictures.format("a") + few, model="plain")
    assert [image.address for image in result.images] == ["b.jpg"]  # one that is shown often is decoration


def test_captions_of_many_pictures() -> None:
    """A picture has the last caption before it that does not contain it."""
    captions = "<figcaption></figcaption>" * 8_000 + "<figcaption>Cats</figcaption>"
    result = blockml.extract(
        f"{WORD}<figure>{captions}{''.join(f'<img src={i}.jpg>' for i in range(2_000))}</figure>{WORD}", model="plain"
    )
    assert {image.caption for image in result.images[:100]} == {"Cats"}


@pytest.mark.parametrize(
    ("mathml", "start"),
    [
        ("<mi>sin</mi>" * 20_000, r"$\sin \sin \sin"),
        ("<mtable/>" * 20_000, r"$\begin{matrix} \end{matrix} \begin{matrix}"),
        ("<mfenced/>" * 20_000, r"$\left(\right) \left(\right)"),
        ("<mover><mi>x</mi><mi>y</mi></mover>" * 8_000, r"$\overset{y}{x} \overset{y}{x}"),
        ("<mmultiscripts><mi>a</mi><mprescripts/><mi>b</mi><none/></mmultiscripts>" * 5_000, "${}_{b}a {}_{b}a"),
        ("<mmultiscripts><mi>a</mi><mi>c</mi><none/><mprescripts/>" + "<mi>b</mi>" * 20_000, "${}_{b}^{b}_{b}^{b}"),
        ("<mrow><mi>a</mi>" * 1_900 + "<mi>sin</mi>" * 10_000, "$a aaa"),
    ],
)
def test_wide_and_deep_formulas(mathml: str, start: str) -> None:
    """Their TeX is written whole."""
    assert formula(blockml.parse(f"<p>x <math>{mathml}</math>")).startswith(start)


def test_formulas_within_formulas() -> None:
    """Only the outer one is read, whether it has TeX or not."""
    page = blockml.parse("<math><mrow>" * 1_900 + "</mrow></math>" * 1_900)
    assert not find_formulas(page)[0]
    assert formula(blockml.parse("<math><mi>x</mi><math><mi>y</mi></math></math>")) == "$x y$"


def test_pictures_of_many_links() -> None:
    """Pictures beside each other, each with a link, are all written."""
    pictures = "".join(f"<a href=/{number}><img src={number}.jpg></a>" for number in range(3_000))
    result = blockml.extract(f"{WORD}<div>{pictures}</div>{WORD}", model="plain")
    assert len(result.images) == 3_000


def test_styles_of_lists() -> None:
    """The style of a list is read once, and in one pass."""
    items = "<li>w" * 4_000
    assert markdown(f"<ol style='list-style:{'x' * N}'>{items}</ol>").startswith("1. w\n2. w\n")
    assert markdown(f"<ol style='{'list-style:x ' * 9_000}'>{items}</ol>").startswith("1. w\n2. w\n")
    assert markdown(f"<ol style='{'list-style:x;' * 9_000}list-style: x lower-roman'>{items}</ol>").startswith(
        "- i. w\n- ii. w\n"
    )


def test_lines_of_code_within_lines() -> None:
    """Thousands of lines without content are empty lines or none."""
    nested = markdown(f"<pre>x{'<div>' * 1_900}y{'</div>' * 1_900}</pre>" * 4)
    assert nested.count("```\nx\ny\n```") == 4
    empty = f"<pre>x{'<div>' * 1_000}{'<i></i>' * 10_000}{'</div>' * 1_000}y</pre>"
    assert markdown(empty) == "```\nx\n\ny\n```"


def test_signs_of_formulas_are_short() -> None:
    """TeX of a formula takes at most 8 bytes for each byte, whatever its signs are."""
    for code in range(32, 127):
        sign = chr(code)
        if sign not in "<&":
            page = blockml.parse(f"<p>x <math><mo>{sign * 1_000}</mo></math>")
            tex = "".join(find_formulas(page)[0].values())
            assert len(tex.encode()) <= 8 * 1_000, sign
