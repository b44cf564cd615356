"""CSS selectors and ids of elements, beside their XPaths."""

from __future__ import annotations

from pathlib import Path

import lxml.html
import pytest

import blockml
from blockml.records import block_records

DATA = Path(__file__).parents[2] / "data"
PAGES = [*sorted((DATA / "pages").glob("*/page.html"))[:8], *sorted((DATA / "sites").glob("*/*/page.html"))[::9]]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.parent.name)
def test_a_selector_selects_the_element_of_the_xpath(path: Path) -> None:
    """Each selector matches one element, which the XPath finds too; the id is that of the nearest element with one."""
    pytest.importorskip("cssselect")
    result = blockml.extract(path.read_bytes(), model="plain")
    tree = lxml.html.document_fromstring(path.read_bytes())
    n_selected = 0
    for block in block_records(result):
        [element] = tree.xpath(block["xpath"]) or [None]
        if element is None or not block["selector"]:  # the trees differ in what lxml repairs
            continue
        assert tree.cssselect(block["selector"]) == [element], block
        nearest = next((item.get("id") for item in (element, *element.iterancestors()) if item.get("id")), None)
        assert block["element_id"] == nearest
        n_selected += 1
    assert n_selected > 0.5 * len(result.kept)


def test_names_that_selectors_cannot_contain() -> None:
    """Repeated ids and names that need escapes are left out; an element without a way to it has an empty selector."""
    page = blockml.parse(
        '<div id=a><p id=a>one</p><p id="1:x">two</p></div><my:tag>three</my:tag></body></html><p>four</p>'
    )
    found = dict(zip(page.blocks.texts, page.nodes.selectors(page.blocks.parent.tolist()), strict=True))
    assert found["one"] == "html > body > div > p:nth-of-type(1)"
    assert found["two"] == "html > body > div > p:nth-of-type(2)"
    assert found["three"] == "html > body > *:nth-child(2)"
    ids = page.nodes.nearest_ids(page.blocks.parent.tolist())
    assert ids[:2] == ["a", "1:x"]
    assert blockml.parse("<p>x").nodes.nearest_ids([-1]) == [None]


def test_selectors_of_deep_pages_are_bounded() -> None:
    """The selectors of thousands of deep elements have no more characters than a few for each node."""
    deep = blockml.parse("<div><p>x</p>" * 3_000)
    found = deep.nodes.selectors(deep.blocks.parent.tolist())
    assert sum(map(len, found)) < 128 * len(deep.nodes) + 2**21
    assert found[0].startswith("html > body > div")
    assert found[-1] == ""


def test_page_types() -> None:
    """The declared type comes first, then the predicted one; a model that predicts none knows none."""
    text = "<article><h1>Cats</h1><p>" + "Cats rule the world, and nobody has asked them to. " * 30 + "</article>"
    declared = '<meta property="og:type" content="product">'
    assert blockml.extract(text).page_type in ("article", "other")
    assert (blockml.extract(text).page_type == "article") == (blockml.extract(text).article_probability >= 0.5)  # type: ignore[operator]
    assert blockml.extract(declared + text).page_type == "product"
    assert blockml.extract(text, model="plain").page_type is None
    record = next(blockml.predict([{"html": declared + text}], fields=("page_type",)))
    assert record == {"page_type": "product"}
