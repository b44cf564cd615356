"""Prediction with site templates."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from blockml.batch import Item, find_inputs, learn_sites, predict_items, read_items
from blockml.cli import main
from blockml.extractors import Plain, resolve
from blockml.parsing import parse
from blockml.templates import SiteTemplate

NAMES = ("cats", "dogs", "birds", "fish", "snails")


def html_of(name: str, home: str) -> str:
    """Return a page with the menu of its site and its own text."""
    return f"<p>Home of {home}</p><p>{name}1 {name}2 {name}3 {name}4.</p>"


def text_of(name: str) -> str:
    """Return the text of a page."""
    return f"{name}1 {name}2 {name}3 {name}4."


def items() -> list[Item]:
    """Return the pages of two sites, one of which has too few pages, and a page without a site."""
    zoo = [Item(name, html=html_of(name, "animals"), site="zoo") for name in NAMES]
    shop = [Item(name, html=html_of(name, "tools"), site="shop") for name in ("saw", "hammer")]
    return [*zoo[:3], *shop, Item("lost", html=html_of("lost", "nowhere")), *zoo[3:]]


@pytest.mark.parametrize("jobs", [1, 2])
def test_text_that_a_site_repeats_is_removed(jobs: int) -> None:
    """Sites with enough pages get a template, and the records are in the order of the input."""
    sites = learn_sites(items, jobs=jobs)
    assert list(sites) == ["zoo"]
    records = list(predict_items(items(), Plain(), sites=sites, jobs=jobs))
    texts = {record["id"]: record["text"] for record in records}
    assert [record["id"] for record in records] == [item.id for item in items()]
    assert [texts[name] for name in NAMES] == [text_of(name) for name in NAMES]
    assert texts["saw"].startswith("Home of tools")
    assert texts["lost"].startswith("Home of nowhere")


def test_unreadable_pages_are_left_out_of_templates(tmp_path: Path) -> None:
    """Unreadable pages don't count for a template; the prediction reports their errors."""
    broken = [Item("gone", path=tmp_path / "none.html", site="zoo"), Item("bad", error="no", site="zoo")]
    sites = learn_sites(lambda: [*broken, *items()])
    assert sites["zoo"].counts.n_pages == 5
    statuses = [record["status"] for record in predict_items(broken, Plain(), sites=sites)]
    assert statuses == ["unreadable", "unreadable"]


def test_sites_of_files_and_records(tmp_path: Path) -> None:
    """The site of a file is its folder below the input, and that of a record its site field or its host."""
    for path in ("a/one.html", "a/deep/er/two.html", "b/three.html", "four.html"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("<p>x", encoding="utf-8")
    folders = tmp_path / "folders"  # one folder per page
    for name in ("p1", "p2"):
        (folders / name).mkdir(parents=True)
        (folders / name / "page.html").write_text("<p>x", encoding="utf-8")
    assert {item.site for item in read_items(find_inputs([str(folders)]))} == {str(folders)}
    shutil.rmtree(folders)
    rows = [
        {"html": "x", "site": "mine", "url": "http://a.example/"},
        {"html": "x", "url": "http://www.b.example/x"},
        {"html": "x"},
    ]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    sites = {item.id: item.site for item in read_items(find_inputs([str(tmp_path), str(tmp_path / "r.jsonl")]))}
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert {sites["a/one"], sites["a/deep/er/two"]} == {a}
    assert (sites["b/three"], sites["four"]) == (b, str(tmp_path))
    assert [site for name, site in sites.items() if name.startswith("r.jsonl")] == ["mine", "b.example", ""]


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Return a folder with the pages of a site."""
    folder = tmp_path / "pages" / "zoo"
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / f"{name}.html").write_text(html_of(name, "animals"), encoding="utf-8")
    return folder


def test_predict_by_site(zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command learns templates of sites, and refuses a given template together with --by-site."""
    out = tmp_path / "out.jsonl"
    assert main(["predict", str(zoo.parent), "--model", "plain", "--by-site", "-o", str(out)]) == 0
    texts = {row["id"]: row["text"] for row in map(json.loads, out.read_text(encoding="utf-8").splitlines())}
    assert texts == {f"zoo/{name}": text_of(name) for name in NAMES}
    assert "site templates learnt: 1" in capsys.readouterr().err
    assert main(["predict", str(zoo), "--template", str(tmp_path / "none")]) == 4
    assert "no such site template" in capsys.readouterr().err
    SiteTemplate.count([]).save(tmp_path / "empty.template")
    assert main(["predict", str(zoo), "--by-site", "--template", str(tmp_path / "empty.template")]) == 2
    assert "can't be combined" in capsys.readouterr().err
    assert main(["predict", str(zoo), "--template", ""]) == 4


def test_extract_with_a_template(zoo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A template file works with every extractor."""
    pages = [item.read() for item in read_items(find_inputs([str(zoo)]))]
    SiteTemplate.learn([parse(page) for page in pages], name="zoo").save(tmp_path / "zoo.template")
    (tmp_path / "new.html").write_text(html_of("worms", "animals"), encoding="utf-8")
    for name in ("plain", "df", "etdm"):
        command = ["extract", str(tmp_path / "new.html"), "--model", name, "--template", str(tmp_path / "zoo.template")]
        assert main(command) == 0
        assert capsys.readouterr().out.strip() == text_of("worms")
    assert resolve("df", {"template": str(tmp_path / "zoo.template")}).uses_site
