"""Rules in the forms of other programs."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import lxml.html
import pytest

import blockml
from blockml.cli import main
from blockml.errors import UnknownNameError, UsageError
from blockml.rules.exporting import FORMS, export_rules

RULES = {
    "cats.example": {
        "within": ["article", "div#facts"],
        "drop": [".newsletter", "article > p:nth-child(3)", "h2[class*='Rel\"x']"],
        "title": "h1",
        "authors": "meta[name=author]",
        "published": "time::attr(datetime)",
    }
}
HTML = (
    "<meta name=author content='Ann Lee'><nav>Home</nav><article><h1>Cats</h1><p>First.<p>Second.<p>Third."
    "<p class=newsletter>Subscribe</p><time datetime=2024-05-03>May</time></article><div id=facts>Facts</div>"
)
#: What the rules keep of the page, in words.
KEPT = ["Cats", "First.", "Third.", "May", "Facts"]


def exported(to: str) -> str:
    """Return the rules in a form."""
    return export_rules(RULES, to)[0].text


def test_our_own_extractor_keeps_the_same(tmp_path: Path) -> None:
    """The words that the other programs must keep are those of ``rules:FILE``."""
    path = tmp_path / "rules.toml"
    blockml.read_rules(RULES).save(path)
    assert blockml.extract(HTML, url="https://cats.example/", model=f"rules:{path}").text.split() == KEPT


def test_site_configs() -> None:
    """The XPaths of a site config, evaluated as their readers do, keep and read the same."""
    config: dict[str, list[str]] = {}
    for line in exported("ftr").splitlines():
        name, _, value = line.partition(": ")
        config.setdefault(name, []).append(value)
    assert list(config) == ["body", "strip", "title", "author", "date", "prune", "tidy"]
    tree = lxml.html.fromstring(HTML)
    assert tree.xpath(config["author"][0]) == ["Ann Lee"]
    assert tree.xpath(config["date"][0]) == ["2024-05-03"]
    for path in config["strip"]:
        for element in tree.xpath(path):
            element.drop_tree()
    assert " ".join(text for one in tree.xpath(config["body"][0]) for text in one.itertext()).split() == KEPT


def test_css_of_feed_readers() -> None:
    """Miniflux and FreshRSS get CSS selectors."""
    assert exported("miniflux") == (
        "scraper rules: article, div#facts\ncontent rewrite rules: "
        'remove(".newsletter, article > p:nth-child(3), h2[class*=\'Rel\\"x\']")\n'
    )
    assert exported("freshrss").splitlines()[0] == "article CSS selector on original website: article, div#facts"
    for to in ("miniflux", "freshrss"):
        with pytest.raises(UsageError, match="only rules in CSS can be exported"):
            export_rules({"cats.example": {"drop": "//p[contains(., 'Buy')]"}}, to)


def test_an_item_of_scrapy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class reads a response with parsel."""
    parsel = pytest.importorskip("parsel")
    scrapy = ModuleType("scrapy")
    scrapy.Item, scrapy.Field = dict, dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scrapy", scrapy)
    names: dict[str, type] = {}
    exec(compile(exported("scrapy"), "item.py", "exec"), names)  # noqa: S102 (what we wrote)
    item = names["CatsExampleItem"].from_response(SimpleNamespace(text=HTML))  # type: ignore[attr-defined]
    assert item["text"].split() == KEPT
    assert (item["title"], item["authors"], item["published"]) == ("Cats", ["Ann Lee"], "2024-05-03")
    assert parsel


@pytest.mark.parametrize("site", ['a"""b.example', "a\\x.example", "a\0.example", "a\\N{.example"])
def test_code_for_scrapy_is_data_only(site: str) -> None:
    """Names and selectors with quotation marks stay strings of the class, which can be compiled."""
    rules = {site: {"drop": ['[title=\'"""\']', '[a="\\\\"]'], "within": "p"}}
    tree = ast.parse(export_rules(rules, "scrapy")[0].text)
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert "//p" in strings
    assert "//*[@title = '\"\"\"'] | //*[@a = '\\']" in strings
    assert {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names} == {"scrapy"}


def test_prune_xpath() -> None:
    """Pruning what trafilatura is told to leaves the same words."""
    tree = lxml.html.fromstring(f"<html><body>{HTML}</body></html>")
    for path in json.loads(exported("trafilatura")):
        for element in tree.xpath(path):
            if element.getparent() is not None:
                element.drop_tree()
    assert " ".join(tree.itertext()).split() == KEPT


def test_layouts_and_what_a_form_lacks() -> None:
    """A site config has a body for each layout; notes say what a form can't express."""
    layouts = {"cats.example": [{"within": "article", "title": "h1"}, {"within": "#b", "keep": ".c", "drop": "p"}]}
    made = export_rules(layouts, "ftr")[0]
    bodies = [line for line in made.text.splitlines() if line.startswith("body")]
    assert bodies[0] == "body: //article"
    assert bodies[1].startswith(
        "body: (//*[@id = 'b'] | //*[contains(concat(' ', normalize-space(@class), ' '), ' c ')])["
    )
    assert [note.partition(":")[0] for note in made.notes] == ["ftr has no keep"]
    notes = export_rules(layouts, "miniflux")[0].notes
    assert len(notes) == 4
    with pytest.raises(UnknownNameError, match="unknown form 'xml'"):
        export_rules(layouts, "xml")


@pytest.mark.parametrize("to", sorted(FORMS))
def test_the_command(to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One site goes to standard output or a file, several to a folder."""
    rules, out = tmp_path / "rules.toml", tmp_path / "out"
    blockml.read_rules(RULES).save(rules)
    assert main(["rules", "export", str(rules), "--to", to]) == 0
    assert capsys.readouterr().out == exported(to)
    assert main(["rules", "export", str(rules), "--to", to, "-o", f"{out}/"]) == 0
    assert [path.read_text() for path in out.iterdir()] == [exported(to)]
    blockml.read_rules({**RULES, "dogs.example": {"drop": "p"}}).save(rules)
    assert main(["rules", "export", str(rules), "--to", to]) == 2
    assert "the rules of 2 sites need -o FOLDER" in capsys.readouterr().err
