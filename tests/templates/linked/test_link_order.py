"""Orders in which links are followed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.errors import UnknownNameError
from blockml.templates.linked import ORDERS, find_links, ordered
from blockml.templates.linked.menus import farthest_first
from tests.strategies import messy_html, path_of
from tests.templates.linked.sites import DictSource

URL = "http://example.org/a/b/key.html"


def order_of(html: str, order: str, url: str = URL) -> list[str]:
    """Return the paths of a page's links in an order."""
    page = blockml.parse(html, url=url)
    return [link.url.removeprefix("http://example.org") for link in ordered(page, find_links(page), order)]


def anchors(*hrefs: str) -> str:
    """Return one link after the other."""
    return "".join(f"<a href='{href}'>x</a>" for href in hrefs)


def test_unknown_order_is_refused() -> None:
    """An unknown order is refused with the legal ones."""
    page = blockml.parse("")
    with pytest.raises(UnknownNameError, match="document, hierarchy, menu"):
        ordered(page, (), "random")
    assert all(ordered(page, (), order) == () for order in ORDERS)


def test_hierarchy_levels() -> None:
    """Links in the page's directory come first, then deeper ones by depth, then those one level up, and so on."""
    html = anchors("/x/y/z", "/", "../c/d", "deep/er/1", "..", "deep/1", "1", "/a", "../../q", "./?x=/p/")
    assert order_of(html, "hierarchy") == [
        *["/a/b/1", "/a/b/?x=/p/"],
        "/a/b/deep/1",
        "/a/b/deep/er/1",
        "/a/",
        "/a/c/d",
        *["/", "/a", "/q"],
        "/x/y/z",
    ]


def test_hierarchy_is_farthest_first_inside_a_level() -> None:
    """After the first link comes the one farthest from it in the tree, and so on."""
    html = f"<ul><li>{anchors('1', '2')}<li>{anchors('3')}</ul><p><b><i>{anchors('4', '5')}</i></b></p>"
    # From 1: 2 is 2 steps off, 3 is 4, 4 and 5 are 7. Then 3, which is 4 from 1; then 2 and 5, both 2.
    assert order_of(html, "hierarchy") == [f"/a/b/{i}" for i in "14325"]


@given(messy_html, st.data())
def test_farthest_first_against_paths(html: str, data: st.DataObject) -> None:
    """Comparing paths from the root pair by pair gives the same order."""
    nodes = blockml.parse(html).nodes
    if not len(nodes):
        assert farthest_first(nodes, []) == []
        return
    places = sorted(data.draw(st.sets(st.integers(0, len(nodes) - 1), min_size=1, max_size=8)))

    def distance(one: int, other: int) -> int:
        paths = path_of(nodes, places[one]), path_of(nodes, places[other])
        common = len(set(paths[0]) & set(paths[1]))
        return len(paths[0]) + len(paths[1]) - 2 * common

    chosen = [0]
    while len(chosen) < len(places):
        left = [i for i in range(len(places)) if i not in chosen]
        chosen.append(max(left, key=lambda i: min(distance(i, j) for j in chosen)))
    assert farthest_first(nodes, places) == chosen


def test_farthest_first_on_deep_pages() -> None:
    """Links of deep pages are ordered without recursion and without time in proportion to depth times links."""
    page = blockml.parse("<div><a href=x>x</a>" * 3_000, url=URL)
    places = page.nodes.named({"a"}).nonzero()[0].tolist()
    order = farthest_first(page.nodes, places)
    assert sorted(order) == list(range(3_000))
    assert order[:2] == [0, 2_999]


def test_menu_order() -> None:
    """Links of the menu come first, even if they occur before it, and the others keep their order."""
    menu = "<nav><ul><li><a href=/2>2</a><li><a href=/1>1</a><li><a href=/3>3</a></ul></nav>"
    html = f"<p>{anchors('/0', '/1')} and a long text around the two</p>{menu}<p>text with a link {anchors('/4')}</p>"
    assert order_of(html, "document") == ["/0", "/1", "/2", "/3", "/4"]
    assert order_of(html, "menu") == ["/1", "/2", "/3", "/0", "/4"]
    assert order_of(f"<p>A text without a menu, but with a link: {anchors('/4')}</p>", "menu") == ["/4"]


def test_menu_order_asks_the_source() -> None:
    """URLs in the menu order are those that the source resolves."""
    menu = "<ul><li><a href=1>1</a><li><a href=2>2</a></ul>"
    page = blockml.parse(f"<p><a href=0>0</a> and text, text, text</p>{menu}", url=URL)

    class Renamed(DictSource):
        def resolve(self, page: blockml.Page, href: str) -> str | None:  # noqa: ARG002
            return f"http://example.org/renamed/{href}"

    source = Renamed({})
    found = ordered(page, find_links(page, source), "menu", source)
    assert [link.url[-1] for link in found] == ["1", "2", "0"]


@given(messy_html)
def test_orders_lose_nothing(html: str) -> None:
    """Every order is a permutation of the links."""
    page = blockml.parse(html, url=URL)
    found = find_links(page, same_site=False)
    for order in ORDERS:
        assert sorted(ordered(page, found, order)) == sorted(found)
        shuffled = [found[i] for i in np.random.default_rng(0).permutation(len(found))]
        assert ordered(page, shuffled, order) == ordered(page, found, order)
