"""Metadata that the page declares: title, description, type and URL."""

from __future__ import annotations

import json

import pytest

import blockml
from blockml.features.metadata import PAGE_KINDS, declared_metadata, page_stats, title_overlap
from blockml.features.page_context import PageContext


def likeness(html: str) -> dict[str, list[float]]:
    """Return the overlap of blocks with title and description."""
    view = PageContext(blockml.parse(html))
    return {name: values.astype(float).tolist() for name, values in title_overlap(view).items()}


def page(html: str) -> dict[str, float]:
    """Return the page features, which are equal for all blocks."""
    view = PageContext(blockml.parse(html))
    return {**page_stats(view), **declared_metadata(view)}


def test_similarity_to_the_title() -> None:
    """Columns are the shares of common words, and the distance to the first block that is similar to the title."""
    found = likeness("<title>The old CAT sleeps</title><p>home<p>The old cat<p>cat dog<h1>The old cat sleeps</h1>")
    assert found["intitle"] == [0, 1, 0.5, 1]
    assert found["oftitle"] == [0, 0.75, 0.25, 1]
    assert found["sincetitle"] == [-1, 0, 1, 2]
    assert found["indescription"] == [0] * 4


@pytest.mark.parametrize("html", ["<p>one two", "<title>x</title><p>one two", "<title>one two</title><p>one"])
def test_no_block_is_similar_to_the_title(html: str) -> None:
    """Without a title, with another title, or with one common word, no block is similar."""
    assert likeness(html)["sincetitle"] == [-9999]


def test_description_and_title_for_other_sites() -> None:
    """The first element with a name counts, og: has precedence, and long blocks aren't compared with the title."""
    head = (
        "<meta name=description content='plain'><meta property='og:description' content='cats sleep'>"
        "<meta property='og:description' content='late'><meta property='OG:Title' content='Cats'>"
    )
    found = likeness(f"{head}<p>Cats sleep late plain<p>{' '.join(f'w{i}' for i in range(39))} cats")
    assert found["indescription"] == pytest.approx([0.5, 1 / 40])
    assert found["intitle"] == pytest.approx([0.25, 0])  # forty words are not a title
    assert found["oftitle"] == [1, 1]
    assert likeness(f"{head}<p>{'cats ' * 91}")["oftitle"] == [0]


def test_page_statistics() -> None:
    """A page of 12 + 2 + 1 + 3 words in four blocks has the expected statistics."""
    long = "word " * 12
    html = f"<h2>a b</h2><p>{long}</p><ul><li><a>x</a></ul><table><tr><td>1 2 3<td><img><input></table><form></form>"
    found = page(html + "<script>x</script><button></button>")
    expected = {
        "pagewords": 18, "pageblocks": 4, "pagelinks": 1 / 18, "pageprose": 12 / 18, "pageprosewords": 12,
        "pageinp": 12 / 18, "pageinli": 0, "pageintd": 3 / 18, "pagehead": 1 / 4, "pagetop": 12 / 18, "pagetop5": 1,
        "pagearticles": 0, "pagemains": 0, "pageimages": 1, "pageforms": 1, "pageinputs": 2, "pageh1": 0, "pageh2": 1,
        "pagepars": 1, "pagescripts": 1, "pagedepth": 5, "urlparts": -1, "urldashes": 0, "urldigits": 0,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert all(found[f"is{name}"] == 0 for name in PAGE_KINDS)


@pytest.mark.parametrize("kind", PAGE_KINDS)
def test_page_types(kind: str) -> None:
    """The value is 1 for a type in og:type, 2 in schema.org and 3 in both, and other types are ignored."""
    word = PAGE_KINDS[kind][0]
    own = f"<meta property=og:type content='{word.upper()}'>"
    schema = f"<script type=application/ld+json>{json.dumps({'@type': word.title(), 'x': {'@type': 'Thing'}})}</script>"
    for html, value in ((own, 1), (schema, 2), (own + schema, 3), ("", 0)):
        found = page(f"{html}<p>one")
        assert {name: found[f"is{name}"] for name in PAGE_KINDS} == dict.fromkeys(PAGE_KINDS, 0) | {kind: value}


@pytest.mark.parametrize(
    "written", ['"@type":"NewsArticle"', '"@type" : ["NewsArticle", "Thing"]', '"@type"\n:\n [ \t"NewsArticle"]']
)
def test_spellings_of_a_type(written: str) -> None:
    """White space and a list are allowed, and the first type in a list counts."""
    assert page("<script>{" + written + "}</script><p>one")["isarticle"] == 2


@pytest.mark.timeout(30)
def test_long_white_space_is_read_once() -> None:
    """A long run of white space takes linear time."""
    assert page('<script>"@type":' + " " * 1_000_000 + "</script><p>one")["pageblocks"] == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (
            "https://a.example/blog/2024/05/old-cat-sleeps",
            {"urlparts": 4, "urldashes": 2, "urldigits": 6, "urlnews": 1},
        ),
        ("https://a.example/", {"urlparts": 0}),
        ("https://a.example", {"urlparts": 0}),
        ("https://a.example/forum/viewtopic?t=7", {"urlparts": 2, "urldigits": 1, "urlforum": 1}),
        ("https://shop.example/p/12", {"urlparts": 2, "urldigits": 2, "urlshop": 1}),
        ("https://a.example/CATEGORY/x", {"urlparts": 2, "urlshelf": 1}),
        ("https://a.example/docs/api", {"urlparts": 2, "urldocs": 1}),
    ],
)
def test_urls(address: str, expected: dict[str, float]) -> None:
    """Columns describe the path of the URL that either element declares, and ignore its host."""
    names = ("parts", "dashes", "digits", "forum", "shop", "shelf", "news", "docs")
    whole = {f"url{name}": 0 for name in names} | expected
    for head in (f"<meta property=og:url content='{address}'>", f"<link rel=Canonical href='{address}'>"):
        found = page(f"<link rel=stylesheet href=/forum/>{head}<p>one")
        assert {name: found[name] for name in whole} == whole


def test_head_without_values() -> None:
    """Attributes may be empty or missing."""
    found = page("<meta><meta name><meta property=og:type><link><link rel=canonical><p>one")
    assert found["urlparts"] == -1
    assert found["iswebsite"] == 0
