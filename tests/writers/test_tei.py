"""TEI is valid: by a schema of the elements that are written, and by TEI's own where trafilatura, which has it, is."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from lxml import etree

import blockml
from blockml.datasets import open_dataset
from research.benchmarks.hostile.shapes import OUTPUT_SHAPES
from tests.strategies import messy_html

DATA = Path(__file__).parents[2] / "data"
NAMESPACE = "{http://www.tei-c.org/ns/1.0}"
SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).with_name("tei.rng")))
#: Markup with each kind of node, and what is next to what in unusual ways.
SAMPLES = (
    "<p>First<h3>Low</h3><p>a<h1>High</h1><h2>b</h2><hr><p>c<h2>d</h2>",
    "<dl><dt>a<dt>b<dd>c<dd>d<dt>e</dl><ol start=4><li>x<ul><li>y</ul><li value=9>z</ol>",
    "<table><caption>C</caption><tr><th colspan=2>h<tr><td rowspan=2><p>a<p>b<td><ul><li>c</ul><tr><td></table>",
    "<blockquote><h2>q</h2><p>a</p><pre><code class=language-py>x = 1\n  y</code></pre></blockquote>",
    "<p>See<sup><a href=#n1>1</a></sup> it.<ol><li id=n1>Note.</ol><div id=n2 class=footnote>More</div>",
    "<figure><img src=/a.png alt='A &amp; b' width=400 height=300><figcaption>C</figcaption></figure><p>\\(x^2\\)",
    "<h1></h1><p>\x0b&#x1f600; &amp; <b>b <i>c</i></b> <s>d</s> <a href='http://a.example/ä b?q=\"'>e</a><br>f",
    "",
)


def problems(content: bytes | str, url: str | None = "https://a.example/x") -> list[str]:
    """Return what is wrong with the TEI of a page."""
    result = blockml.extract(content, model="plain", url=url)
    tree = etree.fromstring(blockml.render(result, "tei").encode())
    return [] if SCHEMA.validate(tree) else [f"{error.message} {error.path}" for error in SCHEMA.error_log]


@pytest.mark.parametrize("content", SAMPLES)
def test_each_kind_is_valid(content: str) -> None:
    """Each kind of node is valid wherever it is."""
    assert problems(content) == []


@pytest.mark.parametrize("url", [None, "https://a.example/x"])
@pytest.mark.parametrize(
    "address",
    ["/a[1]", "a//b[1]", "http://a.example/b[1]", "http://a.example?x[]=1", "http://a[b]/c", "mailto:a[b]",
     "//[::1]/a[2]", "http://u@[::1]:80/a]", "#a[1]"],
)  # fmt: skip
def test_addresses_with_brackets_are_valid(address: str, url: str | None) -> None:
    """Brackets stay around the number of a host only, whether the page has an address or not."""
    assert problems(f"<p>See <a href='{address}'>it</a><p><img src='{address}' width=400 height=300 alt=b>", url) == []
    written = blockml.render(blockml.extract("<p>See <a href='http://[::1]/a[2]'>it</a>", model="plain"), "tei")
    assert 'target="http://[::1]/a%5B2%5D"' in written


@pytest.mark.parametrize("wrong", ["<div/><p/>", "<list/>", "<p><p/></p>", "<table/>", "<div><p/><head/></div>"])
def test_the_schema_refuses_other_structure(wrong: str) -> None:
    """Divisions are last, a heading is first, and lists and tables aren't empty."""
    written = blockml.render(blockml.extract("<p>Text", model="plain"), "tei")
    assert SCHEMA.validate(etree.fromstring(written))
    assert not SCHEMA.validate(etree.fromstring(written.replace("<p>Text</p>", wrong)))


def test_pages_are_valid() -> None:
    """All synthetic pages are valid, with and without what can be left out."""
    for name in ("pages", "sites"):
        for page in open_dataset(DATA / name).pages[::3]:
            assert problems(page.load()[0]) == []


@pytest.mark.parametrize("shape", sorted(OUTPUT_SHAPES)[::4])
def test_hostile_pages_are_valid(shape: str) -> None:
    """What the budget leaves out leaves a valid document, too."""
    assert problems(OUTPUT_SHAPES[shape](20_000)) == []


@given(messy_html)
def test_any_page_is_valid(content: str) -> None:
    """Any markup gives a valid document."""
    assert problems(content) == []


def test_pages_are_valid_by_tei_itself() -> None:
    """The DTD of TEI P5 4.8 for corpora has no modules for tables, figures and code; they are replaced."""
    found = find_spec("trafilatura")
    if found is None or found.origin is None:
        pytest.skip("needs trafilatura, which has a DTD of TEI")
    dtd = etree.DTD(str(Path(found.origin).parent / "data" / "tei_corpus.dtd"))
    for page in open_dataset(DATA / "pages").pages:
        result = blockml.extract(page.load()[0], model="plain", url=page.url)
        tree = etree.fromstring(blockml.render(result, "tei").encode())
        for element in [
            *tree.iter(f"{NAMESPACE}code"),
            *tree.iter(f"{NAMESPACE}table"),
            *tree.iter(f"{NAMESPACE}figure"),
        ]:
            is_code = element.tag == f"{NAMESPACE}code"
            element.tag = f"{NAMESPACE}{'hi' if is_code else 'p'}"
            element.attrib.clear()
            for child in [] if is_code else [*element]:
                element.remove(child)
        assert dtd.validate(tree), dtd.error_log
