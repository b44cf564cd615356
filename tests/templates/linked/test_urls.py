"""One form per URL, links resolved as browsers do, and never an exception."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import blockml
from blockml.page import Nodes
from blockml.templates.linked import normalise, resolve_link, same_site
from blockml.templates.linked.links import base_url, join

#: Pieces on which URL parsers fail.
PIECES = (
    "http:", "https:", "HTTP://", "//", "/", "\\", ":", "@", "[", "]", "[::1]", "%", "%4", "%41", "%7e", "%2f", "%e7",
    "?", "#", "..", ".", "a", "B", "é", "例え", ".example", "www.", "xn--", "xn--a", ":80", ":99999", " ", "\t", "\n",
    "\x00", "\ud800", "\u3002", "ß", "mailto:", "javascript:", "data:,", "&", "=", ";", "|", "{x}", "-", "_", "*", "1",
    "a" * 70, "0x7f.1", "+",
)  # fmt: skip
messy_urls = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.org", "http://example.org/"),
        ("HTTPS://EXAMPLE.ORG:443/A?B#C", "https://example.org/A?B"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org:/", "http://example.org/"),
        ("http://example.org:0080/", "http://example.org/"),
        ("http://example.org./x", "http://example.org/x"),
        ("http://user:secret@example.org/", "http://example.org/"),
        ("http://example.org?q=1", "http://example.org/?q=1"),
        ("http://example.org/?", "http://example.org/"),
        ("http://example.org/a/./b/../c/..", "http://example.org/a/"),
        ("http://example.org/../../a", "http://example.org/a"),
        ("http://example.org/%2e%2E/a", "http://example.org/a"),
        ("http://example.org/a//b/", "http://example.org/a//b/"),
        ("http://example.org/%7Euser/%e7%b5%8c", "http://example.org/~user/%E7%B5%8C"),
        ("http://example.org/経/é%41?é=é", "http://example.org/%E7%B5%8C/%C3%A9A?%C3%A9=%C3%A9"),
        ("http://example.org/100%/%%41", "http://example.org/100%25/%25A"),
        ("http://example.org/a b|c\"<>'", "http://example.org/a%20b%7Cc%22%3C%3E'"),
        ("http://example.org/a%2Fb%3F", "http://example.org/a%2Fb%3F"),
        ("http://example.org/\ud800", "http://example.org/%3F"),
        ("http:\\\\example.org\\a?b\\c", "http://example.org/a?b%5Cc"),
        ("http:/example.org/", "http://example.org/"),
        ("http:///example.org/", "http://example.org/"),
        (" \n http://exam\nple.org/a\tb ", "http://example.org/ab"),
        ("http://Bücher.Example/", "http://xn--bcher-kva.example/"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://my_host-1.example/", "http://my_host-1.example/"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
        ("http://[0:0::1]:80/a", "http://[::1]/a"),
        ("http://[::1]:8080", "http://[::1]:8080/"),
    ],
)
def test_one_form(url: str, expected: str) -> None:
    """Each rule of the docstring gives this form."""
    assert normalise(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", " ", "#", "page.html", "/a", "//example.org", "http:", "http://", "http:///", "http://?q", "http://:80/",
        "http://[::1", "http://[::1]x/", "http://[x]/", "http://[fe80::1%25eth0]/", "http://a b.example/", "http://a..b/",
        "http://{host}/", "http://example.org:x/", "http://example.org:65536/", "http://example.org:-1/",
        f"http://{'a' * 64}.example/", f"http://{'a.' * 130}example/", f"http://{'é' * 10_000}/", "http://%00/",
        "ftp://example.org/", "mailto:q@example.org", "javascript:void(0)", "data:text/html,x", "tel:+1", "file:///a",
        "https//example.org", "c:/folder/page.html", "http://é\ud800/",
    ],
)  # fmt: skip
def test_urls_that_are_not_of_pages(url: str) -> None:
    """Broken and relative URLs, and those of other schemes, give None."""
    assert normalise(url) is None


@given(messy_urls)
@example("http://a/%%34%31")
@example("http://a/%éé")
def test_any_text_has_a_stable_form_or_none(url: str) -> None:
    """Any text gives None or a stable ASCII form, in which Python's parser finds the same host."""
    form = normalise(url)
    if form is not None:
        assert normalise(form) == form
        assert form.isascii()
        assert form.startswith(("http://", "https://"))
        assert "#" not in form
        assert " " not in form
        parts = urlsplit(form)
        assert parts.hostname
        assert parts.path.startswith("/")
        assert same_site(form, url)


@given(messy_urls, messy_urls)
def test_resolving_any_text(url: str, href: str) -> None:
    """Resolving any text gives None or a normalised URL."""
    target = join(normalise(url), href)
    assert target is None or normalise(target) == target


_STEPS = st.sampled_from(["..", ".", "a", "b.html", "c"])


@given(
    st.lists(_STEPS, max_size=4).map("/".join),
    st.sampled_from(["", "/", "//other.example/", "?q", "?", "http://x.example/", "https://x.example/a/"]),
    st.lists(_STEPS, max_size=5).map("/".join),
    st.sampled_from(["", "/", "#top", "?q=1", "?q#top"]),
)
def test_well_formed_links_are_resolved_as_by_urljoin(path: str, start: str, steps: str, rest: str) -> None:
    """Ordinary links are resolved as by ``urljoin``."""
    base = normalise(f"http://example.org/{path}")
    assert base is not None
    href = f"{start}{steps}{rest}"
    assume(start == "//other.example/" or not href.startswith("//"))  # two slashes without a host are not well-formed
    assert join(base, href) == normalise(urljoin(base, href))


def test_me_11_1() -> None:
    """The links of the micro-example are resolved to the form that identifies their pages."""
    page = blockml.parse("<p>x", url="http://Ex.org/a/b.html")
    hrefs = ["c.html#x", "./c.html", "/a/b.html", "#top", "mailto:q@x", "http://ex.org:80/d", "http://other.net/"]
    assert [resolve_link(page, href) for href in hrefs] == [
        "http://ex.org/a/c.html",
        "http://ex.org/a/c.html",
        "http://ex.org/a/b.html",
        "http://ex.org/a/b.html",
        None,
        "http://ex.org/d",
        "http://other.net/",
    ]


def test_base_elements() -> None:
    """The first base with an address counts, even a relative one, and a broken one is ignored."""
    url = "http://example.org/a/b.html"

    def base_of(html: str, url: str | None = url) -> str | None:
        return base_url(blockml.parse(html, url=url))

    assert base_of("<base target=x><base href=c/><base href=/d/>") == "http://example.org/a/c/"
    assert base_of("<base href='//other.example/x/y'>") == "http://other.example/x/y"
    assert base_of("<base href='http://[broken'>") == url
    assert base_of("<base href='data:,x'>") == url
    assert base_of("<base href=c/>", None) is None
    assert base_of("<base href=http://example.org/x/>", None) == "http://example.org/x/"
    assert base_of("<p>x", "file:///home/page.html") is None
    assert base_of("<p>x", "") is None
    page = blockml.parse("<base href=/c/><a href=#top>up</a>", url=url)
    assert resolve_link(page, "#top") == "http://example.org/c/"
    assert resolve_link(blockml.parse("<p>x"), "a.html") is None
    assert resolve_link(blockml.parse("<p>x"), "http://a.example") == "http://a.example/"


def test_scheme_without_slashes_is_relative_to_the_same_scheme() -> None:
    """A URL without slashes (``http:page.html``) is relative to a base with the same scheme, as in browsers."""
    assert join("http://example.org/a/b", "http:c") == "http://example.org/a/c"
    assert join("https://example.org/a/b", "http:c") == "http://c/"
    assert join("http://example.org/a/b", "http://c") == "http://c/"
    assert join("http://example.org/a?b", "") == "http://example.org/a?b"
    assert join("http://example.org/a?b", "?") == "http://example.org/a"


def test_sites() -> None:
    """Two URLs are of the same site if their hosts are equal without ``www.``; relative paths are one site."""
    assert same_site("http://www.example.org/a", "https://EXAMPLE.org:8080/")
    assert not same_site("http://blog.example.org/", "http://example.org/")
    assert same_site("http://[::1]:8000/", "http://[::1]/")
    assert same_site("a/b.html", "c.html")
    assert not same_site("a/b.html", "http://example.org/")


@pytest.mark.parametrize("base", ["http://x.example/" + "a/" * 70, "http://x.example/" + "a" * 2_100 + "/"])
def test_a_long_base_is_ignored(base: str) -> None:
    """A base or URL that each of thousands of links would repeat is ignored; absolute links don't need it."""
    html = f"<base href='{base}'><a href=../one>one</a><a href=//x.example/two>two</a>"
    assert base_url(blockml.parse(html, url="http://x.example/b/c")) == "http://x.example/b/c"
    page = blockml.parse(html, url=base)
    assert base_url(page) is None
    assert [resolve_link(page, href) for href in ("../one", "http://x.example/two")] == [None, "http://x.example/two"]


def test_the_base_of_a_page_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of links of a page with thousands of bases don't look through them again."""
    looked_up: list[str] = []
    page = blockml.parse("<base target=a>" * 50 + "<base href=http://x.example/b/>" + "<a href=c>c</a>" * 50)
    indices = Nodes.indices

    def counted(nodes: Nodes, name: str) -> object:
        looked_up.append(name)
        return indices(nodes, name)

    monkeypatch.setattr(Nodes, "indices", counted)
    assert {resolve_link(page, f"{n}") for n in range(50)} == {f"http://x.example/b/{n}" for n in range(50)}
    assert len(looked_up) == 1
