"""Pages given as parsed trees: equal extractions, and elements of kept blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree, html

import blockml
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.parsing.backends import kept_elements, tree_bytes

DATA = Path(__file__).parents[2] / "data"
STORY = "Cats rule the world, and nobody has ever asked them to do so. " * 8


class Selector:
    """A selector like parsel's."""

    def __init__(self, root: object) -> None:
        self.root = root


def test_trees_give_the_same_text() -> None:
    """A tree, its document and a selector of synthetic pages give the same text as their bytes."""
    for page in open_dataset(DATA / "sites").pages[::7]:
        content = page.load()[0]
        tree = html.document_fromstring(content, parser=html.HTMLParser(encoding=page.charset or "utf-8"))
        expected = blockml.extract(content, charset=page.charset)
        for given in (tree, tree.getroottree(), Selector(tree)):
            assert blockml.extract(given).text == expected.text


def test_kept_elements_contain_the_text() -> None:
    """Each kept block's element is returned and can be changed in the caller's tree."""
    for page in open_dataset(DATA / "sites").pages[::7]:
        tree = html.document_fromstring(page.load()[0], parser=html.HTMLParser(encoding=page.charset or "utf-8"))
        result = blockml.extract(tree)
        elements = kept_elements(result, tree)
        paths = {result.page.nodes.xpath(int(result.page.blocks.parent[row])) for row in result.kept.nonzero()[0]}
        document: etree._ElementTree = etree.ElementTree(tree)
        assert {document.getpath(element) for element in elements} == paths
        assert all(element.getroottree().getroot() is tree for element in elements)


def test_an_element_inside_a_page() -> None:
    """Only the given part of a tree is extracted, without its tail or its surroundings."""
    tree = html.fromstring(f"<html><body><nav>Menu</nav><div><p id=a>{STORY}</p><p>x</p></div>Tail</body></html>")
    part = tree.find(".//div")
    assert part is not None
    result = blockml.extract(part)
    assert "Menu" not in [block.text for block in result.page.blocks]
    assert "Tail" not in [block.text for block in result.page.blocks]
    assert "a" in [element.get("id") for element in kept_elements(result, part)]


@pytest.mark.parametrize("around", ["", "<html><body>"])
def test_kept_elements_of_deep_trees(around: str) -> None:
    """Kept elements of deep trees are found, although their paths start in the middle of the page."""
    tree = html.fromstring(
        f"{around}{'<div>' * 240}<p id=a>{STORY}</p>{'<div>' * 9}<div><a href=/>x</a></div><p id=b>{STORY}</p>"
    )
    assert [element.get("id") for element in kept_elements(blockml.extract(tree), tree)] == ["a", "b"]


def test_a_declared_encoding_does_not_matter() -> None:
    """The encoding that a tree's page declared is ignored, because the tree holds characters."""
    tree = html.fromstring(f"<html><head><meta charset=gbk></head><body><p>Café {STORY}</p></body></html>")
    assert blockml.extract(tree).text.startswith("Café Cats")


def test_real_selectors() -> None:
    """A selector of parsel is extracted, and its kept elements are found."""
    parsel = pytest.importorskip("parsel")
    selector = parsel.Selector(text=f"<p>{STORY}</p>")
    result = blockml.extract(selector)
    assert result.text == STORY.strip()
    assert [element.tag for element in kept_elements(result, selector)] == ["p"]


@pytest.mark.parametrize("value", [None, 3, ["<p>"], Selector("<p>"), Selector(None)])
def test_other_values_are_refused(value: object) -> None:
    """Other values are refused with an error that names what is accepted."""
    with pytest.raises(UsageError, match="bytes, str, a path, an open file, an lxml tree or a selector"):
        blockml.extract(value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a tree"):
        tree_bytes(value)  # type: ignore[arg-type]
    result = blockml.extract("<p>one</p>")
    with pytest.raises(TypeError, match="not a tree"):
        kept_elements(result, value)  # type: ignore[arg-type]
    assert tree_bytes(etree.Element("p")) == b"<p></p>"
