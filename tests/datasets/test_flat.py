"""Flat folders with gold next to the pages, page folders, and the sites of pages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from blockml.cli import main
from blockml.datasets import RunGold, TextGold, detect_format, open_dataset
from blockml.errors import DatasetError
from blockml.page import Label
from blockml.text.addresses import FILE, registrable_domain
from tools.public_suffixes import rules

PAGE = "<link rel=canonical href='https://www.cat.example/a?b'><h1>Cats</h1><p>Cats rule the world.</p>"


def test_gold_next_to_pages(tmp_path: Path) -> None:
    """NAME.txt or NAME.jsonl is the gold of NAME.html, and a page without either has no gold."""
    (tmp_path / "p0.html").write_text(PAGE)
    (tmp_path / "p0.txt").write_text("Cats rule the world.")
    (tmp_path / "p1.html.gz").write_bytes(gzip.compress(PAGE.encode()))
    (tmp_path / "p1.jsonl").write_text('{"text": "Cats", "label": "heading"}\n')
    (tmp_path / "p2.htm").write_text("<p>No gold</p>")
    data = open_dataset(tmp_path)
    assert data.format == "flat"
    first, second, third = data.pages
    assert [page.id for page in data.pages] == ["p0", "p1", "p2"]
    assert first.gold == TextGold("Cats rule the world.")
    assert second.gold == RunGold((("Cats", Label.HEADING),))
    assert third.gold is None
    assert [(page.site, page.site_known) for page in data.pages] == [("cat.example", True)] * 2 + [("p2", False)]


def test_pages_without_gold(tmp_path: Path) -> None:
    """A folder of HTML files in which nothing is annotated is an error, not an annotated data set."""
    (tmp_path / "a.html").write_text("<p>one")
    with pytest.raises(DatasetError, match=r"1 HTML file without gold: NAME.html needs"):
        detect_format(tmp_path)
    (tmp_path / "a.html").write_text("<p><span class='x-nc-sel2'>one</span>")
    assert detect_format(tmp_path) == "annotated"
    with pytest.raises(DatasetError, match="no page has gold"):
        open_dataset(tmp_path, layout="flat")


def test_two_pages_with_one_id(tmp_path: Path) -> None:
    """Two pages with the same id are an error."""
    for name in ("a.html", "a.htm", "a.txt"):
        (tmp_path / name).write_text("one")
    with pytest.raises(DatasetError, match="two pages have the id 'a'"):
        open_dataset(tmp_path)


def test_sites_of_page_folders(tmp_path: Path) -> None:
    """The site comes from meta.json, the declared URL, a parent folder or the page's id, in this order."""
    pages = {
        "a": ({"site": "mine"}, PAGE),
        "b": ({"url": "http://dog.example/"}, PAGE),
        "c": (None, PAGE),
        "birds/d": (None, "<p>x"),
        "e": (None, "<p>x"),
    }
    for name, (meta, html) in pages.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "page.html").write_text(html)
        if meta:
            (tmp_path / name / "meta.json").write_text(json.dumps(meta))
    found = {page.id: (page.site, page.site_known) for page in open_dataset(tmp_path).pages}
    assert found == {
        "a": ("mine", True),
        "b": ("dog.example", True),
        "c": ("cat.example", True),
        "birds/d": ("birds", True),
        "e": ("e", False),
    }


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("ann.blogspot.com", "ann.blogspot.com"),
        ("www.ann.github.io", "ann.github.io"),
        ("www.city.kobe.jp", "city.kobe.jp"),  # an exception
        ("a.b.c.kobe.jp", "b.c.kobe.jp"),  # a wildcard
        ("www.食狮.com.cn", "xn--85x722f.com.cn"),
        ("deep.example.nosuchsuffix", "example.nosuchsuffix"),
        ("localhost", "localhost"),
        ("co.uk", "co.uk"),
        ("a." * 50_000 + "example.co.uk.", "example.co.uk"),  # in time independent of the host's length
    ],
)
def test_registrable_domains(host: str, domain: str) -> None:
    """Rules, exceptions and wildcards of the public suffix list are applied."""
    assert registrable_domain(host) == domain


def test_rules_of_the_list() -> None:
    """The shipped file names its source and licence, and its rules are in ASCII."""
    lines = gzip.decompress(FILE.read_bytes()).decode("ascii").splitlines()
    assert "Mozilla Public License" in lines[1]
    assert lines[2].startswith("# VERSION: ")
    assert len(lines) > 9000
    assert list(rules(["// VERSION: 1", "", "// a comment", "bücher.example rest"]))[2:] == [
        "# VERSION: 1",
        "xn--bcher-kva.example",
    ]


def test_view_with_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``view --gold labels.jsonl`` reads labels instead of treating the file as text."""
    (tmp_path / "p.html").write_text("<h1>Cats</h1><p>Cats rule the world.</p>")
    labels = [{"text": "Cats", "label": "other"}, {"text": "Cats rule the world.", "label": "main"}]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    view = tmp_path / "v.html"
    command = ["view", str(tmp_path / "p.html"), "-o", str(view), "--model", "kim2013", "--threshold", "0", "--gold"]
    assert main([*command, str(tmp_path / "labels.jsonl")]) == 0
    assert view.read_text(encoding="utf-8").count(">superfluous<") == 1
    (tmp_path / "labels.jsonl").write_text("Cats rule the world.")
    assert main([*command, str(tmp_path / "labels.jsonl")]) == 3
    assert "line 1 is not JSON" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "none.jsonl")]) == 3
