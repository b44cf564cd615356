"""Products, recipes, events and jobs that pages declare are in the metadata, as the pages give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import blockml
from blockml.batch.outputs import arrow_row
from blockml.page import Metadata


def metadata(*items: Any, html: str = "") -> Metadata:
    """Return the metadata of a page with JSON-LD scripts."""
    scripts = [f"<script type=application/ld+json>{json.dumps(item)}</script>" for item in items]
    return blockml.extract("".join(scripts) + html + "<p>The cat sat on the mat.").metadata


def test_things_are_items_and_the_frame_of_the_page_is_not() -> None:
    """Products and recipes are items; the page, the site, its publisher and its path are not."""
    graph = [
        {"@type": "WebPage", "name": "Kettles"},
        {"@type": "Organization", "name": "Shop"},
        {"@type": "BreadcrumbList", "itemListElement": []},
        {"@type": ["Product", "Thing"], "name": "Kettle", "offers": {"@type": "Offer", "price": "39.90"}},
    ]
    recipe = {"@type": "https://schema.org/Recipe", "recipeIngredient": ["1 cup sugar"]}
    assert metadata({"@graph": graph}, recipe).items == (graph[-1], recipe)


def test_items_within_items_are_listed_once() -> None:
    """The event of a page is an item; a part of a course belongs to the course."""
    event = {"@type": "Event", "name": "Open day"}
    page = {"@type": "WebPage", "mainEntity": event}
    course = {"@type": "Course", "hasPart": [{"@type": "Course", "name": "Baking"}]}
    assert metadata(page, course).items == (event, course)


def test_microdata_have_the_properties_of_their_items() -> None:
    """Values come from the attributes that the standard names; nested items are objects; several values are a list."""
    html = (
        "<div itemscope itemtype='http://schema.org/Product'><h1 itemprop=name>Kettle</h1>"
        "<img itemprop=image src=a.jpg><img itemprop=image src=b.jpg><div itemprop=offers itemscope itemtype='http://schema.org/Offer'>"
        "<meta itemprop=priceCurrency content=EUR><b itemprop='price lowPrice'>39.90</b></div>"
        "<a itemprop=url href=/kettle>More</a></div><b itemprop=name>Another</b>"
    )
    offer = {"@type": "Offer", "priceCurrency": "EUR", "price": "39.90", "lowPrice": "39.90"}
    product = {"@type": "Product", "name": "Kettle", "image": ["a.jpg", "b.jpg"], "offers": offer, "url": "/kettle"}
    assert metadata(html=html).items == (product,)


def test_items_can_be_written() -> None:
    """Half characters are replaced, numbers that JSON lacks are null, and items that are too deep are left out."""
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    found = blockml.extract(
        r'<script type=application/ld+json>{"@type":"Product","name":"a\ud800","weight":NaN,"size":-Infinity}</script>'
        f'<script type=application/ld+json>{{"@type":"Product","name":{json.dumps(deep)}}}</script><p>Cats rule'
    )
    expected = {"@type": "Product", "name": "a\ufffd", "weight": None, "size": None}
    assert found.metadata.items == (expected,)
    assert json.loads(blockml.render(found, "json"))["metadata"]["items"] == [expected]
    row = arrow_row({"metadata": found.metadata.record()})
    assert [json.loads(text) for text in row["metadata"]["items"]] == [expected]


@pytest.mark.parametrize("shape", ["nested", "repeated", "scopes", "many names", "scopes of many names"])
def test_items_are_not_longer_than_the_page(shape: str) -> None:
    """A text within many properties is read only as often as the length of the page allows."""
    scope = "<div itemscope itemtype=http://schema.org/Product>"
    text = "The cat sat on the mat. " * 40
    html = {
        "nested": scope + "<i itemprop=a>" * 90 + text + "</i>" * 90 + "</div>",
        "repeated": f"{scope}<i itemprop='{' '.join(map(str, range(300)))}'>{text}</i></div>",
        "many names": f"{scope}<i itemprop='{' '.join(map(str, range(20_000)))}'>{text * 100}</i></div>",
        "scopes of many names": "<div itemprop='a b c d e f g h' itemscope itemtype=http://schema.org/Product>" * 9
        + text,
        "scopes": "<div itemprop=a itemscope itemtype=http://schema.org/Product>" * 300 + text,
    }[shape]
    found = metadata(html=html).items
    assert len(json.dumps(found)) <= len(html) + 200


def test_dates_of_events_and_deadlines_are_not_those_of_the_page() -> None:
    """Days of a declared event, and dates after the word for a deadline, are not a publication."""
    html = "<h1>Open day at the mill</h1><p>{}</p><p>The mill was rebuilt twice in a century, and its wheel is old.</p>"
    event = {"@type": "Event", "name": "Open day", "startDate": "2019-06-14T10:00"}
    assert metadata(event, html=html.format("14 June 2019")).published is None
    assert metadata(html=html.format("14 June 2019")).published == "2019-06-14"
    assert metadata(html=html.format("Apply by 14 June 2019")).published is None
    assert metadata(html=html.format("<i class=event-date>14 June 2019</i>")).published is None
    job = {"@type": "JobPosting", "title": "Miller", "datePosted": "2019-05-01", "validThrough": "2019-06-14"}
    assert metadata(job, html=html.format("14 June 2019")).published == "2019-05-01"


@pytest.mark.parametrize("start", ["<div class=review>", "<section id=comments>", "<blockquote>"])
def test_dates_of_readers_are_not_those_of_the_page(start: str) -> None:
    """A date in a review, a comment or a quotation is not a publication."""
    html = f"<h1>Blue Kettle of the mill</h1><p>It boils.{start}<time datetime=2019-03-02>2 March 2019</time>"
    assert metadata(html=html).published is None


def test_images_by_reference() -> None:
    """An image that is given by its identifier has the address of that object."""
    graph = [
        {"@type": "Article", "headline": "Cats", "image": {"@id": "https://a.example/#image"}},
        {"@type": "ImageObject", "@id": "https://a.example/#image", "url": "https://a.example/cat.jpg"},
    ]
    assert metadata({"@graph": graph}).image == "https://a.example/cat.jpg"
