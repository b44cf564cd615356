"""Menus by the share of links and by six terms."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings

import blockml
from blockml.errors import UnknownNameError
from blockml.templates.linked import find_menu, menu_candidates
from blockml.templates.linked.menus import MENU_METHODS, WEIGHTS
from tests.strategies import messy_html, path_of

URL = "http://example.org/"

#: The key page of the micro-examples of template extraction.
KEY = (
    "<body><div id=menu><a>Home</a><a>News</a><a>About</a></div>"
    "<div class=art><h1>Cats</h1><p>Cats rule.</p><p>Really.</p></div><div id=foot><p>Copyright</p></div></body>"
)


def test_me_12_6() -> None:
    """The candidates of the micro-example have these shares of links, and its menu is found."""
    page = blockml.parse(KEY)
    scores = {one.xpath: one.score for one in menu_candidates(page, method="ratio")}
    body = page.nodes.find("/html/body")
    menu = find_menu(page, method="ratio")
    assert menu is not None
    assert page.nodes.xpath(menu.node) == "/html/body/div[1]"
    assert menu.score == scores["/html/body/div[1]"] == 0.5
    assert scores["/html/body"] == pytest.approx(3 / 17)
    assert body is not None
    assert page.nodes.end[body] - body - 1 == 17
    assert set(scores) == {"/html", "/html/body", "/html/body/div[1]"}


def test_ratio_ties() -> None:
    """Of equal shares the candidate with more links wins, then the first; a single link is not a menu."""
    two = "<p><a>1</a><a>2</a></p>"
    page = blockml.parse(f"<p><a>0</a></p>{two}<p><a>1</a><a>2</a><a>3</a></p>{two}")
    found = [(one.xpath, one.n_links, one.score) for one in menu_candidates(page, method="ratio", limit=3)]
    assert found == [("/html/body/p[3]", 3, 0.5), ("/html/body/p[2]", 2, 0.5), ("/html/body/p[4]", 2, 0.5)]
    assert find_menu(blockml.parse("<p><a>0</a></p>"), method="ratio") is None


def test_terms_by_hand() -> None:
    """Each term of a list of three short links and a long one, after a heading, is computed by hand."""
    items = "".join(f"<li><a href=/{text[0]}>{text}</a></li>" for text in ("abc", "def", "g" * 94))
    html = f"<h1>Title</h1><ul>{items}<li><a href=//other.example>x</a><li><a href=#a>y</a></ul>"
    page = blockml.parse(html, url=URL)
    ul = next(one for one in menu_candidates(page) if one.xpath == "/html/body/ul")
    # html head body h1 # ul, then five items of three nodes each: 21 nodes, the list is number 5.
    assert len(page.nodes) == 21
    assert ul.n_links == 3
    assert dict(ul.terms) == pytest.approx(
        {
            "amplitude": 2 / 3,
            "links": 3 / 10,
            "text": 20 * 3 / (3 + 3 + 94 + 1 + 1),
            "list": 1.0,
            "tag": 0.0,
            "position": 1 - 5 / 21,
        }
    )
    assert ul.score == pytest.approx(sum(WEIGHTS[name] * value for name, value in ul.terms.items()))
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def menu_of(html: str, url: str | None = URL) -> str | None:
    """Return the XPath of the menu."""
    page = blockml.parse(html, url=url)
    menu = find_menu(page)
    return None if menu is None else page.nodes.xpath(menu.node)


LINKS = "".join(f"<a href=/{name}>{name}</a>" for name in ("home", "news", "about"))
ITEMS = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("cat", "dog", "bird", "fish"))
TEXT = f"<p>{'Some words of content. ' * 20}<a href=/x>more</a> <a href=/y>and more</a></p>"


def test_elements_that_are_menus() -> None:
    """Elements named as menus are found on any page, but not pagers, tables of contents or lists of other sites."""
    assert menu_of(f"<div>{LINKS}</div>{TEXT}") == "/html/body/div"
    assert menu_of(f"<div>{LINKS}</div>{TEXT}", None) == "/html/body/div"
    assert menu_of(f"{TEXT}<ul>{ITEMS}</ul>{TEXT}<nav>{LINKS}</nav>") == "/html/body/nav"
    assert menu_of(f"{TEXT}<ul>{ITEMS}</ul>{TEXT}<div id=topNav>{LINKS}</div>") == "/html/body/div"
    assert menu_of(f"<nav class=pagination>{LINKS}</nav>{TEXT}<ul>{ITEMS}</ul>") == "/html/body/ul"
    assert menu_of(f"<ul class=toc>{ITEMS.replace('=/', '=#')}</ul>{TEXT}<div>{LINKS}</div>") == "/html/body/div"
    assert menu_of(f"<ul>{ITEMS.replace('=/', '=/#')}</ul>{TEXT}<div>{LINKS}</div>") == "/html/body/div"
    assert menu_of(f"<ul>{ITEMS.replace('=/', '=//other.example/')}</ul>{TEXT}<div>{LINKS}</div>") == "/html/body/div"
    assert menu_of(f"<body class=has-menu><ul>{ITEMS}</ul>{TEXT}<nav>{LINKS}</nav>") == "/html/body/nav"
    assert menu_of(TEXT) is None
    assert menu_of("") is None
    assert menu_of(f"<frameset><frame src=a></frameset>{LINKS[:20]}") is None


def test_links_in_running_text_are_not_a_menu() -> None:
    """The longer the text around two links, the lower their score; below 0.5 there is no menu."""
    scores = []
    for length in range(10, 100):
        page = blockml.parse(f"<p>{'x' * length}<a href=/x>more</a> <a href=/y>less</a>", url=URL)
        best, menu = menu_candidates(page, limit=1)[0].score, find_menu(page)
        assert (menu is None) == (best < 0.5)
        scores.append(best)
    assert min(abs(score - 0.5) for score in scores if score < 0.5) < 0.005
    assert min(score - 0.5 for score in scores if score >= 0.5) < 0.005


def test_menus_grow_to_the_whole() -> None:
    """A list of links inside a larger menu is extended to the whole menu."""
    html = f"<header><div class=menu><ul>{ITEMS}</ul><ul>{ITEMS.replace('=/', '=/x/')}</ul></div></header>{TEXT}"
    assert menu_of(html) == "/html/body/header/div"
    page = blockml.parse(html, url=URL)
    menu = find_menu(page)
    assert menu is not None
    assert [link.url.removeprefix(URL) for link in menu.links][3:5] == ["fish", "x/cat"]
    assert len(menu.links) == 8


def test_unknown_method_is_refused() -> None:
    """An unknown method is refused with the legal ones."""
    with pytest.raises(UnknownNameError, match="ratio, weighted"):
        find_menu(blockml.parse(""), method="x")
    with pytest.raises(UnknownNameError, match="ratio, weighted"):
        menu_candidates(blockml.parse(""), method="x")


@settings(max_examples=30)
@given(messy_html)
def test_menus_of_any_page(html: str) -> None:
    """Scores and terms are shares, the best candidate is first, and the share of links is as counted."""
    page = blockml.parse(html, url=URL)
    for method in MENU_METHODS:
        found = menu_candidates(page, method=method, limit=1_000)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert all(0 <= value <= 1 for one in found for value in [one.score, *one.terms.values()])
        menu = find_menu(page, method=method)
        if menu is not None:
            assert menu.node in {one.node for one in found}
            assert all(menu.node in path_of(page.nodes, link.node) for link in menu.links)
    for one in menu_candidates(page, method="ratio", limit=1_000):
        below = [node for node in range(len(page.nodes)) if one.node in path_of(page.nodes, node)[:-1]]
        n_links = sum(page.nodes.name(node) == "a" for node in below)
        assert one.n_links == n_links
        assert one.score == pytest.approx(n_links / len(below))


#: XPath of an element that the menu of a site's first page is, contains or is inside.
MENUS = {
    "90minutos": "/html/body/div[2]/div[1]/nav",
    "fs-uae": "/html/body/div/header/nav",
    "cyberninjas": "/html/body/div/header/div/div[2]/section[1]/div/nav",
    "jakevdp": "/html/body/header/div/nav",
    "1up4dev": "/html/body/nav",
    "jobbym": "/html/body/div/header/div/nav",
    "2kabhishek": "/html/body/div/section[1]/div[2]/div",
    "pulsar-edit": "/html/body/div/div/header/div[2]/nav",
    "0install-docs": "/html/body/header/nav[2]",
    "nltk": "/html/body/div/div/div[1]",
    "googleanalyticsr": "/html/body/div/header/div/div/div[2]",
    "apache-parquet": "/html/body/header/nav",
}


@pytest.mark.corpora
@pytest.mark.parametrize("site", MENUS)
def test_menus_of_real_pages(corpora: Path, site: str) -> None:
    """The weighted score finds the menu of every home page that has one."""
    folder = corpora / "sites"
    if not folder.is_dir():
        pytest.skip("needs the folder 'sites' of the corpora")
    with gzip.open(folder / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        record = next(row for row in map(json.loads, lines) if row["site"] == site)
    with gzip.open(folder / "pages" / f"{record['id']}.html.gz") as file:
        page = blockml.parse(file.read(), url=record["url"])
    menu, expected = find_menu(page), page.nodes.find(MENUS[site])
    assert menu is not None
    assert expected is not None
    assert menu.node in path_of(page.nodes, expected)
    assert page.nodes.name(menu.node) not in {"html", "body"}
