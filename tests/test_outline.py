"""The outline of a page, compared with one that climbs the tree from each block."""

import numpy as np
import pytest
from hypothesis import given

import blockml
from blockml.outline import Outline, UnitKind
from blockml.page import Page
from tests.strategies import messy_html

NAMES = {
    UnitKind.CELL: "td th", UnitKind.ROW: "tr", UnitKind.TABLE: "table", UnitKind.ITEM: "li",
    UnitKind.LIST: "ul ol menu dir",
    UnitKind.DEFINITIONS: "dl", UnitKind.TERM: "dt", UnitKind.DESCRIPTION: "dd", UnitKind.CODE: "pre listing xmp",
    UnitKind.HEADING: "h1 h2 h3 h4 h5 h6", UnitKind.QUOTATION: "blockquote", UnitKind.FIGURE: "figure",
}  # fmt: skip


def climb(page: Page, node: int, names: str) -> int:
    """Return the nearest element with one of the names around a node, or itself."""
    while node >= 0 and page.nodes.name(node) not in names.split():
        node = int(page.nodes.parent[node])
    return node


@given(messy_html)
def test_units(html: str) -> None:
    """Each block has the nearest element of each kind."""
    page = blockml.parse(html)
    outline = Outline(page)
    for kind, names in NAMES.items():
        expected = [climb(page, node, names) for node in page.blocks.node.tolist()]
        found = outline.unit(kind)
        assert ([-1] * len(expected) if found is None else found.tolist()) == expected
        assert (found is None) == (max(expected, default=-1) < 0)


@given(messy_html)
def test_any_elements(html: str) -> None:
    """The innermost elements of any set are found, however they are nested."""
    page = blockml.parse(html)
    nodes = page.nodes
    elements = np.flatnonzero(nodes.tag != 0)
    places = np.arange(-1, len(nodes))
    assert nodes.innermost(elements, places).tolist() == [
        node if node < 0 or nodes.tag[node] else int(nodes.parent[node]) for node in places.tolist()
    ]


@given(messy_html)
def test_blocks_of_elements(html: str) -> None:
    """The blocks of an element are those whose first text is in it."""
    page = blockml.parse(html)
    elements = np.flatnonzero(page.nodes.tag != 0)
    first, after = Outline(page).blocks_in(elements)
    for node, low, high in zip(elements.tolist(), first.tolist(), after.tolist(), strict=True):
        inside = [k for k, text in enumerate(page.blocks.node.tolist()) if node < text < page.nodes.end[node]]
        assert inside == list(range(low, high))


@given(messy_html)
def test_sections(html: str) -> None:
    """A section is the first block of the last heading that begins before a block."""
    page = blockml.parse(html)
    outline, nodes, texts = Outline(page), page.nodes, page.blocks.node.tolist()
    first_of: dict[int, int] = {}  # first block of each heading
    for block, text in enumerate(texts):
        in_data = climb(page, text, "table") >= 0 and not outline.layout[block]
        node = text
        while (node := climb(page, node, NAMES[UnitKind.HEADING])) >= 0:
            if node not in first_of:
                first_of[node] = -1 if in_data else block
            node = int(nodes.parent[node])
    expected = [max((k for node, k in first_of.items() if node < text), default=-1) for text in texts]
    assert outline.section.tolist() == expected


@pytest.mark.parametrize(
    ("table", "layout"),
    [
        ("<tr><td>a<td>b<tr><td>c<td>d", False),
        ("<tr><td>a<td>b", True),
        ("<tr><th>a<td>b", False),
        ("<tr><td>a<tr><td>b", True),
        ("<tr><td>a<td>b<tr><td><h2>c</h2><td>d", True),
        ("<tr><th>a<th>b<tr><td><h2>c</h2><td>d", False),
        (f"<tr><td>a<td>b<tr><td>{'long ' * 200}<td>d", True),
    ],
)
def test_layout(table: str, *, layout: bool) -> None:
    """Tables that only arrange parts of a page are layout."""
    page = blockml.parse(f"<p>before<table>{table}</table><p>after")
    assert Outline(page).layout.tolist() == [False, *[layout] * (len(page.blocks) - 2), False]


def test_nested_tables() -> None:
    """A table around another one is layout, and the inner one is judged by itself."""
    inner = "<table><tr><td>one<td>two<tr><td>three<td>four</table>"
    page = blockml.parse(f"<table><tr><td>menu<td>{inner}<tr><td>x<td>y</table>")
    layout = dict(zip(page.blocks.texts, Outline(page).layout.tolist(), strict=True))
    assert layout == {"menu": True, "one": False, "two": False, "three": False, "four": False, "x": True, "y": True}
    declared = blockml.parse(inner.replace("<table>", "<table role=presentation>"))
    assert Outline(declared).layout.all()


def test_headings_in_data_cells_are_not_sections() -> None:
    """A heading in a cell of a data table is not above what follows."""
    page = blockml.parse("<h2>Cats</h2><table><tr><th>a<th>b<tr><td><h3>c</h3><td>d</table><p>End")
    assert Outline(page).section.tolist() == [0] * 6
    assert Outline(blockml.parse("<p>a<h2></h2><p>b<h3>c</h3>d")).section.tolist() == [-1, -1, 2, 2]


def test_deep_pages() -> None:
    """Nested elements cost no more than others of the same number."""
    page = blockml.parse("<ul><li>x" * 600)
    item = Outline(page).unit(UnitKind.ITEM)
    assert item is not None
    assert len({*item.tolist()}) == len(page.blocks) == 600


def test_custom_elements_with_text_are_lines() -> None:
    """Paragraphs in custom elements are lines of their own; a custom element within a sentence isn't."""
    assert Outline(blockml.parse("<x-a></x-a>")).line.tolist() == []
    page = blockml.parse("<x-a>One</x-a><x-a>Two</x-a><p>It is <x-time>noon</x-time>.")
    assert page.blocks.line_numbers().tolist()[:2] == [0, 0]
    assert Outline(page).line.tolist()[:2] == [0, 1]
    assert len({*Outline(page).line.tolist()[2:]}) == 1
