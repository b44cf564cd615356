"""Pictures of the main content: which are written, their addresses, captions and descriptions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import blockml
from blockml import render
from blockml.document.picture_kinds import image_address
from blockml.document.pictures import find_images
from blockml.page import Image
from blockml.page.bounds import Budget
from tests.rendered import render_html, render_markdown
from tests.reported import reported

WORDS = " ".join(["word"] * 40)


def written(html: str, *removed: str) -> list[str]:
    """Return the addresses of the pictures of a page without the blocks that contain one of the given texts."""
    page = blockml.parse(html)
    kept = np.array([not any(text in block.text for text in removed) for block in page.blocks])
    images = [image.address for image in find_images(page, kept)]
    assert re.findall(r"!\[[^\]]*\]\(([^)]*)\)", render_markdown(page, kept)) == images
    assert re.findall('<img[^>]* src="([^"]*)"', render_html(page, kept)) == images
    return images


#: Lines between the summary of an article and its picture, which may be kept.
DATELINES = {"2 October 2024"}


@pytest.mark.parametrize("name", ["09", "27", "80"])
def test_reported_pages_have_their_pictures(name: str) -> None:
    """Lazy, lead and last pictures, and one with a removed caption, are in the same place as on the page."""
    page, expected = reported(name)
    result = blockml.extract(page)
    captions = {image.caption for image in result.images}
    paragraphs = [text for text in render(result, "markdown").split("\n\n") if text not in captions | DATELINES]
    right = expected.partition("MARKDOWN")[2].strip().split("\n\n")
    for text in filter(re.compile(r"!\[").match, right):
        place = paragraphs.index(text)
        assert paragraphs[place - 1] in right[right.index(text) - 1]
    assert sum(text.startswith("![") for text in paragraphs) == len(result.images)


@pytest.mark.parametrize(
    ("html", "removed", "found"),
    [
        ("<p>a<p>b<figure><img src=/i.jpg><figcaption>cap</figcaption></figure><p>c", "cap", 1),
        ("<p>a<p>b<div><p><img src=/i.jpg></p><p>credit</p></div><p>c", "credit", 1),
        ("<p>a<p>b<div><img src=/i.jpg></div><p>Advertisement<p>c", "Advertisement", 1),
        (f"<p>a<p>b<div><img src=/i.jpg></div><p>{WORDS}<p>c", "word", 0),
        ("<p>a<p>b<div><a href=/x><img src=/i.jpg>cap</a></div><p>c", "cap", 0),  # a teaser
        ("<img src=/lead.jpg><p>a<p>b", "", 1),
        ("<nav>x</nav><figure><img src=/lead.jpg><figcaption>cap</figcaption></figure><p>By X<p>a", "x cap By", 1),
        (f"<header><img src=/lead.jpg></header><p>{WORDS}<p>a", "word", 0),
        (f"<meta property=og:image content=/x/bridge-80x60.jpg><img src=/bridge.jpg><p>{WORDS}<p>a", "word", 1),
        ("<p>a<p>b<figure><img src=/last.jpg></figure>", "", 1),
        ("<p>a<p>b<div><img src=/last.jpg width=640></div>", "", 1),
        ("<p>a<p>b<div><img src=/last.jpg></div>", "", 0),
        ("<p>a<p>b<div class=related><figure><img src=/last.jpg></figure></div>", "", 0),
        ("<amp-img src=/i.jpg><noscript><img src=/i.jpg></noscript></amp-img><p>a", "", 1),
    ],
)  # fmt: skip
def test_pictures_belong_to_the_text_next_to_them(html: str, removed: str, found: int) -> None:
    """Pictures next to kept text are written, even with a caption or a few words between; teasers are not."""
    assert len(written(html, *removed.split())) == found


@pytest.mark.parametrize(
    "picture",
    [
        "<img src=/i.png width=16 height=16>",
        "<img src=/i.png width=80 height=90>",
        "<img src=/img/icons/mail.svg>",
        "<img src=/siteLogo.png>",
        "<img class=emoji src=/1f44c.png>",
        "<span class=user-avatar><a><img src=/u/9.jpg></a></span>",
        "<div class=author-card><p><b><i><img src=/ann.jpg></i></b></p><p>Ann Lee</p></div>",
        "<a href=/authors/ann-lee><img src=/ann.jpg></a>",
        "<img class=rounded-full src=/ann.jpg>",
        "<img alt='Photo of Ann Lee' src=/ann.jpg><p>By Ann Lee</p>",
        "<img src=/ann.jpg?w=64&h=64>",
        "<img style='width: 40px' width=400 src=/ann.jpg>",
        "<img alt='Cats Ltd logo' src=/cats.png>",
        "<a href=https://cats.example/><img src=/cats.png></a>",
        "<a href=mailto:a@b.example><img src=/m.gif></a>",
        "<a href=/redirect.php?ad=9><img src=/a.jpg></a>",
        "<img src=/a.jpg width=728 height=90>",
        "<img src=/c.gif width=0 height=0>",
        "<img src=/c.gif width=17 height=11>",
        "<aside><img src=/a.jpg></aside>",
        "<div class=advert><div><div><img src=/a.jpg></div></div></div>",
        "<div id=header><img src=/a.jpg></div>",
        "<form><img src=/search.jpg></form>",
        "<img src=/wp-content/themes/cats/shape.png>",
        "<img src=/rank.jpg><p>b<p><img src=/rank.jpg><p>b<p><img src=/rank.jpg>",
        "<img src=/1x1.gif>",
        "<img src='data:image/gif;base64,x'>",
        "<img src='javascript:x()'>",
        "<img src=/img/grey-placeholder.png>",
        "<img>",
    ],
)
def test_icons_and_the_like_are_left_out(picture: str) -> None:
    """Icons and the like are recognised by size, names or address, and left out even between kept texts."""
    assert written(f"<p>a</p>{picture}<p>b</p>") == []


@pytest.mark.parametrize(
    "picture",
    [
        "<img alt='Ann Lee' src=/ann.jpg><p>Ann Lee at the fair</p>",
        "<img width=16 height=9 src=/a.jpg>",
        "<img src=/a.jpg?w=800>",
        "<a href=/people/ann><img src=/ann.jpg></a>",
        "<a href=/cats/><img src=/cats.jpg></a>",
        "<img src=/a.jpg><p>b<p><img src=/a.jpg>",
    ],
)
def test_pictures_of_people_and_with_links_are_content(picture: str) -> None:
    """Pictures of people without a byline, in the shape of a photo, or with a link to a page are written."""
    assert written(f"<p>a</p>{picture}<p>b</p>")


@pytest.mark.parametrize(
    ("picture", "address"),
    [
        ("<img src=data:x data-flickity-lazyload=/i.jpg>", "/i.jpg"),
        ("<img src=/placeholder.svg data-srcset='/i.jpg 400w, /w.jpg 800w'>", "/w.jpg"),
        ("<img data-lazy-srcset='/i.jpg, /w.jpg 2x'>", "/w.jpg"),
        ("<img src=/i.jpg srcset='/s.jpg 400w, /w.jpg 800w'>", "/i.jpg"),
        ("<picture><source srcset='/s.webp 1x, /w.webp 2x'><img alt=cat></picture>", "/w.webp"),
        ("<picture><source data-srcset=/w.webp><img src=data:x></picture>", "/w.webp"),
        ("<img class=lazy src=data:x><noscript><img src=/i.jpg></noscript>", "/i.jpg"),
        ("<img data-page=/about.html data-big='see /i.jpg here' src=/i.jpg>", "/i.jpg"),
    ],
)
def test_late_pictures_have_their_address(picture: str, address: str) -> None:
    """The address of a lazy picture is read from ``data-*``, ``srcset``, ``source`` or ``noscript``."""
    assert written(f"<p>a</p><div>{picture}</div><p>b</p>") == [address]


def test_candidates_may_have_commas_in_their_address() -> None:
    """A comma ends a candidate of ``srcset`` only before white space, so an address may contain commas."""
    assert image_address({"srcset": "/w_4,h_3/a.jpg 400w, /w_8,h_6/a.jpg 800w"}) == "/w_8,h_6/a.jpg"


def test_a_list_of_candidates_is_not_an_address() -> None:
    """Where ``src`` or an attribute of lazy pictures has what belongs into ``srcset``, the widest candidate counts."""
    candidates = "https://a.example/1.jpg?c=1 1000w, https://a.example/2.jpg?c=1 1250w"
    for name in ("src", "data-src", "data-lazy-src"):
        assert image_address({name: candidates}) == "https://a.example/2.jpg?c=1"
    assert image_address({"src": "/a cat, 2 dogs.jpg"}) == "/a cat, 2 dogs.jpg"


def test_images_are_described() -> None:
    """An image has its absolute address, text, caption, size and the block before it."""
    picture = "<img src=i.jpg alt=' two  cats ' width=640px height=auto>"
    html = f"<p>a <p>b<figure>{picture}<figcaption>So<br>nice</figcaption></figure><p>c"
    result = blockml.extract(html, url="https://a.example/b/", model="plain")
    assert result.images == (Image("https://a.example/b/i.jpg", "two cats", "So nice", 640, None, 1),)
    assert blockml.extract("<img src=/i.jpg><p>a", model="plain").images[0].block == -1
    assert blockml.extract("<img src=/i.jpg>", model="plain").images == ()


def test_captions_are_written_below_pictures_and_not_in_plain_text() -> None:
    """A removed caption is written below its picture in outputs with markup, but not in plain text."""
    page = blockml.parse("<p>a</p><figure><img src=/i.jpg><figcaption>cap</figcaption></figure><p>b</p>")
    kept = np.array([True, False, True])
    assert render_markdown(page, kept) == "a\n\n![](/i.jpg)\n\ncap\n\nb"
    assert '<figure><img src="/i.jpg"><figcaption>cap</figcaption></figure>' in render_html(page, kept)


def test_the_list_of_images_is_bounded() -> None:
    """A long caption that thousands of pictures share is repeated only within the budget."""
    pictures = "".join(f"<img src=i{number}.jpg>" for number in range(3000))
    figure = f"<figure>{pictures}<figcaption>{'longword' * 20} {WORDS}</figcaption></figure>"
    page = blockml.parse(f"<p>a</p>{figure}<p>b</p>".replace("<img", "<hr>x<img"))
    budget = Budget(page)
    images = find_images(page, np.ones(len(page.blocks), dtype=bool), budget=budget)
    assert sum(len(image.caption) for image in images) < 4 * 2**20
    assert budget.warnings


@pytest.mark.parametrize(
    "picture",
    [
        "<img src=a.jpg width=460 height=85>",
        "<img src=a-150x120.jpg>",
        "<a href=#note><img src=a.jpg></a>",
        "<img src=images/logosmall.png>",
    ],
)
def test_strips_thumbnails_and_marks_are_left_out(picture: str) -> None:
    """Heads of a site, small copies, marks of notes and logos."""
    assert written(f"<p>{WORDS}{picture}<p>{WORDS}") == []


@pytest.mark.parametrize(("name", "is_written"), [("head_01", False), ("2003head", False), ("headland", True)])
def test_the_head_of_a_site_is_not_content(name: str, *, is_written: bool) -> None:
    """If it is before all text."""
    assert written(f"<img src=images/{name}.gif width=400><p>{WORDS}") == [f"images/{name}.gif"] * is_written


def test_one_of_two_pictures_for_different_screens_is_written() -> None:
    """The first."""
    assert written(f"<p>{WORDS}<img src=/desktop/a.jpg><img src=/mobile/b.jpg><p>{WORDS}") == ["/desktop/a.jpg"]


def test_badges_are_written() -> None:
    """In a paragraph of their own, although they link to the head page of another site."""
    _, expected = reported("53")
    page = blockml.extract(reported("53")[0])
    assert re.findall(r"!\[.*\)", render(page, "markdown")) == re.findall(r"!\[.*\)", expected)


@pytest.mark.parametrize("item", ["<a href=/cats><img src=cat.jpg width=400></a>", "<img src=cat.jpg width=400>"])
def test_pictures_of_kept_items_of_a_list_are_written(item: str) -> None:
    """They are written even if they link to the page of the item, as in a shop or gallery."""
    page = blockml.parse(f"<p>One.</p><ul><li>{item} Two.</ul><p>Three.</p>")
    assert "cat.jpg" in render_html(page, [True] * len(page.blocks))
