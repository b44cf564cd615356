"""Every output format is a row of one table, from which all functions and commands take it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import blockml
from blockml.cli import main
from blockml.formats import FORMATS

HTML = "<html lang=en><title>Cats</title><h1>Cats</h1><p>Cats rule, <b>as</b> <a href='/all'>all</a> know.</p></html>"


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_written_everywhere(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The function, the command and, except for JSON, folders of documents write it."""
    page, folder = tmp_path / "cats.html", tmp_path / "out"
    page.write_text(HTML, encoding="utf-8")
    text = blockml.render(blockml.extract(page, model="plain"), name)
    assert "Cats rule" in text
    assert main(["extract", str(page), "--model", "plain", "--format", name]) == 0
    assert capsys.readouterr().out.rstrip("\n") == text.rstrip("\n")
    if name != "json":
        assert main(["predict", str(page), "--model", "plain", "--format", name, "-o", str(folder)]) == 0
        (written,) = folder.glob("*")
        assert written.suffix == FORMATS[name].suffix
        assert "Cats rule" in written.read_text(encoding="utf-8")


def test_options_that_have_no_effect_are_refused_in_every_format() -> None:
    """Links can be left out of each format of documents, and of no other."""
    result = blockml.extract(HTML, model="plain")
    for name, kind in FORMATS.items():
        if kind.of_document:
            assert "/all" not in blockml.render(result, name, links=False)
        else:
            with pytest.raises(blockml.errors.UsageError, match=f"not in {name}"):
                blockml.render(result, name, links=False)
    assert len({kind.suffix for kind in FORMATS.values()}) == len(FORMATS)


def test_json_is_written_as_the_standard_library_writes_it() -> None:
    """Lists of records, lists in them, escapes, and what a page declares, whatever its values are."""
    item = (
        '{"@type": "Product", "name": "Cat \\u0007\\"", "sizes": [[], {}, 1.5, 1e99, -2, true, null, ["S", {"a": 0}]]}'
    )
    html = HTML.replace("<h1>", f"<script type=application/ld+json>{item}</script><h1>").replace(
        "rule", 'rule\t"\u2028\\'
    )
    written = blockml.render(blockml.extract(html, model="plain"), "json", chunk_size=20)
    read = json.loads(written)
    assert read["blocks"]
    assert read["chunks"]
    assert read["metadata"]["items"][0]["sizes"][-1] == ["S", {"a": 0}]
    assert written == json.dumps(read, ensure_ascii=False, indent=2)
