"""JSON-LD of a page and its site: objects given by ``@id``, site names, and which objects describe the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

import blockml
from blockml.metadata.headline import name_in_title
from blockml.metadata.metadata import page_metadata
from blockml.page import Metadata

SITE = "https://cat.example/#organization"


def read(*objects: dict[str, Any], head: str = "") -> Metadata:
    """Read the metadata of a page with a graph of objects."""
    script = f'<script type="application/ld+json">{json.dumps({"@graph": objects})}</script>'
    return page_metadata(blockml.parse(f"{head}{script}<h1>Cats rule</h1><p>They do.", url="https://cat.example/a"))


def test_publishers_and_authors_given_by_id_are_looked_up() -> None:
    """Authors and publishers given by ``@id`` get the names of these objects, defined before or after the article."""
    found = read(
        {"@type": "Person", "@id": "#ann", "name": "Ann Lee"},
        {
            "@type": "Article",
            "publisher": {"@id": SITE},
            "author": [{"@id": "#ann"}, {"@type": "Person", "name": "Cid Moe"}, {"@id": "#bob"}, {"@id": "#none"}],
        },
        {"@type": "Organization", "@id": SITE, "name": "Cat News"},
        {"@type": "Person", "@id": "#bob", "name": "Bob Ray"},
    )
    assert (found.site_name, found.sources["site_name"]) == ("Cat News", "json-ld")
    assert found.authors == ("Ann Lee", "Cid Moe", "Bob Ray")


@pytest.mark.parametrize("publisher", [{"@id": SITE}, {"@type": "Organization", "url": "https://cat.example"}, SITE])
def test_an_address_is_not_a_site_name(publisher: Any) -> None:
    """An address is not used as a site's name; other sources are read instead, and without any there is no name."""
    article = {"@type": "Article", "publisher": publisher}
    assert read(article).site_name is None
    found = read(article, head="<meta property=og:site_name content='Cat News'>")
    assert (found.site_name, found.sources["site_name"]) == ("Cat News", "opengraph")
    found = read(
        article,
        head="<meta property=og:site_name content=//cat.example><meta name=application-name content='Cat News'>",
    )
    assert (found.site_name, found.sources["site_name"]) == ("Cat News", "meta")


@pytest.mark.parametrize("author", [{"@id": "#ann"}, [[{"@id": "#ann"}]], {"@id": ["#ann"]}, {"@id": {}, "name": ""}])
def test_authors_that_are_not_found_are_skipped(author: Any) -> None:
    """Authors that cannot be looked up are skipped, whatever their JSON type."""
    head = "<meta name=author content='Ann Lee'>"
    assert read({"@type": "Article", "author": author}, head=head).authors == ("Ann Lee",)


def test_the_name_of_the_site_ends_the_title() -> None:
    """The name that ends the title is the site's, because a publisher may be a platform with many sites."""
    head = "<title>Cats rule - Cat Café</title><meta property=og:site_name content='Cat Café'>"
    assert read({"@type": "Article", "publisher": {"name": "Pet Exchange"}}, head=head).site_name == "Cat Café"
    assert name_in_title(["Cat Media", "Cats rule"], "Cats rule") == "Cat Media"
    assert name_in_title(["News", "Cat News"], "Cats rule | Cat News") == "Cat News"
    assert name_in_title([], "Cats") is None


@pytest.mark.parametrize("kind", ["WebSite", "Organization", "LocalBusiness"])
def test_a_site_does_not_describe_the_page(kind: str) -> None:
    """Description and image of the site are not used for the page."""
    site = {"@type": kind, "name": "Cat News", "description": "News of cats", "image": "https://cat.example/logo.png"}
    head = "<meta property=og:description content='Cats rule.'><meta property=og:image content=/cat.png>"
    found = read(site, head=head)
    assert (found.description, found.image) == ("Cats rule.", "https://cat.example/cat.png")
    assert found.page_type == "website"
    assert read(site, {"@type": "WebPage", "description": "They do."}, head=head).description == "They do."


def test_questions_do_not_make_a_forum() -> None:
    """A list of questions does not make a page a forum, because shops and articles have them too."""
    questions = {"@type": "FAQPage", "mainEntity": [{"@type": "Question", "name": "Do cats rule?"}]}
    assert read(questions, {"@type": "Product", "name": "Cat food"}).page_type == "product"
    assert read(questions).page_type == "website"
    assert read({"@type": "QAPage", "mainEntity": {"@type": "Question", "name": "Do cats rule?"}}).page_type == "forum"


@pytest.mark.parametrize(
    ("host", "title"),
    [
        ("catfarm.github.io", "Github"),  # a suffix under which anybody can have a site
        ("www.github.com", "Catfarm Blogs"),
        ("www.github.co.uk", "Catfarm Blogs"),
        ("a。github.co.uk.", "Catfarm Blogs"),
    ],
)
def test_the_host_names_the_site_by_its_public_suffix(host: str, title: str) -> None:
    """The name of a site is the label before the public suffix of its host."""
    page = blockml.parse("<title>Github – Catfarm Blogs</title><p>One", url=f"https://{host}/")
    assert page_metadata(page).title == title
