"""The generator of labelled pages and the pages in ``data/``."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from lxml import html as lxml_html

from blockml.errors import DatasetError, UnknownNameError
from tools.synthetic_sites import LABELS, annotate, build, check, site_pages, write
from tools.synthetic_sites.__main__ import main
from tools.synthetic_sites.annotate import link_targets
from tools.synthetic_sites.handwritten import parse_handwritten
from tools.synthetic_sites.prose import Writer, load_grammar, parse_grammar

pytestmark = pytest.mark.exhaustive

DATA = Path(__file__).parents[2] / "data"
UNSEEN = {"script", "style", "template", "iframe", "noembed", "noframes"}


@cache
def folders() -> dict[str, Path]:
    """Return page folders by id."""
    return {path.parent.name: path.parent for path in sorted(DATA.rglob("meta.json"))}


@cache
def meta(page_id: str) -> dict[str, Any]:
    """Return the metadata of a page."""
    result: dict[str, Any] = json.loads((folders()[page_id] / "meta.json").read_text(encoding="utf-8"))
    return result


@cache
def labels(page_id: str) -> list[dict[str, str]]:
    """Return the labelled lines of a page."""
    return [json.loads(line) for line in (folders()[page_id] / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def squeezed(texts: list[str]) -> str:
    """Return all characters except white space."""
    return "".join("".join(texts).split())


def html(page_id: str) -> str:
    """Return the source of a page."""
    return (folders()[page_id] / "page.html").read_text(encoding="utf-8")


def test_data_folder_is_what_the_generator_writes() -> None:
    """The generator with seed 0 writes ``data/`` byte for byte."""
    assert check(DATA, 0) == []


def test_enough_pages() -> None:
    """There are at least 72 templated pages on six sites, twelve or more each, and 14 hand-written ones."""
    sites = defaultdict(list)
    for page_id in folders():
        sites["" if meta(page_id)["origin"] == "handwritten" else meta(page_id)["site"]].append(page_id)
    assert len(sites.pop("")) >= 14
    assert len(sites) == 6
    assert min(len(pages) for pages in sites.values()) >= 12
    assert sum(len(pages) for pages in sites.values()) >= 72


def test_labels_cover_the_body_text_in_order() -> None:
    """The labelled texts are the text nodes of an independently built tree, in order."""
    for page_id in folders():
        tree = lxml_html.document_fromstring(html(page_id).encode(), parser=lxml_html.HTMLParser(encoding="utf-8"))
        for element in list(tree.iter(*UNSEEN, etree.Comment)):
            element.drop_tree()
        body = tree.find("body")
        assert body is not None
        expected = squeezed(list(body.itertext()))
        found = squeezed([line["text"] for line in labels(page_id)])
        if page_id == "after-the-end":  # lxml's tree ends with the first </html>
            assert found.startswith(expected)
            assert len(found) > len(expected)
        else:
            assert found == expected, page_id


def one_page_per_template() -> list[str]:
    """Return the id of the first page of each template."""
    return list({meta(page_id)["template"]: page_id for page_id in reversed(folders())}.values())


@pytest.mark.parametrize("page_id", one_page_per_template())
def test_labels_cover_the_text_of_the_standard_tree(page_id: str) -> None:
    """The labelled texts are those of html5lib, which follows the HTML standard, in order."""
    tree = html5lib.parse(html(page_id), treebuilder="lxml", namespaceHTMLElements=False)
    body = tree.getroot().find("body")
    for element in list(body.iter(*UNSEEN, etree.Comment)):
        element.text = None
        for child in list(element):
            element.remove(child)
    assert squeezed(list(body.itertext(tag="*"))) == squeezed([line["text"] for line in labels(page_id)])


def test_lines_are_normalised() -> None:
    """No line is empty or contains a run of white space."""
    assert all(line["text"] == " ".join(line["text"].split()) != "" for page in folders() for line in labels(page))


def test_exactly_the_known_labels_occur() -> None:
    """Exactly the nine labels are used."""
    assert {line["label"] for page_id in folders() for line in labels(page_id)} == set(LABELS)


def test_pages_show_no_labels() -> None:
    """Neither label attributes nor the fields of hand-written sources are left in a page."""
    for page_id in folders():
        assert "data-label" not in html(page_id)
        assert "blockml" not in html(page_id)
        assert "@RAIL@" not in html(page_id)
        assert "\r" not in html(page_id)


def test_links_resolve() -> None:
    """Linked ids exist and occur once, no page links to itself, and the URL of each link is in the page."""
    for page_id in folders():
        links = meta(page_id)["links"]
        assert page_id == meta(page_id)["id"]
        assert page_id not in links
        assert len(links) == len(set(links))
        assert set(links) <= set(folders())
        assert {meta(target)["url"] for target in links} <= set(link_targets(html(page_id), meta(page_id)["url"]))


def test_sites_have_menus_and_several_templates() -> None:
    """Each site has two or more templates, and four or more pages that all link to each other."""
    sites = defaultdict(list)
    for page_id in folders():
        if meta(page_id)["origin"] == "synthetic":
            sites[meta(page_id)["site"]].append(page_id)
    for pages in sites.values():
        assert len({meta(page_id)["template"] for page_id in pages}) >= 2
        assert len({meta(page_id)["page_type"] for page_id in pages}) >= 2
        # Pages that every page of the site links to are mutually linked.
        common = set.intersection(*({*meta(page_id)["links"], page_id} for page_id in pages))
        assert len(common) >= 4
        assert all(b in meta(a)["links"] and a in meta(b)["links"] for a, b in combinations(sorted(common), 2))


def test_main_sentences_rarely_repeat_and_boilerplate_does() -> None:
    """Articles of a site share almost no main text, and its footer is the same on each page."""
    for site, kind in (("harbour-courier", "article"), ("patient-crumb", "post"), ("old-radio-bench", "thread")):
        pages = [page_id for page_id in folders() if meta(page_id)["template"] == f"{site}/{kind}"]
        texts = [{x["text"] for x in labels(p) if x["label"] == "main" and len(x["text"].split()) > 7} for p in pages]
        assert sum(map(len, texts)) - len(set().union(*texts)) <= 0.04 * sum(map(len, texts))
        assert len({tuple(x["text"] for x in labels(p) if x["label"] == "footer") for p in pages}) == 1


def test_pages_without_main_content() -> None:
    """Only the login page and the error page have no main content."""
    without = {p for p in folders() if not {"main", "heading", "supplement"} & {x["label"] for x in labels(p)}}
    assert without == {"login-page", "error-page"}


def test_text_after_the_end_is_labelled() -> None:
    """Text after the first ``</html>`` is part of the page."""
    assert "There is no recording." in " ".join(x["text"] for x in labels("after-the-end") if x["label"] == "main")


def test_another_seed_gives_other_text() -> None:
    """Another seed changes most pages, and the same seed none."""
    zero, again, one = ({page.id: page.html for page in site_pages(seed)} for seed in (0, 0, 1))
    assert zero == again
    assert zero.keys() == one.keys()
    assert sum(zero[page_id] != one[page_id] for page_id in zero) > 0.9 * len(zero)


def test_other_seeds_can_be_built() -> None:
    """No seed gives two pages with the same URL, or a page whose labels cannot be read."""
    files = build(DATA, 0).keys()
    for seed in (2, 99):
        assert build(DATA, seed).keys() == files


def test_write_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A written folder passes the check; damaged, missing and superfluous files are named and repaired."""
    assert main(["-o", str(tmp_path), "--seed", "3"]) == 0
    assert main(["-o", str(tmp_path), "--seed", "3", "--check"]) == 0
    folder = tmp_path / "sites" / "harbour-courier"
    (folder / "courier-front" / "page.html").write_text("x", encoding="utf-8")
    (folder / "courier-local" / "meta.json").unlink()
    (folder / "courier-old").mkdir()
    (folder / "courier-old" / "page.html").write_text("x", encoding="utf-8")
    (folder / "courier-old" / "notes.txt").write_text("mine", encoding="utf-8")
    capsys.readouterr()
    assert main(["-o", str(tmp_path), "--seed", "3", "--check"]) == 1
    named = [line.rpartition("/courier-")[2] for line in capsys.readouterr().err.splitlines()]
    assert named == ["front/page.html", "local/meta.json", "old/page.html"]
    write(tmp_path, 3)
    assert check(tmp_path, 3) == []
    assert [path.name for path in (folder / "courier-old").iterdir()] == ["notes.txt"]


def test_bad_source_stops_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hand-written page without fields ends the command with status 2 and a message."""
    (tmp_path / "handwritten").mkdir()
    (tmp_path / "handwritten" / "a.html").write_text("<p>x", encoding="utf-8")
    assert main(["-o", str(tmp_path)]) == 2
    assert "error: a: needs exactly one blockml: meta element" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "page", "runs"),
    [
        ("<p>a", "<p>a", [("a", "other")]),
        ('<p data-label="main">a <b>b</b> c</p>d', "<p>a <b>b</b> c</p>d", "a main b main c main d other"),
        (
            '<div data-label="main">a<i data-label="comment">b</i>c</div>',
            "<div>a<i>b</i>c</div>",
            "a main b comment c main",
        ),
        ('<ul data-label="footer"><li>a<li>b</ul>c', "<ul><li>a<li>b</ul>c", "a footer b footer c other"),
        ("<p>a<script>b</script>c<!--d-->e<style>f</style>", None, "a other c other e other"),
        ("<noscript><p>a</p></noscript><p hidden>b", None, "a other b other"),
        ("<head><title>t</title></head><body> \n a\t b ", None, [("a b", "other")]),
        ("<body></body></html><p>a", None, [("a", "other")]),
    ],
)
def test_annotate(source: str, page: str | None, runs: str | list[tuple[str, str]]) -> None:
    """Labels are inherited, hidden elements skipped and label attributes cut, and nothing else changes."""
    if isinstance(runs, str):
        words = runs.split()
        runs = list(zip(words[::2], words[1::2], strict=True))
    assert annotate(source) == ((page or source), runs)


def test_annotate_refuses_unknown_labels() -> None:
    """A label outside the nine is refused with the legal ones."""
    with pytest.raises(UnknownNameError, match="advertisement, comment"):
        annotate('<p data-label="content">x')


@pytest.mark.parametrize("source", ["<p data-label=main>x", "<p>data-label", '<p>a data-label="main" b'])
def test_annotate_refuses_attributes_that_it_cannot_cut(source: str) -> None:
    """An attribute without quotes, or its text in the page, raises an error instead of remaining in the page."""
    with pytest.raises(DatasetError, match="data-label"):
        annotate(source)


@given(st.lists(st.tuples(st.text("ab c", max_size=5), st.sampled_from([*LABELS, ""])), max_size=6))
def test_annotate_agrees_with_construction(parts: list[tuple[str, str]]) -> None:
    """Flat elements are returned in order with their labels."""
    source = "".join(f'<p data-label="{label}">{text}</p>' if label else f"<p>{text}</p>" for text, label in parts)
    expected = [(" ".join(text.split()), label or "other") for text, label in parts if text.strip()]
    assert annotate(f"<body>{source}</body>")[1] == expected


def test_link_targets_leave_out_fragments() -> None:
    """Relative links are resolved, fragments dropped and duplicates removed; a bare fragment is the page itself."""
    source = '<a href="x">1</a><a href="#top">2</a><a>3</a><a href="/y?q=1#z">4</a><a href="x#1">5</a>'
    assert link_targets(source, "http://h.example/d/p") == [
        "http://h.example/d/x",
        "http://h.example/d/p",
        "http://h.example/y?q=1",
    ]


HEAD = "".join(
    f'<meta name="blockml:{field}" content="{value}">'
    for field, value in {
        "url": "http://h.example/?a=1&amp;b=2",
        "page_type": "article",
        "language": "en",
        "template": "t",
        "title": "T",
    }.items()
)


def test_handwritten_fields_are_removed() -> None:
    """The fields of a hand-written page become metadata and are removed from it."""
    page = parse_handwritten("n", f"<head>{HEAD}</head><p>x")
    assert (page.id, page.url, page.html) == ("n", "http://h.example/?a=1&b=2", "<head></head><p>x")


@pytest.mark.parametrize("source", [HEAD.replace("blockml:title", "blockml:tilte"), HEAD + HEAD, ""])
def test_handwritten_fields_must_be_there_once(source: str) -> None:
    """Missing, misspelt and repeated fields are refused."""
    with pytest.raises(DatasetError, match="language, page_type, template, title, url"):
        parse_handwritten("n", source)


def test_writer_uses_each_alternative_once() -> None:
    """A rule repeats itself only after all its alternatives were used."""
    writer = Writer(parse_grammar(":x\na\nb\nc\nd\n"), "key")
    drawn = [writer.pick("x") for _ in range(8)]
    assert sorted(drawn[:4]) == sorted(drawn[4:]) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("alternative", "text"),
    [
        ("a(n) {w} met a(n) dog.", "An owl met a dog."),
        ("{W}s sleep. they do.", "Owls sleep. They do."),
        ("“why {w}?” asked {w}: “go, {w}.”", "“Why owl?” asked owl: “Go, owl.”"),
        ("he called it “odd”, twice.", "He called it “odd”, twice."),
        ("[{w}] {#7-7} {,5000-5000}.", "[Owl] 7 5,000."),
    ],
)
def test_sentences(alternative: str, text: str) -> None:
    """Articles, capitals, numbers and quotations are written as in English."""
    assert Writer(parse_grammar(f":s\n{alternative}\n:w\nowl\n"), "key").say("s") == text


def test_unknown_rules_are_named() -> None:
    """A slot without a rule is refused by name."""
    with pytest.raises(UnknownNameError, match="unknown grammar rule 'nosuch'"):
        Writer(parse_grammar(":s\n{nosuch}\n"), "key").say("s")


def test_all_rules_can_be_expanded() -> None:
    """No grammar refers to a rule or a bound name that no page provides."""
    bound = ("topic", "official", "critic", "kind", "kinds", "name")
    for name in ("bench", "courier", "crumb", "fernway", "millbrook", "quillbase"):
        grammar = load_grammar(name)
        writer = Writer(grammar, "key")
        writer.bind(**dict.fromkeys(bound, "thing"))
        assert all(writer.pick(rule) for rule in grammar for _ in grammar[rule])
