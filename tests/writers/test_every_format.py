"""Every output format is a row of one table, from which all functions and commands take it."""

from __future__ import annotations

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
