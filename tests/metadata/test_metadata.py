"""Metadata of pages: sources, their order, and the effect of malformed declarations."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockml
from blockml.metadata import headline, metadata
from blockml.metadata.dates import iso_date
from blockml.metadata.headline import headline_blocks, without_site
from blockml.metadata.json_ld import json_ld_objects
from blockml.metadata.metadata import page_metadata
from blockml.page import Page
from blockml.page.page import Metadata
from tests.strategies import messy_html


def read(html: str, url: str | None = "https://www.cat.example/news/1") -> Metadata:
    """Read the metadata of a page."""
    return page_metadata(blockml.parse(html, url=url))


def with_json(value: Any) -> str:
    """Return a page that declares an object in JSON-LD."""
    return f'<script type="application/ld+json">{json.dumps(value)}</script><p>Cats rule the world.'


ARTICLE = {
    "@context": "https://schema.org",
    "@graph": [
        {"@type": "WebSite", "name": "The Daily Cat"},
        {"@type": "BreadcrumbList"},
        {
            "@type": ["NewsArticle"],
            "headline": "Cats &amp; dogs",
            "author": [{"@type": "Person", "name": "Ann Lee"}, "By Bob Ray"],
            "datePublished": "2024-05-03T06:00:00.123Z",
            "dateModified": "2024-05-04",
            "image": [{"url": "/cat.jpg"}],
            "keywords": "cats, dogs",
            "inLanguage": "en-GB",
        },
    ],
}


def test_json_ld_is_read_first() -> None:
    """JSON-LD is preferred to ``meta`` elements."""
    found = read(with_json(ARTICLE) + "<meta name=author content='Somebody Else'><meta name=date content=2020-01-01>")
    assert found.authors == ("Ann Lee", "Bob Ray")
    assert (found.published, found.modified) == ("2024-05-03T06:00:00+00:00", "2024-05-04")
    assert (found.title, found.site_name, found.page_type) == ("Cats & dogs", "The Daily Cat", "article")
    assert (found.image, found.keywords, found.language) == (
        "https://www.cat.example/cat.jpg",
        ("cats", "dogs"),
        "en-gb",
    )
    assert {found.sources[name] for name in ("title", "authors", "published", "image")} == {"json-ld"}
    assert json.loads(json.dumps(found.record()))["authors"] == ["Ann Lee", "Bob Ray"]


@pytest.mark.parametrize(
    ("html", "name", "value", "source"),
    [
        ("<meta name=keywords content='猫，狗，鸟'>", "keywords", ("猫", "狗", "鸟"), "meta"),
        ("<meta name=keywords content='猫 狗 鸟'>", "keywords", ("猫", "狗", "鸟"), "meta"),
        ("<meta name=keywords content='猫，狗, 鸟'>", "keywords", ("猫，狗", "鸟"), "meta"),
        ("<meta name=keywords content='猫捉住了狗 狗跑了'>", "keywords", ("猫捉住了狗 狗跑了",), "meta"),
        ("<meta name=keywords content='قط، كلب، طائر'>", "keywords", ("قط", "كلب", "طائر"), "meta"),
        ("<meta property=og:title content='Cats rule'>", "title", "Cats rule", "opengraph"),
        ("<title>Cats rule - The Daily Cat</title>", "title", "Cats rule", "title"),
        ("<title>Cats rule | cat.example</title>", "title", "Cats rule", "title"),
        ("<title>Cats • View topic - Dogs - a new look</title>", "title", "Dogs - a new look", "title"),
        ("<title>The cats :: Просмотр темы - Dogs</title>", "title", "Dogs", "title"),
        ("<title>News</title><h1>Cats <b>rule</b></h1>", "title", "Cats rule", "h1"),
        ("<meta name=dc.creator content='Ann Lee'>", "authors", ("Ann Lee",), "dublin core"),
        (
            "<meta name=author content='Ann Lee, Bob Ray and Cid Moe'>",
            "authors",
            ("Ann Lee", "Bob Ray", "Cid Moe"),
            "meta",
        ),
        ("<span itemprop=author>By Ann Lee</span>", "authors", ("Ann Lee",), "microdata"),
        ("<p class=byline>By Ann Lee | 3 min</p>", "authors", ("Ann Lee",), "visible"),
        ("<meta name=author content=https://facebook.com/cat>", "authors", (), None),
        ("<meta property=article:published_time content=2024-05-03>", "published", "2024-05-03", "opengraph"),
        ("<meta itemprop=datePublished content=2024-05-03>", "published", "2024-05-03", "microdata"),
        ("<meta itemprop=image content=/cat.png>", "image", "https://www.cat.example/cat.png", "microdata"),
        ("<time datetime=2024-05-03T10:00>today</time>", "published", "2024-05-03T10:00:00", "visible"),
        ("<span class=post-date>3 May 2024</span>", "published", "2024-05-03", "visible"),
        ("<html lang=pt_BR>", "language", "pt-br", "html"),
        ("<meta http-equiv=content-language content=utf-8>", "language", None, None),
        ("<html lang=utf-8><meta http-equiv=content-language content=zh-CN>", "language", "zh-cn", "meta"),
        ("<meta property=og:locale content=de_DE>", "language", "de-de", "opengraph"),
        ("<link rel=canonical href=/cats>", "canonical_url", "https://www.cat.example/cats", "html"),
        (
            "<base href=https://x.example/a/><link rel=canonical href=b>",
            "canonical_url",
            "https://x.example/a/b",
            "html",
        ),
        ("<link rel=canonical href=javascript:alert(1)>", "canonical_url", None, None),
        ("<meta property=og:type content=product.item>", "page_type", "product", "opengraph"),
        ("<p>Кошки правят миром", "script", "Cyrl", "visible"),
        ("<p>猫が世界を支配する", "script", "Jpan", "visible"),
        ("<p>猫が世界を支配する", "language", "ja", "visible"),
        ("<html lang=en><p>猫が世界を支配する", "language", "en", "html"),
        ("<p>Кошки правят миром", "language", None, None),
    ],
)
def test_each_field_has_its_source(html: str, name: str, value: object, source: str | None) -> None:
    """Each field has the expected value and source; fields without a value have no source."""
    found = read(html)
    assert getattr(found, name) == value
    assert found.sources.get(name) == source


@pytest.mark.parametrize(
    "broken", ['{"@type": "Article", ', "[[[[", "null", "3", '{"@graph": {"@graph": {}}}', "<!-- x -->", "{" * 9999]
)
def test_malformed_json_is_skipped(broken: str) -> None:
    """Malformed JSON is skipped, and the title comes from another declaration."""
    found = read(f"<script type='application/ld+json'>{broken}</script><meta property=og:title content=Cats>")
    assert found.title == "Cats"


def test_json_in_comments_is_read() -> None:
    """JSON in a commented CDATA section is read."""
    source = b'<script type="application/ld+json">//<![CDATA[\n{"headline": "Cats"}\n//]]></script>'
    assert [item["headline"] for item in json_ld_objects(source, 1)] == ["Cats"]


@pytest.mark.parametrize("between", ["", "<!-- a comment that has ended -->"])
def test_commented_declarations_are_not_read(between: str) -> None:
    """JSON-LD in an HTML comment is not read, but the script after it is."""
    script = '<script type=\'application/ld+json\'>{{"@type": "Article", "headline": "{}"}}</script>'
    found = read(f"<!-- {script.format('Dogs')} -->{between}{script.format('Cats')}<p>They rule.")
    assert (found.title, found.sources["title"]) == ("Cats", "json-ld")


def test_declarations_are_read_until_all_scripts_were() -> None:
    """A malformed script, or one inside a string, doesn't end the search for declarations."""
    before = "<script>x = '<script type=\"application/ld+json\">'</script>"
    broken = "<script type='application/ld+json'>{</script>"
    good = '<script type=\'application/ld+json\'>{"@type": "Article", "headline": "Cats"}</script>'
    assert read(f"{before}{broken}{good}<p>They rule.").title == "Cats"


def test_unknown_declarations_are_skipped() -> None:
    """Elements with unknown names are skipped, unless another attribute names a known field."""
    found = read(
        "<meta name=viewport content=wide><meta content=Cats name=og:title><meta name=x content=Ann itemprop=author>"
        "<meta property=OG:Site_Name content=Dogs><p>They rule."
    )
    assert (found.title, found.authors, found.site_name) == ("Cats", ("Ann",), "Dogs")


@given(messy_html)
def test_metadata_never_raises(html: str) -> None:
    """Metadata of any page can be read and pickled."""
    found = read(html, url=None)
    assert set(found.sources) <= set(found.record())
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["@type", "@id", "@graph", "author", "publisher", "name", "image", "headline", "datePublished"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_json_of_any_shape_gives_texts(value: object) -> None:
    """JSON values of a wrong type are ignored."""
    found = read(with_json(value))
    assert all(isinstance(name, str) for name in found.authors)
    assert found.title is None or isinstance(found.title, str)
    assert found.published is None or iso_date(found.published)


@pytest.mark.parametrize(
    ("title", "site", "found"),
    [
        ("Cats - dogs and more | The Daily Cat", "The Daily Cat", "Cats - dogs and more"),
        ("The Daily Cat: Cats rule", None, "The Daily Cat: Cats rule"),
        ("The Daily Cat", "The Daily Cat", "The Daily Cat"),
        ("Well-known cats of the north", None, "Well-known cats of the north"),
        ("", None, ""),
    ],
)
def test_the_name_of_the_site_is_removed_from_a_title(title: str, site: str | None, found: str) -> None:
    """The name of the site is removed from a title if it is known or is a short last part."""
    assert without_site(title, site) == found


def test_the_headline_is_labelled_and_can_be_included() -> None:
    """A headline in the site's header is labelled as a heading and can be included."""
    text = "<p>" + "Cats rule the world, and nobody has ever asked them why they do it. " * 12
    header = "<header><ul><li><a href=/>Home</a></ul><h1>Cats rule</h1></header>"
    html = f"<title>Cats rule</title>{header}<div>{text * 3}</div>"
    page = blockml.parse(html)
    place = [block.text for block in page.blocks].index("Cats rule")
    assert headline_blocks(page).tolist() == [number == place for number in range(len(page.blocks))]
    result = blockml.extract(html)
    assert result.title == "Cats rule"
    assert str((result.labels or ())[place]) in ("heading", "main")
    assert "Cats rule\n" in blockml.extract(html, include="heading").text


def test_a_pickled_extraction_has_its_metadata() -> None:
    """Lazy metadata is computed before pickling."""
    result = pickle.loads(pickle.dumps(blockml.extract("<title>Cats</title><p>Cats", model="kim2013")))  # noqa: S301
    assert result.title == "Cats"


def test_an_extraction_is_shown_in_one_line() -> None:
    """The representation is one line, and the one for notebooks is escaped HTML."""
    result = blockml.extract("<title>Cats &lt;b&gt;</title><p>Cats", model="kim2013")
    assert repr(result) == (
        f"Extraction(ok, title='Cats <b>', 4 characters, 1 of 1 block, confidence {result.confidence:.2f}, "
        f"model={result.model!r})"
    )
    assert repr(result.page) == "Page(ok, title='Cats <b>', 1 block, url=None)"
    assert "Cats &lt;b&gt;" in result._repr_html_()
    assert "Cats <b>" not in result._repr_html_()


@pytest.mark.parametrize("wrong", ["https://cat.example/a", "page.html", "folder/page.html.gz"])
def test_an_address_is_not_a_page(wrong: str) -> None:
    """An address or file name raises an error that names the mistake."""
    with pytest.raises(blockml.errors.UsageError, match="html must be a page, but"):
        blockml.extract(wrong)
    assert blockml.extract(wrong.encode()).page.nodes  # bytes come from a crawl and are always a page


@pytest.mark.parametrize(
    ("opening", "most"),
    [("<div class=author>", 100), ("<div itemprop=author>", 100), ("<div><h1>", 100), ("<div class=date>", 40)],
)
def test_elements_within_each_other_are_read_a_few_times(
    opening: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text read doesn't grow with the square of the page: few elements are tried, and large ones are skipped."""
    read: list[int] = []
    original = headline.element_text

    def counted(page: Page, node: int) -> str:
        text = original(page, node)
        read.append(len(text))
        return text

    monkeypatch.setattr(metadata, "element_text", counted)
    monkeypatch.setattr(headline, "element_text", counted)
    page = blockml.parse(opening * 1_000 + "<i>w</i> " * 20_000)
    page_metadata(page)
    assert len(read) <= 4 * most  # several words mark names of authors and dates
    assert sum(read) == 0


def test_an_element_too_large_for_a_headline_has_no_text() -> None:
    """The text of an element that is too large for a headline is not read, even if its class says byline."""
    page = blockml.parse("<h1>Cats <b>rule</b></h1><div class=author>" + "<i>w</i>" * 200 + "</div>")
    (h1,), (wrapper,) = page.nodes.indices("h1").tolist(), page.nodes.indices("div").tolist()
    assert headline.element_text(page, h1) == "Cats rule"
    assert headline.element_text(page, wrapper) == ""


def test_white_space_of_microdata_is_collapsed() -> None:
    """White space in microdata is collapsed as in other declarations."""
    found = page_metadata(blockml.parse("<meta itemprop=description content='Cats \n  rule'><p>x"))
    assert found.description == "Cats rule"


def test_json_escapes_of_half_a_character_are_replaced() -> None:
    """Lone surrogates in JSON are replaced, because UTF-8 cannot encode them."""
    item = {"@type": "Article", "headline": "\ud800 Cats \U0001f600", "author": {"name": "Ann \udfff"}}
    found = page_metadata(blockml.parse(with_json(item)))
    assert (found.title, found.authors) == ("\ufffd Cats \U0001f600", ("Ann \ufffd",))


@pytest.mark.parametrize(
    ("text", "day_first", "expected"),
    [
        ("2025年1月13日 21時37分", None, "2025-01-13"),
        ("2025년 1월 13일", None, "2025-01-13"),
        ("15.10.24 23:35", None, "2024-10-15"),
        ("1.2.24.5", None, None),
        ("31/12/2024 10:22", None, "2024-12-31"),
        ("12/31/2024", True, "2024-12-31"),
        ("1/2/2024", True, "2024-02-01"),
        ("1/2/2024", False, "2024-01-02"),
        ("1/2/2024", None, None),
        ("23 lutego 2024", None, "2024-02-23"),
        ("3 Temmuz 2024", None, "2024-07-03"),
        ("24 октября 2025", None, "2025-10-24"),
        ("12024-05-03", None, "2024-05-03"),
        ("v2024.05.03", None, None),
        ("v20240503", None, None),
        ("v1.2.2024", None, None),
        ("131.1.2024", None, None),
        ("131/1/2024", True, None),
        ("v31/1/2024", True, "2024-01-31"),
        ("v2024 May 3", None, None),
        ("令和6年3月5日（火）", None, "2024-03-05"),
        ("平成元年1月8日", None, None),
        ("平成31年4月30日", None, "2019-04-30"),
        ("中華民國113年3月5日", None, "2024-03-05"),
        ("5 มีนาคม 2567", None, "2024-03-05"),
        ("5 มี.ค. พ.ศ. 2567", None, "2024-03-05"),
        ("۱۵ اسفند ۱۴۰۲", None, "2024-03-05"),
        ("۳۰ اسفند ۱۳۹۹", None, "2021-03-20"),
        ("۱ مهر ۱۴۰۲", None, "2023-09-23"),
        ("5 במרץ 2024", None, "2024-03-05"),
        ("5 मार्च 2024", None, "2024-03-05"),
        ("৫ মার্চ ২০২৪", None, "2024-03-05"),
        ("5 март 2024", None, "2024-03-05"),
        ("5. avgust 2024.", None, "2024-08-05"),
        ("2024 m. kovo 5 d.", None, "2024-03-05"),
        ("5. Jänner 2024", None, "2024-01-05"),
        ("30 June 2094", None, None),
        ("2094-06-14T10:00", None, None),
    ],
)
def test_dates_of_numbers_and_of_other_languages(text: str, day_first: bool | None, expected: str | None) -> None:  # noqa: FBT001 (a parameter of the test)
    """Dates in numbers and in several languages are read; the order of day and month is given by the language."""
    assert iso_date(text, day_first=day_first) == expected


@pytest.mark.parametrize("year", ["20244444444444444", "9" * 40, "70"])
def test_dates_of_emails_have_the_years_of_web_pages(year: str) -> None:
    """Email dates with years outside the bounds for web pages are ignored, even if they overflow a C integer."""
    assert iso_date(f"Mon, 03 May {year} 06:00:00 GMT") is None
    assert iso_date("Mon, 03 May 24 06:00:00 GMT") == "2024-05-03T06:00:00+00:00"


@pytest.mark.parametrize(
    ("html", "published"),
    [
        ("<html lang=es><time>02/12/2024 Actualizado</time>", "2024-12-02"),
        ("<html lang=en-US><time>02/12/2024</time>", "2024-02-12"),
        ("<html lang=en><time>02/12/2024</time>", None),
        ("<link rel=canonical href=/n1/2024/0424/c1-4.html>", "2024-04-24"),
    ],
)
def test_the_language_decides_the_order_of_a_date(html: str, published: str | None) -> None:
    """The page's language decides the order of day and month, and dates in addresses may lack separators."""
    assert read(html).published == published


@pytest.mark.parametrize(
    "image",
    [
        '{"@id": "https://cat.example/a#primaryimage"}',
        '{"@type": "ImageObject", "name": "A cat on a mat"}',
        '[{"name": "A cat"}, {"@id": "#image"}]',
        '{"@type": "ImageObject", "name": "A cat", "contentUrl": "https://cat.example/cat.png"}',
    ],
)
def test_captions_and_names_of_objects_are_not_images(image: str) -> None:
    """The image is the address of an image object, or comes from another declaration, never a caption or a name."""
    script = f'<script type="application/ld+json">{{"@type": "Article", "image": {image}}}</script>'
    page = blockml.parse(
        f"{script}<meta property=og:image content=https://cat.example/cat.png><p>x", url="https://cat.example/a"
    )
    assert page_metadata(page).image == "https://cat.example/cat.png"


def test_titles_of_drawings_are_not_the_headline() -> None:
    """Browsers don't show the titles of drawings, so that a logo in the ``h1`` is not the title."""
    page = (
        "<title>Ponds and mills - Example</title><h1><svg><title>News</title></svg><svg><title>News</title></svg></h1>"
    )
    assert blockml.extract(f"{page}<p>The pond is deep.").metadata.title == "Ponds and mills"
    assert (
        blockml.extract(f"{page.replace('</h1>', 'Deep ponds</h1>')}<p>The pond is deep.").metadata.title
        == "Deep ponds"
    )


def test_a_byline_in_the_kept_text_is_read() -> None:
    """Far from the headline it is known by the kept text; several alike are those of readers."""
    text = "Cats rule the world, and nobody has ever asked them whether they like it at all. " * 3
    menu = "".join(f"<p><a href=/{number}>Section {number}</a>" for number in range(60))
    html = f"<h1>Cats rule</h1>{menu}<div><p>{text}<p>{text}<p>{{}}</div>"
    assert blockml.extract(html.format("By Ann Miller")).metadata.authors == ("Ann Miller",)
    assert blockml.extract(html.format("Posted by Ann Miller<p>Yes!<p>Posted by Bo Lee")).metadata.authors == ()
