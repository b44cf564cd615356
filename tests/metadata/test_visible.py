"""Authors and dates near the headline: labels of dates in several languages, and names in bylines."""

from __future__ import annotations

import pytest

import blockml
from blockml.metadata.metadata import page_metadata
from blockml.page import Metadata


def read(lines: str, language: str = "en") -> Metadata:
    """Read the metadata of an article with some lines between the headline and the text."""
    text = "<p>" + "They rule the world from the sofa, as everybody knows who has lived with one. " * 4
    return page_metadata(blockml.parse(f"<html lang={language}><h1>Cats rule the world</h1>{lines}{text}"))


@pytest.mark.parametrize(
    ("language", "published", "modified"),
    [
        ("en", "Published on 17 April 2020", "Last updated 2 December 2023"),
        ("de", "Veröffentlicht am 17.04.2020", "Zuletzt aktualisiert: 2. Dezember 2023"),
        ("fr", "Publié le 17 avril 2020", "Mis à jour le 2 décembre 2023"),
        ("es", "Publicado el 17 de abril de 2020", "Actualizado el 2 de diciembre de 2023"),
        ("it", "Pubblicato il 17 aprile 2020", "Ultima modifica: 2 dicembre 2023"),
        ("pt", "Publicado em 17 de abril de 2020", "Atualizado em 2 de dezembro de 2023"),
        ("nl", "Gepubliceerd op 17 april 2020", "Laatst bijgewerkt op 2 december 2023"),
        ("pl", "Opublikowano 17 kwietnia 2020", "Ostatnia aktualizacja: 2 grudnia 2023"),
        ("ru", "Опубликовано 17 апреля 2020", "Обновлено 2 декабря 2023"),
        ("tr", "Yayınlanma: 17 Nisan 2020", "Son güncelleme: 2 Aralık 2023"),
        ("ja", "公開日：2020年4月17日", "最終更新日：2023年12月2日"),
        ("zh", "发布时间：2020-04-17", "最后更新：2023-12-02"),
        ("ko", "입력 2020.04.17 20:00", "수정 2023.12.02 20:57"),
        ("sv", "Publicerad 17 april 2020", "Uppdaterad 2 december 2023"),
    ],
)
def test_labels_of_dates(language: str, published: str, modified: str) -> None:
    """Labels tell published from modified dates, in any order, on one line or two."""
    for lines in (f"<p>{published}<p>{modified}", f"<p>{modified}<p>{published}", f"<p>{modified} {published}"):
        found = read(lines, language)
        assert (found.published, found.modified) == ("2020-04-17", "2023-12-02")
    only = read(f"<p>{modified}", language)
    assert (only.published, only.modified) == (None, "2023-12-02")


@pytest.mark.parametrize(
    ("lines", "published", "modified"),
    [
        ("<p>Published<p>17 April 2020<p>Updated<p>2 December 2023", "2020-04-17", "2023-12-02"),
        ("<p>2020年4月17日 10時 公開（2023年12月2日 更新）", "2020-04-17", "2023-12-02"),
        ("<p>Updated <time datetime=2023-12-02>a day ago</time>", None, "2023-12-02"),
        ("<p>Joined: Mon Feb 02, 2015<p>by catlady » Sun Apr 07, 2019 9:12 pm", "2019-04-07", None),
        ("<p>April 17th, 2020 in Cats", "2020-04-17", None),
        ("<i>Tue Oct 8 09:12:44 CEST 2019</i>", "2019-10-08", None),
        ("<p>Cats sleep in the sun in Rome, Italy, on a Sunday, August 30, 2019 (Cat Press)", None, None),
    ],
)
def test_dates_near_the_headline(lines: str, published: str | None, modified: str | None) -> None:
    """Dates are labelled by the line before or after; dates of captions and of members are not dates of the page."""
    found = read(lines)
    assert (found.published, found.modified) == (published, modified)


def test_a_date_at_the_end_of_the_page_needs_a_label() -> None:
    """A date at the end of the page counts only with a label, as on wikis."""
    found = (
        read("", "en"),
        page_metadata(blockml.parse("<h1>Cats</h1><p>They.<p>This page was last edited on 3 May 2024.")),
    )
    assert [each.modified for each in found] == [None, "2024-05-03"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("<p>By Ann Lee and Bob van Ray", ("Ann Lee", "Bob van Ray")),
        ("<p>By <span>Ann Lee</span>, <span>Bob Ray</span> and <span>Cy Orr</span>", ("Ann Lee", "Bob Ray", "Cy Orr")),
        ("<div class=byline><p>Ann Lee</p><p>Bob Ray</p></div>", ("Ann Lee", "Bob Ray")),
        ("<div class=byline><a href=/a>Ann Lee</a> <i>Chief Reporter</i></div>", ("Ann Lee",)),
        ("<div class=byline>News <b>By</b> <a href=/a>Ann Lee</a></div>", ("Ann Lee",)),
        ("<p><a href=/author/ann>Ann Lee</a>, <a href=/author/bob>Bob Ray</a>", ("Ann Lee", "Bob Ray")),
        ("<p><a href=https://cat.example/autoren/7/ann>Ann Lee</a>", ("Ann Lee",)),
        ("<p><b>Ann Lee</b> <a href=mailto:a>ann at cat.example</a>", ("Ann Lee",)),
        ("<p>Von Ann Lee", ("Ann Lee",)),
        ("<p>Par Ann Lee et Bob Ray", ("Ann Lee", "Bob Ray")),
        ("<p>Escrito por Ann Lee", ("Ann Lee",)),
        ("<p>Автор: Анна Ли", ("Анна Ли",)),
        ("<p class=author>구현모 기자", ("구현모",)),
        ("<figure class=author>Bob Ray</figure><p class=author>Ann Lee", ("Ann Lee",)),
        ("<p>By the end of the day they slept", ()),
        ("<p><a href=/about/team>Our Cats</a>", ()),
    ],
)
def test_names_near_the_headline(lines: str, expected: tuple[str, ...]) -> None:
    """Names are read from bylines, author links and addresses; photo credits and other lines are not authors."""
    assert read(lines).authors == expected


@pytest.mark.parametrize(
    "lines",
    [
        "<p>" + "<a href=/author/a></a>" * 3000 + "Cats",
        "<div class=author>" * 200 + "x",
        "<p class=byline>" + "," * 50_000 + "x",
        "<p>2020-01-01" + "1" * 50_000,
        "<p>By " + "Ann Lee, " * 5000,
        "<p>" + "<time datetime=2020-01-01>now</time>" * 1000,
    ],
)
def test_hostile_lines_are_read(lines: str) -> None:
    """Names and dates are searched in a bounded number of nodes and characters, so hostile lines yield few authors."""
    assert len(read(lines).authors) <= 8
