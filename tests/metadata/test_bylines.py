"""Bylines in several languages, with roles, dates and labels, in forums, and in declarations."""

from __future__ import annotations

import pytest

import blockml
from blockml.metadata.metadata import page_metadata
from blockml.metadata.names import bylines
from blockml.page import Metadata

TEXT = "<p>" + "They rule the world from the sofa, as everybody knows who has lived with one. " * 4


def read(lines: str = "", head: str = "", language: str = "en") -> Metadata:
    """Read the metadata of an article with some lines between headline and text."""
    start = (
        f"<html lang={language}><head>{head}<title>Cats rule the world</title></head><body><h1>Cats rule the world</h1>"
    )
    return page_metadata(blockml.parse(start + lines + TEXT))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Words by Ann Lee, photos by Bob Ray", ("Ann Lee",)),
        ("Words: Ann Lee | Photos: Bob Ray", ("Ann Lee",)),
        ("Text: Anna Lehmann, Fotos: Bert Rau", ("Anna Lehmann",)),
        ("Von Anna Lehmann und Bert Rau", ("Anna Lehmann", "Bert Rau")),
        ("Par Anne Lebrun et Benoît Roux", ("Anne Lebrun", "Benoît Roux")),
        ("Por Ana López y Beto Ruiz", ("Ana López", "Beto Ruiz")),
        ("di Anna Leoni e Bruno Rossi", ("Anna Leoni", "Bruno Rossi")),
        ("Door Anna de Leeuw en Bram van Rijn", ("Anna de Leeuw", "Bram van Rijn")),
        ("Av Anna Lind och Bo Ros", ("Anna Lind", "Bo Ros")),
        ("Autor: Anna Lis i Bogdan Rak", ("Anna Lis", "Bogdan Rak")),
        ("Автор: Анна Лебедева и Борис Раков", ("Анна Лебедева", "Борис Раков")),
        ("作者：李小明、王大伟", ("李小明", "王大伟")),
        ("作者：李小明 发布时间：2020-04-17 10:20", ("李小明",)),
        ("2020年04月17日 来源：新华网 作者：李小明", ("李小明",)),
        ("<i>2020-04-17</i> <i>来源：新华网</i> <i>作者：李小明</i>", ("李小明",)),
        ("文：山田太郎", ("山田太郎",)),
        ("홍길동 기자 2020.04.17", ("홍길동",)),
        ("Posted by Ann Lee on April 17, 2020", ("Ann Lee",)),
        ("Posted on April 17, 2020 at 9:58 am by Ann Lee in Cats", ("Ann Lee",)),
        ("By Ann Lee, Bob Ray, and Cy Orr", ("Ann Lee", "Bob Ray", "Cy Orr")),
        ("BY ANN LEE AND BOB RAY", ("ANN LEE", "BOB RAY")),
        ("By Ann Lee April 17, 2020 | 5 min read", ("Ann Lee",)),
        ("By Ann Lee, Political Editor", ("Ann Lee",)),
        ("By Ann Lee, Senior Correspondent", ("Ann Lee",)),
        ("By Ann Lee | Contributor", ("Ann Lee",)),
        ("By Ann Lee, Reuters", ("Ann Lee", "Reuters")),
        ("By Ann Lee, Special to the Cat Times", ("Ann Lee",)),
        ("By Ann Lee for The Cat", ("Ann Lee",)),
        ("By Ann Lee and agencies", ("Ann Lee",)),
        ("by catlady » Mon Jan 01, 2018 1:00 pm", ("catlady",)),
        ("<a rel=author href=/a>Ann Lee</a>, <a rel=author href=/b>Bob Ray</a>", ("Ann Lee", "Bob Ray")),
        ("<span class=author>Beitrag von <b>catlady</b></span>", ("catlady",)),
        ("By the numbers", ()),
        ("By train from Berlin to Rome", ()),
        ("By Monday the cats had gone", ()),
        ("Save up to 30% by Selecting Better Cats", ()),
        ("<span class=comment>Posted by Ann Lee on April 17, 2020</span>", ()),
    ],
)
def test_names_in_lines(line: str, expected: tuple[str, ...]) -> None:
    """Names end before a role, a date, another label, or a word such as "for"."""
    assert read(f"<p>{line}").authors == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("<i itemprop=author><b itemprop=name>Ann Lee</b></i>", ("Ann Lee",)),
        ("<i itemprop=author>Ann Lee</i>, <i itemprop=author>Bob Ray</i>", ("Ann Lee", "Bob Ray")),
        ("<i itemprop=author>Ann Lee</i> writes. <i itemprop=author>Bob Ray</i>", ("Ann Lee",)),
    ],
)
def test_names_in_microdata(lines: str, expected: tuple[str, ...]) -> None:
    """Several authors are joined by words or commas; others may be those of comments."""
    assert read(f"<p>{lines}").authors == expected


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ('{"givenName": "Ann", "additionalName": "B.", "familyName": "Lee"}', ("Ann B. Lee",)),
        ('{"@list": [{"name": "Ann Lee"}, {"name": "Bob Ray"}]}', ("Ann Lee", "Bob Ray")),
        ('[{"name": "Ann Lee", "worksFor": {"@type": "Organization", "name": "Cat Co"}}]', ("Ann Lee",)),
        ('{"@id": "#a"}', ("Ann Lee",)),
        ('"Ann Lee and Bob Ray"', ("Ann Lee", "Bob Ray")),
    ],
)
def test_names_in_json_ld(author: str, expected: tuple[str, ...]) -> None:
    """Parts of names, lists, references to other objects, and organisations within persons."""
    objects = f'[{{"@type": "Article", "author": {author}}}, {{"@type": "Person", "@id": "#a", "name": "Ann Lee"}}]'
    assert read(head=f'<script type="application/ld+json">{{"@graph": {objects}}}</script>').authors == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("citation_author", "van der Berg, Jan", ("Jan van der Berg",)),
        ("citation_author", "O'Brien, Pat", ("Pat O'Brien",)),
        ("citation_authors", "Lee, Ann; Ray, Bob C.", ("Ann Lee", "Bob C. Ray")),
        ("bepress_citation_author", "Lee, Ann", ("Ann Lee",)),
        ("eprints.creators_name", "Lee, Ann", ("Ann Lee",)),
        ("DC.Creator.PersonalName", "Lee, Ann", ("Ann Lee",)),
        ("dcterms.creator", "García Márquez, Gabriel", ("Gabriel García Márquez",)),
        ("og:article:author", "Ann Lee", ("Ann Lee",)),
        ("article:author", "https://cat.example/authors/ann-lee/", ("Bob Ray",)),
    ],
)
def test_names_in_meta_elements(name: str, content: str, expected: tuple[str, ...]) -> None:
    """Surnames may come first; an address is not a name, so that the byline is read."""
    assert read("<p>By Bob Ray", head=f'<meta name="{name}" content="{content}">').authors == expected


@pytest.mark.parametrize(
    ("language", "line", "published", "modified"),
    [
        ("en", "Updated: December 2, 2023 Published: April 17, 2020", "2020-04-17", "2023-12-02"),
        ("en", "April 17, 2020 (updated December 2, 2023)", "2020-04-17", "2023-12-02"),
        ("en", "Friday 17th of April 2020", "2020-04-17", None),
        ("en", "Page last reviewed: 2 December 2023. Next review due: 2 December 2026", None, None),
        ("en", "2 hours ago", None, None),
        ("en", "Published 03-04-2020", None, None),
        ("en-US", "Published 03-04-2020", "2020-03-04", None),
        ("en-GB", "Published 03/04/2020", "2020-04-03", None),
        ("fr", "Publié le 03/04/2020 à 10h20, mis à jour le 05/04/2020", "2020-04-03", "2020-04-05"),
        ("fi", "Julkaistu 17.4.2020, päivitetty 2. joulukuuta 2023", "2020-04-17", "2023-12-02"),
        ("hu", "Megjelent: 2020. április 17. Frissítve: 2023. december 2.", "2020-04-17", "2023-12-02"),
        ("el", "Δημοσιεύθηκε: 17 Απριλίου 2020 Ενημερώθηκε: 2 Δεκεμβρίου 2023", "2020-04-17", "2023-12-02"),
        ("ro", "Publicat: 17 aprilie 2020 Actualizat: 2 decembrie 2023", "2020-04-17", "2023-12-02"),
        ("vi", "Đăng ngày 17/04/2020 Cập nhật 02/12/2023", "2020-04-17", "2023-12-02"),
        ("ar", "تاريخ النشر: 17 أبريل 2020 آخر تحديث: 2 ديسمبر 2023", "2020-04-17", "2023-12-02"),
    ],
)
def test_dates_in_lines(language: str, line: str, published: str | None, modified: str | None) -> None:
    """Forms and labels of dates in several languages; the order of numbers follows the language."""
    found = read(f"<p>{line}", language=language)
    assert (found.published, found.modified) == (published, modified)


def test_classes_of_dates() -> None:
    """Blogs write what a date is only in the class; a date that is only called updated may be the publication."""
    updated = "<time class=updated datetime=2023-12-02>2 Dec</time>"
    both = read(f"<p><time class='entry-date published' datetime=2020-04-17>17 Apr</time>{updated}")
    assert (both.published, both.modified) == ("2020-04-17", "2023-12-02")
    assert read(f"<p>{updated}").published == "2023-12-02"


def test_pipermail() -> None:
    """The name is before the address; the date is as C writes it."""
    page = (
        f"<h1>[Cats] Rule</h1><b>Ann Lee</b> <a href=mailto:a>a at b</a><br><i>Thu Jan  4 12:13:14 CET 2007</i>{TEXT}"
    )
    found = page_metadata(blockml.parse(page))
    assert (found.authors, found.published) == (("Ann Lee",), "2007-01-04")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((" \n BY Ann Lee", "wRITTEN by Bob Ray"), [(0, " \n BY Ann Lee"), (1, "wRITTEN by Bob Ray")]),
        (("", "Autor: Ann", "\u00a0作者：李小明"), [(1, "Autor: Ann"), (2, "\u00a0作者：李小明")]),
        (("12024 by Ann Lee rules", "1:20pm, by Ann Lee"), [(0, "by Ann Lee rules"), (1, "by Ann Lee")]),
        (("Cats rule the world", "Bye, cats"), []),
    ],
)
def test_bylines_start_in_any_case_or_follow_digits(texts: tuple[str, ...], expected: list[tuple[int, str]]) -> None:
    """A byline word is found after white space, in any case, and after a time or four digits."""
    assert bylines(texts) == expected
