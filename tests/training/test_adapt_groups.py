"""Adapting by site and template: models for groups that gain, reasons for others, and a folder that routes pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.datasets import open_dataset
from blockml.errors import UsageError
from blockml.extractors import TrainedExtractor, read_routed
from blockml.extractors.routed import ROUTES
from blockml.page import Label
from blockml.training import adapt, adapt_groups
from tests.training.test_adapt import BASE, page_of, site


def at_host(folder: Path, host: str, numbers: range, *, odd: bool) -> None:
    """Write page folders with URLs."""
    site(folder, numbers, odd=odd)
    for number in numbers:
        meta = {"id": f"{host}-{number}", "url": f"https://{host}/{number}"}
        (folder / f"p{number}" / "meta.json").write_text(json.dumps(meta))


def test_sites_that_gain_get_a_model_and_others_the_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The site that gains gets a model, others keep the base with a reason, and the folder routes by URL."""
    mine = tmp_path / "mine"
    at_host(mine / "odd", "www.odd.example", range(5), odd=True)
    at_host(mine / "fine", "fine.example", range(5), odd=False)
    at_host(mine / "few", "few.example", range(30, 33), odd=True)
    output = tmp_path / "models"
    call = ["train", "--base", "default", "--by", "site", "--dataset", str(mine), "-o", str(output)]
    assert main(call) == 0
    err = capsys.readouterr().err
    assert "few.example: 3 labelled pages, but at least 4 are needed" in err
    assert "fine.example: does not gain; page F1" in err
    assert "1 model for 3 groups; other pages use default" in err
    table = json.loads((output / ROUTES).read_text())
    assert [(row["site"], row["host"], row["about"]["pages"]) for row in table["routes"]] == [("odd.example", None, 5)]
    assert {row["group"]: row["pages"] for row in table["refused"]} == {"few.example": 3, "fine.example": 5}
    html, labels = page_of(20, odd=True)
    gold = [label is Label.MAIN for _, label in labels]
    found = blockml.extract(html, url="https://odd.example/20", model=output)
    assert (found.kept.tolist(), found.model) == (gold, f"default-odd.example {BASE.version}")
    alone = adapt(BASE, [open_dataset(mine / "odd")], name="default-odd.example").model
    assert alone is not None
    wanted = blockml.extract(html, url="https://odd.example/20", model=TrainedExtractor(alone))
    assert found.scores.tolist() == wanted.scores.tolist()
    for url in ("https://fine.example/20", None):
        one, other = (blockml.extract(html, url=url, model=model) for model in (output, "default"))
        assert blockml.render(one, "json") == blockml.render(other, "json")
    assert main(call) == 2
    assert "exists already; with --by, -o takes a new folder" in capsys.readouterr().err


def test_a_site_without_gain_is_tried_by_host(tmp_path: Path) -> None:
    """If a site does not gain as a whole, its hosts are tried separately."""
    for number, host in enumerate(("shop.cats.example", "blog.cats.example")):
        site(tmp_path / host, range(10 * number, 10 * number + 5), odd=number == 0)
    for host in ("shop.cats.example", "blog.cats.example"):
        for path in (tmp_path / host).iterdir():
            meta = {"id": f"{host}-{path.name}", "url": f"https://{host}/{path.name}"}
            (path / "meta.json").write_text(json.dumps(meta))
    found = adapt_groups(BASE, [open_dataset(tmp_path)])
    accepted = [(item.group.site, item.group.host) for item in found.accepted]
    assert accepted in ([("cats.example", None)], [("cats.example", "shop.cats.example")])
    found.save(tmp_path / "models")
    assert len(read_routed(tmp_path / "models").routes) == 1


def test_templates_of_a_site_have_their_own_models(tmp_path: Path) -> None:
    """The model of a template is used for its pages, and pages of another structure on the site use the base."""
    at_host(tmp_path / "a", "cats.example", range(5), odd=True)
    for number in range(40, 45):
        place = tmp_path / "b" / f"p{number}"
        place.mkdir(parents=True)
        rows = "".join(f"<tr><td><b>Cat {k}</b><td><em>{number * k} lives</em></tr>" for k in range(12))
        html = f"<title>Cats {number}</title><section><table>{rows}</table></section><article><h2>Text</h2>" + "".join(
            f"<blockquote>{page_of(number + k, odd=True)[1][2][0]}</blockquote>" for k in range(3)
        )
        (place / "page.html").write_text(html)
        kept = blockml.extract(html).text
        (place / "expected.txt").write_text(kept)
        (place / "meta.json").write_text(json.dumps({"id": f"b{number}", "url": f"https://cats.example/b/{number}"}))
    found = adapt_groups(BASE, [open_dataset(tmp_path)], by="template")
    assert len(found.groups) == 2
    (one,) = found.accepted
    assert one.group.template is not None
    found.save(tmp_path / "models")
    models = read_routed(tmp_path / "models")
    story = page_of(60, odd=True)[0]
    assert models.at_page(blockml.parse(story, url="https://cats.example/60")).id.startswith("default-cats.example")
    table = (tmp_path / "b" / "p41" / "page.html").read_text()
    assert models.at_page(blockml.parse(table, url="https://cats.example/b/9")).id == BASE.id


def test_wrong_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages without URLs, which can't be routed, and options without an effect are refused."""
    pages = site(tmp_path / "mine", range(5), odd=True)
    with pytest.raises(UsageError, match="no finished page has a URL"):
        adapt_groups(BASE, [pages])
    with pytest.raises(UsageError, match="unknown group 'host'"):
        adapt_groups(BASE, [pages], by="host")
    call = ["train", "--dataset", str(tmp_path / "mine"), "-o", str(tmp_path / "out"), "--by", "site"]
    assert main(call) == 2
    assert "--by has no effect without --base" in capsys.readouterr().err
    assert main([*call, "--base", "default", "--name", "x"]) == 2
    at_host(tmp_path / "fine", "fine.example", range(5), odd=False)
    given = ["--dataset", str(tmp_path / "fine"), "-o", str(tmp_path / "m")]
    assert main(["train", "--base", "default", "--by", "site", *given]) == 1
    assert "no models written: none of 1 group gains, because default is already right" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
