"""Links of a page: each once, in order, without those to the page itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.page import Page
from blockml.templates.linked import PageSource, find_links, is_page, normalise, resolve_link
from blockml.templates.linked.links import names_of
from tests.strategies import messy_html

URL = "http://example.org/a/b.html"


def urls_of(
    html: str, url: str | None = URL, *, same_site: bool = True, pages_only: bool = False, frames: bool = True
) -> list[str]:
    """Return the URLs of the links of a page."""
    page = blockml.parse(html, url=url)
    return [link.url for link in find_links(page, same_site=same_site, pages_only=pages_only, frames=frames)]


def test_me_11_1_links() -> None:
    """The micro-example has two links to its site among seven addresses."""
    hrefs = ["c.html#x", "./c.html", "/a/b.html", "#top", "mailto:q@x", "http://ex.org:80/d", "http://other.net/"]
    html = "".join(f"<a href='{href}'>x</a>" for href in hrefs)
    url = "http://Ex.org/a/b.html"
    assert urls_of(html, url) == ["http://ex.org/a/c.html", "http://ex.org/d"]
    assert urls_of(html, url, same_site=False) == ["http://ex.org/a/c.html", "http://ex.org/d", "http://other.net/"]


def test_first_element_with_a_url_counts() -> None:
    """A link's node is the first element with its URL, whatever the element."""
    page = blockml.parse("<map><area href=/x></map><p><a href=/y>y</a><a href='/x#1'>x</a><a>no</a></p>", url=URL)
    assert [(link.url, page.nodes.name(link.node)) for link in find_links(page)] == [
        ("http://example.org/x", "area"),
        ("http://example.org/y", "a"),
    ]


def test_frames_are_links_unless_switched_off() -> None:
    """Frames are links unless they are switched off."""
    frameset = "<frameset><frame src=left.html><frame src=right.html><noframes><a href=no>no</a></noframes></frameset>"
    assert urls_of(frameset) == ["http://example.org/a/left.html", "http://example.org/a/right.html"]
    assert urls_of(frameset, frames=False) == []
    assert urls_of("<iframe src=/in></iframe><a href=/out>out</a>") == [
        "http://example.org/in",
        "http://example.org/out",
    ]


def test_links_below_an_element() -> None:
    """Links can be limited to an element, including the element itself."""
    page = blockml.parse("<a href=x>x</a><ul><li><a href=y>y</a></ul><a href=z>z</a>", url=URL)
    ul = page.nodes.find("/html/body/ul")
    assert ul is not None
    assert [link.url[-1] for link in find_links(page, within=ul)] == ["y"]
    assert [link.url[-1] for link in find_links(page, within=find_links(page)[2].node)] == ["z"]


def test_site_of_a_page_without_url() -> None:
    """A page without a URL has links to its site only if a base gives it."""
    html = "<a href=http://example.org/x>x</a><a href=y>y</a>"
    assert urls_of(html, None) == []
    assert urls_of(html, None, same_site=False) == ["http://example.org/x"]
    assert urls_of(f"<base href=http://example.org/b/>{html}", None) == [
        "http://example.org/x",
        "http://example.org/b/y",
    ]


def test_source_resolves() -> None:
    """The source resolves links and the page's URL, and resolves each distinct text once."""
    asked = []

    class Paths(PageSource):
        def get(self, url: str) -> Page | None:
            raise AssertionError(f"links are resolved without loading {url}")

        def resolve(self, page: Page, href: str) -> str | None:  # noqa: ARG002
            asked.append(href)
            return {"one": "1", "uno": "1", "self": "0", "key.html": "0"}.get(href)

    page = blockml.parse(
        "<a href=one>1</a><a href=one>1</a><a href=uno>1</a><a href=self>0</a><a href=x>x</a>", url="key.html"
    )
    assert [link.url for link in find_links(page, Paths())] == ["1"]
    assert sorted(asked) == ["key.html", "one", "self", "uno", "x"]
    assert names_of(page, Paths()) == {"key.html", "0"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", True), ("a", True), ("a/", True), ("a.b/c", True), ("a.HTML", True), ("a.htm", True), ("a.php3", True),
        ("a.php?x=1.pdf", True), ("a.asp", True), (".html", True), ("a.pdf", False), ("a.pdf.html", False),
        ("a.jpg", False), ("a.tar.gz", False), ("feeds/x", False), ("file/x", False), ("Files/", False),
        ("rss", False), ("a/rss.html", False), ("v1.2", False),
    ],
)  # fmt: skip
def test_links_that_look_like_pages(path: str, *, expected: bool) -> None:
    """Links to pages are recognised by extension and by parts of the path."""
    assert is_page(f"http://example.org/{path}") is expected
    assert is_page(path) is expected
    html = f"<a href='/{path}'>x</a>"
    assert urls_of(html, pages_only=True) == ([normalise(f"http://example.org/{path}")] if expected else [])
    assert len(urls_of(html)) == 1


@given(messy_html, st.sampled_from([URL, None, "http://[broken"]))
def test_links_of_any_page(html: str, url: str | None) -> None:
    """A loop over all elements gives the same links."""
    page = blockml.parse(html, url=url)
    expected: dict[str, int] = {}
    for node in range(len(page.nodes)):
        attribute = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}.get(page.nodes.name(node), "")
        target = resolve_link(page, page.nodes.attributes[node].get(attribute, "mailto:"))
        if target not in {None, url}:
            expected.setdefault(str(target), node)
    assert dict(find_links(page, same_site=False)) == expected
    assert [link.node for link in find_links(page, same_site=False)] == sorted(expected.values())
